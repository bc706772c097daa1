// SPDX-License-Identifier: GPL-2.0
/*
 * Filters; see filter.h.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "filter.h"

const char *const kind_names[KIND_MAX] = {
	[KIND_SOCKET] = "socket",
	[KIND_DIRECT] = "direct",
};

static const char *const names[FILTER_MAX] = {
	[FILTER_ADDRESS] = "address",
	[FILTER_CARRIER] = "carrier",
	[FILTER_ID] = "id",
	[FILTER_KIND] = "kind",
	[FILTER_PID] = "pid",
	[FILTER_PORT] = "port",
	[FILTER_PROGRAM] = "program",
	[FILTER_REASON] = "reason",
	[FILTER_STATE] = "state",
};

/* Is a word one of the values, or is everything wanted? */
static bool among(const char *values, const char *word)
{
	size_t len = strlen(word);

	if (!values)
		return true;
	while (*values) {
		if (strcspn(values, ",") == len && !strncasecmp(values, word, len))
			return true;
		values += strcspn(values, ",");
		values += *values == ',';
	}
	return false;
}

static bool all_among(const char *values, const char *words)
{
	char word[WORD_LEN];

	for (; *words; words += *words == ',') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(words, ","), words);
		if (!among(values, word))
			return false;
		words += strcspn(words, ",");
	}
	return true;
}

bool filter_add(struct filter *filter, char *word)
{
	char *value = strchr(word, '=');
	int i;

	if (!value) {
		complain("unknown argument %s; try --help", word);
		return false;
	}
	*value++ = '\0';
	for (i = 0; i < FILTER_MAX && strcmp(names[i], word); i++)
		;
	if (i == FILTER_MAX) {
		complain("unknown filter %s; try --help", word);
		return false;
	}
	if (!*value || filter->value[i]) {
		complain("%s=: %s", word,
			 *value ? "given twice; write one, with commas" : "which?");
		return false;
	}
	if ((i == FILTER_ID || i == FILTER_PID || i == FILTER_PORT) &&
	    value[strspn(value, "0123456789,")]) {
		complain("%s=%s: not a number", word, value);
		return false;
	}
	if ((i == FILTER_KIND && !all_among("socket,direct", value)) ||
	    (i == FILTER_CARRIER && !all_among("TCP,local,ib,rdma,direct,test,-", value))) {
		complain("%s=%s: no such %s", word, value, word);
		return false;
	}
	filter->value[i] = value;
	return true;
}

static const char *port_of(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? colon + 1 : "";
}

/* IPv6 has brackets around it. */
static bool wants_address(const char *values, const char *word)
{
	char address[WORD_LEN];

	snprintf(address, sizeof(address), "%s", *word == '[' ? word + 1 : word);
	if (strrchr(address, ':'))
		*strrchr(address, ':') = '\0';
	address[strcspn(address, "]")] = '\0';
	return among(values, address);
}

static bool wants_number(const char *values, uint64_t number)
{
	char word[24];

	snprintf(word, sizeof(word), "%llu", (unsigned long long)number);
	return among(values, word);
}

/* One process has to be it. */
static bool wants_owner(const char *const *value, const struct endpoint *ep)
{
	size_t i;

	for (i = 0; i < ep->owner_count; i++)
		if (wants_number(value[FILTER_PID], ep->owners[i].pid) &&
		    among(value[FILTER_PROGRAM], ep->owners[i].program))
			return true;
	return !value[FILTER_PID] && !value[FILTER_PROGRAM];
}

static bool wants_state(const struct filter *filter, const char *state)
{
	if (filter->value[FILTER_STATE])
		return among(filter->value[FILTER_STATE], state);
	if (filter->show == SHOW_ALL)
		return true;
	return !strcmp(state, "LISTEN") == (filter->show == SHOW_LISTENERS);
}

bool filter_wants_kind(const struct filter *filter, enum kind kind)
{
	return among(filter->value[FILTER_KIND], kind_names[kind]);
}

bool filter_wants_owners(const struct filter *filter)
{
	return filter->value[FILTER_PID] || filter->value[FILTER_PROGRAM];
}

bool filter_wants(const struct filter *filter, const struct endpoint *ep)
{
	const char *const *value = filter->value;

	return filter_wants_kind(filter, ep->kind) &&
	       wants_state(filter, ep->word[WORD_STATE]) &&
	       (among(value[FILTER_CARRIER], ep->word[WORD_TX_CARRIER]) ||
		among(value[FILTER_CARRIER], ep->word[WORD_RX_CARRIER])) &&
	       (among(value[FILTER_PORT], port_of(ep->word[WORD_LOCAL])) ||
		among(value[FILTER_PORT], port_of(ep->word[WORD_PEER]))) &&
	       (wants_address(value[FILTER_ADDRESS], ep->word[WORD_LOCAL]) ||
		wants_address(value[FILTER_ADDRESS], ep->word[WORD_PEER])) &&
	       wants_number(value[FILTER_ID], ep->number[NUM_ID]) &&
	       among(value[FILTER_REASON], ep->word[WORD_REASON]) &&
	       wants_owner(value, ep);
}
