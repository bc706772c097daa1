/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base of sdpdev: counters, parameters, pages that senders copy into, and the accounts of
 * memory that programs map.
 *
 * Counters are per processor, and accounts are atomic: a caller may be in any context and hold any
 * lock, unless a function's own comment says otherwise.
 */
#ifndef _SDP_CORE_H
#define _SDP_CORE_H

#include <linux/bug.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct mem_cgroup;
struct net;
struct page_frag;
struct sdp_user;
struct sk_buff;
struct sock;

/* What must be so is looked at on the checked kernel. */
#define SDP_ASSERT(cond)	WARN_ON_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && !(cond))

/* Room for the counters of bad messages. */
#define SDP_CNT_BAD_KINDS	12

/* Room for the counters of TCP sockets that stay with TCP. */
#define SDP_CNT_STAY_KINDS	32

/* Room for the counters of carriers that were not joined. */
#define SDP_CNT_REFUSAL_KINDS	8

/* Counters of a network namespace, in its /proc/net/sdp/snmp. */
enum sdp_counter {
	SDP_CNT_CONNECTED,
	SDP_CNT_ACCEPTED,
	SDP_CNT_REFUSED_NO_LISTENER,
	SDP_CNT_REFUSED_BACKLOG,
	SDP_CNT_REFUSED_BAD_HELLO,
	SDP_CNT_LISTEN_FAILED,
	SDP_CNT_OVER_LIMIT,
	/* Without a copy, of direct SDP: advertised to be read; cancelled; what the peer
	 * advertises: read, or not; what could not be pinned.  Advertised to be written into;
	 * cancelled; what the peer advertises: written into, or stale.
	 */
	SDP_CNT_ZCOPY_OFFERED,
	SDP_CNT_ZCOPY_CANCELLED,
	SDP_CNT_ZCOPY_READ,
	SDP_CNT_ZCOPY_REFUSED,
	SDP_CNT_ZCOPY_UNPINNED,
	SDP_CNT_ZCOPY_INVITED,
	SDP_CNT_ZCOPY_UNINVITED,
	SDP_CNT_ZCOPY_WRITTEN,
	SDP_CNT_ZCOPY_STALE,
	/* A child has not inherited the rule of its process, for want of memory. */
	SDP_CNT_RULE_LOST,
	/* One for each kind of bad message: enum sdp_bad. */
	SDP_CNT_BAD,
	/* TCP sockets with the ULP: directions that have moved; one for each enum sdp_stay that
	 * a direction has stayed with TCP for, and one that it has come back for.
	 */
	SDP_CNT_MOVED = SDP_CNT_BAD + SDP_CNT_BAD_KINDS,
	/* Bytes that did not go by TCP; those between two sockets of this kernel are counted within
	 * seconds.
	 */
	SDP_CNT_SENT,
	SDP_CNT_RECEIVED,
	/* Messages, or parts, that a sender copied to the memory of a reader that waited. */
	SDP_CNT_LANDED,
	/* Messages of a carrier, or parts, whose bytes were not copied on this host. */
	SDP_CNT_LENT,
	/* Carriers that were ended because the peer broke the rules, and connections. */
	SDP_CNT_LANE_BAD,
	SDP_CNT_LANE_RESET,
	/* Connections that a tool has asked to leave TCP. */
	SDP_CNT_TOOL,
	/* Carriers that were asked for, that were joined, and one for each reason not to be. */
	SDP_CNT_ASKED,
	SDP_CNT_JOINED,
	SDP_CNT_REFUSED,
	SDP_CNT_STAYED = SDP_CNT_REFUSED + SDP_CNT_REFUSAL_KINDS,
	SDP_CNT_RETURNED = SDP_CNT_STAYED + SDP_CNT_STAY_KINDS,
	/* One for each that has ended a connection of SDP_MODE_ONLY. */
	SDP_CNT_ONLY = SDP_CNT_RETURNED + SDP_CNT_STAY_KINDS,
	SDP_CNT_MAX = SDP_CNT_ONLY + SDP_CNT_STAY_KINDS,
};

/* This part of the machine's memory is the most that the pipes of all TCP sockets may have. */
#define SDP_PIPES_PART	8

/* param.c */
extern unsigned int sdp_user_mib, sdp_user_share;

/* count.c */
void sdp_count(const struct net *net, enum sdp_counter which);
void sdp_count_add(const struct net *net, enum sdp_counter which, unsigned long n);
unsigned long sdp_counter(const struct net *net, enum sdp_counter which);
int sdp_count_init(void);
void sdp_count_exit(void);

/* frag.c */
void sdp_frag_keep(struct sk_buff *skb);
bool sdp_frag_refill(struct page_frag *frag, gfp_t gfp);
void sdp_frag_exit(void);

/* account.c */
struct sdp_user *sdp_shared_charge(long bytes);
void sdp_shared_uncharge(struct sdp_user *user, long bytes);
struct mem_cgroup *sdp_sock_memcg(const struct sock *sk);
kuid_t sdp_sock_owner(const struct sock *sk);
void sdp_owner_share(kuid_t payer, u32 *owner, u32 *share);

#endif /* _SDP_CORE_H */
