/* Locks from the static library of this folder, and what the machine must do for them.
 *
 * The library has no other needs: no C library but for memory functions that compilers call
 * (memcpy and its like), no allocator, no threads.
 */
#ifndef FREESTANDING_H
#define FREESTANDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct { uint32_t word; } spinlock_t;
typedef struct { uint32_t words[2]; } rwlock_t;

/* Make a lock, which is free. */
void spin_lock_init(spinlock_t *lock);
void rwlock_init(rwlock_t *lock);

/* Each begins a section, which ends at the unlock of the same context, and a section keeps this out of
 * its CPU:
 *   (none)             preemption
 *   _bh                bottom halves and preemption
 *   _irq               interrupts, by code that knows that they are on
 *   _irqsave           interrupts; ends with _irqrestore
 * What interrupts were is kept for the CPU, not by the caller: the last section to end puts it back, and
 * sections may end in any order. A trylock that does not get the lock leaves no section.
 */
void spin_lock(spinlock_t *lock);
void spin_lock_bh(spinlock_t *lock);
void spin_lock_irq(spinlock_t *lock);
void spin_lock_irqsave(spinlock_t *lock);
bool spin_trylock(spinlock_t *lock);
bool spin_trylock_bh(spinlock_t *lock);
bool spin_trylock_irq(spinlock_t *lock);
bool spin_trylock_irqsave(spinlock_t *lock);
void spin_unlock(spinlock_t *lock);
void spin_unlock_bh(spinlock_t *lock);
void spin_unlock_irq(spinlock_t *lock);
void spin_unlock_irqrestore(spinlock_t *lock);

void read_lock(rwlock_t *lock);
void read_lock_bh(rwlock_t *lock);
void read_lock_irq(rwlock_t *lock);
void read_lock_irqsave(rwlock_t *lock);
bool read_trylock(rwlock_t *lock);
bool read_trylock_bh(rwlock_t *lock);
bool read_trylock_irq(rwlock_t *lock);
bool read_trylock_irqsave(rwlock_t *lock);
void read_unlock(rwlock_t *lock);
void read_unlock_bh(rwlock_t *lock);
void read_unlock_irq(rwlock_t *lock);
void read_unlock_irqrestore(rwlock_t *lock);

void write_lock(rwlock_t *lock);
void write_lock_bh(rwlock_t *lock);
void write_lock_irq(rwlock_t *lock);
void write_lock_irqsave(rwlock_t *lock);
bool write_trylock(rwlock_t *lock);
bool write_trylock_bh(rwlock_t *lock);
bool write_trylock_irq(rwlock_t *lock);
bool write_trylock_irqsave(rwlock_t *lock);
void write_unlock(rwlock_t *lock);
void write_unlock_bh(rwlock_t *lock);
void write_unlock_irq(rwlock_t *lock);
void write_unlock_irqrestore(rwlock_t *lock);

/* Whether somebody holds the lock, at this moment. */
bool spin_is_locked(const spinlock_t *lock);
/* How many sections of this CPU keep interrupts off. Only with interrupts off. */
uint32_t irq_sections(void);

/* The machine: what the program must define. */

enum { MACHINE_CPUS = 8 };

/* The number of the CPU that runs this: below MACHINE_CPUS, and of no other CPU. */
uint32_t machine_cpu(void);
/* Keep the code on its CPU, and bottom halves too. They nest. */
void machine_preempt_disable(void);
void machine_preempt_enable(void);
void machine_bh_disable(void);
void machine_bh_enable(void);
/* Turns interrupts off; what they were. And makes them what they were. */
size_t machine_irq_save(void);
void machine_irq_restore(size_t flags);
/* Whether the code that runs interrupted other code of its CPU. */
bool machine_in_interrupt(void);
/* Whether waiters should sleep, as somebody else decides when a CPU runs. The same for ever, from the
 * first time that one CPU waits for another. */
bool machine_is_virtual(void);
/* One turn of a loop that waits for another CPU. */
void machine_relax(void);
/* Sleeps until a kick of the same address, unless the word there is not `expected`. A kick after it was
 * compared counts. May return for no reason. Interrupts may be off. */
void machine_wait(const uint32_t *word, uint32_t expected);
/* Wakes who sleeps on the address, which is not read. Interrupts may be off. Takes no lock from here. */
void machine_kick(const uint32_t *word);
/* A full memory barrier on all CPUs, before it returns. If it cannot be had, machine_wait must end by
 * itself after a while. */
void machine_barrier_all(void);
/* The locks found that they are used in a way that cannot go on. Does not return. */
_Noreturn void machine_panic(void);

#endif
