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
	[KIND_DEVICE] = "device",
	[KIND_SOCKET] = "socket",
};

static const char *const names[FILTER_MAX] = {
	[FILTER_CARRIER] = "carrier",
	[FILTER_KIND] = "kind",
	[FILTER_PID] = "pid",
	[FILTER_PORT] = "port",
	[FILTER_REASON] = "reason",
	[FILTER_STATE] = "state",
};

bool filter_add(struct filter *filter, char *word)
{
	char *value = strchr(word, '=');
	int i;

	if (!value) {
		fprintf(stderr, "sdpstat: unknown argument %s; try sdpstat --help\n", word);
		return false;
	}
	*value++ = '\0';
	for (i = 0; i < FILTER_MAX && strcmp(names[i], word); i++)
		;
	if (i == FILTER_MAX) {
		fprintf(stderr, "sdpstat: no filter is called %s; try sdpstat --help\n", word);
		return false;
	}
	if (!*value || filter->value[i]) {
		fprintf(stderr, "sdpstat: %s=: %s\n", word,
			*value ? "given twice; write one, with commas" : "which?");
		return false;
	}
	if ((i == FILTER_PID || i == FILTER_PORT) && value[strspn(value, "0123456789,")]) {
		fprintf(stderr, "sdpstat: %s=%s: not a number\n", word, value);
		return false;
	}
	filter->value[i] = value;
	return true;
}

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

static const char *port_of(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? colon + 1 : "";
}

static bool wants_pid(const char *values, const struct endpoint *ep)
{
	char pid[16];
	size_t i;

	if (!values)
		return true;
	for (i = 0; i < ep->owner_count; i++) {
		snprintf(pid, sizeof(pid), "%d", ep->owners[i].pid);
		if (among(values, pid))
			return true;
	}
	return false;
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

bool filter_wants(const struct filter *filter, const struct endpoint *ep)
{
	const char *const *value = filter->value;

	return filter_wants_kind(filter, ep->kind) &&
	       wants_state(filter, ep->word[WORD_STATE]) &&
	       (among(value[FILTER_CARRIER], ep->word[WORD_TX_CARRIER]) ||
		among(value[FILTER_CARRIER], ep->word[WORD_RX_CARRIER])) &&
	       (among(value[FILTER_PORT], port_of(ep->word[WORD_LOCAL])) ||
		among(value[FILTER_PORT], port_of(ep->word[WORD_PEER]))) &&
	       among(value[FILTER_REASON], ep->word[WORD_REASON]) &&
	       wants_pid(value[FILTER_PID], ep);
}
