/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection whose both ends this process has, with bytes that tell where they belong.
 */
#ifndef SELFTESTS_SOCK_CONN_H
#define SELFTESTS_SOCK_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/**
 * struct end - one end of a connection
 * @fd: its socket
 * @way: which of the two directions it sends
 * @out: bytes that it has sent
 * @in: bytes that it has received
 */
struct end {
	int fd;
	int way;
	uint64_t out;
	uint64_t in;
};

/**
 * struct conn - a connection
 * @a: the end that connected
 * @b: the one that accepted
 */
struct conn {
	struct end a;
	struct end b;
};

/**
 * struct place - where connections are made
 * @family: AF_INET or AF_INET6
 * @direct: the sockets are those of direct SDP
 * @listen: address of the listener
 * @connect: address that the other end connects to
 * @server: name of the listener's network namespace, or NULL
 * @client: and of the other end's
 */
struct place {
	int family;
	bool direct;
	const char *listen;
	const char *connect;
	const char *server;
	const char *client;
};

extern struct place place;

/* [-6] [-l LISTEN] [-c CONNECT] [-S NETNS] [-C NETNS] [-w]: where, and "late". */
void place_options(int argc, char **argv);

/* Directions move by a carrier of messages, and do not at once. */
extern bool late;

/* Be in a network namespace from now on; where one is if it has no name. */
void netns_enter(const char *name);

/* A socket, with the ULP unless this is TCP's run. */
int sock_new(const char *netns);
void sock_ulp(int fd);
/* One that listens; @port is set. */
int sock_listen(int backlog, int *port);
/* SDP_SOCK_MODE; returns as setsockopt(2). */
int sock_mode(int fd, int mode);
/* Connect; returns as connect(2). */
int sock_connect(int fd, int port);

struct conn conn_new(void);
/* A connection whose both directions have moved. */
struct conn conn_moved(void);
/* One whose ends have these modes; an end of mode -1 has not the ULP. */
struct conn conn_modes(int client, int server);
void conn_close(struct conn *c);

/* Is what the socket sends carried by a pipe? */
bool moved(int fd);
/* Send to and fro until both directions have moved; TCP's run sends as well. */
void move(struct conn *c);
/* Wait for a tick of the kernel's clock, after which the module asks its gate again. */
void tick(void);
/* The end's direction moves, or not, with the next send. */
void gate(struct end *e, bool open);
/* It has to be where it is said to be. */
void want(const struct end *e, bool pipe);
/* It has to be with TCP for this reason. */
void stays(const struct end *e, const char *why);
/* Is there the carrier that selftests/sock/carrier is, and a setting of it. */
bool test_carrier(void);
void carrier(const char *name, const char *value);
/* No packet with bytes has left the socket, or come to it. */
void no_segs(int fd);

void fill(const struct end *e, void *bytes, size_t n);
/* Are these the next bytes behind @skip that the end has to receive? */
void look(const struct end *e, size_t skip, const void *bytes, size_t n);

/* Send all of @n bytes. */
void put(struct end *e, size_t n, int flags);
/* As send(2). */
ssize_t put_some(struct end *e, size_t n, int flags);
/* As recv(2), with a look at the bytes. */
ssize_t get(struct end *e, size_t n, int flags);
/* Receive all of @n bytes. */
void get_all(struct end *e, size_t n);
/* Wait until @n bytes can be read. */
void arrived(const struct end *e, size_t n);

/*
 * Bytes for @b in three places: claimed in the pipe, behind them in TCP's queue, and behind
 * those in the pipe again.  Returns how many there are.
 */
#define THREE_CLAIMED	2000
#define THREE_TCP	2200
#define THREE_PIPE	900
#define THREE_ALL	(THREE_CLAIMED + THREE_TCP + THREE_PIPE)
struct conn conn_three(void);

#endif /* SELFTESTS_SOCK_CONN_H */
