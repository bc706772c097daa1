/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * What each file of the libraries needs.
 */
#ifndef SDPDEV_INTERNAL_H
#define SDPDEV_INTERNAL_H

#include <errno.h>
#include <stdbool.h>

#include "sdpdev.h"

#define __hidden __attribute__((visibility("hidden")))
#define __public __attribute__((visibility("default")))

#endif /* SDPDEV_INTERNAL_H */
