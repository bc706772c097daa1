// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters: limits and times, which may be changed at any time.
 */
#include <linux/module.h>

#include "core/core.h"

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
