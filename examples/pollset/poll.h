/* A poll core over a table of in-process sources. */
#ifndef POLLSET_POLL_H
#define POLLSET_POLL_H

#include <stddef.h>

struct entry {
	int fd;
	short events;
	short revents;
};

struct source {
	unsigned ready;
	unsigned armed;
};

struct set {
	struct source *sources;
	unsigned long skipped;
};

/* One round over the entries; returns how many of them wait. */
int arm_all(struct set *set, struct entry *entries, size_t count);

#endif
