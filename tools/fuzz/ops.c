// SPDX-License-Identifier: GPL-2.0
/*
 * The operations that the ioctls of uapi/linux/sdp.h are: right ones, and with
 * any field wrong.  The rest is in stream.c.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/sdp.h>

int slots[SLOTS], listener = -1, passing[2] = { -1, -1 }, pipes[2] = { -1, -1 };
int epoll = -1, disk = -1;
bool passed, piped, polled;

/* Other descriptors there go with it. */
void slot_set(unsigned int slot, int fd)
{
	int old;

	if (fd < 0)
		return;
	old = __atomic_exchange_n(&slots[slot % SLOTS], fd, __ATOMIC_RELAXED);
	if (old > 0)
		close(old);
}

/* Mostly not in place of a connection with the standing listener (pair.c). */
static unsigned int spared(const struct worker *w, unsigned int slot)
{
	return (w->r->c & 0xf000 ? slot | SLOTS / 2 : slot) % SLOTS;
}

void slot_fill(const struct worker *w, unsigned int slot, int fd)
{
	slot_set(spared(w, slot), fd);
}

/* The other thread may have closed it meanwhile: no such descriptor then. */
int slot_get(const struct worker *w)
{
	int fd = slots[w->r->slot % SLOTS];

	return fd > 0 ? fd : 9999;
}

/*
 * Memory for LEN bytes, by the record's b: good, reaching behind the end of what
 * is there, in a ring, or nowhere.
 */
void *memory(struct worker *w, size_t len)
{
	unsigned char *end = w->page + 2 * ANY_MEMORY;
	const struct map *m = &maps[w->r->slot % MAPS];

	if (len > 2 * ANY_MEMORY)
		len = 2 * ANY_MEMORY;
	switch (w->r->b >> 4) {
	case 15:
		return NULL;
	case 14:
		return (void *)0xffff888000001000UL;
	case 13:
		return end - len / 2;
	case 12:
		return m->at ? m->at + (w->r->c & 0xff8) : w->page;
	case 11:
		return m->at ? m->at + m->len - len : w->page;
	default:
		return end - len;
	}
}

/* Makes an argument wrong, by the record's b, and passes it. */
int call_on(struct worker *w, int fd, unsigned int cmd, const void *arg, unsigned int size)
{
	unsigned char *to = memory(w, size);
	unsigned int words = size / 4;
	uint32_t value = w->r->c;

	/* In the memory of the kernel and at NULL nothing can be written. */
	if (w->r->b < 0xd0) {
		memcpy(to, arg, size);
		if ((w->r->b & 0xf) == 15)
			memcpy(to + value % words * 4, &value, 4);
		else if ((w->r->b & 0xf) == 14)
			to[(value >> 8) % size] ^= value;
		else if ((w->r->b & 0xf) == 13)
			*(uint32_t *)to = value % 8192;
	} else if (w->r->b < 0xe0) {
		memcpy(to, arg, size / 2);
	}
	return w->r->slot & BY_URING ? uring_ioctl(fd, cmd, to) : ioctl(fd, cmd, to);
}

static int call(struct worker *w, unsigned int cmd, const void *arg, unsigned int size)
{
	return call_on(w, slot_get(w), cmd, arg, size);
}

#define CALL(w, cmd, arg) call(w, cmd, &(arg), sizeof(arg))

static const char *const addresses[] = {
	"10.77.0.2", "10.77.0.1", "0.0.0.0", "127.0.0.1", "10.77.0.9", "224.0.0.1",
	"255.255.255.255", "192.0.2.1",
};

static const char *const addresses6[] = {
	"fd77::2", "fd77::1", "::", "::1", "fe80::1", "ff02::1", "::ffff:10.77.0.2",
	"2001:db8::1",
};

/* By bits of v: family, which address, which port. */
unsigned int endpoint_address(struct __kernel_sockaddr_storage *ss, unsigned int v)
{
	static const uint16_t ports[] = { PORT, PORT + 1, PORT + 2, 0, 7, PORT + 1, 40000, PORT };
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (v & 64) {
		sin6->sin6_family = v & 128 ? AF_INET6 : v >> 8;
		sin6->sin6_port = htons(ports[v >> 3 & 7]);
		sin6->sin6_scope_id = v >> 16 & 3;
		inet_pton(AF_INET6, addresses6[v & 7], &sin6->sin6_addr);
		return sizeof(*sin6);
	}
	sin->sin_family = AF_INET;
	sin->sin_port = htons(ports[v >> 3 & 7]);
	inet_pton(AF_INET, addresses[v & 7], &sin->sin_addr);
	return sizeof(*sin);
}

int endpoint(unsigned int family, unsigned int flags, bool nonblock)
{
	struct sdp_init init = {
		.size = sizeof(init), .flags = flags, .major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR, .family = family,
	};
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC | (nonblock ? O_NONBLOCK : 0));

	if (fd >= 0 && ioctl(fd, SDP_IOC_INIT, &init)) {
		close(fd);
		return -1;
	}
	return fd;
}

int listen_somewhere(unsigned int port)
{
	struct sdp_bind bind = { .size = sizeof(bind), .addr_len = sizeof(struct sockaddr_in) };
	struct sdp_listen listen = { .size = sizeof(listen), .backlog = 16 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = endpoint(AF_INET, 0, true);

	memcpy(&bind.addr, &sin, sizeof(sin));
	if (fd < 0 || ioctl(fd, SDP_IOC_BIND, &bind) || ioctl(fd, SDP_IOC_LISTEN, &listen))
		die("listen");
	return fd;
}

static void op_open(struct worker *w)
{
	unsigned int a = w->r->a;

	slot_fill(w, w->r->slot, endpoint(a & 1 ? AF_INET6 : AF_INET, a >> 1 & 1, a & 12));
}

static void op_open_bare(struct worker *w)
{
	slot_fill(w, w->r->slot, open(SDP_DEVICE_PATH,
				      w->r->a & 1 ? O_RDONLY : O_RDWR | O_NONBLOCK));
}

static void op_init(struct worker *w)
{
	struct sdp_init init = {
		.size = sizeof(init), .flags = w->r->a & 1, .major = SDP_API_MAJOR,
		.family = w->r->a & 2 ? AF_INET6 : AF_INET,
	};

	CALL(w, SDP_IOC_INIT, init);
}

static void op_close(struct worker *w)
{
	int fd = __atomic_exchange_n(&slots[spared(w, w->r->slot)], 0, __ATOMIC_RELAXED);

	if (fd > 0)
		close(fd);
	else
		w->nothing = true;
}

static void op_dup(struct worker *w)
{
	slot_fill(w, w->r->a, fcntl(slot_get(w), F_DUPFD_CLOEXEC, 3));
}

static void op_bind(struct worker *w)
{
	struct sdp_bind arg = { .size = sizeof(arg) };

	arg.addr_len = endpoint_address(&arg.addr, w->r->c);
	CALL(w, SDP_IOC_BIND, arg);
}

static void op_listen(struct worker *w)
{
	struct sdp_listen arg = { .size = sizeof(arg), .backlog = (int8_t)w->r->a,
				  .flags = w->r->c & 3 };

	CALL(w, SDP_IOC_LISTEN, arg);
}

static void op_accept(struct worker *w)
{
	struct sdp_accept arg = { .size = sizeof(arg), .flags = w->r->c & 3 };

	slot_fill(w, w->r->a, CALL(w, SDP_IOC_ACCEPT, arg));
}

static void op_connect(struct worker *w)
{
	struct sdp_connect arg = { .size = sizeof(arg), .flags = w->r->a & 3 };

	arg.addr_len = endpoint_address(&arg.addr, w->r->c);
	CALL(w, SDP_IOC_CONNECT, arg);
}

/* Mostly a descriptor of the same slot that is not part of a connection of pair.c. */
static void op_shutdown(struct worker *w)
{
	struct sdp_shutdown arg = { .size = sizeof(arg), .how = w->r->a & 3 };
	const struct record *was = w->r;
	struct record r = *was;

	if (r.c & 0x3000)
		r.slot |= SLOTS / 2;
	w->nothing = slots[r.slot % SLOTS] <= 0;
	if (w->nothing)
		return;
	w->r = &r;
	CALL(w, SDP_IOC_SHUTDOWN, arg);
	w->r = was;
}

static const unsigned int sizes[] = { 1, 16, 400, 4096, 8192, 0, 65536, 7 };

/* Three pieces of memory, one behind the other, and maybe one of no good.  Returns how many. */
unsigned int iovs_set(struct worker *w)
{
	struct iovec *iov = w->iov;
	unsigned int c = w->r->c, i;

	for (i = 0; i < IOVS; i++, c >>= 3) {
		iov[i].iov_len = sizes[c & 7];
		iov[i].iov_base = w->page;
	}
	if (w->r->b & 1)
		iov[2].iov_base = (void *)(uintptr_t)(c & 1 ? 0 : -4096UL);
	if (w->r->b & 2)
		iov[1].iov_base = maps[w->r->slot % MAPS].at;
	return (w->r->c >> 12 & 63) == 63 ? 2000 : w->r->c >> 12 & 3;
}

static void msg_args(struct worker *w, struct sdp_msg *arg)
{
	arg->size = sizeof(*arg);
	arg->iov_len = iovs_set(w);
	arg->iov = (uintptr_t)w->iov;
}

static void op_send(struct worker *w)
{
	static const unsigned int flags[] = {
		0, MSG_DONTWAIT, MSG_MORE, MSG_OOB, MSG_EOR, MSG_NOSIGNAL | MSG_OOB,
		MSG_DONTWAIT | MSG_OOB, MSG_PEEK,
	};
	struct sdp_msg arg = { .flags = flags[w->r->a & 7] };

	msg_args(w, &arg);
	CALL(w, SDP_IOC_SEND, arg);
}

static void op_recv(struct worker *w)
{
	static const unsigned int flags[] = {
		MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB, MSG_ERRQUEUE,
		MSG_PEEK | MSG_OOB, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC,
	};
	struct sdp_msg arg = { .flags = flags[w->r->a & 7] };

	msg_args(w, &arg);
	if (w->r->b & 4) {
		arg.control = w->r->b & 8 ? (uintptr_t)w->page : -4096UL;
		arg.control_len = sizes[w->r->b >> 4 & 7];
	}
	CALL(w, SDP_IOC_RECV, arg);
}

static void op_info(struct worker *w)
{
	struct sdp_info arg = { .size = sizeof(arg) };

	CALL(w, SDP_IOC_INFO, arg);
}

static void op_error(struct worker *w)
{
	struct sdp_error arg = { .size = sizeof(arg) };

	CALL(w, SDP_IOC_ERROR, arg);
}

static void op_native(struct worker *w)
{
	struct sdp_native arg = { .size = sizeof(arg) };

	slot_fill(w, w->r->a, CALL(w, SDP_IOC_NATIVE, arg));
}

/* Mostly its own descriptor, which becomes a socket where TCP carries the connection. */
static void op_replace(struct worker *w)
{
	struct sdp_replace arg = {
		.size = sizeof(arg),
		.fd = w->r->c & 0xf0 ? slot_get(w) : slots[w->r->c % SLOTS],
	};

	CALL(w, SDP_IOC_REPLACE, arg);
}

static void op_ring_setup(struct worker *w)
{
	struct sdp_ring_setup arg = { .size = sizeof(arg) };

	arg.tx_bytes = SDP_RING_MIN << (w->r->a & 3);
	arg.rx_bytes = SDP_RING_MIN << (w->r->a >> 2 & 3);
	if (w->r->a >> 4 == 15)
		arg.tx_bytes = w->r->c;
	CALL(w, SDP_IOC_RING_SETUP, arg);
}

static void op_ring_enter(struct worker *w)
{
	struct sdp_ring_enter arg = { .size = sizeof(arg), .flags = w->r->a & 15 };

	CALL(w, SDP_IOC_RING_ENTER, arg);
}

/* Any number, and anything as its argument. */
static void op_raw(struct worker *w)
{
	unsigned int i, cmd = _IO(SDP_IOC_MAGIC, w->r->a & 15);
	uint32_t *arg = (uint32_t *)w->page, seed = w->r->c | 1;
	int ret;

	for (i = 0; i < 128; i++)
		arg[i] = w->r->b & 1 ? next_random(&seed) : 0;
	arg[0] = w->r->c & 0x1ff;
	if (w->r->a >= 0xe0)
		cmd = w->r->c;
	ret = ioctl(slot_get(w), cmd, w->r->b >= 0xf0 ? (void *)(uintptr_t)w->r->c : arg);
	/* A descriptor */
	if (_IOC_NR(cmd) == _IOC_NR(SDP_IOC_ACCEPT) || _IOC_NR(cmd) == _IOC_NR(SDP_IOC_NATIVE))
		slot_fill(w, w->r->slot, ret);
}

/* What comes next is the second thread's, or a child's too: see exec.c. */
void op_none(struct worker *w)
{
	(void)w;
}

/* More often than others: what others need. */
static const struct op ops[] = {
	{ op_pair, TARGET }, { op_pair, TARGET }, { op_open, TARGET }, { op_open, TARGET },
	{ op_open_bare, TARGET }, { op_init, DESCRIPTOR }, { op_close, TARGET },
	{ op_dup, DESCRIPTOR }, { op_bind, DESCRIPTOR }, { op_listen, DESCRIPTOR },
	{ op_listen, DESCRIPTOR }, { op_accept, DESCRIPTOR }, { op_accept, DESCRIPTOR },
	{ op_connect, DESCRIPTOR }, { op_connect, DESCRIPTOR }, { op_shutdown, DESCRIPTOR },
	{ op_send, DESCRIPTOR }, { op_send, DESCRIPTOR }, { op_send, DESCRIPTOR },
	{ op_recv, DESCRIPTOR }, { op_recv, DESCRIPTOR }, { op_ctl, TARGET },
	{ op_info, DESCRIPTOR }, { op_error, DESCRIPTOR }, { op_native, DESCRIPTOR },
	{ op_ring_setup, DESCRIPTOR }, { op_ring_setup, DESCRIPTOR },
	{ op_ring_enter, DESCRIPTOR }, { op_ring_enter, DESCRIPTOR },
	{ op_ring_enter, DESCRIPTOR }, { op_raw, DESCRIPTOR }, { op_ring_put, NOTHING },
	{ op_ring_put, NOTHING }, { op_scribble, NOTHING }, { op_read, DESCRIPTOR },
	{ op_write, DESCRIPTOR }, { op_splice, DESCRIPTOR }, { op_sendfile, DESCRIPTOR },
	{ op_mmap, DESCRIPTOR }, { op_mmap, DESCRIPTOR }, { op_munmap, MAPPING },
	{ op_remap, MAPPING }, { op_poll, DESCRIPTOR }, { op_replace, DESCRIPTOR },
	{ op_pass, NOTHING }, { op_take, NOTHING }, { op_epoll, DESCRIPTOR },
	{ op_fcntl, DESCRIPTOR }, { op_option, DESCRIPTOR }, { op_socket_ioctl, DESCRIPTOR },
	{ op_proc, TARGET },
	/* sock.c */
	{ op_sock_pair, TARGET }, { op_sock_pair, TARGET }, { op_sock_pair, TARGET },
	{ op_sock_new, TARGET }, { op_sock_call, TARGET }, { op_sock_call, TARGET },
	{ op_sock_option, TARGET }, { op_sock_option, TARGET },
	{ op_sock_send, TARGET }, { op_sock_send, TARGET },
	{ op_sock_recv, TARGET }, { op_sock_recv, TARGET }, { op_rule, TARGET },
	{ op_attach, TARGET }, { op_share_mmap, TARGET },
	{ op_ring_call, TARGET }, { op_ring_call, TARGET }, { op_share_put, NOTHING },
	{ op_share_put, NOTHING },
	/* From here on see exec.c. */
	{ op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING }, { op_none, NOTHING },
};

static const struct op *table = ops;
static unsigned int table_n = sizeof(ops) / sizeof(*ops);

unsigned int op_kind(const struct record *r)
{
	return r->op % table_n;
}

bool op_is_async(const struct record *r)
{
	return op_kind(r) >= table_n - 4 && op_kind(r) < table_n - 1;
}

bool op_is_fork(const struct record *r)
{
	return r->op == table_n - 1;
}

bool op_run(struct worker *w, const struct record *r)
{
	const struct op *op = &table[op_kind(r)];

	if ((op->needs == DESCRIPTOR && slots[r->slot % SLOTS] <= 0) ||
	    (op->needs == MAPPING && !maps[r->a % MAPS].at))
		return false;
	w->r = r;
	w->nothing = op->needs == NOTHING;
	op->fn(w);
	return !w->nothing;
}

void ops_of_ipoib(void)
{
	table = ipoib_ops;
	table_n = ipoib_ops_n;
}

static void renew_pair(int fd[2], bool sockets)
{
	if (fd[0] >= 0) {
		close(fd[0]);
		close(fd[1]);
	}
	if (sockets ? socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd) :
		      pipe2(fd, O_NONBLOCK))
		die("pair of descriptors");
}

/* Nobody took them. */
static void empty_listener(void)
{
	struct sdp_accept accept = { .size = sizeof(accept) };
	int fd;

	while (listener >= 0 && (fd = ioctl(listener, SDP_IOC_ACCEPT, &accept)) >= 0)
		close(fd);
}

/* As before an input. */
void ops_clean(void)
{
	unsigned int i;
	int fd;

	if (table == ipoib_ops)
		ipoib_clean();
	uring_clean();
	socks_clean();
	for (i = 0; i < MAPS; i++)
		if (maps[i].at) {
			munmap(maps[i].at, maps[i].len);
			maps[i].at = NULL;
		}
	pairs_keep();
	for (i = 0; i < SLOTS; i++) {
		fd = slots[i];
		slots[i] = 0;
		if (fd > 0)
			close(fd);
	}
	empty_listener();
	if (passing[0] < 0 || passed)
		renew_pair(passing, true);
	if (pipes[0] < 0 || piped)
		renew_pair(pipes, false);
	if (epoll >= 0 && polled) {
		close(epoll);
		epoll = -1;
	}
	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	passed = false;
	piped = false;
	polled = false;
	if (disk < 0) {
		disk = memfd_create("fuzz", MFD_CLOEXEC);
		if (disk < 0 || ftruncate(disk, 1 << 20))
			die("memory");
	}
	if (epoll < 0)
		die("descriptors");
}
