// SPDX-License-Identifier: GPL-2.0
/*
 * The table of operations, and what they have in common.  They are in direct.c, join.c, pair.c,
 * sock.c and stream.c; those on IPoIB, with a table of their own, in ipoib.c.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sdp.h>

int slots[SLOTS], listener = -1, passing[2] = { -1, -1 }, pipes[2] = { -1, -1 };
int epoll = -1, disk = -1;
bool passed, piped, polled;

/* Other descriptors there go with it. */
void slot_set(unsigned int slot, int fd)
{
	int old;

	if (fd < 0)
		return;
	old = __atomic_exchange_n(&slots[slot % SLOTS], fd, __ATOMIC_RELAXED);
	if (old > 0)
		close(old);
}

/* Mostly not in place of a connection with the standing listener (pair.c). */
static unsigned int spared(const struct worker *w, unsigned int slot)
{
	return (w->r->c & 0xf000 ? slot | SLOTS / 2 : slot) % SLOTS;
}

void slot_fill(const struct worker *w, unsigned int slot, int fd)
{
	slot_set(spared(w, slot), fd);
}

/* The other thread may have closed it meanwhile: no such descriptor then. */
int slot_get(const struct worker *w)
{
	int fd = slots[w->r->slot % SLOTS];

	return fd > 0 ? fd : 9999;
}

/*
 * Memory for LEN bytes, by the record's b: good, reaching behind the end of what
 * is there, in a ring, or nowhere.
 */
void *memory(struct worker *w, size_t len)
{
	unsigned char *end = w->page + 2 * ANY_MEMORY;
	const struct map *m = &maps[w->r->slot % MAPS];

	if (len > 2 * ANY_MEMORY)
		len = 2 * ANY_MEMORY;
	switch (w->r->b >> 4) {
	case 15:
		return NULL;
	case 14:
		return (void *)0xffff888000001000UL;
	case 13:
		return end - len / 2;
	case 12:
		return m->at ? m->at + (w->r->c & 0xff8) : w->page;
	case 11:
		return m->at ? m->at + m->len - len : w->page;
	default:
		return end - len;
	}
}

/* Makes an argument wrong, by the record's b, and passes it. */
int call_on(struct worker *w, int fd, unsigned int cmd, const void *arg, unsigned int size)
{
	unsigned char *to = memory(w, size);
	unsigned int words = size / 4;
	uint32_t value = w->r->c;

	/* In the memory of the kernel and at NULL nothing can be written. */
	if (w->r->b < 0xd0) {
		memcpy(to, arg, size);
		if ((w->r->b & 0xf) == 15)
			memcpy(to + value % words * 4, &value, 4);
		else if ((w->r->b & 0xf) == 14)
			to[(value >> 8) % size] ^= value;
		else if ((w->r->b & 0xf) == 13)
			*(uint32_t *)to = value % 8192;
	} else if (w->r->b < 0xe0) {
		memcpy(to, arg, size / 2);
	}
	return ioctl(fd, cmd, to);
}

static void op_close(struct worker *w)
{
	int fd = __atomic_exchange_n(&slots[spared(w, w->r->slot)], 0, __ATOMIC_RELAXED);

	if (fd > 0)
		close(fd);
	else
		w->nothing = true;
}

static void op_dup(struct worker *w)
{
	slot_fill(w, w->r->a, fcntl(slot_get(w), F_DUPFD_CLOEXEC, 3));
}

static const unsigned int sizes[] = { 1, 16, 400, 4096, 8192, 0, 65536, 7 };

/* Three pieces of memory, one behind the other, and maybe one of no good.  Returns how many. */
unsigned int iovs_set(struct worker *w)
{
	struct iovec *iov = w->iov;
	unsigned int c = w->r->c, i;

	for (i = 0; i < IOVS; i++, c >>= 3) {
		iov[i].iov_len = sizes[c & 7];
		iov[i].iov_base = w->page;
	}
	if (w->r->b & 1)
		iov[2].iov_base = (void *)(uintptr_t)(c & 1 ? 0 : -4096UL);
	if (w->r->b & 2)
		iov[1].iov_base = maps[w->r->slot % MAPS].at;
	return (w->r->c >> 12 & 63) == 63 ? 2000 : w->r->c >> 12 & 3;
}

/* Any number, and anything as its argument, of any descriptor or of /dev/sdp. */
static void op_raw(struct worker *w)
{
	unsigned int i, cmd = _IO(SDP_IOC_MAGIC, w->r->a & 0x3f);
	uint32_t *arg = (uint32_t *)w->page, seed = w->r->c | 1;
	int fd = w->r->b & 2 ? the_door() : slot_get(w);

	for (i = 0; i < 128; i++)
		arg[i] = w->r->b & 1 ? next_random(&seed) : 0;
	arg[0] = w->r->c & 0x1ff;
	if (w->r->a >= 0xe0)
		cmd = w->r->c;
	ioctl(fd, cmd, w->r->b >= 0xf0 ? (void *)(uintptr_t)w->r->c : arg);
}

/* What comes next is the second thread's, or a child's too: see exec.c. */
void op_none(struct worker *w)
{
	(void)w;
}

/* More often than others: what others need. */
static const struct op ops[] = {
	{ op_close, TARGET }, { op_dup, DESCRIPTOR }, { op_raw, DESCRIPTOR },
	{ op_scribble, NOTHING }, { op_read, DESCRIPTOR }, { op_write, DESCRIPTOR },
	{ op_splice, DESCRIPTOR }, { op_sendfile, DESCRIPTOR }, { op_munmap, MAPPING },
	{ op_remap, MAPPING }, { op_poll, DESCRIPTOR }, { op_pass, NOTHING },
	{ op_take, NOTHING }, { op_epoll, DESCRIPTOR }, { op_fcntl, DESCRIPTOR },
	{ op_socket_ioctl, DESCRIPTOR }, { op_proc, TARGET },
	/* pair.c, direct.c, join.c */
	{ op_pair, TARGET }, { op_pair, TARGET }, { op_pair, TARGET }, { op_direct_new, TARGET },
	{ op_direct_call, TARGET }, { op_direct_call, TARGET }, { op_direct_call, TARGET },
	{ op_direct_option, TARGET }, { op_direct_send, TARGET }, { op_direct_send, TARGET },
	{ op_direct_recv, TARGET }, { op_direct_recv, TARGET }, { op_join, TARGET },
	/* sock.c */
	{ op_sock_pair, TARGET }, { op_sock_pair, TARGET }, { op_sock_pair, TARGET },
	{ op_sock_new, TARGET }, { op_sock_call, TARGET }, { op_sock_call, TARGET },
	{ op_sock_option, TARGET }, { op_sock_option, TARGET },
	{ op_sock_send, TARGET }, { op_sock_send, TARGET },
	{ op_sock_recv, TARGET }, { op_sock_recv, TARGET }, { op_rule, TARGET },
	{ op_ctl, TARGET }, { op_attach, TARGET }, { op_share_mmap, TARGET },
	{ op_ring_call, TARGET }, { op_ring_call, TARGET }, { op_share_put, NOTHING },
	{ op_share_put, NOTHING },
	/* From here on see exec.c. */
	{ op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING },
};

static const struct op *table = ops;
static unsigned int table_n = sizeof(ops) / sizeof(*ops);

unsigned int op_kind(const struct record *r)
{
	return r->op % table_n;
}

bool op_is_async(const struct record *r)
{
	return op_kind(r) >= table_n - 4 && op_kind(r) < table_n - 1;
}

bool op_is_fork(const struct record *r)
{
	return op_kind(r) == table_n - 1;
}

bool op_run(struct worker *w, const struct record *r)
{
	const struct op *op = &table[op_kind(r)];

	if ((op->needs == DESCRIPTOR && slots[r->slot % SLOTS] <= 0) ||
	    (op->needs == MAPPING && !maps[r->a % MAPS].at))
		return false;
	w->r = r;
	w->nothing = op->needs == NOTHING;
	op->fn(w);
	return !w->nothing;
}

void ops_of_ipoib(void)
{
	table = ipoib_ops;
	table_n = ipoib_ops_n;
}

static void renew_pair(int fd[2], bool sockets)
{
	if (fd[0] >= 0) {
		close(fd[0]);
		close(fd[1]);
	}
	if (sockets ? socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd) :
		      pipe2(fd, O_NONBLOCK))
		die("pair of descriptors");
}

/* No call has accepted them. */
static void empty_listener(void)
{
	int fd;

	while (listener >= 0 && (fd = accept(listener, NULL, NULL)) >= 0)
		close(fd);
}

/* As before an input. */
void ops_clean(void)
{
	unsigned int i;
	int fd;

	if (table == ipoib_ops)
		ipoib_clean();
	joins_clean();
	socks_clean();
	for (i = 0; i < MAPS; i++)
		if (maps[i].at) {
			munmap(maps[i].at, maps[i].len);
			maps[i].at = NULL;
		}
	pairs_keep();
	for (i = 0; i < SLOTS; i++) {
		fd = slots[i];
		slots[i] = 0;
		if (fd > 0)
			close(fd);
	}
	empty_listener();
	if (passing[0] < 0 || passed)
		renew_pair(passing, true);
	if (pipes[0] < 0 || piped)
		renew_pair(pipes, false);
	if (epoll >= 0 && polled) {
		close(epoll);
		epoll = -1;
	}
	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	passed = false;
	piped = false;
	polled = false;
	if (disk < 0) {
		disk = memfd_create("fuzz", MFD_CLOEXEC);
		if (disk < 0 || ftruncate(disk, 1 << 20))
			die("memory");
	}
	if (epoll < 0)
		die("descriptors");
}
