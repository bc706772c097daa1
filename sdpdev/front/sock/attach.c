// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets become endpoints without being asked.
 *
 * The tracepoint inet_sock_set_state is on the way of every TCP socket to SYN_SENT and to
 * LISTEN.  The caller has the socket's lock there, nobody can wait in the socket for bytes
 * yet, and current is the process that connects or listens, or a thread of its io_uring.  So
 * it does not matter which language the program is written in, by which call it comes, or
 * what environment it has.
 */
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>

#include "front/sock/policy.h"
#include "offload/net.h"

static bool sdp_attach_wanted(const struct sock *sk, int state)
{
	const struct inet_sock *inet = inet_sk(sk);
	u32 call = state == TCP_LISTEN ? SDP_RULE_LISTEN : SDP_RULE_CONNECT;
	u16 port = state == TCP_LISTEN ? inet->inet_num : ntohs(inet->inet_dport);
	u32 tree = sdp_tree_verdict(call, port);
	u32 group;

	if (tree == SDP_RULE_NEVER)
		return false;
	group = sdp_group_verdict(sk, call, port);
	if (group == SDP_RULE_NEVER)
		return false;
	return tree == SDP_RULE_MOVE || group == SDP_RULE_MOVE ||
	       READ_ONCE(sdp_net(sock_net(sk))->attach);
}

/*
 * The kernel's word for it is const, but the caller has the socket's lock.  SCTP and others come
 * by as well.  sdp_sock_attach() refuses the sockets of clients in the kernel, and of other ULPs.
 */
static void sdp_attach_look(void *data, const struct sock *sk, const int from, const int to)
{
	bool wanted;

	if (from != TCP_CLOSE || (to != TCP_SYN_SENT && to != TCP_LISTEN) ||
	    sk->sk_protocol != IPPROTO_TCP)
		return;
	rcu_read_lock();
	wanted = sdp_attach_wanted(sk, to);
	rcu_read_unlock();
	if (wanted)
		sdp_sock_attach((struct sock *)sk);
}

static DEFINE_MUTEX(sdp_attach_lock);
/* Endpoints can be made; sdp_attach_lock */
static bool sdp_attach_ready;
/* Users that want sockets looked at; under sdp_attach_lock */
static unsigned int sdp_attach_users;
static struct sdp_hook sdp_attach_hook = {
	.name = "inet_sock_set_state",
	.fn = sdp_attach_look,
};

/* Nobody has wanted it for a while. */
static void sdp_attach_idle(struct work_struct *work)
{
	mutex_lock(&sdp_attach_lock);
	if (!sdp_attach_users)
		sdp_hook_off(&sdp_attach_hook);
	mutex_unlock(&sdp_attach_lock);
}

static DECLARE_DELAYED_WORK(sdp_attach_work, sdp_attach_idle);

/**
 * sdp_attach() - look at sockets that connect or listen, as long as somebody wants it
 * @on: the caller wants it, or does not any more
 *
 * When the last one wants it no more, the looks end only SDP_HOOK_IDLE later.
 *
 * Context: may sleep.
 * Return: zero; where @on a negative errno as well: -EAGAIN while the module starts.
 */
int sdp_attach(bool on)
{
	int err = 0;

	mutex_lock(&sdp_attach_lock);
	if (on && !sdp_attach_ready)
		err = -EAGAIN;
	else if (on)
		err = sdp_hook_on(&sdp_attach_hook);
	if (!err)
		sdp_attach_users += on ? 1 : -1;
	if (!sdp_attach_users && sdp_attach_ready)
		mod_delayed_work(system_wq, &sdp_attach_work, SDP_HOOK_IDLE);
	mutex_unlock(&sdp_attach_lock);
	return err;
}

/**
 * sdp_attach_start() - from now on endpoints can be made
 */
void sdp_attach_start(void)
{
	mutex_lock(&sdp_attach_lock);
	sdp_attach_ready = true;
	mutex_unlock(&sdp_attach_lock);
}

/**
 * sdp_attach_stop() - and from now on they cannot, whoever still wants it
 */
void sdp_attach_stop(void)
{
	mutex_lock(&sdp_attach_lock);
	sdp_attach_ready = false;
	sdp_hook_off(&sdp_attach_hook);
	mutex_unlock(&sdp_attach_lock);
	cancel_delayed_work_sync(&sdp_attach_work);
}
