// SPDX-License-Identifier: GPL-2.0
/*
 * Writers whose memory never comes (userfaultfd), on connections that end, and who sets
 * an option of the native socket with such memory: they keep themselves waiting, and
 * nobody else.
 *
 *   stuck hold		only has a writer and a reader of that kind, says "held", and waits
 */
#include "end.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>

#define MANY	300	/* more than the kernel's workers of one queue */
#define PAGE	4096
#define STACK	65536
#define OPTION	MANY	/* the page behind those of the writers */
#define PAGES	(MANY + 1)
#define AGAIN	50
#define PORT	19998

#define NOBODY	"10.77.0.99"

static int e[MANY][2];
static pthread_t threads[MANY];
static char *never;

static void *write_it(void *arg)
{
	int i = (intptr_t)arg;

	return (void *)write(e[i][0], never + i * PAGE, PAGE);
}

/* Memory that is not there before somebody brings it, which is when @uffd is closed. */
static int never_there(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	must(uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0);
	never = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(never != MAP_FAILED);
	range.range.start = (uintptr_t)never;
	range.range.len = PAGES * PAGE;
	must(ioctl(uffd, UFFDIO_REGISTER, &range) == 0);
	return uffd;
}

/* It has the native socket's lock as long as it waits. */
static void *set_option(void *arg)
{
	int native = (intptr_t)arg;

	return (void *)(intptr_t)setsockopt(native, IPPROTO_IP, IP_OPTIONS,
					    never + OPTION * PAGE, 4);
}

static void *list(void *arg)
{
	endpoints();
	return arg;
}

static bool ends_in_time(pthread_t thread)
{
	struct timespec t;

	must(!clock_gettime(CLOCK_REALTIME, &t));
	t.tv_sec += SOON / 1000;
	return !pthread_timedjoin_np(thread, NULL, &t);
}

/* Each fault is told once. */
static void await_faults(int uffd, int n)
{
	struct uffd_msg msg;
	int i;

	for (i = 0; i < n; i++) {
		must(events(uffd, POLLIN, 60000) == POLLIN);
		must(read(uffd, &msg, sizeof(msg)) == sizeof(msg));
		must(msg.event == UFFD_EVENT_PAGEFAULT);
	}
}

/* Writers on connections that end. */
static void write_for_ever(int uffd, pthread_attr_t *attr)
{
	const struct linger now = { .l_onoff = 1 };
	int other[2];
	intptr_t i;
	char byte;

	for (i = 0; i < MANY; i++) {
		pair(SDP, e[i]);
		must(!pthread_create(&threads[i], attr, write_it, (void *)i));
	}
	await_faults(uffd, MANY);
	for (i = 0; i < MANY; i++) {
		end_setsockopt(SDP, e[i][1], SO_LINGER, &now, sizeof(now));
		close(e[i][1]);
	}
	for (i = 0; i < MANY; i++)
		must(events(e[i][0], POLLRDHUP, 60000) & POLLRDHUP);
	ok(true, "the peers of %d calls that wait for memory have gone", MANY);

	pair(SDP, other);
	ok(write(other[0], "x", 1) == 1 && read(other[1], &byte, 1) == 1,
	   "another connection is made, and works");
	unpair(other);
}

static void list_endpoints(int uffd, pthread_attr_t *attr)
{
	pthread_t setter, reader;
	int fd = end_open(SDP, AF_INET);
	int native = end_native(SDP, fd);
	bool in_time;

	must(native >= 0);
	must(!pthread_create(&setter, attr, set_option, (void *)(intptr_t)native));
	await_faults(uffd, 1);
	must(!pthread_create(&reader, attr, list, NULL));
	in_time = ends_in_time(reader);
	ok(in_time, "while an option's memory does not come, the endpoints are listed");

	close(uffd);
	if (!in_time)
		must(!pthread_join(reader, NULL));
	must(!pthread_join(setter, NULL));
	close(native);
	close(fd);
}

/* To nobody: SDP gives up when nobody answers, which takes seconds. */
static int begin_connect(void)
{
	int fd = end_open(SDP, AF_INET);

	nonblock(fd, true);
	must(end_connect(SDP, fd, NOBODY, 1) < 0 && errno == EINPROGRESS);
	must(end_info(fd).state == SDP_STATE_CONNECTING);
	return fd;
}

/* Has the lock of e[i][0]'s native socket kept until @uffd is closed. */
static void keep_lock(int uffd, pthread_attr_t *attr, int i)
{
	e[i][1] = end_native(SDP, e[i][0]);
	must(e[i][1] >= 0);
	must(!pthread_create(&threads[i], attr, set_option, (void *)(intptr_t)e[i][1]));
	await_faults(uffd, 1);
}

/* TCP is to take over a connection, whose socket's lock somebody has. */
static void fall_back(int uffd, pthread_attr_t *attr)
{
	int fd, left, i;

	for (i = 0; i < MANY; i++) {
		e[i][0] = begin_connect();
		keep_lock(uffd, attr, i);
	}
	fd = begin_connect();
	for (left = SOON; left && end_info(fd).carrier != SDP_CARRIER_TCP; left -= 20)
		poll(NULL, 0, 20);
	ok(left, "while %d sockets are in use, TCP takes over another connection", MANY);
	close(fd);
	for (i = left = 0; i < MANY; i++)
		left += end_info(e[i][0]).state == SDP_STATE_CONNECTING;
	ok(left == MANY, "%d connections wait for theirs", left);

	close(uffd);
	for (i = 0; i < MANY; i++)
		must(!pthread_join(threads[i], NULL));
	for (i = left = 0; i < MANY; i++) {
		while (end_info(e[i][0]).carrier == SDP_CARRIER_NONE && left++ < 1500)
			poll(NULL, 0, 20);
		unpair(e[i]);
	}
	ok(left < 1500, "with the memory there TCP takes them over");
}

/*
 * Who connects to somebody else then begins anew, whether TCP was about to be tried
 * again, or has just begun.
 */
static void start_over(int uffd, pthread_attr_t *attr)
{
	int l = listener(SDP, SERVER4, PORT, AGAIN), good = 0, still = 0, i;
	char byte;

	for (i = 0; i < AGAIN; i++) {
		e[i][0] = begin_connect();
		keep_lock(uffd, attr, i);
	}
	for (i = 0; i < AGAIN; i++)
		while (!end_info(e[i][0]).reason)
			poll(NULL, 0, 20);
	close(uffd);
	for (i = 0; i < AGAIN; i++) {
		must(!pthread_join(threads[i], NULL));
		must(!end_disconnect(SDP, e[i][0]));
		good += end_connect(SDP, e[i][0], SERVER4, PORT) < 0 && errno == EINPROGRESS;
	}
	ok(good == AGAIN, "of %d that were to fall back %d connect to somebody else", AGAIN,
	   good);
	for (i = good = 0; i < AGAIN; i++)
		good += events(e[i][0], POLLOUT, SOON) == POLLOUT && !end_error(SDP, e[i][0]) &&
			end_info(e[i][0]).carrier == SDP_CARRIER_SDP;
	ok(good == AGAIN, "and %d are connected over SDP", good);
	/* Longer than it takes until TCP is tried again. */
	poll(NULL, 0, 300);
	for (i = 0; i < good; i++) {
		close(e[i][1]);
		e[i][1] = end_accept(SDP, l);
		must(e[i][1] >= 0 && write(e[i][1], "x", 1) == 1);
	}
	for (i = 0; i < good; i++)
		still += events(e[i][0], POLLIN, SOON) == POLLIN && read(e[i][0], &byte, 1) == 1;
	ok(still == AGAIN, "and %d remain so", still);
	for (i = 0; i < AGAIN; i++)
		unpair(e[i]);
	close(l);
}

static void *close_it(void *arg)
{
	close((intptr_t)arg);
	return NULL;
}

/* A connection keeps the port of a listener whose socket's lock somebody has. */
static void close_listener(int uffd, pthread_attr_t *attr)
{
	int l = listener(SDP, SERVER4, PORT + 1, 1), by_tcp, tries = 0;
	pthread_t closer;
	int ends[2];

	ends[0] = end_open(SDP, AF_INET);
	must(!end_connect(SDP, ends[0], SERVER4, PORT + 1));
	ends[1] = end_accept(SDP, l);
	must(ends[1] >= 0);
	e[0][0] = l;
	keep_lock(uffd, attr, 0);
	must(!pthread_create(&closer, NULL, close_it, (void *)(intptr_t)l));
	ok(ends_in_time(closer), "while its socket is in use, a listener is closed");
	close(uffd);
	must(!pthread_join(threads[0], NULL));
	do {
		by_tcp = end_open(TCP, AF_INET);
		if (end_connect(TCP, by_tcp, SERVER4, PORT + 1))
			break;
		close(by_tcp);
	} while (++tries < 1500 && !poll(NULL, 0, 20));
	ok(tries < 1500 && errno == ECONNREFUSED, "then TCP does not listen any more");
	ok(end_info(ends[0]).state == SDP_STATE_CONNECTED, "what it accepted is connected");
	close(by_tcp);
	close(e[0][1]);
	unpair(ends);
}

static char block[100000];

/* Until there is no room: how many bytes there were. */
static long fill(int fd)
{
	long all = 0, n;

	nonblock(fd, true);
	while ((n = write(fd, block, sizeof(block))) > 0 || events(fd, POLLOUT, 500))
		all += n > 0 ? n : 0;
	return all;
}

/* Whether the thread ends before it touches memory that never comes. */
static bool ends_first(pthread_t thread, int uffd)
{
	while (pthread_tryjoin_np(thread, NULL)) {
		if (events(uffd, POLLIN, 20) == POLLIN) {
			await_faults(uffd, 1);
			return false;
		}
	}
	return true;
}

/*
 * A call that does not wait for room does not wait for memory without room, either.
 * There
 * may be room again in the moment that it looks, as the peer gets more buffers.
 */
static void no_room(int uffd, pthread_attr_t *attr)
{
	bool ended = false;
	int i, n;

	pair(SDP, e[0]);
	for (n = 0; n < AGAIN && !ended; n++) {
		e[n][0] = e[0][0];
		fill(e[0][0]);
		must(!pthread_create(&threads[n], attr, write_it, (void *)(intptr_t)n));
		ended = ends_first(threads[n], uffd);
	}
	ok(ended, "without room, who does not wait for it waits for no memory either");
	close(uffd);
	for (i = 0; i < n - ended; i++)
		must(!pthread_join(threads[i], NULL));
	unpair(e[0]);
}

/*
 * A connection of an endpoint that once listened, and whose socket's lock somebody has, is
 * closed with bytes that the peer has no room for: they come when the peer reads.
 */
static void close_unsent(int uffd, pthread_attr_t *attr)
{
	int l = listener(SDP, SERVER4, PORT + 2, 1), to, peer, ends[2];
	long all, got = 0, n;

	ends[0] = end_open(SDP, AF_INET);
	must(!end_connect(SDP, ends[0], SERVER4, PORT + 2));
	ends[1] = end_accept(SDP, l);
	must(ends[1] >= 0 && !end_disconnect(SDP, l));
	to = end_open(SDP, AF_INET);
	must(!end_bind(SDP, to, "10.77.0.1", PORT + 3) && !end_listen(SDP, to, 1));
	must(!end_connect(SDP, l, "10.77.0.1", PORT + 3));
	peer = end_accept(SDP, to);
	must(peer >= 0 && end_info(l).carrier == SDP_CARRIER_SDP);
	all = fill(l);
	e[0][0] = l;
	e[0][1] = end_native(SDP, l);
	must(e[0][1] >= 0 && !listen(e[0][1], 1));
	close(e[0][1]);
	keep_lock(uffd, attr, 0);
	close(l);
	/* Longer than it takes until its socket is tried again. */
	poll(NULL, 0, 500);
	while ((n = read(peer, block, sizeof(block))) > 0)
		got += n;
	ok(!n && got == all, "closed with a socket in use: all of %ld bytes come (%ld)", all, got);
	close(uffd);
	must(!pthread_join(threads[0], NULL));
	close(e[0][1]);
	close(peer);
	close(to);
	unpair(ends);
}

static void *read_it(void *arg)
{
	int i = (intptr_t)arg;

	return (void *)read(e[i][1], never + (i + 1) * PAGE, PAGE);
}

static void hold(int uffd)
{
	pthread_t writer, reader;

	pair(SDP, e[0]);
	must(write(e[0][0], "x", 1) == 1);
	must(!pthread_create(&writer, NULL, write_it, NULL));
	must(!pthread_create(&reader, NULL, read_it, NULL));
	await_faults(uffd, 2);
	puts("held");
	fflush(stdout);
	pause();
}

static bool all_end(void)
{
	int i;

	for (i = 0; i < 1500 && endpoints(); i++)
		poll(NULL, 0, 20);
	return !endpoints();
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	int uffd, i;

	signal(SIGPIPE, SIG_IGN);
	must(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK));
	uffd = never_there();
	if (argc == 2 && !strcmp(argv[1], "hold"))
		hold(uffd);
	write_for_ever(uffd, &attr);
	list_endpoints(uffd, &attr);
	for (i = 0; i < MANY; i++) {
		must(!pthread_join(threads[i], NULL));
		close(e[i][0]);
	}
	ok(all_end(), "with the memory there all of them end");
	must(!munmap(never, PAGES * PAGE));

	fall_back(never_there(), &attr);
	ok(all_end(), "all of them end");
	start_over(never_there(), &attr);
	close_listener(never_there(), &attr);
	no_room(never_there(), &attr);
	close_unsent(never_there(), &attr);
	ok(all_end(), "these end, too");
	printf("1..%u\n", tap_done);
	return tap_exit();
}
