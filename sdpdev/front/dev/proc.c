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

/* Of TCP sockets with the ULP. */
static void sdp_snmp_sockets(struct seq_file *seq)
{
	unsigned int i;

	seq_printf(seq, "moved %ld\n", sdp_counter(SDP_CNT_MOVED));
	seq_printf(seq, "landed %ld\n", sdp_counter(SDP_CNT_LANDED));
	seq_printf(seq, "lent %ld\n", sdp_counter(SDP_CNT_LENT));
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
