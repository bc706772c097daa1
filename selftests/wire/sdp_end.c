// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of a connection of direct SDP.
 *
 *   sdp_end echo PORT		a server that gives back what it gets
 *   sdp_end hold PORT		a server that takes one byte after a second
 *				and a second one after another, no more
 *   sdp_end fetch PORT		a server that takes a byte, waits for 256 KiB in all,
 *				says so, and waits on
 *   sdp_end pour PORT		a server that sends as much, again and again
 *   sdp_end send ADDR PORT N C	a client that sends N bytes, C at a time, each
 *				when the ones before have come back as they
 *				were; exit status 0 if all is well
 *
 * The servers take connections until killed, each in a thread; they say "listening" when they
 * are, "from PORT" for each, and "end ERRNO" when it has ended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AF_DIRECT	27

static void die(const char *what)
{
	fprintf(stderr, "sdp_end: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int endpoint(void)
{
	socklen_t len = sizeof(int);
	int family, fd = socket(AF_DIRECT, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket");
	/* Where direct SDP is off, it is a TCP socket. */
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) || family != AF_DIRECT) {
		fprintf(stderr, "sdp_end: net.sdp.direct is off\n");
		exit(1);
	}
	return fd;
}

static int listen_on(unsigned int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, fd = endpoint();

	/* As servers do: connections of the one before may be about to end on that port. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		die("SO_REUSEADDR");
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("bind");
	if (listen(fd, 128))
		die("listen");
	return fd;
}

/* How it ended: by the errno of the last call on it, or as it should. */
static void tell_end(int error)
{
	printf("end %d\n", error);
	fflush(stdout);
}

static void echo(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(fd, buf, n) != n)
			break;
	tell_end(n ? errno : 0);
}

static void hold(int fd)
{
	char c;

	sleep(1);
	if (read(fd, &c, 1) == 1)
		sleep(1);
	if (read(fd, &c, 1) < 0)
		tell_end(errno);
}

static void fetch(int fd)
{
	const ssize_t len = 256 << 10;
	char *buf = malloc(len);
	ssize_t n;

	if (!buf)
		die("memory");
	/* What comes before the first byte comes before the memory is offered. */
	if (recv(fd, buf, 1, 0) == 1)
		n = recv(fd, buf + 1, len - 1, MSG_WAITALL);
	else
		n = -1;
	/* The memory is the program's again, and no call has other memory. */
	if (n == len - 1 && write(fd, "!", 1) != 1)
		n = -1;
	tell_end(n < 0 || recv(fd, buf, 1, 0) < 0 ? errno : 0);
	free(buf);
}

static void pour(int fd)
{
	const size_t len = 256 << 10;
	unsigned char *buf = malloc(len);

	if (!buf)
		die("memory");
	for (size_t i = 0; i < len; i++)
		buf[i] = i * 7;
	while (write(fd, buf, len) > 0)
		;
	tell_end(errno);
	free(buf);
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
	struct sockaddr_in from;
	pthread_t thread;
	socklen_t len;
	intptr_t conn;
	int fd;

	fd = listen_on(port);
	printf("listening\n");
	fflush(stdout);
	for (;;) {
		len = sizeof(from);
		conn = accept(fd, (struct sockaddr *)&from, &len);
		if (conn < 0) {
			if (errno != EINTR)
				die("accept");
			continue;
		}
		printf("from %d\n", ntohs(from.sin_port));
		fflush(stdout);
		if (pthread_create(&thread, NULL, serve_one, (void *)conn))
			die("thread");
		pthread_detach(thread);
	}
}

static unsigned char pattern(size_t i)
{
	return i * 2654435761u >> 13;
}

static int begin(const char *addr, unsigned int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = endpoint();

	if (inet_pton(AF_INET, addr, &sin.sin_addr) != 1) {
		errno = EINVAL;
		die(addr);
	}
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	return fd;
}

static void send_all(int fd, size_t n, size_t chunk)
{
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
		if (sent == n && shutdown(fd, SHUT_WR) && errno != ENOTCONN)
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
	} else if (argc == 3 && !strcmp(argv[1], "fetch")) {
		talk = fetch;
		serve(atoi(argv[2]));
	} else if (argc == 3 && !strcmp(argv[1], "pour")) {
		talk = pour;
		serve(atoi(argv[2]));
	} else if (argc == 6 && !strcmp(argv[1], "send") && atoi(argv[5]) > 0) {
		send_all(begin(argv[2], atoi(argv[3])), strtoul(argv[4], NULL, 0),
			 atoi(argv[5]));
	} else {
		fprintf(stderr, "usage: sdp_end echo|hold|fetch|pour PORT |\n"
			"       sdp_end send ADDR PORT BYTES CHUNK\n");
		return 2;
	}
	return 0;
}
