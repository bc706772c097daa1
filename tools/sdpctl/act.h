/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sdpctl does with connections.
 */
#ifndef SDPCTL_ACT_H
#define SDPCTL_ACT_H

#include "filter.h"

/**
 * struct order - what the command line asks for
 * @command: SDP_CTL_*
 * @flags: likewise
 * @filter: with which connections
 * @wait: seconds in which all of it has to be done, or 0
 */
struct order {
	uint32_t command;
	uint32_t flags;
	struct filter filter;
	double wait;
};

/* Says what it has done, and of which connections it has not; returns the exit status. */
int act(const struct order *order);

#endif /* SDPCTL_ACT_H */
