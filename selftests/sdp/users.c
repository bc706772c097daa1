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
	ok(refused(port), "%s: who does not listen on TCP gets nothing over SDP", how);
	victim = open_bound(SDP, USER, "0.0.0.0", port);
	listen_flags(SDP, victim, 0);
	ok(comes_to(victim, thief, port), "%s: who does, does", how);
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

/*
 * As USER in a user namespace of his own: one endpoint as each of its users, until that
 * fails.  They stay open.  Exits with how many there were.
 */
static void open_as_many(int ask, int go)
{
	int n, fd = 0;
	char c = 0;

	must(setresgid(USER, USER, USER) == 0 && setresuid(USER, USER, USER) == 0);
	must(unshare(CLONE_NEWUSER) == 0);
	must(write(ask, &c, 1) == 1 && read(go, &c, 1) == 1);
	must(setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
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
	int ask[2], go[2], status;
	char path[64], map[64], c;
	pid_t child;

	must(pipe(ask) == 0 && pipe(go) == 0);
	fflush(stdout);
	child = fork();
	must(child >= 0);
	if (!child)
		open_as_many(ask[1], go[0]);
	must(read(ask[0], &c, 1) == 1);
	snprintf(map, sizeof(map), "0 %d 100", SUBUIDS);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	write_text(path, map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	write_text(path, map);
	must(write(go[1], &c, 1) == 1 && waitpid(child, &status, 0) == child);
	close(ask[0]);
	close(ask[1]);
	close(go[0]);
	close(go[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_namespace(void)
{
	int mine[3], i, n;

	for (i = 0; i < 1500 && endpoints(); i++)
		poll(NULL, 0, 20);
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

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_stale("shutdown", stop_by_shutdown, PORT);
	test_stale("AF_UNSPEC", stop_by_connect, PORT + 1);
	test_stale_port();
	test_beside("beside the same user's", USER, true, PORT + 2);
	test_beside("beside another user's", OTHER, false, PORT + 3);
	test_beside("root's beside a user's", 0, false, PORT + 4);
	if (!access("/proc/self/ns/user", F_OK))
		test_namespace();
	else
		must(checked_kernel());
	printf("1..%u\n", tap_done);
	return tap_exit();
}
