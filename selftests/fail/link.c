// SPDX-License-Identifier: GPL-2.0
/*
 * link [children]: what an administrator may do with ib0, or its children, with
 * each of its allocations failing in turn: it is done, or refused, and can be done the next time.
 */
#include "nth.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define PARENT	"ib0"
#define CHILD	"ib0.8123"
#define PKEY	0x8123
#define ALEN	20	/* bytes of a link-layer address */

static int sock, netlink, raw, number;
static uint32_t parent;

static int put(const char *file, const char *text)
{
	char path[100];
	int fd, ret, error;

	snprintf(path, sizeof(path), "/sys/class/net/" PARENT "/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text));
	error = errno;
	close(fd);
	errno = error;
	return ret < 0 ? -1 : 0;
}

/* All that a request about the child may hold, and its answer. */
struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	char attributes[200];
};

static struct nlattr *attribute(struct request *r, int type, const void *data, size_t len)
{
	struct nlattr *a = (struct nlattr *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (data)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void end_of(struct request *r, struct nlattr *a)
{
	a->nla_len = (char *)r + r->head.nlmsg_len - (char *)a;
}

/* Zero, or -1 and the errno that the kernel answers. */
static int ask(struct request *r)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[400];
	} answer;

	/* One that could not be read before. */
	while (recv(netlink, &answer, sizeof(answer), MSG_DONTWAIT) > 0)
		;
	if (send(netlink, r, r->head.nlmsg_len, 0) < 0 ||
	    recv(netlink, &answer, sizeof(answer), 0) < 0)
		return -1;
	errno = -answer.error.error;
	return errno ? -1 : 0;
}

static void request(struct request *r, int type, int flags)
{
	memset(r, 0, sizeof(*r));
	r->head.nlmsg_len = NLMSG_LENGTH(sizeof(r->link));
	r->head.nlmsg_type = type;
	r->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	attribute(r, IFLA_IFNAME, CHILD, sizeof(CHILD));
}

static int act_newlink(void)
{
	uint16_t pkey = PKEY, mode = 0;
	struct nlattr *info, *data;
	struct request r;

	request(&r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	attribute(&r, IFLA_LINK, &parent, sizeof(parent));
	info = attribute(&r, IFLA_LINKINFO, NULL, 0);
	attribute(&r, IFLA_INFO_KIND, "ipoib", 5);
	data = attribute(&r, IFLA_INFO_DATA, NULL, 0);
	attribute(&r, IFLA_IPOIB_PKEY, &pkey, sizeof(pkey));
	attribute(&r, IFLA_IPOIB_MODE, &mode, sizeof(mode));
	end_of(&r, data);
	end_of(&r, info);
	return ask(&r);
}

static int act_dellink(void)
{
	struct request r;

	request(&r, RTM_DELLINK, 0);
	return ask(&r);
}

/* For the index of an interface that is not there, the kernel would look for a module. */
static bool exists(void)
{
	return !access("/sys/class/net/" CHILD, F_OK);
}

/* An answer that was lost: the deed may be done. */
static bool gone(void)
{
	struct timespec tick = { .tv_nsec = 20000000 };

	if (exists() && act_dellink())
		return false;
	while (exists())
		nanosleep(&tick, NULL);
	return true;
}

static void before_new(void)
{
	must(gone());
}

static int act_create(void)
{
	return put("create_child", "0x8123");
}

static bool after_new(int ret)
{
	return (ret < 0 || exists()) && gone();
}

static void before_delete(void)
{
	must(gone() && !act_create());
}

static int act_delete(void)
{
	return put("delete_child", "0x8123");
}

/* By sysfs it goes a moment later; the alarm ends what takes for ever. */
static bool after_delete(int ret)
{
	struct timespec tick = { .tv_nsec = 20000000 };

	while (ret >= 0 && exists())
		nanosleep(&tick, NULL);
	return gone();
}

static int flags(const char *name, bool up)
{
	struct ifreq r = {};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	if (ioctl(sock, SIOCGIFFLAGS, &r))
		return -1;
	r.ifr_flags = up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP;
	return ioctl(sock, SIOCSIFFLAGS, &r);
}

static bool runs(void)
{
	struct ifreq r = { .ifr_name = PARENT };
	struct timespec tick = { .tv_nsec = 20000000 };

	/* The alarm ends what takes for ever. */
	do {
		nanosleep(&tick, NULL);
		must(!ioctl(sock, SIOCGIFFLAGS, &r));
	} while (!(r.ifr_flags & IFF_RUNNING));
	return true;
}

static void before_up(void)
{
	must(!flags(PARENT, false));
}

static int act_up(void)
{
	return flags(PARENT, true);
}

static bool after_up(int ret)
{
	return (ret >= 0 || !act_up()) && runs();
}

static int act_down(void)
{
	return flags(PARENT, false);
}

static bool after_down(int ret)
{
	(void)ret;
	return !act_up() && runs();
}

static int act_connected(void)
{
	return put("mode", "connected\n");
}

static int act_datagram(void)
{
	return put("mode", "datagram\n");
}

static void before_connected(void)
{
	must(!act_datagram());
}

static void before_datagram(void)
{
	must(!act_connected());
}

static bool after_mode(int ret)
{
	(void)ret;
	return !act_datagram() && !act_up() && runs();
}

/* To a node whose address has to be asked for first. */
static int act_send(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };

	to.sin_addr.s_addr = htonl(0x0a4d0000 + 10 + number++ % 200);
	return sendto(sock, "hello", 5, MSG_DONTWAIT, (void *)&to, sizeof(to));
}

/* To a port that there is not: before anybody is asked, the driver has to note it. */
static int act_frame(void)
{
	unsigned char frame[ALEN + 4 + 20] = { 0, 0, 1, 0, 0xfe, 0x80, [ALEN] = 0x08 };
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = parent, .sll_protocol = htons(ETH_P_IP),
	};
	uint32_t id = htonl(++number);

	memcpy(frame + ALEN - sizeof(id), &id, sizeof(id));
	return sendto(raw, frame, sizeof(frame), MSG_DONTWAIT, (void *)&to, sizeof(to));
}

static int group(int what)
{
	struct ip_mreqn m = { .imr_ifindex = parent };

	m.imr_multiaddr.s_addr = htonl(0xef010000 + number);
	return setsockopt(sock, IPPROTO_IP, what, &m, sizeof(m));
}

static void before_join(void)
{
	number++;
}

static int act_join(void)
{
	return group(IP_ADD_MEMBERSHIP);
}

static bool after_join(int ret)
{
	return ret < 0 || !group(IP_DROP_MEMBERSHIP);
}

static const struct scene children[] = {
	{ "a child, by netlink", before_new, act_newlink, after_new },
	{ "a child, by sysfs", before_new, act_create, after_new },
	{ "delete, by netlink", before_delete, act_dellink, after_delete },
	{ "delete, by sysfs", before_delete, act_delete, after_delete },
};

static const struct scene port[] = {
	{ "up", before_up, act_up, after_up },
	{ "down", NULL, act_down, after_down },
	{ "connected mode", before_connected, act_connected, after_mode },
	{ "datagram mode", before_datagram, act_datagram, after_mode },
	{ "a packet to a stranger", NULL, act_send, NULL },
	{ "a frame to a stranger", NULL, act_frame, NULL },
	{ "a multicast group", before_join, act_join, after_join },
};

int main(int argc, char **argv)
{
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	raw = socket(AF_PACKET, SOCK_RAW, 0);
	parent = if_nametoindex(PARENT);
	must(sock >= 0 && netlink >= 0 && raw >= 0 && parent);
	if (argc > 1 && !strcmp(argv[1], "children"))
		return nth_all(children, sizeof(children) / sizeof(*children));
	return nth_all(port, sizeof(port) / sizeof(*port));
}
