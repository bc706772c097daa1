/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * TCP sockets with the upper layer protocol "sdp".
 *
 * A socket gets it by setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3) before connect(2) or
 * listen(2), or by socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SDP).  The sockets that a
 * listener accepts have it, too.  It stays a TCP socket in everything that a program sees; its
 * bytes may go by a better carrier while it lives.
 */
#ifndef _UAPI_LINUX_SDP_SOCK_H
#define _UAPI_LINUX_SDP_SOCK_H

#include <linux/types.h>

/* A protocol of socket(2), and the level of the options below. */
#ifndef IPPROTO_SDP
#define IPPROTO_SDP		257
#endif

/* getsockopt(2), level IPPROTO_SDP: struct sdp_sock_info */
#define SDP_SOCK_INFO		1

/*
 * setsockopt(2) and getsockopt(2), level IPPROTO_SDP: an int, SDP_MODE_*: when the connection
 * leaves TCP.  The sockets that a listener accepts have its mode.
 */
#define SDP_SOCK_MODE		2

#define SDP_MODE_MOVE		0	/* when it has carried enough to be worth it */
#define SDP_MODE_NOW		1	/* with the first byte that can */
/*
 * No byte of the stream goes by TCP in either direction: the first one is held back until it
 * can go otherwise.  Where it cannot, or cannot any more, the connection ends with ECONNABORTED.
 * It can be set before connect(2), and of a listener; a connection keeps it to its end.
 */
#define SDP_MODE_ONLY		2
#define SDP_MODE_NEVER		3	/* never: it stays with TCP */

/*
 * In the answer of sock_diag(7), nested in INET_DIAG_ULP_INFO: struct sdp_sock_info.  The kernel
 * shows that attribute to those who have CAP_NET_ADMIN.
 */
#define SDP_ULP_INFO		27

/* What carries the bytes of a direction: sdp_sock_info.tx_carrier, rx_carrier */
#define SDP_SOCK_BY_TCP		0
#define SDP_SOCK_BY_LOCAL	1	/* memory of the host that both ends are on */
#define SDP_SOCK_BY_IB		2	/* the Sockets Direct Protocol over InfiniBand */
#define SDP_SOCK_BY_TEST	255	/* a carrier of messages that a test has loaded */

#define SDP_STAY_LEN		16

/**
 * struct sdp_sock_info - where a connection's bytes go
 * @tx_carrier: SDP_SOCK_BY_* of what is sent
 * @rx_carrier: SDP_SOCK_BY_* of what is received
 * @moves: how often the sending direction has left TCP
 * @queued: bytes that wait to be read and did not come by TCP
 * @tx_bytes: bytes sent that did not go by TCP
 * @rx_bytes: bytes received that did not come by TCP
 * @stay: a word for why the sending direction is with TCP, or has come back to it last, or why
 *	SDP_MODE_ONLY has ended the connection; empty if nothing keeps it there; sdpstat(8) has
 *	the words
 * @mode: SDP_MODE_*: what the program or a rule has asked for
 * @reserved: zero
 *
 * All of it may have changed by the time that it is read.  Later versions are longer:
 * getsockopt(2) gives as much as there is room for.
 */
struct sdp_sock_info {
	__u32 tx_carrier;
	__u32 rx_carrier;
	__u32 moves;
	__u32 queued;
	__u64 tx_bytes;
	__u64 rx_bytes;
	char stay[SDP_STAY_LEN];
	__u32 mode;
	__u32 reserved;
};

#endif /* _UAPI_LINUX_SDP_SOCK_H */
