// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of direct SDP with the standing listener: two slots each.  To make one takes as long
 * as many other calls, so those that an input leaves as good as new are kept for those that follow.
 * Most have a second descriptor here: what the input closes does not end them.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS	2	/* at a time; each has two slots */
#define RENEWALS 6	/* of an input, the first ones included */
#define SPARES	8
#define USES	32	/* of a connection: options that were set stay */

struct pair {
	int fd[2];	/* the connecting end, the accepted one */
	uint64_t id[2];	/* cookies, to tell whether they still are there */
	unsigned int uses;
	bool mine;	/* the descriptors are not those of the slots */
	bool there;
};

static struct pair made[PAIRS], spare[SPARES];
static unsigned int n_made, n_spare;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

unsigned long pairs_made, pairs_reused;

static bool connect_pair(struct pair *p, bool nonblock)
{
	struct pollfd poll_in = { .fd = listener, .events = POLLIN };
	struct sockaddr_in sin;

	direct_address(&sin, 0);
	p->fd[0] = direct_socket(false);
	if (p->fd[0] < 0)
		return false;
	p->fd[1] = -1;
	wake_not(true);
	if (!connect(p->fd[0], (struct sockaddr *)&sin, sizeof(sin))) {
		poll(&poll_in, 1, 200);
		p->fd[1] = accept4(listener, NULL, NULL,
				   SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0));
	}
	wake_not(false);
	pairs_made++;
	return true;
}

/* Nothing has ended, and nothing has come. */
static bool is_good(int fd, uint64_t *id)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	socklen_t len = sizeof(*id);

	return fd >= 0 && !poll(&p, 1, 0) && !getsockopt(fd, SOL_SOCKET, SO_COOKIE, id, &len);
}

static bool is_alive(struct pair *p, unsigned int slot)
{
	uint64_t id[2];

	if (!p->mine && (slots[slot] != p->fd[0] || slots[slot + 1] != p->fd[1]))
		return false;
	return is_good(p->fd[0], &id[0]) && is_good(p->fd[1], &id[1]) &&
	       id[0] == p->id[0] && id[1] == p->id[1];
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
static bool get_pair(struct pair *p, bool nonblock, bool *fresh)
{
	*p = (struct pair){};
	*fresh = !n_spare;
	if (!*fresh) {
		*p = spare[--n_spare];
		pairs_reused++;
		return true;
	}
	if (!connect_pair(p, nonblock))
		return false;
	p->there = is_good(p->fd[0], &p->id[0]) && is_good(p->fd[1], &p->id[1]);
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
	if (!get_pair(p, a & 8, &fresh))
		goto out;
	n_made++;
	w->nothing = !fresh;
	if (a & 0x30)
		fcntl(p->fd[0], F_SETFL, O_NONBLOCK);
	if (!fresh && a & 8)
		fcntl(p->fd[1], F_SETFL, O_NONBLOCK);
	fill_slots(p, slot, w->r->c & 3);
out:
	pthread_mutex_unlock(&lock);
}

/* Of what came to it. */
static void empty(int fd)
{
	static char bytes[1 << 16];
	unsigned int i;

	fcntl(fd, F_SETFL, O_NONBLOCK);
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
		if (!is_as_new(p, slot) || n_spare == SPARES) {
			forget(p);
			continue;
		}
		if (!p->mine) {
			slots[slot] = 0;
			slots[slot + 1] = 0;
		}
		p->uses++;
		spare[n_spare++] = *p;
		p->there = false;
	}
	n_made = 0;
}

/* In a child: they are the parent's. */
void pairs_forget(void)
{
	n_made = RENEWALS;
}
