// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors on their ways: duplicated, forked, executed, passed on, reused,
 * cancelled in the middle of a call; and none lost.
 */
#include "oracle.h"
#include "pass.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/un.h>

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	must(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void duplicated(void)
{
	char back[8];
	int p[2], d;

	connected(p);
	d = dup(p[0]);
	must(d >= 0 && !close(p[0]));
	say("send on a duplicate", send(d, "dup", 3, 0));
	say("which arrives", recv(p[1], back, 3, MSG_WAITALL));
	say("moved to a high number", dup2(d, 900) == 900 && !close(d));
	say("send on the high number", send(900, "high", 4, 0));
	say("which arrives", recv(p[1], back, 4, MSG_WAITALL));
	p[0] = 900;
	close_pair(p);
}

static void forked(void)
{
	char back[8];
	int p[2], status;
	pid_t child;

	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!close(p[1]));
		if (send(p[0], "child", 5, 0) != 5 || recv(p[0], back, 6, MSG_WAITALL) != 6)
			_exit(1);
		_exit(0);
	}
	must(!close(p[0]));
	say("from the child", recv(p[1], back, 5, MSG_WAITALL));
	say("to the child", send(p[1], "parent", 6, 0));
	must(waitpid(child, &status, 0) == child);
	say("the child is content", WIFEXITED(status) && !WEXITSTATUS(status));
	say("its end closed the connection", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

/* What executed() executes: all that it knows is the number. */
static int executed_main(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char back[8];

	say("in the new program, getpeername",
	    getpeername(fd, (struct sockaddr *)&addr, &len));
	say("recv", recv(fd, back, 4, MSG_WAITALL));
	say("send", send(fd, back, 4, 0));
	return 0;
}

static void executed(void)
{
	char number[16], back[8];
	int p[2];
	pid_t child;

	connected(p);
	fcntl(p[1], F_SETFD, FD_CLOEXEC);
	snprintf(number, sizeof(number), "%d", p[0]);
	say("to the new program", send(p[1], "exec", 4, 0));
	child = fork();
	must(child >= 0);
	if (!child) {
		execl("/proc/self/exe", "keep", "--fd", number, NULL);
		_exit(1);
	}
	must(!close(p[0]));
	must(waitpid(child, NULL, 0) == child);
	say("it comes back", recv(p[1], back, 4, MSG_WAITALL));
	say("then the end", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

static void passed(void)
{
	int unix_pair[2], p[2], fd;
	char back[8];
	pid_t child;

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair));
	child = fork();
	must(child >= 0);
	if (!child) {
		must(!close(unix_pair[0]));
		fd = taken_over(unix_pair[1], MSG_CMSG_CLOEXEC);
		if (recv(fd, back, 4, MSG_WAITALL) != 4 || send(fd, back, 4, 0) != 4)
			_exit(1);
		_exit(0);
	}
	must(!close(unix_pair[1]));
	connected(p);
	hand_over(unix_pair[0], p[0]);
	must(!close(p[0]));
	say("to whom it was passed", send(p[1], "pass", 4, 0));
	say("it comes back", recv(p[1], back, 4, MSG_WAITALL));
	must(waitpid(child, NULL, 0) == child);
	must(!close(unix_pair[0]));
	say("then the end", recv(p[1], back, 1, 0));
	must(!close(p[1]));
}

/* Numbers that were connections become other things. */
static void reused(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int p[2], d, pipes[2], pair[2];
	char back[8];

	connected(p);
	d = p[0];
	must(send(d, "x", 1, 0) == 1);
	must(!pipe(pipes));
	must(dup2(pipes[0], d) == d);
	say("recv on what is a pipe now", recv(d, back, 1, MSG_DONTWAIT));
	say("bind on a pipe", bind(d, (void *)&addr, len));
	say("getsockopt on a pipe", getsockopt(d, SOL_SOCKET, SO_TYPE, back, &len));
	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	must(dup2(pair[0], d) == d);
	say("send on what is a UNIX socket now", send(d, "abc", 3, 0));
	say("which arrives", recv(pair[1], back, 8, 0));
	close(pair[0]);
	close(pair[1]);
	close(d);
	d = socket(AF_INET, SOCK_DGRAM, 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	say("bind of a datagram socket", bind(d, (void *)&addr, sizeof(addr)));
	len = sizeof(addr);
	must(!getsockname(d, (struct sockaddr *)&addr, &len));
	say("it sends", sendto(d, "dgram", 5, 0, (void *)&addr, sizeof(addr)));
	say("and receives", recvfrom(d, back, 8, 0, (void *)&addr, &len));
	say("with an address", len);
	close(d);
	say("send on a closed number", send(d, "x", 1, 0));
	say("on no number", recv(-1, back, 1, 0));
	d = open("/dev/null", O_RDWR);
	say("listen on /dev/null", listen(d, 1));
	close(d);
	close(pipes[0]);
	close(pipes[1]);
	close(p[1]);
}

static int waiting_fd;

static void *wait_in_recv(void *arg)
{
	char c;

	(void)arg;
	recv(waiting_fd, &c, 1, 0);
	return NULL;
}

static void *wait_in_accept(void *arg)
{
	(void)arg;
	accept(waiting_fd, NULL, NULL);
	return NULL;
}

static void cancel(const char *label, int fd, void *(*waits)(void *))
{
	pthread_t thread;
	void *result = NULL;

	waiting_fd = fd;
	must(!pthread_create(&thread, NULL, waits, NULL));
	usleep(100000);
	must(!pthread_cancel(thread));
	must(!pthread_join(thread, &result));
	say(label, result == PTHREAD_CANCELED);
}

static void cancelled(void)
{
	int l = listener(1), p[2];

	cancel("cancelled in accept", l, wait_in_accept);
	must(!close(l));
	connected(p);
	cancel("cancelled in recv", p[1], wait_in_recv);
	close_pair(p);
}

/* errno stays what it was where a call succeeds, also on a new number. */
static void error_kept(void)
{
	socklen_t len = sizeof(int);
	int p[2], one = 1;
	char back[8];

	connected(p);
	must(dup2(p[0], 910) == 910 && !close(p[0]));
	p[0] = 910;
	errno = ENOANO;
	send(p[0], "x", 1, 0);
	recv(p[1], back, 1, MSG_WAITALL);
	setsockopt(p[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	getsockopt(p[0], IPPROTO_TCP, TCP_NODELAY, &one, &len);
	shutdown(p[0], SHUT_WR);
	printf("errno after calls that succeed: %s\n", strerrorname_np(errno));
	close_pair(p);
}

/* With no descriptor to be had, nothing else breaks. */
static void exhausted(void)
{
	int fds[256], n = 0, l = listener(5), c = client_socket(0), s;
	struct rlimit old, few;
	char back[8];

	must(!getrlimit(RLIMIT_NOFILE, &old));
	few = old;
	few.rlim_cur = 256;
	must(!setrlimit(RLIMIT_NOFILE, &few));
	must(!connect(c, &server_addr.any, server_len));
	while (n < 256 && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
		n++;
	say("socket with no descriptor left", socket(server_addr.any.sa_family,
						     SOCK_STREAM, 0));
	say("accept with no descriptor left", accept(l, NULL, NULL));
	while (n > 0)
		close(fds[--n]);
	must(!setrlimit(RLIMIT_NOFILE, &old));
	s = accept(l, NULL, NULL);
	say("accept with some again", s >= 0);
	say("send", send(c, "x", 1, 0));
	say("recv", recv(s, back, 1, 0));
	close(s);
	close(c);
	close(l);
}

int main(int argc, char **argv)
{
	int before;

	if (argc == 3 && !strcmp(argv[1], "--fd"))
		return executed_main(atoi(argv[2]));
	oracle_init(argc, argv);
	before = descriptors();
	duplicated();
	forked();
	executed();
	passed();
	reused();
	cancelled();
	error_kept();
	exhausted();
	say("descriptors lost", descriptors() - before);
	return 0;
}
