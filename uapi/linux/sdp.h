/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * /dev/sdp: stream connections by the Sockets Direct Protocol.
 *
 * This header is all that the kernel and user space share.
 *
 * An open file of /dev/sdp is an endpoint: what a stream socket is to TCP.
 * SDP_IOC_INIT makes it one; SDP_IOC_BIND, _LISTEN, _ACCEPT, _CONNECT and
 * _SHUTDOWN do what the socket calls of those names do, with their errno
 * values.  read(2), write(2), readv(2), writev(2), poll(2), epoll(7),
 * splice(2), sendfile(2) and the ioctls of sockets (FIONREAD, SIOCATMARK and so
 * on) work on the descriptor as on a socket's.
 *
 * Growth: every structure begins with its own size as user space knows it.  A
 * larger one than the kernel knows is taken if the rest is zero, a smaller one
 * than the first version is refused; reserved fields and undefined flags must
 * be zero.  Violations of either are EINVAL.  An ioctl that the kernel does not
 * know is ENOTTY.  No structure has padding, and all have the same layout on
 * 32-bit and 64-bit machines.
 */
#ifndef _UAPI_LINUX_SDP_H
#define _UAPI_LINUX_SDP_H

#include <linux/ioctl.h>
#include <linux/socket.h>
#include <linux/types.h>

#define SDP_DEVICE_PATH		"/dev/sdp"

/*
 * Version of this interface.  A change that an old program would notice
 * raises the major number, an addition the minor one.  The kernel takes every
 * minor version of its major one.  A program that relies on an addition has to
 * compare the minor version that SDP_IOC_INIT gives back.
 */
#define SDP_API_MAJOR		1
#define SDP_API_MINOR		8

#define SDP_IOC_MAGIC		0xD5

/* The size is in the structure, not in the number, so that both can grow. */
#define SDP_IOC_INIT		_IO(SDP_IOC_MAGIC, 0x00)
#define SDP_IOC_BIND		_IO(SDP_IOC_MAGIC, 0x01)
#define SDP_IOC_LISTEN		_IO(SDP_IOC_MAGIC, 0x02)
#define SDP_IOC_ACCEPT		_IO(SDP_IOC_MAGIC, 0x03)
#define SDP_IOC_CONNECT		_IO(SDP_IOC_MAGIC, 0x04)
#define SDP_IOC_SHUTDOWN	_IO(SDP_IOC_MAGIC, 0x05)
#define SDP_IOC_SEND		_IO(SDP_IOC_MAGIC, 0x06)
#define SDP_IOC_RECV		_IO(SDP_IOC_MAGIC, 0x07)
#define SDP_IOC_INFO		_IO(SDP_IOC_MAGIC, 0x08)
#define SDP_IOC_ERROR		_IO(SDP_IOC_MAGIC, 0x09)
#define SDP_IOC_NATIVE		_IO(SDP_IOC_MAGIC, 0x0A)
#define SDP_IOC_RING_SETUP	_IO(SDP_IOC_MAGIC, 0x0B)
#define SDP_IOC_RING_ENTER	_IO(SDP_IOC_MAGIC, 0x0C)
#define SDP_IOC_REPLACE		_IO(SDP_IOC_MAGIC, 0x0D)	/* since 1.4 */
#define SDP_IOC_RULE		_IO(SDP_IOC_MAGIC, 0x0E)	/* since 1.7 */

/**
 * struct sdp_init - argument of SDP_IOC_INIT, the first ioctl on a new file
 * @size: sizeof(struct sdp_init)
 * @flags: SDP_INIT_* or zero
 * @major: in: SDP_API_MAJOR of the program; out: of the kernel
 * @minor: in: SDP_API_MINOR of the program; out: of the kernel
 * @family: AF_INET or AF_INET6, as socket(2)'s first argument
 * @features: out: SDP_FEATURE_* of this kernel
 * @reserved: zero
 *
 * Creates the endpoint and the native TCP socket that it carries: the socket
 * holds the port, keeps the options and takes the connection where SDP cannot.
 *
 * Errors: EPROTONOSUPPORT (another major version; @major and @minor are
 * written back), EAFNOSUPPORT, EALREADY (the file is an endpoint already, as
 * every accepted one is), ENOBUFS (also where the user has as many as allowed)
 * and ENOMEM.  Any other ioctl before this one
 * is ENOTCONN.
 */
struct sdp_init {
	__u32 size;
	__u32 flags;
	__u16 major;
	__u16 minor;
	__u32 family;
	__u64 features;
	__u64 reserved[2];
};

/*
 * Never TCP: every SDP_IOC_CONNECT and SDP_IOC_LISTEN is done as with
 * SDP_CONNECT_NO_TCP and SDP_LISTEN_NO_TCP, whatever its flags.
 */
#define SDP_INIT_NO_TCP		(1U << 0)	/* since 1.1 */

#define SDP_FEATURE_NATIVE	(1ULL << 0)	/* falls back to TCP */
#define SDP_FEATURE_RINGS	(1ULL << 1)	/* SDP_IOC_RING_SETUP */
#define SDP_FEATURE_URING	(1ULL << 2)	/* struct sdp_uring; since 1.2 */

/**
 * struct sdp_bind - argument of SDP_IOC_BIND
 * @size: sizeof(struct sdp_bind)
 * @addr_len: bytes used of @addr
 * @addr: sockaddr_in or sockaddr_in6, as bind(2) takes it
 *
 * The port is bound in TCP's port space, so it is unique over both carriers;
 * port 0 gives one of TCP's choice.  Errors are those of bind(2).
 */
struct sdp_bind {
	__u32 size;
	__u32 addr_len;
	struct __kernel_sockaddr_storage addr;
};

/**
 * struct sdp_listen - argument of SDP_IOC_LISTEN
 * @size: sizeof(struct sdp_listen)
 * @backlog: as listen(2) takes it, for each of the two carriers
 * @flags: SDP_LISTEN_* or zero; since 1.1
 * @reserved: zero; since 1.1
 *
 * Listens on SDP (every IPoIB interface that the address covers) and on TCP.
 * With SDP_LISTEN_NO_TCP no peer reaches it where TCP gives the connections of that
 * address and port to another user's socket.
 * Where it listens already the flags have no effect.  Errors are those of
 * listen(2), and EINVAL where both carriers are excluded.
 */
struct sdp_listen {
	__u32 size;
	__s32 backlog;
	__u32 flags;
	__u32 reserved;
};

#define SDP_LISTEN_NO_TCP	(1U << 0)	/* TCP peers are refused */
#define SDP_LISTEN_NO_SDP	(1U << 1)	/* SDP peers are refused */

/**
 * struct sdp_accept - argument of SDP_IOC_ACCEPT
 * @size: sizeof(struct sdp_accept)
 * @flags: SDP_ACCEPT_* or zero
 * @carrier: out: SDP_CARRIER_SDP: the new descriptor is a file of /dev/sdp;
 *	SDP_CARRIER_TCP: it is an ordinary TCP socket
 * @addr_len: out: bytes used of @addr
 * @addr: out: the peer's address
 *
 * Returns the new descriptor.  Errors are those of accept(2).
 */
struct sdp_accept {
	__u32 size;
	__u32 flags;
	__u32 carrier;
	__u32 addr_len;
	struct __kernel_sockaddr_storage addr;
};

#define SDP_ACCEPT_NONBLOCK	(1U << 0)
#define SDP_ACCEPT_CLOEXEC	(1U << 1)

/**
 * struct sdp_connect - argument of SDP_IOC_CONNECT
 * @size: sizeof(struct sdp_connect)
 * @flags: SDP_CONNECT_* or zero
 * @addr_len: bytes used of @addr
 * @reserved: zero
 * @addr: sockaddr_in or sockaddr_in6, as connect(2) takes it
 *
 * Goes over SDP where the kernel's route to the address leaves by an IPoIB
 * interface and the peer has an SDP listener, and over TCP otherwise.  Which it
 * was is final once established, and told by SDP_IOC_INFO.  Blocking and
 * non-blocking use and errors are those of connect(2).
 *
 * With AF_UNSPEC, since 1.2, whatever there is ends as if it were reset, and the
 * endpoint can connect or listen again.  Its rings go with the connection; before
 * 1.3 it was EOPNOTSUPP with rings.
 */
struct sdp_connect {
	__u32 size;
	__u32 flags;
	__u32 addr_len;
	__u32 reserved;
	struct __kernel_sockaddr_storage addr;
};

#define SDP_CONNECT_NO_TCP	(1U << 0)	/* fail where SDP fails */
#define SDP_CONNECT_NO_SDP	(1U << 1)	/* TCP at once */
#define SDP_CONNECT_NONBLOCK	(1U << 2)	/* as with O_NONBLOCK; since 1.2 */

/**
 * struct sdp_shutdown - argument of SDP_IOC_SHUTDOWN
 * @size: sizeof(struct sdp_shutdown)
 * @how: SHUT_RD, SHUT_WR or SHUT_RDWR, as shutdown(2) takes it
 */
struct sdp_shutdown {
	__u32 size;
	__u32 how;
};

/**
 * struct sdp_msg - argument of SDP_IOC_SEND and SDP_IOC_RECV
 * @size: sizeof(struct sdp_msg)
 * @flags: in: MSG_* as sendmsg(2) or recvmsg(2) take them.  Sending takes
 *	MSG_DONTWAIT, MSG_NOSIGNAL, MSG_MORE, MSG_EOR, MSG_OOB, (since 1.2)
 *	MSG_WAITALL, which matters to io_uring only, and (since 1.5)
 *	MSG_ZEROCOPY, which matters to TCP only; receiving
 *	takes MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB and
 *	MSG_ERRQUEUE; anything else is EOPNOTSUPP
 * @iov: pointer to an array of struct iovec
 * @iov_len: its entries, at most UIO_MAXIOV (else EMSGSIZE)
 * @out_flags: out: msg_flags of recvmsg(2)
 * @control: receiving: pointer to where control messages go, as recvmsg(2) writes
 *	them for the program; sending: zero; since 1.5
 * @control_len: receiving: in: bytes of room there; out: bytes used; sending: zero;
 *	since 1.5
 * @reserved: zero; since 1.5
 *
 * Returns the number of bytes.  Errors are those of sendmsg(2) and recvmsg(2).
 */
struct sdp_msg {
	__u32 size;
	__u32 flags;
	__u64 iov;
	__u32 iov_len;
	__u32 out_flags;
	__u64 control;
	__u32 control_len;
	__u32 reserved;
};

/* What carries the bytes of an endpoint. */
#define SDP_CARRIER_NONE	0	/* not settled yet */
#define SDP_CARRIER_SDP		1
#define SDP_CARRIER_TCP		2

/* State of an endpoint. */
#define SDP_STATE_IDLE		0
#define SDP_STATE_BOUND		1
#define SDP_STATE_LISTEN	2
#define SDP_STATE_CONNECTING	3
#define SDP_STATE_CONNECTED	4
#define SDP_STATE_CLOSING	5	/* DisConn sent or received */
#define SDP_STATE_CLOSED	6	/* both halves closed, or ended */

/* Why an SDP connection ended, or why TCP was taken instead. */
#define SDP_REASON_NONE		0
#define SDP_REASON_PEER_ABORT	1	/* the peer sent AbortConn */
#define SDP_REASON_LOCAL_ABORT	2	/* closed here with data unread */
#define SDP_REASON_TRANSPORT	3	/* the transport lost the connection */
#define SDP_REASON_DEVICE	4	/* the device went away */
#define SDP_REASON_NO_ROUTE	5	/* route does not leave by IPoIB */
#define SDP_REASON_UNREACHABLE	6	/* address or path not resolved */
#define SDP_REASON_REFUSED	7	/* the peer has no SDP listener */
#define SDP_REASON_BAD_HELLO	8	/* version or sizes not acceptable */
#define SDP_REASON_BAD_MESSAGE	9	/* malformed or out of turn */
#define SDP_REASON_CREDITS	10	/* data beyond the credits */
#define SDP_REASON_SEQUENCE	11	/* MSeq or MSeqAck wrong */
#define SDP_REASON_RING		12	/* ring index out of range */
#define SDP_REASON_NO_MEMORY	13
#define SDP_REASON_LIMIT	14	/* the user has as many as allowed */
#define SDP_REASON_NO_TRANSPORT	15	/* no transport is loaded; since 1.6 */
#define SDP_REASON_SIGNED	16	/* TCP's MD5 or AO keys are set; since 1.6 */
#define SDP_REASON_FAMILY	17	/* bound to the other family; since 1.6 */
#define SDP_REASON_POLICY	18	/* a control group's program decided; since 1.6 */

/**
 * struct sdp_info - argument of SDP_IOC_INFO
 * @size: sizeof(struct sdp_info)
 * @state: out: SDP_STATE_*
 * @carrier: out: SDP_CARRIER_*
 * @reason: out: SDP_REASON_*
 * @error: out: the pending error, which stays pending (see SDP_IOC_ERROR)
 * @family: out: AF_INET or AF_INET6
 * @shutdown: out: bit 0: nothing more is received, bit 1: nothing more is sent
 * @local_len: out: bytes used of @local; zero where there is none yet
 * @peer_len: out: bytes used of @peer; zero where there is none
 * @tx_ring_bytes: out: size of the transmit ring's data, zero without rings
 * @rx_ring_bytes: out: size of the receive ring's data, zero without rings
 * @tx_credits: out: messages that the peer has buffers for
 * @ring_data_offset: out: where the data begins in either mapping, zero without
 *	rings
 * @recv_by_call: out: not zero where SO_RCVLOWAT or SO_PEEK_OFF is set, which only the
 *	system calls regard, not who reads from the receive ring; since 1.3
 * @tx_bytes: out: stream bytes sent over SDP, by the connection that there is
 * @rx_bytes: out: stream bytes received over SDP, the same
 * @tx_msgs: out: SDP messages sent
 * @rx_msgs: out: SDP messages received
 * @id: out: number of the endpoint, unique since the module was loaded
 * @local: out: as getsockname(2)
 * @peer: out: as getpeername(2)
 * @reserved: zero
 *
 * What a process needs to know of a descriptor that it got by fork, exec or
 * over a UNIX socket.
 */
struct sdp_info {
	__u32 size;
	__u32 state;
	__u32 carrier;
	__u32 reason;
	__s32 error;
	__u32 family;
	__u32 shutdown;
	__u32 local_len;
	__u32 peer_len;
	__u32 tx_ring_bytes;
	__u32 rx_ring_bytes;
	__u32 tx_credits;
	__u32 ring_data_offset;
	__u32 recv_by_call;
	__u64 tx_bytes;
	__u64 rx_bytes;
	__u64 tx_msgs;
	__u64 rx_msgs;
	__u64 id;
	struct __kernel_sockaddr_storage local;
	struct __kernel_sockaddr_storage peer;
	__u64 reserved[4];
};

/**
 * struct sdp_error - argument of SDP_IOC_ERROR
 * @size: sizeof(struct sdp_error)
 * @error: out: the pending error, zero if none, as SO_ERROR gives it
 *
 * Takes the pending error, as getsockopt(SO_ERROR) does.
 */
struct sdp_error {
	__u32 size;
	__s32 error;
};

/**
 * struct sdp_native - argument of SDP_IOC_NATIVE
 * @size: sizeof(struct sdp_native)
 * @flags: zero
 *
 * Returns a new close-on-exec descriptor of the native TCP socket that belongs
 * to the endpoint, for getsockopt(2) and setsockopt(2).  The endpoint honours
 * what is set there, so an option has one home whatever carries the bytes;
 * keepalive and TCP_USER_TIMEOUT within a second.
 */
struct sdp_native {
	__u32 size;
	__u32 flags;
};

/**
 * struct sdp_replace - argument of SDP_IOC_REPLACE
 * @size: sizeof(struct sdp_replace)
 * @flags: zero
 * @fd: the descriptor
 * @reserved: zero
 *
 * Puts the native socket in the endpoint's place where TCP carries the connection, or
 * is about to: from then on the descriptor is an ordinary TCP socket, with the same
 * FD_CLOEXEC and O_NONBLOCK, and the endpoint is gone.  Should TCP not get there after
 * all, the socket will not try SDP.
 *
 * Errors: EBADF (@fd is not the descriptor that the ioctl is made on), EOPNOTSUPP (SDP
 * carries this one), ENOTCONN (nothing does), and EBUSY, where something hangs on the
 * endpoint's file: other descriptors or calls, an epoll set, an owner for signals
 * (F_SETOWN, F_SETSIG, O_ASYNC), locks, a descriptor of the native socket.  The endpoint
 * stays as it was then.  By io_uring it is EBUSY.
 */
struct sdp_replace {
	__u32 size;
	__u32 flags;
	__u32 fd;
	__u32 reserved;
};

/**
 * struct sdp_ring_setup - argument of SDP_IOC_RING_SETUP
 * @size: sizeof(struct sdp_ring_setup)
 * @flags: zero
 * @tx_bytes: size of the transmit ring's data: a power of two from
 *	SDP_RING_MIN, and at least a page, to SDP_RING_MAX
 * @rx_bytes: the same for the receive ring
 * @data_offset: out: where the data begins in either mapping
 * @reserved: zero
 *
 * Gives a connection over SDP its rings, which then are mapped with mmap(2) at
 * SDP_MMAP_TX_RING and SDP_MMAP_RX_RING: readable and writable, MAP_SHARED, in
 * one piece of @data_offset plus the data's size (else EINVAL).  A mapping does not
 * keep the connection: that ends with the last descriptor, and the rings say
 * SDP_RING_ERROR then.
 *
 * Errors: EINVAL (sizes), ENOTCONN, EOPNOTSUPP (TCP carries this one, or the processor
 * cannot exchange a word by one instruction), EEXIST
 * (it has rings; SDP_IOC_INFO tells their sizes), ENOMEM (also where it would be
 * more than the user may have).
 */
struct sdp_ring_setup {
	__u32 size;
	__u32 flags;
	__u32 tx_bytes;
	__u32 rx_bytes;
	__u32 data_offset;
	__u32 reserved;
};

#define SDP_RING_MIN		4096U
#define SDP_RING_MAX		(16U << 20)
#define SDP_MMAP_TX_RING	0x00000000ULL
#define SDP_MMAP_RX_RING	0x10000000ULL
#define SDP_MMAP_STATE		0x20000000ULL	/* since 1.3 */

/**
 * struct sdp_ring - head of a mapped ring
 * @head: index of the next byte to be taken, written by the consumer
 * @pad0: as the others, so that each word has a cache line
 * @tail: index of the next byte to be put, written by the producer
 * @pad1: see @pad0
 * @flags: SDP_RING_*, written by the kernel
 * @pad2: see @pad0
 * @lock: for the producers in user space among themselves; the kernel only looks
 *	whether it is free, before it gives the pages of an idle ring back
 * @pad3: see @pad0
 *
 * The data is a ring of bytes; both indices run freely and are taken modulo its
 * size.  tail - head is the number of bytes in it.
 *
 * Transmit ring: user space produces, the kernel consumes.  Producers exclude
 * each other by @lock, store the bytes, move @tail by compare-and-exchange with
 * release order, then (after a full barrier) load @flags: only with
 * SDP_RING_NEED_ENTER set is SDP_IOC_RING_ENTER needed.  write(2) and SDP_IOC_SEND
 * send what is in the ring first.
 *
 * When the kernel takes no more (shutdown, the last close, the connection's end) it
 * sets SDP_RING_EOF or SDP_RING_ERROR and then, since 1.5, moves @tail to an index that
 * is not possible.  Bytes that @tail was moved over before that count as written; where
 * the exchange fails they are not taken.  A producer that finds such a @tail leaves it
 * to a call.  Before 1.5, and where @tail is just stored, bytes that are put in at the same
 * time may go nowhere.
 *
 * SDP_IOC_RING_ENTER needs a descriptor, which others may close meanwhile.  Since 1.5
 * the kernel looks at the ring by itself whenever one is closed (after it has counted
 * that: see struct sdp_ring_state) and whenever the ring is unmapped.
 *
 * Receive ring: the kernel produces, user space and read(2) consume.  A
 * consumer loads @flags, @head and @tail in this order, each with acquire order,
 * copies the bytes out, and moves @head by compare-and-exchange with release order:
 * where that fails another consumer took them, and the copy is thrown away.  The kernel
 * stores @tail before @flags: with SDP_RING_EOF or SDP_RING_ERROR loaded, the @tail that
 * is loaded after it is the last one.  After moving @head (and a full
 * barrier), with SDP_RING_NEED_ENTER set the kernel holds more than the ring
 * had room for: SDP_IOC_RING_ENTER fetches it.  Nothing behind the mark of
 * urgent data is in the ring: with the ring drained up to there the first
 * SDP_IOC_RING_ENTER leaves the reader at the mark, the second goes on.
 *
 * The pages of empty rings that are not used for some time are given back, and come
 * again when they are touched, with the head as it was.  Data that was stored and has
 * not become part of the stream by @tail is there afterwards only if @lock was held all
 * the time.
 *
 * An index that user space writes is read once and checked against the
 * kernel's own: one out of range ends the connection with SDP_REASON_RING.
 */
struct sdp_ring {
	__u64 head;
	__u64 pad0[7];
	__u64 tail;
	__u64 pad1[7];
	__u32 flags;
	__u32 pad2[15];
	__u32 lock;
	__u32 pad3[15];
};

#define SDP_RING_NEED_ENTER	(1U << 0)	/* the kernel sleeps on it */
#define SDP_RING_EOF		(1U << 1)	/* nothing follows @tail */
#define SDP_RING_ERROR		(1U << 2)	/* ended; a call tells why */

/**
 * struct sdp_ring_state - what is mapped at SDP_MMAP_STATE; since 1.3
 * @closes: how many descriptors of the connection's file have been closed, in whatever
 *	process and by whatever call, since the rings were made
 * @id: as in struct sdp_info
 *
 * One page (as long as @data_offset of struct sdp_ring_setup), which user space can
 * map to read only (else EACCES): so no process deceives another that has the same
 * connection.
 *
 * Who remembers which descriptor the rings belong to reads @closes, then asks
 * SDP_IOC_INFO whether the descriptor has this @id.  It has as long as @closes stays
 * the same.  A descriptor's number is free a moment before @closes counts that: a
 * process in which one thread closes it must not let another one use the number, got
 * in that moment, by what it remembers.
 */
struct sdp_ring_state {
	__u64 closes;
	__u64 id;
};

/**
 * struct sdp_ring_enter - argument of SDP_IOC_RING_ENTER
 * @size: sizeof(struct sdp_ring_enter)
 * @flags: SDP_ENTER_*
 *
 * With SDP_ENTER_TX the kernel looks at the transmit ring, with SDP_ENTER_RX
 * at the receive ring.  SDP_ENTER_WAIT_TX and SDP_ENTER_WAIT_RX then wait until
 * there is room in the one or there are bytes in the other; with O_NONBLOCK
 * EAGAIN instead of waiting, and the time-outs of SO_SNDTIMEO and SO_RCVTIMEO.
 * poll(2) tells the same.  ENXIO without rings; EPIPE where nothing can be sent
 * any more.  The pending error is left to SDP_IOC_SEND and SDP_IOC_RECV.
 */
struct sdp_ring_enter {
	__u32 size;
	__u32 flags;
};

#define SDP_ENTER_TX		(1U << 0)
#define SDP_ENTER_RX		(1U << 1)
#define SDP_ENTER_WAIT_TX	(1U << 2)
#define SDP_ENTER_WAIT_RX	(1U << 3)

#define SDP_RULE_PORTS		8

/**
 * struct sdp_ports - a range of ports
 * @first: the first one, not zero
 * @last: the last one
 */
struct sdp_ports {
	__u16 first;
	__u16 last;
};

/**
 * struct sdp_rule - argument of SDP_IOC_RULE, which needs no SDP_IOC_INIT; since 1.7
 * @size: sizeof(struct sdp_rule)
 * @scope: SDP_RULE_PROCESS, SDP_RULE_CGROUP or SDP_RULE_USER: whose sockets the rule is for
 * @verdict: SDP_RULE_MOVE: TCP sockets get the upper layer protocol "sdp" (see tcp(7),
 *	TCP_ULP) on their way to connect or listen, as if the program had asked for it;
 *	SDP_RULE_NOW, SDP_RULE_ONLY: the same, with the mode SDP_MODE_NOW or SDP_MODE_ONLY of
 *	<linux/sdp_sock.h>; SDP_RULE_NEVER: they do not; SDP_RULE_NONE: there is no rule any more
 * @calls: SDP_RULE_CONNECT, SDP_RULE_LISTEN or both: on the way to what; zero with
 *	SDP_RULE_NONE
 * @fd: SDP_RULE_CGROUP: a descriptor of the control group's directory; SDP_RULE_USER: the user's
 *	number in the caller's user namespace; else zero
 * @reserved: zero
 * @ports: the ports that are connected to or listened on; ranges that are zero are not
 *	used, and with none every port counts
 *
 * SDP_RULE_PROCESS: a rule in place of the one that the calling process has.  All threads
 * of the process have the rule, and so do the children that it will have, whatever they
 * execute, until they end or set another one.  Everybody may do so.  But for SDP_RULE_NEVER the
 * rule does not reach a process with another effective user than the one that the caller has
 * now, or with more rights than that user (PR_GET_DUMPABLE is not 1), unless the caller has
 * CAP_NET_ADMIN in its user namespace and the process is in that one or in an inner one.
 *
 * SDP_RULE_CGROUP: the same for sockets that are made in a control group (version 2), or in
 * one inside it that has no rule for the call, in network namespaces that belong to the user
 * namespace of the caller's network namespace, or to an inner one; there the caller needs
 * CAP_NET_ADMIN.  The rule lasts as long as the group, the caller's network namespace and the
 * module.
 *
 * SDP_RULE_USER: the same for sockets that the user owns, in the same network namespaces, by the
 * same right.  The rule lasts as long as the caller's network namespace and the module.
 *
 * Where rules of several kinds speak of a socket, SDP_RULE_ONLY counts most, then SDP_RULE_NEVER,
 * SDP_RULE_NOW, and SDP_RULE_MOVE, which is also what net.sdp.attach says if it is 1.  With both
 * SDP_RULE_ONLY and SDP_RULE_NEVER connections fail.  Accepted sockets follow their listener.
 *
 * Errors: EINVAL, EPERM (no CAP_NET_ADMIN), EBADF (@fd is no control group's), ENOSPC
 * (1024 rules of control groups and users were set from that network namespace, or too many from
 * those that do not belong to the initial user namespace), ENOMEM and EOPNOTSUPP (the kernel has
 * no tracepoints, or no control groups of sockets, or CONFIG_PREEMPT_RT).
 */
struct sdp_rule {
	__u32 size;
	__u32 scope;
	__u32 verdict;
	__u32 calls;
	__s32 fd;
	__u32 reserved;
	struct sdp_ports ports[SDP_RULE_PORTS];
};

#define SDP_RULE_PROCESS	0
#define SDP_RULE_CGROUP		1
#define SDP_RULE_USER		2

#define SDP_RULE_NONE		0
#define SDP_RULE_MOVE		1
#define SDP_RULE_NEVER		2
#define SDP_RULE_NOW		3
#define SDP_RULE_ONLY		4

#define SDP_RULE_CONNECT	(1U << 0)
#define SDP_RULE_LISTEN		(1U << 1)

/**
 * struct sdp_uring - what IORING_OP_URING_CMD carries in the entry's cmd
 * @arg: pointer to the structure of the ioctl
 * @reserved: zero
 *
 * The entry's cmd_op is the number of any ioctl above; its result is what that
 * ioctl returns, or a negative errno.  The structure is read when the entry is
 * submitted or later, and written before the result is there: it has to stay
 * until then.  read(2), write(2), poll(2) and splice(2) have operations of
 * io_uring's own, which work on the descriptor; those of sockets do not.
 *
 * An entry that has to wait does not make its submitter wait, whether
 * O_NONBLOCK is set or not, except that MSG_DONTWAIT is EAGAIN.  It waits in one
 * of the ring's bounded workers, of which there are only so many
 * (IORING_REGISTER_IOWQ_MAX_WORKERS): who has many connections links the entry
 * to one of IORING_OP_POLL_ADD.
 *
 * SDP_IOC_SEND raises no SIGPIPE, and may take less than all of the bytes, unless
 * MSG_WAITALL says otherwise.  SDP_IOC_CONNECT is done when it is settled.
 * Registered buffers are EINVAL; messages of 32-bit programs EOPNOTSUPP.
 */
struct sdp_uring {
	__u64 arg;
	__u64 reserved;
};

#endif /* _UAPI_LINUX_SDP_H */
