// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel's SMC-R has to be told, by generic netlink, before it uses rdma_rxe: an
 * enterprise ID, which RoCE v2 wants, and which device belongs to which interface, as rdma_rxe
 * does not say so by the function that SMC-R asks.  The names are those of tools/bench/roce.
 */
#include "bench.h"

#include <assert.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/smc.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As the kernel compares them: padded by spaces. */
#define EID	"SDPDEV                          "

static_assert(sizeof(EID) == 33, "an ID has 32 bytes, and a zero behind them");

/**
 * struct attr - a string that a request has
 * @type: its number; zero: it is none, and the last
 * @value: the string
 */
struct attr {
	unsigned int type;
	const char *value;
};

/**
 * struct request - a message, with its attributes
 * @h: netlink's header
 * @g: generic netlink's
 * @attrs: attributes
 */
struct request {
	struct nlmsghdr h;
	struct genlmsghdr g;
	char attrs[256];
};

static void add(struct request *r, const struct attr *attr)
{
	size_t len = strlen(attr->value) + 1;
	struct nlattr a = { .nla_len = NLA_HDRLEN + len, .nla_type = attr->type };
	char *to = (char *)r + r->h.nlmsg_len;

	memcpy(to, &a, sizeof(a));
	memcpy(to + NLA_HDRLEN, attr->value, len);
	r->h.nlmsg_len += NLA_ALIGN(a.nla_len);
}

/* Sends it, and reads one answer; returns its bytes. */
static ssize_t ask(int fd, unsigned int family, unsigned int command, const struct attr *attr,
		   char *answer, size_t size)
{
	struct request r = {
		.h = {
			.nlmsg_len = sizeof(r) - sizeof(r.attrs),
			.nlmsg_type = family,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.g = { .cmd = command, .version = 1 },
	};
	ssize_t n;

	for (; attr->type; attr++)
		add(&r, attr);
	if (send(fd, &r, r.h.nlmsg_len, 0) < 0)
		die("netlink");
	n = recv(fd, answer, size, 0);
	if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(int)))
		die("netlink");
	return n;
}

/* The number of the family, among the attributes of the answer. */
static unsigned int family_number(const char *answer, size_t len)
{
	size_t at = NLMSG_HDRLEN + GENL_HDRLEN;
	struct nlattr a;
	__u16 number;

	for (; at + NLA_HDRLEN + sizeof(number) <= len; at += NLA_ALIGN(a.nla_len)) {
		memcpy(&a, answer + at, sizeof(a));
		memcpy(&number, answer + at + NLA_HDRLEN, sizeof(number));
		if (a.nla_type == CTRL_ATTR_FAMILY_ID)
			return number;
		if (a.nla_len < NLA_HDRLEN)
			break;
	}
	errno = ENOENT;
	die("the kernel's SMC");
}

static unsigned int family_named(int fd, const char *name)
{
	const struct attr attrs[] = { { CTRL_ATTR_FAMILY_NAME, name }, {} };
	char answer[8192];
	ssize_t n = ask(fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attrs, answer, sizeof(answer));
	unsigned int number = family_number(answer, n);

	/* The acknowledgment. */
	if (recv(fd, answer, sizeof(answer), 0) < 0)
		die("netlink");
	return number;
}

/* It may have been said before. */
static void say(int fd, unsigned int family, unsigned int command, const struct attr *attrs)
{
	char answer[1024];
	int error;

	ask(fd, family, command, attrs, answer, sizeof(answer));
	memcpy(&error, answer + NLMSG_HDRLEN, sizeof(error));
	if (error && error != -EEXIST) {
		errno = -error;
		die(attrs[0].value);
	}
}

void smc_prepare(void)
{
	static const struct attr id[] = { { SMC_NLA_EID_TABLE_ENTRY, EID }, {} };
	static const struct attr ends[][4] = {
		{
			{ SMC_PNETID_NAME, "END1" },
			{ SMC_PNETID_ETHNAME, "veth1" },
			{ SMC_PNETID_IBNAME, "rxe1" },
		}, {
			{ SMC_PNETID_NAME, "END2" },
			{ SMC_PNETID_ETHNAME, "veth2" },
			{ SMC_PNETID_IBNAME, "rxe2" },
		},
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	unsigned int family;

	if (fd < 0)
		die("netlink");
	say(fd, family_named(fd, SMC_GENL_FAMILY_NAME), SMC_NETLINK_ADD_UEID, id);
	family = family_named(fd, SMCR_GENL_FAMILY_NAME);
	say(fd, family, SMC_PNETID_ADD, ends[0]);
	say(fd, family, SMC_PNETID_ADD, ends[1]);
	close(fd);
}
