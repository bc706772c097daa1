// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of direct SDP, from the kernel's table of them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"
#include "table.h"

#define SOCKETS	"/proc/net/sdp/direct"

/* The kernel's names of its columns. */
static const struct {
	const char *name;
	enum word word;
} words[] = {
	{ "local",	WORD_LOCAL },
	{ "peer",	WORD_PEER },
	{ "state",	WORD_STATE },
};

static const struct {
	const char *name;
	enum number number;
} numbers[] = {
	{ "tx_queue",	NUM_TX_QUEUED },
	{ "rx_queue",	NUM_RX_QUEUED },
	{ "tx_bytes",	NUM_TX_BYTES },
	{ "rx_bytes",	NUM_RX_BYTES },
	{ "tx_zcopy",	NUM_TX_ZCOPY },
	{ "rx_zcopy",	NUM_RX_ZCOPY },
	{ "tx_written",	NUM_TX_WRITTEN },
	{ "rx_written",	NUM_RX_WRITTEN },
	{ "uid",	NUM_UID },
	{ "inode",	NUM_INODE },
	/* There is no other number. */
	{ "inode",	NUM_ID },
};

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

static const char *find(const struct table *table, size_t row, const char *name)
{
	size_t at = table_column(table, name);

	if (at == table->columns)
		table_fail(table, 1, "no column %s", name);
	return table_cell(table, row, at);
}

static void read_row(struct endpoints *list, const struct table *table, size_t row)
{
	struct endpoint *ep = endpoint_add(list, KIND_DIRECT);
	const char *cell;
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		cell = find(table, row, words[i].name);
		snprintf(ep->word[words[i].word], WORD_LEN, "%s", cell);
	}
	for (i = 0; i < COUNT(numbers); i++) {
		cell = find(table, row, numbers[i].name);
		if (!table_is_number(cell))
			table_fail(table, row + 2, "%s is not a number", numbers[i].name);
		endpoint_number(ep, numbers[i].number, strtoull(cell, NULL, 10));
	}
	if (strcmp(ep->word[WORD_STATE], "ESTABLISHED"))
		return;
	strcpy(ep->word[WORD_TX_CARRIER], "direct");
	strcpy(ep->word[WORD_RX_CARRIER], "direct");
}

void direct_read(struct endpoints *list)
{
	struct table table;
	size_t row;

	table_read(&table, SOCKETS, true);
	for (row = 0; row < table.rows; row++)
		read_row(list, &table, row);
	table_free(&table);
}
