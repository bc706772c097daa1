/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings and their memory.
 */
#ifndef _SDP_RING_H
#define _SDP_RING_H

#include "core/ep.h"

/**
 * struct sdp_ring_hooks - what those above do about a mapping
 * @used: user space uses rings again whose pages had been given back; ep->lock held
 * @unmapped: user space has unmapped a ring, into which it may have put bytes
 */
struct sdp_ring_hooks {
	void (*used)(struct sdp_ep *ep);
	void (*unmapped)(struct sdp_ep *ep);
};

/* mem.c */
struct sdp_ring_mem *sdp_ring_mem_alloc(struct sdp_ep *ep, const struct sdp_ring_hooks *hooks,
					u32 tx_bytes, u32 rx_bytes);
void sdp_ring_mem_attach(struct sdp_ep *ep, struct sdp_ring_mem *mem, u32 tx_bytes,
			 u32 rx_bytes);
void sdp_ring_mem_detach(struct sdp_ep *ep);
bool sdp_ring_mem_idle(struct sdp_ep *ep);
bool sdp_ring_closing(struct sdp_ep *ep);
int sdp_ring_mmap(struct sdp_ep *ep, struct vm_area_struct *vma);

#endif /* _SDP_RING_H */
