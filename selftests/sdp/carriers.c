// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints that may use one carrier only: SDP_INIT_NO_TCP, and the flags of
 * SDP_IOC_LISTEN.
 */
#include "end.h"

#include <net/if.h>

#define ROUNDS	50

static char buf[16];

static int open_no_tcp(int family)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR, .minor = SDP_API_MINOR,
		.family = family, .flags = SDP_INIT_NO_TCP,
	};
	int fd = open(SDP_DEVICE_PATH, O_RDWR);

	must(fd >= 0 && ioctl(fd, SDP_IOC_INIT, &init) == 0);
	return fd;
}

static int listen_flags(int fd, unsigned int flags)
{
	struct sdp_listen arg = { .size = sizeof(arg), .backlog = 8, .flags = flags };

	return ioctl(fd, SDP_IOC_LISTEN, &arg);
}

static bool fails(long ret, int error)
{
	return ret == -1 && errno == error;
}

/* Whether a client gets there over that carrier, and what it says arrives. */
static bool served(int l, int port, unsigned int flags, unsigned int carrier)
{
	int c = end_open(SDP, AF_INET), a = -1;
	bool good;

	good = end_connect_flags(SDP, c, SERVER4, port, flags) == 0 &&
	       end_info(c).carrier == carrier &&
	       events(l, POLLIN, 5000) == POLLIN && (a = end_accept(SDP, l)) >= 0 &&
	       write(c, "hello", 5) == 5 && read(a, buf, 5) == 5;
	close(c);
	close(a);
	return good;
}

static bool refused(int port, unsigned int flags)
{
	int c = end_open(SDP, AF_INET);
	bool good = fails(end_connect_flags(SDP, c, SERVER4, port, flags), ECONNREFUSED);

	close(c);
	return good;
}

static void test_arguments(void)
{
	struct { struct sdp_listen l; __u64 more; } big = { .l = { .size = sizeof(big) } };
	struct sdp_listen arg = { .size = sizeof(arg), .reserved = 1 };
	int fd = end_open(SDP, AF_INET);

	ok(fails(listen_flags(fd, SDP_LISTEN_NO_TCP | SDP_LISTEN_NO_SDP), EINVAL),
	   "LISTEN: neither carrier: EINVAL");
	ok(fails(listen_flags(fd, 4), EINVAL), "LISTEN: undefined flag: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_LISTEN, &arg), EINVAL), "LISTEN: reserved: EINVAL");
	big.more = 1;
	ok(fails(ioctl(fd, SDP_IOC_LISTEN, &big), EINVAL), "LISTEN: larger, not zero: EINVAL");
	arg.size = 8;
	arg.flags = 4;
	ok(ioctl(fd, SDP_IOC_LISTEN, &arg) == 0, "LISTEN: of the first version: taken");
	close(fd);
}

static int bound(int fd, const char *ip, int port)
{
	int one = 1;

	end_setsockopt(SDP, fd, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(SDP, fd, ip, port) == 0);
	return fd;
}

static void test_no_sdp(void)
{
	int l;

	enter_node(2);
	/* It listens twice, while the first one's connections may still be in TIME_WAIT. */
	l = bound(end_open(SDP, AF_INET), SERVER4, 23001);
	ok(listen_flags(l, SDP_LISTEN_NO_SDP) == 0, "listens on TCP only");
	enter_node(1);
	ok(end_info(l).state == SDP_STATE_LISTEN, "which is LISTEN");
	ok(served(l, 23001, 0, SDP_CARRIER_TCP), "a client comes over TCP");
	ok(refused(23001, SDP_CONNECT_NO_TCP), "SDP is refused");
	ok(listen_flags(l, 0) == 0 && refused(23001, SDP_CONNECT_NO_TCP),
	   "and so it stays");
	ok(end_shutdown(SDP, l, SHUT_RD) == 0 && fails(end_accept(SDP, l), EINVAL),
	   "shut down: accept: EINVAL");
	ok(end_info(l).state == SDP_STATE_BOUND, "which is BOUND");
	ok(listen_flags(l, 0) == 0, "listens then as if it had not before");
	ok(served(l, 23001, SDP_CONNECT_NO_TCP, SDP_CARRIER_SDP), "a client comes over SDP");
	ok(served(l, 23001, SDP_CONNECT_NO_SDP, SDP_CARRIER_TCP), "and one over TCP");
	close(l);
}

/* Does not listen beside one on SDP, on TCP neither. */
static void test_another(int fd, const char *how, const char *what)
{
	bound(fd, SERVER4, 23002);
	ok(fails(listen_flags(fd, 0), EADDRINUSE), "%s: %s: EADDRINUSE", how, what);
	ok(end_info(fd).state == SDP_STATE_BOUND, "%s: %s: bound still", how, what);
	enter_node(1);
	ok(refused(23002, SDP_CONNECT_NO_SDP), "%s: %s: TCP is refused", how, what);
	close(fd);
}

/* A listener on SDP only behaves as any listener does. */
static void test_no_tcp(int l, const char *how)
{
	ok(end_info(l).state == SDP_STATE_LISTEN, "%s: LISTEN", how);
	ok(events(l, ALL_EVENTS, 0) == 0, "%s: nothing to report", how);
	nonblock(l, true);
	ok(fails(end_accept(SDP, l), EAGAIN), "%s: nobody there: EAGAIN", how);
	nonblock(l, false);
	ok(served(l, 23002, 0, SDP_CARRIER_SDP), "%s: a client comes over SDP", how);
	ok(refused(23002, SDP_CONNECT_NO_SDP), "%s: TCP is refused", how);
	ok(fails(end_connect(SDP, l, SERVER4, 23002), EISCONN), "%s: connect: EISCONN", how);
	ok(listen_flags(l, 0) == 0 && refused(23002, SDP_CONNECT_NO_SDP),
	   "%s: listens again, on SDP only", how);

	enter_node(2);
	test_another(open_no_tcp(AF_INET), how, "another there, on SDP only");
	enter_node(2);
	test_another(end_open(SDP, AF_INET), how, "another there");

	ok(end_shutdown(SDP, l, SHUT_RD) == 0 && fails(end_accept(SDP, l), EINVAL),
	   "%s: shut down: accept: EINVAL", how);
	ok(refused(23002, SDP_CONNECT_NO_TCP), "%s: SDP is refused then", how);
	close(l);
}

static void test_listeners(void)
{
	int l;

	enter_node(2);
	l = bound(end_open(SDP, AF_INET), SERVER4, 23002);
	must(listen_flags(l, SDP_LISTEN_NO_TCP) == 0);
	enter_node(1);
	test_no_tcp(l, "NO_TCP of LISTEN");

	enter_node(2);
	l = bound(open_no_tcp(AF_INET), SERVER4, 23002);
	must(listen_flags(l, SDP_LISTEN_NO_SDP) == 0);
	enter_node(1);
	test_no_tcp(l, "NO_TCP of INIT");

	l = open_no_tcp(AF_INET);
	ok(listen_flags(l, 0) == 0 && end_info(l).local_len, "without a name: gets a port");
	close(l);
}

static void test_connect(void)
{
	int l = listener(TCP, SERVER4, 23003, 8), c = open_no_tcp(AF_INET);

	ok(fails(end_connect(SDP, c, SERVER4, 23003), ECONNREFUSED),
	   "a TCP listener only: ECONNREFUSED");
	ok(fails(end_connect_flags(SDP, c, SERVER4, 23003, SDP_CONNECT_NO_SDP), ECONNREFUSED),
	   "TCP asked for: ECONNREFUSED");
	ok(fails(end_connect(SDP, c, "127.0.0.1", 23003), ENETUNREACH), "loopback: ENETUNREACH");
	ok(fails(end_connect(SDP, c, "0.0.0.0", 23003), ENETUNREACH), "0.0.0.0: ENETUNREACH");
	ok(fails(end_connect(SDP, c, SERVER6, 23003), EAFNOSUPPORT),
	   "an IPv6 address: EAFNOSUPPORT");
	close(l);
	l = listener(SDP, SERVER4, 23004, 8);
	ok(end_connect(SDP, c, SERVER4, 23004) == 0 &&
	   end_info(c).carrier == SDP_CARRIER_SDP, "then over SDP");
	close(c);
	close(l);
}

/*
 * Who does not wait asks for the error all the time, also in the moment between the
 * attempt's failure and its end: it is told once.
 */
static void test_error_told(void)
{
	unsigned int round, told, lost = 0, more = 0, other = 0, state;
	int c, error;

	for (round = 0; round < ROUNDS; round++) {
		c = open_no_tcp(AF_INET);
		nonblock(c, true);
		must(fails(end_connect(SDP, c, SERVER4, 23005), EINPROGRESS));
		told = 0;
		do {
			state = end_info(c).state;
			error = end_error(SDP, c);
			told += error == ECONNREFUSED;
			other += error && error != ECONNREFUSED;
		} while (state == SDP_STATE_CONNECTING);
		lost += !told;
		more += told > 1;
		close(c);
	}
	if (lost || more || other)
		printf("# of %d: lost %u, twice %u, another one %u\n", ROUNDS, lost, more,
		       other);
	ok(!lost, "refused, and asked for the error all the time: it is told");
	ok(!more && !other, "once, and no other one");
}

static int connect_nobody(enum kind kind)
{
	int fd = end_open(kind, AF_INET);

	nonblock(fd, true);
	must(fails(end_connect_flags(kind, fd, SERVER4, 23007, SDP_CONNECT_NO_TCP), EINPROGRESS));
	must(events(fd, POLLOUT, SOON) & POLLERR);
	return fd;
}

/* Who reads or writes hears of it, once, and without a signal. */
static void test_error_met(enum kind kind)
{
	int fd = connect_nobody(kind);
	char byte;

	ok(fails(read(fd, &byte, 1), ECONNREFUSED) && !end_error(kind, fd),
	   "%s: refused: who reads is told so", kind_name[kind]);
	close(fd);
	fd = connect_nobody(kind);
	signal(SIGPIPE, SIG_DFL);
	ok(fails(write(fd, "x", 1), ECONNREFUSED), "%s: who writes, too", kind_name[kind]);
	signal(SIGPIPE, SIG_IGN);
	ok(fails(end_send(kind, fd, "x", 1, 0), EPIPE), "%s: after that EPIPE", kind_name[kind]);
	close(fd);
}

/* One of two listeners on a port. */
struct half {
	const char *ip, *device;
	unsigned int flags;
	bool reuseport;
};

static int open_half(const struct half *h)
{
	int one = 1, fd = end_open(SDP, strchr(h->ip, ':') ? AF_INET6 : AF_INET);

	if (h->device)
		must(end_setsockopt(SDP, fd, SO_BINDTODEVICE, h->device,
				    strlen(h->device)) == 0);
	if (h->reuseport)
		must(end_setsockopt(SDP, fd, SO_REUSEPORT, &one, sizeof(one)) == 0);
	return bound(fd, h->ip, 23006);
}

/* Both are bound before any of them listens: TCP has nothing against that. */
static void test_two(const char *what, struct half a, struct half b, bool both)
{
	int x, y, ret;

	enter_node(2);
	x = open_half(&a);
	y = open_half(&b);
	enter_node(1);
	must(listen_flags(x, a.flags) == 0);
	ret = listen_flags(y, b.flags);
	ok(both ? ret == 0 : fails(ret, EADDRINUSE),
	   "two on a port, one on SDP only: %s: %s", what,
	   both ? "both listen" : "EADDRINUSE");
	close(x);
	close(y);
}

/* The one on SDP only comes second, then first. */
static void test_mixed(const char *what, struct half both, struct half sdp, bool may)
{
	char text[80];

	sdp.flags = SDP_LISTEN_NO_TCP;
	test_two(what, both, sdp, may);
	snprintf(text, sizeof(text), "%s, the other order", what);
	test_two(text, sdp, both, may);
}

/* As TCP would compare them if both were on TCP. */
static void test_neighbours(void)
{
	struct half any = { .ip = "0.0.0.0" }, any6 = { .ip = "::" };
	struct half one = { .ip = SERVER4 };
	struct half any_shared = { .ip = "0.0.0.0", .reuseport = true };
	struct half ib = { .ip = "0.0.0.0", .device = "ib0" };
	struct half lo = { .ip = "0.0.0.0", .device = "lo" };

	test_mixed("0.0.0.0 and an address", any, one, false);
	test_mixed("an address and 0.0.0.0", one, any, false);
	test_mixed("[::] and an IPv4 address", any6, one, false);
	test_mixed("[::] and 0.0.0.0", any6, any, false);
	test_mixed("two interfaces", ib, lo, true);
	test_mixed("an interface and any", ib, any, false);
	test_mixed("SO_REUSEPORT", any_shared, any_shared, true);
	test_mixed("SO_REUSEPORT of the first", any_shared, any, false);
	test_mixed("SO_REUSEPORT of the second", any, any_shared, false);
}

/* Connections to @port of this namespace that are there for accept(2), or were. */
static int connected(enum kind kind, int port)
{
	char line[512], local[128], peer[128], state[16], want[16];
	int n = 0;
	FILE *f;

	f = fopen(kind == SDP ? "/proc/self/net/sdp/endpoints" : "/proc/self/net/tcp", "re");
	must(f);
	snprintf(want, sizeof(want), kind == SDP ? ":%d" : ":%04X", port);
	while (fgets(line, sizeof(line), f))
		n += sscanf(line, "%*s %127s %127s %15s", local, peer, state) == 3 &&
		     strstr(local, want) && !strcmp(state, kind == SDP ? "CONNECTED" : "01");
	fclose(f);
	return n;
}

/* Of three that wait on each carrier every other one is TCP's. */
static void test_turns(void)
{
	int l = listener(SDP, SERVER4, 23008, 8), c[6], a[6], i, same = 0;
	struct sdp_accept arg = { .size = sizeof(arg) };
	unsigned int last = SDP_CARRIER_NONE;

	for (i = 0; i < 6; i++) {
		c[i] = end_open(SDP, AF_INET);
		must(end_connect_flags(SDP, c[i], SERVER4, 23008, i < 3 ? SDP_CONNECT_NO_TCP :
				       SDP_CONNECT_NO_SDP) == 0);
	}
	enter_node(2);
	for (i = 0; i < 1500 && (connected(SDP, 23008) < 3 || connected(TCP, 23008) < 3); i++)
		poll(NULL, 0, 20);
	enter_node(1);
	for (i = 0; i < 6; i++) {
		a[i] = ioctl(l, SDP_IOC_ACCEPT, &arg);
		must(a[i] >= 0);
		same += arg.carrier == last;
		last = arg.carrier;
	}
	ok(!same, "connections that wait on both carriers are accepted in turn");
	for (i = 0; i < 6; i++) {
		close(a[i]);
		close(c[i]);
	}
	close(l);
}

/* fe80::@id on @device. */
static void link_local(struct sockaddr_in6 *sin6, int id, const char *device, int port)
{
	memset(sin6, 0, sizeof(*sin6));
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	sin6->sin6_addr.s6_addr[0] = 0xfe;
	sin6->sin6_addr.s6_addr[1] = 0x80;
	sin6->sin6_addr.s6_addr[15] = id;
	sin6->sin6_scope_id = if_nametoindex(device);
	must(sin6->sin6_scope_id);
}

/* From a shared port of fe80::77 on @device to fe80::99 there, where nobody may be. */
static int connect_link_local(const char *device)
{
	struct sdp_connect to = { .size = sizeof(to), .addr_len = sizeof(struct sockaddr_in6) };
	struct sdp_bind from = { .size = sizeof(from), .addr_len = sizeof(struct sockaddr_in6) };
	int one = 1, fd = end_open(SDP, AF_INET6);

	must(end_setsockopt(SDP, fd, SO_REUSEADDR, &one, sizeof(one)) == 0);
	link_local((struct sockaddr_in6 *)&from.addr, 0x77, device, 23009);
	link_local((struct sockaddr_in6 *)&to.addr, 0x99, device, 23009);
	must(ioctl(fd, SDP_IOC_BIND, &from) == 0);
	nonblock(fd, true);
	if (ioctl(fd, SDP_IOC_CONNECT, &to) == 0 || errno == EINPROGRESS)
		errno = 0;
	return fd;
}

/* Addresses of that kind are other hosts' on another interface. */
static void test_link_local(void)
{
	int a, b, err;

	must(shell("ip link add link ib0 name ib0.1 type ipoib && ip link set ib0.1 up"));
	must(shell("ip address add fe80::77/64 dev ib0 nodad"));
	must(shell("ip address add fe80::77/64 dev ib0.1 nodad"));
	a = connect_link_local("ib0");
	must(!errno && end_info(a).state == SDP_STATE_CONNECTING);
	b = connect_link_local("ib0.1");
	err = errno;
	ok(!err && end_info(b).state == SDP_STATE_CONNECTING,
	   "a shared port, and link-local peers on two interfaces: two connections");
	close(a);
	close(b);
	must(shell("ip link del ib0.1 && ip address del fe80::77/64 dev ib0"));
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_arguments();
	test_no_sdp();
	test_listeners();
	test_connect();
	test_error_told();
	test_error_met(TCP);
	test_error_met(SDP);
	test_neighbours();
	test_turns();
	test_link_local();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
