// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_IOC_REPLACE: the native socket takes the endpoint's place where TCP carries the
 * connection, with nothing lost, and where something hangs on the endpoint's file
 * nothing happens.
 */
#include "end.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOPBACK	"127.0.0.1"

static char buf[16];
static int server, port = 23100;

static int replace_fd(int fd, int which)
{
	struct sdp_replace arg = { .size = sizeof(arg), .fd = which };

	return ioctl(fd, SDP_IOC_REPLACE, &arg);
}

static int replace(int fd)
{
	return replace_fd(fd, fd);
}

static bool fails(int ret, int error)
{
	return ret == -1 && errno == error;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* An endpoint that TCP has connected to @server, which accepts it as @end[1]. */
static void tcp_pair(int end[2])
{
	end[0] = end_open(SDP, AF_INET);
	must(end_connect(SDP, end[0], LOOPBACK, port) == 0);
	end[1] = accept(server, NULL, NULL);
	must(end[1] >= 0 && end_info(end[0]).carrier == SDP_CARRIER_TCP);
}

/* Bytes go both ways, and nothing has ended. */
static bool works(const int end[2])
{
	return write(end[0], "there", 5) == 5 && read(end[1], buf, sizeof(buf)) == 5 &&
	       write(end[1], "back", 4) == 4 && read(end[0], buf, sizeof(buf)) == 4;
}

static void test_arguments(void)
{
	struct sdp_replace arg = { .size = sizeof(arg), .flags = 1 };
	int e[2], fd = end_open(SDP, AF_INET), l;

	arg.fd = fd;
	ok(fails(ioctl(fd, SDP_IOC_REPLACE, &arg), EINVAL), "undefined flag: EINVAL");
	arg.flags = 0;
	arg.reserved = 1;
	ok(fails(ioctl(fd, SDP_IOC_REPLACE, &arg), EINVAL), "reserved field: EINVAL");
	arg.reserved = 0;
	arg.size--;
	ok(fails(ioctl(fd, SDP_IOC_REPLACE, &arg), EINVAL), "too small: EINVAL");
	ok(fails(replace(fd), ENOTCONN), "not connected: ENOTCONN");
	ok(fails(end_connect(SDP, fd, LOOPBACK, 9), ECONNREFUSED) &&
	   fails(replace(fd), ENOTCONN), "refused: ENOTCONN");
	close(fd);

	l = listener(SDP, SERVER4, 23099, 8);
	ok(fails(replace(l), ENOTCONN), "listening: ENOTCONN");
	close(l);
	pair(SDP, e);
	ok(fails(replace(e[0]), EOPNOTSUPP) && fails(replace(e[1]), EOPNOTSUPP),
	   "over SDP: EOPNOTSUPP");
	unpair(e);

	tcp_pair(e);
	fd = end_open(SDP, AF_INET);
	ok(fails(replace_fd(e[0], fd), EBADF), "another endpoint's descriptor: EBADF");
	ok(fails(replace_fd(e[0], e[1]), EBADF), "a socket's: EBADF");
	close(fd);
	ok(fails(replace_fd(e[0], fd), EBADF), "nobody's: EBADF");
	ok(fails(replace_fd(e[0], -1), EBADF) && fails(replace_fd(e[0], 1 << 30), EBADF),
	   "impossible ones: EBADF");
	ok(end_info(e[0]).carrier == SDP_CARRIER_TCP && works(e), "it is as before");
	unpair(e);
}

/* Whether there is an endpoint of that number in this namespace. */
static bool exists(unsigned long long id)
{
	FILE *f = fopen("/proc/net/sdp/endpoints", "re");
	bool found = false;
	char line[512];

	must(f);
	while (fgets(line, sizeof(line), f))
		if (strtoull(line, NULL, 10) == id)
			found = true;
	must(!fclose(f));
	return found;
}

static void test_replace(void)
{
	struct sdp_info info = { .size = sizeof(info) };
	unsigned long long id;
	int e[2];

	tcp_pair(e);
	id = end_info(e[0]).id;
	must(exists(id));
	must(fcntl(e[0], F_SETFD, FD_CLOEXEC) == 0);
	nonblock(e[0], true);
	must(write(e[0], "ab", 2) == 2 && write(e[1], "cd", 2) == 2);
	must(events(e[0], POLLIN, 5000) == POLLIN && read(e[0], buf, 1) == 1);
	ok(replace(e[0]) == 0, "over TCP: replaced");
	ok(is_socket(e[0]), "it is a socket");
	ok(fails(ioctl(e[0], SDP_IOC_INFO, &info), ENOTTY), "and no endpoint");
	ok(!exists(id), "the endpoint is gone");
	ok(fcntl(e[0], F_GETFD) == FD_CLOEXEC, "FD_CLOEXEC is as it was");
	ok(fcntl(e[0], F_GETFL) == (O_RDWR | O_NONBLOCK), "O_NONBLOCK is as it was");
	ok(read(e[0], buf, 9) == 1 && *buf == 'd', "what had come is there");
	ok(fails(read(e[0], buf, 9), EAGAIN), "and no more");
	ok(read(e[1], buf, 9) == 2 && events(e[1], POLLIN | POLLRDHUP, 0) == 0,
	   "the peer notices nothing");
	nonblock(e[0], false);
	ok(works(e), "bytes go both ways");
	ok(fails(replace(e[0]), ENOTTY), "again: ENOTTY");
	close(e[0]);
	ok(events(e[1], POLLIN, 5000) == POLLIN && read(e[1], buf, 1) == 0,
	   "closed: the peer finds the end");
	close(e[1]);

	tcp_pair(e);
	ok(replace(e[0]) == 0 && fcntl(e[0], F_GETFD) == 0 &&
	   fcntl(e[0], F_GETFL) == O_RDWR, "without flags: none");
	unpair(e);
}

/* It is under way and will be TCP. */
static void test_connecting(void)
{
	int e[2], error = -1;
	socklen_t len = sizeof(error);

	e[0] = end_open(SDP, AF_INET);
	nonblock(e[0], true);
	must(fails(end_connect(SDP, e[0], LOOPBACK, port), EINPROGRESS));
	ok(replace(e[0]) == 0 && is_socket(e[0]), "connecting over TCP: replaced");
	e[1] = accept(server, NULL, NULL);
	ok(events(e[0], POLLOUT, 5000) == POLLOUT &&
	   getsockopt(e[0], SOL_SOCKET, SO_ERROR, &error, &len) == 0 && !error,
	   "it is connected then");
	nonblock(e[0], false);
	ok(works(e), "bytes go both ways");
	unpair(e);
}

/* One thing after another hangs on the file. */
enum what { DUP, CHILD, EPOLL, OWNER, SIGNAL, ASYNC, LOCK, NATIVE, PASSED, NONE };

static const char *const what_name[] = {
	"another descriptor", "another process", "an epoll set", "an owner", "F_SETSIG",
	"O_ASYNC", "a lock", "the native socket's descriptor", "on its way to others",
};

static int hung, stop[2];

static void pass(int fd)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = "";
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_len = CMSG_LEN(sizeof(fd));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	must(sendmsg(stop[0], &msg, 0) == 1);
}

static void hang(enum what what, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, stop) == 0);
	switch (what) {
	case DUP:
		must((hung = dup(fd)) >= 0);
		break;
	case CHILD:
		hung = fork();
		if (!hung) {
			close(stop[0]);
			_exit(read(stop[1], buf, 1) == 1 ? 0 : 1);
		}
		must(hung > 0);
		break;
	case EPOLL:
		hung = epoll_create1(0);
		must(hung >= 0 && epoll_ctl(hung, EPOLL_CTL_ADD, fd, &ev) == 0);
		break;
	case OWNER:
		must(fcntl(fd, F_SETOWN, getpid()) == 0);
		break;
	case SIGNAL:
		must(fcntl(fd, F_SETSIG, SIGUSR1) == 0);
		break;
	case ASYNC:
		must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0);
		break;
	case LOCK:
		must(flock(fd, LOCK_EX) == 0);
		break;
	case NATIVE:
		must((hung = end_native(SDP, fd)) >= 0);
		break;
	default:
		pass(fd);
	}
}

/* Whether it is off again; a lock leaves something behind. */
static bool unhang(enum what what, int fd)
{
	struct epoll_event ev = { 0 };

	switch (what) {
	case CHILD:
		must(write(stop[0], "x", 1) == 1 && waitpid(hung, NULL, 0) == hung);
		break;
	case EPOLL:
		must(epoll_ctl(hung, EPOLL_CTL_DEL, fd, &ev) == 0);
		close(hung);
		break;
	case OWNER:
		must(fcntl(fd, F_SETOWN, 0) == 0);
		break;
	case SIGNAL:
		must(fcntl(fd, F_SETSIG, 0) == 0);
		break;
	case ASYNC:
		must(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_ASYNC) == 0);
		must(fcntl(fd, F_SETOWN, 0) == 0);
		break;
	case DUP:
	case NATIVE:
		close(hung);
		break;
	default:
		break;
	}
	close(stop[0]);
	close(stop[1]);
	return what != LOCK;
}

static void test_hangs(void)
{
	enum what what;
	int e[2];

	for (what = 0; what < NONE; what++) {
		tcp_pair(e);
		hang(what, e[0]);
		ok(fails(replace(e[0]), EBUSY), "%s: EBUSY", what_name[what]);
		ok(!is_socket(e[0]) && works(e), "%s: as before", what_name[what]);
		if (unhang(what, e[0]))
			ok(replace(e[0]) == 0 && is_socket(e[0]) && works(e),
			   "%s: no more", what_name[what]);
		unpair(e);
	}
}

/* What is refused leaves no trace on the native socket either. */
static void test_refused(void)
{
	int e[2], native;

	tcp_pair(e);
	nonblock(e[0], true);
	native = end_native(SDP, e[0]);
	ok(fails(replace(e[0]), EBUSY) && fcntl(native, F_GETFL) == O_RDWR,
	   "refused: the native socket keeps its flags");
	close(native);
	unpair(e);
}

static pid_t reader;

static void *wait_in_read(void *arg)
{
	__atomic_store_n(&reader, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return (void *)read(*(int *)arg, buf, 4);
}

/* Whether the other thread is in read(2) of @fd, and sleeps: else it is "running". */
static bool waits(int fd)
{
	char path[64], want[32], line[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall",
		 __atomic_load_n(&reader, __ATOMIC_ACQUIRE));
	snprintf(want, sizeof(want), "%d 0x%x ", SYS_read, fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	must(fgets(line, sizeof(line), f) && !fclose(f));
	return !strncmp(line, want, strlen(want));
}

/* Another thread's call has the file. */
static void test_call(void)
{
	pthread_t thread;
	void *got;
	int e[2];

	tcp_pair(e);
	must(!pthread_create(&thread, NULL, wait_in_read, &e[0]));
	while (!waits(e[0]))
		sched_yield();
	ok(fails(replace(e[0]), EBUSY), "a call of another thread: EBUSY");
	must(write(e[1], "done", 4) == 4 && !pthread_join(thread, &got));
	ok(got == (void *)4, "which goes on");
	/* It has ended, but may have its share of the descriptors still. */
	while (fails(replace(e[0]), EBUSY))
		sched_yield();
	ok(is_socket(e[0]) && works(e), "and then: replaced");
	unpair(e);
}

/* With others that may close the descriptor. */
static pthread_barrier_t barrier;
static int raced[2], rounds = 300;

/* Closes the descriptor and takes its number for something else, again and again. */
static void *take_number(void *arg)
{
	int i, *wrong = arg, fd;
	uint64_t seven = 7;

	for (i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		close(raced[0]);
		fd = eventfd(0, 0);
		pthread_barrier_wait(&barrier);
		if (fd != raced[0] || write(fd, &seven, 8) != 8 || read(fd, &seven, 8) != 8 ||
		    seven != 7)
			++*wrong;
		close(fd);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void test_number_taken(void)
{
	int i, wrong = 0, left = 0, strange = 0, done = 0;
	unsigned long long id;
	pthread_t thread;

	must(!pthread_barrier_init(&barrier, NULL, 2));
	must(!pthread_create(&thread, NULL, take_number, &wrong));
	for (i = 0; i < rounds; i++) {
		tcp_pair(raced);
		id = end_info(raced[0]).id;
		pthread_barrier_wait(&barrier);
		if (replace(raced[0]) == 0)
			done++;
		else if (errno != EBUSY && errno != EBADF && errno != ENOTTY)
			strange++;
		pthread_barrier_wait(&barrier);
		if (read(raced[1], buf, 1) != 0)
			strange++;
		left += exists(id);
		pthread_barrier_wait(&barrier);
		close(raced[1]);
	}
	must(!pthread_join(thread, NULL));
	printf("# replaced in %d of %d\n", done, rounds);
	ok(!wrong, "a number that another thread closes and takes: never touched (%d)", wrong);
	ok(!strange, "and the connection ends (%d)", strange);
	ok(!left, "and the endpoint (%d)", left);
}

/* What is set of one is set of the other, if they are one file. */
static bool is_one_file(int a, int b)
{
	int flags = fcntl(a, F_GETFL);
	bool one;

	must(!fcntl(a, F_SETFL, flags ^ O_NONBLOCK));
	one = (fcntl(b, F_GETFL) ^ flags) & O_NONBLOCK;
	must(!fcntl(a, F_SETFL, flags));
	return one;
}

/* Duplicates the descriptor, and uses it, again and again. */
static void *duplicate(void *arg)
{
	int i, *wrong = arg, end[2];

	for (i = 0; i < rounds; i++) {
		pthread_barrier_wait(&barrier);
		end[0] = dup(raced[0]);
		end[1] = raced[1];
		pthread_barrier_wait(&barrier);
		if (!is_one_file(end[0], raced[0]) || !works(end))
			++*wrong;
		close(end[0]);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Has an epoll set watch the descriptor, and waits for a byte, again and again. */
static void *watch(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int i, *wrong = arg, set;

	for (i = 0; i < rounds; i++) {
		set = epoll_create1(0);
		must(set >= 0);
		pthread_barrier_wait(&barrier);
		if (epoll_ctl(set, EPOLL_CTL_ADD, raced[0], &ev))
			++*wrong;
		pthread_barrier_wait(&barrier);
		/* One that has not come is enough to have waited for. */
		if (write(raced[1], "x", 1) != 1 ||
		    epoll_wait(set, &ev, 1, *wrong ? 0 : 5000) != 1 ||
		    read(raced[0], buf, 1) != 1)
			++*wrong;
		close(set);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/*
 * Replaces one after another while the other thread does something to it, which counts
 * what goes wrong; they meet three times for each.  Returns the count.
 */
static int race(void *(*other)(void *))
{
	int i, wrong = 0, done = 0;
	pthread_t thread;

	must(!pthread_create(&thread, NULL, other, &wrong));
	for (i = 0; i < rounds; i++) {
		tcp_pair(raced);
		pthread_barrier_wait(&barrier);
		if (replace(raced[0]) == 0)
			done++;
		else
			must(errno == EBUSY);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		if (!works(raced))
			wrong++;
		unpair(raced);
	}
	must(!pthread_join(thread, NULL));
	printf("# replaced in %d of %d\n", done, rounds);
	return wrong;
}

static void test_raced(void)
{
	int wrong = race(duplicate);

	ok(!wrong, "another thread duplicates it: they stay one file (%d)", wrong);
	wrong = race(watch);
	ok(!wrong, "another thread has an epoll set watch it: that sees what comes (%d)", wrong);
}

/* An endpoint that once listened on SDP as well, when what it accepted has ended. */
static void test_listened(void)
{
	int l = listener(SDP, SERVER4, 23098, 8), tcp, c = end_open(SDP, AF_INET), a, tries = 0;
	int e[2];

	must(end_connect(SDP, c, SERVER4, 23098) == 0 && (a = end_accept(SDP, l)) >= 0);
	must(end_disconnect(SDP, l) == 0);
	enter_node(2);
	tcp = end_open(TCP, AF_INET);
	must(end_bind(TCP, tcp, SERVER4, 23097) == 0 && end_listen(TCP, tcp, 8) == 0);
	enter_node(1);
	must(end_connect(SDP, l, SERVER4, 23097) == 0);
	e[0] = l;
	e[1] = accept(tcp, NULL, NULL);
	must(e[1] >= 0 && end_info(l).carrier == SDP_CARRIER_TCP);
	ok(fails(replace(l), EBUSY), "with connections on the port that it listened on: EBUSY");
	close(a);
	close(c);
	while (fails(replace(l), EBUSY) && tries++ < 500)
		poll(NULL, 0, 20);
	ok(is_socket(l) && works(e), "without: replaced");
	unpair(e);
	close(tcp);
}

int main(void)
{
	int one = 1;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	enter_node(1);
	server = end_open(TCP, AF_INET);
	setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	must(end_bind(TCP, server, LOOPBACK, port) == 0 && end_listen(TCP, server, 8) == 0);
	test_arguments();
	test_replace();
	test_connecting();
	test_hangs();
	test_refused();
	test_call();
	test_listened();
	test_number_taken();
	test_raced();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
