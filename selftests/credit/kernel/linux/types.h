/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names that sdpdev/sdp/credit.c uses. */
#ifndef SELFTESTS_CREDIT_TYPES_H
#define SELFTESTS_CREDIT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t u32;
typedef int32_t s32;

#endif
