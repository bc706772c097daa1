// SPDX-License-Identifier: GPL-2.0
/*
 * Many connections at once, whose directions move and come back at random moments, with bytes
 * that are looked at: by edge-triggered epoll, in all sizes, with peeks, half-closes, urgent
 * bytes, splice(2), io_uring, rings, and children that go on with their parent's connection.
 *
 *	storm CONNECTIONS SECONDS [tcp]
 *
 * The last word leaves out the ULP and the rings: what fails then, the program or TCP has done.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/sdp_sock.h>
#include <linux/tcp.h>
#include <liburing.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sdpdev.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/random.h"
#include "../lib/tap.h"

#define WORKERS		2
#define CHUNK		(1 << 17)
#define LISTENERS	8
/* So many ends at a time, and steps until the next one is among them. */
#define BUSY		64
#define BUSY_STEPS	6
/* For all ends to come; the checked kernel is slow. */
#define FINISH_SECONDS	300
/* One of so many sends is urgent, which keeps its direction with TCP for good. */
#define URGENT		20000
/* One of so many steps is a child's, and one opens rings. */
#define FORKS		3000
#define RINGS		3000
/* Bytes that a pipe takes. */
#define PIPE		(1 << 16)

/**
 * struct end - one end of a connection; a worker has both
 * @fd: its socket
 * @peer: the other end
 * @fast: its rings, or NULL
 * @seed: makes the bytes that it sends
 * @out: bytes that it has sent
 * @in: bytes that it has received
 * @last: it sends so many, and FIN; 0 if it is not yet known
 * @shut: it has sent FIN
 * @full: the last send found no room
 * @ended: it has seen FIN
 */
struct end {
	int fd;
	struct end *peer;
	struct sdp_fast *fast;
	uint32_t seed;
	uint64_t out;
	uint64_t in;
	uint64_t last;
	bool shut;
	bool full;
	bool ended;
};

struct worker {
	pthread_t thread;
	struct end *ends;
	unsigned int count;
	unsigned int seed;
	unsigned int live;
	uint64_t bytes;
	uint64_t piped;
	uint64_t moves;
	unsigned int children;
	unsigned int rings;
	unsigned int urgent;
	unsigned int late;
	struct io_uring uring;
	int pipe[2];
	int ep;
};

/* In memory that children share, as the ends are. */
static struct worker *workers;
static unsigned int *mistakes;
/* This process has been forked: the rings are its parent's. */
static bool child;
static struct sockaddr_in listening[LISTENERS];
static int listeners[LISTENERS];
static bool stop;
static bool plain;

static void mistake(const char *what, const struct end *e, long a, long b)
{
	if (__atomic_fetch_add(mistakes, 1, __ATOMIC_RELAXED) < 20)
		printf("# %s: out %llu, in %llu, errno %d: %ld, %ld\n", what,
		       (unsigned long long)e->out, (unsigned long long)e->in, errno, a, b);
}

/* Words that no other place of the stream has, nor another stream. */
static uint32_t word_at(uint32_t seed, uint64_t index)
{
	uint32_t x = (uint32_t)index * 2654435761u ^ seed;

	return x ^ x >> 15;
}

static void fill(char *bytes, uint32_t seed, uint64_t pos, size_t n)
{
	uint32_t word = word_at(seed, pos / 4);
	size_t i;

	for (i = 0; i < n; i++, pos++) {
		if (!(pos & 3))
			word = word_at(seed, pos / 4);
		bytes[i] = word >> (8 * (pos & 3));
	}
}

static void look(const struct end *e, const char *bytes, size_t n)
{
	static __thread char right[CHUNK];
	size_t i;

	fill(right, e->peer->seed, e->in, n);
	if (!memcmp(right, bytes, n))
		return;
	for (i = 0; bytes[i] == right[i]; i++)
		;
	mistake("wrong byte", e, i, n);
}

static unsigned int number(struct worker *w, unsigned int below)
{
	return random32(&w->seed) % below;
}

/* Mostly small ones. */
static size_t size(struct worker *w)
{
	static const unsigned int most[] = { 1, 16, 300, 300, 5000, 5000, 70000, CHUNK };

	return 1 + number(w, most[number(w, 8)]);
}

static int by_uring(struct worker *w)
{
	struct io_uring_cqe *cqe;
	int ret;

	must(io_uring_submit(&w->uring) == 1 && !io_uring_wait_cqe(&w->uring, &cqe));
	ret = cqe->res;
	io_uring_cqe_seen(&w->uring, cqe);
	if (ret < 0)
		errno = -ret;
	return ret < 0 ? -1 : ret;
}

/* What the socket does not take of the pipe is thrown away. */
static ssize_t send_spliced(struct worker *w, const struct end *e, const char *bytes, size_t n)
{
	static __thread char rest[PIPE];
	ssize_t ret, left = n < PIPE ? n : PIPE;
	int error;

	must(write(w->pipe[1], bytes, left) == left);
	must(!fcntl(e->fd, F_SETFL, O_NONBLOCK));
	ret = splice(w->pipe[0], NULL, e->fd, NULL, left, SPLICE_F_NONBLOCK);
	error = errno;
	must(!fcntl(e->fd, F_SETFL, 0));
	left -= ret > 0 ? ret : 0;
	must(!left || read(w->pipe[0], rest, left) == left);
	errno = error;
	return ret;
}

static ssize_t send_by(struct worker *w, const struct end *e, const char *bytes, size_t n)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (number(w, 8) ? 0 : MSG_MORE);

	if (e->fast && !child)
		return sdp_fast_send(e->fast, bytes, n, flags);
	if (!number(w, URGENT)) {
		w->urgent++;
		return send(e->fd, bytes, 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (!number(w, 10))
		return send_spliced(w, e, bytes, n);
	if (child || number(w, 10))
		return send(e->fd, bytes, n, flags);
	io_uring_prep_send(io_uring_get_sqe(&w->uring), e->fd, bytes, n, flags);
	return by_uring(w);
}

static void send_some(struct worker *w, struct end *e)
{
	static __thread char bytes[CHUNK];
	size_t n = size(w);
	ssize_t ret;

	if (e->shut)
		return;
	if (e->last && e->out + n > e->last)
		n = e->last - e->out;
	if (n) {
		fill(bytes, e->seed, e->out, n);
		ret = send_by(w, e, bytes, n);
		if (ret < 0 && errno != EAGAIN)
			mistake("send", e, ret, n);
		e->full = ret < (ssize_t)n;
		if (ret > 0)
			e->out += ret;
	}
	if (e->last && e->out == e->last) {
		if (shutdown(e->fd, SHUT_WR))
			mistake("shutdown", e, 0, 0);
		e->shut = true;
	}
}

/* What has been sent comes, so a call may wait for it: 0 says nothing of the end. */
static ssize_t wait_for(struct worker *w, const struct end *e, char *bytes, size_t most)
{
	uint64_t due = e->peer->out - e->in;
	size_t n = due < most ? due : most;
	ssize_t ret;

	if (!n)
		return 0;
	if (number(w, 2))
		return recv(e->fd, bytes, n, MSG_WAITALL);
	ret = splice(e->fd, NULL, w->pipe[1], NULL, n < PIPE ? n : PIPE, 0);
	if (ret > 0)
		must(read(w->pipe[0], bytes, ret) == ret);
	return ret;
}

static ssize_t receive_by(struct worker *w, const struct end *e, char *bytes)
{
	size_t n = number(w, 3) ? CHUNK : size(w);
	ssize_t ret;

	if (e->fast && !child)
		return sdp_fast_recv(e->fast, bytes, n, MSG_DONTWAIT);
	ret = number(w, 30) ? 0 : wait_for(w, e, bytes, n);
	if (ret)
		return ret;
	if (child || number(w, 10))
		return recv(e->fd, bytes, n, MSG_DONTWAIT);
	io_uring_prep_recv(io_uring_get_sqe(&w->uring), e->fd, bytes, n, MSG_DONTWAIT);
	return by_uring(w);
}

/* All that there is, as a program has to with edges. */
static void receive(struct worker *w, struct end *e)
{
	static __thread char bytes[CHUNK];
	ssize_t n, peeked;

	for (;;) {
		peeked = number(w, 6) ? 0 : recv(e->fd, bytes, size(w), MSG_PEEK | MSG_DONTWAIT);
		if (peeked > 0)
			look(e, bytes, peeked);
		n = receive_by(w, e, bytes);
		if (n <= 0)
			break;
		look(e, bytes, n);
		e->in += n;
		w->bytes += n;
	}
	if (!n && !e->ended) {
		e->ended = true;
		w->live--;
		if (e->in != e->peer->out || !e->peer->shut)
			mistake("end", e, e->peer->out, e->peer->shut);
	} else if (n < 0 && errno != EAGAIN) {
		mistake("recv", e, n, 0);
	}
}

/* What makes the gate change its mind. */
static void meddle(struct worker *w, struct end *e)
{
	uint64_t rate = number(w, 2) ? ~0ull : 1ull << 40;
	int low = 1 + number(w, 2);

	switch (number(w, 3)) {
	case 0:
		setsockopt(e->fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate));
		break;
	case 1:
		low = number(w, 2);
		setsockopt(e->fd, SOL_SOCKET, SO_TIMESTAMP, &low, sizeof(low));
		break;
	default:
		if (number(w, 500) == 0 && !e->last)
			e->last = e->out + number(w, 100000);
	}
}

/* A child goes on with a connection, and this process after it. */
static void by_child(struct worker *w, struct end *e)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		child = true;
		send_some(w, e);
		receive(w, e->peer);
		_exit(0);
	}
	must(waitpid(pid, NULL, 0) == pid);
	w->children++;
}

static void step(struct worker *w, struct end *e)
{
	if (!number(w, 10))
		meddle(w, e);
	if (!number(w, FORKS))
		by_child(w, e);
	/* Not before it has moved. */
	if (!plain && !e->fast && !number(w, RINGS))
		e->fast = sdp_fast_open(e->fd, 0);
	send_some(w, e);
}

static int error_of(const struct end *e)
{
	socklen_t len = sizeof(int);
	int err = 0;

	getsockopt(e->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	return err;
}

static void events(struct worker *w, int ms)
{
	struct epoll_event ev[64];
	int i, n = epoll_wait(w->ep, ev, 64, ms);

	for (i = 0; i < n; i++) {
		struct end *e = ev[i].data.ptr;

		if (ev[i].events & (EPOLLIN | EPOLLRDHUP))
			receive(w, e);
		if (ev[i].events & EPOLLOUT && e->full)
			send_some(w, e);
		/* The last acknowledgment was lost: no byte was. */
		if (ev[i].events & EPOLLERR && e->ended && e->shut)
			w->late++;
		else if (ev[i].events & EPOLLERR)
			mistake("error", e, ev[i].events, error_of(e));
	}
}

static void watch(struct worker *w)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET };
	unsigned int i;

	w->ep = epoll_create1(EPOLL_CLOEXEC);
	must(w->ep >= 0);
	for (i = 0; i < w->count; i++) {
		ev.data.ptr = &w->ends[i];
		must(!epoll_ctl(w->ep, EPOLL_CTL_ADD, w->ends[i].fd, &ev));
	}
	w->live = w->count;
	must(!pipe2(w->pipe, O_CLOEXEC) && !io_uring_queue_init(4, &w->uring, 0));
}

static void tell(struct worker *w, struct end *e)
{
	struct sdp_sock_info info = {};
	socklen_t len = sizeof(info);

	must(plain || !getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &info, &len));
	w->piped += info.rx_bytes;
	w->moves += info.moves;
	w->rings += !!e->fast;
	if (e->fast)
		sdp_fast_close(e->fast);
	close(e->fd);
}

/* Where is what it waits for? */
static void no_end(const struct end *e)
{
	struct sdp_sock_info mine = {}, other = {};
	socklen_t len = sizeof(mine);
	struct tcp_info tcp = {};
	int have = -1;

	mistake("no end", e, e->peer->out, e->peer->shut);
	ioctl(e->fd, FIONREAD, &have);
	getsockopt(e->fd, IPPROTO_SDP, SDP_SOCK_INFO, &mine, &len);
	len = sizeof(other);
	getsockopt(e->peer->fd, IPPROTO_SDP, SDP_SOCK_INFO, &other, &len);
	len = sizeof(tcp);
	getsockopt(e->peer->fd, IPPROTO_TCP, TCP_INFO, &tcp, &len);
	printf("# %d to read, stays %s; the peer stays %s, state %d\n", have, mine.stay,
	       other.stay, tcp.tcpi_state);
	printf("# its TCP: unacked %u, notsent %u, rto %u, retransmits %u\n", tcp.tcpi_unacked,
	       tcp.tcpi_notsent_bytes, tcp.tcpi_rto, tcp.tcpi_retransmits);
}

/* Each end says goodbye, and reads to the end. */
static void finish(struct worker *w)
{
	time_t end = time(NULL) + FINISH_SECONDS;
	unsigned int i;

	for (i = 0; i < w->count; i++)
		if (!w->ends[i].last)
			w->ends[i].last = w->ends[i].out + 1 + number(w, 1000);
	while (w->live && time(NULL) < end) {
		for (i = 0; i < w->count; i++)
			send_some(w, &w->ends[i]);
		events(w, 20);
	}
	for (i = 0; i < w->count; i++)
		if (!w->ends[i].ended)
			no_end(&w->ends[i]);
	for (i = 0; i < w->count; i++)
		tell(w, &w->ends[i]);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int i;

	watch(w);
	/* Some ends are busy for a while, then others. */
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		step(w, &w->ends[(i / BUSY_STEPS + number(w, BUSY)) % w->count]);
		events(w, 0);
	}
	finish(w);
	return NULL;
}

static int ulp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(fd >= 0 && (plain || !setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3)));
	return fd;
}

static void listen_all(void)
{
	socklen_t len = sizeof(listening[0]);
	int i;

	for (i = 0; i < LISTENERS; i++) {
		listening[i].sin_family = AF_INET;
		listening[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		listeners[i] = ulp();
		must(!bind(listeners[i], (struct sockaddr *)&listening[i], len));
		must(!listen(listeners[i], 8));
		must(!getsockname(listeners[i], (struct sockaddr *)&listening[i], &len));
	}
}

static void inline_urgent(const struct end *e)
{
	int one = 1;

	must(!setsockopt(e->fd, SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one)));
}

static void connect_one(struct end *a, struct end *b, unsigned int i)
{
	unsigned int l = i % LISTENERS;

	*a = (struct end){ .fd = ulp(), .peer = b, .seed = 2 * i * 0x9e3779b9u };
	must(!connect(a->fd, (struct sockaddr *)&listening[l], sizeof(listening[l])));
	*b = (struct end){ .fd = accept4(listeners[l], NULL, NULL, SOCK_CLOEXEC), .peer = a,
			   .seed = (2 * i + 1) * 0x9e3779b9u };
	must(b->fd >= 0);
	inline_urgent(a);
	inline_urgent(b);
}

static void *shared(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(at != MAP_FAILED);
	return at;
}

static void connect_all(unsigned int n)
{
	struct rlimit limit = { 2 * n + 200, 2 * n + 200 };
	unsigned int i, j, each = n / WORKERS;

	must(!setrlimit(RLIMIT_NOFILE, &limit));
	for (i = 0; i < WORKERS; i++) {
		workers[i].ends = shared(2 * each * sizeof(struct end));
		workers[i].count = 2 * each;
		workers[i].seed = 1 + i;
		for (j = 0; j < each; j++)
			connect_one(&workers[i].ends[2 * j], &workers[i].ends[2 * j + 1],
				    i * each + j);
	}
}

/* Now and then somebody captures on the device, which brings everything back. */
static void pass_time(int seconds)
{
	time_t end = time(NULL) + seconds;
	int fd;

	while (time(NULL) < end) {
		usleep(700000);
		fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
		must(fd >= 0);
		usleep(50000);
		close(fd);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
}

static void add_up(struct worker *sum, const struct worker *w)
{
	sum->bytes += w->bytes;
	sum->piped += w->piped;
	sum->moves += w->moves;
	sum->children += w->children;
	sum->rings += w->rings;
	sum->urgent += w->urgent;
	sum->late += w->late;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? atoi(argv[1]) : 100;
	struct worker sum = {};
	int i;

	plain = argc > 3;
	tap_plan(plain ? 1 : 2);
	workers = shared(WORKERS * sizeof(*workers));
	mistakes = shared(sizeof(*mistakes));
	listen_all();
	connect_all(n);
	for (i = 0; i < WORKERS; i++)
		must(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	pass_time(argc > 2 ? atoi(argv[2]) : 5);
	for (i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		add_up(&sum, &workers[i]);
	}
	printf("# %llu KiB, %llu KiB of them by pipes, %llu moves\n",
	       (unsigned long long)sum.bytes >> 10, (unsigned long long)sum.piped >> 10,
	       (unsigned long long)sum.moves);
	printf("# %u children, %u ends with rings, %u urgent sends, %u errors behind all ends\n",
	       sum.children, sum.rings, sum.urgent, sum.late);
	ok(!*mistakes, "%u connections: every byte, every end", n);
	if (!plain)
		ok(sum.piped > sum.bytes / 10 && sum.piped < sum.bytes && sum.moves > n / 2,
		   "they moved and came back");
	return tap_exit();
}
