// SPDX-License-Identifier: GPL-2.0
/*
 * Rules of /dev/sdp; see move.h.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sdp_sock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "move.h"

/* Takes a port off @text; 0 where there is none. */
static unsigned int take_port(const char **text)
{
	unsigned long port;
	char *end;

	if (**text < '0' || **text > '9')
		return 0;
	port = strtoul(*text, &end, 10);
	*text = end;
	return port <= 65535 ? port : 0;
}

static bool add_ports(struct sdp_rule *rule, const char *word)
{
	struct sdp_ports ports;
	unsigned int i = 0;

	ports.first = take_port(&word);
	ports.last = ports.first;
	if (*word == '-') {
		word++;
		ports.last = take_port(&word);
	}
	if (*word || !ports.first || ports.last < ports.first)
		return false;
	while (i < SDP_RULE_PORTS && rule->ports[i].first)
		i++;
	if (i == SDP_RULE_PORTS)
		return false;
	rule->ports[i] = ports;
	return true;
}

static bool add_word(struct sdp_rule *rule, const char *word)
{
	if (!strcmp(word, "move"))
		rule->verdict = SDP_RULE_MOVE;
	else if (!strcmp(word, "now"))
		rule->verdict = SDP_RULE_NOW;
	else if (!strcmp(word, "only"))
		rule->verdict = SDP_RULE_ONLY;
	else if (!strcmp(word, "never"))
		rule->verdict = SDP_RULE_NEVER;
	else if (!strcmp(word, "none"))
		rule->verdict = SDP_RULE_NONE;
	else if (!strcmp(word, "connect"))
		rule->calls |= SDP_RULE_CONNECT;
	else if (!strcmp(word, "listen"))
		rule->calls |= SDP_RULE_LISTEN;
	else
		return add_ports(rule, word);
	return true;
}

const char *move_parse(const char *text, struct sdp_rule *rule)
{
	char word[16];
	size_t n;

	*rule = (struct sdp_rule){ .size = sizeof(*rule), .verdict = SDP_RULE_MOVE };
	do {
		n = strcspn(text, ",");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (n >= sizeof(word) || !add_word(rule, word))
			return "is no rule: see sdprun --help";
		text += n + 1;
	} while (text[-1]);
	if (rule->verdict == SDP_RULE_NONE)
		return rule->calls || rule->ports[0].first ?
		       "is no rule: none stands alone" : NULL;
	if (!rule->calls)
		rule->calls = SDP_RULE_CONNECT | SDP_RULE_LISTEN;
	return NULL;
}

static const char *set_error(int error)
{
	switch (error) {
	case ENOTTY:
		return "the module sdpdev that is loaded knows no rules";
	case EPERM:
		return "needs CAP_NET_ADMIN in the network namespace";
	case EBADF:
		return "not the directory of a control group, version 2";
	case ENOSPC:
		return "as many control groups and users have rules as allowed";
	case EINVAL:
		return "the module sdpdev that is loaded does not know this rule";
	case EOPNOTSUPP:
		return "this kernel lacks what rules need";
	default:
		return check_device_error(error);
	}
}

const char *move_set(struct sdp_rule *rule)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int error = 0;

	if (fd < 0)
		return check_device_error(errno);
	if (ioctl(fd, SDP_IOC_RULE, rule))
		error = errno;
	close(fd);
	return error ? set_error(error) : NULL;
}

/* A socket is asked for something that is a number; -1 where it is none, or has no answer. */
static int ask(int fd, int what)
{
	socklen_t len = sizeof(int);
	int value;

	return getsockopt(fd, SOL_SOCKET, what, &value, &len) ? -1 : value;
}

static bool is_listener(int fd, unsigned int *port)
{
	struct sockaddr_in6 addr = {};
	socklen_t len = sizeof(addr);

	if (ask(fd, SO_PROTOCOL) != IPPROTO_TCP || ask(fd, SO_ACCEPTCONN) != 1 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len))
		return false;
	/* Both families have it in the same place. */
	*port = ntohs(addr.sin6_port);
	return true;
}

static bool speaks_of(const struct sdp_rule *rule, unsigned int port)
{
	unsigned int i;

	if (rule->verdict == SDP_RULE_NEVER || !(rule->calls & SDP_RULE_LISTEN))
		return false;
	for (i = 0; i < SDP_RULE_PORTS && rule->ports[i].first; i++)
		if (port >= rule->ports[i].first && port <= rule->ports[i].last)
			return true;
	return !rule->ports[0].first;
}

bool move_listeners(const struct sdp_rule *rule)
{
	DIR *dir = opendir("/proc/self/fd");
	const int only = SDP_MODE_ONLY;
	unsigned int port;
	struct dirent *d;
	int error = 0;

	if (!dir)
		return true;
	/* cppcheck-suppress readdirCalled ; there are no threads */
	while ((d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (d->d_name[0] == '.' || !is_listener(fd, &port) || !speaks_of(rule, port))
			continue;
		if (!setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3))
			continue;
		/* It had the ULP before the rule, or has another one. */
		if (errno != EEXIST || (rule->verdict == SDP_RULE_ONLY &&
					setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &only,
						   sizeof(only))))
			error = errno;
	}
	closedir(dir);
	errno = error;
	return !error;
}
