// SPDX-License-Identifier: GPL-2.0
/*
 * flock(2) and the locks of fcntl(2).  An endpoint's file has the inode of the
 * device, on which the locks of all endpoints would meet; so they are taken on the
 * native socket's, as if the program had a descriptor of that.
 */
#include <linux/fdtable.h>

#include "front/dev/dev.h"

/* Whose inode the lock is for. */
static struct file *sdp_lock_native(struct file *file)
{
	struct sdp_ep *ep = file->private_data;
	int err;

	if (!sdp_ep_ready(ep))
		return ERR_PTR(-ENOTCONN);
	if (mutex_lock_killable(&ep->op_mutex))
		return ERR_PTR(-ERESTARTSYS);
	err = sdp_native_ensure(ep);
	mutex_unlock(&ep->op_mutex);
	return err ? ERR_PTR(err) : ep->tcp->file;
}

static int sdp_is_file(const void *file, struct file *other, unsigned int fd)
{
	return file == other;
}

/**
 * sdp_lock() - struct file_operations.lock
 * @file: an endpoint's
 * @cmd: F_GETLK, F_SETLK or F_SETLKW
 * @fl: the lock
 *
 * Return: zero, FILE_LOCK_DEFERRED or a negative errno.
 */
int sdp_lock(struct file *file, int cmd, struct file_lock *fl)
{
	struct file *native = sdp_lock_native(file);
	int err;

	if (IS_ERR(native))
		return PTR_ERR(native);
	if (cmd == F_GETLK) {
		posix_test_lock(native, fl);
		return 0;
	}
	if (cmd == F_CANCELLK)
		return 0;
	err = posix_lock_file(native, fl, NULL);
	/* Another thread has closed it before the lock was there to be removed. */
	if (!err && !iterate_fd(current->files, 0, sdp_is_file, file))
		locks_remove_posix(native, current->files);
	return err;
}

/**
 * sdp_flock() - struct file_operations.flock
 * @file: an endpoint's
 * @cmd: F_SETLK or F_SETLKW
 * @fl: the lock
 *
 * It goes with the native socket.
 *
 * Return: zero or a negative errno.
 */
int sdp_flock(struct file *file, int cmd, struct file_lock *fl)
{
	struct file *native = sdp_lock_native(file);

	if (IS_ERR(native))
		return PTR_ERR(native);
	file_lock_file(fl) = native;
	return locks_lock_file_wait(native, fl);
}

/**
 * sdp_unlock() - remove the locks of fcntl(2) that somebody has
 * @file: an endpoint's
 * @owner: the table of descriptors of who closes one, or the file itself
 */
void sdp_unlock(struct file *file, fl_owner_t owner)
{
	struct sdp_ep *ep = file->private_data;

	if (sdp_native_sk(ep))
		locks_remove_posix(ep->tcp->file, owner);
}
