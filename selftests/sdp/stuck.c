// SPDX-License-Identifier: GPL-2.0
/*
 * Writers whose memory never comes (userfaultfd), on connections that end, and who sets
 * an option with such memory: they keep themselves waiting, and nobody else.
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

static int e[MANY][2];
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

int main(void)
{
	static pthread_t threads[MANY], setter, reader;
	const struct linger now = { .l_onoff = 1 };
	pthread_attr_t attr;
	int uffd, other[2], fd, native;
	intptr_t i;
	bool in_time;
	char byte;

	signal(SIGPIPE, SIG_IGN);
	must(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK));
	uffd = never_there();
	for (i = 0; i < MANY; i++) {
		pair(SDP, e[i]);
		must(!pthread_create(&threads[i], &attr, write_it, (void *)i));
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

	fd = end_open(SDP, AF_INET);
	native = end_native(SDP, fd);
	must(native >= 0);
	must(!pthread_create(&setter, &attr, set_option, (void *)(intptr_t)native));
	await_faults(uffd, 1);
	must(!pthread_create(&reader, &attr, list, NULL));
	in_time = ends_in_time(reader);
	ok(in_time, "while an option's memory does not come, the endpoints are listed");

	close(uffd);
	if (!in_time)
		must(!pthread_join(reader, NULL));
	must(!pthread_join(setter, NULL));
	close(native);
	close(fd);
	for (i = 0; i < MANY; i++) {
		must(!pthread_join(threads[i], NULL));
		close(e[i][0]);
	}
	for (i = 0; i < 1500 && endpoints(); i++)
		poll(NULL, 0, 20);
	ok(!endpoints(), "with the memory there all of them end");
	printf("1..%u\n", tap_done);
	return tap_exit();
}
