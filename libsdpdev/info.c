// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Asking an endpoint: names, options, state.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

/**
 * sdp_info - what the kernel knows of an endpoint
 * @fd: the endpoint
 * @info: filled
 *
 * Return: 0, or -1 with errno: ENOTTY where @fd is no endpoint, ENOTCONN where
 * it is a file of /dev/sdp that no SDP_IOC_INIT has made an endpoint
 */
__public int sdp_info(int fd, struct sdp_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return ioctl(fd, SDP_IOC_INFO, info);
}

int sdp_put_addr(const struct __kernel_sockaddr_storage *from, socklen_t from_len,
		 struct sockaddr *addr, socklen_t *addrlen)
{
	bool writable = sdp_can_write(addrlen, sizeof(*addrlen));
	socklen_t n;

	if (!writable && !sdp_can_read(addrlen, sizeof(*addrlen)))
		return sdp_fail(EFAULT);
	if (*addrlen > INT_MAX)
		return sdp_fail(EINVAL);
	if (from_len > sizeof(*from))
		from_len = sizeof(*from);
	n = *addrlen < from_len ? *addrlen : from_len;
	if (!sdp_can_write(addr, n))
		return sdp_fail(EFAULT);
	if (n)
		memcpy(addr, from, n);
	if (!writable)
		return sdp_fail(EFAULT);
	*addrlen = from_len;
	return 0;
}

/**
 * sdp_getsockname - getsockname(2) for an endpoint
 * @fd: the endpoint
 * @addr: where its address goes
 * @addrlen: in: size of @addr; out: length of the address
 *
 * Return: 0, or -1 with the errno value of getsockname(2)
 */
__public int sdp_getsockname(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sdp_info info;

	if (sdp_info(fd, &info))
		return -1;
	/* Without a name yet: the address of its family that is all zero. */
	if (!info.local_len) {
		info.local.ss_family = info.family;
		info.local_len = info.family == AF_INET6 ?
			sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	}
	return sdp_put_addr(&info.local, info.local_len, addr, addrlen);
}

/**
 * sdp_getpeername - getpeername(2) for an endpoint
 * @fd: the endpoint
 * @addr: where the peer's address goes
 * @addrlen: in: size of @addr; out: length of the address
 *
 * Return: 0, or -1 with the errno value of getpeername(2)
 */
__public int sdp_getpeername(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	struct sdp_info info;

	if (sdp_info(fd, &info))
		return -1;
	if (!info.peer_len || (info.state != SDP_STATE_CONNECTED &&
			       info.state != SDP_STATE_CLOSING))
		return sdp_fail(ENOTCONN);
	return sdp_put_addr(&info.peer, info.peer_len, addr, addrlen);
}

int sdp_replace(int fd)
{
	struct sdp_replace arg = { .size = sizeof(arg), .fd = fd };

	return ioctl(fd, SDP_IOC_REPLACE, &arg);
}

/* The options whose answer is the endpoint's and not the native socket's. */
static int endpoint_option(int fd, int name, int *value)
{
	struct sdp_error error = { .size = sizeof(error) };
	struct sdp_info info;

	if (name == SO_ERROR) {
		if (ioctl(fd, SDP_IOC_ERROR, &error))
			return -1;
		*value = error.error;
		return 0;
	}
	if (sdp_info(fd, &info))
		return -1;
	switch (name) {
	case SO_ACCEPTCONN:
		*value = info.state == SDP_STATE_LISTEN;
		return 0;
	case SO_DOMAIN:
		*value = info.family;
		return 0;
	case SO_TYPE:
		*value = SOCK_STREAM;
		return 0;
	default:
		*value = IPPROTO_TCP;
		return 0;
	}
}

/* The length that there is room for. */
static int check_len(const socklen_t *len)
{
	if (!sdp_can_read(len, sizeof(*len)))
		return sdp_fail(EFAULT);
	if (*len > INT_MAX)
		return sdp_fail(EINVAL);
	return 0;
}

/* Gives out @n bytes of a value, and says so. */
static int put_value(void *val, socklen_t *len, const void *from, socklen_t n)
{
	if (!sdp_can_write(val, n))
		return sdp_fail(EFAULT);
	if (n)
		memcpy(val, from, n);
	if (!sdp_can_write(len, sizeof(*len)))
		return sdp_fail(EFAULT);
	*len = n;
	return 0;
}

/* SO_PEERNAME: never longer than the address is, as the kernel has it. */
static int peer_name(const struct sdp_info *info, void *val, socklen_t *len)
{
	if (check_len(len))
		return -1;
	if (info->state != SDP_STATE_CONNECTED && info->state != SDP_STATE_CLOSING)
		return sdp_fail(ENOTCONN);
	if (*len > info->peer_len)
		return sdp_fail(EINVAL);
	return put_value(val, len, &info->peer, *len);
}

/* Options of TCP that a connection cannot be given any more. */
static bool too_late(int name)
{
	return name == TCP_FASTOPEN || name == TCP_FASTOPEN_CONNECT ||
	       name == TCP_FASTOPEN_NO_COOKIE || name == TCP_REPAIR;
}

/**
 * sdp_getsockopt - getsockopt(2) for an endpoint
 * @fd: the endpoint
 * @level: as for a TCP socket
 * @name: as for a TCP socket
 * @val: where the value goes
 * @len: in: size of @val; out: length of the value
 *
 * SO_ERROR, SO_ACCEPTCONN, SO_TYPE, SO_DOMAIN and SO_PROTOCOL are the endpoint's
 * own, and so are SO_PEERNAME and most of TCP_INFO over SDP; every other option lives in its native
 * socket.
 *
 * Return: 0, or -1 with the errno value of getsockopt(2), or EMFILE
 */
__public int sdp_getsockopt(int fd, int level, int name, void *val, socklen_t *len)
{
	int value, native, ret;
	struct sdp_info info;

	if (level == SOL_SOCKET &&
	    (name == SO_ERROR || name == SO_ACCEPTCONN || name == SO_TYPE ||
	     name == SO_DOMAIN || name == SO_PROTOCOL)) {
		if (check_len(len) || endpoint_option(fd, name, &value))
			return -1;
		return put_value(val, len, &value,
				 *len < sizeof(value) ? *len : sizeof(value));
	}

	info.carrier = SDP_CARRIER_NONE;
	if (((level == IPPROTO_TCP && name == TCP_INFO) ||
	     (level == SOL_SOCKET && name == SO_PEERNAME)) && sdp_info(fd, &info))
		return -1;
	if (level == SOL_SOCKET && info.carrier == SDP_CARRIER_SDP)
		return peer_name(&info, val, len);
	native = sdp_native(fd);
	if (native < 0)
		return -1;
	/* First, for the pointers and the length that the kernel does not like. */
	ret = getsockopt(native, level, name, val, len);
	if (!ret && level == IPPROTO_TCP && name == TCP_INFO &&
	    info.carrier == SDP_CARRIER_SDP)
		ret = sdp_get_tcp_info(native, &info, val, len);
	sdp_unnative(native);
	return ret;
}

/**
 * sdp_setsockopt - setsockopt(2) for an endpoint
 * @fd: the endpoint
 * @level: as for a TCP socket
 * @name: as for a TCP socket
 * @val: the value
 * @len: its length
 *
 * SO_ZEROCOPY is refused where SDP carries the bytes or may come to do so: the
 * completions that the program would wait for are the TCP socket's.
 *
 * Return: 0, or -1 with the errno value of setsockopt(2), or EMFILE
 */
__public int sdp_setsockopt(int fd, int level, int name, const void *val, socklen_t len)
{
	struct sdp_info info;
	int native, ret;

	if (level == SOL_SOCKET && name == SO_ZEROCOPY) {
		if (sdp_info(fd, &info))
			return -1;
		if (info.carrier != SDP_CARRIER_TCP)
			return sdp_fail(EOPNOTSUPP);
	} else if (level == IPPROTO_TCP && too_late(name)) {
		if (sdp_info(fd, &info))
			return -1;
		/* What is repaired would be a connection that is not there. */
		if (info.carrier == SDP_CARRIER_SDP)
			return sdp_fail(name == TCP_REPAIR ? EPERM : EINVAL);
	} else if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
		/* For who has no port yet, as an accepted one's native socket. */
		if (sdp_info(fd, &info))
			return -1;
		if (info.family == AF_INET6 && info.carrier == SDP_CARRIER_SDP)
			return sdp_fail(EINVAL);
	}

	native = sdp_native(fd);
	if (native < 0)
		return -1;
	ret = setsockopt(native, level, name, val, len);
	sdp_unnative(native);
	/* The endpoint has a look when it is asked: what it held back goes at once. */
	if (!ret && level == IPPROTO_TCP && name == TCP_CORK)
		ret = sdp_info(fd, &info);
	return ret;
}
