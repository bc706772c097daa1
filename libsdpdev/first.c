// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What sdprun has told a preloaded library by the environment.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "internal.h"

void sdp_forget_runtime(void)
{
	const char *runtime = getenv("SDPDEV_RUNTIME");
	char *libraries = getenv("LD_PRELOAD");
	size_t n = runtime ? strlen(runtime) : 0;

	if (n && libraries && !strncmp(libraries, runtime, n) && libraries[n] == ':')
		memmove(libraries, libraries + n + 1, strlen(libraries + n + 1) + 1);
	if (runtime)
		unsetenv("SDPDEV_RUNTIME");
}
