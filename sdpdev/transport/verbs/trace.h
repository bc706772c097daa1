/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoint of the transports: what happens to a connection, apart from its messages.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sdp_verbs

#if !defined(_SDP_VERBS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDP_VERBS_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "transport/verbs/verbs.h"

TRACE_DEFINE_ENUM(SDP_XPRT_CONNECT_REQUEST);
TRACE_DEFINE_ENUM(SDP_XPRT_ESTABLISHED);
TRACE_DEFINE_ENUM(SDP_XPRT_REJECTED);
TRACE_DEFINE_ENUM(SDP_XPRT_UNREACHABLE);
TRACE_DEFINE_ENUM(SDP_XPRT_DISCONNECTED);
TRACE_DEFINE_ENUM(SDP_XPRT_DEVICE_GONE);

#define show_sdp_rc_event(type)					\
	__print_symbolic(type,					\
			 { SDP_XPRT_CONNECT_REQUEST, "request" },	\
			 { SDP_XPRT_ESTABLISHED, "established" },	\
			 { SDP_XPRT_REJECTED, "rejected" },		\
			 { SDP_XPRT_UNREACHABLE, "unreachable" },	\
			 { SDP_XPRT_DISCONNECTED, "disconnected" },	\
			 { SDP_XPRT_DEVICE_GONE, "gone" })

/* What the protocol is told of a connection.  The device is "-" as long as it is not known. */
TRACE_EVENT_CONDITION(sdp_rc_event,
	TP_PROTO(const struct sdp_rc_conn *conn, const struct sdp_xprt_event *ev),
	TP_ARGS(conn, ev),
	TP_CONDITION(ev->type <= SDP_XPRT_DEVICE_GONE),
	TP_STRUCT__entry(
		__field(const void *, conn)
		__string(module, conn->kind->module)
		__array(char, device, IB_DEVICE_NAME_MAX)
		__field(u32, port)
		__array(u8, local, sizeof(struct sockaddr_in6))
		__array(u8, peer, sizeof(struct sockaddr_in6))
		__field(u32, type)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->conn = conn;
		compat_assign_str(module, conn->kind->module);
		/* A device may get another name meanwhile, of another length. */
		strscpy(__entry->device, sdp_rc_conn_device(conn), IB_DEVICE_NAME_MAX);
		__entry->port = conn->port;
		memcpy(__entry->local, &conn->local, sizeof(struct sockaddr_in6));
		memcpy(__entry->peer, &conn->peer, sizeof(struct sockaddr_in6));
		__entry->type = ev->type;
		__entry->error = ev->error;
	),
	TP_printk("conn=%p by=%s device=%s/%u local=%pISpc peer=%pISpc event=%s error=%d",
		  __entry->conn, __get_str(module), __entry->device, __entry->port,
		  __entry->local, __entry->peer, show_sdp_rc_event(__entry->type),
		  __entry->error)
);

#endif /* _SDP_VERBS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH transport/verbs
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
