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

#include "ring/ring.h"
#include "sdp/sdp.h"
#include "tcp/tcp.h"

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

/* Are there bytes that only lack a send buffer? */
static bool sdp_ring_tx_lacks(struct sdp_ep *ep)
{
	u32 bytes = 0;
	bool lacks;

	sdp_ep_lock(ep);
	lacks = ep->tx_ring.size && sdp_ring_tx_check(ep, &bytes) && bytes &&
		list_empty(&ep->tx_free) && ep->tx_bufs < ep->tx_max;
	sdp_ep_unlock(ep);
	return lacks;
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
	sdp_ep_lock(ep);
	sdp_tx_push(ep);
	sdp_ep_unlock(ep);
	if (!READ_ONCE(ep->tx_bufs) && sdp_ring_tx_lacks(ep))
		sdp_size_soon(ep);
}

/* The connection holds the endpoint. */
static void sdp_ring_used(struct sdp_ep *ep)
{
	if (ep->live)
		sdp_size_watch(ep);
}

static const struct sdp_ring_hooks sdp_ring_hooks = {
	.used	  = sdp_ring_used,
	.unmapped = sdp_ring_look,
};

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
	mem = sdp_ring_mem_alloc(ep, &sdp_ring_hooks, tx_bytes, rx_bytes);
	if (!mem) {
		err = -ENOMEM;
		goto out_rx;
	}

	sdp_ep_lock(ep);
	sdp_ring_mem_attach(ep, mem, tx_bytes, rx_bytes);
	if (ep->live)
		sdp_size_watch(ep);
	if (ep->shut & SEND_SHUTDOWN)
		sdp_ring_tx_end(ep);
	sdp_ring_tx_sleep(ep);
	sdp_ep_unlock(ep);
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

static bool sdp_ring_tx_full(struct sdp_ep *ep)
{
	bool full = false;
	u32 bytes;

	sdp_ep_lock(ep);
	ep->tx_nospace = true;
	if (ep->tx_ring.size && !(ep->shut & SEND_SHUTDOWN) &&
	    sdp_ring_tx_check(ep, &bytes))
		full = bytes > ep->tx_ring.size - ep->tx_ring.size / 3;
	sdp_ep_unlock(ep);
	return full;
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
