// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_ib_try: the transport sdp_ib once more, with a client that tries it instead of the
 * protocol.  It has service IDs of its own, so the other one may be there.
 *
 * Its devices see bounce buffers, never the memory itself, as with an IOMMU and caches that
 * are not coherent.  So bytes move only where the transport says that they shall, and each
 * mapping has to be undone as it was made.
 */
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>

#include "core/core.h"
#include "carry.c"
#include "memory.c"

/* --- a machine whose devices do not see memory -------------------------------------- */

/**
 * struct bounce - what is mapped
 * @list: in the list of all
 * @memory: what is mapped
 * @copy: what the device sees, as far from the beginning of a page
 * @len: bytes
 * @dir: which side writes
 */
struct bounce {
	struct list_head list;
	u8 *memory;
	u8 *copy;
	size_t len;
	enum dma_data_direction dir;
};

static LIST_HEAD(bounces);
static DEFINE_SPINLOCK(bounce_lock);
static int bounce_wrong;
static bool bounce_starved, page_starved;

/* Pages, as regions are made of those. */
static u8 *bounce_copy(unsigned int offset, size_t len)
{
	u8 *pages = (u8 *)__get_free_pages(GFP_ATOMIC, get_order(offset + len));

	return pages ? pages + offset : NULL;
}

static u64 bounce_map(struct ib_device *device, void *memory, size_t len,
		      enum dma_data_direction dir)
{
	struct bounce *b = kzalloc(sizeof(*b), GFP_ATOMIC);
	unsigned long flags;

	if (bounce_starved || !b)
		goto none;
	b->copy = bounce_copy(offset_in_page(memory), len);
	if (!b->copy)
		goto none;
	b->memory = memory;
	b->len = len;
	b->dir = dir;
	if (dir != DMA_FROM_DEVICE)
		memcpy(b->copy, memory, len);
	else
		memset(b->copy, 0x5a, len);
	spin_lock_irqsave(&bounce_lock, flags);
	list_add(&b->list, &bounces);
	spin_unlock_irqrestore(&bounce_lock, flags);
	return (uintptr_t)b->copy;
none:
	kfree(b);
	return 0;
}

/* What @len bytes from @addr on are of, or NULL. */
static struct bounce *bounce_find(u64 addr, size_t len, enum dma_data_direction dir)
{
	u8 *at = (u8 *)(uintptr_t)addr;
	struct bounce *b;

	list_for_each_entry(b, &bounces, list)
		if (at >= b->copy && at + len <= b->copy + b->len && dir == b->dir)
			return b;
	bounce_wrong++;
	return NULL;
}

static void bounce_sync(struct ib_device *device, u64 addr, size_t len,
			enum dma_data_direction dir, bool give)
{
	unsigned long flags;
	struct bounce *b;
	size_t off;

	spin_lock_irqsave(&bounce_lock, flags);
	b = bounce_find(addr, len, dir);
	off = b ? (u8 *)(uintptr_t)addr - b->copy : 0;
	if (b && give && dir == DMA_TO_DEVICE)
		memcpy(b->copy + off, b->memory + off, len);
	if (b && !give && dir == DMA_FROM_DEVICE)
		memcpy(b->memory + off, b->copy + off, len);
	spin_unlock_irqrestore(&bounce_lock, flags);
}

static void bounce_unmap(struct ib_device *device, u64 addr, size_t len,
			 enum dma_data_direction dir)
{
	unsigned long flags;
	struct bounce *b;

	spin_lock_irqsave(&bounce_lock, flags);
	b = bounce_find(addr, len, dir);
	if (b && (addr != (uintptr_t)b->copy || len != b->len)) {
		bounce_wrong++;
		b = NULL;
	}
	if (b && dir != DMA_TO_DEVICE)
		memcpy(b->memory, b->copy, len);
	if (b)
		list_del(&b->list);
	spin_unlock_irqrestore(&bounce_lock, flags);
	if (b)
		free_pages((unsigned long)b->copy & PAGE_MASK,
			   get_order(offset_in_page(b->copy) + len));
	kfree(b);
}

static void bounce_unmap_sg(struct ib_device *device, struct scatterlist *sg, int nents,
			    enum dma_data_direction dir)
{
	struct scatterlist *s;
	int i;

	for_each_sg(sg, s, nents, i)
		bounce_unmap(device, sg_dma_address(s), s->length, dir);
}

/* Bytes that the device does not write stay what they are. */
static int bounce_map_sg(struct ib_device *device, struct scatterlist *sg, int nents,
			 enum dma_data_direction dir)
{
	struct scatterlist *s;
	int i;

	for_each_sg(sg, s, nents, i) {
		sg_dma_address(s) = bounce_map(device, sg_virt(s), s->length, dir);
		sg_dma_len(s) = s->length;
		if (!sg_dma_address(s)) {
			bounce_unmap_sg(device, sg, i, dir);
			return 0;
		}
		memcpy((void *)(uintptr_t)sg_dma_address(s), sg_virt(s), s->length);
	}
	return nents;
}

#define ib_dma_map_single		bounce_map
#define ib_dma_map_page(dev, page, off, len, dir)	\
	bounce_map(dev, page_address(page) + (off), len, dir)
#define ib_dma_map_sg			bounce_map_sg
#define ib_dma_unmap_sg			bounce_unmap_sg
#define ib_dma_unmap_single		bounce_unmap
#define ib_dma_unmap_page		bounce_unmap
#define ib_dma_mapping_error(dev, addr)	((dev) && (addr) ? 0 : -ENOMEM)
#define ib_dma_sync_single_for_cpu(dev, addr, len, dir)	\
	bounce_sync(dev, addr, len, dir, false)
#define ib_dma_sync_single_for_device(dev, addr, len, dir)	\
	bounce_sync(dev, addr, len, dir, true)

static struct page *page_alloc(gfp_t gfp, unsigned int order)
{
	return page_starved ? NULL : alloc_pages(gfp, order);
}

#undef alloc_pages
#define alloc_pages(gfp, order)				page_alloc(gfp, order)

/* --- the transport --------------------------------------------------------------------- */

#undef IB_SDP_SERVICE_ID
#define IB_SDP_SERVICE_ID	cpu_to_be64(0x0000000000770000ULL)
#undef EXPORT_SYMBOL_GPL
#define EXPORT_SYMBOL_GPL(name)	static_assert(true)

#include "transport/registry.c"
#include "transport/share.c"

void sdp_count(const struct net *net, enum sdp_counter which)
{
}

static int try_register(const struct sdp_xprt_ops *ops, const struct sdp_xprt_upcalls **up)
{
	sdp_xprt_init(&carry_up);
	return sdp_xprt_register(ops, up);
}

#define sdp_xprt_register(ops, up)	try_register(ops, up)

#include "transport/verbs/kind.c"
#include "transport/verbs/dev.c"
#include "transport/verbs/conn.c"
#include "transport/verbs/told.c"
#include "transport/verbs/route.c"
#include "transport/verbs/mr.c"
#include "transport/verbs/qp.c"
#include "transport/verbs/mem.c"
#include "transport/verbs/buf.c"
#include "transport/verbs/end.c"
#include "transport/verbs/step.c"
#include "transport/ib/dev.c"
#include "transport/ib/route.c"
#include "transport/ib/cm.c"
#include "transport/ib/listen.c"
#include "transport/ib/addr.c"
#include "transport/ib/main.c"

/* --- what is tried --------------------------------------------------------------------- */

static char *peer = "10.77.0.2";
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "Address of the other end");

static void try_own(struct sdp_xprt_conn *xc)
{
}

static bool try_want(enum carry_want want)
{
	page_starved = want == CARRY_NO_PAGE;
	bounce_starved = want == CARRY_NO_MAPPING;
	return true;
}

/* A connection that has another way gives up within about half a second. */
static bool try_times(struct sdp_xprt_conn *xc)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return !ib_query_qp(sdp_rc_conn(xc)->qp, &attr, IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY, &init) &&
	       attr.timeout == 14 && attr.retry_cnt == 7 && attr.rnr_retry == 6;
}

static int try_takes(char *text, int at, const struct carry_via *via)
{
	struct net_device *dev = dev_get_by_index(via->net, via->params.ifindex);

	at = carry_tell(text, at, dev && sdp_xprt_takes(dev, SDP_SOCK_BY_IB) &&
			!sdp_xprt_takes(dev, SDP_SOCK_BY_RDMA) &&
			!sdp_xprt_takes(via->net->loopback_dev, SDP_SOCK_BY_IB),
			"by which device a connection might use it");
	dev_put(dev);
	return at;
}

static int try_route(struct carry_via *via)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&via->params.peer;

	*via = (struct carry_via){
		.ops = &sdp_ib_ops,
		.net = current->nsproxy->net_ns,
		.params.brief = true,
		.own = try_own,
		.want = try_want,
		.times = try_times,
	};
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = in_aton(peer);
	via->params.local.ss_family = AF_INET;
	return sdp_ib_route(via->net, &via->params);
}

static int try_mapped(char *text, int at)
{
	return carry_tell(text, at, !bounce_wrong && list_empty(&bounces),
			  "all memory was mapped right, and none is");
}

static int try_all(char *text, const struct kernel_param *param)
{
	struct carry_via via;
	int at = try_route(&via) ?: carry_all(text, &via);

	if (at < 0)
		return at;
	at = try_mapped(text, at);
	return try_takes(text, at, &via);
}

static const struct kernel_param_ops try_ops = { .get = try_all };
module_param_cb(carry, &try_ops, NULL, 0400);
MODULE_PARM_DESC(carry, "Reading this tries how messages are carried");

static int try_memory(char *text, const struct kernel_param *param)
{
	struct carry_via via;
	int at = try_route(&via) ?: memory_all(text, &via);

	return at < 0 ? at : try_mapped(text, at);
}

static const struct kernel_param_ops memory_ops = { .get = try_memory };
module_param_cb(memory, &memory_ops, NULL, 0400);
MODULE_PARM_DESC(memory, "Reading this tries the operations on memory");

static int try_held(char *text, const struct kernel_param *param)
{
	return carry_held(text);
}

static const struct kernel_param_ops held_ops = { .get = try_held };
module_param_cb(held, &held_ops, NULL, 0400);
MODULE_PARM_DESC(held, "Reading this looks at the page that \"carry\" has taken");
