// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls and the mapping, and programs that do there what they should not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sdp.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/random.h"
#include "rows.h"

static int attach_as(int fd, int major, unsigned int flags, struct sdp_attach *arg)
{
	int ret, device = open("/dev/sdp", O_RDWR | O_CLOEXEC);

	need(device >= 0);
	*arg = (struct sdp_attach){ .size = sizeof(*arg), .major = major, .fd = fd,
				    .flags = flags };
	ret = ioctl(device, SDP_IOC_ATTACH, arg);
	close(device);
	return ret;
}

static int attach(int fd, struct sdp_attach *arg)
{
	return attach_as(fd, SDP_API_MAJOR, 0, arg);
}

static void refused(const char *what, int fd, int error)
{
	struct sdp_attach arg;
	int ret = attach(fd, &arg);

	if (ret >= 0 || errno != error)
		wrong("%s: %d, %s", what, ret, strerrorname_np(errno));
}

static void attaches(void)
{
	int rings, port, listener, udp, tcp, fresh, other;
	struct sdp_attach arg;
	struct conn c;

	if (plain)
		return;
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	fresh = sock_new(NULL);
	listener = sock_listen(1, &port);
	c = conn_moved();
	refused("no descriptor", 99, EBADF);
	refused("a file", open("/", O_RDONLY), ENOTSOCK);
	refused("UDP", udp, EOPNOTSUPP);
	refused("TCP", tcp, EOPNOTSUPP);
	refused("no connection", fresh, ENOTCONN);
	refused("a listener", listener, ENOTCONN);
	close(udp);
	close(tcp);
	if (attach_as(c.a.fd, 1, 0, &arg) >= 0 || errno != EPROTONOSUPPORT ||
	    arg.major != SDP_API_MAJOR)
		wrong("another version: %s, %u", strerrorname_np(errno), arg.major);
	if (attach_as(c.a.fd, SDP_API_MAJOR, 2, &arg) >= 0 || errno != EINVAL)
		wrong("a flag: %s", strerrorname_np(errno));
	other = dup(c.a.fd);
	if (attach_as(c.a.fd, SDP_API_MAJOR, SDP_ATTACH_SOLE, &arg) >= 0 || errno != EBUSY)
		wrong("two descriptors: %s", strerrorname_np(errno));
	close(other);
	rings = attach_as(c.a.fd, SDP_API_MAJOR, SDP_ATTACH_SOLE, &arg);
	need(rings >= 0);
	refused("again", c.a.fd, EBUSY);
	close(rings);
	rings = attach(c.a.fd, &arg);
	need(rings >= 0);
	if (ioctl(rings, SDP_RING_OPEN, 0) != -1 || ioctl(rings, SDP_RING_OPEN, 4) != -1 ||
	    ioctl(rings, SDP_RING_OPEN, 0x100000001UL) != -1 ||
	    ioctl(rings, SDP_RING_KICK, 4) != -1)
		wrong("flags that nobody knows");
	if (ioctl(rings, SDP_RING_KICK, SDP_RING_DATA | SDP_RING_ROOM))
		wrong("a kick: %s", strerrorname_np(errno));
	close(c.a.fd);
	if (ioctl(rings, SDP_RING_OPEN, BOTH) != -1 || errno != ENOTCONN ||
	    ioctl(rings, SDP_RING_KICK, SDP_RING_DATA))
		wrong("a connection that is over");
}

static void maps(int fd, size_t length, int prot, int flags, off_t offset, int error)
{
	void *p = mmap(NULL, length, prot, flags, fd, offset);

	if ((p == MAP_FAILED ? errno : 0) != error)
		wrong("a mapping of %zu, %d, %d, %ld: %s", length, prot, flags, (long)offset,
		      p == MAP_FAILED ? strerrorname_np(errno) : "done");
	if (p != MAP_FAILED)
		munmap(p, length);
}

static void mappings(void)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct sdp_attach arg;
	struct conn c;
	size_t length;
	int fd;

	if (plain)
		return;
	c = conn_moved();
	fd = attach(c.a.fd, &arg);
	need(fd >= 0);
	length = 2 * ((size_t)arg.head_bytes + arg.ring_bytes);
	maps(fd, length, rw, MAP_SHARED, 0, 0);
	maps(fd, length, PROT_READ, MAP_SHARED, 0, 0);
	maps(fd, length - 4096, rw, MAP_SHARED, 0, EINVAL);
	maps(fd, length + 4096, rw, MAP_SHARED, 0, EINVAL);
	maps(fd, length, rw, MAP_SHARED, 4096, EINVAL);
	maps(fd, length, rw, MAP_PRIVATE, 0, EINVAL);
	maps(fd, length, rw | PROT_EXEC, MAP_SHARED, 0, EPERM);
}

/* An end's rings, attached and mapped. */
static char *mapped(int fd, int *rings, struct sdp_attach *arg)
{
	char *map;

	*rings = attach(fd, arg);
	need(*rings >= 0);
	map = mmap(NULL, 2 * ((size_t)arg->head_bytes + arg->ring_bytes),
		   PROT_READ | PROT_WRITE, MAP_SHARED, *rings, 0);
	need(map != MAP_FAILED);
	return map;
}

static void set_user_memory(const char *mib)
{
	int fd = open("/sys/module/sdpdev/parameters/user_memory", O_WRONLY | O_CLOEXEC);

	need(fd >= 0 && write(fd, mib, strlen(mib)) == (ssize_t)strlen(mib));
	close(fd);
}

/* @user attaches: the descriptor, or a negative errno */
static int attach_by(uid_t user, int fd)
{
	struct sdp_attach arg;
	int rings;

	need(!seteuid(user));
	rings = attach(fd, &arg);
	if (rings < 0)
		rings = -errno;
	need(!seteuid(0));
	return rings;
}

/* A connection's rings are the first one's to attach, until the connection is over. */
static void limits(void)
{
	struct conn c, d, e;
	int rings, peer, ret;

	if (plain)
		return;
	set_user_memory("1");
	c = conn_moved();
	d = conn_moved();
	e = conn_moved();
	rings = attach_by(1003, c.a.fd);
	peer = attach_by(1003, c.b.fd);
	need(rings >= 0 && peer >= 0);
	ret = attach_by(1003, d.a.fd);
	if (ret != -ENOMEM)
		wrong("more than a user may have: %d", ret);
	ret = attach_by(1004, d.a.fd);
	if (ret < 0)
		wrong("another user: %s", strerrorname_np(-ret));
	ret = attach_by(1003, d.b.fd);
	if (ret < 0)
		wrong("what another user pays for: %s", strerrorname_np(-ret));
	ret = attach_by(0, e.a.fd);
	if (ret < 0)
		wrong("root: %s", strerrorname_np(-ret));
	/* The rings of a connection that is over have no user. */
	close(rings);
	close(peer);
	conn_close(&c);
	ret = attach_by(1003, conn_moved().a.fd);
	if (ret < 0)
		wrong("after one that is over: %s", strerrorname_np(-ret));
	set_user_memory("1024");
}

/* A process that attaches later does not get what was read before. */
static void old_bytes(void)
{
	struct sdp_attach arg;
	size_t i, n = 0;
	struct conn c;
	int rings;
	char *map;

	if (plain)
		return;
	c = conn_moved();
	put(&c.a, 3000, 0);
	get_all(&c.b, 3000);
	put(&c.a, 10, 0);
	map = mapped(c.b.fd, &rings, &arg) + 2 * (size_t)arg.head_bytes;
	for (i = 0; i < 2 * (size_t)arg.ring_bytes; i++)
		n += map[i] != 0;
	if (n > 10)
		wrong("%zu bytes are left", n);
	get_all(&c.b, 10);

	/* Nor does what went while another program had the rings. */
	put(&c.a, 3000, 0);
	get_all(&c.b, 3000);
	close(rings);
	munmap(map - 2 * (size_t)arg.head_bytes, 2 * ((size_t)arg.head_bytes + arg.ring_bytes));
	map = mapped(c.a.fd, &rings, &arg) + 2 * (size_t)arg.head_bytes;
	for (i = n = 0; i < 2 * (size_t)arg.ring_bytes; i++)
		n += map[i] != 0;
	if (n)
		wrong("%zu bytes are left of what went then", n);
}

/* More bytes than the kernel keeps for an unread connection. */
#define BUFFERED	(32 << 20)

/* A peer whose positions cannot be true: calls end as they always do. */
static void impossible(void)
{
	const struct timeval tv = { .tv_usec = 50000 };
	ssize_t n = 0, ret = 0;
	struct sdp_shared *shared;
	struct sdp_attach arg;
	struct conn c;
	int rings;
	char *map;

	if (plain)
		return;
	c = conn_moved();
	map = mapped(c.b.fd, &rings, &arg);
	shared = (void *)(map + arg.head_bytes);
	need(ioctl(rings, SDP_RING_OPEN, SDP_RING_RX) == SDP_RING_RX);
	__atomic_store_n(&shared->tail, 1ULL << 62, __ATOMIC_SEQ_CST);
	while (n < BUFFERED && (ret = put_some(&c.a, 100000, MSG_DONTWAIT)) > 0)
		n += ret;
	if (ret != -1 || errno != EAGAIN)
		wrong("a send: %zd, %s, behind %zd bytes", ret, strerrorname_np(errno), n);

	c = conn_moved();
	map = mapped(c.a.fd, &rings, &arg);
	shared = (void *)map;
	need(ioctl(rings, SDP_RING_OPEN, SDP_RING_TX) == SDP_RING_TX);
	need(!setsockopt(c.b.fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	__atomic_store_n(&shared->head, 1ULL << 61, __ATOMIC_SEQ_CST);
	ret = get(&c.b, 10, 0);
	if (ret != -1 || errno != EAGAIN)
		wrong("a receive: %zd, %s", ret, strerrorname_np(errno));
}

/* Words that are nearly right do more harm than others. */
static void scribble(char *map, const struct sdp_attach *arg, unsigned int *seed)
{
	struct sdp_shared *shared = (void *)(map + random32(seed) % 2 * arg->head_bytes);
	__u64 near = random32(seed) % 3 ? shared->tail : shared->head;
	size_t all = 2 * ((size_t)arg->head_bytes + arg->ring_bytes);

	near += (int)(random32(seed) % 600000) - 300000;
	switch (random32(seed) % 8) {
	case 0:
		__atomic_store_n(&shared->head, near & ~SDP_RING_CLOSED, __ATOMIC_RELAXED);
		break;
	case 1:
		__atomic_store_n(&shared->tail, near & ~SDP_RING_CLOSED, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n(&shared->head, (__u64)random32(seed) << 32, __ATOMIC_RELAXED);
		break;
	case 3:
		__atomic_store_n(&shared->tail, -(__u64)random32(seed), __ATOMIC_RELAXED);
		break;
	case 4:
		shared->busy = random32(seed) % 2;
		shared->want_data = random32(seed);
		shared->want_room = random32(seed);
		shared->limit = random32(seed);
		break;
	default:
		map[random32(seed) % all] = random32(seed);
	}
}

static void random_option(int fd, unsigned int *seed)
{
	static const struct {
		int level, name;
	} options[] = {
		{ IPPROTO_SDP, SDP_SOCK_MODE }, { SOL_SOCKET, SO_SNDBUF },
		{ SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_RCVLOWAT },
		{ SOL_SOCKET, SO_TIMESTAMP },
	};
	unsigned int i = random32(seed) % (sizeof(options) / sizeof(*options));
	int value = random32(seed) % 4 ? (int)(random32(seed) % 4) : (int)random32(seed);

	setsockopt(fd, options[i].level, options[i].name, &value, sizeof(value));
	if (random32(seed) % 500 == 0)
		setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3);
}

static void random_rule(int device, unsigned int *seed)
{
	struct sdp_rule rule = {
		.size = sizeof(rule), .scope = random32(seed) % 5,
		.verdict = random32(seed) % 6, .calls = random32(seed) % 5,
	};

	ioctl(device, SDP_IOC_RULE, &rule);
}

/* Another process of the same user, at all doors but the words of the rings. */
static void doors(int fd, int rings, unsigned int seed)
{
	for (;;) {
		int again, device = open("/dev/sdp", O_RDWR | O_CLOEXEC);
		struct sdp_attach arg = {
			.size = random32(&seed) % 4 ? sizeof(arg) : random32(&seed) % 64,
			.major = SDP_API_MAJOR, .fd = random32(&seed) % 4 ? fd : rings,
			.flags = random32(&seed) % 4,
		};
		size_t len = 4096UL << random32(&seed) % 10;
		char *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
				 random32(&seed) % 2 ? MAP_SHARED : MAP_PRIVATE, rings,
				 random32(&seed) % 4 ? 0 : 4096);

		random_rule(device, &seed);
		again = ioctl(device, SDP_IOC_ATTACH, &arg);
		random_option(fd, &seed);
		ioctl(rings, SDP_RING_OPEN, 1 + random32(&seed) % 3);
		ioctl(rings, SDP_RING_KICK, random32(&seed) % 4);
		if (map != MAP_FAILED)
			munmap(map, len);
		if (again >= 0)
			close(again);
		close(device);
	}
}

/**
 * struct ways - what a hostile program has of a connection
 * @fd: its socket
 * @rings: its rings
 * @arg: which are so
 */
struct ways {
	int fd, rings;
	struct sdp_attach arg;
};

/* No hostile program runs yet: another one could keep this one from it. */
static struct ways ways_new(int fd)
{
	struct ways w = { .fd = fd };

	w.rings = attach(fd, &w.arg);
	need(w.rings >= 0);
	return w;
}

/* One that writes anything anywhere, and makes all calls. */
static void hostile(const struct ways *w, unsigned int seed)
{
	char *map, bytes[5000] = "";
	int i;

	need(!setuid(seed + 1000));
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		doors(w->fd, w->rings, seed);
	}
	map = mmap(NULL, 2 * ((size_t)w->arg.head_bytes + w->arg.ring_bytes),
		   PROT_READ | PROT_WRITE, MAP_SHARED, w->rings, 0);
	need(map != MAP_FAILED);
	for (;;) {
		for (i = 0; i < 200; i++)
			scribble(map, &w->arg, &seed);
		ioctl(w->rings, SDP_RING_OPEN, 1 + random32(&seed) % 3);
		ioctl(w->rings, SDP_RING_KICK, random32(&seed) % 4);
		if (random32(&seed) % 4 == 0)
			send(w->fd, bytes, 1 + random32(&seed) % sizeof(bytes),
			     MSG_DONTWAIT | MSG_NOSIGNAL);
		if (random32(&seed) % 4 == 0)
			recv(w->fd, bytes, 1 + random32(&seed) % sizeof(bytes),
			     MSG_DONTWAIT | (random32(&seed) % 4 ? 0 : MSG_PEEK));
	}
}

/* The peer of a hostile program: its calls end, with whatever. */
static void peer_of(const struct ways *w, unsigned int seed)
{
	struct sdp_fast *fast = sdp_fast_open(w->fd, 0);
	static char bytes[100000];

	need(fast);
	for (;;) {
		size_t n = 1 + random32(&seed) % (random32(&seed) % 4 ? 200 : sizeof(bytes));

		if (random32(&seed) % 2)
			sdp_fast_send(fast, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			sdp_fast_recv(fast, bytes, n, MSG_DONTWAIT);
	}
}

static pid_t child(void (*what)(const struct ways *w, unsigned int seed), const struct ways *w,
		   unsigned int seed)
{
	pid_t pid = fork();

	need(pid >= 0);
	if (!pid)
		what(w, seed);
	return pid;
}

/*
 * Two hostile users of one connection, a third one whose peer is not hostile, and connections that
 * all of it does not touch.
 */
static void scribbled(void)
{
	struct conn c, d, e;
	struct ways ways[4];
	struct ringed r;
	pid_t pids[4];
	long long end;
	int i;

	if (plain)
		return;
	c = conn_moved();
	d = conn_moved();
	e = conn_moved();
	ways[0] = ways_new(c.a.fd);
	ways[1] = ways_new(c.b.fd);
	ways[2] = ways_new(d.a.fd);
	ways[3] = (struct ways){ .fd = d.b.fd };
	for (i = 0; i < 4; i++)
		pids[i] = child(i < 3 ? hostile : peer_of, &ways[i], i + 1);
	for (i = 0; i < 3; i++)
		close(ways[i].rings);
	r = ringed_new();
	end = now_ms() + (slow_kernel() ? 5000 : 2000);
	while (now_ms() < end) {
		fast_put(&r.c.a, r.a, 1 + r.c.a.out % 3000, 0);
		fast_get_all(&r.c.b, r.b, r.c.a.out - r.c.b.in);
		put(&e.a, 100, 0);
		get_all(&e.b, 100);
	}
	for (i = 0; i < 4; i++)
		need(!kill(pids[i], SIGKILL) && waitpid(pids[i], NULL, 0) == pids[i]);
	ringed_open(&r);
	ringed_close(&r);
	conn_close(&c);
	conn_close(&d);
	conn_close(&e);
}

/* Another ULP can have a socket whose rings somebody has. */
static void another_ulp(void)
{
	struct ringed r = ringed_new();

	need(!setsockopt(r.c.a.fd, IPPROTO_TCP, TCP_REPAIR, &(int){ 1 }, sizeof(int)));
	if (!plain && sdp_fast_state(r.a))
		wrong("its halves are open");
	need(!setsockopt(r.c.a.fd, IPPROTO_TCP, TCP_REPAIR, &(int){ 0 }, sizeof(int)));
	fast_put(&r.c.b, r.b, 1000, 0);
	fast_get_all(&r.c.a, r.a, 1000);
	fast_put(&r.c.a, r.a, 1000, 0);
	fast_get_all(&r.c.b, r.b, 1000);
	ringed_close(&r);
}

const struct row door_rows[] = {
	{ "whoever may attach", attaches },
	{ "the mapping", mappings },
	{ "as many rings as a user may have", limits },
	{ "TCP_REPAIR while there are rings", another_ulp },
	{ "bytes of before", old_bytes },
	{ "positions that cannot be", impossible },
	{ "programs that write anything anywhere", scribbled },
	{ NULL, NULL },
};
