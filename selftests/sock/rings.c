// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that have the rings of a connection mapped: they see what they see on TCP.
 *
 *	rings [ROW...]
 */
#include "common/row.h"
#include "rings/rows.h"

static const struct row *const lists[] = {
	stream_rows, life_rows, door_rows, busy_rows, NULL
};

int main(int argc, char **argv)
{
	(void)argc;
	return rows_main(lists, argv + 1);
}
