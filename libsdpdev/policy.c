// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What the user and the administrator asked for; see policy.h.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

/*
 * Written by policy_read(), before there can be threads; until then other libraries'
 * constructors have ordinary sockets.
 */
static enum { MODE_AUTO, MODE_OFF, MODE_ONLY, MODE_UNKNOWN } mode = MODE_OFF;
static struct conf conf;
static char *conf_path;

static const char *read_mode(void)
{
	const char *value = getenv("SDPDEV_MODE");

	if (!value || !*value || !strcmp(value, "auto"))
		mode = MODE_AUTO;
	else if (!strcmp(value, "off"))
		mode = MODE_OFF;
	else if (!strcmp(value, "only"))
		mode = MODE_ONLY;
	else
		mode = MODE_UNKNOWN;
	return mode == MODE_UNKNOWN ? "SDPDEV_MODE is none of auto, off and only" : NULL;
}

const char *policy_read(const char *program, const char *file)
{
	const char *path = getenv("SDPDEV_CONF"), *error = read_mode();
	bool named = path && *path;

	/* Some programs write over their environment, and it is told of later. */
	if (!error) {
		conf_path = strdup(named ? path : CONF_PATH);
		if (!conf_path)
			error = "no memory for the name of the file with the rules";
	}
	if (!error && conf_read(&conf, conf_path, program, file) && (named || errno != ENOENT))
		error = conf.error;
	if (error && mode == MODE_AUTO)
		mode = MODE_UNKNOWN;
	return error;
}

const struct conf *policy_conf(void)
{
	return &conf;
}

bool policy_is_tcp(int family, int type, int protocol)
{
	if (family != AF_INET && family != AF_INET6)
		return false;
	if ((type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != SOCK_STREAM)
		return false;
	return protocol == 0 || protocol == IPPROTO_TCP;
}

bool policy_wants(int family, int type, int protocol)
{
	if (!policy_is_tcp(family, type, protocol))
		return false;
	return mode == MODE_ONLY || (mode == MODE_AUTO && !conf_never_sdp(&conf));
}

static bool is_inet(const struct sockaddr *addr, socklen_t len)
{
	if (!addr || len < sizeof(struct sockaddr_in))
		return false;
	/* The last member is younger than the rest, and the kernel does without it. */
	if (addr->sa_family == AF_INET6)
		return len >= offsetof(struct sockaddr_in6, sin6_scope_id);
	return addr->sa_family == AF_INET || addr->sa_family == AF_INET_OFFLOAD;
}

unsigned int policy_carriers(unsigned int direction, const struct sockaddr *addr,
			     socklen_t len, const struct conf_rule **rule)
{
	*rule = NULL;
	if (mode == MODE_OFF)
		return SDP_CONNECT_NO_SDP;
	if (mode == MODE_ONLY)
		return direction == CONF_CONNECT ? SDP_CONNECT_NO_TCP : 0;
	if (!conf.rules || !is_inet(addr, len))
		return 0;
	*rule = conf_match(&conf, direction, addr);
	return *rule ? (*rule)->carriers : 0;
}

bool policy_may_fall_back(void)
{
	return mode != MODE_ONLY;
}

bool policy_unknown(void)
{
	return mode == MODE_UNKNOWN;
}

bool policy_may_refuse(unsigned int direction)
{
	return mode == MODE_UNKNOWN || (mode == MODE_ONLY && direction == CONF_CONNECT) ||
	       (mode == MODE_AUTO && conf_only_sdp(&conf, direction));
}

bool policy_needs_sdp(const struct conf_rule **rule)
{
	*rule = mode == MODE_AUTO ? conf_only_sdp(&conf, CONF_CONNECT | CONF_LISTEN) : NULL;
	return *rule || mode == MODE_ONLY || mode == MODE_UNKNOWN;
}

bool policy_refuses(unsigned int direction, const struct sockaddr *addr, socklen_t len,
		    const struct conf_rule **rule)
{
	*rule = NULL;
	if (!policy_may_refuse(direction) || !is_inet(addr, len))
		return false;
	if (mode != MODE_AUTO)
		return true;
	*rule = conf_match(&conf, direction, addr);
	return *rule && ((*rule)->carriers & SDP_CONNECT_NO_TCP);
}
