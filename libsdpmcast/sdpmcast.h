/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * libsdpmcast: multicast datagrams of UDP over InfiniBand, received and sent by a queue pair of
 * the program: sdpmcast(3). A group whose datagrams cannot come that way comes by a socket, and
 * sdpmcast_way() says why. One thread at a time uses an endpoint.
 */
#ifndef SDPMCAST_H
#define SDPMCAST_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One port of UDP on one interface, with groups. */
struct sdpmcast;

/**
 * struct sdpmcast_msg - a datagram, until sdpmcast_release()
 * @data:	what it carries
 * @len:	how much that is
 * @from:	its source, with the port
 * @to:		its group, likewise
 * @ttl:	or hop limit; 0 if it came by the socket
 * @slot:	the library's
 */
struct sdpmcast_msg {
	const void *data;
	size_t len;
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	uint8_t ttl;
	uint32_t slot;
};

/* By which way the datagrams of a group come and go, or why not by the queue pair. */
enum sdpmcast_way {
	SDPMCAST_QUEUE_PAIR,
	SDPMCAST_JOINING,	/* by the socket, for now */
	SDPMCAST_NO_DEVICE,	/* no queue pair is to be had on the interface */
	SDPMCAST_REFUSED,	/* the fabric's manager, or the adapter, did not take the join */
	SDPMCAST_FRAGMENTS,	/* its datagrams are larger than the link's MTU */
	SDPMCAST_NO_GROUP,	/* the endpoint is not in it, and has not sent to it */
};

/* What sdpmcast_set() sets: the values, and what it is before. */
enum sdpmcast_option {
	SDPMCAST_TTL,		/* of what is sent, or hop limit: 0 to 255; 1 */
	SDPMCAST_LOOP,		/* sockets of this host receive it: 0 or 1; 0 */
};

/**
 * struct sdpmcast_stat - what an endpoint has counted
 * @received:	datagrams that came by the queue pair and were the program's
 * @by_socket:	those that came by the socket
 * @other_port:	of a group, but for another port
 * @filtered:	from a source, or to an address, that nobody has asked for
 * @malformed:	with headers that cannot be
 * @bad_sum:	with a wrong checksum
 * @fragments:	fragments; their groups then come by the socket
 * @not_udp:	no UDP
 * @claimed:	groups that the interface has been told not to receive
 * @sent:	datagrams that the queue pair has sent
 * @sent_by_socket: those that the socket has sent
 */
struct sdpmcast_stat {
	uint64_t received;
	uint64_t by_socket;
	uint64_t other_port;
	uint64_t filtered;
	uint64_t malformed;
	uint64_t bad_sum;
	uint64_t fragments;
	uint64_t not_udp;
	uint64_t claimed;
	uint64_t sent;
	uint64_t sent_by_socket;
};

struct sdpmcast *sdpmcast_open(const char *interface, sa_family_t family, in_port_t port,
			       unsigned int slots);
int sdpmcast_join(struct sdpmcast *e, const struct sockaddr *group,
		  const struct sockaddr *source);
int sdpmcast_leave(struct sdpmcast *e, const struct sockaddr *group,
		   const struct sockaddr *source);
enum sdpmcast_way sdpmcast_way(const struct sdpmcast *e, const struct sockaddr *group);
int sdpmcast_fd(const struct sdpmcast *e);
int sdpmcast_recv(struct sdpmcast *e, struct sdpmcast_msg *msgs, unsigned int n);
void sdpmcast_release(struct sdpmcast *e, const struct sdpmcast_msg *msgs, unsigned int n);
int sdpmcast_send(struct sdpmcast *e, const struct sockaddr *group,
		  const struct iovec *datagrams, unsigned int n);
int sdpmcast_set(struct sdpmcast *e, enum sdpmcast_option option, int value);
void sdpmcast_stat(const struct sdpmcast *e, struct sdpmcast_stat *stat, size_t size);
void sdpmcast_close(struct sdpmcast *e);

#ifdef __cplusplus
}
#endif

#endif /* SDPMCAST_H */
