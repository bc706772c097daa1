// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of a process that can have no more descriptors, on a connection that others
 * have as well.
 */
#include "oracle.h"

#include <linux/errqueue.h>
#include <sys/resource.h>

#define FEW	64

static char back[100];

union room {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(64)];
};

static int fill[FEW], filled;

static void take_all(void)
{
	struct rlimit few;

	must(!getrlimit(RLIMIT_NOFILE, &few));
	few.rlim_cur = FEW;
	must(!setrlimit(RLIMIT_NOFILE, &few));
	while (filled < FEW && (fill[filled] = open("/dev/null", O_RDONLY)) >= 0)
		filled++;
	say("descriptors that are left", dup(0));
}

static void give_back(void)
{
	struct rlimit old;

	while (filled > 0)
		close(fill[--filled]);
	must(!getrlimit(RLIMIT_NOFILE, &old));
	old.rlim_cur = old.rlim_max;
	must(!setrlimit(RLIMIT_NOFILE, &old));
}

/* Two bytes with a control message. */
static void send_with(const char *label, int fd, int level, int type, size_t claim)
{
	union room room = { .align = { .cmsg_level = level, .cmsg_type = type,
				       .cmsg_len = claim } };
	struct iovec iov = { .iov_base = "ab", .iov_len = 2 };
	struct mmsghdr msgs[2] = {
		{ .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &room,
			       .msg_controllen = CMSG_SPACE(4) } },
		{ .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } },
	};

	say(label, sendmsg(fd, &msgs[0].msg_hdr, 0));
	say("several of them", sendmmsg(fd, msgs, 2, 0));
}

static void sending(int to, int from)
{
	int n = 0;

	send_with("a descriptor", to, SOL_SOCKET, SCM_RIGHTS, CMSG_LEN(4));
	send_with("of another level", to, IPPROTO_IP, IP_TTL, CMSG_LEN(4));
	send_with("of no kind", to, SOL_SOCKET, 1234, CMSG_LEN(4));
	send_with("too long", to, SOL_SOCKET, SCM_RIGHTS, 1000);
	send_with("too short", to, SOL_SOCKET, SCM_RIGHTS, 1);
	must(send(to, ".", 1, 0) == 1);
	while (recv(from, back, 1, 0) == 1 && *back != '.')
		n++;
	say("what came of them", n);
}

static void say_message(const char *label, struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	printf("%s: control of %zu, flags %x\n", label, msg->msg_controllen, msg->msg_flags);
	if (cmsg)
		printf("%s: level %d, type %d, length %zu\n", label, cmsg->cmsg_level,
		       cmsg->cmsg_type, cmsg->cmsg_len);
}

static void receive(const char *label, int fd, int flags)
{
	union room room[2];
	struct iovec iov = { .iov_base = back, .iov_len = 1 };
	struct mmsghdr msgs[2];
	int i;

	for (i = 0; i < 2; i++)
		msgs[i].msg_hdr = (struct msghdr){
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = &room[i], .msg_controllen = sizeof(room[i]),
		};
	if (say(label, recvmsg(fd, &msgs[0].msg_hdr, flags)) < 0)
		return;
	say_message(label, &msgs[0].msg_hdr);
	msgs[0].msg_hdr.msg_controllen = sizeof(room[0]);
	if (flags & MSG_ERRQUEUE)
		return;
	say("several", recvmmsg(fd, msgs, 2, flags, NULL));
	for (i = 0; i < 2; i++)
		say_message("each", &msgs[i].msg_hdr);
}

static void receiving(int to, int from, bool inq)
{
	int i;

	for (i = 0; i < 10; i++)
		must(send(to, "0", 1, 0) == 1);
	wait_bytes(from, 10);
	receive(inq ? "with TCP_INQ" : "nothing asked for", from, 0);
	receive("with a flag for descriptors", from, MSG_CMSG_CLOEXEC);
	say("what is left", recv(from, back, sizeof(back), 0));
}

/* What only TCP has: time stamps, and word of bytes that were not copied. */
static void by_tcp(int kept, int other)
{
	int i, events;

	for (i = 0; i < 10; i++)
		must(send(other, "0", 1, 0) == 1);
	wait_bytes(kept, 10);
	receive("with a time stamp", kept, 0);
	say("bytes not to be copied", send(kept, "0123456789", 10, MSG_ZEROCOPY));
	say("arrive", recv(other, back, 10, MSG_WAITALL));
	events = wait_for(kept, POLLERR);
	say("there is word of them", events & POLLERR);
	receive("it is", kept, MSG_ERRQUEUE);
	receive("there is no more", kept, MSG_ERRQUEUE);
}

int main(int argc, char **argv)
{
	int l, kept, other, on = 1;

	oracle_init(argc, argv);
	l = listener(5);
	kept = client_socket(0);
	must(dup2(kept, FEW + 10) >= 0);
	must(!connect(kept, &server_addr.any, server_len));
	other = accept(l, NULL, NULL);
	must(other >= 0 && !close(l));

	take_all();
	receiving(other, kept, false);
	sending(kept, other);
	give_back();
	say("TCP_INQ", setsockopt(kept, IPPROTO_TCP, TCP_INQ, &on, sizeof(on)));
	take_all();
	receiving(other, kept, true);
	give_back();
	if (!client_ns) {
		on = 0;
		must(!setsockopt(kept, IPPROTO_TCP, TCP_INQ, &on, sizeof(on)));
		on = 1;
		must(!setsockopt(kept, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)));
		must(!setsockopt(kept, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)));
		take_all();
		by_tcp(kept, other);
		give_back();
	}
	return 0;
}
