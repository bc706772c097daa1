// SPDX-License-Identifier: GPL-2.0
/*
 * sdprun --check; see check.h.
 *
 * The kernel decides when a connection is made, so one is made, as the program
 * would, and closed at once.  The route is asked for only to be told.
 */
#define _GNU_SOURCE
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "check.h"
#include "policy.h"

static void tell(const char *what, const char *text)
{
	printf("%-10s%s\n", what, text);
}

/* --- the route ----------------------------------------------------------- */

struct route_message {
	struct nlmsghdr head;
	struct rtmsg route;
	char attributes[1024];
};

/* The address as a route is asked for: IPv4 where IPv6 only wraps that. */
static const void *route_address(const struct sockaddr *addr, unsigned char *family,
				 size_t *len)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	*family = AF_INET;
	*len = 4;
	if (addr->sa_family == AF_INET)
		return &in->sin_addr;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return in6->sin6_addr.s6_addr + 12;
	*family = AF_INET6;
	*len = 16;
	return &in6->sin6_addr;
}

/* Asks the kernel by which interface it goes; 0, or -1 and errno. */
static int ask_route(const struct sockaddr *addr, unsigned int *ifindex)
{
	struct route_message msg = {
		.head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST },
	};
	struct rtattr *attr = (struct rtattr *)msg.attributes;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	const void *bytes;
	ssize_t n = -1;
	size_t len;
	int room;

	bytes = route_address(addr, &msg.route.rtm_family, &len);
	attr->rta_type = RTA_DST;
	attr->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), bytes, len);
	msg.route.rtm_dst_len = len * 8;
	msg.head.nlmsg_len = NLMSG_LENGTH(sizeof(msg.route)) + RTA_SPACE(len);
	if (fd >= 0 && send(fd, &msg, msg.head.nlmsg_len, 0) >= 0)
		n = recv(fd, &msg, sizeof(msg), 0);
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	if (msg.head.nlmsg_type == NLMSG_ERROR)
		return sdp_fail(-((struct nlmsgerr *)NLMSG_DATA(&msg.head))->error);

	room = n - NLMSG_LENGTH(sizeof(msg.route));
	for (; RTA_OK(attr, room); attr = RTA_NEXT(attr, room)) {
		if (attr->rta_type != RTA_OIF)
			continue;
		memcpy(ifindex, RTA_DATA(attr), sizeof(*ifindex));
		return 0;
	}
	return sdp_fail(EPROTO);
}

static const char *kind_of_link(const char *name)
{
	struct ifreq ifr = { .ifr_flags = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ret = ioctl(fd, SIOCGIFHWADDR, &ifr);
	close(fd);
	if (ret)
		return "gone";
	switch (ifr.ifr_hwaddr.sa_family) {
	case ARPHRD_INFINIBAND:
		return "IPoIB";
	case ARPHRD_LOOPBACK:
		return "loopback, no SDP";
	default:
		return "not IPoIB, no SDP";
	}
}

static void tell_route(const struct sockaddr *addr)
{
	char name[IF_NAMESIZE], text[IF_NAMESIZE + 64];
	unsigned int ifindex = 0;

	if (ask_route(addr, &ifindex))
		snprintf(text, sizeof(text), "none: %s", strerror(errno));
	else if (!if_indextoname(ifindex, name))
		snprintf(text, sizeof(text), "by interface %u", ifindex);
	else
		snprintf(text, sizeof(text), "by %s (%s)", name, kind_of_link(name));
	tell("route", text);
}

/* --- the rule ------------------------------------------------------------ */

static const char *carriers_name(unsigned int carriers)
{
	if (carriers & SDP_CONNECT_NO_TCP)
		return "SDP and nothing else";
	return carriers & SDP_CONNECT_NO_SDP ? "TCP" : "SDP where it goes, else TCP";
}

static unsigned int tell_rule(const struct sockaddr *addr, socklen_t len)
{
	const struct conf_rule *rule;
	unsigned int carriers = policy_carriers(CONF_CONNECT, addr, len, &rule);
	const char *mode = getenv("SDPDEV_MODE");
	const struct conf *conf = policy_conf();

	if (rule)
		printf("%-10s%s:%u: %s\n", "rule", conf->path, rule->line, rule->text);
	else if (mode && *mode && strcmp(mode, "auto"))
		printf("%-10sSDPDEV_MODE=%s goes before the rules\n", "rule", mode);
	else if (*conf->error)
		printf("%-10snone, there is no %s\n", "rule", conf->path);
	else
		printf("%-10snone in %s is about it\n", "rule", conf->path);
	tell("allowed", carriers_name(carriers));
	return carriers;
}

/* --- the connection ------------------------------------------------------ */

const char *check_device_error(int error)
{
	switch (error) {
	case ENOENT:
		return "No such file or directory (is the module sdpdev loaded?)";
	case EPROTONOSUPPORT:
		return "the module sdpdev that is loaded is not the one of this sdprun's version";
	case ENOTTY:
		return "not the device of the module sdpdev";
	default:
		return strerror(error);
	}
}

static const char *why_not_sdp(unsigned int reason)
{
	switch (reason) {
	case SDP_REASON_NONE:
		return "is not asked over SDP";
	case SDP_REASON_NO_ROUTE:
		return "is not asked over SDP: the route does not leave by IPoIB";
	case SDP_REASON_UNREACHABLE:
		return "is not reached over SDP: address or path not resolved, or no answer";
	case SDP_REASON_REFUSED:
		return "has no SDP listener on that port";
	case SDP_REASON_BAD_HELLO:
		return "speaks another version of SDP";
	case SDP_REASON_LIMIT:
		return "is not asked over SDP: the user has as many connections as allowed";
	case SDP_REASON_NO_TRANSPORT:
		return "is not asked over SDP: no transport is loaded (modprobe sdp_ib)";
	case SDP_REASON_SIGNED:
		return "is not asked over SDP: TCP's MD5 or AO keys are set";
	case SDP_REASON_FAMILY:
		return "is not asked over SDP: bound to an address of the other family";
	case SDP_REASON_POLICY:
		return "is not asked over SDP: a control group's program decided";
	default:
		return "SDP failed";
	}
}

static int tell_connection(const struct sockaddr *addr, socklen_t len,
			   unsigned int carriers)
{
	struct sdp_info info = { .size = 0 };
	int error = 0, fd;

	fd = sdp_socket(addr->sa_family, SOCK_CLOEXEC);
	if (fd < 0) {
		error = errno;
		printf("%-10s%s: %s\n", "device", SDP_DEVICE_PATH,
		       check_device_error(error));
		if (!(carriers & SDP_CONNECT_NO_TCP)) {
			fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
			error = fd < 0 || connect(fd, addr, len) ? errno : 0;
		}
		info.carrier = SDP_CARRIER_TCP;
	} else {
		tell("device", SDP_DEVICE_PATH " works");
		if (sdp_connect(fd, addr, len, carriers))
			error = errno;
		if (!sdp_info(fd, &info) && info.carrier == SDP_CARRIER_SDP)
			tell("peer", "has an SDP listener on that port");
		else
			tell("peer", why_not_sdp(info.reason));
	}
	if (fd >= 0)
		close(fd);
	if (error) {
		printf("%-10sno connection: %s\n", "result", strerror(error));
		return CHECK_NEITHER;
	}
	tell("result", info.carrier == SDP_CARRIER_SDP ? "SDP" : "TCP");
	return info.carrier == SDP_CARRIER_SDP ? CHECK_SDP : CHECK_TCP;
}

/* --- together ------------------------------------------------------------ */

int check(const char *host, const char *port, const char *program)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char name[INET6_ADDRSTRLEN + IF_NAMESIZE], number[8];
	unsigned int carriers;
	int error;

	error = getaddrinfo(host, port, &hints, &found);
	if (error) {
		fprintf(stderr, "sdprun: %s, port %s: %s\n", host, port,
			gai_strerror(error));
		return CHECK_NEITHER;
	}
	if (!getnameinfo(found->ai_addr, found->ai_addrlen, name, sizeof(name), number,
			 sizeof(number), NI_NUMERICHOST | NI_NUMERICSERV))
		printf("%-10s%s port %s\n", "to", name, number);
	tell("program", program ? program : "any; only rules for every program count");
	carriers = tell_rule(found->ai_addr, found->ai_addrlen);
	tell_route(found->ai_addr);
	error = tell_connection(found->ai_addr, found->ai_addrlen, carriers);
	freeaddrinfo(found);
	return error;
}
