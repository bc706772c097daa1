// SPDX-License-Identifier: GPL-2.0
/*
 * Listeners that there are already, and the loader's variables; see sdprun.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sdprun.h"

#define LIBRARY		"libsdprings.so"
#define FOLDER		LIBDIR "/sdpdev"

/* --- listeners ----------------------------------------------------------- */

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

	for (i = 0; i < SDP_RULE_PORTS && rule->ports[i].first; i++)
		if (port >= rule->ports[i].first && port <= rule->ports[i].last)
			return true;
	return !rule->ports[0].first;
}

/* False if the listener has another ULP, or cannot get ours. */
static bool move_listener(int fd, const struct sdp_rule *rule)
{
	socklen_t len = sizeof(int);
	int mode;

	if (!setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3))
		return true;
	/* If the listener had the ULP before the rule, it has the mode of that time. */
	if (errno != EEXIST || getsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, &len))
		return false;
	if (rule->verdict == SDP_RULE_ONLY)
		mode = SDP_MODE_ONLY;
	else if (rule->verdict == SDP_RULE_NOW && mode == SDP_MODE_MOVE)
		mode = SDP_MODE_NOW;
	else
		return true;
	return !setsockopt(fd, IPPROTO_SDP, SDP_SOCK_MODE, &mode, sizeof(mode));
}

bool move_listeners(const struct sdp_rule *rule)
{
	unsigned int port;
	struct dirent *d;
	int error = 0;
	DIR *dir;

	if (rule->verdict == SDP_RULE_NEVER || !(rule->calls & SDP_RULE_LISTEN))
		return true;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return false;
	/* cppcheck-suppress readdirCalled ; there are no threads */
	while ((d = readdir(dir))) {
		int fd = atoi(d->d_name);

		if (d->d_name[0] == '.' || !is_listener(fd, &port) || !speaks_of(rule, port))
			continue;
		if (!move_listener(fd, rule))
			error = errno;
	}
	closedir(dir);
	errno = error;
	return !error;
}

/* --- the library of rings ------------------------------------------------ */

/* The linker's: this program's own head. */
extern const ElfW(Ehdr) __ehdr_start __hidden;

/* Finds @name as execvp() will, and opens it; -1 if it cannot. */
static int open_program(const char *name)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX];
	int fd;

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_CLOEXEC);
	for (dir = dir ? dir : "/bin:/usr/bin"; ; dir = end + 1) {
		end = strchrnul(dir, ':');
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - dir), dir,
			     end == dir ? "" : "/", name) < (int)sizeof(path) &&
		    !access(path, X_OK)) {
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0)
				return fd;
		}
		if (!*end)
			return -1;
	}
}

/* NULL, or what keeps the loader from loading our library into the program. */
static const char *obstacle(int fd)
{
	ElfW(Phdr) segment;
	ElfW(Ehdr) head;
	unsigned int i;

	/* A script: its interpreter has the loader. */
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (head.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
	    head.e_machine != __ehdr_start.e_machine)
		return "it is a program for another kind of machine than the library";
	for (i = 0; i < head.e_phnum; i++)
		if (pread(fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment)) ==
		    sizeof(segment) && segment.p_type == PT_INTERP)
			return NULL;
	return "it is statically linked";
}

/* Beside this program, as it is built, or where it was installed. */
static bool find_library(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		if (snprintf(path, size, "%s/" LIBRARY, self) < (int)size && !access(path, R_OK))
			return true;
	}
	return snprintf(path, size, "%s", FOLDER "/" LIBRARY) < (int)size && !access(path, R_OK);
}

/* Puts a word before those that a variable has. */
static bool set_first(const char *name, const char *word)
{
	const char *rest = getenv(name);
	char *value;

	if (asprintf(&value, "%s%s%s", word, rest && *rest ? ":" : "", rest ? rest : "") < 0)
		return false;
	return !setenv(name, value, 1);
}

const char *preload_rings(const char *program)
{
	char path[PATH_MAX];
	const char *ret;
	int fd;

	fd = open_program(program);
	ret = fd < 0 ? NULL : obstacle(fd);
	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	if (!find_library(path, sizeof(path)))
		return LIBRARY " is neither beside sdprun nor in " FOLDER;
	if (strpbrk(path, ": \t\n"))
		return "LD_PRELOAD cannot name a path with a colon or a space";
	/* AddressSanitizer wants to be the first library, and works as the second one. */
	return set_first("LD_PRELOAD", path) &&
	       set_first("ASAN_OPTIONS", "verify_asan_link_order=0") ? NULL : strerror(errno);
}
