// SPDX-License-Identifier: GPL-2.0
/*
 * /proc/net/sdp/direct: the sockets of a network namespace, for sdpstat.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <net/netns/generic.h>

#include "direct/direct.h"

/**
 * struct sdp_direct_net - the sockets of a namespace, from being made to being freed
 * @all: the sockets, by sdp_direct.all; each of them keeps the namespace
 * @lock: of @all; taken outside of sdp_direct.lock
 */
struct sdp_direct_net {
	struct hlist_head all;
	spinlock_t lock;	/* see above */
};

static unsigned int sdp_direct_net_id;

static struct sdp_direct_net *sdp_direct_net(const struct net *net)
{
	return net_generic(net, sdp_direct_net_id);
}

static int __net_init sdp_direct_net_init(struct net *net)
{
	spin_lock_init(&sdp_direct_net(net)->lock);
	return 0;
}

struct pernet_operations sdp_direct_net_ops = {
	.init	= sdp_direct_net_init,
	.id	= &sdp_direct_net_id,
	.size	= sizeof(struct sdp_direct_net),
};

/* Shows a socket from now on. */
void sdp_direct_list(struct sock *sk)
{
	struct sdp_direct_net *sockets = sdp_direct_net(sock_net(sk));

	spin_lock_bh(&sockets->lock);
	hlist_add_head(&sdp_direct(sk)->all, &sockets->all);
	spin_unlock_bh(&sockets->lock);
}

/* The reverse, after the last reference. */
void sdp_direct_unlist(struct sock *sk)
{
	struct sdp_direct_net *sockets = sdp_direct_net(sock_net(sk));

	spin_lock_bh(&sockets->lock);
	hlist_del(&sdp_direct(sk)->all);
	spin_unlock_bh(&sockets->lock);
}

static const char *sdp_direct_state_name(u8 state)
{
	switch (state) {
	case TCP_ESTABLISHED:
		return "ESTABLISHED";
	case TCP_SYN_SENT:
		return "SYN_SENT";
	case TCP_LISTEN:
		return "LISTEN";
	default:
		return "CLOSED";
	}
}

static const char *sdp_direct_mode_name(const struct sock *sk, u8 mode)
{
	static const char *const names[] = {
		[SDP_MODE_BUFFERED]	= "buffered",
		[SDP_MODE_COMBINED]	= "combined",
		[SDP_MODE_PIPELINED]	= "pipelined",
	};

	return sk->sk_state == TCP_ESTABLISHED ? names[mode] : "-";
}

static void sdp_direct_show_addr(struct seq_file *seq, const struct sockaddr_in *addr)
{
	if (addr->sin_port)
		seq_printf(seq, "%pISpc ", addr);
	else
		seq_puts(seq, "- ");
}

/* The lock of the list keeps a socket that is on its way to be freed. */
static void sdp_direct_show_one(struct seq_file *seq, struct sdp_direct *direct)
{
	struct sock *sk = &direct->sk;
	unsigned long inode = sock_i_ino(sk);

	spin_lock(&direct->lock);
	sdp_direct_show_addr(seq, &direct->local);
	sdp_direct_show_addr(seq, &direct->peer);
	seq_printf(seq, "%s %u %u %llu %llu %u %lu %llu %llu %llu %llu %s %s\n",
		   sdp_direct_state_name(sk->sk_state),
		   sdp_direct_unsent(direct), direct->readable, direct->tx_bytes,
		   direct->rx_bytes, from_kuid_munged(seq_user_ns(seq), sk->sk_uid),
		   inode, direct->tx_zcopy, direct->rx_zcopy, direct->tx_written,
		   direct->rx_written, sdp_direct_mode_name(sk, direct->tx_mode),
		   sdp_direct_mode_name(sk, direct->rx_mode));
	spin_unlock(&direct->lock);
}

static void *sdp_direct_seq_start(struct seq_file *seq, loff_t *pos)
	__acquires(&sdp_direct_net(seq_file_net(seq))->lock)
{
	struct sdp_direct_net *sockets = sdp_direct_net(seq_file_net(seq));

	spin_lock_bh(&sockets->lock);
	return seq_hlist_start_head(&sockets->all, *pos);
}

static void *sdp_direct_seq_next(struct seq_file *seq, void *v, loff_t *pos)
{
	return seq_hlist_next(v, &sdp_direct_net(seq_file_net(seq))->all, pos);
}

static void sdp_direct_seq_stop(struct seq_file *seq, void *v)
	__releases(&sdp_direct_net(seq_file_net(seq))->lock)
{
	spin_unlock_bh(&sdp_direct_net(seq_file_net(seq))->lock);
}

static int sdp_direct_seq_show(struct seq_file *seq, void *v)
{
	struct sdp_direct *direct = hlist_entry(v, struct sdp_direct, all);

	if (v == SEQ_START_TOKEN)
		seq_puts(seq, "local peer state tx_queue rx_queue tx_bytes rx_bytes uid inode tx_zcopy rx_zcopy tx_written rx_written tx_mode rx_mode\n");
	else
		sdp_direct_show_one(seq, direct);
	return 0;
}

/* As with /proc/net/tcp everybody may read it. */
const struct seq_operations sdp_direct_seq_ops = {
	.start	= sdp_direct_seq_start,
	.next	= sdp_direct_seq_next,
	.stop	= sdp_direct_seq_stop,
	.show	= sdp_direct_seq_show,
};
