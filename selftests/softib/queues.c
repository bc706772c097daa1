// SPDX-License-Identifier: GPL-2.0
/*
 * A program that asks uverbs for queues by itself: with no room for the HCA's part of
 * the answer, which says where the queue can be mapped, with room that is not to be
 * written, and for new sizes of a CQ from several threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include "verbs.h"

#define PAGE	4096
#define SECONDS	3
#define CQE	8000	/* so many that it takes a moment to map them */
#define RING	(CQE * sizeof(struct ib_uverbs_wc) / PAGE * PAGE)
#define PATIENCE	60	/* until all of it has come to pass */
/* The HCA's part of an answer */
#define OFFSET	sizeof(uint64_t)

static struct end a;
/* A page, and one behind it that must not be written to */
static uint8_t *page;

/*
 * Where an answer of @len bytes begins that the HCA's part of is not to be written.
 */
static uint64_t edge(size_t len)
{
	return (uintptr_t)page + PAGE - len;
}

/* A command of the kernel's, with @len bytes of parameters; 0 or errno. */
static int ask(uint32_t command, const void *parameters, size_t len, size_t answer)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t parameters[256];
	} request = {
		.hdr.command = command,
		.hdr.in_words = (sizeof(request.hdr) + len) / 4,
		.hdr.out_words = answer / 4,
	};
	size_t size = sizeof(request.hdr) + len;

	memcpy(request.parameters, parameters, len);
	return write(a.ctx->cmd_fd, &request, size) == (ssize_t)size ? 0 : errno;
}

static int create_cq(uint64_t response, size_t room)
{
	struct ib_uverbs_create_cq cmd = {
		.response = response, .cqe = 10, .comp_channel = -1,
	};

	return ask(IB_USER_VERBS_CMD_CREATE_CQ, &cmd, sizeof(cmd),
		   sizeof(struct ib_uverbs_create_cq_resp) + room);
}

struct created_cq {
	struct ib_uverbs_create_cq_resp core;
	uint64_t offset;
};

/* The new size, and where it is to be mapped */
struct resized {
	struct ib_uverbs_resize_cq_resp core;
	uint64_t offset;
};

static int resize_cq(uint32_t handle, uint32_t cqe, size_t room, struct resized *resized)
{
	struct ib_uverbs_resize_cq cmd = {
		.response = (uintptr_t)resized, .cq_handle = handle, .cqe = cqe,
	};

	return ask(IB_USER_VERBS_CMD_RESIZE_CQ, &cmd, sizeof(cmd),
		   sizeof(resized->core) + room);
}

static int destroy_cq(uint32_t handle)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq cmd = {
		.response = (uintptr_t)&resp, .cq_handle = handle,
	};

	return ask(IB_USER_VERBS_CMD_DESTROY_CQ, &cmd, sizeof(cmd), sizeof(resp));
}

static int create_srq(uint64_t response, size_t room)
{
	struct ib_uverbs_create_srq cmd = {
		.response = response, .pd_handle = a.pd->handle, .max_wr = 10, .max_sge = 1,
	};

	return ask(IB_USER_VERBS_CMD_CREATE_SRQ, &cmd, sizeof(cmd),
		   sizeof(struct ib_uverbs_create_srq_resp) + room);
}

static int create_qp(uint64_t response, size_t room)
{
	struct ib_uverbs_create_qp cmd = {
		.response = response, .pd_handle = a.pd->handle,
		.send_cq_handle = a.cq->handle, .recv_cq_handle = a.cq->handle,
		.max_send_wr = 10, .max_recv_wr = 10, .max_send_sge = 1, .max_recv_sge = 1,
		.qp_type = IBV_QPT_RC,
	};

	return ask(IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd),
		   sizeof(struct ib_uverbs_create_qp_resp) + room);
}

static void test_room(void)
{
	struct ib_uverbs_create_cq_resp *cq = (void *)page;
	struct resized resized;

	ok(!create_cq((uintptr_t)cq, 0), "a CQ that is not to be mapped");
	ok(resize_cq(cq->cq_handle, 100, OFFSET, &resized) == EINVAL,
	   "nor can it be with another size");
	ok(!resize_cq(cq->cq_handle, 100, 0, &resized) && resized.core.cqe >= 100,
	   "a new size for it");
	ok(!destroy_cq(cq->cq_handle), "and its end");
	ok(resize_cq(a.cq->handle, 100, 0, &resized) == EINVAL,
	   "one that is to be mapped remains so");
	ok(create_srq((uintptr_t)page, 0) == EINVAL, "an SRQ has to be mapped");
	ok(create_qp((uintptr_t)page, 0) == EINVAL, "so has a QP's receive queue");
}

static void test_nowhere(void)
{
	ok(create_cq(edge(sizeof(struct ib_uverbs_create_cq_resp)), OFFSET) == EFAULT,
	   "a CQ whose place cannot be told");
	ok(create_srq(edge(sizeof(struct ib_uverbs_create_srq_resp)), OFFSET) == EFAULT,
	   "an SRQ likewise");
	ok(create_qp(edge(sizeof(struct ib_uverbs_create_qp_resp)), OFFSET) == EFAULT,
	   "a QP likewise");
}

/* Threads that change a CQ's size, and map it, all the time */
struct change {
	uint32_t handle;
	uint32_t cqe;
	uint64_t offset;	/* where it was last */
	unsigned int resized, busy, mapped;
	bool wrong;		/* something else came of it */
	time_t begun;
};

static bool all_happened(struct change *change)
{
	return __atomic_load_n(&change->resized, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&change->busy, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&change->mapped, __ATOMIC_RELAXED);
}

static bool goes_on(struct change *change)
{
	time_t passed = time(NULL) - change->begun;

	return passed < SECONDS || (passed < PATIENCE && !all_happened(change));
}

static void *resize(void *arg)
{
	struct change *change = arg;
	struct resized resized;
	int ret;

	while (goes_on(change)) {
		/* Anything may be mapped there by now, in another thread. */
		ret = resize_cq(change->handle, CQE + change->cqe++ % 1000, OFFSET, &resized);
		if (!ret)
			__atomic_store_n(&change->offset, resized.offset, __ATOMIC_RELAXED);
		__atomic_fetch_add(ret ? &change->busy : &change->resized, 1,
				   __ATOMIC_RELAXED);
		if (ret && ret != EAGAIN)
			change->wrong = true;
		/* For the thread that maps it at its present place */
		sched_yield();
	}
	return NULL;
}

static void *map(void *arg)
{
	struct change *change = arg;
	void *ring;

	while (goes_on(change)) {
		ring = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, a.ctx->cmd_fd,
			    __atomic_load_n(&change->offset, __ATOMIC_RELAXED));
		if (ring == MAP_FAILED)
			continue;
		memset(ring, 0, RING);
		munmap(ring, RING);
		__atomic_fetch_add(&change->mapped, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *(*const does[])(void *) = { resize, resize, map };

static void test_threads(void)
{
	struct created_cq *cq = (void *)page;
	struct change change = { .begun = time(NULL) };
	pthread_t threads[3];
	int i;

	if (create_cq((uintptr_t)cq, OFFSET))
		die("create_cq");
	change.handle = cq->core.cq_handle;
	change.offset = cq->offset;
	for (i = 0; i < 3; i++) {
		errno = pthread_create(&threads[i], NULL, does[i], &change);
		if (errno)
			die("pthread_create");
	}
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("# %u new sizes, %u times mapped meanwhile, %u times mapped\n",
	       change.resized, change.busy, change.mapped);
	ok(all_happened(&change) && !change.wrong,
	   "two threads change a CQ's size, but not while a third one maps it");
	ok(!destroy_cq(change.handle), "and it ends");
}

static void test_mapped(void)
{
	ok(!ibv_resize_cq(a.cq, 200) && a.cq->cqe >= 200, "a new size by libibverbs");
}

int main(void)
{
	plan(13);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + PAGE, PAGE, PROT_NONE))
		die("mmap");
	open_end(&a, "softib0");
	test_room();
	test_nowhere();
	test_threads();
	test_mapped();
	close_end(&a);
	return finish();
}
