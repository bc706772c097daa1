// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of what has happened, for /proc/net/sdp/snmp.
 */
#include <linux/atomic.h>

#include "core/core.h"

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
