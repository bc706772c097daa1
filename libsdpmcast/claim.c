// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Claims: the driver of the interface is told that the program receives a group by itself.
 * A driver that knows no claims is no error: the interface then receives the group, too.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/ipoib_mcast.h>
#include <linux/netlink.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define ROOM	512

/* A message that is being made: headers, then attributes. */
struct request {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	uint8_t room[ROOM];
};

static void request_begin(struct request *r, uint16_t family, uint8_t cmd, uint8_t version)
{
	memset(r, 0, sizeof(*r));
	r->nlh.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	r->nlh.nlmsg_type = family;
	r->nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	r->genl.cmd = cmd;
	r->genl.version = version;
}

static void request_add(struct request *r, uint16_t type, const void *data, size_t len)
{
	uint8_t *at = r->room + NLMSG_ALIGN(r->nlh.nlmsg_len) - NLMSG_LENGTH(GENL_HDRLEN);
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };

	memcpy(at, &attr, sizeof(attr));
	memcpy(at + NLA_HDRLEN, data, len);
	r->nlh.nlmsg_len = NLMSG_ALIGN(r->nlh.nlmsg_len) + NLA_ALIGN(attr.nla_len);
}

/* The value of 16 bits that an answer has under @type, or 0. */
static uint16_t answer_find(const struct nlmsghdr *nlh, uint16_t type)
{
	const uint8_t *at = (const uint8_t *)nlh + NLMSG_LENGTH(GENL_HDRLEN);
	const uint8_t *end = (const uint8_t *)nlh + nlh->nlmsg_len;
	struct nlattr attr;
	uint16_t value;

	while (end - at >= NLA_HDRLEN) {
		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > end - at)
			break;
		if (attr.nla_type == type && attr.nla_len >= NLA_HDRLEN + sizeof(value)) {
			memcpy(&value, at + NLA_HDRLEN, sizeof(value));
			return value;
		}
		if (NLA_ALIGN(attr.nla_len) > end - at)
			break;
		at += NLA_ALIGN(attr.nla_len);
	}
	return 0;
}

/*
 * Sends the request and waits for what the kernel says. Returns 0 or a negative errno;
 * @value has what an answer before that holds under @type.
 */
static int request_run(int fd, const struct request *r, uint16_t type, uint16_t *value)
{
	union {
		struct nlmsghdr first;
		char room[8192];
	} buf;
	struct nlmsghdr *nlh;
	ssize_t got;
	int len;

	if (send(fd, r, r->nlh.nlmsg_len, 0) < 0)
		return -errno;
	for (;;) {
		got = recv(fd, buf.room, sizeof(buf.room), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		len = got;
		for (nlh = &buf.first; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
			if (nlh->nlmsg_type == NLMSG_ERROR)
				return ((struct nlmsgerr *)NLMSG_DATA(nlh))->error;
			if (value)
				*value = answer_find(nlh, type);
		}
	}
}

/* Looks for the driver's family; e->netlink is -1 where there is none. */
void claim_open(struct sdpmcast *e)
{
	struct request r;
	int err;

	e->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (e->netlink < 0)
		return;
	request_begin(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	request_add(&r, CTRL_ATTR_FAMILY_NAME, IPOIB_GENL_NAME, sizeof(IPOIB_GENL_NAME));
	err = request_run(e->netlink, &r, CTRL_ATTR_FAMILY_ID, &e->genl);
	if (!err && e->genl)
		return;
	close(e->netlink);
	e->netlink = -1;
}

/* Returns 0 or a negative errno. */
int claim_send(const struct sdpmcast *e, const struct group *g, bool claim)
{
	const struct sockaddr_in6 *in6 = (const void *)&g->addr;
	const struct sockaddr_in *in = (const void *)&g->addr;
	uint32_t ifindex = e->ifindex, fd = e->sock;
	struct request r;

	if (e->netlink < 0)
		return -EOPNOTSUPP;
	request_begin(&r, e->genl, claim ? IPOIB_CMD_MCAST_CLAIM : IPOIB_CMD_MCAST_UNCLAIM,
		      IPOIB_GENL_VERSION);
	request_add(&r, IPOIB_A_IFINDEX, &ifindex, sizeof(ifindex));
	request_add(&r, IPOIB_A_SOCKET, &fd, sizeof(fd));
	if (e->family == AF_INET)
		request_add(&r, IPOIB_A_GROUP, &in->sin_addr, sizeof(in->sin_addr));
	else
		request_add(&r, IPOIB_A_GROUP, &in6->sin6_addr, sizeof(in6->sin6_addr));
	return request_run(e->netlink, &r, 0, NULL);
}
