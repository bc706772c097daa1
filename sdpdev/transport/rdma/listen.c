// SPDX-License-Identifier: GPL-2.0
/*
 * The service, and what peers ask of it.
 *
 * rdma_cm gives a request to the namespace of the interface that has its destination address,
 * and a listener holds its namespace as long as it is there.  So there is one alone, in the
 * machine's first namespace: others could not go while this module is loaded.
 */
#include <linux/in.h>
#include <linux/ipv6.h>
#include <net/net_namespace.h>

#include "transport/rdma/rdma.h"

/* Requests that wait to be handed up, at most: a peer may ask faster than this end answers. */
#define SDP_RDMA_ASKING	256

static atomic_t sdp_rdma_asking;

/*
 * The listeners: iWARP listens by TCP, and there by one family each.  The registry calls listen()
 * and unlisten() one at a time.
 */
static struct rdma_cm_id *sdp_rdma_service[2];

/* The protocol listens: requests are handed up. */
static bool sdp_rdma_open;

/* --- requests ---------------------------------------------------------------- */

static struct sdp_rc_conn *sdp_rdma_req_conn(struct rdma_cm_id *id,
					     const struct rdma_conn_param *param)
{
	struct rdma_addr *addr = &id->route.addr;
	struct sdp_rc_conn *conn;
	unsigned int len;

	conn = sdp_rc_conn_alloc(&sdp_rdma_kind, addr->dev_addr.net);
	if (!conn)
		return NULL;
	conn->ifindex = addr->dev_addr.bound_dev_if;
	conn->port = id->port_num;
	conn->local = addr->src_addr;
	conn->peer = addr->dst_addr;
	/* As the protocol calls the service. */
	((struct sockaddr_in *)&conn->local)->sin_port = 0;
	sdp_rc_set_scope(&conn->local, conn->ifindex);
	sdp_rc_set_scope(&conn->peer, conn->ifindex);
	conn->reads_out = param->initiator_depth;
	conn->reads_in = param->responder_resources;
	len = min_t(unsigned int, param->private_data_len, sizeof(conn->req_pdata));
	memcpy(conn->req_pdata, param->private_data, len);
	conn->req_len = len;
	conn->state = SDP_RC_REQUESTED;
	return conn;
}

static int sdp_rdma_asked(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct sdp_rc_dev *dev = sdp_rdma_dev_get(id->device);
	struct sdp_rc_conn *conn;

	if (!dev) {
		sdp_rdma_count(SDP_RDMA_STAT_REQ_NO_INTERFACE);
		return -ENODEV;
	}
	conn = sdp_rdma_req_conn(id, param);
	if (!conn) {
		sdp_rc_dev_put(dev);
		return -ENOMEM;
	}
	conn->dev = dev;
	conn->xc.dev = &dev->xdev;
	sdp_rdma_conn(conn)->id = id;
	id->context = conn;
	id->event_handler = sdp_rdma_handler;
	/* Handed up by its work, without the ID's lock: see rdma.h. */
	sdp_rc_conn_asked(conn);
	return 0;
}

/* Where it returns an error rdma_cm refuses, and destroys the new ID. */
static int sdp_rdma_listen_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	int ret;

	/* The listener's own: a device that goes, which is none of its business. */
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (!atomic_add_unless(&sdp_rdma_asking, 1, SDP_RDMA_ASKING)) {
		sdp_rdma_count(SDP_RDMA_STAT_REQ_REFUSED);
		return -EBUSY;
	}
	ret = sdp_rdma_asked(id, &event->param.conn);
	if (ret)
		atomic_dec(&sdp_rdma_asking);
	return ret;
}

static int sdp_rdma_req_deliver(struct sdp_rc_conn *conn)
{
	struct sdp_xprt_event ev = {
		.type = SDP_XPRT_CONNECT_REQUEST,
		.net = conn->net,
		.ifindex = conn->ifindex,
		.local = &conn->local,
		.peer = &conn->peer,
		.pdata = conn->req_pdata,
		.pdata_len = conn->req_len,
	};

	if (!sdp_rc_is_unicast(&conn->local) || !sdp_rc_is_unicast(&conn->peer)) {
		sdp_rdma_count(SDP_RDMA_STAT_REQ_INVALID);
		return -EINVAL;
	}
	if (!conn->ifindex || !sdp_rc_peer_plausible(conn)) {
		sdp_rdma_count(SDP_RDMA_STAT_REQ_NO_INTERFACE);
		return -ENETUNREACH;
	}
	if (!sdp_rc_conn_event(conn, &ev))
		return 0;
	sdp_rdma_count(SDP_RDMA_STAT_REQ_REFUSED);
	return -ECONNREFUSED;
}

/*
 * A peer asks.  The protocol may have refused it with words of its own: then this refuses nothing.
 */
void sdp_rdma_requested(struct sdp_rc_conn *conn)
{
	bool taken = READ_ONCE(sdp_rdma_open) && !sdp_rdma_req_deliver(conn);

	atomic_dec(&sdp_rdma_asking);
	if (taken)
		return;
	sdp_rc_reject(&conn->xc, NULL, 0);
	sdp_rc_conn_destroy(&conn->xc);
}

/* --- the listener ------------------------------------------------------------ */

static struct rdma_cm_id *sdp_rdma_service_new(struct net *net, struct sockaddr *addr)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(net, sdp_rdma_listen_handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return id;
	ret = rdma_set_afonly(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, addr);
	if (!ret)
		ret = rdma_listen(id, 0);
	if (!ret)
		return id;
	rdma_destroy_id(id);
	return ERR_PTR(ret);
}

/* Waits for the handlers. */
static void sdp_rdma_services_end(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(sdp_rdma_service); i++) {
		if (sdp_rdma_service[i])
			rdma_destroy_id(sdp_rdma_service[i]);
		sdp_rdma_service[i] = NULL;
	}
}

/* A family whose port is taken does not keep the other one from its peers. */
static int sdp_rdma_services_new(struct net *net)
{
	struct sockaddr_in any4 = { .sin_family = AF_INET, .sin_port = htons(sdp_rdma_port) };
	struct sockaddr_in6 any6 = { .sin6_family = AF_INET6, .sin6_port = htons(sdp_rdma_port) };
	struct sockaddr *any[] = { (struct sockaddr *)&any4, (struct sockaddr *)&any6 };
	struct rdma_cm_id *id;
	int i, err = 0;

	for (i = 0; i < (ipv6_mod_enabled() ? 2 : 1); i++) {
		id = sdp_rdma_service_new(net, any[i]);
		if (!IS_ERR(id)) {
			sdp_rdma_service[i] = id;
			continue;
		}
		err = PTR_ERR(id);
		pr_warn("sdp_rdma: port %u: cannot listen for %s: %d\n", sdp_rdma_port,
			i ? "IPv6" : "IPv4", err);
	}
	return sdp_rdma_service[0] || sdp_rdma_service[1] ? 0 : err;
}

/* Only the service has a listener, as no Hello fits. */
int sdp_rdma_listen(struct net *net, u16 number)
{
	int ret;

	if (number || !net_eq(net, &init_net))
		return -EOPNOTSUPP;
	WRITE_ONCE(sdp_rdma_open, true);
	ret = sdp_rdma_services_new(net);
	if (ret)
		sdp_rdma_unlisten(net, number);
	return ret;
}

void sdp_rdma_unlisten(struct net *net, u16 number)
{
	sdp_rdma_services_end();
	WRITE_ONCE(sdp_rdma_open, false);
	/* Requests are handed up by the works of their connections, which look at it. */
	sdp_rc_conns_flush();
}
