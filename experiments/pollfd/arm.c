/* The scan of poll over 1024 descriptors as one writes it in C, with the entry points and over the
 * files of arm/src/lib.rs. Built with the hint, or with -DUNHINTED. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef UNHINTED
#define unlikely(x) (x)
#else
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

enum { ENTRIES = 1024, READY_ONE_OF = 128 };
enum { IN = 0x1, OUT = 0x4, ERR = 0x8, HUP = 0x10, NVAL = 0x20 };

struct file;
struct operations { uint16_t (*poll)(const struct file *, uint16_t want); };
struct file { const struct operations *operations; uint16_t ready; };
struct pollfd { int32_t fd; uint16_t events, revents; };
struct poll {
	struct file *table[ENTRIES];
	size_t size;
	struct pollfd entries[ENTRIES];
	struct file files[ENTRIES];
};

static uint16_t look(const struct file *f, uint16_t want) { (void)want; return f->ready; }
static const struct operations operations = { .poll = look };

static inline __attribute__((always_inline)) uint16_t ask(const struct poll *p, const struct pollfd *e)
{
	int fd = e->fd;
	if (unlikely(fd < 0))
		return 0;
	const struct file *f = (size_t)fd < p->size ? p->table[fd] : NULL;
	if (!f)
		return NVAL;
	uint16_t want = e->events | ERR | HUP;
	return f->operations->poll(f, want) & want;
}

static inline __attribute__((always_inline)) uint64_t scan(struct poll *p)
{
	uint64_t count = 0;
	struct pollfd *e = p->entries, *end = e + ENTRIES;
	for (; e != end; e++) {
		uint16_t answer = ask(p, e);
		e->revents = answer;
		if (answer)
			count++;
	}
	return count;
}

uint64_t pollfd_scan(struct poll *p) { return scan(p); }

void *arm_open(uint32_t scenario)
{
	static const int negative[] = { 0, 10, 512 };
	if (scenario >= sizeof negative / sizeof *negative)
		return NULL;
	struct poll *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	int left = negative[scenario];
	p->size = ENTRIES;
	for (int i = ENTRIES - 1; i >= 0; i--) {
		p->files[i] = (struct file){ &operations, i % READY_ONE_OF ? 0 : IN };
		p->table[i] = &p->files[i];
		int none = i % READY_ONE_OF && left > 0;
		left -= none;
		p->entries[i] = (struct pollfd){ none ? -1 : i, IN | OUT, 0 };
	}
	uint64_t state = 1;
	for (uint64_t last = ENTRIES - 1; last >= 1; last--) {
		state = state * 6364136223846793005u + 1;
		uint64_t other = (state >> 33) % (last + 1);
		struct pollfd kept = p->entries[last];
		p->entries[last] = p->entries[other];
		p->entries[other] = kept;
	}
	return p;
}

/* The loop at place AT of a cache line; the count and the set are opaque, as in the other arms. */
#define RUN(AT, BYTES)                                                                               \
	static __attribute__((noinline)) uint64_t run_##AT(struct poll *p, uint64_t left)            \
	{                                                                                            \
		__asm__ volatile(".p2align 6\n.rept " #BYTES "/" NOP "\nnop\n.endr");                  \
		uint64_t found = 0;                                                                  \
		while (left) {                                                                       \
			__asm__ volatile("" : "+r"(p)::"memory");                                    \
			found += scan(p);                                                            \
			left--;                                                                      \
			__asm__ volatile("" : "+r"(left));                                           \
		}                                                                                    \
		return found;                                                                        \
	}
/* `nop` has the length NOP on this machine. */
#ifdef __x86_64__
#define NOP "1"
#else
#define NOP "4"
#endif
RUN(0, 0) RUN(1, 16) RUN(2, 32) RUN(3, 48)

uint64_t arm_run(void *p, uint32_t at, uint64_t n)
{
	return at == 0 ? run_0(p, n) : at == 1 ? run_1(p, n) : at == 2 ? run_2(p, n) : run_3(p, n);
}

uint64_t arm_expected(void *p, uint64_t n) { (void)p; return ENTRIES / READY_ONE_OF * n; }

void arm_close(void *p) { free(p); }
