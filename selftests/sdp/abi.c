// SPDX-License-Identifier: GPL-2.0
/*
 * The interface of /dev/sdp: every kind of bad input has its errno, as sdp(4) lists them.  The
 * layout of its structures is in layout.h.
 */
#include "../lib/tap.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sdp.h>
#include <linux/sdp_ring.h>
#include <linux/sdp_sock.h>

#include "layout.h"

static int door(void)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	must(fd >= 0);
	return fd;
}

static bool fails(long ret, int error)
{
	return ret == -1 && errno == error;
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
	int fd = door();

	ok(ioctl(fd, SDP_IOC_CTL, &big) == 0 && big.c.done == 0, "CTL: none, taken");
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
	int fd = door();

#define RULE(...)	set_rule(fd, (struct sdp_rule){ __VA_ARGS__ })
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
	ok(RULE(.verdict = SDP_RULE_NEVER, .calls = both) == 0, "RULE: taken");
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

/* What it gives is in selftests/sock/attach.c. */
static void test_attach(void)
{
	struct sdp_attach good = { .size = sizeof(good), .major = SDP_API_MAJOR }, arg;
	struct { struct sdp_attach a; unsigned char more[8]; } big = {};
	int fd = door(), sock = socket(AF_INET, SOCK_STREAM, 0);

	must(sock >= 0);
	good.fd = sock;
#define ATTACH(...)	(arg = good, __VA_ARGS__, ioctl(fd, SDP_IOC_ATTACH, &arg))
	ok(fails(ATTACH(arg.fd = -1), EBADF), "ATTACH: no descriptor: EBADF");
	ok(fails(ATTACH(arg.fd = fd), ENOTSOCK), "ATTACH: no socket: ENOTSOCK");
	ok(fails(ATTACH(arg.major = SDP_API_MAJOR + 1), EPROTONOSUPPORT),
	   "ATTACH: another version: EPROTONOSUPPORT");
	ok(fails(ATTACH(arg.flags = 1U << 31), EINVAL), "ATTACH: undefined flag: EINVAL");
	ok(fails(ATTACH(arg.size--), EINVAL), "ATTACH: too small: EINVAL");
	big.a = good;
	big.a.size = sizeof(big);
	big.more[7] = 1;
	ok(fails(ioctl(fd, SDP_IOC_ATTACH, &big), EINVAL), "ATTACH: larger, not zero: EINVAL");
	ok(fails(ioctl(fd, SDP_IOC_ATTACH, NULL), EFAULT), "ATTACH: no memory: EFAULT");
	close(sock);
	close(fd);
}

static void test_numbers(void)
{
	int fd = door();

	ok(fails(ioctl(fd, _IO(SDP_IOC_MAGIC, 0x7f), NULL), ENOTTY), "unknown number: ENOTTY");
	ok(fails(ioctl(fd, _IO('x', 0x0f), NULL), ENOTTY), "somebody else's: ENOTTY");
	close(fd);
}

int main(void)
{
	test_numbers();
	test_rules();
	test_ctl();
	test_attach();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
