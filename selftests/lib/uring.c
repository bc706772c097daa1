// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring on connections over TCP and over SDP: what it reads and writes, polls,
 * waits for, gives up and splices.  Both ends are here, the server's in node 2.
 */
#include "uring.h"

#define MUCH	(1 << 20)

static char out[MUCH], in[MUCH];

/* [0] the client's end, [1] the server's; sdp: endpoints, otherwise sockets. */
static void connected(bool sdp, int p[2])
{
	struct sockaddr_in addr;
	struct sdp_info info;
	int l = listener(sdp, SERVER, &addr);

	p[0] = make_socket(sdp);
	must(!(sdp ? sdp_connect(p[0], (void *)&addr, sizeof(addr), 0) :
		     connect(p[0], (void *)&addr, sizeof(addr))));
	p[1] = sdp ? sdp_accept(l, NULL, NULL, 0) : accept(l, NULL, NULL);
	must(p[1] >= 0 && !close(l));
	must(!sdp || (!sdp_info(p[0], &info) && info.carrier == SDP_CARRIER_SDP));
}

static void reads_and_writes(int p[2])
{
	struct iovec parts[2] = { { out, 3 }, { out + 3, 4 } };
	struct iovec into[2] = { { in, 2 }, { in + 2, 9 } };
	int res, other;

	memcpy(out, "abcdefg", sizeof("abcdefg"));
	io_uring_prep_read(entry(1), p[1], in, 16, 0);
	must(io_uring_submit(&ring) == 1);
	ok(nothing_yet(), "%s: a read waits", how);
	io_uring_prep_write(entry(2), p[0], out, 5, 0);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(other == 5, "%s: a write", how);
	ok(res == 5 && !memcmp(in, "abcde", 5), "%s: ends it", how);

	io_uring_prep_writev(entry(3), p[0], parts, 2, 0);
	io_uring_submit(&ring);
	ok(result_of(3) == 7, "%s: writev", how);
	io_uring_prep_readv(entry(4), p[1], into, 2, 0);
	io_uring_submit(&ring);
	ok(result_of(4) == 7 && !memcmp(in, "abcdefg", 7), "%s: readv", how);
	io_uring_prep_write(entry(5), p[0], (void *)8, 5, 0);
	io_uring_submit(&ring);
	ok(result_of(5) == -EFAULT, "%s: from nowhere: EFAULT", how);
}

/* More than there are buffers for: parts of it wait, and all of it arrives. */
static void long_ones(int p[2])
{
	int sent = 0, got = 0, i, n;

	for (i = 0; i < MUCH; i++)
		out[i] = i * 31 >> 3;
	memset(in, 0, MUCH);
	io_uring_prep_write(entry(1), p[0], out, MUCH, 0);
	io_uring_submit(&ring);
	while (got < MUCH) {
		struct io_uring_cqe *cqe;

		n = read(p[1], in + got, MUCH - got);
		must(n > 0);
		got += n;
		if (sent == MUCH || io_uring_peek_cqe(&ring, &cqe))
			continue;
		must(cqe->res > 0);
		sent += cqe->res;
		io_uring_cqe_seen(&ring, cqe);
		if (sent == MUCH)
			continue;
		/* As with any file, a write may end early. */
		io_uring_prep_write(entry(1), p[0], out + sent, MUCH - sent, 0);
		io_uring_submit(&ring);
	}
	if (sent < MUCH)
		sent += result_of(1);
	ok(sent == MUCH && !memcmp(in, out, MUCH), "%s: a long write arrives whole", how);
}

static void polls(int p[2])
{
	int res, other;
	char c;

	io_uring_prep_poll_add(entry(1), p[1], POLLIN);
	io_uring_submit(&ring);
	ok(nothing_yet(), "%s: a poll waits", how);
	must(write(p[0], "x", 1) == 1);
	ok(result_of(1) & POLLIN, "%s: until something comes", how);
	must(read(p[1], &c, 1) == 1);

	io_uring_prep_poll_multishot(entry(2), p[1], POLLIN);
	io_uring_submit(&ring);
	must(write(p[0], "x", 1) == 1);
	ok(result_of(2) & POLLIN, "%s: a poll for several", how);
	must(read(p[1], &c, 1) == 1 && write(p[0], "y", 1) == 1);
	ok(result_of(2) & POLLIN, "%s: tells again", how);
	must(read(p[1], &c, 1) == 1);
	io_uring_prep_poll_remove(entry(3), 2);
	io_uring_submit(&ring);
	res = pair_of_results(2, 3, &other);
	ok(res == -ECANCELED && other == 0, "%s: and is taken back", how);
}

static void given_up(int p[2])
{
	struct __kernel_timespec soon = { .tv_nsec = 50000000 };
	struct io_uring_sqe *sqe;
	int other, res;
	char c;

	sqe = entry(1);
	io_uring_prep_read(sqe, p[1], in, 1, 0);
	sqe->flags |= IOSQE_IO_LINK;
	io_uring_prep_link_timeout(entry(2), &soon, 0);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(res == -ECANCELED || res == -EINTR, "%s: a read with a time is given up", how);

	/* In a worker thread, where it blocks. */
	sqe = entry(3);
	io_uring_prep_read(sqe, p[1], in, 1, 0);
	sqe->flags |= IOSQE_ASYNC;
	io_uring_submit(&ring);
	usleep(50000);
	io_uring_prep_cancel64(entry(4), 3, 0);
	io_uring_submit(&ring);
	res = pair_of_results(3, 4, &other);
	ok(res == -ECANCELED || res == -EINTR, "%s: a read that was cancelled ends", how);
	must(write(p[0], "z", 1) == 1);
	ok(read(p[1], &c, 1) == 1 && c == 'z', "%s: neither took anything", how);
}

static void linked(int p[2])
{
	struct io_uring_sqe *sqe;
	int pipes[2];

	sqe = entry(1);
	io_uring_prep_write(sqe, p[0], "ping", 4, 0);
	sqe->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
	io_uring_prep_read(entry(2), p[1], in, 4, 0);
	io_uring_submit(&ring);
	ok(result_of(2) == 4 && !memcmp(in, "ping", 4), "%s: a read after a write", how);

	must(!pipe(pipes) && write(p[0], "spliced", 7) == 7);
	io_uring_prep_splice(entry(3), p[1], -1, pipes[1], -1, 7, 0);
	io_uring_submit(&ring);
	ok(result_of(3) == 7 && read(pipes[0], in, 7) == 7 && !memcmp(in, "spliced", 7),
	   "%s: splice to a pipe", how);
	close(pipes[0]);
	close(pipes[1]);
}

static void fixed(int p[2])
{
	char *buf = aligned_alloc(4096, 4096);
	struct iovec iov = { .iov_base = buf, .iov_len = 4096 };
	struct io_uring_sqe *sqe;

	must(!io_uring_register_files(&ring, p, 2));
	must(!io_uring_register_buffers(&ring, &iov, 1));
	memcpy(buf, "fixed", sizeof("fixed"));
	sqe = entry(1);
	io_uring_prep_write_fixed(sqe, 0, buf, 5, 0, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_submit(&ring);
	ok(result_of(1) == 5, "%s: a registered file writes a registered buffer", how);
	sqe = entry(2);
	io_uring_prep_read_fixed(sqe, 1, buf + 100, 5, 0, 0);
	sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_submit(&ring);
	ok(result_of(2) == 5 && !memcmp(buf + 100, "fixed", 5), "%s: and reads one", how);
	must(!io_uring_unregister_buffers(&ring) && !io_uring_unregister_files(&ring));
	free(buf);
}

static void ends(int p[2])
{
	int res, other;

	io_uring_prep_read(entry(1), p[1], in, 4, 0);
	io_uring_submit(&ring);
	must(nothing_yet());
	io_uring_prep_close(entry(2), p[0]);
	io_uring_submit(&ring);
	res = pair_of_results(1, 2, &other);
	ok(other == 0, "%s: close", how);
	ok(res == 0, "%s: the other end reads the end", how);
	must(!close(p[1]));
}

/* What asks for a socket by its kind finds none. */
static void no_socket(void)
{
	int p[2];

	connected(true, p);
	io_uring_prep_send(entry(1), p[0], "x", 1, 0);
	io_uring_submit(&ring);
	ok(result_of(1) == -ENOTSOCK, "sdp: send: ENOTSOCK");
	io_uring_prep_recv(entry(2), p[1], in, 1, 0);
	io_uring_submit(&ring);
	ok(result_of(2) == -ENOTSOCK, "sdp: recv: ENOTSOCK");
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	int p[2], sdp;

	must(!io_uring_queue_init(16, &ring, 0));
	for (sdp = 0; sdp < 2; sdp++) {
		how = sdp ? "sdp" : "tcp";
		connected(sdp, p);
		reads_and_writes(p);
		long_ones(p);
		polls(p);
		given_up(p);
		linked(p);
		fixed(p);
		ends(p);
	}
	no_socket();
	io_uring_queue_exit(&ring);
	printf("1..%u\n", tap_done);
	return tap_exit();
}
