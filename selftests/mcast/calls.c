// SPDX-License-Identifier: GPL-2.0
/*
 * A program that receives multicast by calls that others seldom make, and prints a line for each
 * datagram. Each line of its input is a command; "done" and the command is the answer.
 *
 *	calls HOW PORT GROUP	a socket that is bound to the group
 *	calls inherited FD	goes on with a socket that it has from the program before it
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SELF	"/proc/self/exe"
#define EVER	"inherited"
#define MANY	1100
#define HIGH	70000
/* Descriptors that a process may have, and poll(2) with more than half of them. */
#define LIMIT	128
#define MOST	100

static struct sockaddr_in group, source;
static int sock;
/* The socket is left alone. */
static bool holds;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void say(const char *word, const char *rest)
{
	printf("%s %s\n", word, rest);
	fflush(stdout);
}

static void show(const char *data, ssize_t len)
{
	printf("%zd %.*s\n", len, (int)len, data);
	fflush(stdout);
}

/* --- a socket -------------------------------------------------------------------- */

static void join(int fd)
{
	struct ip_mreqn mreq = { .imr_multiaddr = group.sin_addr };

	mreq.imr_ifindex = if_nametoindex("ib0");
	if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
		die("IP_ADD_MEMBERSHIP");
}

static int open_socket(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&group, sizeof(group)))
		die("socket");
	return fd;
}

/* --- calls that receive ------------------------------------------------------------ */

static void by_mmsg(void)
{
	struct mmsghdr msgs[8];
	struct iovec iov[8];
	char room[8][100];
	int i, n;

	for (i = 0; i < 8; i++) {
		iov[i] = (struct iovec){ .iov_base = room[i], .iov_len = sizeof(room[i]) };
		msgs[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &iov[i], .msg_iovlen = 1 } };
	}
	for (;;) {
		n = recvmmsg(sock, msgs, 8, MSG_WAITFORONE, NULL);
		if (n <= 0)
			die("recvmmsg");
		for (i = 0; i < n; i++)
			show(room[i], msgs[i].msg_len);
	}
}

/* With room for less than what the socket's options have the kernel tell. */
static void by_little(void)
{
	static const size_t sizes[] = { 0, 8, 20, 28, 32, 40, 56, 64 };
	char data[100], control[64] = {};
	unsigned int i = 0;
	int one = 1;

	if (setsockopt(sock, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)) ||
	    setsockopt(sock, IPPROTO_IP, IP_RECVTTL, &one, sizeof(one)))
		die("setsockopt");
	for (;;) {
		struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
		struct msghdr hdr = { .msg_name = &source, .msg_namelen = 3, .msg_iov = &iov,
				      .msg_iovlen = 1, .msg_control = control };
		ssize_t len;

		hdr.msg_controllen = sizes[i % 8];
		len = recvmsg(sock, &hdr, 0);
		if (len < 0)
			die("recvmsg");
		printf("%#x %zu %u ", hdr.msg_flags, hdr.msg_controllen, hdr.msg_namelen);
		show(data, len);
		if (memmem(data, len, "same", 4))
			i++;
	}
}

__attribute__((noreturn))
static void *thread(void *unused)
{
	char data[100];
	ssize_t len;

	(void)unused;
	for (;;) {
		len = recv(sock, data, sizeof(data), 0);
		if (len < 0)
			die("recv");
		show(data, len);
	}
}

static void by_threads(void)
{
	pthread_t id;
	int i;

	for (i = 0; i < 4; i++)
		if (pthread_create(&id, NULL, thread, NULL))
			die("pthread_create");
	pthread_join(id, NULL);
}

/* --- commands -------------------------------------------------------------------- */

/* A child that executes another program. */
static void run_vfork(void)
{
	/* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): what it is about */
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

static void execute(const char *how)
{
	char fd[12], *const argv[] = { "calls", EVER, fd, NULL };

	snprintf(fd, sizeof(fd), "%d", sock);
	if (!strcmp(how, "execl"))
		execl(SELF, "calls", EVER, fd, NULL);
	else if (!strcmp(how, "execlp"))
		execlp(SELF, "calls", EVER, fd, NULL);
	else if (!strcmp(how, "execle"))
		execle(SELF, "calls", EVER, fd, NULL, environ);
	else if (!strcmp(how, "execv"))
		execv(SELF, argv);
	else if (!strcmp(how, "execvp"))
		execvp(SELF, argv);
	else if (!strcmp(how, "execvpe"))
		execvpe(SELF, argv, environ);
	else if (!strcmp(how, "execve"))
		execve(SELF, argv, environ);
	else if (!strcmp(how, "execveat"))
		execveat(AT_FDCWD, SELF, argv, environ, 0);
	else if (!strcmp(how, "fexecve"))
		fexecve(open(SELF, O_RDONLY | O_CLOEXEC), argv, environ);
	die(how);
}

/* The socket in a message of sendmmsg(2). */
static void pass(void)
{
	union {
		struct cmsghdr c;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .c = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct mmsghdr msg = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1,
					    .msg_control = &control,
					    .msg_controllen = sizeof(control) } };
	int ends[2];

	memcpy(CMSG_DATA(&control.c), &sock, sizeof(sock));
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) || sendmmsg(ends[0], &msg, 1, 0) != 1)
		die("sendmmsg");
}

/* A socket whose number is high, or that comes behind many others in an epoll set, joins. */
static void join_another(bool high)
{
	const struct rlimit limit = { HIGH + MANY, HIGH + MANY };
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0), i, fd = -1;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("setrlimit");
	for (i = 0; i < (high ? 1 : MANY); i++) {
		fd = high ? fcntl(open_socket(), F_DUPFD, HIGH) :
		     i + 1 < MANY ? socket(AF_INET, SOCK_DGRAM, 0) : open_socket();
		event.data.fd = fd;
		if (fd < 0 || epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
			die("epoll_ctl");
	}
	join(fd);
}

/* What FIONREAD says, and what comes then. */
static void look(bool length, int flags, bool receives)
{
	char data[100];
	int len = -1;
	ssize_t got;

	if (length && ioctl(sock, FIONREAD, &len))
		die("FIONREAD");
	printf("next %d ", len);
	got = receives ? recv(sock, data, sizeof(data), flags) : 0;
	if (got < 0)
		die("recv");
	show(data, got);
}

static void command(const char *word)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	if (!strncmp(word, "exec", 4) || !strcmp(word, "fexecve"))
		execute(word);
	else if (!strcmp(word, "vfork"))
		run_vfork();
	else if (!strcmp(word, "fork") && !fork())
		_exit(0);
	/* NOLINTNEXTLINE(cert-env33-c): what it is about */
	else if (!strcmp(word, "system") && system("true"))
		die("system");
	else if (!strcmp(word, "connect") &&
		 connect(sock, (struct sockaddr *)&source, sizeof(source)))
		die("connect");
	else if (!strcmp(word, "disconnect") && connect(sock, &none, sizeof(none)))
		die("disconnect");
	else if (!strcmp(word, "hold") || !strcmp(word, "go"))
		holds = word[0] == 'h';
	else if (!strcmp(word, "peek"))
		look(false, MSG_PEEK, true);
	else if (!strcmp(word, "length"))
		look(true, 0, false);
	else if (!strcmp(word, "next"))
		look(true, 0, true);
	else if (!strcmp(word, "pass"))
		pass();
	else if (!strcmp(word, "high") || !strcmp(word, "many"))
		join_another(word[0] == 'h');
	say("done", word);
}

/* --- the program ------------------------------------------------------------------ */

static void read_command(void)
{
	static char line[100];
	static size_t used;
	ssize_t got = read(0, line + used, 1);

	if (got <= 0)
		exit(0);
	if (line[used] != '\n') {
		used += used + 1 < sizeof(line);
		return;
	}
	line[used] = '\0';
	used = 0;
	command(line);
}

/* With @n descriptors, most of them none. */
static void by_poll(int n)
{
	struct pollfd fds[MOST] = { { .fd = 0, .events = POLLIN },
				    { .fd = sock, .events = POLLIN } };
	socklen_t size;
	char data[100];
	ssize_t len;
	int i;

	for (i = 2; i < n; i++)
		fds[i].fd = -1;
	for (;;) {
		fds[1].revents = 0;
		if (poll(fds, holds ? 1 : n, -1) < 0)
			die("poll");
		if (fds[0].revents)
			read_command();
		size = sizeof(source);
		len = fds[1].revents ?
		      recvfrom(sock, data, sizeof(data), MSG_DONTWAIT,
			       (struct sockaddr *)&source, &size) : -1;
		if (len >= 0)
			show(data, len);
	}
}

/* As programs do that write their title over it */
static void wipe(void)
{
	char **at;

	for (at = environ; *at; at++)
		memset(*at, 'x', strlen(*at));
}

int main(int argc, char **argv)
{
	const struct rlimit limit = { LIMIT, LIMIT };

	if (argc == 3) {
		sock = atoi(argv[2]);
		say("done", "exec");
		by_poll(2);
	}
	if (argc != 4 || inet_pton(AF_INET, argv[3], &group.sin_addr) != 1)
		return 2;
	if (!strcmp(argv[1], "wipe"))
		wipe();
	else if (!strcmp(argv[1], "limit") && setrlimit(RLIMIT_NOFILE, &limit))
		die("setrlimit");
	group.sin_family = AF_INET;
	group.sin_port = htons(atoi(argv[2]));
	sock = open_socket();
	join(sock);
	say("ready", argv[1]);
	if (!strcmp(argv[1], "mmsg"))
		by_mmsg();
	else if (!strcmp(argv[1], "little"))
		by_little();
	else if (!strcmp(argv[1], "threads"))
		by_threads();
	by_poll(strcmp(argv[1], "limit") ? 2 : MOST);
	return 0;
}
