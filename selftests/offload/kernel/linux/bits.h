/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SELFTESTS_OFFLOAD_BITS_H
#define SELFTESTS_OFFLOAD_BITS_H

#define BIT(nr) (1UL << (nr))

#endif
