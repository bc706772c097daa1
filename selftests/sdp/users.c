// SPDX-License-Identifier: GPL-2.0
/*
 * What a user cannot do to others: take their connections, or have more than his share
 * by means of a user namespace.
 */
#include "end.h"

#include <sys/wait.h>

#define USER		12345		/* any two that are not root */
#define OTHER		12346
#define SUBUIDS		500000		/* those of USER's user namespace */
#define PORT		25000
#define LIMIT		"/sys/module/sdpdev/parameters/user_endpoints"
#define CONNECTIONS	"/sys/module/sdpdev/parameters/user_connections"
#define ADAPTER		"/sys/module/sdp_ib/parameters/device_connections"
#define WAITING		4		/* connections that nobody accepts */
#define PEERS_PORT	(PORT + 10)
#define FLOODED		(PORT + 20)

/* Only what an ordinary user may do, until become(0). */
static void become(uid_t uid)
{
	must(seteuid(uid) == 0);
}

static bool fails(long ret, int error)
{
	return ret == -1 && errno == error;
}

/* --- ports ------------------------------------------------------------------- */

static int open_bound(enum kind kind, uid_t uid, const char *ip, int port)
{
	int fd, one = 1;

	enter_node(2);
	become(uid);
	fd = end_open(kind, AF_INET);
	end_setsockopt(kind, fd, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(kind, fd, ip, port) == 0);
	become(0);
	enter_node(1);
	return fd;
}

static void listen_flags(enum kind kind, int fd, unsigned int flags)
{
	struct sdp_listen arg = { .size = sizeof(arg), .backlog = 8, .flags = flags };

	must((kind == TCP ? listen(fd, 8) : ioctl(fd, SDP_IOC_LISTEN, &arg)) == 0);
}

static int local_port(int native)
{
	struct sockaddr_in name = {};
	socklen_t len = sizeof(name);

	must(getsockname(native, (struct sockaddr *)&name, &len) == 0);
	return ntohs(name.sin_port);
}

/* A client that asks for SDP comes to @l, and to nobody else. */
static bool comes_to(int l, int other, int port)
{
	int c = end_open(SDP, AF_INET), a = -1;
	bool good;

	good = end_connect_flags(SDP, c, SERVER4, port, SDP_CONNECT_NO_TCP) == 0 &&
	       events(l, POLLIN, SOON) == POLLIN && (a = end_accept(SDP, l)) >= 0 &&
	       !(events(other, POLLIN, 0) & POLLIN);
	close(a);
	close(c);
	return good;
}

static bool refused(int port)
{
	int c = end_open(SDP, AF_INET);
	bool good = fails(end_connect_flags(SDP, c, SERVER4, port, SDP_CONNECT_NO_TCP),
			  ECONNREFUSED);

	close(c);
	return good;
}

static void stop_by_shutdown(int native)
{
	must(shutdown(native, SHUT_RD) == 0);
}

static void stop_by_connect(int native)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };

	must(connect(native, &unspec, sizeof(unspec)) == 0);
}

/*
 * The native socket does not listen any more, but is bound still, and more specifically
 * than the next one's listener.
 */
static void test_stale(const char *how, void (*stop)(int native), int port)
{
	int thief = open_bound(SDP, OTHER, SERVER4, port), victim, native;

	listen_flags(SDP, thief, 0);
	native = end_native(SDP, thief);
	must(native >= 0);
	stop(native);
	ok(refused(port), "%s: a listener that TCP does not have gets nothing over SDP", how);
	victim = open_bound(SDP, USER, "0.0.0.0", port);
	listen_flags(SDP, victim, 0);
	ok(comes_to(victim, thief, port), "%s: one that TCP has gets connections", how);
	close(victim);
	close(native);
	close(thief);
}

/* TCP gives a port that nobody has asked for to others when nobody listens there. */
static void test_stale_port(void)
{
	int thief, native, port;

	enter_node(2);
	become(OTHER);
	thief = end_open(SDP, AF_INET);
	listen_flags(SDP, thief, 0);
	native = end_native(SDP, thief);
	must(native >= 0);
	port = local_port(native);
	stop_by_shutdown(native);
	become(0);
	enter_node(1);
	ok(refused(port), "a port that TCP has taken away: nothing comes over SDP");

	/* It comes back, but with the other address of this port. */
	enter_node(2);
	must(end_bind(TCP, native, "127.0.0.1", port) == 0 && listen(native, 8) == 0);
	enter_node(1);
	ok(refused(port), "nor with another address");
	close(native);
	close(thief);
}

/* A listener whose native socket has another address since listens again. */
static void test_moved(void)
{
	int l, native, port;

	enter_node(2);
	l = end_open(SDP, AF_INET);
	listen_flags(SDP, l, 0);
	native = end_native(SDP, l);
	must(native >= 0);
	port = local_port(native);
	stop_by_shutdown(native);
	must(end_bind(TCP, native, SERVER4, port) == 0);
	listen_flags(SDP, l, 0);
	enter_node(1);
	ok(comes_to(l, -1, port), "with a new address it listens again: is reached");
	close(native);
	close(l);
}

/* A listener on SDP only, beside a user's on TCP only. */
static void test_beside(const char *whose, uid_t uid, bool may, int port)
{
	int tcp = open_bound(TCP, USER, "0.0.0.0", port), c = end_open(SDP, AF_INET);
	int sdp = open_bound(SDP, uid, SERVER4, port), a;
	bool by_tcp;

	listen_flags(TCP, tcp, 0);
	listen_flags(SDP, sdp, SDP_LISTEN_NO_TCP);
	if (may) {
		ok(comes_to(sdp, tcp, port), "SDP only, %s TCP listener: is reached", whose);
	} else {
		ok(refused(port), "SDP only, %s TCP listener: is not reached", whose);
		by_tcp = end_connect(SDP, c, SERVER4, port) == 0 &&
			 end_info(c).carrier == SDP_CARRIER_TCP;
		a = by_tcp ? accept(tcp, NULL, NULL) : -1;
		ok(a >= 0, "and that other user is");
		if (a >= 0)
			close(a);
	}
	close(c);
	close(sdp);
	close(tcp);
}

/* --- user namespaces ----------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* What earlier tests have closed counts until it has ended. */
static void wait_for_the_end(void)
{
	int i;

	for (i = 0; i < 1500 && endpoints(); i++)
		poll(NULL, 0, 20);
}

static int try_open(void)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR, .family = AF_INET,
	};
	int fd = open(SDP_DEVICE_PATH, O_RDWR);

	must(fd >= 0);
	return ioctl(fd, SDP_IOC_INIT, &init) ? -errno : fd;
}

/* A process in a user namespace of its own, and two pipes by which it waits. */
struct tenant {
	pid_t pid;
	int ask[2], go[2];
};

static void tell(int fd)
{
	char c = 0;

	must(write(fd, &c, 1) == 1);
}

static void hear(int fd)
{
	char c;

	must(read(fd, &c, 1) == 1);
}

/* Root of a namespace that @owner has made. */
static void enter_namespace(const struct tenant *tenant, uid_t owner)
{
	must(setresgid(owner, owner, owner) == 0 && setresuid(owner, owner, owner) == 0);
	must(unshare(CLONE_NEWUSER) == 0);
	tell(tenant->ask[1]);
	hear(tenant->go[0]);
	must(setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
}

static void start_tenant(struct tenant *tenant, uid_t owner,
			 void (*work)(const struct tenant *tenant))
{
	char path[64], map[64];

	must(pipe(tenant->ask) == 0 && pipe(tenant->go) == 0);
	fflush(stdout);
	tenant->pid = fork();
	must(tenant->pid >= 0);
	if (!tenant->pid) {
		enter_namespace(tenant, owner);
		work(tenant);
	}
	close(tenant->ask[1]);
	close(tenant->go[0]);
	hear(tenant->ask[0]);
	snprintf(map, sizeof(map), "0 %d 100", SUBUIDS);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", tenant->pid);
	write_text(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", tenant->pid);
	write_text(path, map);
	tell(tenant->go[1]);
}

/* What it has exited with. */
static int end_tenant(const struct tenant *tenant)
{
	int status;

	must(waitpid(tenant->pid, &status, 0) == tenant->pid);
	close(tenant->ask[0]);
	close(tenant->go[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/*
 * One endpoint as each of the namespace's users, until that fails.  They stay open.  Exits
 * with how many there were.
 */
static void open_as_many(const struct tenant *tenant)
{
	int n, fd = 0;

	(void)tenant;
	for (n = 0; n < 20; n++) {
		must(seteuid(n + 1) == 0);
		fd = try_open();
		must(seteuid(0) == 0);
		if (fd < 0)
			break;
	}
	exit(fd == -ENOBUFS || n == 20 ? n : 100);
}

static int opened_in_namespace(void)
{
	struct tenant tenant;

	start_tenant(&tenant, USER, open_as_many);
	return end_tenant(&tenant);
}

static void test_namespace(void)
{
	int mine[3], i, n;

	wait_for_the_end();
	write_text(LIMIT, "8");
	n = opened_in_namespace();
	ok(n == 8, "all users of a user's namespace have his limit together (%d)", n);
	become(USER);
	for (i = 0; i < 3; i++)
		mine[i] = end_open(SDP, AF_INET);
	become(0);
	n = opened_in_namespace();
	ok(n == 5, "and with himself (%d)", n);
	for (i = 0; i < 3; i++)
		close(mine[i]);
	write_text(LIMIT, "16384");
}

/* --- connections that nobody accepts -------------------------------------------- */

/* Connects to @port until it is refused; how many connections there are now. */
static int flood(int port, int *c, int most)
{
	int n;

	for (n = 0; n < most; n++) {
		c[n] = end_open(SDP, AF_INET);
		if (end_connect_flags(SDP, c[n], SERVER4, port, SDP_CONNECT_NO_TCP)) {
			close(c[n]);
			break;
		}
	}
	return n;
}

/* Peers can have all that one listener may have, and no more than a part of what all may. */
static void test_flood(const char *limit, const char *value, int part, int port)
{
	int flooded, other, c[4 * WAITING], fd = open(limit, O_RDONLY), i, n;
	char was[16] = "";

	must(fd >= 0 && read(fd, was, sizeof(was) - 1) > 0);
	close(fd);
	wait_for_the_end();
	flooded = listener(SDP, SERVER4, port, 4 * WAITING);
	other = listener(SDP, SERVER4, port + 1, 8);
	write_text(limit, value);
	n = flood(port, c, 4 * WAITING);
	ok(n == part, "%s %s: a listener has no more than %d waiting (%d)",
	   strrchr(limit, '/') + 1, value, part, n);
	ok(comes_to(other, -1, port + 1), "and another one takes one");
	for (i = 0; i < n; i++)
		close(c[i]);
	write_text(limit, was);
	close(flooded);
	close(other);
}

/* A listener that accepts nothing. */
static void let_wait(const struct tenant *tenant)
{
	int l = end_open(SDP, AF_INET);

	must(end_bind(SDP, l, SERVER4, PEERS_PORT) == 0);
	must(end_listen(SDP, l, 2 * WAITING) == 0);
	tell(tenant->ask[1]);
	hear(tenant->go[0]);
	exit(0);
}

/* A container's users fill the backlogs of their own listeners, and not those of root's. */
static void test_peers(void)
{
	struct tenant tenant;
	int c[2 * WAITING], i, l, n;

	write_text(CONNECTIONS, "8");
	enter_node(2);
	start_tenant(&tenant, 0, let_wait);
	enter_node(1);
	l = listener(SDP, SERVER4, PEERS_PORT + 1, 8);
	hear(tenant.ask[0]);
	n = flood(PEERS_PORT, c, 2 * WAITING);
	ok(n == WAITING, "in a namespace of root's: no more than %d connections wait (%d)",
	   WAITING, n);
	ok(comes_to(l, -1, PEERS_PORT + 1), "root's own listener takes one");
	tell(tenant.go[1]);
	must(end_tenant(&tenant) == 0);
	for (i = 0; i < n; i++)
		close(c[i]);
	close(l);
	write_text(CONNECTIONS, "8192");
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_stale("shutdown", stop_by_shutdown, PORT);
	test_stale("AF_UNSPEC", stop_by_connect, PORT + 1);
	test_stale_port();
	test_moved();
	test_beside("beside the same user's", USER, true, PORT + 2);
	test_beside("beside another user's", OTHER, false, PORT + 3);
	test_beside("root's beside a user's", 0, false, PORT + 4);
	test_flood(CONNECTIONS, "8", 4, FLOODED);
	test_flood(ADAPTER, "16", 2, FLOODED + 2);
	if (!access("/proc/self/ns/user", F_OK)) {
		test_namespace();
		test_peers();
	} else {
		must(checked_kernel());
	}
	printf("1..%u\n", tap_done);
	return tap_exit();
}
