/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the rate of this machine's time-stamp counter in kHz, for scripts/vm: an emulated CPU
 * reads the same counter, but a guest that measures it against an emulated timer while
 * the machine is busy is wrong by any factor, and its clock with it.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct pair {
	uint64_t ns, tsc;
};

/* Both clocks at one moment: of some tries the one that took least. */
static struct pair read_both(void)
{
	struct pair best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		struct timespec t;
		uint64_t a, b;

		a = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &t);
		b = __rdtsc();
		if (b - a >= least)
			continue;
		least = b - a;
		best.tsc = a + (b - a) / 2;
		best.ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	}
	return best;
}

int main(void)
{
	struct timespec pause = { 0, 100000000 };
	struct pair a = read_both(), b;

	nanosleep(&pause, NULL);
	b = read_both();
	printf("%.0f\n", (double)(b.tsc - a.tsc) * 1e6 / (double)(b.ns - a.ns));
	return 0;
}
