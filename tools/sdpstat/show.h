/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How endpoints and counters are printed.
 */
#ifndef SDPSTAT_SHOW_H
#define SDPSTAT_SHOW_H

#include "filter.h"

/**
 * struct style - what the command line says of it
 * @json: as JSON
 * @owners: with processes
 * @lines: each object of JSON is a line, as more of them come
 */
struct style {
	bool json;
	bool owners;
	bool lines;
};

#define CELL_LEN	256

/* Processes that have the endpoint open, as the table shows them, into CELL_LEN characters. */
void owners_cell(const struct endpoint *ep, char *cell);

/* Prints those that the filter wants. */
void show_endpoints(const struct endpoints *list, const struct filter *filter,
		    const struct style *style);

/* counters.c: @seconds have passed since the last call; 0 for the first one. */
void show_counters(const struct style *style, double seconds);

#endif /* SDPSTAT_SHOW_H */
