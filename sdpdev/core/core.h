/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The base of sdpdev: counters, parameters, accounts, addresses.  ep.h beside it has the
 * endpoint.
 *
 * A caller may be in any context and hold any lock, unless a function's own comment says
 * otherwise: counters and accounts are atomic, and addresses belong to the caller.
 */
#ifndef _SDP_CORE_H
#define _SDP_CORE_H

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/sdp.h>
#include <linux/socket.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "compat.h"

struct mem_cgroup;
struct sdp_user;
struct workqueue_struct;

/* What must be so is looked at on the checked kernel. */
#define SDP_ASSERT(cond)	WARN_ON_ONCE(IS_ENABLED(CONFIG_PROVE_LOCKING) && !(cond))

/* Room for the counters of bad messages. */
#define SDP_CNT_BAD_KINDS	12

/* Counters of /proc/net/sdp/snmp, in its order. */
enum sdp_counter {
	SDP_CNT_CONNECTED,
	SDP_CNT_ACCEPTED,
	SDP_CNT_FALLBACKS,
	SDP_CNT_REFUSED_NO_LISTENER,
	SDP_CNT_REFUSED_BACKLOG,
	SDP_CNT_REFUSED_BAD_HELLO,
	SDP_CNT_LISTEN_FAILED,
	SDP_CNT_OVER_LIMIT,
	/* One for each SDP_REASON_* that a connection has ended for. */
	SDP_CNT_REASON,
	/* One for each that SDP was not tried for. */
	SDP_CNT_UNTRIED = SDP_CNT_REASON + SDP_REASON_POLICY + 1,
	/* One for each kind of bad message: enum sdp_bad. */
	SDP_CNT_BAD = SDP_CNT_UNTRIED + SDP_REASON_POLICY + 1,
	SDP_CNT_MAX = SDP_CNT_BAD + SDP_CNT_BAD_KINDS,
};

/* What a user can have only so much of. */
enum sdp_limit {
	SDP_LIMIT_ENDPOINTS,
	SDP_LIMIT_CONNS,
	SDP_LIMIT_MEMORY,
	/* Connections that peers have asked for and nobody has accepted */
	SDP_LIMIT_PEERS,
	SDP_LIMIT_MAX,
};

/* param.c */
extern unsigned int sdp_recv_bufs, sdp_recv_size, sdp_send_bufs;
extern unsigned int sdp_idle_bufs, sdp_idle_ms;
extern unsigned int sdp_connect_ms, sdp_close_ms;
extern unsigned int sdp_user_endpoints, sdp_user_conns, sdp_user_mib, sdp_user_share;

/* count.c */
void sdp_count(enum sdp_counter which);
long sdp_counter(enum sdp_counter which);

/**
 * struct sdp_account - who pays for an endpoint
 * @user: the user's account, referenced
 * @uid: who made the endpoint
 * @memcg: memory control group that pays for the buffers, referenced; or NULL
 * @memory: bytes of buffers and rings
 *
 * The first three stay as they are from sdp_account_open() to sdp_account_close().
 */
struct sdp_account {
	struct sdp_user *user;
	kuid_t uid;
	struct mem_cgroup *memcg;
	atomic_long_t memory;
};

/* account.c */
int sdp_account_open(struct sdp_account *acc, const struct sdp_account *from);
void sdp_account_close(struct sdp_account *acc);
int sdp_charge(struct sdp_account *acc, enum sdp_limit which, long n);
int sdp_charge_sparing(struct sdp_account *acc, enum sdp_limit which, long n, long spare);
void sdp_uncharge(struct sdp_account *acc, enum sdp_limit which, long n);
bool sdp_account_is_root(const struct sdp_account *acc);
void sdp_account_share(const struct sdp_account *acc, bool incoming, u32 *owner,
		       u32 *share);
struct sdp_user *sdp_account_lend(struct sdp_account *acc, long bytes);
void sdp_account_return(struct sdp_user *user, long bytes);
struct mem_cgroup *sdp_account_memcg(const struct sdp_account *acc);

/* addr.c */
void sdp_addr_unmap(struct sockaddr_storage *ss);
void sdp_addr_map(struct sockaddr_storage *ss, unsigned short family);
bool sdp_addr_same_host(const struct sockaddr_storage *a,
			const struct sockaddr_storage *b);
bool sdp_addr_any(const struct sockaddr_storage *ss);
u16 sdp_addr_port(const struct sockaddr_storage *ss);
void sdp_addr_set_port(struct sockaddr_storage *ss, u16 port);
unsigned int sdp_addr_len(const struct sockaddr_storage *ss);

#endif /* _SDP_CORE_H */
