// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * Descriptors with rings; see rings.h.
 *
 * A call that finds rings counts in slot.users while it uses them.  A call that takes them away
 * is a user, too: it clears slot.rings, and the last user lets go of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rings.h"

/* Descriptors from here on have no rings. */
#define SLOTS		65536
/* Connections with rings: each takes half a MiB, and a descriptor. */
#define MOST		256
/* Calls before the first try; further ones come when there were twice as many as at the last. */
#define CALLS		32
/* What a call finds that is no socket with the ULP: far from a power of two. */
#define HOPELESS	((1U << 31) + 1)

#define load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define swap(p, v)	__atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define change(p, old, v)						\
	__atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* A connection with rings. */
struct entry {
	struct sdp_fast fast;
	bool used;
	bool lost;		/* out of its slot by a child of vfork(2), which cannot free it */
	pid_t pid;
};

/* Does a call attach?  SPOILT: one does, and the descriptor was forgotten meanwhile. */
enum trying { IDLE, TRYING, SPOILT };

/* What is known of a descriptor. */
struct slot {
	struct entry *rings;
	struct entry *dying;	/* the rings that it had, while calls still use them */
	unsigned int users;	/* calls that may use either */
	unsigned int calls;	/* how many there were without rings */
	enum trying trying;
	struct entry *behind;	/* whose rings' own descriptor this is, or NULL */
};

static struct slot slots[SLOTS];
static struct entry entries[MOST];
/* No slot from here on has had users or a try. */
static unsigned int used_slots;
static unsigned int first_try = CALLS;
static bool stopped;

static struct slot *slot_of(int fd)
{
	return fd >= 0 && fd < SLOTS ? &slots[fd] : NULL;
}

void table_start(void)
{
	const char *when = getenv("SDPDEV_RINGS");
	struct sdp_fast none;

	if (when && !strcmp(when, "always"))
		first_try = 1;
	else if (when && !strcmp(when, "never"))
		stopped = true;
	/* The first one makes what all of them need. */
	sdp_mapped_begin(&none, -1);
}

void sdp_mapped_close(int fd)
{
	NEXT(syscall)(SYS_close, fd);
}

/* --- entries ------------------------------------------------------------- */

static void entry_free(struct entry *entry)
{
	int number = swap(&entry->fast.rings, -1);

	if (slot_of(number))
		store(&slots[number].behind, NULL);
	if (number >= 0)
		sdp_mapped_close(number);
	sdp_mapped_end(&entry->fast);
	store(&entry->used, false);
}

/* Entries that a child has taken out of their slots: no further call finds them there. */
static void free_lost(void)
{
	unsigned int i;

	for (i = 0; i < MOST; i++) {
		struct entry *entry = &entries[i];

		if (load(&entry->used) && load(&entry->lost) && entry->pid == getpid() &&
		    !load(&slots[entry->fast.fd].users) && swap(&entry->lost, false))
			entry_free(entry);
	}
}

static struct entry *entry_new(void)
{
	unsigned int i;

	for (i = 0; i < MOST; i++) {
		struct entry *entry = &entries[i];

		if (!load(&entry->used) && !swap(&entry->used, true)) {
			entry->pid = getpid();
			return entry;
		}
	}
	return NULL;
}

static void leave(struct slot *slot)
{
	struct entry *entry;

	/* None in a child that a signal handler has made inside the call. */
	if (!load(&slot->users) || __atomic_sub_fetch(&slot->users, 1, __ATOMIC_SEQ_CST))
		return;
	/* A user that comes after this look at the users finds no rings. */
	if (!load(&slot->dying) || load(&slot->users))
		return;
	entry = swap(&slot->dying, NULL);
	if (entry)
		entry_free(entry);
}

/* --- attaching ----------------------------------------------------------- */

/*
 * Programs count on low numbers: for standard streams, for select(2).  The rings' descriptor is
 * in the upper half of what the process may have.
 */
static bool move_up(struct sdp_fast *fast)
{
	struct rlimit limit;
	int fd = -1, low = fast->rings;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		int from = limit.rlim_cur < SLOTS ? limit.rlim_cur / 2 : SLOTS / 2;

		fd = NEXT(syscall)(SYS_fcntl, low, F_DUPFD_CLOEXEC, from);
	}
	if (fd >= SLOTS) {
		sdp_mapped_close(fd);
		return false;
	}
	if (fd < 0)
		return false;
	sdp_mapped_close(low);
	fast->rings = fd;
	return true;
}

static bool attach(struct sdp_fast *fast)
{
	int device = NEXT(syscall)(SYS_openat, AT_FDCWD, SDP_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	int flags;
	bool ok;

	if (device < 0)
		return false;
	ok = sdp_mapped_attach(fast, device, SDP_ATTACH_SOLE);
	sdp_mapped_close(device);
	/* A change from here on spoils the try. */
	flags = NEXT(syscall)(SYS_fcntl, fast->fd, F_GETFL);
	fast->polls = flags >= 0 && flags & O_NONBLOCK;
	return ok && move_up(fast);
}

/* The kernel knows as well, but asking it takes a low number for a moment. */
static bool is_endpoint(int fd)
{
	char ulp[16] = "";
	socklen_t len = sizeof(ulp);

	return !getsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, &len) && !strncmp(ulp, "sdp", 3);
}

static void attach_slot(struct slot *slot, int fd)
{
	struct entry *entry;

	errno = 0;
	if (!is_endpoint(fd)) {
		if (errno != EBADF)
			slot->calls = HOPELESS;
		return;
	}
	free_lost();
	entry = entry_new();
	if (!entry)
		return;
	sdp_mapped_begin(&entry->fast, fd);
	if (entry->fast.owner && attach(&entry->fast)) {
		store(&slots[entry->fast.rings].behind, entry);
		store(&slot->rings, entry);
		return;
	}
	if (errno == EOPNOTSUPP)
		slot->calls = HOPELESS;
	entry_free(entry);
}

/* A call that attaches does so in vain. */
static void spoil(struct slot *slot)
{
	enum trying trying = TRYING;

	if (load(&slot->trying) == TRYING)
		change(&slot->trying, &trying, SPOILT);
}

/* Before anything in the slot counts: a child of fork(2) looks at no more slots than that. */
static void use_slot(unsigned int fd)
{
	unsigned int used = load(&used_slots);

	while (fd >= used && !change(&used_slots, &used, fd + 1))
		;
}

/*
 * Now and then a call tries to get rings.  The program does not see that it does.  There are no
 * others while it does so: a call that is about to make them dying is a user.
 */
static void try_attach(struct slot *slot, int fd)
{
	enum trying idle = IDLE;
	int error = errno;

	use_slot(fd);
	if (!change(&slot->trying, &idle, TRYING))
		return;
	if (load(&slot->rings) || load(&slot->users) || load(&slot->dying) || load(&stopped)) {
		store(&slot->trying, IDLE);
		return;
	}
	attach_slot(slot, fd);
	if (swap(&slot->trying, IDLE) == SPOILT)
		table_forget(fd, SHARED);
	errno = error;
}

struct sdp_fast *table_enter(int fd)
{
	struct slot *slot = slot_of(fd);
	struct entry *entry;
	unsigned int calls;

	if (!slot)
		return NULL;
	if (!__atomic_load_n(&slot->rings, __ATOMIC_RELAXED)) {
		/* A guess: threads may count the same. */
		calls = slot->calls + 1;
		slot->calls = calls;
		if (calls >= first_try && !(calls & (calls - 1)))
			try_attach(slot, fd);
		return NULL;
	}
	__atomic_add_fetch(&slot->users, 1, __ATOMIC_SEQ_CST);
	entry = load(&slot->rings);
	if (entry)
		return &entry->fast;
	leave(slot);
	return NULL;
}

void table_leave(int fd, struct sdp_fast *fast)
{
	if (__atomic_load_n(&fast->broken, __ATOMIC_RELAXED))
		table_forget(fd, SHARED);
	leave(&slots[fd]);
}

void table_waits(int fd, bool waits)
{
	struct slot *slot = slot_of(fd);
	struct entry *entry;

	if (!slot)
		return;
	use_slot(fd);
	__atomic_add_fetch(&slot->users, 1, __ATOMIC_SEQ_CST);
	spoil(slot);
	entry = load(&slot->rings);
	if (entry)
		store(&entry->fast.polls, !waits);
	leave(slot);
}

/* --- forgetting ---------------------------------------------------------- */

static void drop(struct slot *slot, unsigned int how)
{
	struct entry *entry = load(&slot->rings);
	bool child = entry && entry->pid != getpid();

	/* A child of vfork(2) has descriptors of its own, and its parent's memory. */
	if (child && !(how & REPLACED))
		return;
	__atomic_add_fetch(&slot->users, 1, __ATOMIC_SEQ_CST);
	entry = swap(&slot->rings, NULL);
	if (entry && child)
		store(&entry->lost, true);
	else if (entry)
		store(&slot->dying, entry);
	leave(slot);
}

/*
 * The number that the program closes, or has got, was that of rings.  It is closed here if it is
 * theirs still, and not when their last user has gone: it may be the program's by then.
 */
static void drop_behind(struct slot *slot, int fd, unsigned int how)
{
	struct entry *entry = load(&slot->behind);
	int number = fd;

	if (!entry)
		return;
	if (entry->pid == getpid()) {
		store(&slot->behind, NULL);
		if (!change(&entry->fast.rings, &number, -1))
			return;
		if (!(how & CLOSED))
			sdp_mapped_close(fd);
	}
	if (slot_of(entry->fast.fd))
		drop(&slots[entry->fast.fd], how);
}

void table_forget(int fd, unsigned int how)
{
	struct slot *slot = slot_of(fd);

	if (!slot)
		return;
	/* Most of the table is never written to: closefrom(3) does not change that. */
	if (slot->calls)
		slot->calls = 0;
	spoil(slot);
	if (load(&slot->rings))
		drop(slot, how);
	drop_behind(slot, fd, how);
}

void table_forget_range(unsigned int first, unsigned int last, unsigned int how)
{
	unsigned int fd;

	for (fd = first; fd <= last && fd < SLOTS; fd++)
		table_forget(fd, how);
}

void table_stop(void)
{
	store(&stopped, true);
	table_parent();
}

/* A child has all sockets, too. */
void table_parent(void)
{
	unsigned int i;
	int error = errno;

	for (i = 0; i < MOST; i++)
		if (load(&entries[i].used))
			table_forget(entries[i].fast.fd, SHARED);
	errno = error;
}

/*
 * A child has the descriptors of rings, no mapping, and no thread that could be in a call.  So it
 * drops what its parent's threads were doing in the slots.
 */
void table_child(void)
{
	unsigned int i;
	int error = errno;

	for (i = 0; i < MOST; i++) {
		struct entry *entry = &entries[i];

		if (!entry->used)
			continue;
		if (slot_of(entry->fast.fd))
			slots[entry->fast.fd] = (struct slot){};
		entry_free(entry);
		entry->lost = false;
	}
	for (i = 0; i < used_slots; i++) {
		struct slot *slot = &slots[i];

		if (!slot->users && !slot->trying && !slot->dying)
			continue;
		slot->users = 0;
		slot->trying = IDLE;
		slot->dying = NULL;
	}
	errno = error;
}
