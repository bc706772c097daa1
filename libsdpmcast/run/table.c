// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Descriptors of sockets that are served or may be, and the epoll sets that they are in.
 *
 * One lock for the table. It is never held while a socket's own lock is waited for. A thread
 * inside the library is not served: what the libraries below call goes on to the C library, and
 * so does what a signal handler calls that has interrupted them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

/* Descriptors from here on are not served. */
#define SLOTS	65536
#define WATCHES	1024

/* A descriptor in an epoll set of the program. */
struct watch {
	int epoll;
	int fd;
	struct epoll_event event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct served *slots[SLOTS];
static struct watch watches[WATCHES];
static unsigned int watch_count;
static pid_t owner;
/* A socket got no memory, so its epoll sets are not known: no other socket is served. */
static bool blind;
static __thread bool inside __attribute__((tls_model("initial-exec")));
static __thread int cancel __attribute__((tls_model("initial-exec")));

/* A signal handler that finds it set goes to the C library, so it is set before the lock. */
static bool begin(void)
{
	if (inside)
		return false;
	inside = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!owner)
		owner = getpid();
	return true;
}

static void end(void)
{
	int error = errno, old;

	inside = false;
	pthread_setcancelstate(cancel, &old);
	errno = error;
}

static bool has_slot(int fd)
{
	return fd >= 0 && fd < SLOTS && __atomic_load_n(&slots[fd], __ATOMIC_ACQUIRE);
}

/* The reference of its last user is gone. Not under the lock. */
static void destroy(struct served *s)
{
	serve_end(s);
	pthread_mutex_destroy(&s->lock);
	free(s->wishes);
	free(s);
}

static struct served *find(int fd)
{
	struct served *s;

	pthread_mutex_lock(&lock);
	s = slots[fd];
	if (s)
		s->refs++;
	pthread_mutex_unlock(&lock);
	if (s)
		pthread_mutex_lock(&s->lock);
	return s;
}

/* The socket of a descriptor, locked; NULL if it is none of ours, as nearly all. */
struct served *table_enter(int fd)
{
	struct served *s;

	if (!has_slot(fd) || !begin())
		return NULL;
	s = find(fd);
	if (!s)
		end();
	return s;
}

void table_leave(struct served *s)
{
	bool last;

	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&lock);
	last = !--s->refs;
	pthread_mutex_unlock(&lock);
	if (last)
		destroy(s);
	end();
}

/* While a call waits: the reference stays. */
void table_pause(struct served *s)
{
	pthread_mutex_unlock(&s->lock);
	end();
}

void table_resume(struct served *s)
{
	begin();
	pthread_mutex_lock(&s->lock);
}

/* --- new ones -------------------------------------------------------------- */

static struct served *make(int fd, sa_family_t family, ino_t inode)
{
	struct served *s = calloc(1, sizeof(*s));

	if (s) {
		s->fd = fd;
		s->family = family;
		s->inode = inode;
		s->refs = 1;
		s->more = -1;
		pthread_mutex_init(&s->lock, NULL);
	}
	return s;
}

/* Takes a slot's socket out. Returns it if no other thread uses it. */
static struct served *take_out(int fd)
{
	struct served *s;
	bool last = false;

	pthread_mutex_lock(&lock);
	s = slots[fd];
	if (s) {
		__atomic_store_n(&slots[fd], NULL, __ATOMIC_RELEASE);
		last = !--s->refs;
	}
	pthread_mutex_unlock(&lock);
	return last ? s : NULL;
}

/*
 * As table_enter(), and makes one if the descriptor is a socket of UDP. If it is but cannot be
 * served, @why says why not.
 */
struct served *table_make(int fd, const char **why)
{
	int protocol = 0, domain = 0;
	socklen_t len = sizeof(int);
	struct served *s, *dead;
	struct stat st;

	*why = NULL;
	if (inside || getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) ||
	    protocol != IPPROTO_UDP ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || fstat(fd, &st))
		return NULL;
	if (fd >= SLOTS)
		*why = "the number of the descriptor is too high";
	if (*why || !begin())
		return NULL;
	s = find(fd);
	if (s && s->inode == st.st_ino)
		return s;
	if (s) {
		pthread_mutex_unlock(&s->lock);
		dead = take_out(fd);
		pthread_mutex_lock(&lock);
		if (!--s->refs)
			dead = s;
		pthread_mutex_unlock(&lock);
		if (dead)
			destroy(dead);
	}
	s = blind ? NULL : make(fd, domain, st.st_ino);
	if (!s) {
		blind = true;
		*why = NO_MEMORY;
	} else {
		pthread_mutex_lock(&lock);
		if (slots[fd]) {
			pthread_mutex_unlock(&lock);
			free(s);
			end();
			return NULL;
		}
		__atomic_store_n(&slots[fd], s, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&lock);
		s = find(fd);
	}
	if (!s)
		end();
	return s;
}

/* --- old ones --------------------------------------------------------------- */

/* The child of vfork(2) has its own descriptors, but this memory is its parent's. */
static bool is_ours(void)
{
	return !owner || getpid() == owner;
}

static void watches_drop(int fd)
{
	unsigned int i;

	if (!__atomic_load_n(&watch_count, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	for (i = 0; i < watch_count; )
		if (watches[i].fd == fd || watches[i].epoll == fd)
			watches[i] = watches[--watch_count];
		else
			i++;
	pthread_mutex_unlock(&lock);
}

/* Before the number is closed, or becomes another descriptor. */
void table_forget(int fd)
{
	struct served *s;

	if (inside || (!has_slot(fd) && !__atomic_load_n(&watch_count, __ATOMIC_RELAXED)) ||
	    !is_ours() || !begin())
		return;
	if (has_slot(fd)) {
		s = find(fd);
		if (s) {
			serve_stop(s, NULL);
			pthread_mutex_unlock(&s->lock);
			take_out(fd);
			pthread_mutex_lock(&lock);
			if (--s->refs)
				s = NULL;
			pthread_mutex_unlock(&lock);
			if (s)
				destroy(s);
		}
	}
	watches_drop(fd);
	end();
}

void table_forget_range(unsigned int first, unsigned int last)
{
	unsigned int fd;

	for (fd = first; fd < SLOTS && fd <= last; fd++)
		if (has_slot(fd))
			table_forget(fd);
}

/* Another descriptor refers to the socket, too. */
void table_shared(int fd, const char *why)
{
	struct served *s;

	if (!has_slot(fd) || !is_ours())
		return;
	s = table_enter(fd);
	if (!s)
		return;
	serve_stop(s, why);
	table_leave(s);
}

/* All of them go back to the kernel: before fork(2) and execve(2). */
void table_stop(const char *why)
{
	int fd;

	if (!owner || !is_ours())
		return;
	for (fd = 0; fd < SLOTS; fd++)
		if (has_slot(fd))
			table_shared(fd, why);
}

/*
 * Another thread of the parent may have had locks, or have joined since table_stop(). Such an
 * endpoint is the parent's, so this process leaves it alone.
 */
void table_fork_child(void)
{
	int fd;

	pthread_mutex_init(&lock, NULL);
	for (fd = 0; fd < SLOTS; fd++)
		if (slots[fd]) {
			pthread_mutex_init(&slots[fd]->lock, NULL);
			slots[fd]->state = STOPPED;
			slots[fd]->e = NULL;
			slots[fd]->why = "the program forks";
		}
	if (owner)
		owner = getpid();
}

/* --- epoll sets ------------------------------------------------------------ */

/* Notes what the program has done to an epoll set; -1 if there is no room. */
int table_epoll(int epoll, int op, int fd, const struct epoll_event *event)
{
	unsigned int i;
	int ret = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < watch_count; i++)
		if (watches[i].epoll == epoll && watches[i].fd == fd)
			break;
	if (op == EPOLL_CTL_DEL) {
		if (i < watch_count)
			watches[i] = watches[--watch_count];
	} else if (i < WATCHES) {
		watches[i] = (struct watch){ .epoll = epoll, .fd = fd, .event = *event };
		if (i == watch_count)
			watch_count++;
	} else {
		ret = -1;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* The next epoll set that the descriptor is in, from *@at on. */
bool table_watch(int fd, struct epoll_event *event, int *epoll, unsigned int *at)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (; !found && *at < watch_count; ++*at) {
		found = watches[*at].fd == fd;
		if (found) {
			*event = watches[*at].event;
			*epoll = watches[*at].epoll;
		}
	}
	pthread_mutex_unlock(&lock);
	return found;
}
