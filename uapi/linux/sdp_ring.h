/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Rings: a program sends and receives on a TCP socket with the upper layer protocol "sdp" without
 * a system call, while both of the connection's ends are on this kernel and busy.
 *
 * A moved direction of such a connection is a ring of bytes in the kernel's memory.  The ioctl
 * SDP_IOC_ATTACH on a file of /dev/sdp returns a descriptor.  A program can map both rings of one
 * end by it: the ring that this end sends into, and the ring that it receives from.  The other end
 * has the same rings with the roles exchanged.  send(2), recv(2), poll(2) and all other calls on
 * the socket work as before, on the same stream.  A program may mix calls and rings at any moment.
 *
 * Each ring has one half for its sender and one for its reader.  A half is open while its
 * program may work on it; the kernel closes it at any time.  A program finds its half closed
 * when an exchange fails, has done nothing then, and makes the system call instead.
 *
 * Positions count the bytes of the ring, from some number on; the byte at a position lies at
 * (position - base) & (ring_bytes - 1).  SDP_RING_CLOSED in sdp_shared.head or sdp_shared.tail
 * says that the half is closed; the rest is the position.
 *
 * The sender, one thread at a time:
 *
 *	busy = 1; full barrier; h = head; if h is closed: busy = 0, send(2) instead
 *	t = tail without SDP_RING_CLOSED (acquire); room = limit - (h - t)
 *	copy n <= room bytes to position h
 *	compare and exchange head, h against h + n (release); if it fails: nothing was sent
 *	busy = 0 (release); full barrier; if want_data: ioctl SDP_RING_KICK, SDP_RING_DATA
 *
 * The reader, one thread at a time:
 *
 *	t = tail; if t is closed: recv(2) instead
 *	h = head without SDP_RING_CLOSED (acquire); there are h - t bytes
 *	copy n bytes from position t
 *	compare and exchange tail, t against t + n (release); if it fails: forget the bytes
 *	full barrier; if want_room, and half of the ring is free: SDP_RING_KICK, SDP_RING_ROOM
 *
 * A reader that finds nothing and is going to sleep in poll(2) or epoll_wait(2) sets want_data,
 * makes a full barrier, and looks again.  One that sleeps in recv(2), and a sender without room
 * that sleeps in send(2), need nothing.  While the word watched is set, a reader sets want_data
 * and makes a full barrier before each look: a program relies on an event for later bytes, even if
 * it has not read all earlier ones (EPOLLET, O_ASYNC).
 *
 * The program at the other end may belong to another user, and can write anything into the mapping
 * at any time.  So a program checks the values that it loads from there: if two positions are more
 * than ring_bytes apart, it assumes that there are no bytes, or that there is no room.  The kernel
 * checks in the same way, and ignores impossible values.
 *
 * Only 64-bit kernels have rings; programs may be 32-bit ones.
 */
#ifndef _UAPI_LINUX_SDP_RING_H
#define _UAPI_LINUX_SDP_RING_H

#include <linux/ioctl.h>
#include <linux/sdp.h>
#include <linux/types.h>

/* On a file of /dev/sdp */
#define SDP_IOC_ATTACH		_IO(SDP_IOC_MAGIC, 0x0F)

/* On the descriptor that SDP_IOC_ATTACH gives; the argument is SDP_RING_* below. */
#define SDP_RING_OPEN		_IO(SDP_IOC_MAGIC, 0x20)
#define SDP_RING_KICK		_IO(SDP_IOC_MAGIC, 0x21)

/**
 * struct sdp_attach - argument of SDP_IOC_ATTACH
 * @size: sizeof(struct sdp_attach)
 * @flags: SDP_ATTACH_SOLE, or zero
 * @major: in: SDP_API_MAJOR of the program; out: of the kernel
 * @minor: in: SDP_API_MINOR of the program; out: of the kernel
 * @fd: descriptor of a TCP socket with the ULP "sdp"
 * @head_bytes: out: bytes of each of the two heads, struct sdp_shared and what is behind it
 * @ring_bytes: out: bytes of each of the two rings, a power of two
 * @tx_base: out: position of the first byte of the ring to send into
 * @rx_base: out: and of the one to receive from
 * @features: out: zero
 *
 * Returns a descriptor with O_CLOEXEC.  mmap(2) of it, from offset 0, with MAP_SHARED, maps in
 * this order: the head of the ring to send into, the head of the other one, the ring to send
 * into, the other one.  The length is twice @head_bytes and @ring_bytes.  A child of fork(2)
 * does not inherit the mapping.
 *
 * The halves are closed at first.  They close for good when the connection ends, or when the last
 * descriptor and the last mapping are gone.  The descriptor does not keep the socket open: close(2)
 * of the socket ends the connection.  The kernel charges the memory to the memory control group of
 * the caller, and frees it when the connection ends.
 *
 * Errors: EPROTONOSUPPORT (another major version; the kernel writes its own version to @major and
 * @minor), EBADF, ENOTSOCK, EOPNOTSUPP (the socket does not have the ULP, or stays with TCP for
 * good, or none of its bytes may go by TCP), EAGAIN (the two ends have not found each other yet, or
 * another call uses the socket; try again when the socket has carried more), ENOTCONN (the
 * connection has ended), EBUSY (this end has rings already, or other references exist despite
 * SDP_ATTACH_SOLE), ENOMEM (also if the user's limit is reached), and the errors of a security
 * module for sending and receiving.
 */
struct sdp_attach {
	__u32 size;
	__u32 flags;
	__u16 major;
	__u16 minor;
	__s32 fd;
	__u32 head_bytes;
	__u32 ring_bytes;
	__u64 tx_base;
	__u64 rx_base;
	__u64 features;
};

/*
 * In sdp_attach.flags: only if nothing but @fd refers to the socket: no other descriptor of any
 * process, no call of another thread, no ring of io_uring.  Since minor version 1.
 */
#define SDP_ATTACH_SOLE		(1U << 0)

/*
 * SDP_RING_OPEN: open these halves.  Do not call it while another thread of the program sends or
 * receives by the same half.  Earlier positions are not valid any more: the head may be behind
 * them.
 *
 * Returns the halves that are open now.  It may return none: the direction is with TCP, or the
 * half has to wait until the program has read the bytes that came by TCP.  ENOTCONN: the connection
 * has ended, and its rings with it.
 */
#define SDP_RING_TX		(1U << 0)	/* the half that this end sends by */
#define SDP_RING_RX		(1U << 1)	/* the half that it receives by */

/* SDP_RING_KICK: wake the other end.  Returns zero.  Both fail with EINVAL for an unknown bit. */
#define SDP_RING_DATA		(1U << 0)	/* which waits for bytes */
#define SDP_RING_ROOM		(1U << 1)	/* which waits for room */

/* In sdp_shared.head and sdp_shared.tail: the half is closed. */
#define SDP_RING_CLOSED		(1ULL << 63)

/**
 * struct sdp_shared - the head of a ring
 * @head: bytes that were sent, and SDP_RING_CLOSED; the sending program's while it is open, else
 *	the kernel's
 * @busy: not zero while the sending program may be about to write into the ring; the program's.
 *	While it is set and the half is closed, the kernel lets nothing go by the ring.
 * @reserved1: zero
 * @tail: bytes that were taken, and SDP_RING_CLOSED; the receiving program's while it is open,
 *	else the kernel's
 * @reserved2: zero
 * @want_data: the reader waits: the kernel and the receiving program set it, and the kernel
 *	clears it
 * @want_room: the sender waits; the kernel's
 * @limit: bytes that the ring holds, at most; the kernel's
 * @watched: a program polls the reader's socket; the kernel's; since minor version 1
 * @reserved3: zero
 */
struct sdp_shared {
	__u64 head;
	__u32 busy;
	__u32 reserved1[13];
	__u64 tail;
	__u64 reserved2[7];
	__u32 want_data;
	__u32 want_room;
	__u32 limit;
	__u32 watched;
	__u32 reserved3[12];
};

#endif /* _UAPI_LINUX_SDP_RING_H */
