// SPDX-License-Identifier: GPL-2.0
/*
 * A connection's directions move to pipes and come back: programs see what they see on TCP.
 *
 *	moves [-6] [-l LISTEN] [-c CONNECT] [-S NETNS] [-C NETNS] [ROW...]
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"
#include "moves/rows.h"

static const struct row *lists[] = {
	stream_rows, read_rows, lend_rows, wait_rows, share_rows, option_rows, land_rows,
	late_rows, NULL,
};

int main(int argc, char **argv)
{
	int c;

	place_options(argc, argv);
	/* A sender cannot copy to a reader on another host, which has rows of its own. */
	for (c = 0; lists[c] != land_rows; c++)
		;
	lists[c] = late ? late_rows : land_rows;
	lists[c + 1] = NULL;
	return rows_main(lists, argv + optind);
}
