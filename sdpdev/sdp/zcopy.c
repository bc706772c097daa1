// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of Read Zcopy: what each end does with each message, in each state.
 */
#include <linux/minmax.h>

#include "sdp/zcopy.h"

/* --- the source --------------------------------------------------------------------- */

/**
 * sdp_src_queue() - memory is to be advertised
 * @src: the source, idle
 * @len: its bytes
 * @first: of them, those that go along
 */
void sdp_src_queue(struct sdp_src *src, u32 len, u32 first)
{
	*src = (struct sdp_src){ .state = SDP_SRC_QUEUED, .len = len, .first = first };
}

/**
 * sdp_src_sent() - SrcAvail is on its way
 * @src: the source, queued
 */
void sdp_src_sent(struct sdp_src *src)
{
	src->state = SDP_SRC_OFFERED;
}

static void sdp_src_answered(struct sdp_src *src)
{
	src->state = SDP_SRC_ANSWERED;
	src->say_cancel = false;
}

/**
 * sdp_src_cancel() - the program does not wait any more
 * @src: the source
 *
 * Return: SrcAvail has not been sent, and is not to be.
 */
bool sdp_src_cancel(struct sdp_src *src)
{
	if (src->state == SDP_SRC_QUEUED) {
		src->first = 0;
		sdp_src_answered(src);
		return true;
	}
	if (src->state == SDP_SRC_OFFERED) {
		src->state = SDP_SRC_CANCELLED;
		src->say_cancel = true;
	}
	return false;
}

/**
 * sdp_src_read() - RdmaRdCompl has come
 * @src: the source
 * @bytes: that it tells of
 *
 * Return: false if that breaks the rules.
 */
bool sdp_src_read(struct sdp_src *src, u32 bytes)
{
	if (!sdp_src_is_out(src) || !bytes || bytes > src->len - src->read)
		return false;
	src->read += bytes;
	if (src->read == src->len)
		sdp_src_answered(src);
	return true;
}

/**
 * sdp_src_send_sm() - SendSm has come
 * @src: the source
 *
 * Return: false if that breaks the rules.
 */
bool sdp_src_send_sm(struct sdp_src *src)
{
	if (!sdp_src_is_out(src))
		return false;
	sdp_src_answered(src);
	return true;
}

/**
 * sdp_src_end() - the connection is over
 * @src: the source
 */
void sdp_src_end(struct sdp_src *src)
{
	if (src->state == SDP_SRC_QUEUED)
		src->first = 0;
	if (src->state != SDP_SRC_IDLE)
		sdp_src_answered(src);
}

/**
 * sdp_src_take() - the program hears of the answer
 * @src: the source, answered
 *
 * Return: bytes that the peer has.
 */
u32 sdp_src_take(struct sdp_src *src)
{
	src->state = SDP_SRC_IDLE;
	return max_t(u32, src->read, src->first);
}

/* --- the sink ----------------------------------------------------------------------- */

/* What was read is told of, once. */
static void sdp_sink_tell(struct sdp_sink *sink)
{
	sink->say_read += sink->got - sink->told;
	sink->told = sink->got;
}

/**
 * sdp_sink_offered() - SrcAvail has come
 * @sink: the sink
 * @len: bytes that it advertises
 * @first: of them, those that came along
 * @key: of the memory
 * @addr: of its first byte
 *
 * Return: false if that breaks the rules.
 */
bool sdp_sink_offered(struct sdp_sink *sink, u32 len, u32 first, u32 key, u64 addr)
{
	if (sdp_sink_is_open(sink) || first > len)
		return false;
	sink->state = SDP_SINK_OFFERED;
	sink->len = len;
	sink->got = first;
	sink->told = 0;
	sink->key = key;
	sink->addr = addr;
	if (first < len)
		return true;
	sdp_sink_tell(sink);
	sink->state = SDP_SINK_ANSWERED;
	return true;
}

/**
 * sdp_sink_refuse() - what is left shall come by messages
 * @sink: the sink
 */
void sdp_sink_refuse(struct sdp_sink *sink)
{
	if (sink->state != SDP_SINK_OFFERED)
		return;
	sink->state = SDP_SINK_ANSWERED;
	sink->say_sm++;
}

/**
 * sdp_sink_read() - begin to read
 * @sink: the sink
 * @most: bytes that there is room for
 *
 * Return: bytes to be read, at @sink->addr + @sink->got; zero: none may be.
 */
u32 sdp_sink_read(struct sdp_sink *sink, u32 most)
{
	if (sink->state != SDP_SINK_OFFERED || !most)
		return 0;
	sink->state = SDP_SINK_READING;
	sink->reading = min_t(u32, most, sink->len - sink->got);
	return sink->reading;
}

/**
 * sdp_sink_read_done() - no read is under way any more
 * @sink: the sink
 * @bytes: that have come: all that were asked for, or none
 */
void sdp_sink_read_done(struct sdp_sink *sink, u32 bytes)
{
	bool cancelled = sink->state == SDP_SINK_CANCELLED;

	sink->reading = 0;
	sink->got += bytes;
	if (bytes)
		sdp_sink_tell(sink);
	sink->state = sink->got == sink->len ? SDP_SINK_ANSWERED : SDP_SINK_OFFERED;
	if (cancelled)
		sdp_sink_refuse(sink);
}

/**
 * sdp_sink_cancel() - SrcAvailCancel has come
 * @sink: the sink
 *
 * Return: false if that breaks the rules.
 */
bool sdp_sink_cancel(struct sdp_sink *sink)
{
	switch (sink->state) {
	case SDP_SINK_OFFERED:
		sdp_sink_refuse(sink);
		/* Not to be cancelled twice. */
		sink->state = SDP_SINK_NONE;
		return true;
	case SDP_SINK_READING:
		sink->state = SDP_SINK_CANCELLED;
		return true;
	case SDP_SINK_ANSWERED:
		/* It crossed the answer. */
		sink->state = SDP_SINK_NONE;
		return true;
	default:
		return false;
	}
}
