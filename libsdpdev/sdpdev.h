/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * libsdpdev: stream connections by the Sockets Direct Protocol.
 *
 * One call for each socket call, on descriptors of /dev/sdp.  They take the
 * arguments, give the results and set the errno values of the socket calls of
 * the same names.  read(2), write(2), poll(2), epoll(7), sendfile(2), dup(2),
 * fcntl(2) and close(2) work on these descriptors by themselves.
 *
 * The library keeps no record of endpoints: each call asks the kernel for what it
 * needs, so a descriptor may have come by fork, exec or over a UNIX socket.
 * Several threads may make every call at once.
 */
#ifndef SDPDEV_H
#define SDPDEV_H

#include <linux/sdp.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Families of sockets, for sdp_socket() the first one, for the socket() of
 * programs with the preload library both.
 *
 * AF_INET_OFFLOAD: IPv4 over SDP and nothing else.  27 is what programs for older
 * SDP stacks, the JDK among them, call AF_INET_SDP; to Linux it is AF_IB, which
 * makes no sockets.
 *
 * AF_INET_DIRECT: IPv4 over the kernel's TCP and nothing else.  Linux gives its
 * families out one after the other and has got to 45 in 6.12; 127 fits into the
 * seven bits that every language's idea of a family has.
 */
#define AF_INET_OFFLOAD	27
#define AF_INET_DIRECT	127

/**
 * struct sdp_rings - the mapped rings of one connection
 * @fd: the descriptor that they belong to; it stays the caller's
 * @tx_bytes: size of the transmit ring's data
 * @rx_bytes: size of the receive ring's data
 * @data_offset: where the data begins in either mapping
 * @tx: the transmit ring
 * @rx: the receive ring
 *
 * Filled by sdp_ring_attach() or sdp_ring_map(), read-only afterwards; threads
 * may share it, processes that share the descriptor each map their own.
 */
struct sdp_rings {
	int fd;
	unsigned int tx_bytes;
	unsigned int rx_bytes;
	unsigned int data_offset;
	struct sdp_ring *tx;
	struct sdp_ring *rx;
};

int sdp_socket(int family, int flags);
int sdp_bind(int fd, const struct sockaddr *addr, socklen_t addrlen);
int sdp_listen(int fd, int backlog);
int sdp_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags);
int sdp_connect(int fd, const struct sockaddr *addr, socklen_t addrlen,
		unsigned int flags);
int sdp_shutdown(int fd, int how);

ssize_t sdp_send(int fd, const void *buf, size_t len, int flags);
ssize_t sdp_recv(int fd, void *buf, size_t len, int flags);
ssize_t sdp_sendmsg(int fd, const struct msghdr *msg, int flags);
ssize_t sdp_recvmsg(int fd, struct msghdr *msg, int flags);

int sdp_getsockname(int fd, struct sockaddr *addr, socklen_t *addrlen);
int sdp_getpeername(int fd, struct sockaddr *addr, socklen_t *addrlen);
int sdp_getsockopt(int fd, int level, int name, void *val, socklen_t *len);
int sdp_setsockopt(int fd, int level, int name, const void *val, socklen_t len);
int sdp_info(int fd, struct sdp_info *info);

int sdp_ring_attach(int fd, unsigned int tx_bytes, unsigned int rx_bytes,
		    struct sdp_rings *rings);
int sdp_ring_map(int fd, struct sdp_rings *rings);
ssize_t sdp_ring_send(const struct sdp_rings *rings, const void *buf, size_t len,
		      int flags);
ssize_t sdp_ring_recv(const struct sdp_rings *rings, void *buf, size_t len,
		      int flags);
int sdp_ring_detach(struct sdp_rings *rings);

/* For TCP sockets with the ULP "sdp": see sdp_fast_open(3). */
struct sdp_fast;

struct sdp_fast *sdp_fast_open(int fd, unsigned int flags);
ssize_t sdp_fast_send(struct sdp_fast *fast, const void *buf, size_t len, int flags);
ssize_t sdp_fast_recv(struct sdp_fast *fast, void *buf, size_t len, int flags);
unsigned int sdp_fast_state(struct sdp_fast *fast);
void sdp_fast_close(struct sdp_fast *fast);

#ifdef __cplusplus
}
#endif

#endif /* SDPDEV_H */
