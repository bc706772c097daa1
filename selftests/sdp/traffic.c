// SPDX-License-Identifier: GPL-2.0
/*
 * Connections of direct SDP, for tests that take something away meanwhile.
 *
 * traffic N: N processes that connect, send, receive, close and begin again,
 * whatever happens to their connections, until they are killed
 *
 * traffic unread: a connection that its peer has reset, with a byte that is never read
 *
 * traffic stuck: one with a writer and a reader whose memory never comes
 *
 * traffic serve: accepts a connection in node 2, and is there until it ends
 *
 * traffic hold: is the other end of that, and is there until it is killed
 */
#include "end.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>

#define HELD_PORT	9000
#define PAGE		4096

static char buf[32768];

static void say(const char *word)
{
	puts(word);
	fflush(stdout);
}

/* One connection: half of them end orderly, half with bytes on their way. */
static void connection(int port, unsigned int round)
{
	int l, c, a = -1, flags;

	enter_node(2);
	l = end_open(SDP);
	if (end_bind(l, SERVER4, port) || listen(l, 8))
		goto out_listener;
	enter_node(1);
	c = end_open(SDP);
	if (end_connect(c, SERVER4, port) == 0) {
		nonblock(l, true);
		events(l, POLLIN, 2000);
		a = end_accept(l);
	}
	if (a >= 0) {
		nonblock(c, true);
		flags = fcntl(a, F_GETFL);
		fcntl(a, F_SETFL, flags | O_NONBLOCK);
		for (int i = 0; i < 200; i++) {
			if (write(c, buf, 1 + (i * 977 + round) % sizeof(buf)) < 0 &&
			    errno != EAGAIN)
				break;
			events(a, POLLIN, 10);
			if (read(a, buf, sizeof(buf)) < 0 && errno != EAGAIN)
				break;
		}
		if (round & 1) {
			shutdown(c, SHUT_WR);
			while (events(a, POLLIN, 1000) && read(a, buf, sizeof(buf)) > 0)
				;
		}
		close(a);
	}
	close(c);
out_listener:
	close(l);
}

static void begin_again(int n)
{
	for (int i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned int round = 0; ; round++)
			connection(40000 + i * 1000 + round % 1000, round);
	}
	while (wait(NULL) > 0)
		;
}

static void leave_unread(void)
{
	const struct linger at_once = { .l_onoff = 1 };
	int end[2];

	pair(SDP, end);
	must(!setsockopt(end[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	must(write(end[0], buf, 1) == 1 && all_events(end[1], POLLIN, 10000));
	close(end[0]);
	must(all_events(end[1], POLLERR, 10000));
	say("ready");
	pause();
}

static int stuck[2];
static char *never;

static void *write_it(void *arg)
{
	return write(stuck[0], never, PAGE) < 0 ? NULL : arg;
}

static void *read_it(void *arg)
{
	return read(stuck[0], never + PAGE, PAGE) < 0 ? NULL : arg;
}

/* Memory that is not there before somebody brings it. */
static int never_there(void)
{
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	must(uffd >= 0 && ioctl(uffd, UFFDIO_API, &api) == 0);
	never = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(never != MAP_FAILED);
	range.range.start = (uintptr_t)never;
	range.range.len = 2 * PAGE;
	must(ioctl(uffd, UFFDIO_REGISTER, &range) == 0);
	return uffd;
}

/* Each of the two faults is told once. */
static void be_stuck(void)
{
	struct uffd_msg msg;
	pthread_t threads[2];
	int uffd, i;

	pair(SDP, stuck);
	must(write(stuck[1], buf, 100) == 100 && all_events(stuck[0], POLLIN, 10000));
	uffd = never_there();
	must(!pthread_create(&threads[0], NULL, write_it, NULL) &&
	     !pthread_create(&threads[1], NULL, read_it, NULL));
	for (i = 0; i < 2; i++)
		must(read(uffd, &msg, sizeof(msg)) == sizeof(msg));
	say("stuck");
	pause();
}

static int serve(void)
{
	int l = listener(SDP, SERVER4, HELD_PORT, 1), fd;
	char c;

	say("listening");
	fd = end_accept(l);
	must(fd >= 0);
	return read(fd, &c, 1) == 0 ? 0 : 1;
}

static void hold(void)
{
	int fd = end_open(SDP);

	must(end_connect(fd, SERVER4, HELD_PORT) == 0);
	say("connected");
	pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "4";

	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(what, "unread"))
		leave_unread();
	else if (!strcmp(what, "stuck"))
		be_stuck();
	else if (!strcmp(what, "serve"))
		return serve();
	else if (!strcmp(what, "hold"))
		hold();
	else
		begin_again(atoi(what));
	return 1;
}
