// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of Read Zcopy: what each end does with each message, in each state.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "sdp/zcopy.h"

/* --- the source --------------------------------------------------------------------- */

/* Memory is to be advertised; @src is idle.  @first of its @len bytes go along with SrcAvail. */
void sdp_src_queue(struct sdp_src *src, u32 len, u32 first)
{
	*src = (struct sdp_src){ .state = SDP_SRC_QUEUED, .len = len, .first = first };
}

/* SrcAvail is on its way; it was queued. */
void sdp_src_sent(struct sdp_src *src)
{
	src->state = SDP_SRC_OFFERED;
}

static void sdp_src_answered(struct sdp_src *src)
{
	src->state = SDP_SRC_ANSWERED;
	src->say_cancel = false;
}

/* The program does not wait any more.  Returns whether SrcAvail was not sent, and must not be. */
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

/* RdmaRdCompl has come.  Returns false if that breaks the rules. */
bool sdp_src_read(struct sdp_src *src, u32 bytes)
{
	if (!sdp_src_is_out(src) || !bytes || bytes > src->len - src->read)
		return false;
	src->read += bytes;
	if (src->read == src->len)
		sdp_src_answered(src);
	return true;
}

/* SendSm has come.  Returns false if that breaks the rules. */
bool sdp_src_send_sm(struct sdp_src *src)
{
	if (!sdp_src_is_out(src))
		return false;
	sdp_src_answered(src);
	return true;
}

/*
 * SinkAvail has come that is not stale: the peer will not read.  Returns whether SrcAvail was not
 * sent, and must not be.
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

/* The connection is over. */
void sdp_src_end(struct sdp_src *src)
{
	if (src->state == SDP_SRC_QUEUED)
		src->first = 0;
	if (src->state != SDP_SRC_IDLE)
		sdp_src_answered(src);
}

/* The program hears of the answer.  Returns how many bytes the peer has. */
u32 sdp_src_take(struct sdp_src *src)
{
	src->state = SDP_SRC_IDLE;
	return max_t(u32, src->read, src->first);
}

/* --- the sink ----------------------------------------------------------------------- */

/* RdmaRdCompl is owed for what was read and not yet told of. */
static void sdp_sink_tell(struct sdp_sink *sink)
{
	sink->say_read += sink->got - sink->told;
	sink->told = sink->got;
}

/* @advert is the oldest now. */
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

/*
 * SrcAvail has come, and @first of its bytes with it.  If the half connection is @pipelined, others
 * may be open.  Returns false if it breaks the rules.
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

/* SrcAvail has come, and SinkAvail, on its way to the source, answers it.  Nothing else is open. */
void sdp_sink_crossed(struct sdp_sink *sink)
{
	/* And not NONE: the source may still cancel it. */
	sink->state = SDP_SINK_ANSWERED;
}

/* A message with stream bytes has come. */
void sdp_sink_stream(struct sdp_sink *sink)
{
	sink->refusing = false;
}

/* What is left shall come by messages.  Without effect while a read is under way. */
void sdp_sink_refuse(struct sdp_sink *sink)
{
	if (sink->state != SDP_SINK_OFFERED)
		return;
	sdp_sink_void(sink);
	sink->refusing = true;
}

/* Begins to read.  Returns how many bytes are to be read, at now.addr + got; zero: none may be. */
u32 sdp_sink_read(struct sdp_sink *sink, u32 most)
{
	if (sink->state != SDP_SINK_OFFERED || !most)
		return 0;
	sink->state = SDP_SINK_READING;
	sink->reading = min_t(u32, most, sink->now.len - sink->got);
	return sink->reading;
}

/* The read is over.  @bytes: all that were asked for, or zero. */
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

/* RdmaRdCompl, which was owed, has been sent. */
void sdp_sink_told(struct sdp_sink *sink)
{
	sink->say_read = 0;
	if (sink->state != SDP_SINK_ANSWERED || !sink->waiting)
		return;
	sdp_sink_open(sink, &sink->next[0], 0);
	sink->waiting--;
	memmove(&sink->next[0], &sink->next[1], sink->waiting * sizeof(sink->next[0]));
}

/* SrcAvailCancel has come.  Returns false if that breaks the rules. */
bool sdp_sink_cancel(struct sdp_sink *sink)
{
	switch (sink->state) {
	case SDP_SINK_OFFERED:
	case SDP_SINK_ANSWERED:
		/* The cancellation may have crossed the answer. */
		sdp_sink_void(sink);
		/* The source must not cancel twice. */
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
