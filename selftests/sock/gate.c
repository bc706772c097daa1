// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of the network act on a connection that has moved: at the next touch, if they came
 * after it.  The connection is one between the namespaces red and blue (sock.sh).
 *
 *	gate [-w] [ROW...]	-w: by a carrier of messages
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/kcm.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

/* Milliseconds between two messages, and those in which a rule has to act: touch is one second. */
#define PACE	20
#define TOUCH	(plain ? 100 : slow_kernel() ? 4000 : 1300)
/* Until TCP comes back after an outage. */
#define BACK	20000

static void run(const char *command)
{
	/* NOLINTNEXTLINE(cert-env33-c): a shell runs what the rows below have */
	if (system(command))
		wrong("%s", command);
}

static bool arrives(struct conn *c, int ms)
{
	struct pollfd p = { c->b.fd, POLLIN, 0 };

	if (poll(&p, 1, ms) <= 0)
		return false;
	need(get(&c->b, 1 << 20, 0) > 0);
	return true;
}

/* Messages come until the rule acts; then none does. */
static void stops(struct conn *c, const char *command)
{
	long long start = now_ms();

	run(command);
	while (now_ms() - start < TOUCH) {
		put(&c->a, 10, 0);
		usleep(PACE * 1000);
		arrives(c, 0);
	}
	put(&c->a, 10, 0);
	say("after \"%s\" something arrives: %d", command, arrives(c, 300));
	want(&c->a, false);
}

static void goes_on(struct conn *c, const char *command)
{
	long long start = now_ms();

	run(command);
	while (c->b.in < c->a.out && now_ms() - start < BACK)
		arrives(c, 100);
	say("after \"%s\" all arrives: %d", command, c->b.in == c->a.out);
	move(c);
}

static void rule(const char *on, const char *off)
{
	struct conn c = conn_moved();

	stops(&c, on);
	goes_on(&c, off);
}

static void dropped(void)
{
	run("tc -n blue qdisc add dev b0 clsact");
	rule("tc -n blue filter add dev b0 ingress matchall action drop",
	     "tc -n blue qdisc del dev b0 clsact");
}

static void prohibited(void)
{
	rule("ip -n red rule add to 10.9.0.2 prohibit", "ip -n red rule del to 10.9.0.2 prohibit");
}

static void no_address(void)
{
	rule("ip -n red addr del 10.9.0.1/24 dev r0", "ip -n red addr add 10.9.0.1/24 dev r0");
}

static void no_link(void)
{
	rule("ip -n red link set r0 down", "ip -n red link set r0 up");
}

/* Policies without keys: nothing passes. */
static void ipsec(void)
{
	rule("ip -n red xfrm policy add src 10.9.0.1 dst 10.9.0.2 dir out tmpl proto esp",
	     "ip -n red xfrm policy flush");
	rule("ip -n blue xfrm policy add src 10.9.0.1 dst 10.9.0.2 dir in tmpl proto esp",
	     "ip -n blue xfrm policy flush");
}

static void keep_going(struct conn *c)
{
	int i;

	tick();
	for (i = 0; i < 20; i++) {
		put(&c->a, 10, 0);
		get_all(&c->b, 10);
		put(&c->b, 10, 0);
		get_all(&c->a, 10);
	}
}

/* On one device of a namespace, or on all devices. */
static int capture_in(const char *netns, const char *dev)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	char path[100];
	int fd, net;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	net = open(path, O_RDONLY);
	need(net >= 0 && !setns(net, CLONE_NEWNET));
	close(net);
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	at.sll_ifindex = dev ? if_nametoindex(dev) : 0;
	need(fd >= 0 && (!dev || at.sll_ifindex) &&
	     !bind(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

static void capture_brings_back(struct conn *c, const char *netns, const char *dev)
{
	int fd = capture_in(netns, dev);

	keep_going(c);
	stays(&c->a, "capture");
	stays(&c->b, "capture");
	close(fd);
	move(c);
}

/* A capture at either end sees the packets of both directions. */
static void captured(void)
{
	struct conn c = conn_moved();

	capture_brings_back(&c, "red", NULL);
	capture_brings_back(&c, "blue", "b0");
	say("all of it");
}

/* So does a capture where the packets pass by (gate.sh), but not elsewhere. */
static void captured_between(void)
{
	struct conn c;
	int fd;

	place.listen = "10.9.5.2";
	place.connect = "10.9.5.2";
	c = conn_moved();
	/* Under the VLAN, and the other side of that. */
	capture_brings_back(&c, "red", "r1");
	capture_brings_back(&c, "hub", "r2");
	capture_brings_back(&c, "hub", "b2");
	capture_brings_back(&c, "hub", "bridge");
	fd = capture_in("red", "r0");
	keep_going(&c);
	want(&c.a, true);
	want(&c.b, true);
	close(fd);
	say("all of it");
}

/* Unless the administrator says that it does not matter. */
static void captured_or_not(void)
{
	struct conn c = conn_moved();
	int fd;

	run("ip netns exec red sysctl -q net.sdp.capture=0");
	run("ip netns exec blue sysctl -q net.sdp.capture=0");
	fd = capture_in("red", NULL);
	keep_going(&c);
	want(&c.a, true);
	want(&c.b, true);
	close(fd);
	run("ip netns exec red sysctl -q net.sdp.capture=1");
	run("ip netns exec blue sysctl -q net.sdp.capture=1");
}

/* A program of two instructions, which always returns the same. */
static int program(int type, int verdict)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = verdict },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type, .insn_cnt = 2,
		.insns = (uintptr_t)code, .license = (uintptr_t)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void attach(int cgroup, int fd, int type, bool on)
{
	union bpf_attr attr = { .target_fd = cgroup, .attach_bpf_fd = fd, .attach_type = type };

	need(!syscall(SYS_bpf, on ? BPF_PROG_ATTACH : BPF_PROG_DETACH, &attr, sizeof(attr)));
}

static void cgroup_programs(void)
{
	static const int types[] = { BPF_CGROUP_INET_EGRESS, BPF_CGROUP_INET_INGRESS };
	struct conn c;
	int i, cgroup, pass = program(BPF_PROG_TYPE_CGROUP_SKB, 1);
	int drop = program(BPF_PROG_TYPE_CGROUP_SKB, 0);

	need(pass >= 0 && drop >= 0);
	mkdir("/tmp/cgroup", 0755);
	need(!mount("none", "/tmp/cgroup", "cgroup2", 0, NULL) || errno == EBUSY);
	cgroup = open("/tmp/cgroup", O_RDONLY);
	need(cgroup >= 0);
	for (i = 0; i < 2; i++) {
		c = conn_moved();
		attach(cgroup, pass, types[i], true);
		keep_going(&c);
		stays(&c.a, "filter");
		stays(&c.b, "filter");
		attach(cgroup, pass, types[i], false);
		move(&c);
		attach(cgroup, drop, types[i], true);
		stops(&c, "true");
		attach(cgroup, drop, types[i], false);
		goes_on(&c, "true");
	}
}

/* Milliseconds in which it ends a connection that may send nothing by TCP: two touches. */
#define TOUCHES	(slow_kernel() ? 8000 : 3000)

static struct conn conn_only(void)
{
	struct conn c = conn_modes(SDP_MODE_ONLY, SDP_MODE_ONLY);

	keep_going(&c);
	return c;
}

/* Messages go on until the connection ends, and not longer than @ms. */
static void ends_within(struct conn *c, int ms, const char *why)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);
	long long start = now_ms();

	while (put_some(&c->a, 10, 0) > 0) {
		if (now_ms() - start > ms) {
			wrong("it goes on");
			return;
		}
		usleep(PACE * 1000);
		arrives(c, 0);
	}
	if (errno != ECONNABORTED)
		wrong("it fails with %s", strerrorname_np(errno));
	need(!getsockopt(c->a.fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	if (strcmp(info.stay, why))
		wrong("because of \"%s\" and not of %s", info.stay, why);
	no_segs(c->b.fd);
}

/* Touches are packets without bytes, which arrive or do not. */
static void only_touches(void)
{
	struct conn c;
	long long start = now_ms();

	if (plain)
		return;
	c = conn_only();
	while (now_ms() - start < TOUCHES) {
		keep_going(&c);
		usleep(PACE * 1000);
	}
	run("tc -n blue qdisc add dev b0 clsact");
	run("tc -n blue filter add dev b0 ingress matchall action drop");
	ends_within(&c, TOUCHES, "touch");
	run("tc -n blue qdisc del dev b0 clsact");
}

static void only_captured(void)
{
	struct conn c;
	int fd;

	if (plain)
		return;
	c = conn_only();
	fd = capture_in("blue", NULL);
	ends_within(&c, TOUCH, "capture");
	close(fd);
}

static void only_ipsec(void)
{
	struct conn c;

	if (plain)
		return;
	c = conn_only();
	run("ip -n blue xfrm policy add src 10.9.0.1 dst 10.9.0.2 dir in tmpl proto esp");
	ends_within(&c, TOUCH, "ipsec");
	run("ip -n blue xfrm policy flush");
}

/* The bytes of a message of KCM. */
#define MESSAGE	10

/*
 * A client in the kernel (KCM) takes a socket over while bytes wait for its program, which has
 * read some.  The client gets the rest, and then what the sender goes on to send.
 */
static void taken_over(void)
{
	int kcm = socket(AF_KCM, SOCK_DGRAM, KCMPROTO_CONNECTED);
	struct kcm_attach at = { .bpf_fd = program(BPF_PROG_TYPE_SOCKET_FILTER, MESSAGE) };
	struct conn c = conn_moved();
	struct end client = c.b;
	int i;

	need(kcm >= 0 && at.bpf_fd >= 0);
	put(&c.a, 1000 * MESSAGE, 0);
	get_all(&c.b, MESSAGE);
	want(&c.a, true);
	at.fd = c.b.fd;
	need(!ioctl(kcm, SIOCKCMATTACH, &at));
	client.fd = kcm;
	client.in = MESSAGE;
	for (i = 1; i < 1020; i++) {
		struct pollfd p = { kcm, POLLIN, 0 };

		/* The first ones at once, the others when all has been read. */
		if (i == 1 || i >= 1010)
			put(&c.a, i == 1 ? 10 * MESSAGE : MESSAGE, 0);
		need(poll(&p, 1, 30000) == 1 && get(&client, 100, 0) == MESSAGE);
	}
	stays(&c.a, "kernel");
	put(&client, MESSAGE, 0);
	get_all(&c.a, MESSAGE);
	say("all of it");
}

/*
 * The client goes when the connection has gone, and puts back what it has found.  The socket's next
 * connection gets another ULP, which does not expect that.
 */
static void taken_over_for_long(void)
{
	int port, listener, kcm = socket(AF_KCM, SOCK_DGRAM, KCMPROTO_CONNECTED);
	struct kcm_attach at = { .bpf_fd = program(BPF_PROG_TYPE_SOCKET_FILTER, MESSAGE) };
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct conn other, c = conn_moved();

	at.fd = c.a.fd;
	need(kcm >= 0 && at.bpf_fd >= 0 && !ioctl(kcm, SIOCKCMATTACH, &at));
	need(!connect(c.a.fd, &none, sizeof(none)));
	need(!ioctl(kcm, SIOCKCMUNATTACH, &(struct kcm_unattach){ .fd = c.a.fd }));
	listener = sock_listen(1, &port);
	other = (struct conn){ { c.a.fd, .way = 0 }, { .way = 1 } };
	need(!sock_connect(other.a.fd, port));
	other.b.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	need(other.b.fd >= 0);
	need(!setsockopt(other.a.fd, IPPROTO_TCP, TCP_ULP, "tls", 3));
	put(&other.b, 1000, 0);
	get_all(&other.a, 1000);
	say("the other ULP has its bytes");
}

static int map_update(int map, int fd)
{
	int key = 0;
	union bpf_attr attr = {
		.map_fd = map, .key = (uintptr_t)&key, .value = (uintptr_t)&fd,
	};

	return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr));
}

/* A map of sockets takes no endpoint, and the ULP takes no socket of a map. */
static void socket_map(void)
{
	union bpf_attr make = {
		.map_type = BPF_MAP_TYPE_SOCKMAP, .key_size = sizeof(int),
		.value_size = sizeof(int), .max_entries = 1,
	};
	int map = syscall(SYS_bpf, BPF_MAP_CREATE, &make, sizeof(make));
	struct conn c = conn_moved(), other = conn_modes(-1, -1);

	need(map >= 0);
	if (!plain && (!map_update(map, c.a.fd) || (errno != EINVAL && errno != EOPNOTSUPP)))
		wrong("the map: %d", errno);
	keep_going(&c);
	need(!map_update(map, other.a.fd));
	if (!setsockopt(other.a.fd, IPPROTO_TCP, TCP_ULP, "sdp", 3) ||
	    (errno != EOPNOTSUPP && !plain))
		wrong("the ULP: %d", errno);
	put(&other.b, 1000, 0);
	get_all(&other.a, 1000);
}

static const struct row rows[] = {
	{ "packets that are dropped", dropped },
	{ "a rule that prohibits the route", prohibited },
	{ "an address that goes", no_address },
	{ "a device that is down", no_link },
	{ "IPsec policies", ipsec },
	{ "a capture at either end", captured },
	{ "a capture on the way", captured_between },
	{ "a capture that does not matter", captured_or_not },
	{ "programs of a control group", cgroup_programs },
	{ "a client in the kernel", taken_over },
	{ "a client in the kernel that goes late", taken_over_for_long },
	{ "a map of sockets", socket_map },
	{ "nothing by TCP, but touches", only_touches },
	{ "nothing by TCP, and a capture ends it", only_captured },
	{ "nothing by TCP, and IPsec ends it", only_ipsec },
	{ }
};

int main(int argc, char **argv)
{
	const struct row *const lists[] = { rows, NULL };
	int c;

	place.listen = "10.9.0.2";
	place.connect = "10.9.0.2";
	place.server = "blue";
	place.client = "red";
	while ((c = getopt(argc, argv, "w")) != -1) {
		if (c != 'w')
			return 2;
		late = true;
	}
	return rows_main(lists, argv + optind);
}
