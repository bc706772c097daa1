/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer of /dev/sdp and of IPoIB.  An input is a string of records of 8 bytes, each an
 * operation; any string is a valid input.
 */
#ifndef TOOLS_FUZZ_H
#define TOOLS_FUZZ_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define RECORDS		96	/* of an input, at most */
#define SLOTS		8	/* descriptors of an input */
#define MAPS		4	/* mappings of an input */
#define EDGES		(1U << 16)
#define IOVS		3
#define THREADS		2	/* that run operations; a third scribbles */

struct record {
	uint8_t op, slot, a, b;
	uint32_t c;
};

struct input {
	unsigned int n;
	struct record r[RECORDS];
};

/* What an operation may look at; one for each thread. */
struct worker {
	unsigned int nr;
	unsigned char *page;	/* memory to pass, which ends at an unmapped page */
	struct iovec *iov;	/* behind that, ending at another one: IOVS of them */
	const struct record *r;
};

/* The state is not zero. */
static inline uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

void die(const char *what) __attribute__((noreturn));

/* cover.c: what the kernel ran, by KCOV */
extern unsigned int cover_pcs;		/* places in the modules seen so far */
bool cover_open(unsigned int thread);	/* false: the kernel has no KCOV */
void cover_on(unsigned int thread);
void cover_start(void);			/* of an input */
void cover_begin(unsigned int thread);	/* of an operation */
void cover_end(unsigned int thread);
unsigned int cover_get(uint16_t *edges);	/* of this input: how many */

/* exec.c: runs an input */
extern unsigned long operations;
void exec_init(void);
void exec_untimed(bool on);
void exec_input(const struct input *in);

/* report.c: what the kernel says meanwhile */
extern unsigned long reports;
extern bool tracing;			/* print each input before it runs */
void report_open(void);
void report_before(const struct input *in);
void report_after(const struct input *in);

/* ops.c, stream.c: the operations */
#define ANY_MEMORY	4096
/*
 * Where the memory is that calls are told of.  Nothing else is near: a length that
 * is too long, or a pointer with one wrong half, is the kernel's to refuse and not
 * a way into the fuzzer's own stack.
 */
#define ARENA		0x100000000000UL
#define ARENA_STEP	(1UL << 32)
extern int slots[SLOTS], listener, passing[2], pipes[2], epoll, disk;

struct map {
	unsigned char *at;
	size_t len;
};

extern struct map maps[MAPS];
extern volatile unsigned int scribbling;

typedef void op_fn(struct worker *w);

op_fn op_ring_put, op_scribble, op_read, op_write, op_splice, op_sendfile, op_mmap;
op_fn op_munmap, op_remap, op_poll, op_pass, op_take, op_epoll, op_fcntl, op_option;
op_fn op_socket_ioctl, op_proc, op_none;

/* ipoib.c: the other target */
extern op_fn *const ipoib_ops[];
extern const unsigned int ipoib_ops_n;
extern bool to_ipoib;			/* it is fuzzed instead of /dev/sdp */
void ops_of_ipoib(void);
void ipoib_clean(void);

void *memory(struct worker *w, size_t len);
void slot_set(unsigned int slot, int fd);
void op_run(struct worker *w, const struct record *r);
int endpoint(unsigned int family, unsigned int flags, bool nonblock);
int listen_somewhere(unsigned int port);
bool op_is_async(const struct record *r);
bool op_is_fork(const struct record *r);
void ops_clean(void);
void scribble_once(uint32_t *seed);

/* corpus.c: inputs that are worth keeping */
extern unsigned int corpus_n, edges_seen;
void corpus_load(const char *path);
bool corpus_parse(struct input *in, const char *hex);
void corpus_print(const char *word, const struct input *in);
bool corpus_consider(const struct input *in);	/* runs it */
void corpus_replay(void);
void corpus_minimise(void);
void corpus_mutate(struct input *in, uint32_t *seed);

#endif /* TOOLS_FUZZ_H */
