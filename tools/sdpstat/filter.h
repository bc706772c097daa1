/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which endpoints are shown: words of the command line, NAME=VALUE[,VALUE...].
 */
#ifndef SDPSTAT_FILTER_H
#define SDPSTAT_FILTER_H

#include <stdbool.h>

#include "endpoint.h"

enum show {
	SHOW_CONNECTIONS,
	SHOW_LISTENERS,
	SHOW_ALL,
};

enum filter_name {
	FILTER_ADDRESS,
	FILTER_CARRIER,
	FILTER_ID,
	FILTER_KIND,
	FILTER_PID,
	FILTER_PORT,
	FILTER_PROGRAM,
	FILTER_REASON,
	FILTER_STATE,
	FILTER_MAX,
};

/**
 * struct filter - all of it has to hold
 * @show: listeners or not, unless states are asked for
 * @value: for each name the values of which one has to hold, with commas between; or NULL
 */
struct filter {
	enum show show;
	const char *value[FILTER_MAX];
};

/* Takes a word of the command line; false, which is said, if it is none. */
bool filter_add(struct filter *filter, char *word);
bool filter_wants(const struct filter *filter, const struct endpoint *ep);
bool filter_wants_kind(const struct filter *filter, enum kind kind);
bool filter_wants_owners(const struct filter *filter);

/*
 * read.c: those that may be wanted, and their processes if @owners or the filter asks for these.
 * Says once what is left out.
 */
void endpoints_read(struct endpoints *list, const struct filter *filter, bool owners);
/* The same, but only the names of sockets, and of all, if the filter needs no more. */
void endpoints_read_names(struct endpoints *list, const struct filter *filter);

extern const char *const kind_names[KIND_MAX];

#endif /* SDPSTAT_FILTER_H */
