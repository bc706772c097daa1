// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_verbs.ko: what transports that stand on kernel verbs share.
 *
 * This file: the module, and the workqueue of all connections.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "transport/verbs/verbs.h"

MODULE_DESCRIPTION("Sockets Direct Protocol: what transports on kernel verbs share");
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");

struct workqueue_struct *sdp_rc_wq;
EXPORT_SYMBOL_GPL(sdp_rc_wq);

static int __init sdp_verbs_init(void)
{
	sdp_rc_wq = alloc_workqueue("sdp_verbs", WQ_UNBOUND, 0);
	return sdp_rc_wq ? 0 : -ENOMEM;
}

static void __exit sdp_verbs_exit(void)
{
	destroy_workqueue(sdp_rc_wq);
}

module_init(sdp_verbs_init);
module_exit(sdp_verbs_exit);
