// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * TCP_INFO of a connection over SDP, as far as SDP has what TCP tells there.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

#include "internal.h"

/* States of TCP; the header that names them defines struct tcp_info as well. */
enum tcp_state {
	TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_FIN_WAIT2 = 5, TCP_CLOSE = 7,
	TCP_CLOSE_WAIT = 8, TCP_LAST_ACK = 9,
};

static enum tcp_state tcp_state(const struct sdp_info *info)
{
	static const enum tcp_state closing[4] = {
		TCP_ESTABLISHED, TCP_CLOSE_WAIT, TCP_FIN_WAIT2, TCP_LAST_ACK,
	};

	switch (info->state) {
	case SDP_STATE_CONNECTING:
		return TCP_SYN_SENT;
	case SDP_STATE_CONNECTED:
		return TCP_ESTABLISHED;
	case SDP_STATE_CLOSING:
		return closing[info->shutdown & 3];
	default:
		return TCP_CLOSE;
	}
}

int sdp_get_tcp_info(int native, const struct sdp_info *info, void *val, socklen_t *len)
{
	/* A newer kernel's is longer than the one that this was built with. */
	char all[1024] = "";
	struct tcp_info tcp;
	socklen_t have = sizeof(all);

	if (getsockopt(native, IPPROTO_TCP, TCP_INFO, all, &have))
		return -1;
	memcpy(&tcp, all, sizeof(tcp));
	tcp.tcpi_state = tcp_state(info);
	tcp.tcpi_segs_out = info->tx_msgs;
	tcp.tcpi_segs_in = info->rx_msgs;
	tcp.tcpi_bytes_sent = info->tx_bytes;
	tcp.tcpi_bytes_acked = info->tx_bytes;
	tcp.tcpi_bytes_received = info->rx_bytes;
	if (*len > have)
		*len = have;
	memcpy(all, &tcp, sizeof(tcp));
	memcpy(val, all, *len);
	return 0;
}
