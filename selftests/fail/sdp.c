// SPDX-License-Identifier: GPL-2.0
/*
 * Every call of direct SDP with each of its allocations failing in turn: it is done, or refused
 * and nothing has changed.  What a stream carries stays what it is.
 */
#include "nth.h"

#include <liburing.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

#include "../sdp/end.h"

#define BYTES	40000

static int port = 30000, l = -1, fd = -1, end[2] = { -1, -1 }, pipes[2];
static unsigned char out[BYTES], in[BYTES + 1];
static struct io_uring ring;

static void shut(int *what)
{
	if (*what >= 0)
		close(*what);
	*what = -1;
}

static bool shut_all(bool good)
{
	shut(&fd);
	shut(&end[0]);
	shut(&end[1]);
	shut(&l);
	return good;
}

/* The next @n bytes at @to are those of the pattern from @at on. */
static bool receives(int to, size_t at, size_t n)
{
	size_t got = 0;
	ssize_t r;

	while (got < n) {
		r = read(to, in, n - got);
		if (r <= 0 || memcmp(in, out + at + got, r))
			return false;
		got += r;
	}
	return true;
}

/* Some bytes each way. */
static bool works(int a, int b)
{
	return write(a, out, 7) == 7 && receives(b, 0, 7) &&
	       write(b, out, 9) == 9 && receives(a, 0, 9);
}

static int act_open(void)
{
	fd = socket(DIRECT, SOCK_STREAM, 0);
	return fd;
}

static bool after_open(int ret)
{
	(void)ret;
	return shut_all(true);
}

static void before_bind(void)
{
	fd = end_open(SDP);
}

static int act_bind(void)
{
	return end_bind(fd, "10.77.0.1", 0);
}

/* Once more, and it is as if nothing had been. */
static bool after_bind(int ret)
{
	return shut_all(!ret || !act_bind());
}

static void before_listen(void)
{
	before_bind();
	must(!act_bind());
}

static int act_listen(void)
{
	return listen(fd, 4);
}

static bool after_listen(int ret)
{
	return shut_all(!ret || !act_listen());
}

static void before_connect(void)
{
	l = listener(SDP, SERVER4, ++port, 4);
	fd = end_open(SDP);
}

static int act_connect(void)
{
	return end_connect(fd, SERVER4, port);
}

static bool after_connect(int ret)
{
	bool good = true;

	if (!ret) {
		good = events(l, POLLIN, 30000) & POLLIN;
		end[1] = good ? end_accept(l) : -1;
		good = end[1] >= 0 && works(fd, end[1]);
	}
	return shut_all(good);
}

static void before_accept(void)
{
	before_connect();
	must(!act_connect());
	must(events(l, POLLIN, 30000) & POLLIN);
}

static int act_accept(void)
{
	end[1] = end_accept(l);
	return end[1];
}

/* A connection that could not be handed over is there for the next call, or is ended. */
static bool after_accept(int ret)
{
	if (ret >= 0)
		return shut_all(works(fd, ret));
	if (events(l, POLLIN, 0) & POLLIN)
		return shut_all(act_accept() >= 0 && works(fd, end[1]));
	return shut_all(events(fd, POLLIN, 30000) & (POLLIN | POLLHUP));
}

static void before_pair(void)
{
	pair(SDP, end);
}

static int act_send(void)
{
	struct iovec iov[3] = {
		{ out, 100 }, { out + 100, 20000 }, { out + 20100, BYTES - 20100 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };

	return sendmsg(end[0], &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* What was sent arrives, and what was not does not. */
static bool after_send(int ret)
{
	if (ret < 0)
		ret = 0;
	return shut_all(receives(end[1], 0, ret) && works(end[0], end[1]));
}

static int act_write(void)
{
	return write(end[0], out, BYTES / 4);
}

static void before_recv(void)
{
	before_pair();
	must(end_send(end[1], out, BYTES, 0) == BYTES);
	must(events(end[0], POLLIN, 30000) & POLLIN);
}

static int act_recv(void)
{
	struct iovec iov[2] = { { in, 5000 }, { in + 5000, BYTES - 5000 } };

	return readv(end[0], iov, 2);
}

static bool after_recv(int ret)
{
	if (ret < 0)
		ret = 0;
	if (memcmp(in, out, ret))
		return shut_all(false);
	return shut_all(receives(end[0], ret, BYTES - ret) && works(end[0], end[1]));
}

static int act_splice(void)
{
	return splice(end[0], NULL, pipes[1], NULL, 20000, SPLICE_F_NONBLOCK);
}

/* Out of the pipe, too. */
static bool after_splice(int ret)
{
	int got = 0, r;

	while (got < ret) {
		r = read(pipes[0], in + got, ret - got);
		if (r <= 0)
			return shut_all(false);
		got += r;
	}
	return after_recv(ret);
}

static int act_sendfile(void)
{
	off_t from = 0;
	static int file = -1;

	if (file < 0) {
		nth_set(0);
		file = memfd_create("pattern", 0);
		must(file >= 0 && write(file, out, BYTES) == BYTES);
		nth_set(nth_now);
	}
	return sendfile(end[0], file, &from, 20000);
}

static int uring(int op)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	struct io_uring_cqe *cqe;
	int ret;

	if (op)
		io_uring_prep_write(sqe, end[0], out, BYTES, 0);
	else
		io_uring_prep_read(sqe, end[0], in, BYTES, 0);
	do
		ret = io_uring_submit_and_wait(&ring, 1);
	while (ret < 0 && nth_plausible(-ret) && io_uring_sq_ready(&ring));
	ret = io_uring_wait_cqe(&ring, &cqe);
	if (!ret) {
		ret = cqe->res;
		io_uring_cqe_seen(&ring, cqe);
	}
	errno = -ret;
	return ret < 0 ? -1 : ret;
}

static int act_uring_read(void)
{
	return uring(0);
}

static int act_uring_write(void)
{
	return uring(1);
}

static int act_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), ret;

	if (ep < 0)
		return -1;
	ret = epoll_ctl(ep, EPOLL_CTL_ADD, end[0], &ev);
	if (!ret)
		ret = epoll_wait(ep, &ev, 1, 0);
	close(ep);
	return ret;
}

static int act_async(void)
{
	return fcntl(end[0], F_SETFL, O_ASYNC);
}

static bool after_works(int ret)
{
	(void)ret;
	return shut_all(works(end[0], end[1]));
}

static int act_shutdown(void)
{
	return shutdown(end[0], SHUT_WR);
}

/* The other end is told in any case, if only when this one is closed. */
static bool after_shutdown(int ret)
{
	if (ret)
		shut(&end[0]);
	return shut_all(recv(end[1], in, 1, 0) == 0);
}

static int act_close(void)
{
	shut(&end[0]);
	return 0;
}

/* With what it has not read, that is a reset. */
static bool after_close(int ret)
{
	(void)ret;
	return shut_all(events(end[1], POLLIN, 30000) & (POLLIN | POLLHUP));
}

static int act_proc(void)
{
	int file = open("/proc/thread-self/net/sdp/direct", O_RDONLY), ret;

	if (file < 0)
		return -1;
	ret = read(file, in, BYTES);
	close(file);
	return ret;
}

static const struct scene scenes[] = {
	{ "a new socket", NULL, act_open, after_open },
	{ "bind", before_bind, act_bind, after_bind },
	{ "listen", before_listen, act_listen, after_listen },
	{ "connect", before_connect, act_connect, after_connect },
	{ "accept", before_accept, act_accept, after_accept },
	{ "send", before_pair, act_send, after_send },
	{ "write", before_pair, act_write, after_send },
	{ "sendfile", before_pair, act_sendfile, after_send },
	{ "receive", before_recv, act_recv, after_recv },
	{ "splice", before_recv, act_splice, after_splice },
	{ "io_uring: write", before_pair, act_uring_write, after_send },
	{ "io_uring: read", before_recv, act_uring_read, after_recv },
	{ "epoll", before_pair, act_epoll, after_works },
	{ "signals", before_pair, act_async, after_works },
	{ "shutdown", before_pair, act_shutdown, after_shutdown },
	{ "close", before_pair, act_close, after_close },
	{ "close, with bytes not read", before_recv, act_close, after_close },
	{ "the list of sockets", before_pair, act_proc, after_works },
};

int main(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < BYTES; i++)
		out[i] = (i * 7 + i / 256) | 1;
	set_both_direct("1");
	must(!pipe(pipes));
	must(!io_uring_queue_init(8, &ring, 0));
	must(fcntl(pipes[1], F_SETPIPE_SZ, 1 << 20) > 0);
	ret = nth_all(scenes, sizeof(scenes) / sizeof(*scenes));
	set_both_direct("0");
	return ret;
}
