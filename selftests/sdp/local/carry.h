/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client that tries how a transport carries messages: gathered from pieces, split into
 * head and pages, with events of its own.  memory.c tries what it does with memory.
 */
#ifndef _SDP_CARRY_H
#define _SDP_CARRY_H

#include <linux/completion.h>

#include "transport/transport.h"

/**
 * enum carry_want - what there is not, when a page is taken
 * @CARRY_ALL: nothing is wanting
 * @CARRY_NO_PAGE: no page
 * @CARRY_NO_MAPPING: the device cannot be told of it
 */
enum carry_want {
	CARRY_ALL,
	CARRY_NO_PAGE,
	CARRY_NO_MAPPING,
};

/**
 * struct carry_via - a transport, and what is particular to it
 * @ops: the transport
 * @net: where the end that asks is
 * @params: a peer, which is the other end; routed
 * @own: has a connection's requests come to carry_up
 * @want: sets what there is not; false where it cannot be wanting
 * @times: whether a connection has the times of params.brief; NULL: there are none
 */
struct carry_via {
	const struct sdp_xprt_ops *ops;
	struct net *net;
	struct sdp_xprt_params params;
	void (*own)(struct sdp_xprt_conn *xc);
	bool (*want)(enum carry_want want);
	bool (*times)(struct sdp_xprt_conn *xc);
};

#define CARRY_TEXT	"why not"
#define CARRY_SOON	(20 * HZ)

/**
 * struct carry_end - one end
 * @xc: the connection
 * @send: a buffer
 * @recv: another one
 * @up: it is established
 * @down: it has ended
 * @sent: @send came back
 * @received: @recv came back
 * @error: with which error they did
 * @invalidated: the key of a registration that the message in @recv has ended
 * @mem: memory
 * @back: it came back
 * @done: by this event
 * @mem_error: with that error
 * @early: how many times it came back in a wrong context, or behind @down
 * @end: what has ended it
 * @reason: of SDP_XPRT_REJECTED
 * @text: the private data of that
 */
struct carry_end {
	struct sdp_xprt_conn *xc;
	struct sdp_xprt_buf *send;
	struct sdp_xprt_buf *recv;
	struct completion up;
	struct completion down;
	struct completion sent;
	struct completion received;
	int error;
	u32 invalidated;
	struct sdp_xprt_mem *mem;
	struct completion back;
	enum sdp_xprt_event_type done;
	int mem_error;
	int early;
	enum sdp_xprt_event_type end;
	enum sdp_xprt_reject reason;
	char text[sizeof(CARRY_TEXT)];
};

/**
 * struct carry - two ends
 * @via: the transport
 * @asks: connects
 * @asked: is connected to
 * @requested: @asked has its connection
 * @refuse: it is refused at once
 * @port: that the request is for
 * @stray: events of connections that have a function of their own, and that came elsewhere
 * @pages: what pieces are of
 * @expect: what a message is to be
 * @text: what is told
 * @at: its length
 */
struct carry {
	const struct carry_via *via;
	struct carry_end asks;
	struct carry_end asked;
	struct completion requested;
	bool refuse;
	int port;
	int stray;
	struct page *pages;
	u8 *expect;
	char *text;
	int at;
};

extern const struct sdp_xprt_upcalls carry_up;

bool carry_connect(struct carry *carry);
void carry_free(struct carry_end *end);
void carry_params(struct carry_via *via);

/* memory.c */
int memory_all(char *text, const struct carry_via *via);

int carry_all(char *text, const struct carry_via *via);
int carry_held(char *text);
int carry_tell(char *text, int at, bool good, const char *name);

static inline void ok(struct carry *carry, bool good, const char *name)
{
	carry->at = carry_tell(carry->text, carry->at, good, name);
}

static inline bool soon(struct completion *done)
{
	return wait_for_completion_timeout(done, CARRY_SOON);
}

#endif /* _SDP_CARRY_H */
