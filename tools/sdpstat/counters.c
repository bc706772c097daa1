// SPDX-License-Identifier: GPL-2.0
/*
 * The counters of SDP: those of the network namespace, and those of the transports.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"
#include "table.h"

#define COUNTERS	"/proc/net/sdp/snmp"

static const char *name_of(const struct table *table, size_t row)
{
	return table_cell(table, row, 0);
}

static double value_of(const struct table *table, size_t row)
{
	return strtod(table_cell(table, row, 1), NULL);
}

static void check(const struct table *table)
{
	size_t row;

	for (row = 0; row < table->rows; row++)
		if (table->columns != 2 || !table_is_number(table_cell(table, row, 1)))
			table_fail(table, row + 1, "not a name and a number");
}

/* A transport that has come since then has brought its own ones. */
static double before_of(const struct table *before, const char *name)
{
	size_t row;

	for (row = 0; row < before->rows; row++)
		if (!strcmp(name_of(before, row), name))
			return value_of(before, row);
	return 0;
}

/* All of them, later on those that have changed. */
static void print_text(const struct table *now, const struct table *before, double seconds)
{
	double change;
	size_t row;

	for (row = 0; row < now->rows; row++) {
		const char *name = name_of(now, row), *value = table_cell(now, row, 1);

		if (!seconds) {
			printf("%-28s %s\n", name, value);
			continue;
		}
		change = value_of(now, row) - before_of(before, name);
		if (change > 0)
			printf("%-28s %-12s %.1f/s\n", name, value, change / seconds);
	}
}

static void print_json(const struct table *now, const struct table *before,
		       const struct style *style, double seconds)
{
	const char *line = style->lines ? "" : "\n";
	size_t row;

	fputs("{\"counters\":{", stdout);
	for (row = 0; row < now->rows; row++) {
		printf("%s%s", row ? "," : "", line);
		table_json(name_of(now, row));
		printf(":%s", table_cell(now, row, 1));
	}
	for (row = 0; seconds && row < now->rows; row++) {
		fputs(row ? "," : "},\"per_second\":{", stdout);
		table_json(name_of(now, row));
		printf(":%.1f", (value_of(now, row) - before_of(before, name_of(now, row))) /
				seconds);
	}
	puts("}}");
}

void show_counters(const struct style *style, double seconds)
{
	static struct table before;
	struct table now;

	table_read(&now, COUNTERS, false);
	check(&now);
	if (style->json)
		print_json(&now, &before, style, seconds);
	else
		print_text(&now, &before, seconds);
	table_free(&before);
	before = now;
}
