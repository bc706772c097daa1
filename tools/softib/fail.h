/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs calls and work requests that fail: only kernels with fault injection have
 * them.
 */
#ifndef _SOFTIB_FAIL_H
#define _SOFTIB_FAIL_H

#include "softib.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
void softib_fail_init(void);
void softib_fail_wrap(struct softib_hca *hca);
bool softib_fail_request(const struct rvt_qp *qp);
#else
static inline void softib_fail_init(void)
{
}

static inline void softib_fail_wrap(struct softib_hca *hca)
{
}

static inline bool softib_fail_request(const struct rvt_qp *qp)
{
	return false;
}
#endif

#endif /* _SOFTIB_FAIL_H */
