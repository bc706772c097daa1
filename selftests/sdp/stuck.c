// SPDX-License-Identifier: GPL-2.0
/*
 * Writers whose memory never comes (userfaultfd), on connections that end: they keep
 * themselves waiting, and nobody else.
 */
#include "end.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>

#define MANY	300	/* more than the kernel's workers of one queue */
#define PAGE	4096
#define STACK	65536

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
	never = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	must(never != MAP_FAILED);
	range.range.start = (uintptr_t)never;
	range.range.len = MANY * PAGE;
	must(ioctl(uffd, UFFDIO_REGISTER, &range) == 0);
	return uffd;
}

/* Each fault is told once. */
static void await_faults(int uffd)
{
	struct uffd_msg msg;
	int i;

	for (i = 0; i < MANY; i++) {
		must(events(uffd, POLLIN, 60000) == POLLIN);
		must(read(uffd, &msg, sizeof(msg)) == sizeof(msg));
		must(msg.event == UFFD_EVENT_PAGEFAULT);
	}
}

int main(void)
{
	static pthread_t threads[MANY];
	const struct linger now = { .l_onoff = 1 };
	pthread_attr_t attr;
	int uffd, other[2];
	intptr_t i;
	char byte;

	signal(SIGPIPE, SIG_IGN);
	must(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, STACK));
	uffd = never_there();
	for (i = 0; i < MANY; i++) {
		pair(SDP, e[i]);
		must(!pthread_create(&threads[i], &attr, write_it, (void *)i));
	}
	await_faults(uffd);
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

	close(uffd);
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
