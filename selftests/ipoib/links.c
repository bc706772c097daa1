// SPDX-License-Identifier: GPL-2.0
/*
 * links NAME: what the kernel says of an IPoIB interface, read with libnl.
 * libnl-route-3 (3.7.0) knows nothing of this kind of link, so this is its part.
 */
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

static struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_LINKINFO] = { .type = NLA_NESTED },
};

static struct nla_policy info_policy[IFLA_INFO_MAX + 1] = {
	[IFLA_INFO_KIND] = { .type = NLA_STRING },
	[IFLA_INFO_DATA] = { .type = NLA_NESTED },
};

static struct nla_policy ipoib_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY] = { .type = NLA_U16, .maxlen = 2 },
	[IFLA_IPOIB_MODE] = { .type = NLA_U16, .maxlen = 2 },
	[IFLA_IPOIB_UMCAST] = { .type = NLA_U16, .maxlen = 2 },
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, nl_geterror(err));
	exit(1);
}

static int show(struct nl_msg *msg, void *arg)
{
	struct nlattr *link[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1];
	struct nlattr *ipoib[IFLA_IPOIB_MAX + 1];

	(void)arg;
	check(nlmsg_parse(nlmsg_hdr(msg), sizeof(struct ifinfomsg), link,
			  IFLA_MAX, link_policy), "link");
	if (!link[IFLA_LINKINFO])
		return NL_STOP;
	check(nla_parse_nested(info, IFLA_INFO_MAX, link[IFLA_LINKINFO],
			       info_policy), "info");
	if (!info[IFLA_INFO_KIND] || !info[IFLA_INFO_DATA] ||
	    strcmp(nla_get_string(info[IFLA_INFO_KIND]), "ipoib"))
		return NL_STOP;
	check(nla_parse_nested(ipoib, IFLA_IPOIB_MAX, info[IFLA_INFO_DATA],
			       ipoib_policy), "data");
	if (!ipoib[IFLA_IPOIB_PKEY] || !ipoib[IFLA_IPOIB_MODE] ||
	    !ipoib[IFLA_IPOIB_UMCAST])
		return NL_STOP;
	printf("pkey 0x%04x mode %u umcast %u\n",
	       nla_get_u16(ipoib[IFLA_IPOIB_PKEY]),
	       nla_get_u16(ipoib[IFLA_IPOIB_MODE]),
	       nla_get_u16(ipoib[IFLA_IPOIB_UMCAST]));
	return NL_STOP;
}

int main(int argc, char **argv)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	struct nl_sock *sock = nl_socket_alloc();

	if (argc != 2 || !sock) {
		fprintf(stderr, "usage: links NAME\n");
		return 2;
	}
	ifi.ifi_index = if_nametoindex(argv[1]);
	check(nl_connect(sock, NETLINK_ROUTE), "socket");
	check(nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, show, NULL),
	      "callback");
	check(nl_send_simple(sock, RTM_GETLINK, 0, &ifi, sizeof(ifi)), "send");
	check(nl_recvmsgs_default(sock), argv[1]);
	nl_socket_free(sock);
	return 0;
}
