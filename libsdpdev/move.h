/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sdprun --move and --cgroup: the kernel attaches the sockets of a process, or of a control
 * group, by a rule of /dev/sdp.
 */
#ifndef SDPDEV_MOVE_H
#define SDPDEV_MOVE_H

#include <stdbool.h>

#include <linux/sdp.h>

/**
 * move_parse - read a rule
 * @text: words with commas between them: move (which need not be said), now, only, never or
 *	none; connect, listen; ports and ranges of ports
 * @rule: out: the rule
 *
 * Return: NULL, or what is wrong with it
 */
const char *move_parse(const char *text, struct sdp_rule *rule);

/* Sets it, in this process or for the control group @rule->fd; NULL, or why it cannot. */
const char *move_set(struct sdp_rule *rule);

/*
 * Listeners that were there before the rule, as those that a service is started with, get
 * what it says; true, or false where one of them did not, for the reason in errno.
 */
bool move_listeners(const struct sdp_rule *rule);

#endif /* SDPDEV_MOVE_H */
