/* SPDX-License-Identifier: GPL-2.0 */
/* A step that the tables of half.c do not allow spoils the model. */
#ifndef SELFTESTS_OFFLOAD_CORE_H
#define SELFTESTS_OFFLOAD_CORE_H

void assert_failed(const char *what);

#define SDP_ASSERT(cond) ((cond) ? (void)0 : assert_failed(#cond))

#endif
