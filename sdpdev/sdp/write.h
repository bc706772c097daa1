/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Write Zcopy (A4.6): a sink advertises memory, and the source writes into it.
 *
 * Pure functions, as those of zcopy.h; selftests/zcopy runs them through all crossings.
 *
 * The sink, which has one advertisement at a time (struct sdp_room):
 *
 *	NONE -- SinkAvail --> OFFERED -- SinkAvailCancel --> CANCELLED
 *	  ^                       \__ RdmaWrCompl, stream bytes, __/
 *	  |                               or SinkCancelAck
 *	   \___ sdp_room_take() ___ ANSWERED <_______/
 *
 * The source takes what the peer advertises in its order (struct sdp_target).  It writes into the
 * oldest and says so with RdmaWrCompl, once, however few bytes that were.  Or it sends a message
 * with stream bytes, and with that the oldest is void.  So both ends count the messages with
 * stream bytes that have made none void, and SinkAvail tells the sink's count: NonDiscards.  A
 * source that counts more has sent a message meanwhile that will make this one void: it is stale.
 *
 * SinkAvail that is not stale answers SrcAvail, be it that it has crossed it: the sink will not
 * read.  While an advertisement is open the source sends no SrcAvail without stream bytes.
 *
 * SinkCancelAck says that nothing will be written into what was advertised before.  It comes even
 * if the cancellation has crossed another answer, and until then nothing new is advertised: for
 * which of two it is need not be known.  A peer that leaves it out in that case gets no more
 * advertisements.
 */
#ifndef _SDP_WRITE_H
#define _SDP_WRITE_H

#include <linux/types.h>

#include "sdp/zcopy.h"

enum sdp_room_state {
	SDP_ROOM_NONE,
	SDP_ROOM_OFFERED,
	SDP_ROOM_CANCELLED,
	SDP_ROOM_ANSWERED,
};

/**
 * struct sdp_room - what an end lets the peer write into
 * @state: enum sdp_room_state
 * @say_cancel: SinkAvailCancel is owed
 * @ack_due: SinkCancelAck is to come
 * @len: bytes advertised
 * @got: of them, those that were written
 * @nondiscards: messages with stream bytes that have come, and have made nothing void
 */
struct sdp_room {
	u8 state;
	bool say_cancel;
	bool ack_due;
	u32 len;
	u32 got;
	u32 nondiscards;
};

/**
 * struct sdp_target - what the peer lets an end write into
 * @n: advertisements in @open
 * @open: those that are neither written into nor void, the oldest first
 * @nondiscards: messages with stream bytes that were sent, and have made nothing void
 * @say_written: bytes that RdmaWrCompl is owed for, before anything else is sent
 * @say_acks: SinkCancelAck messages that are owed, behind that, and before stream bytes
 */
struct sdp_target {
	u8 n;
	struct sdp_advert open[SDP_MAX_ADVERTS];
	u32 nondiscards;
	u32 say_written;
	u32 say_acks;
};

/* The sink. */
void sdp_room_offer(struct sdp_room *room, u32 len);
bool sdp_room_stream(struct sdp_room *room);
bool sdp_room_written(struct sdp_room *room, u32 bytes);
void sdp_room_cancel(struct sdp_room *room);
bool sdp_room_ack(struct sdp_room *room);
void sdp_room_end(struct sdp_room *room);
u32 sdp_room_take(struct sdp_room *room);

/* May the peer write? */
static inline bool sdp_room_is_out(const struct sdp_room *room)
{
	return room->state == SDP_ROOM_OFFERED || room->state == SDP_ROOM_CANCELLED;
}

/* May memory be advertised? */
static inline bool sdp_room_may(const struct sdp_room *room)
{
	return room->state == SDP_ROOM_NONE && !room->ack_due;
}

/* The source. */
bool sdp_target_offered(struct sdp_target *target, const struct sdp_advert *advert,
			u32 nondiscards, bool *stale);
void sdp_target_stream(struct sdp_target *target);
u32 sdp_target_write(struct sdp_target *target, u32 most);
void sdp_target_cancel(struct sdp_target *target);

/* May the oldest be written into? */
static inline bool sdp_target_may_write(const struct sdp_target *target)
{
	return target->n && !target->say_written;
}

#endif /* _SDP_WRITE_H */
