// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_rdma.ko: connections of sdpdev over RoCE and iWARP, and over InfiniBand if it is told to.
 *
 * This file: the module, devices that come and go, and which step of a connection each of
 * its events leads to.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sdp_sock.h>

#include "transport/rdma/rdma.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: RDMA transport, by the kernel's rdma_cm");
MODULE_LICENSE("GPL");
MODULE_VERSION(PROJECT_VERSION);

/* --- devices ---------------------------------------------------------------- */

static struct ib_client sdp_rdma_client;
static const struct sdp_xprt_ops sdp_rdma_ops;

static int sdp_rdma_add(struct ib_device *device)
{
	struct sdp_rdma_dev *dev;
	struct sdp_rc_dev *rc;

	rc = sdp_rc_dev_new(&sdp_rdma_kind, device);
	if (IS_ERR(rc))
		return PTR_ERR(rc);
	dev = sdp_rdma_dev(rc);
	sdp_rdma_dev_add(dev);
	ib_set_client_data(device, &sdp_rdma_client, dev);
	sdp_rc_dev_tell(rc);
	sdp_rdma_kind.up->changed(&sdp_rdma_ops);
	return 0;
}

static void sdp_rdma_remove(struct ib_device *device, void *client_data)
{
	struct sdp_rdma_dev *dev = client_data;

	/* First no new connections, then an end to those there are. */
	sdp_rdma_dev_del(dev);
	sdp_rc_dev_end(&dev->rc);
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
	SDP_RC_STEPS,
};

static struct sdp_xprt_conn *sdp_rdma_conn_create(struct net *net, void *ctx)
{
	return sdp_rc_conn_create(&sdp_rdma_kind, net, ctx);
}

static const struct sdp_xprt_ops sdp_rdma_ops = {
	.owner		= THIS_MODULE,
	.name		= "rdma",
	.by		= SDP_SOCK_BY_RDMA,
	.names		= true,
	.route		= sdp_rdma_route,
	.takes		= sdp_rdma_takes,
	.listen		= sdp_rdma_listen,
	.unlisten	= sdp_rdma_unlisten,
	.conn_create	= sdp_rdma_conn_create,
	.show_stats	= sdp_rdma_show_stats,
	SDP_RC_OPS,
};

struct sdp_rc_kind sdp_rdma_kind = {
	.module		= KBUILD_MODNAME,
	.ports		= SDP_RC_PORTS_ETH,
	.ops		= &sdp_rdma_ops,
	.dev_size	= sizeof(struct sdp_rdma_dev),
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
	if (sdp_rdma_infiniband)
		sdp_rdma_kind.ports |= SDP_RC_PORTS_IB;
	return sdp_rc_start(&sdp_rdma_kind, &sdp_rdma_client);
}

static void __exit sdp_rdma_exit(void)
{
	sdp_rc_stop(&sdp_rdma_kind, &sdp_rdma_client);
}

module_init(sdp_rdma_init);
module_exit(sdp_rdma_exit);
