/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Claims: memberships of sockets whose programs receive the group by queue pairs of their
 * own. A group all of whose local members are claimed is joined, but the interface's queue
 * pair is not attached to it.
 *
 * Locks: ipoib_link.ctl for the list. A claim speaks for one membership, and no longer than
 * that lasts. The stack does not tell when a socket joins a group that another one has joined
 * before, so the work that follows the stack's list looks at the members by itself, each
 * IPOIB_CLAIM_PERIOD, while there are claims.
 */
#ifndef _IPOIB_CLAIM_H
#define _IPOIB_CLAIM_H

#include <linux/in6.h>
#include <linux/list.h>
#include <linux/socket.h>

struct ipoib_dev;
struct netlink_ext_ack;
struct sock;
union ib_gid;

#define IPOIB_CLAIM_PERIOD	(HZ / 10)
#define IPOIB_MAX_CLAIMS	16384

/**
 * struct ipoib_group - an IP multicast address
 * @family:	AF_INET or AF_INET6
 * @in:		the address, if that is AF_INET
 * @in6:	the address, if it is AF_INET6
 */
struct ipoib_group {
	sa_family_t family;
	union {
		__be32 in;
		struct in6_addr in6;
	};
};

/**
 * struct ipoib_claims - an interface's claims
 * @list:	all of them
 * @count:	how many
 */
struct ipoib_claims {
	struct list_head list;
	unsigned int count;
};

/* claim.c */
int ipoib_claim(struct ipoib_dev *priv, struct sock *sk, const struct ipoib_group *group,
		struct netlink_ext_ack *extack);
int ipoib_unclaim(struct ipoib_dev *priv, struct sock *sk, const struct ipoib_group *group,
		  struct netlink_ext_ack *extack);
bool ipoib_claims_look(struct ipoib_dev *priv);
void ipoib_claims_count(struct ipoib_dev *priv);
void ipoib_claims_release(struct ipoib_dev *priv);

/* genl.c */
int ipoib_genl_init(void);
void ipoib_genl_exit(void);

#endif /* _IPOIB_CLAIM_H */
