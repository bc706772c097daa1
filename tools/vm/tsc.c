// SPDX-License-Identifier: GPL-2.0
/*
 * tsc: prints how many thousand times a second this processor's time stamp counter
 * counts, which is the emulated one's rate, too. The kernel in the machine would measure
 * it while it boots, and measure wrong where others use this machine's processors: then
 * its clock runs several times too fast, and what waits for a time gives up too soon.
 * Prints nothing on processors without that counter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

#define INTERVAL_NS	20000000
#define TRIES		50

struct sample {
	uint64_t ns;
	uint64_t tsc;
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Both at a time: the best of many, as others may run in between. */
static struct sample sample(void)
{
	struct sample best = { 0 };
	uint64_t before, after, tsc, least = UINT64_MAX;
	int i;

	for (i = 0; i < TRIES; i++) {
		before = now();
		tsc = __rdtsc();
		after = now();
		if (after - before < least) {
			least = after - before;
			best = (struct sample){ before + least / 2, tsc };
		}
	}
	return best;
}

int main(void)
{
	const struct timespec interval = { .tv_nsec = INTERVAL_NS };
	struct sample a = sample(), b;

	nanosleep(&interval, NULL);
	b = sample();
	printf("%.0f\n", (double)(b.tsc - a.tsc) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
