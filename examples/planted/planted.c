/*
 * A program with a tunable amount of extra work, to see whether a measurement finds it.
 *
 *   planted ROUNDS EXTRA_PPM
 *
 * Each round is a fixed number of dependent steps and EXTRA_PPM millionths of that more: 5000 is
 * half a percent. Prints the median time of a round.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 1000000u
#define ROUNDS_MAX 10000

static volatile uint64_t sink;

/* A chain that no compiler shortens and no CPU runs in parallel. */
static uint64_t work(uint64_t steps, uint64_t x)
{
	for (uint64_t i = 0; i < steps; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double rounds[ROUNDS_MAX];
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long extra = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (n < 1 || n > ROUNDS_MAX || extra < 0 || extra > 1000000) {
		fprintf(stderr, "usage: planted ROUNDS EXTRA_PPM\n");
		return 2;
	}
	uint64_t steps = STEPS + STEPS / 1000000u * (uint64_t)extra;
	for (long i = 0; i < n; i++) {
		double begun = now_ns();

		sink = work(steps, sink + 1);
		rounds[i] = now_ns() - begun;
	}
	qsort(rounds, (size_t)n, sizeof(*rounds), by_size);
	printf("%.1f ns a round\n", rounds[n / 2]);
	return 0;
}
