// SPDX-License-Identifier: GPL-2.0
/*
 * One thread writes while another takes the descriptor's number away, or shuts the
 * connection down.  What a write has reported as done has to arrive, and nothing else;
 * with TCP it is the kernel that sees to it.  Run by sdprun, with rings from the first
 * call on, in node 1.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "mapped.h"
#include "node.h"
#include "sdpdev.h"
#include "tap.h"

#define PORT		24301
#define ROUNDS		100		/* of each way */
#define BYTES		64		/* of a write */
#define FIRST		8		/* writes before anything happens */
#define BEHIND		16		/* writes after it has happened */
#define MOST		1000000		/* bytes, should it not happen */
#define SOON		30000		/* milliseconds for what comes */

enum way { CLOSE, DUP2, SHARED, SHUTDOWN };

static struct sockaddr_in address;
static int listener;
static int end[2], copy, spare[2];
static unsigned long written, arrived, elsewhere;
static int happened;
static bool clean;

static void connected(void)
{
	struct sdp_info info;

	end[0] = socket(AF_INET, SOCK_STREAM, 0);
	must(!connect(end[0], (struct sockaddr *)&address, sizeof(address)));
	end[1] = accept(listener, NULL, NULL);
	must(end[1] >= 0 && !sdp_info(end[0], &info) && info.carrier == SDP_CARRIER_SDP);
}

/* Until it fails, as where the other file is full, or has gone on with that for a while. */
static void *keep_writing(void *unused)
{
	static const char buf[BYTES];
	unsigned long done = 0;
	int behind = 0;

	(void)unused;
	while (done < MOST && behind < BEHIND) {
		behind += __atomic_load_n(&happened, __ATOMIC_ACQUIRE);
		if (write(end[0], buf, sizeof(buf)) != sizeof(buf))
			break;
		done += sizeof(buf);
		__atomic_store_n(&written, done, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *keep_reading(void *unused)
{
	char buf[4096];
	ssize_t n;

	(void)unused;
	while ((n = read(end[1], buf, sizeof(buf))) > 0)
		__atomic_fetch_add(&arrived, n, __ATOMIC_RELEASE);
	clean = !n;
	return NULL;
}

static void wait_some(unsigned int round)
{
	while (__atomic_load_n(&written, __ATOMIC_ACQUIRE) < FIRST * BYTES)
		sched_yield();
	/* It is to meet every moment of a write. */
	for (unsigned int i = 0; i < round * 2654435761U >> 20; i++)
		__atomic_load_n(&happened, __ATOMIC_RELAXED);
}

static void take_away(enum way way)
{
	switch (way) {
	case CLOSE:
		must(!close(end[0]));
		break;
	case DUP2:
	case SHARED:
		must(dup2(spare[1], end[0]) == end[0]);
		break;
	case SHUTDOWN:
		must(!shutdown(end[0], SHUT_WR));
	}
	__atomic_store_n(&happened, 1, __ATOMIC_RELEASE);
}

static unsigned long in_pipe(void)
{
	int n;

	must(!ioctl(spare[0], FIONREAD, &n));
	return n;
}

/* It must not need the end, or another call, to get there. */
static bool all_arrived(void)
{
	for (int i = 0; i < SOON / 5; i++) {
		if (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) + elsewhere >= written)
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

/* Whether everything arrived, once and before the end. */
static bool one_round(enum way way, unsigned int round)
{
	pthread_t writer, reader;
	bool right = true;

	written = 0;
	arrived = 0;
	happened = 0;
	connected();
	must(!pipe2(spare, O_NONBLOCK));
	copy = way == SHARED ? dup(end[0]) : -1;
	must(!pthread_create(&reader, NULL, keep_reading, NULL) &&
	     !pthread_create(&writer, NULL, keep_writing, NULL));
	wait_some(round);
	take_away(way);
	must(!pthread_join(writer, NULL));
	elsewhere = in_pipe();
	if (way == SHARED)
		right = all_arrived() && !close(copy);
	if (way != CLOSE)
		close(end[0]);
	must(!pthread_join(reader, NULL));
	close(end[1]);
	close(spare[0]);
	close(spare[1]);
	if (arrived + elsewhere != written || !clean)
		printf("# round %u: %lu written, %lu arrived, %lu elsewhere, %s end\n", round,
		       written, arrived, elsewhere, clean ? "clean" : "no clean");
	return right && arrived + elsewhere == written && clean;
}

static void test_way(enum way way, const char *what)
{
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < ROUNDS; i++)
		wrong += !one_round(way, i);
	ok(!wrong, "%s: %u of %u rounds wrong", what, wrong, ROUNDS);
}

static void test_rings(void)
{
	connected();
	must(write(end[0], "abc", 3) == 3);
	ok(mappings() == 3, "who writes has rings");
	close(end[0]);
	close(end[1]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	tap_plan(5);
	listener = listen_there(PORT, 8, &address);
	test_rings();
	test_way(CLOSE, "close");
	test_way(DUP2, "dup2");
	test_way(SHARED, "dup2, and the connection has another descriptor");
	test_way(SHUTDOWN, "shutdown");
	return tap_exit();
}
