// SPDX-License-Identifier: GPL-2.0
/*
 * What rdmavt believes of programs, and cannot
 *
 * It knows one library in user space, and takes for granted what that one does. Any
 * program can have the HCA do other things.
 */
#include "softib.h"

/*
 * Can a program be told where its queue is? rdmavt makes a queue that is never freed if there is no
 * room for the answer, and frees it twice if the room cannot be written.
 */
int softib_guard_answer(struct ib_udata *udata)
{
	u64 none = 0;

	if (udata->outlen < sizeof(none))
		return -EINVAL;
	return ib_copy_to_udata(udata, &none, sizeof(none));
}

static int create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		      struct ib_udata *udata)
{
	int ret = udata ? softib_guard_answer(udata) : 0;

	return ret ?: to_softib_hca(ibsrq->device)->rvt_create_srq(ibsrq, attr, udata);
}

static void no_more_events(struct ib_event *event, void *context)
{
}

/* rdmavt tells of a CQ that is full for each completion that has no room, and what
 * programs are told waits in the kernel until they read it: once is enough.
 */
static void cq_event(struct ib_event *event, void *context)
{
	struct ib_cq *cq = event->element.cq;

	if (xchg(&cq->event_handler, no_more_events) == cq_event)
		to_softib_hca(cq->device)->user_cq_event(event, context);
}

static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     struct ib_cq_udata *udata)
{
	struct softib_hca *hca = to_softib_hca(ibcq->device);

	/* It is the same function for all of them. */
	if (udata && ibcq->event_handler) {
		WRITE_ONCE(hca->user_cq_event, ibcq->event_handler);
		ibcq->event_handler = cq_event;
	}
	return hca->rvt_create_cq(ibcq, attr, udata);
}

/*
 * Keeps programs from mapping a ring that is about to be freed. Returns false if one is doing that.
 */
static bool hide(struct rvt_cq *cq, bool *shown)
{
	struct rvt_dev_info *rdi = cq->rdi;
	bool free;

	spin_lock_irq(&rdi->pending_lock);
	free = kref_read(&cq->ip->ref) == 1;
	*shown = !list_empty(&cq->ip->pending_mmaps);
	if (free)
		list_del_init(&cq->ip->pending_mmaps);
	spin_unlock_irq(&rdi->pending_lock);
	return free;
}

static void show(struct rvt_cq *cq)
{
	struct rvt_dev_info *rdi = cq->rdi;

	spin_lock_irq(&rdi->pending_lock);
	if (list_empty(&cq->ip->pending_mmaps))
		list_add(&cq->ip->pending_mmaps, &rdi->pending_mmaps);
	spin_unlock_irq(&rdi->pending_lock);
}

/* One at a time, and with a ring of the kind that the CQ has. */
static int resize_cq(struct ib_cq *ibcq, compat_cqe_t cqe, struct ib_udata *udata)
{
	struct softib_hca *hca = to_softib_hca(ibcq->device);
	struct rvt_cq *cq = ibcq_to_rvtcq(ibcq);
	int ret = -EAGAIN;
	bool shown;

	if (!cq->ip != !(udata && udata->outlen >= sizeof(u64)))
		return -EINVAL;
	mutex_lock(&hca->resize_lock);
	if (!cq->ip) {
		ret = hca->rvt_resize_cq(ibcq, cqe, udata);
	} else if (hide(cq, &shown)) {
		ret = hca->rvt_resize_cq(ibcq, cqe, udata);
		if (ret && shown)
			show(cq);
	}
	mutex_unlock(&hca->resize_lock);
	return ret;
}

/* Ranges that end before they begin look as if they were within any region, and the
 * sum of many lengths may look like a small one.
 */
static bool ranges_ok(const struct ib_send_wr *wr)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].addr + wr->sg_list[i].length < wr->sg_list[i].addr)
			return false;
		sum += wr->sg_list[i].length;
	}
	return sum <= SOFTIB_MAX_MSG;
}

static int post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	struct rvt_qp *qp = ibqp_to_rvtqp(ibqp);
	const struct ib_send_wr *w;
	int flags = 0;

	if (!ibqp->uobject)
		return to_softib_hca(ibqp->device)->rvt_post_send(ibqp, wr, bad);
	for (w = wr; w; w = w->next) {
		if (!ranges_ok(w)) {
			*bad = wr;
			return -EINVAL;
		}
		flags |= w->send_flags;
	}
	if (flags & IB_SEND_INLINE || ((struct softib_qp *)qp->priv)->in)
		return softib_inline_post(qp, wr, bad);
	return to_softib_hca(ibqp->device)->rvt_post_send(ibqp, wr, bad);
}

/* rdmavt goes through all QPs for one that uses the region. */
static int dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct softib_hca *hca = to_softib_hca(ibmr->device);
	int ret;

	down_read(&hca->iter_sem);
	ret = hca->rvt_dereg_mr(ibmr, udata);
	up_read(&hca->iter_sem);
	return ret;
}

/* Looks at what programs ask an HCA for. No consumer has seen it. */
void softib_guard_wrap(struct softib_hca *hca)
{
	struct ib_device *ibdev = &hca->rdi.ibdev;

	hca->rvt_create_cq = ibdev->ops.create_cq;
	hca->rvt_create_srq = ibdev->ops.create_srq;
	hca->rvt_dereg_mr = ibdev->ops.dereg_mr;
	hca->rvt_resize_cq = ibdev->ops.resize_user_cq;
	hca->rvt_post_send = ibdev->ops.post_send;
	ibdev->ops.create_cq = create_cq;
	ibdev->ops.create_srq = create_srq;
	ibdev->ops.dereg_mr = dereg_mr;
	ibdev->ops.resize_user_cq = resize_cq;
	ibdev->ops.post_send = post_send;
}
