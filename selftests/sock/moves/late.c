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

const struct row late_rows[] = {
	{ "a peer that reads nothing brings its direction back", unread },
	{ }
};
