/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sdprun prepares for the program that it runs.
 */
#ifndef SDPDEV_SDPRUN_H
#define SDPDEV_SDPRUN_H

#include "internal.h"

/*
 * Listeners that were there before the rule, as those that a service is started with, get what it
 * says; true, or false if one of them did not, for the reason in errno.
 */
bool move_listeners(const struct sdp_rule *rule);

/* Puts the library of rings before the others in LD_PRELOAD; NULL, or why it is not. */
const char *preload_rings(const char *program);

#endif /* SDPDEV_SDPRUN_H */
