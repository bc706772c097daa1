// SPDX-License-Identifier: GPL-2.0
/*
 * SELinux says the same of a socket whose bytes have left TCP as of any other: policy.cil has the
 * domains, and the machine enforces it.
 *
 *	selinux [ROW...]
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/sdp_sock.h>

#include "common/conn.h"
#include "common/row.h"

#define BYTES	100

/* On TCP as well, and with the same error. */
#define DENIED(call)							\
do {									\
	if (SAY(call) != -1)						\
		wrong("%s is allowed", #call);				\
} while (0)

static struct conn c;
static char some[BYTES];

static void domain(const char *type)
{
	char context[40];
	int n = snprintf(context, sizeof(context), "u:r:%s", type);
	int fd = open("/proc/self/attr/current", O_WRONLY | O_CLOEXEC);

	need(fd >= 0 && write(fd, context, n) == n);
	close(fd);
}

/* The same bytes go on, once that is allowed. */
static void goes_on(void)
{
	domain("free");
	put(&c.a, BYTES, 0);
	get_all(&c.b, BYTES);
	put(&c.b, BYTES, 0);
	get_all(&c.a, BYTES);
	want(&c.a, true);
	want(&c.b, true);
	conn_close(&c);
}

static void sends_not(void)
{
	struct iovec v = { some, BYTES };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct mmsghdr many = { .msg_hdr = m };
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), words[2];

	domain("free");
	need(file >= 0 && !pipe(words) && write(words[1], some, BYTES) == BYTES);
	c = conn_moved();
	put(&c.b, BYTES, 0);
	domain("mute");
	DENIED(send(c.a.fd, some, BYTES, 0));
	DENIED(write(c.a.fd, some, BYTES));
	DENIED(writev(c.a.fd, &v, 1));
	DENIED(sendmsg(c.a.fd, &m, MSG_DONTWAIT));
	DENIED(sendmmsg(c.a.fd, &many, 1, 0));
	DENIED(sendfile(c.a.fd, file, NULL, BYTES));
	DENIED(splice(words[0], NULL, c.a.fd, NULL, BYTES, 0));
	get_all(&c.a, BYTES);
	close(file);
	close(words[0]);
	close(words[1]);
	goes_on();
}

static void receives_not(void)
{
	struct iovec v = { some, BYTES };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int words[2];

	domain("free");
	need(!pipe(words));
	c = conn_moved();
	put(&c.b, BYTES, 0);
	domain("deaf");
	DENIED(recv(c.a.fd, some, BYTES, 0));
	DENIED(recv(c.a.fd, some, BYTES, MSG_PEEK));
	DENIED(read(c.a.fd, some, BYTES));
	DENIED(readv(c.a.fd, &v, 1));
	DENIED(recvmsg(c.a.fd, &m, MSG_DONTWAIT));
	DENIED(splice(c.a.fd, NULL, words[1], NULL, BYTES, 0));
	put(&c.a, BYTES, 0);
	domain("free");
	get_all(&c.b, BYTES);
	get_all(&c.a, BYTES);
	close(words[0]);
	close(words[1]);
	goes_on();
}

static void connects_not(void)
{
	int port, l, fd, before;

	domain("free");
	l = sock_listen(1, &port);
	fd = sock_new(NULL);
	before = sock_new(NULL);
	need(!sock_connect(before, port));
	domain("lone");
	DENIED(sock_connect(fd, port));
	DENIED(accept(l, NULL, NULL));
	close(fd);
	fd = sock_new(NULL);
	DENIED(sock_connect(fd, port));
	close(fd);
	close(before);
	close(l);
}

static void sets_not(void)
{
	int on = 1, fd;

	domain("free");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	need(fd >= 0);
	domain("fixed");
	DENIED(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
	DENIED(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3));
	close(fd);
}

static int made(int protocol)
{
	int fd = socket(AF_INET, SOCK_STREAM, protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : -1;
}

/* As security.rst tells: the kernel does not know the protocol. */
static void makes_not(void)
{
	domain("none");
	DENIED(made(0));
	DENIED(made(IPPROTO_TCP));
	if (!plain && made(IPPROTO_SDP))
		wrong("IPPROTO_SDP has not the class rawip_socket: %d", errno);
	domain("lone");
	SAY(made(0));
	if (!plain && (!made(IPPROTO_SDP) || errno != EACCES))
		wrong("a domain without rawip_socket makes a socket of IPPROTO_SDP");
}

static const struct row rows[] = {
	{ "a domain that may not write sends nothing", sends_not },
	{ "a domain that may not read receives nothing", receives_not },
	{ "a domain that may not connect or accept", connects_not },
	{ "a domain that may set no option", sets_not },
	{ "a domain that may make no socket", makes_not },
	{ NULL, NULL },
};

static const struct row *const lists[] = { rows, NULL };

int main(int argc, char **argv)
{
	(void)argc;
	return rows_main(lists, argv + 1);
}
