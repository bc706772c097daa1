// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * The preload library's diagnostics; see say.h.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy.h"
#include "say.h"

/* Written by the constructor, before there can be threads. */
static bool debug;

/* The file that was standard error: a daemon may make 2 something else. */
static dev_t stderr_dev;
static ino_t stderr_ino;

__attribute__((format(printf, 1, 2)))
void say(const char *format, ...)
{
	char line[256];
	int n, saved = errno;
	struct stat st;
	va_list args;

	n = snprintf(line, sizeof(line), "sdpdev[%d]: ", (int)getpid());
	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - n, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';

	if (!fstat(STDERR_FILENO, &st) && st.st_dev == stderr_dev &&
	    st.st_ino == stderr_ino && write(STDERR_FILENO, line, n) < 0)
		debug = false;
	errno = saved;
}

void say_init(void)
{
	const char *value = getenv("SDPDEV_DEBUG");
	struct stat st;

	debug = value && *value && strcmp(value, "0");
	if (!fstat(STDERR_FILENO, &st)) {
		stderr_dev = st.st_dev;
		stderr_ino = st.st_ino;
	}
}

static const char *address(const struct __kernel_sockaddr_storage *addr, char *buf,
			   size_t size)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	char name[INET6_ADDRSTRLEN];

	if (addr->ss_family == AF_INET &&
	    inet_ntop(AF_INET, &in->sin_addr, name, sizeof(name)))
		snprintf(buf, size, "%s:%u", name, ntohs(in->sin_port));
	else if (addr->ss_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &in6->sin6_addr, name, sizeof(name)))
		snprintf(buf, size, "[%s]:%u", name, ntohs(in6->sin6_port));
	else
		snprintf(buf, size, "an unknown address");
	return buf;
}

static const char *reason(unsigned int code)
{
	static const char * const text[] = {
		[SDP_REASON_NONE] = "",
		[SDP_REASON_PEER_ABORT] = " (the peer aborted)",
		[SDP_REASON_LOCAL_ABORT] = " (aborted here)",
		[SDP_REASON_TRANSPORT] = " (the transport lost the connection)",
		[SDP_REASON_DEVICE] = " (the device went away)",
		[SDP_REASON_NO_ROUTE] = " (the route does not leave by IPoIB)",
		[SDP_REASON_UNREACHABLE] = " (address or path not resolved)",
		[SDP_REASON_REFUSED] = " (the peer has no SDP listener)",
		[SDP_REASON_BAD_HELLO] = " (Hello not acceptable)",
		[SDP_REASON_BAD_MESSAGE] = " (malformed message)",
		[SDP_REASON_CREDITS] = " (data beyond the credits)",
		[SDP_REASON_SEQUENCE] = " (wrong sequence number)",
		[SDP_REASON_RING] = " (ring index out of range)",
		[SDP_REASON_NO_MEMORY] = " (no memory)",
		[SDP_REASON_LIMIT] = " (the user has as many as allowed)",
		[SDP_REASON_NO_TRANSPORT] = " (no SDP transport is loaded)",
		[SDP_REASON_SIGNED] = " (TCP's MD5 or AO keys are set)",
		[SDP_REASON_FAMILY] = " (bound to an address of the other family)",
		[SDP_REASON_POLICY] = " (a control group's program decided)",
	};

	if (code >= sizeof(text) / sizeof(*text) || !text[code])
		return " (unknown reason)";
	return text[code];
}

void say_no_endpoint(int error)
{
	if (debug)
		say("no endpoint, a TCP socket instead: %s: %s", SDP_DEVICE_PATH,
		    strerrordesc_np(error));
}

void say_refused(const char *what, const struct conf_rule *rule)
{
	static bool said;
	int fd;

	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		return;
	if (!rule) {
		say("no %s: SDPDEV_MODE says 'only', and the socket is a TCP socket", what);
		return;
	}
	fd = sdp_socket(AF_INET, SOCK_CLOEXEC);
	if (fd < 0) {
		say("no %s: %s:%u says '%s', and %s: %s", what, policy_conf()->path,
		    rule->line, rule->text, SDP_DEVICE_PATH, strerrordesc_np(errno));
		return;
	}
	syscall(SYS_close, fd);
	say("no %s: %s:%u says '%s', and the socket is a TCP socket", what,
	    policy_conf()->path, rule->line, rule->text);
}

void say_settled(int fd)
{
	char buf[INET6_ADDRSTRLEN + 16];
	struct sdp_info info;
	int saved = errno;

	if (!debug)
		return;
	if (!sdp_info(fd, &info) && info.peer_len && info.carrier != SDP_CARRIER_NONE)
		say("fd %d: connected to %s over %s%s", fd,
		    address(&info.peer, buf, sizeof(buf)),
		    info.carrier == SDP_CARRIER_SDP ? "SDP" : "TCP",
		    reason(info.reason));
	errno = saved;
}

/* It may be settled already that it will be TCP, but there is no peer yet. */
static void say_connecting(int fd)
{
	struct sdp_info info;
	int saved = errno;

	if (!sdp_info(fd, &info) && info.carrier == SDP_CARRIER_TCP)
		say("fd %d: connecting over TCP%s", fd, reason(info.reason));
	else
		say("fd %d: connecting", fd);
	errno = saved;
}

void say_connect(int fd, int ret)
{
	if (!debug)
		return;
	if (!ret)
		say_settled(fd);
	else if (errno == EINPROGRESS)
		say_connecting(fd);
	else
		say("fd %d: not connected: %s", fd, strerrordesc_np(errno));
}

void say_accepted(int listener, int fd, unsigned int carrier)
{
	if (debug)
		say("fd %d: accepted from listener %d over %s", fd, listener,
		    carrier == SDP_CARRIER_SDP ? "SDP" : "TCP");
}

void say_rule(int fd, const struct conf *conf, const struct conf_rule *rule)
{
	if (debug && rule)
		say("fd %d: %s:%u: %s", fd, conf->path, rule->line, rule->text);
}
