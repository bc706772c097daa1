// SPDX-License-Identifier: GPL-2.0
/*
 * sdpctl - lists connections of TCP sockets with the ULP "sdp", and moves them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "act.h"
#include "show.h"

static const char usage[] =
"Usage: sdpctl list [-ajlp] [FILTER...]\n"
"       sdpctl return [-s] [-w SECONDS] -a|FILTER...\n"
"       sdpctl offload -a|FILTER...\n"
"\n"
"List the endpoints of SDP in this network namespace, bring their connections back to\n"
"TCP, or have them look for a better carrier now.\n"
"\n"
"  -a, --all           every connection; list: listening endpoints too\n"
"  -w, --wait SECONDS  return: until TCP alone has the connections; names the others\n"
"  -s, --stay          return: for good\n"
"  -l, --listening     list: only listening endpoints\n"
"  -p, --processes     list: and who has them open\n"
"  -j, --json          list: as JSON\n"
"  -h, --help          show this\n"
"  -V, --version       show the version\n"
"\n"
"Filters, of which each has to hold: address=, carrier=, id=, kind=, pid=, port=,\n"
"program=, reason=, state=, with one value, or several and commas between, as in\n"
"  sdpctl return --wait 10 carrier=local port=80,443\n";

enum command {
	LIST,
	RETURN,
	OFFLOAD,
	COMMANDS,
};

static const struct {
	const char *name;
	const char *options;
} commands[COMMANDS] = {
	[LIST] = { "list", "ajlphV" },
	[RETURN] = { "return", "asw:hV" },
	[OFFLOAD] = { "offload", "ahV" },
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

__attribute__((noreturn))
static void wrong(void)
{
	complain("try --help");
	exit(2);
}

static double read_seconds(const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds > 0 && seconds <= 86400)) {
		complain("%s: not a time up to 86400 seconds", value);
		exit(2);
	}
	return seconds;
}

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
		request->order.wait = read_seconds(optarg);
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	case 'V':
		puts("sdpctl " VERSION);
		exit(0);
	default:
		wrong();
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
	int c;

	while ((c = getopt_long(argc, argv, options, names, NULL)) != -1) {
		/* A long one of another command. */
		if (c != '?' && !strchr(options, c)) {
			complain("%s has no such option", argv[optind - 1]);
			wrong();
		}
		take_option(request, c);
	}
	for (; optind < argc; optind++, request->filters++)
		if (!filter_add(&request->order.filter, argv[optind]))
			exit(2);
}

static void read_command(int argc, char **argv, struct request *request)
{
	int i;

	if (argc < 2 || argv[1][0] == '-') {
		read_options(argc, argv, request, "+hV");
		complain("what is to be done?");
		wrong();
	}
	for (i = 0; i < COMMANDS && strcmp(argv[1], commands[i].name); i++)
		;
	if (i == COMMANDS) {
		complain("no command is called %s", argv[1]);
		wrong();
	}
	request->command = i;
	request->order.command = i == OFFLOAD ? SDP_CTL_OFFLOAD : SDP_CTL_RETURN;
	argv[1] = argv[0];
	read_options(argc - 1, argv + 1, request, commands[i].options);
	if (i == LIST || request->all != !!request->filters)
		return;
	complain(request->all ? "all, or those of the filters?" :
				"which connections? --all, or filters");
	wrong();
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

int main(int argc, char **argv)
{
	struct request request = {};
	int status;

	read_command(argc, argv, &request);
	if (request.command == LIST && request.all)
		request.order.filter.show = SHOW_ALL;
	status = request.command == LIST ? list(&request) : act(&request.order);
	if (fflush(stdout) || ferror(stdout)) {
		complain("writing: %s", strerror(errno));
		return 1;
	}
	return status;
}
