// SPDX-License-Identifier: GPL-2.0
/*
 * Unicast destinations: one PathRecord query each, RFC 4391 section 9.1.2.
 *
 * The query's answer is only noted by its callback. The destination's work,
 * which alone sends queries, takes it from there.
 */
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "compat.h"
#include "ipoib.h"
#include "trace.h"

/*
 * After an event an interface queries all of its paths again: so many a second, and so many at a
 * time. The subnet administrator would not answer more in time, and each query without an answer
 * is repeated.
 */
#define IPOIB_REQUERY_RATE	2048
#define IPOIB_REQUERIES		16

static struct kmem_cache *ipoib_path_cache;

static void ipoib_path_set_route(struct ipoib_path *p, struct sa_path_rec *rec)
{
	p->route = (struct ipoib_route) {
		.flow_label		= rec->flow_label,
		.dlid			= rec->ib.dlid,
		.slid			= rec->ib.slid,
		.pkey			= rec->pkey,
		.hop_limit		= rec->hop_limit,
		.traffic_class		= rec->traffic_class,
		.sl			= rec->sl,
		.mtu			= rec->mtu,
		.rate			= rec->rate,
		.packet_life_time	= rec->packet_life_time,
	};
}

static void ipoib_path_answer(int status, struct sa_path_rec *rec,
			      ib_sa_num_prs_t num_prs, void *context)
{
	struct ipoib_path *p = context;
	struct ipoib_dest *d = &p->dest;

	if (!status && !rec)
		status = -ENOENT;
	trace_ipoib_path_answer(d, status, rec);
	if (!status && !ipoib_sa_path_ok(d, rec)) {
		ipoib_count(d->priv, IPOIB_PATH_BAD_RECORD);
		status = -EINVAL;
	}

	spin_lock_bh(&d->lock);
	if (!status)
		ipoib_path_set_route(p, rec);
	p->status = status;
	p->asked = IPOIB_QUERY_ANSWERED;
	atomic_dec(&d->priv->dests.asked);
	if (d->state != IPOIB_DEST_DEAD)
		mod_delayed_work(ipoib_wq, &d->work, 0);
	/* Removal waits; it frees the path when the lock is free. */
	wake_up_var(&p->asked);
	spin_unlock_bh(&d->lock);
}

/* Asks the subnet administrator. Called with the query noted as sent. */
static int ipoib_path_ask(struct ipoib_path *p)
{
	struct ipoib_dev *priv = p->dest.priv;
	struct sa_path_rec rec = {
		.rec_type	= SA_PATH_REC_TYPE_IB,
		.dgid		= p->dest.gid,
		.sgid		= priv->gid,
		.pkey		= cpu_to_be16(priv->pkey),
		.numb_path	= 1,
	};
	int id;

	spin_lock(&priv->link.bcast_lock);
	rec.traffic_class = priv->link.bcast.traffic_class;
	spin_unlock(&priv->link.bcast_lock);

	atomic_inc(&priv->dests.asked);
	ipoib_count(priv, IPOIB_PATH_QUERIES);
	trace_ipoib_path_query(&p->dest);
	id = ib_sa_path_rec_get(&ipoib_sa_client, priv->hca, priv->port, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
				IB_SA_PATH_REC_PKEY | IB_SA_PATH_REC_NUMB_PATH |
				IB_SA_PATH_REC_TRAFFIC_CLASS,
				IPOIB_PATH_TIMEOUT_MS, GFP_KERNEL,
				ipoib_path_answer, p, &p->query);
	if (id < 0) {
		spin_lock_bh(&p->dest.lock);
		p->asked = IPOIB_QUERY_NONE;
		spin_unlock_bh(&p->dest.lock);
		atomic_dec(&priv->dests.asked);
		return id;
	}
	p->query_id = id;
	return 0;
}

/* Takes the way that the answer describes into use. */
static int ipoib_path_use(struct ipoib_path *p)
{
	struct ipoib_dev *priv = p->dest.priv;
	struct rdma_ah_attr attr;
	struct sa_path_rec rec;
	struct ipoib_ah *ah;
	int err;

	spin_lock_bh(&p->dest.lock);
	ipoib_sa_path_rec(p, &rec);
	spin_unlock_bh(&p->dest.lock);
	err = ib_init_ah_attr_from_path(priv->hca, priv->port, &rec, &attr, NULL);
	if (err)
		return err;
	ah = ipoib_ah_create(priv, &attr);
	rdma_destroy_ah_attr(&attr);
	if (IS_ERR(ah))
		return PTR_ERR(ah);

	ipoib_conns_reroute(p, &rec);
	ipoib_tx_publish(&p->dest, ah);
	return 0;
}

/* --- what comes of a query ----------------------------------------------- */

/*
 * Packets may ask again after that, or when the subnet administrator has answered another question.
 */
static unsigned long ipoib_path_backoff(struct ipoib_dev *priv, bool silence,
					unsigned int tries)
{
	if (silence && READ_ONCE(priv->sa.lost))
		return IPOIB_MAX_BACKOFF;
	if (silence)
		tries -= IPOIB_PATH_TRIES - 1;
	return HZ << min(tries, 4U);
}

/* A query without a usable answer: try again, or give up for a while. */
static void ipoib_path_failed(struct ipoib_path *p, int status)
{
	struct ipoib_dest *d = &p->dest;
	bool silence = ipoib_sa_silent(status), own = ipoib_dest_is_own(d);
	unsigned int tries;
	bool again;

	spin_lock_bh(&d->lock);
	tries = ++p->tries;
	p->asked = IPOIB_QUERY_NONE;
	d->error = status;
	again = silence && (own || tries < IPOIB_PATH_TRIES);
	p->ask = again;
	spin_unlock_bh(&d->lock);

	trace_ipoib_path_fail(d, status, tries);
	ipoib_dbg(d->priv, "no path to %pI6: %d, try %u\n", d->gid.raw, status,
		  tries);

	if (silence && !own)
		ipoib_sa_missed(d->priv);
	if (again) {
		if (tries >= IPOIB_PATH_TRIES)
			ipoib_dest_fail(d, 0);
		ipoib_dest_kick(d, own ? ipoib_sa_pause(d->priv) :
				   min((HZ / 4) << tries, HZ));
		return;
	}

	/*
	 * Without an answer, what worked so far may still do so. An answer that
	 * there is no path is to be believed.
	 */
	ipoib_count(d->priv, IPOIB_PATH_FAILED);
	if (!silence)
		ipoib_dest_withdraw(d);
	ipoib_dest_fail(d, ipoib_path_backoff(d->priv, silence, tries));
}

/*
 * Queues the work that asks for a path, when many paths are asked for: at once if packets may have
 * to wait for the answer, else at a random time, so that not all of the fabric asks at once.
 */
static void ipoib_path_kick(struct ipoib_dest *d)
{
	unsigned int most = HZ + HZ * READ_ONCE(d->priv->dests.count) / IPOIB_REQUERY_RATE;
	bool waits;

	spin_lock_bh(&d->lock);
	waits = !rcu_access_pointer(d->ah) && !ipoib_dest_is_own(d);
	ipoib_dest_kick_locked(d, waits ? 0 : get_random_u32_below(most));
	spin_unlock_bh(&d->lock);
}

/*
 * Can the question wait until others are answered, because packets need not? Called under the
 * destination's lock.
 */
static bool ipoib_path_may_wait(struct ipoib_path *p)
{
	struct ipoib_dest *d = &p->dest;

	return p->ask && rcu_access_pointer(d->ah) && !ipoib_dest_is_own(d) &&
	       atomic_read(&d->priv->dests.asked) >= IPOIB_REQUERIES;
}

static void ipoib_path_step(struct ipoib_path *p)
{
	struct ipoib_dest *d = &p->dest;
	enum ipoib_query asked;
	bool ask, later;
	int err;

	spin_lock_bh(&d->lock);
	/* Until it is used, or has failed, an event may find that the answer is an old one. */
	asked = p->asked;
	if (asked == IPOIB_QUERY_ANSWERED)
		d->error = p->status;
	spin_unlock_bh(&d->lock);
	if (asked == IPOIB_QUERY_SENT)
		return;		/* the answer runs this work again */

	if (asked == IPOIB_QUERY_ANSWERED) {
		err = p->status;
		if (!err || err == -EINVAL)
			ipoib_sa_heard(d);
		if (!err)
			err = ipoib_path_use(p);
		if (err) {
			ipoib_path_failed(p, err);
			return;
		}
	}

	spin_lock_bh(&d->lock);
	if (asked == IPOIB_QUERY_ANSWERED)
		p->tries = 0;
	later = ipoib_path_may_wait(p);
	ask = !later && (p->ask || !skb_queue_empty(&d->queue));
	p->asked = ask ? IPOIB_QUERY_SENT : IPOIB_QUERY_NONE;
	ipoib_dest_set_asking(d, ask || later);
	p->ask = later;
	spin_unlock_bh(&d->lock);

	if (later)
		ipoib_path_kick(d);
	if (ask) {
		err = ipoib_path_ask(p);
		if (err)
			ipoib_path_failed(p, err);
	}
}

/* The memory that it takes may be what packets of a disk are to make free. */
static void ipoib_path_work(struct work_struct *work)
{
	struct ipoib_dest *d = container_of(to_delayed_work(work),
					    struct ipoib_dest, work);
	unsigned int flags = memalloc_noio_save();

	ipoib_path_step(ipoib_to_path(d));
	memalloc_noio_restore(flags);
}

/*
 * Asks again, while the old answer stays in use, after an event that may have changed
 * paths.
 */
static void ipoib_path_requery(struct ipoib_dest *d)
{
	struct ipoib_path *p = ipoib_to_path(d);

	spin_lock_bh(&d->lock);
	p->ask = true;
	p->tries = 0;
	ipoib_dest_forgive(d);
	spin_unlock_bh(&d->lock);

	ipoib_path_kick(d);
}

/* Forgets the answer; the next packet asks again. */
static void ipoib_path_reset(struct ipoib_dest *d)
{
	struct ipoib_path *p = ipoib_to_path(d);
	bool pending;

	ipoib_dest_withdraw(d);

	spin_lock_bh(&d->lock);
	/* A query that is under way, or has just been answered, may bring an old answer. */
	p->ask = p->asked != IPOIB_QUERY_NONE;
	p->tries = 0;
	ipoib_dest_forgive(d);
	/* A packet would wait for a work that is for later. */
	pending = ipoib_dest_is_asking(d) && p->asked != IPOIB_QUERY_SENT;
	spin_unlock_bh(&d->lock);

	if (pending)
		ipoib_dest_kick(d, 0);
}

/* What has no way asks when it is needed; but the own GID's path, whoever asks. */
static void ipoib_path_refresh(struct ipoib_dest *d)
{
	if (ipoib_dest_is_own(d) ||
	    (rcu_access_pointer(d->ah) &&
	     time_before(jiffies, d->last_used + IPOIB_GC_PERIOD)))
		ipoib_path_requery(d);
	else
		ipoib_path_reset(d);
}

/* The subnet administrator is back. */
static void ipoib_path_resume(struct ipoib_dest *d)
{
	struct ipoib_path *p = ipoib_to_path(d);
	bool again = false;

	spin_lock_bh(&d->lock);
	if (ipoib_sa_silent(d->error) && p->asked != IPOIB_QUERY_SENT) {
		/* A way that was found before the silence may be none any more. */
		p->ask |= ipoib_dest_has_failed(d) && rcu_access_pointer(d->ah);
		again = p->ask || !skb_queue_empty(&d->queue);
		ipoib_dest_forgive(d);
	}
	/* A query that was sent in the silence may be lost: it is repeated soon then. */
	if (p->asked == IPOIB_QUERY_SENT)
		p->tries = 0;
	spin_unlock_bh(&d->lock);

	if (again)
		ipoib_path_kick(d);
}

static struct ipoib_dest *ipoib_path_create(void)
{
	struct ipoib_path *p = kmem_cache_zalloc(ipoib_path_cache, GFP_ATOMIC);

	if (!p)
		return NULL;
	INIT_DELAYED_WORK(&p->dest.work, ipoib_path_work);
	INIT_LIST_HEAD(&p->conns);
	return &p->dest;
}

static void ipoib_path_free(struct ipoib_dest *d)
{
	kmem_cache_free(ipoib_path_cache, ipoib_to_path(d));
}

static bool ipoib_path_is_asked(struct ipoib_path *p)
{
	bool asked;

	spin_lock_bh(&p->dest.lock);
	asked = p->asked == IPOIB_QUERY_SENT;
	spin_unlock_bh(&p->dest.lock);
	return asked;
}

/* Ends the query under way, and the connections. */
static void ipoib_path_release(struct ipoib_dest *d)
{
	struct ipoib_path *p = ipoib_to_path(d);

	/* Once it was answered, its id may be that of another query. */
	spin_lock_bh(&d->lock);
	if (p->asked == IPOIB_QUERY_SENT)
		ib_sa_cancel_query(p->query_id, p->query);
	spin_unlock_bh(&d->lock);
	/* With the lock: the answer has done with the path, then. */
	wait_var_event(&p->asked, !ipoib_path_is_asked(p));
	ipoib_conns_release(p);
}

const struct ipoib_dest_kind ipoib_path_kind = {
	.create		= ipoib_path_create,
	.free		= ipoib_path_free,
	.release	= ipoib_path_release,
	.resume		= ipoib_path_resume,
	.refresh	= ipoib_path_refresh,
	.renew		= ipoib_path_reset,
};

int ipoib_path_init(void)
{
	/* The next size of kmalloc() is 512. */
	ipoib_path_cache = KMEM_CACHE(ipoib_path, 0);
	return ipoib_path_cache ? 0 : -ENOMEM;
}

/* There are no interfaces any more. */
void ipoib_path_exit(void)
{
	/* Groups, too, are freed by a function of the module. */
	rcu_barrier();
	kmem_cache_destroy(ipoib_path_cache);
}
