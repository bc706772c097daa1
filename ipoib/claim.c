// SPDX-License-Identifier: GPL-2.0
/*
 * Which members of a group are served by user mode: memberships that a program has claimed,
 * beside all that the stack has. state/claim.h has the locks and the lifetimes.
 *
 * A member is a socket that has joined, or another that has the interface listen: a packet
 * socket, a bridge, the stack itself, "ip maddr add". The stack counts a group's sockets in
 * its own list of IP addresses, which is one user of the interface's list.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <net/sock.h>

#include "compat.h"
#include "ipoib.h"

/**
 * struct ipoib_claim - a membership that user mode serves
 * @node:	in ipoib_claims.list
 * @sk:		the member, with a reference: it may have been closed meanwhile
 * @group:	the address
 */
struct ipoib_claim {
	struct list_head node;
	struct sock *sk;
	struct ipoib_group group;
};

/* --- memberships --------------------------------------------------------- */

/* Called under RCU. */
static bool ipoib_sock_in_group4(struct sock *sk, int ifindex, __be32 group)
{
	struct ip_mc_socklist *m;

	for (m = rcu_dereference(inet_sk(sk)->mc_list); m; m = rcu_dereference(m->next_rcu))
		if (m->multi.imr_multiaddr.s_addr == group && m->multi.imr_ifindex == ifindex)
			return true;
	return false;
}

/* Called under RCU. */
static bool ipoib_sock_in_group6(struct sock *sk, int ifindex, const struct in6_addr *group)
{
	struct ipv6_mc_socklist *m;

	/* It may have become a socket of IPv4 (IPV6_ADDRFORM). */
	if (!IS_ENABLED(CONFIG_IPV6) || READ_ONCE(sk->sk_family) != AF_INET6)
		return false;
	for (m = rcu_dereference(inet6_sk(sk)->ipv6_mc_list); m; m = rcu_dereference(m->next))
		if (ipv6_addr_equal(&m->addr, group) && m->ifindex == ifindex)
			return true;
	return false;
}

/* Is the socket in the group on this interface, in the interface's namespace? */
static bool ipoib_sock_is_member(struct ipoib_dev *priv, struct sock *sk,
				 const struct ipoib_group *group)
{
	int ifindex = priv->dev->ifindex;
	bool member;

	rcu_read_lock();
	member = net_eq(sock_net(sk), dev_net(priv->dev)) &&
		 (group->family == AF_INET ?
		  ipoib_sock_in_group4(sk, ifindex, group->in) :
		  ipoib_sock_in_group6(sk, ifindex, &group->in6));
	rcu_read_unlock();
	return member;
}

/* --- counting ------------------------------------------------------------ */

/*
 * The group of the link that @group is sent to, or NULL. It may be one that is only sent to. Under
 * RCU.
 */
static struct ipoib_mcast *ipoib_group_find(struct ipoib_dev *priv,
					    const struct ipoib_group *group)
{
	char addr[INFINIBAND_ALEN];
	struct ipoib_dest *d;
	union ib_gid gid;

	if (group->family == AF_INET)
		ip_ib_mc_map(group->in, priv->broadcast, addr);
	else
		ipv6_ib_mc_map(&group->in6, priv->broadcast, addr);
	memcpy(gid.raw, addr + 4, sizeof(gid.raw));
	d = ipoib_dest_find(priv, &gid);
	return d ? ipoib_to_mcast(d) : NULL;
}

/* Of a list of the stack's, @users have joined; they are one user of the interface. */
static void ipoib_group_add(struct ipoib_dev *priv, const struct ipoib_group *group, int users)
{
	struct ipoib_mcast *m = ipoib_group_find(priv, group);

	if (m)
		m->members += users - 1;
}

/* Called under RCU. */
static void ipoib_count_groups4(struct ipoib_dev *priv)
{
	struct in_device *in_dev = __in_dev_get_rcu(priv->dev);
	struct ipoib_group group = { .family = AF_INET };
	struct ip_mc_list *m;

	if (!in_dev)
		return;
	for (m = rcu_dereference(in_dev->mc_list); m; m = rcu_dereference(m->next_rcu)) {
		group.in = m->multiaddr;
		ipoib_group_add(priv, &group, READ_ONCE(m->users));
	}
}

/* Called under RCU. */
static void ipoib_count_groups6(struct ipoib_dev *priv)
{
	struct ipoib_group group = { .family = AF_INET6 };
	struct inet6_dev *idev;
	struct ifmcaddr6 *m;

	if (!IS_ENABLED(CONFIG_IPV6))
		return;
	idev = __in6_dev_get(priv->dev);
	if (!idev)
		return;
	for (m = rcu_dereference(idev->mc_list); m; m = rcu_dereference(m->next)) {
		group.in6 = m->mca_addr;
		ipoib_group_add(priv, &group, READ_ONCE(m->mca_users));
	}
}

/*
 * Adds to each group its claims, and its sockets beyond the first. What joins and leaves meanwhile
 * is counted right the next time. The interface is up; called under ctl.
 */
void ipoib_claims_count(struct ipoib_dev *priv)
{
	struct ipoib_claim *c;
	struct ipoib_mcast *m;

	lockdep_assert_held(&priv->link.ctl);

	if (!priv->claims.count)
		return;
	rcu_read_lock();
	ipoib_count_groups4(priv);
	ipoib_count_groups6(priv);
	/* Looked at last: the claim of one that leaves meanwhile would stand for another member. */
	list_for_each_entry(c, &priv->claims.list, node) {
		m = ipoib_group_find(priv, &c->group);
		if (m && ipoib_sock_is_member(priv, c->sk, &c->group))
			m->claimed++;
	}
	rcu_read_unlock();
}

/* --- claims -------------------------------------------------------------- */

static bool ipoib_group_equal(const struct ipoib_group *a, const struct ipoib_group *b)
{
	if (a->family != b->family)
		return false;
	return a->family == AF_INET ? a->in == b->in : ipv6_addr_equal(&a->in6, &b->in6);
}

static struct ipoib_claim *ipoib_claim_find(struct ipoib_dev *priv, struct sock *sk,
					    const struct ipoib_group *group)
{
	struct ipoib_claim *c;

	list_for_each_entry(c, &priv->claims.list, node)
		if (c->sk == sk && ipoib_group_equal(&c->group, group))
			return c;
	return NULL;
}

static void ipoib_claim_drop(struct ipoib_dev *priv, struct ipoib_claim *c)
{
	list_del(&c->node);
	priv->claims.count--;
	sock_put(c->sk);
	kfree(c);
}

/*
 * From now on a program receives what @sk, a socket of IPv4 or IPv6, has joined. Errors as
 * <linux/ipoib_mcast.h> has them. Called under ctl.
 */
int ipoib_claim(struct ipoib_dev *priv, struct sock *sk, const struct ipoib_group *group,
		struct netlink_ext_ack *extack)
{
	struct ipoib_claim *c;

	lockdep_assert_held(&priv->link.ctl);

	if (!ipoib_sock_is_member(priv, sk, group)) {
		NL_SET_ERR_MSG(extack, "the socket has not joined the group on this interface");
		return -EADDRNOTAVAIL;
	}
	if (ipoib_claim_find(priv, sk, group)) {
		NL_SET_ERR_MSG(extack, "this membership is claimed already");
		return -EEXIST;
	}
	if (priv->claims.count >= IPOIB_MAX_CLAIMS) {
		NL_SET_ERR_MSG(extack, "the interface has reached its limit of claims");
		return -ENOSPC;
	}
	c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	if (!c)
		return -ENOMEM;

	sock_hold(sk);
	c->sk = sk;
	c->group = *group;
	list_add_tail(&c->node, &priv->claims.list);
	priv->claims.count++;
	mod_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, 0);
	return 0;
}

/* -ENOENT: there was no such claim. Called under ctl. */
int ipoib_unclaim(struct ipoib_dev *priv, struct sock *sk, const struct ipoib_group *group,
		  struct netlink_ext_ack *extack)
{
	struct ipoib_claim *c;

	lockdep_assert_held(&priv->link.ctl);

	c = ipoib_claim_find(priv, sk, group);
	if (!c) {
		NL_SET_ERR_MSG(extack, "this membership is not claimed");
		return -ENOENT;
	}
	ipoib_claim_drop(priv, c);
	mod_delayed_work(ipoib_ctl_wq, &priv->link.mcast_work, 0);
	return 0;
}

/*
 * Drops the claims of sockets that are no members any more; true if claims are left. Called under
 * ctl.
 */
bool ipoib_claims_look(struct ipoib_dev *priv)
{
	struct ipoib_claim *c, *next;

	lockdep_assert_held(&priv->link.ctl);

	list_for_each_entry_safe(c, next, &priv->claims.list, node)
		if (!ipoib_sock_is_member(priv, c->sk, &c->group))
			ipoib_claim_drop(priv, c);
	return priv->claims.count;
}

/* The interface is being unregistered: no program finds it any more. */
void ipoib_claims_release(struct ipoib_dev *priv)
{
	struct ipoib_claim *c, *next;

	mutex_lock(&priv->link.ctl);
	list_for_each_entry_safe(c, next, &priv->claims.list, node)
		ipoib_claim_drop(priv, c);
	mutex_unlock(&priv->link.ctl);
}
