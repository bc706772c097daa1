// SPDX-License-Identifier: GPL-2.0
/*
 * Training of links to another kernel: what the two ends tell each other, and
 * what follows from that (see far.h)
 */
#include <linux/random.h>
#include <linux/slab.h>

#include "far.h"

#define PERIOD	HZ		/* from a hello to the next one */
#define SILENCE	(4 * HZ)	/* after that, the peer is gone */
#define REST	(HZ / 100)	/* from a run of the work to the next one */

/* Have the work run soon, but not more often than is good for us. */
static void kick(struct softib_far *far)
{
	unsigned long now = jiffies;

	lockdep_assert_held(&softib_mgmt_lock);
	mod_delayed_work(system_percpu_wq, &far->work,
			 time_after(far->rest, now) ? far->rest - now : 0);
}

static void forget(struct softib_far *far)
{
	memset(&far->hello, 0, sizeof(far->hello));
}

/* When the peer is gone, unless it is heard before */
static unsigned long deadline(const struct softib_far *far)
{
	return READ_ONCE(far->heard) + SILENCE;
}

static void follow(struct softib_far *far)
{
	u32 session = be32_to_cpu(far->hello.session);
	bool up;

	up = softib_link_ready(far->link) && far->hello.up &&
	     far->hello.heard == cpu_to_be32(far->session);
	if (far->trained == (up ? session : 0))
		return;
	far->trained = up ? session : 0;
	softib_link_set(far->link, up);
}

static void far_work(struct work_struct *work)
{
	struct softib_far *far = container_of(to_delayed_work(work),
					      struct softib_far, work);
	struct softib_far_hello hello = {};
	unsigned long now = jiffies, next;
	bool news, say;

	spin_lock_irq(&softib_mgmt_lock);
	if (far->hello.session && time_after_eq(now, deadline(far)))
		forget(far);
	follow(far);

	hello.session = cpu_to_be32(far->session);
	hello.heard = far->hello.session;
	hello.up = softib_link_ready(far->link);
	hello.mtu = far->link->mtu;
	hello.rate = far->link->rate;
	news = memcmp(&hello, &far->said, sizeof(hello));
	say = news || time_after_eq(now, far->next);
	if (say) {
		far->said = hello;
		far->next = now + PERIOD;
	}
	next = far->next;
	if (far->hello.session && time_before(deadline(far), next))
		next = deadline(far);
	far->rest = now + REST;
	mod_delayed_work(system_percpu_wq, &far->work,
			 time_after(next, now) ? next - now : 0);
	spin_unlock_irq(&softib_mgmt_lock);

	if (say)
		softib_udp_say(far, &hello);
}

/* The link goes down, and up when the peer has done the same. softib_mgmt_lock is held. */
void softib_far_train(struct softib_far *far)
{
	lockdep_assert_held(&softib_mgmt_lock);
	if (!++far->session)
		far->session++;
	far->trained = 0;
	softib_link_set(far->link, false);
	kick(far);
}

static bool hear(struct softib_far *far, const struct softib_far_hello *hello)
{
	struct softib_far_hello heard = *hello;
	unsigned long flags;

	if (!heard.session || heard.up > 1 ||
	    heard.mtu < IB_MTU_256 || heard.mtu > IB_MTU_4096 ||
	    heard.rate >= SOFTIB_NRATES)
		return false;
	heard.reserved = 0;
	spin_lock_irqsave(&softib_mgmt_lock, flags);
	if (memcmp(&far->hello, &heard, sizeof(heard))) {
		far->hello = heard;
		kick(far);
	}
	spin_unlock_irqrestore(&softib_mgmt_lock, flags);
	return true;
}

static void lose(struct softib_far *far)
{
	spin_lock_irq(&softib_mgmt_lock);
	forget(far);
	kick(far);
	spin_unlock_irq(&softib_mgmt_lock);
}

static void enter(struct softib_far *far, struct sk_buff *skb)
{
	softib_way_enter(&far->link->way[far->side], skb);
}

static const struct softib_far_ops ops = {
	.hello = hear,
	.packet = enter,
	.gone = lose,
};

/*
 * The far end of a link, or an error pointer. @bind is an address in the network namespace of the
 * caller. softib_link_plug() brings the end to life.
 */
struct softib_far *softib_far_new(struct softib_link *link, u8 side,
				  const union softib_addr *bind,
				  const union softib_addr *peer)
{
	struct softib_far *far;
	int ret;

	if (bind->sa.sa_family != peer->sa.sa_family)
		return ERR_PTR(-EINVAL);
	far = kzalloc(sizeof(*far), GFP_KERNEL);
	if (!far)
		return ERR_PTR(-ENOMEM);
	far->link = link;
	far->side = side;
	far->ops = &ops;
	far->bind = *bind;
	far->peer = *peer;
	far->session = get_random_u32();
	far->next = jiffies;
	far->rest = jiffies;
	INIT_DELAYED_WORK(&far->work, far_work);
	ret = softib_udp_open(far);
	if (ret) {
		kfree(far);
		return ERR_PTR(ret);
	}
	return far;
}

/*
 * Says goodbye, and hears and says nothing more. No port is on the link any more. Packets may still
 * be sent to the end, and are dropped.
 */
void softib_far_stop(struct softib_far *far)
{
	/* A link without a port is not ready, and that is news to the peer. */
	mod_delayed_work(system_percpu_wq, &far->work, 0);
	flush_delayed_work(&far->work);
	softib_udp_close(far);
	cancel_delayed_work_sync(&far->work);
}

/* The end is stopped, or was never plugged in. */
void softib_far_free(struct softib_far *far)
{
	softib_udp_close(far);
	dst_cache_destroy(&far->dst_cache);
	kfree(far);
}
