/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What of this process's memory belongs to connections.
 */
#ifndef SELFTESTS_MAPPED_H
#define SELFTESTS_MAPPED_H

#include <stdio.h>
#include <string.h>

/* Parts that are mapped for connections; -1 if nobody can tell. */
static inline int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n += !!strstr(line, "[sdp]");
	fclose(f);
	return n;
}

#endif /* SELFTESTS_MAPPED_H */
