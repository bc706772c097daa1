// SPDX-License-Identifier: GPL-2.0
/*
 * sdpctl - lists connections of TCP sockets with the ULP "sdp", and moves them.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "act.h"
#include "show.h"

static const char usage[] =
"Usage: sdpctl list [-ajlp] [FILTER...]\n"
"       sdpctl return [-s] [-w SECONDS] -a|FILTER...\n"
"       sdpctl offload -a|FILTER...\n"
"       sdpctl report\n"
"\n"
"List the endpoints of SDP in this network namespace, bring connections back to\n"
"TCP, let connections look for a better carrier now, or collect the data for a\n"
"bug report.\n"
"\n"
"  -a, --all           every connection; list: listening endpoints too\n"
"  -w, --wait SECONDS  return: wait until TCP alone carries them; name the rest\n"
"  -s, --stay          return: for good\n"
"  -l, --listening     list: only listening endpoints\n"
"  -p, --processes     list: show the processes that have them open\n"
"  -j, --json          list: as JSON\n"
"  -h, --help          show this\n"
"  -V, --version       show the version\n"
"\n"
"A connection has to match all filters: address=, carrier=, id=, kind=, pid=, port=,\n"
"program=, reason=, state=, each with one value or several with commas between:\n"
"  sdpctl return --wait 10 carrier=local port=80,443\n";

enum command {
	LIST,
	RETURN,
	OFFLOAD,
	REPORT,
	COMMANDS,
};

static const struct {
	const char *name;
	const char *options;
} commands[COMMANDS] = {
	[LIST] = { "list", "ajlphV" },
	[RETURN] = { "return", "asw:hV" },
	[OFFLOAD] = { "offload", "ahV" },
	[REPORT] = { "report", "hV" },
};

/**
 * struct request - what the command line asks for
 * @command: which command
 * @order: to move connections, or the filter of a list
 * @style: of a list
 * @all: every connection
 * @filters: filters that were given
 */
struct request {
	enum command command;
	struct order order;
	struct style style;
	bool all;
	int filters;
};

static void take_option(struct request *request, int c)
{
	switch (c) {
	case 'a':
		request->all = true;
		break;
	case 'j':
		request->style.json = true;
		break;
	case 'l':
		request->order.filter.show = SHOW_LISTENERS;
		break;
	case 'p':
		request->style.owners = true;
		break;
	case 's':
		request->order.flags |= SDP_CTL_STAY;
		break;
	case 'w':
		request->order.wait = read_seconds(optarg, 0.001);
		break;
	default:
		take_last(c, usage, VERSION);
	}
}

static void read_options(int argc, char **argv, struct request *request, const char *options)
{
	static const struct option names[] = {
		{ "all",	no_argument, NULL, 'a' },
		{ "json",	no_argument, NULL, 'j' },
		{ "listening",	no_argument, NULL, 'l' },
		{ "processes",	no_argument, NULL, 'p' },
		{ "stay",	no_argument, NULL, 's' },
		{ "wait",	required_argument, NULL, 'w' },
		{ "help",	no_argument, NULL, 'h' },
		{ "version",	no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int c, i;

	while ((c = getopt_long(argc, argv, options, names, &i)) != -1) {
		/* A long one of another command. */
		if (c != '?' && !strchr(options, c))
			bad_usage("this command has no option --%s; try --help", names[i].name);
		take_option(request, c);
	}
	for (; optind < argc; optind++, request->filters++)
		if (!filter_add(&request->order.filter, argv[optind]))
			exit(2);
}

static enum command find_command(const char *name)
{
	int i;

	for (i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return i;
	bad_usage("unknown command %s; try --help", name);
}

static void read_command(int argc, char **argv, struct request *request)
{
	enum command i;

	if (argc < 2 || argv[1][0] == '-') {
		read_options(argc, argv, request, "+hV");
		bad_usage("no command given; try --help");
	}
	i = find_command(argv[1]);
	request->command = i;
	request->order.command = i == OFFLOAD ? SDP_CTL_OFFLOAD : SDP_CTL_RETURN;
	argv[1] = argv[0];
	read_options(argc - 1, argv + 1, request, commands[i].options);
	if (i == REPORT && request->filters)
		bad_usage("report takes no filter; try --help");
	if (i == LIST || i == REPORT || request->all != !!request->filters)
		return;
	if (request->all)
		bad_usage("--all and filters exclude each other; try --help");
	bad_usage("no connections given: use --all, or filters");
}

static int list(const struct request *request)
{
	const struct filter *filter = &request->order.filter;
	struct endpoints all = {};
	bool failed;

	endpoints_read(&all, filter, request->style.owners);
	show_endpoints(&all, filter, &request->style);
	failed = all.failed;
	endpoints_free(&all);
	return failed;
}

/* It is a script, so that users can read what it collects before they send it. */
static int report(void)
{
	execl(REPORT_SCRIPT, REPORT_SCRIPT, NULL);
	perror(REPORT_SCRIPT);
	return 1;
}

int main(int argc, char **argv)
{
	struct request request = {};
	int status;

	read_command(argc, argv, &request);
	if (request.command == REPORT)
		return report();
	if (request.command == LIST && request.all)
		request.order.filter.show = SHOW_ALL;
	status = request.command == LIST ? list(&request) : act(&request.order);
	return written() ? status : 1;
}
