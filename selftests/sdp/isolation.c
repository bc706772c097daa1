// SPDX-License-Identifier: GPL-2.0
/*
 * Who may do what: users, network namespaces, limits and memory control groups.
 * What TCP sockets have, too, is asked of both.
 *
 * isolation hold: connects to node 2, says so, and waits to be killed.
 * isolation serve: is the other end of that, until it ends.
 */
#include "end.h"

#include <sys/mman.h>

#include <net/if.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define USER		12345		/* any two that are not root */
#define OTHER		12346
#define PARAMETERS	"/sys/module/sdpdev/parameters/"
#define CGROUP		"/run/sdp-cgroup"
#define PORTS		26000		/* up to 26999: what TCP leaves there is nobody's */
#define TRANSPORT	"/sys/module/sdp_ib/parameters/"
#define MANY		64
#define LATE		4

static const char *server = SERVER4;	/* of try_connect() */
static char block[200000];

/* Only what an ordinary user may do, until become(0). */
static void become(uid_t uid)
{
	must(seteuid(uid) == 0);
}

static void write_number(const char *folder, const char *name, long value)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s%s", folder, name);
	fd = open(path, O_WRONLY);
	must(fd >= 0);
	must(dprintf(fd, "%ld", value) > 0);
	close(fd);
}

static long read_number(const char *path)
{
	long value = -1;
	FILE *f = fopen(path, "r");

	must(f);
	must(fscanf(f, "%ld", &value) == 1);
	fclose(f);
	return value;
}

/* Do endpoints or sockets of the namespace include one of local port @port? */
static bool listed(enum kind kind, int port)
{
	char line[512], local[128], want[16];
	bool found = false;
	FILE *f;

	f = fopen(kind == SDP ? "/proc/self/net/sdp/endpoints" :
				"/proc/self/net/tcp", "r");
	must(f);
	snprintf(want, sizeof(want), kind == SDP ? ":%d" : ":%04X", port);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %127s", local) == 1 && strstr(local, want))
			found = true;
	fclose(f);
	return found;
}

static bool talk(int from, int to)
{
	char c = 'x';

	return write(from, &c, 1) == 1 && read(to, &c, 1) == 1 && c == 'x';
}

/* --- users ------------------------------------------------------------------ */

static void test_user(enum kind kind, int port)
{
	const char *k = kind_name[kind];
	int l = listener(kind, SERVER4, port, 8), mine, c, a;

	become(USER);
	c = end_open(kind, AF_INET);
	ok(end_connect(kind, c, SERVER4, port) == 0, "%s: a user connects", k);
	a = end_accept(kind, l);
	ok(talk(c, a) && talk(a, c), "%s: and talks", k);
	ok(listed(kind, port) == false, "%s: sees no other namespace's", k);
	become(0);
	enter_node(2);
	become(USER);
	ok(listed(kind, port), "%s: sees root's in this one", k);
	close(a);
	close(c);

	c = end_open(kind, AF_INET);
	ok(end_bind(kind, c, SERVER4, 80) == -1 && errno == EACCES,
	   "%s: port 80: EACCES", k);
	mine = end_open(kind, AF_INET);
	ok(end_bind(kind, mine, SERVER4, port + 1) == 0 &&
	   end_listen(kind, mine, 1) == 0, "%s: listens", k);
	become(0);
	enter_node(1);
	close(c);
	c = end_open(kind, AF_INET);
	must(end_connect(kind, c, SERVER4, port + 1) == 0);
	become(USER);
	a = end_accept(kind, mine);
	ok(a >= 0 && talk(a, c), "%s: and accepts", k);
	become(0);
	close(a);
	close(c);
	close(mine);
	close(l);
}

/* --- network namespaces ----------------------------------------------------- */

static bool local_is(enum kind kind, int fd, const char *ip)
{
	struct sockaddr_in *sin, name;
	socklen_t len = sizeof(name);
	struct sdp_info info;
	char text[64];

	if (kind == TCP) {
		must(getsockname(fd, (struct sockaddr *)&name, &len) == 0);
		sin = &name;
	} else {
		info = end_info(fd);
		sin = (struct sockaddr_in *)&info.local;
	}
	inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
	return !strcmp(text, ip);
}

/* A network namespace with no interface but its own loopback. */
static void new_namespace(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	must(unshare(CLONE_NEWNET) == 0);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	must(fd >= 0);
	must(ioctl(fd, SIOCSIFFLAGS, &ifr) == 0);
	close(fd);
}

static void test_namespaces(enum kind kind, int port)
{
	int l1, l2 = listener(kind, "0.0.0.0", port, 8), fd, c, a;
	const char *k = kind_name[kind];

	fd = end_open(kind, AF_INET);
	l1 = end_open(kind, AF_INET);
	enter_node(2);
	ok(end_connect(kind, fd, SERVER4, port) == 0 && local_is(kind, fd, "10.77.0.1"),
	   "%s: belongs where it was made", k);
	ok(end_bind(kind, l1, "0.0.0.0", port) == 0 && end_listen(kind, l1, 8) == 0,
	   "%s: a port is free in every namespace", k);
	a = end_accept(kind, l2);
	ok(talk(fd, a) && events(l1, POLLIN, 0) == 0,
	   "%s: the listener of the address's namespace is reached", k);
	close(fd);
	close(a);
	close(l1);

	new_namespace();
	c = end_open(kind, AF_INET);
	ok(end_connect(kind, c, SERVER4, port) == -1 && errno == ENETUNREACH,
	   "%s: no interface here: ENETUNREACH", k);
	close(c);
	fd = end_open(kind, AF_INET);
	ok(end_bind(kind, fd, "10.77.0.1", 0) == -1 && errno == EADDRNOTAVAIL,
	   "%s: another's address: EADDRNOTAVAIL", k);
	ok(end_bind(kind, fd, "0.0.0.0", port + 1) == 0 &&
	   end_listen(kind, fd, 8) == 0 && listed(kind, port + 1) &&
	   !listed(kind, port), "%s: only its own are listed", k);
	enter_node(2);
	c = end_open(kind, AF_INET);
	ok(end_connect(kind, c, "10.77.0.1", port + 1) == -1 &&
	   errno == ECONNREFUSED, "%s: a listener elsewhere: ECONNREFUSED", k);
	enter_node(1);
	close(c);
	close(fd);
	close(l2);
}

/* --- limits of users -------------------------------------------------------- */

/* Connections end after they have been closed, and are counted until then. */
static void all_ended(void)
{
	int node, i;

	for (node = 2; node; node--) {
		enter_node(node);
		for (i = 0; i < 1500 && endpoints(); i++)
			poll(NULL, 0, 20);
		must(!endpoints());
	}
}

/* A descriptor, or the negative errno of SDP_IOC_INIT. */
static int try_open(uid_t uid)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR, .family = AF_INET,
	};
	int fd, ret;

	become(uid);
	fd = open(SDP_DEVICE_PATH, O_RDWR);
	must(fd >= 0);
	ret = ioctl(fd, SDP_IOC_INIT, &init) ? -errno : fd;
	become(0);
	if (ret < 0)
		close(fd);
	return ret;
}

static void test_endpoints(void)
{
	int fd[4], i, more;

	all_ended();
	write_number(PARAMETERS, "user_endpoints", 4);
	for (i = 0; i < 4; i++)
		fd[i] = try_open(USER);
	ok(fd[0] >= 0 && fd[3] >= 0, "endpoints up to the limit");
	ok(try_open(USER) == -ENOBUFS, "one more: ENOBUFS");
	more = try_open(OTHER);
	ok(more >= 0, "another user has a limit of his own");
	close(more);
	more = try_open(0);
	ok(more >= 0, "root has none");
	close(more);
	close(fd[0]);
	fd[0] = try_open(USER);
	ok(fd[0] >= 0, "one less, one more");
	for (i = 0; i < 4; i++)
		close(fd[i]);
	write_number(PARAMETERS, "user_endpoints", 16384);
}

/* A connected descriptor, or a negative errno. */
static int try_connect(uid_t uid, int port, unsigned int flags)
{
	int fd = try_open(uid), ret;

	must(fd >= 0);
	ret = end_connect_flags(SDP, fd, server, port, flags) ? -errno : fd;
	if (ret < 0)
		close(fd);
	return ret;
}

static void test_connections(int port)
{
	int l = listener(SDP, SERVER4, port, 64), theirs, a, b, c, d;
	struct sdp_info info;

	/* That of root's peers, too, before it is accepted. */
	write_number(PARAMETERS, "user_connections", 1);
	a = try_connect(USER, port, SDP_CONNECT_NO_TCP);
	ok(a >= 0, "connections up to the limit");
	d = end_accept(SDP, l);
	b = try_connect(USER, port, SDP_CONNECT_NO_TCP);
	ok(b == -ENOBUFS, "one more: ENOBUFS");
	b = try_connect(USER, port, 0);
	must(b >= 0);
	info = end_info(b);
	ok(info.carrier == SDP_CARRIER_TCP && info.reason == SDP_REASON_LIMIT,
	   "or TCP, and why");
	c = try_connect(OTHER, port, SDP_CONNECT_NO_TCP);
	ok(c >= 0, "another user connects");
	close(a);
	close(b);
	close(c);
	close(d);
	/* What it did not accept ends now, and not when their ends have waited enough. */
	close(l);

	enter_node(2);
	theirs = try_open(USER);
	must(end_bind(SDP, theirs, SERVER4, port + 1) == 0);
	must(end_listen(SDP, theirs, 8) == 0);
	enter_node(1);
	/* That of before may take a moment to end. */
	do
		a = try_connect(0, port + 1, SDP_CONNECT_NO_TCP);
	while (a == -ECONNREFUSED);
	/* Before TCP asks: it is there with its last message, which may come later. */
	c = end_accept(SDP, theirs);
	b = try_connect(0, port + 1, 0);
	d = end_accept(SDP, theirs);
	ok(a >= 0 && b >= 0 && end_info(b).carrier == SDP_CARRIER_TCP,
	   "a listener's connections count as its user's");
	ok(talk(a, c) && talk(b, d), "and what is too much comes by TCP");
	close(a);
	close(b);
	close(c);
	close(d);
	close(theirs);
	write_number(PARAMETERS, "user_connections", 8192);
}

/*
 * Connects until it fails; returns the errno, and how many there were. With @accepted,
 * @l accepts them.
 */
static int connect_accept(uid_t uid, int port, int fd[MANY], int *n, int l, int *accepted)
{
	int ret = 0;

	for (*n = 0; *n < MANY; ++*n) {
		ret = try_connect(uid, port, SDP_CONNECT_NO_TCP);
		if (ret < 0)
			break;
		fd[*n] = ret;
		if (accepted)
			accepted[*n] = end_accept(SDP, l);
	}
	return ret < 0 ? -ret : 0;
}

static int connect_many(uid_t uid, int port, int fd[MANY], int *n)
{
	return connect_accept(uid, port, fd, n, -1, NULL);
}

static void close_many(int *fd, int n)
{
	while (n-- > 0)
		close(fd[n]);
}

static int ring_setup(int fd, unsigned int bytes)
{
	struct sdp_ring_setup arg = {
		.size = sizeof(arg), .tx_bytes = bytes, .rx_bytes = bytes,
	};

	return ioctl(fd, SDP_IOC_RING_SETUP, &arg) ? errno : 0;
}

/* Both ends close: whether that was seen in the end. */
static bool closed(int fd, int peer, const struct sdp_ring *ring)
{
	close(fd);
	close(peer);
	for (int i = 0; i < 500; i++) {
		if (__atomic_load_n(&ring->flags, __ATOMIC_ACQUIRE) & SDP_RING_ERROR)
			return true;
		poll(NULL, 0, 20);
	}
	return false;
}

/* What is mapped is the user's as long as it is, also without its connection. */
static void test_mapped_memory(int port)
{
	int l = listener(SDP, SERVER4, port, 64), fd, err = ENOMEM;
	size_t size = 512 << 10;
	struct sdp_ring *ring;

	write_number(PARAMETERS, "user_memory", 2);
	fd = try_connect(OTHER, port, SDP_CONNECT_NO_TCP);
	must(fd >= 0 && ring_setup(fd, size) == 0);
	ring = mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, SDP_MMAP_TX_RING);
	must(ring != MAP_FAILED && closed(fd, end_accept(SDP, l), ring));
	fd = try_connect(OTHER, port, SDP_CONNECT_NO_TCP);
	ok(fd >= 0 && ring_setup(fd, size) == ENOMEM, "mapped rings count when closed");
	munmap(ring, 4096 + size);
	for (int i = 0; i < 500 && err == ENOMEM; i++) {
		err = ring_setup(fd, size);
		poll(NULL, 0, 20);
	}
	ok(!err, "and not when unmapped");
	write_number(PARAMETERS, "user_memory", 1024);
	close(fd);
	close(l);
}

static void test_memory(int port)
{
	int l = listener(SDP, SERVER4, port, 64), fd[MANY], n, other, err;

	write_number(PARAMETERS, "user_memory", 1);
	err = connect_many(USER, port, fd, &n);
	ok(err == ENOBUFS && n > 8, "memory for %d connections, then ENOBUFS", n);
	must(n > 0);
	other = try_connect(OTHER, port, SDP_CONNECT_NO_TCP);
	ok(other >= 0, "another user connects");
	close_many(fd + 1, n - 1);
	ok(ring_setup(fd[0], 1 << 20) == ENOMEM, "too large rings: ENOMEM");
	ok(ring_setup(other, 4096) == 0, "small rings");
	write_number(PARAMETERS, "user_memory", 1024);
	ok(ring_setup(fd[0], 1 << 20) == 0, "and large ones with more memory");
	close(fd[0]);
	close(other);
	close(l);
}

/* Of the connected endpoint of this namespace whose own port, or its peer's, is @port. */
static long memory_of(int port)
{
	char line[512], local[128], peer[128], want[16];
	long memory = -1;
	FILE *f = fopen("/proc/self/net/sdp/endpoints", "r");

	must(f);
	snprintf(want, sizeof(want), ":%d", port);
	while (memory < 0 && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %127s %127s", local, peer) != 2 || !strcmp(peer, "-"))
			continue;
		if (strstr(local, want) || strstr(peer, want))
			sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
			       &memory);
	}
	fclose(f);
	return memory;
}

/* Buffers count as what they take, and are no larger than the transport's messages. */
static void test_buffer_size(int port)
{
	int l = listener(SDP, SERVER4, port, 8), fd;
	long bytes;

	write_number(PARAMETERS, "recv_size", 9000);
	fd = try_connect(0, port, SDP_CONNECT_NO_TCP);
	bytes = memory_of(port);
	ok(fd >= 0 && bytes == 4 * 16384 + 4 * 64,
	   "a buffer counts as the memory that it takes (%ld)", bytes);
	close(fd);
	write_number(PARAMETERS, "recv_size", 65536);
	fd = try_connect(0, port, SDP_CONNECT_NO_TCP);
	ok(fd >= 0, "as large as the parameter can be: connects over SDP");
	close(fd);
	write_number(PARAMETERS, "recv_size", 8192);
	close(l);
}

/* --- shares of an adapter ----------------------------------------------------- */

/*
 * Adapters of so few connections, and a quarter of what others leave for each user: for
 * each that he has three must be left.
 */
static void test_share(int port)
{
	int l, fd[MANY], theirs[MANY], roots[MANY], a[3][MANY], n, m, r, tcp, err;
	struct sdp_info info;

	all_ended();
	l = listener(SDP, SERVER4, port, MANY);
	write_number(TRANSPORT, "device_connections", 40);
	err = connect_accept(USER, port, fd, &n, l, a[0]);
	ok(err == ENOBUFS && n == 10, "a quarter of the adapter, then ENOBUFS (%d)", n);
	tcp = try_connect(USER, port, 0);
	must(tcp >= 0);
	info = end_info(tcp);
	ok(info.carrier == SDP_CARRIER_TCP && info.reason == SDP_REASON_LIMIT,
	   "or TCP, and why");
	close(tcp);
	close(end_accept(SDP, l));
	err = connect_accept(OTHER, port, theirs, &m, l, a[1]);
	ok(err == ENOBUFS && m == 7, "a quarter of what is left for another user (%d)", m);
	err = connect_accept(0, port, roots, &r, l, a[2]);
	/* At the other end root's peers have a share: for one that is to be accepted, three. */
	ok(err == ECONNREFUSED && r == 40 - 3 - n - m, "root has the rest (%d)", r);
	close_many(roots, r);
	close_many(a[2], r);
	close_many(theirs, m);
	close_many(a[1], m);
	close_many(fd, n);
	close_many(a[0], n);
	close(l);
	write_number(TRANSPORT, "device_connections", 0);
}

/* What a user has of one adapter does not count against his share of another one. */
static void test_share_two(int port)
{
	int l[2], fd[MANY], theirs[MANY], a[2][MANY], n, m, err;

	all_ended();
	l[0] = listener(SDP, SERVER4, port, MANY);
	l[1] = end_open(SDP, AF_INET);
	must(end_bind(SDP, l[1], "10.77.0.1", port) == 0 && end_listen(SDP, l[1], MANY) == 0);
	write_number(TRANSPORT, "device_connections", 80);
	err = connect_accept(USER, port, fd, &n, l[0], a[0]);
	must(err == ENOBUFS);
	enter_node(2);
	server = "10.77.0.1";
	err = connect_accept(USER, port, theirs, &m, l[1], a[1]);
	server = SERVER4;
	enter_node(1);
	/* Of the other ends, which are root's, there are as many. */
	ok(err == ENOBUFS && n == 20 && m == 15, "a share of each adapter (%d, %d)", n, m);
	close_many(theirs, m);
	close_many(a[1], m);
	close_many(fd, n);
	close_many(a[0], n);
	close(l[0]);
	close(l[1]);
	write_number(TRANSPORT, "device_connections", 0);
}

/*
 * Root has no limits, but its peers have, until their connections are accepted: of an
 * adapter, and of all together.  One listener leaves as many as it has (sdp/users).
 */
static void test_peers_of_root(int port)
{
	int l, fd[MANY], more[MANY], a[MANY], n, m, i, err;

	all_ended();
	l = listener(SDP, SERVER4, port, MANY);
	write_number(TRANSPORT, "device_connections", 40);
	err = connect_many(0, port, fd, &n);
	ok(err == ECONNREFUSED && n == 5, "root's peers have a share of the adapter (%d)", n);
	for (i = 0; i < n; i++)
		a[i] = end_accept(SDP, l);
	write_number(TRANSPORT, "device_connections", 0);
	write_number(PARAMETERS, "user_connections", 4);
	err = connect_many(0, port, more, &m);
	ok(err == ECONNREFUSED && m == 2,
	   "and no more than a user, of those that are not accepted (%d)", m);
	write_number(PARAMETERS, "user_connections", 8192);
	close_many(more, m);
	close_many(a, n);
	close_many(fd, n);
	close(l);
}

/* What nobody has accepted has no more buffers than at first, however much comes. */
static void test_unaccepted_memory(int port)
{
	int l = listener(SDP, SERVER4, port, 8), fd, a;
	long before, after;

	fd = try_connect(0, port, SDP_CONNECT_NO_TCP);
	must(fd >= 0 && events(l, POLLIN, SOON) == POLLIN);
	enter_node(2);
	before = memory_of(port);
	enter_node(1);
	nonblock(fd, true);
	while (write(fd, block, sizeof(block)) > 0 || events(fd, POLLOUT, 500))
		;
	nonblock(fd, false);
	enter_node(2);
	after = memory_of(port);
	enter_node(1);
	ok(before > 0 && after == before, "bytes before accept take no more memory (%ld, %ld)",
	   before, after);
	a = end_accept(SDP, l);
	ok(a >= 0 && read(a, block, sizeof(block)) > 0 && write(fd, block, 1) == 1,
	   "and are there after it");
	close(a);
	close(fd);
	close(l);
}

/* His who listens, and nobody else's: peers of his go over TCP. One listener has half. */
static void test_share_listens(int port)
{
	int l, fd[MANY], n, err;

	all_ended();
	enter_node(2);
	l = try_open(USER);
	must(end_bind(SDP, l, SERVER4, port) == 0 && end_listen(SDP, l, MANY) == 0);
	enter_node(1);
	write_number(TRANSPORT, "device_connections", 40);
	err = connect_many(0, port, fd, &n);
	ok(err == ECONNREFUSED && n == 5, "so for who listens (%d)", n);
	close_many(fd, n);
	close(l);
	write_number(TRANSPORT, "device_connections", 0);
}

/* --- locked memory ------------------------------------------------------------ */

/* A line of /proc/self/status in KiB. */
static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[256];
	long kib = -1;

	must(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			kib = strtol(line + len, NULL, 10);
	fclose(f);
	return kib;
}

/* Who may lock no memory at all: there is nothing that counts as locked. */
static void test_locked_memory(int port)
{
	const size_t size = 65536;
	struct rlimit none = { 0, RLIM_INFINITY }, was;
	int l = listener(SDP, SERVER4, port, 8), fd, a;
	struct sdp_ring *ring[2];
	void *p;

	must(!getrlimit(RLIMIT_MEMLOCK, &was));
	none.rlim_max = was.rlim_max;
	must(!setrlimit(RLIMIT_MEMLOCK, &none));
	fd = try_connect(USER, port, SDP_CONNECT_NO_TCP);
	must(fd >= 0);
	a = end_accept(SDP, l);
	become(USER);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(p != MAP_FAILED && mlock(p, size) == -1);
	ok(talk(fd, a) && talk(a, fd), "RLIMIT_MEMLOCK 0: a user talks");
	ok(ring_setup(fd, size) == 0, "has rings");
	ring[0] = mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, SDP_MMAP_TX_RING);
	ring[1] = mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, SDP_MMAP_RX_RING);
	ok(ring[0] != MAP_FAILED && ring[1] != MAP_FAILED && talk(a, fd) && talk(fd, a),
	   "maps them, and they work");
	ok(status_kib("VmPin:") == 0 && status_kib("VmLck:") == 0,
	   "VmPin and VmLck are 0");
	become(0);
	munmap(ring[0], 4096 + size);
	munmap(ring[1], 4096 + size);
	munmap(p, size);
	must(!setrlimit(RLIMIT_MEMLOCK, &was));
	close(fd);
	close(a);
	close(l);
}

/* --- memory control groups -------------------------------------------------- */

/* The checked kernel has none. */
static bool cgroup_possible(void)
{
	FILE *f = fopen("/proc/cgroups", "r");
	bool found = false;
	char line[128];

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "memory", 6);
	if (f)
		fclose(f);
	return found;
}

static void cgroup_make(void)
{
	int fd;

	must(mkdir(CGROUP, 0755) == 0);
	must(mount("cgroup2", CGROUP, "cgroup2", 0, NULL) == 0);
	fd = open(CGROUP "/cgroup.subtree_control", O_WRONLY);
	must(fd >= 0 && write(fd, "+memory", 7) == 7);
	close(fd);
	must(mkdir(CGROUP "/test", 0755) == 0);
	must(mkdir(CGROUP "/full", 0755) == 0);
}

static void cgroup_join(const char *which)
{
	write_number(CGROUP, which, getpid());
}

static long cgroup_memory(void)
{
	return read_number(CGROUP "/test/memory.current");
}

/* With what is written to the LATE of @fd, which nobody reads; what is charged is
 * counted up to 64 pages late for each CPU.
 */
static bool cgroup_grows(const int *fd, long before, long bytes)
{
	int i, j;

	for (i = 0; i < LATE; i++)
		nonblock(fd[i], true);
	for (i = 0; i < 400; i++) {
		if (cgroup_memory() >= before + bytes)
			return true;
		for (j = 0; j < LATE; j++)
			if (write(fd[j], block, sizeof(block)) < 0)
				events(fd[j], POLLOUT, 20);
	}
	return false;
}

/*
 * Another group: the first one's memory is given back in its own time.  Who opened an
 * endpoint pays for it.  A full group's processes cannot do much else; one that does
 * nothing stays, and would be the one that is killed.
 */
static void test_full_group(int port)
{
	int fd[MANY], i, n, out, err = 0;
	pid_t idle;

	cgroup_join("/full/cgroup.procs");
	idle = fork();
	must(idle >= 0);
	if (!idle)
		for (;;)
			pause();
	for (i = 0; i < MANY; i++)
		fd[i] = end_open(SDP, AF_INET);
	cgroup_join("/cgroup.procs");
	write_number(CGROUP "/full/", "memory.max",
		     read_number(CGROUP "/full/memory.current") + (512 << 10));
	for (n = 0; n < MANY && !err; n += !err)
		err = end_connect_flags(SDP, fd[n], SERVER4, port, SDP_CONNECT_NO_TCP) ? errno : 0;
	ok(err == ENOBUFS || err == ENOMEM, "a full group: errno %d after %d", err, n);
	err = ring_setup(fd[0], 1 << 20);
	ok(n && err == ENOMEM, "rings: errno %d", err);
	ok(waitpid(idle, NULL, WNOHANG) == 0, "nobody is killed");
	out = try_connect(0, port, SDP_CONNECT_NO_TCP);
	ok(out >= 0, "who is not in it does not fail for it");
	close(out);
	close_many(fd, MANY);
	must(!kill(idle, SIGKILL) && waitpid(idle, NULL, 0) == idle);
}

static void test_cgroup(int port)
{
	int elsewhere = listener(SDP, SERVER4, port + 1, 64);
	int l, fd[LATE], accepted[LATE], i;
	long before;

	cgroup_make();
	cgroup_join("/test/cgroup.procs");
	l = listener(SDP, SERVER4, port, 64);
	before = cgroup_memory();
	for (i = 0; i < LATE; i++) {
		fd[i] = try_connect(0, port, SDP_CONNECT_NO_TCP);
		accepted[i] = end_accept(SDP, l);
		must(fd[i] >= 0 && accepted[i] >= 0);
	}
	cgroup_join("/cgroup.procs");
	ok(cgroup_grows(fd, before, LATE * 300000),
	   "buffers are charged to the group, late ones too");
	close_many(fd, LATE);
	close_many(accepted, LATE);

	test_full_group(port + 1);
	close(l);
	close(elsewhere);
}

/* --- a namespace that ends -------------------------------------------------- */

static int hold(void)
{
	int fd = end_open(SDP, AF_INET);

	must(end_connect(SDP, fd, SERVER4, 9000) == 0);
	must(end_info(fd).carrier == SDP_CARRIER_SDP);
	puts("connected");
	fflush(stdout);
	pause();
	return 1;
}

static int serve(void)
{
	int l = listener(SDP, SERVER4, 9000, 1), fd;
	char c;

	puts("listening");
	fflush(stdout);
	fd = end_accept(SDP, l);
	must(fd >= 0);
	return read(fd, &c, 1) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "hold"))
		return hold();
	if (argc > 1 && !strcmp(argv[1], "serve"))
		return serve();

	signal(SIGPIPE, SIG_IGN);
	tap_plan(2 * 7 + 2 * 7 + 5 + 6 + 5 + 2 + 5 + 5 + 2 + 4 + (cgroup_possible() ? 5 : 0));
	test_user(TCP, PORTS);
	test_user(SDP, PORTS + 100);
	test_namespaces(TCP, PORTS + 200);
	test_namespaces(SDP, PORTS + 300);
	test_endpoints();
	test_connections(PORTS + 400);
	test_memory(PORTS + 500);
	test_mapped_memory(PORTS + 501);
	test_share(PORTS + 520);
	test_share_listens(PORTS + 521);
	test_share_two(PORTS + 523);
	test_peers_of_root(PORTS + 524);
	test_unaccepted_memory(PORTS + 525);
	test_buffer_size(PORTS + 526);
	test_locked_memory(PORTS + 522);
	if (cgroup_possible())
		test_cgroup(PORTS + 600);
	return tap_exit();
}
