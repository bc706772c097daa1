// SPDX-License-Identifier: GPL-2.0
/*
 * When is a peer not to be asked for a carrier?
 *
 * A namespace remembers hosts that have no such service, and paths that have failed.  A path has
 * failed for as long as a pause that doubles; then one connection tries it, and the others wait
 * for what comes of that.  What a peer has said of one connection is remembered for that one.
 *
 * A connection that may send nothing by TCP asks in spite of that, as it ends otherwise.
 *
 * The memory is of fixed size.  Where it is full the entry that would end first goes: a user that
 * fills it makes others ask in vain, once.  And no more than net.sdp.joins connections a second
 * ask, so that those of an adapter that is back come one after the other.  Half of what may be
 * saved up is for owners that have asked little.
 *
 * Callers hold the lock of the endpoint's socket.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>
#include <net/tcp.h>

#include "offload/avoid.h"
#include "offload/lane.h"
#include "offload/net.h"
#include "offload/trace.h"

#define SDP_AVOID_SETS		64	/* a power of two */
#define SDP_AVOID_WAYS		4
#define SDP_AVOID_KINDS		4
#define SDP_AVOID_OWNERS	64	/* a power of two */

/* How long a host is remembered, and the shortest and longest pause of a path. */
#define SDP_AVOID_HOST		(600UL * HZ)
#define SDP_AVOID_SHORTEST	(1UL * HZ)
#define SDP_AVOID_LONGEST	(600UL * HZ)

/* A path that has carried for so long is as good as new. */
#define SDP_AVOID_GOOD		(10UL * HZ)

/* The longest pause that a peer may ask for. */
#define SDP_AVOID_RETRY		(60UL * HZ)

/* An end that may not go by TCP asks no sooner again. */
#define SDP_AVOID_ONLY		(1UL * HZ / 10)

/* A connection that waits for a path, or for its turn, looks again after about so long, at most. */
#define SDP_AVOID_LOOK		HZ

/**
 * struct sdp_avoid_entry - a host, or a path
 * @host: address
 * @scope: where it is the address of this host: a device for a link-local one, or a VRF, or 0
 * @ifindex: device of a path; 0: the host, by any path
 * @kind: of carrier
 * @good: a carrier was joined since @failed
 * @until: jiffies before which only an end asks that may not go by TCP
 * @pause: jiffies from the last failure on; 0: there is no entry
 * @failed: jiffies of the last failure
 * @since: jiffies, if @good
 */
struct sdp_avoid_entry {
	struct in6_addr host;
	int scope;
	int ifindex;
	u8 kind;
	bool good;
	unsigned long until;
	unsigned long pause;
	unsigned long failed;
	unsigned long since;
};

/* Joins of a kind that may begin now, times HZ. */
struct sdp_avoid_bucket {
	u8 kind;
	unsigned long stamp;
	u64 level;
};

/* Joins of an owner that may begin now, times HZ; owners with the same hash share one. */
struct sdp_avoid_owner {
	unsigned long stamp;
	u64 level;
};

/**
 * struct sdp_avoid - what a network namespace remembers
 * @lock: for all of it
 * @seed: of the hash
 * @bucket: one for each kind that was ever asked
 * @owner: of sockets whose ends ask
 * @entry: hosts and paths
 */
struct sdp_avoid {
	spinlock_t lock;	/* see above */
	u32 seed;
	struct sdp_avoid_bucket bucket[SDP_AVOID_KINDS];
	struct sdp_avoid_owner owner[SDP_AVOID_OWNERS];
	struct sdp_avoid_entry entry[SDP_AVOID_SETS][SDP_AVOID_WAYS];
};

static const char * const sdp_refusal_names[] = {
	[SDP_REFUSED_LATER] = "later",
	[SDP_REFUSED_NO_SERVICE] = "no_service",
	[SDP_REFUSED_VERSION] = "version",
	[SDP_REFUSED_NEVER] = "never",
	[SDP_REFUSED_PROOF] = "proof",
	[SDP_REFUSED_UNREACHABLE] = "unreachable",
};

/* NULL if there is no such reason. */
const char *sdp_refusal_name(unsigned int why)
{
	static_assert(ARRAY_SIZE(sdp_refusal_names) == SDP_REFUSALS);
	static_assert(SDP_REFUSALS <= SDP_CNT_REFUSAL_KINDS);
	return why < SDP_REFUSALS ? sdp_refusal_names[why] : NULL;
}

static struct sdp_avoid *sdp_avoid_get(struct sdp_net *sn, gfp_t gfp)
{
	struct sdp_avoid *avoid = READ_ONCE(sn->avoid);

	if (likely(avoid))
		return avoid;
	avoid = kvzalloc(sizeof(*avoid), gfp | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!avoid)
		return NULL;
	spin_lock_init(&avoid->lock);
	avoid->seed = get_random_u32();
	if (!cmpxchg(&sn->avoid, NULL, avoid))
		return avoid;
	kvfree(avoid);
	return sn->avoid;
}

void sdp_avoid_free(struct sdp_avoid *avoid)
{
	kvfree(avoid);
}

/* --- hosts and paths ----------------------------------------------------------- */

static void sdp_avoid_name(const struct sock *sk, struct sdp_avoid_entry *name, u8 kind,
			   int ifindex)
{
	memset(name, 0, sizeof(*name));
	name->kind = kind;
	name->ifindex = ifindex;
	name->scope = l3mdev_master_ifindex_by_index(sock_net(sk), ifindex);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		name->host = sk->sk_v6_daddr;
		if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&name->host)))
			name->scope = ifindex;
		return;
	}
#endif
	ipv6_addr_set_v4mapped(sk->sk_daddr, &name->host);
}

static struct sdp_avoid_entry *sdp_avoid_set(struct sdp_avoid *avoid,
					     const struct sdp_avoid_entry *name)
{
	u32 hash = jhash2((__force const u32 *)&name->host, sizeof(name->host) / sizeof(u32),
			  avoid->seed ^ name->scope ^ name->ifindex << 8 ^
			  (u32)name->kind << 24);

	return avoid->entry[hash & (SDP_AVOID_SETS - 1)];
}

static struct sdp_avoid_entry *sdp_avoid_find(struct sdp_avoid *avoid,
					      const struct sdp_avoid_entry *name)
{
	struct sdp_avoid_entry *e = sdp_avoid_set(avoid, name), *end = e + SDP_AVOID_WAYS;

	for (; e < end; e++)
		if (e->pause && e->kind == name->kind && e->ifindex == name->ifindex &&
		    e->scope == name->scope && ipv6_addr_equal(&e->host, &name->host))
			return e;
	return NULL;
}

/* The entry of a name, in the place of another one if need be. */
static struct sdp_avoid_entry *sdp_avoid_make(struct sdp_avoid *avoid,
					      const struct sdp_avoid_entry *name)
{
	struct sdp_avoid_entry *first = sdp_avoid_set(avoid, name), *e;
	int i;

	e = sdp_avoid_find(avoid, name);
	if (e)
		return e;
	e = first;
	for (i = 1; e->pause && i < SDP_AVOID_WAYS; i++)
		if (!first[i].pause || time_before(first[i].until, e->until))
			e = &first[i];
	*e = *name;
	return e;
}

static void sdp_avoid_host(struct sdp_avoid *avoid, struct sdp_avoid_entry *name)
{
	struct sdp_avoid_entry *e;

	name->ifindex = 0;
	e = sdp_avoid_make(avoid, name);
	e->pause = SDP_AVOID_HOST;
	e->until = jiffies + e->pause;
}

/*
 * A carrier that was asked for before the last failure says nothing new: many connections fail
 * together.
 */
static void sdp_avoid_path(struct sdp_avoid *avoid, const struct sdp_avoid_entry *name,
			   unsigned long began)
{
	struct sdp_avoid_entry *e = sdp_avoid_make(avoid, name);

	if (e->pause && time_before_eq(began, e->failed))
		return;
	if (!e->pause || (e->good && time_after(jiffies, e->since + SDP_AVOID_GOOD)))
		e->pause = SDP_AVOID_SHORTEST;
	else
		e->pause = min(2 * e->pause, SDP_AVOID_LONGEST);
	e->good = false;
	e->failed = jiffies;
	e->until = jiffies + e->pause;
}

static void sdp_avoid_again(struct sdp_avoid *avoid, u8 kind)
{
	struct sdp_avoid_entry *e = avoid->entry[0], *end = e + SDP_AVOID_SETS * SDP_AVOID_WAYS;

	spin_lock_bh(&avoid->lock);
	for (; e < end; e++)
		if (e->pause && e->kind == kind && e->ifindex)
			e->until = jiffies;
	spin_unlock_bh(&avoid->lock);
}

/**
 * sdp_carrier_changed() - ways of a kind of carrier may be there that were not
 * @ops: the kind
 *
 * One connection of each path that has failed may try it at once.  If it fails again, the pause is
 * longer, so ports that come and go are tried no more often than they are worth.
 *
 * Context: any.
 */
void sdp_carrier_changed(const struct sdp_carrier_ops *ops)
{
	struct sdp_avoid *avoid;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		/* Pairs with the cmpxchg() in sdp_avoid_get(). */
		avoid = smp_load_acquire(&sdp_net(net)->avoid);
		if (avoid)
			sdp_avoid_again(avoid, ops->kind);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(sdp_carrier_changed);

/* --- the rate ------------------------------------------------------------------ */

static u64 sdp_avoid_refill(u64 level, unsigned long *stamp, unsigned int rate)
{
	level += (u64)rate * min(jiffies - *stamp, (unsigned long)HZ);
	*stamp = jiffies;
	return min(level, (u64)rate * HZ);
}

static struct sdp_avoid_owner *sdp_avoid_owner_of(struct sdp_avoid *avoid, kuid_t uid)
{
	u32 hash = jhash_1word(__kuid_val(uid), avoid->seed);

	return &avoid->owner[hash & (SDP_AVOID_OWNERS - 1)];
}

/* Has the owner asked for less than half of all in the last second, or is it root? */
static bool sdp_avoid_owner(struct sdp_avoid *avoid, kuid_t uid, unsigned int rate)
{
	struct sdp_avoid_owner *o = sdp_avoid_owner_of(avoid, uid);

	o->level = sdp_avoid_refill(o->level, &o->stamp, max(rate / 2, 1U));
	return o->level >= HZ || uid_eq(uid, GLOBAL_ROOT_UID);
}

static void sdp_avoid_owner_asks(struct sdp_avoid *avoid, kuid_t uid)
{
	struct sdp_avoid_owner *o = sdp_avoid_owner_of(avoid, uid);

	o->level -= min_t(u64, o->level, HZ);
}

static bool sdp_avoid_take(struct sdp_avoid *avoid, u8 kind, unsigned int rate, kuid_t uid)
{
	struct sdp_avoid_bucket *b = avoid->bucket;
	u64 full = (u64)rate * HZ;

	if (!rate)
		return true;
	while (b->kind && b->kind != kind && b < &avoid->bucket[SDP_AVOID_KINDS - 1])
		b++;
	if (b->kind != kind) {
		b->kind = kind;
		b->level = full;
		b->stamp = jiffies;
	}
	b->level = sdp_avoid_refill(b->level, &b->stamp, rate);
	if (b->level < HZ || (!sdp_avoid_owner(avoid, uid, rate) && 2 * b->level < full + HZ))
		return false;
	b->level -= HZ;
	sdp_avoid_owner_asks(avoid, uid);
	return true;
}

/* --- a connection -------------------------------------------------------------- */

/* Changes whenever bytes come from the peer. */
static u32 sdp_avoid_heard(const struct sdp_sock *ss)
{
	return tcp_sk(ss->sk)->bytes_received + ss->received;
}

/* Connections that wait together do not look together. */
static void sdp_avoid_later(struct sdp_sock *ss, unsigned long wait)
{
	ss->later = (jiffies + wait + get_random_u32_below(HZ / 4 + 1)) ?: 1;
}

/*
 * Jiffies that the connection has to wait, or 0: it may ask.  An end that may not go by TCP asks
 * by a path that has failed, too.  Context: @avoid locked.
 */
static unsigned long sdp_avoid_wait(struct sdp_avoid *avoid, const struct sdp_avoid_entry *name,
				    const struct sdp_sock *ss)
{
	struct sdp_avoid_entry *e = sdp_avoid_find(avoid, name);

	if (e && !sdp_only(ss) && time_before(jiffies, e->until))
		return e->until - jiffies;
	if (!sdp_avoid_take(avoid, name->kind, sdp_net_joins(sock_net(ss->sk)),
			    sdp_sock_owner(ss->sk)))
		return SDP_AVOID_LOOK;
	if (e && !e->good)
		e->until = jiffies + e->pause;
	return 0;
}

/*
 * May the peer be asked for a carrier now?  SDP_STAY_NOT: it may, and counts as asked.  If it may
 * be later, the connection looks again then.
 */
enum sdp_stay sdp_avoid(struct sdp_sock *ss, u8 kind, int ifindex, gfp_t gfp)
{
	struct sdp_net *sn = sdp_net(sock_net(ss->sk));
	struct sdp_avoid_entry path, host, *e;
	struct sdp_avoid *avoid;
	unsigned long wait = 0;
	bool never;

	if (ss->refused)
		return SDP_STAY_PEER;
	if (ss->wary && ss->heard == sdp_avoid_heard(ss))
		return SDP_STAY_AVOID;
	avoid = sdp_avoid_get(sn, gfp);
	if (!avoid)
		return SDP_STAY_MEMORY;
	sdp_avoid_name(ss->sk, &path, kind, ifindex);
	host = path;
	host.ifindex = 0;
	spin_lock_bh(&avoid->lock);
	e = sdp_avoid_find(avoid, &host);
	never = e && !sdp_only(ss) && time_before(jiffies, e->until);
	if (!never)
		wait = sdp_avoid_wait(avoid, &path, ss);
	spin_unlock_bh(&avoid->lock);
	/* Its time runs when it may ask. */
	if (wait && sdp_only(ss))
		ss->seek_end = 0;
	if (wait)
		sdp_avoid_later(ss, min_t(unsigned long, wait, SDP_AVOID_LOOK));
	else if (!never)
		ss->wary = false;
	return never || wait ? SDP_STAY_AVOID : SDP_STAY_NOT;
}

void sdp_avoid_joined(struct sdp_sock *ss, const struct sdp_carrier *c)
{
	struct sdp_avoid *avoid = READ_ONCE(sdp_net(sock_net(ss->sk))->avoid);
	struct sdp_avoid_entry path, *e;

	if (ss->accepted || !avoid)
		return;
	sdp_count(sock_net(ss->sk), SDP_CNT_JOINED);
	ss->looks = 0;
	sdp_avoid_name(ss->sk, &path, c->ops->kind, c->ifindex);
	spin_lock_bh(&avoid->lock);
	e = sdp_avoid_find(avoid, &path);
	if (e && !e->good && time_after(c->began, e->failed)) {
		e->good = true;
		e->since = jiffies;
		e->until = jiffies;
	}
	spin_unlock_bh(&avoid->lock);
}

/* A peer that refuses has been reached: others need not wait for the path.  @avoid locked. */
static void sdp_avoid_heard_of(struct sdp_avoid *avoid, const struct sdp_avoid_entry *path)
{
	struct sdp_avoid_entry *e = sdp_avoid_find(avoid, path);

	if (e)
		e->until = jiffies;
}

/*
 * A connection that was let ask at @began says nothing of the path.  If it was to try one that had
 * failed, the next connection may.
 */
void sdp_avoid_untried(struct sdp_sock *ss, u8 kind, int ifindex, unsigned long began)
{
	struct sdp_avoid *avoid = READ_ONCE(sdp_net(sock_net(ss->sk))->avoid);
	struct sdp_avoid_entry path, *e;

	if (!avoid)
		return;
	sdp_avoid_name(ss->sk, &path, kind, ifindex);
	spin_lock_bh(&avoid->lock);
	e = sdp_avoid_find(avoid, &path);
	if (e && !e->good && time_after(began, e->failed))
		e->until = jiffies;
	spin_unlock_bh(&avoid->lock);
}

/* A connection has gone, or has nothing to say of a carrier that it asked for. */
void sdp_avoid_gone(struct sdp_sock *ss, const struct sdp_carrier *c)
{
	if (!ss->accepted && !c->joined && !c->judged)
		sdp_avoid_untried(ss, c->ops->kind, c->ifindex, c->began);
}

/* The module has said that a carrier is over, or was never joined. */
void sdp_avoid_over(struct sdp_sock *ss, struct sdp_carrier *c)
{
	struct sdp_avoid *avoid = READ_ONCE(sdp_net(sock_net(ss->sk))->avoid);
	enum sdp_refusal why = c->refusal;
	struct sdp_avoid_entry path;

	c->judged = true;
	if (ss->accepted || !avoid)
		return;
	if (!c->joined) {
		sdp_count(sock_net(ss->sk), SDP_CNT_REFUSED + why);
		trace_sdp_sock_refused(ss, why);
	}
	sdp_avoid_name(ss->sk, &path, c->ops->kind, c->ifindex);
	spin_lock_bh(&avoid->lock);
	/* Where a connection had a carrier before the service is there: it comes back. */
	if (why == SDP_REFUSED_UNREACHABLE || (why == SDP_REFUSED_NO_SERVICE && ss->moves))
		sdp_avoid_path(avoid, &path, c->began);
	else if (why == SDP_REFUSED_NO_SERVICE || why == SDP_REFUSED_VERSION)
		sdp_avoid_host(avoid, &path);
	else if (!c->joined)
		sdp_avoid_heard_of(avoid, &path);
	spin_unlock_bh(&avoid->lock);
	ss->refused |= why == SDP_REFUSED_NEVER || why == SDP_REFUSED_PROOF;
	if (c->joined)
		return;
	if (sdp_only(ss))
		sdp_avoid_later(ss, clamp(c->retry, SDP_AVOID_ONLY, SDP_AVOID_RETRY));
	if (why != SDP_REFUSED_LATER || sdp_only(ss))
		return;
	if (c->retry) {
		sdp_avoid_later(ss, min(c->retry, SDP_AVOID_RETRY));
		return;
	}
	ss->wary = true;
	ss->heard = sdp_avoid_heard(ss);
}
