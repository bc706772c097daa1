/* SPDX-License-Identifier: LGPL-2.1-or-later OR BSD-2-Clause */
/*
 * Diagnostics of the preload library: one line on the standard error output that
 * the program was started with.  errno is left alone.
 */
#ifndef SDPDEV_SAY_H
#define SDPDEV_SAY_H

#include "conf.h"

/* Reads SDPDEV_DEBUG; called once, by the constructor. */
__hidden void say_init(void);

/* In any case. */
__attribute__((format(printf, 1, 2)))
__hidden void say(const char *format, ...);

/*
 * Once, the first time: that a TCP socket gets no "connection" or "listener", by which rule,
 * and why there is no endpoint.  Without a rule, SDPDEV_MODE=only says so.
 */
__hidden void say_refused(const char *what, const struct conf_rule *rule);

/* Where SDPDEV_DEBUG asks for them. */
__hidden void say_no_endpoint(int error);
__hidden void say_rule(int fd, const struct conf *conf, const struct conf_rule *rule);
__hidden void say_connect(int fd, int ret);
__hidden void say_settled(int fd);
__hidden void say_accepted(int listener, int fd, unsigned int carrier);

#endif /* SDPDEV_SAY_H */
