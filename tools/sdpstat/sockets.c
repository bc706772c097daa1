// SPDX-License-Identifier: GPL-2.0
/*
 * TCP sockets: those with the ULP "sdp", which the ULP lists by netlink, and the names of all, by
 * sock_diag(7).  Neither waits for a call that keeps a socket.
 *
 * Nothing is believed of an answer but that its bytes are there: each length is looked at, and
 * what is cut short or longer than this program knows is taken for as much as there is of it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include <linux/sdp_diag.h>
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
	[SDP_SOCK_BY_RDMA]	= "rdma",
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
 * @at: which socket it is, and what TCP tells of it
 * @info: what the ULP tells
 * @admin: the kernel tells what only CAP_NET_ADMIN may know
 */
struct answer {
	struct sdp_diag_sock at;
	struct sdp_sock_info info;
	bool admin;
};

static void copy(void *to, size_t room, const struct nlattr *attr)
{
	size_t len = mnl_attr_get_payload_len(attr);

	memcpy(to, mnl_attr_get_payload(attr), len < room ? len : room);
}

/* An endpoint, as <linux/sdp_diag.h> has it. */
static bool parse_endpoint(const struct nlmsghdr *nlh, struct answer *answer)
{
	/* libmnl's own loop goes on to the next multiple of four. */
	const char *end = (const char *)nlh + nlh->nlmsg_len;
	const struct nlattr *attr;
	bool found = false;

	memset(answer, 0, sizeof(*answer));
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr))
		return false;
	for (attr = mnl_nlmsg_get_payload_offset(nlh, sizeof(struct genlmsghdr));
	     mnl_attr_ok(attr, end - (const char *)attr); attr = mnl_attr_next(attr)) {
		switch (mnl_attr_get_type(attr)) {
		case SDP_DIAG_SOCK:
			copy(&answer->at, sizeof(answer->at), attr);
			found = true;
			break;
		case SDP_DIAG_INFO:
			copy(&answer->info, sizeof(answer->info), attr);
			break;
		}
	}
	return found;
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

/* Any TCP socket, as sock_diag(7) has it. */
static bool parse_name(const struct nlmsghdr *nlh, struct answer *answer)
{
	const char *end = (const char *)nlh + nlh->nlmsg_len;
	struct sdp_diag_sock *at = &answer->at;
	const struct nlattr *attr;
	struct inet_diag_msg msg;

	memset(answer, 0, sizeof(*answer));
	if (nlh->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(msg))
		return false;
	memcpy(&msg, mnl_nlmsg_get_payload(nlh), sizeof(msg));
	at->cookie = (uint64_t)msg.id.idiag_cookie[1] << 32 | msg.id.idiag_cookie[0];
	fill_address(at->local, msg.id.idiag_src, msg.idiag_family);
	fill_address(at->peer, msg.id.idiag_dst, msg.idiag_family);
	at->local_port = msg.id.idiag_sport;
	at->peer_port = msg.id.idiag_dport;
	at->ifindex = msg.id.idiag_if;
	at->uid = msg.idiag_uid;
	at->inode = msg.idiag_inode;
	at->family = msg.idiag_family;
	at->state = msg.idiag_state;
	for (attr = mnl_nlmsg_get_payload_offset(nlh, sizeof(msg));
	     mnl_attr_ok(attr, end - (const char *)attr); attr = mnl_attr_next(attr))
		answer->admin |= mnl_attr_get_type(attr) == INET_DIAG_MARK;
	return true;
}

static void address(char *word, int family, const uint8_t *addr, uint16_t port)
{
	char text[INET6_ADDRSTRLEN];

	/* IPv4 is at the end of a mapped address. */
	if (family == AF_INET)
		addr += 12;
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
	const struct sdp_diag_sock *at = &answer->at;
	const struct sdp_sock_info *info = &answer->info;

	set_word(ep, WORD_STATE, name_of(states, COUNT(states), at->state));
	address(ep->word[WORD_LOCAL], at->family, at->local, at->local_port);
	address(ep->word[WORD_PEER], at->family, at->peer, at->peer_port);
	set_word(ep, WORD_MODE, name_of(modes, COUNT(modes), info->mode));
	if (at->state == STATE_LISTEN)
		return;
	set_word(ep, WORD_TX_CARRIER, name_of(carriers, COUNT(carriers), info->tx_carrier));
	set_word(ep, WORD_RX_CARRIER, name_of(carriers, COUNT(carriers), info->rx_carrier));
	reason(ep->word[WORD_REASON], info->stay);
}

static void fill_end(struct endpoint *ep, const struct sdp_diag_sock *at)
{
	memcpy(ep->end.local, at->local, sizeof(ep->end.local));
	memcpy(ep->end.peer, at->peer, sizeof(ep->end.peer));
	ep->end.local_port = at->local_port;
	ep->end.peer_port = at->peer_port;
	ep->end.ifindex = at->ifindex;
	ep->end.cookie = at->cookie;
}

static void fill_numbers(struct endpoint *ep, const struct answer *answer)
{
	const struct sdp_diag_sock *at = &answer->at;
	const struct sdp_sock_info *info = &answer->info;

	endpoint_number(ep, NUM_ID, at->cookie);
	endpoint_number(ep, NUM_TX_BYTES, info->tx_bytes);
	endpoint_number(ep, NUM_RX_BYTES, info->rx_bytes);
	endpoint_number(ep, NUM_TX_ZCOPY, info->tx_zcopy);
	endpoint_number(ep, NUM_RX_QUEUED, info->queued);
	endpoint_number(ep, NUM_MOVES, info->moves);
	endpoint_number(ep, NUM_TCP_TX_BYTES, at->tcp_tx_bytes);
	endpoint_number(ep, NUM_TCP_RX_BYTES, at->tcp_rx_bytes);
	endpoint_number(ep, NUM_UID, at->uid);
	endpoint_number(ep, NUM_INODE, at->inode);
}

static void take(struct endpoints *list, const struct answer *answer)
{
	struct endpoint *ep = endpoint_add(list, KIND_SOCKET);

	fill_words(ep, answer);
	fill_numbers(ep, answer);
	fill_end(ep, &answer->at);
}

/* The kernel's answer about one endpoint. */
int sockets_answer(const struct nlmsghdr *nlh, void *list)
{
	struct answer answer;

	if (parse_endpoint(nlh, &answer))
		take(list, &answer);
	return MNL_CB_OK;
}

static int names_answer(const struct nlmsghdr *nlh, void *data)
{
	struct endpoints *list = data;
	struct answer answer;

	if (parse_name(nlh, &answer)) {
		list->hidden |= !answer.admin;
		take(list, &answer);
	}
	return MNL_CB_OK;
}

/* The number of the ULP's family of netlink. */
static int family_answer(const struct nlmsghdr *nlh, void *number)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_get_payload_len(attr) == sizeof(uint16_t))
			*(uint16_t *)number = mnl_attr_get_u16(attr);
	return MNL_CB_OK;
}

#define ROOM	65536

/* Sends a request, and takes the answers to it. */
static bool talk(struct mnl_socket *nl, struct nlmsghdr *request, mnl_cb_t answered, void *data)
{
	static char buffer[ROOM] __attribute__((aligned(8)));
	static unsigned int seq;
	ssize_t len;
	int more;

	request->nlmsg_seq = ++seq;
	if (mnl_socket_sendto(nl, request, request->nlmsg_len) < 0)
		return false;
	do {
		len = mnl_socket_recvfrom(nl, buffer, sizeof(buffer));
		if (len < 0)
			return false;
		more = mnl_cb_run(buffer, len, seq, mnl_socket_get_portid(nl), answered, data);
	} while (more > 0);
	return !more;
}

static struct nlmsghdr *genl_request(char *buffer, uint16_t type, uint16_t flags, uint8_t command)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = command;
	genl->version = 1;
	return nlh;
}

/* Without the module no socket has the ULP. */
static bool dump_endpoints(struct mnl_socket *nl, struct endpoints *list)
{
	char buffer[256] __attribute__((aligned(8)));
	uint16_t family = 0;
	struct nlmsghdr *nlh = genl_request(buffer, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);

	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, SDP_DIAG_NAME);
	if (!talk(nl, nlh, family_answer, &family))
		return errno == ENOENT;
	nlh = genl_request(buffer, family, NLM_F_DUMP, SDP_DIAG_LIST);
	if (talk(nl, nlh, sockets_answer, list))
		return true;
	list->hidden = errno == EPERM;
	return list->hidden;
}

static bool dump_family(struct mnl_socket *nl, int family, struct endpoints *list)
{
	char buffer[NLMSG_HDRLEN + sizeof(struct inet_diag_req_v2)] __attribute__((aligned(4)));
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct inet_diag_req_v2 *req;

	nlh->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	req = mnl_nlmsg_put_extra_header(nlh, sizeof(*req));
	req->sdiag_family = family;
	req->sdiag_protocol = IPPROTO_TCP;
	req->idiag_states = STATES;
	return talk(nl, nlh, names_answer, list);
}

static bool dump_names(struct mnl_socket *nl, struct endpoints *list)
{
	return dump_family(nl, AF_INET, list) && dump_family(nl, AF_INET6, list);
}

/* Asks the kernel by one of its protocols. */
static bool read_all(struct endpoints *list, int protocol,
		     bool (*dump)(struct mnl_socket *nl, struct endpoints *list))
{
	/* An answer whose end is lost shall not be waited for. */
	const struct timeval patience = { .tv_sec = 10 };
	struct mnl_socket *nl = mnl_socket_open2(protocol, SOCK_CLOEXEC);
	bool done;
	int err;

	if (!nl)
		return false;
	done = !setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience)) &&
	       mnl_socket_bind(nl, 0, MNL_SOCKET_AUTOPID) >= 0 && dump(nl, list);
	err = errno;
	mnl_socket_close(nl);
	errno = err;
	return done;
}

static void complain_of(struct endpoints *list, const char *hint)
{
	complain("TCP sockets are left out: asking the kernel: %s%s",
		 errno == EAGAIN ? "the end of its answer did not come" : strerror(errno), hint);
	list->failed = true;
}

void sockets_read(struct endpoints *list)
{
	if (!read_all(list, NETLINK_GENERIC, dump_endpoints))
		complain_of(list, "");
}

void names_read(struct endpoints *list)
{
	if (!read_all(list, NETLINK_SOCK_DIAG, dump_names))
		complain_of(list, errno == ENOENT ? " (is there a module tcp_diag?)" : "");
}
