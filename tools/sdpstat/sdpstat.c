// SPDX-License-Identifier: GPL-2.0
/*
 * sdpstat - the endpoints of /dev/sdp in this network namespace, and what
 * carries their bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

#define ENDPOINTS	"/proc/net/sdp/endpoints"
#define COUNTERS	"/proc/net/sdp/snmp"

static const char usage[] =
"Usage: sdpstat [OPTION...]\n"
"\n"
"Show the endpoints of /dev/sdp in this network namespace: their states, what\n"
"carries their bytes, their addresses, bytes and messages each way, the messages\n"
"that the peer has buffers for, why they ended or went over TCP, and the bytes of\n"
"their own buffers.\n"
"\n"
"  -a, --all        listening ones too\n"
"  -l, --listening  only listening ones\n"
"  -s, --counters   the counters of SDP instead\n"
"  -j, --json       as JSON, every column\n"
"  -n, --numeric    accepted and ignored: addresses are always numbers\n"
"  -h, --help       show this\n"
"  -V, --version    show the version\n";

/* The kernel's name of a column, and ours. */
static const struct column {
	const char *name;
	const char *title;
	bool number;
} columns[] = {
	{ "state",	"State",	false },
	{ "carrier",	"Carrier",	false },
	{ "local",	"Local address:port",	false },
	{ "peer",	"Peer address:port",	false },
	{ "tx_bytes",	"Sent bytes",	true },
	{ "rx_bytes",	"Rcvd bytes",	true },
	{ "tx_msgs",	"Sent msgs",	true },
	{ "rx_msgs",	"Rcvd msgs",	true },
	{ "tx_credits",	"Credits",	true },
	{ "reason",	"Reason",	false },
	{ "memory",	"Memory",	true },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

enum show { SHOW_CONNECTIONS, SHOW_LISTENERS, SHOW_ALL };

/* Where the kernel has each of our columns. */
static void find_columns(const struct table *table, size_t *where)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++) {
		where[i] = table_column(table, columns[i].name);
		if (where[i] == table->columns)
			table_fail(table, 1, "no column %s", columns[i].name);
	}
}

static bool wanted(const char *state, enum show show)
{
	if (show == SHOW_ALL)
		return true;
	return !strcmp(state, "LISTEN") == (show == SHOW_LISTENERS);
}

static void print_row(const char *const *cells, const size_t *width)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		printf(columns[i].number ? "%s%*s" : "%s%-*s", i ? "  " : "",
		       (int)width[i], cells[i]);
	putchar('\n');
}

static void print_endpoints(const struct table *table, const size_t *where,
			    enum show show)
{
	const char *cells[COLUMNS];
	size_t width[COLUMNS];
	size_t i, row, n;

	for (i = 0; i < COLUMNS; i++)
		width[i] = strlen(columns[i].title);
	for (row = 0; row < table->rows; row++)
		for (i = 0; i < COLUMNS; i++) {
			n = strlen(table_cell(table, row, where[i]));
			if (wanted(table_cell(table, row, where[0]), show) && n > width[i])
				width[i] = n;
		}

	for (i = 0; i < COLUMNS; i++)
		cells[i] = columns[i].title;
	print_row(cells, width);
	for (row = 0; row < table->rows; row++) {
		for (i = 0; i < COLUMNS; i++)
			cells[i] = table_cell(table, row, where[i]);
		if (wanted(cells[0], show))
			print_row(cells, width);
	}
}

static void print_endpoints_json(const struct table *table, size_t state,
				 enum show show)
{
	const char *between = "";
	size_t i, row;

	printf("{\"endpoints\":[");
	for (row = 0; row < table->rows; row++) {
		if (!wanted(table_cell(table, row, state), show))
			continue;
		printf("%s\n{", between);
		between = ",";
		for (i = 0; i < table->columns; i++) {
			if (i)
				putchar(',');
			table_json(table->head[i], false);
			putchar(':');
			table_json(table_cell(table, row, i), true);
		}
		putchar('}');
	}
	puts("]}");
}

static void show_endpoints(enum show show, bool json)
{
	struct table table;
	size_t where[COLUMNS];

	table_read(&table, ENDPOINTS, true);
	find_columns(&table, where);
	if (json)
		print_endpoints_json(&table, where[0], show);
	else
		print_endpoints(&table, where, show);
	table_free(&table);
}

static void show_counters(bool json)
{
	const char *between = "";
	struct table table;
	size_t row;

	table_read(&table, COUNTERS, false);
	if (json)
		printf("{\"counters\":{");
	for (row = 0; row < table.rows; row++) {
		const char *name = table_cell(&table, row, 0);
		const char *value = table_cell(&table, row, 1);

		if (table.columns != 2 || !table_is_number(value))
			table_fail(&table, row + 1, "not a name and a number");
		if (!json) {
			printf("%-28s %s\n", name, value);
			continue;
		}
		printf("%s\n", between);
		between = ",";
		table_json(name, false);
		printf(":%s", value);
	}
	if (json)
		puts("}}");
	table_free(&table);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all",	no_argument, NULL, 'a' },
		{ "listening",	no_argument, NULL, 'l' },
		{ "counters",	no_argument, NULL, 's' },
		{ "json",	no_argument, NULL, 'j' },
		{ "numeric",	no_argument, NULL, 'n' },
		{ "help",	no_argument, NULL, 'h' },
		{ "version",	no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	enum show show = SHOW_CONNECTIONS;
	bool counters = false, json = false;
	int c;

	while ((c = getopt_long(argc, argv, "alsjnhV", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			show = SHOW_ALL;
			break;
		case 'l':
			show = SHOW_LISTENERS;
			break;
		case 's':
			counters = true;
			break;
		case 'j':
			json = true;
			break;
		case 'n':
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		case 'V':
			puts("sdpstat " VERSION);
			return 0;
		default:
			fputs("Try sdpstat --help.\n", stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "sdpstat: unknown argument %s; try sdpstat --help\n",
			argv[optind]);
		return 2;
	}

	if (counters)
		show_counters(json);
	else
		show_endpoints(show, json);

	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "sdpstat: writing: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
