// SPDX-License-Identifier: GPL-2.0
/*
 * A channel's life: what sleeps is done by its work.
 */
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>

#include "chan/chan.h"
#include "compat.h"
#include "transport/registry.h"

/* What is on its way when a channel ends has so long. */
#define SDP_CHAN_DRAIN		(HZ / 2)

static struct workqueue_struct *sdp_chan_wq;
static LIST_HEAD(sdp_chans);
static atomic_t sdp_chans_count;
static DEFINE_SPINLOCK(sdp_chans_lock);
static DECLARE_WAIT_QUEUE_HEAD(sdp_chans_wait);

/* Any context but hard interrupts. */
void sdp_chan_put(struct sdp_chan *chan)
{
	const struct sdp_chan_user *user = chan->user;
	struct mem_cgroup *memcg = chan->memcg;
	struct net *net = chan->net;

	if (!refcount_dec_and_test(&chan->refs))
		return;
	spin_lock_bh(&sdp_chans_lock);
	list_del(&chan->list);
	spin_unlock_bh(&sdp_chans_lock);
	user->free(chan);
	mem_cgroup_put(memcg);
	put_net(net);
	/* Pairs with sdp_chan_stop(), which waits for the last channel. */
	if (atomic_dec_and_test(&sdp_chans_count))
		wake_up(&sdp_chans_wait);
}

/* Queues the work, which holds a reference of its own.  The caller has one, too.  Any context. */
void sdp_chan_kick(struct sdp_chan *chan)
{
	refcount_inc(&chan->refs);
	if (!queue_work(sdp_chan_wq, &chan->work))
		refcount_dec(&chan->refs);
}

/* The channel cannot go on.  Its lock is held. */
void sdp_chan_over(struct sdp_chan *chan)
{
	if (chan->state >= SDP_CHAN_OVER)
		return;
	chan->state = SDP_CHAN_OVER;
	if (chan->going)
		sdp_chan_kick(chan);
}

/* Nothing is on its way any more, or it has been for long enough.  The channel's lock is held. */
void sdp_chan_drained(struct sdp_chan *chan)
{
	if (!chan->drains)
		return;
	chan->drains = false;
	sdp_chan_kick(chan);
}

/*
 * The user needs the channel no more, and keeps its reference.  The peer hears of all that was
 * taken in: it has nothing to send again, by whatever way.  What is on its way has SDP_CHAN_DRAIN
 * to get there.  Any context but hard interrupts.
 */
void sdp_chan_end(struct sdp_chan *chan)
{
	spin_lock_bh(&chan->lock);
	sdp_chan_last(chan);
	if (chan->state == SDP_CHAN_OPEN && chan->sending) {
		chan->drains = true;
		chan->state = SDP_CHAN_OVER;
		mod_timer(&chan->timer, jiffies + SDP_CHAN_DRAIN);
	}
	sdp_chan_over(chan);
	spin_unlock_bh(&chan->lock);
}

/*
 * A channel that a peer has asked for counts as no user's share any more.  It has been open.  Any
 * context but hard interrupts.
 */
void sdp_chan_disown(struct sdp_chan *chan)
{
	spin_lock_bh(&chan->lock);
	chan->disown = true;
	sdp_chan_kick(chan);
	spin_unlock_bh(&chan->lock);
}

/* The user hears of the end once.  Context: process. */
static void sdp_chan_tell_over(struct sdp_chan *chan, const struct sdp_chan_end *end)
{
	static const struct sdp_chan_end gone = { .type = SDP_XPRT_DEVICE_GONE };
	bool told, lost;

	spin_lock_bh(&chan->lock);
	sdp_chan_over(chan);
	sdp_chan_drained(chan);
	told = chan->over_told;
	chan->over_told = true;
	lost = chan->lost;
	spin_unlock_bh(&chan->lock);
	if (!told)
		chan->user->over(chan, lost ? &gone : end);
}

/*
 * Messages flow.  @pdata: of the acceptance, or NULL.  Process context, or softirq if the peer has
 * asked.
 */
void sdp_chan_opened(struct sdp_chan *chan, const void *pdata, unsigned int len)
{
	bool now;

	spin_lock_bh(&chan->lock);
	now = chan->state == SDP_CHAN_OPENING;
	if (now) {
		chan->state = SDP_CHAN_OPEN;
		chan->max_mem = chan->xc->max_mem;
		chan->caps = chan->max_mem ? chan->xprt->caps : 0;
	}
	spin_unlock_bh(&chan->lock);
	if (!now)
		return;
	chan->user->open(chan, pdata, len);
	sdp_chan_early(chan);
}

static int sdp_chan_event(struct sdp_xprt_conn *xc, void *ctx, const struct sdp_xprt_event *ev)
{
	struct sdp_chan *chan = ctx;
	struct sdp_chan_end end = {
		.type = ev->type,
		.reason = ev->reason,
		.error = ev->error,
		.pdata = ev->pdata,
		.len = ev->pdata_len,
	};

	switch (ev->type) {
	case SDP_XPRT_RECV_DONE:
		sdp_chan_received(chan, ev->buf, ev->error);
		break;
	case SDP_XPRT_SEND_DONE:
		sdp_chan_sent(chan, ev->buf);
		break;
	case SDP_XPRT_READ_DONE:
	case SDP_XPRT_WRITE_DONE:
	case SDP_XPRT_INVALIDATE_DONE:
		sdp_chan_mem_done(chan, ev->mem, ev->error);
		break;
	case SDP_XPRT_ESTABLISHED:
		sdp_chan_opened(chan, chan->accepts ? NULL : ev->pdata, ev->pdata_len);
		break;
	default:
		sdp_chan_tell_over(chan, &end);
	}
	return 0;
}

/* --- buffers ------------------------------------------------------------------- */

static int sdp_chan_send_bufs(struct sdp_chan *chan)
{
	struct sdp_xprt_buf *buf;
	int i;

	for (i = 0; i < SDP_CHAN_SENDS; i++) {
		buf = chan->xprt->buf_alloc(chan->xc, SDP_CHAN_HEADERS + SDP_CHAN_COPY, false);
		if (!buf)
			return -ENOBUFS;
		buf->priv = NULL;
		spin_lock_bh(&chan->lock);
		list_add(&buf->list, &chan->free);
		spin_unlock_bh(&chan->lock);
	}
	return 0;
}

static int sdp_chan_recv_bufs(struct sdp_chan *chan)
{
	struct sdp_xprt_buf *buf;

	while (READ_ONCE(chan->credit.bufs) < READ_ONCE(chan->want)) {
		buf = chan->xprt->buf_alloc(chan->xc, SDP_CHAN_SIZE, true);
		spin_lock_bh(&chan->lock);
		if (!buf) {
			/* sdp_chan_grow() tries again when the peer has used up these. */
			chan->want = chan->credit.bufs;
			spin_unlock_bh(&chan->lock);
			return -ENOBUFS;
		}
		sdp_chan_post_recv(chan, buf);
		sdp_chan_settle(chan);
		spin_unlock_bh(&chan->lock);
	}
	return 0;
}

/* Without memory for more, a channel that is open goes on with what it has. */
static int sdp_chan_bufs(struct sdp_chan *chan)
{
	struct mem_cgroup *old = set_active_memcg(chan->memcg);
	int err = chan->state == SDP_CHAN_OPEN ? 0 : sdp_chan_send_bufs(chan);

	if (!err)
		err = sdp_chan_recv_bufs(chan);
	set_active_memcg(old);
	return err;
}

/* The transport has given all of them back.  Its part has been destroyed, or soon is. */
static void sdp_chan_free_bufs(struct sdp_chan *chan)
{
	struct sdp_xprt_buf *buf, *next;
	LIST_HEAD(bufs);

	spin_lock_bh(&chan->lock);
	list_splice_init(&chan->free, &bufs);
	list_splice_init(&chan->spare, &bufs);
	list_splice_init(&chan->early, &bufs);
	spin_unlock_bh(&chan->lock);
	list_for_each_entry_safe(buf, next, &bufs, list)
		chan->xprt->buf_free(chan->xc, buf);
}

/* --- the work ------------------------------------------------------------------ */

static int sdp_chan_resolved(struct sdp_xprt_conn *xc, void *ctx)
{
	return sdp_chan_bufs(ctx);
}

static int sdp_chan_ask(struct sdp_chan *chan)
{
	const struct sdp_xprt_ops *xprt = sdp_xprt_route(chan->net, &chan->params);
	struct sdp_xprt_conn *xc;
	unsigned int len;

	if (IS_ERR_OR_NULL(xprt))
		return xprt ? PTR_ERR(xprt) : -ENETDOWN;
	xc = xprt->conn_create(chan->net, chan);
	if (IS_ERR(xc)) {
		sdp_xprt_put(xprt);
		return PTR_ERR(xc);
	}
	xc->event = sdp_chan_event;
	chan->xprt = xprt;
	/* sdp_chan_goes() looks without the lock: pairs with its acquire. */
	smp_store_release(&chan->xc, xc);
	len = xprt->names && chan->pdata_named ? chan->pdata_named : chan->pdata_len;
	return xprt->connect(xc, &chan->params, sdp_chan_resolved, chan->pdata, len);
}

static int sdp_chan_answer(struct sdp_chan *chan)
{
	int err = chan->xprt->prepare(chan->xc, &chan->params);

	if (!err)
		err = sdp_chan_bufs(chan);
	if (!err)
		return chan->xprt->accept(chan->xc, chan->pdata, chan->pdata_len);
	chan->xprt->reject(chan->xc, NULL, 0);
	return err;
}

static void sdp_chan_begin(struct sdp_chan *chan)
{
	struct sdp_chan_end end = { .type = SDP_XPRT_UNREACHABLE };

	chan->begun = true;
	end.error = chan->accepts ? sdp_chan_answer(chan) : sdp_chan_ask(chan);
	if (end.error)
		sdp_chan_tell_over(chan, &end);
}

/* The transport's part goes, and with it what it has of the channel. */
static void sdp_chan_finish(struct sdp_chan *chan)
{
	struct sdp_chan_end end = { .type = SDP_XPRT_DISCONNECTED };

	timer_delete_sync(&chan->timer);
	if (chan->xc) {
		wait_var_event(&chan->making, !atomic_read(&chan->making));
		chan->xprt->conn_destroy(chan->xc);
		sdp_chan_quiet(chan);
		sdp_chan_free_bufs(chan);
	}
	spin_lock_bh(&chan->lock);
	chan->state = SDP_CHAN_GONE;
	spin_unlock_bh(&chan->lock);
	sdp_chan_tell_over(chan, &end);
	/* The user frees its memory now. */
	wait_var_event(&chan->mems, !atomic_read(&chan->mems));
	if (chan->xc)
		sdp_xprt_put(chan->xprt);
	/* The transport's. */
	sdp_chan_put(chan);
}

/* An open channel's part of the work. */
static void sdp_chan_keep(struct sdp_chan *chan)
{
	bool disown;

	sdp_chan_bufs(chan);
	spin_lock_bh(&chan->lock);
	disown = chan->disown;
	chan->disown = false;
	spin_unlock_bh(&chan->lock);
	if (disown)
		sdp_xprt_disown(chan->xc);
}

static void sdp_chan_work(struct work_struct *work)
{
	struct sdp_chan *chan = container_of(work, struct sdp_chan, work);
	bool over;

	if (!chan->begun && READ_ONCE(chan->state) == SDP_CHAN_OPENING)
		sdp_chan_begin(chan);
	else if (READ_ONCE(chan->state) == SDP_CHAN_OPEN)
		sdp_chan_keep(chan);
	spin_lock_bh(&chan->lock);
	over = chan->state == SDP_CHAN_OVER && !chan->drains;
	spin_unlock_bh(&chan->lock);
	if (over)
		sdp_chan_finish(chan);
	sdp_chan_put(chan);
}

/* --- what users call ----------------------------------------------------------- */

/* @chan is all zero; it is nowhere yet.  Returns false if the namespace is going. */
bool sdp_chan_init(struct sdp_chan *chan, const struct sdp_chan_user *user, struct net *net)
{
	chan->net = maybe_get_net(net);
	if (!chan->net)
		return false;
	chan->user = user;
	refcount_set(&chan->refs, 1);
	spin_lock_init(&chan->lock);
	INIT_LIST_HEAD(&chan->free);
	INIT_LIST_HEAD(&chan->spare);
	INIT_LIST_HEAD(&chan->early);
	INIT_LIST_HEAD(&chan->known);
	timer_setup(&chan->timer, sdp_chan_late, 0);
	INIT_WORK(&chan->work, sdp_chan_work);
	chan->credit.min = SDP_CHAN_BUFS_FIRST;
	chan->credit.max = SDP_CHAN_BUFS;
	sdp_credit_init(&chan->credit);
	chan->want = SDP_CHAN_BUFS_FIRST;
	spin_lock_bh(&sdp_chans_lock);
	list_add_tail(&chan->list, &sdp_chans);
	spin_unlock_bh(&sdp_chans_lock);
	atomic_inc(&sdp_chans_count);
	return true;
}

static void sdp_chan_go(struct sdp_chan *chan, const struct sdp_xprt_params *params,
			const void *pdata, unsigned int len)
{
	chan->params = *params;
	chan->params.send_depth = SDP_CHAN_SENDS;
	chan->params.recv_depth = SDP_CHAN_BUFS;
	chan->params.send_pieces = SDP_CHAN_PIECES;
	chan->params.rdma_depth = chan->user->rdma_depth;
	chan->params.recv_head = sizeof(struct sdp_bsdh);
	memcpy(chan->pdata, pdata, len);
	chan->pdata_len = len;
	/* The transport's. */
	refcount_inc(&chan->refs);
	spin_lock_bh(&chan->lock);
	chan->going = true;
	sdp_chan_kick(chan);
	spin_unlock_bh(&chan->lock);
}

/*
 * Asks a peer.  @params: addresses, the user who pays, and how long it may take.  @len is
 * SDP_XPRT_REQ_PDATA at most.  Any context but hard interrupts.
 */
void sdp_chan_connect(struct sdp_chan *chan, const struct sdp_xprt_params *params,
		      const void *pdata, unsigned int len)
{
	sdp_chan_go(chan, params, pdata, len);
}

/*
 * Accepts what a peer has asked for.  @xc is of SDP_XPRT_CONNECT_REQUEST, and the caller is in that
 * call.  @pdata: of the acceptance.  Returns -ENETDOWN if the transport goes: the caller then
 * refuses the request, and puts the channel.
 */
int sdp_chan_accept(struct sdp_chan *chan, struct sdp_xprt_conn *xc,
		    const struct sdp_xprt_params *params, const void *pdata, unsigned int len)
{
	if (!sdp_xprt_get(xc->ops))
		return -ENETDOWN;
	chan->accepts = true;
	chan->xprt = xc->ops;
	xc->ctx = chan;
	xc->event = sdp_chan_event;
	/* Pairs with sdp_chan_goes(), as in sdp_chan_ask(). */
	smp_store_release(&chan->xc, xc);
	sdp_chan_go(chan, params, pdata, len);
	return 0;
}

/*
 * What the peer has said of itself, before any message is sent: its receive buffers, and the bytes
 * of each, the base header included.
 */
void sdp_chan_peer(struct sdp_chan *chan, u32 bufs, u32 size)
{
	size -= sizeof(struct sdp_bsdh);
	spin_lock_bh(&chan->lock);
	sdp_credit_peer(&chan->credit, bufs);
	chan->most = min_t(u32, size, SDP_CHAN_MOST);
	chan->tail = min_t(u32, size - chan->most, SDP_CHAN_TAIL);
	spin_unlock_bh(&chan->lock);
}

/* With the channel's lock: does its transport's part go with @ops, or with @dev alone? */
static bool sdp_chan_goes(const struct sdp_chan *chan, const struct sdp_xprt_ops *ops,
			  const struct sdp_xprt_dev *dev)
{
	/* Pairs with sdp_chan_ask(): the transport is there, too. */
	const struct sdp_xprt_conn *xc = smp_load_acquire(&chan->xc);

	return xc && chan->xprt == ops && (!dev || xc->dev == dev);
}

/* A device goes, or all of a transport if @dev is NULL.  Its channels go, too.  Process context. */
void sdp_chan_gone(const struct sdp_xprt_ops *ops, const struct sdp_xprt_dev *dev)
{
	struct sdp_chan *chan;

	spin_lock_bh(&sdp_chans_lock);
	/* Marks all first: of two ends on this host the first takes the second along. */
	list_for_each_entry(chan, &sdp_chans, list) {
		spin_lock(&chan->lock);
		if (chan->state < SDP_CHAN_OVER && sdp_chan_goes(chan, ops, dev))
			chan->lost = true;
		spin_unlock(&chan->lock);
	}
	list_for_each_entry(chan, &sdp_chans, list) {
		spin_lock(&chan->lock);
		if (chan->lost)
			sdp_chan_over(chan);
		/* While it drains, its transport's part is there. */
		if (chan->drains && sdp_chan_goes(chan, ops, dev))
			sdp_chan_drained(chan);
		spin_unlock(&chan->lock);
	}
	spin_unlock_bh(&sdp_chans_lock);
}

int sdp_chan_start(void)
{
	sdp_chan_wq = alloc_workqueue("sdp_chan", WQ_UNBOUND, 0);
	return sdp_chan_wq ? 0 : -ENOMEM;
}

/* No user is left.  Waits until the last channels are gone. */
void sdp_chan_stop(void)
{
	wait_event(sdp_chans_wait, !atomic_read(&sdp_chans_count));
	/* The last one's end may be on its way out of a softirq. */
	synchronize_rcu();
	destroy_workqueue(sdp_chan_wq);
}
