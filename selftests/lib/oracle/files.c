// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection is as a file: to fstat(), to the C library's streams, to
 * programs that have it as their standard input and output, and to the calls that
 * start programs and close what these must not have.
 */
#include "oracle.h"
#include "pass.h"

#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

extern char **environ;

static void say_stat(const char *label, const struct stat *st)
{
	printf("%s: mode %o, links %u, size %lld, device %u\n", label, st->st_mode,
	       (unsigned int)st->st_nlink, (long long)st->st_size,
	       major(st->st_rdev));
}

static void told(void)
{
	struct stat a, b, null;
	struct statx x;
	int p[2], d, fd;

	connected(p);
	say("fstat", fstat(p[0], &a));
	say_stat("a connection", &a);
	say("whose owner is the program's user", a.st_uid == geteuid());
	must(!fstat(p[1], &b));
	say_stat("the other end", &b);
	say("is another file", a.st_dev == b.st_dev && a.st_ino == b.st_ino);
	d = dup(p[0]);
	must(!fstat(d, &b));
	say("a duplicate is the same one", a.st_dev == b.st_dev && a.st_ino == b.st_ino);
	must(!close(d));
	say("statx", statx(p[0], "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x));
	printf("its mode %o\n", x.stx_mode);
	say("of the same file", x.stx_ino == a.st_ino);

	fd = open("/dev/null", O_RDONLY);
	must(!fstat(fd, &null));
	say("/dev/null is a device still", S_ISCHR(null.st_mode) && major(null.st_rdev) == 1);
	say("and no connection", null.st_dev == a.st_dev && null.st_ino == a.st_ino);
	must(!close(fd));
	say("fstat of no descriptor", fstat(-1, &a));
	say("fstat of the working directory", fstat(AT_FDCWD, &a));
	say("fstat of a closed one", fstat(fd, &a));
	fd = socket(server_addr.any.sa_family, SOCK_STREAM, 0);
	must(!fstat(fd, &a));
	say_stat("a new socket", &a);
	must(!close(fd));
	close_pair(p);
}

static void not_a_file(void)
{
	int p[2];
	char c;

	connected(p);
	say("lseek", lseek(p[0], 0, SEEK_CUR));
	say("pread", pread(p[0], &c, 1, 0));
	say("pwrite", pwrite(p[0], "x", 1, 0));
	say("ftruncate", ftruncate(p[0], 0));
	say("fsync", fsync(p[0]));
	say("isatty", isatty(p[0]) ? 1 : -1);
	say("fchdir", fchdir(p[0]));
	say("fchmod", fchmod(p[0], 0600));
	say("fchown", fchown(p[1], -1, getegid()));
	say("fchmod of no descriptor", fchmod(-1, 0600));
	say("fchmodat", fchmodat(p[0], "", 0640, AT_EMPTY_PATH));
	say("fchownat", fchownat(p[0], "", 1, 1, AT_EMPTY_PATH));
	say("fchownat of what is not in it", fchownat(p[0], "x", 1, 1, AT_EMPTY_PATH));
	say("fchownat of no name", fchownat(p[0], "", 1, 1, 0));
	say("fchownat of no descriptor", fchownat(-1, "", 1, 1, AT_EMPTY_PATH));
	say("F_GETFL", fcntl(p[0], F_GETFL));
	say("F_GETFL of what was accepted", fcntl(p[1], F_GETFL));
	close_pair(p);
}

/* In another process: what fcntl() says of a lock of all of @fd. */
static void try_lock(const char *label, int fd, int cmd)
{
	struct flock lock = { .l_type = F_WRLCK };
	pid_t child = fork();

	must(child >= 0);
	if (!child) {
		say(label, fcntl(fd, cmd, &lock));
		if (cmd == F_GETLK)
			say("it is its parent's", lock.l_pid == getppid());
		exit(0);
	}
	must(waitpid(child, NULL, 0) == child);
}

/* Locks of one connection have nothing to do with another's. */
static void locks(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	int p[2], other[2], d;
	pid_t child;

	connected(p);
	connected(other);
	say("flock", flock(p[0], LOCK_EX | LOCK_NB));
	say("flock of the other end", flock(p[1], LOCK_EX | LOCK_NB));
	d = dup(p[0]);
	say("flock of a duplicate", flock(d, LOCK_SH | LOCK_NB));
	say("flock of another connection", flock(other[0], LOCK_EX | LOCK_NB));
	say("F_SETLK", fcntl(p[0], F_SETLK, &lock));
	try_lock("F_SETLK of the same one", p[0], F_SETLK);
	try_lock("F_GETLK", p[0], F_GETLK);
	try_lock("F_SETLK of the other end", p[1], F_SETLK);
	must(!close(other[0]) && !close(other[1]));
	try_lock("F_SETLK after another connection was closed", p[0], F_SETLK);
	must(!close(d));
	try_lock("F_SETLK after a duplicate was closed", p[0], F_SETLK);
	say("F_OFD_SETLK", fcntl(p[1], F_OFD_SETLK, &lock));
	try_lock("F_OFD_SETLK of the file that shares it", p[1], F_OFD_SETLK);
	try_lock("F_SETLK then", p[1], F_SETLK);

	must(!fcntl(p[0], F_SETLK, &lock));
	child = fork();
	must(child >= 0);
	if (!child) {
		say("F_SETLKW", fcntl(p[0], F_SETLKW, &lock));
		exit(0);
	}
	lock.l_type = F_UNLCK;
	must(!fcntl(p[0], F_SETLK, &lock));
	must(waitpid(child, NULL, 0) == child);
	close_pair(p);
}

/* The same stream to read and write, as many a text protocol is spoken. */
static void streams(void)
{
	char line[64];
	FILE *in, *out;
	int p[2], n;

	connected(p);
	in = fdopen(p[0], "r+");
	out = fdopen(dup(p[1]), "w");
	must(in && out);
	say("fprintf", fprintf(out, "hello %d\nsecond line\n", 42));
	say("fflush", fflush(out));
	say_text("fgets", fgets(line, sizeof(line), in));
	say_text("and again", fgets(line, sizeof(line), in));
	say("fputs the other way", fputs("back\n", in));
	say("fflush", fflush(in));
	say("recv", recv(p[1], line, 5, MSG_WAITALL));
	say("fseek", fseek(in, 0, SEEK_SET));
	must(!fclose(out));
	must(!shutdown(p[1], SHUT_WR));
	say("the end", fgetc(in));
	n = feof(in);
	say("is the end", !!n);
	must(!fclose(in));
	say("and fclose closed it", recv(p[1], line, 1, 0));
	must(!close(p[1]));
}

static void no_cloexec(int fd)
{
	must(!fcntl(fd, F_SETFD, 0));
}

/* As inetd starts it: the connection is 0, 1 and 2. */
static void standard(void)
{
	char back[64];
	pid_t child;
	int p[2];

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		dup2(p[1], 0);
		dup2(p[1], 1);
		dup2(p[1], 2);
		closefrom(3);
		execlp("sh", "sh", "-c", "read line; echo got $line; echo wrong >&2; exec cat",
		       NULL);
		_exit(1);
	}
	must(!close(p[1]));
	say("a line to a shell", send(p[0], "a line\n", 7, 0));
	say("its answer", recv(p[0], back, 17, MSG_WAITALL));
	printf("which is %.17s", back);
	say("more, to cat", send(p[0], "meow", 4, 0));
	say("and back", recv(p[0], back, 4, MSG_WAITALL));
	must(!shutdown(p[0], SHUT_WR));
	say("the end", recv(p[0], back, 1, 0));
	must(waitpid(child, NULL, 0) == child);
	must(!close(p[0]));
}

static void closed_in_child(void)
{
	char back[8];
	pid_t child;
	int p[2];

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		if (close_range(p[0], p[0], CLOSE_RANGE_CLOEXEC) ||
		    fcntl(p[0], F_GETFD) != FD_CLOEXEC || close_range(3, ~0U, 0) ||
		    send(p[0], "x", 1, MSG_NOSIGNAL) != -1 || errno != EBADF)
			_exit(1);
		_exit(0);
	}
	must(waitpid(child, NULL, 0) == child);
	say("closed in a child by close_range, here it sends", send(p[0], "here", 4, 0));
	say("and the other end receives", recv(p[1], back, 4, MSG_WAITALL));
	close_pair(p);
}

static void started(void)
{
	posix_spawn_file_actions_t actions;
	char back[8], *args[] = { "cat", NULL };
	pid_t child;
	int p[2];

	connected(p);
	must(!posix_spawn_file_actions_init(&actions));
	must(!posix_spawn_file_actions_adddup2(&actions, p[1], 0));
	must(!posix_spawn_file_actions_adddup2(&actions, p[1], 1));
	must(!posix_spawn_file_actions_addclosefrom_np(&actions, 3));
	say("posix_spawn", posix_spawnp(&child, "cat", &actions, NULL, args, environ));
	must(!posix_spawn_file_actions_destroy(&actions));
	must(!close(p[1]));
	say("to it", send(p[0], "spawn", 5, 0));
	say("and back", recv(p[0], back, 5, MSG_WAITALL));
	must(!shutdown(p[0], SHUT_WR));
	say("then the end", recv(p[0], back, 1, 0));
	must(waitpid(child, NULL, 0) == child);
	must(!close(p[0]));

	connected(p);
	no_cloexec(p[0]);
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): what it is about */
	child = vfork();
	must(child >= 0);
	if (!child) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Vfork): as programs do it */
		dup2(p[1], 1);
		execlp("echo", "echo", "vfork", NULL);
		_exit(1);
	}
	say("after vfork, from the program", recv(p[0], back, 6, MSG_WAITALL));
	must(waitpid(child, NULL, 0) == child);
	say("both ends are here still", send(p[0], "x", 1, 0));
	say("and work", recv(p[1], back, 1, 0));
	close_pair(p);
}

/* A listener goes to another process, and is closed here. */
static void listener_passed(void)
{
	int pair[2], l, c, s;
	char back[8];
	pid_t child;

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!close(pair[0]));
		l = taken_over(pair[1], 0);
		s = accept(l, NULL, NULL);
		_exit(s < 0 || send(s, "there", 5, 0) != 5 ? 1 : 0);
	}
	must(!close(pair[1]));
	l = listener(5);
	hand_over(pair[0], l);
	must(!close(l));
	c = client_socket(0);
	say("connect to a listener that was passed on", connect(c, &server_addr.any, server_len));
	say("its new owner answers", recv(c, back, 5, MSG_WAITALL));
	must(waitpid(child, NULL, 0) == child);
	say("it is gone with its process", recv(c, back, 1, 0));
	must(!close(pair[0]));
	must(!close(c));
}

/* One that was sent and never received is closed with the socket it lies in. */
static void passed_in_vain(void)
{
	int pair[2], p[2];
	char back[8];

	connected(p);
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	hand_over(pair[0], p[0]);
	must(!close(p[0]));
	say("sent and not received, it is open", recv(p[1], back, 1, MSG_DONTWAIT));
	must(!close(pair[0]) && !close(pair[1]));
	say("then it is closed", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	told();
	not_a_file();
	locks();
	streams();
	standard();
	closed_in_child();
	started();
	listener_passed();
	passed_in_vain();
	return 0;
}
