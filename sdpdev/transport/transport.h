/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface between the protocol (sdpdev.ko) and its transports (sdp_ib.ko and others).
 * Several transports may be loaded at the same time.
 *
 * A transport carries messages reliably and in order between two ends, whose names are IP addresses
 * and ports.  It reports everything that happens by typed events.  This interface contains no type
 * of the transport's own (no queue pair, GID or path).  The transport does not look into messages
 * or private data: both stay as the protocol wrote them, including the byte order.
 *
 * Contexts: the protocol calls functions marked (sleeps) from process context, without spinlocks.
 * It may call the others with bottom halves off and under its own spinlock, so they must not sleep,
 * and must not call back before they return.  It calls the post functions and buf_take() in no
 * other way.  The comment of each upcall names its context.
 *
 * Every transport carries messages.  Access to the other end's memory is optional: see enum
 * sdp_xprt_caps.
 */
#ifndef _SDP_TRANSPORT_H
#define _SDP_TRANSPORT_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/net_namespace.h>

/**
 * enum sdp_xprt_caps - what a transport can do besides messages
 * @SDP_XPRT_CAP_MEM: know memory of this host: @mem_alloc, @mem_free, @invalidate, @max_mem
 * @SDP_XPRT_CAP_READ: read from the peer's: @post_read; not without @SDP_XPRT_CAP_MEM
 * @SDP_XPRT_CAP_WRITE: write into the peer's: @post_write; not without @SDP_XPRT_CAP_MEM
 * @SDP_XPRT_CAP_SEND_INV: end the peer's registration by a message: @post_send_inv
 * @SDP_XPRT_CAPS: all that there are
 *
 * A transport has a bit exactly where it has the functions: sdp_xprt_register() refuses
 * any other.
 */
enum sdp_xprt_caps {
	SDP_XPRT_CAP_MEM	= BIT(0),
	SDP_XPRT_CAP_READ	= BIT(1),
	SDP_XPRT_CAP_WRITE	= BIT(2),
	SDP_XPRT_CAP_SEND_INV	= BIT(3),
	SDP_XPRT_CAPS		= BIT(4) - 1,
};

/**
 * enum sdp_xprt_access - what memory is for
 * @SDP_XPRT_READ_SINK: post_read() puts bytes there
 * @SDP_XPRT_WRITE_SOURCE: post_write() takes bytes from there
 * @SDP_XPRT_PEER_READS: the peer may read it, by its key
 * @SDP_XPRT_PEER_WRITES: the peer may write into it, by its key
 */
enum sdp_xprt_access {
	SDP_XPRT_READ_SINK	= BIT(0),
	SDP_XPRT_WRITE_SOURCE	= BIT(1),
	SDP_XPRT_PEER_READS	= BIT(2),
	SDP_XPRT_PEER_WRITES	= BIT(3),
};

/* Private data that a transport must carry with a request, in bytes; see @names of its ops. */
#define SDP_XPRT_REQ_PDATA	76
/* Private data that an acceptance carries, in bytes. */
#define SDP_XPRT_REP_PDATA	76

struct bio_vec;
struct net_device;
struct page;
struct sdp_xprt_dev;
struct sdp_xprt_event;
struct sdp_xprt_ops;
struct seq_file;

/**
 * struct sdp_xprt_conn - one connection of a transport
 * @ops: the transport
 * @ctx: the protocol's own, handed back with every upcall; set by the protocol
 *	before the first call that can lead to an event
 * @event: gets the events of this connection, as struct sdp_xprt_upcalls.event says; NULL:
 *	that function does.  Set by the protocol together with @ctx: when conn_create() has
 *	returned, or within SDP_XPRT_CONNECT_REQUEST
 * @dev: its device; NULL until known.  See share.h
 * @pieces: how many pieces post_gather() takes at most, which the device may make fewer
 *	than params.send_pieces; set when buffers can be made
 * @max_mem: bytes that mem_alloc() takes at most, where the transport can do that at all;
 *	zero where the device cannot, or params.rdma_depth is zero; set when buffers can be
 *	made
 * @owner: whose it is: of sdp_xprt_charge()
 * @share: percent that @owner may have; of the same
 * @owned: it counts as one of that owner's; struct sdp_xprt_dev.lock
 *
 * Embedded in the transport's structure.  Lives from conn_create() or the
 * SDP_XPRT_CONNECT_REQUEST event until conn_destroy() has returned and the last
 * of its buffers has been freed.
 */
struct sdp_xprt_conn {
	const struct sdp_xprt_ops *ops;
	void *ctx;
	int (*event)(struct sdp_xprt_conn *conn, void *ctx, const struct sdp_xprt_event *ev);
	struct sdp_xprt_dev *dev;
	u32 pieces;
	u32 max_mem;
	u32 owner;
	u32 share;
	bool owned;
};

/**
 * struct sdp_xprt_buf - a message buffer that the transport can send or receive
 * @list: for use by the holder of the buffer (the protocol, unless it is posted)
 * @head: of a buffer to receive, where params.recv_head is not zero: where that many bytes
 *	go that a message begins with; else NULL
 * @data: kernel address of the message, or of what follows the bytes at @head: then it is
 *	the first byte of a compound page, which buf_take() takes
 * @size: bytes allocated at @data
 * @len: bytes of the message, those at @head included: set by the protocol before
 *	post_send(), by the transport before SDP_XPRT_RECV_DONE
 * @off: free for the protocol
 * @kind: free for the protocol
 * @priv: free for the protocol
 *
 * Embedded in the transport's structure.  Belongs to the transport from
 * post_send() or post_recv() until the matching *_DONE event, and to the
 * protocol otherwise, which may free it even after conn_destroy() returned.
 */
struct sdp_xprt_buf {
	struct list_head list;
	void *head;
	void *data;
	u32 size;
	u32 len;
	u32 off;
	u8 kind;
	void *priv;
};

/**
 * struct sdp_xprt_mem - memory of this host that a connection's transport knows
 * @list: for use by the holder of the memory (the protocol, unless it is posted)
 * @len: bytes
 * @key: what the peer has to name, with @addr; a number, in the host's byte order
 * @addr: how the peer calls the first byte
 *
 * Embedded in the transport's structure, and made by mem_alloc(); @key and @addr are set
 * where the peer may have access.  Belongs to the transport from post_read(), post_write()
 * or invalidate() until the matching *_DONE event: so there is one operation with it at a
 * time.  Otherwise it belongs to the protocol, which may free it even after
 * conn_destroy() returned.  What was read into it, and what the peer has written, is for the
 * processor to see when mem_free() has returned.
 *
 * The peer's access begins with mem_alloc(), needs no event, and is not told.  It ends with
 * SDP_XPRT_INVALIDATE_DONE, with a message that says so (@invalidated in struct
 * sdp_xprt_event), with SDP_XPRT_DISCONNECTED, or when conn_destroy() returns: only then may
 * it be freed.
 */
struct sdp_xprt_mem {
	struct list_head list;
	u32 len;
	u32 key;
	u64 addr;
};

/**
 * struct sdp_xprt_remote - memory of the peer
 * @addr: as the peer has told it
 * @key: as the peer has told it
 * @len: bytes
 */
struct sdp_xprt_remote {
	u64 addr;
	u32 key;
	u32 len;
};

/**
 * enum sdp_xprt_event_type - what happened
 * @SDP_XPRT_CONNECT_REQUEST: a peer asks for a connection; @conn is new and the
 *	upcall's @ctx is NULL.  The handler returns zero and has set conn->ctx,
 *	and later calls accept() or reject() from any process context; or it
 *	returns an error, which rejects the request and destroys @conn
 *	(-ECONNREFUSED: no listener).  To tell the peer why, it calls reject() with
 *	private data, and then returns the error.  Process context
 * @SDP_XPRT_ESTABLISHED: messages flow; carries the acceptance's private data on
 *	the side that connected.  Process context.  The first messages of the
 *	peer can come before it, on either side: the two contexts run side by side
 * @SDP_XPRT_REJECTED: the peer or its transport refused; @reason and private
 *	data if any.  Process context
 * @SDP_XPRT_UNREACHABLE: no route, address, path or answer; @error.  Process
 *	context
 * @SDP_XPRT_DISCONNECTED: the peer or the transport ended an established
 *	connection, or an accepted one never came about; everything posted has
 *	come back and nothing more arrives; @error if it was a failure.  Process
 *	context
 * @SDP_XPRT_DEVICE_GONE: the device is being removed: the protocol must have
 *	called conn_destroy() (and freed its buffers) before or soon after it
 *	returns; the transport waits for that.  Comes in any state, even after
 *	one of the other events that end a connection.  Process context
 *
 * A connection ends with exactly one of _REJECTED, _UNREACHABLE and
 * _DISCONNECTED, or with _DEVICE_GONE; none of them frees it, conn_destroy()
 * does.
 *
 * @SDP_XPRT_RECV_DONE: @buf came back from post_recv(): a message of buf->len
 *	bytes, or @error (flushed).  Softirq context
 * @SDP_XPRT_SEND_DONE: @buf came back from post_send(), sent or with @error.
 *	Softirq context
 * @SDP_XPRT_READ_DONE: @mem came back from post_read() with the bytes, or with @error.
 *	Softirq context
 * @SDP_XPRT_WRITE_DONE: @mem came back from post_write(), and the peer's transport has the
 *	bytes; or with @error.  Softirq context
 * @SDP_XPRT_INVALIDATE_DONE: @mem came back from invalidate(): the peer has no access any
 *	more; with @error neither, since the connection is at its end.  Softirq context
 *
 * Each post that returned zero has exactly one *_DONE, before SDP_XPRT_DISCONNECTED and
 * before conn_destroy() returns.  Where @error is not zero the connection is at its end,
 * all that is posted comes back with an error, and the event that says why follows.  What
 * was read or written by then is not known: some, all, or none of it.  -EREMOTEIO: the
 * peer's transport refused, as there is no such memory, or not for that.
 */
enum sdp_xprt_event_type {
	SDP_XPRT_CONNECT_REQUEST,
	SDP_XPRT_ESTABLISHED,
	SDP_XPRT_REJECTED,
	SDP_XPRT_UNREACHABLE,
	SDP_XPRT_DISCONNECTED,
	SDP_XPRT_DEVICE_GONE,
	SDP_XPRT_RECV_DONE,
	SDP_XPRT_SEND_DONE,
	SDP_XPRT_READ_DONE,
	SDP_XPRT_WRITE_DONE,
	SDP_XPRT_INVALIDATE_DONE,
};

/**
 * enum sdp_xprt_reject - why a request was refused
 * @SDP_XPRT_REJECT_CONSUMER: by the peer's protocol (no listener, or Hello not
 *	acceptable); on InfiniBand reason code 28
 * @SDP_XPRT_REJECT_NO_SERVICE: nothing listens at the peer's transport
 * @SDP_XPRT_REJECT_STALE: the peer holds an old connection of that name
 * @SDP_XPRT_REJECT_OTHER: anything else
 */
enum sdp_xprt_reject {
	SDP_XPRT_REJECT_CONSUMER,
	SDP_XPRT_REJECT_NO_SERVICE,
	SDP_XPRT_REJECT_STALE,
	SDP_XPRT_REJECT_OTHER,
};

/**
 * struct sdp_xprt_event - an event of a connection
 * @type: which
 * @reason: of SDP_XPRT_REJECTED
 * @truncated: the private data was longer than the transport could carry
 * @error: a negative errno, or zero
 * @invalidated: of SDP_XPRT_RECV_DONE: the message has ended the registration whose key is
 *	@key
 * @key: see @invalidated
 * @buf: of SDP_XPRT_RECV_DONE and _SEND_DONE
 * @mem: of the other *_DONE events
 * @net: of SDP_XPRT_CONNECT_REQUEST: the namespace of the interface that owns
 *	the destination address
 * @ifindex: of SDP_XPRT_CONNECT_REQUEST: that interface
 * @local: of SDP_XPRT_CONNECT_REQUEST: destination address and port
 * @peer: of SDP_XPRT_CONNECT_REQUEST: source address and port
 * @pdata: private data, valid during the upcall
 * @pdata_len: its bytes as received; may have padding behind what was sent
 */
struct sdp_xprt_event {
	enum sdp_xprt_event_type type;
	enum sdp_xprt_reject reason;
	bool truncated;
	int error;
	bool invalidated;
	u32 key;
	struct sdp_xprt_buf *buf;
	struct sdp_xprt_mem *mem;
	struct net *net;
	int ifindex;
	const struct sockaddr_storage *local;
	const struct sockaddr_storage *peer;
	const void *pdata;
	unsigned int pdata_len;
};

/**
 * struct sdp_xprt_upcalls - what the protocol gives to every transport
 * @request_addrs: read the addresses out of a request's private data, which a
 *	transport without @names needs to find the interface (and so the namespace) it
 *	is for: one port of a fabric can carry several IP addresses.  Zero or -EPROTO.
 *	The port of @local stays zero: the transport knows it.  Any context
 * @event: an event of @conn.  The return value counts only where enum
 *	sdp_xprt_event_type says so.  Events of one connection come one at a
 *	time in each of the two contexts; none comes after conn_destroy()
 *	returned.  In process context the handler may call anything, even
 *	conn_destroy(), except that during SDP_XPRT_CONNECT_REQUEST it ends the
 *	connection by returning an error
 * @gone: all that is left of connections of @ops on @dev, or on any device where that
 *	is NULL, destroyed ones and their buffers too, must be given back.  It begins
 *	that, and returns.  Process context
 * @changed: peers that were out of reach of @ops may be there: a port came, or addresses of the
 *	fabric changed.  Any context
 */
struct sdp_xprt_upcalls {
	int (*request_addrs)(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local,
			     struct sockaddr_storage *peer);
	int (*event)(struct sdp_xprt_conn *conn, void *ctx,
		     const struct sdp_xprt_event *ev);
	void (*gone)(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev);
	void (*changed)(const struct sdp_xprt_ops *ops);
};

/**
 * struct sdp_xprt_params - what a connection is made with
 * @send_depth: buffers that are posted to send at once, at most
 * @recv_depth: buffers that are posted to receive at once, at most
 * @send_pieces: pieces of memory that post_gather() takes behind a buffer, if the device can
 *	have so many; see struct sdp_xprt_conn.pieces
 * @recv_head: bytes of each message received that go to struct sdp_xprt_buf.head, the rest
 *	into whole pages.  Zero: all of it goes to one place
 * @by: the transport has to have this struct sdp_xprt_ops.by; zero: any may do
 * @any_port: the request goes to the service of port 0, whatever the port of @peer is; that one
 *	is for routing rules
 * @brief: its bytes have another way, so it ends where the peer's transport acknowledges
 *	nothing for about half a second, or has no buffer for a message.  Otherwise it
 *	outlasts what the transport can
 * @rdma_depth: pieces of memory that are known at once, at most; zero: no memory.  Each has
 *	one operation at a time
 * @owner: whose connection it is, as a number
 * @share: percent that @owner may have of those connections of a device that no other
 *	owner has, and of the registrations of memory; what is beyond that fails, with
 *	-EDQUOT.  Zero: the connection does not count as @owner's, and has no such limit
 * @local: source address and port (the address may be the wildcard)
 * @peer: destination address and port; an IPv4 address mapped into IPv6 is
 *	given as the IPv4 address it is.  An IPv6 one has the flow label, and a traffic
 *	class besides @tos, for routing rules
 * @ifindex: interface that it must leave by (SO_BINDTODEVICE), or zero
 * @mark: of its packets, for routing rules (SO_MARK)
 * @uid: whose they are, for routing rules
 * @tos: their type of service, or traffic class, for routing rules
 * @timeout_ms: for resolution and connection together
 */
struct sdp_xprt_params {
	u32 send_depth;
	u32 recv_depth;
	u32 send_pieces;
	u32 recv_head;
	u8 by;
	bool any_port;
	bool brief;
	u32 rdma_depth;
	u32 owner;
	u32 share;
	struct sockaddr_storage local;
	struct sockaddr_storage peer;
	int ifindex;
	u32 mark;
	kuid_t uid;
	u8 tos;
	u32 timeout_ms;
};

/**
 * struct sdp_xprt_ops - a transport
 * @owner: its module, for whoever looks at the structure: a transport is kept by what uses
 *	it, and takes itself back before it goes
 * @name: for people; no two transports have the same
 * @by: SDP_SOCK_BY_* of joined connections, which programs are told; zero: it has none
 * @caps: what it can do besides messages: bits of enum sdp_xprt_caps
 * @names: its requests name both addresses in a way of their own, so the protocol leaves them
 *	out of private data, for which there may be less room
 * @max_msg: bytes of the largest message that one buffer can hold
 * @max_split: as @max_msg, of a buffer to receive with params.recv_head: the largest @size;
 *	a power of two
 * @max_mem: bytes that one @mem_alloc can take at most, wherever they begin
 * @route: (sleeps, briefly) would a connection with these parameters leave by
 *	this transport?  Zero (the wildcard in params->local is replaced by the
 *	source address then, and params->ifindex is the interface), -EOPNOTSUPP
 *	(the route leaves by another kind of interface, so another transport may take
 *	it), -ENETUNREACH or -EHOSTUNREACH.  The first transport that says zero has the
 *	connection
 * @takes: might a connection that leaves by @dev use this transport?  A cheap question, which
 *	@route answers for good.  Any context, under RCU; NULL: no
 * @listen: (sleeps) let requests for @port of @net reach the protocol; there is one call
 *	for each pair, however many listen there.  Port 0 is a port as any other.  A
 *	transport that cannot tell namespaces apart before it has the request may let in
 *	those for other ones, too: the protocol looks at the event's.  @net lives until
 *	unlisten().  Called one at a time.  Zero or a negative errno: then no unlisten()
 *	follows, and the port is not reached by this transport; -EOPNOTSUPP: it has no such
 *	port, which is no failure
 * @unlisten: (sleeps) the reverse; when it has returned for the last namespace no request
 *	for @port is under way: it waits for the handlers of SDP_XPRT_CONNECT_REQUEST, so
 *	the caller holds no lock that they take
 * @conn_create: (sleeps) a connection for @net, holding its own reference to
 *	what it needs; ERR_PTR on failure
 * @connect: (sleeps, briefly) begin to resolve and connect, with private data;
 *	ends in SDP_XPRT_ESTABLISHED, _REJECTED or _UNREACHABLE
 * @prepare: (sleeps) make what an incoming connection needs to post buffers;
 *	called before the first post_recv() and accept()
 * @accept: (sleeps) accept an incoming connection, with private data; ends in
 *	SDP_XPRT_ESTABLISHED or _DISCONNECTED
 * @reject: (sleeps) refuse it, prepared or not, with SDP_XPRT_REJECT_CONSUMER and the
 *	private data (at most SDP_XPRT_REP_PDATA bytes) at the peer; no event follows
 * @conn_destroy: (sleeps) end it in whatever state it is and free it.  Posted
 *	buffers have come back by *_DONE when it returns
 * @buf_alloc: (sleeps) a buffer of @size bytes for @conn, at most @max_msg; NULL on
 *	failure.  With params.recv_head the @size of a buffer to receive is a power of two,
 *	PAGE_SIZE at least and @max_split at most.  Possible as soon as the device is known:
 *	after prepare(), or in and after @resolved
 * @buf_free: any context
 * @buf_take: take the page at buf->data out of a buffer that has buf->head, with the bytes
 *	that it has received, and put a new one there.  The page is the caller's then, and
 *	outlives connection and device.  NULL: there is no memory, and the buffer is as it
 *	was.  Any context, with bottom halves off
 * @post_send: send buf->len bytes as one message.  Possible from accept() or
 *	SDP_XPRT_ESTABLISHED on; on the accepting side wait for that event or
 *	the first message.  Zero; -ENOTCONN: the connection is at its end, and
 *	the event that says so follows behind all that has arrived; -ENOBUFS
 * @post_gather: @post_send, and the bytes of @n @pieces (at most conn->pieces) follow those
 *	of @buf in the message.  The caller holds the pages, and the bytes in them stay as
 *	they are, until SDP_XPRT_SEND_DONE; the array may go at once.  -EINVAL: too many
 * @post_recv: give a buffer for one message.  Possible before the connection is
 *	established: after prepare(), or in and after @resolved.  Errors as of
 *	@post_send
 * @show_stats: its own counters as "name value" lines, or NULL
 * @mem_alloc: (sleeps) have the transport know the @nents entries of @sg, which stay as they
 *	are until @mem_free, for @access (bits of enum sdp_xprt_access).  Each entry but the
 *	first begins, and each but the last ends, at a page.  Possible as @post_send; with a
 *	message that is posted later the peer can be told of it.  ERR_PTR: -EINVAL (more than
 *	conn->max_mem, or entries that do not fit), -ENOBUFS (more than params.rdma_depth),
 *	-EDQUOT (more than params.share), -ENOMEM, or as of @post_send
 * @mem_free: (sleeps) the reverse; see struct sdp_xprt_mem for when
 * @invalidate: end the peer's access to @mem; SDP_XPRT_INVALIDATE_DONE follows.  Errors as
 *	of @post_send
 * @post_read: read the bytes of @from into @mem, from byte @off on; SDP_XPRT_READ_DONE
 *	follows.  Possible and errors as of @post_send; -EINVAL where @mem is too small, or
 *	not for that; -EOPNOTSUPP if the peer's device allows no reads.  What is posted
 *	behind it may overtake it
 * @post_write: write bytes of @mem, from byte @off on, to all of @to; SDP_XPRT_WRITE_DONE
 *	follows.  As @post_read, but a message that is posted later arrives later: its
 *	receiver finds the bytes
 * @post_send_inv: @post_send, and at the peer the message ends the registration whose key
 *	is @key.  If there is none, the connection ends
 *
 * The last six are for the bits in @caps, see enum sdp_xprt_caps, and NULL without them.
 * @post_read, @post_write, @post_send_inv and @invalidate are called as @post_send is.
 *
 * On the connecting side the device is known only when the address has been
 * resolved: the transport then calls the connection's resolved() upcall below
 * (process context), in which the protocol allocates and posts its receive
 * buffers, before the request is sent.
 */
struct sdp_xprt_ops {
	struct module *owner;
	const char *name;
	u8 by;
	u32 caps;
	bool names;
	u32 max_msg;
	u32 max_split;

	int (*route)(struct net *net, struct sdp_xprt_params *params);
	bool (*takes)(const struct net_device *dev);
	int (*listen)(struct net *net, u16 port);
	void (*unlisten)(struct net *net, u16 port);

	struct sdp_xprt_conn *(*conn_create)(struct net *net, void *ctx);
	int (*connect)(struct sdp_xprt_conn *conn,
		       const struct sdp_xprt_params *params,
		       int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
		       const void *pdata, unsigned int len);
	int (*prepare)(struct sdp_xprt_conn *conn,
		       const struct sdp_xprt_params *params);
	int (*accept)(struct sdp_xprt_conn *conn,
		      const void *pdata, unsigned int len);
	void (*reject)(struct sdp_xprt_conn *conn,
		       const void *pdata, unsigned int len);
	void (*conn_destroy)(struct sdp_xprt_conn *conn);

	struct sdp_xprt_buf *(*buf_alloc)(struct sdp_xprt_conn *conn, u32 size,
					  bool recv);
	void (*buf_free)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf);
	struct page *(*buf_take)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf);
	int (*post_send)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf);
	int (*post_gather)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf,
			   const struct bio_vec *pieces, unsigned int n);
	int (*post_recv)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf);

	void (*show_stats)(struct seq_file *seq);

	u32 max_mem;
	struct sdp_xprt_mem *(*mem_alloc)(struct sdp_xprt_conn *conn,
					  struct scatterlist *sg, unsigned int nents,
					  u32 access);
	void (*mem_free)(struct sdp_xprt_conn *conn, struct sdp_xprt_mem *mem);
	int (*invalidate)(struct sdp_xprt_conn *conn, struct sdp_xprt_mem *mem);
	int (*post_read)(struct sdp_xprt_conn *conn, struct sdp_xprt_mem *mem, u32 off,
			 const struct sdp_xprt_remote *from);
	int (*post_write)(struct sdp_xprt_conn *conn, struct sdp_xprt_mem *mem, u32 off,
			  const struct sdp_xprt_remote *to);
	int (*post_send_inv)(struct sdp_xprt_conn *conn, struct sdp_xprt_buf *buf, u32 key);
};

/**
 * sdp_xprt_tell() - hand an event to whom it belongs
 * @up: the protocol
 * @conn: the connection
 * @ev: the event
 *
 * Context: as the event's type says.
 * Return: the answer of struct sdp_xprt_upcalls.event, or of struct sdp_xprt_conn.event.
 */
static inline int sdp_xprt_tell(const struct sdp_xprt_upcalls *up, struct sdp_xprt_conn *conn,
				const struct sdp_xprt_event *ev)
{
	return conn->event ? conn->event(conn, conn->ctx, ev) : up->event(conn, conn->ctx, ev);
}

/**
 * sdp_xprt_register() - make a transport known to the protocol
 * @ops: the transport; stays valid until sdp_xprt_unregister() returns
 * @up: out: the protocol's upcalls
 *
 * Several may be registered at a time; those that came first are asked first.
 *
 * Context: process context; from within it listen() is called for every port
 * that endpoints listen on already.
 * Return: zero; -EEXIST where it, or one of its name, is registered; -ENOSPC where there
 * are too many; -EINVAL where its capabilities and its functions disagree; -ENOMEM.
 */
int sdp_xprt_register(const struct sdp_xprt_ops *ops,
		      const struct sdp_xprt_upcalls **up);

/**
 * sdp_xprt_unregister() - take it back
 * @ops: the transport
 *
 * Unlistens every port, ends every connection of @ops, and of no other transport, and
 * waits until the last is freed.  No call of @ops is under way when it returns.
 *
 * Context: process context.
 */
void sdp_xprt_unregister(const struct sdp_xprt_ops *ops);

#endif /* _SDP_TRANSPORT_H */
