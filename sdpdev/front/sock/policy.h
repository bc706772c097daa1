/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private to this folder: which TCP sockets become endpoints although their programs do not ask.
 *
 *	attach.c	looks at each socket that is about to connect or listen
 *	rule.c		what a rule says of a call and a port
 *	tree.c		rules of processes, which their children inherit
 *	group.c		rules of control groups and of users
 *	hook.c		tracepoints
 *	mode.c		the mode of a socket, from all rules and from the program
 *
 * A rule says "move", "now", "only" or "never".  A socket becomes an endpoint if the rule of its
 * process, its control group or its user says so, or net.sdp.attach, and if no rule says "never".
 * "only" wins over all others.
 *
 * Without rules this code costs nothing: attach.c holds its tracepoint only as long as
 * a caller of sdp_attach() needs it, and tree.c holds those of fork and exit only as long as a
 * process has a rule.  Enabling or disabling a tracepoint stops the whole machine for a
 * moment, and every user may set a rule.  So tracepoints are disabled only SDP_HOOK_IDLE after the
 * last rule, and a user who sets and removes rules all the time causes no change.
 *
 * Locks: sdp_net_lock, sdp_tree_mutex and sdp_group_mutex are taken from outside, one of
 * them at a time, and sdp_attach_lock inside.  A caller that looks for a rule holds
 * rcu_read_lock().
 */
#ifndef _SDP_POLICY_H
#define _SDP_POLICY_H

#include <linux/jiffies.h>
#include <linux/types.h>

#include "front/sock/sock.h"

struct tracepoint;
struct user_namespace;

/**
 * struct sdp_hook - a function of ours that a tracepoint calls
 * @name: the tracepoint's
 * @fn: the function
 * @tp: the tracepoint, while it calls
 */
struct sdp_hook {
	const char *name;
	void *fn;
	struct tracepoint *tp;
};

/* How long tracepoints stay on after they were last needed */
#define SDP_HOOK_IDLE	(60 * HZ)

/* hook.c */
int sdp_hook_on(struct sdp_hook *hook);
void sdp_hook_off(struct sdp_hook *hook);

/**
 * struct sdp_say - what a rule says; does not change
 * @verdict: SDP_RULE_*; SDP_RULE_NONE only to remove a rule
 * @calls: SDP_RULE_CONNECT, SDP_RULE_LISTEN
 * @ports: ranges of them; those that are not used are zero, all where every port will do
 */
struct sdp_say {
	u32 verdict;
	u32 calls;
	struct sdp_ports ports[SDP_RULE_PORTS];
};

/* rule.c */
u32 sdp_say_said(const struct sdp_say *say, u32 call, u16 port);
bool sdp_userns_below(const struct user_namespace *ns, const struct user_namespace *top);

/* tree.c */
int sdp_tree_set(const struct sdp_say *say);
u32 sdp_tree_said(u32 call, u16 port);

/* group.c */
int sdp_group_set(int fd, const struct sdp_say *say);
int sdp_user_set(uid_t uid, const struct sdp_say *say);
u32 sdp_group_said(const struct sock *sk, u32 call, u16 port);

/* mode.c */
void sdp_mode_attach(struct sock *sk, u32 said, bool connect);
void sdp_mode_over(struct sock *sk);

#endif /* _SDP_POLICY_H */
