/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_SOCK_MOVES_ROWS_H
#define SELFTESTS_SOCK_MOVES_ROWS_H

#include "../common/row.h"

extern const struct row stream_rows[], read_rows[], lend_rows[], wait_rows[], land_rows[],
	share_rows[], option_rows[], late_rows[];

#endif /* SELFTESTS_SOCK_MOVES_ROWS_H */
