// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet administrator: is what it says possible, and is it there at all?
 *
 * While it does not answer, destinations ask ever more rarely, and nothing may tell
 * when it would. So one that is always there, the interface's own GID, goes
 * on asking for all of them, and with its answer the others' pauses are over.
 */
#include <linux/random.h>

#include "compat.h"
#include "ipoib.h"

struct ib_sa_client ipoib_sa_client;

/* Can a path be as an answer says? That may say anything. */
bool ipoib_sa_path_ok(const struct ipoib_dest *d, struct sa_path_rec *rec)
{
	u32 dlid;

	if (sa_path_is_opa(rec))
		return false;
	dlid = be32_to_cpu(sa_path_get_dlid(rec));

	return ipoib_gid_equal(&rec->dgid, &d->gid) &&
	       dlid && dlid < IPOIB_FIRST_MLID &&
	       rec->sl < 16 &&
	       ib_mtu_enum_to_int(rec->mtu) > 0 &&
	       ib_rate_to_mbps(rec->rate) > 0;
}

/* A path's answer, as others take it; without one no DLID. Called under the destination's lock. */
void ipoib_sa_path_rec(struct ipoib_path *p, struct sa_path_rec *rec)
{
	const struct ipoib_route *r = &p->route;

	*rec = (struct sa_path_rec) {
		.rec_type		= SA_PATH_REC_TYPE_IB,
		.dgid			= p->dest.gid,
		.sgid			= p->dest.priv->gid,
		.ib.dlid		= r->dlid,
		.ib.slid		= r->slid,
		.flow_label		= r->flow_label,
		.pkey			= r->pkey,
		.hop_limit		= r->hop_limit,
		.traffic_class		= r->traffic_class,
		.reversible		= 1,
		.numb_path		= 1,
		.sl			= r->sl,
		.mtu_selector		= IB_SA_EQ,
		.mtu			= r->mtu,
		.rate_selector		= IB_SA_EQ,
		.rate			= r->rate,
		.packet_life_time_selector = IB_SA_EQ,
		.packet_life_time	= r->packet_life_time,
	};
}

/* Does the status of a question mean that no answer came? */
bool ipoib_sa_silent(int status)
{
	return status == -ETIMEDOUT || status == -EAGAIN ||
	       status == -ENOMEM || status == -ENODEV;
}

/*
 * Jiffies until the own GID is asked for again: by chance, lest all interfaces of a fabric ask at
 * once.
 */
unsigned long ipoib_sa_pause(struct ipoib_dev *priv)
{
	unsigned long pause = READ_ONCE(priv->sa.pause);

	return pause / 2 + get_random_u32_below(pause / 2);
}

/*
 * A question of the interface was not answered. The own GID's path is asked for until there is an
 * answer, or until no other question was missed for so long that the path is forgotten. A subnet
 * administrator that answers others is not away.
 */
void ipoib_sa_missed(struct ipoib_dev *priv)
{
	struct ipoib_dest *d;
	bool start = false;

	if (time_before(jiffies, READ_ONCE(priv->sa.heard) + HZ))
		return;

	rcu_read_lock();
	d = ipoib_dest_get(priv, &priv->gid);
	/* Without the memory to ask, others must not rely on this to end their pauses. */
	if (d) {
		WRITE_ONCE(priv->sa.lost, true);
		spin_lock_bh(&d->lock);
		start = !ipoib_dest_is_asking(d);
		ipoib_to_path(d)->ask |= start;
		d->last_used = jiffies;
		spin_unlock_bh(&d->lock);
	}
	if (start)
		ipoib_dest_kick(d, ipoib_sa_pause(priv));
	rcu_read_unlock();
}

/* There was an answer, be it an error. */
void ipoib_sa_heard(struct ipoib_dest *d)
{
	struct ipoib_dev *priv = d->priv;
	bool own = ipoib_dest_is_own(d);

	WRITE_ONCE(priv->sa.heard, jiffies);
	if (!own)
		WRITE_ONCE(priv->sa.pause, HZ);
	if (!xchg(&priv->sa.lost, false))
		return;
	/* It may be the only one that is ever answered: less and less often then. */
	if (own)
		WRITE_ONCE(priv->sa.pause,
			   min_t(unsigned long, 2 * priv->sa.pause,
				 IPOIB_MAX_BACKOFF));
	ipoib_dest_resume_all(priv);
}
