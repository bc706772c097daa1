// SPDX-License-Identifier: GPL-2.0
/*
 * The library's side of the mapped rings against a kernel's side played here by
 * two threads: one empties the transmit ring, the other fills the receive ring
 * with what the first took.  No /dev/sdp is needed; ioctl() is the linker's
 * --wrap of the library's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sdpdev.h>

#include "tap.h"

#define HEAD_BYTES	4096
#define RING_BYTES	SDP_RING_MIN
#define WIRE_BYTES	1536	/* what the played kernel holds between the rings */

/* The played kernel; in memory that forked children share. */
static struct kernel {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct sdp_ring *tx, *rx;
	__u64 tx_head, rx_tail;	/* its own indices */
	unsigned char wire[WIRE_BYTES];
	__u64 wire_in, wire_out;
	unsigned long enters;
	unsigned int last_enter;
	bool stop, nonblock, bad_index, interrupt, parted;
} *k;

static unsigned char *data(struct sdp_ring *ring)
{
	return (unsigned char *)ring + HEAD_BYTES;
}

static __u64 get(__u64 *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void put(__u64 *p, __u64 v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static void set_flag(struct sdp_ring *ring, __u32 flag, bool on)
{
	if (on)
		__atomic_fetch_or(&ring->flags, flag, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&ring->flags, ~flag, __ATOMIC_SEQ_CST);
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t n = a < b ? a : b;

	return n < c ? n : c;
}

/* Transmit ring to wire; false where there was nothing to do. */
static bool kernel_take(void)
{
	__u64 there = get(&k->tx->tail) - k->tx_head;
	size_t i, n;

	if (there > RING_BYTES) {
		k->bad_index = true;
		return false;
	}
	n = min3(there, WIRE_BYTES - (k->wire_in - k->wire_out), 700);
	for (i = 0; i < n; i++)
		k->wire[(k->wire_in + i) % WIRE_BYTES] =
			data(k->tx)[(k->tx_head + i) % RING_BYTES];
	k->wire_in += n;
	k->tx_head += n;
	put(&k->tx->head, k->tx_head);
	return n;
}

/* Wire to receive ring. */
static bool kernel_give(void)
{
	__u64 used = k->rx_tail - get(&k->rx->head);
	size_t i, n;

	if (used > RING_BYTES) {
		k->bad_index = true;
		return false;
	}
	n = min3(k->wire_in - k->wire_out, RING_BYTES - used, 900);
	for (i = 0; i < n; i++)
		data(k->rx)[(k->rx_tail + i) % RING_BYTES] =
			k->wire[(k->wire_out + i) % WIRE_BYTES];
	k->wire_out += n;
	k->rx_tail += n;
	put(&k->rx->tail, k->rx_tail);
	return n;
}

/* Works while there is work, then asks for a knock, looks again, and sleeps. */
static void *kernel_half(void *arg)
{
	bool transmit = arg;
	struct sdp_ring *ring = transmit ? k->tx : k->rx;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		if (transmit ? kernel_take() : kernel_give()) {
			set_flag(ring, SDP_RING_NEED_ENTER, false);
			pthread_cond_broadcast(&k->changed);
			pthread_mutex_unlock(&k->lock);
			sched_yield();
			pthread_mutex_lock(&k->lock);
			continue;
		}
		set_flag(ring, SDP_RING_NEED_ENTER, true);
		if (transmit ? kernel_take() : kernel_give()) {
			pthread_cond_broadcast(&k->changed);
			continue;
		}
		pthread_cond_wait(&k->changed, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

static int kernel_enter(unsigned int flags)
{
	int ret = 0;

	pthread_mutex_lock(&k->lock);
	k->enters++;
	k->last_enter = flags;
	if (k->interrupt) {
		k->interrupt = false;
		ret = EINTR;
	}
	if (k->parted)
		ret = ENXIO;
	pthread_cond_broadcast(&k->changed);
	while (!ret && !k->stop) {
		bool full = get(&k->tx->tail) - k->tx_head == RING_BYTES;
		bool empty = k->rx_tail == get(&k->rx->head) &&
			!(k->rx->flags & SDP_RING_EOF);

		if (!((flags & SDP_ENTER_WAIT_TX) && full) &&
		    !((flags & SDP_ENTER_WAIT_RX) && empty))
			break;
		if (k->nonblock)
			ret = EAGAIN;
		else
			pthread_cond_wait(&k->changed, &k->lock);
	}
	pthread_mutex_unlock(&k->lock);
	errno = ret;
	return ret ? -1 : 0;
}

int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct sdp_ring_setup *setup = arg;
	struct sdp_info *info = arg;

	(void)fd;
	switch (request) {
	case SDP_IOC_RING_SETUP:
		setup->data_offset = HEAD_BYTES;
		return 0;
	case SDP_IOC_INFO:
		info->tx_ring_bytes = RING_BYTES;
		info->rx_ring_bytes = RING_BYTES;
		info->ring_data_offset = HEAD_BYTES;
		return 0;
	case SDP_IOC_RING_ENTER:
		return kernel_enter(((struct sdp_ring_enter *)arg)->flags);
	/* What is not done by the rings has ended. */
	case SDP_IOC_SEND:
		errno = EPIPE;
		return -1;
	case SDP_IOC_RECV:
		errno = ECONNRESET;
		return -1;
	}
	errno = ENOTTY;
	return -1;
}

/* --- the played connection ------------------------------------------------ */

static struct sdp_rings rings;
static pthread_t halves[2];

static void kernel_start(void)
{
	pthread_mutexattr_t shared_mutex;
	pthread_condattr_t shared_cond;
	int fd = memfd_create("rings", MFD_CLOEXEC);

	must(fd >= 0);
	must(!ftruncate(fd, SDP_MMAP_RX_RING + HEAD_BYTES + RING_BYTES));
	must(!sdp_ring_attach(fd, RING_BYTES, RING_BYTES, &rings));

	memset(k, 0, sizeof(*k));
	pthread_mutexattr_init(&shared_mutex);
	pthread_mutexattr_setpshared(&shared_mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&k->lock, &shared_mutex);
	pthread_condattr_init(&shared_cond);
	pthread_condattr_setpshared(&shared_cond, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&k->changed, &shared_cond);
	k->tx = rings.tx;
	k->rx = rings.rx;
	/* Indices near their end, so that they run over. */
	k->tx_head = (__u64)-3000;
	k->rx_tail = (__u64)-5000;
	k->tx->head = k->tx_head;
	k->tx->tail = k->tx_head;
	k->rx->head = k->rx_tail;
	k->rx->tail = k->rx_tail;
}

static void kernel_run(void)
{
	must(!pthread_create(&halves[0], NULL, kernel_half, (void *)1));
	must(!pthread_create(&halves[1], NULL, kernel_half, NULL));
}

static void kernel_end(void)
{
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->lock);
	if (halves[0]) {
		pthread_join(halves[0], NULL);
		pthread_join(halves[1], NULL);
		halves[0] = 0;
	}
	close(rings.fd);
	must(!sdp_ring_detach(&rings));
}

/* --- many at once --------------------------------------------------------- */

#define SENDERS		4
#define RECEIVERS	4

/* A byte names its sender in the high bits and its turn in the low ones. */
#define TURNS		32

static unsigned long total;			/* bytes of each sender */
static unsigned long *seen;			/* by sender, shared */
static unsigned long *wrong;			/* out of turn, shared */

static void *sender(void *arg)
{
	unsigned long id = (unsigned long)arg, sent = 0;
	unsigned char buf[977];
	size_t i, n;
	ssize_t ret;

	while (sent < total) {
		n = 1 + (sent * 2654435761UL >> 7) % sizeof(buf);
		if (n > total - sent)
			n = total - sent;
		for (i = 0; i < n; i++)
			buf[i] = id * TURNS + (sent + i) % TURNS;
		ret = sdp_ring_send(&rings, buf, n, 0);
		if (ret != (ssize_t)n) {
			__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		sent += n;
	}
	return NULL;
}

/* The only receiver can also tell whether each sender's bytes keep their order. */
static void *receiver(void *arg)
{
	bool alone = arg;
	unsigned char next[256 / TURNS] = { 0 };
	unsigned char buf[1201];
	ssize_t i, n;

	for (;;) {
		n = sdp_ring_recv(&rings, buf, sizeof(buf), 0);
		if (n <= 0) {
			if (n < 0)
				__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		for (i = 0; i < n; i++) {
			unsigned char id = buf[i] / TURNS;

			if (alone && buf[i] % TURNS != next[id])
				__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
			next[id] = (buf[i] + 1) % TURNS;
			__atomic_fetch_add(&seen[id], 1, __ATOMIC_RELAXED);
		}
	}
}

/* After the last byte has come through, the stream ends for all receivers. */
static void finish(void)
{
	__u64 in, out;

	do {
		sched_yield();
		pthread_mutex_lock(&k->lock);
		in = get(&k->tx->tail);
		out = k->tx_head;
		if (in == out && k->wire_in == k->wire_out &&
		    k->rx_tail == get(&k->rx->head)) {
			set_flag(k->rx, SDP_RING_EOF, true);
			pthread_cond_broadcast(&k->changed);
			pthread_mutex_unlock(&k->lock);
			return;
		}
		pthread_mutex_unlock(&k->lock);
	} while (1);
}

static void stress(const char *name, unsigned int senders, unsigned int receivers,
		   bool forked, unsigned long bytes)
{
	pthread_t from[SENDERS], to[RECEIVERS];
	unsigned long i, counted = 0;
	pid_t child = 0;
	int status;

	kernel_start();
	total = bytes;
	memset(seen, 0, SENDERS * sizeof(*seen));
	*wrong = 0;
	if (forked) {
		child = fork();
		must(child >= 0);
	}
	if (!forked || child) {
		kernel_run();
		for (i = 0; i < receivers; i++)
			must(!pthread_create(&to[i], NULL, receiver,
					     (void *)(uintptr_t)(receivers == 1)));
	}
	if (!forked || !child) {
		for (i = 0; i < senders; i++)
			must(!pthread_create(&from[i], NULL, sender, (void *)i));
		for (i = 0; i < senders; i++)
			pthread_join(from[i], NULL);
	}
	if (forked && !child)
		_exit(0);
	if (forked) {
		waitpid(child, &status, 0);
		must(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	finish();
	for (i = 0; i < receivers; i++)
		pthread_join(to[i], NULL);
	for (i = 0; i < senders; i++)
		counted += seen[i] == total;
	ok(counted == senders && !*wrong && !k->bad_index, "%s", name);
	if (counted != senders || *wrong)
		printf("# whole streams %lu, wrong %lu\n", counted, *wrong);
	printf("# %lu calls of the kernel for %lu bytes each way\n", k->enters,
	       total * senders);
	kernel_end();
}

/* --- one call at a time ---------------------------------------------------- */

static void full_and_empty(void)
{
	char buf[RING_BYTES + WIRE_BYTES + 1000], back[sizeof(buf)];
	size_t i;

	kernel_start();
	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 7;
	errno = 0;
	ok(sdp_ring_recv(&rings, back, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN,
	   "receiving from an empty ring without waiting is EAGAIN");
	ok(sdp_ring_send(&rings, buf, sizeof(buf), MSG_DONTWAIT) == RING_BYTES,
	   "sending without waiting takes what there is room for");
	ok(sdp_ring_send(&rings, buf, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN,
	   "sending into a full ring without waiting is EAGAIN");
	k->nonblock = true;
	ok(sdp_ring_send(&rings, buf, 1, 0) < 0 && errno == EAGAIN,
	   "a non-blocking descriptor does not wait for room");
	ok(sdp_ring_recv(&rings, back, 1, 0) < 0 && errno == EAGAIN,
	   "a non-blocking descriptor does not wait for bytes");
	k->nonblock = false;

	kernel_run();
	ok(sdp_ring_send(&rings, buf + RING_BYTES, sizeof(buf) - RING_BYTES, 0) ==
	   (ssize_t)sizeof(buf) - RING_BYTES, "sending waits for room");
	ok(sdp_ring_recv(&rings, back, sizeof(back), MSG_WAITALL) == sizeof(back) &&
	   !memcmp(buf, back, sizeof(buf)), "MSG_WAITALL waits for all, in order");
	ok(sdp_ring_recv(&rings, back, 1, MSG_PEEK) < 0 && errno == EOPNOTSUPP &&
	   sdp_ring_send(&rings, buf, 1, MSG_OOB) < 0 && errno == EOPNOTSUPP,
	   "other flags are EOPNOTSUPP");
	finish();
	ok(sdp_ring_recv(&rings, back, sizeof(back), 0) == 0 &&
	   sdp_ring_recv(&rings, back, sizeof(back), MSG_DONTWAIT) == 0,
	   "the end of the stream is 0");
	kernel_end();
}

static void knocking(void)
{
	char c = 0;

	kernel_start();
	ok(sdp_ring_send(&rings, &c, 1, 0) == 1 && !k->enters,
	   "no call while the kernel is looking at the transmit ring");
	set_flag(k->tx, SDP_RING_NEED_ENTER, true);
	ok(sdp_ring_send(&rings, &c, 1, 0) == 1 && k->enters == 1 &&
	   k->last_enter == SDP_ENTER_TX, "one call where the kernel asked for it");
	k->interrupt = true;
	ok(sdp_ring_send(&rings, &c, 1, 0) == 1 && k->enters == 3,
	   "a call that a signal interrupts is made again");

	k->enters = 0;
	put(&k->rx->tail, k->rx_tail + 2);
	ok(sdp_ring_recv(&rings, &c, 1, 0) == 1 && !k->enters,
	   "no call while the kernel needs no room in the receive ring");
	set_flag(k->rx, SDP_RING_NEED_ENTER, true);
	ok(sdp_ring_recv(&rings, &c, 1, 0) == 1 && k->enters == 1 &&
	   k->last_enter == SDP_ENTER_RX, "one call where the kernel holds more");
	kernel_end();
}

static void ended(void)
{
	char c = 0;

	kernel_start();
	k->parted = true;
	ok(sdp_ring_recv(&rings, &c, 1, 0) < 0 && errno == ECONNRESET,
	   "receiving where another thread took the rings away gives the system call's error");
	kernel_end();

	kernel_start();
	set_flag(k->tx, SDP_RING_ERROR, true);
	set_flag(k->rx, SDP_RING_ERROR, true);
	ok(sdp_ring_send(&rings, &c, 1, 0) < 0 && errno == EPIPE,
	   "sending on an ended connection gives the system call's error");
	ok(sdp_ring_recv(&rings, &c, 1, 0) < 0 && errno == ECONNRESET,
	   "receiving on an ended connection gives the system call's error");
	kernel_end();
}

static void impossible(void)
{
	char buf[64] = { 0 };

	kernel_start();
	k->tx->head = k->tx->tail + 1;
	ok(sdp_ring_send(&rings, buf, sizeof(buf), 0) < 0 && errno == EPROTO,
	   "a transmit head beyond the tail is EPROTO");
	k->tx->head = k->tx->tail - RING_BYTES - 1;
	ok(sdp_ring_send(&rings, buf, sizeof(buf), 0) < 0 && errno == EPROTO,
	   "a transmit ring more than full is EPROTO");
	k->rx->tail = k->rx->head + RING_BYTES + 1;
	ok(sdp_ring_recv(&rings, buf, sizeof(buf), 0) < 0 && errno == EPROTO,
	   "a receive ring more than full is EPROTO");
	kernel_end();
}

/* By way of the kernel, where the connection has ended. */
static void dead_producer(void)
{
	char c = 'x';

	kernel_start();
	rings.tx->lock = 1;
	ok(sdp_ring_send(&rings, &c, 1, MSG_DONTWAIT) < 0 && errno == EPIPE,
	   "who holds the lock for ever is passed by");
	ok(sdp_ring_send(&rings, &c, 1, 0) < 0 && errno == EPIPE, "also by who waits");
	rings.tx->lock = 0;
	ok(sdp_ring_send(&rings, &c, 1, 0) == 1, "and once it is free there is the ring");
	kernel_end();
}

static void mapped_twice(void)
{
	struct sdp_rings again;
	char c = 'x';

	kernel_start();
	ok(!sdp_ring_map(rings.fd, &again) && again.tx_bytes == RING_BYTES &&
	   again.rx_bytes == RING_BYTES && again.data_offset == HEAD_BYTES,
	   "rings are mapped again from what the kernel tells");
	ok(sdp_ring_send(&again, &c, 1, 0) == 1 && rings.tx->tail == k->tx_head + 1,
	   "both mappings are the same ring");
	ok(!sdp_ring_detach(&again), "a mapping is given back");
	kernel_end();
}

int main(void)
{
	k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		 -1, 0);
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	must(k != MAP_FAILED && seen != MAP_FAILED);
	wrong = seen + SENDERS;

	tap_plan(31);
	full_and_empty();
	knocking();
	ended();
	impossible();
	mapped_twice();
	dead_producer();
	stress("one sender, one receiver", 1, 1, false, 2 << 20);
	stress("four senders, one receiver: each one's bytes in order", 4, 1, false,
	       512 << 10);
	stress("one sender, four receivers", 1, 4, false, 2 << 20);
	stress("four senders, four receivers", 4, 4, false, 512 << 10);
	stress("four senders in another process", 4, 1, true, 512 << 10);
	return tap_exit();
}
