// SPDX-License-Identifier: GPL-2.0
/*
 * What the network stack decides when a connection is made, for sockets with the ULP as for
 * TCP's: a firewall, routes, IPsec, VRF, programs of control groups, ports, and the user that
 * is shown as the owner.  The connection is one between the namespaces red and blue (sock.sh).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

static void run(const char *command)
{
	/* NOLINTNEXTLINE(cert-env33-c): a shell runs what the rows below have */
	if (system(command))
		wrong("%s", command);
}

/* The end of connect(2) within half a second: 0, an error, or ETIMEDOUT. */
static int connect_soon(int fd, int port)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	int error = 0;
	socklen_t len = sizeof(error);

	need(!fcntl(fd, F_SETFL, O_NONBLOCK));
	if (sock_connect(fd, port) && errno != EINPROGRESS)
		error = errno;
	else if (poll(&p, 1, 500) <= 0)
		error = ETIMEDOUT;
	else
		need(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	need(!fcntl(fd, F_SETFL, 0));
	return error;
}

static void say_connect(const char *when, int port)
{
	int fd = sock_new(place.client);

	say("%s: %s", when, strerrorname_np(connect_soon(fd, port)));
	close(fd);
}

/* --- firewall and routes ------------------------------------------------- */

static void firewall(void)
{
	int port, listener = sock_listen(8, &port);

	run("ip netns exec blue nft add table ip f");
	run("ip netns exec blue nft 'add chain ip f in { type filter hook input priority 0; }'");
	say_connect("open", port);
	run("ip netns exec blue nft add rule ip f in tcp flags syn drop");
	say_connect("dropped", port);
	run("ip netns exec blue nft flush chain ip f in");
	run("ip netns exec blue nft add rule ip f in tcp flags syn reject with tcp reset");
	say_connect("rejected", port);
	run("ip netns exec blue nft delete table ip f");
	say_connect("open again", port);
	close(listener);
}

/*
 * The answer to an acknowledgment is an error that waits for the program.  The bytes of a pipe
 * come back to TCP beside it, and the error is there for the next call.
 */
static void waiting_error(void)
{
	struct conn c = conn_moved();
	struct pollfd p = { c.a.fd, 0, 0 };
	int error = 0, one = 1;
	socklen_t len = sizeof(error);

	need(!setsockopt(c.a.fd, IPPROTO_IP, IP_RECVERR, &one, sizeof(one)));
	put(&c.a, 1000, 0);
	want(&c.a, true);
	gate(&c.b, false);
	run("ip netns exec blue nft add table ip f");
	run("ip netns exec blue nft 'add chain ip f in { type filter hook input priority 0; }'");
	run("ip netns exec blue nft add rule ip f in meta l4proto tcp reject");
	put(&c.b, 100, 0);
	want(&c.b, false);
	need(poll(&p, 1, 5000) == 1 && p.revents & POLLERR);
	run("ip netns exec blue nft delete table ip f");
	want(&c.a, true);
	SAY(shutdown(c.a.fd, SHUT_WR));
	need(!getsockopt(c.a.fd, SOL_SOCKET, SO_ERROR, &error, &len));
	say("SO_ERROR: %s", strerrorname_np(error));
	get_all(&c.b, 1000);
	SAY(get(&c.b, 1, 0));
	get_all(&c.a, 100);
}

/* A rule for one user; the socket's owner counts. */
static void users_route(void)
{
	int fd, port, listener = sock_listen(8, &port);

	run("ip -n red rule add uidrange 1000-1000 to 10.9.0.2 prohibit");
	say_connect("root", port);
	fd = sock_new(place.client);
	need(!fchown(fd, 1000, -1));
	say("the user: %s", strerrorname_np(connect_soon(fd, port)));
	close(fd);
	run("ip -n red rule del uidrange 1000-1000 to 10.9.0.2 prohibit");
	close(listener);
}

/* --- programs of control groups ------------------------------------------ */

static int cgroup_root(void)
{
	int fd;

	mkdir("/tmp/cgroup", 0755);
	need(!mount("none", "/tmp/cgroup", "cgroup2", 0, NULL) || errno == EBUSY);
	fd = open("/tmp/cgroup", O_RDONLY | O_CLOEXEC);
	need(fd >= 0);
	return fd;
}

static void attach(int cgroup, const struct bpf_insn *code, int n, bool on)
{
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR, .insn_cnt = n,
		.insns = (uintptr_t)code, .license = (uintptr_t)"GPL",
		.expected_attach_type = BPF_CGROUP_INET4_CONNECT,
	};
	union bpf_attr attr = {
		.target_fd = cgroup, .attach_type = BPF_CGROUP_INET4_CONNECT,
	};

	if (on) {
		attr.attach_bpf_fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));
		need((int)attr.attach_bpf_fd >= 0);
	}
	need(!syscall(SYS_bpf, on ? BPF_PROG_ATTACH : BPF_PROG_DETACH, &attr, sizeof(attr)));
}

#define SET(reg, value)	\
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value) }
#define STORE(field, reg) \
	{ .code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = 1, .src_reg = (reg), \
	  .off = offsetof(struct bpf_sock_addr, field) }
#define END	{ .code = BPF_JMP | BPF_EXIT }

static void denied(void)
{
	static const struct bpf_insn code[] = { SET(0, 0), END };
	int port, listener = sock_listen(8, &port), cgroup = cgroup_root();

	attach(cgroup, code, 2, true);
	say_connect("denied", port);
	attach(cgroup, code, 2, false);
	say_connect("allowed", port);
	close(listener);
}

/* A service's address, behind which is a server with another one. */
static void rewritten(void)
{
	int port, listener = sock_listen(8, &port), cgroup = cgroup_root();
	const struct bpf_insn code[] = {
		SET(2, inet_addr(place.listen)), STORE(user_ip4, 2),
		SET(2, htons(port)), STORE(user_port, 2), SET(0, 1), END,
	};
	struct conn c = { { .way = 0 }, { .way = 1 } };
	struct sockaddr_in peer = {};
	socklen_t len = sizeof(peer);

	attach(cgroup, code, 6, true);
	c.a.fd = sock_new(place.client);
	place.connect = "203.0.113.1";
	SAY(sock_connect(c.a.fd, 80));
	attach(cgroup, code, 6, false);
	c.b.fd = accept(listener, NULL, NULL);
	need(c.b.fd >= 0 && !getpeername(c.a.fd, (struct sockaddr *)&peer, &len));
	say("the server: %d", peer.sin_addr.s_addr == inet_addr(place.listen) &&
	    ntohs(peer.sin_port) == port);
	move(&c);
	conn_close(&c);
	close(listener);
}

/* --- IPsec and VRF ------------------------------------------------------- */

#define KEY	"'rfc4106(gcm(aes))' 0x0102030405060708090a0b0c0d0e0f1011121314 128"

/* What goes from one address to the other, which both namespaces know. */
static void encrypt(const char *netns, const char *from, const char *to, const char *way)
{
	char command[300];

	snprintf(command, sizeof(command),
		 "ip -n %s xfrm state add src %s dst %s proto esp spi 257 reqid 1 aead %s",
		 netns, from, to, KEY);
	run(command);
	snprintf(command, sizeof(command),
		 "ip -n %s xfrm policy add src %s dst %s dir %s tmpl proto esp reqid 1",
		 netns, from, to, way);
	run(command);
}

/* Bytes that a namespace has encrypted or decrypted, in each direction @n at least. */
static void esp_bytes(const char *netns, long n)
{
	char command[100], line[200];
	FILE *states;
	long bytes;
	int ways = 0;

	snprintf(command, sizeof(command), "ip -n %s -s xfrm state", netns);
	/* NOLINTNEXTLINE(cert-env33-c): as in run() */
	states = popen(command, "r");
	need(states);
	while (fgets(line, sizeof(line), states))
		ways += sscanf(line, " %ld(bytes)", &bytes) == 1 && bytes >= n;
	pclose(states);
	if (ways != 2)
		wrong("%s: %ld bytes in ESP in %d directions", netns, n, ways);
}

#define ROUNDS	40
#define MESSAGE	5000

/* With keys: all bytes go in ESP, and none by a pipe. */
static void encrypted(void)
{
	struct conn c;
	int i;

	encrypt("red", "10.9.0.1", "10.9.0.2", "out");
	encrypt("red", "10.9.0.2", "10.9.0.1", "in");
	encrypt("blue", "10.9.0.1", "10.9.0.2", "in");
	encrypt("blue", "10.9.0.2", "10.9.0.1", "out");
	c = conn_new();
	for (i = 0; i < ROUNDS; i++) {
		put(&c.a, MESSAGE, 0);
		get_all(&c.b, MESSAGE);
		put(&c.b, MESSAGE, 0);
		get_all(&c.a, MESSAGE);
	}
	stays(&c.a, "ipsec");
	stays(&c.b, "ipsec");
	esp_bytes("red", ROUNDS * MESSAGE);
	esp_bytes("blue", ROUNDS * MESSAGE);
	run("for n in red blue; do ip -n $n xfrm policy flush; ip -n $n xfrm state flush; done");
	conn_close(&c);
}

static void other_table(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener = sock_listen(8, &port);

	run("ip -n red link add vrf10 type vrf table 10");
	run("ip -n red link set vrf10 up");
	run("ip -n red link set r0 master vrf10");
	say_connect("outside", port);
	c.a.fd = sock_new(place.client);
	need(!setsockopt(c.a.fd, SOL_SOCKET, SO_BINDTODEVICE, "vrf10", 5));
	SAY(sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	need(c.b.fd >= 0);
	move(&c);
	/* With a way to say so. */
	conn_close(&c);
	close(listener);
	run("ip -n red link del vrf10");
}

/* --- ports and owners ---------------------------------------------------- */

#define SERVERS	3
#define PORTS	2
#define RANGE	"ip netns exec red sysctl -qw net.ipv4.ip_local_port_range="

/* Two ports do for two connections to each of three servers, and for no more. */
static void few_ports(void)
{
	struct conn c[SERVERS * PORTS];
	int i, fd, port[SERVERS], listener[SERVERS];

	run(RANGE "'40000 40001'");
	for (i = 0; i < SERVERS; i++)
		listener[i] = sock_listen(8, &port[i]);
	for (i = 0; i < SERVERS * PORTS; i++) {
		c[i] = (struct conn){ { .way = 0 }, { .way = 1 } };
		c[i].a.fd = sock_new(place.client);
		SAY(sock_connect(c[i].a.fd, port[i % SERVERS]));
		c[i].b.fd = accept(listener[i % SERVERS], NULL, NULL);
		need(c[i].b.fd >= 0);
	}
	fd = sock_new(place.client);
	SAY(sock_connect(fd, port[0]));
	close(fd);
	for (i = 0; i < SERVERS * PORTS; i++)
		move(&c[i]);
	for (i = 0; i < SERVERS * PORTS; i++)
		conn_close(&c[i]);
	for (i = 0; i < SERVERS; i++)
		close(listener[i]);
	run(RANGE "'32768 60999'");
}

/* Does it show this process's number at the port, of this namespace? */
static void owned(const char *netns, const char *options, const char *port_is, int port)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "ip netns exec %s ss -Htnp %s '%s = :%d' | grep -q '\"stack\",pid=%d,'",
		 netns, options, port_is, port, getpid());
	/* NOLINTNEXTLINE(cert-env33-c): as in run() */
	say("ss %s in %s: %d", options, netns, !system(command));
}

static void owners(void)
{
	struct conn c = { { .way = 0 }, { .way = 1 } };
	int port, listener = sock_listen(8, &port);

	c.a.fd = sock_new(place.client);
	need(!sock_connect(c.a.fd, port));
	c.b.fd = accept(listener, NULL, NULL);
	need(c.b.fd >= 0);
	move(&c);
	owned("blue", "-l", "sport", port);
	owned("blue", "state established", "sport", port);
	owned("red", "state established", "dport", port);
	conn_close(&c);
	close(listener);
}

static const struct row rows[] = {
	{ "a firewall that drops or rejects", firewall },
	{ "an error that waits beside a return", waiting_error },
	{ "a route that is not for this user", users_route },
	{ "a program that denies connect(2)", denied },
	{ "a program that rewrites the address", rewritten },
	{ "IPsec with keys", encrypted },
	{ "VRF", other_table },
	{ "few ports, several destinations", few_ports },
	{ "ss knows whose it is", owners },
	{ }
};

int main(int argc, char **argv)
{
	const struct row *const lists[] = { rows, NULL };

	(void)argc;
	place.listen = "10.9.0.2";
	place.connect = "10.9.0.2";
	place.server = "blue";
	place.client = "red";
	return rows_main(lists, argv + 1);
}
