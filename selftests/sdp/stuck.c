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

/* TCP is to take over a connection, whose socket's lock somebody has. */
static void fall_back(int uffd, pthread_attr_t *attr)
{
	int fd, left, i;

	for (i = 0; i < MANY; i++) {
		e[i][0] = begin_connect();
		e[i][1] = end_native(SDP, e[i][0]);
		must(e[i][1] >= 0);
		must(!pthread_create(&threads[i], attr, set_option,
				     (void *)(intptr_t)e[i][1]));
		await_faults(uffd, 1);
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
	printf("1..%u\n", tap_done);
	return tap_exit();
}
