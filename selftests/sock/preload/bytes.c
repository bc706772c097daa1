// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that move bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../lib/random.h"
#include "rows.h"

#define RING_ROUNDS	3000

int rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[500];
	int n = 0;

	need(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[sdp-ring]"))
			n++;
	fclose(maps);
	return n;
}

void have_rings(int n)
{
	int have = rings();

	if (have != (plain ? 0 : n))
		wrong("%d sockets have rings, not %d", have, n);
}

void ring(struct conn *c, int n)
{
	int i;

	for (i = 0; i < RING_ROUNDS; i++) {
		put(&c->a, 1, 0);
		get_all(&c->b, 1);
		put(&c->b, 1, 0);
		get_all(&c->a, 1);
		if (plain ? i == 16 : rings() == n)
			return;
	}
	have_rings(n);
}

struct conn conn_ringed(void)
{
	int n = rings() + 2;
	struct conn c = conn_moved();

	ring(&c, n);
	/* What is lent to the program now stays so until the kernel wants it. */
	ring(&c, n);
	return c;
}

/* --- which calls go by rings ------------------------------------------------ */

/* What each of these calls meets from here on. */
static void filter(const int *calls, const int n, unsigned int action)
{
	struct sock_filter code[64];
	struct sock_fprog prog = { .len = 2 * n + 2, .filter = code };
	int i;

	need(2 * n + 2 <= 64);
	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (i = 0; i < n; i++) {
		code[1 + 2 * i] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
		code[2 + 2 * i] = (struct sock_filter)
			BPF_STMT(BPF_RET | BPF_K, action);
	}
	code[2 * n + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	need(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	need(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

/* Each call of the kernel that moves bytes fails with EDOM from here on. */
static void no_calls(void)
{
	static const int calls[] = { SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_sendto,
				     SYS_recvfrom, SYS_sendmsg, SYS_recvmsg };

	filter(calls, sizeof(calls) / sizeof(calls[0]), SECCOMP_RET_ERRNO | EDOM);
}

static ssize_t send_by(int way, int fd, char *bytes)
{
	struct iovec iov[] = { { bytes, 3 }, { NULL, 0 }, { bytes + 3, 7 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3 };

	switch (way % 5) {
	case 0: return write(fd, bytes, 10);
	case 1: return writev(fd, iov, 3);
	case 2: return send(fd, bytes, 10, MSG_NOSIGNAL);
	case 3: return sendto(fd, bytes, 10, MSG_DONTWAIT, NULL, 0);
	default: return sendmsg(fd, &msg, 0);
	}
}

static ssize_t recv_by(int way, int fd, char *bytes)
{
	struct iovec iov[] = { { bytes, 3 }, { NULL, 0 }, { bytes + 3, 7 } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 3, .msg_flags = MSG_TRUNC };
	ssize_t n;

	switch (way % 8) {
	case 0: return read(fd, bytes, 10);
	case 1: return readv(fd, iov, 3);
	case 2: return recv(fd, bytes, 10, MSG_WAITALL);
	case 3: return recvfrom(fd, bytes, 10, MSG_DONTWAIT, NULL, NULL);
	case 4: return __read_chk(fd, bytes, 10, 10);
	case 5: return __recv_chk(fd, bytes, 10, 10, 0);
	case 6: return __recvfrom_chk(fd, bytes, 10, 10, 0, NULL, NULL);
	default:
		n = recvmsg(fd, &msg, 0);
		if (n > 0 && msg.msg_flags)
			wrong("flags of a message: %#x", msg.msg_flags);
		return n;
	}
}

/* The kernel takes a half for a moment every other second: then the call is its. */
static void by_rings(void)
{
	struct conn c = conn_ringed();
	char bytes[10] = "";
	int i, kernel = 0;

	if (plain)
		return;
	no_calls();
	for (i = 0; i < 400 && !kernel; i++) {
		fill(&c.a, bytes, 10);
		kernel = send_by(i, c.a.fd, bytes) != 10;
		if (kernel)
			break;
		c.a.out += 10;
		memset(bytes, 0, 10);
		kernel = recv_by(i, c.b.fd, bytes) != 10;
		if (kernel)
			break;
		look(&c.b, 0, bytes, 10);
		c.b.in += 10;
	}
	if (i < 40)
		wrong("call %d of each kind is the kernel's: %s", i, strerrorname_np(errno));
}

/* --- any bytes --------------------------------------------------------------- */

/*
 * What is only looked at makes no room.  TCP may have none even for few more bytes, as a packet
 * that was read in part takes as much as before.  Then a look at more than is there has no end.
 */
static size_t peek_all(const struct end *to, size_t n)
{
	int have = 0;

	need(!ioctl(to->fd, FIONREAD, &have));
	if (!have)
		return 1;
	return n < (size_t)have ? n : (size_t)have;
}

static void at_random(void)
{
	struct conn c = conn_ringed();
	/* Bytes of each direction that the last send without MSG_MORE has pushed */
	uint64_t pushed[2] = { c.a.out, c.b.out };
	unsigned int seed = 1;
	int i;

	for (i = 0; i < 6000; i++) {
		static const int in_flags[] = { 0, 0, MSG_PEEK, MSG_DONTWAIT, MSG_WAITALL,
						MSG_PEEK | MSG_WAITALL };
		struct end *from = random32(&seed) % 2 ? &c.a : &c.b;
		struct end *to = from == &c.a ? &c.b : &c.a;
		size_t there = from->out - to->in, n;
		int flags;

		if (there < 100000 && random32(&seed) % 2) {
			n = 1 + random32(&seed) % (random32(&seed) % 8 ? 2000 : 100000);
			flags = random32(&seed) % 8 ? 0 : MSG_MORE;
			put(from, n, flags);
			pushed[from->way] = flags ? pushed[from->way] : from->out;
		} else if (there) {
			n = 1 + random32(&seed) % there;
			flags = in_flags[random32(&seed) % 6];
			if (flags == (MSG_PEEK | MSG_WAITALL))
				n = peek_all(to, n);
			/* TCP keeps others until a timer of its own ends: no wait for them. */
			if (pushed[from->way] <= to->in)
				flags |= MSG_DONTWAIT;
			else if (n > pushed[from->way] - to->in)
				n = pushed[from->way] - to->in;
			need(get(to, n, flags) != 0);
		}
	}
	put(&c.a, 1, 0);
	put(&c.b, 1, 0);
	get_all(&c.b, c.a.out - c.b.in);
	get_all(&c.a, c.b.out - c.a.in);
	have_rings(2);
	conn_close(&c);
}

static void edges(void)
{
	struct conn c = conn_ringed();
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int i, n, ep = epoll_create1(0);

	need(!epoll_ctl(ep, EPOLL_CTL_ADD, c.b.fd, &e));
	for (i = 0; i < 300; i++) {
		size_t left = c.a.out - c.b.in;

		put(&c.a, 10, 0);
		n = epoll_wait(ep, &e, 1, 5000);
		if (n != 1)
			wrong("round %d, %zu bytes left: %d events", i, left, n);
		need(get(&c.b, i % 3 ? 5 : left + 10 + i % 2, 0) > 0);
	}
	close(ep);
	conn_close(&c);
}

static void limits(void)
{
	struct timeval soon = { .tv_usec = 50000 };
	struct conn c = conn_ringed();
	char byte;
	long slept;

	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	slept = sleeps();
	SAY(get(&c.b, 10, 0));
	say("it has waited: %d", sleeps() > slept);
	put(&c.a, 4, 0);
	SAY(get(&c.b, 10, MSG_WAITALL));
	SAY(recv(c.b.fd, &byte, 0, MSG_DONTWAIT));
	SAY(send(c.a.fd, &byte, 0, 0));
	SAY(shutdown(c.a.fd, SHUT_WR));
	SAY(put_some(&c.a, 10, MSG_NOSIGNAL));
	SAY(get(&c.b, 10, 0));
	put(&c.b, 100, 0);
	get_all(&c.a, 100);
	SAY(close(c.b.fd));
	SAY(get(&c.a, 10, 0));
	close(c.a.fd);
}

static void bad_messages(void)
{
	struct conn c = conn_ringed();
	void *volatile none = NULL;
	struct msghdr msg = { .msg_iovlen = 1 };
	int i, fds[] = { c.a.fd, -1 };

	put(&c.b, 10, 0);
	for (i = 0; i < 2; i++) {
		SAY(writev(fds[i], none, 1));
		SAY(readv(fds[i], none, 1));
		SAY(sendmsg(fds[i], none, 0));
		SAY(recvmsg(fds[i], none, 0));
		SAY(sendmsg(fds[i], &msg, 0));
		SAY(recvmsg(fds[i], &msg, 0));
	}
	get_all(&c.a, 10);
	conn_close(&c);
}

/* A program that does not wait in a call must not wait in the library. */
static void without_waiting(void)
{
	static const int yield = SYS_sched_yield;
	struct conn c = conn_ringed();
	int i, on = 1, off = 0;

	/* They come anew, to a descriptor that does not wait already. */
	SAY(fcntl(c.b.fd, F_SETFL, O_NONBLOCK));
	close(dup(c.b.fd));
	have_rings(1);
	ring(&c, 2);
	SAY(fcntl(c.a.fd, F_SETFL, O_NONBLOCK));
	SAY(ioctl(c.a.fd, FIONBIO, &off));
	SAY(ioctl(c.a.fd, FIONBIO, &on));
	have_rings(2);
	filter(&yield, 1, SECCOMP_RET_KILL_PROCESS);
	for (i = 0; i < 10; i++) {
		SAY(get(&c.a, 10, 0));
		SAY(get(&c.b, 10, 0));
	}
	conn_close(&c);
}

/* What a reader of rings would not obey. */
static void options(void)
{
	struct conn c = conn_ringed();
	int least = 5;

	SAY(fcntl(c.a.fd, F_SETFL, O_ASYNC));
	have_rings(1);
	SAY(setsockopt(c.b.fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)));
	have_rings(0);
	conn_close(&c);
}

static int stopped_by;

static void stopped(int signal)
{
	stopped_by = signal;
}

static void no_reader(void)
{
	struct conn c = conn_ringed();

	signal(SIGPIPE, stopped);
	put(&c.b, 100, 0);
	SAY(close(c.b.fd));
	get_all(&c.a, 100);
	SAY(get(&c.a, 10, 0));
	SAY(put_some(&c.a, 10, 0) > 0);
	/* The answer to that resets. */
	while (put_some(&c.a, 10, 0) > 0)
		usleep(1000);
	SAY(stopped_by);
	close(c.a.fd);
}

/* It goes back to TCP, and comes again. */
static void returns(void)
{
	struct conn c = conn_ringed();
	int i;

	for (i = 0; i < 3; i++) {
		put(&c.a, 3000, 0);
		get_all(&c.b, 100);
		gate(&c.a, false);
		/* The kernel asks at the next call, and no later than after 2 seconds. */
		while (!plain && moved(c.a.fd)) {
			put(&c.a, 1, 0);
			get_all(&c.b, 1);
			usleep(1000);
		}
		put(&c.a, 3000, 0);
		get_all(&c.b, c.a.out - c.b.in);
		gate(&c.a, true);
		move(&c);
	}
	have_rings(2);
	conn_close(&c);
}

static void only(void)
{
	struct conn c = conn_modes(plain ? -1 : 2, plain ? -1 : 2);

	put(&c.a, 1000, 0);
	get_all(&c.b, 1000);
	ring(&c, 0);
	have_rings(0);
	conn_close(&c);
}

/* --- threads and signals ------------------------------------------------------ */

#define THREADS		3
#define EACH		20000

static void *sends(void *arg)
{
	struct conn *c = arg;
	int i;

	for (i = 0; i < EACH; i++)
		need(write(c->a.fd, "x", 1) == 1);
	return NULL;
}

static void *receives(void *arg)
{
	struct conn *c = arg;
	char bytes[100];
	long all = 0;
	ssize_t n;

	while ((n = read(c->b.fd, bytes, sizeof(bytes))) > 0)
		all += n;
	need(!n);
	return (void *)all;
}

static void threads(void)
{
	struct conn c = conn_ringed();
	pthread_t out[THREADS], in[THREADS];
	long all = 0;
	void *n;
	int i;

	for (i = 0; i < THREADS; i++) {
		need(!pthread_create(&in[i], NULL, receives, &c));
		need(!pthread_create(&out[i], NULL, sends, &c));
	}
	for (i = 0; i < THREADS; i++)
		need(!pthread_join(out[i], NULL));
	shutdown(c.a.fd, SHUT_WR);
	for (i = 0; i < THREADS; i++) {
		need(!pthread_join(in[i], &n));
		all += (long)n;
	}
	SAY(all);
	conn_close(&c);
}

static int handler_fd;
static long handled;

static void handler(int signal)
{
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): POSIX wants it so */
	int error = errno;

	(void)signal;
	if (write(handler_fd, "x", 1) == 1)
		handled++;
	errno = error;
}

/* A handler may interrupt any moment of the same call. */
static void handlers(void)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = {};
	struct conn c = conn_ringed();
	long long end = now_ms() + 1000;
	long sent = 0, got = 0;
	char bytes[100];

	handler_fd = c.a.fd;
	signal(SIGALRM, handler);
	need(!setitimer(ITIMER_REAL, &often, NULL));
	while (now_ms() < end) {
		ssize_t n = write(c.a.fd, "y", 1);

		need(n == 1 || errno == EINTR);
		sent += n == 1;
		n = recv(c.b.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		need(n > 0 || errno == EAGAIN || errno == EINTR);
		got += n > 0 ? n : 0;
	}
	need(!setitimer(ITIMER_REAL, &never, NULL));
	while (got < sent + handled)
		got += recv(c.b.fd, bytes, sizeof(bytes), 0);
	if (!handled)
		wrong("no handler has run");
	conn_close(&c);
}

static void *reads_for_ever(void *arg)
{
	struct conn *c = arg;
	char byte;

	while (read(c->b.fd, &byte, 1) == 1)
		need(write(c->b.fd, &byte, 1) == 1);
	return NULL;
}

/* Bytes are there all the time, so that the thread never waits. */
static void cancelled(void)
{
	struct conn c = conn_ringed();
	pthread_t thread;
	void *ret = NULL;
	char byte;
	int i;

	need(!pthread_create(&thread, NULL, reads_for_ever, &c));
	need(write(c.a.fd, "1234", 4) == 4);
	for (i = 0; i < 1000; i++)
		need(read(c.a.fd, &byte, 1) == 1 && write(c.a.fd, &byte, 1) == 1);
	need(!pthread_cancel(thread));
	while (pthread_tryjoin_np(thread, &ret))
		if (recv(c.a.fd, &byte, 1, MSG_DONTWAIT) == 1)
			need(write(c.a.fd, &byte, 1) == 1);
	SAY(ret == PTHREAD_CANCELED);
	conn_close(&c);
}

const struct row bytes_rows[] = {
	{ "every call that can go by rings does", by_rings },
	{ "bytes at random, by all calls", at_random },
	{ "edges where bytes are left", edges },
	{ "time-outs, and ends", limits },
	{ "messages and pieces at no address", bad_messages },
	{ "descriptors that do not wait", without_waiting },
	{ "options that rings do not know", options },
	{ "nobody reads any more", no_reader },
	{ "it goes back to TCP, and comes again", returns },
	{ "a connection that may not go by TCP has none", only },
	{ "several threads at each end", threads },
	{ "signal handlers that send", handlers },
	{ "a thread is cancelled", cancelled },
	{ NULL, NULL },
};
