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
 * Return: NULL, or what is wrong with either; TCP takes everything then
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

#endif /* SDPDEV_POLICY_H */
