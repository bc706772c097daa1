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

/* What a program sends by, or receives by. */
struct half {
	bool locked;
	struct sdp_shared *shared;	/* the head of its ring */
	char *bytes;
	__u64 base;			/* the position of the first byte */
	__u64 peer;			/* where the other program was, when last seen */
	unsigned int skip;		/* calls to let pass before the next try to open it */
	unsigned int skipped;		/* how many passed after the last try that failed */
};

/* The rings of a socket. */
struct sdp_fast {
	int fd;				/* the socket; the caller's */
	int device;			/* of /dev/sdp, to attach when there is need; or -1 */
	int rings;			/* mapped from it; -1 if the number is not theirs */
	unsigned long owner;		/* which process made this, as mapped.c counts them */
	bool attaching;			/* a thread does so */
	bool broken;			/* the kernel does not know them as those of @fd */
	bool polls;			/* a call on @fd would not wait: nor does a reader here */
	size_t size;			/* bytes of a ring */
	void *map;
	size_t length;
	unsigned int turns;		/* how often a reader yields before it sleeps: a guess */
	unsigned int slept;		/* how often one has slept since that became none */
	struct half tx;
	struct half rx;
};

/* Closes a number by a system call that no library stands in front of; each library has its own. */
__hidden void sdp_mapped_close(int fd);

/* A socket without rings, whose @device the caller may set. */
__hidden void sdp_mapped_begin(struct sdp_fast *fast, int fd);

/* Attaches, with SDP_ATTACH_* or zero; false with errno as SDP_IOC_ATTACH and mmap(2) have it. */
__hidden bool sdp_mapped_attach(struct sdp_fast *fast, int device, unsigned int flags);

/* The structure is the caller's again; no thread is in a call with it. */
__hidden void sdp_mapped_end(struct sdp_fast *fast);

/* Which halves are open: SDP_RING_*.  They may be closed again already. */
__hidden unsigned int sdp_mapped_state(struct sdp_fast *fast);

/* Of all pieces; SIZE_MAX if a call would not take so many, or is sure to say EFAULT. */
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
 * without @wait a thread that polls the socket is woken for more.
 */
__hidden ssize_t sdp_mapped_recv(struct sdp_fast *fast, const struct iovec *iov, int n,
				 size_t least, bool wait);

#endif /* SDPDEV_MAPPED_H */
