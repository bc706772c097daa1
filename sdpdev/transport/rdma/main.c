// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_rdma.ko: connections of sdpdev over RoCE.
 *
 * This file: the module, devices that come and go, and which step of a connection each of
 * its events leads to.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "transport/rdma/rdma.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: RoCE transport");
MODULE_LICENSE("GPL");
MODULE_VERSION(PROJECT_VERSION);

/* --- devices ---------------------------------------------------------------- */

static struct ib_client sdp_rdma_client;
static const struct sdp_xprt_ops sdp_rdma_ops;

static bool sdp_rdma_dev_usable(struct ib_device *device)
{
	u32 port;

	rdma_for_each_port(device, port)
		if (rdma_protocol_roce(device, port))
			return true;
	rdma_for_each_port(device, port)
		if (rdma_protocol_iwarp(device, port))
			ibdev_info(device, "SDP does not use iWARP\n");
	return false;
}

static int sdp_rdma_add(struct ib_device *device)
{
	struct sdp_rdma_dev *dev;
	int ret;

	if (!sdp_rdma_dev_usable(device))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	ret = sdp_rc_dev_init(&dev->rc, &sdp_rdma_kind, device);
	if (ret) {
		kfree(dev);
		return ret;
	}
	if (!(device->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		ibdev_info(device, "no fast registration: SDP copies all bytes\n");
	sdp_rdma_dev_add(dev);
	ib_set_client_data(device, &sdp_rdma_client, dev);
	sdp_rdma_kind.up->changed(&sdp_rdma_ops);
	return 0;
}

static void sdp_rdma_remove(struct ib_device *device, void *client_data)
{
	struct sdp_rdma_dev *dev = client_data;

	/* First no new connections, then an end to those there are. */
	sdp_rdma_dev_del(dev);
	sdp_rc_dev_exit(&dev->rc);
	kfree(dev);
}

static struct ib_client sdp_rdma_client = {
	.name = "sdp_rdma",
	.add = sdp_rdma_add,
	.remove = sdp_rdma_remove,
};

/* --- the transport ---------------------------------------------------------- */

static void sdp_rdma_addr_step(struct sdp_rc_conn *conn)
{
	if (READ_ONCE(conn->state) == SDP_RC_REQUESTED)
		sdp_rdma_requested(conn);
	else
		sdp_rdma_addr_resolved(conn);
}

static const sdp_rc_step sdp_rdma_steps[SDP_RC_EV_NUM] = {
	[SDP_RC_EV_ADDR]	= sdp_rdma_addr_step,
	[SDP_RC_EV_PATH]	= sdp_rdma_path_resolved,
	[SDP_RC_EV_REPLY]	= sdp_rc_replied,
	[SDP_RC_EV_READY]	= sdp_rc_ready,
	[SDP_RC_EV_REJECTED]	= sdp_rc_rejected,
	[SDP_RC_EV_END]		= sdp_rc_ended,
	[SDP_RC_EV_TIMEOUT]	= sdp_rc_timed_out,
	[SDP_RC_EV_GONE]	= sdp_rc_device_gone,
};

static struct sdp_xprt_conn *sdp_rdma_conn_create(struct net *net, void *ctx)
{
	return sdp_rc_conn_create(&sdp_rdma_kind, net, ctx);
}

static const struct sdp_xprt_ops sdp_rdma_ops = {
	.owner		= THIS_MODULE,
	.name		= "rdma",
	.caps		= SDP_XPRT_CAPS,
	.names		= true,
	.max_msg	= SDP_RC_MAX_BUF,
	.max_split	= SDP_RC_MAX_SPLIT,
	.route		= sdp_rdma_route,
	.takes		= sdp_rdma_takes,
	.listen		= sdp_rdma_listen,
	.unlisten	= sdp_rdma_unlisten,
	.conn_create	= sdp_rdma_conn_create,
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
	.show_stats	= sdp_rdma_show_stats,
	.max_mem	= SDP_RC_MAX_MEM,
	.mem_alloc	= sdp_rc_mem_alloc,
	.mem_free	= sdp_rc_mem_free,
	.invalidate	= sdp_rc_invalidate,
	.post_read	= sdp_rc_post_read,
	.post_write	= sdp_rc_post_write,
	.post_send_inv	= sdp_rc_post_send_inv,
};

struct sdp_rc_kind sdp_rdma_kind = {
	.module		= KBUILD_MODNAME,
	.ops		= &sdp_rdma_ops,
	.conn_size	= sizeof(struct sdp_rdma_conn),
	.steps		= sdp_rdma_steps,
	.qp_errors	= &sdp_rdma_stats[SDP_RDMA_STAT_QP_ERRORS],
	.most		= &sdp_rdma_device_conns,
	.resolve	= sdp_rdma_resolve,
	.request	= sdp_rdma_request,
	.confirm	= sdp_rdma_confirm,
	.accept		= sdp_rdma_accept,
	.reject		= sdp_rdma_reject,
	.cancel		= sdp_rdma_cancel,
	.cm_destroy	= sdp_rdma_destroy,
	.qp_attr	= sdp_rdma_qp_attr,
};

/* --- the module ------------------------------------------------------------- */

static int __init sdp_rdma_init(void)
{
	int ret;

	/* As in sdp_ib. */
	ret = sdp_xprt_register(&sdp_rdma_ops, &sdp_rdma_kind.up);
	if (ret)
		return ret;
	ret = ib_register_client(&sdp_rdma_client);
	if (ret) {
		sdp_xprt_unregister(&sdp_rdma_ops);
		sdp_rc_conns_flush();
	}
	return ret;
}

static void __exit sdp_rdma_exit(void)
{
	sdp_xprt_unregister(&sdp_rdma_ops);
	ib_unregister_client(&sdp_rdma_client);
	sdp_rc_conns_flush();
}

module_init(sdp_rdma_init);
module_exit(sdp_rdma_exit);
