// SPDX-License-Identifier: GPL-2.0
/*
 * sdprun - run a program with its TCP connections over SDP where that goes, or with sockets
 * that the kernel moves.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check.h"
#include "move.h"
#include "policy.h"
#include "runtime.h"

/* Our libraries: connections over SDP, and rings of those that the kernel moves. */
#define LIBRARY		"libsdpdev-preload"
#define LIBRARY_RINGS	"libsdprings"
/* Their files: what the loader takes the others for in a 32-bit program, and in any. */
#define FILE64		".so"
#define FILE32		"-i686.so"
#define FILE_ANY	"-$PLATFORM.so"

/* As env(1), nice(1) and the shell tell these apart. */
#define EXIT_TROUBLE	125
#define EXIT_NO_EXEC	126
#define EXIT_NOT_FOUND	127

static const char usage[] =
"Usage: sdprun PROGRAM [ARG...]\n"
"       sdprun --endpoint PROGRAM [ARG...]\n"
"       sdprun --move[=RULE] [--rings] PROGRAM [ARG...]\n"
"       sdprun --only[=RULE] PROGRAM [ARG...]\n"
"       sdprun --cgroup DIR RULE\n"
"       sdprun --user USER RULE\n"
"       sdprun --check HOST PORT [PROGRAM]\n"
"\n"
"Run PROGRAM as it is.  Its TCP connections leave TCP while they run, where the\n"
"kernel has something better: memory within this machine, SDP over InfiniBand\n"
"between machines.  Also those of every program that PROGRAM runs.\n"
"\n"
"      --endpoint  connections are made over SDP first, by a library; this goes soon\n"
"      --move     the same as without an option, or what RULE says\n"
"      --must-move  the same, or do not run PROGRAM where the kernel cannot do it\n"
"      --rings    behind these two: a library lets PROGRAM send and receive by that memory\n"
"                 without system calls, where it can\n"
"      --only     the same as --must-move, and no byte goes by TCP: connections that\n"
"                 cannot leave it fail\n"
"      --cgroup   the same for all programs of a control group; DIR: its directory, or\n"
"                 self\n"
"      --user     the same for all programs of a user: a name or a number\n"
"      --check    make a connection over SDP, and tell what carries it and why\n"
"  -h, --help     show this\n"
"  -V, --version  show the version\n"
"\n"
"RULE: words with commas between them: now, to move at once; only, as --only does;\n"
"never, instead of moving; none, to remove a rule; connect or listen, for only those;\n"
"ports, and FIRST-LAST, for only those.  Or move, for all.\n"
"\n"
"Environment:\n"
"  SDPDEV_CONF=FILE            rules, instead of those in " CONF_PATH "\n"
"  SDPDEV_MODE=auto|off|only   as the rules say (default), never, or nothing else\n"
"  SDPDEV_RINGS=auto|always|never\n"
"                              bytes through shared memory: for connections with many\n"
"                              small messages (default), for all, or for none\n"
"  SDPDEV_DEBUG=1              say on standard error what carries each connection\n";

__attribute__((format(printf, 1, 2)))
static void say(const char *format, ...)
{
	va_list args;

	fputs("sdprun: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* --- the library --------------------------------------------------------- */

static bool has_library(const char *dir, const char *library)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, library) < (int)sizeof(path) &&
		!access(path, R_OK);
}

/* Beside this program, as it is built, or where it was installed: the folder. */
static bool find_library(const char *library, char *dir, size_t size)
{
	ssize_t n;

	n = readlink("/proc/self/exe", dir, size - 1);
	if (n > 0) {
		dir[n] = '\0';
		*strrchr(dir, '/') = '\0';
		if (has_library(dir, library))
			return true;
	}
	return snprintf(dir, size, "%s", LIBDIR) < (int)size && has_library(dir, library);
}

/*
 * Whether the loader finds a library of ours by its name for the platform.  It has
 * several for 64-bit x86 and tells them to nobody, so this program tries.
 */
static bool platform_known(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	if (!handle)
		return false;
	dlclose(handle);
	return true;
}

/*
 * The name for LD_PRELOAD.  Programs of the one width run those of the other, and
 * theirs run what they like, so the loader has to choose each time, if it can.
 */
static int name_library(const char *library, bool is32, char *path, size_t size)
{
	char dir[PATH_MAX], file[64], other[64];

	snprintf(file, sizeof(file), "%s%s", library, is32 ? FILE32 : FILE64);
	snprintf(other, sizeof(other), "%s%s", library, FILE32);
	if (!find_library(file, dir, sizeof(dir))) {
		say("%s is neither beside this program nor in %s", file, LIBDIR);
		return -1;
	}
	if (snprintf(path, size, "%s/%s%s", dir, library, FILE_ANY) < (int)size &&
	    has_library(dir, other) && (is32 || platform_known(path)))
		return 0;
	if (snprintf(path, size, "%s/%s", dir, file) < (int)size)
		return 0;
	say("%s: %s", file, strerror(ENAMETOOLONG));
	return -1;
}

/* How many bytes at the beginning of a list of libraries name AddressSanitizer's runtime. */
static size_t runtimes(const char *list)
{
	size_t all = 0, n;
	char name[64];

	while (list[all]) {
		n = strcspn(list + all, ": ");
		snprintf(name, sizeof(name), "%.*s", (int)n, list + all);
		if (!runtime_is(name))
			break;
		all += n + (list[all + n] != '\0');
	}
	return all;
}

static int set_variable(const char *name, char *value, int ret)
{
	if (ret < 0 || setenv(name, value, 1)) {
		say("no memory");
		return -1;
	}
	free(value);
	return 0;
}

/**
 * struct loading - what the loader makes of a program
 * @obstacle: what keeps our libraries out, or NULL
 * @unreadable: nobody knows, as it cannot be read
 * @is32: it needs those for 32-bit programs
 * @runtime: AddressSanitizer's, if the program needs it, or empty
 */
struct loading {
	const char *obstacle;
	bool unreadable;
	bool is32;
	char runtime[64];
};

/*
 * Puts the library before the others in LD_PRELOAD, and behind AddressSanitizer's runtime.
 * The library takes the runtime out again for the programs that this one runs.
 */
static int set_preload(const char *library, const struct loading *loading)
{
	const char *before = getenv("LD_PRELOAD"), *runtime = loading->runtime;
	char path[PATH_MAX], *value = NULL;
	int first, ret;

	if (name_library(library, loading->is32, path, sizeof(path)))
		return -1;
	if (strpbrk(path, ": \t\n")) {
		say("%s: LD_PRELOAD cannot name a path with a colon or a space", path);
		return -1;
	}
	before = before ? before : "";
	first = runtimes(before);
	if (first)
		runtime = "";
	ret = asprintf(&value, "%s%s%.*s%s%s%s%s", runtime, *runtime ? ":" : "", first, before,
		       first && !strchr(": ", before[first - 1]) ? ":" : "", path,
		       before[first] ? ":" : "", before + first);
	if (set_variable("LD_PRELOAD", value, ret))
		return -1;
	if (!*runtime)
		return 0;
	value = NULL;
	ret = asprintf(&value, "%s", runtime);
	return set_variable("SDPDEV_RUNTIME", value, ret);
}

/*
 * A program that this one runs may need AddressSanitizer's runtime, which then comes behind
 * our library.  Both work so, but the runtime refuses to start until it is told.
 */
static int set_sanitizer(void)
{
	const char *before = getenv("ASAN_OPTIONS");
	char *value = NULL;
	int ret;

	ret = asprintf(&value, "verify_asan_link_order=0%s%s", before ? ":" : "",
		       before ? before : "");
	return set_variable("ASAN_OPTIONS", value, ret);
}

/* --- the program --------------------------------------------------------- */

/* Finds @name as execvp() will. */
static bool find_program(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH"), *end;
	struct stat st;

	if (strchr(name, '/'))
		return snprintf(path, size, "%s", name) < (int)size;
	for (dir = dir ? dir : "/bin:/usr/bin"; ; dir = end + 1) {
		end = strchrnul(dir, ':');
		if (snprintf(path, size, "%.*s%s%s", (int)(end - dir), dir,
			     end == dir ? "" : "/", name) < (int)size &&
		    !access(path, X_OK) && !stat(path, &st) && S_ISREG(st.st_mode))
			return true;
		if (!*end)
			return false;
	}
}

/* The loader ignores LD_PRELOAD where the program gets more rights than we. */
static bool gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return true;
	if ((st.st_mode & S_ISGID) && st.st_gid != getgid())
		return true;
	return getuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

enum program_kind { KIND_UNKNOWN, KIND_DYNAMIC, KIND_DYNAMIC32, KIND_STATIC, KIND_FOREIGN };

static bool read_at(int fd, void *to, size_t n, off_t where)
{
	return pread(fd, to, n, where) == (ssize_t)n;
}

/* Our own machine type, to tell programs that our library does not fit. */
static unsigned int own_machine(void)
{
	Elf64_Ehdr head = { .e_machine = EM_NONE };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (!read_at(fd, &head, sizeof(head), 0))
			head.e_machine = EM_NONE;
		close(fd);
	}
	return head.e_machine;
}

/* Whether a loader will run the program: @dynamic, or KIND_STATIC. */
#define KIND_BY_SEGMENTS(fd, head, segment, dynamic)			\
({									\
	enum program_kind kind = KIND_STATIC;				\
	unsigned int i;							\
									\
	for (i = 0; i < (head).e_phnum && kind == KIND_STATIC; i++) {	\
		if ((head).e_phentsize != sizeof(segment) ||		\
		    !read_at(fd, &(segment), sizeof(segment),		\
			     (head).e_phoff + i * sizeof(segment)))	\
			kind = KIND_UNKNOWN;				\
		else if ((segment).p_type == PT_INTERP)			\
			kind = (dynamic);				\
	}								\
	kind;								\
})

static enum program_kind kind32_of(int fd)
{
	Elf32_Phdr segment;
	Elf32_Ehdr head;

	if (!read_at(fd, &head, sizeof(head), 0))
		return KIND_UNKNOWN;
	if (head.e_machine != EM_386)
		return KIND_FOREIGN;
	return KIND_BY_SEGMENTS(fd, head, segment, KIND_DYNAMIC32);
}

static enum program_kind kind64_of(int fd)
{
	Elf64_Phdr segment;
	Elf64_Ehdr head;

	if (!read_at(fd, &head, sizeof(head), 0))
		return KIND_UNKNOWN;
	if (head.e_machine != own_machine())
		return KIND_FOREIGN;
	return KIND_BY_SEGMENTS(fd, head, segment, KIND_DYNAMIC);
}

static enum program_kind kind_of(int fd)
{
	unsigned char ident[EI_NIDENT];

	if (!read_at(fd, ident, sizeof(ident), 0) || memcmp(ident, ELFMAG, SELFMAG))
		return KIND_UNKNOWN;
	switch (ident[EI_CLASS]) {
	case ELFCLASS64:
		return kind64_of(fd);
	case ELFCLASS32:
		return kind32_of(fd);
	default:
		return KIND_FOREIGN;
	}
}

/* A script's interpreter is the program that counts. */
static bool interpreter(int fd, char *path, size_t size)
{
	char line[256], *name;
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t")] = '\0';
	return *name && snprintf(path, size, "%s", name) < (int)size;
}

/* Whether the program must not use TCP, and says so. */
static bool refused(const char *name, const char *why)
{
	const struct conf_rule *rule;

	if (!policy_needs_sdp(&rule))
		return false;
	if (rule)
		say("%s: %s, but %s:%u refuses TCP: %s", name, why, policy_conf()->path,
		    rule->line, rule->text);
	else
		say("%s: %s, but SDPDEV_MODE=only refuses TCP", name, why);
	return true;
}

/* Whether the program may run without the library, and says so. */
static bool tcp_only(const char *name, const char *why)
{
	if (refused(name, why))
		return false;
	say("%s: %s: TCP only", name, why);
	return true;
}

/* The same of one that we cannot look into: without a rule there is nothing to say. */
static bool may_be_unknown(const char *name)
{
	const struct conf_rule *rule;

	return !policy_needs_sdp(&rule) ||
	       tcp_only(name, "cannot be read, so it may be statically linked");
}

/* The kernel follows no longer chain of interpreters. */
#define INTERPRETERS	6

static void look_into(const char *program, struct loading *loading)
{
	char path[PATH_MAX];
	bool again;
	int fd, depth;

	*loading = (struct loading){};
	snprintf(path, sizeof(path), "%s", program);
	for (depth = 0, again = true; again && depth < INTERPRETERS; depth++) {
		again = false;
		if (gains_rights(path)) {
			loading->obstacle = "runs with other rights than yours";
			return;
		}
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			loading->unreadable = errno != ENOENT;
			return;
		}
		switch (kind_of(fd)) {
		case KIND_STATIC:
			loading->obstacle = "statically linked, so the library is left out";
			break;
		case KIND_FOREIGN:
			loading->obstacle = "built for another machine type than the library";
			break;
		case KIND_UNKNOWN:
			again = interpreter(fd, path, sizeof(path));
			break;
		case KIND_DYNAMIC32:
			loading->is32 = true;
			break;
		case KIND_DYNAMIC:
			if (!runtime_needed(fd, loading->runtime, sizeof(loading->runtime)))
				*loading->runtime = '\0';
			break;
		}
		close(fd);
	}
}

/*
 * Says what will keep the library out.  The program runs all the same where it may go over
 * TCP.
 */
static bool may_run(const char *name, const struct loading *loading)
{
	if (loading->unreadable)
		return may_be_unknown(name);
	return !loading->obstacle || tcp_only(name, loading->obstacle);
}

/* --- together ------------------------------------------------------------ */

/* As the program will find it. */
static void warn_of_device(void)
{
	int fd = sdp_socket(AF_INET, SOCK_CLOEXEC), error = errno;
	const struct conf_rule *rule;
	const char *then = "; going on over TCP";

	if (fd >= 0) {
		close(fd);
		return;
	}
	if (policy_needs_sdp(&rule))
		then = rule ? "; going on over TCP where the rules allow it" :
			      "; SDPDEV_MODE=only refuses TCP";
	say("%s: %s%s", SDP_DEVICE_PATH, check_device_error(error), then);
}

/* What the rules say of a program; complains of what is wrong with them. */
static bool read_policy(const char *name, const char *program)
{
	const char *slash = strrchr(name, '/'), *error;
	char file[PATH_MAX];

	if (!realpath(program, file))
		*file = '\0';
	error = policy_read(slash ? slash + 1 : name, file);
	if (error)
		say("%s", error);
	return !error;
}

static int execute(char **argv)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	say("%s: %s", argv[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
}

/* Finds the program, and reads the rules for it; zero, or an exit status. */
static int prepare(const char *name, char *program, size_t size)
{
	if (!find_program(name, program, size)) {
		say("%s: program not found", name);
		return EXIT_NOT_FOUND;
	}
	return read_policy(name, program) ? 0 : EXIT_TROUBLE;
}

static int run(char **argv)
{
	char program[PATH_MAX];
	struct loading loading;
	int status = prepare(argv[0], program, sizeof(program));

	if (status)
		return status;
	look_into(program, &loading);
	if (!may_run(argv[0], &loading) || set_preload(LIBRARY, &loading) || set_sanitizer())
		return EXIT_TROUBLE;
	warn_of_device();
	return execute(argv);
}

/* Does the rule keep all bytes from TCP that the program may send first? */
static bool refuses_tcp(const struct sdp_rule *rule)
{
	return rule->verdict == SDP_RULE_ONLY && rule->calls & SDP_RULE_CONNECT &&
	       !rule->ports[0].first;
}

/* The program's own calls go by rings where they can: it runs in any case. */
static void give_rings(const char *name, const char *program, const struct sdp_rule *rule)
{
	struct loading loading;

	look_into(program, &loading);
	if (rule->verdict == SDP_RULE_ONLY)
		say("%s: a rule that says only: no rings", name);
	else if (loading.obstacle)
		say("%s: %s: no rings", name, loading.obstacle);
	else if (set_preload(LIBRARY_RINGS, &loading) || set_sanitizer())
		say("%s: no rings", name);
}

/* How strictly a rule holds: a program that the kernel cannot give it runs, or does not. */
enum strict { STRICT_MAY, STRICT_MUST, STRICT_ONLY };

/* The kernel attaches the program's sockets. */
static int run_move(const char *text, enum strict strict, bool rings, char **argv)
{
	bool must = strict != STRICT_MAY;
	const char *mode = getenv("SDPDEV_MODE"), *error;
	char program[PATH_MAX];
	struct sdp_rule rule;
	int status;

	error = move_parse(text, &rule);
	if (error) {
		say("%s %s", text, error);
		return EXIT_TROUBLE;
	}
	if (strict == STRICT_ONLY && rule.verdict == SDP_RULE_MOVE)
		rule.verdict = SDP_RULE_ONLY;
	if (strict == STRICT_ONLY && rule.verdict != SDP_RULE_ONLY) {
		say("%s is no rule of --only", text);
		return EXIT_TROUBLE;
	}
	/* The rule, or nothing. */
	must |= rule.verdict == SDP_RULE_ONLY;
	status = prepare(argv[0], program, sizeof(program));
	if (status)
		return status;
	if (!refuses_tcp(&rule) && refused(argv[0], "its connections begin with TCP"))
		return EXIT_TROUBLE;
	if (mode && !strcmp(mode, "off")) {
		if (rule.verdict == SDP_RULE_ONLY) {
			say("SDPDEV_MODE=off is TCP only, and the rule refuses TCP");
			return EXIT_TROUBLE;
		}
		/* Whatever the rule says of calls and ports; without the kernel nothing moves. */
		move_parse("never", &rule);
		must = false;
	}
	error = move_set(&rule);
	if (error && (must || rule.verdict == SDP_RULE_MOVE || rule.verdict == SDP_RULE_NOW)) {
		say("%s: %s%s", SDP_DEVICE_PATH, error, must ? "" : "; going on over TCP");
		if (must)
			return EXIT_TROUBLE;
	} else if (!error && !move_listeners(&rule)) {
		say("a listener that there is already stays with TCP: %s", strerror(errno));
		if (must)
			return EXIT_TROUBLE;
	}
	if (rings && !error)
		give_rings(argv[0], program, &rule);
	return execute(argv);
}

/* Where control groups of version 2 are mounted; aside where version 1 has the usual place. */
static const char *cgroup_mount(void)
{
	const char *aside = "/sys/fs/cgroup/unified";
	struct statfs fs;

	return !statfs(aside, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
	       !statfs("/sys/fs/cgroup", &fs) && fs.f_type != CGROUP2_SUPER_MAGIC ?
	       aside : "/sys/fs/cgroup";
}

/* The directory of the control group that this process is in. */
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

static int set_cgroup(const char *dir, const char *text)
{
	char path[PATH_MAX];
	struct sdp_rule rule;
	const char *error;

	error = move_parse(text, &rule);
	if (error) {
		say("%s %s", text, error);
		return EXIT_TROUBLE;
	}
	if (!strcmp(dir, "self") && own_cgroup(path, sizeof(path)))
		dir = path;
	rule.scope = SDP_RULE_CGROUP;
	rule.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = rule.fd < 0 ? strerror(errno) : move_set(&rule);
	if (error)
		say("%s: %s", dir, error);
	return error ? EXIT_TROUBLE : 0;
}

/* A name, or the number of one that may have none. */
static bool find_user(const char *name, uid_t *uid)
{
	struct passwd user, *found = NULL;
	unsigned long number;
	char line[4096], *end;

	if (!getpwnam_r(name, &user, line, sizeof(line), &found) && found) {
		*uid = found->pw_uid;
		return true;
	}
	errno = 0;
	number = strtoul(name, &end, 10);
	*uid = number;
	return *name >= '0' && *name <= '9' && !*end && !errno && number < UINT32_MAX;
}

static int set_user(const char *name, const char *text)
{
	struct sdp_rule rule;
	const char *error;
	uid_t uid;

	error = move_parse(text, &rule);
	if (error) {
		say("%s %s", text, error);
		return EXIT_TROUBLE;
	}
	if (!find_user(name, &uid)) {
		say("%s: no such user", name);
		return EXIT_TROUBLE;
	}
	rule.scope = SDP_RULE_USER;
	rule.fd = uid;
	error = move_set(&rule);
	if (error)
		say("%s: %s", name, error);
	return error ? EXIT_TROUBLE : 0;
}

/* The value of @option, which begins with @name; NULL where it is another one. */
static const char *option_value(const char *option, const char *name)
{
	size_t n = strlen(name);

	if (!option || strncmp(option, name, n) || (option[n] && option[n] != '='))
		return NULL;
	return option[n] ? option + n + 1 : "move";
}

/* HOST PORT [PROGRAM]; a program that is not there may be known to the rules. */
static int run_check(int argc, char **argv)
{
	const char *name = argc > 2 ? argv[2] : "";
	char program[PATH_MAX] = "";

	if (argc < 2 || argc > 3) {
		say("--check takes a host, a port and perhaps a program");
		return EXIT_TROUBLE;
	}
	if (*name && !find_program(name, program, sizeof(program)))
		*program = '\0';
	if (!read_policy(name, program))
		return EXIT_TROUBLE;
	return check(argv[0], argv[1], argc > 2 ? name : NULL);
}

int main(int argc, char **argv)
{
	const char *option = argc > 1 && argv[1][0] == '-' ? argv[1] : NULL;
	const char *rule, *must, *only;
	bool rings = false, endpoint;

	if (option && (!strcmp(option, "--help") || !strcmp(option, "-h"))) {
		fputs(usage, stdout);
		return 0;
	}
	if (option && (!strcmp(option, "--version") || !strcmp(option, "-V"))) {
		puts("sdprun " VERSION);
		return 0;
	}
	if (option && !strcmp(option, "--check"))
		return run_check(argc - 2, argv + 2);
	if (option && !strcmp(option, "--cgroup")) {
		if (argc == 4)
			return set_cgroup(argv[2], argv[3]);
		say("--cgroup takes a directory and a rule");
		return EXIT_TROUBLE;
	}
	if (option && !strcmp(option, "--user")) {
		if (argc == 4)
			return set_user(argv[2], argv[3]);
		say("--user takes a user and a rule");
		return EXIT_TROUBLE;
	}
	rule = option_value(option, "--move");
	must = option_value(option, "--must-move");
	only = option_value(option, "--only");
	endpoint = option && !strcmp(option, "--endpoint");
	if (option && strcmp(option, "--") && !rule && !must && !only && !endpoint) {
		say("unknown option %s; see sdprun --help", option);
		return EXIT_TROUBLE;
	}
	argv += option ? 2 : 1;
	if ((rule || must || only) && *argv && !strcmp(*argv, "--rings")) {
		rings = true;
		argv++;
	}
	if (option && strcmp(option, "--") && *argv && !strcmp(*argv, "--"))
		argv++;
	if (!*argv) {
		say("no program given; see sdprun --help");
		return EXIT_TROUBLE;
	}
	if (only)
		return run_move(only, STRICT_ONLY, rings, argv);
	if (must)
		return run_move(must, STRICT_MUST, rings, argv);
	if (endpoint)
		return run(argv);
	return run_move(rule ? rule : "move", STRICT_MAY, rings, argv);
}
