// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of user space for rings: it sets them up, and has the kernel look at them.
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

/**
 * sdp_ring_sizes_ok() - can there be rings of these sizes?
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 */
bool sdp_ring_sizes_ok(u32 tx_bytes, u32 rx_bytes)
{
	return sdp_ring_size_ok(tx_bytes) && sdp_ring_size_ok(rx_bytes);
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
static int sdp_ring_refused(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	if (!sdp_ring_exchange_ends() || READ_ONCE(ep->carrier) == SDP_CARRIER_TCP)
		return -EOPNOTSUPP;
	if (!sdp_conn_live(conn) || READ_ONCE(ep->attempt) == SDP_ATTEMPT_PARTING)
		return -ENOTCONN;
	return conn->rings.tx.size ? -EEXIST : 0;
}

/* Are there bytes that only lack a send buffer? */
static bool sdp_ring_tx_lacks(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	u32 bytes = 0;
	bool lacks;

	sdp_ep_lock(ep);
	lacks = conn->rings.tx.size && sdp_ring_tx_check(conn, &bytes) && bytes &&
		list_empty(&conn->tx.free) && conn->tx.bufs < conn->tx.max;
	sdp_ep_unlock(ep);
	return lacks;
}

/**
 * sdp_ring_look() - look at the transmit ring, as who put bytes there may have no way
 *	left to ask for it
 * @conn: the connection, which may have no rings
 *
 * Context: any that may take ep->lock.
 */
void sdp_ring_look(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;

	sdp_ep_lock(ep);
	sdp_tx_push(conn);
	sdp_ep_unlock(ep);
	if (!READ_ONCE(conn->tx.bufs) && sdp_ring_tx_lacks(conn))
		sdp_size_soon(conn);
}

/* The connection holds the endpoint. */
static void sdp_ring_used(struct sdp_rings *rings)
{
	struct sdp_conn *conn = container_of(rings, struct sdp_conn, rings);

	if (sdp_conn_open(conn))
		sdp_size_watch(conn);
}

static void sdp_ring_unmapped(struct sdp_rings *rings)
{
	sdp_ring_look(container_of(rings, struct sdp_conn, rings));
}

static const struct sdp_ring_hooks sdp_ring_hooks = {
	.used	  = sdp_ring_used,
	.unmapped = sdp_ring_unmapped,
};

/**
 * sdp_ring_setup() - SDP_IOC_RING_SETUP
 * @conn: the connection
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data; sdp_ring_sizes_ok() has found both good
 *
 * Return: zero or a negative errno.
 */
int sdp_ring_setup(struct sdp_conn *conn, u32 tx_bytes, u32 rx_bytes)
{
	struct sdp_ep *ep = conn->ep;
	struct sdp_ring_mem *mem;
	int err;

	if (mutex_lock_killable(&conn->tx.mutex))
		return -ERESTARTSYS;
	if (mutex_lock_killable(&conn->rx.mutex)) {
		err = -ERESTARTSYS;
		goto out_tx;
	}
	err = sdp_ring_refused(conn);
	if (!err)
		err = sdp_tx_prepare(conn, 1);
	if (err)
		goto out_rx;
	mem = sdp_ring_mem_alloc(&conn->rings, &sdp_ring_hooks, tx_bytes, rx_bytes);
	if (!mem) {
		err = -ENOMEM;
		goto out_rx;
	}

	sdp_ep_lock(ep);
	sdp_ring_mem_attach(&conn->rings, mem, tx_bytes, rx_bytes);
	if (sdp_conn_open(conn))
		sdp_size_watch(conn);
	if (ep->shut & SEND_SHUTDOWN)
		sdp_ring_tx_end(conn);
	sdp_ring_tx_sleep(conn);
	sdp_ep_unlock(ep);
	sdp_rx_fetch(conn);
out_rx:
	mutex_unlock(&conn->rx.mutex);
out_tx:
	mutex_unlock(&conn->tx.mutex);
	return err;
}

/**
 * sdp_ring_drop() - take a connection's rings away
 * @conn: the connection
 */
void sdp_ring_drop(struct sdp_conn *conn)
{
	mutex_lock(&conn->tx.mutex);
	mutex_lock(&conn->rx.mutex);
	sdp_ring_mem_detach(&conn->rings);
	mutex_unlock(&conn->rx.mutex);
	mutex_unlock(&conn->tx.mutex);
}

static bool sdp_ring_tx_full(struct sdp_conn *conn)
{
	struct sdp_ep *ep = conn->ep;
	bool full = false;
	u32 bytes;

	sdp_ep_lock(ep);
	conn->tx.nospace = true;
	if (conn->rings.tx.size && !(ep->shut & SEND_SHUTDOWN) &&
	    sdp_ring_tx_check(conn, &bytes))
		full = bytes > conn->rings.tx.size - conn->rings.tx.size / 3;
	sdp_ep_unlock(ep);
	return full;
}

/* Not without memory, and not while somebody else has the mutex. */
static bool sdp_ring_tx_add(struct sdp_conn *conn)
{
	bool done;

	if (!mutex_trylock(&conn->tx.mutex))
		return false;
	done = !sdp_tx_prepare(conn, conn->tx.bufs + 1);
	mutex_unlock(&conn->tx.mutex);
	return done;
}

/**
 * sdp_ring_tx_grow() - as many send buffers as the transmit ring has bytes for
 * @conn: a connection, which may have no rings
 *
 * Without memory it does with fewer; without any it tries again, as nobody else might:
 * who put the bytes there is not told.
 *
 * Return: zero, or -EPIPE where nothing can be sent any more.
 */
int sdp_ring_tx_grow(struct sdp_conn *conn)
{
	int err = 0;

	while (!err && sdp_ring_tx_lacks(conn)) {
		if (!sdp_ring_tx_add(conn)) {
			if (!READ_ONCE(conn->tx.bufs))
				sdp_size_soon(conn);
			break;
		}
		err = sdp_tx_drain(conn);
	}
	return err;
}

static int sdp_ring_enter_tx(struct sdp_conn *conn, bool wait, long timeo)
{
	struct sdp_ep *ep = conn->ep;
	int err, more;
	long left;

	err = sdp_tx_drain(conn);
	/* Also where no more comes: what came before must not stay behind. */
	more = sdp_ring_tx_grow(conn);
	err = err ? : more;
	if (err || !wait || !sdp_ring_tx_full(conn))
		return err;
	if (!timeo)
		return -EAGAIN;
	left = wait_event_interruptible_timeout(ep->wait, !sdp_ring_tx_full(conn),
						timeo);
	if (left <= 0)
		return left ? sock_intr_errno(timeo) : -EAGAIN;
	/* It may be the end that was waited for. */
	return sdp_tx_drain(conn);
}

/* The pending error stays for the call that reads: see SDP_RING_ERROR. */
static int sdp_ring_enter_rx(struct sdp_conn *conn, bool wait, long timeo)
{
	int err;

	for (;;) {
		if (mutex_lock_killable(&conn->rx.mutex))
			return -ERESTARTSYS;
		sdp_rx_fetch(conn);
		mutex_unlock(&conn->rx.mutex);

		if (sdp_rx_end(conn, 0, 1) || !wait || sdp_rx_ready(conn, 0))
			return 0;
		err = sdp_rx_wait(conn, 0, &timeo);
		if (err)
			return err;
	}
}

/**
 * sdp_ring_enter() - SDP_IOC_RING_ENTER
 * @conn: the connection
 * @flags: SDP_ENTER_*
 * @nonblock: do not wait
 *
 * Return: zero or a negative errno.
 */
int sdp_ring_enter(struct sdp_conn *conn, u32 flags, bool nonblock)
{
	struct sdp_ep *ep = conn->ep;
	int err = 0;

	/* Pairs with the release in sdp_ring_mem_attach(): with the size there are rings. */
	if (!smp_load_acquire(&conn->rings.rx.size))
		return -ENXIO;
	if (flags & (SDP_ENTER_TX | SDP_ENTER_WAIT_TX))
		err = sdp_ring_enter_tx(conn, flags & SDP_ENTER_WAIT_TX,
					nonblock ? 0 : sdp_timeo(ep, true));
	if (!err && (flags & (SDP_ENTER_RX | SDP_ENTER_WAIT_RX)))
		err = sdp_ring_enter_rx(conn, flags & SDP_ENTER_WAIT_RX,
					nonblock ? 0 : sdp_timeo(ep, false));
	return err;
}
