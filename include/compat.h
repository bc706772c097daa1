/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between the kernels that the project supports, one header for each part of the
 * kernel.  The code is written for the newest of them; what an older one lacks is defined here
 * under the newer kernel's name.
 */
#ifndef _COMPAT_H
#define _COMPAT_H

#include "compat/core.h"
#include "compat/net.h"
#include "compat/rdma.h"

#endif /* _COMPAT_H */
