// SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause
/*
 * fstat(2) of an endpoint says socket, for programs that ask what they were given.
 *
 * What is called instead of the next fstat() is what that is made of: the same
 * for an empty name.
 *
 * Who changes the mode or the owner of an endpoint means its socket.  The file is
 * that of the device, and everybody's.
 *
 * For i386 this is compiled once more for programs with 64-bit times, whose fstat()
 * has another name and another structure.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"
#include "next.h"

#define MISC_MAJOR	10

/*
 * Two sockets are never the same file: the endpoint's number tells them apart,
 * among files of a device that there is no other of.
 */
#define AS_SOCKET(fd, st)						\
do {									\
	struct sdp_info info;						\
	int saved = errno;						\
									\
	if (S_ISCHR((st)->st_mode) && major((st)->st_rdev) == MISC_MAJOR && \
	    !sdp_info(fd, &info)) {					\
		(st)->st_mode = S_IFSOCK | 0777;			\
		(st)->st_dev = (st)->st_rdev;				\
		(st)->st_rdev = 0;					\
		(st)->st_ino = info.id;					\
		(st)->st_uid = geteuid();				\
		(st)->st_gid = getegid();				\
	}								\
	errno = saved;							\
} while (0)

__public int fstat(int fd, struct stat *st)
{
	int ret;

	if (fd < 0)
		return sdp_fail(EBADF);
	ret = fstatat(fd, "", st, AT_EMPTY_PATH);
	if (!ret)
		AS_SOCKET(fd, st);
	return ret;
}

#ifndef __USE_TIME_BITS64

__public int fstat64(int fd, struct stat64 *st)
{
	int ret;

	if (fd < 0)
		return sdp_fail(EBADF);
	ret = fstatat64(fd, "", st, AT_EMPTY_PATH);
	if (!ret)
		AS_SOCKET(fd, st);
	return ret;
}

/* What they were in programs built with a C library before 2.33. */
__public int __fxstat(int version, int fd, struct stat *st);
__public int __fxstat64(int version, int fd, struct stat64 *st);

/*
 * Where there is only one structure it has two versions, the kernel's and the C library's,
 * and which of them programs name differs between machines.
 */
static bool is_version(int version)
{
#ifdef __LP64__
	return version == 0 || version == 1;
#else
	return version == 3;
#endif
}

int __fxstat(int version, int fd, struct stat *st)
{
	return is_version(version) ? fstat(fd, st) : sdp_fail(EINVAL);
}

int __fxstat64(int version, int fd, struct stat64 *st)
{
	return is_version(version) ? fstat64(fd, st) : sdp_fail(EINVAL);
}

/* The C library's prototype denies that there are kernels that take no path. */
__public int any_statx(int fd, const char *path, int flags, unsigned int mask,
		       struct statx *stx) __asm__("statx");

int any_statx(int fd, const char *path, int flags, unsigned int mask, struct statx *stx)
{
	int ret = syscall(SYS_statx, fd, path, flags, mask, stx);
	struct stat st;

	if (ret || !(flags & AT_EMPTY_PATH) || (path && *path) || !S_ISCHR(stx->stx_mode) ||
	    fstat(fd, &st) || !S_ISSOCK(st.st_mode))
		return ret;
	stx->stx_mode = st.st_mode;
	stx->stx_ino = st.st_ino;
	stx->stx_dev_major = major(st.st_dev);
	stx->stx_dev_minor = minor(st.st_dev);
	stx->stx_rdev_major = 0;
	stx->stx_rdev_minor = 0;
	stx->stx_uid = st.st_uid;
	stx->stx_gid = st.st_gid;
	return 0;
}

/*
 * The socket whose inode is meant, or -1 where it is the file's own.  False: it cannot be
 * had, for whatever reason, and the file's own, which is the device's, is not to be
 * changed in its place.
 */
static bool inode_of(int fd, int *native)
{
	int saved = errno, error;
	struct sdp_info info;
	struct stat st;

	*native = -1;
	if (fd >= 0 && !fstatat(fd, "", &st, AT_EMPTY_PATH) && S_ISCHR(st.st_mode) &&
	    major(st.st_rdev) == MISC_MAJOR) {
		*native = sdp_native(fd);
		error = errno;
		if (*native < 0 && !sdp_info(fd, &info)) {
			errno = error;
			return false;
		}
	}
	errno = saved;
	return true;
}

__public int fchmod(int fd, mode_t mode)
{
	int native, ret;

	if (!inode_of(fd, &native))
		return -1;
	ret = NEXT(fchmod)(native < 0 ? fd : native, mode);
	if (native >= 0)
		sdp_unnative(native);
	return ret;
}

__public int fchown(int fd, uid_t uid, gid_t gid)
{
	int native, ret;

	if (!inode_of(fd, &native))
		return -1;
	ret = NEXT(fchown)(native < 0 ? fd : native, uid, gid);
	if (native >= 0)
		sdp_unnative(native);
	return ret;
}

/*
 * The same by an empty name; any other is left as it is.  The C library's prototypes deny
 * that there are programs that give none at all.
 */
static bool is_itself(const char *path, int flags)
{
	return (flags & AT_EMPTY_PATH) && sdp_can_read(path, 1) && !*path;
}

__public int any_fchmodat(int fd, const char *path, mode_t mode, int flags)
	__asm__("fchmodat");
__public int any_fchownat(int fd, const char *path, uid_t uid, gid_t gid, int flags)
	__asm__("fchownat");

int any_fchmodat(int fd, const char *path, mode_t mode, int flags)
{
	int native = -1, ret;

	if (is_itself(path, flags) && !inode_of(fd, &native))
		return -1;
	ret = NEXT(fchmodat)(native < 0 ? fd : native, path, mode, flags);
	if (native >= 0)
		sdp_unnative(native);
	return ret;
}

int any_fchownat(int fd, const char *path, uid_t uid, gid_t gid, int flags)
{
	int native = -1, ret;

	if (is_itself(path, flags) && !inode_of(fd, &native))
		return -1;
	ret = NEXT(fchownat)(native < 0 ? fd : native, path, uid, gid, flags);
	if (native >= 0)
		sdp_unnative(native);
	return ret;
}

#endif /* __USE_TIME_BITS64 */
