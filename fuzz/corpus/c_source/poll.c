#include <errno.h>

#include "poll.h"

/*
 * Asks one entry's source and arms it for the next round. An entry with a negative descriptor is
 * switched off: it has nothing to wait for.
 */
static int arm(struct set *set, struct entry *entry)
{
	int fd = entry->fd;
	struct source *source;

	if (fd < 0) {
		entry->revents = 0;
		set->skipped++;
		return 0;
	}
	source = &set->sources[fd];
	entry->revents = source->ready & entry->events;
	source->armed++;
	return -EAGAIN;
}

int arm_all(struct set *set, struct entry *entries, size_t count)
{
	int waiting = 0;

	for (size_t i = 0; i < count; i++)
		if (arm(set, &entries[i]) == -EAGAIN)
			waiting++;
	return waiting;
}
