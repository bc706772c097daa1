// SPDX-License-Identifier: GPL-2.0
/*
 * Direct SDP: sockets of family 27, between each other.  selftests/wire has peers of other make.
 */
#include "end.h"

#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PORT	27101
#define BYTES	(3 << 20)
#define USER	12345		/* any that is not root, and the next one */
#define CONNECTIONS	"/sys/module/sdp_ib/parameters/device_connections"

static int direct(void)
{
	int fd = socket(DIRECT, SOCK_STREAM, 0);

	must(fd >= 0);
	return fd;
}

static int connect_to(int fd, int port)
{
	return end_connect(fd, SERVER4, port);
}

/* A listener of node 2. */
static int listen_direct(int port)
{
	int fd;

	enter_node(2);
	fd = direct();
	must(end_bind(fd, "0.0.0.0", port) == 0 && listen(fd, 4) == 0);
	enter_node(1);
	return fd;
}

/* Two ends: the first has asked. */
static bool join(int l, int end[2])
{
	end[0] = direct();
	end[1] = -1;
	if (connect_to(end[0], PORT))
		return false;
	end[1] = accept(l, NULL, NULL);
	return end[1] >= 0;
}

static void both_close(int end[2])
{
	close(end[0]);
	close(end[1]);
}

/* Byte @i of a stream. */
static char byte(size_t i)
{
	return i * 7 + (i >> 11);
}

/* Reads a stream to its end; true where it is as it was written. */
static bool drain(int fd)
{
	static char in[70000];
	size_t done = 0;
	ssize_t n, i;

	while ((n = read(fd, in, 1 + done % sizeof(in))) > 0) {
		for (i = 0; i < n; i++)
			if (in[i] != byte(done + i))
				return false;
		done += n;
	}
	return n == 0 && done == BYTES;
}

/* Writes a stream in pieces of many sizes, and ends it. */
static bool fill(int fd)
{
	static char out[50000];
	size_t done = 0, n, i, size = 1;

	for (; done < BYTES; done += n, size = size * 3 % sizeof(out)) {
		n = size < BYTES - done ? size : BYTES - done;
		for (i = 0; i < n; i++)
			out[i] = byte(done + i);
		if (write(fd, out, n) != (ssize_t)n)
			return false;
	}
	return shutdown(fd, SHUT_WR) == 0;
}

/* A stream from one end to the other, while the other sends one, too. */
static bool streams(int a, int b)
{
	int status, good;

	if (!fork())
		_exit(fill(a) ? 0 : 1);
	if (!fork())
		_exit(drain(a) ? 0 : 1);
	if (!fork())
		_exit(drain(b) ? 0 : 1);
	good = fill(b);
	while (wait(&status) > 0)
		good &= WIFEXITED(status) && !WEXITSTATUS(status);
	return good;
}

static int option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

static int error_of(int fd)
{
	return option(fd, SOL_SOCKET, SO_ERROR);
}

/* Off: family 27 is TCP, on the same ports. */
static void test_off(void)
{
	int fd, l, one = 1;

	fd = direct();
	ok(option(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET &&
	   option(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP, "off: a TCP socket");
	enter_node(2);
	l = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(l, SERVER4, PORT) == 0 && listen(l, 1) == 0);
	enter_node(1);
	ok(connect_to(fd, PORT) == 0 && write(fd, "x", 1) == 1, "which a TCP server answers");
	close(fd);
	close(l);
	set_both_direct("1");
	fd = direct();
	ok(option(fd, SOL_SOCKET, SO_DOMAIN) == DIRECT, "on: a direct one");
	close(fd);
	fd = socket(DIRECT, SOCK_DGRAM, 0);
	ok(fd == -1 && errno == EAFNOSUPPORT, "streams and nothing else");
}

static void test_names(int l)
{
	struct sockaddr_in a = { 0 }, b = { 0 };
	socklen_t len = sizeof(a);
	int end[2], fd;

	ok(join(l, end), "a connection");
	must(getsockname(end[0], (struct sockaddr *)&a, &len) == 0);
	ok(getpeername(end[1], (struct sockaddr *)&b, &len) == 0 && !memcmp(&a, &b, sizeof(a)) &&
	   a.sin_family == AF_INET && a.sin_port, "each end has the other's name");
	ok(connect_to(end[0], PORT) == -1 && errno == EISCONN, "connected: EISCONN");
	both_close(end);
	fd = direct();
	ok(connect_to(fd, PORT + 5) == -1 && errno == ECONNREFUSED, "nobody listens: ECONNREFUSED");
	ok(connect_to(fd, PORT) == 0, "it may try again");
	end[0] = fd;
	end[1] = accept(l, NULL, NULL);
	both_close(end);
	enter_node(2);
	fd = direct();
	ok(end_bind(fd, SERVER4, PORT) == -1 && errno == EADDRINUSE,
	   "a port is one's: EADDRINUSE");
	ok(end_bind(fd, "10.77.0.1", 0) == -1 && errno == EADDRNOTAVAIL,
	   "another's address: EADDRNOTAVAIL");
	enter_node(1);
	close(fd);
	fd = direct();
	ok(send(fd, "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE &&
	   recv(fd, &a, 1, 0) == -1 && errno == ENOTCONN, "no connection: EPIPE, ENOTCONN");
	close(fd);
}

static void test_calls(int l)
{
	char in[16];
	int end[2], n, fd;

	fd = direct();
	fcntl(fd, F_SETFL, O_NONBLOCK);
	ok(connect_to(fd, PORT) == -1 && errno == EINPROGRESS, "without waiting: EINPROGRESS");
	ok(all_events(fd, POLLOUT, SOON) && error_of(fd) == 0 && connect_to(fd, PORT) == 0,
	   "and then it is connected");
	end[0] = fd;
	ok(all_events(l, POLLIN, SOON), "a listener is readable");
	end[1] = accept(l, NULL, NULL);
	ok(recv(end[0], in, 1, 0) == -1 && errno == EAGAIN, "nothing to read: EAGAIN");
	must(write(end[1], "abcdef", 6) == 6);
	ok(all_events(end[0], POLLIN, SOON) && ioctl(end[0], FIONREAD, &n) == 0 && n == 6,
	   "bytes that are there");
	ok(recv(end[0], in, 0, 0) == 0 && recv(end[0], in, 0, MSG_PEEK) == 0 &&
	   recv(end[0], in, 0, MSG_DONTWAIT) == 0, "nothing of them is read: zero");
	ok(recv(end[0], in, 4, MSG_PEEK) == 4 && recv(end[0], in, 16, 0) == 6 &&
	   !memcmp(in, "abcdef", 6), "looked at, and read");
	fcntl(fd, F_SETFL, 0);
	must(write(end[1], "gh", 2) == 2);
	if (!fork()) {
		usleep(50000);
		_exit(write(end[1], "ij", 2) == 2 ? 0 : 1);
	}
	ok(recv(end[0], in, 4, MSG_WAITALL) == 4 && !memcmp(in, "ghij", 4), "all of it");
	wait(NULL);
	n = 1;
	ok(!setsockopt(fd, SOL_TCP, TCP_NODELAY, &n, sizeof(n)) &&
	   option(fd, SOL_TCP, TCP_NODELAY) == 1, "what every program sets");
	ok(send(fd, "x", 1, MSG_OOB) == -1 && errno == EOPNOTSUPP, "no urgent bytes");
	both_close(end);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A sender that waits for room keeps no other one waiting.  Returns bytes that had room. */
static size_t test_beside(int fd)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	pid_t waits = fork();
	size_t sent = 0;

	if (!waits) {
		send(fd, "x", 1, 0);
		_exit(0);
	}
	usleep(100000);
	must(sigaction(SIGALRM, &sa, NULL) == 0);
	alarm(5);
	while (send(fd, "x", 1, MSG_DONTWAIT) == 1)
		sent++;
	ok(errno == EAGAIN, "another one does not wait");
	alarm(0);
	kill(waits, SIGKILL);
	waitpid(waits, NULL, 0);
	return sent;
}

/* Fills the room that there is, and the peer does not read meanwhile. */
static void test_full(int l)
{
	static char out[8192];
	size_t all = 0;
	ssize_t n;
	int end[2];

	must(join(l, end));
	do {
		while ((n = send(end[0], out, sizeof(out), MSG_DONTWAIT)) > 0)
			all += n;
		/* Some is still on its way. */
	} while (all < 8 << 20 && all_events(end[0], POLLOUT, 100));
	ok(n == -1 && errno == EAGAIN && all > 100000 && all < 8 << 20,
	   "nobody reads: the sender waits");
	all += test_beside(end[0]);
	/* The one that waited may have sent a byte more. */
	while (all && (n = recv(end[1], out, all < sizeof(out) ? all : sizeof(out), 0)) > 0)
		all -= n;
	ok(!all && all_events(end[0], POLLOUT, SOON), "somebody does: it goes on");
	both_close(end);
}

static void test_ends(int l)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct sockaddr_in name = {};
	socklen_t len = sizeof(name);
	char in[4];
	int end[2];

	must(join(l, end));
	ok(shutdown(end[0], SHUT_WR) == 0 && read(end[1], in, 1) == 0, "half of it ends");
	ok(send(end[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE, "nothing more: EPIPE");
	ok(write(end[1], "ok", 2) == 2 && read(end[0], in, 4) == 2, "the other half goes on");
	close(end[1]);
	ok(read(end[0], in, 1) == 0 && all_events(end[0], POLLHUP, SOON), "and ends");
	close(end[0]);

	must(join(l, end));
	must(write(end[0], "x", 1) == 1 && all_events(end[1], POLLIN, SOON));
	close(end[1]);
	ok(read(end[0], in, 1) == -1 && errno == ECONNRESET, "unread bytes: a reset");
	close(end[0]);

	end[0] = direct();
	must(connect_to(end[0], PORT) == 0 && all_events(l, POLLIN, SOON));
	must(!setsockopt(end[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	close(end[0]);
	/* The listener hears nothing of that. */
	usleep(100000);
	end[1] = accept(l, (struct sockaddr *)&name, &len);
	ok(end[1] >= 0 && len == sizeof(name) && name.sin_port,
	   "one that has ended is accepted, and has a name");
	ok(read(end[1], in, 1) == -1 && errno == ECONNRESET, "and its end");
	close(end[1]);

	must(join(l, end));
	must(write(end[0], "last", 4) == 4);
	close(end[0]);
	ok(recv(end[1], in, 4, MSG_WAITALL) == 4 && read(end[1], in, 1) == 0,
	   "what was written comes before the end");
	close(end[1]);

	end[0] = direct();
	must(connect_to(end[0], PORT) == 0 && all_events(l, POLLIN, SOON));
	close(l);
	ok(read(end[0], in, 1) == -1 && errno == ECONNRESET, "not accepted: a reset");
	close(end[0]);
}

/* close(2) with SO_LINGER waits until the peer has all, and no longer. */
static void test_linger(int l)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 10 };
	char in[4];
	int end[2];
	long t;

	must(join(l, end));
	must(!setsockopt(end[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	must(write(end[0], "last", 4) == 4);
	t = milliseconds();
	close(end[0]);
	ok(milliseconds() - t < 5000 && recv(end[1], in, 4, MSG_DONTWAIT) == 4,
	   "SO_LINGER: as long as it takes");
	close(end[1]);
}

static void test_unlisten(void)
{
	int l = listen_direct(PORT + 3), status;

	if (!fork()) {
		alarm(5);
		_exit(accept(l, NULL, NULL) == -1 && errno == EINVAL ? 0 : 1);
	}
	usleep(100000);
	ok(shutdown(l, SHUT_WR) == 0 && option(l, SOL_SOCKET, SO_ACCEPTCONN) == 1,
	   "a listener has nothing to write");
	ok(shutdown(l, SHUT_RD) == 0 && wait(&status) > 0 && status == 0,
	   "its end: accept says EINVAL");
	ok(listen(l, 4) == 0, "it may listen again");
	close(l);
}

struct row {
	char local[32], peer[32], state[16];
	unsigned int tx_queue, rx_queue, uid;
	unsigned long long tx_bytes, rx_bytes;
	unsigned long inode;
};

/* What this node's table says of a socket; false: it is not there. */
static bool listed(int fd, struct row *row)
{
	FILE *table = fopen("/proc/net/sdp/direct", "r");
	struct stat st;
	bool found = false;

	must(table && !fstat(fd, &st));
	must(fscanf(table, "%*[^\n]\n") == 0);
	while (!found && fscanf(table, "%31s %31s %15s %u %u %llu %llu %u %lu%*[^\n]", row->local,
				row->peer, row->state, &row->tx_queue, &row->rx_queue,
				&row->tx_bytes, &row->rx_bytes, &row->uid, &row->inode) == 9)
		found = row->inode == st.st_ino;
	fclose(table);
	return found;
}

/* What the namespace of a node has counted. */
static long counted(int node, const char *name)
{
	char word[64];
	long value, found = -1;
	FILE *table;

	enter_node(node);
	table = fopen("/proc/net/sdp/snmp", "r");
	enter_node(1);
	must(table);
	while (found < 0 && fscanf(table, "%63s %ld", word, &value) == 2)
		if (!strcmp(word, name))
			found = value;
	fclose(table);
	return found;
}

static void test_listed(int l)
{
	long connected = counted(1, "connected"), accepted = counted(2, "accepted");
	struct row a = { 0 }, b = { 0 }, c;
	int end[2];

	must(join(l, end));
	must(write(end[0], "abcdef", 6) == 6 && all_events(end[1], POLLIN, SOON));
	must(read(end[1], &c, 2) == 2);
	ok(counted(1, "connected") == connected + 1 && counted(2, "accepted") == accepted + 1 &&
	   !counted(1, "accepted"), "each node counts its end");
	ok(listed(end[0], &a) && !strcmp(a.state, "ESTABLISHED") && a.tx_bytes == 6 &&
	   a.rx_bytes == 0 && a.uid == 0, "/proc/net/sdp/direct has a socket");
	ok(!listed(end[1], &c), "and none of another namespace");
	enter_node(2);
	ok(listed(end[1], &b) && b.rx_bytes == 6 && b.rx_queue == 4 && !strcmp(a.local, b.peer) &&
	   !strcmp(a.peer, b.local), "there is the other end");
	ok(listed(l, &c) && !strcmp(c.state, "LISTEN") && !strcmp(c.peer, "-"), "and the listener");
	enter_node(1);
	both_close(end);
}

static void write_to(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value));
	close(fd);
}

/* How many connections to a listener that accepts none come about; errno says of the next. */
static int connect_many(int fd[], int most)
{
	int n;

	for (n = 0; n < most; n++) {
		fd[n] = direct();
		if (connect_to(fd[n], PORT + 6)) {
			close(fd[n]);
			break;
		}
	}
	return n;
}

static void close_many(int fd[], int n)
{
	while (n--)
		close(fd[n]);
}

static void test_users(void)
{
	int l = listen_direct(PORT + 6), fd[8], accepted[2] = {}, other, i, n, error = 0;
	int tries = 100;

	n = connect_many(fd, 8);
	ok(n == 5 && errno == ECONNREFUSED, "a listener's backlog is full: ECONNREFUSED");
	close_many(fd, n);
	close(l);

	l = listen_direct(PORT + 6);
	write_to(CONNECTIONS, "8");
	must(seteuid(USER) == 0);
	/* Those from before take a while to end; what there is stays, as it is not accepted. */
	for (n = 0; n < 2 && tries--; ) {
		n += connect_many(fd + n, 8 - n);
		error = errno;
		if (n < 2)
			usleep(100000);
	}
	must(seteuid(0) == 0);
	ok(n == 2 && error == ENOBUFS, "a user's share of an adapter: ENOBUFS");
	must(seteuid(USER + 1) == 0);
	ok(connect_many(&other, 1) == 0, "peers have a share before root's program accepts");
	must(seteuid(0) == 0);
	for (i = 0; i < n; i++)
		must((accepted[i] = accept(l, NULL, NULL)) >= 0);
	must(seteuid(USER + 1) == 0);
	for (tries = 100, i = 0; tries-- && !i;) {
		i = connect_many(&other, 1);
		if (!i)
			usleep(100000);
	}
	ok(i == 1, "another one has some of the rest");
	close(other);
	other = direct();
	ok(end_bind(other, "0.0.0.0", 1023) == -1 && errno == EACCES,
	   "root's port: EACCES");
	must(seteuid(0) == 0);
	close(other);
	close_many(fd, n);
	close_many(accepted, n);
	close(l);
	write_to(CONNECTIONS, "0");
}

/* The transport goes while there is a connection. */
static void test_gone(int l)
{
	int end[2];
	char c;

	must(join(l, end));
	ok(shell("rmmod sdp_ib"), "the transport goes");
	ok(read(end[0], &c, 1) == -1 && errno == ENETDOWN && all_events(end[0], POLLHUP, SOON),
	   "a connection ends: ENETDOWN");
	both_close(end);
	ok(shell("modprobe sdp_ib"), "it comes back");
	ok(join(l, end), "and the listener has connections again");
	both_close(end);
}

int main(void)
{
	int l, end[2];

	tap_plan(4 + 8 + 10 + 3 + 5 + 1 + 4 + 1 + 9 + 3 + 5);
	enter_node(1);
	test_off();
	l = listen_direct(PORT);
	test_names(l);
	test_calls(l);
	test_full(l);
	test_listed(l);
	must(join(l, end));
	ok(streams(end[0], end[1]), "streams both ways");
	both_close(end);
	test_gone(l);
	test_linger(l);
	test_ends(l);
	test_unlisten();
	test_users();
	return tap_exit();
}
