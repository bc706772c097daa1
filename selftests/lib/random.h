/* SPDX-License-Identifier: GPL-2.0 */
/* Numbers that are the same in each run: Marsaglia's xorshift. */
#ifndef SELFTESTS_LIB_RANDOM_H
#define SELFTESTS_LIB_RANDOM_H

/* The next number; @state is never 0. */
static inline unsigned int random32(unsigned int *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

#endif /* SELFTESTS_LIB_RANDOM_H */
