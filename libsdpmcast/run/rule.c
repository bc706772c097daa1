// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * What sdprun says in the environment, and what is told about it:
 *
 *	SDPMCAST_GROUPS	the groups: ADDRESS or ADDRESS/BITS, with commas between; all if empty
 *	SDPMCAST_PORTS	the ports: 80 or 8000-8099, with commas between; all if empty
 *	SDPMCAST_LOG	a file that gets a line for each group. Without it, what goes by the kernel
 *			is told on stderr, as long as that is the stderr that the program began with
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

static const char *groups, *ports, *log_file;
static struct stat first_stderr;

/* The program may write over its environment. */
static const char *keep(const char *name)
{
	const char *value = getenv(name);

	return value ? strdup(value) : NULL;
}

void rule_start(void)
{
	groups = keep("SDPMCAST_GROUPS");
	ports = keep("SDPMCAST_PORTS");
	log_file = keep("SDPMCAST_LOG");
	if (fstat(2, &first_stderr))
		memset(&first_stderr, 0, sizeof(first_stderr));
}

/* --- what is covered -------------------------------------------------------- */

static bool has_prefix(const struct sockaddr_storage *group, const char *text, size_t len)
{
	uint8_t want[16], is[16];
	char addr[INET6_ADDRSTRLEN + 4];
	unsigned int bits, i;
	struct in6_addr a;
	char *slash;

	if (len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	slash = strchr(addr, '/');
	if (slash)
		*slash = '\0';
	bits = group->ss_family == AF_INET ? 32 : 128;
	if (inet_pton(group->ss_family, addr, want) != 1)
		return false;
	if (slash && strtoul(slash + 1, NULL, 10) < bits)
		bits = strtoul(slash + 1, NULL, 10);
	addr_read(group, &a, NULL);
	memcpy(is, &a, sizeof(is));
	for (i = 0; i < bits; i++)
		if ((want[i / 8] ^ is[i / 8]) & 0x80 >> i % 8)
			return false;
	return true;
}

static bool has_port(const char *text, size_t len, unsigned int port)
{
	char range[16], *end;
	unsigned long first, last;

	if (len >= sizeof(range))
		return false;
	memcpy(range, text, len);
	range[len] = '\0';
	first = strtoul(range, &end, 10);
	last = *end == '-' ? strtoul(end + 1, NULL, 10) : first;
	return port >= first && port <= last;
}

/* @port is in the order of the network; 0: it is not known yet, and may be any. */
bool rule_covers(const struct sockaddr_storage *group, in_port_t port)
{
	bool covered = !groups || !*groups;
	const char *at, *end;

	for (at = groups; !covered && at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ',');
		covered = has_prefix(group, at, end - at);
	}
	if (!covered || !port || !ports || !*ports)
		return covered;
	for (at = ports; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ',');
		if (has_port(at, end - at, ntohs(port)))
			return true;
	}
	return false;
}

/* --- what is told ------------------------------------------------------------- */

static int open_log(void)
{
	struct stat now;

	if (log_file && *log_file)
		return open(log_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (!first_stderr.st_ino || fstat(2, &now) || now.st_ino != first_stderr.st_ino ||
	    now.st_dev != first_stderr.st_dev)
		return -1;
	return fcntl(2, F_DUPFD_CLOEXEC, 3);
}

/* A line; @group may be NULL for all of the socket, and @why for a group by the queue pair. */
void rule_tell(int sock, const struct sockaddr_storage *group, const char *why)
{
	char name[INET6_ADDRSTRLEN] = "all groups";
	struct in6_addr addr;
	int fd, error = errno;

	if (!why && !(log_file && *log_file))
		return;
	fd = open_log();
	if (fd < 0)
		return;
	if (group) {
		addr_read(group, &addr, NULL);
		inet_ntop(group->ss_family, &addr, name, sizeof(name));
	}
	dprintf(fd, "sdpmcast: %s(%d): socket %d: %s: by the %s%s%s\n",
		program_invocation_short_name, getpid(), sock, name,
		why ? "kernel" : "queue pair", why ? ": " : "", why ?: "");
	close(fd);
	errno = error;
}

/* As rule_tell(), of a socket that is not served, if the rule covers the group. */
void rule_tell_covered(int sock, const struct sockaddr_storage *group, const char *why)
{
	struct sockaddr_storage own = {};
	socklen_t len = sizeof(own);
	struct in6_addr addr;
	in_port_t port = 0;

	if (!getsockname(sock, (struct sockaddr *)&own, &len))
		addr_read(&own, &addr, &port);
	if (rule_covers(group, port))
		rule_tell(sock, group, why);
}

void rule_tell_lost(int sock, uint64_t count)
{
	int error = errno, fd = open_log();

	if (fd < 0)
		return;
	dprintf(fd, "sdpmcast: %s(%d): socket %d: datagrams of the queue pair are lost: %ju\n",
		program_invocation_short_name, getpid(), sock, (uintmax_t)count);
	close(fd);
	errno = error;
}
