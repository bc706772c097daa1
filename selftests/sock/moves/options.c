// SPDX-License-Identifier: GPL-2.0
/*
 * What keeps a connection with TCP, brings it back, or takes the ULP away.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <linux/tls.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

#ifndef SIOCATMARK
#include <linux/sockios.h>
#endif

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static void traffic(struct conn *c)
{
	int i;

	tick();
	for (i = 0; i < 20; i++) {
		put(&c->a, 100, 0);
		get_all(&c->b, 100);
		put(&c->b, 100, 0);
		get_all(&c->a, 100);
	}
}

/* Traffic both ways leaves the directions where they are to be: NULL is a pipe. */
static void traffic_by(struct conn *c, const char *a, const char *b)
{
	traffic(c);
	if (a)
		stays(&c->a, a);
	else
		want(&c->a, true);
	if (b)
		stays(&c->b, b);
	else
		want(&c->b, true);
}

static int lowat(int fd, bool on)
{
	return set(fd, SOL_SOCKET, SO_RCVLOWAT, on ? 50 : 1);
}

static int timestamp(int fd, bool on)
{
	return set(fd, SOL_SOCKET, SO_TIMESTAMP, on);
}

static int timestamping(int fd, bool on)
{
	return set(fd, SOL_SOCKET, SO_TIMESTAMPING, on ? SOF_TIMESTAMPING_TX_SOFTWARE : 0);
}

static int filter(int fd, bool on)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, ~0u);
	struct sock_fprog prog = { 1, &all };
	int none = 0;

	return on ? setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) :
		    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
}

static int pacing(int fd, bool on)
{
	uint64_t rate = on ? 1 << 30 : ~0ull;

	return setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
}

/* Set, both directions are with TCP; reset, they move again; set first, they do not move. */
static void keeps(int (*option)(int fd, bool on), const char *why)
{
	struct conn c = conn_moved();

	SAY(option(c.a.fd, true));
	traffic_by(&c, why, why);
	SAY(option(c.a.fd, false));
	traffic_by(&c, NULL, NULL);
	c = conn_new();
	SAY(option(c.a.fd, true));
	traffic(&c);
	stays(&c.a, why);
	want(&c.b, false);
	SAY(option(c.a.fd, false));
	move(&c);
}

static void keeps_lowat(void)
{
	keeps(lowat, "reads");
}

static void keeps_stamps(void)
{
	keeps(timestamp, "timestamps");
	keeps(timestamping, "timestamps");
}

static void keeps_filter(void)
{
	keeps(filter, "filter");
}

/* A rate is one for what the socket sends. */
static void keeps_pacing(void)
{
	struct conn c = conn_moved();

	SAY(pacing(c.a.fd, true));
	traffic_by(&c, "pacing", NULL);
	SAY(pacing(c.a.fd, false));
	traffic_by(&c, NULL, NULL);
}

/* Keys of MD5 belong to the addresses, and have to be there before. */
static void signatures(void)
{
	struct tcp_md5sig sig = { .tcpm_keylen = 3, .tcpm_key = "key" };
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener = sock_listen(4, &port);

	memcpy(&sig.tcpm_addr, &a, sizeof(a));
	c.a.fd = sock_new(place.client);
	if (SAY(setsockopt(listener, IPPROTO_TCP, TCP_MD5SIG, &sig, sizeof(sig))))
		return;
	SAY(setsockopt(c.a.fd, IPPROTO_TCP, TCP_MD5SIG, &sig, sizeof(sig)));
	SAY(sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	traffic_by(&c, "signed", "signed");
}

static void sent_urgent(void)
{
	struct conn c = conn_moved();
	int at = -1;
	char byte = 0;
	struct pollfd p = { .fd = c.b.fd, .events = POLLPRI | POLLIN };

	put(&c.a, 100, 0);
	want(&c.a, true);
	SAY(send(c.a.fd, "u", 1, MSG_OOB));
	want(&c.a, false);
	need(poll(&p, 1, 1000) == 1);
	while (!(p.revents & POLLPRI))
		poll(&p, 1, 10);
	say("poll: %x", p.revents);
	SAY(ioctl(c.b.fd, SIOCATMARK, &at));
	say("at mark: %d", at);
	SAY(recv(c.b.fd, &byte, 1, MSG_OOB));
	say("urgent: %c", byte);
	SAY(get(&c.b, 99999, 0));
	SAY(ioctl(c.b.fd, SIOCATMARK, &at));
	say("at mark: %d", at);
	put(&c.a, 9, 0);
	SAY(get(&c.b, 9, MSG_WAITALL));
	traffic_by(&c, "urgent", NULL);
}

/* A program that reads a socket's state out gets all of it, or is told to wait. */
static void repair(void)
{
	struct conn c = conn_moved();

	put(&c.a, 10, 0);
	want(&c.a, true);
	if (plain)
		say("setsockopt: %s", "EBUSY");
	else
		say("setsockopt: %s", set(c.b.fd, IPPROTO_TCP, TCP_REPAIR, 1) && errno == EBUSY ?
				      "EBUSY" : "no");
	get_all(&c.b, 10);
	/* The other end has to bring back what it may send. */
	while (late && !plain && set(c.b.fd, IPPROTO_TCP, TCP_REPAIR, 1) && errno == EBUSY)
		tick();
	SAY(set(c.b.fd, IPPROTO_TCP, TCP_REPAIR, 1));
	SAY(set(c.b.fd, IPPROTO_TCP, TCP_REPAIR, -1));
	traffic_by(&c, "closed", "repair");
}

static void repair_refused(void)
{
	struct conn c = conn_moved();

	need(!seteuid(65534));
	SAY(set(c.a.fd, IPPROTO_TCP, TCP_REPAIR, 1));
	need(!seteuid(0));
	put(&c.a, 10, 0);
	want(&c.a, true);
	SAY(get(&c.b, 10, 0));
}

static void more(void)
{
	struct conn c = conn_moved();

	put(&c.a, 100, MSG_MORE);
	put(&c.a, 100, 0);
	SAY(get(&c.b, 200, MSG_WAITALL));
	SAY(set(c.a.fd, IPPROTO_TCP, TCP_CORK, 1));
	put(&c.a, 100, 0);
	SAY(get(&c.b, 100, MSG_WAITALL));
	SAY(set(c.a.fd, IPPROTO_TCP, TCP_CORK, 0));
	/* With TCP, it moves again when nothing is held back. */
	gate(&c.a, false);
	put(&c.a, 100, 0);
	arrived(&c.b, 100);
	SAY(set(c.a.fd, IPPROTO_TCP, TCP_CORK, 1));
	put(&c.a, 100, 0);
	gate(&c.a, true);
	put(&c.a, 100, 0);
	want(&c.a, false);
	SAY(set(c.a.fd, IPPROTO_TCP, TCP_CORK, 0));
	SAY(get(&c.b, 300, MSG_WAITALL));
	traffic_by(&c, NULL, NULL);
}

static struct tls12_crypto_info_aes_gcm_128 tls_info = {
	.info = { TLS_1_2_VERSION, TLS_CIPHER_AES_GCM_128 }, .key = "a key of 16 by",
};

static int tls_start(int fd)
{
	/* The other end has to bring back what it may send, and may be slow. */
	while (late && setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3) && errno == EBUSY)
		tick();
	return (late ? 0 : setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3)) ?:
	       setsockopt(fd, SOL_TLS, TLS_TX, &tls_info, sizeof(tls_info)) ?:
	       setsockopt(fd, SOL_TLS, TLS_RX, &tls_info, sizeof(tls_info));
}

/* The kernel's TLS is granted, at whichever end is first. */
static void tls(void)
{
	struct conn c = conn_moved();
	char name[16] = "";
	socklen_t len = sizeof(name);

	put(&c.a, 10, 0);
	want(&c.a, true);
	SAY(tls_start(c.a.fd));
	SAY(get(&c.b, 10, 0));
	SAY(tls_start(c.b.fd));
	SAY(getsockopt(c.b.fd, IPPROTO_TCP, TCP_ULP, name, &len));
	say("%s", name);
	put(&c.a, 5000, 0);
	SAY(get(&c.b, 5000, MSG_WAITALL));
	put(&c.b, 5000, 0);
	SAY(get(&c.a, 5000, MSG_WAITALL));
	/* Never moved. */
	c = conn_new();
	SAY(tls_start(c.a.fd));
	SAY(tls_start(c.b.fd));
	put(&c.a, 5000, 0);
	SAY(get(&c.b, 5000, MSG_WAITALL));
}

static void connected_again(void)
{
	struct conn c = conn_moved();
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int port, listener = sock_listen(4, &port);
	struct tcp_info info;
	socklen_t len = sizeof(info);

	put(&c.a, 1000, 0);
	want(&c.a, true);
	if (late)
		arrived(&c.b, 1000);
	SAY(connect(c.a.fd, &none, sizeof(none)));
	SAY(get(&c.b, 5, 0));
	close(c.b.fd);
	SAY(sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	c.a.in = 0;
	c.a.out = 0;
	c.b = (struct end){ .fd = c.b.fd, .way = 1 };
	need(!getsockopt(c.a.fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	say("sent %llu, received %llu", (unsigned long long)info.tcpi_bytes_sent,
	    (unsigned long long)info.tcpi_bytes_received);
	/* The peer of the first connection does not know this one's numbers. */
	move(&c);
}

/* A listener's socket becomes one that connects.  It has the ULP from the beginning, or @later. */
static void listener_connects(bool later)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, port2, listener = sock_listen(4, &port), other;
	const struct place was = place;
	const bool tcp = plain;

	/* Where the clients are. */
	place.server = place.client;
	place.listen = place.family == AF_INET ? "0.0.0.0" : "::";
	plain |= later;
	other = sock_listen(4, &port2);
	plain = tcp;
	if (later)
		sock_ulp(other);
	place = was;
	SAY(connect(other, &none, sizeof(none)));
	SAY(sock_connect(other, port));
	c.a.fd = other;
	c.b.fd = accept(listener, NULL, NULL);
	move(&c);
}

static void listens_and_connects(void)
{
	listener_connects(false);
}

static void listens_and_gets_ulp(void)
{
	listener_connects(true);
}

static void live(void)
{
	struct conn c;
	bool was = plain;

	plain = true;
	c = conn_new();
	plain = was;
	sock_ulp(c.a.fd);
	sock_ulp(c.b.fd);
	traffic_by(&c, "live", "live");
}

static bool with_syn(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	need(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_options & TCPI_OPT_SYN_DATA;
}

/* The second connection has a cookie: its first bytes come with the SYN. */
static void fast_open(void)
{
	struct conn c;
	int i, port, listener = sock_listen(4, &port);
	/* The listener's. */
	int fd = open("/proc/sys/net/ipv4/tcp_fastopen", O_WRONLY);

	need(fd >= 0 && write(fd, "3", 1) == 1);
	close(fd);
	SAY(set(listener, IPPROTO_TCP, TCP_FASTOPEN, 5));
	for (i = 0; i < 2; i++) {
		c = (struct conn){ { .way = 0 }, { .way = 1 } };
		c.a.fd = sock_new(place.client);
		SAY(set(c.a.fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1));
		SAY(sock_connect(c.a.fd, port));
		put(&c.a, 100, 0);
		c.b.fd = accept(listener, NULL, NULL);
		SAY(get(&c.b, 100, MSG_WAITALL));
		move(&c);
	}
	/* The first one has none if this is not the first run. */
	if (!with_syn(c.a.fd))
		wrong("no byte came with the SYN");
}

static void deferred(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener = sock_listen(4, &port);

	SAY(set(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, 5));
	c.a.fd = sock_new(place.client);
	SAY(sock_connect(c.a.fd, port));
	put(&c.a, 100, 0);
	c.b.fd = accept(listener, NULL, NULL);
	SAY(get(&c.b, 100, MSG_WAITALL));
	move(&c);
}

/* A socket of IPv6 that has a connection of IPv4 becomes a socket of IPv4. */
static void address_form(void)
{
	const struct place was = place;
	int family = AF_INET;
	socklen_t len = sizeof(family);
	char listen[40], connect[40];
	struct conn c;

	/* Another run has it. */
	if (place.family == AF_INET6)
		return;
	snprintf(listen, sizeof(listen), "::ffff:%s", place.listen);
	snprintf(connect, sizeof(connect), "::ffff:%s", place.connect);
	place.family = AF_INET6;
	place.listen = listen;
	place.connect = connect;
	c = conn_moved();
	place = was;
	/* With bytes of a pipe unread it has to wait. */
	put(&c.b, 100, 0);
	arrived(&c.a, 100);
	if (!plain && (!set(c.a.fd, IPPROTO_IPV6, IPV6_ADDRFORM, family) || errno != EBUSY))
		wrong("it does not wait: %d", errno);
	get_all(&c.a, 100);
	SAY(set(c.a.fd, IPPROTO_IPV6, IPV6_ADDRFORM, family));
	need(!getsockopt(c.a.fd, SOL_SOCKET, SO_DOMAIN, &family, &len));
	say("family %d", family);
	traffic(&c);
}

/* Asked for again, and by a name that a program may not ask for. */
static void ulp_again(void)
{
	struct conn c = conn_moved();

	if (plain)
		return;
	if (setsockopt(c.a.fd, IPPROTO_TCP, TCP_ULP, "sdp", 3) && errno != EEXIST)
		wrong("sdp again: %d", errno);
	traffic_by(&c, NULL, NULL);
	if (!setsockopt(c.a.fd, IPPROTO_TCP, TCP_ULP, "none", 4) || errno != ENOENT)
		wrong("an unknown one: %d", errno);
	traffic_by(&c, NULL, NULL);
}

const struct row option_rows[] = {
	{ "SO_RCVLOWAT keeps it with TCP", keeps_lowat },
	{ "SO_TIMESTAMP and SO_TIMESTAMPING keep it with TCP", keeps_stamps },
	{ "SO_ATTACH_FILTER keeps it with TCP", keeps_filter },
	{ "SO_MAX_PACING_RATE keeps its direction with TCP", keeps_pacing },
	{ "TCP_MD5SIG keeps it with TCP", signatures },
	{ "urgent data brings its direction back for good", sent_urgent },
	{ "TCP_REPAIR brings it back for good", repair },
	{ "TCP_REPAIR that is refused leaves it where it is", repair_refused },
	{ "MSG_MORE and TCP_CORK", more },
	{ "the ULP \"tls\" is granted", tls },
	{ "connected again after AF_UNSPEC, it moves again", connected_again },
	{ "a listener becomes a client", listens_and_connects },
	{ "a listener gets the ULP, and becomes a client", listens_and_gets_ulp },
	{ "a live connection gets the ULP, and stays with TCP", live },
	{ "TCP_FASTOPEN", fast_open },
	{ "TCP_DEFER_ACCEPT", deferred },
	{ "the ULP is asked for again", ulp_again },
	{ "IPV6_ADDRFORM", address_form },
	{ }
};
