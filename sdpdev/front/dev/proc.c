// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/sdp: direct sockets and counters, for people and for sdpstat.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <net/net_namespace.h>

#include "core/core.h"
#include "direct/direct.h"
#include "front/dev/dev.h"
#include "front/sock/sock.h"
#include "offload/offload.h"
#include "sdp/wire.h"
#include "transport/registry.h"

static const char * const sdp_counter_names[SDP_CNT_MAX] = {
	[SDP_CNT_CONNECTED]		= "connected",
	[SDP_CNT_ACCEPTED]		= "accepted",
	[SDP_CNT_REFUSED_NO_LISTENER]	= "refused_no_listener",
	[SDP_CNT_REFUSED_BACKLOG]	= "refused_backlog",
	[SDP_CNT_REFUSED_BAD_HELLO]	= "refused_bad_hello",
	[SDP_CNT_LISTEN_FAILED]		= "listen_failed",
	[SDP_CNT_OVER_LIMIT]		= "over_limit",
	[SDP_CNT_ZCOPY_OFFERED]		= "zcopy_offered",
	[SDP_CNT_ZCOPY_CANCELLED]	= "zcopy_cancelled",
	[SDP_CNT_ZCOPY_READ]		= "zcopy_read",
	[SDP_CNT_ZCOPY_REFUSED]		= "zcopy_refused",
	[SDP_CNT_ZCOPY_UNPINNED]	= "zcopy_unpinned",
	[SDP_CNT_ZCOPY_INVITED]		= "zcopy_invited",
	[SDP_CNT_ZCOPY_UNINVITED]	= "zcopy_uninvited",
	[SDP_CNT_ZCOPY_WRITTEN]		= "zcopy_written",
	[SDP_CNT_ZCOPY_STALE]		= "zcopy_stale",
	[SDP_CNT_RULE_LOST]		= "rule_lost",

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

static void sdp_snmp_line(struct seq_file *seq, const char *name, const char *word,
			  enum sdp_counter which)
{
	seq_printf(seq, "%s%s %lu\n", name, word, sdp_counter(seq_file_single_net(seq), which));
}

/* Of TCP sockets with the ULP. */
static void sdp_snmp_sockets(struct seq_file *seq)
{
	unsigned int i;

	sdp_snmp_line(seq, "moved", "", SDP_CNT_MOVED);
	sdp_snmp_line(seq, "bytes_sent", "", SDP_CNT_SENT);
	sdp_snmp_line(seq, "bytes_received", "", SDP_CNT_RECEIVED);
	sdp_snmp_line(seq, "landed", "", SDP_CNT_LANDED);
	sdp_snmp_line(seq, "lent", "", SDP_CNT_LENT);
	sdp_snmp_line(seq, "carrier_bad", "", SDP_CNT_LANE_BAD);
	sdp_snmp_line(seq, "carrier_reset", "", SDP_CNT_LANE_RESET);
	sdp_snmp_line(seq, "carrier_asked", "", SDP_CNT_ASKED);
	sdp_snmp_line(seq, "carrier_joined", "", SDP_CNT_JOINED);
	for (i = 0; sdp_refusal_name(i); i++)
		sdp_snmp_line(seq, "carrier_refused_", sdp_refusal_name(i), SDP_CNT_REFUSED + i);
	sdp_snmp_line(seq, "tool_asked", "", SDP_CNT_TOOL);
	for (i = SDP_STAY_NOT + 1; i < SDP_STAY_MAX; i++) {
		sdp_snmp_line(seq, "stayed_", sdp_stay_name(i), SDP_CNT_STAYED + i);
		sdp_snmp_line(seq, "returned_", sdp_stay_name(i), SDP_CNT_RETURNED + i);
		sdp_snmp_line(seq, "only_", sdp_stay_name(i), SDP_CNT_ONLY + i);
	}
}

/* What is counted behind sdp_snmp_sockets() is the machine's. */
static int sdp_snmp_show(struct seq_file *seq, void *v)
{
	unsigned int i;

	for (i = 0; i < SDP_CNT_MAX; i++)
		if (sdp_counter_names[i])
			sdp_snmp_line(seq, sdp_counter_names[i], "", i);
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
	if (!proc_create_net("direct", 0444, dir, &sdp_direct_seq_ops,
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

int sdp_proc_init(void)
{
	return register_pernet_subsys(&sdp_net_ops);
}

void sdp_proc_exit(void)
{
	unregister_pernet_subsys(&sdp_net_ops);
}
