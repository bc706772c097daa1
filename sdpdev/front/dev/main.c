// SPDX-License-Identifier: GPL-2.0
/*
 * The module: its parameters, the device node, counters.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "sdpdev.h"

unsigned int sdp_recv_bufs = 32;
unsigned int sdp_recv_size = 8192;
unsigned int sdp_send_bufs = 32;
unsigned int sdp_idle_bufs = 4;
unsigned int sdp_idle_ms = 10000;
unsigned int sdp_user_endpoints = 16384;
unsigned int sdp_user_conns = 8192;
unsigned int sdp_user_mib = 1024;
unsigned int sdp_user_share = 25;
unsigned int sdp_connect_ms = 15000;
unsigned int sdp_close_ms = 60000;

struct workqueue_struct *sdp_wq;

static atomic_long_t sdp_counters[SDP_CNT_MAX];

/**
 * sdp_count() - count an event
 * @which: the counter
 */
void sdp_count(enum sdp_counter which)
{
	atomic_long_inc(&sdp_counters[which]);
}

/**
 * sdp_counter() - what a counter has counted
 * @which: the counter
 */
long sdp_counter(enum sdp_counter which)
{
	return atomic_long_read(&sdp_counters[which]);
}

#define SDP_PARAM(name, var, min, max, desc)				\
	static int var ## _set(const char *val,				\
			       const struct kernel_param *kp)		\
	{								\
		return param_set_uint_minmax(val, kp, min, max);	\
	}								\
	static const struct kernel_param_ops var ## _ops = {		\
		.set = var ## _set,					\
		.get = param_get_uint,					\
	};								\
	module_param_cb(name, &var ## _ops, &var, 0644);		\
	MODULE_PARM_DESC(name, desc)

SDP_PARAM(recv_bufs, sdp_recv_bufs, 4, 1024,
	  "Receive buffers of a connection, at most");
SDP_PARAM(idle_bufs, sdp_idle_bufs, 4, 1024,
	  "Receive buffers of an idle connection");
SDP_PARAM(recv_size, sdp_recv_size, 1024, 65536,
	  "Bytes of a receive or send buffer, header included");
SDP_PARAM(send_bufs, sdp_send_bufs, 2, 1024,
	  "Send buffers of a connection, at most");
SDP_PARAM(connect_timeout, sdp_connect_ms, 100, 600000,
	  "Milliseconds that a connection may take before TCP is tried");
SDP_PARAM(close_timeout, sdp_close_ms, 100, 600000,
	  "Milliseconds that a closed connection may take to end");

SDP_PARAM(idle_time, sdp_idle_ms, 100, 600000,
	  "Milliseconds without stream bytes after which a connection is idle");

SDP_PARAM(user_endpoints, sdp_user_endpoints, 0, INT_MAX,
	  "Endpoints of a user, at most; root has no limits");
SDP_PARAM(user_connections, sdp_user_conns, 0, INT_MAX,
	  "Connections over SDP of a user, at most");
SDP_PARAM(user_memory, sdp_user_mib, 0, INT_MAX,
	  "MiB of buffers and rings of a user, at most");

SDP_PARAM(user_share, sdp_user_share, 1, 100,
	  "Percent of what an adapter has left that a user may have, at most");

static struct miscdevice sdp_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "sdp",
	.fops	= &sdp_fops,
	.mode	= 0666,
};

static int __init sdp_init(void)
{
	int err;

	sdp_wq = alloc_workqueue("sdp", WQ_UNBOUND, 0);
	if (!sdp_wq)
		return -ENOMEM;
	err = sdp_proc_init();
	if (err)
		goto err_wq;
	err = misc_register(&sdp_misc);
	if (err)
		goto err_proc;
	return 0;

err_proc:
	sdp_proc_exit();
err_wq:
	destroy_workqueue(sdp_wq);
	return err;
}

/*
 * No file is open (each pins the module) and no transport is registered (each
 * depends on it), so what is left are endpoints in the last steps of their end.
 */
static void __exit sdp_exit(void)
{
	misc_deregister(&sdp_misc);
	sdp_ep_wait_idle();
	destroy_workqueue(sdp_wq);
	sdp_proc_exit();
}

module_init(sdp_init);
module_exit(sdp_exit);

/* modprobe loads the transport too: without one every connection is TCP's. */
MODULE_SOFTDEP("post: sdp_ib");
MODULE_DESCRIPTION("Sockets Direct Protocol over a character device");
MODULE_LICENSE("GPL");
