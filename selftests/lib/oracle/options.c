// SPDX-License-Identifier: GPL-2.0
/*
 * Socket options that change what a connection does, and the requests of
 * ioctl() that programs make on sockets.
 */
#include "oracle.h"

#include <stdint.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/time.h>

#include "waiter.h"

/* TCP holds bytes back for 200 ms: well before that it can be looked at. */
#define HOLD_MS	100

static char buf[64 << 10], back[64 << 10];

static long number(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

static long set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* What the listener was told holds for what it accepts. */
static void inherited(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 7 };
	static const struct {
		const char *name;
		int level, option, value;
	} all[] = {
		{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ "SO_OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1 },
		{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 5 },
		{ "SO_RCVBUF", SOL_SOCKET, SO_RCVBUF, 65536 },
		{ "SO_SNDBUF", SOL_SOCKET, SO_SNDBUF, 65536 },
		{ "SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, 3 },
		{ "SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1 },
		{ "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, 1 },
		{ "TCP_CORK", IPPROTO_TCP, TCP_CORK, 1 },
		{ "TCP_KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, 40 },
		{ "TCP_KEEPINTVL", IPPROTO_TCP, TCP_KEEPINTVL, 50 },
		{ "TCP_KEEPCNT", IPPROTO_TCP, TCP_KEEPCNT, 6 },
		{ "TCP_USER_TIMEOUT", IPPROTO_TCP, TCP_USER_TIMEOUT, 7000 },
	};
	struct timeval t = { .tv_sec = 3 };
	socklen_t len;
	unsigned int i;
	int l, c, s;

	l = listener(2);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		must(!set(l, all[i].level, all[i].option, all[i].value));
	must(!setsockopt(l, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	must(!setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
	c = client_socket(0);
	must(!connect(c, &server_addr.any, server_len));
	s = accept(l, NULL, NULL);
	must(s >= 0);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		say(all[i].name, number(s, all[i].level, all[i].option));
	len = sizeof(linger);
	must(!getsockopt(s, SOL_SOCKET, SO_LINGER, &linger, &len));
	say("SO_LINGER", linger.l_linger);
	len = sizeof(t);
	must(!getsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, &len));
	say("SO_RCVTIMEO", t.tv_sec);
	say("the client has its own", number(c, SOL_SOCKET, SO_KEEPALIVE));
	must(!close(s));
	must(!close(c));
	must(!close(l));
}

static void values(void)
{
	int p[2];

	connected(p);
	say("SO_TYPE", number(p[1], SOL_SOCKET, SO_TYPE));
	say("SO_DOMAIN", number(p[0], SOL_SOCKET, SO_DOMAIN));
	say("SO_PROTOCOL", number(p[1], SOL_SOCKET, SO_PROTOCOL));
	say("SO_ACCEPTCONN", number(p[1], SOL_SOCKET, SO_ACCEPTCONN));
	say("TCP_MAXSEG", number(p[0], IPPROTO_TCP, TCP_MAXSEG) > 0);
	say("TCP_KEEPIDLE", number(p[0], IPPROTO_TCP, TCP_KEEPIDLE));
	say("TCP_KEEPINTVL", number(p[0], IPPROTO_TCP, TCP_KEEPINTVL));
	say("TCP_KEEPCNT", number(p[0], IPPROTO_TCP, TCP_KEEPCNT));
	say("TCP_KEEPIDLE of 0", set(p[0], IPPROTO_TCP, TCP_KEEPIDLE, 0));
	say("TCP_KEEPCNT of 1000", set(p[0], IPPROTO_TCP, TCP_KEEPCNT, 1000));
	say("TCP_USER_TIMEOUT", set(p[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 5000));
	say("is kept", number(p[0], IPPROTO_TCP, TCP_USER_TIMEOUT));
	say("SO_SNDBUF", set(p[0], SOL_SOCKET, SO_SNDBUF, 20000));
	say("is doubled", number(p[0], SOL_SOCKET, SO_SNDBUF));
	say("SO_RCVBUF", set(p[0], SOL_SOCKET, SO_RCVBUF, 20000));
	say("is doubled", number(p[0], SOL_SOCKET, SO_RCVBUF));
	say("SO_RCVLOWAT", number(p[0], SOL_SOCKET, SO_RCVLOWAT));
	say("SO_SNDLOWAT", set(p[0], SOL_SOCKET, SO_SNDLOWAT, 1));
	close_pair(p);
}

/*
 * What a connection has is TCP's business: as much, or less by what each packet takes.
 * Over SDP no packet is cut.
 */
static void max_segment(void)
{
	static const int sizes[] = { 1000, 87, 88, 32767, 32768, -1, 1000 };
	int l = listener(1), c = client_socket(0), s;
	long client, server;
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		printf("TCP_MAXSEG of %d ", sizes[i]);
		say("set", set(c, IPPROTO_TCP, TCP_MAXSEG, sizes[i]));
		say("is", number(c, IPPROTO_TCP, TCP_MAXSEG));
	}
	say("a listener's", set(l, IPPROTO_TCP, TCP_MAXSEG, 500));
	say("is", number(l, IPPROTO_TCP, TCP_MAXSEG));
	must(!connect(c, &server_addr.any, server_len));
	s = accept(l, NULL, NULL);
	must(s >= 0);
	client = number(c, IPPROTO_TCP, TCP_MAXSEG);
	server = number(s, IPPROTO_TCP, TCP_MAXSEG);
	fprintf(stderr, "TCP_MAXSEG: client %ld, server %ld\n", client, server);
	say("no more when connected", client > 0 && client <= 1000);
	say("nor when accepted", server > 0 && server <= 500);
	must(!close(c) && !close(s) && !close(l));
}

/* How much goes in while the peer does not read; then it reads all. */
static long fill(int p[2])
{
	struct pollfd out = { .fd = p[0], .events = POLLOUT };
	long all = 0, left;
	ssize_t n;

	do {
		while ((n = send(p[0], buf, 4096, MSG_DONTWAIT)) > 0)
			all += n;
		must(errno == EAGAIN);
	} while (poll(&out, 1, 300) == 1);
	for (left = all; left; left -= n) {
		n = recv(p[1], back, sizeof(back), 0);
		must(n > 0);
	}
	return all;
}

/* Buffers that are set while the connection is up. */
static void buffers(void)
{
	long small, large, again;
	int p[2];

	connected(p);
	must(!set(p[0], SOL_SOCKET, SO_SNDBUF, 16384));
	must(!set(p[1], SOL_SOCKET, SO_RCVBUF, 16384));
	small = fill(p);
	must(!set(p[0], SOL_SOCKET, SO_SNDBUF, 200000));
	must(!set(p[1], SOL_SOCKET, SO_RCVBUF, 200000));
	fill(p);
	large = fill(p);
	must(!set(p[0], SOL_SOCKET, SO_SNDBUF, 16384));
	must(!set(p[1], SOL_SOCKET, SO_RCVBUF, 16384));
	fill(p);
	fill(p);
	again = fill(p);
	fprintf(stderr, "small %ld, large %ld, again %ld\n", small, large, again);
	say("larger buffers take more", large > 2 * small);
	say("smaller ones less", again < large / 2);
	close_pair(p);
}

static int outq(int fd, int request)
{
	int n;

	must(!ioctl(fd, request, &n));
	return n;
}

/* Until all that was sent has been acknowledged, or patience ends. */
static void wait_acked(int fd)
{
	int i;

	for (i = 0; i < PATIENCE * 200 && outq(fd, SIOCOUTQ); i++)
		usleep(5000);
}

static long call_recv(int fd)
{
	return recv(fd, back, 100, 0);
}

/* Bytes fewer than SO_RCVLOWAT neither wake a reader nor show. */
static void low_water(void)
{
	struct waiter w;
	int p[2];

	connected(p);
	must(!set(p[1], SOL_SOCKET, SO_RCVLOWAT, 10));
	must(send(p[0], "12345", 5, 0) == 5);
	wait_bytes(p[1], 5);
	say_events("fewer than the low water mark", shows(p[1]));
	say("a call that does not wait has them",
	    recv(p[1], back, 3, MSG_DONTWAIT));
	must(send(p[0], "67890abc", 8, 0) == 8);
	say_events("as many", wait_for(p[1], POLLIN));
	say("recv", recv(p[1], back, 100, 0));
	waiter_start(&w, call_recv, p[1]);
	must(send(p[0], "12345", 5, 0) == 5);
	/* They may lie in the reader's buffer already. */
	wait_acked(p[0]);
	say("recv waits for more", waiter_asleep(&w));
	must(send(p[0], "67890", 5, 0) == 5);
	say("and has all of it", waiter_end(&w));
	must(send(p[0], "123", 3, 0) == 3);
	must(!shutdown(p[0], SHUT_WR));
	wait_for(p[1], POLLRDHUP);
	say("at the end fewer", recv(p[1], back, 100, 0));
	say("then the end", recv(p[1], back, 100, 0));
	close_pair(p);
}

static void tcp_info(int fd, const char *label)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0xff, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		say(label, -1);
	else
		printf("%s: state %u, %u bytes\n", label, info.tcpi_state, len);
}

static void told(void)
{
	struct tcp_info info = { 0 };
	socklen_t len;
	int p[2];

	tcp_info(p[0] = client_socket(0), "TCP_INFO of a new socket");
	must(!close(p[0]));
	tcp_info(p[0] = listener(1), "TCP_INFO of a listener");
	must(!close(p[0]));
	connected(p);
	tcp_info(p[0], "TCP_INFO of a connection");
	tcp_info(p[1], "and of the other end");
	must(send(p[0], "hello", 5, 0) == 5);
	wait_bytes(p[1], 5);
	len = 1;
	say("one byte of it", getsockopt(p[0], IPPROTO_TCP, TCP_INFO, &info, &len));
	say("its state", info.tcpi_state);
	say("its length", len);
	must(!shutdown(p[0], SHUT_WR));
	wait_for(p[1], POLLRDHUP);
	must(recv(p[1], back, 5, 0) == 5);
	tcp_info(p[1], "the other end has closed");
	/* FIN_WAIT1 until that has been acknowledged. */
	do {
		len = sizeof(info);
		must(!getsockopt(p[0], IPPROTO_TCP, TCP_INFO, &info, &len));
	} while (info.tcpi_state == TCP_FIN_WAIT1);
	tcp_info(p[0], "this end has closed");
	close_pair(p);
}

/* The C library's struct ends before these. */
struct tcp_bytes {
	struct tcp_info begin;
	unsigned long long rates[2], acked, received;
	uint32_t segs_out, segs_in, some[4];
	unsigned long long times[4];
	uint32_t delivered[2];
	unsigned long long sent, again;
};

static struct tcp_bytes bytes_of(int fd)
{
	struct tcp_bytes info;
	socklen_t len = sizeof(info);

	must(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) && len == sizeof(info));
	return info;
}

static void say_carried(const char *who, int fd, const struct tcp_bytes *before)
{
	struct tcp_bytes now = bytes_of(fd);

	printf("%s: %llu sent, %llu acknowledged, ", who,
	       now.sent - now.again - before->sent + before->again,
	       now.acked - before->acked);
	printf("%llu received, messages %d %d\n", now.received - before->received,
	       now.segs_out > before->segs_out, now.segs_in > before->segs_in);
}

/* What TCP_INFO tells of the bytes; TCP counts the packets of the beginning, too. */
static void carried(void)
{
	struct tcp_bytes client, server;
	int p[2];

	connected(p);
	client = bytes_of(p[0]);
	server = bytes_of(p[1]);
	must(send(p[0], buf, 5000, 0) == 5000);
	must(send(p[1], buf, 300, 0) == 300);
	wait_bytes(p[0], 300);
	wait_bytes(p[1], 5000);
	wait_acked(p[0]);
	wait_acked(p[1]);
	say_carried("client", p[0], &client);
	say_carried("server", p[1], &server);
	close_pair(p);
}

/* Unread bytes: the peer has a part, the rest is not acknowledged. */
static void not_acked(void)
{
	long all = 0, left;
	int queued, p[2];
	ssize_t n;

	connected(p);
	must(!set(p[0], SOL_SOCKET, SO_SNDBUF, 16384));
	must(!set(p[1], SOL_SOCKET, SO_RCVBUF, 16384));
	while ((n = send(p[0], buf, 4096, MSG_DONTWAIT)) > 0)
		all += n;
	queued = outq(p[0], SIOCOUTQ);
	say("SIOCOUTQ of a connection that is full", queued > 0 && queued <= all);
	say("with what the peer has, all", queued + outq(p[1], SIOCINQ) >= all);
	for (left = all; left; left -= n) {
		n = recv(p[1], back, sizeof(back), 0);
		must(n > 0);
	}
	wait_acked(p[0]);
	say("SIOCOUTQ of an empty one", outq(p[0], SIOCOUTQ));
	close_pair(p);
}

static void asked(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int n, on = 1, pid, p[2];

	connected(p);
	must(send(p[0], "12345", 5, 0) == 5);
	wait_bytes(p[1], 5);
	say("SIOCINQ", ioctl(p[1], SIOCINQ, &n) ? -1 : n);
	wait_acked(p[0]);
	say("SIOCOUTQ", outq(p[0], SIOCOUTQ));
	say("SIOCOUTQNSD", ioctl(p[0], SIOCOUTQNSD, &n) ? -1 : n);
	say("SIOCINQ into nowhere", ioctl(p[1], SIOCINQ, (void *)8));
	say("FIONBIO", ioctl(p[0], FIONBIO, &on));
	say("recv without waiting", recv(p[0], back, 1, 0));
	on = 0;
	say("FIONBIO off", ioctl(p[0], FIONBIO, &on));
	say("F_GETFL", (fcntl(p[0], F_GETFL) & O_NONBLOCK) != 0);
	pid = getpid();
	say("FIOSETOWN", ioctl(p[0], FIOSETOWN, &pid));
	say("F_GETOWN", fcntl(p[0], F_GETOWN) == pid);
	pid = 0;
	say("SIOCSPGRP", ioctl(p[0], SIOCSPGRP, &pid));
	say("SIOCGPGRP", ioctl(p[0], SIOCGPGRP, &pid) ? -1 : pid);
	say("SIOCGIFINDEX", ioctl(p[0], SIOCGIFINDEX, &ifr));
	say("its answer", ifr.ifr_ifindex);
	say("no such request", ioctl(p[0], 0x1234, &n));
	say("isatty", isatty(p[0]));
	close_pair(p);
}

/* SO_LINGER with a time: close() waits for the peer's transport, no longer. */
static void lingering(void)
{
	struct linger some = { .l_onoff = 1, .l_linger = 1 };
	struct timeval wait = { .tv_usec = 100000 };
	long long before;
	ssize_t n, all = 0;
	int p[2];

	connected(p);
	must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &some, sizeof(some)));
	must(send(p[0], "bye", 3, 0) == 3);
	say("close with nothing in the way", close(p[0]));
	say("the rest", recv(p[1], back, 100, 0));
	say("the end", recv(p[1], back, 100, 0));
	must(!close(p[1]));

	connected(p);
	must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &some, sizeof(some)));
	must(!setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)));
	while ((n = send(p[0], buf, sizeof(buf), 0)) > 0)
		all += n;
	before = now_ms();
	say("close with nobody reading", close(p[0]));
	say("it waited its time", now_ms() - before >= 900);
	while ((n = recv(p[1], back, sizeof(back), 0)) > 0)
		all -= n;
	say("all arrives nevertheless", !all);
	say("the end", n);
	must(!close(p[1]));
}

/* What is held back for more is sent with it, or without. */
static void corked(void)
{
	int p[2];

	connected(p);
	say("TCP_CORK", set(p[0], IPPROTO_TCP, TCP_CORK, 1));
	must(send(p[0], "one", 3, 0) == 3);
	must(send(p[0], "two", 3, 0) == 3);
	say("TCP_CORK off", set(p[0], IPPROTO_TCP, TCP_CORK, 0));
	say("both", recv(p[1], back, 6, MSG_WAITALL));
	must(send(p[0], "three", 5, MSG_MORE) == 5);
	say("without more", recv(p[1], back, 5, MSG_WAITALL));
	must(!set(p[0], IPPROTO_TCP, TCP_CORK, 1));
	must(send(p[0], "last", 4, 0) == 4);
	must(!close(p[0]));
	say("before the end", recv(p[1], back, 100, MSG_WAITALL));
	must(!close(p[1]));
}

/* What was sent with a cork or with more to come, with another one, and let go. */
static void held_in(int p[2], int how, int seen[3])
{
	if (!how)
		must(!set(p[0], IPPROTO_TCP, TCP_CORK, 1));
	must(send(p[0], "one", 3, how) == 3);
	seen[0] = outq(p[0], SIOCOUTQNSD);
	must(send(p[0], "two", 3, how) == 3);
	seen[1] = outq(p[0], SIOCOUTQNSD);
	if (!how)
		must(!set(p[0], IPPROTO_TCP, TCP_CORK, 0));
	else
		must(send(p[0], "end", 3, 0) == 3);
	seen[2] = outq(p[0], SIOCOUTQNSD);
}

/* Nothing goes out, for 200 ms at most: then it does in any case. */
static void held_back(const char *label, int how)
{
	long long before;
	int p[2], seen[3];

	for (;;) {
		connected(p);
		before = now_ms();
		held_in(p, how, seen);
		if (now_ms() - before < HOLD_MS)
			break;
		/* The machine has been so slow that it tells nothing. */
		close_pair(p);
	}
	printf("%s, not sent: %d, %d, then %d\n", label, seen[0], seen[1], seen[2]);
	close_pair(p);

	connected(p);
	must(how || !set(p[0], IPPROTO_TCP, TCP_CORK, 1));
	must(send(p[0], "alone", 5, how) == 5);
	wait_bytes(p[1], 5);
	say("after some time it comes", outq(p[1], SIOCINQ));
	close_pair(p);
}

/* Connects once more.  Is the new connection the next to be accepted?  They are in order. */
static bool next_is_new(int l)
{
	struct sockaddr_in6 peer = {}, own = {};
	int c = client_socket(0), s;
	socklen_t len = sizeof(peer);

	must(!connect(c, &server_addr.any, server_len));
	s = accept(l, NULL, NULL);
	must(s >= 0);
	must(!getpeername(s, (struct sockaddr *)&peer, &len));
	len = sizeof(own);
	must(!getsockname(c, (struct sockaddr *)&own, &len));
	must(!close(c) && !close(s));
	return peer.sin6_port == own.sin6_port;
}

/*
 * A device by which the peer is not to be reached.  SDP does not go there: what the
 * library says of that is not among what oracle.sh looks at.
 */
static void bound_elsewhere(void)
{
	int l = listener(2), c = client_socket(SOCK_NONBLOCK), i, all = 0;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), err = dup(2);

	must(null >= 0 && err >= 0 && dup2(null, 2) == 2);
	must(!setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	say("connect by another device", connect(c, &server_addr.any, server_len));
	for (i = 0; i < 3; i++)
		all += next_is_new(l);
	say("later ones came before it", all);
	say_events("and it shows", shows(c));
	must(dup2(err, 2) == 2);
	must(!close(c) && !close(l) && !close(null) && !close(err));
}

static void bound_to_device(void)
{
	char name[IFNAMSIZ] = "";
	socklen_t len = sizeof(name);
	int l = listener(1), c = client_socket(0), s;

	say("SO_BINDTODEVICE to none such",
	    setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "none0", 6));
	say("SO_BINDTODEVICE", setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "ib0", 4));
	say("its name", getsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, name, &len));
	say_text("is", name);
	say("connect", connect(c, &server_addr.any, server_len));
	s = accept(l, NULL, NULL);
	must(s >= 0);
	must(!close(c));
	must(!close(s));
	must(!close(l));
}

static const char *const reached_names[] = {
	"nothing", "setsockopt", "getsockopt", "socket", "what follows",
};

struct cancelled {
	int fd;
	int reached;
};

/* None of these calls is a point to be cancelled at. */
static void *cancelled_thread(void *arg)
{
	struct cancelled *c = arg;
	int value = 50, fd;
	socklen_t len = sizeof(value);

	must(!pthread_cancel(pthread_self()));
	if (setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, len))
		return NULL;
	c->reached = 1;
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, &len) || value != 50)
		return NULL;
	c->reached = 2;
	fd = socket(server_addr.any.sa_family, SOCK_STREAM, 0);
	if (fd < 0)
		return NULL;
	c->reached = 3;
	close(fd);
	pthread_testcancel();
	c->reached = 4;
	return NULL;
}

static void cancelled(void)
{
	struct cancelled c = { 0 };
	pthread_t thread;
	void *ret;
	int p[2];

	connected(p);
	c.fd = p[0];
	must(!pthread_create(&thread, NULL, cancelled_thread, &c));
	must(!pthread_join(thread, &ret));
	say_text("a thread that is to be cancelled goes as far as", reached_names[c.reached]);
	say("and is cancelled", ret == PTHREAD_CANCELED);
	close_pair(p);
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	inherited();
	values();
	max_segment();
	buffers();
	low_water();
	told();
	carried();
	not_acked();
	asked();
	lingering();
	corked();
	held_back("TCP_CORK", 0);
	held_back("MSG_MORE", MSG_MORE);
	bound_to_device();
	bound_elsewhere();
	cancelled();
	return 0;
}
