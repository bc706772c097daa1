// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups, RFC 4391 sections 3 to 5 and 10: the broadcast group, which
 * makes the link; groups that the stack listens to, joined as full member; and
 * groups that are only sent to. Which the stack listens to is mcast_list.c's business.
 *
 * The core's callback only notes what it is told. The group's work, which alone
 * joins and leaves, takes it from there.
 */
#include <linux/sched/mm.h>

#include "compat.h"
#include "ipoib.h"
#include "trace.h"

#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_SEND_FULL	BIT(SENDONLY_FULLMEMBER_JOIN)
#define IPOIB_JOIN_SEND		BIT(SENDONLY_NONMEBER_JOIN)

#define IPOIB_MCAST_WARNINGS	20	/* of one group */

/* What every group of the link has in common with its broadcast group. */
#define IPOIB_COMMON_MASK						\
	(IB_SA_MCMEMBER_REC_QKEY |					\
	 IB_SA_MCMEMBER_REC_MTU_SELECTOR | IB_SA_MCMEMBER_REC_MTU |	\
	 IB_SA_MCMEMBER_REC_RATE_SELECTOR | IB_SA_MCMEMBER_REC_RATE |	\
	 IB_SA_MCMEMBER_REC_TRAFFIC_CLASS | IB_SA_MCMEMBER_REC_SL |	\
	 IB_SA_MCMEMBER_REC_FLOW_LABEL | IB_SA_MCMEMBER_REC_HOP_LIMIT)

static int ipoib_mcast_answer(int status, struct ib_sa_multicast *mc)
{
	struct ipoib_mcast *m = mc->context;
	struct ipoib_dest *d = &m->dest;

	trace_ipoib_mcast_answer(d, status, &mc->rec);

	spin_lock_bh(&d->lock);
	if (status == -ENETRESET) {
		m->rejoin = true;
	} else {
		m->answered = true;
		m->status = status;
		if (!status)
			m->rec = mc->rec;
	}
	if (d->state != IPOIB_DEST_DEAD)
		mod_delayed_work(ipoib_wq, &d->work, 0);
	spin_unlock_bh(&d->lock);

	/* The work frees it, whatever came of it. */
	return 0;
}

/* --- joining ------------------------------------------------------------- */

static u8 ipoib_mcast_join_state(struct ipoib_mcast *m, bool listen)
{
	if (listen)
		return IPOIB_JOIN_FULL;
	return READ_ONCE(m->plain) ? IPOIB_JOIN_SEND : IPOIB_JOIN_SEND_FULL;
}

static int ipoib_mcast_join(struct ipoib_mcast *m, bool listen)
{
	struct ipoib_dev *priv = m->dest.priv;
	struct ib_sa_mcmember_rec rec = {};
	ib_sa_comp_mask mask = IB_SA_MCMEMBER_REC_MGID |
			       IB_SA_MCMEMBER_REC_PORT_GID |
			       IB_SA_MCMEMBER_REC_PKEY |
			       IB_SA_MCMEMBER_REC_JOIN_STATE;
	struct ib_sa_multicast *mc;

	if (!ipoib_mcast_is_bcast(m)) {
		mask |= IPOIB_COMMON_MASK;
		spin_lock(&priv->link.bcast_lock);
		rec = priv->link.bcast;
		spin_unlock(&priv->link.bcast_lock);
		rec.mtu_selector = IB_SA_EQ;
		rec.rate_selector = IB_SA_EQ;
	}
	rec.mgid = m->dest.gid;
	rec.port_gid = priv->gid;
	rec.pkey = cpu_to_be16(priv->pkey);
	rec.join_state = ipoib_mcast_join_state(m, listen);

	ipoib_count(priv, IPOIB_MCAST_JOINS);
	trace_ipoib_mcast_join(&m->dest, rec.join_state);
	ipoib_dbg_mcast(priv, "joining %pI6, state %#x\n", rec.mgid.raw,
			rec.join_state);
	m->join_state = rec.join_state;
	mc = ib_sa_join_multicast(&ipoib_sa_client, priv->hca, priv->port, &rec,
				  mask, GFP_KERNEL, ipoib_mcast_answer, m);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	m->mc = mc;
	return 0;
}

/* Gives up the membership, or the attempt. The queue pair stays attached. */
static void ipoib_mcast_leave(struct ipoib_mcast *m)
{
	m->granted = false;
	if (!m->mc)
		return;

	trace_ipoib_mcast_leave(&m->dest);
	/* No callback runs after this. */
	ib_sa_free_multicast(m->mc);
	m->mc = NULL;

	spin_lock_bh(&m->dest.lock);
	m->answered = false;
	spin_unlock_bh(&m->dest.lock);
}

/*
 * In the words of the kernel's driver, which people look for; as there, so many times for
 * a group. That no answer comes, or not yet, is no news.
 */
static void ipoib_mcast_warn(struct ipoib_mcast *m, int err)
{
	if (err == -ETIMEDOUT || err == -EAGAIN || m->warned >= IPOIB_MCAST_WARNINGS ||
	    !net_ratelimit())
		return;
	m->warned++;
	netdev_warn(m->dest.priv->dev, "%smulticast join failed for %pI6, status %d\n",
		    m->join_state == IPOIB_JOIN_FULL ? "" : "sendonly ",
		    m->dest.gid.raw, err);
}

static void ipoib_mcast_failed(struct ipoib_mcast *m, bool listen, int err)
{
	struct ipoib_dest *d = &m->dest;
	unsigned long backoff;

	ipoib_count(d->priv, IPOIB_MCAST_JOIN_FAILED);
	ipoib_dbg_mcast(d->priv, "joining %pI6, state %#x failed: %d\n",
			d->gid.raw, m->join_state, err);

	/* Not every subnet administrator knows send-only full members. */
	if (m->join_state == IPOIB_JOIN_SEND_FULL && err == -EINVAL) {
		WRITE_ONCE(m->plain, true);
		ipoib_dest_kick(d, 0);
		return;
	}
	ipoib_mcast_warn(m, err);

	if (ipoib_sa_silent(err))
		ipoib_sa_missed(d->priv);

	spin_lock_bh(&d->lock);
	d->error = err;
	backoff = m->backoff;
	m->backoff = min_t(unsigned long, 2 * backoff, IPOIB_MAX_BACKOFF);
	spin_unlock_bh(&d->lock);

	/*
	 * A group that is only sent to is tried again with the next packet that
	 * waits; none would, if the way of a lost membership was still there.
	 */
	if (!listen)
		ipoib_dest_withdraw(d);
	ipoib_dest_fail(d, backoff);
	if (listen)
		ipoib_dest_kick(d, backoff);
}

/* --- joined -------------------------------------------------------------- */

/* An answer may say anything. */
static bool ipoib_mcast_valid(struct ipoib_mcast *m,
			      const struct ib_sa_mcmember_rec *rec)
{
	struct ipoib_dev *priv = m->dest.priv;
	u16 mlid = be16_to_cpu(rec->mlid);
	int mtu = ib_mtu_enum_to_int(rec->mtu);
	bool fits = true;

	if (!ipoib_mcast_is_bcast(m)) {
		spin_lock(&priv->link.bcast_lock);
		fits = rec->qkey == priv->link.bcast.qkey &&
		       rec->mtu >= priv->link.bcast.mtu;
		spin_unlock(&priv->link.bcast_lock);
	}

	return fits &&
	       ipoib_gid_equal(&rec->mgid, &m->dest.gid) &&
	       ipoib_gid_equal(&rec->port_gid, &priv->gid) &&
	       mlid >= IPOIB_FIRST_MLID && mlid <= IPOIB_LAST_MLID &&
	       mtu > 0 && mtu <= priv->max_ib_mtu &&
	       rec->sl < 16 &&
	       ib_rate_to_mbps(rec->rate) > 0;
}

static void ipoib_mcast_detach(struct ipoib_mcast *m)
{
	if (m->attached)
		m->dest.priv->ud->detach(m->dest.priv, &m->dest.gid, m->mlid);
	WRITE_ONCE(m->attached, false);
}

/* Attaches the queue pair, unless user mode serves all members: then it detaches it. */
static int ipoib_mcast_attach(struct ipoib_mcast *m, u16 mlid)
{
	struct ipoib_dev *priv = m->dest.priv;
	bool offloaded;
	int err;

	spin_lock_bh(&m->dest.lock);
	offloaded = m->offloaded;
	spin_unlock_bh(&m->dest.lock);

	if (m->attached && m->mlid == mlid && !offloaded)
		return 0;
	ipoib_mcast_detach(m);
	if (offloaded)
		return 0;

	err = priv->ud->attach(priv, &m->dest.gid, mlid, ipoib_mcast_is_bcast(m));
	WRITE_ONCE(m->attached, !err);
	m->mlid = mlid;
	return err;
}

static bool ipoib_mcast_same_link(const struct ib_sa_mcmember_rec *a,
				  const struct ib_sa_mcmember_rec *b)
{
	return a->qkey == b->qkey && a->mtu == b->mtu && a->rate == b->rate &&
	       a->sl == b->sl && a->traffic_class == b->traffic_class &&
	       a->flow_label == b->flow_label && a->hop_limit == b->hop_limit;
}

/* What waits for the link need not wait any longer. */
static void ipoib_mcast_proceed(struct ipoib_dest *d)
{
	bool waits;

	if (!ipoib_gid_is_mcast(&d->gid) || ipoib_mcast_is_bcast(ipoib_to_mcast(d)))
		return;

	spin_lock_bh(&d->lock);
	waits = ipoib_dest_is_asking(d);
	spin_unlock_bh(&d->lock);
	if (waits)
		ipoib_dest_kick(d, 0);
}

/* Leaves the group and joins it again; packets wait until then. */
static void ipoib_mcast_renew(struct ipoib_dest *d)
{
	struct ipoib_mcast *m = ipoib_to_mcast(d);

	spin_lock_bh(&d->lock);
	m->rejoin = true;
	m->backoff = HZ;
	WRITE_ONCE(m->plain, false);
	ipoib_dest_forgive(d);
	spin_unlock_bh(&d->lock);

	ipoib_dest_withdraw(d);
	ipoib_dest_kick(d, 0);
}

static void ipoib_mcast_follow(struct ipoib_dest *d)
{
	if (ipoib_gid_is_mcast(&d->gid) && !ipoib_mcast_is_bcast(ipoib_to_mcast(d)))
		ipoib_mcast_renew(d);
}

/* The broadcast group's Q_Key and MTU are the link's. */
static int ipoib_bcast_check(struct ipoib_dev *priv,
			     const struct ib_sa_mcmember_rec *rec)
{
	struct ib_port_attr attr;
	int err;

	/* Where others hold the group, the core's answer may be an old one. */
	err = ib_query_port(priv->hca, priv->port, &attr);
	if (err)
		return err;
	if (attr.state != IB_PORT_ACTIVE)
		return -EAGAIN;

	return priv->ud->set_qkey(priv, be32_to_cpu(rec->qkey));
}

static void ipoib_bcast_joined(struct ipoib_dev *priv,
			       const struct ib_sa_mcmember_rec *rec)
{
	bool same;

	spin_lock(&priv->link.bcast_lock);
	same = ipoib_mcast_same_link(&priv->link.bcast, rec);
	priv->link.bcast = *rec;
	priv->link.bcast_ok = true;
	WRITE_ONCE(priv->link.qkey, be32_to_cpu(rec->qkey));
	WRITE_ONCE(priv->link.mcast_mtu,
		   ib_mtu_enum_to_int(rec->mtu) - IPOIB_ENCAP_LEN);
	spin_unlock(&priv->link.bcast_lock);

	ipoib_sync(priv);
	ipoib_dest_for_each(priv,
			    same ? ipoib_mcast_proceed : ipoib_mcast_follow);
}

/* Takes a granted membership into use. */
static int ipoib_mcast_use(struct ipoib_mcast *m,
			   struct ib_sa_mcmember_rec *rec, bool listen)
{
	struct ipoib_dev *priv = m->dest.priv;
	bool bcast = ipoib_mcast_is_bcast(m);
	struct rdma_ah_attr attr;
	struct ipoib_ah *ah;
	int err;

	if (!ipoib_mcast_valid(m, rec)) {
		ipoib_count(priv, IPOIB_MCAST_BAD_RECORD);
		return -EPROTO;
	}
	if (bcast) {
		err = ipoib_bcast_check(priv, rec);
		if (err)
			return err;
		/* The adapter's driver hears of another Q_Key with the group. */
		if (ipoib_is_enhanced(priv) &&
		    be32_to_cpu(rec->qkey) != READ_ONCE(priv->link.qkey))
			ipoib_mcast_detach(m);
	}
	if (listen) {
		err = ipoib_mcast_attach(m, be16_to_cpu(rec->mlid));
		if (err)
			return err;
	}

	err = ib_init_ah_from_mcmember(priv->hca, priv->port, rec, NULL,
				       IB_GID_TYPE_IB, &attr);
	if (err)
		return err;
	ah = ipoib_ah_create(priv, &attr);
	rdma_destroy_ah_attr(&attr);
	if (IS_ERR(ah))
		return PTR_ERR(ah);

	m->granted = true;
	ipoib_tx_publish(&m->dest, ah);
	if (bcast)
		ipoib_bcast_joined(priv, rec);
	return 0;
}

/* --- the group's work ---------------------------------------------------- */

static int ipoib_mcast_answered(struct ipoib_mcast *m)
{
	int err = m->status;

	if (!err)
		err = ipoib_mcast_use(m, &m->rec, m->join_state == IPOIB_JOIN_FULL);
	if (err)
		return err;

	spin_lock_bh(&m->dest.lock);
	m->backoff = HZ;
	spin_unlock_bh(&m->dest.lock);
	return 0;
}

/* The members of a group that is joined and listened to may be others now. */
static int ipoib_mcast_follow_members(struct ipoib_mcast *m)
{
	if (!m->granted || m->join_state != IPOIB_JOIN_FULL)
		return 0;
	return ipoib_mcast_attach(m, be16_to_cpu(m->rec.mlid));
}

static void ipoib_mcast_step(struct ipoib_mcast *m)
{
	struct ipoib_dest *d = &m->dest;
	bool answered, rejoin, listen, wanted;
	int err;

	spin_lock_bh(&d->lock);
	rejoin = m->rejoin;
	listen = m->listen;
	answered = m->answered && !rejoin;
	m->rejoin = false;
	m->answered = false;
	spin_unlock_bh(&d->lock);

	err = answered && m->mc ? ipoib_mcast_answered(m) : ipoib_mcast_follow_members(m);
	if (err) {
		ipoib_mcast_leave(m);
		ipoib_mcast_failed(m, listen, err);
		return;
	}

	/* The stack listens now to what was only sent to. */
	if (listen && m->join_state != IPOIB_JOIN_FULL)
		rejoin = true;
	if (rejoin)
		ipoib_mcast_leave(m);
	if (m->mc)
		return;

	spin_lock_bh(&d->lock);
	/* Where there is a way, no packet waits for it to be joined again. */
	wanted = listen || rejoin || rcu_access_pointer(d->ah) ||
		 !skb_queue_empty(&d->queue);
	ipoib_dest_set_asking(d, wanted);
	spin_unlock_bh(&d->lock);
	if (!wanted)
		return;

	/* Without the link's parameters only the broadcast group can join. */
	if (!ipoib_mcast_is_bcast(m) && !READ_ONCE(d->priv->link.bcast_ok))
		return;

	err = ipoib_mcast_join(m, listen);
	if (err)
		ipoib_mcast_failed(m, listen, err);
}

/* The memory that it takes may be what packets of a disk are to make free. */
static void ipoib_mcast_work(struct work_struct *work)
{
	struct ipoib_dest *d = container_of(to_delayed_work(work),
					    struct ipoib_dest, work);
	unsigned int flags = memalloc_noio_save();

	ipoib_mcast_step(ipoib_to_mcast(d));
	memalloc_noio_restore(flags);
}

/*
 * Does not wait any longer before it joins again, after an event that may end what has
 * made joins fail. One that is joined stays so: the core tells which are lost. The event
 * may have come too late for one that is being joined, and that has waited long enough
 * when it fails.
 */
static void ipoib_mcast_retry(struct ipoib_dest *d)
{
	struct ipoib_mcast *m = ipoib_to_mcast(d);
	bool pausing;

	spin_lock_bh(&d->lock);
	pausing = ipoib_dest_has_failed(d) && m->listen;
	m->backoff = IPOIB_MIN_BACKOFF;
	WRITE_ONCE(m->plain, false);
	ipoib_dest_forgive(d);
	spin_unlock_bh(&d->lock);

	if (pausing)
		ipoib_dest_kick(d, 0);
}

static struct ipoib_dest *ipoib_mcast_create(void)
{
	struct ipoib_mcast *m = kzalloc(sizeof(*m), GFP_ATOMIC);

	if (!m)
		return NULL;
	INIT_DELAYED_WORK(&m->dest.work, ipoib_mcast_work);
	m->backoff = HZ;
	return &m->dest;
}

static void ipoib_mcast_free(struct ipoib_dest *d)
{
	kfree(ipoib_to_mcast(d));
}

/* Leaves for good. */
static void ipoib_mcast_release(struct ipoib_dest *d)
{
	struct ipoib_mcast *m = ipoib_to_mcast(d);

	ipoib_mcast_detach(m);
	ipoib_mcast_leave(m);
}

const struct ipoib_dest_kind ipoib_mcast_kind = {
	.create		= ipoib_mcast_create,
	.free		= ipoib_mcast_free,
	.release	= ipoib_mcast_release,
	.resume		= ipoib_mcast_retry,
	.refresh	= ipoib_mcast_retry,
	.renew		= ipoib_mcast_renew,
};
