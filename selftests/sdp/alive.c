// SPDX-License-Identifier: GPL-2.0
/*
 * Peers that have gone silent, over TCP and over SDP: SO_KEEPALIVE with its
 * times, and TCP_USER_TIMEOUT.
 *
 *	alive LOSS_FILE: where to write how many packets in a million are lost
 */
#include "end.h"

#include <netinet/tcp.h>
#include <sys/mman.h>

static const char *loss_file;

static void lose(const char *millionths)
{
	int fd = open(loss_file, O_WRONLY | O_CLOEXEC);

	must(fd >= 0);
	must(write(fd, millionths, strlen(millionths)) > 0);
	close(fd);
}

static void set(enum kind k, int fd, int level, int name, int value)
{
	int native = end_native(k, fd);

	must(native >= 0);
	must(setsockopt(native, level, name, &value, sizeof(value)) == 0);
	close(native);
}

/* Of an end that waits for a peer, which is silent. */
static void given_up(enum kind k, int fd, const char *name, const char *what)
{
	short got = events(fd, POLLRDHUP, 30000);
	int error = end_error(k, fd);
	bool good;

	good = ok(got & POLLERR, "%s: %s", name, what);
	if (!ok(error == ETIMEDOUT, "%s: ETIMEDOUT", name) || !good)
		printf("# events %#x, error %d\n", got, error);
}

/*
 * Is there room for more?  What has been sent may be on its way for long; until it has
 * come to where nobody takes it, nothing waits.
 */
static bool has_room(int fd)
{
	return (events(fd, POLLOUT, 1000) & (POLLOUT | POLLERR)) == POLLOUT;
}

/* The first probe after a second, one more a second later, then the end. */
static void keep_alive(enum kind k, int fd)
{
	set(k, fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set(k, fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set(k, fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
	set(k, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

static void test_keepalive(enum kind k)
{
	unsigned long long before = 0;
	char byte;
	int e[2], i;

	pair(k, e);
	keep_alive(k, e[0]);
	if (k == SDP)
		before = end_info(e[0]).tx_msgs;
	ok(events(e[0], POLLRDHUP, 4500) == 0, "%s: who answers stays", kind_name[k]);
	/* Where nothing ran for a while the second probe is still to come. */
	for (i = 0; k == SDP && i < 500 && end_info(e[0]).tx_msgs < before + 2; i++)
		poll(NULL, 0, 20);
	if (k == SDP)
		ok(end_info(e[0]).tx_msgs >= before + 2, "%s: it was asked", kind_name[k]);
	ok(events(e[1], POLLIN, 0) == 0 && write(e[1], "x", 1) == 1 &&
	   read(e[0], &byte, 1) == 1, "%s: and noticed nothing", kind_name[k]);

	/* With the default, nine, that would take longer than anybody waits here. */
	set(k, e[0], IPPROTO_TCP, TCP_KEEPINTVL, 4);
	set(k, e[0], IPPROTO_TCP, TCP_KEEPCNT, 1);
	lose("1000000");
	given_up(k, e[0], kind_name[k], "who does not is given up");
	lose("0");
	ok(end_send(k, e[0], "x", 1, 0) == -1 && errno == EPIPE, "%s: then EPIPE", kind_name[k]);
	unpair(e);
}

/*
 * A peer that takes nothing is asked all the same, stays, and is given up when it is
 * there no more.
 */
static void test_full(void)
{
	static char much[65536], got[65536];
	size_t sent = 0, came = 0;
	ssize_t n;
	int e[2];

	pair(SDP, e);
	nonblock(e[0], true);
	while (has_room(e[0])) {
		n = write(e[0], much, sizeof(much));
		must(n > 0);
		sent += n;
	}
	keep_alive(SDP, e[0]);
	ok(events(e[0], POLLRDHUP, 5500) == 0, "sdp: a peer that reads nothing is probed");
	while (came < sent && events(e[1], POLLIN, SOON) & POLLIN) {
		n = read(e[1], got, sizeof(got));
		must(n > 0);
		came += n;
	}
	ok(came == sent, "sdp: and can read all");
	while (has_room(e[0]))
		must(write(e[0], much, sizeof(much)) > 0);
	/* So many probes that each has taken a credit, if it takes any. */
	ok(events(e[0], POLLRDHUP, 3500) == 0, "sdp: again");
	lose("1000000");
	given_up(SDP, e[0], "sdp", "a peer that reads nothing and is gone is given up");
	lose("0");
	unpair(e);
}

/* A probe that is due in two hours does not keep what is closed. */
static void test_closed(void)
{
	int e[2], i;

	pair(SDP, e);
	set(SDP, e[0], SOL_SOCKET, SO_KEEPALIVE, 1);
	/* Until the endpoint has seen it. */
	events(e[0], POLLRDHUP, 1500);
	unpair(e);
	for (i = 0; i < 1500 && endpoints(); i++)
		poll(NULL, 0, 20);
	ok(!endpoints(), "closed endpoints go");
}

/* Bytes that nobody takes are waited for so long and no longer. */
static void test_user_timeout(enum kind k)
{
	static char much[65536];
	int e[2];

	pair(k, e);
	set(k, e[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 1500);
	ok(events(e[0], POLLRDHUP, 2500) == 0, "%s: with nothing to send none ends", kind_name[k]);
	nonblock(e[0], true);
	while (has_room(e[0]))
		must(write(e[0], much, sizeof(much)) > 0);
	given_up(k, e[0], kind_name[k], "unread for too long");
	unpair(e);
}

/* From a peer that writes no more, and is there no more. */
static void half_closed(enum kind k, int e[2])
{
	pair(k, e);
	/* SDP's transport gives up by itself, in half a minute. */
	if (k == TCP)
		set(k, e[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 1500);
	must(end_shutdown(k, e[1], SHUT_WR) == 0);
	must(events(e[0], POLLRDHUP, SOON) & POLLRDHUP);
}

/*
 * After the peer's half close, with bytes, and the own half close or not, under way: they
 * are lost, and so it is told.
 */
static void test_half_closed(enum kind k)
{
	int e[2][2], i, error[2];
	bool gone = true;

	half_closed(k, e[0]);
	half_closed(k, e[1]);
	lose("1000000");
	must(write(e[0][0], "x", 1) == 1 && write(e[1][0], "x", 1) == 1);
	must(end_shutdown(k, e[1][0], SHUT_WR) == 0);
	for (i = 0; i < 2; i++) {
		gone &= all_events(e[i][0], POLLERR, 4 * SOON);
		error[i] = end_error(k, e[i][0]);
	}
	lose("0");
	ok(gone, "%s: after a half close the peer has gone", kind_name[k]);
	ok(error[0] == ETIMEDOUT, "%s: ETIMEDOUT", kind_name[k]);
	ok(error[1] == ETIMEDOUT, "%s: and after both, with bytes under way", kind_name[k]);
	unpair(e[0]);
	unpair(e[1]);
}

/* Bytes in a ring are waited for as long as TCP_USER_TIMEOUT says, too. */
static void test_ring_timeout(void)
{
	struct sdp_ring_setup setup = {
		.size = sizeof(setup), .tx_bytes = SDP_RING_MIN, .rx_bytes = SDP_RING_MIN,
	};
	struct sdp_ring_enter enter = { .size = sizeof(enter), .flags = SDP_ENTER_TX };
	struct sdp_ring *tx;
	int e[2];

	pair(SDP, e);
	set(SDP, e[0], IPPROTO_TCP, TCP_USER_TIMEOUT, 1500);
	must(ioctl(e[0], SDP_IOC_RING_SETUP, &setup) == 0);
	tx = mmap(NULL, setup.data_offset + SDP_RING_MIN, PROT_READ | PROT_WRITE, MAP_SHARED,
		  e[0], SDP_MMAP_TX_RING);
	must(tx != MAP_FAILED);
	ok(events(e[0], POLLRDHUP, 2500) == 0, "rings: with nothing to send none ends");
	while (has_room(e[0])) {
		__atomic_store_n(&tx->tail, __atomic_load_n(&tx->head, __ATOMIC_ACQUIRE) +
				 SDP_RING_MIN, __ATOMIC_RELEASE);
		must(ioctl(e[0], SDP_IOC_RING_ENTER, &enter) == 0);
	}
	given_up(SDP, e[0], "rings", "unread for too long");
	must(munmap(tx, setup.data_offset + SDP_RING_MIN) == 0);
	unpair(e);
}

int main(int argc, char **argv)
{
	must(argc == 2);
	loss_file = argv[1];
	signal(SIGPIPE, SIG_IGN);
	for (enum kind k = SDP; k <= TCP; k++) {
		test_keepalive(k == SDP ? TCP : SDP);
		test_user_timeout(k == SDP ? TCP : SDP);
		test_half_closed(k == SDP ? TCP : SDP);
	}
	test_full();
	test_ring_timeout();
	test_closed();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
