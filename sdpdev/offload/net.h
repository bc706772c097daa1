/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an administrator sets for a network namespace: the files of /proc/sys/net/sdp.
 */
#ifndef _SDP_OFFLOAD_NET_H
#define _SDP_OFFLOAD_NET_H

#include <linux/types.h>

#include "compat.h"

struct ctl_table_header;
struct net;
struct sdp_avoid;
struct sdp_order;

/**
 * struct sdp_net - a network namespace's settings
 * @attach: not zero: each TCP socket that connects or listens becomes an endpoint,
 *	without a rule; changes under sdp_net_lock
 * @move_messages: an end that has made so many calls to send or receive looks for its other
 *	end
 * @move_bytes: so does one that has sent and received so many bytes
 * @touch: seconds after which a busy direction that has moved passes by TCP
 * @only_wait: seconds in which a connection of SDP_MODE_ONLY has to find its other end
 * @direct: not zero: sockets of family 27 are direct SDP, and not TCP
 * @zcopy: bytes of a message of direct SDP from which the peer may read them; 0: never
 * @capture: not zero: connections return to TCP while a program captures packets on their way
 * @idle: seconds after which an end gives up an idle carrier; 0: never
 * @joins: carriers of a kind that are asked for in a second, at most; 0: any number
 * @order: kinds of carriers that are used, and in which order; NULL: all, as they rank
 * @avoid: peers that are not asked; NULL before any was.  Set once.
 * @header: the files
 * @table: what they are made of
 *
 * A file changes a setting at any time: read it with READ_ONCE().  The settings live as
 * long as the namespace, and no longer than the module.
 */
struct sdp_net {
	unsigned int attach;
	unsigned int move_messages;
	unsigned int move_bytes;
	unsigned int touch;
	unsigned int capture;
	unsigned int direct;
	unsigned int zcopy;
	unsigned int only_wait;
	unsigned int idle;
	unsigned int joins;
	struct sdp_order __rcu *order;
	struct sdp_avoid *avoid;
	struct ctl_table_header *header;
	struct ctl_table *table;
};

struct sdp_net *sdp_net(const struct net *net);
unsigned int sdp_net_joins(const struct net *net);
unsigned int sdp_net_idle(const struct net *net);
unsigned int sdp_net_only_wait(const struct net *net);
int sdp_net_init(int (*attach)(bool on));
void sdp_net_exit(void);

/* order.c */
int sdp_order_file(compat_ctl_table *table, int write, void *buffer, size_t *lenp, loff_t *ppos);
void sdp_order_free(struct sdp_net *sn);

#endif /* _SDP_OFFLOAD_NET_H */
