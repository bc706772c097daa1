// SPDX-License-Identifier: GPL-2.0
/*
 * sdprun - run a program whose TCP connections the kernel moves, or set the rule by which it does
 * so for a control group or a user.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <link.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sdpdev.h"

#define RINGS		"libsdprings.so"
#define MCAST		"libsdpmcastrun.so"
#define FOLDER		LIBDIR "/sdpdev"

/* As env(1), nice(1) and the shell tell these apart. */
#define EXIT_TROUBLE	125
#define EXIT_NO_EXEC	126
#define EXIT_NOT_FOUND	127

static const char usage[] =
"Usage: sdprun [OPTION...] PROGRAM [ARG...]\n"
"       sdprun --cgroup=DIR [OPTION...]\n"
"       sdprun --user=USER [OPTION...]\n"
"\n"
"Run an unmodified PROGRAM.  Its TCP connections, and those of every program\n"
"that it runs, leave TCP if the kernel has a better carrier: memory within this\n"
"machine, the Sockets Direct Protocol over RDMA between machines.\n"
"\n"
"      --now         connections leave TCP at once\n"
"      --only        no byte goes by TCP: connections that cannot leave it fail\n"
"      --never       connections stay with TCP\n"
"      --none        remove the rule\n"
"      --connect     only connections that are made\n"
"      --listen      only connections that are accepted\n"
"      --ports=LIST  only these ports or ranges, at most eight: 80,8000-8099\n"
"      --must-move   do not run PROGRAM if the kernel cannot set the rule\n"
"      --rings       PROGRAM sends and receives by memory, without system calls\n"
"      --mcast[=LIST]\n"
"                    a queue pair of PROGRAM receives multicast over InfiniBand: all\n"
"                    groups, or those in LIST, such as 239.1.2.3,239.2.0.0/16\n"
"      --cgroup=DIR  set the rule of a control group: its directory, or self\n"
"      --user=USER   set the rule of a user: a name, or a number\n"
"  -h, --help        show this\n"
"  -V, --version     show the version\n"
"\n"
"SDPDEV_RINGS=auto|always|never: rings for connections with many calls, all, or none\n"
"SDPMCAST_LOG=FILE: lines of --mcast go to FILE instead of standard error\n";

__attribute__((format(printf, 1, 2)))
static int trouble(const char *format, ...)
{
	va_list args;

	fputs("sdprun: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return EXIT_TROUBLE;
}

/* What the command line says. */
struct choice {
	struct sdp_rule rule;
	const char *cgroup;	/* the rule is that of a directory, */
	const char *user;	/* or of a name or a number */
	int connect;
	int listen;		/* neither stands for both */
	int must;		/* the program runs with the rule, or not at all */
	int rings;
	const char *mcast;	/* groups that a queue pair receives; all if empty, none if NULL */
	char *ports;		/* as --ports has them */
};

static struct choice choice = {
	.rule = { .size = sizeof(struct sdp_rule), .verdict = SDP_RULE_MOVE },
};

/* --- the rule ------------------------------------------------------------ */

/* Takes a port off @text; 0 if there is none. */
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

/* Ports and ranges of them, with commas in between. */
static bool add_ports(struct sdp_rule *rule, const char *text)
{
	struct sdp_ports *ports = rule->ports;

	while (ports < rule->ports + SDP_RULE_PORTS && ports->first)
		ports++;
	for (; ports < rule->ports + SDP_RULE_PORTS; ports++, text++) {
		ports->first = take_port(&text);
		ports->last = ports->first;
		if (*text == '-') {
			text++;
			ports->last = take_port(&text);
		}
		if (!ports->first || ports->last < ports->first)
			return false;
		if (*text != ',')
			return !*text;
	}
	return false;
}

#define NO_DEVICE SDP_DEVICE_PATH \
	" is not there: load the module (modprobe sdpdev), or give the container the device"

/* NULL, or why the kernel does not take the rule. */
static const char *set_rule(void)
{
	static char other[100];

	if (!sdp_set_rule(&choice.rule))
		return NULL;
	switch (errno) {
	case ENOENT: return NO_DEVICE;
	case ENOTTY:
	case EINVAL: return "the module sdpdev that is loaded does not know this rule";
	case EPERM: return "needs CAP_NET_ADMIN in the network namespace";
	case EBADF: return "not the directory of a control group, version 2";
	case ENOSPC: return "the limit of control groups and users with rules is reached";
	case EOPNOTSUPP: return "this kernel lacks a feature that rules need";
	}
	snprintf(other, sizeof(other), "%s: %s", SDP_DEVICE_PATH, strerror(errno));
	return other;
}

/* --- a control group, or a user ------------------------------------------ */

/* Where control groups of version 2 are mounted; aside if version 1 has the usual place. */
static const char *cgroup_mount(void)
{
	const char *aside = "/sys/fs/cgroup/unified";
	struct statfs fs;

	return !statfs(aside, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
	       !statfs("/sys/fs/cgroup", &fs) && fs.f_type != CGROUP2_SUPER_MAGIC ?
	       aside : "/sys/fs/cgroup";
}

static bool own_cgroup(char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::", 3) &&
			snprintf(path, size, "%s%s", cgroup_mount(), line + 3) < (int)size;
	}
	if (file)
		fclose(file);
	return found;
}

static int set_cgroup(const char *dir)
{
	char path[PATH_MAX];
	const char *error;

	if (!strcmp(dir, "self")) {
		if (!own_cgroup(path, sizeof(path)))
			return trouble("%s: %s", dir,
				       "this process is in no control group of version 2, or /proc is not mounted");
		dir = path;
	}
	choice.rule.scope = SDP_RULE_CGROUP;
	choice.rule.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = choice.rule.fd < 0 ? strerror(errno) : set_rule();
	return error ? trouble("%s: %s", dir, error) : 0;
}

/* A name, or the number of a user who may have none. */
static int set_user(const char *name)
{
	/* cppcheck-suppress getpwnamCalled ; there are no threads */
	const struct passwd *user = getpwnam(name);
	const char *error;
	char *end = "";
	unsigned long number;

	errno = 0;
	number = user ? user->pw_uid : strtoul(name, &end, 10);
	if ((!user && (*name < '0' || *name > '9')) || *end || errno || number >= UINT32_MAX)
		return trouble("%s: no such user", name);
	choice.rule.scope = SDP_RULE_USER;
	choice.rule.fd = number;
	error = set_rule();
	return error ? trouble("%s: %s", name, error) : 0;
}

/* --- listeners ----------------------------------------------------------- */

/* An option that is a number; -1 of what is no socket, or has no answer. */
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

/*
 * Listeners that were there before the rule, as those that a service is started with, get what it
 * says; true, or false if one of them did not, for the reason in errno.
 */
static bool move_listeners(const struct sdp_rule *rule)
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

/* --- libraries that are loaded into the program --------------------------- */

/* The linker's: this program's own head. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

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
		return "the program and the library are for different processors";
	for (i = 0; i < head.e_phnum; i++)
		if (pread(fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment)) ==
		    sizeof(segment) && segment.p_type == PT_INTERP)
			return NULL;
	return "it is statically linked";
}

/* Beside this program or in @folder there, as it is built, or where it was installed. */
static bool find_library(const char *folder, const char *name, char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = '\0';
		*strrchr(self, '/') = '\0';
		if (snprintf(path, size, "%s/%s%s", self, folder, name) < (int)size &&
		    !access(path, R_OK))
			return true;
	}
	return snprintf(path, size, "%s/%s", FOLDER, name) < (int)size && !access(path, R_OK);
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

/* Puts a library before the others in LD_PRELOAD; NULL, or why it is not. */
static const char *preload(const char *program, const char *folder, const char *name)
{
	static char missing[100];
	int fd = open_program(program);
	const char *ret = fd < 0 ? NULL : obstacle(fd);
	char path[PATH_MAX];

	if (fd >= 0)
		close(fd);
	if (ret)
		return ret;
	if (!find_library(folder, name, path, sizeof(path))) {
		snprintf(missing, sizeof(missing), "%s is neither beside sdprun nor in %s", name,
			 FOLDER);
		return missing;
	}
	if (strpbrk(path, ": \t\n"))
		return "LD_PRELOAD cannot name a path with a colon or a space";
	/* AddressSanitizer wants to be the first library, and works as the second one. */
	return set_first("LD_PRELOAD", path) &&
	       set_first("ASAN_OPTIONS", "verify_asan_link_order=0") ? NULL : strerror(errno);
}

/* NULL, or why the kernel receives all multicast. */
static const char *preload_mcast(const char *program)
{
	const char *ret = preload(program, "../libsdpmcast/", MCAST);

	if (ret)
		return ret;
	return setenv("SDPMCAST_GROUPS", choice.mcast, 1) ||
	       setenv("SDPMCAST_PORTS", choice.ports ?: "", 1) ? strerror(errno) : NULL;
}

/* --- a program ----------------------------------------------------------- */

static int execute(char **argv)
{
	execvp(argv[0], argv);
	if (errno == ENOENT) {
		trouble("%s: program not found", argv[0]);
		return EXIT_NOT_FOUND;
	}
	trouble("%s: %s", argv[0], strerror(errno));
	return EXIT_NO_EXEC;
}

/* Why a program with that rule has no rings. */
static const char *const no_rings[] = {
	[SDP_RULE_ONLY] = "with --only bytes go by system calls",
	[SDP_RULE_NEVER] = "with --never connections stay with TCP",
	[SDP_RULE_NONE] = "with --none the program has no rule that asks for them",
	[SDP_RULE_MOVE] = NULL,
	[SDP_RULE_NOW] = NULL,
};

static int run(char **argv)
{
	const unsigned int verdict = choice.rule.verdict;
	bool stays = verdict == SDP_RULE_NEVER || verdict == SDP_RULE_NONE;
	bool must = choice.must || verdict == SDP_RULE_ONLY;
	const char *error = set_rule();

	/* Without the module nothing moves. With it, another rule may cover the program. */
	if (error && (must || (stays && !access("/proc/net/sdp", F_OK))))
		return trouble("%s", error);
	if (error && !stays)
		trouble("%s; %s runs over TCP", error, argv[0]);
	if (!error && !move_listeners(&choice.rule)) {
		error = strerror(errno);
		trouble("an inherited listening socket stays with TCP: %s", error);
		if (must)
			return EXIT_TROUBLE;
	}
	if (choice.rings && !error) {
		error = no_rings[verdict] ?: preload(argv[0], "", RINGS);
		if (error)
			trouble("%s: no rings: %s", argv[0], error);
	}
	if (choice.mcast) {
		error = preload_mcast(argv[0]);
		if (error)
			trouble("%s: the kernel receives multicast: %s", argv[0], error);
	}
	return execute(argv);
}

/* --- the command line ---------------------------------------------------- */

enum { PORTS = 256, CGROUP, USER, MULTICAST, VERDICT };

static const struct option options[] = {
	{ "now", no_argument, NULL, VERDICT + SDP_RULE_NOW },
	{ "only", no_argument, NULL, VERDICT + SDP_RULE_ONLY },
	{ "never", no_argument, NULL, VERDICT + SDP_RULE_NEVER },
	{ "none", no_argument, NULL, VERDICT + SDP_RULE_NONE },
	{ "connect", no_argument, &choice.connect, SDP_RULE_CONNECT },
	{ "listen", no_argument, &choice.listen, SDP_RULE_LISTEN },
	{ "ports", required_argument, NULL, PORTS },
	{ "must-move", no_argument, &choice.must, 1 },
	{ "rings", no_argument, &choice.rings, 1 },
	{ "mcast", optional_argument, NULL, MULTICAST },
	{ "cgroup", required_argument, NULL, CGROUP },
	{ "user", required_argument, NULL, USER },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{}
};

/* A group, and perhaps how many of its bits count. */
static bool is_group(const char *text, size_t len)
{
	char addr[INET6_ADDRSTRLEN + 4], *slash, *end = "";
	unsigned long bits = 1;
	struct in6_addr in6;
	struct in_addr in;
	bool is4, is6;

	if (len >= sizeof(addr))
		return false;
	memcpy(addr, text, len);
	addr[len] = '\0';
	slash = strchr(addr, '/');
	if (slash) {
		*slash = '\0';
		bits = slash[1] >= '0' && slash[1] <= '9' ? strtoul(slash + 1, &end, 10) : 0;
	}
	is4 = inet_pton(AF_INET, addr, &in) == 1 && IN_MULTICAST(ntohl(in.s_addr));
	is6 = inet_pton(AF_INET6, addr, &in6) == 1 && IN6_IS_ADDR_MULTICAST(&in6);
	return !*end && bits && ((is4 && bits <= 32) || (is6 && bits <= 128));
}

static bool are_groups(const char *text)
{
	const char *end;

	for (;; text = end + 1) {
		end = strchrnul(text, ',');
		if (!is_group(text, end - text))
			return false;
		if (!*end)
			return true;
	}
}

/* Takes an option; zero, or an exit status. */
static int choose(int option)
{
	switch (option) {
	case 0:
		return 0;
	case '?':
		return EXIT_TROUBLE;
	case MULTICAST:
		choice.mcast = optarg ?: "";
		return !optarg || are_groups(optarg) ? 0 :
		       trouble("%s: not a list of multicast groups", optarg);
	case PORTS:
		if (asprintf(&choice.ports, "%s%s%s", choice.ports ?: "",
			     choice.ports ? "," : "", optarg) < 0)
			return trouble("%s", strerror(errno));
		return add_ports(&choice.rule, optarg) ? 0 :
		       trouble("%s: not a list of ports, or more than eight", optarg);
	case CGROUP:
		choice.cgroup = optarg;
		return 0;
	case USER:
		choice.user = optarg;
		return 0;
	}
	if (choice.rule.verdict != SDP_RULE_MOVE && option != VERDICT + (int)choice.rule.verdict)
		return trouble("--now, --only, --never and --none do not go together");
	choice.rule.verdict = option - VERDICT;
	return 0;
}

/* What the options say together; zero, or an exit status. */
static int judge(bool program)
{
	struct sdp_rule *rule = &choice.rule;

	rule->calls = choice.connect | choice.listen;
	if (rule->verdict == SDP_RULE_NONE && (rule->calls || rule->ports[0].first))
		return trouble("--none goes without --connect, --listen and --ports");
	if (rule->verdict != SDP_RULE_NONE && !rule->calls)
		rule->calls = SDP_RULE_CONNECT | SDP_RULE_LISTEN;
	if (!choice.cgroup && !choice.user)
		return program ? 0 : trouble("no program given; see sdprun --help");
	if (program || choice.must || choice.rings || choice.mcast ||
	    (choice.cgroup && choice.user))
		return trouble("%s go without PROGRAM, --must-move, --rings and --mcast, %s",
			       "--cgroup and --user", "and not together");
	return 0;
}

int main(int argc, char **argv)
{
	int option, status = 0;

	while (!status && (option = getopt_long(argc, argv, "+hV", options, NULL)) != -1) {
		if (option == 'h' || option == 'V') {
			fputs(option == 'h' ? usage : "sdprun " VERSION "\n", stdout);
			return 0;
		}
		status = choose(option);
	}
	if (!status)
		status = judge(optind < argc);
	if (status)
		return status;
	if (choice.cgroup)
		return set_cgroup(choice.cgroup);
	return choice.user ? set_user(choice.user) : run(argv + optind);
}
