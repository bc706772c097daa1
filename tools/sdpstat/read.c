// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the endpoints that a command line asks for, and saying which ones that leaves out.
 */
#include "filter.h"

/* Once is enough for what every table lacks. */
static void say_lacks(const struct endpoints *list, bool processes)
{
	static bool said_hidden, said_processes;

	if (list->hidden && !said_hidden)
		complain("TCP sockets are left out: listing them needs CAP_NET_ADMIN");
	if (processes && !said_processes)
		complain("other users' processes are left out: listing them needs CAP_SYS_PTRACE");
	said_hidden |= list->hidden;
	said_processes |= processes;
}

static void read_owners(struct endpoints *list, const struct filter *filter, bool owners)
{
	bool denied = false;

	if (owners || filter_wants_owners(filter))
		denied = owners_find(list);
	say_lacks(list, denied);
}

void endpoints_read(struct endpoints *list, const struct filter *filter, bool owners)
{
	if (filter_wants_kind(filter, KIND_SOCKET))
		sockets_read(list);
	if (filter_wants_kind(filter, KIND_DIRECT))
		direct_read(list);
	read_owners(list, filter, owners);
}

void endpoints_read_names(struct endpoints *list, const struct filter *filter)
{
	if (!filter_wants_kind(filter, KIND_SOCKET))
		return;
	if (filter->value[FILTER_CARRIER] || filter->value[FILTER_REASON])
		sockets_read(list);
	else
		names_read(list);
	read_owners(list, filter, false);
}
