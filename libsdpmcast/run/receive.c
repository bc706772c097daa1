// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * A call that receives: from the queue pair, then from the socket. What it returns is what the
 * kernel would return.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>

#include "run.h"

/* --- a datagram of the queue pair ------------------------------------------- */

static size_t copy(const struct sdpmcast_msg *m, const struct msghdr *hdr)
{
	size_t done = 0, n, i;

	for (i = 0; i < hdr->msg_iovlen && done < m->len; i++) {
		n = hdr->msg_iov[i].iov_len;
		if (n > m->len - done)
			n = m->len - done;
		if (n)
			memcpy(hdr->msg_iov[i].iov_base, (const char *)m->data + done, n);
		done += n;
	}
	return done;
}

static void copy_name(const struct served *s, const struct sdpmcast_msg *m, struct msghdr *hdr)
{
	struct sockaddr_storage from = m->from;
	struct sockaddr_in6 *in6 = (void *)&from;
	socklen_t len = s->family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(*in6);

	if (!hdr->msg_name)
		return;
	if (s->family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		in6->sin6_scope_id = s->e->ifindex;
	memcpy(hdr->msg_name, &from, len < hdr->msg_namelen ? len : hdr->msg_namelen);
	hdr->msg_namelen = len;
}

/* Adds a message behind @used bytes. */
static void put(struct msghdr *hdr, size_t *used, int level, int type, const void *data,
		size_t len)
{
	struct cmsghdr c = { .cmsg_level = level, .cmsg_type = type, .cmsg_len = CMSG_LEN(len) };
	size_t room = hdr->msg_controllen - *used;
	char *at = (char *)hdr->msg_control + *used;

	if (room < sizeof(c)) {
		hdr->msg_flags |= MSG_CTRUNC;
		return;
	}
	if (room < c.cmsg_len) {
		hdr->msg_flags |= MSG_CTRUNC;
		c.cmsg_len = room;
	}
	memcpy(at, &c, sizeof(c));
	memcpy(at + CMSG_LEN(0), data, c.cmsg_len - CMSG_LEN(0));
	*used += room < CMSG_SPACE(len) ? room : CMSG_SPACE(len);
}

static void put_stamp(const struct served *s, struct msghdr *hdr, size_t *used)
{
	struct timeval tv = { s->taken.tv_sec, s->taken.tv_nsec / 1000 };

	if (s->stamp == SO_TIMESTAMP)
		put(hdr, used, SOL_SOCKET, SO_TIMESTAMP, &tv, sizeof(tv));
	else if (s->stamp)
		put(hdr, used, SOL_SOCKET, SO_TIMESTAMPNS, &s->taken, sizeof(s->taken));
}

static void put_pktinfo(const struct served *s, const struct sdpmcast_msg *m, struct msghdr *hdr,
			size_t *used)
{
	struct in6_pktinfo info6 = { .ipi6_ifindex = s->e->ifindex };
	struct in_pktinfo info = { .ipi_ifindex = s->e->ifindex };

	if (s->family == AF_INET) {
		info.ipi_addr = ((const struct sockaddr_in *)&m->to)->sin_addr;
		info.ipi_spec_dst = ((const struct sockaddr_in *)&s->e->local)->sin_addr;
		put(hdr, used, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	} else {
		info6.ipi6_addr = ((const struct sockaddr_in6 *)&m->to)->sin6_addr;
		put(hdr, used, IPPROTO_IPV6, IPV6_PKTINFO, &info6, sizeof(info6));
	}
}

static void copy_control(const struct served *s, const struct sdpmcast_msg *m, struct msghdr *hdr)
{
	size_t used = 0;
	int ttl = m->ttl;

	if (!hdr->msg_control)
		hdr->msg_controllen = 0;
	put_stamp(s, hdr, &used);
	if (s->pktinfo)
		put_pktinfo(s, m, hdr, &used);
	if (s->ttl && s->family == AF_INET)
		put(hdr, &used, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	else if (s->ttl)
		put(hdr, &used, IPPROTO_IPV6, IPV6_HOPLIMIT, &ttl, sizeof(ttl));
	hdr->msg_controllen = used;
}

static ssize_t deliver(struct served *s, struct msghdr *hdr, int flags)
{
	const struct sdpmcast_msg *m = &s->msgs[s->next];
	size_t len = m->len, done = copy(m, hdr);

	hdr->msg_flags = done < len ? MSG_TRUNC : 0;
	copy_name(s, m, hdr);
	copy_control(s, m, hdr);
	if (!(flags & MSG_PEEK))
		serve_done(s);
	return (flags & MSG_TRUNC) ? len : done;
}

/* --- both ----------------------------------------------------------------- */

/* Ends the call if the kernel's queue had something, or an error. What is peeked comes next. */
static bool from_kernel(struct served *s, struct msghdr *hdr, int flags, ssize_t *ret)
{
	*ret = NEXT(recvmsg)(s->fd, hdr, flags | MSG_DONTWAIT);
	if (*ret < 0) {
		if (errno != EAGAIN)
			return true;
		s->first = 0;
		return false;
	}
	if (flags & MSG_PEEK)
		s->first = s->first ? s->first : 1;
	else if (s->first)
		s->first--;
	return true;
}

static bool try(struct served *s, struct msghdr *hdr, int flags, ssize_t *ret)
{
	bool some = serve_fill(s);

	if ((!some || s->first) && from_kernel(s, hdr, flags, ret))
		return true;
	if (some)
		*ret = deliver(s, hdr, flags);
	return some;
}

/* What is left of SO_RCVTIMEO: milliseconds, or -1. */
static int time_left(struct timespec *start, const struct timeval *limit)
{
	struct timespec now;
	int64_t left;

	if (!limit->tv_sec && !limit->tv_usec)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!start->tv_sec && !start->tv_nsec)
		*start = now;
	left = (start->tv_sec - now.tv_sec + limit->tv_sec) * 1000LL +
	       (start->tv_nsec - now.tv_nsec) / 1000000 + (limit->tv_usec + 999) / 1000;
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : left;
}

static void drop(void *s)
{
	table_resume(s);
	table_leave(s);
}

/* Until one of both may have something: true; or errno says why not. */
static bool wait_for(struct served *s, int ms)
{
	struct pollfd fds[2] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = s->state == SERVED ? s->e->epoll : -1, .events = POLLIN },
	};
	int n;

	table_pause(s);
	pthread_cleanup_push(drop, s);
	n = NEXT(poll)(fds, 2, ms);
	pthread_cleanup_pop(0);
	table_resume(s);
	if (!n)
		errno = EAGAIN;
	return n > 0;
}

ssize_t receive_msg(struct served *s, struct msghdr *hdr, int flags)
{
	struct timespec start = {};
	struct timeval limit = {};
	socklen_t len = sizeof(limit);
	ssize_t ret;

	if (flags & (MSG_OOB | MSG_ERRQUEUE))
		return NEXT(recvmsg)(s->fd, hdr, flags);
	while (!try(s, hdr, flags, &ret)) {
		if ((flags & MSG_DONTWAIT) || (NEXT(fcntl)(s->fd, F_GETFL) & O_NONBLOCK)) {
			errno = EAGAIN;
			return -1;
		}
		if (!start.tv_sec && !start.tv_nsec)
			getsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &len);
		if (!wait_for(s, time_left(&start, &limit)))
			return -1;
	}
	return ret;
}

/* The time is looked at after each datagram, as the kernel does. */
int receive_msgs(struct served *s, struct mmsghdr *msgs, unsigned int n, int flags,
		 struct timespec *timeout)
{
	struct timespec now, end = {};
	unsigned int got = 0;
	ssize_t len;

	if (timeout) {
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += timeout->tv_sec;
		end.tv_nsec += timeout->tv_nsec;
	}
	while (got < n) {
		len = receive_msg(s, &msgs[got].msg_hdr, flags & ~MSG_WAITFORONE);
		if (len < 0)
			return got ? (int)got : -1;
		msgs[got++].msg_len = len;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (!timeout)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec + end.tv_nsec / 1000000000 ||
		    (now.tv_sec == end.tv_sec + end.tv_nsec / 1000000000 &&
		     now.tv_nsec >= end.tv_nsec % 1000000000))
			break;
	}
	return got;
}
