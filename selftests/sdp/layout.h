/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One layout of each structure that programs and the kernel share, whatever a program is compiled
 * for: the build looks at this file for 64 bits and for 32.
 */
#ifndef SELFTESTS_SDP_LAYOUT_H
#define SELFTESTS_SDP_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <linux/sdp.h>
#include <linux/sdp_diag.h>
#include <linux/sdp_ring.h>
#include <linux/sdp_sock.h>

#define SIZE(type, bytes)	static_assert(sizeof(struct type) == (bytes), #type)
#define AT(type, field, bytes)	static_assert(offsetof(struct type, field) == (bytes), #field)

SIZE(sdp_rule, 56);
AT(sdp_rule, ports, 24);

SIZE(sdp_ctl, 32);
AT(sdp_ctl, ends, 16);
AT(sdp_ctl, done, 28);
SIZE(sdp_ctl_end, 80);
AT(sdp_ctl_end, local_port, 40);
AT(sdp_ctl_end, error, 48);
AT(sdp_ctl_end, stay, 64);

SIZE(sdp_attach, 48);
AT(sdp_attach, fd, 12);
AT(sdp_attach, tx_base, 24);
AT(sdp_attach, features, 40);

SIZE(sdp_shared, 192);
AT(sdp_shared, tail, 64);
AT(sdp_shared, want_data, 128);
AT(sdp_shared, watched, 140);

SIZE(sdp_sock_info, 64);
AT(sdp_sock_info, tx_bytes, 16);
AT(sdp_sock_info, stay, 32);
AT(sdp_sock_info, mode, 48);
AT(sdp_sock_info, tx_zcopy, 56);

SIZE(sdp_diag_sock, 80);
AT(sdp_diag_sock, local_port, 40);
AT(sdp_diag_sock, family, 56);
AT(sdp_diag_sock, tcp_tx_bytes, 64);

#endif /* SELFTESTS_SDP_LAYOUT_H */
