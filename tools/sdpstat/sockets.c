// SPDX-License-Identifier: GPL-2.0
/*
 * TCP sockets with the ULP "sdp", from the kernel's answers to sock_diag(7).
 *
 * Nothing is believed of an answer but that its bytes are there: each length is looked at, and
 * what is cut short or longer than this program knows is taken for as much as there is of it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include <linux/sdp_sock.h>

#include "endpoint.h"

/* The kernel's numbers of states, and its names. */
static const char * const states[] = {
	[1] = "ESTABLISHED",
	[2] = "SYN_SENT",
	[3] = "SYN_RECV",
	[4] = "FIN_WAIT1",
	[5] = "FIN_WAIT2",
	[6] = "TIME_WAIT",
	[7] = "CLOSED",
	[8] = "CLOSE_WAIT",
	[9] = "LAST_ACK",
	[10] = "LISTEN",
	[11] = "CLOSING",
	[12] = "SYN_RECV",
	[13] = "BOUND",
};

#define STATE_LISTEN	10

/* These are no whole sockets, and have no ULP: TIME_WAIT, and requests of a connection. */
#define STATES		(((1U << 14) - 2) & ~(1U << 6 | 1U << 12))

static const char * const carriers[] = {
	[SDP_SOCK_BY_TCP]	= "TCP",
	[SDP_SOCK_BY_LOCAL]	= "local",
	[SDP_SOCK_BY_IB]	= "ib",
	[SDP_SOCK_BY_TEST]	= "test",
};

static const char * const modes[] = {
	[SDP_MODE_MOVE]		= "-",
	[SDP_MODE_NOW]		= "now",
	[SDP_MODE_ONLY]		= "only",
	[SDP_MODE_NEVER]	= "never",
};

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

/**
 * struct answer - what an answer has of a socket
 * @msg: its fixed part
 * @tcp: what TCP tells of itself, zeros where it does not
 * @info: what the ULP tells, likewise
 * @admin: the kernel tells what only CAP_NET_ADMIN may know
 * @ulp: the socket has the ULP
 */
struct answer {
	struct inet_diag_msg msg;
	struct tcp_info tcp;
	struct sdp_sock_info info;
	bool admin;
	bool ulp;
};

static void copy(void *to, size_t room, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), len < room ? len : room);
}

static void parse_ulp(const struct nlattr *nest, struct answer *answer)
{
	const struct nlattr *attr;
	char name[16];

	mnl_attr_for_each_nested(attr, nest) {
		switch (mnl_attr_get_type(attr)) {
		case INET_ULP_INFO_NAME:
			memset(name, 0, sizeof(name));
			copy(name, sizeof(name) - 1, attr);
			answer->ulp = !strcmp(name, "sdp") || !strncmp(name, "sdp-", 4);
			break;
		case SDP_ULP_INFO:
			copy(&answer->info, sizeof(answer->info), attr);
			break;
		}
	}
}

static bool parse(const struct nlmsghdr *nlh, struct answer *answer)
{
	/* libmnl's own loop goes on to the next multiple of four. */
	const char *end = (const char *)nlh + nlh->nlmsg_len;
	const struct nlattr *attr;

	memset(answer, 0, sizeof(*answer));
	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(answer->msg))
		return false;
	memcpy(&answer->msg, mnl_nlmsg_get_payload(nlh), sizeof(answer->msg));
	for (attr = mnl_nlmsg_get_payload_offset(nlh, sizeof(answer->msg));
	     mnl_attr_ok(attr, end - (const char *)attr); attr = mnl_attr_next(attr)) {
		switch (mnl_attr_get_type(attr)) {
		case INET_DIAG_INFO:
			copy(&answer->tcp, sizeof(answer->tcp), attr);
			break;
		case INET_DIAG_MARK:
			answer->admin = true;
			break;
		case INET_DIAG_ULP_INFO:
			parse_ulp(attr, answer);
			break;
		}
	}
	return true;
}

static void address(char *word, int family, const void *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	if (port && inet_ntop(family, addr, text, sizeof(text)))
		snprintf(word, WORD_LEN, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text,
			 ntohs(port));
}

static const char *name_of(const char * const *names, size_t count, unsigned int i)
{
	return i < count && names[i] ? names[i] : "?";
}

static void set_word(struct endpoint *ep, enum word which, const char *text)
{
	snprintf(ep->word[which], WORD_LEN, "%s", text);
}

/* The kernel's word, which may fill its place; letters and underscores are kept. */
static void reason(char *word, const char *stay)
{
	size_t i;

	for (i = 0; i < SDP_STAY_LEN && stay[i]; i++)
		word[i] = stay[i] == '_' || (stay[i] >= 'a' && stay[i] <= 'z') ? stay[i] : '?';
	if (i)
		word[i] = '\0';
}

static void fill_words(struct endpoint *ep, const struct answer *answer)
{
	const struct inet_diag_msg *msg = &answer->msg;
	const struct sdp_sock_info *info = &answer->info;

	set_word(ep, WORD_STATE, name_of(states, COUNT(states), msg->idiag_state));
	address(ep->word[WORD_LOCAL], msg->idiag_family, msg->id.idiag_src, msg->id.idiag_sport);
	address(ep->word[WORD_PEER], msg->idiag_family, msg->id.idiag_dst, msg->id.idiag_dport);
	set_word(ep, WORD_MODE, name_of(modes, COUNT(modes), info->mode));
	if (msg->idiag_state == STATE_LISTEN)
		return;
	set_word(ep, WORD_TX_CARRIER, name_of(carriers, COUNT(carriers), info->tx_carrier));
	set_word(ep, WORD_RX_CARRIER, name_of(carriers, COUNT(carriers), info->rx_carrier));
	reason(ep->word[WORD_REASON], info->stay);
}

static void fill_address(uint8_t *to, const void *addr, int family)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (family == AF_INET6) {
		memcpy(to, addr, 16);
		return;
	}
	memcpy(to, mapped, sizeof(mapped));
	memcpy(to + sizeof(mapped), addr, 4);
}

static void fill_end(struct endpoint *ep, const struct inet_diag_msg *msg)
{
	fill_address(ep->end.local, msg->id.idiag_src, msg->idiag_family);
	fill_address(ep->end.peer, msg->id.idiag_dst, msg->idiag_family);
	ep->end.local_port = msg->id.idiag_sport;
	ep->end.peer_port = msg->id.idiag_dport;
	ep->end.ifindex = msg->id.idiag_if;
	ep->end.cookie = ep->number[NUM_ID];
}

static void fill_numbers(struct endpoint *ep, const struct answer *answer)
{
	const struct inet_diag_msg *msg = &answer->msg;
	const struct sdp_sock_info *info = &answer->info;

	endpoint_number(ep, NUM_ID, (uint64_t)msg->id.idiag_cookie[1] << 32 |
				    msg->id.idiag_cookie[0]);
	endpoint_number(ep, NUM_TX_BYTES, info->tx_bytes);
	endpoint_number(ep, NUM_RX_BYTES, info->rx_bytes);
	endpoint_number(ep, NUM_RX_QUEUED, info->queued);
	endpoint_number(ep, NUM_MOVES, info->moves);
	endpoint_number(ep, NUM_TCP_TX_BYTES,
			answer->tcp.tcpi_bytes_sent - answer->tcp.tcpi_bytes_retrans);
	endpoint_number(ep, NUM_TCP_RX_BYTES, answer->tcp.tcpi_bytes_received);
	endpoint_number(ep, NUM_UID, msg->idiag_uid);
	endpoint_number(ep, NUM_INODE, msg->idiag_inode);
}

static int take(const struct nlmsghdr *nlh, struct endpoints *list, bool ulp)
{
	struct answer answer;
	struct endpoint *ep;

	if (!parse(nlh, &answer))
		return MNL_CB_OK;
	list->hidden |= !answer.admin;
	if (answer.ulp || !ulp) {
		ep = endpoint_add(list, KIND_SOCKET);
		fill_words(ep, &answer);
		fill_numbers(ep, &answer);
		fill_end(ep, &answer.msg);
	}
	return MNL_CB_OK;
}

/* The kernel's answer about one socket. */
int sockets_answer(const struct nlmsghdr *nlh, void *data)
{
	return take(nlh, data, true);
}

static int names_answer(const struct nlmsghdr *nlh, void *data)
{
	return take(nlh, data, false);
}

static bool ask(struct mnl_socket *nl, int family, bool ulp)
{
	char buffer[NLMSG_HDRLEN + sizeof(struct inet_diag_req_v2)] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct inet_diag_req_v2 *req;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = family;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	/* The kernel tells of a ULP only if it tells of TCP. */
	req->idiag_ext = ulp << (INET_DIAG_INFO - 1);
	req->idiag_states = STATES;
	return mnl_socket_sendto(nl, nlh, nlh->nlmsg_len) >= 0;
}

static bool dump(struct mnl_socket *nl, int family, struct endpoints *list, bool ulp)
{
	static char buffer[65536] __attribute__((aligned(8)));
	ssize_t len;
	int more;

	if (!ask(nl, family, ulp))
		return false;
	do {
		len = mnl_socket_recvfrom(nl, buffer, sizeof(buffer));
		if (len < 0)
			return false;
		more = mnl_cb_run(buffer, len, family, mnl_socket_get_portid(nl),
				  ulp ? sockets_answer : names_answer, list);
	} while (more > 0);
	return !more;
}

static bool read_all(struct endpoints *list, bool ulp)
{
	/* An answer whose end is lost shall not be waited for. */
	const struct timeval patience = { .tv_sec = 10 };
	struct mnl_socket *nl = mnl_socket_open2(NETLINK_SOCK_DIAG, SOCK_CLOEXEC);
	bool done;
	int err;

	if (!nl)
		return false;
	done = !setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience)) &&
	       mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) >= 0 &&
	       dump(nl, AF_INET, list, ulp) && dump(nl, AF_INET6, list, ulp);
	err = errno;
	mnl_socket_close(nl);
	errno = err;
	return done;
}

static void read_sockets(struct endpoints *list, bool ulp)
{
	if (read_all(list, ulp))
		return;
	complain("TCP sockets are left out: asking the kernel: %s%s",
		 errno == EAGAIN ? "the end of its answer did not come" : strerror(errno),
		 errno == ENOENT ? " (is there a module tcp_diag?)" : "");
	list->failed = true;
}

void sockets_read(struct endpoints *list)
{
	read_sockets(list, true);
}

void names_read(struct endpoints *list)
{
	read_sockets(list, false);
}
