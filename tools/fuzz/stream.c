// SPDX-License-Identifier: GPL-2.0
/*
 * The operations that work on every file, on sockets, and in the memory of rings.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sockios.h>

#define PLACES		(1UL << 19)
#define PLACE_SIZE	(1UL << 26)

struct map maps[MAPS];
volatile unsigned int scribbling;

void op_read(struct worker *w)
{
	size_t len = w->r->c % (2 * ANY_MEMORY + 1);

	if (read(slot_get(w), memory(w, len), len) < 0)
		return;
}

void op_write(struct worker *w)
{
	size_t len = w->r->c % (2 * ANY_MEMORY + 1);

	if (write(slot_get(w), memory(w, len), len) < 0)
		return;
}

void op_splice(struct worker *w)
{
	unsigned int flags = w->r->b & 15;
	int fd = slot_get(w);

	piped = true;
	if (w->r->a & 1) {
		if (write(pipes[1], w->page, 1000) > 0)
			splice(pipes[0], NULL, fd, NULL, w->r->c % 70000, flags);
	} else {
		splice(fd, NULL, pipes[1], NULL, w->r->c % 70000, flags);
	}
}

void op_sendfile(struct worker *w)
{
	off_t from = w->r->c % (1 << 20);

	/* Mostly not much: the time that it takes goes by the bytes. */
	sendfile(slot_get(w), disk, &from, (w->r->a * 256) >> (w->r->b >> 2 & 7));
}

/* Another place for each mapping: at the last one's address is nothing. */
static void *place(void)
{
	static unsigned int n;
	unsigned long nr = __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % PLACES;

	return (void *)(ARENA + THREADS * ARENA_STEP + nr * PLACE_SIZE);
}

/* In place of the mapping that is there. */
void map_at(struct map *m, int fd, size_t len, int prot, int flags, uint64_t offset)
{
	void *at = mmap(place(), len, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return;
	if (m->at)
		munmap(m->at, m->len);
	m->len = len;
	m->at = at;
}

void op_munmap(struct worker *w)
{
	struct map *m = &maps[w->r->a % MAPS];
	unsigned char *at = m->at;

	if (!at)
		return;
	if (w->r->b >= 0xc0 && m->len > ANY_MEMORY) {
		munmap(at + ANY_MEMORY, ANY_MEMORY);
		return;
	}
	m->at = NULL;
	munmap(at, m->len);
}

void op_remap(struct worker *w)
{
	struct map *m = &maps[w->r->a % MAPS];
	void *at;

	if (!m->at)
		return;
	switch (w->r->b & 7) {
	case 0:
		mprotect(m->at, m->len, w->r->c & 7);
		break;
	case 1:
		madvise(m->at, m->len, w->r->c & 31);
		break;
	case 2:
		at = mremap(m->at, m->len, m->len, MREMAP_MAYMOVE | 4 /* DONTUNMAP */);
		if (at != MAP_FAILED)
			munmap(at, m->len);
		break;
	case 3:
		at = mremap(m->at, m->len, (w->r->c & 0xffff) + 1,
			    w->r->c & 0x10000 ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED, place());
		if (at != MAP_FAILED) {
			m->at = at;
			m->len = (w->r->c & 0xffff) + 1;
		}
		break;
	case 4:
		mlock(m->at, ANY_MEMORY);
		break;
	default:
		mprotect(m->at, m->len, PROT_READ | PROT_WRITE);
	}
}

void op_scribble(struct worker *w)
{
	/* Mostly without a wrong index, or the connection is gone with the first stroke. */
	static const unsigned int harmless[] = { 0, 2, 5, 6 };

	scribbling = w->r->c & 6 ? harmless[w->r->a & 3] : w->r->a & 7;
}

void scribble_once(uint32_t *seed)
{
	uint32_t r = next_random(seed);
	struct map *m = &maps[r % MAPS];

	if (map_is_share(m))
		share_scribble(m, r);
	else if (m->at)
		*(volatile uint32_t *)(m->at + (r >> 8) % m->len / 4 * 4) = r;
}

void op_poll(struct worker *w)
{
	struct pollfd p = { .fd = slot_get(w), .events = w->r->c };

	poll(&p, 1, w->r->a & 15);
}

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

void op_pass(struct worker *w)
{
	union control control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
					    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = w->page, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fd = slot_get(w);

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	passed = true;
	sendmsg(passing[0], &msg, 0);
}

void op_take(struct worker *w)
{
	union control control = {};
	struct iovec iov = { .iov_base = w->page, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fd;

	if (!passed || recvmsg(passing[1], &msg, MSG_CMSG_CLOEXEC) <= 0 || !msg.msg_controllen)
		return;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	slot_fill(w, w->r->a, fd);
}

void op_epoll(struct worker *w)
{
	struct epoll_event ev = { .events = w->r->c | (w->r->a & 8 ? EPOLLET : 0) };

	/* Without anything in it there is nothing to ask. */
	w->nothing = w->r->a & 16 && !polled;
	if (w->nothing)
		return;
	polled = true;
	if (w->r->a & 16)
		epoll_wait(epoll, &ev, 1, w->r->b & 7);
	else
		epoll_ctl(epoll, 1 + (w->r->a & 3) % 3, slot_get(w), &ev);
}

void op_fcntl(struct worker *w)
{
	switch (w->r->a & 3) {
	case 0:
		fcntl(slot_get(w), F_SETFL, w->r->c & (O_NONBLOCK | O_ASYNC | O_APPEND));
		break;
	case 1:
		fcntl(slot_get(w), F_SETOWN, w->r->b & 1 ? getpid() : (int)w->r->c);
		break;
	case 2:
		fcntl(slot_get(w), F_SETSIG, w->r->b & 1 ? 0 : 29 /* SIGIO */);
		break;
	default:
		lseek(slot_get(w), w->r->c, w->r->b & 3);
	}
}

void op_socket_ioctl(struct worker *w)
{
	static const unsigned int cmds[] = {
		FIONREAD, SIOCOUTQ, SIOCATMARK, SIOCOUTQNSD, FIOSETOWN, SIOCSPGRP,
		FIOGETOWN, FIONBIO, FIOASYNC, SIOCGSTAMP, SIOCGIFCONF, SIOCGIFINDEX,
	};
	uint32_t *arg = memory(w, 64);

	if (w->r->b < 0xd0)
		*arg = w->r->c;
	ioctl(slot_get(w), cmds[w->r->a % (sizeof(cmds) / sizeof(*cmds))], arg);
}

void op_proc(struct worker *w)
{
	static const char *const files[] = {
		"/proc/thread-self/net/sdp/snmp", "/proc/thread-self/net/sdp/direct",
	};
	char path[64];
	int fd;

	if (w->r->a & 4)
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", slot_get(w));
	else
		snprintf(path, sizeof(path), "%s", files[w->r->a & 1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, w->page, w->r->c % ANY_MEMORY, w->r->b) < 0)
		memset(w->page, 0, 8);
	close(fd);
}
