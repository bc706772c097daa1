// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages with bytes that are sent and received.
 */
#include "oracle.h"

static char back[100];

union room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(64)];
};

/* Sends two bytes with a control message of @len, which says that it is @claim. */
static long with_control(int fd, int level, int type, size_t len, size_t claim)
{
	union room room;
	struct iov_and_msg {
		struct iovec iov;
		struct msghdr msg;
	} m = {
		.iov = { .iov_base = "ab", .iov_len = 2 },
		.msg = { .msg_iovlen = 1, .msg_control = &room },
	};

	memset(&room, 0, sizeof(room));
	m.msg.msg_iov = &m.iov;
	m.msg.msg_controllen = CMSG_SPACE(len);
	room.align.cmsg_level = level;
	room.align.cmsg_type = type;
	room.align.cmsg_len = claim;
	return sendmsg(fd, &m.msg, 0);
}

static void sending(void)
{
	int p[2];

	connected(p);
	say("SCM_RIGHTS", with_control(p[0], SOL_SOCKET, SCM_RIGHTS, 4, CMSG_LEN(4)));
	say("of another level", with_control(p[0], IPPROTO_IP, IP_TTL, 4, CMSG_LEN(4)));
	say("of no kind", with_control(p[0], SOL_SOCKET, 1234, 4, CMSG_LEN(4)));
	say("too long", with_control(p[0], SOL_SOCKET, SCM_RIGHTS, 4, 1000));
	say("too short", with_control(p[0], SOL_SOCKET, SCM_RIGHTS, 4, 1));
	wait_bytes(p[1], 4);
	say("what came of them", recv(p[1], back, sizeof(back), 0));
	close_pair(p);
}

static void say_received(const char *label, int fd, size_t take, size_t length)
{
	union room room;
	struct iovec iov = { .iov_base = back, .iov_len = take };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &room, .msg_controllen = length,
	};
	struct cmsghdr *cmsg;
	int value = -1;

	if (say(label, recvmsg(fd, &msg, 0)) < 0)
		return;
	printf("%s: control of %zu, flags %x\n", label, msg.msg_controllen, msg.msg_flags);
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg)
		return;
	if (cmsg->cmsg_len >= CMSG_LEN(sizeof(value)))
		memcpy(&value, CMSG_DATA(cmsg), sizeof(value));
	printf("%s: level %d, type %d, length %zu, value %d\n", label, cmsg->cmsg_level,
	       cmsg->cmsg_type, cmsg->cmsg_len, value);
}

/* Without a buffer, recvmsg() also reports what does not fit. */
static void say_without(const char *label, int fd)
{
	struct iovec iov = { .iov_base = back, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (say(label, recvmsg(fd, &msg, 0)) == 1)
		printf("%s: control of %zu, flags %x\n", label, msg.msg_controllen,
		       msg.msg_flags);
}

static void receiving(void)
{
	int p[2], on = 1;

	connected(p);
	must(send(p[0], "0123456789xy", 12, 0) == 12);
	wait_bytes(p[1], 12);
	say_received("nothing asked for", p[1], 1, sizeof(union room));
	say("TCP_INQ", setsockopt(p[1], IPPROTO_TCP, TCP_INQ, &on, sizeof(on)));
	say_received("what is left", p[1], 4, sizeof(union room));
	say_received("no room", p[1], 1, 1);
	say_received("no room at all", p[1], 1, 0);
	say_without("no buffer", p[1]);
	say_received("little room", p[1], 1, sizeof(struct cmsghdr));
	say_received("just enough", p[1], 1, CMSG_LEN(sizeof(int)));
	say_received("nothing left", p[1], 10, sizeof(union room));
	must(send(p[0], "x", 1, 0) == 1 && !shutdown(p[0], SHUT_WR));
	wait_for(p[1], POLLRDHUP);
	say_received("the last one", p[1], 1, sizeof(union room));
	say_received("the end", p[1], 1, sizeof(union room));
	close_pair(p);
}

/* It counts the urgent byte, which FIONREAD does not. */
static void before_urgent(void)
{
	int p[2], on = 1;

	connected(p);
	must(!setsockopt(p[1], IPPROTO_TCP, TCP_INQ, &on, sizeof(on)));
	must(send(p[0], "abc!", 4, MSG_OOB) == 4);
	wait_for(p[1], POLLPRI);
	wait_bytes(p[1], 3);
	say_received("before an urgent byte", p[1], 1, sizeof(union room));
	say_received("up to it", p[1], 10, sizeof(union room));
	close_pair(p);
}

/* What else recvmsg() reads and writes there. */
static void around(void)
{
	struct iovec iov = { .iov_base = back, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_namelen = 5 };
	union room room;
	int p[2];

	connected(p);
	must(send(p[0], "012", 3, 0) == 3);
	say("a flag for descriptors", recvmsg(p[1], &msg, MSG_CMSG_CLOEXEC));
	printf("it comes back: flags %x\n", msg.msg_flags);
	say("a length without a name stays", msg.msg_namelen);
	msg.msg_name = back;
	msg.msg_namelen = -1;
	say("a name of a length below zero", recvmsg(p[1], &msg, 0));
	say("the same, sent", sendmsg(p[1], &msg, 0));
	msg.msg_namelen = 5;
	say("a name", recvmsg(p[1], &msg, 0));
	say("there is none", msg.msg_namelen);
	msg.msg_control = &room;
	msg.msg_controllen = 1;
	say("less than a control message, sent", sendmsg(p[1], &msg, 0));
	close_pair(p);
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	sending();
	receiving();
	before_urgent();
	around();
	return 0;
}
