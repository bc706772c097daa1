// SPDX-License-Identifier: GPL-2.0
/*
 * Both ends of several connections have said all they had to say at about the same
 * time: what has come and is still to be read is not lost with the connection.  The
 * same over direct SDP and over TCP.
 */
#include "end.h"

#include <pthread.h>

#define AT_ONCE	10
#define BYTES	500000
#define ROUNDS	20

static char out[BYTES];

/* One end of a connection. */
struct end {
	size_t sent, got;
	int fd;
	bool over, wrong;
};

/* Gives back what comes, and ends when it ends. */
static void *serve_one(void *arg)
{
	int fd = (intptr_t)arg;
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0 && write(fd, buf, n) == n)
		;
	close(fd);
	return NULL;
}

static void *serve(void *arg)
{
	pthread_t thread;
	int i, fd;

	for (i = 0; i < ROUNDS * AT_ONCE; i++) {
		fd = end_accept((intptr_t)arg);
		must(fd >= 0);
		must(!pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd));
		must(!pthread_detach(thread));
	}
	return NULL;
}

static void give(struct end *e)
{
	ssize_t n = write(e->fd, out + e->sent, BYTES - e->sent);

	if (n > 0)
		e->sent += n;
	if (e->sent == BYTES)
		must(shutdown(e->fd, SHUT_WR) == 0);
}

static void take(struct end *e)
{
	static char in[65536];
	ssize_t n = read(e->fd, in, sizeof(in));

	if (n > 0 && n <= (ssize_t)(BYTES - e->got) && !memcmp(in, out + e->got, n)) {
		e->got += n;
		return;
	}
	e->over = true;
	e->wrong = n || e->got != BYTES;
	if (e->wrong)
		printf("# after %zu bytes: %s\n", e->got, n < 0 ? strerror(errno) : "wrong");
}

/* What can be done with those that are not over. */
static void go_on(struct end *e)
{
	struct pollfd p[AT_ONCE];
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		p[i].fd = e[i].over ? -1 : e[i].fd;
		p[i].events = e[i].sent < BYTES ? POLLIN | POLLOUT : POLLIN;
	}
	must(poll(p, AT_ONCE, 20000) > 0);
	for (i = 0; i < AT_ONCE; i++) {
		if (p[i].fd < 0)
			continue;
		if (p[i].revents & ~POLLOUT)
			take(&e[i]);
		if (!e[i].over && (p[i].revents & POLLOUT) && e[i].sent < BYTES)
			give(&e[i]);
	}
}

static int are_over(const struct end *e)
{
	int i, n = 0;

	for (i = 0; i < AT_ONCE; i++)
		n += e[i].over;
	return n;
}

/* Returns how many ended wrong. */
static int ask(enum kind kind, int port)
{
	struct end e[AT_ONCE] = {};
	int i, wrong = 0;

	for (i = 0; i < AT_ONCE; i++) {
		e[i].fd = end_open(kind);
		must(end_connect(e[i].fd, SERVER4, port) == 0);
		nonblock(e[i].fd, true);
	}
	while (are_over(e) < AT_ONCE)
		go_on(e);
	for (i = 0; i < AT_ONCE; i++) {
		wrong += e[i].wrong;
		close(e[i].fd);
	}
	return wrong;
}

static void test_ends(enum kind kind, int port)
{
	int l = listener(kind, SERVER4, port, 64), i, wrong = 0;
	pthread_t thread;

	must(!pthread_create(&thread, NULL, serve, (void *)(intptr_t)l));
	for (i = 0; i < ROUNDS; i++)
		wrong += ask(kind, port);
	must(!pthread_join(thread, NULL));
	close(l);
	ok(!wrong, "%s: all is there, and then the end (%d of %d not)", kind_name[kind],
	   wrong, ROUNDS * AT_ONCE);
}

int main(void)
{
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + i / 251;
	set_both_direct("1");
	test_ends(TCP, 24000);
	test_ends(SDP, 24001);
	set_both_direct("0");
	printf("1..%u\n", tap_done);
	return tap_exit();
}
