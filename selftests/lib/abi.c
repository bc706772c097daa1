// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of the kernel's interface, the same on 32 and 64 bit: compiled for both, never run.
 * The C library's headers are not needed.
 */
#include <linux/sdp_ring.h>
#include <linux/sdp_sock.h>

#define SAME(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type)
#define AT(type, member, offset) \
	_Static_assert(__builtin_offsetof(struct type, member) == (offset), #member)

SAME(sdp_rule, 24 + 8 * 4);
AT(sdp_rule, ports, 24);
SAME(sdp_sock_info, 56);
AT(sdp_sock_info, tx_bytes, 16);
AT(sdp_sock_info, stay, 32);
AT(sdp_sock_info, mode, 48);
SAME(sdp_ctl, 32);
AT(sdp_ctl, ends, 16);
SAME(sdp_ctl_end, 80);
AT(sdp_ctl_end, local_port, 40);
AT(sdp_ctl_end, stay, 64);
SAME(sdp_attach, 48);
AT(sdp_attach, fd, 12);
AT(sdp_attach, tx_base, 24);
SAME(sdp_shared, 192);
AT(sdp_shared, tail, 64);
AT(sdp_shared, want_data, 128);
AT(sdp_shared, watched, 140);
