// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for packets
 *
 * The kernel zeroes what it allocates where it was configured so, and would do that
 * to 4 KiB for each packet of 2 KiB, all of which is written anyway. It leaves alone
 * what comes from a cache that has a constructor; so packets have such caches, one
 * for answers and short messages, with objects of just the size.
 */
#include <linux/slab.h>

#include "compat.h"
#include "softib.h"

/* More than all headers and check sums of a packet */
#define HEADERS		256
/*
 * For messages of some words. The stack knows objects of its own small cache by their
 * size, which is that of its headers, 320 at most: so it is another.
 */
#define SMALL		448

static struct {
	const char *name;
	struct kmem_cache *cache;
	u32 room;
} sizes[] = {
	{ "softib_small" },
	{ "softib_large" },
};

static void leave_alone(void *data)
{
}

/**
 * softib_alloc_init - prepare for packets of the usual MTU
 *
 * Return: 0 or -ENOMEM.
 */
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

/**
 * softib_alloc_exit - there are no packets any more
 */
void softib_alloc_exit(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		kmem_cache_destroy(sizes[i].cache);
}

/**
 * softib_alloc - memory for a packet
 * @len:	its length
 *
 * Whatever was there before is still there.
 *
 * Return: an empty packet with room for it, or NULL.
 */
struct sk_buff *softib_alloc(u32 len)
{
	int i = len > sizes[0].room;
	struct sk_buff *skb;
	void *data;

	/* Links with another MTU than ib_mtu are for tests. */
	if (len > sizes[i].room)
		return alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);
	data = kmem_cache_alloc(sizes[i].cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!data)
		return NULL;
	skb = slab_build_skb(data);
	if (!skb)
		kmem_cache_free(sizes[i].cache, data);
	return skb;
}
