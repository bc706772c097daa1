// SPDX-License-Identifier: GPL-2.0
/*
 * Endpoints as a table for people, and as JSON for programs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show.h"
#include "table.h"

enum content {
	CELL_WORD,
	CELL_NUMBER,
	CELL_CARRIER,
	CELL_OWNERS,
};

/*
 * The table's columns.  One that not every endpoint has is there if one of those that are shown
 * has it.
 */
static const struct column {
	const char *title;
	enum content content;
	int which;
	bool always;
} columns[] = {
	{ "State",		CELL_WORD,	WORD_STATE,	true },
	{ "Carrier",		CELL_CARRIER,	0,		true },
	{ "Local address:port",	CELL_WORD,	WORD_LOCAL,	true },
	{ "Peer address:port",	CELL_WORD,	WORD_PEER,	true },
	{ "Sent bytes",		CELL_NUMBER,	NUM_TX_BYTES,	true },
	{ "Rcvd bytes",		CELL_NUMBER,	NUM_RX_BYTES,	true },
	{ "Sent/s",		CELL_NUMBER,	NUM_TX_RATE,	false },
	{ "Rcvd/s",		CELL_NUMBER,	NUM_RX_RATE,	false },
	{ "Queued",		CELL_NUMBER,	NUM_RX_QUEUED,	true },
	{ "Moves",		CELL_NUMBER,	NUM_MOVES,	false },
	{ "Reason",		CELL_WORD,	WORD_REASON,	true },
	{ "Mode",		CELL_WORD,	WORD_MODE,	false },
	{ "Process",		CELL_OWNERS,	0,		false },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

/* Names in JSON. */
static const char *const word_names[WORD_MAX] = {
	[WORD_STATE] = "state",
	[WORD_TX_CARRIER] = "tx_carrier",
	[WORD_RX_CARRIER] = "rx_carrier",
	[WORD_LOCAL] = "local",
	[WORD_PEER] = "peer",
	[WORD_REASON] = "reason",
	[WORD_MODE] = "mode",
};

static const char *const number_names[NUM_MAX] = {
	[NUM_ID] = "id",
	[NUM_TX_BYTES] = "tx_bytes",
	[NUM_RX_BYTES] = "rx_bytes",
	[NUM_TX_ZCOPY] = "tx_zcopy",
	[NUM_RX_ZCOPY] = "rx_zcopy",
	[NUM_TX_WRITTEN] = "tx_written",
	[NUM_RX_WRITTEN] = "rx_written",
	[NUM_TX_RATE] = "tx_bytes_per_second",
	[NUM_RX_RATE] = "rx_bytes_per_second",
	[NUM_TX_QUEUED] = "tx_queued",
	[NUM_RX_QUEUED] = "rx_queued",
	[NUM_MOVES] = "moves",
	[NUM_TCP_TX_BYTES] = "tcp_tx_bytes",
	[NUM_TCP_RX_BYTES] = "tcp_rx_bytes",
	[NUM_UID] = "uid",
	[NUM_INODE] = "inode",
};

void owners_cell(const struct endpoint *ep, char *cell)
{
	size_t i, len = 0;

	snprintf(cell, CELL_LEN, "%s", ep->owner_count ? "" : "-");
	for (i = 0; i < ep->owner_count && len < CELL_LEN; i++)
		len += snprintf(cell + len, CELL_LEN - len, "%s%s(%d)", i ? "," : "",
				ep->owners[i].program, ep->owners[i].pid);
}

/* What is sent goes by the first one, what is received by the second. */
static void carrier_cell(const struct endpoint *ep, char *cell)
{
	const char *tx = ep->word[WORD_TX_CARRIER], *rx = ep->word[WORD_RX_CARRIER];

	if (strcmp(tx, rx))
		snprintf(cell, CELL_LEN, "%s/%s", tx, rx);
	else
		snprintf(cell, CELL_LEN, "%s", tx);
}

static void fill(const struct endpoint *ep, const struct column *column, char *cell)
{
	switch (column->content) {
	case CELL_WORD:
		snprintf(cell, CELL_LEN, "%s", ep->word[column->which]);
		break;
	case CELL_NUMBER:
		if (endpoint_knows(ep, column->which))
			snprintf(cell, CELL_LEN, "%llu",
				 (unsigned long long)ep->number[column->which]);
		else
			snprintf(cell, CELL_LEN, "-");
		break;
	case CELL_CARRIER:
		carrier_cell(ep, cell);
		break;
	case CELL_OWNERS:
		owners_cell(ep, cell);
		break;
	}
}

/* How wide columns have to be; 0 for those that are left out. */
static void measure(const struct endpoints *list, const struct filter *filter,
		    const struct style *style, size_t *width)
{
	char cell[CELL_LEN];
	bool shown[COLUMNS];
	size_t i, row, len;

	for (i = 0; i < COLUMNS; i++) {
		shown[i] = columns[i].always ||
			   (columns[i].content == CELL_OWNERS && style->owners);
		width[i] = strlen(columns[i].title);
	}
	for (row = 0; row < list->count; row++) {
		if (!filter_wants(filter, &list->all[row]))
			continue;
		for (i = 0; i < COLUMNS; i++) {
			fill(&list->all[row], &columns[i], cell);
			len = strlen(cell);
			if (len > width[i])
				width[i] = len;
			if (columns[i].content == CELL_NUMBER)
				shown[i] |= endpoint_knows(&list->all[row], columns[i].which);
			else if (columns[i].content == CELL_WORD)
				shown[i] |= strcmp(cell, "-") != 0;
		}
	}
	for (i = 0; i < COLUMNS; i++)
		if (!shown[i])
			width[i] = 0;
}

/* A row, or the titles. */
static void print_row(const struct endpoint *ep, const size_t *width)
{
	char cell[CELL_LEN];
	size_t i, last = 0;

	for (i = 0; i < COLUMNS; i++)
		if (width[i])
			last = i;
	for (i = 0; i <= last; i++) {
		if (!width[i])
			continue;
		if (ep)
			fill(ep, &columns[i], cell);
		else
			snprintf(cell, sizeof(cell), "%s", columns[i].title);
		printf(columns[i].content == CELL_NUMBER ? "%s%*s" : "%s%-*s", i ? "  " : "",
		       i < last || columns[i].content == CELL_NUMBER ? (int)width[i] : 0, cell);
	}
	putchar('\n');
}

static void show_table(const struct endpoints *list, const struct filter *filter,
		       const struct style *style)
{
	size_t width[COLUMNS];
	size_t row;

	measure(list, filter, style, width);
	print_row(NULL, width);
	for (row = 0; row < list->count; row++)
		if (filter_wants(filter, &list->all[row]))
			print_row(&list->all[row], width);
}

static void json_owners(const struct endpoint *ep)
{
	size_t i;

	fputs(",\"processes\":[", stdout);
	for (i = 0; i < ep->owner_count; i++) {
		printf("%s{\"pid\":%d,\"program\":", i ? "," : "", ep->owners[i].pid);
		table_json(ep->owners[i].program);
		putchar('}');
	}
	putchar(']');
}

static void json_endpoint(const struct endpoint *ep, bool owners)
{
	int i;

	printf("{\"kind\":\"%s\"", kind_names[ep->kind]);
	for (i = 0; i < WORD_MAX; i++) {
		printf(",\"%s\":", word_names[i]);
		table_json(ep->word[i]);
	}
	for (i = 0; i < NUM_MAX; i++)
		if (endpoint_knows(ep, i))
			printf(",\"%s\":%llu", number_names[i],
			       (unsigned long long)ep->number[i]);
	if (owners)
		json_owners(ep);
	putchar('}');
}

static void show_json(const struct endpoints *list, const struct filter *filter,
		      const struct style *style)
{
	const char *between = "";
	size_t row;

	fputs("{\"endpoints\":[", stdout);
	for (row = 0; row < list->count; row++) {
		if (!filter_wants(filter, &list->all[row]))
			continue;
		printf("%s%s", between, style->lines ? "" : "\n");
		between = ",";
		json_endpoint(&list->all[row], style->owners);
	}
	puts("]}");
}

void show_endpoints(const struct endpoints *list, const struct filter *filter,
		    const struct style *style)
{
	if (style->json)
		show_json(list, filter, style);
	else
		show_table(list, filter, style);
}
