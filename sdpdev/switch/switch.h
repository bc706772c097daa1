/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The switch: SDP or the native TCP socket answers for an endpoint.
 *
 * io.c sends and receives by whichever carries the connection.  connect.c begins over SDP
 * and falls back to TCP; listen.c and incoming.c have the other side; port.c knows who
 * listens where; part.c and close.c end.  event.c gets the transports' events, and work.c
 * does what needs process context.
 *
 * Locks: ep->op_mutex serialises the calls that configure an endpoint, and they may sleep.
 * ep->lock protects struct sdp_listener as well.  That of a listener is taken inside of
 * that of its incoming connection, never the other way round.
 *
 * Lifetimes: an incoming connection's endpoint belongs to its listener's queue until
 * accept(2) gives its reference to a file, and holds the listener for that time.
 */
#ifndef _SDP_SWITCH_H
#define _SDP_SWITCH_H

#include "sdp/sdp.h"
#include "tcp/tcp.h"

/**
 * struct sdp_listener - what an endpoint that listens has, or had
 * @ep: the endpoint
 * @node: in the table of listeners; sdp_ports_lock
 * @port: port listened on, host byte order; zero where it does not listen; also read
 *	without the lock
 * @heard: of @port, for the transports; sdp_ports_lock
 * @lent: there were connections on its port; also read without the lock
 * @no_tcp: the native socket does not listen; also read without the lock
 * @accept_tcp: the last one accepted came over SDP; read and written without the lock
 * @backlog: how many may wait
 * @pending: incoming connections not yet accepted; also read without the lock
 * @accept_queue: endpoints to be accepted, by their accept_node
 * @deferred_queue: established ones that are not to be accepted yet, by their accept_node
 * @coming: those that are to be accepted in their order, until they are in @accept_queue,
 *	by their coming_node
 *
 * Made by the first listen(2), and freed with the endpoint.  ep->lock protects it.
 */
struct sdp_listener {
	struct sdp_ep *ep;
	struct hlist_node node;
	u16 port;
	struct sdp_xprt_port *heard;
	bool lent;
	bool no_tcp;
	bool accept_tcp;
	int backlog;
	int pending;
	struct list_head accept_queue;
	struct list_head deferred_queue;
	struct list_head coming;
};

/* What the endpoint has for listening, or NULL. */
static inline struct sdp_listener *sdp_ep_listen(struct sdp_ep *ep)
{
	/* Pairs with the release in sdp_listen_make(). */
	return smp_load_acquire(&ep->listen);
}

/* endpoint.c */
struct sdp_ep *sdp_ep_create(const struct sdp_ep_ops *ops, struct sdp_ep *listener);
void sdp_ep_release(struct sdp_ep *ep);

/* port.c */
int sdp_port_add(struct sdp_ep *ep, u16 port);
bool sdp_port_del(struct sdp_ep *ep);
struct sdp_ep *sdp_port_find(const struct sdp_xprt_event *ev);
bool sdp_port_lend(struct sdp_ep *ep, struct sdp_ep *listener);
int sdp_port_pair(struct sdp_ep *ep, const struct sdp_xprt_params *params);
void sdp_port_drop(struct sdp_ep *ep);

/* Where an incoming connection is on its way to accept(2): see listen.c. */
enum sdp_accept_state {
	SDP_ACCEPT_NONE,
	SDP_ACCEPT_ASKED,
	SDP_ACCEPT_HELD,
	SDP_ACCEPT_DEFERRED,
	SDP_ACCEPT_QUEUED,
	SDP_ACCEPT_TAKEN,
	SDP_ACCEPT_GONE,
};

/**
 * struct sdp_accepted - a connection that was accepted
 * @ep: one over SDP, whose reference passes to the caller; or NULL
 * @sock: one over TCP
 */
struct sdp_accepted {
	struct sdp_ep *ep;
	struct socket *sock;
};

/* listen.c */
void sdp_accept_set(struct sdp_ep *ep, enum sdp_accept_state next);
int sdp_listen(struct sdp_ep *ep, int backlog, u32 flags);
bool sdp_listens_alone(struct sdp_ep *ep);
void sdp_unlisten(struct sdp_ep *ep);
int sdp_ep_accept(struct sdp_ep *ep, bool nonblock, struct sdp_accepted *got);
bool sdp_accept_ready(struct sdp_ep *ep);

/* incoming.c */
void sdp_incoming_established(struct sdp_ep *ep);
void sdp_incoming_offer(struct sdp_ep *ep);
void sdp_incoming_forget(struct sdp_ep *ep);
void sdp_incoming_accept(struct sdp_conn *conn);
void sdp_incoming_time(struct work_struct *work);
int sdp_incoming(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev);

/* Why a transport could make no connection, if it was for want of something. */
static inline u8 sdp_shortage(int error, u8 otherwise)
{
	switch (error) {
	case -EDQUOT:
		return SDP_REASON_LIMIT;
	case -ENOBUFS:
		return SDP_REASON_NO_MEMORY;
	default:
		return otherwise;
	}
}

/* status.c */
__poll_t sdp_ep_poll(struct sdp_ep *ep);
int sdp_ep_take_error(struct sdp_ep *ep);
int sdp_ep_pending(struct sdp_ep *ep);
void sdp_ep_info(struct sdp_ep *ep, struct sdp_info *info);

/* connect.c */
int sdp_connect(struct sdp_ep *ep, struct sockaddr_storage *addr,
		unsigned int len, unsigned int flags, bool nonblock);
int sdp_connect_wait(struct sdp_ep *ep, long *timeo);
void sdp_connect_established(struct sdp_conn *conn, const struct sdp_xprt_event *ev);
void sdp_connect_failed(struct sdp_ep *ep, u8 reason, int err);
void sdp_connect_settle(struct sdp_ep *ep);

/* part.c */
int sdp_disconnect(struct sdp_ep *ep);

/* io.c */
ssize_t sdp_io_recv(struct sdp_ep *ep, struct iov_iter *to, unsigned int flags, long timeo,
		    struct msghdr *msg);
ssize_t sdp_io_send(struct sdp_ep *ep, struct iov_iter *from, unsigned int flags, long timeo);
int sdp_io_ring_setup(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes);
int sdp_io_ring_enter(struct sdp_ep *ep, u32 flags, bool nonblock);
int sdp_io_mmap(struct sdp_ep *ep, struct vm_area_struct *vma);
void sdp_io_closing(struct sdp_ep *ep);

/* close.c */
int sdp_shutdown(struct sdp_ep *ep, int how);
void sdp_close(struct sdp_ep *ep);
void sdp_close_port(struct sdp_ep *ep);

/* event.c */
extern const struct sdp_xprt_upcalls sdp_upcalls;

/* work.c */
extern const struct sdp_ep_ops sdp_ep_ops;

#endif /* _SDP_SWITCH_H */
