// SPDX-License-Identifier: GPL-2.0
/*
 * Connections whose ends both send, at a steady pace, bytes that tell where they belong; and one
 * that asks how it goes, line by line.
 *
 *	talk [-6] [-n CONNECTIONS] [-b BYTES] [-i MS] [-p SECONDS] [-m MODE]
 *	     [-l ADDRESS [-S NETNS] [-D DEVICE]] [-c ADDRESS [-C NETNS]]
 *
 * It has the ends that listen (-l), those that connect (-c), or both.  Each end sends as many
 * bytes as BYTES, or there is room for, every MS milliseconds (50).  When all are connected it
 * says "ready".  It answers each line of its input by a line that begins with "ok" or "no", this
 * after so many SECONDS:
 *
 *	more [END]	each end, or each END (a: connects, b: listens), gets so many bytes more
 *	by CARRIER	each end sends by this: tcp, local, ib
 *	still [END]	none gets a byte for a second
 *	all		each end has got what the other one has sent
 *	silent		no end sends from now on
 *	loud		they do
 *	stays WORD	for this reason each end sends by TCP
 *	hold END	END does not read from now on
 *	read END	it does
 *	full END	END has had no room for a second
 *	end		both ends have sent all, got all, and nothing else; with the numbers
 *	errors		each end fails; with the errors
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sdp_sock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../lib/tap.h"

#define PORT		7777
#define CONNECTIONS	10000
/* If there are more, the kernel does not look at each as soon as something has come. */
#define FEW		64
/* Milliseconds between two looks, and those without a byte that are enough. */
#define PACE		50
#define STILL		1000
/* More bytes than the kernel has buffers for, so that some were sent since. */
#define MORE		(1 << 16)
#define CHUNK		(1 << 16)

/**
 * struct end - one end of a connection
 * @fd: its socket
 * @error: that has ended it
 * @way: which direction it sends
 * @side: 'a' connects, 'b' listens
 * @hold: it does not read
 * @eof: it has read the end of the stream
 * @out: bytes that it has sent
 * @in: bytes that it has received
 * @mark: of them, when a question was asked
 * @last: when it has received the last one
 * @room: when it has sent the last one
 */
struct end {
	int fd;
	int error;
	unsigned int way;
	char side;
	bool hold;
	bool eof;
	uint64_t out;
	uint64_t in;
	uint64_t mark;
	long long last;
	long long room;
};

/**
 * struct question - what waits for its answer
 * @answered: is it so?
 * @ends: which ends it is about; 0 for all
 * @carrier: SDP_SOCK_BY_*
 * @word: a reason
 * @until: when the answer is no
 */
struct question {
	bool (*answered)(const struct end *e);
	char ends;
	unsigned int carrier;
	char word[SDP_STAY_LEN];
	long long until;
};

static struct end ends[2 * CONNECTIONS];
static unsigned int n_ends, connections = 1, burst = 1 << 15, mode;
/* Seconds after which the answer is no, on an ordinary kernel. */
static unsigned int patience = 60;
/* Milliseconds between two sends of an end. */
static unsigned int interval = PACE;
static int family = AF_INET;
static const char *device;		/* that the listener is bound to */
static bool ending, silent;
static struct question question;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* --- connections --------------------------------------------------------------- */

static int new_socket(const char *netns)
{
	char path[200];
	int fd, one = 1;

	if (netns) {
		snprintf(path, sizeof(path), "/run/netns/%s", netns);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		must(fd >= 0 && !setns(fd, CLONE_NEWNET));
		close(fd);
	}
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0 && !setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3));
	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	must(!setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, sizeof(mode)));
	return fd;
}

static socklen_t address(struct sockaddr_storage *a, const char *text)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)a;
	struct sockaddr_in *v4 = (struct sockaddr_in *)a;

	memset(a, 0, sizeof(*a));
	a->ss_family = family;
	if (family == AF_INET) {
		v4->sin_port = htons(PORT);
		must(inet_pton(family, text, &v4->sin_addr) == 1);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(PORT);
	must(inet_pton(family, text, &v6->sin6_addr) == 1);
	return sizeof(*v6);
}

static int listener(const char *text, const char *netns)
{
	struct sockaddr_storage a;
	socklen_t len = address(&a, text);
	int fd = new_socket(netns);

	must(!device || !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, strlen(device)));
	must(!bind(fd, (struct sockaddr *)&a, len) && !listen(fd, CONNECTIONS));
	return fd;
}

static int connected(const char *text, const char *netns)
{
	struct sockaddr_storage a;
	socklen_t len = address(&a, text);
	int fd = new_socket(netns);

	/* No neighbour answers queries for addresses while nothing passes. */
	while (connect(fd, (struct sockaddr *)&a, len))
		must(errno == EHOSTUNREACH);
	return fd;
}

/* Connections are made one after the other, so that both ends number them alike. */
static void add(int fd, char side, unsigned int connection)
{
	struct end *e = &ends[n_ends++];

	must(fd >= 0);
	e->fd = fd;
	e->side = side;
	e->way = 2 * connection + (side == 'b');
	e->last = now_ms();
	e->room = e->last;
}

/* --- bytes --------------------------------------------------------------------- */

/* Eight bytes of a direction, from a position that is a multiple of eight. */
static uint64_t word_at(unsigned int way, uint64_t pos)
{
	uint64_t x = (pos >> 3) * 0x9e3779b97f4a7c15ull + way;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

/* A direction's bytes from @pos on: @bytes has room for eight more. */
static const char *stream(char *bytes, unsigned int way, uint64_t pos, size_t n)
{
	uint64_t word, at = pos & ~7ull;
	size_t i;

	for (i = 0; i < n + 8; i += 8) {
		word = word_at(way, at + i);
		memcpy(bytes + i, &word, 8);
	}
	return bytes + (pos & 7);
}

static void failed(struct end *e, int error)
{
	if (error == EAGAIN)
		return;
	e->error = error;
	close(e->fd);
	e->fd = -1;
}

static void put(struct end *e)
{
	static char bytes[CHUNK + 16];
	unsigned int left = burst;

	while (left) {
		size_t n = left < CHUNK ? left : CHUNK;
		ssize_t ret = send(e->fd, stream(bytes, e->way, e->out, n), n,
				   MSG_DONTWAIT | MSG_NOSIGNAL);

		if (ret < 0) {
			failed(e, errno);
			return;
		}
		e->out += ret;
		e->room = now_ms();
		left -= ret;
	}
}

static void get(struct end *e)
{
	static char bytes[CHUNK], right[CHUNK + 16];
	ssize_t n = recv(e->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0) {
		failed(e, errno);
		return;
	}
	if (!n) {
		e->eof = true;
		return;
	}
	if (memcmp(bytes, stream(right, e->way ^ 1, e->in, n), n)) {
		printf("no: wrong bytes behind %ju\n", (uintmax_t)e->in);
		exit(1);
	}
	e->in += n;
	e->last = now_ms();
}

/* --- questions ----------------------------------------------------------------- */

static bool got_more(const struct end *e)
{
	return e->in >= e->mark + MORE;
}

static bool is_still(const struct end *e)
{
	return now_ms() - e->last >= STILL;
}

static bool is_full(const struct end *e)
{
	return now_ms() - e->room >= STILL;
}

static bool sends_by(const struct end *e)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	return !getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len) &&
	       info.tx_carrier == question.carrier;
}

static bool stays(const struct end *e)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	return !getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len) &&
	       info.tx_carrier == SDP_SOCK_BY_TCP && !strcmp(info.stay, question.word);
}

static bool has_failed(const struct end *e)
{
	return e->error;
}

static bool has_ended(const struct end *e)
{
	return e->eof;
}

/* The other end of the connection, if it is here: they are added one after the other. */
static const struct end *other(const struct end *e)
{
	unsigned int at = (e - ends) ^ 1;

	return at < n_ends && ends[at].way == (e->way ^ 1) ? &ends[at] : NULL;
}

static bool has_all(const struct end *e)
{
	const struct end *o = other(e);

	return o && e->in == o->out;
}

/* What is said of an end when there is no answer. */
static void describe(const struct end *e)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	if (!e->error)
		getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len);
	printf(" %c%u: in %ju, out %ju, by %u, moves %u, stay '%s', %s;", e->side, e->way / 2,
	       (uintmax_t)e->in, (uintmax_t)e->out, info.tx_carrier, info.moves, info.stay,
	       e->error ? strerrorname_np(e->error) : "no error");
}

static void answer_no(void)
{
	unsigned int i, said = 0;

	printf("no:");
	for (i = 0; i < n_ends; i++)
		if (!question.answered(&ends[i]) || ends[i].error)
			if (said++ < FEW)
				describe(&ends[i]);
	if (said > FEW)
		printf(" and %u more", said - FEW);
	putchar('\n');
	question.answered = NULL;
}

static void answer_ok(void)
{
	unsigned int i;

	printf("ok");
	for (i = 0; i < n_ends; i++) {
		const struct end *e = &ends[i], *o = other(e);

		if (ending && n_ends <= FEW)
			printf(" %c%u in %ju out %ju", e->side, e->way / 2, (uintmax_t)e->in,
			       (uintmax_t)e->out);
		if (ending && o && o->out != e->in)
			printf(" WRONG");
		if (question.answered == has_failed &&
		    (!question.ends || e->side == question.ends))
			printf(" %c=%s", e->side, strerrorname_np(e->error));
	}
	putchar('\n');
	question.answered = NULL;
}

static void ask_again(void)
{
	bool yes = true;
	unsigned int i;

	if (!question.answered)
		return;
	for (i = 0; i < n_ends && yes; i++) {
		const struct end *e = &ends[i];

		if (question.ends && e->side != question.ends)
			continue;
		if (e->error && question.answered != has_failed)
			question.until = 0;
		yes = yes && question.answered(e);
	}
	if (yes)
		answer_ok();
	else if (now_ms() >= question.until)
		answer_no();
	fflush(stdout);
}

static void hold(char side, bool on)
{
	unsigned int i;

	for (i = 0; i < n_ends; i++)
		if (ends[i].side == side)
			ends[i].hold = on;
	puts("ok");
	fflush(stdout);
}

static void end_all(void)
{
	unsigned int i;

	ending = true;
	for (i = 0; i < n_ends; i++)
		shutdown(ends[i].fd, SHUT_WR);
}

static void ask(const char *line)
{
	const char *kernel = getenv("KERNEL");
	long long slow = kernel && !strcmp(kernel, "debug") ? 5 : 1;
	char word[20] = "", more[20] = "";
	unsigned int i;

	if (sscanf(line, "%19s %19s", word, more) < 1)
		return;
	question = (struct question){ .until = now_ms() + patience * 1000LL * slow };
	for (i = 0; i < n_ends; i++) {
		ends[i].mark = ends[i].in;
		/* What was before is not what is asked for. */
		ends[i].last = now_ms();
		ends[i].room = ends[i].last;
	}
	question.ends = more[0] && !more[1] ? more[0] : 0;
	if (!strcmp(word, "more")) {
		question.answered = got_more;
	} else if (!strcmp(word, "still")) {
		question.answered = is_still;
	} else if (!strcmp(word, "full")) {
		question.answered = is_full;
	} else if (!strcmp(word, "errors")) {
		question.answered = has_failed;
	} else if (!strcmp(word, "end")) {
		question.answered = has_ended;
		end_all();
	} else if (!strcmp(word, "by")) {
		question.answered = sends_by;
		question.carrier = !strcmp(more, "tcp") ? SDP_SOCK_BY_TCP :
				   !strcmp(more, "ib") ? SDP_SOCK_BY_IB :
				   !strcmp(more, "rdma") ? SDP_SOCK_BY_RDMA : SDP_SOCK_BY_LOCAL;
	} else if (!strcmp(word, "all")) {
		question.answered = has_all;
	} else if (!strcmp(word, "silent") || !strcmp(word, "loud")) {
		silent = word[0] == 's';
		puts("ok");
		fflush(stdout);
	} else if (!strcmp(word, "stays")) {
		question.answered = stays;
		snprintf(question.word, sizeof(question.word), "%s", more);
	} else if (!strcmp(word, "hold") || !strcmp(word, "read")) {
		hold(more[0], word[0] == 'h');
	} else {
		printf("no: what is %s?\n", word);
		fflush(stdout);
	}
}

/* --- running ------------------------------------------------------------------- */

/* Read lines as they come; false at the end of the input. */
static bool input(void)
{
	static char line[100];
	static size_t len;
	ssize_t n = read(0, line + len, sizeof(line) - 1 - len);
	char *end;

	if (n <= 0)
		return false;
	len += n;
	line[len] = 0;
	while ((end = strchr(line, '\n'))) {
		*end = 0;
		ask(line);
		len -= end + 1 - line;
		memmove(line, end + 1, len + 1);
	}
	return true;
}

static void run(void)
{
	static struct pollfd fds[2 * CONNECTIONS + 1] = { { .fd = 0, .events = POLLIN } };
	long long next = 0;
	unsigned int i;

	for (;;) {
		for (i = 0; i < n_ends; i++) {
			fds[i + 1].fd = ends[i].hold || ends[i].eof ? -1 : ends[i].fd;
			fds[i + 1].events = POLLIN;
		}
		if (n_ends > FEW)
			usleep(PACE * 1000);
		must(poll(fds, n_ends + 1, n_ends > FEW ? 0 : PACE) >= 0);
		if (fds[0].revents && !input())
			return;
		for (i = 0; i < n_ends; i++)
			if (fds[i + 1].fd >= 0 && fds[i + 1].revents)
				get(&ends[i]);
		if (now_ms() >= next) {
			next = now_ms() + interval;
			for (i = 0; i < n_ends && !ending && !silent; i++)
				if (ends[i].fd >= 0)
					put(&ends[i]);
		}
		ask_again();
	}
}

/* What the command line says. */
static const char *listens, *connects, *server, *client;

static bool parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "6n:b:i:p:m:l:c:S:C:D:")) != -1) {
		switch (c) {
		case '6':
			family = AF_INET6;
			break;
		case 'n':
			connections = strtoul(optarg, NULL, 0);
			break;
		case 'b':
			burst = strtoul(optarg, NULL, 0);
			break;
		case 'i':
			interval = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			patience = strtoul(optarg, NULL, 0);
			break;
		case 'm':
			mode = strtoul(optarg, NULL, 0);
			break;
		case 'l':
			listens = optarg;
			break;
		case 'c':
			connects = optarg;
			break;
		case 'S':
			server = optarg;
			break;
		case 'C':
			client = optarg;
			break;
		case 'D':
			device = optarg;
			break;
		default:
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct rlimit files = { 2 * CONNECTIONS + 100, 2 * CONNECTIONS + 100 };
	unsigned int i;
	int fd = -1;

	if (!parse(argc, argv))
		return 2;
	must(connections && connections <= CONNECTIONS);
	must(!setrlimit(RLIMIT_NOFILE, &files));
	if (listens) {
		fd = listener(listens, server);
		puts("listens");
		fflush(stdout);
	}
	for (i = 0; i < connections; i++) {
		if (connects)
			add(connected(connects, client), 'a', i);
		if (listens)
			add(accept(fd, NULL, NULL), 'b', i);
	}
	puts("ready");
	fflush(stdout);
	run();
	return 0;
}
