/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One io_uring, and ends of connections for it to work on: endpoints or sockets,
 * the server's in node 2.
 */
#ifndef SELFTESTS_URING_H
#define SELFTESTS_URING_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include "node.h"
#include "sdpdev.h"
#include "tap.h"

#define SERVER	"10.77.0.2"

static struct io_uring ring;
static const char *how;

static inline int make_socket(bool sdp)
{
	int fd = sdp ? sdp_socket(AF_INET, 0) : socket(AF_INET, SOCK_STREAM, 0);

	must(fd >= 0);
	return fd;
}

/* One in node 2 that has an address, which is told, and does not listen yet. */
static inline int bound(bool sdp, const char *ip, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd;

	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	must(inet_pton(AF_INET, ip, &addr->sin_addr) == 1);
	enter_node(2);
	fd = make_socket(sdp);
	must(!(sdp ? sdp_bind(fd, (void *)addr, len) : bind(fd, (void *)addr, len)));
	must(!(sdp ? sdp_getsockname(fd, (void *)addr, &len) :
		     getsockname(fd, (void *)addr, &len)));
	enter_node(1);
	return fd;
}

/* In node 2; where it listens is told. */
static inline int listener(bool sdp, const char *ip, struct sockaddr_in *addr)
{
	int l = bound(sdp, ip, addr);

	must(!(sdp ? sdp_listen(l, 1) : listen(l, 1)));
	return l;
}

static inline struct io_uring_sqe *entry(unsigned long tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	must(sqe);
	sqe->user_data = tag;
	return sqe;
}

/* The next result, which must be that of @tag. */
static inline int result_of(unsigned long tag)
{
	struct io_uring_cqe *cqe;
	int res;

	must(!io_uring_wait_cqe(&ring, &cqe));
	must(cqe->user_data == tag);
	res = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return res;
}

/* Those of @a and @b, whose order is the kernel's. */
static inline int pair_of_results(unsigned long a, unsigned long b, int *other)
{
	struct io_uring_cqe *cqe;
	int i, res[2] = { 0, 0 };

	for (i = 0; i < 2; i++) {
		must(!io_uring_wait_cqe(&ring, &cqe));
		must(cqe->user_data == a || cqe->user_data == b);
		res[cqe->user_data == b] = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
	}
	*other = res[1];
	return res[0];
}

static inline bool nothing_yet(void)
{
	struct io_uring_cqe *cqe;

	return io_uring_peek_cqe(&ring, &cqe) == -EAGAIN;
}

#endif /* SELFTESTS_URING_H */
