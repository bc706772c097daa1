// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Making, naming and connecting endpoints.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

/*
 * glibc's ioctl() is no cancellation point, but accept(), connect(), send() and
 * recv() must be.  A thread that is cancelled just after the kernel had answered
 * loses the answer, as it may with glibc's own socket calls.  A thread that is the only
 * one can be cancelled by nobody but itself, so before the call.
 */
int sdp_ioctl_blocking(int fd, unsigned long request, void *arg)
{
	int type, ret;

	if (__libc_single_threaded) {
		pthread_testcancel();
		return ioctl(fd, request, arg);
	}
	/* NOLINTNEXTLINE(cert-pos47-c,concurrency-thread-canceltype-asynchronous) */
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	ret = ioctl(fd, request, arg);
	pthread_setcanceltype(type, &type);
	return ret;
}

/**
 * sdp_socket - make an endpoint, as socket(2) makes a TCP socket
 * @family: AF_INET or AF_INET6; AF_INET_OFFLOAD: IPv4 over SDP and never over TCP
 * @flags: SOCK_NONBLOCK, SOCK_CLOEXEC or zero
 *
 * Return: a descriptor, or -1 with the errno value of socket(2), of open(2)
 * (where there is no usable /dev/sdp) or of SDP_IOC_INIT
 */
__public int sdp_socket(int family, int flags)
{
	struct sdp_init init = {
		.size = sizeof(init),
		.major = SDP_API_MAJOR,
		.minor = SDP_API_MINOR,
		.family = family == AF_INET_OFFLOAD ? AF_INET : family,
		.flags = family == AF_INET_OFFLOAD ? SDP_INIT_NO_TCP : 0,
	};
	int fd, saved, mode = O_RDWR;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return sdp_fail(EINVAL);
	if (flags & SOCK_NONBLOCK)
		mode |= O_NONBLOCK;
	if (flags & SOCK_CLOEXEC)
		mode |= O_CLOEXEC;

	/* No point to cancel a thread at, as socket() is none. */
	fd = syscall(SYS_openat, AT_FDCWD, SDP_DEVICE_PATH, mode);
	if (fd < 0)
		return -1;
	/* An older module does not know what this library relies on. */
	if (!ioctl(fd, SDP_IOC_INIT, &init)) {
		if (init.minor >= SDP_API_MINOR)
			return fd;
		errno = EPROTONOSUPPORT;
	}

	saved = errno;
	syscall(SYS_close, fd);
	return sdp_fail(saved);
}

int sdp_check_addr(const struct sockaddr *addr, socklen_t addrlen)
{
	if (addrlen > sizeof(struct __kernel_sockaddr_storage))
		return sdp_fail(EINVAL);
	return sdp_can_read(addr, addrlen) ? 0 : sdp_fail(EFAULT);
}

/*
 * Takes an address in, as far as its length goes.  Old programs give the family
 * of their socket where the kernel wants that of the address.
 */
static int get_addr(struct __kernel_sockaddr_storage *to, const struct sockaddr *addr,
		    socklen_t addrlen)
{
	if (sdp_check_addr(addr, addrlen))
		return -1;
	memset(to, 0, sizeof(*to));
	if (addrlen)
		memcpy(to, addr, addrlen);
	if (to->ss_family == AF_INET_OFFLOAD)
		to->ss_family = AF_INET;
	return 0;
}

/**
 * sdp_bind - bind(2) for an endpoint
 * @fd: the endpoint
 * @addr: sockaddr_in or sockaddr_in6
 * @addrlen: its length
 *
 * Return: 0, or -1 with the errno value of bind(2)
 */
__public int sdp_bind(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	struct sdp_bind arg = { .size = sizeof(arg), .addr_len = addrlen };

	if (get_addr(&arg.addr, addr, addrlen))
		return -1;
	return ioctl(fd, SDP_IOC_BIND, &arg);
}

/**
 * sdp_listen - listen(2) for an endpoint
 * @fd: the endpoint
 * @backlog: for each of the two carriers
 *
 * Return: 0, or -1 with the errno value of listen(2)
 */
__public int sdp_listen(int fd, int backlog)
{
	return sdp_listen_carriers(fd, backlog, 0);
}

int sdp_listen_carriers(int fd, int backlog, unsigned int flags)
{
	struct sdp_listen arg = {
		.size = sizeof(arg),
		.backlog = backlog,
		.flags = flags,
	};

	return ioctl(fd, SDP_IOC_LISTEN, &arg);
}

int sdp_accept_carrier(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags,
		       unsigned int *carrier)
{
	struct sdp_accept arg = { .size = sizeof(arg) };
	int ret, saved;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return sdp_fail(EINVAL);
	if (flags & SOCK_NONBLOCK)
		arg.flags |= SDP_ACCEPT_NONBLOCK;
	if (flags & SOCK_CLOEXEC)
		arg.flags |= SDP_ACCEPT_CLOEXEC;

	ret = sdp_ioctl_blocking(fd, SDP_IOC_ACCEPT, &arg);
	if (ret < 0)
		return ret;
	*carrier = arg.carrier;
	/* The connection is gone then, as with accept(2). */
	if (addr && sdp_put_addr(&arg.addr, arg.addr_len, addr, addrlen)) {
		saved = errno;
		syscall(SYS_close, ret);
		return sdp_fail(saved);
	}
	return ret;
}

/**
 * sdp_accept - accept4(2) for a listening endpoint
 * @fd: the endpoint
 * @addr: where the peer's address goes, or NULL
 * @addrlen: in: size of @addr; out: length of the address
 * @flags: SOCK_NONBLOCK, SOCK_CLOEXEC or zero
 *
 * Return: a descriptor, or -1 with the errno value of accept(2).  It is an
 * endpoint where the connection came over SDP and an ordinary TCP socket where
 * it came over TCP; sdp_info() fails with ENOTTY on the latter.
 */
__public int sdp_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags)
{
	unsigned int carrier;

	return sdp_accept_carrier(fd, addr, addrlen, flags, &carrier);
}

/**
 * sdp_connect - connect(2) for an endpoint
 * @fd: the endpoint
 * @addr: sockaddr_in or sockaddr_in6
 * @addrlen: its length
 * @flags: SDP_CONNECT_NO_TCP, SDP_CONNECT_NO_SDP or neither, SDP_CONNECT_NONBLOCK
 *
 * Return: 0, or -1 with the errno value of connect(2)
 */
__public int sdp_connect(int fd, const struct sockaddr *addr, socklen_t addrlen,
			 unsigned int flags)
{
	struct sdp_connect arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr_len = addrlen,
	};

	if (get_addr(&arg.addr, addr, addrlen))
		return -1;
	return sdp_ioctl_blocking(fd, SDP_IOC_CONNECT, &arg);
}

/**
 * sdp_shutdown - shutdown(2) for an endpoint
 * @fd: the endpoint
 * @how: SHUT_RD, SHUT_WR or SHUT_RDWR
 *
 * Return: 0, or -1 with the errno value of shutdown(2)
 */
__public int sdp_shutdown(int fd, int how)
{
	struct sdp_shutdown arg = { .size = sizeof(arg), .how = how };

	return ioctl(fd, SDP_IOC_SHUTDOWN, &arg);
}
