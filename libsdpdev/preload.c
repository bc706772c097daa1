// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The preload library: an unmodified program's socket calls, on /dev/sdp where
 * the descriptor is an endpoint.
 *
 * It keeps no record of descriptors but for the rings of some (fast.c).  A call is
 * tried on the kind of file that the descriptor most likely is, and where that was
 * wrong the kernel says so and the other kind is tried.  So dup(), fork(), exec(),
 * descriptors received over UNIX sockets and everything else that makes or unmakes
 * descriptors needs no wrapper, and poll() and the like reach the kernel untouched.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <limits.h>
#include <linux/sdp_sock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fast.h"
#include "internal.h"
#include "next.h"
#include "policy.h"
#include "refuse.h"
#include "say.h"

#define OTHER		0
#define ENDPOINT	1
#define TCP_ENDPOINT	2	/* carried by TCP: there will be no rings */

/*
 * What descriptors were when last seen.  May be wrong at any time, for the whole
 * table as for an entry that several descriptors share; that costs a system call,
 * or the rings.
 */
static unsigned char hints[1U << 16];

static unsigned char *hint_of(int fd)
{
	return &hints[(unsigned int)fd % sizeof(hints)];
}

/* Without order: nothing is found by a hint that the kernel does not check. */
static unsigned char hint(int fd)
{
	return __atomic_load_n(hint_of(fd), __ATOMIC_RELAXED);
}

static void set_hint(int fd, unsigned char what)
{
	if (fd >= 0 && hint(fd) != what)
		__atomic_store_n(hint_of(fd), what, __ATOMIC_RELAXED);
}

static bool is_endpoint(int fd)
{
	struct sdp_info info;

	/* A file of /dev/sdp that is no endpoint yet is no socket either. */
	return !sdp_info(fd, &info);
}

/* After a failed call on an endpoint: whether there was none. */
static bool was_no_endpoint(int fd)
{
	int error = errno;

	switch (error) {
	case ENOTTY:	/* what nearly every other file says to our ioctls */
	case EFAULT:	/* found by the library, before it has asked the kernel */
	case EINVAL:
	case ENOTCONN:	/* what a file of /dev/sdp says that is no endpoint yet */
	case EOPNOTSUPP:
		if (is_endpoint(fd))
			break;
		set_hint(fd, OTHER);
		return true;
	}
	errno = error;
	return false;
}

/* After a failed call on a socket: whether it was an endpoint instead. */
static bool was_endpoint(int fd)
{
	int error = errno;

	if (error != ENOTSOCK)
		return false;
	if (is_endpoint(fd)) {
		set_hint(fd, ENDPOINT);
		return true;
	}
	errno = error;
	return false;
}

/*
 * Makes one call on whichever kind of file @fd is.  A call that succeeds leaves
 * errno alone, as a single system call does.
 */
#define ON(fd, endpoint_call, socket_call)				\
({									\
	int errno_before = errno;					\
	__typeof__(socket_call) result;					\
									\
	if (hint(fd)) {							\
		result = (endpoint_call);				\
		if (result < 0 && was_no_endpoint(fd))			\
			result = (socket_call);				\
	} else {							\
		result = (socket_call);					\
		if (result < 0 && was_endpoint(fd))			\
			result = (endpoint_call);			\
	}								\
	if (result >= 0)						\
		errno = errno_before;					\
	result;								\
})

__attribute__((constructor))
static void preload_init(void)
{
	char file[PATH_MAX];
	const char *error;
	int saved = errno;
	ssize_t n;

	next_find();
	sdp_forget_runtime();
	say_init();
	n = readlink("/proc/self/exe", file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	error = policy_read(program_invocation_short_name, file);
	if (error)
		say("%s%s", error, policy_unknown() ? "; TCP is refused" : "");
	error = fast_init();
	if (error)
		say("%s; there are no rings", error);
	errno = saved;
}

/* --- making and connecting ----------------------------------------------- */

/* SDP or nothing, whatever the rules say. */
static int socket_offload(int type, int protocol)
{
	int fd;

	/* Let the kernel say what is wrong with the rest. */
	if (!policy_is_tcp(AF_INET, type, protocol))
		return NEXT(socket)(AF_INET_OFFLOAD, type, protocol);
	fd = sdp_socket(AF_INET_OFFLOAD, type & (SOCK_NONBLOCK | SOCK_CLOEXEC));
	set_hint(fd, ENDPOINT);
	return fd;
}

/* A rule of the kernel's may give sockets the ULP "sdp"; with this mode it moves nothing. */
static void stay_with_tcp(int fd)
{
	const int never = SDP_MODE_NEVER, saved = errno;

	if (!NEXT(setsockopt)(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3))
		NEXT(setsockopt)(fd, IPPROTO_SDP, SDP_SOCK_MODE, &never, sizeof(never));
	errno = saved;
}

static int make_socket(int family, int type, int protocol)
{
	const bool direct = family == AF_INET_DIRECT;
	int fd, saved = errno;

	if (family == AF_INET_OFFLOAD)
		return socket_offload(type, protocol);
	if (policy_unknown() &&
	    (direct || policy_is_tcp(family, type, protocol)))
		return sdp_fail(EACCES);
	if (direct) {
		family = AF_INET;
	} else if (policy_wants(family, type, protocol)) {
		fd = sdp_socket(family, type & (SOCK_NONBLOCK | SOCK_CLOEXEC));
		set_hint(fd, ENDPOINT);
		if (fd < 0 && !policy_may_fall_back())
			return fd;
		if (fd < 0)
			say_no_endpoint(errno);
		errno = saved;
		if (fd >= 0)
			return fd;
	}
	fd = NEXT(socket)(family, type, protocol);
	if (direct && fd >= 0 && policy_is_tcp(AF_INET, type, protocol))
		stay_with_tcp(fd);
	set_hint(fd, OTHER);
	return fd;
}

__public int socket(int family, int type, int protocol)
{
	int fd = make_socket(family, type, protocol);

	fast_new(fd);
	return fd;
}

__public int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	return ON(fd, sdp_bind(fd, addr.__sockaddr__, len),
		  NEXT(bind)(fd, addr.__sockaddr__, len));
}

static int listen_endpoint(int fd, int backlog)
{
	const struct conf_rule *rule;
	unsigned int carriers;
	struct sdp_info info;

	if (sdp_info(fd, &info))
		return -1;
	carriers = policy_carriers(CONF_LISTEN, (struct sockaddr *)&info.local,
				   info.local_len, &rule);
	say_rule(fd, policy_conf(), rule);
	return sdp_listen_carriers(fd, backlog, carriers);
}

static int listen_socket(int fd, int backlog)
{
	return refuse_listener(fd) ? -1 : NEXT(listen)(fd, backlog);
}

__public int listen(int fd, int backlog)
{
	return ON(fd, listen_endpoint(fd, backlog), listen_socket(fd, backlog));
}

static int accept_endpoint(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	unsigned int carrier;
	int ret;

	ret = sdp_accept_carrier(fd, addr, len, flags, &carrier);
	if (ret >= 0) {
		set_hint(ret, carrier == SDP_CARRIER_SDP ? ENDPOINT : OTHER);
		say_accepted(fd, ret, carrier);
	}
	return ret;
}

/*
 * The number may have been an endpoint's.  A listener that came from elsewhere may be one
 * that a rule refuses: its connections end here, as if their peers had given up.
 */
static int accepted_socket(int listener, int fd)
{
	if (fd < 0)
		return fd;
	set_hint(fd, OTHER);
	if (!refuse_listener(listener))
		return fd;
	NEXT(close)(fd);
	return sdp_fail(ECONNABORTED);
}

__public int accept(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	int ret = ON(fd, accept_endpoint(fd, addr.__sockaddr__, len, 0),
		     accepted_socket(fd, NEXT(accept)(fd, addr.__sockaddr__, len)));

	fast_new(ret);
	return ret;
}

__public int accept4(int fd, __SOCKADDR_ARG addr, socklen_t *len, int flags)
{
	int ret = ON(fd, accept_endpoint(fd, addr.__sockaddr__, len, flags),
		     accepted_socket(fd, NEXT(accept4)(fd, addr.__sockaddr__, len, flags)));

	fast_new(ret);
	return ret;
}

static int connect_endpoint(int fd, const struct sockaddr *addr, socklen_t len,
			    unsigned int flags)
{
	const struct conf_rule *rule;
	unsigned int carriers;
	int ret;

	if (sdp_check_addr(addr, len))
		return -1;
	carriers = policy_carriers(CONF_CONNECT, addr, len, &rule);
	ret = sdp_connect(fd, addr, len, carriers | flags);

	/* It is taken apart: there is no carrier to tell of. */
	if (addr && len >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC)
		return ret;
	say_rule(fd, policy_conf(), rule);
	say_connect(fd, ret);
	return ret;
}

/*
 * Where TCP carries the connection for good the descriptor becomes its socket, unless
 * something hangs on the endpoint.  Other threads may do with the descriptor what they
 * like meanwhile, and close it: the kernel replaces that of the endpoint only that the
 * call reaches, whose ever it is by then.
 */
static void leave_to_tcp(int fd)
{
	int saved = errno;

	if (!sdp_replace(fd))
		set_hint(fd, OTHER);
	else if (errno == EBUSY)
		set_hint(fd, TCP_ENDPOINT);
	else
		set_hint(fd, is_endpoint(fd) ? ENDPOINT : OTHER);
	errno = saved;
}

static int connect_or_leave(int fd, const struct sockaddr *addr, socklen_t len)
{
	int ret = connect_endpoint(fd, addr, len, 0);

	if (!ret || errno == EINPROGRESS)
		leave_to_tcp(fd);
	return ret;
}

static int connect_socket(int fd, const struct sockaddr *addr, socklen_t len)
{
	return refuse(fd, CONF_CONNECT, addr, len) ? -1 : NEXT(connect)(fd, addr, len);
}

__public int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	return ON(fd, connect_or_leave(fd, addr.__sockaddr__, len),
		  connect_socket(fd, addr.__sockaddr__, len));
}

__public int shutdown(int fd, int how)
{
	return ON(fd, sdp_shutdown(fd, how), NEXT(shutdown)(fd, how));
}

/* --- sending ------------------------------------------------------------- */

/* What sdp_send() comes to where there are no flags. */
__public ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t ret;

	if (hint(fd) != ENDPOINT)
		return NEXT(write)(fd, buf, n);
	if (fast_send(fd, buf, n, 0))
		return n;
	if (fast_always(fd) && fast_send(fd, buf, n, 0))
		return n;
	ret = NEXT(write)(fd, buf, n);
	if (fast_sent(fd, buf, n, ret))
		leave_to_tcp(fd);
	return ret;
}

static ssize_t send_endpoint(int fd, const void *buf, size_t n, int flags)
{
	bool rings = hint(fd) != TCP_ENDPOINT;
	ssize_t ret;

	if (rings && fast_always(fd) && fast_send(fd, buf, n, flags))
		return n;
	/* Not write(), which works on what is no socket. */
	ret = sdp_send(fd, buf, n, flags);
	if (rings && !(flags & ~FAST_FLAGS) && fast_sent(fd, buf, n, ret))
		leave_to_tcp(fd);
	return ret;
}

__public ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	if (hint(fd) == ENDPOINT && fast_send(fd, buf, n, flags))
		return n;
	return ON(fd, send_endpoint(fd, buf, n, flags), NEXT(send)(fd, buf, n, flags));
}

/* MSG_FASTOPEN connects, so the rules for that apply. */
static ssize_t sendmsg_endpoint(int fd, const struct msghdr *msg, int flags)
{
	if (!(flags & MSG_FASTOPEN))
		return sdp_sendmsg(fd, msg, flags);
	if (!sdp_can_read(msg, sizeof(*msg)))
		return sdp_fail(EFAULT);
	if (sdp_check_fastopen(msg) ||
	    connect_endpoint(fd, msg->msg_name, msg->msg_namelen,
			     (flags & MSG_DONTWAIT) ? SDP_CONNECT_NONBLOCK : 0))
		return -1;
	return sdp_sendmsg(fd, msg, flags & ~MSG_FASTOPEN);
}

/* A stream's destination is otherwise ignored, as TCP does. */
static ssize_t sendto_endpoint(int fd, const void *buf, size_t n, int flags,
			       const struct sockaddr *addr, socklen_t len)
{
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = n };
	struct msghdr msg = {
		.msg_name = (void *)addr, .msg_namelen = len,
		.msg_iov = &iov, .msg_iovlen = 1,
	};

	if (!addr && !(flags & MSG_FASTOPEN))
		return send_endpoint(fd, buf, n, flags);
	if (addr && sdp_check_addr(addr, len))
		return -1;
	return sendmsg_endpoint(fd, &msg, flags);
}

static ssize_t sendto_socket(int fd, const void *buf, size_t n, int flags,
			     const struct sockaddr *addr, socklen_t len)
{
	if ((flags & MSG_FASTOPEN) && refuse(fd, CONF_CONNECT, addr, len))
		return -1;
	return NEXT(sendto)(fd, buf, n, flags, addr, len);
}

__public ssize_t sendto(int fd, const void *buf, size_t n, int flags,
			__CONST_SOCKADDR_ARG addr, socklen_t len)
{
	if (!addr.__sockaddr__ && hint(fd) == ENDPOINT && fast_send(fd, buf, n, flags))
		return n;
	return ON(fd, sendto_endpoint(fd, buf, n, flags, addr.__sockaddr__, len),
		  sendto_socket(fd, buf, n, flags, addr.__sockaddr__, len));
}

static ssize_t sendmsg_socket(int fd, const struct msghdr *msg, int flags)
{
	return refuse_message(fd, msg, flags) ? -1 : NEXT(sendmsg)(fd, msg, flags);
}

__public ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return ON(fd, sendmsg_endpoint(fd, msg, flags), sendmsg_socket(fd, msg, flags));
}

/* Whether @len bytes are all of @msg. */
static bool is_whole(const struct msghdr *msg, size_t len)
{
	size_t i, all = 0;

	for (i = 0; i < msg->msg_iovlen; i++)
		all += msg->msg_iov[i].iov_len;
	return len == all;
}

/* After a part of a message nothing is sent: it would be taken for the rest. */
static int sendmmsg_endpoint(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	unsigned int i;
	ssize_t len;

	if (n > IOV_MAX)
		n = IOV_MAX;
	for (i = 0; i < n; i++) {
		len = sendmsg_endpoint(fd, &msgs[i].msg_hdr, flags);
		/* It is sent, as by the kernel, where its length cannot be told. */
		if (len >= 0 && !sdp_can_write(&msgs[i].msg_len, sizeof(msgs[i].msg_len)))
			len = sdp_fail(EFAULT);
		if (len < 0)
			return i ? (int)i : -1;
		msgs[i].msg_len = len;
		if (!is_whole(&msgs[i].msg_hdr, len))
			return i + 1;
	}
	return n;
}

/* Only the first message can connect a TCP socket. */
static int sendmmsg_socket(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	if (n && refuse_message(fd, &msgs->msg_hdr, flags))
		return -1;
	return NEXT(sendmmsg)(fd, msgs, n, flags);
}

__public int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	return ON(fd, sendmmsg_endpoint(fd, msgs, n, flags),
		  sendmmsg_socket(fd, msgs, n, flags));
}

/* --- receiving ----------------------------------------------------------- */

__public ssize_t read(int fd, void *buf, size_t n)
{
	ssize_t ret;

	if (hint(fd) != ENDPOINT)
		return NEXT(read)(fd, buf, n);
	ret = fast_recv(fd, buf, n, 0);
	if (ret)
		return ret;
	ret = fast_always(fd) ? fast_recv(fd, buf, n, 0) : 0;
	if (ret)
		return ret;
	ret = NEXT(read)(fd, buf, n);
	if (fast_received(fd, buf, n, ret))
		leave_to_tcp(fd);
	return ret;
}

static ssize_t recv_endpoint(int fd, void *buf, size_t n, int flags)
{
	bool rings = hint(fd) != TCP_ENDPOINT;
	ssize_t ret;

	ret = rings && fast_always(fd) ? fast_recv(fd, buf, n, flags) : 0;
	if (ret)
		return ret;
	ret = sdp_recv(fd, buf, n, flags);
	if (rings && !(flags & ~FAST_FLAGS) && fast_received(fd, buf, n, ret))
		leave_to_tcp(fd);
	return ret;
}

__public ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	size_t done = hint(fd) == ENDPOINT ? fast_recv(fd, buf, n, flags) : 0;

	if (done)
		return done;
	return ON(fd, recv_endpoint(fd, buf, n, flags), NEXT(recv)(fd, buf, n, flags));
}

/*
 * A stream gives no source address: of length zero, as TCP does.
 */
static ssize_t recvfrom_endpoint(int fd, void *buf, size_t n, int flags,
				 struct sockaddr *addr, socklen_t *len)
{
	static const struct __kernel_sockaddr_storage none;
	ssize_t ret;

	if (!addr)
		return recv_endpoint(fd, buf, n, flags);
	ret = sdp_recv(fd, buf, n, flags);
	/* The bytes are gone then, with TCP too. */
	if (ret >= 0 && sdp_put_addr(&none, 0, addr, len))
		return -1;
	return ret;
}

__public ssize_t recvfrom(int fd, void *buf, size_t n, int flags, __SOCKADDR_ARG addr,
			  socklen_t *len)
{
	size_t done = 0;

	if (!addr.__sockaddr__ && hint(fd) == ENDPOINT)
		done = fast_recv(fd, buf, n, flags);
	if (done)
		return done;
	return ON(fd, recvfrom_endpoint(fd, buf, n, flags, addr.__sockaddr__, len),
		  NEXT(recvfrom)(fd, buf, n, flags, addr.__sockaddr__, len));
}

__public ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return ON(fd, sdp_recvmsg(fd, msg, flags), NEXT(recvmsg)(fd, msg, flags));
}

/* Nanoseconds left until @end; the kernel looks after each message likewise. */
static long long time_left(long long end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return end - (now.tv_sec * 1000000000LL + now.tv_nsec);
}

/* The error that is pending, which nobody gets again then. */
static int take_error(int fd)
{
	socklen_t len = sizeof(int);
	struct sdp_info info;
	int error = 0;

	if (sdp_info(fd, &info) || !info.error ||
	    sdp_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return 0;
	return error;
}

static int recvmmsg_endpoint(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			     struct timespec *timeout)
{
	bool told = sdp_can_write(timeout, sizeof(*timeout));
	long long left, seconds, end = 0;
	struct sdp_info info;
	unsigned int i;
	int error;
	ssize_t len;

	if (timeout) {
		if (!told && !sdp_can_read(timeout, sizeof(*timeout)))
			return sdp_fail(EFAULT);
		if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 ||
		    timeout->tv_nsec > 999999999)
			return sdp_fail(EINVAL);
		seconds = timeout->tv_sec > INT_MAX ? INT_MAX : timeout->tv_sec;
		end = -time_left(0) + seconds * 1000000000 + timeout->tv_nsec;
	}
	/* As in the kernel, bytes that came before it are for the next call. */
	error = (flags & MSG_ERRQUEUE) ? 0 : take_error(fd);
	if (error)
		return sdp_fail(error);
	for (i = 0; i < n; i++) {
		/* An error is for the call that has nothing else to tell. */
		if (i && !sdp_info(fd, &info) && info.error)
			return i;
		len = sdp_recvmsg(fd, &msgs[i].msg_hdr, flags & ~MSG_WAITFORONE);
		if (len >= 0 && !sdp_can_write(&msgs[i].msg_len, sizeof(msgs[i].msg_len)))
			len = sdp_fail(EFAULT);
		if (len < 0)
			return i ? (int)i : -1;
		msgs[i].msg_len = len;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		left = timeout ? time_left(end) : 1;
		if (left < 0)
			left = 0;
		if (timeout && !told)
			return sdp_fail(EFAULT);
		if (timeout) {
			timeout->tv_sec = left / 1000000000;
			timeout->tv_nsec = left % 1000000000;
		}
		if (!left || (msgs[i].msg_hdr.msg_flags & MSG_OOB))
			return i + 1;
	}
	return n;
}

__public int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		      struct timespec *timeout)
{
	return ON(fd, recvmmsg_endpoint(fd, msgs, n, flags, timeout),
		  NEXT(recvmmsg)(fd, msgs, n, flags, timeout));
}

/* What read(), recv() and recvfrom() are in a program built with _FORTIFY_SOURCE. */
__public ssize_t __read_chk(int fd, void *buf, size_t n, size_t size);
__public ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags);
__public ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
				__SOCKADDR_ARG addr, socklen_t *len);
extern void __chk_fail(void) __attribute__((noreturn));

ssize_t __read_chk(int fd, void *buf, size_t n, size_t size)
{
	if (n > size)
		__chk_fail();
	return read(fd, buf, n);
}

ssize_t __recv_chk(int fd, void *buf, size_t n, size_t size, int flags)
{
	if (n > size)
		__chk_fail();
	return recv(fd, buf, n, flags);
}

ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t size, int flags,
		       __SOCKADDR_ARG addr, socklen_t *len)
{
	if (n > size)
		__chk_fail();
	return recvfrom(fd, buf, n, flags, addr, len);
}

/* --- names and options --------------------------------------------------- */

__public int getsockname(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	return ON(fd, sdp_getsockname(fd, addr.__sockaddr__, len),
		  NEXT(getsockname)(fd, addr.__sockaddr__, len));
}

__public int getpeername(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	return ON(fd, sdp_getpeername(fd, addr.__sockaddr__, len),
		  NEXT(getpeername)(fd, addr.__sockaddr__, len));
}

static int getsockopt_endpoint(int fd, int level, int name, void *val, socklen_t *len)
{
	int ret = sdp_getsockopt(fd, level, name, val, len);

	/* Where a program that connects without blocking learns how it went. */
	if (!ret && level == SOL_SOCKET && name == SO_ERROR) {
		say_settled(fd);
		leave_to_tcp(fd);
	}
	return ret;
}

__public int getsockopt(int fd, int level, int name, void *restrict val,
			socklen_t *restrict len)
{
	return ON(fd, getsockopt_endpoint(fd, level, name, val, len),
		  NEXT(getsockopt)(fd, level, name, val, len));
}

static int setsockopt_endpoint(int fd, int level, int name, const void *val,
			       socklen_t len)
{
	int ret = sdp_setsockopt(fd, level, name, val, len);

	if (level == SOL_SOCKET && (name == SO_RCVLOWAT || name == SO_PEEK_OFF))
		fast_options();
	return ret;
}

__public int setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	return ON(fd, setsockopt_endpoint(fd, level, name, val, len),
		  NEXT(setsockopt)(fd, level, name, val, len));
}

/* --- programs of 32 bits that are built with 64-bit times ----------------- */

#if __TIMESIZE == 32

struct timespec64 {
	long long tv_sec;
	int tv_nsec, padding;
};

/* The kernel tells options by number which time they mean. */
__public int __getsockopt64(int fd, int level, int name, void *restrict val,
			    socklen_t *restrict len)
	__THROW __attribute__((alias("getsockopt")));
__public int __setsockopt64(int fd, int level, int name, const void *val, socklen_t len)
	__THROW __attribute__((alias("setsockopt")));
/* Times are only in control messages that come. */
__public ssize_t __sendmsg64(int fd, const struct msghdr *msg, int flags)
	__attribute__((alias("sendmsg")));
__public int __sendmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
	__attribute__((alias("sendmmsg")));
__public ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags);
__public int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			  struct timespec64 *timeout);

ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags)
{
	return ON(fd, sdp_recvmsg(fd, msg, flags), NEXT(__recvmsg64)(fd, msg, flags));
}

static int recvmmsg64_endpoint(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			       struct timespec64 *timeout)
{
	struct timespec wait;
	int ret;

	/* The C library's takes no more, unlike its other one. */
	if (n > IOV_MAX)
		n = IOV_MAX;
	if (!timeout)
		return recvmmsg_endpoint(fd, msgs, n, flags, NULL);
	if (!sdp_can_read(timeout, sizeof(*timeout)))
		return sdp_fail(EFAULT);
	wait.tv_sec = timeout->tv_sec > INT_MAX ? INT_MAX :
		      timeout->tv_sec < 0 ? -1 : timeout->tv_sec;
	wait.tv_nsec = timeout->tv_nsec;
	ret = recvmmsg_endpoint(fd, msgs, n, flags, &wait);
	if (ret > 0 && !sdp_can_write(timeout, sizeof(*timeout)))
		return sdp_fail(EFAULT);
	if (ret > 0) {
		timeout->tv_sec = wait.tv_sec;
		timeout->tv_nsec = wait.tv_nsec;
	}
	return ret;
}

int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
		 struct timespec64 *timeout)
{
	return ON(fd, recvmmsg64_endpoint(fd, msgs, n, flags, timeout),
		  NEXT(__recvmmsg64)(fd, msgs, n, flags, timeout));
}

#endif /* __TIMESIZE == 32 */
