// SPDX-License-Identifier: GPL-2.0
/*
 * Small pieces, over TCP and over SDP: they go together while a small one has not
 * been answered, unless TCP_NODELAY says otherwise, and nothing else waits for that.
 *
 *	small LOSS_FILE: where to write how many packets in a million are lost
 */
#include "end.h"

#include <linux/sockios.h>
#include <netinet/tcp.h>

#define LARGE 12345
/* What is held back goes after 200 ms, TCP's with what it sends again: before that. */
#define HOLD_MS 150

static const char *loss_file;
static char out[LARGE], in[LARGE];

static void lose(const char *millionths)
{
	int fd = open(loss_file, O_WRONLY | O_CLOEXEC);

	must(fd >= 0);
	must(write(fd, millionths, strlen(millionths)) > 0);
	close(fd);
}

static void nodelay(enum kind k, int fd, int on)
{
	int native = end_native(k, fd);

	must(native >= 0);
	must(setsockopt(native, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0);
	close(native);
}

/* Bytes that have not been given to the network. */
static int held(int fd)
{
	int n = -1;

	must(ioctl(fd, SIOCOUTQNSD, &n) == 0);
	return n;
}

/* Until all that was sent is answered. */
static void settle(int fd)
{
	int n = 1;

	for (int i = 0; i < 500 && n; i++) {
		must(ioctl(fd, SIOCOUTQ, &n) == 0);
		poll(NULL, 0, 10);
	}
	must(!n);
}

static bool read_all(int fd, size_t len)
{
	size_t n;
	ssize_t r;

	for (n = 0; n < len; n += r) {
		r = read(fd, in + n, len - n);
		if (r <= 0)
			return false;
	}
	return true;
}

static bool arrives(int fd, size_t len)
{
	return read_all(fd, len) && !memcmp(in, out, len);
}

/* A pair with room for some messages: what nobody uses has few buffers. */
static void warm_pair(enum kind k, int e[2])
{
	pair(k, e);
	for (int i = 0; i < 8; i++)
		must(write(e[0], out, LARGE) == LARGE && read_all(e[1], LARGE));
	settle(e[0]);
}

/*
 * What is held back after one small piece, those after it, two without delay, and one
 * more; false: the machine has been so slow that it tells nothing.
 */
static bool send_pieces(enum kind k, const int e[2], int seen[4])
{
	long before = milliseconds(), took;

	must(write(e[0], out, 1) == 1);
	seen[0] = held(e[0]);
	for (int i = 1; i < 10; i++)
		must(write(e[0], out + i, 1) == 1);
	seen[1] = held(e[0]);
	took = milliseconds() - before;
	nodelay(k, e[0], 1);
	must(write(e[0], out + 10, 1) == 1 && write(e[0], out + 11, 1) == 1);
	seen[2] = held(e[0]);
	nodelay(k, e[0], 0);
	before = milliseconds();
	must(write(e[0], out + 12, 1) == 1);
	seen[3] = held(e[0]);
	return took < HOLD_MS && milliseconds() - before < HOLD_MS;
}

static void test_together(enum kind k)
{
	int e[2], seen[4];

	for (;;) {
		warm_pair(k, e);
		lose("1000000");
		if (send_pieces(k, e, seen))
			break;
		lose("0");
		unpair(e);
	}
	printf("# held back: %d, %d, %d, %d\n", seen[0], seen[1], seen[2], seen[3]);
	ok(seen[0] == 0, "%s: a small piece goes at once", kind_name[k]);
	ok(seen[1] == 9, "%s: those after it wait for its answer", kind_name[k]);
	/* What TCP sends after losses depends on how many it has seen. */
	if (k == SDP) {
		ok(seen[2] == 0, "%s: not with TCP_NODELAY", kind_name[k]);
		ok(seen[3] == 1, "%s: but without it", kind_name[k]);
	}
	lose("0");
	ok(arrives(e[1], 13), "%s: all of it arrives", kind_name[k]);
	unpair(e);
}

static void test_end_of_much(enum kind k)
{
	int e[2];

	warm_pair(k, e);
	lose("1000000");
	must(write(e[0], out, LARGE) == LARGE);
	/* TCP's window may have room for less. */
	if (k == SDP)
		ok(held(e[0]) == 0, "%s: what ends a large piece does not wait", kind_name[k]);
	lose("0");
	ok(arrives(e[1], LARGE), "%s: it arrives", kind_name[k]);
	unpair(e);
}

static void test_shutdown(enum kind k)
{
	int e[2], one, rest;
	long before;

	for (;;) {
		warm_pair(k, e);
		lose("1000000");
		before = milliseconds();
		must(write(e[0], out, 1) == 1 && write(e[0], out + 1, 1) == 1);
		one = held(e[0]);
		must(end_shutdown(k, e[0], SHUT_WR) == 0);
		rest = held(e[0]);
		if (milliseconds() - before < HOLD_MS)
			break;
		lose("0");
		unpair(e);
	}
	must(one == 1);
	/* TCP counts its FIN. */
	ok(rest <= (k == TCP), "%s: the end does not wait", kind_name[k]);
	lose("0");
	ok(arrives(e[1], 2) && read(e[1], in, 1) == 0, "%s: all of it arrives, and the end",
	   kind_name[k]);
	unpair(e);
}

int main(int argc, char **argv)
{
	must(argc == 2);
	loss_file = argv[1];
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < LARGE; i++)
		out[i] = i % 251;
	for (int i = 0; i < 2; i++) {
		enum kind k = i ? SDP : TCP;

		test_together(k);
		test_end_of_much(k);
		test_shutdown(k);
	}
	printf("1..%u\n", tap_done);
	return tap_exit();
}
