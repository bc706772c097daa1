// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A filter for the socket: what comes by the queue pair is not to come by the socket, too, as
 * it does from senders on this host. The kernel then frees it without a copy.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <arpa/inet.h>
#include <string.h>

#include "internal.h"

/* Where a packet of each family has its destination. */
#define DST4	(SKF_NET_OFF + 16)
#define DST6	(SKF_NET_OFF + 24)

static const struct sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
static const struct sock_filter take = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);

/* Drops what is sent to that address; a word that is another leads behind it. */
static size_t filter_add(struct sock_filter *f, const void *addr, unsigned int words,
			 uint32_t where)
{
	size_t n = 0;
	uint32_t word;
	unsigned int i;

	for (i = 0; i < words; i++) {
		memcpy(&word, (const char *)addr + 4 * i, sizeof(word));
		f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, where + 4 * i);
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(word),
						      0, 2 * (words - i) - 1);
	}
	f[n++] = drop;
	return n;
}

/* Only what this host sends, which the kernel loops back, is for an adopted socket. */
static size_t filter_loopback(struct sock_filter *f)
{
	f[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_B | BPF_ABS,
					    SKF_AD_OFF + SKF_AD_PKTTYPE);
	f[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_LOOPBACK, 0, 1);
	f[2] = take;
	return 3;
}

/* A program's socket has no filter where none of its groups needs one. */
static int filter_remove(const struct sdpmcast *e)
{
	int unused = 0;

	return setsockopt(e->sock, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) &&
	       errno != ENOENT ? -1 : 0;
}

/* Returns 0 or -1, with errno set: then no further group may come by the queue pair. */
int filter_set(const struct sdpmcast *e)
{
	bool v4 = e->family == AF_INET;
	struct sock_fprog prog = {};
	size_t n = 0, first;
	struct sock_filter *f;
	const struct group *g;
	int ret;

	f = calloc(BPF_MAXINSNS, sizeof(*f));
	if (!f)
		return -1;
	if (e->adopted)
		n = filter_loopback(f);
	first = n;
	for (g = e->groups; g; g = g->next) {
		if (!g->receives || g->way != SDPMCAST_QUEUE_PAIR)
			continue;
		if (n + 10 > BPF_MAXINSNS) {
			free(f);
			errno = ENOBUFS;
			return -1;
		}
		n += v4 ? filter_add(f + n, &((const struct sockaddr_in *)&g->addr)->sin_addr, 1,
				     DST4) :
			  filter_add(f + n, &((const struct sockaddr_in6 *)&g->addr)->sin6_addr,
				     4, DST6);
	}
	if (e->adopted && n == first) {
		free(f);
		return filter_remove(e);
	}
	f[n++] = take;
	prog.len = n;
	prog.filter = f;
	ret = setsockopt(e->sock, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
	free(f);
	return ret;
}
