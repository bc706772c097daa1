// SPDX-License-Identifier: GPL-2.0
/*
 * The transport: its registration, and the ports on which it listens.
 */
#include <linux/completion.h>
#include <linux/seq_file.h>

#include "core/core.h"
#include "transport/registry.h"

/* Serialises registration, and the ports listened on. */
static DEFINE_MUTEX(sdp_xprt_mutex);

/* Protected by sdp_xprt_mutex for writing; stays while referenced. */
static const struct sdp_xprt_ops *sdp_xprt;
static refcount_t sdp_xprt_ref = REFCOUNT_INIT(0);
static DECLARE_COMPLETION(sdp_xprt_gone);
static bool sdp_xprt_going;

/* How many listen on each port; sdp_xprt_mutex. */
static u32 sdp_xprt_ports[U16_MAX + 1];

/* What the protocol gives to every transport; set once. */
static const struct sdp_xprt_upcalls *sdp_xprt_up;

/**
 * sdp_xprt_init() - who gets the transports' events
 * @up: the protocol
 */
void sdp_xprt_init(const struct sdp_xprt_upcalls *up)
{
	sdp_xprt_up = up;
}

/**
 * sdp_xprt_get() - the transport, if there is one
 *
 * Return: the transport, referenced, or NULL.
 */
const struct sdp_xprt_ops *sdp_xprt_get(void)
{
	/* A transport that starts to leave just now ends the caller's connection soon. */
	if (READ_ONCE(sdp_xprt_going) || !refcount_inc_not_zero(&sdp_xprt_ref))
		return NULL;
	/*
	 * The count orders no later load.  Pairs with the smp_wmb() in
	 * sdp_xprt_register(): whoever finds the count set finds the transport.
	 */
	smp_acquire__after_ctrl_dep();
	return READ_ONCE(sdp_xprt);
}

/**
 * sdp_xprt_put() - drop the reference
 */
void sdp_xprt_put(void)
{
	if (refcount_dec_and_test(&sdp_xprt_ref))
		complete(&sdp_xprt_gone);
}

/**
 * sdp_xprt_listen() - let requests for a port in
 * @port: host byte order
 *
 * As often as this was called for a port sdp_xprt_unlisten() has to be, also where it
 * failed: a transport that is registered later is asked again.
 *
 * Context: process context.
 * Return: zero (also without a transport) or a negative errno.
 */
int sdp_xprt_listen(u16 port)
{
	int err = 0;

	mutex_lock(&sdp_xprt_mutex);
	if (!sdp_xprt_ports[port]++ && sdp_xprt && !sdp_xprt_going)
		err = sdp_xprt->listen(port);
	mutex_unlock(&sdp_xprt_mutex);
	return err;
}

/**
 * sdp_xprt_unlisten() - keep them out
 * @port: host byte order
 *
 * Context: process context.
 */
void sdp_xprt_unlisten(u16 port)
{
	mutex_lock(&sdp_xprt_mutex);
	if (!--sdp_xprt_ports[port] && sdp_xprt)
		sdp_xprt->unlisten(port);
	mutex_unlock(&sdp_xprt_mutex);
}

/**
 * sdp_xprt_stats() - the transport's own counters
 * @seq: where to
 */
void sdp_xprt_stats(struct seq_file *seq)
{
	mutex_lock(&sdp_xprt_mutex);
	if (sdp_xprt && sdp_xprt->show_stats)
		sdp_xprt->show_stats(seq);
	mutex_unlock(&sdp_xprt_mutex);
}

int sdp_xprt_register(const struct sdp_xprt_ops *ops,
		      const struct sdp_xprt_upcalls **up)
{
	unsigned int port;
	int err = 0;

	mutex_lock(&sdp_xprt_mutex);
	if (sdp_xprt) {
		err = -EEXIST;
		goto out;
	}
	*up = sdp_xprt_up;
	reinit_completion(&sdp_xprt_gone);
	WRITE_ONCE(sdp_xprt, ops);
	WRITE_ONCE(sdp_xprt_going, false);
	/* The transport before the count: pairs with the acquire in sdp_xprt_get(). */
	smp_wmb();
	refcount_set(&sdp_xprt_ref, 1);
	for (port = 0; port <= U16_MAX; port++)
		if (sdp_xprt_ports[port] && ops->listen(port))
			sdp_count(SDP_CNT_LISTEN_FAILED);
out:
	mutex_unlock(&sdp_xprt_mutex);
	return err;
}
EXPORT_SYMBOL_GPL(sdp_xprt_register);

void sdp_xprt_unregister(const struct sdp_xprt_ops *ops)
{
	unsigned int port;

	mutex_lock(&sdp_xprt_mutex);
	/* Read alone in sdp_xprt_get(): no barrier is needed, see the loop below. */
	WRITE_ONCE(sdp_xprt_going, true);
	for (port = 0; port <= U16_MAX; port++)
		if (sdp_xprt_ports[port])
			ops->unlisten(port);
	mutex_unlock(&sdp_xprt_mutex);
	sdp_xprt_put();
	/* A connection that began in the last moment is found a bit later. */
	do {
		sdp_xprt_up->device_gone(NULL);
	} while (!wait_for_completion_timeout(&sdp_xprt_gone, HZ / 4));
	mutex_lock(&sdp_xprt_mutex);
	WRITE_ONCE(sdp_xprt, NULL);
	mutex_unlock(&sdp_xprt_mutex);
}
EXPORT_SYMBOL_GPL(sdp_xprt_unregister);
