// SPDX-License-Identifier: GPL-2.0
/*
 * What a machine's administrator forbids TCP to do SDP does not do either: routing rules
 * for marks, users and types of service, and programs of control groups. Both are asked.
 */
#include "end.h"

#include <linux/bpf.h>
#include <linux/in6.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define USER		12345		/* any that is not root */
#define PORT		24000
#define DENIED		(PORT + 1)	/* by a control group's program */
#define SENT		(PORT + 2)	/* elsewhere by another one: to PORT + 3 */
#define MARK		7
#define TOS		0x10
#define BEHIND		"10.99.0.2"
#define CGROUP		"/run/sdp-policy"

static bool fails(long ret, int error)
{
	return ret == -1 && errno == error;
}

/* --- routing rules --------------------------------------------------------------- */

/* What rules select by. */
struct who {
	const char *name, *rule;
	uid_t uid;
	int mark, tos;
};

static const struct who everybody = { .name = "all others" };
static const struct who some[] = {
	{ "a user", "uidrange 12345-12345", USER, 0, 0 },
	{ "a mark", "fwmark 7", 0, MARK, 0 },
	{ "a type of service", "tos 0x10", 0, 0, TOS },
};

static void rule(const char *verb, int family, const char *selector)
{
	char command[128];

	snprintf(command, sizeof(command), "ip -%d rule %s priority 100 %s unreachable",
		 family == AF_INET ? 4 : 6, verb, selector);
	must(shell(command));
}

static void set_options(enum kind kind, int fd, const struct who *who, int family)
{
	int native = end_native(kind, fd);

	must(native >= 0);
	must(setsockopt(native, SOL_SOCKET, SO_MARK, &who->mark, sizeof(who->mark)) == 0);
	if (family == AF_INET)
		must(setsockopt(native, IPPROTO_IP, IP_TOS, &who->tos, sizeof(int)) == 0);
	else
		must(setsockopt(native, IPPROTO_IPV6, IPV6_TCLASS, &who->tos,
				sizeof(int)) == 0);
	close(native);
}

/* Zero, or the errno of connect(2). */
static int try_as(enum kind kind, const struct who *who, int family, int port)
{
	int fd, err;

	must(seteuid(who->uid) == 0);
	fd = end_open(kind, family);
	must(seteuid(0) == 0);
	set_options(kind, fd, who, family);
	err = end_connect(kind, fd, family == AF_INET ? SERVER4 : SERVER6, port) ? errno : 0;
	if (!err && kind == SDP)
		must(end_info(fd).carrier == SDP_CARRIER_SDP);
	close(fd);
	return err;
}

static void test_rules(enum kind kind, int family, int port)
{
	int l = listener(kind, family == AF_INET ? SERVER4 : SERVER6, port, 64), err;
	const char *k = kind_name[kind], *ip = family == AF_INET ? "IPv4" : "IPv6";
	unsigned int i;

	for (i = 0; i < sizeof(some) / sizeof(*some); i++) {
		rule("add", family, some[i].rule);
		err = try_as(kind, &some[i], family, port);
		ok(err == ENETUNREACH, "%s, %s: a rule for %s: ENETUNREACH (%d)", k, ip,
		   some[i].name, err);
		ok(!try_as(kind, &everybody, family, port), "%s, %s: not for %s", k, ip,
		   everybody.name);
		rule("del", family, some[i].rule);
	}
	close(l);
}

/* The checked kernel has none. */
static bool ipv6_rules(void)
{
	if (shell("ip -6 rule add priority 101 fwmark 9 unreachable"))
		return shell("ip -6 rule del priority 101");
	must(checked_kernel());
	return false;
}

/* --- options that choose a route ---------------------------------------------------- */

static bool carried_by(enum kind kind, int fd)
{
	return kind == TCP || end_info(fd).carrier == SDP_CARRIER_SDP;
}

/*
 * The best route is by a router, which SO_DONTROUTE leaves out. The resolution of addresses
 * to those of InfiniBand would take it.
 */
static void test_dontroute(enum kind kind, int port)
{
	int l = listener(kind, SERVER4, port, 8), c = end_open(kind, AF_INET), one = 1;

	must(shell("ip route add " SERVER4 " via 10.77.0.99"));
	must(!end_setsockopt(kind, c, SO_DONTROUTE, &one, sizeof(one)));
	ok(!end_connect(kind, c, SERVER4, port) &&
	   (kind == TCP || end_info(c).carrier == SDP_CARRIER_TCP),
	   "%s: SO_DONTROUTE: by the link, over TCP", kind_name[kind]);
	must(shell("ip route del " SERVER4 " via 10.77.0.99"));
	close(c);
	close(l);
}

/* A route that says that the address is on no link, although no router leads there. */
static void test_dontroute_global(enum kind kind, int port)
{
	int l, c[2], one = 1, i;

	enter_node(2);
	must(shell("ip address add " BEHIND "/32 dev ib0"));
	enter_node(1);
	must(shell("ip route add " BEHIND " dev ib0 scope global"));
	l = listener(kind, BEHIND, port, 8);
	for (i = 0; i < 2; i++)
		c[i] = end_open(kind, AF_INET);
	must(!end_setsockopt(kind, c[0], SO_DONTROUTE, &one, sizeof(one)));
	ok(fails(end_connect(kind, c[0], BEHIND, port), ENETUNREACH),
	   "%s: SO_DONTROUTE: not by a route to elsewhere", kind_name[kind]);
	ok(!end_connect(kind, c[1], BEHIND, port) && carried_by(kind, c[1]),
	   "%s: without it: by that route", kind_name[kind]);
	close(c[0]);
	close(c[1]);
	close(l);
	must(shell("ip route del " BEHIND));
	enter_node(2);
	must(shell("ip address del " BEHIND "/32 dev ib0"));
	enter_node(1);
}

/* An IPv6 socket that has asked for the flow label, if there is one. */
static int labelled(enum kind kind, bool send, unsigned int label)
{
	struct in6_flowlabel_req req = {
		.flr_label = htonl(label), .flr_action = IPV6_FL_A_GET,
		.flr_flags = IPV6_FL_F_CREATE, .flr_share = IPV6_FL_S_EXCL,
	};
	int fd = end_open(kind, AF_INET6), native = end_native(kind, fd), on = send;

	must(inet_pton(AF_INET6, SERVER6, &req.flr_dst) == 1);
	must(!setsockopt(native, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, &on, sizeof(on)));
	if (label)
		must(!setsockopt(native, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &req, sizeof(req)));
	close(native);
	return fd;
}

/* Zero or the errno of connect(2), by SDP where that can be. */
static int connect_flow(enum kind kind, int fd, int port, unsigned int flowinfo)
{
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, SERVER6, port);

	((struct sockaddr_in6 *)&ss)->sin6_flowinfo = htonl(flowinfo);
	return end_connect_addr(kind, fd, &ss, len, kind == SDP ? SDP_CONNECT_NO_TCP : 0) ?
	       errno : 0;
}

/* The traffic class of the address, which a rule selects by. */
static void test_flow_class(enum kind kind, int port)
{
	int l = listener(kind, SERVER6, port, 8), c[2] = {
		labelled(kind, true, 0), labelled(kind, false, 0) };
	const char *k = kind_name[kind];

	rule("add", AF_INET6, some[2].rule);
	ok(connect_flow(kind, c[0], port, TOS << 20) == ENETUNREACH,
	   "%s: a rule for the traffic class of an address", k);
	ok(!connect_flow(kind, c[1], port, TOS << 20), "%s: not without IPV6_FLOWINFO_SEND", k);
	rule("del", AF_INET6, some[2].rule);
	close(c[0]);
	close(c[1]);
	close(l);
}

static void test_flow_label(enum kind kind, int port, unsigned int label)
{
	int l = listener(kind, SERVER6, port, 8);
	int owner = labelled(kind, true, label), c = labelled(kind, true, 0);
	const char *k = kind_name[kind];

	ok(connect_flow(kind, c, port, label) == EINVAL, "%s: another socket's flow label", k);
	ok(!connect_flow(kind, owner, port, label), "%s: its own", k);
	close(owner);
	close(c);
	close(l);
}

/* There is no way back for the answers of one listener. */
static void test_listener_rule(int port)
{
	int l, c = end_open(SDP, AF_INET);

	enter_node(2);
	rule("add", AF_INET, some[1].rule);
	l = end_open(SDP, AF_INET);
	set_options(SDP, l, &some[1], AF_INET);
	must(end_bind(SDP, l, SERVER4, port) == 0 && end_listen(SDP, l, 8) == 0);
	enter_node(1);
	ok(fails(end_connect_flags(SDP, c, SERVER4, port, SDP_CONNECT_NO_TCP), ECONNREFUSED),
	   "a rule for a listener: refused");
	enter_node(2);
	rule("del", AF_INET, some[1].rule);
	enter_node(1);
	ok(!end_connect_flags(SDP, c, SERVER4, port, SDP_CONNECT_NO_TCP),
	   "without the rule: connected");
	close(c);
	close(l);
}

/* --- control groups --------------------------------------------------------------- */

#define INSN(op, dst, src, o, i)						\
	((struct bpf_insn){ .code = (op), .dst_reg = (dst),		\
			    .src_reg = (src), .off = (o), .imm = (i) })

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* Forbids to connect to DENIED, and sends who connects to SENT to the port behind it. */
static int load_program(enum bpf_attach_type type)
{
	const int port = offsetof(struct bpf_sock_addr, user_port);
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1),
		INSN(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, port, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 1, htons(DENIED)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 2, htons(SENT)),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, htons(SENT + 1)),
		INSN(BPF_STX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_3, port, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
		.insns = (uintptr_t)insns,
		.insn_cnt = sizeof(insns) / sizeof(*insns),
		.license = (uintptr_t)"GPL",
		.expected_attach_type = type,
	};

	return bpf(BPF_PROG_LOAD, &attr);
}

/* Returns the program. */
static int attach(int cgroup, enum bpf_attach_type type)
{
	int program = load_program(type);
	union bpf_attr attr = {
		.target_fd = cgroup, .attach_bpf_fd = program, .attach_type = type,
	};

	must(program >= 0 && bpf(BPF_PROG_ATTACH, &attr) == 0);
	return program;
}

static void count_runs(bool on)
{
	must(shell(on ? "echo 1 > /proc/sys/kernel/bpf_stats_enabled" :
			"echo 0 > /proc/sys/kernel/bpf_stats_enabled"));
}

static unsigned int runs(int program)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = {
		.info.bpf_fd = program, .info.info_len = sizeof(info),
		.info.info = (uintptr_t)&info,
	};

	must(bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0);
	return info.run_cnt;
}

static void join(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && dprintf(fd, "%d", getpid()) > 0);
	close(fd);
}

static int program4;			/* IPv4's */

/* The checked kernel has neither control groups nor programs. */
static bool enter_cgroup(void)
{
	int fd = load_program(BPF_CGROUP_INET4_CONNECT);

	must(fd >= 0 || checked_kernel());
	if (fd < 0)
		return false;
	close(fd);
	must(mkdir(CGROUP, 0755) == 0);
	must(mount("cgroup2", CGROUP, "cgroup2", 0, NULL) == 0);
	must(mkdir(CGROUP "/policy", 0755) == 0);
	fd = open(CGROUP "/policy", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	program4 = attach(fd, BPF_CGROUP_INET4_CONNECT);
	close(attach(fd, BPF_CGROUP_INET6_CONNECT));
	close(fd);
	join(CGROUP "/policy/cgroup.procs");
	return true;
}

static void leave_cgroup(void)
{
	close(program4);
	join(CGROUP "/cgroup.procs");
	must(rmdir(CGROUP "/policy") == 0 && umount2(CGROUP, MNT_DETACH) == 0);
}

static void test_programs(enum kind kind, const char *ip)
{
	int family = strchr(ip, ':') ? AF_INET6 : AF_INET;
	int denied = listener(kind, ip, DENIED, 8), elsewhere = listener(kind, ip, SENT + 1, 8);
	int asked = listener(kind, ip, SENT, 8), c = end_open(kind, family), a = -1;
	const char *k = kind_name[kind];

	ok(fails(end_connect(kind, c, ip, DENIED), EPERM), "%s, %s: a program says no: EPERM",
	   k, ip);
	if (kind == SDP) {
		ok(end_info(c).reason == SDP_REASON_POLICY, "%s, %s: the reason", k, ip);
		ok(fails(end_connect_flags(kind, c, ip, DENIED, SDP_CONNECT_NO_TCP), EPERM),
		   "%s, %s: over SDP only: EPERM", k, ip);
	}
	ok(end_connect(kind, c, ip, SENT) == 0 && (a = end_accept(kind, elsewhere)) >= 0 &&
	   !events(asked, POLLIN, 0), "%s, %s: a program sends it elsewhere", k, ip);
	if (kind == SDP)
		ok(end_info(c).reason == SDP_REASON_POLICY, "%s, %s: the reason", k, ip);
	close(c);
	close(a);
	close(asked);
	close(elsewhere);
	close(denied);
}

/* A listener of TCP on this node's loopback, where no IPoIB leads. */
static int loopback_listener(int port)
{
	int l = end_open(TCP, AF_INET);

	must(end_bind(TCP, l, "127.0.0.1", port) == 0 && end_listen(TCP, l, 8) == 0);
	return l;
}

static void test_runs(int port)
{
	int local = loopback_listener(port), l = listener(SDP, SERVER4, port, 8), c, n;
	unsigned int before;

	count_runs(true);
	before = runs(program4);
	c = end_open(SDP, AF_INET);
	must(end_connect(SDP, c, "127.0.0.1", port) == 0);
	n = runs(program4) - before;
	ok(n == 1 && end_info(c).carrier == SDP_CARRIER_TCP,
	   "no route by IPoIB: the program runs once (%d)", n);
	close(c);

	before = runs(program4);
	c = end_open(SDP, AF_INET);
	must(end_connect(SDP, c, SERVER4, port) == 0);
	n = runs(program4) - before;
	ok(n == 1 && end_info(c).carrier == SDP_CARRIER_SDP, "nor twice for SDP (%d)", n);
	close(c);
	count_runs(false);
	close(l);
	close(local);
}

/* --- a socket of IPv6 that is one of IPv4 now ---------------------------------------- */

/* The programs for IPv4 would be asked, about an IPv6 address. */
static void test_addrform(int port)
{
	int local = loopback_listener(port), l = listener(SDP, SERVER6, port, 8);
	int c = end_open(SDP, AF_INET6), native = end_native(SDP, c), ipv4 = AF_INET;

	must(native >= 0 && end_connect(TCP, native, "::ffff:127.0.0.1", port) == 0);
	must(setsockopt(native, IPPROTO_IPV6, IPV6_ADDRFORM, &ipv4, sizeof(ipv4)) == 0);
	must(end_disconnect(TCP, native) == 0);
	ok(fails(end_connect(SDP, c, SERVER6, port), EAFNOSUPPORT) && !events(l, POLLIN, 0),
	   "IPV6_ADDRFORM: TCP says that the address is none of IPv4's");
	ok(end_info(c).reason == SDP_REASON_FAMILY, "the reason");
	ok(fails(end_connect_flags(SDP, c, SERVER6, port, SDP_CONNECT_NO_TCP), ENETUNREACH) &&
	   !events(l, POLLIN, 0), "nor over SDP only");
	close(native);
	close(c);
	close(l);
	close(local);
}

/* --- why SDP was not tried ------------------------------------------------------------ */

/* By how much that counter has grown since the call before. */
static long untried(const char *reason)
{
	static long was[2];
	char line[80], name[64];
	long value, grown = -1;
	int i;
	FILE *f = fopen("/proc/net/sdp/snmp", "r");

	must(f);
	snprintf(name, sizeof(name), "untried_%s ", reason);
	i = strcmp(reason, "family") ? 0 : 1;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name))) {
			value = atol(line + strlen(name));
			grown = value - was[i];
			was[i] = value;
		}
	fclose(f);
	return grown;
}

/* An attempt counts for its own reason only. */
static void test_reasons(int port)
{
	int local = loopback_listener(port), c[2], i;

	for (i = 0; i < 2; i++)
		c[i] = end_open(SDP, AF_INET6);
	untried("no_route");
	untried("family");
	must(end_connect(SDP, c[0], "::ffff:127.0.0.1", port) == 0);
	ok(untried("no_route") == 1 && untried("family") == 0, "no route: counts as that");
	must(end_bind(SDP, c[1], "::ffff:10.77.0.1", 0) == 0);
	end_connect(SDP, c[1], SERVER6, port);
	ok(end_info(c[1]).reason == SDP_REASON_FAMILY && untried("no_route") == 0 &&
	   untried("family") == 1, "the other family: counts as that");
	close(c[0]);
	close(c[1]);
	close(local);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_rules(TCP, AF_INET, PORT + 10);
	test_rules(SDP, AF_INET, PORT + 11);
	if (ipv6_rules()) {
		test_rules(TCP, AF_INET6, PORT + 12);
		test_rules(SDP, AF_INET6, PORT + 13);
		test_flow_class(TCP, PORT + 17);
		test_flow_class(SDP, PORT + 18);
	}
	test_dontroute(TCP, PORT + 19);
	test_dontroute(SDP, PORT + 20);
	test_dontroute_global(TCP, PORT + 24);
	test_dontroute_global(SDP, PORT + 25);
	test_flow_label(TCP, PORT + 21, 0x12345);
	test_flow_label(SDP, PORT + 22, 0x12346);
	test_listener_rule(PORT + 14);
	test_addrform(PORT + 15);
	test_reasons(PORT + 23);
	if (enter_cgroup()) {
		test_programs(TCP, SERVER4);
		test_programs(SDP, SERVER4);
		test_programs(TCP, SERVER6);
		test_programs(SDP, SERVER6);
		test_runs(PORT + 16);
		leave_cgroup();
	}
	printf("1..%u\n", tap_done);
	return tap_exit();
}
