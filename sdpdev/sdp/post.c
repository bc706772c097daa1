// SPDX-License-Identifier: GPL-2.0
/*
 * Messages to the transport: the base header, and those without stream bytes.
 */
#include "sdp/sdp.h"

/**
 * sdp_post() - give a message its header, and the transport the message
 * @conn: the connection, ep->lock held
 * @buf: the message
 * @mid: enum sdp_mid
 *
 * Where the transport is done with the connection already, what has come is still being
 * handed up, and how it ended follows.
 *
 * Return: whether the transport has taken it.
 */
bool sdp_post(struct sdp_conn *conn, struct sdp_xprt_buf *buf, u8 mid)
{
	struct sdp_bsdh *h = buf->data;
	int err;

	h->mid = mid;
	h->flags = conn->tx.oob ? SDP_OOB_PEND : 0;
	if (buf->kind == SDP_BUF_OOB)
		h->flags |= SDP_OOB_PRES;
	h->bufs = cpu_to_be16(conn->credit.posted);
	h->len = cpu_to_be32(buf->len);
	h->mseq = cpu_to_be32(conn->credit.tx_mseq + 1);
	h->mseq_ack = cpu_to_be32(conn->credit.rx_mseq);

	err = conn->xprt->post_send(conn->xc, buf);
	if (err && err != -ENOTCONN)
		sdp_conn_ended(conn, SDP_REASON_TRANSPORT, ECONNRESET);
	if (err)
		return false;
	sdp_credit_sent(&conn->credit);
	conn->tx.msgs++;
	conn->tx.posted++;
	return true;
}

/**
 * sdp_post_ctl() - send a message without stream bytes
 * @conn: the connection, ep->lock held
 * @mid: enum sdp_mid
 * @ext: what follows the base header
 * @ext_len: its bytes, which may be zero
 *
 * Return: whether the transport has taken it.
 */
bool sdp_post_ctl(struct sdp_conn *conn, u8 mid, const void *ext, u32 ext_len)
{
	struct sdp_xprt_buf *buf;

	buf = list_first_entry_or_null(&conn->tx.ctl, struct sdp_xprt_buf, list);
	if (!buf)
		return false;
	list_del(&buf->list);
	buf->len = sizeof(struct sdp_bsdh) + ext_len;
	if (ext_len)
		memcpy(buf->data + sizeof(struct sdp_bsdh), ext, ext_len);
	if (sdp_post(conn, buf, mid))
		return true;
	list_add(&buf->list, &conn->tx.ctl);
	return false;
}

/**
 * sdp_post_probe() - send the transport's probe, which takes no credit
 * @conn: a connection with nothing under way, ep->lock held
 */
void sdp_post_probe(struct sdp_conn *conn)
{
	struct sdp_xprt_buf *buf;
	int err;

	buf = list_first_entry(&conn->tx.ctl, struct sdp_xprt_buf, list);
	list_del(&buf->list);
	/* For sdp_tx_done(): no message that matters. */
	((struct sdp_bsdh *)buf->data)->mid = SDP_MID_DATA;
	err = conn->xprt->post_probe(conn->xc, buf);
	if (!err) {
		conn->tx.posted++;
		return;
	}
	list_add(&buf->list, &conn->tx.ctl);
	if (err != -ENOTCONN)
		sdp_conn_ended(conn, SDP_REASON_TRANSPORT, ECONNRESET);
}

/**
 * sdp_post_abort() - send AbortConn, if there is a credit and it was not sent
 * @conn: a connection that ends, ep->lock held
 */
void sdp_post_abort(struct sdp_conn *conn)
{
	if (!conn->abort_sent && sdp_credit_tx(&conn->credit) > 0)
		conn->abort_sent = sdp_post_ctl(conn, SDP_MID_ABORT_CONN, NULL, 0);
}
