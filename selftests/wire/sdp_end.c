// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of a connection over /dev/sdp, without the library.
 *
 *   sdp_end echo PORT		a server that gives back what it gets
 *   sdp_end hold PORT		a server that takes one byte after a second
 *				and a second one after another, no more
 *   sdp_end send ADDR PORT N C	a client that sends N bytes, C at a time, each
 *				when the ones before have come back as they
 *				were; exit status 0 if all is well
 *   sdp_end fall ADDR PORT N C	the same over whatever carries it, "carrier C reason R"
 *   sdp_end poll ADDR PORT N C	the same, with a connect that does not wait
 *
 * IPv4, and TCP only where it says so.  The servers take connections until killed, each
 * in a thread; they say "listening" when they are, "from PORT" for each, and how it ended:
 * "aborted" is one that had ended before it was accepted.
 * "end ERRNO REASON WORD", with the reason that the descriptor and the one that
 * /proc/net/sdp/endpoints tells.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/sdp.h>

#define LINE	500

static void die(const char *what)
{
	fprintf(stderr, "sdp_end: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int endpoint(void)
{
	struct sdp_init init = { .size = sizeof(init), .major = SDP_API_MAJOR, .family = AF_INET };
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, SDP_IOC_INIT, &init))
		die(SDP_DEVICE_PATH);
	return fd;
}

/* As servers do: connections of the one before may be about to end on that port. */
static void share_port(int fd)
{
	struct sdp_native native = { .size = sizeof(native) };
	int one = 1, sock = ioctl(fd, SDP_IOC_NATIVE, &native);

	if (sock < 0 || setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("SO_REUSEADDR");
	close(sock);
}

static int listen_on(unsigned int port)
{
	struct sdp_bind bind = { .size = sizeof(bind), .addr_len = sizeof(struct sockaddr_in) };
	struct sdp_listen listen = { .size = sizeof(listen), .backlog = 128 };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = endpoint();

	memcpy(&bind.addr, &sin, sizeof(sin));
	share_port(fd);
	if (ioctl(fd, SDP_IOC_BIND, &bind))
		die("bind");
	if (ioctl(fd, SDP_IOC_LISTEN, &listen))
		die("listen");
	return fd;
}

/* What the last column of /proc/net/sdp/endpoints has for it */
static const char *listed(unsigned long long id, char line[LINE])
{
	FILE *f = fopen("/proc/thread-self/net/sdp/endpoints", "r");
	char *word = "no line";

	if (!f)
		die("endpoints");
	while (fgets(line, LINE, f))
		if (strtoull(line, NULL, 10) == id && strrchr(line, ' ')) {
			word = strrchr(line, ' ') + 1;
			word[strcspn(word, "\n")] = 0;
			break;
		}
	fclose(f);
	return word;
}

/* How it ended: by the errno of the last call on it, or as it should. */
static void tell_end(int fd, int error)
{
	struct sdp_info info = { .size = sizeof(info) };
	char line[LINE];

	if (ioctl(fd, SDP_IOC_INFO, &info))
		die("info");
	printf("end %d %u %s\n", error, info.reason, listed(info.id, line));
	fflush(stdout);
}

static void echo(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(fd, buf, n) != n)
			break;
	tell_end(fd, n ? errno : 0);
}

static void hold(int fd)
{
	char c;

	sleep(1);
	if (read(fd, &c, 1) == 1)
		sleep(1);
	if (read(fd, &c, 1) < 0)
		tell_end(fd, errno);
}

/* How the server talks on each connection */
static void (*talk)(int fd);

static void *serve_one(void *arg)
{
	int fd = (intptr_t)arg;

	talk(fd);
	close(fd);
	return NULL;
}

static void serve(unsigned int port)
{
	struct sdp_accept args;
	pthread_t thread;
	intptr_t conn;
	int fd;

	fd = listen_on(port);
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		memset(&args, 0, sizeof(args));
		args.size = sizeof(args);
		conn = ioctl(fd, SDP_IOC_ACCEPT, &args);
		if (conn >= 0) {
			printf("from %d\n", ntohs(((struct sockaddr_in *)&args.addr)->sin_port));
			fflush(stdout);
			if (pthread_create(&thread, NULL, serve_one, (void *)conn))
				die("thread");
			pthread_detach(thread);
		} else if (errno == ECONNABORTED) {
			printf("aborted\n");
			fflush(stdout);
		} else if (errno != EINTR) {
			die("accept");
		}
	}
}

static unsigned char pattern(size_t i)
{
	return i * 2654435761u >> 13;
}

/* Until it is known how the connection went that was begun without waiting. */
static void await(int fd)
{
	struct sdp_error args = { .size = sizeof(args) };
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (poll(&p, 1, -1) != 1 || ioctl(fd, SDP_IOC_ERROR, &args))
		die("poll");
	errno = args.error;
	if (errno)
		die("connect");
}

static void tell_carrier(int fd)
{
	struct sdp_info info = { .size = sizeof(info) };

	if (ioctl(fd, SDP_IOC_INFO, &info))
		die("info");
	printf("carrier %u reason %u\n", info.carrier, info.reason);
}

static int begin(const char *addr, unsigned int port, const char *how)
{
	struct sdp_connect args = { .size = sizeof(args), .addr_len = sizeof(struct sockaddr_in) };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = endpoint();

	inet_pton(AF_INET, addr, &sin.sin_addr);
	memcpy(&args.addr, &sin, sizeof(sin));
	if (!strcmp(how, "send"))
		args.flags = SDP_CONNECT_NO_TCP;
	else if (!strcmp(how, "poll"))
		args.flags = SDP_CONNECT_NONBLOCK;
	if (!ioctl(fd, SDP_IOC_CONNECT, &args)) {
		if (args.flags & SDP_CONNECT_NONBLOCK) {
			fprintf(stderr, "sdp_end: connected without waiting\n");
			exit(1);
		}
	} else if (errno == EINPROGRESS) {
		await(fd);
	} else {
		die("connect");
	}
	if (!(args.flags & SDP_CONNECT_NO_TCP))
		tell_carrier(fd);
	return fd;
}

static void send_all(int fd, size_t n, size_t chunk)
{
	struct sdp_shutdown shut = { .size = sizeof(shut), .how = SHUT_WR };
	size_t i, sent = 0, got = 0;
	unsigned char *buf = malloc(chunk);
	ssize_t len;

	if (!buf)
		die("memory");
	while (got < n) {
		for (len = 0; len < (ssize_t)chunk && sent + len < n; len++)
			buf[len] = pattern(sent + len);
		if (len && write(fd, buf, len) != len)
			die("write");
		sent += len;
		if (sent == n && ioctl(fd, SDP_IOC_SHUTDOWN, &shut) && errno != ENOTCONN)
			die("shutdown");
		while (got < sent) {
			len = read(fd, buf, chunk);
			if (len <= 0)
				die("read");
			for (i = 0; i < (size_t)len; i++)
				if (buf[i] != pattern(got + i)) {
					fprintf(stderr, "sdp_end: byte %zu is wrong\n", got + i);
					exit(1);
				}
			got += len;
		}
	}
	if (read(fd, buf, 1))
		die("end of the stream");
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[1], "echo")) {
		talk = echo;
		serve(atoi(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "hold")) {
		talk = hold;
		serve(atoi(argv[2]));
	} else if (argc == 6 && (!strcmp(argv[1], "send") || !strcmp(argv[1], "fall") ||
				 !strcmp(argv[1], "poll")) && atoi(argv[5]) > 0) {
		send_all(begin(argv[2], atoi(argv[3]), argv[1]), strtoul(argv[4], NULL, 0),
			 atoi(argv[5]));
	} else {
		fprintf(stderr,
			"usage: sdp_end echo|hold PORT | send|fall|poll ADDR PORT BYTES CHUNK\n");
		return 2;
	}
	return 0;
}
