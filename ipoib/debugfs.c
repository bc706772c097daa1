// SPDX-License-Identifier: GPL-2.0
/*
 * Three files for every interface in /sys/kernel/debug/ipoib: <name>_mcg lists
 * its multicast groups, <name>_path its unicast destinations, and <name>_conn its
 * connections, outgoing ones first.
 *
 * The readers walk the table of destinations under RCU, and hold one
 * destination's lock to look at it. What comes and goes between two reads of a
 * file may be missed or shown twice.
 *
 * debugfs knows no network namespaces. Where an interface of another namespace
 * has the plain name already, <name> is <interface>@<number of the namespace>.
 */
#include <linux/debugfs.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "ipoib.h"

/* A reader's position: the bucket, and below it the number in the bucket. */
#define IPOIB_POS_SHIFT		16
#define IPOIB_POS_MASK		((1 << IPOIB_POS_SHIFT) - 1)
static_assert(IPOIB_MAX_DESTS <= IPOIB_POS_MASK);

/* Names, colons and values take so many columns. */
#define IPOIB_COLUMNS		18

#define IPOIB_NAME_LEN		(IFNAMSIZ + sizeof("@4294967295"))
#define IPOIB_FILE_LEN		(IPOIB_NAME_LEN + sizeof("_path"))

static struct dentry *ipoib_debug_root;

/* --- walking ------------------------------------------------------------- */

/* The first destination that is not before @pos. */
static struct ipoib_dest *ipoib_table_seek(struct ipoib_dev *priv, loff_t *pos)
{
	unsigned int bucket = *pos >> IPOIB_POS_SHIFT;
	unsigned int skip = *pos & IPOIB_POS_MASK;
	struct ipoib_dest *d;

	for (; bucket < HASH_SIZE(priv->dests.table); bucket++) {
		unsigned int n = 0;

		hlist_for_each_entry_rcu(d, &priv->dests.table[bucket], hash) {
			if (n++ < skip)
				continue;
			*pos = ((loff_t)bucket << IPOIB_POS_SHIFT) | (n - 1);
			return d;
		}
		skip = 0;
	}
	*pos = (loff_t)bucket << IPOIB_POS_SHIFT;
	return NULL;
}

static void *ipoib_table_start(struct seq_file *s, loff_t *pos)
	__acquires(RCU)
{
	rcu_read_lock();
	return ipoib_table_seek(s->private, pos);
}

static void *ipoib_table_next(struct seq_file *s, void *v, loff_t *pos)
{
	++*pos;
	return ipoib_table_seek(s->private, pos);
}

static void ipoib_table_stop(struct seq_file *s, void *v)
	__releases(RCU)
{
	rcu_read_unlock();
}

/* --- showing ------------------------------------------------------------- */

/* What groups and paths have in common. */
struct ipoib_dest_info {
	bool complete;
	const char *state;
	u32 queued;
	int error;
};

/* Without a way, and with one. */
static const char * const ipoib_dest_names[IPOIB_DEST_STATES][2] = {
	[IPOIB_DEST_SETTLED]	= { "unknown", "ready" },
	[IPOIB_DEST_ASKING]	= { "resolving", "renewing" },
	[IPOIB_DEST_PAUSING]	= { "resolving", "renewing" },
	[IPOIB_DEST_FAILED]	= { "failed", "ready" },
	[IPOIB_DEST_DEAD]	= { "removed", "removed" },
};

/* Called under the destination's lock. */
static void ipoib_dest_look(struct ipoib_dest *d, struct ipoib_dest_info *info)
{
	info->complete = rcu_access_pointer(d->ah);
	info->queued = skb_queue_len(&d->queue);
	info->error = d->error;
	info->state = ipoib_dest_names[d->state][info->complete];
}

static void ipoib_show_gid(struct seq_file *s, const union ib_gid *gid)
{
	const __be16 *part = (const __be16 *)gid->raw;
	int i;

	seq_puts(s, "GID: ");
	for (i = 0; i < 8; i++)
		seq_printf(s, "%x%c", be16_to_cpu(part[i]), i < 7 ? ':' : '\n');
}

static void ipoib_show_text(struct seq_file *s, const char *name,
			    const char *value)
{
	seq_printf(s, "  %s:%*s\n", name, IPOIB_COLUMNS - (int)strlen(name),
		   value);
}

static void ipoib_show_number(struct seq_file *s, const char *name, long value)
{
	seq_printf(s, "  %s:%*ld\n", name, IPOIB_COLUMNS - (int)strlen(name),
		   value);
}

static void ipoib_show_lid(struct seq_file *s, const char *name, u32 lid)
{
	seq_printf(s, "  %s:%*s0x%04x\n", name,
		   IPOIB_COLUMNS - 6 - (int)strlen(name), "", lid);
}

static void ipoib_show_rate(struct seq_file *s, u8 rate)
{
	int mbps = ib_rate_to_mbps(rate);

	if (mbps > 0)
		seq_printf(s, "  rate:%*d.%d Gb/sec\n", IPOIB_COLUMNS - 6,
			   mbps / 1000, mbps % 1000 / 100);
}

static void ipoib_show_since(struct seq_file *s, const char *name,
			     unsigned long then)
{
	ipoib_show_number(s, name, (jiffies - then) / HZ);
}

static int ipoib_mcg_show(struct seq_file *s, void *v)
{
	struct ipoib_dest *d = v;
	struct ipoib_dest_info info;
	struct ipoib_mcast *m;
	bool listen;
	u16 mlid;

	if (!ipoib_gid_is_mcast(&d->gid))
		return SEQ_SKIP;
	m = ipoib_to_mcast(d);

	spin_lock_bh(&d->lock);
	ipoib_dest_look(d, &info);
	listen = m->listen;
	mlid = be16_to_cpu(m->rec.mlid);
	spin_unlock_bh(&d->lock);

	ipoib_show_gid(s, &d->gid);
	ipoib_show_number(s, "created", d->created);
	ipoib_show_number(s, "queuelen", info.queued);
	ipoib_show_text(s, "complete", info.complete ? "yes" : "no");
	ipoib_show_text(s, "send_only", listen ? "no" : "yes");
	if (listen) {
		ipoib_show_text(s, "attached", READ_ONCE(m->attached) ? "yes" : "no");
		ipoib_show_number(s, "members", READ_ONCE(m->members));
		ipoib_show_number(s, "claimed", READ_ONCE(m->claimed));
	}
	if (info.complete)
		ipoib_show_lid(s, "MLID", mlid);
	ipoib_show_text(s, "state", info.state);
	ipoib_show_number(s, "error", info.error);
	ipoib_show_since(s, "age", d->created);
	ipoib_show_since(s, "idle", READ_ONCE(d->last_used));
	seq_putc(s, '\n');
	return 0;
}

static void ipoib_show_path_rec(struct seq_file *s, struct sa_path_rec *rec)
{
	ipoib_show_lid(s, "DLID", be32_to_cpu(sa_path_get_dlid(rec)));
	ipoib_show_number(s, "SL", rec->sl);
	ipoib_show_rate(s, rec->rate);
}

static int ipoib_path_show(struct seq_file *s, void *v)
{
	struct ipoib_dest *d = v;
	struct ipoib_dest_info info;
	struct sa_path_rec rec;
	struct ipoib_path *p;
	unsigned int tries;

	if (ipoib_gid_is_mcast(&d->gid))
		return SEQ_SKIP;
	p = ipoib_to_path(d);

	spin_lock_bh(&d->lock);
	ipoib_dest_look(d, &info);
	ipoib_sa_path_rec(p, &rec);
	tries = p->tries;
	spin_unlock_bh(&d->lock);

	ipoib_show_gid(s, &d->gid);
	ipoib_show_text(s, "complete", info.complete ? "yes" : "no");
	if (info.complete)
		ipoib_show_path_rec(s, &rec);
	ipoib_show_number(s, "queuelen", info.queued);
	ipoib_show_text(s, "state", info.state);
	ipoib_show_number(s, "tries", tries);
	ipoib_show_number(s, "error", info.error);
	ipoib_show_since(s, "age", d->created);
	ipoib_show_since(s, "idle", READ_ONCE(d->last_used));
	seq_putc(s, '\n');
	return 0;
}

/* What outgoing and incoming connections have in common. */
struct ipoib_conn_info {
	const union ib_gid *gid;
	u32 qpn;
	const char *direction;
	const char *state;
	unsigned int mtu;
	u64 packets;
	u64 bytes;
	unsigned long created;
	unsigned long last_used;
};

static void ipoib_show_conn(struct seq_file *s,
			    const struct ipoib_conn_info *info)
{
	ipoib_show_gid(s, info->gid);
	seq_printf(s, "  QPN:%*s0x%06x\n", IPOIB_COLUMNS - 11, "", info->qpn);
	ipoib_show_text(s, "direction", info->direction);
	ipoib_show_text(s, "state", info->state);
	ipoib_show_number(s, "MTU", info->mtu);
	ipoib_show_number(s, "packets", info->packets);
	ipoib_show_number(s, "bytes", info->bytes);
	ipoib_show_since(s, "age", info->created);
	ipoib_show_since(s, "idle", info->last_used);
}

static void ipoib_show_tx_conn(struct seq_file *s, struct ipoib_conn *c)
{
	static const char * const states[] = {
		[IPOIB_CONN_IDLE]	= "idle",
		[IPOIB_CONN_OPENING]	= "opening",
		[IPOIB_CONN_UP]		= "up",
		[IPOIB_CONN_BROKEN]	= "broken",
		[IPOIB_CONN_FAILED]	= "failed",
	};
	struct ipoib_conn_info info = {
		.gid = &c->dest->gid, .qpn = c->qpn, .direction = "out",
		.created = c->created, .last_used = READ_ONCE(c->last_used),
	};
	unsigned int queued, sending, tries;

	spin_lock_bh(&c->lock);
	info.state = states[c->state];
	if (c->state == IPOIB_CONN_UP)
		info.mtu = c->max_len - IPOIB_ENCAP_LEN;
	info.packets = c->packets;
	info.bytes = c->bytes;
	queued = skb_queue_len(&c->queue);
	sending = c->head - c->tail;
	tries = c->tries;
	spin_unlock_bh(&c->lock);

	ipoib_show_conn(s, &info);
	ipoib_show_number(s, "queuelen", queued);
	ipoib_show_number(s, "sending", sending);
	ipoib_show_number(s, "tries", tries);
	seq_putc(s, '\n');
}

static void ipoib_conn_in_received(const struct ipoib_conn_in *c,
				   struct ipoib_conn_info *info)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&c->sync);
		info->packets = c->packets;
		info->bytes = c->bytes;
	} while (u64_stats_fetch_retry(&c->sync, start));
}

static void ipoib_show_conns_in(struct seq_file *s, struct ipoib_dev *priv)
{
	static const char * const states[] = {
		[IPOIB_IN_LIVE]		= "up",
		[IPOIB_IN_DOOMED]	= "broken",
		[IPOIB_IN_DYING]	= "closing",
		[IPOIB_IN_DRAINED]	= "closed",
	};
	struct ipoib_conn_in *c;
	int state;

	spin_lock_bh(&priv->cm.in_lock);
	for (state = 0; state < IPOIB_IN_STATES; state++) {
		list_for_each_entry(c, &priv->cm.in[state], node) {
			struct ipoib_conn_info info = {
				.gid = &c->gid, .qpn = c->qpn,
				.direction = "in", .state = states[state],
				.mtu = priv->cm.max_len - IPOIB_ENCAP_LEN,
				.created = c->created,
				.last_used = READ_ONCE(c->last_used),
			};

			ipoib_conn_in_received(c, &info);
			ipoib_show_conn(s, &info);
			seq_putc(s, '\n');
			/* It is called again, with more room. */
			if (seq_has_overflowed(s))
				break;
		}
	}
	spin_unlock_bh(&priv->cm.in_lock);
}

/* Behind the last destination come all incoming connections. */
static void *ipoib_conn_seek(struct seq_file *s, loff_t *pos)
{
	struct ipoib_dev *priv = s->private;
	const loff_t end = (loff_t)HASH_SIZE(priv->dests.table) << IPOIB_POS_SHIFT;

	if (*pos > end)
		return NULL;
	return ipoib_table_seek(priv, pos) ?: SEQ_START_TOKEN;
}

static void *ipoib_conn_start(struct seq_file *s, loff_t *pos)
	__acquires(RCU)
{
	rcu_read_lock();
	return ipoib_conn_seek(s, pos);
}

static void *ipoib_conn_next(struct seq_file *s, void *v, loff_t *pos)
{
	++*pos;
	return ipoib_conn_seek(s, pos);
}

static int ipoib_conn_show(struct seq_file *s, void *v)
{
	struct ipoib_dest *d = v;
	struct ipoib_conn *c;

	if (v == SEQ_START_TOKEN) {
		ipoib_show_conns_in(s, s->private);
		return 0;
	}
	if (ipoib_gid_is_mcast(&d->gid))
		return SEQ_SKIP;
	list_for_each_entry_rcu(c, &ipoib_to_path(d)->conns, node)
		ipoib_show_tx_conn(s, c);
	return 0;
}

static const struct seq_operations ipoib_conn_sops = {
	.start	= ipoib_conn_start,
	.next	= ipoib_conn_next,
	.stop	= ipoib_table_stop,
	.show	= ipoib_conn_show,
};
DEFINE_SEQ_ATTRIBUTE(ipoib_conn);

static const struct seq_operations ipoib_mcg_sops = {
	.start	= ipoib_table_start,
	.next	= ipoib_table_next,
	.stop	= ipoib_table_stop,
	.show	= ipoib_mcg_show,
};
DEFINE_SEQ_ATTRIBUTE(ipoib_mcg);

static const struct seq_operations ipoib_path_sops = {
	.start	= ipoib_table_start,
	.next	= ipoib_table_next,
	.stop	= ipoib_table_stop,
	.show	= ipoib_path_show,
};
DEFINE_SEQ_ATTRIBUTE(ipoib_path);

/* --- files --------------------------------------------------------------- */

static bool ipoib_debugfs_taken(const char *name)
{
	struct dentry *file;
	char path[IPOIB_FILE_LEN];

	snprintf(path, sizeof(path), "%s_mcg", name);
	file = debugfs_lookup(path, ipoib_debug_root);
	if (IS_ERR_OR_NULL(file))
		return false;
	dput(file);
	return true;
}

/* Waits for readers. Called under rtnl. */
static void ipoib_debugfs_remove(struct ipoib_dev *priv)
{
	debugfs_remove(priv->debug_mcg);
	debugfs_remove(priv->debug_path);
	debugfs_remove(priv->debug_conn);
	priv->debug_mcg = NULL;
	priv->debug_path = NULL;
	priv->debug_conn = NULL;
}

/* Called under rtnl. */
static void ipoib_debugfs_create(struct ipoib_dev *priv)
{
	char name[IPOIB_NAME_LEN], file[IPOIB_FILE_LEN];

	strscpy(name, priv->dev->name, sizeof(name));
	if (ipoib_debugfs_taken(name)) {
		snprintf(name, sizeof(name), "%s@%u", priv->dev->name,
			 dev_net(priv->dev)->ns.inum);
		if (net_ratelimit())
			netdev_info(priv->dev, "has the name of another namespace's interface; in debugfs it is %s\n",
				    name);
	}

	snprintf(file, sizeof(file), "%s_mcg", name);
	priv->debug_mcg = debugfs_create_file(file, 0444, ipoib_debug_root,
					      priv, &ipoib_mcg_fops);
	snprintf(file, sizeof(file), "%s_path", name);
	priv->debug_path = debugfs_create_file(file, 0444, ipoib_debug_root,
					       priv, &ipoib_path_fops);
	snprintf(file, sizeof(file), "%s_conn", name);
	priv->debug_conn = debugfs_create_file(file, 0444, ipoib_debug_root,
					       priv, &ipoib_conn_fops);
}

/* An interface that changes its namespace is unregistered and registered. */
static int ipoib_debugfs_event(struct notifier_block *nb, unsigned long event,
			       void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);

	if (!ipoib_is_ours(dev))
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_REGISTER:
	case NETDEV_CHANGENAME:
		ipoib_debugfs_remove(ipoib_priv(dev));
		ipoib_debugfs_create(ipoib_priv(dev));
		break;
	case NETDEV_UNREGISTER:
		ipoib_debugfs_remove(ipoib_priv(dev));
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_debugfs_notifier = {
	.notifier_call = ipoib_debugfs_event,
};

/* Called before there is an interface. The driver works without these files. */
void ipoib_debugfs_init(void)
{
	ipoib_debug_root = debugfs_create_dir("ipoib", NULL);
	if (register_netdevice_notifier(&ipoib_debugfs_notifier))
		pr_warn(IPOIB_NAME ": no files in debugfs\n");
}

/* Called after the last interface. */
void ipoib_debugfs_exit(void)
{
	unregister_netdevice_notifier(&ipoib_debugfs_notifier);
	debugfs_remove(ipoib_debug_root);
}
