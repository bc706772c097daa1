// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that senders copy into serve again: a new one costs as much as half of a copy, as most
 * kernels clear it (init_on_alloc).
 *
 * The last message that has bytes in a page gives it back.  Each CPU keeps a few, for all
 * connections, so an idle connection has none.
 */
#include <linux/bottom_half.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/skbuff.h>

#include "core/core.h"

/* Pages, of 32 KiB each, that a CPU keeps. */
#define SDP_FRAGS	16

/* Bytes that a page must have left for more. */
#define SDP_FRAG_LEAST	32U

/**
 * struct sdp_frags - the pages that a CPU keeps; sdp_frags_lock() guards them
 * @n: how many
 * @page: each with the only reference that there is
 */
struct sdp_frags {
	unsigned int n;
	struct page *page[SDP_FRAGS];
};

static DEFINE_PER_CPU(struct sdp_frags, sdp_frags);

/* A real-time kernel's bottom halves do not keep others off the CPU. */
static struct sdp_frags *sdp_frags_lock(void)
{
	local_bh_disable();
	preempt_disable_nested();
	return this_cpu_ptr(&sdp_frags);
}

static void sdp_frags_unlock(void)
{
	preempt_enable_nested();
	local_bh_enable();
}

static bool sdp_frag_push(struct page *page)
{
	struct sdp_frags *frags;
	bool room;

	/* A reader without a reference to the page then gets wrong bytes, and a test sees them. */
	if (IS_ENABLED(CONFIG_KASAN))
		memset(page_address(page), 0x6b, page_size(page));
	frags = sdp_frags_lock();
	room = frags->n < SDP_FRAGS;
	if (room)
		frags->page[frags->n++] = page;
	sdp_frags_unlock();
	return room;
}

static struct page *sdp_frag_pop(void)
{
	struct sdp_frags *frags = sdp_frags_lock();
	struct page *page = frags->n ? frags->page[--frags->n] : NULL;

	sdp_frags_unlock();
	return page;
}

/* No other user has the page, and it is not of the memory that the kernel keeps for itself. */
static bool sdp_frag_is_free(struct page *page)
{
	return page_ref_count(page) == 1 && PageCompound(page) && !page_is_pfmemalloc(page);
}

/*
 * Keeps the pages of @skb that have no other user, for later messages.  All are from
 * sdp_frag_refill(), and the caller is about to free @skb.  Any context but hard interrupts.
 */
void sdp_frag_keep(struct sk_buff *skb)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int i, left = 0;

	if (skb_cloned(skb) || skb_shared(skb) || skb_zcopy(skb))
		return;
	for (i = 0; i < info->nr_frags; i++)
		if (!sdp_frag_is_free(skb_frag_page(&info->frags[i])) ||
		    !sdp_frag_push(skb_frag_page(&info->frags[i])))
			info->frags[left++] = info->frags[i];
	info->nr_frags = left;
}

/*
 * Like sk_page_frag_refill(), but leaves sk_sndbuf alone if there is no memory: nothing makes that
 * large again for a socket that has left TCP.  Process context.
 */
bool sdp_frag_refill(struct page_frag *frag, gfp_t gfp)
{
	struct page *page = NULL;

	if (!frag->page || (frag->offset + SDP_FRAG_LEAST > frag->size &&
			    page_ref_count(frag->page) > 1))
		page = sdp_frag_pop();
	if (!page)
		return skb_page_frag_refill(SDP_FRAG_LEAST, frag, gfp);
	if (frag->page)
		put_page(frag->page);
	frag->page = page;
	frag->size = page_size(page);
	frag->offset = 0;
	return true;
}

/* Gives the pages back.  No caller may keep or refill any more. */
void sdp_frag_exit(void)
{
	struct sdp_frags *frags;
	int cpu;

	for_each_possible_cpu(cpu) {
		frags = per_cpu_ptr(&sdp_frags, cpu);
		while (frags->n)
			put_page(frags->page[--frags->n]);
	}
}
