// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that begin with their first bytes (MSG_FASTOPEN), and sockets that
 * begin anew (connect() with AF_UNSPEC).
 */
#include "oracle.h"
#include "waiter.h"

static char back[100];

static long take_error(int fd)
{
	int error = -1;
	socklen_t len = sizeof(error);

	must(!getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len));
	return error;
}

static long part(int fd)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };

	return connect(fd, &unspec, sizeof(unspec));
}

static int accepted(int l)
{
	int s = accept(l, NULL, NULL);

	must(s >= 0);
	return s;
}

/*
 * A listener in the client's namespace, at the address that @fd, an end in the
 * server's, is connected to: the server's own would be reached by loopback.
 */
static int opposite(int fd, struct sockaddr_storage *addr)
{
	socklen_t len = sizeof(*addr);
	int l = client_socket(0);

	must(!getpeername(fd, (struct sockaddr *)addr, &len));
	((struct sockaddr_in *)addr)->sin_port = 0;
	must(!bind(l, (struct sockaddr *)addr, len));
	must(!listen(l, 5));
	must(!getsockname(l, (struct sockaddr *)addr, &len));
	return l;
}

static void fast(void)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	struct iovec iov = { .iov_base = "second", .iov_len = 6 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int l = listener(5), c = client_socket(0), s;

	say("to nowhere", sendto(c, "x", 1, MSG_FASTOPEN, &unspec, sizeof(unspec)));
	say("sendto with MSG_FASTOPEN",
	    sendto(c, "first", 5, MSG_FASTOPEN, &server_addr.any, server_len));
	s = accepted(l);
	say("arrives", recv(s, back, 5, MSG_WAITALL));
	say("once more", sendto(c, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &server_addr.any,
				server_len));
	say("send", send(c, "then", 4, 0));
	say("arrives", recv(s, back, 4, MSG_WAITALL));
	must(!close(c) && !close(s));

	c = client_socket(0);
	msg.msg_name = &server_addr;
	msg.msg_namelen = server_len;
	say("sendmsg with MSG_FASTOPEN", sendmsg(c, &msg, MSG_FASTOPEN));
	s = accepted(l);
	say("arrives", recv(s, back, 6, MSG_WAITALL));
	must(!close(c) && !close(s));

	c = client_socket(0);
	say("without waiting", sendto(c, "x", 1, MSG_FASTOPEN | MSG_DONTWAIT,
				      &server_addr.any, server_len));
	s = accepted(l);
	wait_for(c, POLLOUT);
	say("and it connects", take_error(c));
	must(!close(c) && !close(s) && !close(l));

	c = client_socket(0);
	say("to nobody", sendto(c, "x", 1, MSG_FASTOPEN, &server_addr.any, server_len));
	must(!close(c));
}

static void apart(void)
{
	int l = listener(5), c = client_socket(0), s, other;
	struct sockaddr_storage addr = { 0 };

	say("of a new one", part(c));
	say("connect", connect(c, &server_addr.any, server_len));
	s = accepted(l);
	must(send(s, "unread", 6, 0) == 6);
	wait_bytes(c, 6);
	say("of a connection", part(c));
	say_events("it shows", shows(c));
	say("its error", take_error(c));
	say_events("and then", shows(c));
	say("recv", recv(c, back, 1, 0));
	say("send", send(c, "x", 1, MSG_NOSIGNAL));
	say("again", part(c));
	shows_reset(s);
	say("the other end", recv(s, back, 1, 0));
	must(!close(s));

	say("connect once more", connect(c, &server_addr.any, server_len));
	s = accepted(l);
	say("its error", take_error(c));
	say("send", send(c, "hello", 5, 0));
	say("recv", recv(s, back, 5, MSG_WAITALL));
	say("back", send(s, "you", 3, 0));
	say("recv", recv(c, back, 3, MSG_WAITALL));

	/* The end that was accepted, and without asking for the error. */
	other = opposite(s, &addr);
	say("of the other end", part(s));
	shows_reset(c);
	say("this one", recv(c, back, 1, 0));
	must(!close(c));
	say("it connects", connect(s, (struct sockaddr *)&addr, server_len));
	c = accepted(other);
	say("send", send(s, "hello", 5, 0));
	say("recv", recv(c, back, 5, MSG_WAITALL));
	must(!shutdown(c, SHUT_WR));
	wait_for(s, POLLRDHUP);
	say("half closed", part(s));
	say("its error", take_error(s));
	must(!close(c) && !close(s) && !close(l) && !close(other));
}

static long read_one(int fd)
{
	return recv(fd, back, 1, 0);
}

static long write_all(int fd)
{
	static char bytes[10000000];

	return send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

/* By another thread than the one that waits for it. */
static void apart_meanwhile(void)
{
	int l = listener(5), c = client_socket(0), s;
	struct waiter w;

	must(!connect(c, &server_addr.any, server_len));
	s = accepted(l);
	waiter_start(&w, read_one, c);
	say("of one that is read", part(c));
	say("that read", waiter_end(&w));
	say("its error", take_error(c));
	must(!close(s));

	must(!connect(c, &server_addr.any, server_len));
	s = accepted(l);
	waiter_start(&w, write_all, c);
	say("of one that is written", part(c));
	say("that write has sent some", waiter_end(&w) > 0);
	must(!close(c) && !close(s) && !close(l));
}

static void from_listening(void)
{
	int l = listener(5), c = client_socket(0), s, other;
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	in_port_t port;

	memset(&addr, 0, sizeof(addr));
	say("of a listener", part(l));
	say("accept", accept(l, NULL, NULL));
	say("connect to it", connect(c, &server_addr.any, server_len));
	say("listen", listen(l, 5));
	/* The port that it was given before is not its own any more. */
	must(!getsockname(l, (struct sockaddr *)&addr, &len));
	port = ((struct sockaddr_in *)&addr)->sin_port;
	set_port(ntohs(port));
	must(!close(c));
	c = client_socket(0);
	say("connect to it", connect(c, &server_addr.any, server_len));
	s = accepted(l);
	other = opposite(s, &addr);
	must(!close(s) && !close(c));

	say("one that listened", part(l));
	say("connects", connect(l, (struct sockaddr *)&addr, server_len));
	s = accepted(other);
	say("send", send(l, "hello", 5, 0));
	say("recv", recv(s, back, 5, MSG_WAITALL));
	must(!close(s) && !close(l) && !close(other));
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	fast();
	apart();
	apart_meanwhile();
	from_listening();
	return 0;
}
