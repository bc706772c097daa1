// SPDX-License-Identifier: GPL-2.0
/*
 * What only a carrier of messages has to bear.
 */
#include <netinet/in.h>
#include <linux/tcp.h>
#include <unistd.h>

#include "../common/conn.h"
#include "rows.h"

/* Milliseconds in which the peer answers whatever its program does. */
#define ANSWER_MS	3000

/* All that the other end has to read waits there.  It is asked to bring back what it sends. */
static void unread(void)
{
	struct conn c = conn_moved();
	long long end = now_ms() + ANSWER_MS;
	int err, on = 1;

	while (put_some(&c.a, 20000, MSG_DONTWAIT) > 0)
		;
	need(errno == EAGAIN);
	do {
		err = setsockopt(c.a.fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on));
		need(!err || errno == EBUSY);
		usleep(1000);
	} while (err && now_ms() < end);
	if (err)
		wrong("the peer does not answer");
	want(&c.b, false);
}

static unsigned long long bytes_sent(int fd)
{
	struct tcp_info info = {};
	socklen_t len = sizeof(info);

	need(!getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_bytes_sent - info.tcpi_bytes_retrans;
}

/* Bytes that the peer has no room for come back to TCP. */
static void counted_once(void)
{
	unsigned long long before, all = 0, sent;
	struct conn c = conn_moved();
	ssize_t n;

	before = bytes_sent(c.a.fd);
	while ((n = put_some(&c.a, 20000, MSG_DONTWAIT)) > 0)
		all += n;
	need(errno == EAGAIN);
	gate(&c.a, false);
	while (put_some(&c.a, 1, MSG_DONTWAIT) < 0) {
		need(errno == EAGAIN || errno == ENOBUFS);
		n = get(&c.b, 20000, MSG_DONTWAIT);
		need(n > 0 || errno == EAGAIN);
	}
	want(&c.a, false);
	all++;
	get_all(&c.b, c.a.out - c.b.in);
	/* TCP sends a record with what comes back. */
	sent = bytes_sent(c.a.fd) - before;
	if (sent < all || sent > all + 1000)
		wrong("of %llu bytes TCP_INFO counts %llu as sent", all, sent);
}

const struct row late_rows[] = {
	{ "a peer that reads nothing brings its direction back", unread },
	{ "TCP_INFO counts bytes that come back once", counted_once },
	{ }
};
