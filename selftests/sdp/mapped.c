// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings of rings and of their state: who may write what, what the state counts, and
 * that a mapping keeps memory and nothing else.
 *
 * mapped hold: nothing but a mapping whose connection is closed, until it is killed.
 */
#include "end.h"

#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RING	16384
#define PAGE	4096

static const struct sdp_ring_state *state;
static struct sdp_ring *tx, *rx;

static int set_up(int fd)
{
	struct sdp_ring_setup arg = {
		.size = sizeof(arg), .tx_bytes = RING, .rx_bytes = RING,
	};

	return ioctl(fd, SDP_IOC_RING_SETUP, &arg);
}

static void *map(int fd, size_t size, int prot, unsigned long where)
{
	return mmap(NULL, size, prot, MAP_SHARED, fd, where);
}

static void map_all(int fd)
{
	must(set_up(fd) == 0);
	state = map(fd, PAGE, PROT_READ, SDP_MMAP_STATE);
	tx = map(fd, PAGE + RING, PROT_READ | PROT_WRITE, SDP_MMAP_TX_RING);
	rx = map(fd, PAGE + RING, PROT_READ | PROT_WRITE, SDP_MMAP_RX_RING);
	must(state != MAP_FAILED && tx != MAP_FAILED && rx != MAP_FAILED);
}

static void unmap_all(void)
{
	must(munmap((void *)state, PAGE) == 0);
	must(munmap(tx, PAGE + RING) == 0 && munmap(rx, PAGE + RING) == 0);
}

static __u32 ring_flags(const struct sdp_ring *ring)
{
	return __atomic_load_n(&ring->flags, __ATOMIC_ACQUIRE);
}

static __u64 closes(void)
{
	return __atomic_load_n(&state->closes, __ATOMIC_ACQUIRE);
}

static bool until(bool (*what)(int), int arg)
{
	for (int i = 0; i < 500; i++) {
		if (what(arg))
			return true;
		poll(NULL, 0, 20);
	}
	return false;
}

static void test_state(int fd)
{
	void *p;

	ok(state->id == end_info(fd).id && state->id, "the state has the connection's number");
	p = map(fd, PAGE, PROT_READ | PROT_WRITE, SDP_MMAP_STATE);
	ok(p == MAP_FAILED && errno == EACCES, "to write: EACCES");
	p = map(fd, PAGE + RING, PROT_READ, SDP_MMAP_STATE);
	ok(p == MAP_FAILED && errno == EINVAL, "longer: EINVAL");
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, SDP_MMAP_STATE);
	ok(p == MAP_FAILED && errno == EINVAL, "private: EINVAL");
	ok(mprotect((void *)state, PAGE, PROT_READ | PROT_WRITE) == -1 && errno == EACCES,
	   "mprotect: not to write");
	p = mremap((void *)state, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   (char *)rx + (1 << 20));
	ok(p != MAP_FAILED && ((struct sdp_ring_state *)p)->id == end_info(fd).id,
	   "mremap moves it");
	state = p;
}

/* Whether the count has moved since it was last asked for. */
static bool moved(void)
{
	static __u64 last;
	__u64 now = closes();
	bool is = now != last;

	last = now;
	return is;
}

static void child(void (*what)(int), int fd)
{
	int status;
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		what(fd);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0);
}

static void do_nothing(int fd)
{
	(void)fd;
}

static void do_exec(int fd)
{
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	execl("/bin/sleep", "sleep", "0", NULL);
	_exit(1);
}

static void test_closes(int fd)
{
	int other, p[2];

	moved();
	other = dup(fd);
	must(other >= 0 && write(fd, "x", 1) == 1);
	ok(!moved(), "neither dup nor write is counted");
	close(other);
	ok(moved(), "close is");
	must(pipe(p) == 0 && dup2(fd, p[0]) == p[0]);
	ok(!moved(), "being put in place of another is not");
	must(dup2(p[1], p[0]) == p[0]);
	ok(moved(), "being replaced by another is");
	other = dup(fd);
	must(syscall(SYS_close_range, other, other, 0) == 0);
	ok(moved(), "close_range is");
	child(do_nothing, fd);
	ok(moved(), "the end of a process is");
	child(do_exec, fd);
	ok(moved(), "exec is");
	close(p[0]);
	close(p[1]);
}

/* Only the last descriptor counts, not the mapping. */
static void test_close(void)
{
	char buf[8];
	int e[2];

	pair(SDP, e);
	map_all(e[0]);
	test_state(e[0]);
	test_closes(e[0]);
	must(read(e[1], buf, 1) == 1);
	tx->tail = 1;
	close(e[0]);
	ok(read(e[1], buf, 2) == 1, "close sends what is in the ring");
	ok(events(e[1], POLLRDHUP, 10000) && read(e[1], buf, 1) == 0,
	   "and ends the connection, mapped or not");
	tx->tail = 3;
	close(e[1]);
	unmap_all();
}

static bool has_ended(int unused)
{
	(void)unused;
	return (ring_flags(tx) & SDP_RING_ERROR) && (ring_flags(rx) & SDP_RING_ERROR);
}

static void test_ended(void)
{
	char *data;
	int e[2];

	pair(SDP, e);
	map_all(e[0]);
	child(do_nothing, e[0]);
	must(write(e[1], "abc", 3) == 3 && events(e[0], POLLIN, SOON) == POLLIN);
	data = (char *)tx + PAGE;
	close(e[1]);
	close(e[0]);
	ok(until(has_ended, 0), "closed: the rings say so");
	memset(data, 1, RING);
	memset((char *)rx + PAGE, 1, RING);
	ok(data[RING - 1] == 1, "and are there as long as they are mapped");
	unmap_all();
}

static void test_shutdown(void)
{
	int e[2];

	pair(SDP, e);
	map_all(e[0]);
	must(write(e[0], "abc", 3) == 3 && end_shutdown(SDP, e[0], SHUT_WR) == 0);
	ok(ring_flags(tx) == (SDP_RING_EOF | SDP_RING_NEED_ENTER),
	   "shutdown: the ring says so at once");
	ok(tx->tail - tx->head > RING, "and its tail is where none can be");
	unmap_all();
	close(e[0]);
	close(e[1]);
}

/* connect(2) with AF_UNSPEC takes the connection apart, and its rings with it. */
static void test_disconnect(void)
{
	int e[2], l, again;
	char buf[8];

	pair(SDP, e);
	map_all(e[0]);
	must(write(e[1], "abc", 3) == 3 && events(e[0], POLLIN, SOON) == POLLIN);
	must(rx->tail == 3);
	moved();
	ok(end_disconnect(SDP, e[0]) == 0, "taken apart in spite of rings");
	ok(has_ended(0) && moved(), "which say so");
	ok(rx->tail == rx->head, "and what was in them is gone");
	ok(read(e[1], buf, 1) == -1 && errno == ECONNRESET, "the peer is reset");
	close(e[1]);
	l = listener(SDP, SERVER4, 22077, 8);
	enter_node(1);
	ok(end_connect(SDP, e[0], SERVER4, 22077) == 0, "connected again");
	again = end_accept(SDP, l);
	tx->tail += 4;
	ok(write(e[0], "x", 1) == 1 && read(again, buf, 8) == 1,
	   "the old ring has no part in it");
	unmap_all();
	map_all(e[0]);
	ok(write(again, "yz", 2) == 2 && events(e[0], POLLIN, SOON) == POLLIN && rx->tail == 2,
	   "but the new ones have");
	unmap_all();
	close(e[0]);
	close(again);
	close(l);
}

static int hold(void)
{
	int e[2];

	pair(SDP, e);
	map_all(e[0]);
	close(e[0]);
	close(e[1]);
	until(has_ended, 0);
	puts("held");
	fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "hold"))
		return hold();
	test_close();
	test_ended();
	test_shutdown();
	test_disconnect();
	printf("1..%u\n", tap_done);
	return tap_exit();
}
