// SPDX-License-Identifier: GPL-2.0
/*
 * Faults: what a link does to packets when it is told to
 *
 * Chance is a generator with a seed in each direction of a link, and for each
 * packet it is asked once for each fault, so the same packets meet with the
 * same faults whatever else there is.
 */
#include "capture.h"
#include "softib.h"

#define HOLD_US		20000	/* how long to wait for a packet to overtake */

/* Packets in a million that every link loses that has no value of its own */
unsigned int softib_loss;

/* Flips a bit of a packet. The receiver sees it by the VCRC. */
static void corrupt(struct sk_buff *skb, u32 bit)
{
	if (!softib_cb(skb)->sealed)
		softib_vcrc_put(skb->data, skb->len);
	softib_cb(skb)->sealed = true;
	bit %= skb->len * BITS_PER_BYTE;
	skb->data[bit / BITS_PER_BYTE] ^= BIT(bit % BITS_PER_BYTE);
}

static void lose(struct softib_way *way, struct sk_buff *skb)
{
	struct softib_port *to = way->link->end[!way->side];

	way->count[SOFTIB_FAULT_LOSS]++;
	if (to)
		softib_count(to, SOFTIB_RCV_ERRORS, 1);
	kfree_skb(skb);
}

static bool happens(struct softib_way *way, u32 ppm)
{
	u32 r;

	if (!ppm)
		return false;
	r = prandom_u32_state(&way->rng);
	return ((u64)r * SOFTIB_MILLION) >> 32 < ppm;
}

/* Give a packet the time that it takes: none, mostly. An HCA is not charged for what
 * takes longer: it has other packets to send meanwhile, to other HCAs, too.
 */
static void put(struct softib_way *way, struct sk_buff *skb,
		struct sk_buff_head *out)
{
	if (!way->fault[SOFTIB_FAULT_DELAY] && skb_queue_empty(&way->queue)) {
		__skb_queue_tail(out, skb);
		return;
	}
	if (skb_queue_len(&way->queue) >= SOFTIB_BACKLOG) {
		lose(way, skb);
		return;
	}
	skb_orphan(skb);
	way->count[SOFTIB_FAULT_DELAY]++;
	skb->tstamp = ktime_add_us(ktime_get(), way->fault[SOFTIB_FAULT_DELAY]);
	__skb_queue_tail(&way->queue, skb);
}

/* What comes from far away has been lost there as all that is sent there. */
static u32 loss(const struct softib_way *way)
{
	u32 own = way->fault[SOFTIB_FAULT_LOSS];

	return own || !way->link->end[way->side] ? own : READ_ONCE(softib_loss);
}

/* Has the packet come that is lost with all that follow? */
static bool is_cut(struct softib_way *way)
{
	u32 next = way->fault[SOFTIB_FAULT_CUT];

	if (next > 1)
		WRITE_ONCE(way->fault[SOFTIB_FAULT_CUT], next - 1);
	return next == 1;
}

/* What becomes of a packet; what arrives at once is added to @out. */
static void disturb(struct softib_way *way, struct sk_buff *skb,
		    struct sk_buff_head *out)
{
	struct sk_buff *copy, *held;
	bool lost, bad, twice, late;

	way->count[SOFTIB_FAULT_PASSED]++;
	lost = happens(way, loss(way)) | is_cut(way);
	bad = happens(way, way->fault[SOFTIB_FAULT_CORRUPT]);
	twice = happens(way, way->fault[SOFTIB_FAULT_DUPLICATE]);
	late = happens(way, way->fault[SOFTIB_FAULT_REORDER]);

	if (lost || (bad && skb_ensure_writable(skb, skb->len))) {
		lose(way, skb);
		return;
	}
	if (bad) {
		way->count[SOFTIB_FAULT_CORRUPT]++;
		corrupt(skb, prandom_u32_state(&way->rng));
	}
	if (late && !way->held) {
		way->count[SOFTIB_FAULT_REORDER]++;
		skb_orphan(skb);
		skb->tstamp = ktime_add_us(ktime_get(), way->fault[SOFTIB_FAULT_DELAY] + HOLD_US);
		way->held = skb;
		return;
	}
	copy = twice ? skb_clone(skb, GFP_ATOMIC) : NULL;
	if (copy)
		way->count[SOFTIB_FAULT_DUPLICATE]++;
	put(way, skb, out);
	if (copy)
		put(way, copy, out);
	held = way->held;
	way->held = NULL;
	if (held)
		put(way, held, out);
}

static void set_timer(struct softib_way *way)
{
	struct sk_buff *first = skb_peek(&way->queue);

	if (!first || (way->held && ktime_before(way->held->tstamp,
						 first->tstamp)))
		first = way->held;
	if (first)
		hrtimer_start(&way->timer, first->tstamp,
			      HRTIMER_MODE_ABS_SOFT);
}

static void deliver(struct softib_way *way, struct sk_buff_head *out)
{
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(out)))
		way->deliver(way, skb);
}

/*
 * Sends a packet by a way on which something may happen to it, and consumes it. Called with bottom
 * halves disabled and no lock held.
 */
void softib_way_send(struct softib_way *way, struct sk_buff *skb)
{
	struct sk_buff_head out;

	__skb_queue_head_init(&out);
	spin_lock(&way->lock);
	disturb(way, skb, &out);
	set_timer(way);
	spin_unlock(&way->lock);
	deliver(way, &out);
}

/*
 * A packet, at least an LRH, comes by @way from the far end of a link, and is consumed. The other
 * kernel has done to it what befalls all packets there, so here only what this way was told to do
 * is done. Called with bottom halves disabled and no lock held.
 */
void softib_way_enter(struct softib_way *way, struct sk_buff *skb)
{
	softib_capture(skb);
	if (unlikely(READ_ONCE(way->active)) && softib_vl(skb) != SOFTIB_VL_SMP)
		softib_way_send(way, skb);
	else
		way->deliver(way, skb);
}

static enum hrtimer_restart arrivals(struct hrtimer *timer)
{
	struct softib_way *way = container_of(timer, struct softib_way, timer);
	ktime_t now = ktime_get();
	struct sk_buff_head out;
	struct sk_buff *skb;

	__skb_queue_head_init(&out);
	spin_lock(&way->lock);
	while ((skb = skb_peek(&way->queue)) && !ktime_after(skb->tstamp, now))
		__skb_queue_tail(&out, __skb_dequeue(&way->queue));
	if (way->held && !ktime_after(way->held->tstamp, now)) {
		__skb_queue_tail(&out, way->held);
		way->held = NULL;
	}
	set_timer(way);
	spin_unlock(&way->lock);
	deliver(way, &out);
	return HRTIMER_NORESTART;
}

/* The way is zeroed, and has no faults so far. @deliver takes packets at the other end. */
void softib_way_init(struct softib_way *way, struct softib_link *link, u8 side,
		     softib_deliver_fn *deliver)
{
	way->link = link;
	way->side = side;
	way->deliver = deliver;
	spin_lock_init(&way->lock);
	skb_queue_head_init(&way->queue);
	hrtimer_setup(&way->timer, arrivals, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	softib_way_seed(way, 0);
}

/* All packets that are under way are lost. None can enter any more. */
void softib_way_stop(struct softib_way *way)
{
	struct sk_buff_head out;

	__skb_queue_head_init(&out);
	spin_lock_bh(&way->lock);
	skb_queue_splice_init(&way->queue, &out);
	if (way->held)
		__skb_queue_tail(&out, way->held);
	way->held = NULL;
	spin_unlock_bh(&way->lock);
	/* Last: softib_way_set() starts it as long as a packet waits. */
	hrtimer_cancel(&way->timer);
	__skb_queue_purge(&out);
}

/* Let no packet that is under way take longer than packets do from now on. */
static void hurry(struct softib_way *way)
{
	ktime_t latest = ktime_add_us(ktime_get(), way->fault[SOFTIB_FAULT_DELAY]);
	struct sk_buff *skb;

	skb_queue_walk(&way->queue, skb)
		skb->tstamp = min(skb->tstamp, latest);
	if (way->held)
		way->held->tstamp = min(way->held->tstamp, ktime_add_us(latest, HOLD_US));
	set_timer(way);
}

/* @value: packets in a million; microseconds; or a number of packets. */
void softib_way_set(struct softib_way *way, enum softib_fault fault, u32 value)
{
	bool active;
	int i;

	spin_lock_bh(&way->lock);
	WRITE_ONCE(way->fault[fault], value);
	if (fault == SOFTIB_FAULT_DELAY)
		hurry(way);
	active = !skb_queue_empty(&way->queue) || way->held;
	for (i = 0; i < SOFTIB_NFAULTS; i++)
		active |= !!way->fault[i];
	WRITE_ONCE(way->active, active);
	spin_unlock_bh(&way->lock);
}

/* Begins a new sequence of chances, which is the same for the same seed, and counts from zero. */
void softib_way_seed(struct softib_way *way, u32 seed)
{
	spin_lock_bh(&way->lock);
	WRITE_ONCE(way->seed, seed);
	prandom_seed_state(&way->rng, seed);
	memset(way->count, 0, sizeof(way->count));
	spin_unlock_bh(&way->lock);
}
