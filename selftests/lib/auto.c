// SPDX-License-Identifier: GPL-2.0
/*
 * The rings that a program that knows nothing of them is given by itself: to whom, and
 * what connections cost that have had them and are idle.  Run by sdprun in node 1.
 *
 *	auto [never]: with "never" there must be none
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "mapped.h"
#include "node.h"
#include "sdpdev.h"
#include "tap.h"

#define PORT		24201
#define MANY		40		/* small messages, more than rings are worth after */
#define MAPPINGS	3		/* of a connection with rings */
#define PAIRS		64
#define IDLE_KIB	64		/* that an end may cost */
#define OTHERS_KIB	8		/* for an end: what others take meanwhile */
#define BUFFERS		34000		/* bytes that an idle end has of them, and of rings none */

static struct sockaddr_in address;
static int listener;
static char out[64], in[64];

static void connected(int pair[2])
{
	struct sdp_info info;

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	must(!connect(pair[0], (struct sockaddr *)&address, sizeof(address)));
	pair[1] = accept(listener, NULL, NULL);
	must(pair[1] >= 0 && !sdp_info(pair[0], &info) && info.carrier == SDP_CARRIER_SDP);
}

static void send_some(int fd, int n)
{
	for (int i = 0; i < n; i++) {
		memset(out, 'a' + i % 26, sizeof(out));
		must(send(fd, out, sizeof(out), 0) == sizeof(out));
	}
}

/* What send_some() has sent, each by one call: whether all of it is right. */
static bool receive_some(int fd, int n)
{
	for (int i = 0; i < n; i++)
		if (recv(fd, in, sizeof(in), MSG_WAITALL) != sizeof(in) ||
		    in[0] != 'a' + i % 26 || in[63] != in[0])
			return false;
	return true;
}

/* A call may get a part of a message. */
static void receive_plain(int fd, int n)
{
	for (size_t left = n * sizeof(in); left > 0;) {
		ssize_t got = recv(fd, in, left < sizeof(in) ? left : sizeof(in), 0);

		must(got > 0);
		left -= got;
	}
}

static void test_who(int want)
{
	struct sdp_info info;
	int pair[2], i;

	connected(pair);
	send_some(pair[0], MANY / 4);
	ok(mappings() == 0, "no rings for %d messages", MANY / 4);
	send_some(pair[0], MANY);
	ok(mappings() == want, "for who has sent %d more: %d mappings", MANY, mappings());
	must(!sdp_info(pair[0], &info));
	ok(info.tx_ring_bytes == (want ? 16384 : 0), "of %u bytes", info.tx_ring_bytes);
	ok(receive_some(pair[1], MANY / 4) && receive_some(pair[1], MANY), "all of it comes");

	send_some(pair[0], 2 * MANY);
	receive_plain(pair[1], 2 * MANY);
	ok(mappings() == 2 * want, "who has received what was waiting has them, too: %d",
	   mappings());
	close(pair[0]);
	close(pair[1]);
	ok(mappings() == 0, "closed: they are gone");

	connected(pair);
	for (i = 0; i < MANY; i++) {
		send_some(pair[0], 1);
		receive_plain(pair[1], 1);
		send_some(pair[1], 1);
		receive_plain(pair[0], 1);
	}
	ok(mappings() == 0, "none for questions and answers");
	close(pair[0]);
	close(pair[1]);
}

/* --- idle ones ------------------------------------------------------------------ */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	must(f && fputs(text, f) >= 0 && !fclose(f));
}

/* The sum of a file's lines of that name, which is followed by a number. */
static long sum_lines(const char *path, const char *name)
{
	long value, sum = 0;
	char line[256], word[64];
	FILE *f;

	f = fopen(path, "re");
	must(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %63s %ld", word, &value) == 2 && !strcmp(word, name))
			sum += value;
	fclose(f);
	return sum;
}

/* What is not free, in KiB, nor kept free by a CPU, nor can be had back. */
static long memory_used(void)
{
	const char *info = "/proc/meminfo";

	write_file("/proc/sys/vm/drop_caches", "3");
	return sum_lines(info, "MemTotal:") - sum_lines(info, "MemFree:") -
	       sum_lines(info, "Buffers:") - sum_lines(info, "Cached:") -
	       sum_lines("/proc/zoneinfo", "count:") * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Bytes of all endpoints over SDP in both nodes, and how many there are. */
static long endpoints_have(int *n)
{
	char line[512], carrier[16];
	long bytes, sum = 0;
	FILE *f;

	*n = 0;
	for (int node = 2; node; node--) {
		enter_node(node);
		f = fopen("/proc/self/net/sdp/endpoints", "re");
		must(f);
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "%*s %*s %*s %*s %15s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
				   carrier, &bytes) == 2 && !strcmp(carrier, "SDP")) {
				sum += bytes;
				++*n;
			}
		fclose(f);
	}
	return sum;
}

static void use_pairs(int pair[PAIRS][2])
{
	for (int i = 0; i < PAIRS; i++) {
		connected(pair[i]);
		send_some(pair[i][0], MANY);
		receive_plain(pair[i][1], MANY);
	}
}

static void close_pairs(int pair[PAIRS][2])
{
	int n;

	for (int i = 0; i < PAIRS; i++) {
		close(pair[i][0]);
		close(pair[i][1]);
	}
	for (int i = 0; i < 1000 && (endpoints_have(&n), n); i++)
		poll(NULL, 0, 20);
	must(!n);
}

/* Connections that become idle: KiB for each end. */
static long idle_kib(int pair[PAIRS][2])
{
	long before = memory_used(), kib = 0, bytes = 0;
	int n = 0, looks;

	use_pairs(pair);
	printf("# %ld KiB for each end in use\n", (memory_used() - before) / (2 * PAIRS));
	for (int i = 0; i < 1000; i++) {
		bytes = endpoints_have(&n);
		if (bytes < n * BUFFERS)
			break;
		poll(NULL, 0, 20);
	}
	/* What others have taken for a while they give back. */
	for (looks = 1; looks < 50; looks++) {
		kib = (memory_used() - before) / (2 * PAIRS);
		if (kib <= IDLE_KIB + OTHERS_KIB)
			break;
		poll(NULL, 0, 100);
	}
	printf("# %ld KiB for each end idle, %ld of buffers, at look %d\n", kib,
	       bytes / n / 1024, looks);
	return kib;
}

static void test_idle(void)
{
	int pair[PAIRS][2], right = 0, tries = 0;
	long kib;

	/* What the first ones leave behind is there for the others. */
	use_pairs(pair);
	close_pairs(pair);
	/* What others have taken for good meanwhile is there for the next ones, too. */
	while ((kib = idle_kib(pair)) > IDLE_KIB + OTHERS_KIB && ++tries < 3)
		close_pairs(pair);
	ok(mappings() == 2 * PAIRS * MAPPINGS, "%d connections with rings at both ends", PAIRS);
	ok(kib <= IDLE_KIB + OTHERS_KIB, "idle they cost %d KiB each end at most", IDLE_KIB);

	for (int i = 0; i < PAIRS; i++) {
		send_some(pair[i][0], MANY);
		right += receive_some(pair[i][1], MANY);
	}
	ok(right == PAIRS && mappings() == 2 * PAIRS * MAPPINGS, "and go on with the same rings");
	close_pairs(pair);
}

int main(int argc, char **argv)
{
	bool never = argc > 1 && !strcmp(argv[1], "never");

	signal(SIGPIPE, SIG_IGN);
	tap_plan(never ? 7 : 10);
	write_file("/sys/module/sdpdev/parameters/idle_time", "500");
	listener = listen_there(PORT, 128, &address);
	test_who(never ? 0 : MAPPINGS);
	if (!never)
		test_idle();
	write_file("/sys/module/sdpdev/parameters/idle_time", "10000");
	return tap_exit();
}
