/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reader's memory that a sender copies to (land.c), within the offload layer.
 */
#ifndef _SDP_OFFLOAD_LAND_H
#define _SDP_OFFLOAD_LAND_H

#include <linux/mm_types.h>
#include <linux/types.h>

/* Pages of a reader's memory that a sender may copy to, at most. */
#define SDP_LAND_PAGES	17

/**
 * struct sdp_landing - where a reader waits for bytes: the sender copies them there itself
 * @len: bytes that it takes
 * @done: bytes that have come; under sdp_pipe.lock
 * @offset: where it begins in the first page
 * @count: pinned pages of the reader's memory; under sdp_pipe.lock while it is offered
 * @old: the worker has seen it; under sdp_pipe.lock
 * @pages: the pages
 *
 * It lies on the reader's stack.  The reader takes it out of sdp_pipe.landing before it
 * returns; while it is there it is touched under sdp_pipe.lock only.
 */
struct sdp_landing {
	size_t len;
	size_t done;
	unsigned int offset;
	int count;
	bool old;
	struct page *pages[SDP_LAND_PAGES];
};

#endif /* _SDP_OFFLOAD_LAND_H */
