// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes have an endpoint open, by the number of its socket's inode.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "endpoint.h"

struct key {
	uint64_t inode;
	struct endpoint *ep;
};

struct keys {
	struct key *all;
	size_t count;
};

static int by_inode(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return 0;
}

static void keys_build(struct keys *keys, struct endpoints *list)
{
	size_t i;

	keys->count = list->count;
	keys->all = grow(NULL, list->count, sizeof(*keys->all));
	for (i = 0; i < list->count; i++) {
		keys->all[i].inode = list->all[i].number[NUM_INODE];
		keys->all[i].ep = &list->all[i];
	}
	qsort(keys->all, keys->count, sizeof(*keys->all), by_inode);
}

/* The inode of a descriptor, which is a socket. */
static bool descriptor(int process, const char *fd, uint64_t *inode)
{
	char path[32], target[64];
	ssize_t len;

	snprintf(path, sizeof(path), "fd/%.16s", fd);
	len = readlinkat(process, path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	if (strncmp(target, "socket:[", 8))
		return false;
	*inode = strtoull(target + 8, NULL, 10);
	return true;
}

/* Its name goes to terminals. */
static void read_name(int process, char *name, size_t room)
{
	int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t i, len = fd < 0 ? 0 : read(fd, name, room - 1);

	if (fd >= 0)
		close(fd);
	name[len > 0 ? len : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	for (i = 0; name[i]; i++)
		if ((unsigned char)name[i] < ' ' || (unsigned char)name[i] > '~')
			name[i] = '?';
}

static void own(struct endpoint *ep, int process, pid_t pid)
{
	struct owner *owner;

	/* Another descriptor of the same process. */
	if (ep->owner_count && ep->owners[ep->owner_count - 1].pid == pid)
		return;
	ep->owners = grow(ep->owners, ep->owner_count + 1, sizeof(*owner));
	owner = &ep->owners[ep->owner_count++];
	owner->pid = pid;
	read_name(process, owner->program, sizeof(owner->program));
}

/* Returns whether it may look at that process; one that has ended is no secret. */
static bool look_at(int process, pid_t pid, const struct keys *keys)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct key key, *found;

	if (!dir)
		return errno != EACCES && errno != EPERM;
	/* cppcheck-suppress readdirCalled */
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !descriptor(process, entry->d_name, &key.inode))
			continue;
		found = bsearch(&key, keys->all, keys->count, sizeof(key), by_inode);
		if (found)
			own(found->ep, process, pid);
	}
	closedir(dir);
	return true;
}

bool owners_find(struct endpoints *list)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool denied = false;
	struct keys keys;
	int process;
	pid_t pid;

	if (!proc || !list->count) {
		if (proc)
			closedir(proc);
		return false;
	}
	keys_build(&keys, list);
	/* cppcheck-suppress readdirCalled */
	while ((entry = readdir(proc))) {
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0)
			continue;
		process = openat(dirfd(proc), entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (process < 0)
			continue;
		denied |= !look_at(process, pid, &keys);
		close(process);
	}
	closedir(proc);
	free(keys.all);
	return denied;
}
