// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of <linux/sdp.h>, the same on 32 and 64 bit: compiled for both,
 * never run.  The C library's headers are not needed.
 */
#include <linux/sdp.h>

#define SAME(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type)
#define AT(type, member, offset) \
	_Static_assert(__builtin_offsetof(struct type, member) == (offset), #member)

#define ADDR 128	/* struct __kernel_sockaddr_storage */

SAME(sdp_init, 40);
AT(sdp_init, features, 16);
SAME(sdp_bind, 8 + ADDR);
AT(sdp_bind, addr, 8);
SAME(sdp_listen, 16);
SAME(sdp_accept, 16 + ADDR);
AT(sdp_accept, addr, 16);
SAME(sdp_connect, 16 + ADDR);
AT(sdp_connect, addr, 16);
SAME(sdp_shutdown, 8);
SAME(sdp_msg, 40);
AT(sdp_msg, iov, 8);
AT(sdp_msg, control, 24);
SAME(sdp_info, 96 + 2 * ADDR + 32);
AT(sdp_info, tx_bytes, 56);
AT(sdp_info, local, 96);
AT(sdp_info, peer, 96 + ADDR);
SAME(sdp_error, 8);
SAME(sdp_native, 8);
SAME(sdp_replace, 16);
SAME(sdp_ring_setup, 24);
SAME(sdp_ring_enter, 8);
SAME(sdp_uring, 16);
SAME(sdp_ring, 256);
AT(sdp_ring, tail, 64);
AT(sdp_ring, flags, 128);
AT(sdp_ring, lock, 192);
