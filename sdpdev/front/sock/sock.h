/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket front: a TCP socket with the ULP "sdp".
 *
 * The socket is the kernel's own TCP socket, with our struct proto and struct proto_ops in front
 * of TCP's; TCP does everything that they do not do themselves.  Each wrapper first checks whether
 * the socket still has the ULP.  If not, it passes the call on: the child of a listener has our
 * operations even if it could not get the ULP.
 *
 * The module never writes a file, an inode, sk_wq or sk_user_data.  It writes a callback only if
 * that callback is the kernel's own: a connection with a carrier is notified first of TCP's bytes
 * (lane.c).
 */
#ifndef _SDP_SOCK_H
#define _SDP_SOCK_H

#include <linux/sdp_sock.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "offload/offload.h"

/**
 * struct sdp_family - the functions for one address family
 * @base: TCP's own
 * @prot: ours
 * @ops: ours
 *
 * They are made when the module is loaded, and stay as they are.
 */
struct sdp_family {
	struct sdp_base base;
	struct proto prot;
	struct proto_ops ops;
};

/* family.c */
int sdp_family_init(void);
void sdp_family_exit(void);
struct sdp_family *sdp_family(const struct sock *sk);

/* create.c */
int sdp_create_register(int family, const struct sdp_base *base);
void sdp_create_unregister(int family);

/* info.c */
void sdp_info_fill(const struct sdp_sock *ss, struct sdp_sock_info *info);
int sdp_info_getsockopt(struct sock *sk, char __user *optval, int __user *optlen);
int sdp_info_diag(struct sock *sk, struct sk_buff *skb COMPAT_INFO_ARGS);
size_t sdp_info_diag_size(const struct sock *sk COMPAT_INFO_ARGS);

/* diag.c */
int sdp_diag_init(void);
void sdp_diag_exit(void);

/* mode.c */
int sdp_mode_setsockopt(struct sock *sk, sockptr_t optval, unsigned int optlen);
int sdp_mode_getsockopt(struct sock *sk, char __user *optval, int __user *optlen);
void sdp_mode_rule(struct sdp_sock *ss, u32 said);
void sdp_mode_forget(struct sdp_sock *ss);

/* proto.c */
void sdp_proto_build(struct sdp_family *fam);

/* ulp.c */
extern struct tcp_ulp_ops sdp_ulp, sdp_ulp_local, sdp_ulp_ib, sdp_ulp_rdma;
int sdp_sock_attach(struct sock *sk);
int sdp_sock_give_up(struct sock *sk);
int sdp_sock_init(void);
void sdp_sock_exit(void);

/* attach.c */
u32 sdp_attach_said(const struct sock *sk, int state);
int sdp_attach(bool on);
void sdp_attach_only(void);
void sdp_attach_start(void);
void sdp_attach_stop(void);

/* ctl.c */
bool sdp_ctl_move(const struct sdp_ctl *ctl, struct sdp_ctl_end *end, long *patience);

/* rule.c, tree.c, group.c */
int sdp_rule_set(const struct sdp_rule *arg);
unsigned int sdp_tree_members(void);
void sdp_tree_exit(void);
int sdp_group_init(void);
void sdp_group_exit(void);

static inline bool sdp_ulp_ours(const struct sock *sk)
{
	const struct tcp_ulp_ops *ulp = READ_ONCE(inet_csk(sk)->icsk_ulp_ops);

	return ulp == &sdp_ulp || ulp == &sdp_ulp_local || ulp == &sdp_ulp_ib ||
	       ulp == &sdp_ulp_rdma;
}

/*
 * Returns NULL if the socket has not our ULP.  The result is valid while the socket is locked, or
 * in an RCU read section, or while sdp_sock.users counts the caller.
 *
 * Another ULP that comes in our place uses the same pointer: it is ours if the ULP is, before and
 * after the look.  Pairs with sdp_sock_give_up().
 */
static inline struct sdp_sock *sdp_sk(const struct sock *sk)
{
	struct sdp_sock *ss;

	if (!sdp_ulp_ours(sk))
		return NULL;
	/* The ULP, then its data, then the ULP again. */
	smp_rmb();
	ss = rcu_dereference_check(inet_csk(sk)->icsk_ulp_data, true);
	/* As above. */
	smp_rmb();
	return sdp_ulp_ours(sk) ? ss : NULL;
}

#endif /* _SDP_SOCK_H */
