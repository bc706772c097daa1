/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Direct SDP: sockets of family 27 that speak Annex A4 to peers of any make, without TCP
 * underneath.  They bypass the network stack and its rules for packets, so an administrator has to
 * enable them: net.sdp.direct.
 *
 *	family.c	the family, and what is common to all of its sockets
 *	call.c		connect, listen, accept, shutdown, close
 *	begin.c		connections that a program asks for, or a peer
 *	link.c		a connection, as its channel (chan/chan.h) tells of it
 *	msg.c		messages from the peer
 *	send.c		send
 *	source.c	memory that the peer reads
 *	target.c	memory of the peer's that is written into
 *	receive.c	receive
 *	sink.c		memory of the peer's that is read
 *	room.c		memory that the peer writes into
 *	pages.c		memory of programs
 *	poll.c		poll, and what is there
 *	bound.c		addresses and ports
 *	list.c		/proc/net/sdp/direct
 *
 * A socket's sk_state is one of
 *
 *	TCP_CLOSE ---> TCP_SYN_SENT ---> TCP_ESTABLISHED ---> TCP_CLOSE
 *	    \-------> TCP_LISTEN
 *
 * and one that is accepted begins as TCP_SYN_SENT.  The halves are in sk_shutdown, fin_sent and
 * fin_came.
 *
 * Locks, outermost first: the socket's own (lock_sock()), for connect, bind, listen, accept and
 * close; sdp_direct.send or .receive, for calls that write or read; sdp_direct.lock, with bottom
 * halves off, for members that the channel changes; the channel's lock.  sdp_direct_accepts guards
 * the queues of listeners, and sdp_direct_bounds the addresses: no lock is taken inside of either.
 *
 * Lifetimes: a program's socket has a reference to its struct sock, and each link has one until its
 * channel is free.  A socket has a reference to its link's channel until the channel is over.  The
 * queue of the listener has a reference to a connection that no program has accepted yet, and that
 * connection has one to its listener.  Each struct sock holds a reference to the module.
 */
#ifndef _SDP_DIRECT_H
#define _SDP_DIRECT_H

#include <linux/in.h>
#include <linux/mutex.h>
#include <net/sock.h>

#include "chan/chan.h"
#include "compat.h"
#include "sdp/write.h"
#include "sdp/zcopy.h"

/* AF_INET_SDP to programs for older stacks; to Linux it is AF_IB, which has no sockets. */
#define SDP_DIRECT_FAMILY	27

/* Bytes of a receive buffer, the base header included. */
#define SDP_DIRECT_SIZE		(SDP_CHAN_SIZE + sizeof(struct sdp_bsdh))

/* After so many large messages without a copy, in a row, a half becomes Pipelined. */
#define SDP_DIRECT_HITS		4

/* After so many failures in a row 2^this transfers are not tried. */
#define SDP_DIRECT_MISSES	6

/* A peer answers a cancellation by itself. */
#define SDP_DIRECT_CANCEL	(5 * HZ)

/**
 * struct sdp_direct_link - a connection
 * @chan: its channel
 * @sk: its socket, held
 * @adverts: of the peer's Hello or HelloAck: MaxAdverts; written before the channel is open
 */
struct sdp_direct_link {
	struct sdp_chan chan;
	struct sock *sk;
	u8 adverts;
};

/**
 * struct sdp_direct - a socket
 * @sk: the socket
 * @send: one writes
 * @receive: one reads
 * @lock: sk_state, sk_shutdown, the queues, and what follows
 * @link: its connection, unless that is over; with a reference to its channel
 * @local: its address; sdp_direct_bounds as well, where it is bound
 * @peer: the other end's
 * @fin_sent: DisConn has been sent
 * @fin_came: DisConn has come
 * @ending: the channel ends as soon as nothing is on its way
 * @src: what the peer may read
 * @srcah: the same, as the peer is told of it
 * @src_skip: so many large messages are copied
 * @src_misses: so many, in a row, the peer did not read
 * @src_hits: so many, in a row, the peer has read or let this end write
 * @src_enough: after so many the half becomes Pipelined
 * @sink: what the peer lets this end read
 * @room: what the peer may write into
 * @room_skip: so many calls that receive advertise nothing
 * @room_misses: into so many, in a row, the peer did not write
 * @target: what the peer lets this end write into
 * @rx_mode: of the half that receives: enum sdp_mode
 * @tx_mode: of the half that sends
 * @tx_mode_told: as the peer knows it
 * @buf_acks: ChRcvBufAck messages that are owed
 * @nodelay: TCP_NODELAY: a short message does not wait for more bytes
 * @readable: bytes in sk_receive_queue
 * @queued: bytes in sk_write_queue
 * @tx_bytes: bytes that were taken from the program
 * @rx_bytes: bytes that have come
 * @tx_zcopy: of @tx_bytes, those that the peer has read, or that were written into its memory
 * @rx_zcopy: of @rx_bytes, those that were read from the peer's memory, or that it has written
 * @tx_written: of @tx_zcopy, those that were written
 * @rx_written: of @rx_zcopy, the same
 * @deadline: jiffies at which the connection of a closed socket ends; what is sent moves it on
 * @all: in the list of its namespace's; list.c
 * @bound: in the table of those that have an address; sdp_direct_bounds
 * @port: where a listener listens; the socket's own lock
 * @payer: whose share of an adapter its connections take; set before they can be made
 * @parent: the listener, held, until a program has accepted it; sdp_direct_accepts
 * @queue: in the listener's @children; sdp_direct_accepts
 * @children: established, and not accepted; sdp_direct_accepts
 */
struct sdp_direct {
	struct sock sk;
	struct mutex send;	/* see above */
	struct mutex receive;	/* see above */
	spinlock_t lock;	/* see above */
	struct sdp_direct_link *link;
	struct sockaddr_in local;
	struct sockaddr_in peer;
	bool fin_sent;
	bool fin_came;
	bool ending;
	struct sdp_src src;
	struct sdp_srcah srcah;
	u32 src_skip;
	u32 src_misses;
	u32 src_hits;
	u32 src_enough;
	struct sdp_sink sink;
	struct sdp_room room;
	u32 room_skip;
	u32 room_misses;
	struct sdp_target target;
	u8 rx_mode;
	u8 tx_mode;
	u8 tx_mode_told;
	u32 buf_acks;
	bool nodelay;
	u32 readable;
	u32 queued;
	u64 tx_bytes;
	u64 rx_bytes;
	u64 tx_zcopy;
	u64 rx_zcopy;
	u64 tx_written;
	u64 rx_written;
	unsigned long deadline;
	struct hlist_node all;
	struct hlist_node bound;
	struct sdp_xprt_port *port;
	kuid_t payer;
	struct sock *parent;
	struct list_head queue;
	struct list_head children;
};

static inline struct sdp_direct *sdp_direct(const struct sock *sk)
{
	return (struct sdp_direct *)sk;
}

/* Of a packet in sk_receive_queue: where the unread bytes begin. */
static inline u32 *sdp_direct_off(struct sk_buff *skb)
{
	return (u32 *)skb->cb;
}

/* Of a packet in sk_write_queue: it is SrcAvail. */
static inline bool *sdp_direct_offers(struct sk_buff *skb)
{
	return (bool *)skb->cb;
}

/**
 * struct sdp_direct_pages - memory of a program, for one transfer
 * @chan: the channel
 * @pages: the pages
 * @n: of them, those that are pinned
 * @len: bytes
 * @write: the transfer writes into it
 * @peer: the peer's end does the transfer
 * @known: the transport knows it
 * @pin: the user's account
 * @sgt: where it is
 * @cm: as the channel knows it
 *
 * On the stack of the program that waits.
 */
struct sdp_direct_pages {
	struct sdp_chan *chan;
	struct page **pages;
	unsigned int n;
	u32 len;
	bool write;
	bool peer;
	bool known;
	struct mmpin pin;
	struct sg_table sgt;
	struct sdp_chan_mem cm;
};

extern spinlock_t sdp_direct_accepts;

/* family.c */
void sdp_direct_init(void);
bool sdp_direct_is_tried(struct sock *sk);
void sdp_direct_exit(void);
struct sock *sdp_direct_make(struct net *net, struct socket *sock, int kern);
int sdp_direct_wait(struct sock *sk, long *timeo, bool (*done)(struct sock *sk));

/* call.c */
int sdp_direct_bind(struct socket *sock, struct sockaddr_unsized *addr, int len);
int sdp_direct_connect(struct socket *sock, struct sockaddr_unsized *addr, int len, int flags);
int sdp_direct_listen(struct socket *sock, int backlog);
struct sock *sdp_direct_accept(struct sock *sk, int flags, int *err);
int sdp_direct_shutdown(struct socket *sock, int how);
int sdp_direct_release(struct socket *sock);

/* begin.c */
int sdp_direct_begin(struct sock *sk, struct sdp_xprt_params *params);
int sdp_direct_request_addrs(const void *pdata, unsigned int len,
			     struct sockaddr_storage *local, struct sockaddr_storage *peer);
int sdp_direct_request(struct sdp_xprt_conn *xc, const struct sdp_xprt_event *ev);

/* link.c */
extern const struct sdp_chan_user sdp_direct_user;
void sdp_direct_ended(struct sock *sk, int err);
void sdp_direct_forget(struct sock *sk);
void sdp_direct_drop(struct sock *sk);
void sdp_direct_push(struct sock *sk);
void sdp_direct_abort(struct sock *sk, int err);
struct sdp_direct_link *sdp_direct_detach(struct sock *sk, int err);
void sdp_direct_late(struct timer_list *timer);

/* msg.c */
void sdp_direct_bad(struct sdp_chan *chan);
bool sdp_direct_stream(u8 mid, u32 len);
void sdp_direct_message(struct sdp_chan *chan, u8 mid, u8 flags, struct sk_buff *skb);

/* send.c */
bool sdp_direct_may_send(struct sock *sk);
int sdp_direct_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);

/* source.c */
void sdp_direct_wake_source(struct sock *sk);
void sdp_direct_crossed(struct sock *sk);
void sdp_direct_hit(struct sdp_direct *direct);
size_t sdp_direct_lend(struct sock *sk, struct msghdr *msg, long *timeo);

/* target.c */
size_t sdp_direct_fill(struct sock *sk, struct msghdr *msg, u32 most);

/* sink.c */
size_t sdp_direct_fetch(struct sock *sk, struct msghdr *msg, size_t len, bool may, bool needs);
bool sdp_direct_decline(struct sock *sk);
void sdp_direct_decline_unread(struct sock *sk);
bool sdp_direct_serves(const struct sdp_direct *direct);

/* room.c */
void sdp_direct_wake_room(struct sock *sk);
u32 sdp_direct_is_roomy(struct sock *sk, const struct msghdr *msg, size_t len);
size_t sdp_direct_invite(struct sock *sk, struct msghdr *msg, size_t len, long *timeo);

/* pages.c */
u32 sdp_direct_worth(const struct iov_iter *iter, u32 least);
int sdp_direct_pin(struct sdp_direct_pages *p, struct sdp_chan *chan, const struct iov_iter *iter,
		   u32 most, u32 access);
void sdp_direct_unpin(struct sdp_direct_pages *p);

/* receive.c */
int sdp_direct_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);

/* poll.c */
bool sdp_direct_ready(struct sock *sk, u32 bytes);
u32 sdp_direct_unsent(struct sdp_direct *direct);
int sdp_direct_set_rcvlowat(struct sock *sk, int val);
__poll_t sdp_direct_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int sdp_direct_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/* bound.c */
int sdp_direct_bind_to(struct sock *sk, __be32 addr, u16 port);
void sdp_direct_unbind(struct sock *sk);
bool sdp_direct_may_listen(struct sock *sk);
struct sock *sdp_direct_listener(struct net *net, const struct sockaddr_in *addr, int ifindex);

/* list.c */
extern struct pernet_operations sdp_direct_net_ops;
void sdp_direct_list(struct sock *sk);
void sdp_direct_unlist(struct sock *sk);
extern const struct seq_operations sdp_direct_seq_ops;

#endif /* _SDP_DIRECT_H */
