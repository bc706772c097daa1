// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters: limits, which may be changed at any time.
 */
#include <linux/module.h>

#include "core/core.h"

unsigned int sdp_user_mib = 1024;
unsigned int sdp_user_share = 25;

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

SDP_PARAM(user_memory, sdp_user_mib, 0, INT_MAX,
	  "MiB of rings that a user's programs map, at most; root has no limit");
SDP_PARAM(user_share, sdp_user_share, 1, 100,
	  "Percent that a user may have: of the connections that others leave; of pipes' memory");
