/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fuzzer of sdpdev and of IPoIB.  An input is a string of records of 8 bytes, each an
 * operation; any string is a valid input.
 */
#ifndef TOOLS_FUZZ_H
#define TOOLS_FUZZ_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define RECORDS		160	/* of an input, at most */
#define SLOTS		8	/* descriptors of an input */
#define MAPS		4	/* mappings of an input */
#define EDGES		(1U << 16)
#define IOVS		3
#define THREADS		2	/* that run operations; a third scribbles */
#define CHILD		THREADS	/* and a child does */
#define CALLERS		(THREADS + 1)

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
	bool nothing;		/* the operation found nothing to call */
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
extern bool timing;			/* note how long each kind of operation takes */
void exec_init(void);
void exec_input(const struct input *in);
void exec_times(void);

/* wake.c: what the threads and the child have together, and what ends their calls */
extern struct shared {
	unsigned long operations;	/* that called something */
	unsigned int calls[CALLERS];	/* odd: in a call */
	bool patient[CALLERS];		/* it is not to be ended */
	int pid[CALLERS], tid[CALLERS];
} *shared;

void wake_init(void);
void wake_me(unsigned int nr);
void wake_begin(unsigned int nr);
void wake_end(unsigned int nr);
void wake_not(bool on);

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
#define PORT	7700	/* of the listener that is always there */
extern int slots[SLOTS], listener, passing[2], pipes[2], epoll, disk;
extern bool passed, piped, polled;	/* they are not as they were */

struct map {
	unsigned char *at;
	size_t len;
};

extern struct map maps[MAPS];
void map_at(struct map *m, int fd, size_t len, int prot, int flags, uint64_t offset);
extern volatile unsigned int scribbling;

typedef void op_fn(struct worker *w);

op_fn op_scribble, op_read, op_write, op_splice, op_sendfile;
op_fn op_munmap, op_remap, op_poll, op_pass, op_take, op_epoll, op_fcntl;
op_fn op_socket_ioctl, op_proc, op_none;

/* direct.c: direct SDP */
#define DIRECT	27	/* the family */
op_fn op_direct_new, op_direct_call, op_direct_option, op_direct_send, op_direct_recv;
int direct_socket(bool nonblock);
int listen_somewhere(unsigned int port);
void allow_direct(void);
struct sockaddr_in;
void direct_address(struct sockaddr_in *sin, unsigned int v);

/* join.c: requests to join */
op_fn op_join;
void joins_init(void);
void joins_clean(void);

/* sock.c: TCP sockets with the ULP, rules and rings */
op_fn op_sock_pair, op_sock_new, op_sock_call, op_sock_option, op_sock_send, op_sock_recv;
op_fn op_rule, op_attach, op_ctl, op_share_mmap, op_ring_call, op_share_put;
bool map_is_share(const struct map *m);	/* both rings of an end */
void share_scribble(const struct map *m, uint32_t r);
void socks_clean(void);
int the_door(void);
int one_of(struct worker *w, unsigned int first);
void call_send(struct worker *w, int fd);
void call_recv(struct worker *w, int fd);
void call_option(struct worker *w, int fd);

struct op {
	op_fn *fn;
	/* It is left out where there is none; NOTHING: it does not count. */
	enum { NOTHING, TARGET, DESCRIPTOR, MAPPING } needs;
};

/* pair.c: connections with the standing listener */
op_fn op_pair;
void pairs_keep(void);
void pairs_forget(void);
extern unsigned long pairs_made, pairs_reused;

/* ipoib.c: the other target */
extern const struct op ipoib_ops[];
extern const unsigned int ipoib_ops_n;
extern bool to_ipoib;			/* it is fuzzed instead of sdpdev */
void ops_of_ipoib(void);
void ipoib_clean(void);

void *memory(struct worker *w, size_t len);
unsigned int iovs_set(struct worker *w);
int call_on(struct worker *w, int fd, unsigned int cmd, const void *arg, unsigned int size);
void slot_set(unsigned int slot, int fd);
int slot_get(const struct worker *w);
void slot_fill(const struct worker *w, unsigned int slot, int fd);
bool op_run(struct worker *w, const struct record *r);	/* true: it counts */
unsigned int op_kind(const struct record *r);
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
