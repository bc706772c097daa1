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
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");

/* --- devices ---------------------------------------------------------------- */

static struct ib_client sdp_ib_client;
static const struct sdp_xprt_ops sdp_ib_ops;

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
	INIT_LIST_HEAD(&dev->listeners);
	ret = sdp_rc_dev_init(&dev->rc, &sdp_ib_kind, device);
	if (ret) {
		kfree(dev);
		return ret;
	}
	sdp_ib_listen_dev(dev);
	ib_set_client_data(device, &sdp_ib_client, dev);
	return 0;
}

static void sdp_ib_remove(struct ib_device *device, void *client_data)
{
	struct sdp_ib_dev *dev = client_data;

	/* First no new connections, then an end to those there are. */
	sdp_ib_unlisten_dev(dev);
	sdp_rc_dev_exit(&dev->rc);
	kfree(dev);
}

static struct ib_client sdp_ib_client = {
	.name = "sdp",
	.add = sdp_ib_add,
	.remove = sdp_ib_remove,
};

/* --- the transport ---------------------------------------------------------- */

static const sdp_rc_step sdp_ib_steps[SDP_RC_EV_NUM] = {
	[SDP_RC_EV_ADDR]	= sdp_ib_addr_resolved,
	[SDP_RC_EV_PATH]	= sdp_ib_path_resolved,
	[SDP_RC_EV_REPLY]	= sdp_rc_replied,
	[SDP_RC_EV_READY]	= sdp_rc_ready,
	[SDP_RC_EV_REJECTED]	= sdp_rc_rejected,
	[SDP_RC_EV_END]		= sdp_rc_ended,
	[SDP_RC_EV_TIMEOUT]	= sdp_rc_timed_out,
	[SDP_RC_EV_GONE]	= sdp_rc_device_gone,
};

static struct sdp_xprt_conn *sdp_ib_conn_create(struct net *net, void *ctx)
{
	return sdp_rc_conn_create(&sdp_ib_kind, net, ctx);
}

static const struct sdp_xprt_ops sdp_ib_ops = {
	.owner		= THIS_MODULE,
	.name		= "ib",
	.caps		= SDP_XPRT_CAPS,
	.max_msg	= SDP_RC_MAX_BUF,
	.max_split	= SDP_RC_MAX_SPLIT,
	.route		= sdp_ib_route,
	.takes		= sdp_ib_takes,
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.conn_create	= sdp_ib_conn_create,
	.connect	= sdp_rc_connect,
	.prepare	= sdp_rc_prepare,
	.accept		= sdp_rc_accept,
	.reject		= sdp_rc_reject,
	.conn_destroy	= sdp_rc_conn_destroy,
	.buf_alloc	= sdp_rc_buf_alloc,
	.buf_free	= sdp_rc_buf_free,
	.buf_take	= sdp_rc_buf_take,
	.post_send	= sdp_rc_post_send,
	.post_gather	= sdp_rc_post_gather,
	.post_recv	= sdp_rc_post_recv,
	.show_stats	= sdp_ib_show_stats,
	.max_mem	= SDP_RC_MAX_MEM,
	.mem_alloc	= sdp_rc_mem_alloc,
	.mem_free	= sdp_rc_mem_free,
	.invalidate	= sdp_rc_invalidate,
	.post_read	= sdp_rc_post_read,
	.post_write	= sdp_rc_post_write,
	.post_send_inv	= sdp_rc_post_send_inv,
};

struct sdp_rc_kind sdp_ib_kind = {
	.module		= KBUILD_MODNAME,
	.ops		= &sdp_ib_ops,
	.conn_size	= sizeof(struct sdp_ib_conn),
	.steps		= sdp_ib_steps,
	.qp_errors	= &sdp_ib_stats[SDP_IB_STAT_QP_ERRORS],
	.most		= &sdp_ib_device_conns,
	.resolve	= sdp_ib_addr_resolve,
	.request	= sdp_ib_cm_request,
	.confirm	= sdp_ib_cm_confirm,
	.accept		= sdp_ib_cm_accept,
	.reject		= sdp_ib_cm_reject,
	.cancel		= sdp_ib_addr_cancel,
	.cm_destroy	= sdp_ib_cm_destroy,
	.qp_attr	= sdp_ib_cm_qp_attr,
};

/* --- the module ------------------------------------------------------------- */

static int __init sdp_ib_init(void)
{
	int ret;

	ib_sa_register_client(&sdp_ib_sa);
	/*
	 * The protocol first: a device that is there may have a request for a
	 * port as soon as it is listened on.
	 */
	ret = sdp_xprt_register(&sdp_ib_ops, &sdp_ib_kind.up);
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
	return ret;
}

static void __exit sdp_ib_exit(void)
{
	sdp_xprt_unregister(&sdp_ib_ops);
	ib_unregister_client(&sdp_ib_client);
	ib_sa_unregister_client(&sdp_ib_sa);
	sdp_rc_conns_flush();
}

module_init(sdp_ib_init);
module_exit(sdp_ib_exit);
