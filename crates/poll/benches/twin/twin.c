/* The loop of the poll core as one writes it in C, over the table of mod.rs. Built twice over: with
 * the hint on the negative descriptor, as in mod.rs, or with -DUNHINTED. */
#include <stddef.h>
#include <stdint.h>

#ifdef UNHINTED
#define unlikely(x) (x)
#else
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

enum { ERR = 0x8, HUP = 0x10, NVAL = 0x20 };

struct pollfd { int32_t fd; uint16_t events, revents; };
struct waiter { uint64_t registered; };
struct file;
struct operations { uint16_t (*poll)(struct file *, uint16_t want, struct waiter *); };
struct file { const struct operations *operations; uint16_t ready; };

static void __attribute__((noinline)) enlist(struct waiter *w) { w->registered++; }

static inline uint16_t look(struct file *f, struct waiter *w)
{
	if (w)
		enlist(w);
	return __atomic_load_n(&f->ready, __ATOMIC_RELAXED);
}

static uint16_t look_op(struct file *f, uint16_t want, struct waiter *w)
{
	(void)want;
	return look(f, w);
}

const struct operations twin_operations = { .poll = look_op };

static inline __attribute__((always_inline)) uint16_t
ask(struct file *const *table, size_t size, const struct pollfd *p, struct waiter *w, int indirect)
{
	int fd = p->fd;
	if (unlikely(fd < 0))
		return 0;
	struct file *f = (size_t)fd < size ? table[fd] : NULL;
	if (!f)
		return NVAL;
	uint16_t want = p->events | ERR | HUP;
	uint16_t ready = indirect ? f->operations->poll(f, want, w) : look(f, w);
	return ready & want;
}

#define SCAN(name, indirect)                                                                        \
	size_t name(struct file *const *table, size_t size, struct pollfd *entries, size_t n,       \
		    struct waiter *w)                                                               \
	{                                                                                           \
		size_t count = 0;                                                                   \
		for (struct pollfd *p = entries, *end = entries + n; p != end; p++) {               \
			uint16_t answer = ask(table, size, p, w, indirect);                         \
			p->revents = answer;                                                        \
			if (answer) {                                                               \
				count++;                                                            \
				w = NULL;                                                           \
			}                                                                           \
		}                                                                                   \
		return count;                                                                       \
	}

SCAN(twin_direct, 0)
SCAN(twin_indirect, 1)
