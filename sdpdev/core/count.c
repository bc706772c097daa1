// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of what has happened, for /proc/net/sdp/snmp.
 */
#include <linux/atomic.h>

#include "core/core.h"

static atomic_long_t sdp_counters[SDP_CNT_MAX];

void sdp_count(enum sdp_counter which)
{
	atomic_long_inc(&sdp_counters[which]);
}

long sdp_counter(enum sdp_counter which)
{
	return atomic_long_read(&sdp_counters[which]);
}
