// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for packets
 *
 * The kernel zeroes what it allocates where it was configured so, and would do that
 * to 4 KiB for each packet of 2 KiB, all of which is written anyway. It leaves alone
 * what comes from a cache that has a constructor; so packets have such caches, one
 * for answers and short messages, with objects of just the size.
 *
 * Even so, to make a packet of the stack and to take it apart again costs as much as to carry
 * it. So each processor keeps some of those that have been received, for those that come next.
 * They are touched with interrupts disabled.
 */
#include <linux/slab.h>

#include "alloc.h"
#include "compat.h"
#include "softib.h"

/* More than all headers and check sums of a packet */
#define HEADERS		256
/*
 * For messages of some words. The stack knows objects of its own small cache by their
 * size, which is that of its headers, 320 at most: so it is another.
 */
#define SMALL		448

/* Packets of a size that a processor keeps: half of what a connection may have on its way. Under
 * KASAN there are none: it would not notice a late use of a packet that has been received.
 */
#define KEPT		(IS_ENABLED(CONFIG_KASAN) ? 0 : 128)

static struct {
	const char *name;
	struct kmem_cache *cache;
	u32 room;
} sizes[] = {
	{ "softib_small" },
	{ "softib_large" },
};

/* One size's, joined by skb->next */
struct kept {
	struct sk_buff *first;
	unsigned int n;
};

/* A structure: with an array per_cpu() does not leave the processor's segment (GCC 14, 7.3). */
struct stock {
	struct kept of[ARRAY_SIZE(sizes)];
};

static DEFINE_PER_CPU(struct stock, stock);

static void leave_alone(void *data)
{
}

int softib_alloc_init(void)
{
	u32 info = SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		sizes[i].room = i ? SKB_DATA_ALIGN(HEADERS + softib_mtu) : SMALL;
		/* Captures copy packets to user space. */
		sizes[i].cache =
			kmem_cache_create_usercopy(sizes[i].name, sizes[i].room + info,
						   SMP_CACHE_BYTES, COMPAT_SKB_CACHE, 0,
						   sizes[i].room, leave_alone);
		if (!sizes[i].cache) {
			softib_alloc_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* There are no packets any more, but those that the processors keep. */
void softib_alloc_exit(void)
{
	int i, cpu;

	for_each_possible_cpu(cpu)
		for (i = 0; i < ARRAY_SIZE(sizes); i++)
			kfree_skb_list(per_cpu_ptr(&stock, cpu)->of[i].first);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		kmem_cache_destroy(sizes[i].cache);
}

static struct sk_buff *take_kept(int i)
{
	struct kept *here;
	struct sk_buff *skb;
	unsigned long flags;

	local_irq_save(flags);
	here = &this_cpu_ptr(&stock)->of[i];
	skb = here->first;
	if (skb) {
		here->first = skb->next;
		here->n--;
	}
	local_irq_restore(flags);
	if (skb)
		skb_mark_not_on_list(skb);
	return skb;
}

/* Returns false if there are enough. */
static bool keep(int i, struct sk_buff *skb)
{
	struct kept *here;
	unsigned long flags;
	bool more;

	local_irq_save(flags);
	here = &this_cpu_ptr(&stock)->of[i];
	more = here->n < KEPT;
	if (more) {
		skb->next = here->first;
		here->first = skb;
		here->n++;
	}
	local_irq_restore(flags);
	return more;
}

/*
 * Takes back a packet that was received, or NULL. The stack has it back if it is another kernel's,
 * for which no HCA here was ever charged and which did not come from softib_alloc(), or if there is
 * a copy of it, as captures make.
 */
void softib_pkt_done(struct sk_buff *skb)
{
	if (!skb || !softib_cb(skb)->origin || skb_cloned(skb) || skb_shared(skb)) {
		consume_skb(skb);
		return;
	}
	skb_orphan(skb);
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	skb->len = 0;
	if (!keep(skb_end_offset(skb) >= sizes[1].room, skb))
		consume_skb(skb);
}

/* An empty packet with room for @len bytes, or NULL. Whatever was there before is still there. */
struct sk_buff *softib_alloc(u32 len)
{
	int i = len > sizes[0].room;
	struct sk_buff *skb;
	void *data;

	/* Links with another MTU than ib_mtu are for tests. */
	if (len > sizes[i].room)
		return alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
	skb = take_kept(i);
	if (skb)
		return skb;
	data = kmem_cache_alloc(sizes[i].cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!data)
		return NULL;
	skb = slab_build_skb(data);
	if (!skb)
		kmem_cache_free(sizes[i].cache, data);
	return skb;
}
