// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of Write Zcopy: what each end does with each message, in each state.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "sdp/write.h"

/* --- the sink ----------------------------------------------------------------------- */

/* SinkAvail is on its way, with room->nondiscards.  Only if sdp_room_may(). */
void sdp_room_offer(struct sdp_room *room, u32 len)
{
	room->state = SDP_ROOM_OFFERED;
	room->len = len;
	room->got = 0;
}

static void sdp_room_answered(struct sdp_room *room, u32 bytes)
{
	room->state = SDP_ROOM_ANSWERED;
	room->got = bytes;
	/* A cancellation that was not sent is not acknowledged. */
	if (room->say_cancel)
		room->ack_due = false;
	room->say_cancel = false;
}

/* A message with stream bytes has come.  Returns whether that makes what was advertised void. */
bool sdp_room_stream(struct sdp_room *room)
{
	if (!sdp_room_is_out(room)) {
		room->nondiscards++;
		return false;
	}
	sdp_room_answered(room, 0);
	return true;
}

/* RdmaWrCompl has come.  Returns false if that breaks the rules. */
bool sdp_room_written(struct sdp_room *room, u32 bytes)
{
	if (!sdp_room_is_out(room) || !bytes || bytes > room->len)
		return false;
	sdp_room_answered(room, bytes);
	return true;
}

/* The program does not wait any more. */
void sdp_room_cancel(struct sdp_room *room)
{
	if (room->state != SDP_ROOM_OFFERED)
		return;
	room->state = SDP_ROOM_CANCELLED;
	room->say_cancel = true;
	room->ack_due = true;
}

/* SinkCancelAck has come.  Returns false if that breaks the rules. */
bool sdp_room_ack(struct sdp_room *room)
{
	if (!room->ack_due || room->say_cancel)
		return false;
	room->ack_due = false;
	if (room->state == SDP_ROOM_CANCELLED)
		sdp_room_answered(room, 0);
	return true;
}

/* No stream byte comes any more. */
void sdp_room_end(struct sdp_room *room)
{
	if (sdp_room_is_out(room))
		sdp_room_answered(room, 0);
}

/* The program hears of the answer.  Returns how many bytes it has. */
u32 sdp_room_take(struct sdp_room *room)
{
	room->state = SDP_ROOM_NONE;
	return room->got;
}

/* --- the source --------------------------------------------------------------------- */

static void sdp_target_shift(struct sdp_target *target)
{
	target->n--;
	memmove(&target->open[0], &target->open[1], target->n * sizeof(target->open[0]));
}

/*
 * SinkAvail has come, with the sink's count in @nondiscards.  If it is @stale, it is void already
 * and answers nothing.  Returns false if it breaks the rules.
 */
bool sdp_target_offered(struct sdp_target *target, const struct sdp_advert *advert,
			u32 nondiscards, bool *stale)
{
	*stale = nondiscards != target->nondiscards;
	if (*stale) {
		target->nondiscards--;
		return true;
	}
	if (target->n == SDP_MAX_ADVERTS)
		return false;
	target->open[target->n++] = *advert;
	return true;
}

/* A message with stream bytes is on its way. */
void sdp_target_stream(struct sdp_target *target)
{
	if (target->n)
		sdp_target_shift(target);
	else
		target->nondiscards++;
}

/*
 * The oldest is written into, from its first byte on.  Only if sdp_target_may_write().  Returns how
 * many of @most bytes it takes.
 */
u32 sdp_target_write(struct sdp_target *target, u32 most)
{
	target->say_written = min_t(u32, most, target->open[0].len);
	sdp_target_shift(target);
	return target->say_written;
}

/* SinkAvailCancel has come. */
void sdp_target_cancel(struct sdp_target *target)
{
	target->n = 0;
	target->say_acks++;
}
