/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names that sdpdev/sdp/credit.c and the rules of selftests/offload use. */
#ifndef SELFTESTS_CREDIT_TYPES_H
#define SELFTESTS_CREDIT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;

typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint64_t __be64;

#endif
