// SPDX-License-Identifier: GPL-2.0
/*
 * A program that knows nothing of SDP: it connects to itself, carries some bytes, and prints
 * which upper layer protocol its listener, its connecting and its accepted socket have.
 *
 *	attach [-a|-q|-u] [-e] [-d FILE] [-i] [-n] [-p PORT] [-s N] [-w]
 *
 *	-a  connects by a worker of io_uring
 *	-d  in the grandchild, of its own session; prints into FILE
 *	-e  executes itself anew, without environment
 *	-i  takes the listener from descriptor 3, and does not connect; leaves out the first
 *	    connection, which may be older than the program
 *	-n  prints only how many children's listeners have not got the protocol, and how many
 *	    children were killed, with each allocation of fork(2) failing that does not wait
 *	    for memory, until there is such a child
 *	-p  listens on this port
 *	-q  connects by a thread of io_uring that polls
 *	-s  prints only how many of N children have the protocol on all their sockets
 *	-u  connects by io_uring
 *	-w  waits with its sockets for the end of standard input, then carries bytes again
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct options {
	int uring;
	bool exec;
	bool inherit;
	bool failing;
	bool wait;
	int port;
	int children;
	const char *file;
};

static void must(bool done, const char *what)
{
	if (!done)
		err(2, "%s", what);
}

/* --- io_uring, by system calls ------------------------------------------- */

static int uring_connect(int fd, const struct sockaddr *addr, socklen_t len, int how)
{
	struct io_uring_params p = { .flags = how == 'q' ? IORING_SETUP_SQPOLL : 0 };
	int ring = syscall(SYS_io_uring_setup, 1, &p);
	unsigned int *tail, *array;
	struct io_uring_sqe *sqe;
	char *sq, *cq;

	must(ring >= 0, "io_uring_setup");
	sq = mmap(NULL, p.sq_off.array + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED,
		  ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		  PROT_READ, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		   IORING_OFF_SQES);
	must(sq != MAP_FAILED && cq != MAP_FAILED && sqe != MAP_FAILED, "mmap");

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_CONNECT;
	sqe->flags = how == 'a' ? IOSQE_ASYNC : 0;
	sqe->fd = fd;
	sqe->addr = (uintptr_t)addr;
	sqe->off = len;
	array = (void *)(sq + p.sq_off.array);
	*array = 0;
	tail = (void *)(sq + p.sq_off.tail);
	__atomic_store_n(tail, 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, ring, 1, 1,
		     IORING_ENTER_GETEVENTS | (how == 'q' ? IORING_ENTER_SQ_WAKEUP : 0),
		     NULL, 0) >= 0, "io_uring_enter");
	close(ring);
	/* cppcheck-suppress memleak ; the program ends soon */
	return ((struct io_uring_cqe *)(cq + p.cq_off.cqes))->res;
}

/* --- sockets ------------------------------------------------------------- */

/* "sdp" whatever carries its bytes, or "-" where it has no upper layer protocol. */
static const char *ulp(int fd)
{
	static char name[3][17];
	static unsigned int turn;
	socklen_t len = 16;
	char *to = name[turn++ % 3];

	memset(to, 0, 17);
	must(!getsockopt(fd, IPPROTO_TCP, TCP_ULP, to, &len), "TCP_ULP");
	if (!len || !*to)
		return "-";
	return strncmp(to, "sdp", 3) ? to : "sdp";
}

static void carry(int from, int to)
{
	char out[20000], in[sizeof(out)];
	size_t i;

	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 7;
	for (i = 0; i < 3; i++) {
		memset(in, 0, sizeof(in));
		must(send(from, out, sizeof(out), 0) == sizeof(out), "send");
		must(recv(to, in, sizeof(in), MSG_WAITALL) == sizeof(in), "recv");
		if (memcmp(in, out, sizeof(in)))
			errx(2, "other bytes");
	}
}

static int listener(const struct options *o, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int l = 3, on = 1;

	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(o->port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (!o->inherit) {
		l = socket(AF_INET, SOCK_STREAM, 0);
		must(l >= 0, "socket");
		setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		must(!bind(l, (void *)addr, len) && !listen(l, 8), "listen");
	}
	must(!getsockname(l, (void *)addr, &len), "getsockname");
	return l;
}

static void wait_for_input(void)
{
	char c;

	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

static bool test(const struct options *o, FILE *out)
{
	struct sockaddr_in addr;
	int l = listener(o, &addr), c = -1, a, e = 0;

	if (!o->inherit) {
		c = socket(AF_INET, SOCK_STREAM, 0);
		must(c >= 0, "socket");
		if (o->uring)
			e = -uring_connect(c, (void *)&addr, sizeof(addr), o->uring);
		else if (connect(c, (void *)&addr, sizeof(addr)))
			e = errno;
		errno = e;
		must(!e, "connect");
	}
	a = accept(l, NULL, NULL);
	if (o->inherit) {
		close(a);
		a = accept(l, NULL, NULL);
	}
	must(a >= 0, "accept");
	if (c >= 0) {
		carry(c, a);
		carry(a, c);
	}
	if (out)
		fprintf(out, "%s %s %s\n", ulp(l), c >= 0 ? ulp(c) : "?", ulp(a));
	if (o->wait) {
		wait_for_input();
		carry(c, a);
		carry(a, c);
	}
	e = *ulp(l) == 's' && *ulp(a) == 's' && (c < 0 || *ulp(c) == 's');
	close(c);
	close(a);
	close(l);
	return e;
}

/* --- processes ----------------------------------------------------------- */

/* Children come and go, some at once, and each has one of its own. */
static void storm(const struct options *o)
{
	int i, status, with = 0;

	for (i = 0; i < o->children; i++) {
		pid_t pid = fork();

		must(pid >= 0, "fork");
		if (pid)
			continue;
		pid = fork();
		must(pid >= 0, "fork");
		if (!pid)
			_exit(i % 2 && !test(o, NULL) ? 1 : 0);
		must(waitpid(pid, &status, 0) == pid, "wait");
		_exit(status || !test(o, NULL) ? 1 : 0);
	}
	while (wait(&status) > 0)
		with += !status;
	printf("%d\n", with);
}

/* Whether the allocation that was to fail has; from here on none fails. */
static bool fail_nth(int fd, int n)
{
	char text[12], was[12] = "";
	int len = snprintf(text, sizeof(text), "%d", n);
	bool failed = pread(fd, was, sizeof(was) - 1, 0) <= 0 || !atoi(was);

	/* It can be one of these very copies that fails. */
	while (pwrite(fd, text, len, 0) != len) {
		must(errno == EFAULT, "fail-nth");
		failed = true;
	}
	return failed;
}

/* Children that have no rule, and those that were killed */
struct failed {
	int without, killed;
};

/* One child for each allocation of fork(2) that does not wait for memory: that one fails. */
static void fail_each(const struct options *o, int fd, struct failed *count)
{
	struct sockaddr_in addr;
	bool failed = true;
	int n, status;
	pid_t pid;

	for (n = 1; failed; n++) {
		fail_nth(fd, n);
		pid = fork();
		if (!pid)
			_exit(*ulp(listener(o, &addr)) == 's' ? 0 : 1);
		failed = fail_nth(fd, 0);
		if (pid < 0)
			continue;
		must(waitpid(pid, &status, 0) == pid, "wait");
		count->without += WIFEXITED(status) && WEXITSTATUS(status);
		count->killed += WIFSIGNALED(status);
	}
}

/*
 * Two calls of fork(2) do not make the same allocations: the kernel keeps nodes of trees and
 * objects of its checks in stock.  So a round can pass by the one that is meant.
 */
static void failing(const struct options *o)
{
	int fd = open("/proc/self/fail-nth", O_RDWR), round;
	struct failed count = {};

	must(fd >= 0, "fail-nth");
	for (round = 0; round < 50 && !count.without && !count.killed; round++)
		fail_each(o, fd, &count);
	printf("%d %d\n", count.without, count.killed);
}

static FILE *as_daemon(const char *file)
{
	FILE *out;
	int pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		_exit(0);
	must(setsid() >= 0, "setsid");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid)
		_exit(0);
	out = fopen(file, "w");
	must(out, file);
	return out;
}

int main(int argc, char **argv)
{
	struct options o = {};
	FILE *out = stdout;
	int c;

	while ((c = getopt(argc, argv, "ad:einp:qs:uw")) != -1) {
		switch (c) {
		case 'a':
		case 'q':
		case 'u':
			o.uring = c;
			break;
		case 'd':
			o.file = optarg;
			break;
		case 'e':
			o.exec = true;
			break;
		case 'i':
			o.inherit = true;
			break;
		case 'n':
			o.failing = true;
			break;
		case 'p':
			o.port = atoi(optarg);
			break;
		case 's':
			o.children = atoi(optarg);
			break;
		case 'w':
			o.wait = true;
			break;
		default:
			return 2;
		}
	}
	if (o.file)
		out = as_daemon(o.file);
	if (o.exec) {
		clearenv();
		execl("/proc/self/exe", argv[0], NULL);
		err(2, "exec");
	}
	if (o.failing)
		failing(&o);
	else if (o.children)
		storm(&o);
	else
		test(&o, out);
	return 0;
}
