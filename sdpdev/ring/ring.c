// SPDX-License-Identifier: GPL-2.0
/*
 * Rings: memory that user space maps to move bytes without a system call.
 *
 * Everything in the mapping is hostile: user space may write anything there at
 * any time.  The kernel keeps its own index and the size in its own memory,
 * reads user space's index once, and ends the connection where it is not
 * between the kernel's own and the size of the ring.  What it copies out of
 * the data may change while it does, which matters only to user space.
 */
#include <linux/sched/signal.h>

#include "sdpdev.h"

/* The indices are 64 bits wide and must be read in one piece. */
#ifndef CONFIG_64BIT
#error "The rings need a 64-bit machine"
#endif

/**
 * sdp_ring_data_offset() - where the data begins in a mapping
 */
u32 sdp_ring_data_offset(void)
{
	return PAGE_SIZE;
}

static bool sdp_ring_size_ok(u32 bytes)
{
	return bytes >= max_t(u32, SDP_RING_MIN, PAGE_SIZE) &&
	       bytes <= SDP_RING_MAX && is_power_of_2(bytes);
}

/*
 * The kernel exchanges words that user space stores to, and holds a spinlock meanwhile.
 * So an exchange has to be one instruction.  Where it is a loop of load-exclusive and
 * store-exclusive, another processor's stores could keep the loop from ending.
 */
static bool sdp_ring_exchange_ends(void)
{
#if defined(CONFIG_X86_64)
	return true;
#elif defined(CONFIG_ARM64)
	return system_uses_lse_atomics();
#else
	return false;
#endif
}

/* Why an endpoint cannot have rings now, or zero. */
static int sdp_ring_refused(struct sdp_ep *ep)
{
	if (!sdp_ring_exchange_ends() || READ_ONCE(ep->carrier) == SDP_CARRIER_TCP)
		return -EOPNOTSUPP;
	if (!READ_ONCE(ep->live) || READ_ONCE(ep->parting))
		return -ENOTCONN;
	return ep->tx_ring.size ? -EEXIST : 0;
}

/**
 * sdp_ring_setup() - SDP_IOC_RING_SETUP
 * @ep: the endpoint
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 *
 * Return: zero or a negative errno.
 */
int sdp_ring_setup(struct sdp_ep *ep, u32 tx_bytes, u32 rx_bytes)
{
	struct sdp_ring_mem *mem;
	int err;

	if (!sdp_ring_size_ok(tx_bytes) || !sdp_ring_size_ok(rx_bytes))
		return -EINVAL;
	if (mutex_lock_killable(&ep->tx_mutex))
		return -ERESTARTSYS;
	if (mutex_lock_killable(&ep->rx_mutex)) {
		err = -ERESTARTSYS;
		goto out_tx;
	}
	err = sdp_ring_refused(ep);
	if (!err)
		err = sdp_tx_prepare(ep, 1);
	if (err)
		goto out_rx;
	mem = sdp_ring_mem_alloc(ep, tx_bytes, rx_bytes);
	if (!mem) {
		err = -ENOMEM;
		goto out_rx;
	}

	spin_lock_bh(&ep->lock);
	sdp_ring_mem_attach(ep, mem, tx_bytes, rx_bytes);
	if (ep->shut & SEND_SHUTDOWN)
		sdp_ring_tx_end(ep);
	sdp_ring_tx_sleep(ep);
	spin_unlock_bh(&ep->lock);
	sdp_rx_fetch(ep);
out_rx:
	mutex_unlock(&ep->rx_mutex);
out_tx:
	mutex_unlock(&ep->tx_mutex);
	return err;
}

/**
 * sdp_ring_drop() - take a connection's rings away
 * @ep: the endpoint
 */
void sdp_ring_drop(struct sdp_ep *ep)
{
	mutex_lock(&ep->tx_mutex);
	mutex_lock(&ep->rx_mutex);
	sdp_ring_mem_detach(ep);
	mutex_unlock(&ep->rx_mutex);
	mutex_unlock(&ep->tx_mutex);
}

static void sdp_ring_bad(struct sdp_ep *ep)
{
	sdp_abort(ep, SDP_REASON_RING, ECONNABORTED);
}

/**
 * sdp_ring_tx_check() - how many bytes wait in the transmit ring
 * @ep: an endpoint with rings, ep->lock held
 * @bytes: out: how many
 *
 * Return: false where the index is bad and the connection has been ended.
 */
bool sdp_ring_tx_check(struct sdp_ep *ep, u32 *bytes)
{
	if (sdp_kring_sent(&ep->tx_ring, bytes))
		return true;
	sdp_ring_bad(ep);
	return false;
}

/**
 * sdp_ring_take() - take bytes from the transmit ring
 * @ep: an endpoint with rings, ep->lock held
 * @data: where to
 * @len: how many, at most what sdp_ring_tx_check() told
 *
 * Return: how many, which can be fewer where the ring wraps.
 */
u32 sdp_ring_take(struct sdp_ep *ep, void *data, u32 len)
{
	return sdp_kring_take(&ep->tx_ring, data, len);
}

/**
 * sdp_ring_rx_check() - how many bytes wait in the receive ring
 * @ep: an endpoint with rings, ep->lock held
 * @bytes: out: how many
 *
 * Return: false where the index is bad and the connection has been ended.
 */
bool sdp_ring_rx_check(struct sdp_ep *ep, u32 *bytes)
{
	if (sdp_kring_unread(&ep->rx_ring, bytes))
		return true;
	sdp_ring_bad(ep);
	return false;
}

/**
 * sdp_ring_put() - put received bytes into the receive ring
 * @ep: an endpoint with rings, ep->lock held
 * @data: the bytes
 * @len: how many
 *
 * Return: how many there was room for.
 */
u32 sdp_ring_put(struct sdp_ep *ep, const void *data, u32 len)
{
	struct sdp_kring *ring = &ep->rx_ring;
	u32 used;

	if (!sdp_ring_rx_check(ep, &used) || ring->away)
		return 0;
	len = min(len, ring->size - used);
	sdp_kring_put(ring, data, len);
	return len;
}

/* Of the flags those that say whether anything more is taken. */
static u32 sdp_ring_tx_flags(const struct sdp_ep *ep, bool ended)
{
	if (ep->state == SDP_STATE_CLOSED)
		return SDP_RING_NEED_ENTER | SDP_RING_ERROR;
	return ended ? SDP_RING_NEED_ENTER | SDP_RING_EOF : 0;
}

/**
 * sdp_ring_tx_sleep() - let user space know whether it must call
 * @ep: the endpoint, ep->lock held
 *
 * While messages are under way or wait for credits the kernel comes back to the
 * ring by itself; not so for one that is held back for what may come there.
 *
 * No store of the flags but the one before the barrier needs an order: without
 * SDP_RING_NEED_ENTER the kernel looks again later, and an end that user space
 * does not see yet is found when it moves the tail (sdp_ring_tx_end()).
 *
 * Return: true where bytes came in the last moment, so the caller goes on.
 */
bool sdp_ring_tx_sleep(struct sdp_ep *ep)
{
	struct sdp_kring *ring = &ep->tx_ring;
	u32 bytes, end = sdp_ring_tx_flags(ep, ring->ended);

	if (!ring->size || ep->tx_owned || ep->fin_sent || ep->ending)
		return false;
	/*
	 * Without a buffer nothing can be taken: sdp_ring_tx_grow() allocates one, and
	 * looks at the ring when it is there.
	 */
	if (!ep->tx_posted && list_empty(&ep->tx_free) && list_empty(&ep->tx_pending)) {
		WRITE_ONCE(ring->map->flags, end | SDP_RING_NEED_ENTER);
		return false;
	}
	if (ep->tx_posted || (!list_empty(&ep->tx_pending) && !ep->tx_held)) {
		WRITE_ONCE(ring->map->flags, end);
		return false;
	}
	sdp_kring_sleep(ring, end);
	if (!sdp_ring_tx_check(ep, &bytes) || !bytes)
		return false;
	WRITE_ONCE(ring->map->flags, end);
	return true;
}

/**
 * sdp_ring_tx_end() - what is in the transmit ring is all that comes
 * @ep: the endpoint, ep->lock held; it may have no rings
 *
 * A producer without a descriptor may be about to put bytes there: nothing but the ring
 * itself could tell it.
 */
void sdp_ring_tx_end(struct sdp_ep *ep)
{
	u32 bytes;

	if (!ep->tx_ring.size)
		return;
	sdp_kring_end(&ep->tx_ring, sdp_ring_tx_flags(ep, true));
	sdp_ring_tx_check(ep, &bytes);
}

/**
 * sdp_ring_rx_flags() - tell user space what follows the receive ring's tail
 * @ep: the endpoint, ep->lock held
 */
void sdp_ring_rx_flags(struct sdp_ep *ep)
{
	u32 flags = 0;

	if (!ep->rx_ring.size)
		return;
	if (!list_empty(&ep->rx_queue))
		flags |= SDP_RING_NEED_ENTER;
	else if (ep->shut & RCV_SHUTDOWN)
		flags |= SDP_RING_EOF;
	if (ep->state == SDP_STATE_CLOSED && ep->reason != SDP_REASON_NONE)
		flags |= SDP_RING_ERROR;
	sdp_kring_tell(&ep->rx_ring, flags);
}

/* Copies @n bytes from @index on, in one or two pieces. */
static size_t sdp_ring_copy(const struct sdp_kring *ring, u64 index, size_t n,
			    struct iov_iter *to, unsigned int flags)
{
	size_t done = 0, got;
	u32 piece;

	if (flags & MSG_TRUNC) {
		iov_iter_advance(to, n);
		return n;
	}
	while (done < n) {
		piece = sdp_kring_piece(ring, index + done, n - done);
		got = sdp_copy_to(sdp_kring_data(ring, index + done), piece, to);
		done += got;
		if (got < piece)
			break;
	}
	return done;
}

/* Competes with user space for the bytes from @from to @to. */
static bool sdp_ring_move_head(struct sdp_ep *ep, u64 from, u64 to)
{
	bool won;

	spin_lock_bh(&ep->lock);
	won = sdp_kring_move(&ep->rx_ring, from, to);
	spin_unlock_bh(&ep->lock);
	return won;
}

/**
 * sdp_ring_consume() - read from the receive ring
 * @ep: an endpoint with rings, rx_mutex held
 * @to: where to
 * @skip: bytes to pass over
 * @flags: MSG_PEEK, MSG_TRUNC
 *
 * User space consumes at the same time: who moves the head has the bytes.
 *
 * Return: bytes; zero where there are none after @skip; -EFAULT; -EBUSY where user
 * space was faster: who tries again lets go of the mutex first, as that may go on.
 */
ssize_t sdp_ring_consume(struct sdp_ep *ep, struct iov_iter *to, size_t skip,
			 unsigned int flags)
{
	u64 head;
	size_t n;
	u32 bytes;
	bool ok;

	spin_lock_bh(&ep->lock);
	ok = sdp_ring_rx_check(ep, &bytes);
	head = ep->rx_ring.user;
	spin_unlock_bh(&ep->lock);
	if (!ok || bytes <= skip)
		return 0;

	n = min_t(size_t, bytes - skip, iov_iter_count(to));
	n = sdp_ring_copy(&ep->rx_ring, head + skip, n, to, flags);
	if (!n)
		return -EFAULT;
	if (flags & MSG_PEEK ? sdp_kring_unmoved(&ep->rx_ring, head)
			     : sdp_ring_move_head(ep, head, head + n))
		return n;
	iov_iter_revert(to, n);
	return -EBUSY;
}

static bool sdp_ring_tx_full(struct sdp_ep *ep)
{
	bool full = false;
	u32 bytes;

	spin_lock_bh(&ep->lock);
	ep->tx_nospace = true;
	if (ep->tx_ring.size && !(ep->shut & SEND_SHUTDOWN) &&
	    sdp_ring_tx_check(ep, &bytes))
		full = bytes > ep->tx_ring.size - ep->tx_ring.size / 3;
	spin_unlock_bh(&ep->lock);
	return full;
}

/* Are there bytes that only lack a send buffer? */
static bool sdp_ring_tx_lacks(struct sdp_ep *ep)
{
	u32 bytes = 0;
	bool lacks;

	spin_lock_bh(&ep->lock);
	lacks = ep->tx_ring.size && sdp_ring_tx_check(ep, &bytes) && bytes &&
		list_empty(&ep->tx_free) && ep->tx_bufs < ep->tx_max;
	spin_unlock_bh(&ep->lock);
	return lacks;
}

/* Not without memory, and not while somebody else has the mutex. */
static bool sdp_ring_tx_add(struct sdp_ep *ep)
{
	bool done;

	if (!mutex_trylock(&ep->tx_mutex))
		return false;
	done = !sdp_tx_prepare(ep, ep->tx_bufs + 1);
	mutex_unlock(&ep->tx_mutex);
	return done;
}

/**
 * sdp_ring_tx_grow() - as many send buffers as the transmit ring has bytes for
 * @ep: an endpoint, which may have no rings
 *
 * Without memory it does with fewer; without any it tries again, as nobody else might:
 * who put the bytes there is not told.
 *
 * Return: zero, or -EPIPE where nothing can be sent any more.
 */
int sdp_ring_tx_grow(struct sdp_ep *ep)
{
	int err = 0;

	while (!err && sdp_ring_tx_lacks(ep)) {
		if (!sdp_ring_tx_add(ep)) {
			if (!READ_ONCE(ep->tx_bufs))
				sdp_size_soon(ep);
			break;
		}
		err = sdp_tx_drain(ep);
	}
	return err;
}

/**
 * sdp_ring_look() - look at the transmit ring, as who put bytes there may have no way
 *	left to ask for it
 * @ep: the endpoint, which may have no rings
 *
 * Context: any that may take ep->lock.
 */
void sdp_ring_look(struct sdp_ep *ep)
{
	spin_lock_bh(&ep->lock);
	sdp_tx_push(ep);
	spin_unlock_bh(&ep->lock);
	if (!READ_ONCE(ep->tx_bufs) && sdp_ring_tx_lacks(ep))
		sdp_size_soon(ep);
}

static int sdp_ring_enter_tx(struct sdp_ep *ep, bool wait, long timeo)
{
	int err, more;
	long left;

	err = sdp_tx_drain(ep);
	/* Also where no more comes: what came before must not stay behind. */
	more = sdp_ring_tx_grow(ep);
	err = err ? : more;
	if (err || !wait || !sdp_ring_tx_full(ep))
		return err;
	if (!timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(ep->wait, !sdp_ring_tx_full(ep),
						timeo);
	if (left <= 0)
		return left ? sock_intr_errno(timeo) : -EAGAIN;
	/* It may be the end that was waited for. */
	return sdp_tx_drain(ep);
}

/* The pending error stays for the call that reads: see SDP_RING_ERROR. */
static int sdp_ring_enter_rx(struct sdp_ep *ep, bool wait, long timeo)
{
	int err;

	for (;;) {
		if (mutex_lock_killable(&ep->rx_mutex))
			return -ERESTARTSYS;
		sdp_rx_fetch(ep);
		mutex_unlock(&ep->rx_mutex);

		if (sdp_rx_end(ep, 0, 1) || !wait || sdp_rx_ready(ep, 0))
			return 0;
		err = sdp_rx_wait(ep, 0, &timeo);
		if (err)
			return err;
	}
}

/**
 * sdp_ring_enter() - SDP_IOC_RING_ENTER
 * @ep: the endpoint
 * @flags: SDP_ENTER_*
 * @nonblock: do not wait
 *
 * Return: zero or a negative errno.
 */
int sdp_ring_enter(struct sdp_ep *ep, u32 flags, bool nonblock)
{
	int err = 0;

	/* Pairs with the release in sdp_ring_mem_attach(): with the size there are rings. */
	if (!smp_load_acquire(&ep->rx_ring.size))
		return -ENXIO;
	if (flags & (SDP_ENTER_TX | SDP_ENTER_WAIT_TX))
		err = sdp_ring_enter_tx(ep, flags & SDP_ENTER_WAIT_TX,
					nonblock ? 0 : sdp_timeo(ep, true));
	if (!err && (flags & (SDP_ENTER_RX | SDP_ENTER_WAIT_RX)))
		err = sdp_ring_enter_rx(ep, flags & SDP_ENTER_WAIT_RX,
					nonblock ? 0 : sdp_timeo(ep, false));
	return err;
}
