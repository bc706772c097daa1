/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Which carriers a program's connections may use: what the environment and the
 * rules of libsdpdev.conf(5) say.
 */
#ifndef SDPDEV_POLICY_H
#define SDPDEV_POLICY_H

#include <stdbool.h>
#include <sys/socket.h>

#include "conf.h"

/**
 * policy_read - read SDPDEV_MODE, SDPDEV_CONF and the file
 * @program: the name that the program was called by
 * @file: the path of its executable file
 *
 * Called once, before there are threads.
 *
 * Return: NULL, or what is wrong with either: TCP is refused then, because the rules
 * might refuse it, unless SDPDEV_MODE goes before the rules
 */
__hidden const char *policy_read(const char *program, const char *file);

/* The rules, for diagnostics. */
__hidden const struct conf *policy_conf(void);

/* Whether a socket of that kind is a TCP socket. */
__hidden bool policy_is_tcp(int family, int type, int protocol);

/* Whether such a socket is to be an endpoint. */
__hidden bool policy_wants(int family, int type, int protocol);

/**
 * policy_carriers - which carriers a connection or a listener may use
 * @direction: CONF_CONNECT or CONF_LISTEN
 * @addr: where to, or where
 * @len: length of @addr
 * @rule: out: the rule that says so; NULL where none does
 *
 * Return: SDP_CONNECT_NO_TCP, SDP_CONNECT_NO_SDP, which have the values of
 * SDP_LISTEN_NO_TCP and SDP_LISTEN_NO_SDP, or zero
 */
__hidden unsigned int policy_carriers(unsigned int direction, const struct sockaddr *addr,
				      socklen_t len, const struct conf_rule **rule);

/* Whether a plain socket may stand in for an endpoint that cannot be made. */
__hidden bool policy_may_fall_back(void);

/* Whether no TCP socket may be made at all, because the rules could not be read. */
__hidden bool policy_unknown(void);

/* Whether some connections, or some listeners, of the program must not be TCP's. */
__hidden bool policy_may_refuse(unsigned int direction);

/*
 * Whether TCP must not carry all of the program's connections. @rule, out: the first rule
 * that says so; NULL: SDPDEV_MODE does, or there are no rules that could be read.
 */
__hidden bool policy_needs_sdp(const struct conf_rule **rule);

/**
 * policy_refuses - whether a TCP socket must not connect or listen there
 * @direction: CONF_CONNECT or CONF_LISTEN
 * @addr: where to, or where
 * @len: length of @addr
 * @rule: out: the rule that says so; NULL: SDPDEV_MODE does, or the rules could not be read
 *
 * With a rule "use sdp" TCP sockets are left only where there was no endpoint to be had, or
 * the program got them from elsewhere.  SDPDEV_MODE=only is about connections.
 */
__hidden bool policy_refuses(unsigned int direction, const struct sockaddr *addr,
			     socklen_t len, const struct conf_rule **rule);

#endif /* SDPDEV_POLICY_H */
