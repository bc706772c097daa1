// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <unistd.h>

#include "rows.h"

/* Rounds after which halves that have not opened will not. */
#define OPEN_ROUNDS	3000
#define CHUNK		(1 << 20)

static void *chunk(void)
{
	static __thread void *bytes;

	if (!bytes)
		bytes = malloc(CHUNK);
	need(bytes);
	return bytes;
}

ssize_t fast_put_some(struct end *e, struct sdp_fast *fast, size_t n, int flags)
{
	ssize_t ret;

	if (!fast)
		return put_some(e, n, flags);
	n = n < CHUNK ? n : CHUNK;
	fill(e, chunk(), n);
	ret = sdp_fast_send(fast, chunk(), n, flags);
	if (ret > 0)
		e->out += ret;
	return ret;
}

void fast_put(struct end *e, struct sdp_fast *fast, size_t n, int flags)
{
	while (n) {
		ssize_t ret = fast_put_some(e, fast, n, flags);

		need(ret > 0);
		n -= ret;
	}
}

ssize_t fast_get(struct end *e, struct sdp_fast *fast, size_t n, int flags)
{
	ssize_t ret;

	if (!fast)
		return get(e, n, flags);
	n = n < CHUNK ? n : CHUNK;
	ret = sdp_fast_recv(fast, chunk(), n, flags);
	if (ret <= 0)
		return ret;
	look(e, 0, chunk(), ret);
	e->in += ret;
	return ret;
}

void fast_get_all(struct end *e, struct sdp_fast *fast, size_t n)
{
	while (n) {
		ssize_t ret = fast_get(e, fast, n, 0);

		need(ret > 0);
		n -= ret;
	}
}

static bool open_at(struct sdp_fast *fast)
{
	return !fast || sdp_fast_state(fast) == BOTH;
}

void ringed_open(struct ringed *r)
{
	int i;

	for (i = 0; i < OPEN_ROUNDS; i++) {
		if (plain ? i == 16 : open_at(r->a) && open_at(r->b))
			return;
		fast_put(&r->c.a, r->a, 1, 0);
		fast_get_all(&r->c.b, r->b, 1);
		fast_put(&r->c.b, r->b, 1, 0);
		fast_get_all(&r->c.a, r->a, 1);
	}
	wrong("halves that are open: %u, %u", r->a ? sdp_fast_state(r->a) : BOTH,
	      r->b ? sdp_fast_state(r->b) : BOTH);
}

struct ringed ringed_new(void)
{
	struct ringed r = { .c = conn_moved() };

	r.a = sdp_fast_open(r.c.a.fd, 0);
	r.b = sdp_fast_open(r.c.b.fd, 0);
	need(r.a && r.b);
	ringed_open(&r);
	return r;
}

void ringed_close(struct ringed *r)
{
	if (r->a)
		sdp_fast_close(r->a);
	if (r->b)
		sdp_fast_close(r->b);
	conn_close(&r->c);
}
