// SPDX-License-Identifier: GPL-2.0
/*
 * Inline data of programs: what a work request sends is copied when it is posted
 * (IBA 11.4.1.1), so that its buffer can be used again at once and needs no L_Key
 *
 * libibverbs hands work requests to the kernel as they are, with the flag and with
 * the program's addresses. rdmavt knows nothing of the flag. The data is copied into
 * a buffer of the QP, which has one slot for each entry of the send queue, and the
 * work request that rdmavt sees has this slot as its only SGE. The slot is free again
 * when the entry is.
 *
 * rdmavt takes no memory of a program without a region. So the buffer has one, with no
 * access rights: it can be sent from, and neither be written to nor reached by a peer.
 */
#include <linux/vmalloc.h>

#include "softib.h"

/**
 * struct softib_inline - a QP's inline data
 * @post_lock:	programs post to the QP one call at a time: which entry of the send
 *		queue comes next has to be known before it is posted
 * @mr:		the region that @slots are
 * @slots:	one for each entry of the send queue
 * @size:	of a slot, in bytes
 */
struct softib_inline {
	struct mutex post_lock;	/* see above */
	struct ib_mr *mr;
	void *slots;
	u32 size;
};

/* DMA addresses of an rdmavt device are the kernel's, so one element will do. */
static int map_slots(struct softib_inline *in, size_t size)
{
	struct scatterlist sg;

	sg_init_table(&sg, 1);
	sg.length = size;
	sg_dma_address(&sg) = (uintptr_t)in->slots;
	sg_dma_len(&sg) = size;
	return ib_map_mr_sg(in->mr, &sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
}

/*
 * The room for the inline data of a QP that is being made, NULL if the program asks for none, or an
 * error pointer.
 */
struct softib_inline *softib_inline_create(struct ib_qp *ibqp,
					   const struct ib_qp_cap *cap)
{
	const struct softib_hca *hca = to_softib_hca(ibqp->device);
	struct softib_inline *in;
	size_t size;
	int ret;

	if (!cap->max_inline_data)
		return NULL;
	if (cap->max_inline_data > hca->max_inline ||
	    cap->max_send_wr > hca->rdi.dparms.props.max_qp_wr)
		return ERR_PTR(-EINVAL);
	in = kzalloc(sizeof(*in), GFP_KERNEL_ACCOUNT);
	if (!in)
		return ERR_PTR(-ENOMEM);
	mutex_init(&in->post_lock);
	in->size = cap->max_inline_data;
	/* As rdmavt has it, one entry of the queue is never used. */
	size = PAGE_ALIGN((size_t)in->size * (cap->max_send_wr + 1));
	ret = -ENOMEM;
	in->slots = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!in->slots)
		goto free;
	in->mr = ib_alloc_mr(ibqp->pd, IB_MR_TYPE_MEM_REG, size >> PAGE_SHIFT);
	if (IS_ERR(in->mr)) {
		ret = PTR_ERR(in->mr);
		goto free;
	}
	ret = map_slots(in, size);
	if (ret)
		goto dereg;
	return in;

dereg:
	ib_dereg_mr(in->mr);
free:
	vfree(in->slots);
	kfree(in);
	return ERR_PTR(ret);
}

/* The QP is gone. @in may be NULL. */
void softib_inline_destroy(struct softib_inline *in)
{
	if (!in)
		return;
	/* Else something is still about to send from there. */
	if (!ib_dereg_mr(in->mr))
		vfree(in->slots);
	mutex_destroy(&in->post_lock);
	kfree(in);
}

/* In bytes; @in may be NULL. */
u32 softib_inline_size(const struct softib_inline *in)
{
	return in ? in->size : 0;
}

static bool has_inline(const struct ib_send_wr *wr)
{
	return wr->send_flags & IB_SEND_INLINE && wr->num_sge > 0;
}

/* A send with invalidate is not among them: rdmavt wants its memory to be writable. */
static bool may_be_inline(const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_IMM:
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return true;
	default:
		return false;
	}
}

/* The send queue's next entry, if there is one. The caller holds post_lock. */
static bool next_entry(struct rvt_qp *qp, u32 *entry)
{
	/* Pairs with the release in rvt_qp_complete_swqe() */
	u32 last = smp_load_acquire(&qp->s_last);

	*entry = READ_ONCE(qp->s_head);
	return *entry < qp->s_size && rvt_qp_swqe_incr(qp, *entry) != last;
}

/* Copies what a work request sends, and makes the copy what it sends. */
static int copy_data(struct rvt_qp *qp, struct softib_inline *in,
		     struct ib_send_wr *wr)
{
	u32 entry, len = 0;
	void *slot;
	int i;

	if (!may_be_inline(wr) || wr->num_sge > qp->s_max_sge)
		return -EINVAL;
	if (!next_entry(qp, &entry))
		return -ENOMEM;
	slot = in->slots + (size_t)entry * in->size;
	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > in->size - len)
			return -EINVAL;
		if (copy_from_user(slot + len, u64_to_user_ptr(sge->addr),
				   sge->length))
			return -EFAULT;
		len += sge->length;
	}
	wr->num_sge = !!len;
	if (len)
		wr->sg_list[0] = (struct ib_sge) {
			.addr = (uintptr_t)slot,
			.length = len,
			.lkey = in->mr->lkey,
		};
	return 0;
}

/* One at a time: only the next entry of the queue is known to be free. */
static int post_each(struct rvt_qp *qp, struct softib_inline *in,
		     const struct ib_send_wr *wr, const struct ib_send_wr **bad)
{
	struct softib_hca *hca = qp_to_hca(qp);
	int ret = 0;

	for (; wr && !ret; wr = wr->next) {
		/* It is uverbs's own copy. */
		struct ib_send_wr *one = (struct ib_send_wr *)wr;
		struct ib_send_wr *next = one->next;

		*bad = wr;
		if (has_inline(wr))
			ret = copy_data(qp, in, one);
		if (ret)
			break;
		one->next = NULL;
		ret = hca->rvt_post_send(&qp->ibqp, one, bad);
		one->next = next;
	}
	return ret;
}

/*
 * Posts a program's work requests, which are in the kernel's memory and are changed. Their inline
 * data is in the memory of the program, which makes this call.
 */
int softib_inline_post(struct rvt_qp *qp, const struct ib_send_wr *wr,
		       const struct ib_send_wr **bad)
{
	struct softib_inline *in = ((struct softib_qp *)qp->priv)->in;
	const struct ib_send_wr *w;
	int ret;

	for (w = wr; w && !has_inline(w); w = w->next)
		;
	if (w && !in) {
		*bad = wr;
		return -EINVAL;
	}
	if (!in)
		return qp_to_hca(qp)->rvt_post_send(&qp->ibqp, wr, bad);
	mutex_lock(&in->post_lock);
	ret = w ? post_each(qp, in, wr, bad) :
		  qp_to_hca(qp)->rvt_post_send(&qp->ibqp, wr, bad);
	mutex_unlock(&in->post_lock);
	return ret;
}
