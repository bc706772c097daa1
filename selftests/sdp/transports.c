// SPDX-License-Identifier: GPL-2.0
/*
 * Two transports at once: sdp_ib between the nodes, and sdp_local, which is this test's,
 * within one.  Each has its own connections, counters and end.  A client of each tries how
 * it carries messages, and the one of sdp_local what a transport can do with memory.
 */
#include "end.h"

#define HERE	"127.0.0.1"
#define PORT	24001
#define OTHER	24002
#define ROUNDS	256

static const char *module;

static bool load(const char *options)
{
	char command[512];

	snprintf(command, sizeof(command), "insmod %s %s", module, options);
	return shell(command);
}

/* A counter of /proc/net/sdp/snmp; -1 where it is not there. */
static long counter(const char *name)
{
	FILE *f = fopen("/proc/net/sdp/snmp", "r");
	long value, found = -1;
	char line[64];

	must(f);
	while (fscanf(f, "%63s %ld", line, &value) == 2)
		if (!strcmp(line, name))
			found = value;
	fclose(f);
	return found;
}

/* What one end sends comes to the other, both ways, many times. */
static bool talk(const int end[2])
{
	static char out[4096], in[4096];
	int round, i;

	for (round = 0; round < ROUNDS; round++) {
		size_t got = 0;
		ssize_t n;

		i = round & 1;
		memset(out, round, sizeof(out));
		if (write(end[i], out, sizeof(out)) != sizeof(out))
			return false;
		for (; got < sizeof(in); got += n) {
			n = read(end[!i], in + got, sizeof(in) - got);
			if (n <= 0)
				return false;
		}
		if (memcmp(in, out, sizeof(in)))
			return false;
	}
	return true;
}

/* A listener on this node, at its loopback address. */
static int listen_here(int port)
{
	int fd = end_open(SDP), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(fd, HERE, port) == 0 && listen(fd, 8) == 0);
	return fd;
}

/* Connects to a listener of this node. */
static bool join(int l, int port, int end[2])
{
	end[1] = -1;
	end[0] = end_open(SDP);
	if (end_connect(end[0], HERE, port))
		return false;
	end[1] = end_accept(l);
	return end[1] >= 0;
}

static bool refused(int port)
{
	int fd = end_open(SDP);
	bool good = end_connect(fd, HERE, port) == -1 && errno == ECONNREFUSED;

	close(fd);
	return good;
}

static bool unreachable(int port)
{
	int fd = end_open(SDP);
	bool good = end_connect(fd, HERE, port) == -1 && errno == ENETUNREACH;

	close(fd);
	return good;
}

static bool lost(int fd)
{
	char c;

	return all_events(fd, POLLERR | POLLHUP, SOON) && read(fd, &c, 1) == -1 &&
	       errno == ENETDOWN;
}

/* A port listened on in one namespace is free in another, or has another listener there. */
static void test_namespaces(void)
{
	int end[2], other, same;

	enter_node(2);
	must(shell("ip link set lo up"));
	other = listen_here(OTHER);
	same = listen_here(PORT);
	enter_node(1);
	ok(refused(OTHER), "a port of another namespace: refused");
	enter_node(2);
	ok(join(same, PORT, end), "one port of two namespaces: connections");
	unpair(end);
	close(same);
	close(other);
	ok(refused(PORT), "refused where nobody listens any more");
	enter_node(1);
}

static void test_both(int l, int far[2], int near[2])
{
	char c;

	pair(SDP, far);
	ok(counter("local_connected") == 0, "a connection by sdp_ib");
	ok(join(l, PORT, near), "and one by sdp_local");
	ok(counter("local_connected") == 1 && counter("ib_qp_errors") >= 0,
	   "which its own counter tells");
	ok(talk(far), "bytes by sdp_ib");
	ok(talk(near), "bytes by sdp_local");
	ok(counter("local_messages") >= ROUNDS, "which its own counter tells");

	ok(shutdown(near[0], SHUT_WR) == 0 && read(near[1], &c, 1) == 0,
	   "the end of a stream");
	unpair(near);
	must(join(l, PORT, near));
	close(near[0]);
	ok(read(near[1], &c, 1) == 0, "the end of a program");
	close(near[1]);
	must(join(l, PORT, near));
}

/* Each goes while both have a connection. */
static void test_gone(int l, int far[2], int near[2])
{
	ok(shell("rmmod sdp_local"), "sdp_local goes");
	ok(lost(near[0]) && lost(near[1]), "its connection ends: ENETDOWN");
	unpair(near);
	ok(talk(far), "that of sdp_ib goes on");
	ok(unreachable(PORT), "and there is no next one");

	ok(load(""), "sdp_local comes back");
	ok(join(l, PORT, near), "and has the port that is listened on");
	ok(shell("rmmod sdp_ib"), "sdp_ib goes");
	ok(lost(far[0]) && lost(far[1]), "its connection ends: ENETDOWN");
	unpair(far);
	ok(talk(near), "that of sdp_local goes on");
	ok(shell("modprobe sdp_ib"), "sdp_ib comes back");
	pair(SDP, far);
	ok(talk(far), "and has connections again");
	unpair(far);
	unpair(near);
}

/* What a module tells of what it has tried. */
static void test_tried(const char *file)
{
	FILE *f = fopen(file, "r");
	char line[128];

	must(f);
	while (fgets(line, sizeof(line), f)) {
		bool good = !strncmp(line, "ok ", 3);

		line[strcspn(line, "\n")] = 0;
		ok(good, line + strlen(good ? "ok " : "not ok "));
	}
	fclose(f);
}

/* The same by sdp_ib, where the devices of sdp_ib_try do not see memory. */
static void test_ib(const char *try)
{
	char command[512];

	snprintf(command, sizeof(command), "insmod %s", try);
	must(shell(command));
	test_tried("/sys/module/sdp_ib_try/parameters/carry");
	test_tried("/sys/module/sdp_ib_try/parameters/held");
	test_tried("/sys/module/sdp_ib_try/parameters/memory");
	ok(shell("rmmod sdp_ib_try"), "sdp_ib's client goes");
}

int main(int argc, char **argv)
{
	int far[2], near[2], l;

	must(argc == 3);
	module = argv[1];
	tap_plan(26 + 40 + 27 + 31 + 36);
	set_both_direct("1");
	must(shell("ip link set lo up"));
	ok(load("name=ib 2>&1 | grep -q 'File exists'"), "a second transport of one name: refused");
	ok(load(""), "another one");
	l = listen_here(PORT);
	test_both(l, far, near);
	ok(refused(PORT + 10), "nobody listens: refused");
	test_namespaces();
	test_tried("/sys/module/sdp_local/parameters/memory");
	test_tried("/sys/module/sdp_local/parameters/carry");
	test_ib(argv[2]);
	test_gone(l, far, near);
	close(l);
	ok(shell("rmmod sdp_local"), "all goes in the end");
	set_both_direct("0");
	return tap_exit();
}
