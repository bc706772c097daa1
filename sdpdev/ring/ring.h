/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rings: memory that user space maps to move bytes without a system call.  This header is
 * for all.  It takes in kring.h, which is one ring's kernel side and nothing else, so that
 * selftests/lib/litmus can build it.
 *
 * Everything in a mapping is hostile: user space may write anything there at any time.
 * kring.h reads each index once and bounds it; what the kernel knows of a ring is in
 * struct sdp_kring, which user space does not see.
 *
 * Locks: ep->lock protects struct sdp_rings and what the kernel writes into mappings.
 * The memory's own mutex protects the pages; faults take it, so nobody touches user
 * memory under it.  It is outside of ep->lock.
 *
 * Lifetimes: the rings are a part of a connection.  Their memory has references: the
 * connection's and one of each mapping, which does not hold the connection.
 */
#ifndef _SDP_RING_H
#define _SDP_RING_H

#include "core/core.h"
#include "ring/kring.h"

struct sdp_ring_mem;
struct vm_area_struct;

/**
 * struct sdp_rings - both rings of a connection
 * @ep: the endpoint, whose lock protects them and whose account pays
 * @mem: their memory, referenced; NULL without rings.  Whoever has them mapped holds it,
 *	too
 * @bad: user space has written what no index can be: the connection ends
 * @tx: transmit ring
 * @rx: receive ring
 */
struct sdp_rings {
	struct sdp_ep *ep;
	struct sdp_ring_mem *mem;
	bool bad;
	struct sdp_kring tx;
	struct sdp_kring rx;
};

/**
 * struct sdp_ring_hooks - what those above do about a mapping
 * @used: user space uses rings again whose pages had been given back; ep->lock held
 * @unmapped: user space has unmapped a ring, into which it may have put bytes
 */
struct sdp_ring_hooks {
	void (*used)(struct sdp_rings *rings);
	void (*unmapped)(struct sdp_rings *rings);
};

/* mem.c */
struct sdp_ring_mem *sdp_ring_mem_alloc(struct sdp_rings *rings,
					const struct sdp_ring_hooks *hooks,
					u32 tx_bytes, u32 rx_bytes);
void sdp_ring_mem_attach(struct sdp_rings *rings, struct sdp_ring_mem *mem, u32 tx_bytes,
			 u32 rx_bytes);
void sdp_ring_mem_detach(struct sdp_rings *rings);
bool sdp_ring_mem_idle(struct sdp_rings *rings);
bool sdp_ring_closing(struct sdp_rings *rings);
int sdp_ring_mmap_check(const struct vm_area_struct *vma);
int sdp_ring_mmap(struct sdp_rings *rings, struct vm_area_struct *vma);

#endif /* _SDP_RING_H */
