// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of rings: made and charged, mapped, and given back.
 *
 * A mapping must not hold the endpoint's file, or close(2) would not end the
 * connection.  It holds a file of its own instead, which holds nothing but the
 * memory; the endpoint holds the memory as long as it needs it.
 */
#include <linux/anon_inodes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "sdpdev.h"

/* The mappings are this far from one another. */
#define SDP_MMAP_STEP	(SDP_MMAP_RX_RING - SDP_MMAP_TX_RING)

/* In the order of their offsets. */
enum sdp_ring_area_kind {
	SDP_AREA_TX,
	SDP_AREA_RX,
	SDP_AREA_STATE,
	SDP_AREA_MAX,
};

/**
 * struct sdp_ring_area - pages that are mapped in one piece
 * @map: where the kernel has them
 * @pages: the pages, freed with @map
 * @n: how many
 */
struct sdp_ring_area {
	void *map;
	struct page **pages;
	unsigned int n;
};

/**
 * struct sdp_ring_mem - the memory of a connection's rings
 * @ref: the endpoint has one while it has rings, each mapping's file another
 * @user: the account that it is charged to, held; set with the charge
 * @bytes: what is charged
 * @area: the mappings
 *
 * Set once, except for what is in the pages: the state is written under ep->lock
 * of the endpoint that has them.
 */
struct sdp_ring_mem {
	refcount_t ref;
	struct sdp_user *user;
	long bytes;
	struct sdp_ring_area area[SDP_AREA_MAX];
};

/* A full control group is an error, and no reason to kill somebody. */
#define SDP_RING_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN)

static int sdp_ring_area_alloc(struct sdp_ring_area *area, unsigned int n)
{
	struct page **pages;
	unsigned int i;

	/* kvmalloc and not kmalloc, for vfree() to free it with the pages. */
	pages = kvmalloc_array(n, sizeof(*pages), SDP_RING_GFP);
	if (!pages)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		pages[i] = alloc_page(SDP_RING_GFP);
		if (!pages[i])
			goto err;
	}
	area->map = vmap(pages, n, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	if (!area->map)
		goto err;
	area->pages = pages;
	area->n = n;
	return 0;

err:
	while (i--)
		__free_page(pages[i]);
	kvfree(pages);
	return -ENOMEM;
}

static void sdp_ring_mem_put(struct sdp_ring_mem *mem)
{
	int i;

	if (!refcount_dec_and_test(&mem->ref))
		return;
	for (i = 0; i < SDP_AREA_MAX; i++)
		vfree(mem->area[i].map);
	if (mem->user)
		sdp_account_return(mem->user, mem->bytes);
	kfree(mem);
}

static struct sdp_ring_mem *sdp_ring_mem_make(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes)
{
	const u32 bytes[SDP_AREA_MAX] = { tx_bytes, rx_bytes, 0 };
	struct sdp_ring_mem *mem;
	int i;

	mem = kzalloc(sizeof(*mem), SDP_RING_GFP);
	if (!mem)
		return NULL;
	refcount_set(&mem->ref, 1);
	for (i = 0; i < SDP_AREA_MAX; i++)
		mem->bytes += PAGE_SIZE + bytes[i];
	mem->user = sdp_account_lend(ep, mem->bytes);
	if (!mem->user)
		goto err;
	for (i = 0; i < SDP_AREA_MAX; i++)
		if (sdp_ring_area_alloc(&mem->area[i], 1 + bytes[i] / PAGE_SIZE))
			goto err;
	return mem;

err:
	sdp_ring_mem_put(mem);
	return NULL;
}

/**
 * sdp_ring_mem_alloc() - memory for both rings, at the expense of the endpoint's user
 * @ep: the endpoint
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 *
 * As the buffers, it is the memory control group's of who opened the endpoint.
 *
 * Return: the memory, for sdp_ring_mem_attach(), or NULL.
 */
struct sdp_ring_mem *sdp_ring_mem_alloc(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes)
{
	struct mem_cgroup *old = set_active_memcg(ep->memcg);
	struct sdp_ring_mem *mem = sdp_ring_mem_make(ep, tx_bytes, rx_bytes);

	set_active_memcg(old);
	return mem;
}

static struct sdp_ring_state *sdp_ring_state(struct sdp_ring_mem *mem)
{
	return mem->area[SDP_AREA_STATE].map;
}

/**
 * sdp_ring_mem_attach() - give an endpoint its rings
 * @ep: an endpoint without any, ep->lock held
 * @mem: what sdp_ring_mem_alloc() gave, whose reference passes to the endpoint
 * @tx_bytes: as then
 * @rx_bytes: as then
 */
void sdp_ring_mem_attach(struct sdp_ep *ep, struct sdp_ring_mem *mem, u32 tx_bytes,
			 u32 rx_bytes)
{
	sdp_ring_state(mem)->id = ep->id;
	atomic_long_add(mem->bytes, &ep->memory);
	ep->ring_mem = mem;
	ep->tx_ring = (struct sdp_kring){ .map = mem->area[SDP_AREA_TX].map };
	ep->rx_ring = (struct sdp_kring){ .map = mem->area[SDP_AREA_RX].map };
	/* Pairs with sdp_ring_enter(): their sizes say that they are there. */
	smp_wmb();
	WRITE_ONCE(ep->tx_ring.size, tx_bytes);
	WRITE_ONCE(ep->rx_ring.size, rx_bytes);
}

/* ep->lock is held. */
static void sdp_ring_count(struct sdp_ring_mem *mem)
{
	struct sdp_ring_state *state = sdp_ring_state(mem);

	WRITE_ONCE(state->closes, state->closes + 1);
}

/**
 * sdp_ring_closing() - a descriptor of the endpoint's file has gone away
 * @ep: the endpoint
 */
void sdp_ring_closing(struct sdp_ep *ep)
{
	/* Under the lock: who maps the state later must not find the descriptor. */
	spin_lock_bh(&ep->lock);
	if (ep->ring_mem)
		sdp_ring_count(ep->ring_mem);
	spin_unlock_bh(&ep->lock);
}

/**
 * sdp_ring_mem_detach() - take the rings from an endpoint
 * @ep: an endpoint of which nobody reads and to which nobody writes at the same
 *	time; it may have none
 *
 * Who has them mapped finds them ended.
 */
void sdp_ring_mem_detach(struct sdp_ep *ep)
{
	const u32 flags = SDP_RING_NEED_ENTER | SDP_RING_ERROR;
	struct sdp_ring_mem *mem;

	spin_lock_bh(&ep->lock);
	mem = ep->ring_mem;
	if (mem) {
		WRITE_ONCE(ep->tx_ring.map->flags, flags);
		WRITE_ONCE(ep->rx_ring.map->flags, flags);
		/* What is in it went with the connection. */
		WRITE_ONCE(ep->rx_ring.map->head, ep->rx_ring.own);
		WRITE_ONCE(ep->rx_ring.map->tail, ep->rx_ring.own);
		sdp_ring_count(mem);
		ep->tx_ring = (struct sdp_kring){};
		ep->rx_ring = (struct sdp_kring){};
		ep->ring_mem = NULL;
		atomic_long_sub(mem->bytes, &ep->memory);
	}
	spin_unlock_bh(&ep->lock);
	if (mem)
		sdp_ring_mem_put(mem);
}

static int sdp_ring_file_release(struct inode *inode, struct file *file)
{
	sdp_ring_mem_put(file->private_data);
	return 0;
}

/* Of the file that a mapping holds, which no descriptor leads to. */
static const struct file_operations sdp_ring_file_fops = {
	.owner		= THIS_MODULE,
	.release	= sdp_ring_file_release,
};

static struct sdp_ring_mem *sdp_ring_mem_get(struct sdp_ep *ep)
{
	struct sdp_ring_mem *mem;

	spin_lock_bh(&ep->lock);
	mem = ep->ring_mem;
	if (mem)
		refcount_inc(&mem->ref);
	spin_unlock_bh(&ep->lock);
	return mem;
}

static int sdp_ring_map_area(struct sdp_ring_mem *mem, enum sdp_ring_area_kind kind,
			     struct vm_area_struct *vma)
{
	const struct sdp_ring_area *area = &mem->area[kind];
	struct file *file;

	if (vma_pages(vma) != area->n || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (kind == SDP_AREA_STATE && (vma->vm_flags & VM_WRITE))
		return -EACCES;
	file = anon_inode_getfile("[sdp]", &sdp_ring_file_fops, mem, O_RDWR);
	if (IS_ERR(file))
		return PTR_ERR(file);
	/* Which the file gives back. */
	refcount_inc(&mem->ref);
	vma_set_file(vma, file);
	fput(file);
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP,
		     kind == SDP_AREA_STATE ? VM_MAYEXEC | VM_MAYWRITE : VM_MAYEXEC);
	return vm_map_pages_zero(vma, area->pages, area->n);
}

/**
 * sdp_ring_mmap() - map a ring, or the state of both
 * @ep: the endpoint
 * @vma: where to
 *
 * Return: zero; -ENXIO without rings; -EINVAL where the offset or the length is
 * not exactly that of a mapping, or it is private; -EPERM to execute; -EACCES to
 * write to the state.
 */
int sdp_ring_mmap(struct sdp_ep *ep, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct sdp_ring_mem *mem;
	int err;

	if (offset % SDP_MMAP_STEP || offset / SDP_MMAP_STEP >= SDP_AREA_MAX)
		return -EINVAL;
	mem = sdp_ring_mem_get(ep);
	if (!mem)
		return -ENXIO;
	err = sdp_ring_map_area(mem, offset / SDP_MMAP_STEP, vma);
	sdp_ring_mem_put(mem);
	return err;
}
