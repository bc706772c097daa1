// SPDX-License-Identifier: GPL-2.0
/*
 * The endpoints of /dev/sdp, from the kernel's table of them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "table.h"

#define ENDPOINTS	"/proc/net/sdp/endpoints"

/* The kernel's names of its columns. */
static const struct {
	const char *name;
	enum word word;
} words[] = {
	{ "state",	WORD_STATE },
	{ "carrier",	WORD_TX_CARRIER },
	{ "carrier",	WORD_RX_CARRIER },
	{ "local",	WORD_LOCAL },
	{ "peer",	WORD_PEER },
	{ "reason",	WORD_REASON },
};

static const struct {
	const char *name;
	enum number number;
} numbers[] = {
	{ "id",		NUM_ID },
	{ "tx_bytes",	NUM_TX_BYTES },
	{ "rx_bytes",	NUM_RX_BYTES },
	{ "tx_msgs",	NUM_TX_MSGS },
	{ "rx_msgs",	NUM_RX_MSGS },
	{ "tx_credits",	NUM_TX_CREDITS },
	{ "rx_queued",	NUM_RX_QUEUED },
	{ "memory",	NUM_MEMORY },
	{ "uid",	NUM_UID },
	{ "inode",	NUM_INODE },
};

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

static size_t find(const struct table *table, const char *name)
{
	size_t at = table_column(table, name);

	if (at == table->columns)
		table_fail(table, 1, "no column %s", name);
	return at;
}

static void read_row(struct endpoints *list, const struct table *table, size_t row)
{
	struct endpoint *ep = endpoint_add(list, KIND_DEVICE);
	const char *cell;
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		cell = table_cell(table, row, find(table, words[i].name));
		snprintf(ep->word[words[i].word], WORD_LEN, "%s", cell);
	}
	for (i = 0; i < COUNT(numbers); i++) {
		cell = table_cell(table, row, find(table, numbers[i].name));
		if (!table_is_number(cell))
			table_fail(table, row + 2, "%s is not a number", numbers[i].name);
		endpoint_number(ep, numbers[i].number, strtoull(cell, NULL, 10));
	}
}

void device_read(struct endpoints *list)
{
	struct table table;
	size_t row;

	table_read(&table, ENDPOINTS, true);
	for (row = 0; row < table.rows; row++)
		read_row(list, &table, row);
	table_free(&table);
}
