// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The next definition of each wrapped call; see next.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next.h"

static int bare_socket(int family, int type, int protocol)
{
	return syscall(SYS_socket, family, type, protocol);
}

static int bare_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return syscall(SYS_bind, fd, addr, len);
}

static int bare_listen(int fd, int backlog)
{
	return syscall(SYS_listen, fd, backlog);
}

static int bare_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return syscall(SYS_accept4, fd, addr, len, flags);
}

static int bare_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return bare_accept4(fd, addr, len, 0);
}

static int bare_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return syscall(SYS_connect, fd, addr, len);
}

static int bare_shutdown(int fd, int how)
{
	return syscall(SYS_shutdown, fd, how);
}

static ssize_t bare_sendto(int fd, const void *buf, size_t n, int flags,
			   const struct sockaddr *addr, socklen_t len)
{
	return syscall(SYS_sendto, fd, buf, n, flags, addr, len);
}

static ssize_t bare_send(int fd, const void *buf, size_t n, int flags)
{
	return bare_sendto(fd, buf, n, flags, NULL, 0);
}

static ssize_t bare_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static int bare_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	return syscall(SYS_sendmmsg, fd, msgs, n, flags);
}

static ssize_t bare_recvfrom(int fd, void *buf, size_t n, int flags,
			     struct sockaddr *addr, socklen_t *len)
{
	return syscall(SYS_recvfrom, fd, buf, n, flags, addr, len);
}

static ssize_t bare_recv(int fd, void *buf, size_t n, int flags)
{
	return bare_recvfrom(fd, buf, n, flags, NULL, NULL);
}

static ssize_t bare_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

static int bare_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			 struct timespec *timeout)
{
	return syscall(SYS_recvmmsg, fd, msgs, n, flags, timeout);
}

static int bare_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	return syscall(SYS_getsockname, fd, addr, len);
}

static int bare_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	return syscall(SYS_getpeername, fd, addr, len);
}

static int bare_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	return syscall(SYS_getsockopt, fd, level, name, val, len);
}

static int bare_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	return syscall(SYS_setsockopt, fd, level, name, val, len);
}

static ssize_t bare_read(int fd, void *buf, size_t n)
{
	return syscall(SYS_read, fd, buf, n);
}

static ssize_t bare_write(int fd, const void *buf, size_t n)
{
	return syscall(SYS_write, fd, buf, n);
}

static int bare_close(int fd)
{
	return syscall(SYS_close, fd);
}

static int bare_close_range(unsigned int first, unsigned int last, int flags)
{
	return syscall(SYS_close_range, first, last, flags);
}

static int bare_unshare(int flags)
{
	return syscall(SYS_unshare, flags);
}

static int bare_fchmod(int fd, mode_t mode)
{
	return syscall(SYS_fchmod, fd, mode);
}

/* The first of that name knew 16 bits of a user, where there are two. */
static int bare_fchown(int fd, uid_t uid, gid_t gid)
{
#ifdef SYS_fchown32
	return syscall(SYS_fchown32, fd, uid, gid);
#else
	return syscall(SYS_fchown, fd, uid, gid);
#endif
}

/* The kernel's has no flags; it has another one with them since 6.6. */
static int bare_fchmodat(int fd, const char *path, mode_t mode, int flags)
{
	return flags ? sdp_fail(EOPNOTSUPP) : syscall(SYS_fchmodat, fd, path, mode);
}

static int bare_fchownat(int fd, const char *path, uid_t uid, gid_t gid, int flags)
{
	return syscall(SYS_fchownat, fd, path, uid, gid, flags);
}

#if __TIMESIZE == 32
static int bare_recvmmsg64(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			   struct timespec64 *timeout)
{
	return syscall(SYS_recvmmsg_time64, fd, msgs, n, flags, timeout);
}
#endif

struct next_calls next_calls = {
	.socket = bare_socket,
	.bind = bare_bind,
	.listen = bare_listen,
	.accept = bare_accept,
	.accept4 = bare_accept4,
	.connect = bare_connect,
	.shutdown = bare_shutdown,
	.send = bare_send,
	.sendto = bare_sendto,
	.sendmsg = bare_sendmsg,
	.sendmmsg = bare_sendmmsg,
	.recv = bare_recv,
	.recvfrom = bare_recvfrom,
	.recvmsg = bare_recvmsg,
	.recvmmsg = bare_recvmmsg,
	.getsockname = bare_getsockname,
	.getpeername = bare_getpeername,
	.getsockopt = bare_getsockopt,
	.setsockopt = bare_setsockopt,
	.read = bare_read,
	.write = bare_write,
	.close = bare_close,
	.close_range = bare_close_range,
	.unshare = bare_unshare,
	.fchmod = bare_fchmod,
	.fchmodat = bare_fchmodat,
	.fchown = bare_fchown,
	.fchownat = bare_fchownat,
#if __TIMESIZE == 32
	.__recvmsg64 = bare_recvmsg,
	.__recvmmsg64 = bare_recvmmsg64,
#endif
};

#define FIND(call)							\
do {									\
	void *found = dlsym(RTLD_NEXT, #call);				\
									\
	if (found)							\
		__atomic_store_n((void **)&next_calls.call, found,	\
				 __ATOMIC_RELAXED);			\
} while (0)

void next_find(void)
{
	FIND(socket);
	FIND(bind);
	FIND(listen);
	FIND(accept);
	FIND(accept4);
	FIND(connect);
	FIND(shutdown);
	FIND(send);
	FIND(sendto);
	FIND(sendmsg);
	FIND(sendmmsg);
	FIND(recv);
	FIND(recvfrom);
	FIND(recvmsg);
	FIND(recvmmsg);
	FIND(getsockname);
	FIND(getpeername);
	FIND(getsockopt);
	FIND(setsockopt);
	FIND(read);
	FIND(write);
	FIND(close);
	FIND(close_range);
	FIND(unshare);
	FIND(fchmod);
	FIND(fchmodat);
	FIND(fchown);
	FIND(fchownat);
#if __TIMESIZE == 32
	FIND(__recvmsg64);
	FIND(__recvmmsg64);
#endif
}
