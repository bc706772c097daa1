// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool: the driver of the interface, the speed of the port, counters of lost packets, rings.
 */
#include <linux/ethtool.h>

#include "compat.h"
#include "ipoib.h"

static const char ipoib_counter_names[IPOIB_COUNTERS][ETH_GSTRING_LEN] = {
	[IPOIB_TX_BAD_FRAME]		= "tx_bad_frame",
	[IPOIB_TX_TOO_LONG]		= "tx_too_long",
	[IPOIB_TX_NO_DEST]		= "tx_no_dest",
	[IPOIB_TX_QUEUE_FULL]		= "tx_queue_full",
	[IPOIB_TX_UNREACHABLE]		= "tx_unreachable",
	[IPOIB_TX_RING_FULL]		= "tx_ring_full",
	[IPOIB_TX_NO_MEMORY]		= "tx_no_memory",
	[IPOIB_TX_POST_FAILED]		= "tx_post_failed",
	[IPOIB_TX_COMPLETION_ERROR]	= "tx_completion_error",
	[IPOIB_TX_LINK_DOWN]		= "tx_link_down",
	[IPOIB_TX_TIMEOUT]		= "tx_timeout",
	[IPOIB_TX_CONN_LOST]		= "tx_conn_lost",
	[IPOIB_RX_BAD_LENGTH]		= "rx_bad_length",
	[IPOIB_RX_NO_MEMORY]		= "rx_no_memory",
	[IPOIB_RX_COMPLETION_ERROR]	= "rx_completion_error",
	[IPOIB_RX_OWN_MULTICAST]	= "rx_own_multicast",
	[IPOIB_PATH_QUERIES]		= "path_queries",
	[IPOIB_PATH_FAILED]		= "path_failed",
	[IPOIB_PATH_BAD_RECORD]		= "path_bad_record",
	[IPOIB_MCAST_JOINS]		= "mcast_joins",
	[IPOIB_MCAST_JOIN_FAILED]	= "mcast_join_failed",
	[IPOIB_MCAST_BAD_RECORD]	= "mcast_bad_record",
	[IPOIB_MCAST_OFFLOADED]		= "mcast_offloaded",
	[IPOIB_CONN_OPENED]		= "conn_opened",
	[IPOIB_CONN_FAILED_TO_OPEN]	= "conn_failed",
	[IPOIB_CONN_LOST]		= "conn_lost",
	[IPOIB_CONN_ACCEPTED]		= "conn_accepted",
	[IPOIB_CONN_REFUSED]		= "conn_refused",
};

static void ipoib_get_drvinfo(struct net_device *dev,
			      struct ethtool_drvinfo *info)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	strscpy(info->driver, IPOIB_NAME, sizeof(info->driver));
	ib_get_device_fw_str(priv->hca, info->fw_version);
	strscpy(info->bus_info,
		dev_name(priv->hca->dev.parent ?: &priv->hca->dev),
		sizeof(info->bus_info));
}

/* What the kernel's driver shows here, in its order. */
static const struct {
	char name[ETH_GSTRING_LEN];
	size_t offset;
} ipoib_link_stats[] = {
#define LINK_STAT(name)	{ #name, offsetof(struct rtnl_link_stats64, name) }
	LINK_STAT(rx_packets),
	LINK_STAT(tx_packets),
	LINK_STAT(rx_bytes),
	LINK_STAT(tx_bytes),
	LINK_STAT(tx_errors),
	LINK_STAT(rx_dropped),
	LINK_STAT(tx_dropped),
	LINK_STAT(multicast),
#undef LINK_STAT
};

static int ipoib_get_sset_count(struct net_device *dev, int set)
{
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return ARRAY_SIZE(ipoib_link_stats) + IPOIB_COUNTERS;
}

static void ipoib_get_strings(struct net_device *dev, u32 set, u8 *data)
{
	int i;

	if (set != ETH_SS_STATS)
		return;
	for (i = 0; i < ARRAY_SIZE(ipoib_link_stats); i++)
		ethtool_sprintf(&data, ipoib_link_stats[i].name);
	memcpy(data, ipoib_counter_names, sizeof(ipoib_counter_names));
}

static void ipoib_get_ethtool_stats(struct net_device *dev,
				    struct ethtool_stats *stats, u64 *data)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct rtnl_link_stats64 link;
	int i;

	dev_get_stats(dev, &link);
	for (i = 0; i < ARRAY_SIZE(ipoib_link_stats); i++)
		*data++ = *(u64 *)((u8 *)&link + ipoib_link_stats[i].offset);
	for (i = 0; i < IPOIB_COUNTERS; i++)
		*data++ = atomic_long_read(&priv->counters[i]);
}

/* Megabits per second and lane, data rate where coding eats little of it. */
static int ipoib_lane_speed(u16 speed)
{
	switch (speed) {
	case IB_SPEED_SDR:
		return 2500;
	case IB_SPEED_DDR:
		return 5000;
	case IB_SPEED_QDR:
	case IB_SPEED_FDR10:
		return 10000;
	case IB_SPEED_FDR:
		return 14000;
	case IB_SPEED_EDR:
		return 25000;
	case IB_SPEED_HDR:
		return 50000;
	case IB_SPEED_NDR:
		return 100000;
	case IB_SPEED_XDR:
		return 200000;
	default:
		return 0;
	}
}

static int ipoib_get_link_ksettings(struct net_device *dev,
				    struct ethtool_link_ksettings *cmd)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	struct ib_port_attr attr;
	int lane, width;

	cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_UNKNOWN;
	cmd->base.autoneg = AUTONEG_ENABLE;
	cmd->base.port = PORT_OTHER;
	cmd->base.phy_address = 255;	/* there is none */
	if (!netif_carrier_ok(dev) ||
	    ib_query_port(priv->hca, priv->port, &attr))
		return 0;

	lane = ipoib_lane_speed(attr.active_speed);
	width = ib_width_enum_to_int(attr.active_width);
	if (lane > 0 && width > 0) {
		cmd->base.speed = lane * width;
		cmd->base.duplex = DUPLEX_FULL;
	}
	return 0;
}

static int ipoib_get_coalesce(struct net_device *dev,
			      struct ethtool_coalesce *coal,
			      struct kernel_ethtool_coalesce *kernel_coal,
			      struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	coal->rx_coalesce_usecs = priv->rx.usecs;
	coal->rx_max_coalesced_frames = priv->rx.frames;
	return 0;
}

/* Called under rtnl. CQs that are made later get the same. */
static int ipoib_set_coalesce(struct net_device *dev,
			      struct ethtool_coalesce *coal,
			      struct kernel_ethtool_coalesce *kernel_coal,
			      struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	u32 usecs = coal->rx_coalesce_usecs;
	u32 frames = coal->rx_max_coalesced_frames;
	int err;

	if (usecs > U16_MAX || frames > U16_MAX) {
		NL_SET_ERR_MSG(extack, "rx-usecs and rx-frames are at most 65535");
		return -EINVAL;
	}
	if (frames > 1 && !usecs) {
		NL_SET_ERR_MSG(extack, "without rx-usecs the last packets would wait for ever");
		return -EINVAL;
	}

	err = rdma_set_cq_moderation(priv->rx.cq, frames, usecs);
	if (!err) {
		err = ipoib_cm_moderate(priv, frames, usecs);
		if (err)
			rdma_set_cq_moderation(priv->rx.cq, priv->rx.frames, priv->rx.usecs);
	}
	if (err == -EOPNOTSUPP)
		NL_SET_ERR_MSG(extack, "the adapter has no interrupt moderation");
	else if (err)
		NL_SET_ERR_MSG(extack, "the adapter refuses these values");
	return err;
}

static void ipoib_get_ringparam(struct net_device *dev,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	ring->rx_max_pending = priv->max_ring;
	ring->tx_max_pending = ring->rx_max_pending;
	ring->rx_pending = priv->rx.size;
	ring->tx_pending = priv->tx_size;
}

/* Called under rtnl, with numbers within those that ipoib_get_ringparam() told. */
static int ipoib_set_ringparam(struct net_device *dev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	struct ipoib_dev *priv = ipoib_priv(dev);
	unsigned int rx, tx;
	int err;

	/* No cgroup is charged for received packets' pages: not for a namespace's root. */
	if (!capable(CAP_NET_ADMIN)) {
		NL_SET_ERR_MSG(extack, "only the machine's administrator may change the rings");
		return -EPERM;
	}
	if (ring->rx_pending < IPOIB_MIN_RX_RING ||
	    ring->tx_pending < IPOIB_MIN_TX_RING) {
		NL_SET_ERR_MSG(extack, "rx is at least 16, tx at least 128");
		return -EINVAL;
	}
	rx = roundup_pow_of_two(ring->rx_pending);
	tx = roundup_pow_of_two(ring->tx_pending);
	if (rx == priv->rx.size && tx == priv->tx_size)
		return 0;

	err = ipoib_resize(priv, rx, tx);
	if (err)
		NL_SET_ERR_MSG(extack, "the adapter has no room for such rings");
	return err;
}

static void ipoib_get_channels(struct net_device *dev,
			       struct ethtool_channels *channels)
{
	struct ipoib_dev *priv = ipoib_priv(dev);

	channels->max_rx = 1;
	channels->rx_count = 1;
	channels->max_tx = priv->tx_queues;
	channels->tx_count = dev->real_num_tx_queues;
}

/* Called under rtnl, with numbers within those that ipoib_get_channels() told. */
static int ipoib_set_channels(struct net_device *dev,
			      struct ethtool_channels *channels)
{
	int err;

	err = netif_set_real_num_tx_queues(dev, channels->tx_count);
	if (!err)
		ipoib_spread_tx(ipoib_priv(dev));
	return err;
}

/* Where the adapter's driver, which has the queues, has no operations of its own. */
const struct ethtool_ops ipoib_enhanced_ethtool_ops = {
	.get_drvinfo		= ipoib_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= ipoib_get_link_ksettings,
	.get_sset_count		= ipoib_get_sset_count,
	.get_strings		= ipoib_get_strings,
	.get_ethtool_stats	= ipoib_get_ethtool_stats,
};

const struct ethtool_ops ipoib_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_RX_USECS |
				     ETHTOOL_COALESCE_RX_MAX_FRAMES,
	.get_drvinfo		= ipoib_get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_link_ksettings	= ipoib_get_link_ksettings,
	.get_sset_count		= ipoib_get_sset_count,
	.get_strings		= ipoib_get_strings,
	.get_ethtool_stats	= ipoib_get_ethtool_stats,
	.get_coalesce		= ipoib_get_coalesce,
	.set_coalesce		= ipoib_set_coalesce,
	.get_ringparam		= ipoib_get_ringparam,
	.set_ringparam		= ipoib_set_ringparam,
	.get_channels		= ipoib_get_channels,
	.set_channels		= ipoib_set_channels,
};
