/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Read Zcopy (A4.6): a source advertises memory, and the sink reads it.
 *
 * The functions here are pure: they know no locks, no clock and no memory, so selftests/zcopy
 * runs the same file in user space, through all crossings of messages.
 *
 * The source, which has one advertisement at a time:
 *
 *	IDLE --> QUEUED -- SrcAvail --> OFFERED -- SrcAvailCancel --> CANCELLED
 *	  ^         \_____________          \___ RdmaRdCompl of all, ___/
 *	  \                       \             or SendSm
 *	   \___ sdp_src_take() ___ ANSWERED <_____/
 *
 * The sink:
 *
 *	NONE -- SrcAvail --> OFFERED <--- part, all ---> READING -- cancel --> CANCELLED
 *	  ^                     \ refused, cancelled        / all                /
 *	  \_ SrcAvailCancel __ ANSWERED <__________________/____________________/
 *	                           \__ SrcAvail --> OFFERED
 *
 * In Pipelined mode more may come before the first is answered: they wait for their turn, which
 * comes when RdmaRdCompl of the one before has been sent.  SendSm answers the oldest, so when
 * one is refused, each behind it is, too, until the bytes of the first have come.
 *
 * SinkAvail that is not stale stands for an answer as well: see write.h.
 *
 * A source whose state is ANSWERED knows that the sink reads no more: so each answer is decided
 * when no read is under way.  A cancellation may cross the answer, which stands for both.
 *
 * Bytes that come along with SrcAvail are the first ones of what is advertised, and the sink has
 * them whatever the answer is.  RdmaRdCompl counts them, SendSm does not.
 */
#ifndef _SDP_ZCOPY_H
#define _SDP_ZCOPY_H

#include <linux/types.h>

/* Advertisements that a peer may have outstanding in each half, as Hello says: MaxAdverts. */
#define SDP_MAX_ADVERTS		4

/**
 * struct sdp_advert - memory of the peer's, as SrcAvail or SinkAvail names it
 * @addr: of its first byte
 * @key: of it
 * @len: its bytes
 */
struct sdp_advert {
	u64 addr;
	u32 key;
	u32 len;
};

enum sdp_src_state {
	SDP_SRC_IDLE,
	SDP_SRC_QUEUED,
	SDP_SRC_OFFERED,
	SDP_SRC_CANCELLED,
	SDP_SRC_ANSWERED,
};

/**
 * struct sdp_src - what an end advertises
 * @state: enum sdp_src_state
 * @say_cancel: SrcAvailCancel is owed
 * @crossed: the answer was SinkAvail
 * @len: bytes advertised
 * @first: of them, those that went along
 * @read: bytes that RdmaRdCompl has told of
 */
struct sdp_src {
	u8 state;
	bool say_cancel;
	bool crossed;
	u32 len;
	u32 first;
	u32 read;
};

enum sdp_sink_state {
	SDP_SINK_NONE,
	SDP_SINK_OFFERED,
	SDP_SINK_READING,
	SDP_SINK_CANCELLED,
	SDP_SINK_ANSWERED,
};

/**
 * struct sdp_sink - what the peer advertises
 * @state: enum sdp_sink_state
 * @refusing: SendSm was owed, and no stream byte has come since
 * @waiting: advertisements in @next
 * @now: the oldest that is not answered
 * @next: those behind it
 * @got: of them, those that have come
 * @told: of them, those that RdmaRdCompl tells of, or SendSm stands for
 * @reading: bytes of the read that is under way
 * @say_read: bytes that RdmaRdCompl is owed for
 * @say_sm: SendSm messages that are owed, behind that
 */
struct sdp_sink {
	u8 state;
	bool refusing;
	u8 waiting;
	struct sdp_advert now;
	struct sdp_advert next[SDP_MAX_ADVERTS - 1];
	u32 got;
	u32 told;
	u32 reading;
	u32 say_read;
	u32 say_sm;
};

/* The source. */
void sdp_src_queue(struct sdp_src *src, u32 len, u32 first);
void sdp_src_sent(struct sdp_src *src);
bool sdp_src_cancel(struct sdp_src *src);
bool sdp_src_read(struct sdp_src *src, u32 bytes);
bool sdp_src_send_sm(struct sdp_src *src);
bool sdp_src_crossed(struct sdp_src *src);
void sdp_src_end(struct sdp_src *src);
u32 sdp_src_take(struct sdp_src *src);

/* May the peer read?  No stream byte is sent meanwhile. */
static inline bool sdp_src_is_out(const struct sdp_src *src)
{
	return src->state == SDP_SRC_OFFERED || src->state == SDP_SRC_CANCELLED;
}

/* The sink. */
bool sdp_sink_offered(struct sdp_sink *sink, const struct sdp_advert *advert, u32 first,
		      bool pipelined);
void sdp_sink_crossed(struct sdp_sink *sink);
void sdp_sink_stream(struct sdp_sink *sink);
void sdp_sink_refuse(struct sdp_sink *sink);
u32 sdp_sink_read(struct sdp_sink *sink, u32 most);
void sdp_sink_read_done(struct sdp_sink *sink, u32 bytes);
void sdp_sink_told(struct sdp_sink *sink);
bool sdp_sink_cancel(struct sdp_sink *sink);

/* Does the source wait for an answer?  It sends no stream byte meanwhile. */
static inline bool sdp_sink_is_open(const struct sdp_sink *sink)
{
	return sink->waiting ||
	       (sink->state != SDP_SINK_NONE && sink->state != SDP_SINK_ANSWERED);
}

#endif /* _SDP_ZCOPY_H */
