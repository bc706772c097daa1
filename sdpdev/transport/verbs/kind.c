// SPDX-License-Identifier: GPL-2.0
/*
 * Transports that come and go.
 */
#include "transport/verbs/verbs.h"

/* Guards the list of the transports that are loaded, the first one first. */
static DEFINE_MUTEX(sdp_rc_kinds_mutex);
static LIST_HEAD(sdp_rc_kinds);

/*
 * Is that transport the one that tells the log of a device with these ports?  Each transport is
 * asked about each device.  The first one that can use it tells, or the first one if none can.
 */
bool sdp_rc_kind_tells(const struct sdp_rc_kind *kind, unsigned int ports)
{
	const struct sdp_rc_kind *k, *teller = NULL;

	mutex_lock(&sdp_rc_kinds_mutex);
	list_for_each_entry(k, &sdp_rc_kinds, list) {
		if (!teller || k->ports & ports)
			teller = k;
		if (teller->ports & ports)
			break;
	}
	mutex_unlock(&sdp_rc_kinds_mutex);
	return teller == kind;
}

static void sdp_rc_kind_add(struct sdp_rc_kind *kind)
{
	mutex_lock(&sdp_rc_kinds_mutex);
	list_add_tail(&kind->list, &sdp_rc_kinds);
	mutex_unlock(&sdp_rc_kinds_mutex);
}

static void sdp_rc_kind_del(struct sdp_rc_kind *kind)
{
	mutex_lock(&sdp_rc_kinds_mutex);
	list_del(&kind->list);
	mutex_unlock(&sdp_rc_kinds_mutex);
}

/**
 * sdp_rc_conns_flush() - wait for what connections are doing
 *
 * For a transport that goes, and has no connections any more: the work of one that was
 * destroyed by its own work may be on its way out.
 */
void sdp_rc_conns_flush(void)
{
	flush_workqueue(sdp_rc_wq);
}
EXPORT_SYMBOL_GPL(sdp_rc_conns_flush);

/**
 * sdp_rc_start() - a transport comes
 * @kind: the transport
 * @client: its client of ib_core
 *
 * The protocol knows it first: a device that is there may have a request for a port as soon
 * as it is listened on.
 *
 * Return: zero or a negative errno.
 */
int sdp_rc_start(struct sdp_rc_kind *kind, struct ib_client *client)
{
	int ret = sdp_xprt_register(kind->ops, &kind->up);

	if (ret)
		return ret;
	sdp_rc_kind_add(kind);
	ret = ib_register_client(client);
	if (ret) {
		sdp_rc_kind_del(kind);
		sdp_xprt_unregister(kind->ops);
		sdp_rc_conns_flush();
	}
	return ret;
}
EXPORT_SYMBOL_GPL(sdp_rc_start);

/**
 * sdp_rc_stop() - a transport goes
 * @kind: the transport
 * @client: as of sdp_rc_start()
 */
void sdp_rc_stop(struct sdp_rc_kind *kind, struct ib_client *client)
{
	sdp_xprt_unregister(kind->ops);
	ib_unregister_client(client);
	sdp_rc_kind_del(kind);
	sdp_rc_conns_flush();
}
EXPORT_SYMBOL_GPL(sdp_rc_stop);
