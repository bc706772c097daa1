// SPDX-License-Identifier: GPL-2.0
/*
 * The interface of /dev/sdp: every kind of bad input has its errno, as
 * Documentation/sdpdev.rst lists them, and what falls back to TCP does.
 */
#include "end.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <linux/sdp_sock.h>

static char buf[65536];

static int raw_open(void)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR);

	must(fd >= 0);
	return fd;
}

static bool fails(int ret, int error)
{
	return ret == -1 && errno == error;
}

static void test_numbers(void)
{
	struct sdp_init init = { .size = sizeof(init) };
	int fd = end_open(SDP, AF_INET), i;

	ok(fails(ioctl(fd, _IO(SDP_IOC_MAGIC, 0x11), &init), ENOTTY),
	   "the number behind the last: ENOTTY");
	ok(fails(ioctl(fd, _IO(SDP_IOC_MAGIC, 0xff), &init), ENOTTY), "unknown number: ENOTTY");
	ok(fails(ioctl(fd, _IO('x', 0x01), &init), ENOTTY), "other magic: ENOTTY");
	ok(fails(ioctl(fd, _IOW(SDP_IOC_MAGIC, 0x01, int), &init), ENOTTY),
	   "size in the number: ENOTTY");
	ok(fails(ioctl(fd, 0x5401 /* TCGETS */, &init), ENOTTY) && !isatty(fd), "not a terminal");
	for (i = 0; i <= 0x0e; i++)
		if (!fails(ioctl(fd, _IO(SDP_IOC_MAGIC, i), NULL), EFAULT) ||
		    !fails(ioctl(fd, _IO(SDP_IOC_MAGIC, i), (void *)-4096UL), EFAULT))
			break;
	ok(i == 0x0f, "bad addresses: EFAULT (%d)", i);
	close(fd);
}

static void test_init(void)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR, .family = AF_INET,
	}, arg;
	struct stat a, b;
	int fd = raw_open();

	ok(fails(CALL(fd, SDP_IOC_LISTEN,
		      (struct sdp_listen){ .size = sizeof(struct sdp_listen) }), ENOTCONN),
	   "before INIT: ENOTCONN");
	ok(fails(read(fd, buf, 1), ENOTCONN) && fails(write(fd, buf, 1), ENOTCONN),
	   "before INIT: read, write: ENOTCONN");
	ok(fails(mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0, ENXIO),
	   "before INIT: mmap: ENXIO");
	ok(events(fd, ALL_EVENTS, 0) == (POLLERR | POLLHUP), "before INIT: poll: ERR, HUP");

	arg = init;
	arg.major = 2;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EPROTONOSUPPORT) &&
	   arg.major == SDP_API_MAJOR && arg.minor == SDP_API_MINOR,
	   "another major version: EPROTONOSUPPORT, and the kernel's own");
	arg = init;
	arg.minor = 99;
	arg.family = AF_UNIX;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EAFNOSUPPORT), "AF_UNIX: EAFNOSUPPORT");
	arg = init;
	arg.flags = 2;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EINVAL), "undefined flag: EINVAL");
	arg = init;
	arg.reserved[1] = 1;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EINVAL), "reserved field: EINVAL");
	arg = init;
	arg.size--;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EINVAL), "too small: EINVAL");
	arg.size = 0;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EINVAL), "no size: EINVAL");
	arg.size = 0xffffffff;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EINVAL), "size beyond all bounds: EINVAL");
	arg = init;
	ok(ioctl(fd, SDP_IOC_INIT, &arg) == 0, "INIT");
	ok(arg.features == (SDP_FEATURE_NATIVE | SDP_FEATURE_RINGS | SDP_FEATURE_URING),
	   "its features");
	arg = init;
	ok(fails(ioctl(fd, SDP_IOC_INIT, &arg), EALREADY), "INIT again: EALREADY");
	must(fstat(fd, &a) == 0 && stat(SDP_DEVICE_PATH, &b) == 0);
	ok(S_ISCHR(a.st_mode) && a.st_rdev == b.st_rdev, "fstat: the device");
	ok((b.st_mode & 0777) == 0666, "for everybody");
	close(fd);
}

/* A larger structure is taken if what the kernel does not know is zero. */
static void test_growth(void)
{
	struct { struct sdp_shutdown s; unsigned char more[64]; } big = {
		.s = { .size = sizeof(big), .how = SHUT_WR },
	};
	struct { struct sdp_info i; unsigned char more[64]; } info = {
		.i = { .size = sizeof(info) },
	};
	int e[2];

	pair(SDP, e);
	big.more[63] = 1;
	ok(fails(ioctl(e[0], SDP_IOC_SHUTDOWN, &big), EINVAL), "larger, not zero: EINVAL");
	big.more[63] = 0;
	ok(ioctl(e[0], SDP_IOC_SHUTDOWN, &big) == 0, "larger, zero: taken");
	memset(info.more, 0, sizeof(info.more));
	ok(ioctl(e[0], SDP_IOC_INFO, &info) == 0 && info.i.size == sizeof(info) &&
	   info.i.carrier == SDP_CARRIER_SDP, "INFO, larger: told");
	unpair(e);
}

static void test_arguments(void)
{
	struct sdp_accept acc = { .size = sizeof(acc), .flags = 4 };
	struct sdp_connect con = { .size = sizeof(con), .addr_len = 16 };
	struct sdp_bind bin = { .size = sizeof(bin), .addr_len = 129 };
	struct sdp_native nat = { .size = sizeof(nat), .flags = 1 };
	struct sdp_msg msg = { .size = sizeof(msg), .flags = MSG_PROXY };
	int e[2], fd = end_open(SDP, AF_INET);

	ok(fails(ioctl(fd, SDP_IOC_ACCEPT, &acc), EINVAL), "ACCEPT: undefined flag: EINVAL");
	acc.flags = 0;
	ok(fails(ioctl(fd, SDP_IOC_ACCEPT, &acc), EINVAL), "ACCEPT: not listening: EINVAL");
	con.flags = 8;
	ok(fails(ioctl(fd, SDP_IOC_CONNECT, &con), EINVAL), "CONNECT: undefined flag: EINVAL");
	con.flags = SDP_CONNECT_NO_TCP | SDP_CONNECT_NO_SDP;
	ok(fails(ioctl(fd, SDP_IOC_CONNECT, &con), EINVAL), "CONNECT: neither carrier: EINVAL");
	con.flags = 0;
	con.reserved = 1;
	ok(fails(ioctl(fd, SDP_IOC_CONNECT, &con), EINVAL), "CONNECT: reserved field: EINVAL");
	con.reserved = 0;
	con.addr_len = 129;
	ok(fails(ioctl(fd, SDP_IOC_CONNECT, &con), EINVAL), "CONNECT: address too long: EINVAL");
	con.addr_len = 1;
	ok(fails(ioctl(fd, SDP_IOC_CONNECT, &con), EINVAL), "CONNECT: address too short: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_BIND, &bin), EINVAL), "BIND: address too long: EINVAL");
	bin.addr_len = 3;
	ok(fails(ioctl(fd, SDP_IOC_BIND, &bin), EINVAL), "BIND: address too short: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_NATIVE, &nat), EINVAL), "NATIVE: undefined flag: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_SEND, &msg), EOPNOTSUPP), "SEND: another flag: EOPNOTSUPP");
	ok(fails(ioctl(fd, SDP_IOC_RECV, &msg), EOPNOTSUPP), "RECV: another flag: EOPNOTSUPP");
	msg.flags = 0;
	msg.iov_len = 1025;
	ok(fails(ioctl(fd, SDP_IOC_RECV, &msg), EMSGSIZE), "RECV: too many vectors: EMSGSIZE");
	msg.iov_len = 1;
	msg.iov = 8;
	ok(fails(ioctl(fd, SDP_IOC_RECV, &msg), EFAULT), "RECV: vectors nowhere: EFAULT");
	msg.iov_len = 0;
	msg.reserved = 1;
	ok(fails(ioctl(fd, SDP_IOC_RECV, &msg), EINVAL), "RECV: reserved field: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_SEND, &msg), EINVAL), "SEND: reserved field: EINVAL");
	msg.reserved = 0;
	msg.control_len = 1;
	ok(fails(ioctl(fd, SDP_IOC_SEND, &msg), EINVAL), "SEND: control messages: EINVAL");
	msg.size = offsetof(struct sdp_msg, control);
	ok(fails(ioctl(fd, SDP_IOC_SEND, &msg), EPIPE), "SEND: of the first version: taken");
	ok(fails(end_shutdown(SDP, fd, 7), EINVAL), "SHUTDOWN: undefined: EINVAL");
	close(fd);

	pair(SDP, e);
	ok(fails(end_listen(SDP, e[0], 1), EINVAL), "LISTEN: connected: EINVAL");
	ok(fails(end_connect(SDP, e[1], SERVER4, 9), EISCONN), "CONNECT: accepted: EISCONN");
	ok(fails(CALL(e[1], SDP_IOC_INIT,
		      (struct sdp_init){ .size = sizeof(struct sdp_init),
					 .major = SDP_API_MAJOR, .family = AF_INET }), EALREADY),
	   "INIT: accepted: EALREADY");
	unpair(e);
}

static void test_info(void)
{
	struct sockaddr_in *sin;
	struct sdp_info i, other;
	struct sockaddr_storage ss;
	socklen_t len = address(&ss, SERVER4, 9);
	int e[2], n;

	pair(SDP, e);
	must(write(e[0], "12345", 5) == 5 && read(e[1], buf, 10) == 5);
	i = end_info(e[1]);
	other = end_info(e[0]);
	ok(i.state == SDP_STATE_CONNECTED && i.carrier == SDP_CARRIER_SDP, "connected by SDP");
	ok(i.rx_bytes == 5 && i.tx_bytes == 0 && i.rx_msgs >= 1, "what was received");
	sin = (struct sockaddr_in *)&i.local;
	ok(i.local_len == sizeof(*sin) && sin->sin_family == AF_INET &&
	   sin->sin_addr.s_addr == inet_addr(SERVER4), "local address");
	sin = (struct sockaddr_in *)&i.peer;
	ok(i.peer_len == sizeof(*sin) && sin->sin_addr.s_addr == inet_addr("10.77.0.1") &&
	   sin->sin_port == ((struct sockaddr_in *)&other.local)->sin_port,
	   "the peer's is the peer's own");
	ok(i.id != other.id, "numbers differ");
	n = end_native(SDP, e[1]);
	ok(n >= 0 && fcntl(n, F_GETFD) == FD_CLOEXEC, "NATIVE: close-on-exec");
	close(n);
	n = end_native(SDP, e[0]);
	/* User space may do anything to it. */
	listen(n, 1);
	(void)connect(n, (struct sockaddr *)&ss, len);
	shutdown(n, SHUT_RDWR);
	close(n);
	ok(write(e[0], "x", 1) == 1 && read(e[1], buf, 1) == 1, "NATIVE: abused without harm");
	unpair(e);
}

static void test_rings(void)
{
	struct sdp_ring_setup s = { .size = sizeof(s), .tx_bytes = 65536, .rx_bytes = 65536 }, arg;
	struct sdp_ring_enter enter = { .size = sizeof(enter), .flags = SDP_ENTER_TX };
	struct sdp_ring *ring;
	size_t whole;
	int e[2], fd;

	fd = end_open(SDP, AF_INET);
	arg = s;
	ok(fails(ioctl(fd, SDP_IOC_RING_SETUP, &arg), ENOTCONN), "rings: not connected: ENOTCONN");
	ok(fails(ioctl(fd, SDP_IOC_RING_ENTER, &enter), ENXIO), "enter: no rings: ENXIO");
	close(fd);

	pair(SDP, e);
	arg = s;
	arg.flags = 1;
	ok(fails(ioctl(e[0], SDP_IOC_RING_SETUP, &arg), EINVAL), "rings: undefined flag: EINVAL");
	arg = s;
	arg.tx_bytes = 65535;
	ok(fails(ioctl(e[0], SDP_IOC_RING_SETUP, &arg), EINVAL),
	   "rings: not a power of two: EINVAL");
	arg.tx_bytes = SDP_RING_MIN / 2;
	ok(fails(ioctl(e[0], SDP_IOC_RING_SETUP, &arg), EINVAL), "rings: too small: EINVAL");
	arg = s;
	arg.rx_bytes = SDP_RING_MAX * 2;
	ok(fails(ioctl(e[0], SDP_IOC_RING_SETUP, &arg), EINVAL), "rings: too large: EINVAL");
	arg = s;
	ok(ioctl(e[0], SDP_IOC_RING_SETUP, &arg) == 0, "rings");
	whole = arg.data_offset + s.tx_bytes;
	arg = s;
	ok(fails(ioctl(e[0], SDP_IOC_RING_SETUP, &arg), EEXIST), "rings again: EEXIST");
	ok(end_info(e[0]).tx_ring_bytes == s.tx_bytes, "INFO tells the size");
	enter.flags = 16;
	ok(fails(ioctl(e[0], SDP_IOC_RING_ENTER, &enter), EINVAL), "enter: undefined flag: EINVAL");

#define MAP(len, prot, flags, off) \
	(mmap(NULL, len, prot, flags, e[0], off) == MAP_FAILED ? -1 : 0)
	ok(fails(MAP(whole + 4096, PROT_READ, MAP_SHARED, 0), EINVAL), "mmap: too long: EINVAL");
	ok(fails(MAP(whole - 4096, PROT_READ, MAP_SHARED, 0), EINVAL), "mmap: too short: EINVAL");
	ok(fails(MAP(whole, PROT_READ, MAP_SHARED, 4096), EINVAL), "mmap: elsewhere: EINVAL");
	ok(fails(MAP(whole, PROT_READ, MAP_SHARED, 100), EINVAL), "mmap: unaligned: EINVAL");
	ok(fails(MAP(whole, PROT_READ, MAP_SHARED, 0x30000000), EINVAL), "mmap: beyond: EINVAL");
	ok(fails(MAP(whole, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0), EINVAL),
	   "mmap: private: EINVAL");
	ok(fails(MAP(whole, PROT_READ | PROT_EXEC, MAP_SHARED, 0), EPERM),
	   "mmap: to execute: EPERM");
	ring = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, e[0], 0);
	ok(ring != MAP_FAILED, "mmap");
	ok(mprotect(ring, whole, PROT_READ | PROT_EXEC) == -1, "mprotect: not to execute");
	ok(mremap(ring, whole, whole * 2, MREMAP_MAYMOVE) == MAP_FAILED, "mremap: not larger");

	ring->tail = s.tx_bytes + 1;
	enter.flags = SDP_ENTER_TX;
	ok(ioctl(e[0], SDP_IOC_RING_ENTER, &enter) == -1, "tail out of range: an error");
	ok(end_info(e[0]).reason == SDP_REASON_RING, "and the reason");
	ok(ring->flags & SDP_RING_ERROR, "and the ring says so");
	ok(events(e[1], POLLERR, SOON) & POLLERR && fails(read(e[1], buf, 1), ECONNRESET),
	   "the peer is reset");
	munmap(ring, whole);
	unpair(e);

	pair(SDP, e);
	arg = s;
	must(ioctl(e[0], SDP_IOC_RING_SETUP, &arg) == 0);
	ring = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, e[0], SDP_MMAP_RX_RING);
	must(ring != MAP_FAILED);
	ring->head = 1;
	must(write(e[1], "x", 1) == 1);
	must(read(e[1], buf, 1) <= 0);
	ok(end_info(e[0]).reason == SDP_REASON_RING, "head beyond the tail: ended");
	munmap(ring, whole);
	unpair(e);

	pair(SDP, e);
	arg = s;
	must(ioctl(e[0], SDP_IOC_RING_SETUP, &arg) == 0);
	ring = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, e[0], SDP_MMAP_RX_RING);
	must(ring != MAP_FAILED && write(e[1], "abcd", 4) == 4 && read(e[0], buf, 2) == 2);
	ring->head = 1;
	ok(read(e[0], buf, 2) == -1 && end_info(e[0]).reason == SDP_REASON_RING,
	   "head moved back: ended");
	munmap(ring, whole);
	unpair(e);
}

/* A TCP listener without SDP at the other node. */
static void test_fallback(void)
{
	int l = listener(TCP, SERVER4, 22001, 8), c, a, i, n;
	struct sdp_ring_setup s = { .size = sizeof(s), .tx_bytes = 4096, .rx_bytes = 4096 };

	for (i = 0; i < 2; i++) {
		const char *how = i ? "non-blocking" : "blocking";

		c = end_open(SDP, AF_INET);
		nonblock(c, i);
		if (i)
			ok(fails(end_connect(SDP, c, SERVER4, 22001), EINPROGRESS) &&
			   events(c, POLLOUT, 10000) == POLLOUT && end_error(SDP, c) == 0,
			   "no SDP listener, %s: connected", how);
		else
			ok(end_connect(SDP, c, SERVER4, 22001) == 0,
			   "no SDP listener, %s: connected", how);
		ok(end_info(c).carrier == SDP_CARRIER_TCP &&
		   end_info(c).reason == SDP_REASON_REFUSED &&
		   end_info(c).state == SDP_STATE_CONNECTED, "%s: by TCP, and why", how);
		nonblock(c, false);
		a = accept(l, NULL, NULL);
		ok(write(c, "tcp", 3) == 3 && read(a, buf, 10) == 3, "%s: sends", how);
		must(write(a, "back", 4) == 4);
		ok(events(c, POLLIN, SOON) == POLLIN && ioctl(c, FIONREAD, &n) == 0 && n == 4 &&
		   read(c, buf, 10) == 4, "%s: receives", how);
		ok(fails(ioctl(c, SDP_IOC_RING_SETUP, &s), EOPNOTSUPP),
		   "%s: no rings: EOPNOTSUPP", how);
		/* As with TCP, what began without waiting is told once more. */
		if (i)
			must(end_connect(SDP, c, SERVER4, 22001) == 0);
		ok(fails(end_connect(SDP, c, SERVER4, 22001), EISCONN), "%s: EISCONN", how);
		ok(end_shutdown(SDP, c, SHUT_WR) == 0 && read(a, buf, 1) == 0, "%s: shutdown", how);
		close(a);
		close(c);
	}
	c = end_open(SDP, AF_INET);
	ok(fails(end_connect_flags(SDP, c, SERVER4, 22001, SDP_CONNECT_NO_TCP), ECONNREFUSED),
	   "SDP or nothing: ECONNREFUSED");
	ok(end_connect_flags(SDP, c, SERVER4, 22001, SDP_CONNECT_NO_SDP) == 0 &&
	   end_info(c).carrier == SDP_CARRIER_TCP, "TCP at once");
	close(c);
	c = end_open(SDP, AF_INET);
	ok(fails(end_connect_flags(SDP, c, "127.0.0.1", 22001, SDP_CONNECT_NO_TCP), ENETUNREACH),
	   "SDP or nothing, no route: ENETUNREACH");
	ok(fails(end_connect(SDP, c, "127.0.0.1", 22001), ECONNREFUSED) &&
	   end_info(c).reason == SDP_REASON_NO_ROUTE, "loopback: TCP, and why");
	close(c);
	close(l);

	/* Both kinds of clients at one listener. */
	l = listener(SDP, SERVER4, 22002, 8);
	c = end_open(TCP, AF_INET);
	must(end_connect(TCP, c, SERVER4, 22002) == 0);
	ok(events(l, POLLIN, SOON) == POLLIN, "a TCP client: IN");
	{
		struct sdp_accept acc = {
			.size = sizeof(acc),
			.flags = SDP_ACCEPT_CLOEXEC | SDP_ACCEPT_NONBLOCK,
		};

		a = ioctl(l, SDP_IOC_ACCEPT, &acc);
		ok(a >= 0 && acc.carrier == SDP_CARRIER_TCP &&
		   acc.addr_len == sizeof(struct sockaddr_in) &&
		   fcntl(a, F_GETFD) == FD_CLOEXEC && fcntl(a, F_GETFL) & O_NONBLOCK,
		   "accepted: a TCP socket, with the flags");
	}
	ok(write(c, "x", 1) == 1 && events(a, POLLIN, SOON) && recv(a, buf, 9, 0) == 1,
	   "which works");
	close(a);
	close(c);
	close(l);

	c = end_open(SDP, AF_INET);
	ok(fails(end_connect(SDP, c, "10.77.0.99", 22001), EHOSTUNREACH),
	   "nobody there: EHOSTUNREACH");
	close(c);
}

static int set_rule(int fd, struct sdp_rule rule)
{
	rule.size = sizeof(rule);
	return ioctl(fd, SDP_IOC_RULE, &rule);
}

/* What it does is in selftests/sock/ctl.sh. */
static void test_ctl(void)
{
	struct { struct sdp_ctl c; unsigned char more[8]; } big = {
		.c = { .size = sizeof(big), .command = SDP_CTL_RETURN,
		       .end_size = sizeof(struct sdp_ctl_end) },
	};
	int fd = raw_open();

	ok(sizeof(struct sdp_ctl) == 32 && offsetof(struct sdp_ctl, ends) == 16 &&
	   sizeof(struct sdp_ctl_end) == 80 && offsetof(struct sdp_ctl_end, error) == 48,
	   "CTL: its layout");
	ok(ioctl(fd, SDP_IOC_CTL, &big) == 0 && big.c.done == 0, "CTL: none, taken before INIT");
	big.more[7] = 1;
	ok(fails(ioctl(fd, SDP_IOC_CTL, &big), EINVAL), "CTL: larger, not zero: EINVAL");
	big.c.size = sizeof(big.c) - 1;
	ok(fails(ioctl(fd, SDP_IOC_CTL, &big), EINVAL), "CTL: too small: EINVAL");
	close(fd);
}

/* What rules do is in selftests/sock/attach.sh. */
static void test_rules(void)
{
	const __u32 both = SDP_RULE_CONNECT | SDP_RULE_LISTEN;
	const int no_group = access("/proc/cgroups", F_OK) ? EOPNOTSUPP : EBADF;
	struct { struct sdp_rule r; unsigned char more[8]; } big = {
		.r = { .size = sizeof(big), .verdict = SDP_RULE_NEVER, .calls = both },
	};
	int fd = raw_open();

#define RULE(...)	set_rule(fd, (struct sdp_rule){ __VA_ARGS__ })
	ok(sizeof(struct sdp_rule) == 56 && offsetof(struct sdp_rule, ports) == 24,
	   "RULE: its layout");
	ok(fails(RULE(.scope = 3, .verdict = SDP_RULE_NEVER, .calls = both), EINVAL),
	   "RULE: undefined scope: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_ONLY + 1, .calls = both), EINVAL),
	   "RULE: undefined verdict: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NEVER, .calls = 4 | both), EINVAL),
	   "RULE: undefined call: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_MOVE), EINVAL), "RULE: no call: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NONE, .calls = both), EINVAL),
	   "RULE: none, and calls: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NEVER, .calls = both, .reserved = 1), EINVAL),
	   "RULE: reserved field: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NEVER, .calls = both, .fd = 1), EINVAL),
	   "RULE: of a process, and a descriptor: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NEVER, .calls = both, .ports = { { 9, 8 } }), EINVAL),
	   "RULE: ports that end before they begin: EINVAL");
	ok(fails(RULE(.verdict = SDP_RULE_NEVER, .calls = both, .ports[7] = { 0, 8 }), EINVAL),
	   "RULE: ports from zero on: EINVAL");
	ok(fails(RULE(.scope = SDP_RULE_CGROUP, .verdict = SDP_RULE_NEVER, .calls = both,
		      .fd = fd), no_group) &&
	   fails(RULE(.scope = SDP_RULE_CGROUP, .verdict = SDP_RULE_NONE, .fd = -1), no_group),
	   "RULE: no control group: EBADF, or EOPNOTSUPP in a kernel without them");
	ok(RULE(.verdict = SDP_RULE_NEVER, .calls = both) == 0, "RULE: taken before INIT");
	big.more[7] = 1;
	ok(fails(ioctl(fd, SDP_IOC_RULE, &big), EINVAL), "RULE: larger, not zero: EINVAL");
	big.more[7] = 0;
	ok(ioctl(fd, SDP_IOC_RULE, &big) == 0, "RULE: larger, zero: taken");
	big.r.size = sizeof(big.r) - 1;
	ok(fails(ioctl(fd, SDP_IOC_RULE, &big), EINVAL), "RULE: too small: EINVAL");
	ok(RULE(.verdict = SDP_RULE_NONE) == 0 && RULE(.verdict = SDP_RULE_NONE) == 0,
	   "RULE: none, twice");
	close(fd);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_numbers();
	test_init();
	test_growth();
	test_arguments();
	test_info();
	test_rings();
	test_fallback();
	test_rules();
	test_ctl();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
