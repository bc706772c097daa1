// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

/* Milliseconds in which all packets of an end have been sent, but for late acknowledgements. */
#define SETTLED	(late ? 50 : 10)

/* What had been counted before. */
static long resets_sent, resets;

static char references[20];

/* A number of /proc/net/snmp or /proc/net/netstat: two lines, one of names, one of values. */
static long counter(const char *file, const char *group, const char *name)
{
	char names[4000], values[4000], *n, *v, *n_at, *v_at;
	FILE *f = fopen(file, "r");
	long value = -1;

	need(f);
	while (value < 0 && fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
		n = strtok_r(names, "\n ", &n_at);
		v = strtok_r(values, "\n ", &v_at);
		if (strcmp(n, group))
			continue;
		while (n && v && strcmp(n, name)) {
			n = strtok_r(NULL, "\n ", &n_at);
			v = strtok_r(NULL, "\n ", &v_at);
		}
		need(n && v);
		value = atol(v);
	}
	fclose(f);
	return value;
}

/* A counter of TCP's in all namespaces of the connection. */
static long counters(const char *name)
{
	const char *const in[] = { place.server, place.client };
	long all = 0;
	int i;

	for (i = 0; i < (place.server ? 2 : 1); i++) {
		netns_enter(in[i]);
		all += counter("/proc/thread-self/net/snmp", "Tcp:", name);
	}
	return all;
}

void fresh(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	resets_sent = counters("OutRsts");
	resets = counters("EstabResets");
	if (place.server)
		return;
	resets_sent = 0;
	resets = 0;
	need(!unshare(CLONE_NEWNET));
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	need(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &r));
	close(fd);
}

void sysctl(const char *name, const char *value)
{
	char path[200];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, O_WRONLY);
	need(fd >= 0 && write(fd, value, strlen(value)) > 0);
	close(fd);
}

static void look_at_references(char text[20])
{
	int fd = open("/sys/module/sdpdev/refcnt", O_RDONLY);

	memset(text, 0, 20);
	need(fd >= 0 && read(fd, text, 19) > 0);
	close(fd);
}

void nothing_yet(void)
{
	look_at_references(references);
}

void nothing_left(void)
{
	char text[20] = "";
	int i;

	for (i = 0; i < 3000 && strcmp(text, references); i++) {
		usleep(i ? 1000 : 0);
		look_at_references(text);
	}
	if (strcmp(text, references))
		wrong("references to the module: %s", text);
}

/* When FIN is acknowledged is TCP's business: FIN_WAIT1 is as good as FIN_WAIT2. */
static unsigned int awaited(unsigned int state)
{
	return state == TCP_FIN_WAIT1 ? TCP_FIN_WAIT2 : state % 13;
}

/* The connection's sockets in a namespace: how many are in which state, by which end. */
static void count_states(const unsigned int ports[2], unsigned int count[2][13])
{
	unsigned int local, remote, state;
	char line[300];
	FILE *f = fopen("/proc/thread-self/net/tcp", "r");

	need(f && fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*x:%x %*x:%x %x", &local, &remote, &state) == 3 &&
		    ((local == ports[0] && remote == ports[1]) ||
		     (local == ports[1] && remote == ports[0])))
			count[local == ports[1]][awaited(state)]++;
	fclose(f);
}

/* @ports: of the client and of the server */
static void say_states(const unsigned int ports[2])
{
	const char *const in[] = { place.server, place.client };
	unsigned int count[2][13] = {};
	int i, j;

	for (i = 0; i < (place.server ? 2 : 1); i++) {
		netns_enter(in[i]);
		count_states(ports, count);
	}
	for (i = 0; i < 2; i++)
		for (j = 0; j < 13; j++)
			if (count[i][j])
				say("%s in state %d: %u", i ? "server" : "client", j, count[i][j]);
}

/*
 * What shows on the wire.  How TCP counts an abort beside it hangs on whether the kernel keeps an
 * orphan as a socket or as a TIME_WAIT one, and that is chance.
 */
static void say_wire(const unsigned int ports[2])
{
	/* A packet more or less that is late has its own. */
	say("RST sent: %d", counters("OutRsts") != resets_sent);
	say("reset: %ld", counters("EstabResets") - resets);
	say_states(ports);
}

static int port_of(int fd)
{
	struct sockaddr_in a = {};
	socklen_t len = sizeof(a);

	need(!getsockname(fd, (struct sockaddr *)&a, &len));
	return ntohs(a.sin_port);
}

static int bits(int fd)
{
	struct pollfd p = { fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0 };

	need(poll(&p, 1, 0) >= 0);
	return p.revents;
}

static int error_of(int fd)
{
	socklen_t len = sizeof(int);
	int error = -1;

	need(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	return error;
}

static int state_of(int fd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	need(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_state;
}

static void look_at(struct end *e, const char *title)
{
	say("%s: state %d, poll %x", title, awaited(state_of(e->fd)), bits(e->fd));
}

/* What an end still can do. */
static void use_up(struct end *e, const char *title)
{
	size_t all = 0;
	ssize_t n;

	look_at(e, title);
	while ((n = get(e, 1000, MSG_DONTWAIT)) > 0)
		all += n;
	say("read %zu, %s", all, n ? strerrorname_np(errno) : "the end");
	SAY(get(e, 1000, MSG_DONTWAIT));
	SAY(put_some(e, 10, MSG_DONTWAIT));
	usleep(SETTLED * 1000);
	look_at(e, title);
	SAY(put_some(e, 10, MSG_DONTWAIT));
	/* The other end is looked at next. */
	usleep(SETTLED * 1000);
	say("error %d", error_of(e->fd));
	SAY(get(e, 1000, MSG_DONTWAIT));
	look_at(e, title);
}

/* One way to end a connection; false if the descriptor is still there. */
typedef bool ending(struct end *e);

static void linger(int fd, int seconds)
{
	struct linger l = { 1, seconds };

	need(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
}

static bool closed(struct end *e)
{
	SAY(close(e->fd));
	return true;
}

static bool linger_0(struct end *e)
{
	linger(e->fd, 0);
	SAY(close(e->fd));
	return true;
}

static bool linger_1(struct end *e)
{
	linger(e->fd, 1);
	SAY(close(e->fd));
	return true;
}

static bool shut_read(struct end *e)
{
	SAY(shutdown(e->fd, SHUT_RD));
	return false;
}

static bool shut_write(struct end *e)
{
	SAY(shutdown(e->fd, SHUT_WR));
	return false;
}

static bool shut_both(struct end *e)
{
	SAY(shutdown(e->fd, SHUT_RDWR));
	return false;
}

static bool shut_and_closed(struct end *e)
{
	SAY(shutdown(e->fd, SHUT_WR));
	SAY(close(e->fd));
	return true;
}

static bool unconnected(struct end *e)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	SAY(connect(e->fd, &none, sizeof(none)));
	return false;
}

/* The only process that has the descriptor is killed. */
static bool killed(struct end *e)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		kill(getpid(), SIGKILL);
		_exit(0);
	}
	close(e->fd);
	need(waitpid(pid, &status, 0) == pid);
	say("status %d", status);
	return true;
}

/* An administrator ends it. */
static bool destroyed(struct end *e)
{
	char command[100];

	netns_enter(e->way ? place.server : place.client);
	snprintf(command, sizeof(command), "ss -K -t state established sport = :%d > /dev/null",
		 port_of(e->fd));
	/* NOLINTNEXTLINE(cert-env33-c): a command of iproute2 */
	need(!system(command));
	return false;
}

/* @by ends it; bit 0 of @unread: it has not read all; bit 1: the other one has not. */
static void end_once(ending *ending, bool by_a, int unread)
{
	struct conn c;
	struct end *by, *other;
	unsigned int ports[2];
	bool gone;

	fresh();
	c = conn_moved();
	by = by_a ? &c.a : &c.b;
	other = by_a ? &c.b : &c.a;
	ports[0] = port_of(c.a.fd);
	ports[1] = port_of(c.b.fd);
	say("%s ends it, unread %d", by_a ? "client" : "server", unread);
	if (unread & 1)
		put(other, 1500, 0);
	if (unread & 2)
		put(by, 2500, 0);
	if (unread & 1)
		arrived(by, 1500);
	if (unread & 2)
		arrived(other, 2500);
	want(by, true);
	want(other, true);
	gone = ending(by);
	usleep(SETTLED * 1000);
	say_wire(ports);
	if (!gone)
		look_at(by, "by");
	use_up(other, "other");
	if (!gone)
		use_up(by, "by");
	say_wire(ports);
	close(other->fd);
	usleep(SETTLED * 1000);
	if (!gone) {
		use_up(by, "by");
		close(by->fd);
	}
	usleep(SETTLED * 1000);
	say_wire(ports);
	nothing_left();
}

static void end_all(ending *ending)
{
	int i;

	for (i = 0; i < 8; i++)
		end_once(ending, i & 4, i & 3);
}

#define END_ROW(name) static void row_##name(void) { end_all(name); }
END_ROW(closed)
END_ROW(linger_0)
END_ROW(linger_1)
END_ROW(shut_read)
END_ROW(shut_write)
END_ROW(shut_both)
END_ROW(shut_and_closed)
END_ROW(unconnected)
END_ROW(killed)

/* The checked kernel ends none for ss. */
static void row_destroyed(void)
{
	if (!slow_kernel())
		end_all(destroyed);
}

struct waiter {
	struct end *end;
	ssize_t ret;
	int error;
	int revents;
};

static void *wait_read(void *arg)
{
	struct waiter *w = arg;

	w->ret = get(w->end, 100, 0);
	w->error = w->ret < 0 ? errno : 0;
	return NULL;
}

static void *wait_write(void *arg)
{
	struct waiter *w = arg;

	while ((w->ret = put_some(w->end, 100000, 0)) > 0)
		;
	w->error = errno;
	return NULL;
}

static void *wait_poll(void *arg)
{
	struct waiter *w = arg;
	struct pollfd p = { w->end->fd, POLLRDHUP | POLLPRI, 0 };

	w->ret = poll(&p, 1, 10000);
	w->revents = p.revents;
	return NULL;
}

/* A call that waits at one end when the other one ends it. */
static void end_a_wait(ending *ending, void *(*wait)(void *))
{
	struct conn c;
	struct waiter w = { .end = &c.b };
	pthread_t t;

	fresh();
	c = conn_moved();
	need(!pthread_create(&t, NULL, wait, &w));
	do
		usleep(SETTLED * 1000);
	while (wait == wait_write && !(bits(c.a.fd) & POLLIN));
	ending(&c.a);
	pthread_join(t, NULL);
	say("%zd, error %d, events %x", w.ret, w.error, w.revents);
	use_up(&c.b, "other");
	close(c.b.fd);
	nothing_left();
}

static void waits(void)
{
	static void *(*const wait[])(void *) = { wait_read, wait_write, wait_poll };
	static ending *const how[] = { closed, linger_0, killed };
	unsigned int i, j;

	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			end_a_wait(how[j], wait[i]);
}

/* A signal for the writer of a connection that has ended. */
static volatile sig_atomic_t pipes;

static void count_pipe(int sig)
{
	(void)sig;
	pipes++;
}

static void sigpipe(void)
{
	struct conn c;

	fresh();
	c = conn_moved();
	signal(SIGPIPE, count_pipe);
	linger_0(&c.b);
	usleep(SETTLED * 1000);
	SAY(put_some(&c.a, 10, MSG_NOSIGNAL));
	say("signals %d", pipes);
	SAY(put_some(&c.a, 10, MSG_NOSIGNAL));
	say("signals %d", pipes);
	SAY(put_some(&c.a, 10, 0));
	say("signals %d", pipes);
	close(c.a.fd);
	nothing_left();
}

const struct row close_rows[] = {
	{ "close()", row_closed },
	{ "close() with SO_LINGER 0", row_linger_0 },
	{ "close() with SO_LINGER 1", row_linger_1 },
	{ "shutdown(SHUT_RD)", row_shut_read },
	{ "shutdown(SHUT_WR)", row_shut_write },
	{ "shutdown(SHUT_RDWR)", row_shut_both },
	{ "shutdown(SHUT_WR) and close()", row_shut_and_closed },
	{ "connect() to AF_UNSPEC", row_unconnected },
	{ "a process that is killed", row_killed },
	{ "ss -K", row_destroyed },
	{ "calls that wait", waits },
	{ "SIGPIPE", sigpipe },
	{ }
};
