/* Times the poll core, and checks it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "poll.h"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int check(void)
{
	struct source sources[2] = { { 5, 0 }, { 0, 7 } };
	struct set set = { sources, 0 };
	struct entry entries[3] = { { 0, 1, -1 }, { -4, 1, -1 }, { 1, 1, -1 } };

	if (arm_all(&set, entries, 3) != 2 || set.skipped != 1)
		return 1;
	if (entries[0].revents != 1 || entries[1].revents != 0 || entries[2].revents != 0)
		return 1;
	if (sources[0].armed != 1 || sources[1].armed != 8)
		return 1;
	puts("poll core: correct");
	return 0;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 0;
	struct source *sources;
	struct entry *entries;
	struct set set;
	long waiting = 0;
	double start;

	if (argc == 2 && !strcmp(argv[1], "check"))
		return check();
	if (count < 1 || rounds < 1) {
		fprintf(stderr, "usage: pollset check | pollset ENTRIES ROUNDS\n");
		return 2;
	}
	sources = calloc(count, sizeof(*sources));
	entries = calloc(count, sizeof(*entries));
	if (!sources || !entries) {
		perror("pollset");
		return 1;
	}
	set.sources = sources;
	set.skipped = 0;
	for (int i = 0; i < count; i++) {
		sources[i].ready = i % 97 == 0;
		entries[i].fd = i;
		entries[i].events = 1;
	}
	start = now_ns();
	for (int i = 0; i < rounds; i++)
		waiting += arm_all(&set, entries, count);
	printf("%.3f ns per entry\n", (now_ns() - start) / rounds / count);
	printf("%ld armed, %lu skipped\n", waiting, set.skipped);
	free(entries);
	free(sources);
	return 0;
}
