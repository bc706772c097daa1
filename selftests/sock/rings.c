// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that have the rings of a connection mapped: they see what they see on TCP.
 *
 *	rings [ROW...]
 *	rings counted [ROW...]
 *
 * The latter has rows for a machine that counts its time in instructions.
 */
#include <string.h>

#include "common/row.h"
#include "rings/rows.h"

static const struct row *const lists[] = {
	stream_rows, life_rows, door_rows, busy_rows, NULL
};

static const struct row *const counted[] = { nap_rows, NULL };

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "counted"))
		return rows_main(counted, argv + 2);
	return rows_main(lists, argv + 1);
}
