// SPDX-License-Identifier: GPL-2.0
/*
 * Direct SDP: large messages that the peer reads out of the sender's memory (Read Zcopy), or that
 * are written into the reader's (Write Zcopy), over a transport of one host that can do that.
 */
#include "end.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#define HERE	"127.0.0.1"
#define PORT	24101
#define MIB	(1 << 20)
#define MOST	(4 * MIB)
#define FIRST	256		/* bytes that go along with the advertisement */
#define USER	12345		/* any that is not root */
#define MIXED	300		/* transfers */

static char *out, *in;

/* Byte @i of a stream. */
static char byte(size_t i)
{
	return i * 7 + (i >> 11) + (i >> 19);
}

/* What "name value" lines of a file say; -1: nothing. */
static long value(const char *file, const char *name)
{
	FILE *f = fopen(file, "r");
	long v, found = -1;
	char word[64];

	must(f);
	while (fscanf(f, "%63s %ld", word, &v) == 2)
		if (!strcmp(word, name))
			found = v;
	fclose(f);
	return found;
}

static long counted(const char *name)
{
	return value("/proc/net/sdp/snmp", name);
}

/* Pages that are pinned, of the whole machine; each processor counts for itself until asked. */
static long pinned(void)
{
	must(shell("echo 1 > /proc/sys/vm/stat_refresh"));
	return value("/proc/vmstat", "nr_foll_pin_acquired") -
	       value("/proc/vmstat", "nr_foll_pin_released");
}

/* What /proc/net/sdp/direct says of a socket. */
struct line {
	unsigned long inode;
	unsigned long long tx_zcopy, rx_zcopy, tx_written, rx_written;
	char tx_mode[16], rx_mode[16];
};

static struct line line_of(int fd)
{
	FILE *table = fopen("/proc/net/sdp/direct", "r");
	struct line line;
	struct stat st;
	bool found = false;

	must(table && !fstat(fd, &st));
	must(fscanf(table, "%*[^\n]\n") == 0);
	while (!found && fscanf(table, "%*s %*s %*s %*u %*u %*u %*u %*u %lu %llu %llu",
				&line.inode, &line.tx_zcopy, &line.rx_zcopy) == 3 &&
	       fscanf(table, "%llu %llu %15s %15s", &line.tx_written, &line.rx_written,
		      line.tx_mode, line.rx_mode) == 4)
		found = line.inode == st.st_ino;
	must(found);
	fclose(table);
	return line;
}

/* Bytes of a socket that went without a copy. */
static unsigned long long sent_by_read(int fd)
{
	return line_of(fd).tx_zcopy;
}

static unsigned long long came_by_read(int fd)
{
	return line_of(fd).rx_zcopy;
}

static void set_zcopy(const char *value)
{
	int fd = open("/proc/sys/net/sdp/zcopy", O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, value, strlen(value)) > 0);
	close(fd);
}

static int listen_here(void)
{
	int fd = end_open(SDP), one = 1;

	must(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)));
	must(end_bind(fd, HERE, PORT) == 0 && listen(fd, 8) == 0);
	return fd;
}

static void join(int l, int end[2])
{
	end[0] = end_open(SDP);
	must(end_connect(end[0], HERE, PORT) == 0);
	end[1] = end_accept(l);
	must(end[1] >= 0);
}

/* A process that writes @len bytes that begin @off bytes behind a page; its end is what became. */
static pid_t writer(const int end[2], int which, size_t len, size_t off)
{
	pid_t child = fork();
	ssize_t n;

	must(child >= 0);
	if (child)
		return child;
	close(end[!which]);
	for (size_t i = 0; i < len; i++)
		out[off + i] = byte(i);
	n = end_send(end[which], out + off, len, 0);
	/* The memory is the program's again. */
	memset(out + off, 0xee, len);
	_exit(n == (ssize_t)len ? 0 : n < 0 ? 2 : 1);
}

static int ended(pid_t child)
{
	int status;

	must(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Reads @len bytes in pieces of @piece; true where they are those of the stream. */
static bool reads(int fd, char *to, size_t len, size_t piece, int flags)
{
	size_t done = 0;
	ssize_t n;

	memset(to, 0x11, len);
	while (done < len) {
		n = recv(fd, to + done, len - done < piece ? len - done : piece, flags);
		if (n < 0 && errno == EAGAIN && flags & MSG_DONTWAIT) {
			must(events(fd, POLLIN, SOON) & POLLIN);
			continue;
		}
		if (n <= 0)
			return false;
		done += n;
	}
	for (size_t i = 0; i < len; i++)
		if (to[i] != byte(i))
			return false;
	return true;
}

static bool a_mebibyte(const int end[2])
{
	pid_t child = writer(end, 0, MIB, 0);

	must(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child));
	return sent_by_read(end[0]) == MIB - FIRST && came_by_read(end[1]) == MIB - FIRST;
}

static bool the_other_way(const int end[2])
{
	pid_t child = writer(end, 1, MIB, 5);

	must(reads(end[0], in, MIB, MIB, MSG_WAITALL) && !ended(child));
	return sent_by_read(end[1]) == MIB - FIRST;
}

static bool in_parts(const int end[2])
{
	pid_t child = writer(end, 0, MIB, 0);

	must(reads(end[1], in, MIB, 100000, MSG_WAITALL) && !ended(child));
	return sent_by_read(end[0]) == MIB - FIRST;
}

static bool a_header_first(const int end[2])
{
	pid_t child = writer(end, 0, 200000, 0);

	must(recv(end[1], in, 16, MSG_WAITALL) == 16 &&
	     recv(end[1], in + 16, 200000 - 16, MSG_WAITALL) == 200000 - 16 && !ended(child) &&
	     in[0] == byte(0) && in[199999] == byte(199999));
	return sent_by_read(end[0]) == 200000 - FIRST;
}

/*
 * All but the first bytes are read where they are.  A writer whose reader comes late copies
 * instead, and on a busy machine any reader may: there are some more tries.
 */
static void by_read(int l, bool (*row)(const int end[2]), const char *name)
{
	bool good = false;
	int end[2], tries;

	for (tries = 0; tries < 5 && !good; tries++) {
		join(l, end);
		good = row(end);
		unpair(end);
	}
	ok(good, "%s", name);
}

static void test_whole(int l)
{
	static const size_t sizes[] = { 65536, 65537, 100001, MIB, MIB + 77, 3 * MIB + 5 };
	bool good = true;
	pid_t child;
	int end[2];

	join(l, end);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		child = writer(end, 0, sizes[i], 13 * i);
		good &= reads(end[1], in + 7 * i, sizes[i], sizes[i], MSG_WAITALL) && !ended(child);
	}
	ok(good, "messages of many sizes, at any address");
	unpair(end);
	by_read(l, a_mebibyte, "all but the first bytes are read");
	by_read(l, the_other_way, "and the other way");
	by_read(l, in_parts, "in parts, too");
	by_read(l, a_header_first, "a header first");
}

/* A connection whose first half has become Pipelined, by messages that were read. */
static bool pipelined(int l, int end[2])
{
	pid_t child;

	join(l, end);
	for (int i = 0; i < 50 && strcmp(line_of(end[1]).rx_mode, "pipelined"); i++) {
		child = writer(end, 0, 200000, 0);
		must(reads(end[1], in, 200000, 200000, MSG_WAITALL) && !ended(child));
	}
	return !strcmp(line_of(end[0]).tx_mode, "pipelined");
}

/* A process that writes as soon as another one has advertised its memory. */
static pid_t invited(const int end[2], size_t len)
{
	long before = counted("zcopy_invited"), until = milliseconds() + SOON;
	pid_t child = fork();

	must(child >= 0);
	if (child)
		return child;
	while (counted("zcopy_invited") == before && milliseconds() < until)
		usleep(1000);
	_exit(ended(writer(end, 0, len, 0)));
}

/* The answer to SrcAvail is SinkAvail. */
static bool written_instead(const int end[2])
{
	pid_t child = writer(end, 0, MIB, 0);
	struct line line;

	must(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child));
	line = line_of(end[0]);
	return line.tx_written == MIB - FIRST && !strcmp(line.tx_mode, "combined");
}

static void test_unread(int l, const char *module)
{
	char command[512];
	pid_t child;
	int end[2];

	snprintf(command, sizeof(command), "insmod %s unread=1", module);
	must(shell(command));
	by_read(l, written_instead, "an adapter that cannot read: is written to");
	join(l, end);
	child = writer(end, 0, 300000, 0);
	ok(reads(end[1], in, 300000, 1000, 0) && !ended(child) && !sent_by_read(end[0]),
	   "and with small buffers: copies");
	unpair(end);
	must(shell("rmmod sdp_local"));
}

static void test_written(int l)
{
	const struct timeval soon = { .tv_usec = 100000 }, never = {};
	long before = counted("zcopy_written");
	unsigned long long was;
	pid_t child;
	int end[2];

	ok(pipelined(l, end), "large messages, one after the other: Pipelined mode");
	child = invited(end, MIB);
	ok(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child) &&
	   line_of(end[0]).tx_written == MIB && line_of(end[1]).rx_written == MIB &&
	   counted("zcopy_written") == before + 1, "a reader that waits: it is written to");
	child = invited(end, 200000);
	ok(recv(end[1], in, MIB, 0) == 200000 && !ended(child) && in[0] == byte(0) &&
	   in[199999] == byte(199999) && line_of(end[1]).rx_written == MIB + 200000,
	   "less than there is room for");
	child = invited(end, 100);
	was = line_of(end[1]).rx_zcopy;
	ok(recv(end[1], in, MIB, 0) == 100 && !ended(child) && in[99] == byte(99) &&
	   line_of(end[1]).rx_zcopy == was, "a short message comes by a copy");
	unpair(end);

	must(pipelined(l, end));
	before = counted("zcopy_uninvited");
	must(!setsockopt(end[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
	ok(recv(end[1], in, MIB, 0) == -1 && errno == EAGAIN &&
	   counted("zcopy_uninvited") == before + 1, "nobody writes: the reader gives up");
	must(!setsockopt(end[1], SOL_SOCKET, SO_RCVTIMEO, &never, sizeof(never)));
	child = writer(end, 0, MIB, 0);
	ok(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child), "and nothing is lost");
	unpair(end);

	must(pipelined(l, end));
	child = writer(end, 0, 200000, 0);
	ok(reads(end[1], in, 200000, 1000, 0) && !ended(child) &&
	   !strcmp(line_of(end[0]).tx_mode, "combined"), "small buffers: back to Combined mode");
	unpair(end);
}

static void test_copied(int l)
{
	long refused = counted("zcopy_refused");
	unsigned long long before;
	pid_t child;
	char *file;
	int end[2], fd;

	join(l, end);
	child = writer(end, 0, 300000, 0);
	ok(reads(end[1], in, 300000, 1000, 0) && !ended(child) && !sent_by_read(end[0]) &&
	   counted("zcopy_refused") > refused, "a reader with small buffers: copies");
	unpair(end);
	join(l, end);
	child = writer(end, 0, 300000, 0);
	ok(reads(end[1], in, 300000, 300000, MSG_DONTWAIT) && !ended(child) &&
	   !sent_by_read(end[0]), "one that does not wait: copies");
	unpair(end);
	join(l, end);
	child = writer(end, 0, 100000, 0);
	ok(recv(end[1], in, 1000, MSG_PEEK | MSG_WAITALL) == 1000 && in[999] == byte(999) &&
	   reads(end[1], in, 100000, 100000, MSG_WAITALL) && !ended(child), "a look: copies");
	unpair(end);
	join(l, end);
	child = writer(end, 0, 100000, 0);
	ok(recv(end[1], in, FIRST, MSG_WAITALL) == FIRST && !recv(end[1], in, 0, 0) &&
	   recv(end[1], in + FIRST, 100000 - FIRST, MSG_WAITALL) == 100000 - FIRST &&
	   !ended(child) && in[99999] == byte(99999), "a read of nothing returns");
	unpair(end);

	join(l, end);
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		fd = memfd_create("file", 0);
	must(fd >= 0 && !ftruncate(fd, MIB));
	file = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(file != MAP_FAILED);
	before = counted("zcopy_unpinned");
	child = writer(end, 0, MIB, 0);
	ok(reads(end[1], file, MIB, MIB, MSG_WAITALL) && !ended(child) &&
	   counted("zcopy_unpinned") > (long)before && !came_by_read(end[1]),
	   "the memory of a file: copies");
	munmap(file, MIB);
	close(fd);
	unpair(end);

	set_zcopy("0");
	join(l, end);
	child = writer(end, 0, MIB, 0);
	ok(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child) && !sent_by_read(end[0]),
	   "net.sdp.zcopy=0: copies");
	unpair(end);
	set_zcopy("65536");
}

/* A user who may pin nothing. */
static void test_limit(int l)
{
	const struct rlimit none = {};
	long unpinned = counted("zcopy_unpinned");
	pid_t child;
	int end[2];

	join(l, end);
	child = fork();
	if (!child) {
		must(!setrlimit(RLIMIT_MEMLOCK, &none) && !setuid(USER));
		_exit(ended(writer(end, 0, MIB, 0)));
	}
	ok(reads(end[1], in, MIB, MIB, MSG_WAITALL) && !ended(child) && !sent_by_read(end[0]) &&
	   counted("zcopy_unpinned") > unpinned, "RLIMIT_MEMLOCK: copies");
	unpair(end);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_cancelled(int l)
{
	const struct itimerval soon = { { .tv_usec = 50000 }, { .tv_usec = 50000 } }, never = {};
	struct sigaction sa = { .sa_handler = on_alarm };
	long cancelled = counted("zcopy_cancelled");
	size_t done = 0;
	pid_t child;
	ssize_t n;
	int end[2];
	long t;

	join(l, end);
	t = milliseconds();
	child = writer(end, 0, 150000, 0);
	ok(!ended(child) && counted("zcopy_cancelled") == cancelled + 1 &&
	   milliseconds() - t < 4000, "nobody reads: the sender does not wait for long");
	ok(reads(end[1], in, 150000, 150000, MSG_WAITALL), "and nothing is lost");
	unpair(end);

	join(l, end);
	must(!sigaction(SIGALRM, &sa, NULL));
	for (size_t i = 0; i < MOST; i++)
		out[i] = byte(i);
	must(!setitimer(ITIMER_REAL, &soon, NULL));
	n = end_send(end[0], out, MOST, 0);
	must(!setitimer(ITIMER_REAL, &never, NULL));
	ok(n > 0 && n < MOST, "a signal: %zd bytes", n);
	close(end[0]);
	while (done < (size_t)n + 1 && (t = read(end[1], in + done, MOST - done)) > 0)
		done += t;
	ok(done == (size_t)n && !memcmp(in, out, done), "as many come");
	close(end[1]);

	join(l, end);
	child = writer(end, 0, MOST, 0);
	must(events(end[1], POLLIN, SOON) & POLLIN);
	t = milliseconds();
	kill(child, SIGKILL);
	ok(ended(child) == -SIGKILL && milliseconds() - t < 5000, "a writer is killed: it ends");
	unpair(end);
}

static void test_ended(int l)
{
	pid_t child;
	int end[2];

	join(l, end);
	child = writer(end, 0, MIB, 0);
	must(events(end[1], POLLIN, SOON) & POLLIN);
	close(end[1]);
	ok(ended(child) != 0, "the reader closes: an error");
	close(end[0]);

	join(l, end);
	child = writer(end, 0, MIB, 0);
	must(events(end[1], POLLIN, SOON) & POLLIN);
	ok(!shutdown(end[0], SHUT_WR) && ended(child) != 0, "another one ends the stream: EPIPE");
	unpair(end);

	join(l, end);
	child = writer(end, 0, MIB, 0);
	must(events(end[1], POLLIN, SOON) & POLLIN);
	ok(shell("rmmod sdp_local") && ended(child) != 0, "the transport goes: an error");
	unpair(end);
}

/* The next of a series of numbers. */
static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

/* Any sizes, pieces and flags, at both ends at a time. */
static bool mixed_out(int fd, uint32_t seed)
{
	size_t pos = 0, len;

	for (int i = 0; i < MIXED; i++) {
		len = 1 + draw(&seed, draw(&seed, 4) ? 3000 : 400000);
		for (size_t j = 0; j < len; j++)
			out[j] = byte(pos + j);
		if (end_send(fd, out, len, 0) != (ssize_t)len)
			return false;
		pos += len;
	}
	return !shutdown(fd, SHUT_WR);
}

static bool mixed_in(int fd, uint32_t seed)
{
	size_t pos = 0, want;
	ssize_t n;

	for (;;) {
		want = 1 + draw(&seed, draw(&seed, 2) ? 500 : 300000);
		n = recv(fd, in, want, draw(&seed, 3) ? 0 : MSG_WAITALL);
		if (n <= 0)
			return n == 0;
		for (ssize_t i = 0; i < n; i++)
			if (in[i] != byte(pos + i))
				return false;
		pos += n;
	}
}

static void test_mixed(int l)
{
	bool good = true;
	int end[2];

	join(l, end);
	for (int i = 0; i < 2; i++) {
		if (!fork())
			_exit(mixed_out(end[i], 5 + i) ? 0 : 1);
		if (!fork())
			_exit(mixed_in(end[i], 50 + i) ? 0 : 1);
	}
	for (int status, i = 0; i < 4; i++) {
		must(wait(&status) > 0);
		good &= !status;
	}
	ok(good, "streams both ways, in any pieces");
	ok(sent_by_read(end[0]) && sent_by_read(end[0]) == came_by_read(end[1]) &&
	   sent_by_read(end[1]) == came_by_read(end[0]), "%llu and %llu bytes of them were read",
	   sent_by_read(end[0]), sent_by_read(end[1]));
	unpair(end);
}

int main(int argc, char **argv)
{
	long before = pinned();
	char command[512];
	int l;

	must(argc == 2);
	tap_plan(5 + 7 + 6 + 1 + 5 + 2 + 3 + 2 + 1);
	out = mmap(NULL, MOST + MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	in = mmap(NULL, MOST + MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(out != MAP_FAILED && in != MAP_FAILED);
	signal(SIGPIPE, SIG_IGN);
	set_both_direct("1");
	must(shell("ip link set lo up"));
	snprintf(command, sizeof(command), "insmod %s", argv[1]);
	must(shell(command));
	l = listen_here();
	test_whole(l);
	test_written(l);
	test_copied(l);
	test_limit(l);
	test_cancelled(l);
	test_mixed(l);
	test_ended(l);
	test_unread(l, argv[1]);
	close(l);
	ok(pinned() == before, "no page is pinned any more");
	set_both_direct("0");
	return tap_exit();
}
