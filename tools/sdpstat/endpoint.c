// SPDX-License-Identifier: GPL-2.0
/*
 * Lists of endpoints; see endpoint.h.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "endpoint.h"

struct endpoint *endpoint_add(struct endpoints *list, enum kind kind)
{
	struct endpoint *ep;
	int i;

	if (list->count == list->room) {
		list->room = 2 * list->room + 16;
		list->all = grow(list->all, list->room, sizeof(*ep));
	}
	ep = &list->all[list->count++];
	memset(ep, 0, sizeof(*ep));
	ep->kind = kind;
	for (i = 0; i < WORD_MAX; i++)
		strcpy(ep->word[i], "-");
	return ep;
}

void endpoint_number(struct endpoint *ep, enum number which, uint64_t value)
{
	ep->number[which] = value;
	ep->known |= 1U << which;
}

bool endpoint_knows(const struct endpoint *ep, enum number which)
{
	return ep->known >> which & 1;
}

void endpoints_free(struct endpoints *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->all[i].owners);
	free(list->all);
	memset(list, 0, sizeof(*list));
}

static int by_id(const void *a, const void *b)
{
	const struct endpoint *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->number[NUM_ID] != y->number[NUM_ID])
		return x->number[NUM_ID] < y->number[NUM_ID] ? -1 : 1;
	return 0;
}

static uint64_t rate(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (uint64_t)((double)(now - before) / seconds + 0.5) : 0;
}

void endpoints_rates(struct endpoints *now, struct endpoints *before, double seconds)
{
	static const struct endpoint fresh;
	const struct endpoint *old;
	struct endpoint *ep;
	size_t i;

	if (before->count)
		qsort(before->all, before->count, sizeof(*ep), by_id);
	for (i = 0; i < now->count; i++) {
		ep = &now->all[i];
		old = before->count ? bsearch(ep, before->all, before->count, sizeof(*ep),
					      by_id) : NULL;
		if (!old)
			old = &fresh;
		endpoint_number(ep, NUM_TX_RATE, rate(ep->number[NUM_TX_BYTES],
						      old->number[NUM_TX_BYTES], seconds));
		endpoint_number(ep, NUM_RX_RATE, rate(ep->number[NUM_RX_BYTES],
						      old->number[NUM_RX_BYTES], seconds));
	}
}
