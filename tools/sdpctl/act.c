// SPDX-License-Identifier: GPL-2.0
/*
 * Connections return to TCP, or look for a better carrier: the ioctl SDP_IOC_CTL, made again
 * for those that are not through, as long as there is time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "act.h"
#include "show.h"

/* Seconds between two calls, at first and at last. */
#define PAUSE_LEAST	0.005
#define PAUSE_MOST	0.2

/**
 * struct job - what is to be done
 * @order: for whom
 * @fd: a file of /dev/sdp
 * @list: endpoints
 * @ends: the connections that are not through
 * @which: the endpoint of each
 * @count: how many
 * @done: connections that the kernel has moved
 */
struct job {
	const struct order *order;
	int fd;
	struct endpoints list;
	struct sdp_ctl_end *ends;
	struct endpoint **which;
	size_t count;
	size_t done;
};

/* The connections that the order is for; false, which is said, if some cannot be known. */
static bool choose(struct job *job)
{
	const struct filter *filter = &job->order->filter;
	size_t i;

	endpoints_read_names(&job->list, filter);
	if (job->list.failed || job->list.hidden)
		return false;
	job->ends = grow(NULL, job->list.count + 1, sizeof(*job->ends));
	job->which = grow(NULL, job->list.count + 1, sizeof(struct endpoint *));
	for (i = 0; i < job->list.count; i++) {
		if (!filter_wants(filter, &job->list.all[i]) || !job->list.all[i].end.peer_port)
			continue;
		job->which[job->count] = &job->list.all[i];
		job->ends[job->count++] = job->list.all[i].end;
	}
	return true;
}

/* Is there nothing left to do? */
static bool through(const struct order *order, const struct sdp_ctl_end *end)
{
	/* It is over, or has only TCP. */
	if (end->error == ENOENT || end->error == ENOPROTOOPT)
		return true;
	if (end->error || order->command == SDP_CTL_OFFLOAD)
		return !end->error;
	return !end->away && !end->unread;
}

/* Keeps those that are not through. */
static void sieve(struct job *job)
{
	size_t i, kept = 0;

	for (i = 0; i < job->count; i++) {
		if (through(job->order, &job->ends[i]))
			continue;
		job->ends[kept] = job->ends[i];
		job->which[kept++] = job->which[i];
	}
	job->count = kept;
}

static bool tell(struct job *job)
{
	size_t i;

	for (i = 0; i < job->count; i += SDP_CTL_COUNT) {
		struct sdp_ctl ctl = {
			.size = sizeof(ctl),
			.command = job->order->command,
			.flags = job->order->flags,
			.count = job->count - i < SDP_CTL_COUNT ? job->count - i : SDP_CTL_COUNT,
			.ends = (uintptr_t)&job->ends[i],
			.end_size = sizeof(struct sdp_ctl_end),
		};

		if (ioctl(job->fd, SDP_IOC_CTL, &ctl)) {
			complain("%s: %s", SDP_DEVICE_PATH, strerror(errno));
			return false;
		}
		job->done += ctl.done;
	}
	sieve(job);
	return true;
}

/* Nothing tells when a program has read, or when a peer has returned. */
static bool tell_again(struct job *job)
{
	double end = clock_seconds() + job->order->wait, pause = PAUSE_LEAST;

	/* Where both ends were asked, the second one finds the first. */
	if (job->order->command == SDP_CTL_OFFLOAD)
		return tell(job);
	while (job->count && clock_seconds() < end) {
		sleep_for(pause);
		pause = 2 * pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
		if (!tell(job))
			return false;
	}
	return true;
}

static void say_what(const struct job *job, const struct sdp_ctl_end *end, char *text, size_t room)
{
	bool offload = job->order->command == SDP_CTL_OFFLOAD;

	if (end->error == EOPNOTSUPP && offload)
		snprintf(text, room, "it stays with TCP: %.*s", SDP_STAY_LEN, end->stay);
	else if (end->error == EOPNOTSUPP)
		snprintf(text, room, "no byte of it may go by TCP");
	else if (end->error == EBUSY)
		snprintf(text, room, "a call of its program keeps the socket");
	else if (end->error)
		snprintf(text, room, "%s", strerror(end->error));
	else if (end->unread)
		snprintf(text, room, "its program has not read %u bytes", end->unread);
	else if (end->away & SDP_CTL_TX)
		snprintf(text, room, "what it sends is on its way back");
	else
		snprintf(text, room, "its peer has not returned what it sends");
}

/* Names the connections that are not through, and their programs. */
static void say_left(struct job *job)
{
	char what[100], owners[CELL_LEN];
	const struct endpoint *ep;
	size_t i;

	if (job->count && !filter_wants_owners(&job->order->filter))
		owners_find(&job->list);
	for (i = 0; i < job->count; i++) {
		ep = job->which[i];
		say_what(job, &job->ends[i], what, sizeof(what));
		owners_cell(ep, owners);
		complain("%s %s %s: %s", ep->word[WORD_LOCAL], ep->word[WORD_PEER], owners, what);
	}
}

static void say_done(const struct job *job)
{
	const char *what = job->order->command == SDP_CTL_OFFLOAD ? "offloaded" : "returned";

	printf("%zu connection%s %s\n", job->done, job->done == 1 ? "" : "s", what);
}

/* A user that does not wait has been told of what the kernel has refused. */
static void forget_rest(struct job *job)
{
	size_t i, kept = 0;

	for (i = 0; i < job->count; i++) {
		if (!job->ends[i].error)
			continue;
		job->ends[kept] = job->ends[i];
		job->which[kept++] = job->which[i];
	}
	job->count = kept;
}

static int open_device(void)
{
	int fd = open(SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		complain("%s: %s%s", SDP_DEVICE_PATH, strerror(errno),
			 errno == ENOENT ? " (is the module sdpdev loaded?)" : "");
	return fd;
}

int act(const struct order *order)
{
	struct job job = { .order = order, .fd = open_device() };
	bool good;

	if (job.fd < 0)
		return 1;
	good = choose(&job) && tell(&job) && tell_again(&job);
	if (good) {
		if (!order->wait)
			forget_rest(&job);
		say_done(&job);
		say_left(&job);
	}
	good &= !job.count;
	endpoints_free(&job.list);
	free(job.ends);
	free(job.which);
	close(job.fd);
	return !good;
}
