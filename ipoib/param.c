// SPDX-License-Identifier: GPL-2.0
/*
 * The module's parameters that more than one file reads.
 */
#include <linux/log2.h>
#include <linux/module.h>

#include "ipoib.h"

unsigned int ipoib_send_queue_size = IPOIB_DEFAULT_TX_RING;
module_param_named(send_queue_size, ipoib_send_queue_size, uint, 0444);
MODULE_PARM_DESC(send_queue_size, "Packets in the send ring (128 to 8192)");

unsigned int ipoib_recv_queue_size = IPOIB_DEFAULT_RX_RING;
module_param_named(recv_queue_size, ipoib_recv_queue_size, uint, 0444);
MODULE_PARM_DESC(recv_queue_size, "Buffers in the receive ring (16 to 8192)");

unsigned int ipoib_idle_timeout = 300;
module_param_named(idle_timeout, ipoib_idle_timeout, uint, 0644);
MODULE_PARM_DESC(idle_timeout,
		 "Seconds that an unused destination or connection is kept (1 to 86400)");

bool ipoib_enhanced = true;
module_param_named(enhanced, ipoib_enhanced, bool, 0444);
MODULE_PARM_DESC(enhanced, "Let the adapter's driver drive the interface where it can (Y)");

int ipoib_debug_level;
module_param_named(debug_level, ipoib_debug_level, int, 0644);
MODULE_PARM_DESC(debug_level, "Log events and paths if above 0");

int ipoib_mcast_debug_level;
module_param_named(mcast_debug_level, ipoib_mcast_debug_level, int, 0644);
MODULE_PARM_DESC(mcast_debug_level, "Log multicast joins if above 0");

#ifdef IPOIB_DEBUG_DATA
int ipoib_data_debug_level;
module_param_named(data_debug_level, ipoib_data_debug_level, int, 0644);
MODULE_PARM_DESC(data_debug_level, "Log every packet if above 0");

int ipoib_cm_data_debug_level;
module_param_named(cm_data_debug_level, ipoib_cm_data_debug_level, int, 0644);
MODULE_PARM_DESC(cm_data_debug_level, "Log every packet of a connection if above 0");
#endif

static unsigned int ipoib_ring_size(const char *name, unsigned int size,
				    unsigned int least)
{
	unsigned int fits = roundup_pow_of_two(clamp(size, least,
						     (unsigned int)IPOIB_MAX_RING));

	if (fits != size)
		pr_info(IPOIB_NAME ": %s is %u\n", name, fits);
	return fits;
}

void ipoib_param_init(void)
{
	ipoib_send_queue_size = ipoib_ring_size("send_queue_size",
						ipoib_send_queue_size,
						IPOIB_MIN_TX_RING);
	ipoib_recv_queue_size = ipoib_ring_size("recv_queue_size",
						ipoib_recv_queue_size,
						IPOIB_MIN_RX_RING);
}
