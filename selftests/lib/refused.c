// SPDX-License-Identifier: GPL-2.0
/*
 * Every way to TCP that a program has whose rules say SDP and nothing else, on the loopback
 * interface, where SDP never goes. The preload library is put before it.
 *
 * refused CASE: what the rules meet: "device" works; "nothing", no endpoint can be made;
 * "unknown", the rules cannot be read; "only", SDPDEV_MODE says so, which is about
 * connections only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sdpdev.h"
#include "tap.h"

/* As the rules have them. */
#define SERVER		7001	/* connections: over SDP only */
#define LISTENER	7002	/* listeners: on SDP only */
#define FREE		7003	/* no rule */

#define MPTCP_MISSING	EACCES

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif

static struct sockaddr_in v4(int family, int port)
{
	struct sockaddr_in addr = { .sin_family = family, .sin_port = htons(port) };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return addr;
}

static struct sockaddr_in6 v6(const char *name, int port)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	must(inet_pton(AF_INET6, name, &addr.sin6_addr) == 1);
	return addr;
}

/* A socket of the kernel's, which the library does not see being made. */
static int bare(int family, int type)
{
	int fd = syscall(SYS_socket, family, type, 0);

	must(fd >= 0);
	return fd;
}

/* It listens at the port, on all addresses, and the library does not know. */
static int bare_listener(int port)
{
	int fd = bare(AF_INET6, SOCK_STREAM), one = 1;
	struct sockaddr_in6 any = v6("::", port);

	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	     !syscall(SYS_bind, fd, &any, sizeof(any)) && !syscall(SYS_listen, fd, 10));
	return fd;
}

/* Zero or the errno value, of a call on a descriptor that is done with then. */
static int result(int fd, ssize_t ret)
{
	int error = ret < 0 ? errno : 0;

	close(fd);
	return error;
}

static int to_v4(int fd, int family, int port)
{
	struct sockaddr_in addr = v4(family, port);

	if (fd < 0)
		return errno;
	return result(fd, connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
}

static int to_v6(const char *name, socklen_t len)
{
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	struct sockaddr_in6 addr = v6(name, SERVER);

	if (fd < 0)
		return errno;
	return result(fd, connect(fd, (struct sockaddr *)&addr, len));
}

static int plainly(void)
{
	return to_v4(socket(AF_INET, SOCK_STREAM, 0), AF_INET, SERVER);
}

static int by_the_old_family(void)
{
	return to_v4(socket(AF_INET, SOCK_STREAM, 0), AF_INET_OFFLOAD, SERVER);
}

static int by_v6(void)
{
	return to_v6("::1", sizeof(struct sockaddr_in6));
}

static int by_short_v6(void)
{
	return to_v6("::1", offsetof(struct sockaddr_in6, sin6_scope_id));
}

static int by_mapped(void)
{
	return to_v6("::ffff:127.0.0.1", sizeof(struct sockaddr_in6));
}

static int by_direct(void)
{
	return to_v4(socket(AF_INET_DIRECT, SOCK_STREAM, 0), AF_INET, SERVER);
}

static int by_mptcp(void)
{
	const char *kernel = getenv("VM_KERNEL");
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	/* The checked kernel is built without it. */
	if (fd < 0 && errno != EACCES && kernel && !strcmp(kernel, "debug"))
		return MPTCP_MISSING;
	return to_v4(fd, AF_INET, SERVER);
}

static int by_a_strange_socket(void)
{
	return to_v4(bare(AF_INET, SOCK_STREAM), AF_INET, SERVER);
}

static int by_sendto(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = v4(AF_INET, SERVER);

	if (fd < 0)
		return errno;
	return result(fd, sendto(fd, "a", 1, MSG_FASTOPEN, (struct sockaddr *)&addr,
				 sizeof(addr)));
}

static int by_messages(bool several)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = v4(AF_INET, SERVER);
	struct iovec iov = { .iov_base = "a", .iov_len = 1 };
	struct mmsghdr msg = {
		.msg_hdr = {
			.msg_name = &addr, .msg_namelen = sizeof(addr),
			.msg_iov = &iov, .msg_iovlen = 1,
		},
	};

	if (fd < 0)
		return errno;
	return result(fd, several ? sendmmsg(fd, &msg, 1, MSG_FASTOPEN)
				  : sendmsg(fd, &msg.msg_hdr, MSG_FASTOPEN));
}

static int by_sendmsg(void)
{
	return by_messages(false);
}

static int by_sendmmsg(void)
{
	return by_messages(true);
}

static int listening(int fd, int port)
{
	struct sockaddr_in addr = v4(AF_INET, port);
	int one = 1;

	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	return result(fd, listen(fd, 1));
}

static int by_listening(void)
{
	return listening(socket(AF_INET, SOCK_STREAM, 0), LISTENER);
}

static int by_a_strange_listener(void)
{
	return listening(bare(AF_INET, SOCK_STREAM), LISTENER);
}

/* As one that a service manager has made. */
static int accepting(int port)
{
	int l = bare_listener(port), c = bare(AF_INET, SOCK_STREAM), error;
	struct sockaddr_in addr = v4(AF_INET, port);

	must(!syscall(SYS_connect, c, &addr, sizeof(addr)));
	error = result(c, accept(l, NULL, NULL));
	close(l);
	return error;
}

static int by_accepting(void)
{
	return accepting(LISTENER);
}

/* For the rest of the process. */
static void forbid_getsockname(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockname, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(*filter), .filter = filter,
	};

	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	     !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

/* The last way: nobody gets to know any more where a socket would listen. */
static int by_a_hidden_listener(void)
{
	int fd = bare(AF_INET, SOCK_STREAM), one = 1;
	struct sockaddr_in addr = v4(AF_INET, LISTENER);

	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) &&
	     !bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	forbid_getsockname();
	return result(fd, listen(fd, 1));
}

static int accepting_freely(void)
{
	return accepting(FREE);
}

static int connecting_freely(void)
{
	int l = bare_listener(FREE), error;

	error = to_v4(socket(AF_INET, SOCK_STREAM, 0), AF_INET, FREE);
	close(l);
	return error;
}

static int listening_freely(void)
{
	return listening(socket(AF_INET, SOCK_STREAM, 0), FREE);
}

static int by_udp(void)
{
	return to_v4(socket(AF_INET, SOCK_DGRAM, 0), AF_INET, SERVER);
}

/*
 * What each comes to: with the device, without an endpoint, with rules unknown, with
 * SDPDEV_MODE=only and the device.
 */
static const struct {
	const char *name;
	int (*way)(void);
	int want[4];
} ways[] = {
	{ "listening where no rule is", listening_freely, { 0, 0, EACCES, 0 } },
	{ "accepting where no rule is", accepting_freely, { 0, 0, ECONNABORTED, 0 } },
	{ "connecting where no rule is", connecting_freely, { 0, 0, EACCES, ENETUNREACH } },
	{ "UDP", by_udp, { 0, 0, 0, 0 } },
	{ "connect", plainly, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "with the old family", by_the_old_family, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "over IPv6", by_v6, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "with a short address", by_short_v6, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "over IPv6, mapped", by_mapped, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "AF_INET_DIRECT", by_direct, { EACCES, EACCES, EACCES, EACCES } },
	{ "MPTCP", by_mptcp, { EACCES, EACCES, EACCES, EACCES } },
	{ "a socket from elsewhere", by_a_strange_socket, { EACCES, EACCES, EACCES, EACCES } },
	{ "sendto", by_sendto, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "sendmsg", by_sendmsg, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "sendmmsg", by_sendmmsg, { ENETUNREACH, EACCES, EACCES, ENETUNREACH } },
	{ "listen", by_listening, { 0, EACCES, EACCES, 0 } },
	{ "listen, a socket from elsewhere", by_a_strange_listener, { EACCES, EACCES, EACCES, 0 } },
	{ "accept", by_accepting, { ECONNABORTED, ECONNABORTED, ECONNABORTED, 0 } },
	{ "listen, a hidden address", by_a_hidden_listener, { EACCES, EACCES, EACCES, 0 } },
};

#define WAYS	(sizeof(ways) / sizeof(*ways))

int main(int argc, char **argv)
{
	static const char * const cases[] = { "device", "nothing", "unknown", "only" };
	unsigned int i, c = 0;
	int got;

	while (c < 4 && (argc != 2 || strcmp(argv[1], cases[c])))
		c++;
	must(c < 4);
	tap_plan(WAYS);
	bare_listener(SERVER);
	for (i = 0; i < WAYS; i++) {
		got = ways[i].way();
		if (!ok(got == ways[i].want[c], "%s: %s", cases[c], ways[i].name))
			printf("# errno %d (%s), not %d (%s)\n", got, strerror(got),
			       ways[i].want[c], strerror(ways[i].want[c]));
	}
	return tap_exit();
}
