// SPDX-License-Identifier: GPL-2.0
/*
 * sdpstat - the endpoints of SDP in this network namespace, and what carries their bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "show.h"

static const char usage[] =
"Usage: sdpstat [OPTION...] [FILTER...]\n"
"\n"
"Show TCP sockets of this network namespace that may leave TCP, with the ULP\n"
"\"sdp\", and sockets of direct SDP: their states, the carrier of their bytes, their\n"
"addresses, the bytes that did not go by TCP, the bytes that wait to be read, and\n"
"the reason why a connection is with TCP.\n"
"\n"
"  -a, --all          listening ones too\n"
"  -l, --listening    only listening ones\n"
"  -p, --processes    show the processes that have them open\n"
"  -s, --counters     the counters of SDP instead\n"
"  -i, --interval N   again every N seconds, with bytes per second\n"
"  -c, --count N      N times, then end\n"
"  -j, --json         as JSON, everything that is known\n"
"  -n, --numeric      accepted and ignored: addresses are always numbers\n"
"  -h, --help         show this\n"
"  -V, --version      show the version\n"
"\n"
"An endpoint has to match all filters: address=, carrier=, id=, kind=, pid=, port=,\n"
"program=, reason=, state=, each with one value or several with commas between:\n"
"  sdpstat carrier=local port=80,443\n";

/**
 * struct request - what the command line asks for
 * @filter: which endpoints
 * @style: how they are shown
 * @counters: counters instead
 * @interval: seconds between two tables, or 0
 * @count: tables; 0: without an end
 */
struct request {
	struct filter filter;
	struct style style;
	bool counters;
	double interval;
	unsigned long count;
};

static unsigned long read_count(const char *value)
{
	unsigned long count;
	char *end;

	errno = 0;
	count = strtoul(value, &end, 10);
	if (errno || *end || *value < '0' || *value > '9' || !count)
		bad_usage("%s: not a number of tables", value);
	return count;
}

static void parse(int argc, char **argv, struct request *request)
{
	static const struct option options[] = {
		{ "all",	no_argument, NULL, 'a' },
		{ "listening",	no_argument, NULL, 'l' },
		{ "processes",	no_argument, NULL, 'p' },
		{ "counters",	no_argument, NULL, 's' },
		{ "interval",	required_argument, NULL, 'i' },
		{ "count",	required_argument, NULL, 'c' },
		{ "json",	no_argument, NULL, 'j' },
		{ "numeric",	no_argument, NULL, 'n' },
		{ "help",	no_argument, NULL, 'h' },
		{ "version",	no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "alpsi:c:jnhV", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			request->filter.show = SHOW_ALL;
			break;
		case 'l':
			request->filter.show = SHOW_LISTENERS;
			break;
		case 'p':
			request->style.owners = true;
			break;
		case 's':
			request->counters = true;
			break;
		case 'i':
			request->interval = read_seconds(optarg, 0.1);
			break;
		case 'c':
			request->count = read_count(optarg);
			break;
		case 'j':
			request->style.json = true;
			break;
		case 'n':
			break;
		default:
			take_last(c, usage, VERSION);
		}
	}
	for (; optind < argc; optind++)
		if (!filter_add(&request->filter, argv[optind]))
			exit(2);
	if (!request->interval) {
		if (request->count)
			bad_usage("-c needs -i");
		request->count = 1;
	}
	request->style.lines = request->interval > 0;
}

/* Shows the endpoints; false if some could not be asked for. */
static bool endpoints(const struct request *request, double seconds)
{
	static struct endpoints before;
	struct endpoints now = {};
	bool failed;

	endpoints_read(&now, &request->filter, request->style.owners);
	if (seconds > 0)
		endpoints_rates(&now, &before, seconds);
	show_endpoints(&now, &request->filter, &request->style);
	failed = now.failed;
	endpoints_free(&before);
	before = now;
	return !failed;
}

int main(int argc, char **argv)
{
	struct request request = {};
	double begin = clock_seconds(), last = begin, now;
	unsigned long i;
	bool good = true;

	parse(argc, argv, &request);
	for (i = 0; !request.count || i < request.count; i++) {
		if (i) {
			sleep_for(begin + (double)i * request.interval - clock_seconds());
			if (!request.style.json)
				putchar('\n');
		}
		now = clock_seconds();
		if (request.counters)
			show_counters(&request.style, i ? now - last : 0);
		else
			good &= endpoints(&request, i ? now - last : 0);
		last = now;
		if (!written())
			return 1;
	}
	return !good;
}
