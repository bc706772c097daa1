/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What owners may have of a transport's device: connections, and registrations of memory.
 * The transport counts them, by these functions of sdpdev.ko.
 */
#ifndef _SDP_TRANSPORT_SHARE_H
#define _SDP_TRANSPORT_SHARE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct sdp_xprt_conn;
struct sdp_xprt_params;

/**
 * struct sdp_xprt_share - how much of something that a device has is in use
 * @all: of all owners
 * @owners: how many of them each owner has, by struct sdp_xprt_params.owner
 */
struct sdp_xprt_share {
	u32 all;
	struct xarray owners;
};

/**
 * struct sdp_xprt_dev - a device of a transport
 * @lock: the counts; taken inside of every mutex of a transport
 * @conns: connections
 * @mems: registrations of memory
 *
 * Embedded in the transport's structure, and set up by sdp_xprt_dev_init().  Lives until
 * all of its connections have been destroyed, and freed.
 */
struct sdp_xprt_dev {
	struct mutex lock;	/* counts */
	struct sdp_xprt_share conns;
	struct sdp_xprt_share mems;
};

/**
 * sdp_xprt_dev_init() - set up a device, which has no connections
 * @dev: the device
 *
 * There is nothing to be undone once all of its connections have been uncharged.
 */
void sdp_xprt_dev_init(struct sdp_xprt_dev *dev);

/**
 * sdp_xprt_charge() - count a connection of a device, unless too few would be left
 * @conn: the connection, whose device is known
 * @params: whose share of the device it is
 * @most: how many connections the device may have
 *
 * Context: process context.
 * Return: zero, -EDQUOT, or -ENOBUFS.
 */
int sdp_xprt_charge(struct sdp_xprt_conn *conn, const struct sdp_xprt_params *params, u32 most);

/**
 * sdp_xprt_uncharge() - the reverse, once
 * @conn: a connection that has been charged
 *
 * Context: process context.
 */
void sdp_xprt_uncharge(struct sdp_xprt_conn *conn);

/**
 * sdp_xprt_charge_mem() - count a registration of memory, unless too few would be left
 * @conn: the connection that it is for, which has been charged
 * @most: how many the device may have
 *
 * Context: process context.
 * Return: zero, -EDQUOT, or -ENOBUFS.
 */
int sdp_xprt_charge_mem(struct sdp_xprt_conn *conn, u32 most);

/**
 * sdp_xprt_uncharge_mem() - the reverse
 * @conn: the connection, still charged or not
 * @n: how many of its registrations
 *
 * Context: process context.
 */
void sdp_xprt_uncharge_mem(struct sdp_xprt_conn *conn, u32 n);

#endif /* _SDP_TRANSPORT_SHARE_H */
