/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: what the driver asks the subnet administrator, what it hears,
 * and what it makes of it. Nothing here is called for every packet.
 *
 * An interface's name says which it is only together with its network
 * namespace, whose number (readlink /proc/self/ns/net) is in every event.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ipoib

#if !defined(_IPOIB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IPOIB_TRACE_H

#include <linux/tracepoint.h>
#include <net/net_namespace.h>

#include "ipoib.h"

TRACE_DEFINE_ENUM(IPOIB_FLUSH_NONE);
TRACE_DEFINE_ENUM(IPOIB_FLUSH_LIGHT);
TRACE_DEFINE_ENUM(IPOIB_FLUSH_NORMAL);
TRACE_DEFINE_ENUM(IPOIB_FLUSH_HEAVY);

#define show_ipoib_flush(level)						\
	__print_symbolic(level,						\
			 { IPOIB_FLUSH_NONE,	"none" },		\
			 { IPOIB_FLUSH_LIGHT,	"light" },		\
			 { IPOIB_FLUSH_NORMAL,	"normal" },		\
			 { IPOIB_FLUSH_HEAVY,	"heavy" })

/* Something about a destination that needs no more than its GID. */
DECLARE_EVENT_CLASS(ipoib_dest,

	TP_PROTO(const struct ipoib_dest *d),

	TP_ARGS(d),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
	),

	TP_fast_assign(
		strscpy(__entry->name, d->priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(d->priv->dev)->ns.inum;
		memcpy(__entry->gid, d->gid.raw, sizeof(d->gid.raw));
	),

	TP_printk("dev %s netns %u gid %pI6",
		  __entry->name, __entry->netns, __entry->gid)
);

#define DEFINE_IPOIB_DEST_EVENT(name)					\
	DEFINE_EVENT(ipoib_dest, name,					\
		     TP_PROTO(const struct ipoib_dest *d), TP_ARGS(d))

DEFINE_IPOIB_DEST_EVENT(ipoib_dest_create);
DEFINE_IPOIB_DEST_EVENT(ipoib_dest_idle);
DEFINE_IPOIB_DEST_EVENT(ipoib_dest_remove);
DEFINE_IPOIB_DEST_EVENT(ipoib_path_query);
DEFINE_IPOIB_DEST_EVENT(ipoib_mcast_leave);

/* As it comes, before it is checked; all 0 unless the status is. */
TRACE_EVENT(ipoib_path_answer,

	TP_PROTO(const struct ipoib_dest *d, int status,
		 struct sa_path_rec *rec),

	TP_ARGS(d, status, rec),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
		__field(int, status)
		__field(u32, dlid)
		__field(u8, sl)
		__field(u8, mtu)
		__field(u8, rate)
	),

	TP_fast_assign(
		strscpy(__entry->name, d->priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(d->priv->dev)->ns.inum;
		memcpy(__entry->gid, d->gid.raw, sizeof(d->gid.raw));
		__entry->status = status;
		__entry->dlid = status ? 0 : be32_to_cpu(sa_path_get_dlid(rec));
		__entry->sl = status ? 0 : rec->sl;
		__entry->mtu = status ? 0 : rec->mtu;
		__entry->rate = status ? 0 : rec->rate;
	),

	TP_printk("dev %s netns %u gid %pI6 status %d dlid 0x%04x sl %u mtu %u rate %u",
		  __entry->name, __entry->netns, __entry->gid, __entry->status,
		  __entry->dlid, __entry->sl, __entry->mtu, __entry->rate)
);

TRACE_EVENT(ipoib_path_fail,

	TP_PROTO(const struct ipoib_dest *d, int status, unsigned int tries),

	TP_ARGS(d, status, tries),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
		__field(int, status)
		__field(unsigned int, tries)
	),

	TP_fast_assign(
		strscpy(__entry->name, d->priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(d->priv->dev)->ns.inum;
		memcpy(__entry->gid, d->gid.raw, sizeof(d->gid.raw));
		__entry->status = status;
		__entry->tries = tries;
	),

	TP_printk("dev %s netns %u gid %pI6 status %d tries %u",
		  __entry->name, __entry->netns, __entry->gid, __entry->status,
		  __entry->tries)
);

TRACE_EVENT(ipoib_mcast_join,

	TP_PROTO(const struct ipoib_dest *d, u8 join_state),

	TP_ARGS(d, join_state),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
		__field(u8, join_state)
	),

	TP_fast_assign(
		strscpy(__entry->name, d->priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(d->priv->dev)->ns.inum;
		memcpy(__entry->gid, d->gid.raw, sizeof(d->gid.raw));
		__entry->join_state = join_state;
	),

	TP_printk("dev %s netns %u gid %pI6 join_state 0x%x",
		  __entry->name, __entry->netns, __entry->gid,
		  __entry->join_state)
);

/* -ENETRESET: the membership was lost. The rest is as in a path's answer. */
TRACE_EVENT(ipoib_mcast_answer,

	TP_PROTO(const struct ipoib_dest *d, int status,
		 const struct ib_sa_mcmember_rec *rec),

	TP_ARGS(d, status, rec),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
		__field(int, status)
		__field(u16, mlid)
		__field(u8, sl)
		__field(u8, mtu)
		__field(u8, rate)
	),

	TP_fast_assign(
		strscpy(__entry->name, d->priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(d->priv->dev)->ns.inum;
		memcpy(__entry->gid, d->gid.raw, sizeof(d->gid.raw));
		__entry->status = status;
		__entry->mlid = status ? 0 : be16_to_cpu(rec->mlid);
		__entry->sl = status ? 0 : rec->sl;
		__entry->mtu = status ? 0 : rec->mtu;
		__entry->rate = status ? 0 : rec->rate;
	),

	TP_printk("dev %s netns %u gid %pI6 status %d mlid 0x%04x sl %u mtu %u rate %u",
		  __entry->name, __entry->netns, __entry->gid, __entry->status,
		  __entry->mlid, __entry->sl, __entry->mtu, __entry->rate)
);

/* What is done, which may be more than an event asked for. */
TRACE_EVENT(ipoib_flush,

	TP_PROTO(const struct ipoib_dev *priv, int level),

	TP_ARGS(priv, level),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__field(int, level)
	),

	TP_fast_assign(
		strscpy(__entry->name, priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(priv->dev)->ns.inum;
		__entry->level = level;
	),

	TP_printk("dev %s netns %u level %s", __entry->name, __entry->netns,
		  show_ipoib_flush(__entry->level))
);

TRACE_EVENT(ipoib_carrier,

	TP_PROTO(const struct ipoib_dev *priv, bool on),

	TP_ARGS(priv, on),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__field(bool, on)
	),

	TP_fast_assign(
		strscpy(__entry->name, priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(priv->dev)->ns.inum;
		__entry->on = on;
	),

	TP_printk("dev %s netns %u %s", __entry->name, __entry->netns,
		  __entry->on ? "on" : "off")
);

/* An outgoing connection, or an incoming one. */
DECLARE_EVENT_CLASS(ipoib_conn,

	TP_PROTO(const struct ipoib_dev *priv, const union ib_gid *peer,
		 u32 qpn, int status),

	TP_ARGS(priv, peer, qpn, status),

	TP_STRUCT__entry(
		__array(char, name, IFNAMSIZ)
		__field(u32, netns)
		__array(u8, gid, sizeof(union ib_gid))
		__field(u32, qpn)
		__field(int, status)
	),

	TP_fast_assign(
		strscpy(__entry->name, priv->dev->name, IFNAMSIZ);
		__entry->netns = dev_net(priv->dev)->ns.inum;
		memcpy(__entry->gid, peer->raw, sizeof(peer->raw));
		__entry->qpn = qpn;
		__entry->status = status;
	),

	TP_printk("dev %s netns %u gid %pI6 qpn 0x%06x status %d",
		  __entry->name, __entry->netns, __entry->gid, __entry->qpn,
		  __entry->status)
);

#define DEFINE_IPOIB_CONN_EVENT(name)					\
	DEFINE_EVENT(ipoib_conn, name,					\
		     TP_PROTO(const struct ipoib_dev *priv,		\
			      const union ib_gid *peer, u32 qpn,	\
			      int status),				\
		     TP_ARGS(priv, peer, qpn, status))

DEFINE_IPOIB_CONN_EVENT(ipoib_conn_open);
DEFINE_IPOIB_CONN_EVENT(ipoib_conn_up);
DEFINE_IPOIB_CONN_EVENT(ipoib_conn_fail);
DEFINE_IPOIB_CONN_EVENT(ipoib_conn_close);
DEFINE_IPOIB_CONN_EVENT(ipoib_rx_conn_open);
DEFINE_IPOIB_CONN_EVENT(ipoib_rx_conn_close);

#endif /* _IPOIB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
