// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by all connections: the devices, which interfaces are theirs, and the counters.
 */
#include <linux/if_arp.h>
#include <linux/moduleparam.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "transport/rdma/rdma.h"

unsigned int sdp_rdma_device_conns;
module_param_named(device_connections, sdp_rdma_device_conns, uint, 0644);
MODULE_PARM_DESC(device_connections,
		 "Connections of an adapter, at most; 0: all but an eighth of its queue pairs");

bool sdp_rdma_infiniband;
module_param_named(infiniband, sdp_rdma_infiniband, bool, 0444);
MODULE_PARM_DESC(infiniband, "Use InfiniBand, too, where sdp_ib is not loaded or does not take it");

static DEFINE_MUTEX(sdp_rdma_mutex);
static LIST_HEAD(sdp_rdma_devs);

/* --- counters --------------------------------------------------------------- */

atomic_long_t sdp_rdma_stats[SDP_RDMA_STAT_NUM];

static const char * const sdp_rdma_stat_names[] = {
	[SDP_RDMA_STAT_REQ_INVALID]		= "rdma_req_invalid",
	[SDP_RDMA_STAT_REQ_NO_INTERFACE]	= "rdma_req_no_interface",
	[SDP_RDMA_STAT_REQ_REFUSED]		= "rdma_req_refused",
	[SDP_RDMA_STAT_QP_ERRORS]		= "rdma_qp_errors",
};

/**
 * sdp_rdma_count() - count one
 * @stat: of these
 */
void sdp_rdma_count(enum sdp_rdma_stat stat)
{
	atomic_long_inc(&sdp_rdma_stats[stat]);
}

/**
 * sdp_rdma_show_stats() - struct sdp_xprt_ops.show_stats
 * @seq: where to
 */
void sdp_rdma_show_stats(struct seq_file *seq)
{
	int i;

	for (i = 0; i < SDP_RDMA_STAT_NUM; i++)
		seq_printf(seq, "%s %ld\n", sdp_rdma_stat_names[i],
			   atomic_long_read(&sdp_rdma_stats[i]));
}

/* --- devices ---------------------------------------------------------------- */

/**
 * sdp_rdma_dev_add() - a device has come
 * @dev: the device
 */
void sdp_rdma_dev_add(struct sdp_rdma_dev *dev)
{
	mutex_lock(&sdp_rdma_mutex);
	list_add_tail(&dev->list, &sdp_rdma_devs);
	mutex_unlock(&sdp_rdma_mutex);
}

/**
 * sdp_rdma_dev_del() - a device goes: sdp_rdma_dev_get() does not find it any more
 * @dev: the device
 */
void sdp_rdma_dev_del(struct sdp_rdma_dev *dev)
{
	mutex_lock(&sdp_rdma_mutex);
	list_del(&dev->list);
	mutex_unlock(&sdp_rdma_mutex);
}

/**
 * sdp_rdma_dev_get() - what rdma_cm calls so
 * @device: ib_core's
 *
 * Return: the device, referenced, or NULL.
 */
struct sdp_rc_dev *sdp_rdma_dev_get(const struct ib_device *device)
{
	struct sdp_rc_dev *found = NULL;
	struct sdp_rdma_dev *dev;

	mutex_lock(&sdp_rdma_mutex);
	list_for_each_entry(dev, &sdp_rdma_devs, list) {
		if (dev->rc.device != device)
			continue;
		refcount_inc(&dev->rc.refs);
		found = &dev->rc;
		break;
	}
	mutex_unlock(&sdp_rdma_mutex);
	return found;
}

/* --- interfaces ------------------------------------------------------------- */

/* An IPoIB interface has the GID of its port in its link-layer address. */
static bool sdp_rdma_ib_has(struct ib_device *device, const struct net_device *ndev)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	memcpy(&gid, ndev->dev_addr + SDP_RC_LLADDR_GID, sizeof(gid));
	attr = rdma_find_gid(device, &gid, IB_GID_TYPE_IB, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* Is one of a port's GIDs of that interface?  A VLAN, or a bond, has GIDs of its own there. */
static bool sdp_rdma_roce_has(struct ib_device *device, u32 port, const struct net_device *ndev)
{
	int n = device->port_data[port].immutable.gid_tbl_len;
	const struct ib_gid_attr *attr;
	bool has = false;
	int i;

	for (i = 0; i < n && !has; i++) {
		attr = rdma_get_gid_attr(device, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		has = rdma_read_gid_attr_ndev_rcu(attr) == ndev;
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
	}
	return has;
}

/* The one GID of an iWARP port does not name its interface, or a VLAN of that. */
static bool sdp_rdma_iwarp_has(struct ib_device *device, const struct net_device *ndev)
{
	struct net_device *real = rdma_vlan_dev_real_dev(ndev);
	struct ib_device *found;

	/* ib_core only looks for the pointer. */
	found = ib_device_get_by_netdev(real ? : (struct net_device *)ndev, device->ops.driver_id);
	if (found)
		ib_device_put(found);
	return found == device;
}

static bool sdp_rdma_dev_has(struct sdp_rdma_dev *dev, struct net *net,
			     const struct net_device *ndev)
{
	struct ib_device *device = dev->rc.device;
	u32 port;

	if (!rdma_dev_access_netns(device, net))
		return false;
	if (ndev->type == ARPHRD_INFINIBAND)
		return sdp_rdma_ib_has(device, ndev);
	rdma_for_each_port(device, port)
		if ((rdma_protocol_roce(device, port) && sdp_rdma_roce_has(device, port, ndev)) ||
		    (rdma_protocol_iwarp(device, port) && sdp_rdma_iwarp_has(device, ndev)))
			return true;
	return false;
}

static bool sdp_rdma_has_type(const struct net_device *ndev)
{
	return ndev->type == ARPHRD_ETHER ||
	       (ndev->type == ARPHRD_INFINIBAND && sdp_rdma_infiniband);
}

static int sdp_rdma_check(struct net *net, const struct net_device *ndev)
{
	struct sdp_rdma_dev *dev;
	bool has = false;

	if (!sdp_rdma_has_type(ndev))
		return -EOPNOTSUPP;
	mutex_lock(&sdp_rdma_mutex);
	list_for_each_entry(dev, &sdp_rdma_devs, list) {
		has = sdp_rdma_dev_has(dev, net, ndev);
		if (has)
			break;
	}
	mutex_unlock(&sdp_rdma_mutex);
	return has ? 0 : -EOPNOTSUPP;
}

bool sdp_rdma_takes(const struct net_device *ndev)
{
	return sdp_rdma_has_type(ndev) && !list_empty_careful(&sdp_rdma_devs);
}

/*
 * A Hello of direct SDP does not fit: only the service's port can be asked for, and there is a
 * service in the first namespace alone.
 */
int sdp_rdma_route(struct net *net, struct sdp_xprt_params *params)
{
	if (!params->any_port || !net_eq(net, &init_net))
		return -EOPNOTSUPP;
	return sdp_rc_route(net, params, sdp_rdma_check);
}
