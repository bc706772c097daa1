// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_ib.ko: connections of sdpdev over InfiniBand.
 *
 * This file: the module, devices that come and go, and which step of a connection each of
 * its events leads to.
 */
#include <linux/init.h>
#include <linux/module.h>
#include <linux/sdp_sock.h>

#include "transport/ib/ib.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: InfiniBand transport");
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");

/* --- devices ---------------------------------------------------------------- */

static struct ib_client sdp_ib_client;
static const struct sdp_xprt_ops sdp_ib_ops;

static int sdp_ib_add(struct ib_device *device)
{
	struct sdp_ib_dev *dev;
	struct sdp_rc_dev *rc;

	rc = sdp_rc_dev_new(&sdp_ib_kind, device);
	if (IS_ERR(rc))
		return PTR_ERR(rc);
	dev = sdp_ib_dev(rc);
	INIT_LIST_HEAD(&dev->listeners);
	sdp_ib_listen_dev(dev);
	ib_set_client_data(device, &sdp_ib_client, dev);
	sdp_rc_dev_tell(rc);
	return 0;
}

static void sdp_ib_remove(struct ib_device *device, void *client_data)
{
	struct sdp_ib_dev *dev = client_data;

	/* First no new connections, then an end to those there are. */
	sdp_ib_unlisten_dev(dev);
	sdp_rc_dev_end(&dev->rc);
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
	SDP_RC_STEPS,
};

static struct sdp_xprt_conn *sdp_ib_conn_create(struct net *net, void *ctx)
{
	return sdp_rc_conn_create(&sdp_ib_kind, net, ctx);
}

static const struct sdp_xprt_ops sdp_ib_ops = {
	.owner		= THIS_MODULE,
	.name		= "ib",
	.by		= SDP_SOCK_BY_IB,
	.route		= sdp_ib_route,
	.takes		= sdp_ib_takes,
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.conn_create	= sdp_ib_conn_create,
	.show_stats	= sdp_ib_show_stats,
	SDP_RC_OPS,
};

struct sdp_rc_kind sdp_ib_kind = {
	.module		= KBUILD_MODNAME,
	.ports		= SDP_RC_PORTS_IB,
	.ops		= &sdp_ib_ops,
	.dev_size	= sizeof(struct sdp_ib_dev),
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
	ret = sdp_rc_start(&sdp_ib_kind, &sdp_ib_client);
	if (ret)
		ib_sa_unregister_client(&sdp_ib_sa);
	return ret;
}

static void __exit sdp_ib_exit(void)
{
	sdp_rc_stop(&sdp_ib_kind, &sdp_ib_client);
	ib_sa_unregister_client(&sdp_ib_sa);
}

module_init(sdp_ib_init);
module_exit(sdp_ib_exit);
