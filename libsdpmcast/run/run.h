/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * The library of sdprun --mcast. It stands in front of calls of the C library (calls.c), and knows
 * which descriptors are sockets with groups (table.c). A queue pair receives the groups of a
 * socket (serve.c), and calls that receive (receive.c) or wait (wait.c) look at both.
 *
 * A socket's state goes IDLE, SERVED, STOPPED. In STOPPED the kernel has the socket for ever.
 */
#ifndef RUN_H
#define RUN_H

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "../../libsdpdev/interpose.h"
#include "../internal.h"

/* A call that joins a group or leaves it, without its level and its number. */
struct wish {
	unsigned int ifindex;
	bool from_one;		/* only from @source */
	struct sockaddr_storage group;
	struct sockaddr_storage source;
};

enum state { IDLE, SERVED, STOPPED };

/* Datagrams in the kernel's queue that may be from before a join: there can hardly be more. */
#define OLDER	4096

/**
 * struct served - a UDP socket of the program that has joined a group, or is in an epoll set
 * @fd:		its descriptor
 * @inode:	of the socket: a number that is closed unseen may be another one
 * @refs:	the table, and calls that use it; under the table's lock
 * @lock:	all below
 * @state:	see above
 * @family:	the socket's
 * @wishes:	joined before the socket had a port
 * @wish_count:	how many
 * @why:	why it is STOPPED, for groups that it joins then
 * @text:	of @why, if it is no literal
 * @e:		the endpoint, from SERVED on; goes with the last reference
 * @more:	an eventfd in the endpoint's epoll set: readable if datagrams may be left behind
 *		an event that is gone
 * @bound:	the socket's own address
 * @peer:	of a connected socket
 * @connected:	it has one
 * @msgs:	datagrams for the program, from @next on
 * @next:	the first
 * @count:	behind the last
 * @told_lost:	how many datagrams a line has said to be lost
 * @taken:	when they were taken, if the program wants to know
 * @first:	so many datagrams of the kernel's queue come before those of the queue pair: it may
 *		have some from before, the program has peeked at one, or the queue pair has had many
 * @pktinfo:	the program wants to know where a datagram went to
 * @ttl:	and its TTL
 * @stamp:	0, SO_TIMESTAMP or SO_TIMESTAMPNS
 */
struct served {
	int fd;
	ino_t inode;
	unsigned int refs;

	pthread_mutex_t lock;
	enum state state;
	sa_family_t family;
	struct wish *wishes;
	unsigned int wish_count;
	const char *why;
	char text[80];
	struct sdpmcast *e;
	int more;
	struct sockaddr_storage bound;
	struct sockaddr_storage peer;
	bool connected;
	struct sdpmcast_msg msgs[BATCH];
	unsigned int next;
	unsigned int count;
	uint64_t told_lost;
	struct timespec taken;
	unsigned int first;
	bool pktinfo;
	bool ttl;
	int stamp;
};

#define NO_MEMORY	"no memory"

/* table.c */
struct served *table_enter(int fd);
struct served *table_make(int fd, const char **why);
void table_leave(struct served *s);
void table_pause(struct served *s);
void table_resume(struct served *s);
void table_forget(int fd);
void table_forget_range(unsigned int first, unsigned int last);
void table_shared(int fd, const char *why);
void table_stop(const char *why);
void table_fork_child(void);
int table_epoll(int epoll, int op, int fd, const struct epoll_event *event);
bool table_watch(int fd, struct epoll_event *event, int *epoll, unsigned int *at);

/* serve.c */
void serve_join(struct served *s, const struct wish *wish);
void serve_drop(struct served *s, const struct wish *wish);
void serve_watch(struct served *s, int epoll, int op, const struct epoll_event *event);
void serve_address(struct served *s);
void serve_options(struct served *s);
void serve_stop(struct served *s, const char *why);
void serve_end(struct served *s);
bool serve_fill(struct served *s);
void serve_done(struct served *s);

/* rule.c */
void rule_start(void);
bool rule_covers(const struct sockaddr_storage *group, in_port_t port);
void rule_tell(int sock, const struct sockaddr_storage *group, const char *why);
void rule_tell_covered(int sock, const struct sockaddr_storage *group, const char *why);
void rule_tell_lost(int sock, uint64_t count);

/* wish.c */
bool wish_read(int level, int name, const void *value, socklen_t len, struct wish *w, bool *join);
const char *wish_refused(int level, int name);

/* receive.c */
ssize_t receive_msg(struct served *s, struct msghdr *hdr, int flags);
int receive_msgs(struct served *s, struct mmsghdr *msgs, unsigned int n, int flags,
		 struct timespec *timeout);

/* wait.c */
int wait_poll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int wait_select(int n, fd_set *in, fd_set *out, fd_set *except, struct timespec *timeout,
		const sigset_t *mask);

#endif /* RUN_H */
