// SPDX-License-Identifier: GPL-2.0
/*
 * The memory control group of a socket pays for the buffers of direct SDP: that of the listener
 * for the ends that are accepted.  A group that has no more gets no more connections, and others
 * do.
 */
#include "end.h"

#include <sys/mount.h>
#include <sys/stat.h>

/* A folder that no other program has made. */
#define GROUPS		"/run/sdp-memory"
#define PORT		31000
#define CONNECTIONS	20
/* Of an end: eight buffers to receive, of 16 KiB and more */
#define END_BYTES	(8 * 16384)
/* The group may have so much more, and this is less than those connections take. */
#define ROOM		(CONNECTIONS * END_BYTES / 2)

static int fds[2 * CONNECTIONS];

static void put_in(const char *group, const char *file, long value)
{
	char path[100], text[20];
	int fd, n = snprintf(text, sizeof(text), "%ld", value);

	snprintf(path, sizeof(path), GROUPS "/%s/%s", group, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, text, n) == n);
	close(fd);
}

static long charged(const char *group)
{
	char path[100];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), GROUPS "/%s/memory.current", group);
	f = fopen(path, "re");
	must(f && fscanf(f, "%ld", &value) == 1);
	fclose(f);
	return value;
}

static void make_groups(void)
{
	int fd;

	must(!mkdir(GROUPS, 0755) || errno == EEXIST);
	must(!mount("none", GROUPS, "cgroup2", 0, NULL));
	fd = open(GROUPS "/cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && write(fd, "+memory", 7) == 7);
	close(fd);
	must(!mkdir(GROUPS "/client", 0755) && !mkdir(GROUPS "/server", 0755));
}

/* It takes a moment until nothing is charged to a group. */
static void no_groups(void)
{
	put_in(".", "cgroup.procs", getpid());
	while (rmdir(GROUPS "/client") && errno == EBUSY)
		poll(NULL, 0, 10);
	while (rmdir(GROUPS "/server") && errno == EBUSY)
		poll(NULL, 0, 10);
	umount2(GROUPS, MNT_DETACH);
	rmdir(GROUPS);
}

/* As many connections as there can be, up to so many.  Returns how many. */
static int connections(int l, int most)
{
	int i;

	for (i = 0; i < most; i++) {
		fds[2 * i] = end_open(SDP);
		if (end_connect(fds[2 * i], SERVER4, PORT)) {
			printf("# connection %d: %s\n", i, strerror(errno));
			close(fds[2 * i]);
			break;
		}
		fds[2 * i + 1] = end_accept(l);
		must(fds[2 * i + 1] >= 0);
	}
	return i;
}

static void end(int count)
{
	while (count--) {
		close(fds[2 * count]);
		close(fds[2 * count + 1]);
	}
}

/* Has a group come down to so much, soon? */
static bool comes_to(const char *group, long most)
{
	int i;

	for (i = 0; i < SOON / 10 && charged(group) > most; i++)
		poll(NULL, 0, 10);
	printf("# %s: %ld of %ld bytes\n", group, charged(group), most);
	return charged(group) <= most;
}

int main(void)
{
	long client, server;
	int l, n;

	tap_plan(6);
	set_both_direct("1");
	make_groups();
	put_in("server", "cgroup.procs", getpid());
	l = listener(SDP, SERVER4, PORT, CONNECTIONS);
	put_in("client", "cgroup.procs", getpid());
	client = charged("client");
	server = charged("server");
	n = connections(l, CONNECTIONS);
	printf("# client %ld bytes more, server %ld\n", charged("client") - client,
	       charged("server") - server);
	ok(n == CONNECTIONS && charged("client") - client >= n * END_BYTES,
	   "the group of a socket pays");
	ok(charged("server") - server >= n * END_BYTES, "and that of a listener");
	end(n);
	ok(comes_to("client", client + ROOM / 4) && comes_to("server", server + ROOM / 4),
	   "what has ended is paid back");

	put_in("client", "memory.max", charged("client") + ROOM);
	n = connections(l, CONNECTIONS);
	ok(n < CONNECTIONS, "a group that is full gets no more");
	end(n);
	put_in(".", "cgroup.procs", getpid());
	n = connections(l, CONNECTIONS);
	ok(n == CONNECTIONS, "and others do");
	end(n);
	close(l);
	no_groups();
	set_both_direct("0");
	ok(true, "the groups go");
	return tap_exit();
}
