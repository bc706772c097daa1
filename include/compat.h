/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the project supports, in one place.
 * The code is written for the newest of them; what an older one lacks is
 * defined here under the newer kernel's name.
 */
#ifndef _COMPAT_H
#define _COMPAT_H

#include <linux/version.h>

#endif /* _COMPAT_H */
