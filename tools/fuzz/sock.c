// SPDX-License-Identifier: GPL-2.0
/*
 * The operations on TCP sockets with the upper layer protocol "sdp": their calls and options,
 * rules, and the rings of uapi/linux/sdp_ring.h with what hostile programs write there.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sdp.h>
#include <linux/sdp_ring.h>
#include <linux/sdp_sock.h>

#define HEAD_BYTES	4096UL
#define RING_BYTES	(256UL << 10)
#define SHARE_BYTES	(2 * (HEAD_BYTES + RING_BYTES))
#define CONNECTIONS	4	/* of an input */
#define ENDS		4	/* slots of a connection's ends */
#define RINGS		6	/* and of their rings */

static int door = -1;		/* a file of /dev/sdp */
static unsigned int made;
static bool ruled;

int the_door(void)
{
	if (door < 0)
		door = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	return door;
}

/* One of a connection's two from @first on, mostly; or nothing. */
int one_of(struct worker *w, unsigned int first)
{
	unsigned int slot = w->r->slot & 0x40 ? w->r->slot : first + (w->r->slot & 1);
	int fd = slots[slot % SLOTS];

	w->nothing = fd <= 0;
	return fd > 0 ? fd : -1;
}

/* --- sockets ------------------------------------------------------------- */

static socklen_t loopback(struct sockaddr_storage *ss, bool v6)
{
	struct sockaddr_in6 *sin6 = (void *)ss;
	struct sockaddr_in *sin = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	if (v6) {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = in6addr_loopback;
		return sizeof(*sin6);
	}
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return sizeof(*sin);
}

/* By bits of v: the family, and how it gets the ULP, which it may not. */
static int sock_new(unsigned int v)
{
	int mode = v >> 4 & 3;
	int fd = socket(v & 1 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
			v & 4 ? IPPROTO_SDP : 0);

	if (fd < 0)
		return fd;
	if ((v & 6) != 2)
		setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3);
	/* Mostly at once: a thread that waits for all of its bytes seldom gets to the next call. */
	if (v & 0xc0)
		mode = v & 0x40 ? SDP_MODE_NOW : SDP_MODE_ONLY;
	setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, sizeof(mode));
	return fd;
}

static bool connect_both(unsigned int v, int fd[2])
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr *addr = (struct sockaddr *)&ss;
	socklen_t len = loopback(&ss, v & 1);
	int l = sock_new(v & 8 ? v ^ 2 : v);

	fd[0] = sock_new(v);
	fd[1] = -1;
	if (l >= 0 && fd[0] >= 0 && !bind(l, addr, len) && !listen(l, 1) &&
	    !getsockname(l, addr, &len) && !connect(fd[0], addr, len))
		fd[1] = accept4(l, addr, &len, SOCK_CLOEXEC);
	if (l >= 0)
		close(l);
	if (fd[1] < 0 && fd[0] >= 0)
		close(fd[0]);
	return fd[1] >= 0;
}

static void end_address(uint8_t *to, __be16 *port, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const void *)ss;
	const struct sockaddr_in *sin = (const void *)ss;

	/* Both families have it in the same place. */
	*port = sin->sin_port;
	if (ss->ss_family == AF_INET6) {
		memcpy(to, &sin6->sin6_addr, 16);
		return;
	}
	to[10] = 0xff;
	to[11] = 0xff;
	memcpy(to + 12, &sin->sin_addr, 4);
}

static int attach(int fd)
{
	struct sdp_attach arg = { .size = sizeof(arg), .major = SDP_API_MAJOR, .fd = fd };

	return ioctl(the_door(), SDP_IOC_ATTACH, &arg);
}

/* Both ends of a connection on this host, and mostly their rings. */
void op_sock_pair(struct worker *w)
{
	int fd[2], rings, i;

	w->nothing = made >= CONNECTIONS;
	if (w->nothing)
		return;
	made++;
	wake_not(true);
	w->nothing = !connect_both(w->r->a, fd);
	wake_not(false);
	if (w->nothing)
		return;
	for (i = 0; i < 2; i++) {
		if (w->r->b & 1 << i)
			fcntl(fd[i], F_SETFL, O_NONBLOCK);
		if (w->r->c & 3) {
			rings = attach(fd[i]);
			if (rings >= 0)
				map_at(&maps[2 * i], rings, SHARE_BYTES, PROT_READ | PROT_WRITE,
				       MAP_SHARED, 0);
			slot_set(RINGS + i, rings);
		}
		slot_set(ENDS + i, fd[i]);
	}
}

void op_sock_new(struct worker *w)
{
	slot_fill(w, w->r->slot, sock_new(w->r->a));
}

static void connect_to(struct worker *w, int fd)
{
	struct sockaddr_storage ss = {};
	socklen_t len = sizeof(ss);

	if (!getsockname(slots[w->r->c % SLOTS], (struct sockaddr *)&ss, &len))
		(void)connect(fd, (struct sockaddr *)&ss, len);
}

void op_sock_call(struct worker *w)
{
	struct sockaddr_storage ss;
	socklen_t len = loopback(&ss, w->r->b & 1);
	int fd = one_of(w, ENDS);

	switch (w->r->a & 7) {
	case 0:
		(void)shutdown(fd, w->r->b & 3);
		break;
	case 1:
		ss.ss_family = AF_UNSPEC;
		(void)connect(fd, (struct sockaddr *)&ss, len);
		break;
	case 2:
		(void)bind(fd, (struct sockaddr *)&ss, len);
		break;
	case 3:
		(void)listen(fd, w->r->b & 7);
		break;
	case 4:
		slot_fill(w, w->r->c, accept4(fd, (struct sockaddr *)&ss, &len,
					      SOCK_CLOEXEC | SOCK_NONBLOCK));
		break;
	case 5:
		/* MSG_FASTOPEN */
		sendto(fd, w->page, 10, 0x20000000, (struct sockaddr *)&ss, len);
		break;
	default:
		connect_to(w, fd);
	}
}

/* What the gate looks at, what takes another way in sdpdev, and what has a value of its own. */
void call_option(struct worker *w, int fd)
{
	static const struct {
		int level, name;
	} options[] = {
		{ IPPROTO_SDP, SDP_SOCK_MODE }, { IPPROTO_SDP, SDP_SOCK_INFO },
		{ IPPROTO_SDP, SDP_SOCK_MODE }, { IPPROTO_SDP, 3 },
		{ IPPROTO_TCP, TCP_ULP }, { IPPROTO_TCP, TCP_CORK }, { IPPROTO_TCP, TCP_NODELAY },
		{ IPPROTO_TCP, TCP_REPAIR }, { IPPROTO_TCP, TCP_INQ },
		{ IPPROTO_TCP, TCP_NOTSENT_LOWAT }, { IPPROTO_TCP, TCP_USER_TIMEOUT },
		{ IPPROTO_TCP, TCP_FASTOPEN }, { IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
		{ IPPROTO_TCP, TCP_DEFER_ACCEPT }, { IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE },
		{ IPPROTO_TCP, TCP_INFO }, { SOL_SOCKET, SO_LINGER }, { SOL_SOCKET, SO_SNDBUF },
		{ SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_RCVLOWAT },
		{ SOL_SOCKET, SO_RCVTIMEO }, { SOL_SOCKET, SO_SNDTIMEO },
		{ SOL_SOCKET, SO_TIMESTAMPING }, { SOL_SOCKET, SO_ZEROCOPY },
		{ SOL_SOCKET, SO_PEEK_OFF }, { SOL_SOCKET, SO_MAX_PACING_RATE },
		{ SOL_SOCKET, SO_ERROR }, { SOL_SOCKET, SO_OOBINLINE },
	};
	static const char ulps[4][8] = { "sdp", "tls", "sdp-x", "sdp" };
	unsigned int i = w->r->a % (sizeof(options) / sizeof(*options));
	socklen_t len = w->r->b & 0x60 ? 4 : w->r->b & 0x1f;
	uint32_t *value = memory(w, 256);

	if (w->r->b < 0xd0) {
		/* A socket lingers for a second at most. */
		value[0] = w->r->c & 0xff;
		value[1] = w->r->c >> 8 & 1;
		if (options[i].name == TCP_ULP)
			memcpy(value, ulps[w->r->c & 3], sizeof(ulps[0]));
	}
	if (options[i].name == TCP_ULP && options[i].level == IPPROTO_TCP)
		len = len == 4 ? strlen(ulps[w->r->c & 3]) : len;
	else if (options[i].name == SO_LINGER && options[i].level == SOL_SOCKET)
		len = 8;
	if (w->r->c & 0x1000) {
		len = w->r->c & 0x2000 ? 256 : len;
		getsockopt(fd, options[i].level, options[i].name, value, &len);
		return;
	}
	setsockopt(fd, options[i].level, options[i].name, value, len);
}

void op_sock_option(struct worker *w)
{
	call_option(w, one_of(w, ENDS));
}

static const int msg_flags[] = {
	0, MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_ZEROCOPY,
	MSG_PEEK | MSG_WAITALL, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC, MSG_ERRQUEUE, MSG_EOR,
};

static void msg_set(struct worker *w, struct msghdr *msg)
{
	msg->msg_iov = w->iov;
	msg->msg_iovlen = iovs_set(w);
	msg->msg_flags = msg_flags[w->r->a % (sizeof(msg_flags) / sizeof(*msg_flags))];
}

void call_send(struct worker *w, int fd)
{
	struct msghdr msg = {};

	msg_set(w, &msg);
	if (sendmsg(fd, &msg, msg.msg_flags | MSG_NOSIGNAL) < 0)
		return;
}

void op_sock_send(struct worker *w)
{
	call_send(w, one_of(w, ENDS));
}

void call_recv(struct worker *w, int fd)
{
	struct msghdr msg = {};

	msg_set(w, &msg);
	if (w->r->b & 4) {
		msg.msg_control = w->page;
		msg.msg_controllen = 200;
	}
	if (recvmsg(fd, &msg, msg.msg_flags) < 0)
		return;
}

void op_sock_recv(struct worker *w)
{
	call_recv(w, one_of(w, ENDS));
}

/* --- /dev/sdp ------------------------------------------------------------ */

void op_rule(struct worker *w)
{
	struct sdp_rule arg = {
		.size = sizeof(arg), .scope = w->r->a >> 4 == 15 ? w->r->a & 3 : 0,
		.verdict = w->r->c % 5, .calls = w->r->c >> 4 & 3 ?: 3,
	};

	if (arg.verdict == SDP_RULE_NONE)
		arg.calls = 0;
	if (w->r->c & 0x100)
		arg.ports[w->r->c >> 9 & 7] = (struct sdp_ports){ w->r->c >> 16, 65535 };
	ruled = true;
	call_on(w, the_door(), SDP_IOC_RULE, &arg, sizeof(arg));
}

/* The connection of an end, mostly, and others that there are not. */
void op_ctl(struct worker *w)
{
	struct sdp_ctl_end *ends = memory(w, 3 * sizeof(*ends)), *end = &ends[1];
	struct sdp_ctl arg = {
		.size = sizeof(arg), .command = w->r->b & 3, .flags = w->r->c >> 2 & 3,
		.count = w->r->b >> 4 & 3, .ends = (uintptr_t)ends, .end_size = sizeof(*ends),
	};
	struct sockaddr_storage local, peer;
	socklen_t len = sizeof(local), cookie = sizeof(ends->cookie);
	int fd = one_of(w, ENDS);

	memset(ends, 0, 2 * sizeof(*ends));
	/* The descriptor may be no socket. */
	memset(&local, 0, sizeof(local));
	memset(&peer, 0, sizeof(peer));
	getsockopt(fd, SOL_SOCKET, SO_COOKIE, &ends[0].cookie, &cookie);
	getsockname(fd, (struct sockaddr *)&local, &len);
	len = sizeof(peer);
	getpeername(fd, (struct sockaddr *)&peer, &len);
	end_address(ends[0].local, &ends[0].local_port, &local);
	end_address(ends[0].peer, &ends[0].peer_port, &peer);
	*end = ends[0];
	end->cookie ^= w->r->c & 1;
	end->reserved = w->r->c & 2;
	call_on(w, the_door(), SDP_IOC_CTL, &arg, sizeof(arg));
}

void op_attach(struct worker *w)
{
	struct sdp_attach arg = {
		.size = sizeof(arg), .major = SDP_API_MAJOR, .fd = one_of(w, ENDS),
	};

	slot_fill(w, w->r->a, call_on(w, the_door(), SDP_IOC_ATTACH, &arg, sizeof(arg)));
}

/* --- rings --------------------------------------------------------------- */

/* Mostly as it has to be. */
void op_share_mmap(struct worker *w)
{
	size_t len = w->r->b >= 0xf0 ? w->r->c & 0xfffff : SHARE_BYTES;

	map_at(&maps[w->r->a % MAPS], one_of(w, RINGS), len ?: 4096,
	       w->r->b >= 0xe0 ? w->r->b & 7 : PROT_READ | PROT_WRITE,
	       w->r->b >= 0xd0 ? MAP_PRIVATE : MAP_SHARED, w->r->b >= 0xf8 ? 4096 : 0);
}

void op_ring_call(struct worker *w)
{
	unsigned long arg = w->r->b >= 0xf0 ? w->r->c : w->r->b & 3;

	ioctl(one_of(w, RINGS), w->r->a & 1 ? SDP_RING_OPEN : SDP_RING_KICK, arg);
}

bool map_is_share(const struct map *m)
{
	return m->at && m->len == SHARE_BYTES;
}

/* The head of the ring to send into, or of the other one. */
static struct sdp_shared *head_of(const struct map *m, bool rx)
{
	return (struct sdp_shared *)(m->at + rx * HEAD_BYTES);
}

static void put(struct sdp_shared *s, uint32_t n)
{
	__u64 head;

	__atomic_store_n(&s->busy, 1, __ATOMIC_SEQ_CST);
	head = __atomic_load_n(&s->head, __ATOMIC_RELAXED);
	if (!(head & SDP_RING_CLOSED))
		__atomic_compare_exchange_n(&s->head, &head, head + n, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	__atomic_store_n(&s->busy, 0, __ATOMIC_SEQ_CST);
}

static void take(struct sdp_shared *s)
{
	__u64 tail = __atomic_load_n(&s->tail, __ATOMIC_RELAXED);
	__u64 head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE) & ~SDP_RING_CLOSED;

	if (!(tail & SDP_RING_CLOSED))
		__atomic_compare_exchange_n(&s->tail, &tail, head, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
}

/* A program that sends and receives as it should, but for what it sends. */
void op_share_put(struct worker *w)
{
	const struct map *m = &maps[w->r->slot % MAPS];

	if (!map_is_share(m))
		return;
	if (w->r->a & 1)
		take(head_of(m, true));
	else
		put(head_of(m, false), w->r->b >= 0xf0 ? w->r->c : w->r->c & 0x3fff);
}

/* Values near what is right do more harm than those far from it. */
void share_scribble(const struct map *m, uint32_t r)
{
	struct sdp_shared *s = head_of(m, r & 128);
	__u64 *index = r & 64 ? &s->head : &s->tail;
	__u64 was = __atomic_load_n(index, __ATOMIC_RELAXED);

	switch (scribbling) {
	case 1:
		was += r >> 8 & 63;
		break;
	case 2:
		was = (r & 256 ? s->head : s->tail) & ~SDP_RING_CLOSED;
		break;
	case 3:
		was -= 1;
		break;
	case 4:
		was = (uint64_t)r << (r >> 8 & 31);
		break;
	case 5:
		s->want_data = r;
		s->want_room = r >> 1;
		s->limit = r;
		s->busy = r & 0x300 ? 0 : r;
		return;
	case 6:
		was ^= SDP_RING_CLOSED;
		break;
	default:
		m->at[2 * HEAD_BYTES + r % (2 * RING_BYTES)] = r;
		return;
	}
	__atomic_store_n(index, was, __ATOMIC_RELAXED);
}

/* As before an input. */
void socks_clean(void)
{
	struct sdp_rule none = { .size = sizeof(none) };

	made = 0;
	if (ruled)
		ioctl(the_door(), SDP_IOC_RULE, &none);
	ruled = false;
}
