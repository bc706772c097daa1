/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names that sdpdev/sdp/credit.c uses. */
#ifndef SELFTESTS_CREDIT_MINMAX_H
#define SELFTESTS_CREDIT_MINMAX_H

#define max_t(type, a, b) ({ type _a = (a), _b = (b); _a > _b ? _a : _b; })
#define min_t(type, a, b) ({ type _a = (a), _b = (b); _a < _b ? _a : _b; })
#define clamp_t(type, v, low, high) ({ \
	type _low = (low), _max = max_t(type, v, _low); \
	min_t(type, _max, high); \
})

#endif
