// SPDX-License-Identifier: GPL-2.0
/*
 * The operations on sockets of direct SDP, but for connections with the standing listener, which
 * are in pair.c.
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of the network namespace that the thread is in. */
void allow_direct(void)
{
	static const char path[] = "/proc/thread-self/root/proc/sys/net/sdp/direct";
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		die(path);
	close(fd);
}

int direct_socket(bool nonblock)
{
	return socket(DIRECT, SOCK_STREAM | SOCK_CLOEXEC | (nonblock ? SOCK_NONBLOCK : 0), 0);
}

/* By bits of v: which address, which port, and the family if it is to be wrong. */
void direct_address(struct sockaddr_in *sin, unsigned int v)
{
	static const uint16_t ports[] = { PORT, PORT + 1, PORT + 2, 0, 7, PORT + 1, 40000, PORT };
	static const char *const addresses[] = {
		"10.77.0.2", "10.77.0.1", "0.0.0.0", "127.0.0.1", "10.77.0.9", "224.0.0.1",
		"255.255.255.255", "192.0.2.1",
	};

	memset(sin, 0, sizeof(*sin));
	sin->sin_family = v & 0x40 ? DIRECT : AF_INET;
	if ((v & 0x3f00) == 0x3f00)
		sin->sin_family = v >> 16;
	sin->sin_port = htons(ports[v >> 3 & 7]);
	inet_pton(AF_INET, addresses[v & 7], &sin->sin_addr);
}

/* In the network namespace of the thread; the standing listener is the second one's (exec.c). */
int listen_somewhere(unsigned int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = direct_socket(true);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 16))
		die("listen");
	return fd;
}

void op_direct_new(struct worker *w)
{
	slot_fill(w, w->r->slot, direct_socket(w->r->a & 12));
}

/* Mostly not an end of a connection of pair.c where that would be its end. */
static int some(struct worker *w, bool spare)
{
	return one_of(w, (spare && w->r->c & 0x3000 ? SLOTS / 2 : 0) | (w->r->slot & 2));
}

void op_direct_call(struct worker *w)
{
	socklen_t len = w->r->b >= 0xf0 ? w->r->b & 0xf : sizeof(struct sockaddr_in);
	struct sockaddr_in *sin = memory(w, sizeof(*sin));
	struct sockaddr_in name;

	direct_address(&name, w->r->c);
	if (w->r->b < 0xd0)
		memcpy(sin, &name, sizeof(name));
	switch (w->r->a & 7) {
	case 0:
		(void)bind(some(w, true), (struct sockaddr *)sin, len);
		break;
	case 1:
		(void)listen(some(w, true), (int8_t)w->r->b);
		break;
	case 2:
	case 3:
		slot_fill(w, w->r->a >> 3,
			  accept4(some(w, true), (struct sockaddr *)sin, &len,
				  SOCK_CLOEXEC | (w->r->a & 8 ? SOCK_NONBLOCK : 0)));
		break;
	case 4:
	case 5:
		(void)connect(some(w, true), (struct sockaddr *)sin, len);
		break;
	case 6:
		(void)shutdown(some(w, true), w->r->a >> 3 & 3);
		break;
	default:
		if (w->r->a & 8)
			(void)getsockname(some(w, false), (struct sockaddr *)sin, &len);
		else
			(void)getpeername(some(w, false), (struct sockaddr *)sin, &len);
	}
}

void op_direct_option(struct worker *w)
{
	call_option(w, some(w, false));
}

void op_direct_send(struct worker *w)
{
	call_send(w, some(w, false));
}

void op_direct_recv(struct worker *w)
{
	call_recv(w, some(w, false));
}
