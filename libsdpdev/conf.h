/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The rules of libsdpdev.conf(5): reading them, and finding the one that counts.
 */
#ifndef SDPDEV_CONF_H
#define SDPDEV_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "internal.h"

#define CONF_PATH	"/etc/libsdpdev.conf"

#define CONF_CONNECT	(1U << 0)
#define CONF_LISTEN	(1U << 1)

/**
 * struct conf_rule - a line of the file
 * @next: the one after it
 * @text: the line, for people
 * @line: its number
 * @carriers: SDP_CONNECT_NO_TCP, SDP_CONNECT_NO_SDP or zero
 * @directions: CONF_CONNECT, CONF_LISTEN or both
 * @family: AF_INET or AF_INET6; AF_UNSPEC: every address
 * @prefix: bits of @addr that count
 * @addr: in network order
 * @port_min: first port
 * @port_max: last one
 * @any_user: for every user
 * @user: otherwise for this one
 */
struct conf_rule {
	struct conf_rule *next;
	char *text;
	unsigned int line;
	unsigned int carriers;
	unsigned int directions;
	sa_family_t family;
	unsigned int prefix;
	unsigned char addr[16];
	unsigned int port_min;
	unsigned int port_max;
	bool any_user;
	uid_t user;
};

/**
 * struct conf - the rules that concern one program, in their order
 * @path: the file
 * @rules: the first one
 * @error: what is wrong with the file, with its name and the line; empty if nothing
 *
 * Filled once, read-only afterwards.
 */
struct conf {
	const char *path;
	struct conf_rule *rules;
	char error[256];
};

/**
 * conf_read - read the rules that concern a program
 * @conf: filled; @path must stay
 * @path: the file
 * @program: the name that the program was called by
 * @file: the path of its executable file
 *
 * Return: 0, or -1: @conf->error tells why, errno is ENOENT where there is no
 * such file and EINVAL for what is in it
 */
__hidden int conf_read(struct conf *conf, const char *path, const char *program,
		       const char *file);

/* The first rule for that direction and address, or NULL. */
__hidden const struct conf_rule *conf_match(const struct conf *conf,
					    unsigned int direction,
					    const struct sockaddr *addr);

/* Whether every connection of the program is TCP's, whatever its address. */
__hidden bool conf_never_sdp(const struct conf *conf);

/* The first rule that refuses TCP in one of the directions, or NULL. */
__hidden const struct conf_rule *conf_only_sdp(const struct conf *conf,
					       unsigned int directions);

#endif /* SDPDEV_CONF_H */
