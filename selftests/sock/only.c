// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_SOCK_MODE: connections that leave TCP at once, those that may send nothing by TCP, and
 * those that stay.  TCP's run of a row has nothing to say, but where a row says so.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/sdp_sock.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

/* Milliseconds: net.sdp.only_wait is one second. */
#define ONLY_WAIT	1000
/* A pipe is found to stand still within this time. */
#define STALL		4500

static struct sdp_sock_info info(int fd)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	need(!getsockopt(fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	return info;
}

static void is(const char *what, long long got, long long wanted)
{
	if (got != wanted)
		wrong("%s is %lld and not %lld", what, got, wanted);
}

static void fails(const char *what, long long ret, int wanted)
{
	int error = errno;

	if (ret >= 0)
		wrong("%s is done", what);
	else if (error != wanted)
		wrong("%s fails with %s and not %s", what, strerrorname_np(error),
		      strerrorname_np(wanted));
}

static void because(int fd, const char *why)
{
	if (strcmp(info(fd).stay, why))
		wrong("it has ended because of \"%s\" and not of %s", info(fd).stay, why);
}

static struct conn conn_only(void)
{
	return conn_modes(SDP_MODE_ONLY, SDP_MODE_ONLY);
}

/* Some bytes each way, and none of them by TCP. */
static void carries(struct conn *c)
{
	put(&c->a, 1, 0);
	get_all(&c->b, 1);
	put(&c->b, 1, 0);
	get_all(&c->a, 1);
	put(&c->a, 200000, 0);
	get_all(&c->b, 200000);
	put(&c->b, 200000, 0);
	get_all(&c->a, 200000);
	want(&c->a, true);
	want(&c->b, true);
	no_segs(c->a.fd);
	no_segs(c->b.fd);
}

static void first_byte(void)
{
	struct conn c;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	is("the mode", info(c.a.fd).mode, SDP_MODE_ONLY);
	is("the accepted mode", info(c.b.fd).mode, SDP_MODE_ONLY);
}

static void one_end(void)
{
	struct conn c;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_ONLY, SDP_MODE_MOVE);
	carries(&c);
	is("the accepted mode", info(c.b.fd).mode, SDP_MODE_MOVE);
	conn_close(&c);
	/* Where the ends do not share memory the one that connects has to ask first. */
	if (late)
		return;
	c = conn_modes(SDP_MODE_MOVE, SDP_MODE_ONLY);
	carries(&c);
}

static bool ready(int fd, int events, int ms)
{
	struct pollfd p = { fd, events, 0 };

	return poll(&p, 1, ms) > 0 && p.revents & events;
}

/* The end that connects waits, and calls nothing but poll(). */
static void server_first(void)
{
	static const int modes[][2] = {
		{ SDP_MODE_ONLY, SDP_MODE_ONLY }, { SDP_MODE_ONLY, SDP_MODE_MOVE },
		{ SDP_MODE_MOVE, SDP_MODE_ONLY },
	};
	struct conn c;
	int i;

	if (plain)
		return;
	for (i = 0; i < (late ? 1 : 3); i++) {
		c = conn_modes(modes[i][0], modes[i][1]);
		put(&c.b, 100, 0);
		if (!ready(c.a.fd, POLLIN, 1000))
			wrong("nothing comes");
		get_all(&c.a, 100);
		carries(&c);
		conn_close(&c);
	}
}

static void before_accept(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener;

	if (plain)
		return;
	listener = sock_listen(8, &port);
	c.a.fd = sock_new(NULL);
	need(!sock_mode(c.a.fd, SDP_MODE_ONLY) && !sock_connect(c.a.fd, port));
	put(&c.a, 1000, 0);
	c.b.fd = accept(listener, NULL, NULL);
	get_all(&c.b, 1000);
	carries(&c);
}

static void at_once(void)
{
	struct conn c;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_NOW, SDP_MODE_NOW);
	carries(&c);
	conn_close(&c);
	c = conn_modes(SDP_MODE_NOW, SDP_MODE_MOVE);
	move(&c);
	if (c.a.out > 20)
		wrong("it has moved behind %ju bytes", (uintmax_t)c.a.out);
}

static void no_peer(void)
{
	struct conn c;
	long long start;
	char byte;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_ONLY, -1);
	start = now_ms();
	fails("the first send", put_some(&c.a, 10, 0), ECONNABORTED);
	if (now_ms() - start > 4 * ONLY_WAIT)
		wrong("it has taken %lld ms", now_ms() - start);
	because(c.a.fd, "peer");
	fails("the next one", send(c.a.fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	is("a read", recv(c.a.fd, &byte, 1, 0), 0);
	fails("the peer's read", recv(c.b.fd, &byte, 1, 0), ECONNRESET);
	no_segs(c.b.fd);
}

static void no_peer_polled(void)
{
	struct conn c;
	int error = 0;
	socklen_t len = sizeof(error);

	if (plain)
		return;
	c = conn_modes(SDP_MODE_ONLY, -1);
	fails("a send that does not wait", put_some(&c.a, 10, MSG_DONTWAIT), EAGAIN);
	if (ready(c.a.fd, POLLOUT, 0))
		wrong("it can be written to");
	if (!ready(c.a.fd, POLLERR, 4 * ONLY_WAIT))
		wrong("poll() tells of no error");
	need(!getsockopt(c.a.fd, SOL_SOCKET, SO_ERROR, &error, &len));
	is("SO_ERROR", error, ECONNABORTED);
}

static void no_peer_read(void)
{
	struct conn c;
	char byte;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_ONLY, -1);
	fails("a read", recv(c.a.fd, &byte, 1, 0), ECONNABORTED);
	conn_close(&c);
	c = conn_modes(-1, SDP_MODE_ONLY);
	fails("the accepted end's read", recv(c.b.fd, &byte, 1, 0), ECONNABORTED);
}

static void bytes_by_tcp(void)
{
	static const int flags[] = { 0, MSG_PEEK };
	struct conn c;
	char bytes[10];
	int i;

	if (plain)
		return;
	for (i = 0; i < 2; i++) {
		c = conn_modes(-1, SDP_MODE_ONLY);
		put(&c.a, 10, 0);
		fails("a read of bytes by TCP", recv(c.b.fd, bytes, 10, flags[i]), ECONNABORTED);
		because(c.b.fd, "only");
		conn_close(&c);
	}
}

/* Nor an urgent one, which no other call reads. */
static void urgent_by_tcp(void)
{
	struct conn c;
	char byte;

	if (plain)
		return;
	c = conn_modes(-1, SDP_MODE_ONLY);
	put(&c.a, 1, MSG_OOB);
	if (!ready(c.b.fd, POLLPRI | POLLERR, 5000))
		wrong("nothing comes");
	fails("a read of an urgent byte", recv(c.b.fd, &byte, 1, MSG_OOB), EINVAL);
}

static void fast_open(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd, port, one = 1, listener;

	if (plain)
		return;
	listener = sock_listen(8, &port);
	to.sin_port = htons(port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = sock_new(NULL);
	need(!sock_mode(fd, SDP_MODE_ONLY));
	fails("MSG_FASTOPEN", sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&to, sizeof(to)),
	      EOPNOTSUPP);
	need(!setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one)));
	fails("TCP_FASTOPEN_CONNECT", sock_connect(fd, port), EOPNOTSUPP);
	if (ready(listener, POLLIN, 0))
		wrong("it has connected");
}

static void refused_calls(void)
{
	struct conn c;
	int one = 1;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	fails("urgent data", send(c.a.fd, "u", 1, MSG_OOB), EOPNOTSUPP);
	fails("kTLS", setsockopt(c.a.fd, IPPROTO_TCP, TCP_ULP, "tls", 3), EBUSY);
	fails("TCP_REPAIR", setsockopt(c.a.fd, IPPROTO_TCP, TCP_REPAIR, &one, sizeof(one)),
	      EBUSY);
	fails("another mode", sock_mode(c.a.fd, SDP_MODE_MOVE), EISCONN);
	carries(&c);
}

/* A reason to go by TCP, at either end, ends the connection for both. */
static void ends_by(struct conn *c, const char *why)
{
	char byte;
	ssize_t n;

	tick();
	if (late && strcmp(why, "pacing")) {
		/* The sender does not know of it. */
		put(&c->a, 10, 0);
		while ((n = recv(c->b.fd, &byte, 1, 0)) > 0)
			;
		fails(why, n, ECONNABORTED);
		because(c->b.fd, why);
		fails("the sender's read", recv(c->a.fd, &byte, 1, 0), ECONNRESET);
		no_segs(c->a.fd);
		conn_close(c);
		return;
	}
	fails(why, put_some(&c->a, 10, 0), ECONNABORTED);
	because(c->a.fd, why);
	fails("the peer's read", recv(c->b.fd, &byte, 1, 0), ECONNRESET);
	no_segs(c->b.fd);
	conn_close(c);
}

static void set(int fd, int what, int value)
{
	need(!setsockopt(fd, SOL_SOCKET, what, &value, sizeof(value)));
}

static void reasons(void)
{
	struct sock_filter pass = BPF_STMT(BPF_RET | BPF_K, 0xffffffff);
	struct sock_fprog prog = { 1, &pass };
	struct conn c;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)));
	ends_by(&c, "filter");

	c = conn_only();
	carries(&c);
	gate(&c.a, false);
	ends_by(&c, "pacing");

	c = conn_only();
	carries(&c);
	set(c.b.fd, SO_TIMESTAMP, 1);
	ends_by(&c, "timestamps");

	c = conn_only();
	carries(&c);
	set(c.b.fd, SO_RCVLOWAT, 10);
	ends_by(&c, "reads");

	/* There before the first byte, which does not wait for its time to be over. */
	c = conn_only();
	gate(&c.a, false);
	ends_by(&c, "pacing");
}

static void half_close(void)
{
	struct conn c;
	char byte;
	int n;

	if (plain)
		return;
	c = conn_only();
	put(&c.a, 100000, 0);
	need(!shutdown(c.a.fd, SHUT_WR));
	if (!ready(c.b.fd, POLLRDHUP, 1000))
		wrong("no end comes");
	need(!ioctl(c.b.fd, FIONREAD, &n));
	is("FIONREAD", n, 100000);
	is("a look", get(&c.b, 100000, MSG_PEEK), 100000);
	get_all(&c.b, 100000);
	is("the end", recv(c.b.fd, &byte, 1, 0), 0);
	put(&c.b, 100000, 0);
	get_all(&c.a, 100000);
	fails("a send behind the end", send(c.a.fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	no_segs(c.a.fd);
	no_segs(c.b.fd);
	close(c.b.fd);
	is("the other end", recv(c.a.fd, &byte, 1, 0), 0);
}

static void closes(void)
{
	struct conn c;
	char byte;

	if (plain)
		return;
	c = conn_only();
	put(&c.b, 10, 0);
	get_all(&c.a, 10);
	put(&c.a, 100000, 0);
	close(c.a.fd);
	get_all(&c.b, 100000);
	is("the end", recv(c.b.fd, &byte, 1, 0), 0);
	if (late)
		need(ready(c.b.fd, POLLERR | POLLHUP, 0) || !poll(NULL, 0, 100));
	fails("a send to nobody", send(c.b.fd, "x", 1, MSG_NOSIGNAL), EPIPE);
	no_segs(c.b.fd);
	close(c.b.fd);

	/* Unread bytes reset the connection. */
	c = conn_only();
	put(&c.a, 1000, 0);
	arrived(&c.b, 1000);
	close(c.b.fd);
	fails("a read", recv(c.a.fd, &byte, 1, 0), ECONNRESET);
}

/* TCP would take more bytes than a pipe; here the sender waits. */
static void stalls(void)
{
	struct conn c;
	int status;
	pid_t pid;

	if (plain)
		return;
	c = conn_only();
	pid = fork();
	need(pid >= 0);
	if (!pid) {
		put(&c.a, 1000000, 0);
		no_segs(c.a.fd);
		want(&c.a, true);
		_exit(0);
	}
	is("a poll", poll(NULL, 0, STALL), 0);
	get_all(&c.b, 1000000);
	need(waitpid(pid, &status, 0) == pid);
	is("the sender", status, 0);
	no_segs(c.b.fd);
}

/* The ULP's own options are there whenever the ULP is. */
static void listens_already(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener;

	if (plain)
		return;
	plain = true;
	listener = sock_listen(4, &port);
	plain = false;
	sock_ulp(listener);
	need(!sock_mode(listener, SDP_MODE_ONLY));
	is("the mode", info(listener).mode, SDP_MODE_ONLY);
	c.a.fd = sock_new(NULL);
	need(!sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	need(c.b.fd >= 0);
	carries(&c);
}

static void options(void)
{
	struct conn c;
	int fd, mode;
	socklen_t len = sizeof(mode);

	if (plain)
		return;
	fd = sock_new(NULL);
	fails("a mode that is none", sock_mode(fd, SDP_MODE_NEVER + 1), EINVAL);
	fails("one below", sock_mode(fd, -1), EINVAL);
	fails("half an int", setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &fd, 2), EINVAL);
	need(!sock_mode(fd, SDP_MODE_NOW));
	need(!getsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, &len));
	is("the mode", mode, SDP_MODE_NOW);
	close(fd);
	plain = true;
	fd = sock_new(NULL);
	plain = false;
	fails("a plain socket's mode", sock_mode(fd, SDP_MODE_NOW), ENOPROTOOPT);

	c = conn_moved();
	fails("only, too late", sock_mode(c.a.fd, SDP_MODE_ONLY), EISCONN);
	need(!sock_mode(c.a.fd, SDP_MODE_NEVER));
	tick();
	put(&c.a, 10, 0);
	get_all(&c.b, 10);
	put(&c.b, 10, 0);
	get_all(&c.a, 10);
	stays(&c.a, "never");
	stays(&c.b, "never");
	need(!sock_mode(c.a.fd, SDP_MODE_MOVE));
	move(&c);
}

static void never_moves(void)
{
	struct conn c;
	int i;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_NEVER, SDP_MODE_NOW);
	for (i = 0; i < 50; i++) {
		put(&c.a, 10, 0);
		get_all(&c.b, 10);
		put(&c.b, 10, 0);
		get_all(&c.a, 10);
	}
	want(&c.a, false);
	want(&c.b, false);
	because(c.a.fd, "never");
	conn_close(&c);
	c = conn_modes(SDP_MODE_ONLY, SDP_MODE_NEVER);
	fails("only and never", put_some(&c.a, 10, 0), ECONNABORTED);
}

/* TCP's run as well: the calls give the same. */
static void again(void)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, closed, listener;

	close(sock_listen(1, &closed));
	c.a.fd = sock_new(NULL);
	SAY(sock_connect(c.a.fd, closed));
	SAY(sock_connect(c.a.fd, closed));
	listener = sock_listen(8, &port);
	SAY(sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	move(&c);

	/* The socket that connected listens in vain, and connects again. */
	SAY(connect(c.a.fd, &none, sizeof(none)));
	close(c.b.fd);
	SAY(sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	c = (struct conn){ { .fd = c.a.fd }, { .fd = c.b.fd, .way = 1 } };
	move(&c);

	/* So does one that was accepted. */
	SAY(connect(c.b.fd, &none, sizeof(none)));
	close(c.a.fd);
	SAY(sock_connect(c.b.fd, port));
	c = (struct conn){ { .fd = c.b.fd }, { .fd = accept(listener, NULL, NULL), .way = 1 } };
	move(&c);
}

/* The client asks no sooner than it has sent something. */
static void late_client(void)
{
	struct conn c;
	char byte;

	if (plain)
		return;
	c = conn_modes(SDP_MODE_NOW, SDP_MODE_ONLY);
	put(&c.a, 10, 0);
	if (!ready(c.b.fd, POLLERR | POLLIN, 5000))
		wrong("nothing comes");
	fails("a read of bytes by TCP", recv(c.b.fd, &byte, 1, 0), ECONNABORTED);
	because(c.b.fd, "only");
}

/* Both ends send at the same time, each much more than the socket keeps. */
static void streams(void)
{
	const int all = 3000000;
	struct conn c;
	int status;
	pid_t pid;

	if (plain)
		return;
	c = conn_only();
	pid = fork();
	need(pid >= 0);
	if (!pid) {
		if (fork()) {
			put(&c.b, all, 0);
			need(wait(&status) > 0);
			_exit(status);
		}
		get_all(&c.b, all);
		_exit(0);
	}
	if (!fork()) {
		put(&c.a, all, 0);
		_exit(0);
	}
	get_all(&c.a, all);
	need(waitpid(pid, &status, 0) == pid);
	is("the other end", status, 0);
	need(wait(&status) > 0);
	is("the sender", status, 0);
	no_segs(c.a.fd);
	no_segs(c.b.fd);
}

/* What was lost with a carrier comes by the next one, without a call of a program. */
static void lost(void)
{
	struct conn c;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	carrier("kill", "3");
	put(&c.a, 100000, 0);
	arrived(&c.b, 100000);
	get_all(&c.b, 100000);
	carrier("kill", "1");
	put(&c.b, 10, 0);
	get_all(&c.a, 10);
	/* The end of the stream as well. */
	put(&c.a, 1000, 0);
	get_all(&c.b, 1000);
	carrier("kill", "1");
	need(!shutdown(c.a.fd, SHUT_WR));
	is("the end", get(&c.b, 1, 0), 0);
	put(&c.b, 1000, 0);
	get_all(&c.a, 1000);
	no_segs(c.a.fd);
	no_segs(c.b.fd);
}

/* The accepted end's call waits for room meanwhile. */
static void lost_while_full(void)
{
	const int all = 30000000;
	struct conn c;
	int status;
	pid_t pid;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	pid = fork();
	need(pid >= 0);
	if (!pid) {
		put(&c.b, all, 0);
		_exit(0);
	}
	until_asleep(pid);
	carrier("kill", "1");
	put(&c.a, 10, 0);
	get_all(&c.a, all);
	need(waitpid(pid, &status, 0) == pid);
	is("the sender", status, 0);
	get_all(&c.b, 10);
	no_segs(c.a.fd);
	no_segs(c.b.fd);
}

static void lost_for_good(void)
{
	struct conn c;
	char byte;

	if (plain)
		return;
	c = conn_only();
	carries(&c);
	carrier("refuse", "1");
	carrier("kill", "1");
	put(&c.a, 10, 0);
	fails("a read", recv(c.a.fd, &byte, 1, 0), ECONNRESET);
	because(c.a.fd, "lost");
	fails("the peer's read", recv(c.b.fd, &byte, 1, 0), ECONNRESET);
	no_segs(c.a.fd);
	no_segs(c.b.fd);
	carrier("refuse", "0");
}

static const struct row rows[] = {
	{ "the first byte does not go by TCP", first_byte },
	{ "if either end says so", one_end },
	{ "also if the server speaks first", server_first },
	{ "without an endpoint there it fails", no_peer },
	{ "which poll() tells", no_peer_polled },
	{ "and so do reads", no_peer_read },
	{ "bytes by TCP end it", bytes_by_tcp },
	{ "and so does an urgent one", urgent_by_tcp },
	{ "none go with a SYN", fast_open },
	{ "what needs TCP is refused", refused_calls },
	{ "reasons to stay end it", reasons },
	{ "an end behind bytes", half_close },
	{ "a close behind bytes", closes },
	{ "a reader that does not read", stalls },
	{ "never is never", never_moves },
	{ "streams", streams },
	{ }
};

/* Of ends that share memory */
static const struct row local_rows[] = {
	{ "bytes before the server accepts", before_accept },
	{ "a connection moves at once", at_once },
	{ "modes", options },
	{ "a socket that listens already", listens_already },
	{ "a socket that connects again", again },
	{ }
};

/* Of others */
static const struct row late_rows[] = {
	{ "a client that sends by TCP first", late_client },
	{ }
};

/* With a carrier that does what it is told */
static const struct row lost_rows[] = {
	{ "a carrier that is lost", lost },
	{ "while its program waits for room", lost_while_full },
	{ "one that is lost for good", lost_for_good },
	{ }
};

int main(int argc, char **argv)
{
	const struct row *lists[4] = { rows };

	place_options(argc, argv);
	lists[1] = late ? late_rows : local_rows;
	if (late && test_carrier())
		lists[2] = lost_rows;
	return rows_main(lists, argv + optind);
}
