/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * TCP sockets with the upper layer protocol "sdp", by generic netlink: the family SDP_DIAG_NAME.
 *
 * SDP_DIAG_LIST with NLM_F_DUMP lists those of the caller's network namespace that listen or have
 * a connection, with a message of the same command for each.  It takes CAP_NET_ADMIN in the user
 * namespace that the network namespace belongs to.
 *
 * Unlike sock_diag(7), which waits for a call that keeps a socket before it tells of TCP, this
 * waits for no call.
 */
#ifndef _UAPI_LINUX_SDP_DIAG_H
#define _UAPI_LINUX_SDP_DIAG_H

#include <linux/types.h>

#define SDP_DIAG_NAME		"sdp"
#define SDP_DIAG_VERSION	1

/* Command */
#define SDP_DIAG_LIST		1

/* Attributes; their structures may be longer in later versions. */
#define SDP_DIAG_SOCK		1	/* struct sdp_diag_sock */
#define SDP_DIAG_INFO		2	/* struct sdp_sock_info, of <linux/sdp_sock.h> */

/**
 * struct sdp_diag_sock - a TCP socket
 * @cookie: the socket's, as the option SO_COOKIE tells it
 * @local: its address; IPv4 as ::ffff:0:0/96
 * @peer: the peer's
 * @local_port: its port, in network byte order
 * @peer_port: the peer's, likewise
 * @ifindex: the device that the socket is bound to, or zero
 * @uid: the user who owns it
 * @inode: its inode's number
 * @family: AF_INET or AF_INET6
 * @state: TCP_ESTABLISHED and so on
 * @reserved: zero
 * @tcp_tx_bytes: bytes of the stream sent by TCP
 * @tcp_rx_bytes: bytes received by TCP
 */
struct sdp_diag_sock {
	__u64 cookie;
	__u8 local[16];
	__u8 peer[16];
	__be16 local_port;
	__be16 peer_port;
	__u32 ifindex;
	__u32 uid;
	__u32 inode;
	__u8 family;
	__u8 state;
	__u8 reserved[6];
	__u64 tcp_tx_bytes;
	__u64 tcp_rx_bytes;
};

#endif /* _UAPI_LINUX_SDP_DIAG_H */
