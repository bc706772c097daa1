// SPDX-License-Identifier: GPL-2.0
/*
 * Credits: what one end has not read neither stops the other direction nor makes the
 * two kernels talk without end.  selftests/credit tries the rules themselves.
 */
#include "end.h"

#include <netinet/tcp.h>

#define IDLE_TIME	"/sys/module/sdpdev/parameters/idle_time"
#define IDLE_MS		400
#define MUCH		(4 << 20)
#define PIECE		1000
#define LARGE		65536
/* Fewer than this are as many as there are receive buffers: four at each end. */
#define FEW		32

static char out[LARGE], in[LARGE];

static unsigned long idle_time(unsigned long ms)
{
	FILE *f = fopen(IDLE_TIME, "r+e");
	unsigned long was = 0;

	must(f && fscanf(f, "%lu", &was) == 1);
	rewind(f);
	must(fprintf(f, "%lu\n", ms) > 0);
	must(fclose(f) == 0);
	return was;
}

static void option(int fd, int level, int name, int value)
{
	int native = end_native(SDP, fd);

	must(native >= 0);
	must(setsockopt(native, level, name, &value, sizeof(value)) == 0);
	close(native);
}

/* Two ends that write at once and do not wait. */
static void prompt_pair(int e[2])
{
	pair(SDP, e);
	for (int i = 0; i < 2; i++) {
		option(e[i], IPPROTO_TCP, TCP_NODELAY, 1);
		nonblock(e[i], true);
	}
}

/* The same with four receive buffers, two of them for stream bytes. */
static void small_pair(int e[2])
{
	prompt_pair(e);
	for (int i = 0; i < 2; i++) {
		option(e[i], SOL_SOCKET, SO_RCVBUF, 4096);
		/* The endpoint looks at the option. */
		events(e[i], POLLIN, 0);
	}
}

/* One message, which has come when this returns. */
static void message(const int e[2], int from)
{
	unsigned long long before = end_info(e[!from]).rx_bytes;

	must(write(e[from], "x", 1) == 1);
	for (int i = 0; i < 500 && end_info(e[!from]).rx_bytes == before; i++)
		poll(NULL, 0, 20);
	must(end_info(e[!from]).rx_bytes == before + 1);
}

/* Reads all that is there. */
static size_t drain(int fd)
{
	size_t all = 0;
	ssize_t n;

	while ((n = read(fd, in, sizeof(in))) > 0)
		all += n;
	return all;
}

/* Moves @bytes from @from to @to, @piece at a time; false: it stopped. */
static bool move(int from, int to, size_t bytes, size_t piece)
{
	struct pollfd p[] = { { from, POLLOUT, 0 }, { to, POLLIN, 0 } };
	size_t sent = 0, got = 0;
	ssize_t n;

	while (got < bytes) {
		p[0].fd = sent < bytes ? from : -1;
		if (poll(p, 2, SOON) <= 0) {
			printf("# %zu bytes sent, %zu came\n", sent, got);
			return false;
		}
		while (sent < bytes) {
			n = write(from, out, sent + piece < bytes ? piece : bytes - sent);
			if (n < 0)
				break;
			sent += n;
		}
		got += drain(to);
	}
	return true;
}

/* Messages of both ends until none comes for a while, or for too long. */
static unsigned long long messages(const int e[2])
{
	unsigned long long first = end_info(e[0]).tx_msgs + end_info(e[1]).tx_msgs;
	unsigned long long now = first, last;
	int i;

	for (i = 0; i < 20; i++) {
		last = now;
		poll(NULL, 0, 200);
		now = end_info(e[0]).tx_msgs + end_info(e[1]).tx_msgs;
		if (now == last)
			break;
	}
	return now - first;
}

/* Buffers with unread bytes are not surplus, though no bytes have come for long. */
static void test_unread(void)
{
	unsigned long was = idle_time(IDLE_MS);
	int e[2];

	prompt_pair(e);
	for (int i = 0; i < 3; i++)
		message(e, 0);
	poll(NULL, 0, IDLE_MS);
	ok(move(e[1], e[0], MUCH, PIECE), "a stream goes on while three messages are unread");
	ok(drain(e[1]) == 3, "they can be read then");
	ok(move(e[0], e[1], MUCH, LARGE), "and so can a stream the other way");
	unpair(e);
	idle_time(was);
}

/* An update is no reason for an update. */
static void test_asleep(void)
{
	unsigned long long n;
	int e[2];

	small_pair(e);
	message(e, 0);
	message(e, 1);
	message(e, 0);
	must(read(e[1], in, 1) == 1);
	n = messages(e);
	if (!ok(n < FEW, "both ends have unread bytes and sleep"))
		printf("# %llu messages\n", n);
	ok(drain(e[1]) == 1 && drain(e[0]) == 1, "all can be read");
	unpair(e);
}

/* Writes until there is no room; how much. */
static size_t fill(int fd)
{
	size_t all = 0;
	ssize_t n;

	while (events(fd, POLLOUT, 200) & POLLOUT) {
		n = write(fd, out, sizeof(out));
		must(n > 0);
		all += n;
	}
	return all;
}

/* Takes @bytes; false: they do not come. */
static bool come(int fd, size_t bytes)
{
	size_t got = 0;

	while (got < bytes && (events(fd, POLLIN, SOON) & POLLIN))
		got += drain(fd);
	if (got != bytes)
		printf("# %zu of %zu bytes\n", got, bytes);
	return got == bytes;
}

/* The last credits are not for probes. */
static void test_probes(void)
{
	unsigned long long n;
	size_t filled[2];
	int e[2], i;

	small_pair(e);
	for (i = 0; i < 2; i++)
		filled[i] = fill(e[i]);
	for (i = 0; i < 2; i++) {
		option(e[i], IPPROTO_TCP, TCP_KEEPIDLE, 1);
		option(e[i], IPPROTO_TCP, TCP_KEEPINTVL, 1);
		option(e[i], IPPROTO_TCP, TCP_KEEPCNT, 2);
		option(e[i], SOL_SOCKET, SO_KEEPALIVE, 1);
	}
	n = end_info(e[0]).tx_msgs + end_info(e[1]).tx_msgs;
	ok(events(e[0], POLLRDHUP, 3500) == 0 && events(e[1], POLLRDHUP, 0) == 0,
	   "two ends that read nothing are asked, and stay");
	n = end_info(e[0]).tx_msgs + end_info(e[1]).tx_msgs - n;
	if (!ok(n < FEW, "with few messages"))
		printf("# %llu messages\n", n);
	ok(come(e[0], filled[1]), "one reads all");
	ok(come(e[1], filled[0]), "and the other");
	unpair(e);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_unread();
	test_asleep();
	test_probes();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
