// SPDX-License-Identifier: GPL-2.0
/*
 * Connections with the standing listener: two slots each, over SDP or TCP, with rings
 * or without.  To make one takes as long as many other calls, so those that an input leaves
 * as good as new are kept for those that follow.  Most have a second descriptor here: what
 * the input closes does not end them.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sdp.h>

#define PAIRS	2	/* at a time; each has two slots */
#define RENEWALS 6	/* of an input, the first ones included */
#define SPARES	8	/* of each kind */
#define USES	32	/* of a connection: options that were set stay */

enum kind { PLAIN, RINGS, TCP, KINDS };

struct pair {
	int fd[2];	/* the connecting end, the accepted one */
	uint64_t id[2];	/* of the endpoints, to tell whether they still are there */
	enum kind kind;
	unsigned int uses;
	bool mine;	/* the descriptors are not those of the slots */
	bool there;
};

static struct pair made[PAIRS], spare[KINDS][SPARES];
static unsigned int n_made, n_spare[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

unsigned long pairs_made, pairs_reused;

static bool connect_pair(struct pair *p, bool nonblock)
{
	struct sdp_connect connect = {
		.size = sizeof(connect), .flags = p->kind == TCP ? SDP_CONNECT_NO_SDP : 0,
	};
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
	pairs_made++;
	return true;
}

/* As the library does: both rings of an end, mapped from their beginning. */
static void map_rings(int fd, struct map *m, unsigned int order)
{
	struct sdp_ring_setup setup = {
		.size = sizeof(setup), .tx_bytes = SDP_RING_MIN << order,
		.rx_bytes = SDP_RING_MIN << order,
	};
	struct sdp_info info = { .size = sizeof(info) };

	ioctl(fd, SDP_IOC_RING_SETUP, &setup);
	if (ioctl(fd, SDP_IOC_INFO, &info) || !info.tx_ring_bytes)
		return;
	map_at(&m[0], fd, info.ring_data_offset + info.tx_ring_bytes, PROT_READ | PROT_WRITE,
	       MAP_SHARED, SDP_MMAP_TX_RING);
	map_at(&m[1], fd, info.ring_data_offset + info.rx_ring_bytes, PROT_READ | PROT_WRITE,
	       MAP_SHARED, SDP_MMAP_RX_RING);
}

/* An end that TCP carries has no identity but its number. */
static bool is_good(int fd, enum kind kind, uint64_t *id, bool *rings)
{
	struct sdp_info info = { .size = sizeof(info) };
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	*id = 0;
	if (fd < 0 || poll(&p, 1, 0))
		return false;
	if (kind == TCP)
		return true;
	if (ioctl(fd, SDP_IOC_INFO, &info) || info.state != SDP_STATE_CONNECTED ||
	    info.carrier != SDP_CARRIER_SDP || info.shutdown || info.error)
		return false;
	*id = info.id;
	*rings |= info.tx_ring_bytes;
	return true;
}

static bool is_alive(struct pair *p, unsigned int slot)
{
	uint64_t id[2];
	bool rings = false;

	if (!p->mine && (slots[slot] != p->fd[0] || slots[slot + 1] != p->fd[1]))
		return false;
	if (!is_good(p->fd[0], p->kind, &id[0], &rings) ||
	    !is_good(p->fd[1], p->kind, &id[1], &rings) ||
	    id[0] != p->id[0] || id[1] != p->id[1])
		return false;
	if (rings)
		p->kind = RINGS;
	return true;
}

static void forget(struct pair *p)
{
	if (p->mine) {
		close(p->fd[0]);
		close(p->fd[1]);
	}
	p->there = false;
}

/* One that was used before, or a new one; false: neither. */
static bool get_pair(struct pair *p, unsigned int a, bool *fresh)
{
	bool rings = false;

	*p = (struct pair){ .kind = (a & 7) == 7 ? TCP : a >= 0xc0 ? RINGS : PLAIN };
	*fresh = !n_spare[p->kind];
	if (!*fresh) {
		*p = spare[p->kind][--n_spare[p->kind]];
		pairs_reused++;
		return true;
	}
	if (!connect_pair(p, a & 8))
		return false;
	p->there = is_good(p->fd[0], p->kind, &p->id[0], &rings) &&
		   is_good(p->fd[1], p->kind, &p->id[1], &rings);
	return true;
}

/* The slots have descriptors of their own then. */
static void fill_slots(struct pair *p, unsigned int slot, bool keep)
{
	int fd[2] = { p->fd[0], p->fd[1] };
	unsigned int i;

	if (keep && p->there) {
		for (i = 0; i < 2; i++)
			fd[i] = fcntl(p->fd[i], F_DUPFD_CLOEXEC, 3);
		if (fd[0] < 0 || fd[1] < 0)
			die("descriptors");
	}
	p->mine = fd[0] != p->fd[0];
	slot_set(slot, fd[0]);
	slot_set(slot + 1, fd[1]);
}

void op_pair(struct worker *w)
{
	unsigned int a = w->r->a, slot = w->r->slot & 2;
	struct pair *p = &made[slot / 2];
	bool fresh;

	w->nothing = true;
	if (pthread_mutex_trylock(&lock))
		return;
	if (n_made == RENEWALS || (p->there && is_alive(p, slot)))
		goto out;
	if (p->there)
		forget(p);
	if (!get_pair(p, a, &fresh))
		goto out;
	n_made++;
	w->nothing = !fresh;
	if (a & 0x30)
		fcntl(p->fd[0], F_SETFL, O_NONBLOCK);
	if (!fresh && a & 8)
		fcntl(p->fd[1], F_SETFL, O_NONBLOCK);
	if (p->kind == RINGS) {
		map_rings(p->fd[0], &maps[0], w->r->b & 3);
		map_rings(p->fd[1], &maps[2], w->r->b & 3);
	}
	fill_slots(p, slot, w->r->c & 3);
out:
	pthread_mutex_unlock(&lock);
}

/* Of what came to it; a ring that is wrong is found then. */
static void empty(int fd)
{
	struct sdp_ring_enter enter = {
		.size = sizeof(enter), .flags = SDP_ENTER_TX | SDP_ENTER_RX,
	};
	static char bytes[1 << 16];
	unsigned int i;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	ioctl(fd, SDP_IOC_RING_ENTER, &enter);
	for (i = 0; i < 64 && read(fd, bytes, sizeof(bytes)) > 0; i++)
		;
	fcntl(fd, F_SETFL, 0);
}

static bool is_as_new(struct pair *p, unsigned int slot)
{
	if (p->uses == USES || !is_alive(p, slot))
		return false;
	empty(p->fd[0]);
	empty(p->fd[1]);
	return is_alive(p, slot);
}

/* At an input's end. */
void pairs_keep(void)
{
	unsigned int i, slot;
	struct pair *p;

	for (i = 0; i < PAIRS; i++) {
		p = &made[i];
		slot = 2 * i;
		if (!p->there)
			continue;
		if (!is_as_new(p, slot) || n_spare[p->kind] == SPARES) {
			forget(p);
			continue;
		}
		if (!p->mine) {
			slots[slot] = 0;
			slots[slot + 1] = 0;
		}
		p->uses++;
		spare[p->kind][n_spare[p->kind]++] = *p;
		p->there = false;
	}
	n_made = 0;
}

/* In a child: they are the parent's. */
void pairs_forget(void)
{
	n_made = RENEWALS;
}
