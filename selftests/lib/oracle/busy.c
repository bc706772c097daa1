// SPDX-License-Identifier: GPL-2.0
/*
 * Small messages, over and over, which may go by memory mapped for the connection:
 * descriptors whose numbers come to mean something else, several threads and processes
 * on one connection, signal handlers that send, ends of all sorts.
 */
#include "oracle.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "pass.h"
#include "waiter.h"

#define RECORDS	400
#define SENDERS	4

struct record {
	int sender, number;
};

static char out[64], in[64];

static void get(int fd, void *buf, size_t n)
{
	char *to = buf;
	ssize_t got;

	for (; n; n -= got, to += got) {
		got = recv(fd, to, n, 0);
		must(got > 0);
	}
}

static void pass(int from, int to, const char *text)
{
	size_t n = strlen(text);

	snprintf(out, sizeof(out), "%s", text);
	must(send(from, out, n, MSG_NOSIGNAL) == (ssize_t)n);
	get(to, in, n);
	in[n] = '\0';
}

/* Rings of this process's connections; -1 if that cannot be found out. */
static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "[sdp-ring]");
	fclose(f);
	return n;
}

/* So often that it will be worth a mapping. */
static void connected_long(int pair[2])
{
	int i;

	connected(pair);
	for (i = 0; i < 3; i++) {
		pass(pair[0], pair[1], "there");
		pass(pair[1], pair[0], "and back");
	}
}

static void say_pass(const char *label, int from, int to, const char *text)
{
	pass(from, to, text);
	say_text(label, in);
	pass(from, to, text);
	say_text("again", in);
}

static void say_end(const char *label, int fd)
{
	say(label, recv(fd, in, 1, 0));
}

/* --- numbers that mean something else ------------------------------------ */

/* A connection to be replaced, which goes on by an unused number. */
static int connected_twice(int pair[2])
{
	int kept;

	connected_long(pair);
	kept = fcntl(pair[0], F_DUPFD, 100);
	must(kept >= 100);
	return kept;
}

/* What @number means now; it was @a's, which is @kept. */
static void becomes(const char *how, const int a[2], int kept, const int b[2])
{
	say_text("another connection", how);
	say_pass("goes to the other", a[0], b[1], how);
	say_pass("and comes from it", b[1], a[0], "answer");
	say("nothing came to the first", recv(a[1], in, 1, MSG_DONTWAIT));
	say_pass("which is as before", a[1], kept, "here");
	close(kept);
	say_end("and then at its end", a[1]);
	close(a[0]);
	close(a[1]);
}

static void test_numbers(void)
{
	int a[2], b[2], s[2], kept;

	connected_long(b);
	fprintf(stderr, "mapped: %d\n", mappings());

	kept = connected_twice(a);
	must(dup2(b[0], a[0]) == a[0]);
	becomes("by dup2", a, kept, b);

	kept = connected_twice(a);
	must(!close(a[0]));
	must(fcntl(b[0], F_DUPFD, a[0]) == a[0]);
	becomes("closed before", a, kept, b);

	kept = connected_twice(a);
	must(!syscall(SYS_close, a[0]));
	must(fcntl(b[0], F_DUPFD, a[0]) == a[0]);
	becomes("closed unseen", a, kept, b);

	kept = connected_twice(a);
	must(!close_range(a[0], a[0], 0));
	must(fcntl(b[0], F_DUPFD, a[0]) == a[0]);
	becomes("by close_range", a, kept, b);

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	kept = connected_twice(a);
	must(!syscall(SYS_close_range, a[0], a[0], 0));
	must(fcntl(s[0], F_DUPFD, a[0]) == a[0]);
	becomes("a pair of sockets", a, kept, s);
	close_pair(s);

	say_pass("the other is as before", b[0], b[1], "still");
	close_pair(b);
}

static void test_passed(void)
{
	int a[2], s[2], other;

	connected_long(a);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	hand_over(s[0], a[0]);
	other = taken_over(s[1], 0);
	say_pass("by the number that was passed", other, a[1], "passed");
	close(a[0]);
	say_pass("which is the only one now", other, a[1], "alone");
	close(other);
	say_end("and none any more", a[1]);
	close(a[1]);
	close_pair(s);
}

/* --- many on one connection ---------------------------------------------- */

static void send_records(int fd, int sender, int n)
{
	struct record r = { .sender = sender };

	for (; r.number < n; r.number++)
		must(send(fd, &r, sizeof(r), 0) == sizeof(r));
}

/* How many there were until the end, or minus one where a sender's are out of order. */
static int count_records(int fd)
{
	int last[SENDERS] = { 0 }, n = 0;
	struct record r;
	ssize_t got;

	while ((got = recv(fd, &r, sizeof(r), 0)) > 0) {
		if (got < (ssize_t)sizeof(r))
			get(fd, (char *)&r + got, sizeof(r) - got);
		if (r.sender < 0 || r.sender >= SENDERS || r.number < last[r.sender])
			return -1;
		last[r.sender] = r.number + 1;
		n++;
	}
	return n;
}

static void *count_thread(void *arg)
{
	return (void *)(long)count_records(*(int *)arg);
}

static void *send_thread(void *arg)
{
	static int next;

	send_records(*(int *)arg, __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED), RECORDS);
	return NULL;
}

static void test_threads(void)
{
	pthread_t sender[SENDERS], receiver;
	void *n;
	int a[2], i;

	connected_long(a);
	must(!pthread_create(&receiver, NULL, count_thread, &a[1]));
	for (i = 0; i < SENDERS; i++)
		must(!pthread_create(&sender[i], NULL, send_thread, &a[0]));
	for (i = 0; i < SENDERS; i++)
		must(!pthread_join(sender[i], NULL));
	close(a[0]);
	must(!pthread_join(receiver, &n));
	say("from several threads", (long)n);
	close(a[1]);
}

static void test_forked_senders(void)
{
	int a[2], i, status;

	connected_long(a);
	for (i = 1; i < SENDERS; i++) {
		if (fork())
			continue;
		send_records(a[0], i, RECORDS / 4);
		_exit(0);
	}
	send_records(a[0], 0, RECORDS / 4);
	for (i = 1; i < SENDERS; i++)
		must(wait(&status) > 0 && !status);
	close(a[0]);
	say("from several processes", count_records(a[1]));
	close(a[1]);
}

/* What one receiver got.  A record may be in two parts, and each go to another one. */
struct share {
	int bytes, sum;
};

static struct share take_share(int fd)
{
	struct share s = {};
	unsigned char some[sizeof(struct record)];
	ssize_t got, i;

	while ((got = recv(fd, some, sizeof(some), 0)) > 0) {
		s.bytes += got;
		for (i = 0; i < got; i++)
			s.sum += some[i];
	}
	return s;
}

static void test_forked_receivers(void)
{
	struct share s, all = {};
	int a[2], p[2], i;

	connected_long(a);
	must(!pipe(p));
	for (i = 1; i < 3; i++) {
		if (fork())
			continue;
		close(a[0]);
		s = take_share(a[1]);
		must(write(p[1], &s, sizeof(s)) == sizeof(s));
		_exit(0);
	}
	send_records(a[0], 0, RECORDS);
	close(a[0]);
	for (i = 1; i < 3; i++) {
		must(read(p[0], &s, sizeof(s)) == sizeof(s));
		all.bytes += s.bytes;
		all.sum += s.sum;
		must(wait(NULL) > 0);
	}
	say("to several processes", all.bytes);
	say("and all that was sent", all.sum);
	close(a[1]);
	close_pair(p);
}

static void test_exec(const char *self)
{
	char number[16];
	int a[2], status;

	connected_long(a);
	snprintf(number, sizeof(number), "%d", a[0]);
	if (!fork()) {
		execl("/proc/self/exe", self, number, NULL);
		_exit(1);
	}
	must(wait(&status) > 0 && !status);
	send_records(a[0], 1, 10);
	close(a[0]);
	say("after exec", count_records(a[1]));
	close(a[1]);
}

static volatile sig_atomic_t interrupted_fd, interruptions, unsent;

static void send_one(int sig)
{
	struct record r = { .sender = sig ? 1 : 0, .number = interruptions++ };

	if (send(interrupted_fd, &r, sizeof(r), 0) != sizeof(r))
		unsent = 1;
}

static void test_signals(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, off = { { 0, 0 }, { 0, 0 } };
	pthread_t receiver;
	sigset_t alarms;
	void *n;
	int a[2];

	connected_long(a);
	interrupted_fd = a[0];
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGVTALRM);
	must(!pthread_sigmask(SIG_BLOCK, &alarms, NULL));
	must(!pthread_create(&receiver, NULL, count_thread, &a[1]));
	signal(SIGVTALRM, send_one);
	must(!pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
	must(!setitimer(ITIMER_VIRTUAL, &often, NULL));
	send_records(a[0], 0, RECORDS * 50);
	must(!setitimer(ITIMER_VIRTUAL, &off, NULL));
	signal(SIGVTALRM, SIG_IGN);
	must(!unsent);
	close(a[0]);
	must(!pthread_join(receiver, &n));
	say("sent, and by a handler meanwhile",
	    (long)n == RECORDS * 50 + interruptions ? RECORDS * 50 : (long)n);
	close(a[1]);
}

/* --- ends ---------------------------------------------------------------- */

/* Somebody died with what the memory is locked by; over TCP there is no such thing. */
static void test_locked(void)
{
	unsigned int *lock;
	int a[2];
	char *map;

	connected_long(a);
	map = mmap(NULL, 4096 + 16384, PROT_READ | PROT_WRITE, MAP_SHARED, a[0], 0);
	if (map != MAP_FAILED) {
		lock = (unsigned int *)(map + 192);
		must(!*lock);
		*lock = 1;
	}
	say_pass("locked for good", a[0], a[1], "locked");
	if (map != MAP_FAILED)
		munmap(map, 4096 + 16384);
	close_pair(a);
}

/* No memory at all, at the very end of what there could be. */
static void test_nowhere(void)
{
	void *volatile nowhere = (void *)-1;
	int a[2];

	connected_long(a);
	must(send(a[1], "waits", 5, 0) == 5);
	wait_for(a[0], POLLIN);
	say("write from nowhere", write(a[0], nowhere, 10));
	say("read to nowhere", read(a[0], nowhere, 10));
	say_pass("and then", a[0], a[1], "goes on");
	must(!close(a[0]) && !close(a[1]));
}

static void test_ends(void)
{
	struct linger reset = { 1, 0 };
	int a[2], two = 2;

	signal(SIGPIPE, SIG_IGN);
	connected_long(a);
	must(send(a[0], out, 5, 0) == 5);
	must(!shutdown(a[0], SHUT_WR));
	say("after shutdown", send(a[0], out, 5, 0));
	say("and by write", write(a[0], out, 5));
	get(a[1], in, 5);
	say_end("all of it, and the end", a[1]);
	close_pair(a);

	connected_long(a);
	must(!setsockopt(a[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	must(!close(a[0]));
	shows_reset(a[1]);
	say("reset: send", send(a[1], out, 5, 0));
	say("and again", send(a[1], out, 5, 0));
	close(a[1]);

	connected_long(a);
	must(!setsockopt(a[1], SOL_SOCKET, SO_RCVLOWAT, &two, sizeof(two)));
	must(send(a[0], out, 1, 0) == 1);
	wait_bytes(a[1], 1);
	must(!fcntl(a[1], F_SETFL, O_NONBLOCK));
	say_events("less than SO_RCVLOWAT", shows(a[1]) & POLLIN);
	must(send(a[0], out, 2, 0) == 2);
	wait_bytes(a[1], 3);
	say("enough", recv(a[1], in, 10, 0));
	close_pair(a);
}

static void *send_for_ever(void *arg)
{
	for (;;)
		send(*(int *)arg, out, 8, MSG_DONTWAIT | MSG_NOSIGNAL);
	return NULL;
}

static void test_cancelled(void)
{
	pthread_t t;
	void *n;
	int a[2];

	connected_long(a);
	must(!pthread_create(&t, NULL, send_for_ever, &a[0]));
	wait_bytes(a[1], 8);
	must(!pthread_cancel(t));
	must(!pthread_join(t, &n));
	say("cancelled", n == PTHREAD_CANCELED);
	close_pair(a);
}

static int datagrams(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0 && !bind(fd, (struct sockaddr *)addr, sizeof(*addr)));
	must(!getsockname(fd, (struct sockaddr *)addr, &len));
	return fd;
}

/* A number that was a connection's, and is that of a socket for datagrams then. */
static void test_datagrams(const char *how, bool closed)
{
	struct sockaddr_in to, mine, from = { 0 };
	socklen_t len = sizeof(from);
	int a[2], s, r;

	connected_long(a);
	s = datagrams(&mine);
	r = datagrams(&to);
	if (closed)
		must(!close(a[0]));
	must(dup2(r, a[0]) == a[0]);
	must(sendto(s, "hello", 5, 0, (struct sockaddr *)&to, sizeof(to)) == 5);
	say_text("datagrams", how);
	say("one comes", recvfrom(a[0], in, sizeof(in), 0, (struct sockaddr *)&from, &len));
	say("length of its sender's address", len);
	say("it is the sender's", from.sin_family == AF_INET && from.sin_port == mine.sin_port &&
	    from.sin_addr.s_addr == mine.sin_addr.s_addr);
	must(!close(r) && !close(s));
	close_pair(a);
}

static long call_recv(int fd)
{
	return recv(fd, in, sizeof(in), 0);
}

/* An option that is set by another number of a connection. */
static void test_low_water(void)
{
	int a[2], other, ten = 10;
	struct waiter w;

	connected_long(a);
	other = dup(a[1]);
	must(other >= 0);
	must(!setsockopt(other, SOL_SOCKET, SO_RCVLOWAT, &ten, sizeof(ten)));
	must(send(a[0], out, 5, 0) == 5);
	wait_bytes(a[1], 5);
	waiter_start(&w, call_recv, a[1]);
	say("SO_RCVLOWAT by a duplicate: waits", waiter_asleep(&w));
	/* TCP wakes it where ten are there that it has not taken yet. */
	must(send(a[0], out, 10, 0) == 10);
	say("for as many", waiter_end(&w));
	must(!close(other));
	close_pair(a);
}

int main(int argc, char **argv)
{
	if (argc == 2 && argv[1][strspn(argv[1], "0123456789")] == '\0') {
		send_records(atoi(argv[1]), 0, 10);
		return 0;
	}
	oracle_init(argc, argv);
	test_numbers();
	test_passed();
	test_threads();
	test_forked_senders();
	test_forked_receivers();
	test_exec(argv[0]);
	test_signals();
	test_locked();
	test_nowhere();
	test_ends();
	test_cancelled();
	test_datagrams("instead of a connection", false);
	test_datagrams("after a connection", true);
	test_low_water();
	say("mappings left", mappings());
	return 0;
}
