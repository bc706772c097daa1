/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client that tries how a transport carries messages: gathered from pieces, split into
 * head and pages, with events of its own.
 */
#ifndef _SDP_CARRY_H
#define _SDP_CARRY_H

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

extern const struct sdp_xprt_upcalls carry_up;

int carry_all(char *text, const struct carry_via *via);
int carry_held(char *text);
int carry_tell(char *text, int at, bool good, const char *name);

#endif /* _SDP_CARRY_H */
