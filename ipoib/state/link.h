/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The link: up and down, the broadcast group that makes it, and what the stack sees of it.
 *
 * Locks: rtnl, in it ipoib_link.ctl, in that bcast_lock. No destination's work takes ctl, so
 * that its holder may wait for that work.
 */
#ifndef _IPOIB_LINK_H
#define _IPOIB_LINK_H

#include <linux/if_infiniband.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>

struct ipoib_dev;

/* How much an event invalidates; each level includes those before it. */
enum ipoib_flush {
	IPOIB_FLUSH_NONE,
	IPOIB_FLUSH_LIGHT,	/* paths may have changed: ask again */
	IPOIB_FLUSH_NORMAL,	/* the port was away: everything again but the QP */
	IPOIB_FLUSH_HEAVY,	/* P_Key or queue pair: down and up */
};

/**
 * struct ipoib_link - an interface's link
 * @ctl:	opening, stopping, flushing and the works exclude each other
 * @admin_up:	between ndo_open and ndo_stop; under @ctl
 * @up:		the queue pair works; written under @ctl
 * @mcast_short: there was no destination to be had for a group; under @ctl
 * @bcast_lock:	what follows down to @mcast_mtu, and the carrier; process context only
 * @addr:	the link-layer address; changed under @ctl as well
 * @bcast_ok:	@bcast holds the group's parameters
 * @bcast:	the broadcast group's record
 * @qkey:	from @bcast, for the transmit path
 * @mcast_mtu:	from @bcast: the IPoIB link's MTU
 * @admin_mtu:	what the administrator set; under rtnl
 * @announce:	peers are to be told of the address; under rtnl
 * @flush_level: enum ipoib_flush, asked for
 * @flush_work:	does it
 * @sync_work:	what needs rtnl; holds the netdev
 * @gc_work:	forgets destinations that are idle, and brings up what is to be up
 * @mcast_work:	follows the stack's list of groups, and their members
 */
struct ipoib_link {
	struct mutex ctl;	/* opening, stopping, flushing, the works */
	bool admin_up;
	bool up;
	bool mcast_short;

	spinlock_t bcast_lock;	/* down to mcast_mtu, and the carrier */
	u8 addr[INFINIBAND_ALEN];
	bool bcast_ok;
	struct ib_sa_mcmember_rec bcast;
	u32 qkey;
	unsigned int mcast_mtu;

	unsigned int admin_mtu;
	bool announce;

	atomic_t flush_level;
	struct work_struct flush_work;
	struct work_struct sync_work;
	struct delayed_work gc_work;
	struct delayed_work mcast_work;
};

/* For works that wait for no other work */
extern struct workqueue_struct *ipoib_wq;
/* For works that take ctl, whose holders wait for works of ipoib_wq */
extern struct workqueue_struct *ipoib_ctl_wq;
/* For works that take rtnl, one at a time; its holders wait for works of the other two */
extern struct workqueue_struct *ipoib_rtnl_wq;

/* work.c */
int ipoib_work_init(void);
void ipoib_work_exit(void);
void ipoib_flush(struct ipoib_dev *priv, enum ipoib_flush level);
void ipoib_sync(struct ipoib_dev *priv);

/* address.c */
extern const u8 ipoib_broadcast[INFINIBAND_ALEN];
void ipoib_make_address(struct ipoib_dev *priv);
void ipoib_get_address(struct ipoib_dev *priv, u8 *addr);
void ipoib_set_broadcast(struct ipoib_dev *priv);

/* link.c */
int ipoib_read_port(struct ipoib_dev *priv);
int ipoib_link_up(struct ipoib_dev *priv);
void ipoib_link_down(struct ipoib_dev *priv);
int ipoib_resize(struct ipoib_dev *priv, unsigned int rx_size,
		 unsigned int tx_size);
void ipoib_set_guid(struct ipoib_dev *priv, __be64 guid);
void ipoib_flush_work(struct work_struct *work);
void ipoib_event(struct ib_event_handler *handler, struct ib_event *event);
void ipoib_sync_work(struct work_struct *work);
void ipoib_gc_work(struct work_struct *work);

#endif /* _IPOIB_LINK_H */
