// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a program, pinned for one transfer: the peer reads it or writes into it, or the peer's
 * is read into it or written from it.
 *
 * The pages count against RLIMIT_MEMLOCK.  What cannot be pinned is no error: the bytes go by
 * copies.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "core/core.h"
#include "direct/direct.h"

/* Bytes of one transfer, at most. */
#define SDP_DIRECT_PINNED	SZ_1M

static unsigned long sdp_direct_address(const struct iov_iter *iter)
{
	if (iter_is_ubuf(iter))
		return (unsigned long)iter->ubuf + iter->iov_offset;
	return (unsigned long)iter_iov(iter)->iov_base + iter->iov_offset;
}

/* May a transfer write into these pages?  The file system of a file wants to know before. */
static bool sdp_direct_writable_pages(const struct sdp_direct_pages *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++)
		if (!PageAnon(p->pages[i]))
			return false;
	return true;
}

static int sdp_direct_pin_pages(struct sdp_direct_pages *p, unsigned long start, u32 len)
{
	unsigned int off = offset_in_page(start), most = DIV_ROUND_UP(off + len, PAGE_SIZE);
	int n;

	p->pages = kvmalloc_array(most, sizeof(*p->pages), GFP_KERNEL_ACCOUNT);
	if (!p->pages)
		return -ENOMEM;
	/* How long the peer takes to read or write is up to it. */
	n = pin_user_pages_fast(start - off, most,
				(p->write ? FOLL_WRITE : 0) | (p->peer ? FOLL_LONGTERM : 0),
				p->pages);
	if (n <= 0)
		return n ?: -EFAULT;
	p->n = n;
	if (p->write && !sdp_direct_writable_pages(p))
		return -EFAULT;
	p->len = min_t(u32, len, n * PAGE_SIZE - off);
	return sg_alloc_table_from_pages(&p->sgt, p->pages, n, off, p->len, GFP_KERNEL_ACCOUNT);
}

/*
 * How many bytes at the beginning of a program's memory one transfer may take; zero: less than
 * @least, from which it is worth it.
 */
u32 sdp_direct_worth(const struct iov_iter *iter, u32 least)
{
	size_t n;

	if (!user_backed_iter(iter))
		return 0;
	n = min(iov_iter_count(iter), iov_iter_single_seg_count(iter));
	return n >= least ? min_t(size_t, n, SDP_DIRECT_PINNED) : 0;
}

/*
 * Pins @most bytes at most, and has the transport know them for @access, one bit of enum
 * sdp_xprt_access.  @p is all zero before; sdp_direct_unpin() follows in any case.  Zero, and
 * p->len bytes are pinned; or a negative errno.
 */
int sdp_direct_pin(struct sdp_direct_pages *p, struct sdp_chan *chan, const struct iov_iter *iter,
		   u32 most, u32 access)
{
	int err;

	p->chan = chan;
	p->write = access & (SDP_XPRT_READ_SINK | SDP_XPRT_PEER_WRITES);
	p->peer = access & (SDP_XPRT_PEER_READS | SDP_XPRT_PEER_WRITES);
	most = min(most, chan->max_mem);
	err = mm_account_pinned_pages(&p->pin, most);
	if (!err)
		err = sdp_direct_pin_pages(p, sdp_direct_address(iter), most);
	if (!err)
		err = sdp_chan_mem_make(chan, &p->cm, &p->sgt, access);
	p->known = !err;
	if (err)
		sdp_count(chan->net, SDP_CNT_ZCOPY_UNPINNED);
	return err;
}

/* Gives the memory back to the program. */
void sdp_direct_unpin(struct sdp_direct_pages *p)
{
	if (p->known)
		sdp_chan_mem_free(p->chan, &p->cm);
	sg_free_table(&p->sgt);
	unpin_user_pages_dirty_lock(p->pages, p->n, p->write && p->known);
	kvfree(p->pages);
	mm_unaccount_pinned_pages(&p->pin);
}
