/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_OFFLOAD_BYTEORDER_H
#define SELFTESTS_OFFLOAD_BYTEORDER_H

#include <endian.h>

#define cpu_to_be16 htobe16
#define cpu_to_be64 htobe64
#define be64_to_cpu be64toh

#endif
