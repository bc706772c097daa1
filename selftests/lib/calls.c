// SPDX-License-Identifier: GPL-2.0
/*
 * The socket calls by io_uring: IORING_OP_CONNECT and its likes on sockets, the
 * same as commands on endpoints.  One body asks both the same questions: sockets,
 * endpoints over SDP, endpoints over TCP; each entered by the program and taken by
 * a thread of the kernel's (SQPOLL).
 */
#include "uring.h"

#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define MUCH	(1 << 20)

static char out[MUCH], in[MUCH];

/* What a command points to has to stay until it is done: one for each tag. */
static struct {
	struct sdp_accept accept;
	struct sdp_connect connect;
	struct sdp_msg msg;
	struct sdp_shutdown shutdown;
	struct iovec iov;
	struct sockaddr_in addr;
	socklen_t len;
} given[16];

static bool is_endpoint(int fd)
{
	struct sdp_info info;

	return !sdp_info(fd, &info);
}

static struct io_uring_sqe *command(unsigned long tag, int fd, unsigned int op,
				    const void *arg)
{
	struct io_uring_sqe *sqe = entry(tag);
	struct sdp_uring *u = (struct sdp_uring *)sqe->cmd;

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = op;
	u->arg = (uintptr_t)arg;
	u->reserved = 0;
	return sqe;
}

static struct io_uring_sqe *do_accept(unsigned long tag, int fd)
{
	struct sdp_accept *arg = &given[tag].accept;
	struct io_uring_sqe *sqe;

	if (is_endpoint(fd)) {
		*arg = (struct sdp_accept){ .size = sizeof(*arg), .flags = SDP_ACCEPT_CLOEXEC };
		return command(tag, fd, SDP_IOC_ACCEPT, arg);
	}
	given[tag].len = sizeof(given[tag].addr);
	sqe = entry(tag);
	io_uring_prep_accept(sqe, fd, (void *)&given[tag].addr, &given[tag].len, SOCK_CLOEXEC);
	return sqe;
}

/* Whom the one of @tag accepted. */
static struct sockaddr_in accepted_from(unsigned long tag, int listener)
{
	if (is_endpoint(listener)) {
		memcpy(&given[tag].addr, &given[tag].accept.addr, sizeof(given[tag].addr));
		given[tag].len = given[tag].accept.addr_len;
	}
	must(given[tag].len == sizeof(given[tag].addr));
	return given[tag].addr;
}

static struct io_uring_sqe *do_connect(unsigned long tag, int fd, struct sockaddr_in *addr)
{
	struct sdp_connect *arg = &given[tag].connect;
	struct io_uring_sqe *sqe;

	if (is_endpoint(fd)) {
		*arg = (struct sdp_connect){ .size = sizeof(*arg), .addr_len = sizeof(*addr) };
		memcpy(&arg->addr, addr, sizeof(*addr));
		return command(tag, fd, SDP_IOC_CONNECT, arg);
	}
	sqe = entry(tag);
	io_uring_prep_connect(sqe, fd, (void *)addr, sizeof(*addr));
	return sqe;
}

static struct io_uring_sqe *do_msg(unsigned long tag, int fd, void *buf, size_t len, int flags,
				   bool send_it)
{
	struct sdp_msg *arg = &given[tag].msg;
	struct io_uring_sqe *sqe;

	given[tag].iov = (struct iovec){ .iov_base = buf, .iov_len = len };
	if (is_endpoint(fd)) {
		*arg = (struct sdp_msg){ .size = sizeof(*arg), .flags = flags, .iov_len = 1,
					 .iov = (uintptr_t)&given[tag].iov };
		return command(tag, fd, send_it ? SDP_IOC_SEND : SDP_IOC_RECV, arg);
	}
	sqe = entry(tag);
	if (send_it)
		io_uring_prep_send(sqe, fd, buf, len, flags);
	else
		io_uring_prep_recv(sqe, fd, buf, len, flags);
	return sqe;
}

static struct io_uring_sqe *do_send(unsigned long tag, int fd, const void *buf, size_t len,
				    int flags)
{
	return do_msg(tag, fd, (void *)buf, len, flags, true);
}

static struct io_uring_sqe *do_recv(unsigned long tag, int fd, size_t len, int flags)
{
	return do_msg(tag, fd, in, len, flags, false);
}

static void do_shutdown(unsigned long tag, int fd, int which)
{
	struct sdp_shutdown *arg = &given[tag].shutdown;
	struct io_uring_sqe *sqe;

	if (is_endpoint(fd)) {
		*arg = (struct sdp_shutdown){ .size = sizeof(*arg), .how = which };
		command(tag, fd, SDP_IOC_SHUTDOWN, arg);
		return;
	}
	sqe = entry(tag);
	io_uring_prep_shutdown(sqe, fd, which);
}

/* Submits, and gives the result of @tag. */
static int now(unsigned long tag)
{
	io_uring_submit(&ring);
	return result_of(tag);
}

static void nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	must(!fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

/* A command can say itself that it does not wait; then it ends as connect() does. */
static void connecting_later(int fd, struct sockaddr_in *addr)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct sdp_info info;

	do_connect(8, fd, addr);
	given[8].connect.flags = SDP_CONNECT_NONBLOCK;
	ok(now(8) == -EINPROGRESS, "%s: a connect that does not wait: EINPROGRESS", how);
	ok(poll(&p, 1, -1) == 1 && !sdp_info(fd, &info) && info.carrier == SDP_CARRIER_SDP,
	   "%s: and it is connected", how);
}

/* [0] the client's end, [1] the server's. */
static void connecting(bool sdp, const char *ip, int p[2])
{
	struct sockaddr_in addr, name, from;
	socklen_t len = sizeof(name);
	int l, res, other;

	l = listener(sdp, ip, &addr);
	if (!strcmp(ip, "127.0.0.1"))
		enter_node(2);
	p[0] = make_socket(sdp);
	nonblocking(l, true);
	do_accept(1, l);
	io_uring_submit(&ring);
	ok(nothing_yet(), "%s: an accept waits, whatever the descriptor says", how);
	do_connect(2, p[0], &addr);
	io_uring_submit(&ring);
	p[1] = pair_of_results(1, 2, &res);
	ok(res == 0, "%s: a connect", how);
	ok(p[1] >= 0, "%s: ends it with a descriptor", how);
	ok(fcntl(p[1], F_GETFD) == FD_CLOEXEC, "%s: that has the flag asked for", how);
	must(!(sdp ? sdp_getsockname(p[0], (void *)&name, &len) :
		     getsockname(p[0], (void *)&name, &len)));
	from = accepted_from(1, l);
	ok(from.sin_port == name.sin_port && from.sin_addr.s_addr == name.sin_addr.s_addr,
	   "%s: and the peer's address", how);
	do_connect(3, p[0], &addr);
	ok(now(3) == -EISCONN, "%s: connect again: EISCONN", how);
	do_accept(4, p[0]);
	ok(now(4) == -EINVAL, "%s: accept without listening: EINVAL", how);

	do_accept(5, l);
	io_uring_submit(&ring);
	must(nothing_yet());
	io_uring_prep_cancel64(entry(6), 5, 0);
	io_uring_submit(&ring);
	res = pair_of_results(5, 6, &other);
	ok(res == -ECANCELED || res == -EINTR, "%s: an accept is taken back", how);
	if (sdp && !strcmp(ip, SERVER)) {
		other = make_socket(sdp);
		connecting_later(other, &addr);
		close(other);
	}
	close(l);

	/* Not the one that listened: what was taken back may hold it for a moment. */
	l = bound(sdp, ip, &addr);
	if (!strcmp(ip, "127.0.0.1"))
		enter_node(2);
	other = make_socket(sdp);
	do_connect(7, other, &addr);
	errno = -now(7);
	ok(errno == ECONNREFUSED, "%s: connect to nobody: ECONNREFUSED", how);
	close(other);
	close(l);
	enter_node(1);
}

static void receiving(int p[2])
{
	int res, other;

	nonblocking(p[1], true);
	do_recv(1, p[1], 16, 0);
	io_uring_submit(&ring);
	ok(nothing_yet(), "%s: a recv waits, whatever the descriptor says", how);
	nonblocking(p[1], false);
	do_send(2, p[0], "hello", 5, 0);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(other == 5, "%s: a send", how);
	ok(res == 5 && !memcmp(in, "hello", 5), "%s: ends it", how);

	do_recv(3, p[1], 1, MSG_DONTWAIT);
	ok(now(3) == -EAGAIN, "%s: MSG_DONTWAIT: EAGAIN", how);
	do_send(4, p[0], (void *)8, 5, 0);
	ok(now(4) == -EFAULT, "%s: send from nowhere: EFAULT", how);
	must(write(p[0], "abc", 3) == 3);
	do_recv(5, p[1], 3, MSG_PEEK | MSG_WAITALL);
	ok(now(5) == 3 && !memcmp(in, "abc", 3), "%s: MSG_PEEK", how);
	do_recv(6, p[1], 6, MSG_WAITALL);
	io_uring_submit(&ring);
	ok(nothing_yet(), "%s: MSG_WAITALL waits for the rest", how);
	must(write(p[0], "def", 3) == 3);
	ok(result_of(6) == 6 && !memcmp(in, "abcdef", 6), "%s: until it is there", how);

	do_send(7, p[0], "link", 4, 0)->flags |= IOSQE_IO_LINK;
	do_recv(8, p[1], 4, MSG_WAITALL);
	io_uring_submit(&ring);
	res = pair_of_results(7, 8, &other);
	ok(res == 4 && other == 4 && !memcmp(in, "link", 4), "%s: a recv linked to a send", how);
}

static void long_send(int p[2])
{
	int i, n, got = 0;

	for (i = 0; i < MUCH; i++)
		out[i] = i * 31 >> 3;
	memset(in, 0, MUCH);
	do_send(1, p[0], out, MUCH, MSG_WAITALL);
	io_uring_submit(&ring);
	while (got < MUCH) {
		n = read(p[1], in + got, MUCH - got);
		must(n > 0);
		got += n;
	}
	ok(result_of(1) == MUCH && !memcmp(in, out, MUCH),
	   "%s: a send of much, and all of it", how);
}

static void given_up(int p[2])
{
	struct __kernel_timespec soon = { .tv_nsec = 50000000 };
	struct io_uring_sqe *sqe;
	int res, other;
	char c;

	do_recv(1, p[1], 1, 0)->flags |= IOSQE_IO_LINK;
	io_uring_prep_link_timeout(entry(2), &soon, 0);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(res == -ECANCELED || res == -EINTR, "%s: a recv with a time is given up", how);
	must(write(p[0], "z", 1) == 1);
	ok(read(p[1], &c, 1) == 1 && c == 'z', "%s: and has taken nothing", how);

	sqe = entry(3);
	io_uring_prep_poll_add(sqe, p[1], POLLIN);
	sqe->flags |= IOSQE_IO_LINK;
	do_recv(4, p[1], 1, MSG_DONTWAIT);
	io_uring_submit(&ring);
	ok(nothing_yet(), "%s: a recv linked to a poll", how);
	must(write(p[0], "y", 1) == 1);
	res = pair_of_results(3, 4, &other);
	ok((res & POLLIN) && other == 1 && in[0] == 'y', "%s: comes when there is something", how);
}

static void ending(int p[2])
{
	int res, other;

	do_recv(1, p[1], 4, 0);
	io_uring_submit(&ring);
	must(nothing_yet());
	do_shutdown(2, p[0], SHUT_WR);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(other == 0, "%s: shutdown", how);
	ok(res == 0, "%s: the other end receives the end", how);
	do_send(3, p[0], "x", 1, 0);
	ok(now(3) == -EPIPE, "%s: send: EPIPE, and no signal", how);
	must(!close(p[0]) && !close(p[1]));
}

/* A process that is killed does not wait for what its ring has under way. */
static void killed(bool sdp)
{
	struct sockaddr_in addr;
	int l = listener(sdp, SERVER, &addr), ready[2], status;
	pid_t pid;
	char c;

	must(!pipe(ready));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		must(!io_uring_queue_init(16, &ring, 0));
		do_accept(1, l);
		io_uring_submit(&ring);
		must(write(ready[1], "x", 1) == 1);
		pause();
	}
	must(read(ready[0], &c, 1) == 1);
	must(!kill(pid, SIGKILL));
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
	   "%s: who is killed with an accept under way ends", how);
	close(ready[0]);
	close(ready[1]);
	close(l);
}

static void all_of_it(unsigned int flags)
{
	static const struct { const char *name, *ip; bool sdp; } kinds[] = {
		{ "tcp", SERVER, false }, { "sdp", SERVER, true },
		{ "fallen back", "127.0.0.1", true },
	};
	struct io_uring_params params = { .flags = flags, .sq_thread_idle = 1 };
	struct sdp_info info;
	unsigned int i;
	char name[32];
	int p[2];

	must(!io_uring_queue_init_params(16, &ring, &params));
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%s%s", kinds[i].name, flags ? ", sqpoll" : "");
		how = name;
		connecting(kinds[i].sdp, kinds[i].ip, p);
		must(!kinds[i].sdp || (!sdp_info(p[0], &info) && info.carrier ==
				       (i == 1 ? SDP_CARRIER_SDP : SDP_CARRIER_TCP)));
		receiving(p);
		long_send(p);
		given_up(p);
		ending(p);
	}
	io_uring_queue_exit(&ring);
}

/* What only a command can get wrong. */
static void wrong(void)
{
	struct sdp_init init = {
		.size = sizeof(init), .major = SDP_API_MAJOR, .family = AF_INET,
	};
	struct sdp_shutdown shut = { .size = sizeof(shut), .how = SHUT_WR };
	struct sdp_msg msg = { .size = sizeof(msg), .flags = MSG_ERRQUEUE | MSG_TRUNC };
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	struct io_uring_sqe *sqe;

	must(fd >= 0);
	command(1, fd, SDP_IOC_SHUTDOWN, &shut);
	ok(now(1) == -ENOTCONN, "before SDP_IOC_INIT: ENOTCONN");
	command(2, fd, SDP_IOC_INIT, &init);
	ok(now(2) == 0 && (init.features & SDP_FEATURE_URING), "SDP_IOC_INIT");
	command(3, fd, SDP_IOC_SHUTDOWN, (void *)8);
	ok(now(3) == -EFAULT, "a structure that is nowhere: EFAULT");
	command(4, fd, _IO(SDP_IOC_MAGIC, 99), &shut);
	ok(now(4) == -ENOTTY, "an unknown command: ENOTTY");
	command(5, fd, FIONREAD, &shut);
	ok(now(5) == -ENOTTY, "an ioctl of sockets: ENOTTY");
	sqe = command(6, fd, SDP_IOC_SHUTDOWN, &shut);
	((struct sdp_uring *)sqe->cmd)->reserved = 1;
	ok(now(6) == -EINVAL, "reserved field: EINVAL");
	must(!io_uring_register_buffers(&ring, &(struct iovec){ out, 4096 }, 1));
	sqe = command(7, fd, SDP_IOC_SHUTDOWN, &shut);
	sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
	ok(now(7) == -EINVAL, "a registered buffer: EINVAL");
	shut.size--;
	command(8, fd, SDP_IOC_SHUTDOWN, &shut);
	ok(now(8) == -EINVAL, "too small a structure: EINVAL");
	msg.flags = MSG_CMSG_CLOEXEC;
	command(9, fd, SDP_IOC_RECV, &msg);
	ok(now(9) == -EOPNOTSUPP, "an undefined flag: EOPNOTSUPP");
	close(fd);
}

int main(void)
{
	all_of_it(0);
	all_of_it(IORING_SETUP_SQPOLL);
	how = "tcp";
	killed(false);
	how = "sdp";
	killed(true);
	must(!io_uring_queue_init(16, &ring, 0));
	wrong();
	io_uring_queue_exit(&ring);
	printf("1..%u\n", tap_done);
	return tap_exit();
}
