// SPDX-License-Identifier: GPL-2.0
/*
 * The same ioctls by io_uring: those that have to wait go on in a worker of its, beside
 * what follows, until the input's end.
 */
#include "fuzz.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <linux/sdp.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUE	32	/* entries; as many may be under way */

static struct {
	int fd;
	unsigned int *sq_tail, sq_mask, *cq_head, *cq_tail, cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring = { .fd = -1 };

static unsigned int under_way;
static pid_t owner;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map(size_t len, off_t offset)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, offset);

	if (at == MAP_FAILED)
		die("io_uring");
	return at;
}

/* False: the kernel has none. */
static bool make_ring(void)
{
	struct io_uring_params p = {};
	unsigned int i, *array;
	char *sq, *cq;

	owner = getpid();
	ring.fd = syscall(SYS_io_uring_setup, QUEUE, &p);
	if (ring.fd < 0)
		return false;
	sq = map(p.sq_off.array + p.sq_entries * sizeof(*array), IORING_OFF_SQ_RING);
	cq = map(p.cq_off.cqes + p.cq_entries * sizeof(*ring.cqes), IORING_OFF_CQ_RING);
	ring.sqes = map(p.sq_entries * sizeof(*ring.sqes), IORING_OFF_SQES);
	ring.sq_tail = (unsigned int *)(sq + p.sq_off.tail);
	ring.sq_mask = p.sq_entries - 1;
	ring.cq_head = (unsigned int *)(cq + p.cq_off.head);
	ring.cq_tail = (unsigned int *)(cq + p.cq_off.tail);
	ring.cq_mask = p.cq_entries - 1;
	ring.cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	array = (unsigned int *)(sq + p.sq_off.array);
	for (i = 0; i < p.sq_entries; i++)
		array[i] = i;
	return true;
}

static void submit(const struct io_uring_sqe *sqe)
{
	unsigned int tail = *ring.sq_tail;

	ring.sqes[tail & ring.sq_mask] = *sqe;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0) == 1)
		under_way++;
	else
		__atomic_store_n(ring.sq_tail, tail, __ATOMIC_RELEASE);
}

/* What is done; that of @nr is in @res.  Descriptors that nobody waits for any more go. */
static bool reap(uint64_t nr, int *res)
{
	unsigned int head = *ring.cq_head;
	bool found = false;

	for (; head != __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE); head++) {
		const struct io_uring_cqe *cqe = &ring.cqes[head & ring.cq_mask];

		if (cqe->user_data == nr) {
			*res = cqe->res;
			found = true;
		} else if (cqe->user_data & 1 && cqe->res >= 0) {
			close(cqe->res);
		}
		under_way--;
	}
	__atomic_store_n(ring.cq_head, head, __ATOMIC_RELEASE);
	return found;
}

/* As ioctl(2) does, but that it does not wait. */
int uring_ioctl(int fd, unsigned int cmd, void *arg)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_URING_CMD, .fd = fd, .cmd_op = cmd };
	struct sdp_uring command = { .arg = (uintptr_t)arg };
	static uint64_t nr;
	int res = -EAGAIN;

	if (pthread_mutex_trylock(&lock))
		return ioctl(fd, cmd, arg);
	if ((ring.fd < 0 && !make_ring()) || owner != getpid() || under_way == QUEUE) {
		pthread_mutex_unlock(&lock);
		return ioctl(fd, cmd, arg);
	}
	memcpy(sqe.cmd, &command, sizeof(command));
	/* An odd number: a descriptor may come. */
	nr += 2;
	sqe.user_data = nr | (cmd == SDP_IOC_ACCEPT || cmd == SDP_IOC_NATIVE);
	submit(&sqe);
	reap(sqe.user_data, &res);
	pthread_mutex_unlock(&lock);
	if (res < 0) {
		errno = -res;
		return -1;
	}
	return res;
}

/* All that is still under way ends; before descriptors are closed. */
void uring_clean(void)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_ASYNC_CANCEL, .cancel_flags = IORING_ASYNC_CANCEL_ANY,
	};
	int res;

	while (under_way) {
		submit(&sqe);
		sched_yield();
		reap(0, &res);
	}
}
