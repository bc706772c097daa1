// SPDX-License-Identifier: GPL-2.0
/*
 * Every call that moves bytes, with its flags, its errors and what it leaves in
 * the structures that the program gave it.
 */
#include "oracle.h"

#include <limits.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/time.h>

static char buf[256 << 10], back[256 << 10];

static void say_bytes(const char *label, const void *bytes, ssize_t n)
{
	if (n < 0)
		say(label, -1);
	else
		printf("%s: %zd \"%.*s\"\n", label, n, (int)n, (const char *)bytes);
}

static void flags(void)
{
	int p[2];

	connected(p);
	say("nothing there", recv(p[1], back, 10, MSG_DONTWAIT));
	say("send", send(p[0], "abcdefghij", 10, 0));
	wait_bytes(p[1], 10);
	say("nothing of what is there", recv(p[1], back, 0, 0));
	say("read of nothing", read(p[1], back, 0));
	say("nothing, in no pieces", recvmsg(p[1], &(struct msghdr){}, 0));
	say_bytes("peek", back, recv(p[1], back, 4, MSG_PEEK));
	say_bytes("recv", back, recv(p[1], back, 4, 0));
	say_bytes("recv with MSG_NOSIGNAL", back, recv(p[1], back, 2, MSG_NOSIGNAL));
	say_bytes("read", back, read(p[1], back, 1));
	say("throw away", recv(p[1], NULL, 2, MSG_TRUNC));
	say_bytes("the last one", back, recv(p[1], back, 10, 0));
	say("of length 0", recv(p[1], back, 0, MSG_DONTWAIT));
	say("send nothing", send(p[0], "", 0, 0));
	say("write nothing", write(p[0], "", 0));
	say("send with flags that mean nothing",
	    send(p[0], "more", 4, MSG_DONTROUTE | MSG_CONFIRM | MSG_NOSIGNAL));
	say("send with MSG_MORE", send(p[0], "or", 2, MSG_MORE));
	say("send with MSG_EOR", send(p[0], " less", 5, MSG_EOR | MSG_DONTWAIT));
	say_bytes("wait for all", back, recv(p[1], back, 11, MSG_WAITALL));
	say("from nowhere", recv(p[1], (void *)8, 10, MSG_DONTWAIT));
	say("write", write(p[0], "12345", 5));
	wait_bytes(p[1], 5);
	say("into nowhere", recv(p[1], (void *)8, 5, 0));
	say_bytes("still there", back, recv(p[1], back, 10, 0));
	say("out of nowhere", send(p[0], (void *)8, 5, 0));
	close_pair(p);
}

static void addressed(void)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int p[2];

	connected(p);
	say("sendto to where it goes anyway",
	    sendto(p[0], "to", 2, 0, &server_addr.any, server_len));
	wait_bytes(p[1], 2);
	say_bytes("recvfrom", back,
		  recvfrom(p[1], back, 10, 0, (struct sockaddr *)&addr, &len));
	say("length of the address", len);
	say("sendto to what is too long for an address",
	    sendto(p[0], "to", 2, 0, (struct sockaddr *)&addr, sizeof(addr) + 1));
	must(send(p[0], "ab", 2, 0) == 2);
	say("recvfrom without a length",
	    recvfrom(p[1], back, 1, 0, (struct sockaddr *)&addr, NULL));
	say_bytes("the byte is gone", back, recv(p[1], back, 1, 0));
	close_pair(p);
}

static void vectors(void)
{
	char a[4], b[4], control[64];
	struct iovec out[3] = {
		{ .iov_base = "one", .iov_len = 3 },
		{ .iov_base = NULL, .iov_len = 0 },
		{ .iov_base = "two", .iov_len = 3 },
	};
	struct iovec in[2] = {
		{ .iov_base = a, .iov_len = 4 }, { .iov_base = b, .iov_len = 4 },
	};
	struct msghdr msg = { .msg_iov = out, .msg_iovlen = 3 };
	struct sockaddr_storage addr;
	int p[2];

	connected(p);
	say("sendmsg", sendmsg(p[0], &msg, 0));
	wait_bytes(p[1], 6);
	msg = (struct msghdr){
		.msg_iov = in, .msg_iovlen = 2,
		.msg_name = &addr, .msg_namelen = sizeof(addr),
		.msg_control = control, .msg_controllen = sizeof(control),
		.msg_flags = 0x5555,
	};
	say("recvmsg", recvmsg(p[1], &msg, 0));
	printf("parts %.4s %.2s, name %u, control %zu, flags %#x\n", a, b,
	       msg.msg_namelen, msg.msg_controllen, msg.msg_flags);
	say("writev", writev(p[0], out, 3));
	wait_bytes(p[1], 6);
	say("readv", readv(p[1], in, 2));
	msg = (struct msghdr){ .msg_iov = out, .msg_iovlen = 1025 };
	say("too many parts to send", sendmsg(p[0], &msg, 0));
	msg.msg_iov = in;
	say("too many parts to receive", recvmsg(p[1], &msg, MSG_DONTWAIT));
	msg = (struct msghdr){ .msg_iov = out, .msg_iovlen = 0 };
	say("sendmsg of no part", sendmsg(p[0], &msg, 0));
	close_pair(p);
}

static void several(void)
{
	struct iovec one = { .iov_base = "11111", .iov_len = 5 };
	struct iovec two = { .iov_base = "222", .iov_len = 3 };
	struct iovec in[3] = {
		{ .iov_base = back, .iov_len = 4 }, { .iov_base = back + 4, .iov_len = 4 },
		{ .iov_base = back + 8, .iov_len = 4 },
	};
	struct mmsghdr msgs[3] = {
		{ .msg_hdr = { .msg_iov = &one, .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &two, .msg_iovlen = 1 } },
	};
	struct timespec wait = { .tv_sec = 5 }, bad = { .tv_nsec = 2000000000 };
	int i, p[2];

	connected(p);
	say("sendmmsg", sendmmsg(p[0], msgs, 2, 0));
	printf("lengths %u %u\n", msgs[0].msg_len, msgs[1].msg_len);
	wait_bytes(p[1], 8);
	for (i = 0; i < 3; i++)
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &in[i], .msg_iovlen = 1 };
	say("recvmmsg", recvmmsg(p[1], msgs, 3, MSG_WAITFORONE, NULL));
	printf("lengths %u %u, bytes %.8s\n", msgs[0].msg_len, msgs[1].msg_len, back);
	say("recvmmsg with nothing there", recvmmsg(p[1], msgs, 3, MSG_DONTWAIT, NULL));
	say("recvmmsg with a wrong time", recvmmsg(p[1], msgs, 3, MSG_DONTWAIT, &bad));
	say("write", write(p[0], "x", 1));
	wait_bytes(p[1], 1);
	say("recvmmsg with a time", recvmmsg(p[1], msgs, 1, 0, &wait));
	say("time is left", wait.tv_sec < 6);
	say("sendmmsg of nothing", sendmmsg(p[0], msgs, 0, 0));
	close_pair(p);
}

#define MANY	1500		/* more than a message may have parts */

static void in_bulk(void)
{
	static struct mmsghdr msgs[MANY];
	struct iovec one = { .iov_base = back, .iov_len = 1 };
	struct timespec wait = { .tv_sec = LONG_MAX };
	int i, got, sent, rest, p[2];

	for (i = 0; i < MANY; i++)
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &one, .msg_iovlen = 1 };
	connected(p);
	say("recvmmsg of nothing", recvmmsg(p[1], msgs, 1, MSG_DONTWAIT, &wait));
	say("leaves the time", wait.tv_sec == LONG_MAX);
	must(send(p[0], buf, MANY, 0) == MANY);
	wait_bytes(p[1], MANY);
	got = recvmmsg(p[1], msgs, MANY, 0, NULL);
	say("recvmmsg of many", got);
	sent = sendmmsg(p[0], msgs, MANY, 0);
	say("sendmmsg of many", sent);
	/* All of it: over SDP small unread messages keep urgent bytes back. */
	rest = MANY - got + sent;
	must(recv(p[1], back, rest, MSG_WAITALL) == rest);
	must(send(p[0], "!", 1, MSG_OOB) == 1);
	wait_for(p[1], POLLPRI);
	say("the urgent byte, several times", recvmmsg(p[1], msgs, 3, MSG_OOB | MSG_PEEK, NULL));
	close_pair(p);
}

/* Fills the connection until it takes no more for a while; what it took. */
static ssize_t fill(int fd)
{
	int refused = 0;
	ssize_t n, all = 0;

	while (refused < 20) {
		n = send(fd, buf, sizeof(buf), MSG_DONTWAIT);
		must(n > 0 || errno == EAGAIN);
		if (n > 0) {
			all += n;
			refused = 0;
		} else {
			refused++;
			usleep(50000);
		}
	}
	return all;
}

static void empty(int fd, ssize_t n)
{
	ssize_t ret;

	while (n > 0) {
		ret = recv(fd, back, sizeof(back), 0);
		must(ret > 0);
		n -= ret;
	}
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* --- several messages, of which not all go ------------------------------- */

#define PARTS	64		/* of buf, which is more than any connection takes */
#define MORE	10000		/* bytes with which the sender goes on */

/* Without a break also where one copy of buf follows another. */
static void pattern(void)
{
	size_t i;

	for (i = 0; i < sizeof(buf); i++)
		buf[i] = i * 31 >> 3;
}

/* Whether the @n bytes that come next are those of the pattern from @at on. */
static bool continues(int fd, size_t at, size_t n)
{
	bool same = true;
	ssize_t ret;

	for (; n; n -= ret, at += ret) {
		size_t part = sizeof(buf) - at % sizeof(buf);

		ret = recv(fd, back, n < part ? n : part, 0);
		must(ret > 0);
		same = same && !memcmp(back, buf + at % sizeof(buf), ret);
	}
	return same;
}

struct reader {
	int fd, early;
	bool same;
};

/*
 * Once the first message's time is over: a second one, if there was any, would wait for
 * the room that this makes.
 */
static void *read_late(void *arg)
{
	struct reader *r = arg;

	usleep(600000);
	must(!ioctl(r->fd, FIONREAD, &r->early));
	r->same = continues(r->fd, 0, r->early);
	return NULL;
}

static void several_full(const char *how, bool timed)
{
	struct timeval wait = { .tv_usec = 400000 };
	static struct iovec large[PARTS];
	struct iovec two = { .iov_base = "222", .iov_len = 3 };
	struct mmsghdr msgs[2] = {
		{ .msg_hdr = { .msg_iov = large, .msg_iovlen = PARTS } },
		{ .msg_hdr = { .msg_iov = &two, .msg_iovlen = 1 }, .msg_len = 7 },
	};
	struct reader r = { .same = true };
	size_t done, at;
	int i, p[2];
	pthread_t thread;

	pattern();
	for (i = 0; i < PARTS; i++)
		large[i] = (struct iovec){ .iov_base = buf, .iov_len = sizeof(buf) };
	connected(p);
	r.fd = p[1];
	if (timed) {
		must(!setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)));
		must(!pthread_create(&thread, NULL, read_late, &r));
	}
	say_text("sendmmsg of more than fits", how);
	say("messages", sendmmsg(p[0], msgs, 2, timed ? 0 : MSG_DONTWAIT));
	done = msgs[0].msg_len;
	say("a part of the first", done && done < PARTS * sizeof(buf));
	say("nothing of the second", msgs[1].msg_len);
	if (timed)
		must(!pthread_join(thread, NULL));
	say("what was sent is read", r.same && continues(p[1], r.early, done - r.early));
	at = done % sizeof(buf);
	if (at > sizeof(buf) - MORE)
		at %= 2048;	/* where the pattern begins again */
	say("the sender goes on", send(p[0], buf + at, MORE, 0));
	say("and so does the reader", continues(p[1], at, MORE));
	close_pair(p);
}

/*
 * The peer's reset is told first, and only once: what came before it is read then, and
 * the end.
 */
static void several_reset(void)
{
	struct linger now = { .l_onoff = 1 };
	struct iovec in[4];
	struct mmsghdr msgs[4] = { 0 };
	int i, p[2];

	for (i = 0; i < 4; i++) {
		in[i] = (struct iovec){ .iov_base = back + 4 * i, .iov_len = 4 };
		msgs[i].msg_hdr = (struct msghdr){ .msg_iov = &in[i], .msg_iovlen = 1 };
	}
	connected(p);
	must(send(p[0], "0123456789", 10, 0) == 10);
	wait_bytes(p[1], 10);
	must(!setsockopt(p[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	must(!close(p[0]));
	say_events("reset after bytes", shows_reset(p[1]));
	say("recvmmsg", recvmmsg(p[1], msgs, 4, MSG_WAITFORONE, NULL));
	say("again", recvmmsg(p[1], msgs, 2, MSG_WAITFORONE, NULL));
	say_bytes("recv", back, recv(p[1], back, 10, 0));
	say("and again", recv(p[1], back, 10, 0));
	must(!close(p[1]));
}

static void full(void)
{
	struct timeval wait = { .tv_usec = 200000 };
	struct iovec iov = { .iov_base = buf, .iov_len = sizeof(buf) };
	long long before;
	ssize_t n;
	int p[2];

	connected(p);
	must(write(p[0], buf, 1) == 1);
	n = 1 + fill(p[0]);
	say("it takes something", n > 1);
	say_events("full it shows", shows(p[0]));
	must(!setsockopt(p[0], SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)));
	before = now_ms();
	say("sending with a time", send(p[0], buf, 1, 0));
	say("it waited", now_ms() - before >= 100);
	say("writing with a time", writev(p[0], &iov, 1));
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	say("write without waiting", write(p[0], buf, 1));
	say("send without waiting", send(p[0], buf, 1, 0));
	empty(p[1], n);
	say_events("emptied it shows", wait_for(p[0], POLLOUT));
	must(!setsockopt(p[1], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)));
	before = now_ms();
	say("receiving with a time", recv(p[1], back, 1, 0));
	say("it waited", now_ms() - before >= 100);
	say("reading with a time", read(p[1], back, 1));
	close_pair(p);
}

/* A long stream by sendfile() one way and splice() the other, while both run. */
static void files(void)
{
	size_t bytes = sizeof(buf);
	int file, pipes[2], p[2];
	char name[] = "/tmp/oracle.XXXXXX";
	ssize_t n, done = 0;
	off_t at = 0;
	pid_t child;

	pattern();
	file = mkstemp(name);
	must(file >= 0 && !unlink(name));
	must(write(file, buf, bytes) == (ssize_t)bytes);
	connected(p);
	child = fork();
	must(child >= 0);
	if (!child) {
		while (at < (off_t)bytes)
			if (sendfile(p[0], file, &at, bytes - at) <= 0)
				_exit(1);
		_exit(0);
	}
	must(!pipe(pipes));
	while (done < (ssize_t)bytes / 2) {
		n = splice(p[1], NULL, pipes[1], NULL, 4096, 0);
		must(n > 0);
		must(read(pipes[0], back + done, n) == n);
		done += n;
	}
	say("the rest", recv(p[1], back + done, bytes - done, MSG_WAITALL) + done);
	say("by sendfile and splice it is the same", !memcmp(buf, back, bytes));
	must(waitpid(child, NULL, 0) == child);
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	close_pair(p);
}

/* From a connection into a pipe, from there into another as well, and back. */
static void tees(void)
{
	int a[2], b[2], p[2];

	connected(p);
	must(!pipe(a) && !pipe(b));
	must(send(p[0], "0123456789", 10, 0) == 10);
	wait_bytes(p[1], 10);
	say("splice into a pipe", splice(p[1], NULL, a[1], NULL, 10, 0));
	say("tee into another", tee(a[0], b[1], 10, 0));
	say("splice from there", splice(b[0], NULL, p[1], NULL, 10, 0));
	say_bytes("comes back", back, recv(p[0], back, 10, MSG_WAITALL));
	say_bytes("and is in the pipe", back, read(a[0], back, 100));
	say("tee of the connection", tee(p[1], b[1], 10, 0));
	must(!close(a[0]) && !close(a[1]) && !close(b[0]) && !close(b[1]));
	close_pair(p);
}

int main(int argc, char **argv)
{
	oracle_init(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	flags();
	addressed();
	vectors();
	several();
	in_bulk();
	several_full("without waiting", false);
	several_full("with a time", true);
	several_reset();
	full();
	files();
	tees();
	return 0;
}
