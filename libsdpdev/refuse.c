// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * TCP sockets that a rule refuses; see refuse.h.
 */
#define _GNU_SOURCE
#include <netinet/in.h>

#include "next.h"
#include "policy.h"
#include "refuse.h"
#include "say.h"

/* Whether @fd is a socket of TCP, or of another family that gives its bytes to TCP. */
static bool is_tcp_socket(int fd)
{
	int type = 0, protocol = 0;
	socklen_t len = sizeof(int);

	if (NEXT(getsockopt)(fd, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    NEXT(getsockopt)(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len))
		/* A filter of system calls may forbid to ask: then it may be one. */
		return errno != ENOTSOCK && errno != EBADF;
	return type == SOCK_STREAM && protocol != IPPROTO_SCTP;
}

/* What a rule refuses, if the socket is of that kind; errno stays @saved if not. */
static bool refuse_tcp(int fd, unsigned int direction, const struct conf_rule *rule, int saved)
{
	if (!is_tcp_socket(fd)) {
		errno = saved;
		return false;
	}
	/* That there are no rules has been said. */
	if (!policy_unknown())
		say_refused(direction == CONF_CONNECT ? "connection" : "listener", rule);
	errno = EACCES;
	return true;
}

bool refuse(int fd, unsigned int direction, const struct sockaddr *addr, socklen_t len)
{
	const struct conf_rule *rule;
	int saved = errno;

	/* The kernel says what is wrong with the pointer. */
	if (!policy_may_refuse(direction) || !sdp_can_read(addr, len) ||
	    !policy_refuses(direction, addr, len, &rule))
		return false;
	return refuse_tcp(fd, direction, rule, saved);
}

bool refuse_listener(int fd)
{
	socklen_t len = sizeof(struct sockaddr_storage), size = sizeof(int);
	const struct conf_rule *rule;
	struct sockaddr_storage addr;
	int saved = errno, domain;

	if (!policy_may_refuse(CONF_LISTEN))
		return false;
	if (!NEXT(getsockname)(fd, (struct sockaddr *)&addr, &len))
		return refuse(fd, CONF_LISTEN, (struct sockaddr *)&addr, len);
	if (!NEXT(getsockopt)(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) && domain == AF_UNIX) {
		errno = saved;
		return false;
	}
	/* A filter of system calls hides the address: it may be one that a rule refuses. */
	rule = policy_unknown() ? NULL : conf_only_sdp(policy_conf(), CONF_LISTEN);
	return refuse_tcp(fd, CONF_LISTEN, rule, saved);
}

bool refuse_message(int fd, const struct msghdr *msg, int flags)
{
	return (flags & MSG_FASTOPEN) && sdp_can_read(msg, sizeof(*msg)) &&
	       refuse(fd, CONF_CONNECT, msg->msg_name, msg->msg_namelen);
}
