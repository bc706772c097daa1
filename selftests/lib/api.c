// SPDX-License-Identifier: GPL-2.0
/*
 * libsdpdev's calls, between two network namespaces of the VM: the server in
 * node2, the client in node1.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sdpdev.h>

#include "tap.h"

#define SERVER_NS	"/run/netns/node2"
#define CLIENT_NS	"/run/netns/node1"
#define SERVER_ADDR	"10.77.0.2"
#define RING		(64U << 10)
#define LONG		(4U << 20)	/* bytes of a long stream */

static struct sockaddr_in server_addr;

static void enter_ns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd >= 0);
	must(!setns(fd, CLONE_NEWNET));
	close(fd);
}

static int listener(void)
{
	socklen_t len = sizeof(server_addr);
	int fd;

	enter_ns(SERVER_NS);
	fd = sdp_socket(AF_INET, SOCK_CLOEXEC);
	must(fd >= 0);
	server_addr.sin_port = 0;
	must(!sdp_bind(fd, (struct sockaddr *)&server_addr, sizeof(server_addr)));
	must(!sdp_listen(fd, 5));
	must(!sdp_getsockname(fd, (struct sockaddr *)&server_addr, &len));
	enter_ns(CLIENT_NS);
	return fd;
}

static int client(unsigned int flags)
{
	int fd = sdp_socket(AF_INET, SOCK_CLOEXEC);

	must(fd >= 0);
	must(!sdp_connect(fd, (struct sockaddr *)&server_addr, sizeof(server_addr),
			  flags));
	return fd;
}

/* A connection over SDP: [0] the client's end, [1] the server's. */
static void connected(int pair[2])
{
	int l = listener();

	pair[0] = client(SDP_CONNECT_NO_TCP);
	pair[1] = sdp_accept(l, NULL, NULL, SOCK_CLOEXEC);
	must(pair[1] >= 0);
	close(l);
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

static void calls(void)
{
	struct sdp_info info, accepted;
	struct pollfd urgent = { .events = POLLPRI };
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);
	char back[8];
	int p[2], one = 1;

	ok(sdp_socket(AF_INET, 1) < 0 && errno == EINVAL, "sdp_socket: unknown flags");
	ok(sdp_socket(AF_UNIX, 0) < 0 && errno == EAFNOSUPPORT,
	   "sdp_socket: another family");
	ok(sdp_info(0, &info) < 0 && errno == ENOTTY, "sdp_info: not an endpoint");

	connected(p);
	ok(!sdp_info(p[0], &info) && info.state == SDP_STATE_CONNECTED &&
	   info.carrier == SDP_CARRIER_SDP && info.family == AF_INET,
	   "sdp_info: connected over SDP");
	ok(!sdp_info(p[1], &accepted) && accepted.carrier == SDP_CARRIER_SDP &&
	   !memcmp(&accepted.peer, &info.local, sizeof(addr)) &&
	   !memcmp(&accepted.local, &info.peer, sizeof(addr)),
	   "sdp_info: each end's peer is the other's name");
	ok(!sdp_getpeername(p[0], (struct sockaddr *)&addr, &len) &&
	   !memcmp(&addr, &server_addr, sizeof(addr)), "sdp_getpeername");
	ok(sdp_send(p[0], "bytes", 5, 0) == 5 &&
	   sdp_recv(p[1], back, 5, MSG_WAITALL) == 5 && !memcmp(back, "bytes", 5),
	   "sdp_send and sdp_recv");
	ok(!sdp_info(p[0], &info) && info.tx_bytes == 5 && info.tx_msgs > 0 &&
	   !sdp_info(p[1], &accepted) && accepted.rx_bytes == 5 && accepted.rx_msgs > 0,
	   "sdp_info: bytes and messages are counted");
	urgent.fd = p[1];
	ok(sdp_send(p[0], "x", 1, MSG_OOB) == 1 && poll(&urgent, 1, 5000) == 1 &&
	   sdp_recv(p[1], back, 1, MSG_OOB) == 1 && *back == 'x', "MSG_OOB over SDP");
	ok(sdp_send(p[0], "x", 1, MSG_PROXY) < 0 && errno == EOPNOTSUPP &&
	   sdp_recv(p[0], back, 1, MSG_PROXY) < 0 && errno == EOPNOTSUPP,
	   "flags that SDP does not know");
	ok(sdp_setsockopt(p[0], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)) < 0 &&
	   errno == EOPNOTSUPP, "SO_ZEROCOPY is not supported over SDP");
	ok(!sdp_shutdown(p[0], SHUT_WR) && sdp_recv(p[1], back, 1, 0) == 0,
	   "sdp_shutdown");
	close_pair(p);
}

/* Bytes that go with the request to connect. */
static void fast_open(void)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	struct iovec iov = { .iov_base = "first", .iov_len = 5 };
	struct msghdr msg = {
		.msg_name = &nowhere, .msg_namelen = sizeof(nowhere),
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	int l = listener(), c = sdp_socket(AF_INET, 0), s;
	struct pollfd out = { .events = POLLOUT };
	struct sdp_info info;
	char back[8];

	ok(sdp_sendmsg(c, &msg, MSG_FASTOPEN) < 0 && errno == EOPNOTSUPP,
	   "MSG_FASTOPEN to nowhere");
	msg.msg_name = &server_addr;
	msg.msg_namelen = sizeof(server_addr);
	ok(sdp_sendmsg(c, &msg, MSG_FASTOPEN) == 5, "MSG_FASTOPEN connects and sends");
	s = sdp_accept(l, NULL, NULL, 0);
	ok(s >= 0 && sdp_recv(s, back, 5, MSG_WAITALL) == 5 && !memcmp(back, "first", 5),
	   "what it sent arrives");
	ok(!sdp_info(c, &info) && info.carrier == SDP_CARRIER_SDP, "over SDP");
	ok(sdp_sendmsg(c, &msg, MSG_FASTOPEN) < 0 && errno == EISCONN,
	   "MSG_FASTOPEN of a connection");
	close(c);
	close(s);

	c = sdp_socket(AF_INET, 0);
	ok(sdp_sendmsg(c, &msg, MSG_FASTOPEN | MSG_DONTWAIT) < 0 && errno == EINPROGRESS,
	   "MSG_FASTOPEN does not wait if it may not");
	out.fd = c;
	s = sdp_accept(l, NULL, NULL, 0);
	ok(s >= 0 && poll(&out, 1, 60000) == 1 && out.revents == POLLOUT, "but connects");
	close(c);
	close(s);
	close(l);
}

static void carriers(void)
{
	int l = listener(), c = client(SDP_CONNECT_NO_SDP), s, plain;
	struct iovec iov = { .iov_base = "ctl", .iov_len = 3 };
	char back[8], control[64];
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pollfd urgent = { .events = POLLPRI };
	socklen_t len = sizeof(server_addr);
	struct sdp_info info;

	ok(!sdp_info(c, &info) && info.carrier == SDP_CARRIER_TCP,
	   "SDP_CONNECT_NO_SDP: connected over TCP");
	s = sdp_accept(l, NULL, NULL, 0);
	urgent.fd = s;
	ok(s >= 0 && sdp_info(s, &info) < 0 && errno == ENOTTY,
	   "sdp_accept gives a socket for a connection over TCP");
	ok(sdp_send(c, "tcp", 3, 0) == 3 && recv(s, back, 3, MSG_WAITALL) == 3 &&
	   send(s, "pct", 3, 0) == 3 && sdp_recv(c, back, 3, MSG_WAITALL) == 3 &&
	   !memcmp(back, "pct", 3), "bytes both ways over TCP");
	ok(!sdp_info(c, &info) && !info.tx_bytes && !info.rx_bytes,
	   "none of which is counted as SDP's");
	ok(sdp_send(c, "!", 1, MSG_OOB) == 1 && poll(&urgent, 1, 5000) == 1 &&
	   recv(s, back, 1, MSG_OOB) == 1 && *back == '!',
	   "MSG_OOB over TCP is the native socket's");
	ok(sdp_sendmsg(c, &msg, 0) == 3 && recv(s, back, 3, MSG_WAITALL) == 3 &&
	   send(s, "abc", 3, 0) == 3, "sdp_sendmsg over TCP");
	iov = (struct iovec){ .iov_base = back, .iov_len = 3 };
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	ok(sdp_recvmsg(c, &msg, MSG_WAITALL) == 3 && !memcmp(back, "abc", 3) &&
	   !msg.msg_controllen, "sdp_recvmsg with room for control messages over TCP");
	close(s);
	close(c);
	close(l);

	enter_ns(SERVER_NS);
	plain = socket(AF_INET, SOCK_STREAM, 0);
	must(plain >= 0);
	server_addr.sin_port = 0;
	must(!bind(plain, (struct sockaddr *)&server_addr, sizeof(server_addr)));
	must(!listen(plain, 5));
	must(!getsockname(plain, (struct sockaddr *)&server_addr, &len));
	enter_ns(CLIENT_NS);
	c = sdp_socket(AF_INET, 0);
	ok(sdp_connect(c, (struct sockaddr *)&server_addr, sizeof(server_addr),
		       SDP_CONNECT_NO_TCP) < 0 && errno == ECONNREFUSED,
	   "SDP_CONNECT_NO_TCP: refused where nobody listens on SDP");
	close(c);
	c = client(0);
	ok(!sdp_info(c, &info) && info.carrier == SDP_CARRIER_TCP &&
	   info.reason == SDP_REASON_REFUSED, "without it: over TCP, with the reason");
	close(c);
	close(plain);
}

/* --- rings ---------------------------------------------------------------- */

static unsigned char pattern(size_t i)
{
	return i * 167 >> 5 ^ i;
}

static void ring_errors(void)
{
	struct sockaddr apart = { .sa_family = AF_UNSPEC };
	struct sdp_rings r, again;
	char c, text[5];
	int p[2], fresh = sdp_socket(AF_INET, 0), l, over_tcp;

	ok(sdp_ring_attach(fresh, RING, RING, &r) < 0 && errno == ENOTCONN,
	   "sdp_ring_attach: not connected");
	close(fresh);
	l = listener();
	over_tcp = client(SDP_CONNECT_NO_SDP);
	ok(sdp_ring_attach(over_tcp, RING, RING, &r) < 0 && errno == EOPNOTSUPP,
	   "sdp_ring_attach: over TCP");
	close(over_tcp);
	close(l);

	connected(p);
	ok(sdp_ring_map(p[0], &r) < 0 && errno == ENXIO, "sdp_ring_map: no rings");
	ok(sdp_ring_attach(p[0], 5000, RING, &r) < 0 && errno == EINVAL,
	   "sdp_ring_attach: not a power of two");
	ok(sdp_ring_attach(p[0], RING, SDP_RING_MIN / 2, &r) < 0 && errno == EINVAL,
	   "sdp_ring_attach: too small");
	ok(sdp_ring_attach(p[0], SDP_RING_MAX * 2, RING, &r) < 0 && errno == EINVAL,
	   "sdp_ring_attach: too large");
	ok(!sdp_ring_attach(p[0], RING, RING * 2, &r), "sdp_ring_attach");
	ok(sdp_ring_attach(p[0], RING, RING, &again) < 0 && errno == EEXIST,
	   "sdp_ring_attach: it has rings");
	ok(!sdp_ring_map(p[0], &again) && again.tx_bytes == RING &&
	   again.rx_bytes == RING * 2 && again.data_offset == r.data_offset,
	   "sdp_ring_map: the same sizes");
	ok(!sdp_ring_detach(&again), "sdp_ring_detach");

	ok(sdp_ring_recv(&r, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN,
	   "sdp_ring_recv: nothing there");
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	ok(sdp_ring_recv(&r, &c, 1, 0) < 0 && errno == EAGAIN,
	   "sdp_ring_recv: nothing there, O_NONBLOCK");
	fcntl(p[0], F_SETFL, 0);
	must(write(p[1], "z", 1) == 1 && !sdp_shutdown(p[1], SHUT_WR));
	ok(sdp_ring_recv(&r, &c, 1, 0) == 1 && c == 'z' &&
	   sdp_ring_recv(&r, &c, 1, 0) == 0, "sdp_ring_recv: the end of the stream");
	must(!sdp_ring_detach(&r));
	close_pair(p);

	/* As recv() does over TCP. */
	connected(p);
	must(!sdp_ring_attach(p[0], RING, RING, &r));
	must(sdp_send(p[1], "abc!", 4, MSG_OOB) == 4 && sdp_send(p[1], "de", 2, 0) == 2);
	ok(sdp_ring_recv(&r, text, 5, MSG_WAITALL) == 3 && !memcmp(text, "abc", 3),
	   "sdp_ring_recv: MSG_WAITALL stops at the mark of urgent data");
	ok(sdp_ring_recv(&r, text, 2, MSG_WAITALL) == 2 && !memcmp(text, "de", 2),
	   "sdp_ring_recv: and goes on behind it");
	ok(!sdp_connect(p[0], &apart, sizeof(apart), 0) && (r.tx->flags & SDP_RING_ERROR),
	   "sdp_connect: taken apart, and the rings with it");
	must(!sdp_ring_detach(&r));
	close_pair(p);

	connected(p);
	must(!sdp_ring_attach(p[0], RING, RING, &r));
	must(!sdp_shutdown(p[0], SHUT_WR));
	ok(sdp_ring_send(&r, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE,
	   "sdp_ring_send: shut");
	must(write(p[1], "y", 1) == 1);
	ok(sdp_ring_recv(&r, &c, 1, 0) == 1 && c == 'y',
	   "sdp_ring_recv: the other half still carries");
	must(!sdp_ring_detach(&r));
	close_pair(p);
}

static void ring_reset(void)
{
	struct linger now = { .l_onoff = 1 };
	struct sdp_rings r;
	int p[2];
	char c;

	connected(p);
	must(!sdp_ring_attach(p[0], RING, RING, &r));
	must(!sdp_setsockopt(p[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	close(p[1]);
	ok(sdp_ring_recv(&r, &c, 1, 0) < 0 && errno == ECONNRESET,
	   "sdp_ring_recv: reset by the peer");
	ok(sdp_ring_recv(&r, &c, 1, 0) == 0, "sdp_ring_recv: afterwards the end");
	ok(sdp_ring_send(&r, &c, 1, MSG_NOSIGNAL) < 0 && errno == EPIPE,
	   "sdp_ring_send: reset by the peer");
	must(!sdp_ring_detach(&r));
	close(p[0]);
}

/* An index out of range costs the connection, and says so. */
static void ring_scribble(void)
{
	struct sdp_rings r;
	struct sdp_info info;
	int p[2];
	char c;

	connected(p);
	must(!sdp_ring_attach(p[0], RING, RING, &r));
	r.tx->tail = r.tx->head + RING + 1;
	ok(sdp_ring_send(&r, "x", 1, 0) < 0 && errno == EPROTO,
	   "sdp_ring_send: impossible indices");
	ok(write(p[0], "x", 1) < 0 && !sdp_info(p[0], &info) &&
	   info.reason == SDP_REASON_RING, "the kernel ends the connection and says why");
	ok(sdp_recv(p[1], &c, 1, 0) < 0 && errno == ECONNRESET, "the peer is reset");
	must(!sdp_ring_detach(&r));
	close_pair(p);
}

struct end {
	int fd;
	struct sdp_rings rings;
	bool mixed;	/* both doors in turn */
	unsigned long wrong;
};

static void *send_long(void *arg)
{
	unsigned char buf[7919];
	struct end *end = arg;
	size_t i, n, done = 0;
	unsigned int turn = 0;
	ssize_t ret;

	while (done < LONG) {
		n = 1 + done * 31 % sizeof(buf);
		if (n > LONG - done)
			n = LONG - done;
		for (i = 0; i < n; i++)
			buf[i] = pattern(done + i);
		if (end->mixed && turn++ % 3 == 0)
			ret = write(end->fd, buf, n);
		else
			ret = sdp_ring_send(&end->rings, buf, n, 0);
		if (ret <= 0) {
			end->wrong++;
			break;
		}
		done += ret;
	}
	return NULL;
}

static void *recv_long(void *arg)
{
	unsigned char buf[6151];
	struct end *end = arg;
	unsigned int turn = 0;
	size_t done = 0;
	ssize_t i, n;

	while (done < LONG) {
		if (end->mixed && turn++ % 3 == 0)
			n = read(end->fd, buf, sizeof(buf));
		else
			n = sdp_ring_recv(&end->rings, buf, sizeof(buf), 0);
		if (n <= 0) {
			end->wrong++;
			break;
		}
		for (i = 0; i < n; i++)
			end->wrong += buf[i] != pattern(done + i);
		done += n;
	}
	return NULL;
}

static void ring_stream(const char *name, bool mixed)
{
	struct end ends[2] = { { .mixed = mixed }, { .mixed = mixed } };
	pthread_t threads[4];
	int i, p[2];

	connected(p);
	for (i = 0; i < 2; i++) {
		ends[i].fd = p[i];
		must(!sdp_ring_attach(p[i], RING, RING, &ends[i].rings));
	}
	for (i = 0; i < 2; i++) {
		must(!pthread_create(&threads[i], NULL, send_long, &ends[i]));
		must(!pthread_create(&threads[2 + i], NULL, recv_long, &ends[i]));
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(!ends[0].wrong && !ends[1].wrong, "%s", name);
	for (i = 0; i < 2; i++)
		must(!sdp_ring_detach(&ends[i].rings));
	close_pair(p);
}

#define ROUND_BYTES	(4 * SDP_RING_MIN)

/* Reads each round by system calls and says that it came. */
static void *recv_rounds(void *arg)
{
	unsigned char buf[ROUND_BYTES];
	struct end *end = arg;
	size_t done = 0;
	ssize_t i, n;

	while ((n = read(end->fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n; i++)
			end->wrong += buf[i] != pattern(done + i);
		done += n;
		if (!(done % ROUND_BYTES))
			must(write(end->fd, "", 1) == 1);
	}
	return NULL;
}

/*
 * Who reads by a call looks into the ring, where he finds one byte, looks again, and
 * then at what had no room there.  Before that comes what is more than the ring holds:
 * the pause is for a kernel in which each look takes 2 ms longer.
 */
static void ring_between(void)
{
	unsigned char buf[ROUND_BYTES];
	struct end end = { 0 };
	pthread_t thread;
	unsigned int i, round;
	int p[2];

	connected(p);
	end.fd = p[1];
	must(!sdp_ring_attach(p[1], SDP_RING_MIN, SDP_RING_MIN, &end.rings));
	must(!pthread_create(&thread, NULL, recv_rounds, &end));
	for (round = 0; round < 50; round++) {
		for (i = 0; i < ROUND_BYTES; i++)
			buf[i] = pattern(round * ROUND_BYTES + i);
		must(write(p[0], buf, 1) == 1);
		usleep(3000);
		must(write(p[0], buf + 1, ROUND_BYTES - 1) == ROUND_BYTES - 1);
		must(read(p[0], buf, 1) == 1);
	}
	must(!sdp_shutdown(p[0], SHUT_WR));
	pthread_join(thread, NULL);
	ok(!end.wrong, "what comes between a look into the ring and one behind it");
	must(!sdp_ring_detach(&end.rings));
	close_pair(p);
}

/* Reads what is before the mark of urgent data, and then what is behind it. */
static void *recv_marks(void *arg)
{
	struct end *end = arg;
	char buf[8];

	while (read(end->fd, buf, sizeof(buf)) == 1 && buf[0] == 'a' &&
	       read(end->fd, buf, sizeof(buf)) == 1 && buf[0] == 'c') {
		end->wrong--;
		must(write(end->fd, "", 1) == 1);
	}
	sdp_shutdown(end->fd, SHUT_RDWR);
	return NULL;
}

/* The same for urgent data: no call goes across the mark, be it that it comes late. */
static void ring_mark(void)
{
	struct end end = { .wrong = 20 };
	unsigned long left = end.wrong;
	pthread_t thread;
	char back;
	int p[2];

	connected(p);
	end.fd = p[1];
	must(!sdp_ring_attach(p[1], SDP_RING_MIN, SDP_RING_MIN, &end.rings));
	must(!pthread_create(&thread, NULL, recv_marks, &end));
	while (left-- && write(p[0], "a", 1) == 1) {
		usleep(3000);
		if (sdp_send(p[0], "b", 1, MSG_OOB) != 1 || write(p[0], "c", 1) != 1 ||
		    read(p[0], &back, 1) != 1)
			break;
	}
	sdp_shutdown(p[0], SHUT_WR);
	pthread_join(thread, NULL);
	ok(!end.wrong, "urgent data that comes between a look into the ring and one behind it");
	must(!sdp_ring_detach(&end.rings));
	close_pair(p);
}

/* The child knows the descriptor's number and no more. */
static void ring_forked(void)
{
	struct sdp_rings r, mine;
	char back[8];
	int p[2], status;
	pid_t child;

	connected(p);
	must(!sdp_ring_attach(p[0], RING, RING, &r));
	must(sdp_ring_send(&r, "par", 3, 0) == 3);
	child = fork();
	must(child >= 0);
	if (!child) {
		if (sdp_ring_map(p[0], &mine) || sdp_ring_send(&mine, "ent", 3, 0) != 3 ||
		    sdp_ring_recv(&mine, back, 5, MSG_WAITALL) != 5 ||
		    memcmp(back, "child", 5))
			_exit(1);
		_exit(0);
	}
	ok(sdp_recv(p[1], back, 6, MSG_WAITALL) == 6 && !memcmp(back, "parent", 6),
	   "a child sends by the same rings");
	must(sdp_send(p[1], "child", 5, 0) == 5);
	must(waitpid(child, &status, 0) == child);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "and receives by them");
	must(!sdp_ring_detach(&r));
	close_pair(p);
}

int main(void)
{
	server_addr.sin_family = AF_INET;
	must(inet_pton(AF_INET, SERVER_ADDR, &server_addr.sin_addr) == 1);
	signal(SIGPIPE, SIG_IGN);
	/* A busy machine takes its time; it is for what hangs. */
	alarm(400);

	tap_plan(58);
	calls();
	fast_open();
	carriers();
	ring_errors();
	ring_reset();
	ring_scribble();
	ring_stream("rings carry a long stream both ways at once", false);
	ring_stream("rings and system calls mixed carry it too", true);
	ring_between();
	ring_mark();
	ring_forked();
	return tap_exit();
}
