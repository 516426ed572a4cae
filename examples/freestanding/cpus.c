/* Runs the locks on a machine made of threads: each is a CPU, and counts what the locks ask of it.
 *
 * usage: cpus own|virtual   on CPUs of their own, where waiters spin, or on virtual ones, where they sleep
 *
 * Says what is wrong and ends with 1, or says what was done. Nothing is decided by time.
 */
#define _GNU_SOURCE
#include "freestanding.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition, ...) ((condition) ? (void)0 : fail(#condition, __LINE__, __VA_ARGS__))

static _Noreturn void fail(const char *condition, int line, const char *meaning)
{
	fprintf(stderr, "cpus.c:%d: %s: not %s\n", line, meaning, condition);
	exit(1);
}

/* The machine. */

struct cpu {
	unsigned number;
	/* What is kept out now. */
	unsigned preempt, bh;
	bool irqs_off;
	/* How often the locks kept something out that was let in, and the reverse. */
	unsigned long disables, enables;
	/* The address it sleeps on. Under `bed`. */
	const uint32_t *sleeps_on;
};

/* How long a lost wake-up lasts where there is no barrier across CPUs: as if by a timer. */
enum { TICK_NS = 1000000 };

static struct cpu cpus[MACHINE_CPUS];
static _Thread_local struct cpu *this_cpu = &cpus[0];
static bool is_virtual, has_barrier;
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static atomic_ulong turns, sleeps, kicks;

uint32_t machine_cpu(void) { return this_cpu->number; }

void machine_preempt_disable(void) { this_cpu->preempt++; this_cpu->disables++; }
void machine_preempt_enable(void) { this_cpu->preempt--; this_cpu->enables++; }
void machine_bh_disable(void) { this_cpu->bh++; this_cpu->disables++; }
void machine_bh_enable(void) { this_cpu->bh--; this_cpu->enables++; }

size_t machine_irq_save(void)
{
	size_t were_off = this_cpu->irqs_off;
	this_cpu->irqs_off = true;
	this_cpu->disables += !were_off;
	return were_off;
}

void machine_irq_restore(size_t flags)
{
	CHECK(this_cpu->irqs_off, "interrupts are put back where they are off");
	this_cpu->irqs_off = flags;
	this_cpu->enables += !flags;
}

bool machine_in_interrupt(void) { return false; }
bool machine_is_virtual(void) { return is_virtual; }

void machine_relax(void)
{
	atomic_fetch_add(&turns, 1);
	/* The thread that it waits for may need the processor that it runs on. */
	sched_yield();
}

void machine_wait(const uint32_t *word, uint32_t expected)
{
	CHECK(is_virtual, "only virtual CPUs sleep");
	pthread_mutex_lock(&bed);
	if (__atomic_load_n(word, __ATOMIC_RELAXED) == expected) {
		struct timespec end;
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_nsec += TICK_NS;
		if (end.tv_nsec >= 1000000000)
			end.tv_sec++, end.tv_nsec -= 1000000000;
		this_cpu->sleeps_on = word;
		atomic_fetch_add(&sleeps, 1);
		while (this_cpu->sleeps_on)
			if (has_barrier)
				pthread_cond_wait(&bell, &bed);
			else if (pthread_cond_timedwait(&bell, &bed, &end))
				this_cpu->sleeps_on = NULL;
	}
	pthread_mutex_unlock(&bed);
}

void machine_kick(const uint32_t *word)
{
	CHECK(is_virtual, "only virtual CPUs are woken");
	/* An unlock calls this from the middle of its caller. */
	CHECK((uintptr_t)__builtin_frame_address(0) % 16 == 0, "the stack is as C wants it");
	pthread_mutex_lock(&bed);
	for (int n = 0; n < MACHINE_CPUS; n++)
		if (cpus[n].sleeps_on == word) {
			cpus[n].sleeps_on = NULL;
			atomic_fetch_add(&kicks, 1);
		}
	pthread_cond_broadcast(&bell);
	pthread_mutex_unlock(&bed);
}

void machine_barrier_all(void)
{
	CHECK(is_virtual, "only those who go to sleep ask for it");
	if (has_barrier)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

_Noreturn void machine_panic(void) { fail("so", __LINE__, "a lock found itself misused"); }

static void boot(bool on_virtual_cpus)
{
	is_virtual = on_virtual_cpus;
	has_barrier = !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	for (unsigned n = 0; n < MACHINE_CPUS; n++)
		cpus[n].number = n;
}

/* The locks in each context. */

struct context {
	const char *name;
	/* What it keeps out of the CPU. */
	bool preempt, bh, irqs;
	void (*lock)(spinlock_t *), (*unlock)(spinlock_t *);
	bool (*trylock)(spinlock_t *);
	void (*read)(rwlock_t *), (*end_read)(rwlock_t *);
	bool (*tryread)(rwlock_t *);
	void (*write)(rwlock_t *), (*end_write)(rwlock_t *);
	bool (*trywrite)(rwlock_t *);
};

static const struct context contexts[] = {
	{ "plain", true, false, false, spin_lock, spin_unlock, spin_trylock, read_lock, read_unlock,
	  read_trylock, write_lock, write_unlock, write_trylock },
	{ "bh", false, true, false, spin_lock_bh, spin_unlock_bh, spin_trylock_bh, read_lock_bh,
	  read_unlock_bh, read_trylock_bh, write_lock_bh, write_unlock_bh, write_trylock_bh },
	{ "irq", false, false, true, spin_lock_irq, spin_unlock_irq, spin_trylock_irq, read_lock_irq,
	  read_unlock_irq, read_trylock_irq, write_lock_irq, write_unlock_irq, write_trylock_irq },
	{ "irqsave", false, false, true, spin_lock_irqsave, spin_unlock_irqrestore,
	  spin_trylock_irqsave, read_lock_irqsave, read_unlock_irqrestore, read_trylock_irqsave,
	  write_lock_irqsave, write_unlock_irqrestore, write_trylock_irqsave },
};
enum { CONTEXTS = sizeof contexts / sizeof *contexts };

static void check_inside(const struct context *context)
{
	CHECK(this_cpu->preempt == context->preempt, context->name);
	CHECK(this_cpu->bh == context->bh, context->name);
	CHECK(this_cpu->irqs_off == context->irqs, context->name);
}

static void check_outside(const char *what)
{
	CHECK(!this_cpu->preempt && !this_cpu->bh && !this_cpu->irqs_off, what);
	CHECK(this_cpu->disables == this_cpu->enables, what);
	CHECK(irq_sections() == 0, what);
}

/* One CPU at a time. */

static spinlock_t spin;
static rwlock_t rw;
/* Ordinary numbers, which only the locks keep equal. */
static volatile unsigned long pair[2], rw_pair[2];
enum { ROUNDS = 20000 };

/* Now and then, for so many turns of a waiter that one on a virtual CPU falls asleep. */
static void dawdle(unsigned long round)
{
	for (int turn = 0; round % 64 == 0 && turn < 40; turn++)
		sched_yield();
}

static void count_once(const struct context *context, unsigned long round)
{
	context->lock(&spin);
	check_inside(context);
	CHECK(pair[0] == pair[1], "a spinlock keeps others out");
	pair[0]++;
	dawdle(round);
	pair[1]++;
	context->unlock(&spin);

	context->write(&rw);
	check_inside(context);
	rw_pair[0]++;
	dawdle(round);
	rw_pair[1]++;
	context->end_write(&rw);

	context->read(&rw);
	check_inside(context);
	CHECK(rw_pair[0] == rw_pair[1], "a reader keeps writers out");
	context->end_read(&rw);
}

static void *count(void *cpu)
{
	this_cpu = cpu;
	for (unsigned long round = 0; round < ROUNDS; round++)
		count_once(&contexts[round % CONTEXTS], round);
	check_outside("after counting");
	return NULL;
}

static void run(unsigned n, void *(*work)(void *))
{
	pthread_t threads[MACHINE_CPUS];
	for (unsigned cpu = 0; cpu < n; cpu++)
		CHECK(!pthread_create(&threads[cpu], NULL, work, &cpus[cpu]), "a thread starts");
	for (unsigned cpu = 0; cpu < n; cpu++)
		pthread_join(threads[cpu], NULL);
}

/* A lock that was used and is free is as one that never was. */
static void check_free(void)
{
	spinlock_t new_spin;
	rwlock_t new_rw;
	spin_lock_init(&new_spin);
	rwlock_init(&new_rw);
	CHECK(!memcmp(&spin, &new_spin, sizeof spin), "a spinlock that was used is free");
	CHECK(!memcmp(&rw, &new_rw, sizeof rw), "a read-write lock that was used is free");
}

static void one_at_a_time(unsigned n)
{
	pair[0] = pair[1] = rw_pair[0] = rw_pair[1] = 0;
	run(n, count);
	CHECK(pair[0] == (unsigned long)n * ROUNDS && pair[1] == pair[0], "no round is lost");
	CHECK(rw_pair[0] == pair[0] && rw_pair[1] == pair[0], "no round of a writer is lost");
	check_free();
}

/* Who comes while the lock is held waits as the machine has it. */

static atomic_bool came;

static void *come(void *cpu)
{
	this_cpu = cpu;
	spin_lock_irqsave(&spin);
	pair[0]++;
	spin_unlock_irqrestore(&spin);
	write_lock(&rw);
	rw_pair[0]++;
	write_unlock(&rw);
	check_outside("after waiting");
	atomic_store(&came, true);
	return NULL;
}

static void hold(void (*lock)(void), void (*unlock)(void))
{
	pthread_t other;
	unsigned long turns_before = turns, sleeps_before = sleeps, kicks_before = kicks;
	atomic_store(&came, false);
	lock();
	CHECK(!pthread_create(&other, NULL, come, &cpus[1]), "a thread starts");
	while (is_virtual ? sleeps == sleeps_before : turns - turns_before < 10000) {
		CHECK(!atomic_load(&came), "a lock that is held keeps others out");
		sched_yield();
	}
	unlock();
	pthread_join(other, NULL);
	CHECK(is_virtual == (sleeps > sleeps_before), "virtual CPUs sleep, and no others");
	CHECK(!has_barrier || is_virtual == (kicks > kicks_before), "who sleeps is woken");
}

static void lock_spin(void) { spin_lock(&spin); }
static void unlock_spin(void) { spin_unlock(&spin); }
static void lock_read(void) { read_lock(&rw); }
static void unlock_read(void) { read_unlock(&rw); }
static void lock_write(void) { write_lock(&rw); }
static void unlock_write(void) { write_unlock(&rw); }

static void waiting(void)
{
	pair[0] = rw_pair[0] = 0;
	hold(lock_spin, unlock_spin);
	hold(lock_read, unlock_read);
	hold(lock_write, unlock_write);
	CHECK(pair[0] == 3 && rw_pair[0] == 3, "all who came had their turn");
}

/* What a section keeps out, and for how long. */

static void sections(void)
{
	for (int n = 0; n < CONTEXTS; n++) {
		const struct context *context = &contexts[n];
		struct cpu before = *this_cpu;
		CHECK(context->trylock(&spin) && spin_is_locked(&spin), "a free lock is taken");
		check_inside(context);
		CHECK(!contexts[(n + 1) % CONTEXTS].trylock(&spin), "a lock that is held is not");
		check_inside(context);
		context->unlock(&spin);
		CHECK(context->tryread(&rw) && context->tryread(&rw), "readers share");
		CHECK(!context->trywrite(&rw), "no writer beside a reader");
		context->end_read(&rw);
		CHECK(this_cpu->irqs_off == context->irqs, "one of two sections is open");
		context->end_read(&rw);
		CHECK(context->trywrite(&rw) && !context->tryread(&rw), "a writer is alone");
		context->end_write(&rw);
		check_outside(context->name);
		CHECK(this_cpu->disables > before.disables, "the machine is asked");
	}

	spinlock_t inner;
	spin_lock_init(&inner);
	spin_lock_irqsave(&spin);
	spin_lock_irqsave(&inner);
	CHECK(irq_sections() == 2, "two sections");
	spin_unlock_irqrestore(&spin);
	CHECK(this_cpu->irqs_off && irq_sections() == 1, "the outer guard ended first");
	spin_unlock_irqrestore(&inner);
	CHECK(!this_cpu->irqs_off, "the last puts interrupts back");

	this_cpu->irqs_off = true;
	spin_lock_irqsave(&spin);
	spin_unlock_irqrestore(&spin);
	CHECK(this_cpu->irqs_off, "what was off before stays off");
	this_cpu->irqs_off = false;
}

int main(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "own") && strcmp(argv[1], "virtual"))) {
		fprintf(stderr, "usage: cpus own|virtual\n");
		return 2;
	}
	boot(!strcmp(argv[1], "virtual"));
	spin_lock_init(&spin);
	rwlock_init(&rw);
	sections();
	waiting();
	one_at_a_time(2);
	/* More than there are processors, perhaps. */
	one_at_a_time(4);
	check_outside("at the end");
	printf("%s CPUs: %d rounds on 2 and on 4, %lu turns, %lu sleeps, %lu kicks\n", argv[1], ROUNDS,
	       (unsigned long)turns, (unsigned long)sleeps, (unsigned long)kicks);
	return 0;
}
