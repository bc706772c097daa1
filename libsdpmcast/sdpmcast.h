/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * libsdpmcast: multicast datagrams of UDP over InfiniBand, received and sent by a queue pair of
 * the program: sdpmcast(3). If the queue pair cannot receive a group, a socket receives it, and
 * sdpmcast_way() returns the reason. Only one thread at a time may use an endpoint.
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

/* An endpoint: one UDP port on one interface, and the groups that it has joined. */
struct sdpmcast;

/**
 * struct sdpmcast_msg - a received datagram, valid until sdpmcast_release()
 * @data:	its payload
 * @len:	bytes of the payload
 * @from:	its source address and port
 * @to:		its group address and port
 * @ttl:	its TTL or hop limit; 0 if it came by the socket
 * @slot:	for the library's own use
 */
struct sdpmcast_msg {
	const void *data;
	size_t len;
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	uint8_t ttl;
	uint32_t slot;
};

/* How the datagrams of a group are carried: by the queue pair; or why the socket carries them */
enum sdpmcast_way {
	SDPMCAST_QUEUE_PAIR,
	SDPMCAST_JOINING,	/* the queue pair is still joining: by the socket for now */
	SDPMCAST_NO_DEVICE,	/* the interface's device gives the program no queue pair */
	SDPMCAST_REFUSED,	/* the join is refused, or another group has the same GID */
	SDPMCAST_FRAGMENTS,	/* its datagrams are larger than the link's MTU */
	SDPMCAST_NO_GROUP,	/* the endpoint has neither joined the group nor sent to it */
	SDPMCAST_LOST,		/* the queue pair or its adapter failed, or is gone */
	SDPMCAST_MOVED,		/* the subnet manager has moved the port's P_Keys */
};

/* Options of sdpmcast_set(), with their range and their default */
enum sdpmcast_option {
	SDPMCAST_TTL,		/* TTL or hop limit of sent datagrams: 0 to 255; 1 */
	SDPMCAST_LOOP,		/* sockets of this host receive sent datagrams: 0 or 1; 0 */
};

/**
 * struct sdpmcast_stat - counters of an endpoint
 * @received:	datagrams for the program that came by the queue pair
 * @by_socket:	datagrams that came by the socket
 * @other_port:	packets of a joined group, but for another port
 * @filtered:	packets from a source, or to an address, that the program has not joined, and
 *		the own packets of the endpoint
 * @malformed:	packets with impossible headers
 * @bad_sum:	packets with a wrong checksum
 * @fragments:	fragments; the socket then receives their groups
 * @not_udp:	packets of another protocol than UDP
 * @claimed:	claims: groups that the interface does not receive for this program
 * @sent:	datagrams that the queue pair has sent
 * @sent_by_socket: datagrams that the socket has sent
 * @lost:	datagrams that the queue pair had received when their group went to the socket. The
 *		socket may have received some of them, too.
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
	uint64_t lost;
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
