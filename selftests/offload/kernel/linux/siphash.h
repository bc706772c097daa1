/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A function with the kernel's name that depends on all that it gets.  No one attacks the
 * model.
 */
#ifndef SELFTESTS_OFFLOAD_SIPHASH_H
#define SELFTESTS_OFFLOAD_SIPHASH_H

#include <linux/types.h>

typedef struct {
	u64 key[2];
} siphash_key_t;

static inline u64 siphash_3u64(u64 a, u64 b, u64 c, const siphash_key_t *key)
{
	const u64 words[] = { a, b, c, key->key[1] };
	u64 mix = key->key[0];

	for (int i = 0; i < 4; i++) {
		mix = (mix ^ words[i]) * 0x9e3779b97f4a7c15;
		mix ^= mix >> 29;
	}
	return mix;
}

#endif
