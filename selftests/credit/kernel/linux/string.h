/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names that sdpdev/sdp/zcopy.c uses. */
#ifndef SELFTESTS_CREDIT_STRING_H
#define SELFTESTS_CREDIT_STRING_H

#include <string.h>

#endif
