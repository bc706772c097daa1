/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Unicast destinations, and what is known of the subnet administrator.
 */
#ifndef _IPOIB_PATH_H
#define _IPOIB_PATH_H

#include <rdma/ib_sa.h>

#include "dest.h"

#define IPOIB_PATH_TIMEOUT_MS	1000
#define IPOIB_PATH_TRIES	4

/* Of a path's query. */
enum ipoib_query {
	IPOIB_QUERY_NONE,	/* none is under way */
	IPOIB_QUERY_SENT,	/* its answer runs the path's work */
	IPOIB_QUERY_ANSWERED,	/* status and route hold the answer, not yet used */
};

/* What of an answer is of use: struct sa_path_rec is four times as large. Members as there. */
struct ipoib_route {
	__be32 flow_label;
	__be16 dlid;
	__be16 slid;
	__be16 pkey;
	u8 hop_limit;
	u8 traffic_class;
	u8 sl;
	u8 mtu;
	u8 rate;
	u8 packet_life_time;
};

/**
 * struct ipoib_path - unicast destination, resolved by a PathRecord query
 * @dest:	common part
 * @ask:	ask even if no packet waits; under dest.lock
 * @asked:	what became of the query; under dest.lock, and removal waits for an answer
 * @tries:	attempts since the last success; under dest.lock
 * @status:	of the query; of the work unless it is sent, as is what follows
 * @route:	the answer, if @status is 0; written under dest.lock, for other readers
 * @query:	for cancelling
 * @query_id:	for cancelling
 * @conn_count:	how many @conns; under dest.lock
 * @conns:	connections to its link-layer addresses; changed under dest.lock,
 *		read under RCU
 *
 * There are thousands: ipoib.rst has what one takes beside the kernel's driver's.
 */
struct ipoib_path {
	struct ipoib_dest dest;
	bool ask;
	enum ipoib_query asked;
	unsigned int tries;

	int status;
	struct ipoib_route route;
	struct ib_sa_query *query;
	int query_id;

	unsigned int conn_count;
	struct list_head conns;
};

/**
 * struct ipoib_sa - whether the subnet administrator answers
 * @heard:	jiffies when it last did, about a path
 * @lost:	it has missed a question and answered none since
 * @pause:	how long not to ask it whether it is back, in jiffies
 *
 * Read and written at any time, without a lock.
 */
struct ipoib_sa {
	unsigned long heard;
	bool lost;
	unsigned long pause;
};

static inline struct ipoib_path *ipoib_to_path(struct ipoib_dest *d)
{
	return container_of(d, struct ipoib_path, dest);
}

extern struct ib_sa_client ipoib_sa_client;
extern const struct ipoib_dest_kind ipoib_path_kind;

/* path.c */
int ipoib_path_init(void);
void ipoib_path_exit(void);

/* sa.c */
bool ipoib_sa_path_ok(const struct ipoib_dest *d, struct sa_path_rec *rec);
void ipoib_sa_path_rec(struct ipoib_path *p, struct sa_path_rec *rec);
bool ipoib_sa_silent(int status);
unsigned long ipoib_sa_pause(struct ipoib_dev *priv);
void ipoib_sa_missed(struct ipoib_dev *priv);
void ipoib_sa_heard(struct ipoib_dest *d);

#endif /* _IPOIB_PATH_H */
