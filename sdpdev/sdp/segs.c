// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of segments: pieces of a stream, with their positions in it.
 *
 * A segment is a buffer of the transport's whose stream bytes lie from buf->off to
 * buf->len.  The functions here know no locks: their callers hold ep->lock.
 */
#include "sdp/sdp.h"

/**
 * sdp_segs_init() - an empty queue at the beginning of a stream
 * @segs: the queue
 */
void sdp_segs_init(struct sdp_segs *segs)
{
	INIT_LIST_HEAD(&segs->list);
	segs->begin = 0;
	segs->end = 0;
}

/**
 * sdp_segs_unadd() - take the last segment back, to put more bytes into it
 * @segs: a queue that is not empty
 *
 * Return: the segment.
 */
struct sdp_xprt_buf *sdp_segs_unadd(struct sdp_segs *segs)
{
	struct sdp_xprt_buf *buf = list_last_entry(&segs->list, struct sdp_xprt_buf, list);

	list_del(&buf->list);
	segs->end -= sdp_seg_bytes(buf);
	return buf;
}

/**
 * sdp_segs_unpop() - put it back
 * @segs: the queue
 * @buf: what sdp_segs_pop() has given last
 */
void sdp_segs_unpop(struct sdp_segs *segs, struct sdp_xprt_buf *buf)
{
	list_add(&buf->list, &segs->list);
	segs->begin -= sdp_seg_bytes(buf);
}

/**
 * sdp_segs_find() - the segment with the byte at a position
 * @segs: the queue
 * @pos: the position, from @segs->begin on
 * @at: out: where in the segment, counted from its first byte
 *
 * Return: the segment, or NULL: the byte has not come.
 */
struct sdp_xprt_buf *sdp_segs_find(struct sdp_segs *segs, u64 pos, u32 *at)
{
	struct sdp_xprt_buf *buf;

	pos -= segs->begin;
	list_for_each_entry(buf, &segs->list, list) {
		if (pos < sdp_seg_bytes(buf)) {
			*at = pos;
			return buf;
		}
		pos -= sdp_seg_bytes(buf);
	}
	return NULL;
}

/**
 * sdp_segs_skip() - take all segments: nobody will read their bytes
 * @segs: the queue
 * @bufs: list to which they are added
 */
void sdp_segs_skip(struct sdp_segs *segs, struct list_head *bufs)
{
	list_splice_init(&segs->list, bufs);
	segs->begin = segs->end;
}

/**
 * sdp_segs_cut() - take all segments: their bytes are in the stream no more
 * @segs: the queue
 * @bufs: list to which they are added
 */
void sdp_segs_cut(struct sdp_segs *segs, struct list_head *bufs)
{
	list_splice_init(&segs->list, bufs);
	segs->end = segs->begin;
}
