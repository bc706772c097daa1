// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of io_uring that have no system call of their own, on connections that have moved.
 * (storm.c has the others, attach.c connects.)
 *
 *	uring [ROW...]
 */
#include <liburing.h>
#include <string.h>
#include <unistd.h>

#include "common/conn.h"
#include "common/row.h"

#define ENTRIES	16

static struct io_uring ring_new(void)
{
	struct io_uring ring;

	need(!io_uring_queue_init(ENTRIES, &ring, 0));
	return ring;
}

struct answer {
	int res;
	unsigned int flags;
};

/* The next result. */
static struct answer done(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	struct answer answer;

	need(!io_uring_wait_cqe(ring, &cqe));
	answer = (struct answer){ .res = cqe->res, .flags = cqe->flags };
	io_uring_cqe_seen(ring, cqe);
	return answer;
}

/* --- one accept for many connections --------------------------------------- */

static void accepts(void)
{
	struct io_uring ring = ring_new();
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	int i, port, listener = sock_listen(8, &port);
	struct answer answer;

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
	need(io_uring_submit(&ring) == 1);
	for (i = 0; i < 3; i++) {
		struct conn c = { .a.fd = sock_new(NULL), .b.way = 1 };

		SAY(sock_connect(c.a.fd, port));
		answer = done(&ring);
		c.b.fd = answer.res;
		need(c.b.fd >= 0);
		say("more: %d", !!(answer.flags & IORING_CQE_F_MORE));
		move(&c);
		put(&c.a, 3000, 0);
		get_all(&c.b, 3000);
		want(&c.a, true);
		want(&c.b, true);
		conn_close(&c);
	}
	io_uring_queue_exit(&ring);
	close(listener);
}

/* --- one receive for all that comes ----------------------------------------- */

#define PIECES	8
#define PIECE	4096

static char pieces[PIECES][PIECE];

static void provide(struct io_uring *ring, int first, int count)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_provide_buffers(sqe, pieces[first], PIECE, count, 0, first);
	need(io_uring_submit(ring) == 1);
	need(done(ring).res >= 0);
}

/* Takes @n bytes, or the end if @n is zero.  The operation goes on. */
static void takes(struct io_uring *ring, struct end *e, size_t n)
{
	do {
		struct answer answer = done(ring);
		int piece = answer.flags >> IORING_CQE_BUFFER_SHIFT;

		need(answer.res >= 0 && (size_t)answer.res <= n);
		if (!n) {
			say("more at the end: %d", !!(answer.flags & IORING_CQE_F_MORE));
			return;
		}
		need(answer.res && answer.flags & IORING_CQE_F_MORE);
		need(answer.flags & IORING_CQE_F_BUFFER);
		need(piece < PIECES);
		look(e, 0, pieces[piece], answer.res);
		e->in += answer.res;
		n -= answer.res;
	} while (n);
}

static void receives(void)
{
	struct io_uring ring = ring_new();
	struct conn c = conn_moved();
	struct io_uring_sqe *sqe;
	int i;

	provide(&ring, 0, PIECES);
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_recv_multishot(sqe, c.b.fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	need(io_uring_submit(&ring) == 1);
	/* By a pipe, by TCP, and by a pipe again. */
	for (i = 0; i < 3; i++) {
		gate(&c.a, i != 1);
		put(&c.a, 3000, 0);
		takes(&ring, &c.b, 3000);
	}
	want(&c.a, true);
	SAY(shutdown(c.a.fd, SHUT_WR));
	takes(&ring, &c.b, 0);
	io_uring_queue_exit(&ring);
	conn_close(&c);
}

/* --- files by their number in the ring -------------------------------------- */

static void fixed(void)
{
	struct io_uring ring = ring_new();
	struct conn c = conn_moved();
	const int files[] = { c.a.fd, c.b.fd };
	char sent[2000], got[2000];
	struct io_uring_sqe *sqe;

	need(!io_uring_register_files(&ring, files, 2));
	fill(&c.a, sent, sizeof(sent));
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_send(sqe, 0, sent, sizeof(sent), 0);
	sqe->flags |= IOSQE_FIXED_FILE | IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_recv(sqe, 1, got, sizeof(got), MSG_WAITALL);
	sqe->flags |= IOSQE_FIXED_FILE;
	need(io_uring_submit(&ring) == 2);
	say("sent: %d", done(&ring).res);
	say("received: %d", done(&ring).res);
	look(&c.b, 0, got, sizeof(got));
	want(&c.a, true);
	io_uring_queue_exit(&ring);
	conn_close(&c);
}

/* --- sending without a copy -------------------------------------------------- */

static void sends_zc(void)
{
	static char bytes[65536];
	struct io_uring ring = ring_new();
	struct conn c = conn_moved();
	struct answer answer;
	int i;

	for (i = 0; i < 3; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		gate(&c.a, i != 1);
		fill(&c.a, bytes, sizeof(bytes));
		io_uring_prep_send_zc(sqe, c.a.fd, bytes, sizeof(bytes), MSG_WAITALL, 0);
		need(io_uring_submit(&ring) == 1);
		answer = done(&ring);
		say("sent: %d, a notice follows: %d", answer.res,
		    !!(answer.flags & IORING_CQE_F_MORE));
		c.a.out += sizeof(bytes);
		get_all(&c.b, sizeof(bytes));
		/* TCP has let go of the memory when the peer has acknowledged it. */
		answer = done(&ring);
		say("the notice: %d, %d", answer.res, !!(answer.flags & IORING_CQE_F_NOTIF));
	}
	want(&c.a, true);
	io_uring_queue_exit(&ring);
	conn_close(&c);
}

/* A connection that has moved, one of whose ends lends memory by MSG_ZEROCOPY. */
static struct conn conn_lends(void)
{
	struct conn c = conn_moved();
	int one = 1;

	need(!setsockopt(c.a.fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	return c;
}

/*
 * Memory that the ring has pinned goes by SEND_ZC.  The message behind it has no such pages, though
 * the kernel may keep what it knows of a call for the next one.
 */
static void sends_pinned(void)
{
	static char pinned[65536], bytes[65536];
	struct iovec piece = { .iov_base = pinned, .iov_len = sizeof(pinned) };
	struct io_uring ring = ring_new();
	struct conn c = conn_lends();
	int i;

	need(!io_uring_register_buffers(&ring, &piece, 1));
	for (i = 0; i < 3; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		gate(&c.a, i != 1);
		fill(&c.a, pinned, sizeof(pinned));
		io_uring_prep_send_zc_fixed(sqe, c.a.fd, pinned, sizeof(pinned), MSG_WAITALL, 0, 0);
		need(io_uring_submit(&ring) == 1);
		say("sent: %d", done(&ring).res);
		c.a.out += sizeof(pinned);
		get_all(&c.b, sizeof(pinned));
		say("the notice: %d", !!(done(&ring).flags & IORING_CQE_F_NOTIF));
		fill(&c.a, bytes, sizeof(bytes));
		sqe = io_uring_get_sqe(&ring);
		io_uring_prep_send(sqe, c.a.fd, bytes, sizeof(bytes), MSG_WAITALL | MSG_ZEROCOPY);
		need(io_uring_submit(&ring) == 1);
		say("sent: %d", done(&ring).res);
		c.a.out += sizeof(bytes);
		get_all(&c.b, sizeof(bytes));
	}
	want(&c.a, true);
	io_uring_queue_exit(&ring);
	conn_close(&c);
}

/* Memory that is not there is not lent: the notice comes, and the next call has its own. */
static void sends_nothing(void)
{
	static char bytes[5000];
	struct io_uring ring = ring_new();
	struct conn c = conn_lends();
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	put(&c.a, 100, 0);
	get_all(&c.b, 100);
	io_uring_prep_send_zc(sqe, c.a.fd, (void *)1, sizeof(bytes), 0, 0);
	need(io_uring_submit(&ring) == 1);
	say("sent: %d", done(&ring).res);
	fill(&c.a, bytes, sizeof(bytes));
	SAY(send(c.a.fd, bytes, sizeof(bytes), MSG_ZEROCOPY));
	c.a.out += sizeof(bytes);
	get_all(&c.b, sizeof(bytes));
	say("the notice: %d", !!(done(&ring).flags & IORING_CQE_F_NOTIF));
	want(&c.a, true);
	io_uring_queue_exit(&ring);
	conn_close(&c);
}

static const struct row rows[] = {
	{ "one accept for many connections", accepts },
	{ "one receive for all that comes", receives },
	{ "files by their number in the ring", fixed },
	{ "SEND_ZC", sends_zc },
	{ "SEND_ZC of pinned memory, and MSG_ZEROCOPY", sends_pinned },
	{ "SEND_ZC of memory that is not there", sends_nothing },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	static const struct row *const lists[] = { rows, NULL };

	place_options(argc, argv);
	return rows_main(lists, argv + optind);
}
