// SPDX-License-Identifier: GPL-2.0
/*
 * Shared by all connections: the devices, the counters.
 */
#include <linux/moduleparam.h>
#include <linux/seq_file.h>
#include <rdma/ib_cache.h>

#include "transport/ib/ib.h"

unsigned int sdp_ib_device_conns;
module_param_named(device_connections, sdp_ib_device_conns, uint, 0644);
MODULE_PARM_DESC(device_connections,
		 "Connections of an adapter, at most; 0: all but an eighth of its queue pairs");

struct ib_sa_client sdp_ib_sa;

/* Guards the lists of devices, ports and listeners. */
DEFINE_MUTEX(sdp_ib_mutex);
LIST_HEAD(sdp_ib_devs);

/* --- counters --------------------------------------------------------------- */

atomic_long_t sdp_ib_stats[SDP_IB_STAT_NUM];

static const char * const sdp_ib_stat_names[] = {
	[SDP_IB_STAT_REQ_INVALID]	= "ib_req_invalid",
	[SDP_IB_STAT_REQ_NO_INTERFACE]	= "ib_req_no_interface",
	[SDP_IB_STAT_REQ_REFUSED]	= "ib_req_refused",
	[SDP_IB_STAT_PATH_INVALID]	= "ib_path_invalid",
	[SDP_IB_STAT_QP_ERRORS]		= "ib_qp_errors",
};

/**
 * sdp_ib_count() - count one
 * @stat: of these
 */
void sdp_ib_count(enum sdp_ib_stat stat)
{
	atomic_long_inc(&sdp_ib_stats[stat]);
}

/**
 * sdp_ib_show_stats() - struct sdp_xprt_ops.show_stats
 * @seq: where to
 */
void sdp_ib_show_stats(struct seq_file *seq)
{
	int i;

	for (i = 0; i < SDP_IB_STAT_NUM; i++)
		seq_printf(seq, "%s %ld\n", sdp_ib_stat_names[i],
			   atomic_long_read(&sdp_ib_stats[i]));
}

/* --- devices ---------------------------------------------------------------- */

/**
 * sdp_ib_dev_by_gid() - the device that has a port with this GID
 * @gid: the GID
 * @port: out: number of the port
 *
 * Return: the device, referenced, or NULL.
 */
struct sdp_ib_dev *sdp_ib_dev_by_gid(const union ib_gid *gid, u32 *port)
{
	struct sdp_ib_dev *dev, *found = NULL;
	const struct ib_gid_attr *attr;

	mutex_lock(&sdp_ib_mutex);
	list_for_each_entry(dev, &sdp_ib_devs, list) {
		attr = rdma_find_gid(dev->rc.device, gid, IB_GID_TYPE_IB, NULL);
		if (IS_ERR(attr))
			continue;
		*port = attr->port_num;
		rdma_put_gid_attr(attr);
		refcount_inc(&dev->rc.refs);
		found = dev;
		break;
	}
	mutex_unlock(&sdp_ib_mutex);
	return found;
}
