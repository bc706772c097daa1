// SPDX-License-Identifier: GPL-2.0
/*
 * sdpstat's reading of what netlink tells of an endpoint, with every byte of it cut off and with
 * every length in it wrong: it takes what is there, and reads nothing behind the end.  The
 * compiler's address sanitizer watches.
 */
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/sdp_diag.h>
#include <linux/sdp_sock.h>

#include "../../tools/sdpstat/endpoint.h"

#define ROOM	1024

/* A whole answer: a connection that has moved. */
static size_t build(char *buffer)
{
	struct sdp_sock_info info = {
		.tx_carrier = SDP_SOCK_BY_LOCAL, .rx_carrier = 77, .tx_bytes = 5,
		.stay = { 'a', 'b', '\033', 'c', 'c', 'c', 'c', 'c',
			  'c', 'c', 'c', 'c', 'c', 'c', 'c', 'c' },
	};
	struct sdp_diag_sock at = {
		.family = AF_INET, .state = 200, .local_port = htons(7), .tcp_rx_bytes = 9,
	};
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = NLMSG_MIN_TYPE;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
	mnl_attr_put(nlh, SDP_DIAG_SOCK, sizeof(at), &at);
	mnl_attr_put(nlh, SDP_DIAG_INFO, sizeof(info), &info);
	return nlh->nlmsg_len;
}

/* Lets it read @len bytes that have nothing behind them; returns what it has found. */
static size_t feed(const char *answer, size_t len, struct endpoint *first)
{
	struct endpoints list = {};
	char *copy = malloc(len);
	size_t found;

	if (!copy)
		exit(1);
	memcpy(copy, answer, len);
	mnl_cb_run(copy, len, 0, 0, sockets_answer, &list);
	found = list.count;
	if (found && first)
		*first = list.all[0];
	endpoints_free(&list);
	free(copy);
	return found;
}

/* Cut off at each byte: as it is, and with a length that says so. */
static void cuts(const char *answer, size_t len)
{
	char cut[ROOM] __attribute__((aligned(8)));
	size_t n;

	for (n = 1; n < len; n++) {
		feed(answer, n, NULL);
		memcpy(cut, answer, n);
		if (n >= sizeof(struct nlmsghdr))
			((struct nlmsghdr *)cut)->nlmsg_len = (unsigned int)n;
		feed(cut, n, NULL);
	}
}

/* Every two bytes in turn are a wrong number: lengths among them.  The header is libmnl's. */
static void lengths(const char *answer, size_t len)
{
	static const unsigned short wrong[] = { 0, 1, 3, 4, 5, 8, 200, 0x7fff, 0xffff };
	char spoilt[ROOM] __attribute__((aligned(8)));
	size_t at, i;

	for (at = NLMSG_HDRLEN; at + 2 <= len; at += 2)
		for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
			memcpy(spoilt, answer, len);
			memcpy(spoilt + at, &wrong[i], sizeof(wrong[i]));
			feed(spoilt, len, NULL);
		}
}

int main(void)
{
	char answer[ROOM] __attribute__((aligned(8)));
	struct endpoint ep = {};
	size_t len = build(answer);

	if (feed(answer, len, &ep) != 1 || strcmp(ep.word[WORD_STATE], "?") ||
	    strcmp(ep.word[WORD_TX_CARRIER], "local") || strcmp(ep.word[WORD_RX_CARRIER], "?") ||
	    strcmp(ep.word[WORD_LOCAL], "0.0.0.0:7") ||
	    strcmp(ep.word[WORD_REASON], "ab?ccccccccccccc") ||
	    ep.number[NUM_TX_BYTES] != 5 || ep.number[NUM_TCP_RX_BYTES] != 9) {
		fprintf(stderr, "a whole answer is misread\n");
		return 1;
	}
	cuts(answer, len);
	lengths(answer, len);
	return 0;
}
