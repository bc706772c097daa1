// SPDX-License-Identifier: GPL-2.0
/*
 * The module, and its device node.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "chan/chan.h"
#include "core/core.h"
#include "direct/direct.h"
#include "front/dev/dev.h"
#include "front/sock/sock.h"
#include "joined/joined.h"
#include "offload/net.h"
#include "transport/registry.h"

static struct miscdevice sdp_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "sdp",
	.fops	= &sdp_fops,
	.mode	= 0666,
};

static int __init sdp_init(void)
{
	int err;

	sdp_xprt_init(&sdp_events);
	err = sdp_count_init();
	if (err)
		return err;
	err = sdp_proc_init();
	if (err)
		goto err_count;
	err = sdp_net_init(sdp_attach);
	if (err)
		goto err_proc;
	err = sdp_sock_init();
	if (err)
		goto err_net;
	err = sdp_chan_start();
	if (err)
		goto err_sock;
	err = sdp_joined_start();
	if (err)
		goto err_chan;
	err = sdp_group_init();
	if (err)
		goto err_joined;
	/* The device takes rules as soon as it is there. */
	sdp_attach_start();
	err = misc_register(&sdp_misc);
	if (err)
		goto err_attach;
	/* Programs open direct sockets from here on, so nothing may fail behind it. */
	sdp_direct_init();
	pr_info("sdpdev: version " PROJECT_VERSION "\n");
	return 0;

err_attach:
	sdp_attach_stop();
	sdp_group_exit();
err_joined:
	sdp_joined_stop();
err_chan:
	sdp_chan_stop();
err_sock:
	sdp_sock_exit();
err_net:
	sdp_net_exit();
err_proc:
	sdp_proc_exit();
	sdp_frag_exit();
err_count:
	sdp_count_exit();
	return err;
}

/*
 * No file is open and no socket has the ULP (each pins the module), and no transport is registered
 * (each depends on it).
 */
static void __exit sdp_exit(void)
{
	sdp_direct_exit();
	misc_deregister(&sdp_misc);
	sdp_attach_stop();
	sdp_tree_exit();
	sdp_group_exit();
	sdp_sock_exit();
	sdp_joined_stop();
	sdp_chan_stop();
	sdp_net_exit();
	sdp_proc_exit();
	sdp_frag_exit();
	sdp_count_exit();
}

module_init(sdp_init);
module_exit(sdp_exit);

/* Without a transport no connection between two machines leaves TCP. */
MODULE_SOFTDEP("post: sdp_ib");
MODULE_DESCRIPTION("TCP sockets that move to RDMA or to memory of the host");
MODULE_VERSION(PROJECT_VERSION);
MODULE_LICENSE("GPL");
