// SPDX-License-Identifier: GPL-2.0
/*
 * The operations on IPoIB's surfaces: files in sysfs and debugfs, messages about
 * links and neighbours, ethtool by ioctl and by netlink, packets of any contents.
 * By root of the network namespace; each thread is in another node.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHILDREN	8
#define ETH_P_RAW	0x0800

/* The sockets of a thread, made in its own network namespace. */
static struct node {
	int datagram, route, generic, packet, family, index;
} nodes[THREADS];

/* A message that is made up from a number. */
struct message {
	struct nlmsghdr head;
	char rest[2000];
};

static const unsigned short pkeys[CHILDREN] = {
	0x8001, 0x8002, 0x8003, 0xffff, 0x7fff, 0x0001, 0, 0x8000,
};

/* ib0, or a child that there may be. */
static const char *interface(unsigned int v)
{
	static __thread char name[IFNAMSIZ];

	if (v % 3 == 0)
		return "ib0";
	if (v % 3 == 1)
		snprintf(name, sizeof(name), "fz%u", v / 3 % CHILDREN);
	else
		snprintf(name, sizeof(name), "ib0.%04x", pkeys[v / 3 % CHILDREN] | 0x8000);
	return name;
}

static void *put(struct message *m, unsigned int type, const void *data, unsigned int len)
{
	struct nlattr *a = (struct nlattr *)((char *)m + NLMSG_ALIGN(m->head.nlmsg_len));

	if (m->head.nlmsg_len + len + 16 > sizeof(*m))
		return a;
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy((char *)a + NLA_HDRLEN, data, len);
	m->head.nlmsg_len = NLMSG_ALIGN(m->head.nlmsg_len) + NLA_ALIGN(a->nla_len);
	return a;
}

static void nested(struct message *m, struct nlattr *a)
{
	a->nla_len = (char *)m + m->head.nlmsg_len - (char *)a;
}

/* An attribute of any length and contents, small numbers more often than others. */
static void put_any(struct message *m, unsigned int type, uint32_t *seed)
{
	static const unsigned char lengths[] = {
		4, 2, 1, 4, 8, 20, 0, 3, 2, 4, 4, 36, 1, 2, 32, 64,
	};
	uint32_t data[16], i, small = next_random(seed);

	for (i = 0; i < 16; i++)
		data[i] = small & 64 ? next_random(seed) : small >> (small & 63) % 24;
	put(m, type, data, lengths[small >> 8 & 15]);
}

/* What the kernel answers does not matter, but that the interface is not there. */
static bool say(int sock, struct message *m)
{
	union {
		struct nlmsghdr head;
		char space[4096];
	} answer;
	const struct nlmsgerr *error = NLMSG_DATA(&answer.head);
	bool there = true;

	if (send(sock, m, m->head.nlmsg_len, MSG_DONTWAIT) < 0)
		return false;
	while (recv(sock, &answer, sizeof(answer), MSG_DONTWAIT) > (int)NLMSG_LENGTH(4))
		if (answer.head.nlmsg_type == NLMSG_ERROR && error->error == -ENODEV)
			there = false;
	return there;
}

static void message(struct message *m, unsigned int type, unsigned int flags, const void *head,
		    unsigned int len)
{
	m->head = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_LENGTH(len), .nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	};
	memcpy(NLMSG_DATA(&m->head), head, len);
}

/* The number that follows the name, the first attribute of an answer. */
static unsigned int family_of(struct message *m)
{
	struct nlattr *name = NLMSG_DATA(&m->head) + GENL_HDRLEN;
	struct nlattr *id = (void *)name + NLA_ALIGN(name->nla_len);

	return id->nla_type == CTRL_ATTR_FAMILY_ID ? *(uint16_t *)(id + 1) : 0;
}

/* The kernel would run a program for every name of an interface that is not there. */
static void no_modules(void)
{
	int fd = open("/proc/sys/kernel/modprobe", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "\n", 1) != 1)
		die("modprobe");
	close(fd);
}

/* Once for each thread, which asks for the number of ethtool's family. */
static struct node *node(struct worker *w)
{
	struct node *n = &nodes[w->nr];
	struct genlmsghdr ask = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	struct message m;

	if (n->datagram)
		return n;
	n->datagram = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	n->generic = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	n->packet = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_RAW));
	n->index = if_nametoindex("ib0");
	no_modules();
	if (n->datagram < 0 || n->route < 0 || n->generic < 0 || n->packet < 0 || !n->index)
		die("sockets");
	message(&m, GENL_ID_CTRL, 0, &ask, sizeof(ask));
	put(&m, CTRL_ATTR_FAMILY_NAME, ETHTOOL_GENL_NAME, sizeof(ETHTOOL_GENL_NAME));
	if (send(n->generic, &m, m.head.nlmsg_len, 0) > 0 &&
	    recv(n->generic, &m, sizeof(m), 0) > (ssize_t)NLMSG_LENGTH(sizeof(ask)) + 24)
		n->family = family_of(&m);
	if (!n->family)
		die("ethtool's family");
	return n;
}

/* A text that the file may take, or any other. */
static unsigned int text(struct worker *w, char *to, unsigned int size)
{
	static const char *const words[] = {
		"datagram\n", "connected\n", "1", "0\n", "", "connected", "0x", "-1",
	};
	uint32_t seed = w->r->c | 1;
	unsigned int i, len;

	switch (w->r->b & 7) {
	case 0:
	case 1:
		return snprintf(to, size, "%s", words[w->r->c & 7]);
	case 2:
	case 3:
		return snprintf(to, size, "0x%x\n", pkeys[w->r->c & 7]);
	case 4:
		return snprintf(to, size, "%u\n", w->r->c & 0xfff);
	case 5:
		return snprintf(to, size, "%d", (int)w->r->c);
	}
	len = w->r->c % size;
	for (i = 0; i < len; i++)
		to[i] = next_random(&seed);
	return len;
}

static const char *const files[] = {
	"mode", "create_child", "delete_child", "umcast", "mtu", "tx_queue_len", "create_child",
	"mode", "parent", "pkey", "dev_id", "address", "broadcast", "flags", "statistics/rx_bytes",
	"queues/tx-0/tx_timeout",
};

static void op_put_file(struct worker *w)
{
	char path[100], *to = (char *)w->page;
	unsigned int len = text(w, to, 2 * ANY_MEMORY);
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface(w->r->slot),
		 files[w->r->a & 15]);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	w->nothing = fd < 0;
	if (fd < 0)
		return;
	if (write(fd, to, len) < 0)
		errno = 0;
	close(fd);
}

static void op_get_file(struct worker *w)
{
	static const char *const tables[] = { "mcg", "path", "conn", "path" };
	char path[100];
	int fd;

	if (w->r->a & 16)
		snprintf(path, sizeof(path), "/sys/kernel/debug/ipoib/%s_%s",
			 interface(w->r->slot), tables[w->r->a & 3]);
	else
		snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface(w->r->slot),
			 files[w->r->a & 15]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	w->nothing = fd < 0;
	if (fd < 0)
		return;
	if (pread(fd, w->page, w->r->c % ANY_MEMORY, w->r->b) < 0)
		errno = 0;
	close(fd);
}

/* Not its name, nor another namespace for it: then the worker would not find it again. */
static bool is_harmless(unsigned int type)
{
	return type != IFLA_IFNAME && type != IFLA_NET_NS_PID && type != IFLA_NET_NS_FD &&
	       type != IFLA_LINKINFO && type != IFLA_NEW_NETNSID && type != IFLA_TARGET_NETNSID;
}

static void put_linkinfo(struct worker *w, struct message *m, uint32_t *seed)
{
	uint16_t pkey = pkeys[w->r->b & 7];
	struct nlattr *info = put(m, IFLA_LINKINFO, NULL, 0), *data;
	unsigned int i;

	put(m, IFLA_INFO_KIND, "ipoib", 6);
	data = put(m, IFLA_INFO_DATA, NULL, 0);
	if (w->r->b & 8)
		put(m, IFLA_IPOIB_PKEY, &pkey, sizeof(pkey));
	for (i = w->r->b >> 4 & 3; i; i--)
		put_any(m, next_random(seed) % 6, seed);
	nested(m, data);
	nested(m, info);
}

static void op_link(struct worker *w)
{
	static const unsigned short types[] = {
		RTM_NEWLINK, RTM_NEWLINK, RTM_NEWLINK, RTM_SETLINK, RTM_GETLINK, RTM_DELLINK,
		RTM_NEWLINK, RTM_NEWLINK,
	};
	struct node *n = node(w);
	const char *name = interface(w->r->slot);
	uint32_t seed = w->r->c | 1, i, type;
	struct ifinfomsg head = { .ifi_change = w->r->a & 8 ? IFF_UP : 0 };
	struct message m;

	if (types[w->r->a & 7] == RTM_DELLINK && !strcmp(name, "ib0"))
		return;
	head.ifi_flags = w->r->a & 16 ? IFF_UP : 0;
	message(&m, types[w->r->a & 7], w->r->a & 32 ? NLM_F_CREATE | NLM_F_EXCL :
		w->r->a & 64 ? NLM_F_CREATE : 0, &head, sizeof(head));
	put(&m, IFLA_IFNAME, name, strlen(name) + 1);
	if (w->r->a & 0xa0)
		put(&m, IFLA_LINK, &n->index, sizeof(n->index));
	if (w->r->a & 0xe0)
		put_linkinfo(w, &m, &seed);
	for (i = w->r->b >> 6; i; i--) {
		type = next_random(&seed) % (IFLA_MAX + 2);
		if (is_harmless(type))
			put_any(&m, type, &seed);
	}
	w->nothing = !say(n->route, &m);
}

/* One of the commands, on what another one gave before, or on anything. */
static void op_ethtool_ioctl(struct worker *w)
{
	struct node *n = node(w);
	uint32_t *arg = (uint32_t *)w->page, seed = w->r->c | 1, i;
	struct ifreq r = {};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface(w->r->slot));
	r.ifr_data = (void *)arg;
	if (w->r->b & 1) {
		for (i = 0; i < 64; i++)
			arg[i] = next_random(&seed) >> (seed & 31);
	} else if (w->r->b & 2) {
		/* A question is mostly the number before the order. */
		memset(arg, 0, 256);
		arg[0] = (w->r->a % 0x60) - 1;
		ioctl(n->datagram, SIOCETHTOOL, &r);
		arg[1 + (w->r->c & 15)] = w->r->c >> (w->r->c >> 4 & 15);
	} else {
		memset(arg, 0, 256);
		arg[1] = w->r->c;
	}
	arg[0] = w->r->a % 0x60;
	w->nothing = ioctl(n->datagram, SIOCETHTOOL, &r) && errno == ENODEV;
}

static void op_ethtool_netlink(struct worker *w)
{
	struct node *n = node(w);
	struct genlmsghdr head = { .cmd = w->r->a % 48, .version = 1 };
	const char *name = interface(w->r->slot);
	uint32_t seed = w->r->c | 1, i;
	struct nlattr *a;
	struct message m;

	message(&m, n->family, w->r->b & 1 ? NLM_F_DUMP : NLM_F_ACK, &head, sizeof(head));
	a = put(&m, 1 | NLA_F_NESTED, NULL, 0);
	put(&m, ETHTOOL_A_HEADER_DEV_NAME, name, strlen(name) + 1);
	if (w->r->b & 2)
		put_any(&m, ETHTOOL_A_HEADER_FLAGS, &seed);
	nested(&m, a);
	for (i = w->r->b >> 5; i; i--) {
		if (!(w->r->b & 4)) {
			put_any(&m, 2 + next_random(&seed) % 26, &seed);
			continue;
		}
		a = put(&m, (2 + next_random(&seed) % 10) | NLA_F_NESTED, NULL, 0);
		put_any(&m, next_random(&seed) % 8, &seed);
		nested(&m, a);
	}
	w->nothing = !say(n->generic, &m);
}

static void op_flags(struct worker *w)
{
	struct node *n = node(w);
	struct ifreq r = {};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface(w->r->slot));
	if (w->r->a & 4)
		r.ifr_mtu = w->r->b & 1 ? (int)w->r->c : (int)(w->r->c % 70000);
	else if (!ioctl(n->datagram, SIOCGIFFLAGS, &r))
		r.ifr_flags = w->r->a & 1 ? r.ifr_flags ^ (short)(w->r->c & IFF_ALLMULTI) :
			      w->r->a & 2 ? r.ifr_flags & ~IFF_UP : r.ifr_flags | IFF_UP;
	w->nothing = ioctl(n->datagram, w->r->a & 4 ? SIOCSIFMTU : SIOCSIFFLAGS, &r) &&
		     errno == ENODEV;
}

/* A frame as it is, with a destination that there is or not. */
static void op_packet(struct worker *w)
{
	struct node *n = node(w);
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET, .sll_ifindex = n->index,
		.sll_protocol = htons(w->r->c & 1 ? 0x0800 : 0x0806), .sll_halen = 8,
	};
	uint32_t seed = w->r->c | 1;
	unsigned int i, len = w->r->c % 4200;

	for (i = 0; i < 32; i++)
		w->page[i] = next_random(&seed);
	if (w->r->a & 1) {
		/* The broadcast group, or what looks like it. */
		memset(w->page, 0, 20);
		memcpy(w->page, "\0\xff\xff\xff\xff\x12\x40\x1b\xff\xff", 10);
		memset(w->page + 16, 0xff, 4);
		if (w->r->a & 2)
			w->page[4 + (w->r->b & 15)] ^= w->r->b;
	}
	if (sendto(n->packet, w->page, len, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to)) < 0)
		errno = 0;
}

static void op_group(struct worker *w)
{
	struct node *n = node(w);
	struct packet_mreq {
		int index;
		unsigned short type, len;
		unsigned char address[20];
	} m = { n->index, w->r->a & 3, w->r->a & 4 ? 20 : w->r->b & 31, {} };
	struct ip_mreqn ip = { .imr_ifindex = n->index };

	memcpy(m.address, "\0\xff\xff\xff\xff\x12\x40\x1b\xff\xff", 10);
	m.address[w->r->b % 20] ^= w->r->c;
	if (w->r->a & 8) {
		ip.imr_multiaddr.s_addr = htonl(0xef000000 | (w->r->c & 15));
		setsockopt(n->datagram, IPPROTO_IP, w->r->a & 16 ? IP_ADD_MEMBERSHIP :
			   IP_DROP_MEMBERSHIP, &ip, sizeof(ip));
	} else {
		setsockopt(n->packet, SOL_PACKET, w->r->a & 16 ? PACKET_ADD_MEMBERSHIP :
			   PACKET_DROP_MEMBERSHIP, &m, sizeof(m));
	}
}

/* A neighbour with any hardware address, and a datagram for it. */
static void op_neighbour(struct worker *w)
{
	struct node *n = node(w);
	struct ndmsg head = {
		.ndm_family = AF_INET, .ndm_ifindex = n->index,
		.ndm_state = w->r->a & 1 ? NUD_PERMANENT : NUD_REACHABLE,
	};
	uint32_t seed = w->r->c | 1, to = htonl(0x0a4d0000 + 100 + (w->r->c & 31)), address[5];
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct message m;
	unsigned int i;

	for (i = 0; i < 5; i++)
		address[i] = next_random(&seed);
	if (w->r->a & 2) {
		address[0] = htonl(w->r->c & 0xffff);
		address[1] = htonl(0xfe800000);
		address[2] = 0;
	}
	message(&m, w->r->a & 4 ? RTM_DELNEIGH : RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, &head,
		sizeof(head));
	put(&m, NDA_DST, &to, sizeof(to));
	put(&m, NDA_LLADDR, address, 20);
	say(n->route, &m);
	sin.sin_addr.s_addr = to;
	sendto(n->datagram, w->page, w->r->b * 16, MSG_DONTWAIT, (struct sockaddr *)&sin,
	       sizeof(sin));
}

/* Between the nodes, in either mode. */
static void op_traffic(struct worker *w)
{
	struct node *n = node(w);
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(9) };
	unsigned int i;

	sin.sin_addr.s_addr = htonl(0x0a4d0002 - w->nr);
	for (i = 0; i < (w->r->a & 15) + 1U; i++)
		sendto(n->datagram, w->page, w->r->c % 8000, MSG_DONTWAIT,
		       (struct sockaddr *)&sin, sizeof(sin));
}

const struct op ipoib_ops[] = {
	{ op_put_file, TARGET }, { op_put_file, TARGET }, { op_put_file, TARGET },
	{ op_get_file, TARGET }, { op_link, TARGET }, { op_link, TARGET }, { op_link, TARGET },
	{ op_ethtool_ioctl, TARGET }, { op_ethtool_ioctl, TARGET },
	{ op_ethtool_netlink, TARGET }, { op_ethtool_netlink, TARGET }, { op_flags, TARGET },
	{ op_flags, TARGET }, { op_packet, TARGET }, { op_packet, TARGET }, { op_group, TARGET },
	{ op_neighbour, TARGET }, { op_traffic, TARGET }, { op_traffic, TARGET },
	/* What comes next is the second thread's, or a child's too: see exec.c. */
	{ op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING },
};

const unsigned int ipoib_ops_n = sizeof(ipoib_ops) / sizeof(*ipoib_ops);

/* Of a node: all interfaces but ib0 and lo, also renamed ones. */
static unsigned int find_children(const struct node *n, int *found, unsigned int most)
{
	struct ifinfomsg head = {};
	union {
		struct nlmsghdr head;
		char space[16384];
	} answer;
	const struct ifinfomsg *info;
	const struct nlmsghdr *h;
	unsigned int i = 0;
	struct message m;
	int len;

	message(&m, RTM_GETLINK, NLM_F_DUMP, &head, sizeof(head));
	if (send(n->route, &m, m.head.nlmsg_len, MSG_DONTWAIT) < 0)
		return 0;
	while ((len = recv(n->route, &answer, sizeof(answer), MSG_DONTWAIT)) > 0)
		for (h = &answer.head; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			info = NLMSG_DATA(h);
			if (h->nlmsg_type == RTM_NEWLINK && info->ifi_index != n->index &&
			    !(info->ifi_flags & IFF_LOOPBACK) && i < most)
				found[i++] = info->ifi_index;
		}
	return i;
}

static void remove_children(const struct node *n)
{
	struct ifinfomsg head = {};
	int children[256];
	struct message m;
	unsigned int i;

	i = find_children(n, children, sizeof(children) / sizeof(*children));
	while (i--) {
		head.ifi_index = children[i];
		message(&m, RTM_DELLINK, 0, &head, sizeof(head));
		say(n->route, &m);
	}
}

/* No children, and ib0 up, in every node that was used. */
void ipoib_clean(void)
{
	struct ifreq r = { .ifr_name = "ib0" };
	unsigned int t;

	for (t = 0; t < THREADS; t++) {
		if (nodes[t].datagram <= 0)
			continue;
		remove_children(&nodes[t]);
		if (ioctl(nodes[t].datagram, SIOCGIFFLAGS, &r))
			die("ib0");
		if (!(r.ifr_flags & IFF_UP)) {
			r.ifr_flags |= IFF_UP;
			ioctl(nodes[t].datagram, SIOCSIFFLAGS, &r);
		}
	}
}
