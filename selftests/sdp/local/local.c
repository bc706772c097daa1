// SPDX-License-Identifier: GPL-2.0
/*
 * A transport between two ends on one host: connections to 127.0.0.0/8.
 *
 * It shows that transports work side by side, and that one needs no adapter.  Nothing gets
 * lost here and every end answers, so params->timeout_ms is not used.
 *
 * Sending copies the message into the first buffer that the peer has posted, or waits for
 * one.  A tasklet of each connection gives buffers back, and its work item tells the rest,
 * each one thing at a time: so nothing is told before a call has returned.
 *
 * Outside of local_lock is local_ports_sem, which is held for reading while a request is
 * handed up.  Two connected ends have a reference to
 * each other, which the first of them that closes drops with its own.
 */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/sdp_sock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "carry.h"
#include "local.h"
#include "transport/share.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: a transport within one host, for tests");
MODULE_LICENSE("GPL");

static char *name = "local";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "Of the transport");

static bool unread;
module_param(unread, bool, 0444);
MODULE_PARM_DESC(unread, "It cannot read the other end's memory");

/* A user that takes a page finds no memory for a new one. */
bool local_starved;

#define LOCAL_MAX_CONNS	1024

/* What the work item has to do, in this order. */
enum local_event {
	LOCAL_EV_CONNECT,
	LOCAL_EV_ESTABLISHED,
	LOCAL_EV_REJECTED,
	LOCAL_EV_DISCONNECTED,
};

/* A port listened on; local_ports_sem. */
struct local_port {
	struct list_head list;
	struct net *net;
	u16 port;
};

static const struct sdp_xprt_upcalls *local_up;
static struct sdp_xprt_dev local_dev;
static struct workqueue_struct *local_wq;
DEFINE_SPINLOCK(local_lock);
static DECLARE_RWSEM(local_ports_sem);
static LIST_HEAD(local_ports);
static atomic_long_t local_connected, local_messages;

/* --- a connection -------------------------------------------------------------- */

static void local_release(struct kref *ref)
{
	struct local_conn *conn = container_of(ref, struct local_conn, ref);

	put_net(conn->net);
	kfree(conn);
}

void local_put(struct local_conn *conn)
{
	kref_put(&conn->ref, local_release);
}

/* Has the work item do something; local_lock held. */
static void local_queue(struct local_conn *conn, enum local_event ev)
{
	if (conn->dead)
		return;
	__set_bit(ev, &conn->events);
	if (queue_work(local_wq, &conn->work))
		kref_get(&conn->ref);
}

/* Gives back soon what was posted; local_lock held. */
void local_done(struct local_conn *conn, struct local_op *op, int error)
{
	op->ev.error = error;
	list_move_tail(&op->node, &conn->done);
	tasklet_schedule(&conn->tasklet);
}

static void local_give_back(struct tasklet_struct *tasklet)
{
	struct local_conn *conn = from_tasklet(conn, tasklet, tasklet);
	struct sdp_xprt_event ev;
	struct local_op *op;

	for (;;) {
		spin_lock(&local_lock);
		op = list_first_entry_or_null(&conn->done, struct local_op, node);
		if (op) {
			list_del_init(&op->node);
			/* The user may free it as soon as it has it back. */
			ev = op->ev;
		}
		spin_unlock(&local_lock);
		if (!op)
			return;
		sdp_xprt_tell(conn->up, &conn->xc, &ev);
	}
}

/* local_lock held. */
static void local_flush(struct local_conn *conn)
{
	struct local_buf *buf, *next;

	list_for_each_entry_safe(buf, next, &conn->sends, op.node)
		local_done(conn, &buf->op, -ECANCELED);
	list_for_each_entry_safe(buf, next, &conn->recvs, op.node) {
		buf->xb.len = 0;
		local_done(conn, &buf->op, -ECANCELED);
	}
	conn->state = LOCAL_CLOSED;
}

/* Ends a connection, and the other end's with it; @reason is for one that asks. */
static void local_close(struct local_conn *conn, enum sdp_xprt_reject reason)
{
	struct local_conn *peer;
	bool asks;

	spin_lock_bh(&local_lock);
	local_flush(conn);
	peer = conn->peer;
	conn->peer = NULL;
	if (peer) {
		asks = peer->state == LOCAL_CONNECTING;
		peer->peer = NULL;
		peer->reason = reason;
		if (peer->state != LOCAL_CLOSED) {
			local_flush(peer);
			local_queue(peer, asks ? LOCAL_EV_REJECTED : LOCAL_EV_DISCONNECTED);
		}
	}
	spin_unlock_bh(&local_lock);
	if (peer) {
		local_put(peer);
		local_put(conn);
	}
}

static struct local_conn *local_alloc(struct net *net, work_func_t work,
				      const struct sdp_xprt_upcalls *up)
{
	struct local_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);

	if (!conn)
		return NULL;
	conn->xc.ops = &local_ops;
	conn->xc.dev = &local_dev;
	conn->up = up;
	kref_init(&conn->ref);
	conn->net = get_net(net);
	INIT_WORK(&conn->work, work);
	INIT_LIST_HEAD(&conn->sends);
	INIT_LIST_HEAD(&conn->recvs);
	INIT_LIST_HEAD(&conn->mems);
	INIT_LIST_HEAD(&conn->done);
	tasklet_setup(&conn->tasklet, local_give_back);
	return conn;
}

/* No more work begins. */
static void local_bury(struct local_conn *conn)
{
	spin_lock_bh(&local_lock);
	conn->dead = true;
	spin_unlock_bh(&local_lock);
}

/* One that is buried, and whose work is not running. */
static void local_end(struct local_conn *conn)
{
	local_close(conn, SDP_XPRT_REJECT_OTHER);
	/* It runs once more if there is something to give back. */
	tasklet_kill(&conn->tasklet);
	if (conn->charged)
		sdp_xprt_uncharge(&conn->xc);
	local_put(conn);
}

static void local_conn_destroy(struct sdp_xprt_conn *xc)
{
	struct local_conn *conn = local_conn(xc);

	local_bury(conn);
	/* An upcall may destroy: then the work is what runs this. */
	if (current_work() != &conn->work)
		flush_work(&conn->work);
	local_end(conn);
}

/* --- messages ------------------------------------------------------------------- */

/* Neither end can go on; local_lock held. */
void local_fail_both(struct local_conn *from, struct local_conn *to)
{
	local_flush(from);
	local_flush(to);
	local_queue(from, LOCAL_EV_DISCONNECTED);
	local_queue(to, LOCAL_EV_DISCONNECTED);
}

/* A message has a buffer at the other end; local_lock held. */
static int local_move_one(struct local_buf *send, struct local_buf *recv)
{
	int error = local_buf_fits(send, recv) ? 0 : -EMSGSIZE;

	if (!error && send->inv && !local_mem_end(recv->conn, send->key))
		error = -EREMOTEIO;
	recv->op.ev.invalidated = send->inv && !error;
	recv->op.ev.key = send->key;
	recv->xb.len = 0;
	if (!error)
		local_buf_copy(send, recv);
	return error;
}

/* Copies what has a buffer at the other end; local_lock held. */
static void local_move(struct local_conn *from, struct local_conn *to)
{
	struct local_buf *send, *recv;
	int error;

	while (!list_empty(&from->sends) && !list_empty(&to->recvs)) {
		send = list_first_entry(&from->sends, struct local_buf, op.node);
		recv = list_first_entry(&to->recvs, struct local_buf, op.node);
		error = local_move_one(send, recv);
		local_done(to, &recv->op, error);
		local_done(from, &send->op, error);
		if (error) {
			local_fail_both(from, to);
			return;
		}
		atomic_long_inc(&local_messages);
	}
}

int local_post(struct local_conn *conn, struct local_buf *buf)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&local_lock);
	if (conn->state == LOCAL_OPEN) {
		list_add_tail(&buf->op.node, &conn->sends);
		local_move(conn, conn->peer);
		ret = 0;
	}
	spin_unlock_bh(&local_lock);
	return ret;
}

static int local_post_gather(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb,
			     const struct bio_vec *pieces, unsigned int n)
{
	struct local_buf *buf = container_of(xb, struct local_buf, xb);

	if (n > xc->pieces)
		return -EINVAL;
	buf->inv = false;
	buf->n = n;
	memcpy(buf->pieces, pieces, n * sizeof(*pieces));
	return local_post(local_conn(xc), buf);
}

static int local_post_send(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	return local_post_gather(xc, xb, NULL, 0);
}

static int local_post_recv(struct sdp_xprt_conn *xc, struct sdp_xprt_buf *xb)
{
	struct local_buf *buf = container_of(xb, struct local_buf, xb);
	struct local_conn *conn = local_conn(xc);
	int ret = -ENOTCONN;

	spin_lock_bh(&local_lock);
	if (conn->state != LOCAL_CLOSED) {
		list_add_tail(&buf->op.node, &conn->recvs);
		if (conn->peer)
			local_move(conn->peer, conn);
		ret = 0;
	}
	spin_unlock_bh(&local_lock);
	return ret;
}

/* --- connecting ------------------------------------------------------------------ */

static bool local_loopback(const struct sockaddr_storage *ss, bool any)
{
	__be32 addr = ((const struct sockaddr_in *)ss)->sin_addr.s_addr;

	return ss->ss_family == AF_INET &&
	       (ipv4_is_loopback(addr) || (any && !addr));
}

static int local_route(struct net *net, struct sdp_xprt_params *params)
{
	struct sockaddr_in *src = (struct sockaddr_in *)&params->local;
	int lo = net->loopback_dev->ifindex;

	if (!local_loopback(&params->peer, false) || !local_loopback(&params->local, true) ||
	    (params->ifindex && params->ifindex != lo))
		return -EOPNOTSUPP;
	if (!src->sin_addr.s_addr)
		src->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	params->ifindex = lo;
	return 0;
}

/* Both ends are here. */
static bool local_takes(const struct net_device *dev)
{
	return dev->flags & IFF_LOOPBACK;
}

static void local_tell(struct local_conn *conn, enum sdp_xprt_event_type type, int error)
{
	struct sdp_xprt_event ev = {
		.type = type,
		.error = error,
		.reason = conn->reason,
		.pdata = conn->answer,
		.pdata_len = conn->answer_len,
	};

	sdp_xprt_tell(conn->up, &conn->xc, &ev);
}

/* It has not come about. */
static void local_fail(struct local_conn *conn, enum sdp_xprt_event_type type, int error)
{
	local_close(conn, SDP_XPRT_REJECT_OTHER);
	tasklet_kill(&conn->tasklet);
	local_tell(conn, type, error);
}

static void local_reject(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len)
{
	struct local_conn *conn = local_conn(xc), *peer;

	spin_lock_bh(&local_lock);
	peer = conn->peer;
	if (peer) {
		peer->answer_len = min_t(unsigned int, len, sizeof(peer->answer));
		memcpy(peer->answer, pdata, peer->answer_len);
	}
	spin_unlock_bh(&local_lock);
	local_close(conn, SDP_XPRT_REJECT_CONSUMER);
}

/* Makes the other end, whom the protocol asks whether it is wanted; local_ports_sem held. */
static int local_ask(struct local_conn *conn)
{
	struct local_conn *in = local_alloc(conn->net, conn->work.func, conn->up);
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_CONNECT_REQUEST,
		.net = conn->net,
		.ifindex = conn->params.ifindex,
		.local = &conn->params.peer,
		.peer = &conn->params.local,
		.pdata = conn->request,
		.pdata_len = conn->request_len,
	};

	if (!in)
		return -ENOMEM;
	kref_get(&conn->ref);
	kref_get(&in->ref);
	spin_lock_bh(&local_lock);
	in->state = LOCAL_REQUESTED;
	in->peer = conn;
	conn->peer = in;
	spin_unlock_bh(&local_lock);
	if (sdp_xprt_tell(conn->up, &in->xc, &ev)) {
		local_reject(&in->xc, NULL, 0);
		/* Its work has never begun: this runs in that of the end that asks. */
		local_bury(in);
		local_end(in);
	}
	return 0;
}

static struct local_port *local_find(struct net *net, u16 port)
{
	struct local_port *found;

	list_for_each_entry(found, &local_ports, list)
		if (found->port == port && net_eq(found->net, net))
			return found;
	return NULL;
}

/* What a connection has from its parameters. */
static int local_prepare(struct sdp_xprt_conn *xc, const struct sdp_xprt_params *params)
{
	struct local_conn *conn = local_conn(xc);
	int err = sdp_xprt_charge(xc, params, LOCAL_MAX_CONNS);

	conn->charged = !err;
	conn->recv_head = params->recv_head;
	xc->pieces = min(params->send_pieces, LOCAL_MAX_PIECES);
	xc->max_mem = params->rdma_depth ? LOCAL_MAX_MEM : 0;
	local_conn(xc)->spare = params->rdma_depth;
	return err;
}

static void local_do_connect(struct local_conn *conn)
{
	u16 port = conn->params.any_port ? 0 :
		   ntohs(((struct sockaddr_in *)&conn->params.peer)->sin_port);
	int err = local_prepare(&conn->xc, &conn->params);

	if (!err)
		err = conn->resolved(&conn->xc, conn->xc.ctx);
	if (!err) {
		conn->reason = SDP_XPRT_REJECT_NO_SERVICE;
		down_read(&local_ports_sem);
		err = local_find(conn->net, port) ? local_ask(conn) : -ECONNREFUSED;
		up_read(&local_ports_sem);
	}
	if (err)
		local_fail(conn, err == -ECONNREFUSED ? SDP_XPRT_REJECTED :
							SDP_XPRT_UNREACHABLE, err);
}

/* The earliest event that awaits the work, or -1. */
static int local_next(struct local_conn *conn)
{
	int ev = -1;

	spin_lock_bh(&local_lock);
	if (!conn->dead && conn->events) {
		ev = __ffs(conn->events);
		__clear_bit(ev, &conn->events);
	}
	spin_unlock_bh(&local_lock);
	return ev;
}

static void local_work(struct work_struct *work)
{
	struct local_conn *conn = container_of(work, struct local_conn, work);
	int ev;

	while ((ev = local_next(conn)) >= 0) {
		switch (ev) {
		case LOCAL_EV_CONNECT:
			local_do_connect(conn);
			break;
		case LOCAL_EV_ESTABLISHED:
			local_tell(conn, SDP_XPRT_ESTABLISHED, 0);
			break;
		case LOCAL_EV_REJECTED:
			local_fail(conn, SDP_XPRT_REJECTED, -ECONNREFUSED);
			break;
		case LOCAL_EV_DISCONNECTED:
			local_fail(conn, SDP_XPRT_DISCONNECTED, 0);
			break;
		}
	}
	local_put(conn);
}

static struct sdp_xprt_conn *local_conn_create(struct net *net, void *ctx)
{
	struct local_conn *conn = local_alloc(net, local_work, local_up);

	if (!conn)
		return ERR_PTR(-ENOMEM);
	conn->xc.ctx = ctx;
	return &conn->xc;
}

static int local_connect(struct sdp_xprt_conn *xc, const struct sdp_xprt_params *params,
			 int (*resolved)(struct sdp_xprt_conn *conn, void *ctx),
			 const void *pdata, unsigned int len)
{
	struct local_conn *conn = local_conn(xc);

	if (len > sizeof(conn->request))
		return -EINVAL;
	conn->params = *params;
	conn->resolved = resolved;
	memcpy(conn->request, pdata, len);
	conn->request_len = len;
	spin_lock_bh(&local_lock);
	conn->state = LOCAL_CONNECTING;
	local_queue(conn, LOCAL_EV_CONNECT);
	spin_unlock_bh(&local_lock);
	return 0;
}

static int local_accept(struct sdp_xprt_conn *xc, const void *pdata, unsigned int len)
{
	struct local_conn *conn = local_conn(xc), *peer;
	int ret = -ENOTCONN;

	if (len > sizeof(peer->answer))
		return -EINVAL;
	spin_lock_bh(&local_lock);
	peer = conn->peer;
	if (conn->state == LOCAL_REQUESTED && peer) {
		memcpy(peer->answer, pdata, len);
		peer->answer_len = len;
		conn->state = LOCAL_OPEN;
		peer->state = LOCAL_OPEN;
		local_queue(conn, LOCAL_EV_ESTABLISHED);
		local_queue(peer, LOCAL_EV_ESTABLISHED);
		atomic_long_inc(&local_connected);
		ret = 0;
	}
	spin_unlock_bh(&local_lock);
	return ret;
}

/* --- listening -------------------------------------------------------------------- */

static int local_listen(struct net *net, u16 number)
{
	struct local_port *port = kmalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return -ENOMEM;
	port->net = net;
	port->port = number;
	down_write(&local_ports_sem);
	list_add(&port->list, &local_ports);
	up_write(&local_ports_sem);
	return 0;
}

/* Waits for requests that are being handed up. */
static void local_unlisten(struct net *net, u16 number)
{
	struct local_port *port;

	down_write(&local_ports_sem);
	port = local_find(net, number);
	list_del(&port->list);
	up_write(&local_ports_sem);
	kfree(port);
}

static void local_show_stats(struct seq_file *seq)
{
	seq_printf(seq, "local_connected %ld\n", atomic_long_read(&local_connected));
	seq_printf(seq, "local_messages %ld\n", atomic_long_read(&local_messages));
}

/* --- the module -------------------------------------------------------------------- */

struct sdp_xprt_ops local_ops = {
	.owner		= THIS_MODULE,
	.by		= SDP_SOCK_BY_IB,
	.caps		= SDP_XPRT_CAPS,
	.max_msg	= LOCAL_MAX_MSG,
	.max_split	= LOCAL_MAX_SPLIT,
	.route		= local_route,
	.takes		= local_takes,
	.listen		= local_listen,
	.unlisten	= local_unlisten,
	.conn_create	= local_conn_create,
	.connect	= local_connect,
	.prepare	= local_prepare,
	.accept		= local_accept,
	.reject		= local_reject,
	.conn_destroy	= local_conn_destroy,
	.buf_alloc	= local_buf_alloc,
	.buf_free	= local_buf_free,
	.buf_take	= local_buf_take,
	.post_send	= local_post_send,
	.post_gather	= local_post_gather,
	.post_recv	= local_post_recv,
	.show_stats	= local_show_stats,
	.max_mem	= LOCAL_MAX_MEM,
	.mem_alloc	= local_mem_alloc,
	.mem_free	= local_mem_free,
	.invalidate	= local_invalidate,
	.post_read	= local_post_read,
	.post_write	= local_post_write,
	.post_send_inv	= local_post_send_inv,
};

/* Its requests are the client's. */
static void local_own(struct sdp_xprt_conn *xc)
{
	local_conn(xc)->up = &carry_up;
}

static bool local_want(enum carry_want want)
{
	WRITE_ONCE(local_starved, want == CARRY_NO_PAGE);
	return want != CARRY_NO_MAPPING;
}

static struct carry_via local_via(void)
{
	struct carry_via via = {
		.ops = &local_ops,
		.net = &init_net,
		.own = local_own,
		.want = local_want,
	};
	struct sockaddr_in *sin = (struct sockaddr_in *)&via.params.peer;

	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	via.params.local = via.params.peer;
	via.params.ifindex = LOOPBACK_IFINDEX;
	return via;
}

static int local_memory(char *text, const struct kernel_param *param)
{
	struct carry_via via = local_via();
	int at = memory_all(text, &via);

	return at < 0 ? at : local_try(text, at);
}

static const struct kernel_param_ops local_memory_ops = { .get = local_memory };
module_param_cb(memory, &local_memory_ops, NULL, 0400);
MODULE_PARM_DESC(memory, "Reading this tries the operations on memory");

static int local_carry(char *text, const struct kernel_param *param)
{
	struct carry_via via = local_via();
	int at;

	at = carry_all(text, &via);
	if (at < 0)
		return at;
	at = carry_tell(text, at, local_takes(init_net.loopback_dev),
			"by which device a connection might use it");
	return at + carry_held(text + at);
}

static const struct kernel_param_ops local_carry_ops = { .get = local_carry };
module_param_cb(carry, &local_carry_ops, NULL, 0400);
MODULE_PARM_DESC(carry, "Reading this tries how messages are carried");

static int __init local_init(void)
{
	int ret;

	local_ops.name = name;
	if (unread) {
		local_ops.caps &= ~SDP_XPRT_CAP_READ;
		local_ops.post_read = NULL;
	}
	sdp_xprt_dev_init(&local_dev);
	local_wq = alloc_workqueue("sdp_local", WQ_UNBOUND, 0);
	if (!local_wq)
		return -ENOMEM;
	ret = sdp_xprt_register(&local_ops, &local_up);
	if (ret)
		destroy_workqueue(local_wq);
	return ret;
}
module_init(local_init);

static void __exit local_exit(void)
{
	sdp_xprt_unregister(&local_ops);
	destroy_workqueue(local_wq);
}
module_exit(local_exit);
