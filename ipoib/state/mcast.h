/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Multicast groups.
 */
#ifndef _IPOIB_MCAST_H
#define _IPOIB_MCAST_H

#include <rdma/ib_sa.h>

#include "dest.h"

/**
 * struct ipoib_mcast - multicast group, sent to, listened to, or both
 * @dest:	common part
 * @listen:	to be joined as full member and attached; under dest.lock
 * @rejoin:	the membership was lost or is to be renewed; under dest.lock
 * @answered:	@status and @rec hold an answer; under dest.lock
 * @offloaded:	user mode serves all members: not to be attached; under dest.lock
 * @backoff:	time to the next attempt after a failure; under dest.lock
 * @plain:	the subnet administrator knows no send-only full members; any time
 * @wanted:	found in the stack's list by the scan under way; under ctl, as what follows
 * @members:	how many members it has
 * @claimed:	of how many user mode says that it serves them
 * @warned:	how often it was logged that a join failed; of the work
 * @status:	of the join; of the work once @answered, as is what follows
 * @rec:	the answer, if @status is 0; written under dest.lock, for other readers
 * @mc:		the membership, asked for or granted
 * @join_state:	what @mc asked for
 * @granted:	@mc is in use, as @rec says
 * @attached:	the queue pair receives the group, under @mlid; read any time
 * @mlid:	the group's LID
 */
struct ipoib_mcast {
	struct ipoib_dest dest;
	bool listen;
	bool rejoin;
	bool answered;
	bool offloaded;
	unsigned long backoff;
	bool plain;

	bool wanted;
	int members;
	int claimed;
	unsigned int warned;

	int status;
	struct ib_sa_mcmember_rec rec;
	struct ib_sa_multicast *mc;
	u8 join_state;
	bool granted;
	bool attached;
	u16 mlid;
};

static inline struct ipoib_mcast *ipoib_to_mcast(struct ipoib_dest *d)
{
	return container_of(d, struct ipoib_mcast, dest);
}

/* mcast.c */
extern const struct ipoib_dest_kind ipoib_mcast_kind;

/* mcast_list.c */
int ipoib_mcast_start(struct ipoib_dev *priv);
void ipoib_mcast_list_work(struct work_struct *work);

#endif /* _IPOIB_MCAST_H */
