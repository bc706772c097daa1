/* SPDX-License-Identifier: GPL-2.0 */
/* Who is one of the fabric's nodes, each of which is a network namespace. */
#ifndef SELFTESTS_NODE_H
#define SELFTESTS_NODE_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "tap.h"

static inline void enter_node(int node)
{
	char path[64];
	int ns;

	snprintf(path, sizeof(path), "/run/netns/node%d", node);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	must(ns >= 0 && !setns(ns, CLONE_NEWNET));
	close(ns);
}

#endif /* SELFTESTS_NODE_H */
