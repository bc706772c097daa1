/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The rings of a TCP socket with the ULP "sdp": what sdp_fast_open() and the library of
 * sdprun --rings have in common.
 *
 * None of these makes a call on the socket itself.  They use no memory but the structure, and
 * wait for no lock for long, so a signal handler may call them at any moment.
 */
#ifndef SDPDEV_MAPPED_H
#define SDPDEV_MAPPED_H

#include <errno.h>
#include <linux/sdp_ring.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "sdpdev.h"

#define __hidden __attribute__((visibility("hidden")))
#define __public __attribute__((visibility("default")))

/**
 * struct half - what a program sends by, or receives by
 * @locked: somebody works on it
 * @shared: the head of its ring
 * @bytes: the ring
 * @base: position of the first one
 * @peer: where the other program was, when it was looked at last
 * @skip: calls to let pass before the next try to open it
 * @skipped: how many were let pass after the last try that failed
 */
struct half {
	bool locked;
	struct sdp_shared *shared;
	char *bytes;
	__u64 base;
	__u64 peer;
	unsigned int skip;
	unsigned int skipped;
};

/**
 * struct sdp_fast - the rings of a socket
 * @fd: the socket; the caller's
 * @device: a file of /dev/sdp by which to attach when there is something to do, or -1
 * @rings: what they are mapped from; -1 if that is no more, or the number something else's
 * @owner: which process made this, as mapped.c counts them
 * @attaching: somebody attaches
 * @broken: nothing goes by the rings any more: the kernel does not know them as those of @fd
 * @polls: a system call on the socket would not wait, so neither does a reader here
 * @size: bytes of a ring
 * @map: the mapping, or NULL
 * @length: its bytes
 * @turns: how often a reader lets others run before it sleeps; a guess of any thread
 * @slept: how often one has slept since that became none
 * @tx: the sending half
 * @rx: the receiving half
 */
struct sdp_fast {
	int fd;
	int device;
	int rings;
	unsigned long owner;
	bool attaching;
	bool broken;
	bool polls;
	size_t size;
	void *map;
	size_t length;
	unsigned int turns;
	unsigned int slept;
	struct half tx;
	struct half rx;
};

/* Closes a number by a system call that no library stands in front of; each library has its own. */
__hidden void sdp_mapped_close(int fd);

/* A socket without rings, whose @device the caller may set. */
__hidden void sdp_mapped_begin(struct sdp_fast *fast, int fd);

/* Attaches, with SDP_ATTACH_* or zero; false with errno as SDP_IOC_ATTACH and mmap(2) have it. */
__hidden bool sdp_mapped_attach(struct sdp_fast *fast, int device, unsigned int flags);

/* The structure is the caller's again; nobody is in a call with it. */
__hidden void sdp_mapped_end(struct sdp_fast *fast);

/* Does this process have the rings?  A child of fork(2) has not. */
__hidden bool sdp_mapped_own(const struct sdp_fast *fast);

/* Which halves are open: SDP_RING_*.  They may be closed again already. */
__hidden unsigned int sdp_mapped_state(struct sdp_fast *fast);

/*
 * The bytes of all these pieces; SIZE_MAX if a call would not take so many, or is sure to say
 * EFAULT.
 */
__hidden size_t sdp_mapped_bytes(const struct iovec *iov, int n);

/*
 * Sends as many bytes as there is room for, but not fewer than @least.  Returns how many; 0 where
 * the caller has to make the system call.
 */
__hidden size_t sdp_mapped_send(struct sdp_fast *fast, const struct iovec *iov, int n,
				size_t least);

/*
 * Receives as many bytes as there are, but not fewer than @least.  Returns how many; 0 if there
 * are not so many, also after @wait has let others run; -1 if the half is closed.  After 0
 * without @wait whoever polls the socket is woken for more.
 */
__hidden ssize_t sdp_mapped_recv(struct sdp_fast *fast, const struct iovec *iov, int n,
				 size_t least, bool wait);

#endif /* SDPDEV_MAPPED_H */
