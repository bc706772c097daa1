// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets become endpoints without being asked.
 *
 * The tracepoint inet_sock_set_state is on the way of every TCP socket to SYN_SENT and to
 * LISTEN.  The caller has the socket's lock there, no thread can wait in the socket for bytes
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

/*
 * What rules say of a socket that becomes TCP_SYN_SENT or TCP_LISTEN: a bit for each SDP_RULE_*.
 * Any context in which current makes the call; the caller holds rcu_read_lock().
 */
u32 sdp_attach_said(const struct sock *sk, int state)
{
	const struct inet_sock *inet = inet_sk(sk);
	u32 call = state == TCP_LISTEN ? SDP_RULE_LISTEN : SDP_RULE_CONNECT;
	u16 port = state == TCP_LISTEN ? inet->inet_num : ntohs(inet->inet_dport);
	u32 said = sdp_tree_said(call, port) | sdp_group_said(sk, call, port);

	return said | (READ_ONCE(sdp_net(sock_net(sk))->attach) ? BIT(SDP_RULE_MOVE) : 0);
}

/*
 * One of both ends may send nothing by TCP: this one can be found before the other one is there,
 * which then need not send by TCP either.
 */
static void sdp_attach_connected(struct sock *sk)
{
	struct sdp_sock *ss = sdp_sk(sk);

	if (ss && !ss->never)
		sdp_pair_join(ss, GFP_ATOMIC);
}

/*
 * The kernel's word for it is const, but the caller has the socket's lock.  SCTP and others come
 * by as well.  sdp_sock_attach() refuses the sockets of clients in the kernel, and of other ULPs.
 */
static void sdp_attach_look(void *data, const struct sock *sk, const int from, const int to)
{
	u32 said;

	if (sk->sk_protocol != IPPROTO_TCP && sk->sk_protocol != IPPROTO_MPTCP)
		return;
	if (from == TCP_SYN_SENT && to == TCP_ESTABLISHED && sdp_only_any())
		sdp_attach_connected((struct sock *)sk);
	if (to == TCP_CLOSE)
		sdp_mode_over((struct sock *)sk);
	if (from != TCP_CLOSE || (to != TCP_SYN_SENT && to != TCP_LISTEN))
		return;
	rcu_read_lock();
	said = sdp_attach_said(sk, to);
	rcu_read_unlock();
	sdp_mode_attach((struct sock *)sk, said, to == TCP_SYN_SENT);
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

static void sdp_attach_idle(struct work_struct *work);
static DECLARE_DELAYED_WORK(sdp_attach_work, sdp_attach_idle);

/* No caller of sdp_attach() has wanted the looks for a while. */
static void sdp_attach_idle(struct work_struct *work)
{
	mutex_lock(&sdp_attach_lock);
	if (!sdp_attach_users && sdp_only_any())
		schedule_delayed_work(&sdp_attach_work, SDP_HOOK_IDLE);
	else if (!sdp_attach_users)
		sdp_hook_off(&sdp_attach_hook);
	mutex_unlock(&sdp_attach_lock);
}

/*
 * Has sockets looked at as long as there is one of SDP_MODE_ONLY.  That one finds its other end
 * without the looks, too, but perhaps too late if the other end has another mode.  May sleep.
 */
void sdp_attach_only(void)
{
	mutex_lock(&sdp_attach_lock);
	if (sdp_attach_ready && !sdp_hook_on(&sdp_attach_hook) && !sdp_attach_users)
		mod_delayed_work(system_percpu_wq, &sdp_attach_work, SDP_HOOK_IDLE);
	mutex_unlock(&sdp_attach_lock);
}

/*
 * Has sockets looked at that connect or listen, as long as a caller wants it.  When the last one
 * wants it no more, the looks end SDP_HOOK_IDLE later.  May sleep.  With @on it can fail: -EAGAIN
 * while the module starts or ends.
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
		mod_delayed_work(system_percpu_wq, &sdp_attach_work, SDP_HOOK_IDLE);
	mutex_unlock(&sdp_attach_lock);
	return err;
}

/* From now on endpoints can be made. */
void sdp_attach_start(void)
{
	mutex_lock(&sdp_attach_lock);
	sdp_attach_ready = true;
	mutex_unlock(&sdp_attach_lock);
}

/* From now on none can be made, even if a caller of sdp_attach() still wants it. */
void sdp_attach_stop(void)
{
	mutex_lock(&sdp_attach_lock);
	sdp_attach_ready = false;
	sdp_hook_off(&sdp_attach_hook);
	mutex_unlock(&sdp_attach_lock);
	cancel_delayed_work_sync(&sdp_attach_work);
}
