//! A queued spinlock of four bytes, whose context is a type and whose unlock is one store.
//!
//! As long as nobody else comes, taking the lock is one exchange of a byte, and freeing it one store of
//! that byte. Those who wait do so in turn, each on a cache line of its own; the state table is in
//! `word.rs`. What a kernel's locks need beside this is here too: sections that keep bottom halves or
//! interrupts out, waiting that parks where a CPU may be taken away, and a choice for each operation
//! whether it is inlined.
//!
//! | | |
//! |---|---|
//! | [`SpinLock`], [`SpinGuard`] | a value behind a lock; [`lock`](SpinLock::lock), [`lock_bh`](SpinLock::lock_bh), [`lock_irq`](SpinLock::lock_irq), [`lock_irqsave`](SpinLock::lock_irqsave), and each as `try_` |
//! | [`RwLock`], [`ReadGuard`], [`WriteGuard`] | the same, read by many or written by one |
//! | [`Platform`] | the machine: its CPUs, what turns interrupts off, how a CPU waits. [`Std`] takes threads for CPUs |
//! | [`Context`] | what a guard keeps out, as a type |
//! | [`RawSpin`] | the kinds of lock: [`Queued`]; [`Ticket`] and [`TestAndSet`] to compare with; [`Checked`] watches any of them |
//!
//! # Guards and contexts
//!
//! A guard knows its context by type and has no state: which interrupts were on is kept with the CPU,
//! by the first section that turned them off, and put back by the last to end. So guards can be
//! dropped in any order. They are not `Send`.
//!
//! # Waiting
//!
//! On CPUs of their own, waiters spin, and the lock is fair: nobody is served before a waiter that
//! was to be seen when it came. On virtual CPUs, or threads, the one
//! whose turn it is may not be running. There waiters park after a while, and newcomers overtake those
//! who sleep, but not a head of the queue that is awake.
//!
//! # Paravirtual unlock
//!
//! Where waiters can park, whoever frees the lock must look whether one does. A platform says whether
//! it is compiled for that ([`Platform::PARAVIRT`]), and then, when it has started and knows what it
//! runs on, whether waiters do ([`Platform::parks`]), which only waiters ask:
//!
//! | `PARAVIRT` | `parks()` | waiters | an unlock is |
//! |---|---|---|---|
//! | `false` | not asked | spin, in turn | a store |
//! | `true` | `false` | spin, in turn | a store, a load and a branch that is never taken |
//! | `true` | `true` | park | the same; and a call, if the head of the queue sleeps |
//!
//! There is no fence between the store and the load: whoever goes to sleep orders the two for all CPUs
//! ([`Platform::barrier_all`]). The call behind the branch clears the sleeper's bit and asks the
//! platform to wake who sleeps on this address ([`Platform::kick`]), which in a kernel is a call of the
//! hypervisor. On x86-64 it preserves all general registers, whatever the platform does there, so that an
//! unlock costs the code around it none; vector registers, which a kernel's code seldom has, are taken
//! as changed.
//!
//! # Inline policy
//!
//! Inlined, an operation saves a call; out of line, it is in the program, and in the instruction cache,
//! once. Which is better depends on the program; docs/primitives.md has what was measured. Each operation is
//! inlined unless its feature is on:
//!
//! | operation | feature for one shared copy | inlined, x86-64 | aarch64 |
//! |---|---|---|---|
//! | lock | `outline-spin-lock` | compare-exchange, load, 2 branches | exchange, load, 2 branches |
//! | try_lock | `outline-spin-trylock` | 2 loads and branches, and that | the same |
//! | unlock | `outline-spin-unlock` | 1 store; paravirtual: and a load and a branch | the same |
//! | unlock_bh | `outline-spin-unlock-bh` | that, and the platform's `bh_enable` | the same |
//! | unlock_irq | `outline-spin-unlock-irq` | that, and a count of sections | the same |
//! | unlock_irqrestore | `outline-spin-unlock-irqrestore` | that, and a count of sections | the same |
//! | read | `outline-read-lock` | locked addition, 2 branches | addition, 1 branch |
//! | try_read | `outline-read-trylock` | a load and a branch, and that | the same |
//! | unlock_read | `outline-read-unlock` | locked subtraction; parking: and a branch | the same |
//! | write | `outline-write-lock` | 2 loads, compare-exchange, 3 branches | compare-exchange, 1 branch |
//! | try_write | `outline-write-trylock` | a load and a branch, and that | the same |
//! | unlock_write | `outline-write-unlock` | as a spinlock's unlock | the same |
//!
//! The unlocks of the read-write lock have their `-bh`, `-irq` and `-irqrestore` too.
//!
//! With `opt-level = "s"` or `"z"` the compiler may make an unlock that ends an interrupt section a
//! function all the same: what drops a guard is its own to inline, and is longer there than a call.
//!
//! Features of all crates in a program add up: one that asks for the shared copy decides. What waits is
//! out of line always.
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![expect(
    unsafe_code,
    reason = "a value behind a lock, queue nodes shared between CPUs, and inline assembly"
)]

#[cfg(not(target_has_atomic = "32"))]
compile_error!(
    "locks need atomic exchanges of 32 bits, which this target does not have: build for one that has"
);

mod checked;
mod checked_rw;
mod context;
#[cfg(feature = "refcount")]
mod counted;
#[cfg(all(feature = "lock_api", not(loom)))]
mod generic;
#[cfg(lock_host)]
mod host;
mod native;
mod node;
mod paravirt;
mod platform;
mod raw;
mod reference;
mod rw;
mod rw_copies;
mod rw_fast;
#[cfg(lock_asm)]
mod rw_parts;
mod rw_raw;
mod rw_slow;
mod rw_word;
mod spin;
#[doc(hidden)]
pub mod sync;
mod unlock;
mod word;

pub use checked::{Checked, Class, Handler, Mistake, Report, rearm, set_handler};
pub use context::{Bh, Context, ContextKind, Irq, IrqSave, Plain};
#[cfg(feature = "refcount")]
pub use counted::InContext;
#[cfg(all(feature = "lock_api", not(loom)))]
pub use generic::{RawMutex, RawRwLock};
#[cfg(lock_host)]
pub use host::{Std, StdNative};
pub use node::{LEVELS, Nodes};
pub use platform::{Cpu, Flags, IrqSections, Level, Platform};
pub use raw::{DefaultRaw, Queued, RawSpin, SpinCopies};
pub use reference::{TestAndSet, Ticket};
pub use rw::{ReadGuard, RwLock, WriteGuard};
pub use rw_copies::RwCopies;
pub use rw_raw::{DefaultRawRw, QueuedRw, RawRw, RwPlatform};
pub use spin::{SpinGuard, SpinLock};
