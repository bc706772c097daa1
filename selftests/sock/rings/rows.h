/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_SOCK_RINGS_ROWS_H
#define SELFTESTS_SOCK_RINGS_ROWS_H

#include <linux/sdp_ring.h>
#include <sdpdev.h>

#include "../common/conn.h"
#include "../common/row.h"

extern const struct row stream_rows[], life_rows[], door_rows[], busy_rows[], nap_rows[];

#define BOTH	(SDP_RING_TX | SDP_RING_RX)

/* A connection with rings at both ends, whose halves are open. */
struct ringed {
	struct conn c;
	struct sdp_fast *a;
	struct sdp_fast *b;
};

struct ringed ringed_new(void);
/* Send to and fro until the halves of the ends that have some are open. */
void ringed_open(struct ringed *r);
void ringed_close(struct ringed *r);

/* As put(), put_some(), get() and get_all(), by rings if @fast is not NULL. */
ssize_t fast_put_some(struct end *e, struct sdp_fast *fast, size_t n, int flags);
void fast_put(struct end *e, struct sdp_fast *fast, size_t n, int flags);
ssize_t fast_get(struct end *e, struct sdp_fast *fast, size_t n, int flags);
void fast_get_all(struct end *e, struct sdp_fast *fast, size_t n);

#endif /* SELFTESTS_SOCK_RINGS_ROWS_H */
