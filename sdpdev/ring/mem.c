// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of rings: made and charged, mapped, and given back.
 *
 * A mapping must not hold the endpoint's file, or close(2) would not end the
 * connection.  It holds a file of its own instead, which holds nothing but the
 * memory; the connection holds the memory as long as it needs it.
 *
 * Rings that are empty and idle have no pages: these are taken from the mappings and
 * freed, and what is in their heads is kept.  Whoever touches a mapping then waits in
 * the fault until there are new ones with the same heads, and notices nothing.  The
 * kernel does not need the pages: it works on the kept heads, and what it receives it
 * leaves in its queue, as where the ring is full.
 */
#include <linux/anon_inodes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ring/ring.h"

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
 * @pages: the pages; NULL where they have been given back
 * @n: how many there are, or would be
 */
struct sdp_ring_area {
	void *map;
	struct page **pages;
	unsigned int n;
};

/**
 * struct sdp_ring_mem - the memory of a connection's rings
 * @ref: the connection has one while it has rings, each mapping's file another
 * @user: the account that it is charged to, held; set with the charge
 * @memcg: the memory control group that pays for the pages, referenced; or NULL
 * @bytes: what is charged, also while the pages are given back: a fault must not fail
 *	because the user has filled the account meanwhile
 * @mapping: all mappings of it, to take the pages from them
 * @mutex: @rings, and the pages that there are; taken in faults, so no user memory is
 *	touched under it
 * @rings: whose memory it is, NULL once it has been taken from them
 * @hooks: what happens when user space uses or unmaps them
 * @away: there are no pages; also under ep->lock
 * @kept: the rings' heads while @away
 * @kept_state: what the state's page has
 * @area: the mappings
 *
 * What is in the pages, or in their stead, is written under ep->lock.
 */
struct sdp_ring_mem {
	refcount_t ref;
	struct sdp_user *user;
	struct mem_cgroup *memcg;
	long bytes;
	struct address_space mapping;
	struct mutex mutex;	/* the pages */
	struct sdp_rings *rings;
	const struct sdp_ring_hooks *hooks;
	bool away;
	struct sdp_ring kept[SDP_AREA_STATE];
	struct sdp_ring_state kept_state;
	struct sdp_ring_area area[SDP_AREA_MAX];
};

/* A full control group is an error, and no reason to kill somebody. */
#define SDP_RING_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NORETRY | __GFP_NOWARN)

static void sdp_ring_area_free(struct sdp_ring_area *area)
{
	unsigned int i;

	if (!area->pages)
		return;
	if (area->map)
		vunmap(area->map);
	for (i = 0; i < area->n && area->pages[i]; i++)
		__free_page(area->pages[i]);
	kvfree(area->pages);
	area->pages = NULL;
	area->map = NULL;
}

static void sdp_ring_pages_free(struct sdp_ring_mem *mem)
{
	int i;

	for (i = 0; i < SDP_AREA_MAX; i++)
		sdp_ring_area_free(&mem->area[i]);
}

static int sdp_ring_area_alloc(struct sdp_ring_area *area, gfp_t gfp)
{
	unsigned int i;

	area->pages = kvmalloc_array(area->n, sizeof(*area->pages), gfp);
	if (!area->pages)
		return -ENOMEM;
	for (i = 0; i < area->n; i++) {
		area->pages[i] = alloc_page(gfp);
		if (!area->pages[i])
			return -ENOMEM;
	}
	area->map = vmap(area->pages, area->n, VM_MAP, PAGE_KERNEL);
	return area->map ? 0 : -ENOMEM;
}

/* All pages or none; the memory control group's of who opened the endpoint. */
static int sdp_ring_pages_alloc(struct sdp_ring_mem *mem, gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(mem->memcg);
	int i, err = 0;

	for (i = 0; !err && i < SDP_AREA_MAX; i++)
		err = sdp_ring_area_alloc(&mem->area[i], gfp);
	set_active_memcg(old);
	if (err)
		sdp_ring_pages_free(mem);
	return err;
}

static void sdp_ring_mem_put(struct sdp_ring_mem *mem)
{
	if (!refcount_dec_and_test(&mem->ref))
		return;
	sdp_ring_pages_free(mem);
	if (mem->user)
		sdp_account_return(mem->user, mem->bytes);
	mem_cgroup_put(mem->memcg);
	mutex_destroy(&mem->mutex);
	kfree(mem);
}

static struct sdp_ring_mem *sdp_ring_mem_make(struct sdp_rings *rings,
					      const struct sdp_ring_hooks *hooks,
					      u32 tx_bytes, u32 rx_bytes)
{
	const u32 bytes[SDP_AREA_MAX] = { tx_bytes, rx_bytes, 0 };
	struct sdp_ring_mem *mem;
	int i;

	mem = kzalloc(sizeof(*mem), SDP_RING_GFP);
	if (!mem)
		return NULL;
	refcount_set(&mem->ref, 1);
	mem->hooks = hooks;
	mutex_init(&mem->mutex);
	address_space_init_once(&mem->mapping);
	mem->mapping.a_ops = &empty_aops;
	mem->memcg = sdp_account_memcg(&rings->ep->account);
	for (i = 0; i < SDP_AREA_MAX; i++) {
		mem->area[i].n = 1 + bytes[i] / PAGE_SIZE;
		mem->bytes += PAGE_SIZE + bytes[i];
	}
	mem->user = sdp_account_lend(&rings->ep->account, mem->bytes);
	if (mem->user && !sdp_ring_pages_alloc(mem, SDP_RING_GFP))
		return mem;
	sdp_ring_mem_put(mem);
	return NULL;
}

/**
 * sdp_ring_mem_alloc() - memory for both rings, at the expense of the endpoint's user
 * @rings: the rings
 * @hooks: what happens when user space uses or unmaps it
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 *
 * As the buffers, it is the memory control group's of who opened the endpoint.
 *
 * Return: the memory, for sdp_ring_mem_attach(), or NULL.
 */
struct sdp_ring_mem *sdp_ring_mem_alloc(struct sdp_rings *rings, const struct sdp_ring_hooks *hooks,
					u32 tx_bytes, u32 rx_bytes)
{
	struct mem_cgroup *old = set_active_memcg(rings->ep->account.memcg);
	struct sdp_ring_mem *mem = sdp_ring_mem_make(rings, hooks, tx_bytes, rx_bytes);

	set_active_memcg(old);
	return mem;
}

/* Where the kernel has a mapping's head, and how long that is. */
static void *sdp_ring_kept(struct sdp_ring_mem *mem, enum sdp_ring_area_kind kind,
			   size_t *len)
{
	if (kind == SDP_AREA_STATE) {
		*len = sizeof(mem->kept_state);
		return &mem->kept_state;
	}
	*len = sizeof(mem->kept[kind]);
	return &mem->kept[kind];
}

static struct sdp_ring_state *sdp_ring_state(struct sdp_ring_mem *mem)
{
	return mem->away ? &mem->kept_state : mem->area[SDP_AREA_STATE].map;
}

/* Under ep->lock. */
static void sdp_ring_point(struct sdp_rings *rings, struct sdp_ring_mem *mem)
{
	bool away = mem->away;

	rings->tx.away = away;
	rings->rx.away = away;
	WRITE_ONCE(rings->tx.map, away ? &mem->kept[SDP_AREA_TX] : mem->area[SDP_AREA_TX].map);
	WRITE_ONCE(rings->rx.map, away ? &mem->kept[SDP_AREA_RX] : mem->area[SDP_AREA_RX].map);
}

/**
 * sdp_ring_mem_attach() - give a connection its rings
 * @rings: rings without memory, ep->lock held
 * @mem: what sdp_ring_mem_alloc() gave, whose reference passes to the rings
 * @tx_bytes: as then
 * @rx_bytes: as then
 */
void sdp_ring_mem_attach(struct sdp_rings *rings, struct sdp_ring_mem *mem, u32 tx_bytes,
			 u32 rx_bytes)
{
	sdp_ring_state(mem)->id = rings->ep->id;
	atomic_long_add(mem->bytes, &rings->ep->account.memory);
	rings->mem = mem;
	mem->rings = rings;
	sdp_ring_point(rings, mem);
	rings->tx.size = tx_bytes;
	/* Last: pairs with the acquire in sdp_ring_enter(), which has neither lock nor mutex. */
	smp_store_release(&rings->rx.size, rx_bytes);
}

/* ep->lock is held. */
static void sdp_ring_count(struct sdp_ring_mem *mem)
{
	struct sdp_ring_state *state = sdp_ring_state(mem);

	/* Read by user space, see sdp_ring_closing() for what it is ordered with. */
	WRITE_ONCE(state->closes, state->closes + 1);
}

/**
 * sdp_ring_closing() - a descriptor of the endpoint's file has gone away
 * @rings: the rings
 *
 * Return: whether there are rings, at which the caller has to look.
 */
bool sdp_ring_closing(struct sdp_rings *rings)
{
	bool mapped;

	/* Under the lock: who maps the state later must not find the descriptor. */
	sdp_ep_lock(rings->ep);
	mapped = rings->mem;
	if (mapped)
		sdp_ring_count(rings->mem);
	sdp_ep_unlock(rings->ep);
	if (!mapped)
		return false;
	/*
	 * The count is stored before the tail is loaded.  Pairs with the full barrier in
	 * send_slot() of libsdpdev/fast.c, which stores the tail before it loads the
	 * count: a producer that does not see the count move has moved the tail before.
	 */
	smp_mb();
	return true;
}

/**
 * sdp_ring_mem_detach() - take the rings from an endpoint
 * @rings: the rings, from which nobody reads and to which nobody writes at the same
 *	time; they may have no memory
 *
 * Who has them mapped finds them ended.
 */
void sdp_ring_mem_detach(struct sdp_rings *rings)
{
	const u32 flags = SDP_RING_NEED_ENTER | SDP_RING_ERROR;
	struct sdp_ring_mem *mem = rings->mem;

	if (!mem)
		return;
	mutex_lock(&mem->mutex);
	sdp_ep_lock(rings->ep);
	WRITE_ONCE(rings->tx.map->flags, flags);
	/* What is in it went with the connection. */
	WRITE_ONCE(rings->rx.map->head, rings->rx.own);
	WRITE_ONCE(rings->rx.map->tail, rings->rx.own);
	sdp_kring_tell(&rings->rx, flags);
	sdp_ring_count(mem);
	rings->tx = (struct sdp_kring){};
	rings->rx = (struct sdp_kring){};
	rings->mem = NULL;
	mem->rings = NULL;
	if (!mem->away)
		atomic_long_sub(mem->bytes, &rings->ep->account.memory);
	sdp_ep_unlock(rings->ep);
	mutex_unlock(&mem->mutex);
	sdp_ring_mem_put(mem);
}

/* --- pages that come and go -------------------------------------------------- */

/* With the pages there are the heads that were kept, or the other way round. */
static void sdp_ring_move_heads(struct sdp_ring_mem *mem, bool away)
{
	void *kept;
	size_t len;
	int i;

	for (i = 0; i < SDP_AREA_MAX; i++) {
		kept = sdp_ring_kept(mem, i, &len);
		if (away)
			memcpy(kept, mem->area[i].map, len);
		else
			memcpy(mem->area[i].map, kept, len);
	}
	mem->away = away;
	if (mem->rings) {
		sdp_ring_point(mem->rings, mem);
		atomic_long_add(away ? -mem->bytes : mem->bytes, &mem->rings->ep->account.memory);
	}
}

/* mem->mutex is held. */
static int sdp_ring_bring_back(struct sdp_ring_mem *mem)
{
	struct sdp_rings *rings = mem->rings;
	int err;

	/* It may wait for memory, and be the one that is killed for it, as in any fault. */
	err = sdp_ring_pages_alloc(mem, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (err)
		return err;
	if (!rings) {
		sdp_ring_move_heads(mem, false);
		return 0;
	}
	sdp_ep_lock(rings->ep);
	sdp_ring_move_heads(mem, false);
	mem->hooks->used(rings);
	sdp_ep_unlock(rings->ep);
	return 0;
}

/*
 * Nobody has the pages but the mappings, which have been emptied: not who registered
 * them with a device, nor a call that is about to write there.
 */
static bool sdp_ring_unshared(const struct sdp_ring_mem *mem)
{
	unsigned int i, j;

	for (i = 0; i < SDP_AREA_MAX; i++)
		for (j = 0; j < mem->area[i].n; j++)
			if (page_count(mem->area[i].pages[j]) != 1)
				return false;
	return true;
}

/*
 * No byte is in the rings, and nobody is about to put some there.  Under ep->lock, and
 * with the mappings empty: what user space has written does not change meanwhile, and
 * is seen here, since emptying the mappings waits for all processors.
 */
static bool sdp_ring_empty(const struct sdp_rings *rings)
{
	const struct sdp_ring *tx = rings->tx.map, *rx = rings->rx.map;
	u64 tail = rings->tx.ended ? rings->tx.user : READ_ONCE(tx->tail);

	return !READ_ONCE(tx->lock) && tail == rings->tx.own &&
	       READ_ONCE(rx->head) == rings->rx.own;
}

/**
 * sdp_ring_mem_idle() - give back the pages of rings that nobody uses
 * @rings: the rings, which may have no memory; nobody reads or writes meanwhile
 *
 * Context: process context.
 * Return: whether that has to be tried again later.
 */
bool sdp_ring_mem_idle(struct sdp_rings *rings)
{
	struct sdp_ring_mem *mem = rings->mem;
	bool idle = false;

	if (!mem || READ_ONCE(mem->away))
		return false;
	mutex_lock(&mem->mutex);
	/* From here on whoever uses a mapping waits for the mutex. */
	unmap_mapping_range(&mem->mapping, 0, 0, 1);
	if (sdp_ring_unshared(mem)) {
		sdp_ep_lock(rings->ep);
		idle = sdp_ring_empty(rings);
		if (idle)
			sdp_ring_move_heads(mem, true);
		sdp_ep_unlock(rings->ep);
	}
	if (idle)
		sdp_ring_pages_free(mem);
	mutex_unlock(&mem->mutex);
	return !idle;
}

static vm_fault_t sdp_ring_fault(struct vm_fault *vmf)
{
	struct sdp_ring_mem *mem = vmf->vma->vm_file->private_data;
	const pgoff_t step = SDP_MMAP_STEP >> PAGE_SHIFT;
	const struct sdp_ring_area *area;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	pgoff_t i = vmf->pgoff % step;

	if (vmf->pgoff / step >= SDP_AREA_MAX)
		return ret;
	area = &mem->area[vmf->pgoff / step];
	mutex_lock(&mem->mutex);
	if (mem->away && sdp_ring_bring_back(mem))
		ret = VM_FAULT_OOM;
	else if (i < area->n)
		/* Under the mutex: the mapping is not emptied before it has the page. */
		ret = vmf_insert_page(vmf->vma, vmf->address, area->pages[i]);
	mutex_unlock(&mem->mutex);
	return ret;
}

/*
 * Who has put bytes into the ring and then has no descriptor to let the kernel know of
 * them unmaps it; others may have the connection yet.
 */
static void sdp_ring_unmapped(struct vm_area_struct *vma)
{
	struct sdp_ring_mem *mem = vma->vm_file->private_data;

	mutex_lock(&mem->mutex);
	if (mem->rings)
		mem->hooks->unmapped(mem->rings);
	mutex_unlock(&mem->mutex);
}

static const struct vm_operations_struct sdp_ring_vm_ops = {
	.fault	= sdp_ring_fault,
	.close	= sdp_ring_unmapped,
};

/* --- mapping ------------------------------------------------------------------ */

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

static struct sdp_ring_mem *sdp_ring_mem_get(struct sdp_rings *rings)
{
	struct sdp_ring_mem *mem;

	sdp_ep_lock(rings->ep);
	mem = rings->mem;
	if (mem)
		refcount_inc(&mem->ref);
	sdp_ep_unlock(rings->ep);
	return mem;
}

static int sdp_ring_map_area(struct sdp_ring_mem *mem, enum sdp_ring_area_kind kind,
			     struct vm_area_struct *vma)
{
	const struct sdp_ring_area *area = &mem->area[kind];
	struct file *file;
	int err = 0;

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
	file->f_mapping = &mem->mapping;
	mem->mapping.host = file_inode(file);
	vma_set_file(vma, file);
	fput(file);
	vma->vm_ops = &sdp_ring_vm_ops;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_MIXEDMAP,
		     kind == SDP_AREA_STATE ? VM_MAYEXEC | VM_MAYWRITE : VM_MAYEXEC);
	mutex_lock(&mem->mutex);
	/* Those that are not there come by faults. */
	if (!mem->away)
		err = vm_map_pages_zero(vma, area->pages, area->n);
	mutex_unlock(&mem->mutex);
	return err;
}

/**
 * sdp_ring_mmap_check() - can there be a mapping at this offset?
 * @vma: where to
 *
 * Return: zero or -EINVAL.
 */
int sdp_ring_mmap_check(const struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;

	return offset % SDP_MMAP_STEP || offset / SDP_MMAP_STEP >= SDP_AREA_MAX ? -EINVAL : 0;
}

/**
 * sdp_ring_mmap() - map a ring, or the state of both
 * @rings: the rings
 * @vma: where to, which sdp_ring_mmap_check() has found good
 *
 * Return: zero; -ENXIO without rings; -EINVAL where the offset or the length is
 * not exactly that of a mapping, or it is private; -EPERM to execute; -EACCES to
 * write to the state.
 */
int sdp_ring_mmap(struct sdp_rings *rings, struct vm_area_struct *vma)
{
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	struct sdp_ring_mem *mem;
	int err;

	mem = sdp_ring_mem_get(rings);
	if (!mem)
		return -ENXIO;
	err = sdp_ring_map_area(mem, offset / SDP_MMAP_STEP, vma);
	sdp_ring_mem_put(mem);
	return err;
}
