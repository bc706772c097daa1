// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/sdp: endpoints, direct sockets and counters, for people and for sdpstat.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "direct/direct.h"
#include "front/dev/dev.h"
#include "front/sock/sock.h"
#include "offload/offload.h"

static const char * const sdp_state_names[] = {
	[SDP_STATE_IDLE]	= "IDLE",
	[SDP_STATE_BOUND]	= "BOUND",
	[SDP_STATE_LISTEN]	= "LISTEN",
	[SDP_STATE_CONNECTING]	= "CONNECTING",
	[SDP_STATE_CONNECTED]	= "CONNECTED",
	[SDP_STATE_CLOSING]	= "CLOSING",
	[SDP_STATE_CLOSED]	= "CLOSED",
};

static const char * const sdp_carrier_names[] = {
	[SDP_CARRIER_NONE]	= "-",
	[SDP_CARRIER_SDP]	= "SDP",
	[SDP_CARRIER_TCP]	= "TCP",
};

static const char * const sdp_reason_names[] = {
	[SDP_REASON_NONE]		= "-",
	[SDP_REASON_PEER_ABORT]		= "peer_abort",
	[SDP_REASON_LOCAL_ABORT]	= "local_abort",
	[SDP_REASON_TRANSPORT]		= "transport",
	[SDP_REASON_DEVICE]		= "device",
	[SDP_REASON_NO_ROUTE]		= "no_route",
	[SDP_REASON_UNREACHABLE]	= "unreachable",
	[SDP_REASON_REFUSED]		= "refused",
	[SDP_REASON_BAD_HELLO]		= "bad_hello",
	[SDP_REASON_BAD_MESSAGE]	= "bad_message",
	[SDP_REASON_CREDITS]		= "credits",
	[SDP_REASON_SEQUENCE]		= "sequence",
	[SDP_REASON_RING]		= "ring",
	[SDP_REASON_NO_MEMORY]		= "no_memory",
	[SDP_REASON_LIMIT]		= "limit",
	[SDP_REASON_NO_TRANSPORT]	= "no_transport",
	[SDP_REASON_SIGNED]		= "signed",
	[SDP_REASON_FAMILY]		= "family",
	[SDP_REASON_POLICY]		= "policy",
};

static const char * const sdp_counter_names[SDP_CNT_MAX] = {
	[SDP_CNT_CONNECTED]		= "connected",
	[SDP_CNT_ACCEPTED]		= "accepted",
	[SDP_CNT_FALLBACKS]		= "fallbacks",
	[SDP_CNT_REFUSED_NO_LISTENER]	= "refused_no_listener",
	[SDP_CNT_REFUSED_BACKLOG]	= "refused_backlog",
	[SDP_CNT_REFUSED_BAD_HELLO]	= "refused_bad_hello",
	[SDP_CNT_LISTEN_FAILED]		= "listen_failed",
	[SDP_CNT_OVER_LIMIT]		= "over_limit",
	[SDP_CNT_RULE_LOST]		= "rule_lost",

	[SDP_CNT_REASON + SDP_REASON_PEER_ABORT]	= "ended_peer_abort",
	[SDP_CNT_REASON + SDP_REASON_LOCAL_ABORT]	= "ended_local_abort",
	[SDP_CNT_REASON + SDP_REASON_TRANSPORT]		= "ended_transport",
	[SDP_CNT_REASON + SDP_REASON_DEVICE]		= "ended_device",
	[SDP_CNT_REASON + SDP_REASON_BAD_MESSAGE]	= "ended_bad_message",
	[SDP_CNT_REASON + SDP_REASON_CREDITS]		= "ended_credits",
	[SDP_CNT_REASON + SDP_REASON_SEQUENCE]		= "ended_sequence",
	[SDP_CNT_REASON + SDP_REASON_RING]		= "ended_ring",
	[SDP_CNT_REASON + SDP_REASON_NO_MEMORY]		= "ended_no_memory",
	[SDP_CNT_REASON + SDP_REASON_LIMIT]		= "ended_limit",

	[SDP_CNT_UNTRIED + SDP_REASON_NO_ROUTE]		= "untried_no_route",
	[SDP_CNT_UNTRIED + SDP_REASON_UNREACHABLE]	= "untried_unreachable",
	[SDP_CNT_UNTRIED + SDP_REASON_NO_MEMORY]	= "untried_no_memory",
	[SDP_CNT_UNTRIED + SDP_REASON_LIMIT]		= "untried_limit",
	[SDP_CNT_UNTRIED + SDP_REASON_NO_TRANSPORT]	= "untried_no_transport",
	[SDP_CNT_UNTRIED + SDP_REASON_SIGNED]		= "untried_signed",
	[SDP_CNT_UNTRIED + SDP_REASON_FAMILY]		= "untried_family",
	[SDP_CNT_UNTRIED + SDP_REASON_POLICY]		= "untried_policy",

	[SDP_CNT_BAD + SDP_BAD_SHORT]		= "bad_short",
	[SDP_CNT_BAD + SDP_BAD_LEN]		= "bad_len",
	[SDP_CNT_BAD + SDP_BAD_MID]		= "bad_mid",
	[SDP_CNT_BAD + SDP_BAD_VERSION]		= "bad_version",
	[SDP_CNT_BAD + SDP_BAD_ADDR]		= "bad_addr",
	[SDP_CNT_BAD + SDP_BAD_SIZES]		= "bad_sizes",
	[SDP_CNT_BAD + SDP_BAD_FIELD]		= "bad_field",
	[SDP_CNT_BAD + SDP_BAD_TURN]		= "bad_turn",
	[SDP_CNT_BAD + SDP_BAD_MSEQ]		= "bad_mseq",
	[SDP_CNT_BAD + SDP_BAD_MSEQ_ACK]	= "bad_mseq_ack",
	[SDP_CNT_BAD + SDP_BAD_CREDITS]		= "bad_credits",
};

/**
 * sdp_state_name() - a state for people
 * @state: SDP_STATE_*
 */
const char *sdp_state_name(u32 state)
{
	return state < ARRAY_SIZE(sdp_state_names) ? sdp_state_names[state] : "?";
}

/**
 * sdp_carrier_name() - a carrier for people
 * @carrier: SDP_CARRIER_*
 */
const char *sdp_carrier_name(u32 carrier)
{
	return carrier < ARRAY_SIZE(sdp_carrier_names) ?
	       sdp_carrier_names[carrier] : "?";
}

static const char *sdp_reason_name(u32 reason)
{
	return reason < ARRAY_SIZE(sdp_reason_names) ? sdp_reason_names[reason] : "?";
}

static void sdp_seq_addr(struct seq_file *seq, const void *addr, u32 len)
{
	if (len)
		seq_printf(seq, " %pISpc", addr);
	else
		seq_puts(seq, " -");
}

static void sdp_seq_show_ep(struct seq_file *seq, struct sdp_ep *ep)
{
	struct user_namespace *ns = seq_user_ns(seq);
	/* Pairs with the release in sdp_native_attach(), by the address. */
	struct file *native = READ_ONCE(ep->tcp->file);
	struct sdp_info info = {};
	u64 rx_queued;

	sdp_ep_info(ep, &info);
	sdp_ep_lock(ep);
	rx_queued = ep->conn ? sdp_rx_avail(ep->conn) : 0;
	sdp_ep_unlock(ep);

	seq_printf(seq, "%llu", info.id);
	sdp_seq_addr(seq, &info.local, info.local_len);
	sdp_seq_addr(seq, &info.peer, info.peer_len);
	seq_printf(seq, " %s %s %llu %llu %llu %llu %u %llu %u %lu %ld %s\n",
		   sdp_state_name(info.state), sdp_carrier_name(info.carrier),
		   info.tx_bytes, info.rx_bytes, info.tx_msgs, info.rx_msgs,
		   info.tx_credits, rx_queued, from_kuid_munged(ns, ep->account.uid),
		   native ? file_inode(native)->i_ino : 0,
		   atomic_long_read(&ep->account.memory), sdp_reason_name(info.reason));
}

/*
 * The endpoint of this namespace with the least number that is not below @pos, which
 * becomes its number; referenced.
 */
static struct sdp_ep *sdp_seq_find(struct seq_file *seq, loff_t *pos)
{
	struct net *net = seq_file_net(seq);
	unsigned long id = *pos;
	struct sdp_ep *ep;

	while ((ep = sdp_ep_next(&id))) {
		if (sdp_ep_ready(ep) && net_eq(ep->net, net))
			break;
		sdp_ep_put(ep);
		id++;
	}
	*pos = id;
	return ep;
}

static void sdp_seq_stop(struct seq_file *seq, void *v)
{
	if (v && v != SEQ_START_TOKEN)
		sdp_ep_put(v);
}

/* A position in the file is an endpoint's number; the first line is before. */
static void *sdp_seq_start(struct seq_file *seq, loff_t *pos)
{
	return *pos ? sdp_seq_find(seq, pos) : SEQ_START_TOKEN;
}

static void *sdp_seq_next(struct seq_file *seq, void *v, loff_t *pos)
{
	sdp_seq_stop(seq, v);
	++*pos;
	return sdp_seq_find(seq, pos);
}

static int sdp_seq_show(struct seq_file *seq, void *v)
{
	if (v == SEQ_START_TOKEN)
		seq_puts(seq, "id local peer state carrier tx_bytes rx_bytes tx_msgs rx_msgs tx_credits rx_queued uid inode memory reason\n");
	else
		sdp_seq_show_ep(seq, v);
	return 0;
}

static const struct seq_operations sdp_seq_ops = {
	.start	= sdp_seq_start,
	.next	= sdp_seq_next,
	.stop	= sdp_seq_stop,
	.show	= sdp_seq_show,
};

/* Of TCP sockets with the ULP. */
static void sdp_snmp_sockets(struct seq_file *seq)
{
	unsigned int i;

	seq_printf(seq, "moved %ld\n", sdp_counter(SDP_CNT_MOVED));
	seq_printf(seq, "landed %ld\n", sdp_counter(SDP_CNT_LANDED));
	seq_printf(seq, "carrier_bad %ld\n", sdp_counter(SDP_CNT_LANE_BAD));
	seq_printf(seq, "carrier_reset %ld\n", sdp_counter(SDP_CNT_LANE_RESET));
	seq_printf(seq, "carrier_asked %ld\n", sdp_counter(SDP_CNT_ASKED));
	seq_printf(seq, "carrier_joined %ld\n", sdp_counter(SDP_CNT_JOINED));
	for (i = 0; sdp_refusal_name(i); i++)
		seq_printf(seq, "carrier_refused_%s %ld\n", sdp_refusal_name(i),
			   sdp_counter(SDP_CNT_REFUSED + i));
	seq_printf(seq, "tool_asked %ld\n", sdp_counter(SDP_CNT_TOOL));
	for (i = SDP_STAY_NOT + 1; i < SDP_STAY_MAX; i++) {
		seq_printf(seq, "stayed_%s %ld\n", sdp_stay_name(i),
			   sdp_counter(SDP_CNT_STAYED + i));
		seq_printf(seq, "returned_%s %ld\n", sdp_stay_name(i),
			   sdp_counter(SDP_CNT_RETURNED + i));
		seq_printf(seq, "only_%s %ld\n", sdp_stay_name(i),
			   sdp_counter(SDP_CNT_ONLY + i));
	}
}

static int sdp_snmp_show(struct seq_file *seq, void *v)
{
	unsigned int i;

	for (i = 0; i < SDP_CNT_MAX; i++)
		if (sdp_counter_names[i])
			seq_printf(seq, "%s %ld\n", sdp_counter_names[i],
				   sdp_counter(i));
	sdp_snmp_sockets(seq);
	seq_printf(seq, "rule_processes %u\n", sdp_tree_members());
	sdp_xprt_stats(seq);
	return 0;
}

static int __net_init sdp_net_init(struct net *net)
{
	struct proc_dir_entry *dir;

	dir = proc_net_mkdir(net, "sdp", net->proc_net);
	if (!dir)
		return -ENOMEM;
	if (!proc_create_net("endpoints", 0444, dir, &sdp_seq_ops,
			     sizeof(struct seq_net_private)) ||
	    !proc_create_net("direct", 0444, dir, &sdp_direct_seq_ops,
			     sizeof(struct seq_net_private)) ||
	    !proc_create_net_single("snmp", 0444, dir, sdp_snmp_show, NULL)) {
		remove_proc_subtree("sdp", net->proc_net);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit sdp_net_exit(struct net *net)
{
	remove_proc_subtree("sdp", net->proc_net);
}

static struct pernet_operations sdp_net_ops = {
	.init	= sdp_net_init,
	.exit	= sdp_net_exit,
};

/**
 * sdp_proc_init() - /proc/net/sdp in every network namespace
 *
 * Return: zero or a negative errno.
 */
int sdp_proc_init(void)
{
	return register_pernet_subsys(&sdp_net_ops);
}

/**
 * sdp_proc_exit() - the reverse
 */
void sdp_proc_exit(void)
{
	unregister_pernet_subsys(&sdp_net_ops);
}
