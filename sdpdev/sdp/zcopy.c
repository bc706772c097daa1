// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of Read Zcopy: what each end does with each message, in each state.
 */
#include <linux/minmax.h>
#include <linux/string.h>

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
 * sdp_src_crossed() - SinkAvail has come that is not stale: the peer will not read
 * @src: the source
 *
 * Return: SrcAvail has not been sent, and is not to be.
 */
bool sdp_src_crossed(struct sdp_src *src)
{
	bool queued = src->state == SDP_SRC_QUEUED;

	if (!queued && !sdp_src_is_out(src))
		return false;
	if (queued)
		src->first = 0;
	src->crossed = true;
	sdp_src_answered(src);
	return queued;
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

/* The oldest is this one now. */
static void sdp_sink_open(struct sdp_sink *sink, const struct sdp_advert *advert, u32 first)
{
	sink->state = SDP_SINK_OFFERED;
	sink->now = *advert;
	sink->got = first;
	sink->told = 0;
	if (first < advert->len)
		return;
	sdp_sink_tell(sink);
	sink->state = SDP_SINK_ANSWERED;
}

/* Nothing of what is left is read. */
static void sdp_sink_void(struct sdp_sink *sink)
{
	sink->say_sm += sink->waiting + (sink->state == SDP_SINK_OFFERED);
	sink->waiting = 0;
	sink->state = SDP_SINK_ANSWERED;
}

/**
 * sdp_sink_offered() - SrcAvail has come
 * @sink: the sink
 * @advert: what it advertises
 * @first: of that, bytes that came along
 * @pipelined: the half connection's mode: there may be others
 *
 * Return: false if that breaks the rules.
 */
bool sdp_sink_offered(struct sdp_sink *sink, const struct sdp_advert *advert, u32 first,
		      bool pipelined)
{
	if (first > advert->len)
		return false;
	if (sdp_sink_is_open(sink) || sink->say_read) {
		if (!pipelined || first || sink->state == SDP_SINK_CANCELLED ||
		    sink->waiting == SDP_MAX_ADVERTS - 1)
			return false;
		sink->next[sink->waiting++] = *advert;
		return true;
	}
	sdp_sink_open(sink, advert, first);
	if (!pipelined)
		sink->refusing = false;
	if (sink->refusing)
		sdp_sink_refuse(sink);
	return true;
}

/**
 * sdp_sink_crossed() - SrcAvail has come, and SinkAvail, on its way to the source, answers it
 * @sink: the sink, which has nothing open
 */
void sdp_sink_crossed(struct sdp_sink *sink)
{
	/* It may be cancelled. */
	sink->state = SDP_SINK_ANSWERED;
}

/**
 * sdp_sink_stream() - a message with stream bytes has come
 * @sink: the sink
 */
void sdp_sink_stream(struct sdp_sink *sink)
{
	sink->refusing = false;
}

/**
 * sdp_sink_refuse() - what is left shall come by messages
 * @sink: the sink
 */
void sdp_sink_refuse(struct sdp_sink *sink)
{
	if (sink->state != SDP_SINK_OFFERED)
		return;
	sdp_sink_void(sink);
	sink->refusing = true;
}

/**
 * sdp_sink_read() - begin to read
 * @sink: the sink
 * @most: bytes that there is room for
 *
 * Return: bytes to be read, at @sink->now.addr + @sink->got; zero: none may be.
 */
u32 sdp_sink_read(struct sdp_sink *sink, u32 most)
{
	if (sink->state != SDP_SINK_OFFERED || !most)
		return 0;
	sink->state = SDP_SINK_READING;
	sink->reading = min_t(u32, most, sink->now.len - sink->got);
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
	sink->state = sink->got == sink->now.len ? SDP_SINK_ANSWERED : SDP_SINK_OFFERED;
	if (cancelled)
		sdp_sink_void(sink);
}

/**
 * sdp_sink_told() - RdmaRdCompl has been sent
 * @sink: the sink, which owed it
 */
void sdp_sink_told(struct sdp_sink *sink)
{
	sink->say_read = 0;
	if (sink->state != SDP_SINK_ANSWERED || !sink->waiting)
		return;
	sdp_sink_open(sink, &sink->next[0], 0);
	sink->waiting--;
	memmove(&sink->next[0], &sink->next[1], sink->waiting * sizeof(sink->next[0]));
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
	case SDP_SINK_ANSWERED:
		/* It may have crossed the answer. */
		sdp_sink_void(sink);
		/* Not to be cancelled twice. */
		sink->state = SDP_SINK_NONE;
		sink->refusing = false;
		return true;
	case SDP_SINK_READING:
		sink->state = SDP_SINK_CANCELLED;
		return true;
	default:
		return false;
	}
}
