/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs calls that fail: only kernels with fault injection have them.
 */
#ifndef _SOFTIB_FAIL_H
#define _SOFTIB_FAIL_H

#include "softib.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
void softib_fail_init(void);
void softib_fail_wrap(struct softib_hca *hca);
#else
static inline void softib_fail_init(void)
{
}

static inline void softib_fail_wrap(struct softib_hca *hca)
{
}
#endif

#endif /* _SOFTIB_FAIL_H */
