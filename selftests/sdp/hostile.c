// SPDX-License-Identifier: GPL-2.0
/*
 * User space writes anything into the rings at any time, while the same
 * connection is used by every call: the connection may end, nothing else may
 * happen.  Half of the connections are only used, to see that the others do
 * not hurt them.  And it does with the native socket as it likes.
 */
#include "end.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../lib/random.h"

#define RING	8192
#define ROUNDS	24

static int end[2];
static struct sdp_ring *tx, *rx;
static unsigned int data;
static atomic_bool stop;

/* Values near what is right do more harm than those far from it. */
static void *scribble(void *arg)
{
	unsigned int seed = (uintptr_t)arg;

	while (!stop) {
		unsigned int r = random32(&seed);
		struct sdp_ring *ring = r & 1 ? tx : rx;
		volatile __u64 *index = r & 2 ? &ring->head : &ring->tail;

		switch (r >> 2 & 7) {
		case 0:
			*index = random32(&seed);
			break;
		case 1:
			*index = -1ULL;
			break;
		case 2:
			ring->flags = random32(&seed);
			break;
		case 3:
			*index -= 1;
			break;
		default:
			*index += random32(&seed) % (r & 32 ? RING : 64);
		}
		if (r & 64)
			sched_yield();
	}
	return NULL;
}

static void *use(void *arg)
{
	unsigned int seed = (uintptr_t)arg, r;
	static char buf[3 * RING];
	struct sdp_ring_enter e = { .size = sizeof(e) };

	while (!stop) {
		r = random32(&seed);
		switch (r & 7) {
		case 0:
			e.flags = r >> 8 & 3;
			ioctl(end[0], SDP_IOC_RING_ENTER, &e);
			break;
		case 1:
			end_send(SDP, end[0], buf, (r >> 8) % sizeof(buf), MSG_DONTWAIT);
			break;
		case 2:
			end_recv(SDP, end[0], buf, (r >> 8) % sizeof(buf),
				 MSG_DONTWAIT | (r & 64 ? MSG_PEEK : 0));
			break;
		case 3:
			events(end[0], ALL_EVENTS, 0);
			break;
		case 4:
			end_info(end[0]);
			break;
		case 5:
			ioctl(end[0], FIONREAD, &e.flags);
			break;
		case 6:
			end_send(SDP, end[1], buf, (r >> 8) % sizeof(buf), MSG_DONTWAIT);
			break;
		default:
			end_recv(SDP, end[1], buf, sizeof(buf), MSG_DONTWAIT);
		}
	}
	return NULL;
}

static void *map(unsigned long offset)
{
	void *p = mmap(NULL, data + RING, PROT_READ | PROT_WRITE, MAP_SHARED,
		       end[0], offset);

	must(p != MAP_FAILED);
	return p;
}

/* Returns why the connection ended. */
static unsigned int one_round(unsigned int round)
{
	struct sdp_ring_setup s = { .size = sizeof(s), .tx_bytes = RING, .rx_bytes = RING };
	pthread_t t[4];
	unsigned int reason;

	pair(SDP, end);
	must(ioctl(end[0], SDP_IOC_RING_SETUP, &s) == 0);
	data = s.data_offset;
	tx = map(SDP_MMAP_TX_RING);
	rx = map(SDP_MMAP_RX_RING);
	stop = false;
	for (uintptr_t i = 0; i < 4; i++)
		must(pthread_create(&t[i], NULL, i ? use : scribble,
				    (void *)(round * 4 + i + 1)) == 0);
	poll(NULL, 0, 100);
	/* Sometimes the descriptor goes first, sometimes the mappings. */
	stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	reason = end_info(end[0]).reason;
	if (round & 1)
		unpair(end);
	munmap(tx, data + RING);
	munmap(rx, data + RING);
	if (!(round & 1))
		unpair(end);
	return reason;
}

/*
 * The native socket connected by the program itself, and to where SDP does not go: that
 * SDP's route is not for it, which it could not even read.
 */
static void test_native_elsewhere(void)
{
	int l = listener(SDP, SERVER4, 25001, 8), c = end_open(SDP, AF_INET6);
	int s, n, a, one = 1;
	char buf[8];

	must(end_connect(SDP, c, "::ffff:" SERVER4, 25001) == 0);
	must(end_info(c).carrier == SDP_CARRIER_SDP);
	s = end_open(TCP, AF_INET6);
	must(end_bind(TCP, s, "::1", 25002) == 0 && end_listen(TCP, s, 8) == 0);
	n = end_native(SDP, c);
	must(n >= 0 && end_connect(TCP, n, "::1", 25002) == 0);
	a = end_accept(TCP, s);
	must(a >= 0);
	/* It has no route after that, and gets one when it sends. */
	must(setsockopt(n, SOL_SOCKET, SO_DONTROUTE, &one, sizeof(one)) == 0);
	close(end_native(SDP, c));
	ok(write(n, "own", 3) == 3 && events(a, POLLIN, SOON) == POLLIN &&
	   read(a, buf, sizeof(buf)) == 3,
	   "a native socket connected elsewhere sends there");
	close(a);
	close(n);
	close(s);
	close(c);
	close(l);
}

int main(void)
{
	unsigned int by_ring = 0, other = 0, reason;
	char buf[8];
	int good[2];

	signal(SIGPIPE, SIG_IGN);
	pair(SDP, good);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		reason = one_round(i);
		if (reason == SDP_REASON_RING)
			by_ring++;
		else if (reason != SDP_REASON_NONE)
			other++;
	}
	ok(by_ring >= ROUNDS / 2 && !other, "%u of %u ended for their rings, %u otherwise",
	   by_ring, ROUNDS, other);
	ok(write(good[0], "alive", 5) == 5 && end_recv(SDP, good[1], buf, 5, MSG_WAITALL) == 5,
	   "another connection lives");
	unpair(good);
	test_native_elsewhere();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
