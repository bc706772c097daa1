/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * TCP sockets with the upper layer protocol "sdp".
 *
 * A socket gets it by setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3) before connect(2) or
 * listen(2), or by socket(AF_INET or AF_INET6, SOCK_STREAM, IPPROTO_SDP).  The sockets that a
 * listener accepts have it, too.  The program sees a TCP socket all the time; the socket's bytes
 * may leave TCP for a better carrier.
 */
#ifndef _UAPI_LINUX_SDP_SOCK_H
#define _UAPI_LINUX_SDP_SOCK_H

#include <linux/sdp.h>
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
 * No byte of the stream goes by TCP in either direction: the kernel holds the first byte back until
 * a carrier can take it.  If no carrier can, the kernel ends the connection with ECONNABORTED.
 * A program can set this mode before connect(2), or on a listener; a connection keeps the mode.
 */
#define SDP_MODE_ONLY		2
#define SDP_MODE_NEVER		3	/* never: it stays with TCP */

/*
 * In the answer of sock_diag(7), nested in INET_DIAG_ULP_INFO: struct sdp_sock_info.  The kernel
 * shows that attribute to processes with CAP_NET_ADMIN.
 */
#define SDP_ULP_INFO		27

/* What carries the bytes of a direction: sdp_sock_info.tx_carrier, rx_carrier */
#define SDP_SOCK_BY_TCP		0
#define SDP_SOCK_BY_LOCAL	1	/* memory of the host that both ends are on */
#define SDP_SOCK_BY_IB		2	/* the Sockets Direct Protocol over InfiniBand */
#define SDP_SOCK_BY_RDMA	3	/* the same over RoCE or iWARP */
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
 * @stay: a word for why the sending direction is with TCP, or why it has last returned to TCP,
 *	or why SDP_MODE_ONLY has ended the connection; empty if nothing keeps the direction with
 *	TCP; sdpstat(8) lists the words
 * @mode: SDP_MODE_*: what the program or a rule has asked for
 * @reserved: zero
 * @tx_zcopy: of @tx_bytes, those that were not copied on this host
 *
 * The values may have changed by the time the program reads them.  Later versions are longer:
 * getsockopt(2) writes as much as the program's buffer holds.
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
	__u64 tx_zcopy;
};

/* On a file of /dev/sdp: struct sdp_ctl */
#define SDP_IOC_CTL		_IO(SDP_IOC_MAGIC, 0x10)

/*
 * Bring connections back to TCP, in both directions.  They may leave TCP again when they have
 * carried enough once more.
 */
#define SDP_CTL_RETURN		1
/* Look for a better carrier now, however little a connection has carried. */
#define SDP_CTL_OFFLOAD		2

/* With SDP_CTL_RETURN: for good, as by SDP_MODE_NEVER. */
#define SDP_CTL_STAY		(1U << 0)

/* One call can name this number of connections. */
#define SDP_CTL_COUNT		65536

/* What is not with TCP yet: sdp_ctl_end.away */
#define SDP_CTL_TX		(1U << 0)	/* what is sent */
#define SDP_CTL_RX		(1U << 1)	/* what is received */

/**
 * struct sdp_ctl_end - an end of a connection
 * @cookie: the socket's, as sock_diag(7) and the option SO_COOKIE tell it; not zero
 * @local: its address; IPv4 as ::ffff:0:0/96
 * @peer: the peer's
 * @local_port: its port, in network byte order
 * @peer_port: the peer's, likewise
 * @ifindex: the device that the socket is bound to, or zero
 * @error: out: zero, or an errno, see below
 * @away: out: SDP_CTL_TX and SDP_CTL_RX, of directions that are not with TCP
 * @unread: out: bytes that wait for the program to read them and did not come by TCP
 * @stay: out: a word for why the sending direction is with TCP, as in struct sdp_sock_info
 * @reserved: zero
 *
 * If both @away and @unread are zero, TCP alone carries the connection.
 *
 * Errors: ENOENT (there is no such connection), EPERM, ENOPROTOOPT (the socket does not have the
 * ULP), EBUSY (a call of the program keeps the socket), ENOBUFS (memory is short; the kernel
 * continues to try), EOPNOTSUPP (SDP_CTL_OFFLOAD: @stay is the reason; SDP_CTL_RETURN: no byte of
 * the connection may go by TCP) and EINVAL.
 */
struct sdp_ctl_end {
	__u64 cookie;
	__u8 local[16];
	__u8 peer[16];
	__be16 local_port;
	__be16 peer_port;
	__u32 ifindex;
	__s32 error;
	__u32 away;
	__u32 unread;
	__u32 reserved;
	char stay[SDP_STAY_LEN];
};

/**
 * struct sdp_ctl - argument of SDP_IOC_CTL
 * @size: sizeof(struct sdp_ctl)
 * @command: SDP_CTL_RETURN or SDP_CTL_OFFLOAD
 * @flags: SDP_CTL_STAY, or zero
 * @count: how many connections, at most SDP_CTL_COUNT
 * @ends: pointer to an array of struct sdp_ctl_end
 * @end_size: sizeof(struct sdp_ctl_end)
 * @done: out: number of connections that have moved, or were told to
 *
 * The call acts on connections of the caller's network namespace.  It needs CAP_NET_ADMIN in the
 * user namespace that this namespace belongs to, except for sockets of the caller's own user.
 *
 * If both ends are on this host, both directions return, or move, at once.  Otherwise the kernel
 * asks the peer to return its direction: SDP_CTL_RX of @away is set until the peer has done so.
 * The kernel cannot take back bytes that a carrier has brought and the kernel has acknowledged: the
 * program has to read them (@unread).  To wait for that, call again.
 *
 * The call waits for a second at most for calls that keep sockets.  The kernel's log shows which
 * process has moved how many connections.
 *
 * Errors: EINVAL, EFAULT, EINTR.  Errors about one connection are in its struct.
 */
struct sdp_ctl {
	__u32 size;
	__u32 command;
	__u32 flags;
	__u32 count;
	__u64 ends;
	__u32 end_size;
	__u32 done;
};

#endif /* _UAPI_LINUX_SDP_SOCK_H */
