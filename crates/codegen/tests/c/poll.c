#include <errno.h>

struct entry { int fd; short events; short revents; };
struct source { unsigned ready; unsigned armed; };
extern struct source sources[];
extern unsigned long skipped;

static int arm(struct entry *e)
{
    int fd = e->fd;

    if (fd < 0) {
        e->revents = 0;
        skipped++;
        return 0;
    }
    struct source *s = &sources[fd];
    e->revents = s->ready & e->events;
    s->armed++;
    return -EAGAIN;
}

int arm_all(struct entry *set, unsigned long n)
{
    int waiting = 0;

    for (unsigned long i = 0; i < n; i++)
        if (arm(&set[i]) == -EAGAIN)
            waiting++;
    return waiting;
}
