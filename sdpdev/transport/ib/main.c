// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_ib.ko: connections of sdpdev over InfiniBand.
 *
 * This file: the module, devices that come and go, and which step of a connection each of
 * its events leads to.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "transport/ib/ib.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: InfiniBand transport");
MODULE_LICENSE("GPL");

/* --- devices ---------------------------------------------------------------- */

static struct ib_client sdp_ib_client;
static const struct sdp_xprt_ops sdp_ib_ops;

static void sdp_ib_dev_event(struct ib_event_handler *handler,
			     struct ib_event *event)
{
	struct sdp_ib_dev *dev = container_of(handler, struct sdp_ib_dev,
					      events);

	switch (event->event) {
	case IB_EVENT_DEVICE_FATAL:
		sdp_ib_conns_device_gone(dev);
		break;
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		sdp_ib_up->changed(&sdp_ib_ops);
		break;
	default:
		break;
	}
}

static bool sdp_ib_dev_usable(struct ib_device *device)
{
	u32 port;

	rdma_for_each_port(device, port)
		if (rdma_protocol_ib(device, port) &&
		    rdma_cap_ib_cm(device, port) &&
		    rdma_cap_ib_sa(device, port))
			return true;
	return false;
}

static int sdp_ib_add(struct ib_device *device)
{
	struct sdp_ib_dev *dev;
	int ret;

	if (!sdp_ib_dev_usable(device))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->device = device;
	INIT_LIST_HEAD(&dev->listeners);
	refcount_set(&dev->refs, 1);
	sdp_xprt_dev_init(&dev->xdev);
	init_completion(&dev->unused);
	dev->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(dev->pd)) {
		ret = PTR_ERR(dev->pd);
		kfree(dev);
		return ret;
	}
	INIT_IB_EVENT_HANDLER(&dev->events, device, sdp_ib_dev_event);
	ib_register_event_handler(&dev->events);
	sdp_ib_listen_dev(dev);
	ib_set_client_data(device, &sdp_ib_client, dev);
	return 0;
}

static void sdp_ib_remove(struct ib_device *device, void *client_data)
{
	struct sdp_ib_dev *dev = client_data;

	/* First no new connections, then an end to those there are. */
	sdp_ib_unlisten_dev(dev);
	ib_unregister_event_handler(&dev->events);
	sdp_ib_conns_device_gone(dev);
	sdp_ib_dev_put(dev);
	/* Again for a connection that was just ending, and was not known to be here. */
	do
		sdp_ib_up->gone(&sdp_ib_ops, &dev->xdev);
	while (!wait_for_completion_timeout(&dev->unused, HZ / 4));

	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

static struct ib_client sdp_ib_client = {
	.name = "sdp",
	.add = sdp_ib_add,
	.remove = sdp_ib_remove,
};

/* --- the steps of a connection --------------------------------------------- */

static void sdp_ib_conn_ended(struct sdp_ib_conn *conn)
{
	sdp_ib_conn_fail(conn, conn->error);
}

static void sdp_ib_conn_timed_out(struct sdp_ib_conn *conn)
{
	bool waiting;

	mutex_lock(&conn->mutex);
	waiting = conn->state == SDP_IB_RESOLVING ||
		  conn->state == SDP_IB_CONNECTING ||
		  conn->state == SDP_IB_ACCEPTED;
	mutex_unlock(&conn->mutex);

	if (waiting)
		sdp_ib_conn_fail(conn, -ETIMEDOUT);
}

static void sdp_ib_conn_device_gone(struct sdp_ib_conn *conn)
{
	static const struct sdp_xprt_event ev = {
		.type = SDP_XPRT_DEVICE_GONE,
		.error = -ENODEV,
	};
	enum sdp_ib_state was;

	sdp_ib_conn_close(conn, &was);
	sdp_ib_conn_event(conn, &ev);
}

static const sdp_ib_step sdp_ib_steps[SDP_IB_EV_NUM] = {
	[SDP_IB_EV_ADDR]	= sdp_ib_addr_resolved,
	[SDP_IB_EV_PATH]	= sdp_ib_path_resolved,
	[SDP_IB_EV_REPLY]	= sdp_ib_cm_reply,
	[SDP_IB_EV_READY]	= sdp_ib_cm_ready,
	[SDP_IB_EV_REJECTED]	= sdp_ib_cm_rejected,
	[SDP_IB_EV_END]		= sdp_ib_conn_ended,
	[SDP_IB_EV_TIMEOUT]	= sdp_ib_conn_timed_out,
	[SDP_IB_EV_GONE]	= sdp_ib_conn_device_gone,
};

/* --- the module ------------------------------------------------------------- */

static const struct sdp_xprt_ops sdp_ib_ops = {
	.owner		= THIS_MODULE,
	.name		= "ib",
	.caps		= SDP_XPRT_CAPS,
	.max_msg	= SDP_IB_MAX_BUF,
	.max_split	= SDP_IB_MAX_SPLIT,
	.route		= sdp_ib_route,
	.takes		= sdp_ib_takes,
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.conn_create	= sdp_ib_conn_create,
	.connect	= sdp_ib_connect,
	.prepare	= sdp_ib_prepare,
	.accept		= sdp_ib_accept,
	.reject		= sdp_ib_reject,
	.conn_destroy	= sdp_ib_conn_destroy,
	.buf_alloc	= sdp_ib_buf_alloc,
	.buf_free	= sdp_ib_buf_free,
	.buf_take	= sdp_ib_buf_take,
	.post_send	= sdp_ib_post_send,
	.post_gather	= sdp_ib_post_gather,
	.post_recv	= sdp_ib_post_recv,
	.show_stats	= sdp_ib_show_stats,
	.max_mem	= SDP_IB_MAX_MEM,
	.mem_alloc	= sdp_ib_mem_alloc,
	.mem_free	= sdp_ib_mem_free,
	.invalidate	= sdp_ib_invalidate,
	.post_read	= sdp_ib_post_read,
	.post_write	= sdp_ib_post_write,
	.post_send_inv	= sdp_ib_post_send_inv,
};

static int __init sdp_ib_init(void)
{
	int ret;

	sdp_ib_wq = alloc_workqueue("sdp_ib", WQ_UNBOUND, 0);
	if (!sdp_ib_wq)
		return -ENOMEM;
	sdp_ib_conns_init(&sdp_ib_ops, sdp_ib_steps);
	ib_sa_register_client(&sdp_ib_sa);
	/*
	 * The protocol first: a device that is there may have a request for a
	 * port as soon as it is listened on.
	 */
	ret = sdp_xprt_register(&sdp_ib_ops, &sdp_ib_up);
	if (ret)
		goto err_sa;
	ret = ib_register_client(&sdp_ib_client);
	if (ret)
		goto err_xprt;
	return 0;

err_xprt:
	sdp_xprt_unregister(&sdp_ib_ops);
err_sa:
	ib_sa_unregister_client(&sdp_ib_sa);
	destroy_workqueue(sdp_ib_wq);
	return ret;
}

static void __exit sdp_ib_exit(void)
{
	sdp_xprt_unregister(&sdp_ib_ops);
	ib_unregister_client(&sdp_ib_client);
	ib_sa_unregister_client(&sdp_ib_sa);
	destroy_workqueue(sdp_ib_wq);
}

module_init(sdp_ib_init);
module_exit(sdp_ib_exit);
