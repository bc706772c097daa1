/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the offload layer: a connection's sending direction moves, stays or comes back.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sdp

#if !defined(_SDP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SDP_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "offload/offload.h"

DECLARE_EVENT_CLASS(sdp_sock_way,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why),
	TP_ARGS(ss, why),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u16, family)
		__field(u16, sport)
		__field(u16, dport)
		__field(u32, moves)
		__string(why, sdp_stay_name(why))
	),
	TP_fast_assign(
		__entry->sk = ss->sk;
		__entry->family = ss->sk->sk_family;
		__entry->sport = ntohs(inet_sk(ss->sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(ss->sk)->inet_dport);
		__entry->moves = ss->moves;
		compat_assign_str(why, sdp_stay_name(why));
	),
	TP_printk("sk=%p family=%u sport=%u dport=%u moves=%u why=%s", __entry->sk,
		  __entry->family, __entry->sport, __entry->dport, __entry->moves,
		  __get_str(why))
);

/* The next bytes go by a pipe, or a carrier. */
DEFINE_EVENT(sdp_sock_way, sdp_sock_move,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why), TP_ARGS(ss, why));

/* They go by TCP again. */
DEFINE_EVENT(sdp_sock_way, sdp_sock_return,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why), TP_ARGS(ss, why));

/* They still go by TCP, for another reason than before. */
DEFINE_EVENT(sdp_sock_way, sdp_sock_stay,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why), TP_ARGS(ss, why));

/* No byte may go by TCP (SDP_MODE_ONLY), so the connection ends. */
DEFINE_EVENT(sdp_sock_way, sdp_sock_end,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why), TP_ARGS(ss, why));

/* A tool has asked for a better carrier, and this is why it stays with TCP, if it does. */
DEFINE_EVENT(sdp_sock_way, sdp_sock_ask,
	TP_PROTO(const struct sdp_sock *ss, enum sdp_stay why), TP_ARGS(ss, why));

/* A carrier that was asked for is not joined. */
TRACE_EVENT(sdp_sock_refused,
	TP_PROTO(const struct sdp_sock *ss, unsigned int why),
	TP_ARGS(ss, why),
	TP_STRUCT__entry(
		__field(const void *, sk)
		__field(u16, family)
		__field(u16, sport)
		__field(u16, dport)
		__string(why, sdp_refusal_name(why))
	),
	TP_fast_assign(
		__entry->sk = ss->sk;
		__entry->family = ss->sk->sk_family;
		__entry->sport = ntohs(inet_sk(ss->sk)->inet_sport);
		__entry->dport = ntohs(inet_sk(ss->sk)->inet_dport);
		compat_assign_str(why, sdp_refusal_name(why));
	),
	TP_printk("sk=%p family=%u sport=%u dport=%u why=%s", __entry->sk, __entry->family,
		  __entry->sport, __entry->dport, __get_str(why))
);

#endif /* _SDP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH offload
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
