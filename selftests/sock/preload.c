// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that know nothing of rings, with the library of sdprun --rings: they see what they see
 * on TCP.
 *
 *	preload [ROW...]
 *	preload -x FD: sends on a socket that it has inherited
 */
#include <stdlib.h>
#include <string.h>

#include "common/row.h"
#include "preload/rows.h"

static const struct row *const lists[] = { bytes_rows, number_rows, process_rows, NULL };

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-x"))
		return executed(atoi(argv[2]));
	return rows_main(lists, argv + 1);
}
