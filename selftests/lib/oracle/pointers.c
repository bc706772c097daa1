// SPDX-License-Identifier: GPL-2.0
/*
 * All calls on all kinds of descriptors with all kinds of bad pointers.  A line has what
 * the calls of one group gave on one kind of descriptor: each one result, or one for each
 * of places[] where they differ.
 *
 * "Reused" is a number that was a socket's before and became another file's by a call that
 * no library sees.
 */
#include "oracle.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SIZE		4096
#define QUIET		(MSG_DONTWAIT | MSG_NOSIGNAL)

/* --- where a pointer may lead -------------------------------------------- */

enum { GOOD, NOWHERE, HOLE, READ_ONLY, EDGE, PLACES };

static char *places[PLACES];

/* The edge has four bytes before a hole, which no other mapping comes to fill. */
static void make_places(void)
{
	char *p = mmap(NULL, 4 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	must(p != MAP_FAILED);
	memset(p, 1, 4 * SIZE);
	must(!mprotect(p + SIZE, SIZE, PROT_NONE));
	must(!mprotect(p + 2 * SIZE, SIZE, PROT_READ));
	must(!mprotect(p + 3 * SIZE, SIZE, PROT_NONE));
	places[GOOD] = p;
	places[EDGE] = p + SIZE - 4;
	places[HOLE] = p + SIZE;
	places[READ_ONLY] = p + 2 * SIZE;
}

/* --- calls --------------------------------------------------------------- */

static union {
	struct sockaddr_storage name;
	/* Where a length is bad it may be a long one. */
	char room[1024];
} addr;
static socklen_t len;
static char byte[4];

/* Nothing that a pointer to them is bad by itself for. */
static struct msghdr *message(void *name, void *iov, void *base, void *control)
{
	static struct msghdr msg;
	static struct iovec one;

	one = (struct iovec){ .iov_base = base ? base : byte, .iov_len = 4 };
	msg = (struct msghdr){
		.msg_name = name, .msg_namelen = name ? 16 : 0,
		.msg_iov = iov ? iov : &one, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = control ? 64 : 0,
	};
	return &msg;
}

/* The library's prototypes say that these are never null; they are also not constant. */
static void *volatile null;

/* For a structure that has to be good where there is room for it. */
static void *filled(void *p, const void *with, size_t n)
{
	if (p == places[GOOD])
		memcpy(p, with, n);
	return p;
}

static void *a_message(void *p)
{
	struct mmsghdr m = { .msg_hdr = *message(NULL, NULL, NULL, NULL) };

	return filled(p, &m, sizeof(m));
}

static void *an_iov(void *p)
{
	struct iovec iov = { byte, 4 };

	return filled(p, &iov, sizeof(iov));
}

static void *a_length(void *p)
{
	len = sizeof(addr.name);
	return filled(p, &len, sizeof(len));
}

static socklen_t *length(socklen_t n)
{
	len = n;
	return &len;
}

#define CALL(name, expression)						\
static long name(int fd, void *p)					\
{									\
	(void)p;							\
	return expression;						\
}

CALL(do_bind, bind(fd, p, 16))
CALL(do_bind_long, bind(fd, p, 1000))
CALL(do_bind_none, bind(fd, p, 0))
CALL(do_connect, p == places[GOOD] || p == places[READ_ONLY] ? 0 : connect(fd, p, 16))
CALL(do_accept, accept(fd, p, length(16)))
CALL(do_accept_len, accept(fd, (struct sockaddr *)&addr, a_length(p)))
CALL(do_accept4, accept4(fd, p, length(16), SOCK_CLOEXEC))
CALL(do_accept4_flags, accept4(fd, p, length(16), 0x77))
CALL(do_sockname, getsockname(fd, p, length(16)))
CALL(do_sockname_none, getsockname(fd, p, length(0)))
CALL(do_sockname_negative, getsockname(fd, p, length(-1)))
CALL(do_sockname_len, getsockname(fd, (struct sockaddr *)&addr, a_length(p)))
CALL(do_peername, getpeername(fd, p, length(16)))
CALL(do_peername_len, getpeername(fd, (struct sockaddr *)&addr, a_length(p)))

#define GET(name, level, option)					\
CALL(name, getsockopt(fd, level, option, p, length(4)))			\
CALL(name##_none, getsockopt(fd, level, option, p, length(0)))		\
CALL(name##_negative, getsockopt(fd, level, option, p, length(-1)))	\
CALL(name##_len, getsockopt(fd, level, option, &addr, a_length(p)))

GET(do_error, SOL_SOCKET, SO_ERROR)
GET(do_type, SOL_SOCKET, SO_TYPE)
GET(do_listens, SOL_SOCKET, SO_ACCEPTCONN)
GET(do_rcvbuf, SOL_SOCKET, SO_RCVBUF)
GET(do_name, SOL_SOCKET, SO_PEERNAME)
GET(do_info, IPPROTO_TCP, TCP_INFO)
GET(do_nodelay, IPPROTO_TCP, TCP_NODELAY)
CALL(do_set, setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, p, 4))
CALL(do_set_tcp, setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, p, 4))
CALL(do_set_lowat, setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, p, 2))

CALL(do_send, send(fd, p, 4, 0))
CALL(do_send_quiet, send(fd, p, 4, QUIET))
CALL(do_send_none, send(fd, p, 0, 0))
CALL(do_sendto, sendto(fd, p, 4, QUIET, null, 0))
CALL(do_sendto_addr, sendto(fd, byte, 1, QUIET, p, 16))
CALL(do_sendto_long, sendto(fd, byte, 1, QUIET, p, 1000))
CALL(do_sendmsg, sendmsg(fd, a_message(p), QUIET))
CALL(do_sendmsg_iov, sendmsg(fd, message(NULL, an_iov(p), NULL, NULL), QUIET))
CALL(do_sendmsg_base, sendmsg(fd, message(NULL, NULL, p, NULL), QUIET))
CALL(do_sendmsg_name, sendmsg(fd, message(p, NULL, NULL, NULL), QUIET))
CALL(do_sendmsg_control, sendmsg(fd, message(NULL, NULL, NULL, p), QUIET))
CALL(do_sendmmsg, sendmmsg(fd, a_message(p), 1, QUIET))

CALL(do_recv, recv(fd, p, 4, MSG_DONTWAIT))
CALL(do_recv_none, recv(fd, p, 0, MSG_DONTWAIT))
CALL(do_recv_plain, fcntl(fd, F_SETFL, O_NONBLOCK) ? -1 : recv(fd, p, 1, 0))
CALL(do_recvfrom, recvfrom(fd, byte, 1, MSG_DONTWAIT, p, length(16)))
CALL(do_recvfrom_len, recvfrom(fd, byte, 1, MSG_DONTWAIT, (struct sockaddr *)&addr, a_length(p)))
CALL(do_recvmsg, recvmsg(fd, a_message(p), MSG_DONTWAIT))
CALL(do_recvmsg_iov, recvmsg(fd, message(NULL, an_iov(p), NULL, NULL), MSG_DONTWAIT))
CALL(do_recvmsg_base, recvmsg(fd, message(NULL, NULL, p, NULL), MSG_DONTWAIT))
CALL(do_recvmsg_name, recvmsg(fd, message(p, NULL, NULL, NULL), MSG_DONTWAIT))
CALL(do_recvmsg_control, recvmsg(fd, message(NULL, NULL, NULL, p), MSG_DONTWAIT))
CALL(do_recvmmsg, recvmmsg(fd, a_message(p), 1, MSG_DONTWAIT, NULL))

static long do_recvmmsg_time(int fd, void *p)
{
	struct mmsghdr m = { .msg_hdr = *message(NULL, NULL, NULL, NULL) };
	struct timespec none = { 0, 0 };

	return recvmmsg(fd, &m, 1, MSG_DONTWAIT, filled(p, &none, sizeof(none)));
}

CALL(do_fstat, fstat(fd, p))
CALL(do_statx, statx(fd, filled(p, "", 1), AT_EMPTY_PATH, STATX_MODE,
		     (struct statx *)&places[GOOD][512]))
CALL(do_statx_to, statx(fd, "", AT_EMPTY_PATH, STATX_MODE, p))
CALL(do_fchownat, fchownat(fd, filled(p, "", 1), -1, -1, AT_EMPTY_PATH))
CALL(do_shutdown_what, shutdown(fd, 99))

/* These change a socket, and are for what is none. */
CALL(do_listen, listen(fd, 1))
CALL(do_shutdown, shutdown(fd, SHUT_RDWR))

#define GROUP(...) { __VA_ARGS__, NULL }
#define OPTION(name) name, name##_none, name##_negative, name##_len
typedef long (*call_fn)(int fd, void *p);

static const struct group {
	const char *name;
	call_fn calls[48];
} groups[] = {
	{ "names", GROUP(do_bind, do_bind_long, do_bind_none, do_connect, do_sockname,
			 do_sockname_none, do_sockname_negative, do_sockname_len, do_peername,
			 do_peername_len) },
	{ "accepting", GROUP(do_accept, do_accept_len, do_accept4, do_accept4_flags) },
	{ "options", GROUP(OPTION(do_error), OPTION(do_type), OPTION(do_listens), OPTION(do_rcvbuf),
			   OPTION(do_name), OPTION(do_info), OPTION(do_nodelay), do_set,
			   do_set_tcp, do_set_lowat) },
	{ "sending", GROUP(do_send, do_send_quiet, do_send_none, do_sendto, do_sendto_addr,
			   do_sendto_long, do_sendmsg, do_sendmsg_iov, do_sendmsg_base,
			   do_sendmsg_name, do_sendmsg_control, do_sendmmsg) },
	{ "receiving", GROUP(do_recv, do_recv_none, do_recvfrom, do_recvfrom_len, do_recvmsg,
			     do_recvmsg_iov, do_recvmsg_base, do_recvmsg_name,
			     do_recvmsg_control, do_recvmmsg, do_recvmmsg_time, do_recv_plain) },
	{ "files", GROUP(do_fstat, do_statx, do_statx_to, do_fchownat, do_shutdown_what) },
	{ "changing", GROUP(do_listen, do_shutdown) },
};

/* What a call gave, errors as negative numbers. */
static long result_of(call_fn call, int fd, int place)
{
	long ret;

	memset(places[GOOD], 0, SIZE - 4);
	memset(places[EDGE], 1, 4);
	ret = call(fd, places[place]);
	return ret < 0 ? -errno : ret;
}

static void try_group(const struct group *g, int fd)
{
	const call_fn *call;
	long ret[PLACES];
	bool same;
	int i;

	for (call = g->calls; *call; call++) {
		for (i = 0, same = true; i < PLACES; i++) {
			ret[i] = result_of(*call, fd, i);
			same &= ret[i] == ret[0];
		}
		/* One for all is told once. */
		for (i = 0; i < (same ? 1 : PLACES); i++)
			if (ret[i] < 0)
				printf("%c%s", i ? '/' : ' ', strerrorname_np(-ret[i]));
			else
				printf("%c%ld", i ? '/' : ' ', ret[i]);
	}
	putchar('\n');
}

static void try_all(const char *kind, int fd, bool socket)
{
	size_t i, n = sizeof(groups) / sizeof(*groups) - (socket ? 1 : 0);

	for (i = 0; i < n; i++) {
		printf("%s, %s:", kind, groups[i].name);
		try_group(&groups[i], fd);
	}
}

/* --- descriptors --------------------------------------------------------- */

static void try_fd(const char *kind, int fd, bool socket)
{
	char reused[64];
	int other;

	must(fd >= 0);
	try_all(kind, fd, socket);

	/* As the socket's, it has been used by a call that works on sockets alone. */
	other = client_socket(0);
	send(other, byte, 1, MSG_NOSIGNAL);
	must(syscall(SYS_dup3, fd, other, 0) == other);
	snprintf(reused, sizeof(reused), "reused for %s", kind);
	try_all(reused, other, socket);
	syscall(SYS_close, other);
	must(!close(fd));
}

static void others(void)
{
	int fds[2], closed = client_socket(0);
	char name[] = "/tmp/pointers.XXXXXX";

	send(closed, byte, 1, MSG_NOSIGNAL);
	syscall(SYS_close, closed);
	try_all("a closed one", closed, false);
	try_all("a negative one", -1, false);
	try_fd("/dev/null to read", open("/dev/null", O_RDONLY), false);
	try_fd("/dev/null to write", open("/dev/null", O_WRONLY), false);
	try_fd("/dev/sdp", open("/dev/sdp", O_RDWR), false);
	try_fd("a path", open("/dev/null", O_PATH), false);
	try_fd("a file", mkstemp(name), false);
	unlink(name);
	must(!pipe(fds));
	try_fd("a pipe's reading end", fds[0], false);
	must(!close(fds[1]));
	must(!pipe(fds));
	try_fd("a pipe's writing end", fds[1], false);
	must(!close(fds[0]));
	try_fd("an eventfd", eventfd(5, EFD_NONBLOCK), false);
	try_fd("an epoll set", epoll_create1(0), false);
	try_fd("a UDP socket", socket(AF_INET, SOCK_DGRAM, 0), true);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	try_fd("a UNIX socket", fds[0], true);
	must(!close(fds[1]));
	try_fd("a socket of TCP alone", syscall(SYS_socket, AF_INET, SOCK_STREAM, 0), true);
}

/* Small enough to be there at once, and enough for all calls that take some. */
static void streams(void)
{
	static const char many[2000];
	int fd, pair[2];

	try_all("a new socket", fd = client_socket(0), true);
	must(!close(fd));
	fd = listener(5);
	must(!fcntl(fd, F_SETFL, O_NONBLOCK));
	try_all("a listening socket", fd, true);
	must(!close(fd));
	connected(pair);
	try_all("a connected socket", pair[0], true);
	must(send(pair[0], many, sizeof(many), 0) == sizeof(many));
	wait_bytes(pair[1], sizeof(many));
	try_all("a socket with bytes", pair[1], true);
	/* What the calls have sent may still be under way. */
	must(send(pair[1], many, sizeof(many), 0) == sizeof(many));
	wait_bytes(pair[0], sizeof(many));
	must(!shutdown(pair[0], SHUT_WR));
	try_all("a socket that is shut", pair[0], true);
	close_pair(pair);
	connected(pair);
	/* Not closed: when a reset comes back is chance. */
	must(!shutdown(pair[0], SHUT_WR));
	wait_for(pair[1], POLLRDHUP);
	try_all("a socket whose peer has shut", pair[1], true);
	close_pair(pair);
}

/* The connection is lost where its address cannot be told. */
static void lost(void)
{
	int fd, l = listener(5);

	must(!fcntl(l, F_SETFL, O_NONBLOCK));
	fd = client_socket(0);
	must(!connect(fd, &server_addr.any, server_len));
	wait_for(l, POLLIN);
	say("accept where there is no memory", accept(l, (void *)places[HOLE], length(16)));
	say("accept after that", accept(l, NULL, NULL));
	must(!close(fd));
	must(!close(l));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	signal(SIGPIPE, SIG_IGN);
	make_places();
	others();
	streams();
	lost();
	return 0;
}
