// SPDX-License-Identifier: GPL-2.0
/*
 * Structures that user space gives to ioctls, of any version.
 */
#include <linux/uaccess.h>

#include "front/dev/dev.h"

/**
 * sdp_arg_get() - read the structure that an ioctl is given
 * @arg: where to; it begins with its size
 * @least: its size in its first version
 * @known: its size now: what is larger must be zero behind that
 * @user: the structure
 *
 * Return: zero, -EFAULT or -EINVAL.
 */
long sdp_arg_get(void *arg, u32 least, u32 known, void __user *user)
{
	u32 size;
	int err;

	if (get_user(size, (u32 __user *)user))
		return -EFAULT;
	if (size < least || size > PAGE_SIZE)
		return -EINVAL;
	err = copy_struct_from_user(arg, known, user, size);
	if (err)
		return err == -E2BIG ? -EINVAL : err;
	/* It was read twice, and may have changed in between. */
	*(u32 *)arg = size;
	return 0;
}
