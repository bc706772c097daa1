// SPDX-License-Identifier: GPL-2.0
/*
 * sdprun - run a program with its TCP connections over SDP where that goes.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <linux/sdp.h>

#define LIBRARY		"libsdpdev-preload.so"

/* As env(1), nice(1) and the shell tell these apart. */
#define EXIT_TROUBLE	125
#define EXIT_NO_EXEC	126
#define EXIT_NOT_FOUND	127

static const char usage[] =
"Usage: sdprun PROGRAM [ARG...]\n"
"\n"
"Run PROGRAM with its TCP connections over the Sockets Direct Protocol where the\n"
"route to the peer leaves by an IPoIB interface and the peer listens on SDP, and\n"
"over TCP everywhere else.\n"
"\n"
"  -h, --help     show this\n"
"  -V, --version  show the version\n"
"\n"
"Environment:\n"
"  SDPDEV_MODE=auto|off|only   where it goes (default), never, or nothing else\n"
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

/* Beside this program, as it is built, or where it was installed. */
static bool find_library(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t n;
	char *slash;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		*slash = '\0';
		if (snprintf(path, size, "%s/" LIBRARY, self) < (int)size &&
		    !access(path, R_OK))
			return true;
	}
	return snprintf(path, size, "%s/" LIBRARY, LIBDIR) < (int)size &&
		!access(path, R_OK);
}

/* Puts the library before what LD_PRELOAD holds already. */
static int set_preload(void)
{
	const char *before = getenv("LD_PRELOAD");
	char path[PATH_MAX], *value;
	int ret;

	if (!find_library(path, sizeof(path))) {
		say("%s is neither beside this program nor in %s", LIBRARY, LIBDIR);
		return -1;
	}
	if (strpbrk(path, ": \t\n")) {
		say("%s: LD_PRELOAD cannot name a path with a colon or a space", path);
		return -1;
	}
	if (!before || !*before)
		ret = asprintf(&value, "%s", path);
	else
		ret = asprintf(&value, "%s:%s", path, before);
	if (ret < 0 || setenv("LD_PRELOAD", value, 1)) {
		say("no memory");
		return -1;
	}
	free(value);
	return 0;
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

#if UINTPTR_MAX > UINT32_MAX
#define NATIVE_CLASS	ELFCLASS64
typedef Elf64_Ehdr elf_head;
typedef Elf64_Phdr elf_segment;
#else
#define NATIVE_CLASS	ELFCLASS32
typedef Elf32_Ehdr elf_head;
typedef Elf32_Phdr elf_segment;
#endif

enum program_kind { KIND_UNKNOWN, KIND_DYNAMIC, KIND_STATIC, KIND_FOREIGN };

static bool read_at(int fd, void *to, size_t n, off_t where)
{
	return pread(fd, to, n, where) == (ssize_t)n;
}

/* Our own machine type, to tell programs that our library does not fit. */
static unsigned int own_machine(void)
{
	elf_head head = { .e_machine = EM_NONE };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (!read_at(fd, &head, sizeof(head), 0))
			head.e_machine = EM_NONE;
		close(fd);
	}
	return head.e_machine;
}

static enum program_kind kind_of(int fd)
{
	elf_segment segment;
	elf_head head;
	unsigned int i;

	if (!read_at(fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return KIND_UNKNOWN;
	if (head.e_ident[EI_CLASS] != NATIVE_CLASS || head.e_machine != own_machine())
		return KIND_FOREIGN;
	if (head.e_phentsize != sizeof(segment))
		return KIND_UNKNOWN;
	for (i = 0; i < head.e_phnum; i++) {
		if (!read_at(fd, &segment, sizeof(segment),
			     head.e_phoff + i * sizeof(segment)))
			return KIND_UNKNOWN;
		if (segment.p_type == PT_INTERP)
			return KIND_DYNAMIC;
	}
	return KIND_STATIC;
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

/* Says what will keep the library out of the program; it runs all the same. */
static void warn_of(const char *name, const char *program)
{
	char path[PATH_MAX];
	int fd, depth;

	snprintf(path, sizeof(path), "%s", program);
	for (depth = 0; depth < 4; depth++) {
		if (gains_rights(path)) {
			say("%s: runs with other rights than yours: TCP only", name);
			return;
		}
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		switch (kind_of(fd)) {
		case KIND_STATIC:
			say("%s: statically linked, so the library is left out: TCP only",
			    name);
			break;
		case KIND_FOREIGN:
			say("%s: built for another machine type than the library: TCP only",
			    name);
			break;
		case KIND_UNKNOWN:
			if (interpreter(fd, path, sizeof(path))) {
				close(fd);
				continue;
			}
			break;
		case KIND_DYNAMIC:
			break;
		}
		close(fd);
		return;
	}
}

/* --- together ------------------------------------------------------------ */

static void warn_of_device(void)
{
	if (!access(SDP_DEVICE_PATH, R_OK | W_OK))
		return;
	say("%s: %s%s; going on over TCP", SDP_DEVICE_PATH, strerror(errno),
	    errno == ENOENT ? " (is the module sdpdev loaded?)" : "");
}

int main(int argc, char **argv)
{
	char program[PATH_MAX];
	int error;

	if (argc > 1 && argv[1][0] == '-') {
		if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
			fputs(usage, stdout);
			return 0;
		}
		if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
			puts("sdprun " VERSION);
			return 0;
		}
		if (strcmp(argv[1], "--")) {
			say("unknown option %s; see sdprun --help", argv[1]);
			return EXIT_TROUBLE;
		}
		argv++;
		argc--;
	}
	if (argc < 2) {
		say("no program given; see sdprun --help");
		return EXIT_TROUBLE;
	}

	if (!find_program(argv[1], program, sizeof(program))) {
		say("%s: program not found", argv[1]);
		return EXIT_NOT_FOUND;
	}
	if (set_preload())
		return EXIT_TROUBLE;
	warn_of(argv[1], program);
	warn_of_device();

	execvp(argv[1], argv + 1);
	error = errno;
	say("%s: %s", argv[1], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NO_EXEC;
}
