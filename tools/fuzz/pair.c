// SPDX-License-Identifier: GPL-2.0
/*
 * Connections with the standing listener: two slots each, over SDP or TCP, with rings
 * or without.  To make one takes as long as forty other calls, so an input has two at
 * most, and those that it leaves as good as new are kept for those that follow.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sdp.h>

#define PAIRS	2	/* of an input; each has two slots */
#define SPARES	8
#define USES	16	/* of a connection: options that were set stay */

struct pair {
	int fd[2];	/* the connecting end, the accepted one */
	uint64_t id[2];	/* of the endpoints, to tell whether they still are there */
	unsigned int slot, uses;
};

static struct pair made[PAIRS], spare[SPARES];
static unsigned int n_made, n_spare;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

unsigned long pairs_made, pairs_reused;

static bool connect_pair(struct pair *p, unsigned int flags, bool nonblock)
{
	struct sdp_connect connect = { .size = sizeof(connect), .flags = flags };
	struct sdp_accept accept = { .size = sizeof(accept) };
	struct pollfd poll_in = { .fd = listener, .events = POLLIN };

	accept.flags = nonblock ? SDP_ACCEPT_NONBLOCK : 0;
	connect.addr_len = endpoint_address(&connect.addr, 0);
	p->fd[0] = endpoint(AF_INET, 0, false);
	if (p->fd[0] < 0)
		return false;
	p->fd[1] = -1;
	wake_not(true);
	if (!ioctl(p->fd[0], SDP_IOC_CONNECT, &connect)) {
		poll(&poll_in, 1, 200);
		p->fd[1] = ioctl(listener, SDP_IOC_ACCEPT, &accept);
	}
	wake_not(false);
	p->uses = 0;
	pairs_made++;
	return true;
}

/* As the library does: both rings of an end, mapped from their beginning. */
static void map_rings(int fd, struct map *m, unsigned int order)
{
	struct sdp_ring_setup arg = {
		.size = sizeof(arg), .tx_bytes = SDP_RING_MIN << order,
		.rx_bytes = SDP_RING_MIN << order,
	};
	unsigned int i;

	if (fd < 0 || ioctl(fd, SDP_IOC_RING_SETUP, &arg))
		return;
	for (i = 0; i < 2; i++)
		map_at(&m[i], fd, arg.data_offset + (SDP_RING_MIN << order),
		       PROT_READ | PROT_WRITE, MAP_SHARED, i ? SDP_MMAP_RX_RING : SDP_MMAP_TX_RING);
}

static bool is_good(int fd, uint64_t *id)
{
	struct sdp_info info = { .size = sizeof(info) };

	if (ioctl(fd, SDP_IOC_INFO, &info) || info.state != SDP_STATE_CONNECTED ||
	    info.carrier != SDP_CARRIER_SDP || info.shutdown || info.error || info.tx_ring_bytes)
		return false;
	*id = info.id;
	return true;
}

void op_pair(struct worker *w)
{
	unsigned int a = w->r->a;
	struct pair p = {};
	bool fresh = false;

	w->nothing = true;
	if (pthread_mutex_trylock(&lock))
		return;
	if (n_made == PAIRS)
		goto out;
	if (n_spare && (a & 7) != 7) {
		p = spare[--n_spare];
		pairs_reused++;
	} else if (!connect_pair(&p, (a & 7) == 7 ? SDP_CONNECT_NO_SDP : 0, a & 8)) {
		goto out;
	} else {
		fresh = true;
	}
	w->nothing = !fresh;
	p.slot = w->r->slot & 2;
	if (a & 0x30)
		fcntl(p.fd[0], F_SETFL, O_NONBLOCK);
	if (!fresh && a & 8)
		fcntl(p.fd[1], F_SETFL, O_NONBLOCK);
	if (a >= 0xc0) {
		map_rings(p.fd[0], &maps[0], w->r->b & 3);
		map_rings(p.fd[1], &maps[2], w->r->b & 3);
	}
	slot_set(p.slot, p.fd[0]);
	slot_set(p.slot + 1, p.fd[1]);
	if (a < 0xc0 && is_good(p.fd[0], &p.id[0]) && is_good(p.fd[1], &p.id[1]))
		made[n_made] = p;
	else
		made[n_made].uses = USES;
	n_made++;
out:
	pthread_mutex_unlock(&lock);
}

static void empty(int fd)
{
	static char bytes[1 << 16];
	unsigned int i;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (i = 0; i < 64 && read(fd, bytes, sizeof(bytes)) > 0; i++)
		;
	fcntl(fd, F_SETFL, 0);
}

static bool is_as_new(const struct pair *p)
{
	uint64_t id[2];

	return p->uses < USES && slots[p->slot] == p->fd[0] && slots[p->slot + 1] == p->fd[1] &&
	       is_good(p->fd[0], &id[0]) && is_good(p->fd[1], &id[1]) &&
	       id[0] == p->id[0] && id[1] == p->id[1];
}

/* At an input's end. */
void pairs_keep(void)
{
	struct pair *p;

	for (p = made; p < made + n_made; p++) {
		if (n_spare == SPARES || !is_as_new(p))
			continue;
		slots[p->slot] = 0;
		slots[p->slot + 1] = 0;
		empty(p->fd[0]);
		empty(p->fd[1]);
		p->uses++;
		spare[n_spare++] = *p;
	}
	n_made = 0;
}

/* In a child: they are the parent's. */
void pairs_forget(void)
{
	n_made = PAIRS;
}
