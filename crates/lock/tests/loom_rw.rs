//! The queued read-write lock under every interleaving and every permitted stale read, for two or
//! three CPUs: a writer is alone, and sees what those before it did; nobody waits for ever; a reader
//! does not overtake a writer that claims the lock. Run by `scripts/test-loom unlikely-lock`.
//!
//! The value is in a cell that panics at an access which nothing orders after one that excludes it.
//! Each defect that the models are there to find is planted in the lock itself, and must be found.
#![cfg(loom)]
#![expect(unsafe_code, reason = "the value is behind a cell that is checked by the model")]

mod model;

use std::cell::Cell;
use std::sync::Arc;

use lock::sync::Planted;
use lock::{RwCopies, RwLock, RwPlatform};
use loom::cell::UnsafeCell;
use model::*;

macro_rules! faults {
    ($($name:ident),*) => {
        $(
            /// The fault of this name.
            #[derive(Debug)]
            enum $name {}
            impl Fault for $name {
                const PLANTED: Planted = Planted::$name;
            }
        )*
    };
}
faults!(
    RwRelaxedRead,
    RwRelaxedReadClaim,
    RwRelaxedWrite,
    RwRelaxedWriteClaim,
    RwRelaxedReadUnlock,
    RwRelaxedWriteUnlock,
    RwRelaxedDowngrade,
    RwHeadIgnoresReaders,
    RwHeadLetsGo,
    RwOneStep,
    RwNoSecondLook,
    RwNoKickAtWriterStepBack,
    RwReaderIgnoresWaiting,
    RwNoKickAtReadUnlock,
    RwNoKickAtStepBack,
    RwNoKickAtWriteUnlock,
    RwNoKickAtDowngrade
);

loom::thread_local! {
    /// Whether the CPU runs an interrupt.
    static INTERRUPT: Cell<bool> = Cell::new(false);
}

impl<const PARAVIRT: bool, F: Fault> RwPlatform for Model<PARAVIRT, F> {
    fn in_interrupt() -> bool {
        INTERRUPT.with(Cell::get)
    }
}

// SAFETY: the macro writes them.
unsafe impl<const PARAVIRT: bool, F: Fault> RwCopies for Model<PARAVIRT, F> {
    lock::rw_copies!(@functions);
}

#[derive(Default)]
struct Value(UnsafeCell<u32>);

// SAFETY: the cell checks each access.
unsafe impl Sync for Value {}

impl Value {
    fn get(&self) -> u32 {
        // SAFETY: the lock is held to read; the cell checks it.
        self.0.with(|value| unsafe { *value })
    }

    fn add(&self) -> u32 {
        // SAFETY: the lock is held to write; the cell checks it.
        self.0.with_mut(|value| unsafe {
            *value += 1;
            *value
        })
    }
}

type Checked<P> = RwLock<Value, P>;

/// What a CPU does with the lock.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Read,
    Write,
    /// Writes, and goes on reading.
    Downgrade,
    /// Reads; an interrupt comes that reads too.
    ReadInterrupted,
    /// Reads, and again meanwhile, with nothing that tells the lock of it.
    ReadTwice,
    TryRead,
    TryWrite,
}
use Does::*;

impl Does {
    /// Does it; how much was added.
    fn run<P: RwCopies>(self, lock: &Checked<P>) -> u32 {
        match self {
            Read => {
                lock.read().get();
            }
            Write => return lock.write().add().min(1),
            Downgrade => {
                let value = lock.write();
                let written = value.add();
                assert_eq!(value.downgrade().get(), written);
                return 1;
            }
            ReadInterrupted | ReadTwice => {
                let outer = lock.read();
                INTERRUPT.with(|now| now.set(self == ReadInterrupted));
                lock.read().get();
                INTERRUPT.with(|now| now.set(false));
                outer.get();
            }
            TryRead => {
                let _ = lock.try_read().map(|value| value.get());
            }
            TryWrite => return lock.try_write().map_or(0, |value| value.add().min(1)),
        }
        0
    }
}

/// CPUs that do so at the same time, in every order of at most so many preemptions.
fn together<P: RwCopies>(all: &'static [Does], preemptions: usize) {
    explore(all.len() as u16, preemptions, move || {
        let lock = Arc::new(Checked::<P>::default());
        // Not loom's, as it must not order anything.
        let added = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let others = (1..all.len())
            .map(|cpu| {
                let (lock, added) = (Arc::clone(&lock), Arc::clone(&added));
                on_cpu(cpu as u16, move || {
                    added.fetch_add(all[cpu].run(&lock), relaxed);
                })
            })
            .collect();
        added.fetch_add(all[0].run(&lock), relaxed);
        end(others);
        assert!(!lock.is_locked());
        assert_eq!(lock.try_write().expect("free").get(), added.load(relaxed));
    });
}

macro_rules! hold {
    ($($native:ident, $paravirt:ident$(<$form:ident>)?: $all:expr, $preemptions:literal;)*) => {
        $(
            #[test]
            fn $native() {
                together::<Native$(<$form>)?>(&$all, $preemptions);
            }

            #[test]
            fn $paravirt() {
                together::<Paravirt$(<$form>)?>(&$all, $preemptions);
            }
        )*
    };
}
hold! {
    two_write_native, two_write_paravirtual: [Write, Write], 5;
    one_reads_one_writes_native, one_reads_one_writes_paravirtual: [Read, Write], 5;
    one_reads_two_write_native, one_reads_two_write_paravirtual: [Read, Write, Write], 2;
    two_read_one_writes_native, two_read_one_writes_paravirtual: [Read, Write, Read], 2;
    a_downgrade_native, a_downgrade_paravirtual: [Downgrade, Read, Write], 1;
    a_downgrade_and_a_reader_native, a_downgrade_and_a_reader_paravirtual: [Downgrade, Read], 3;
    a_downgrade_and_a_writer_native, a_downgrade_and_a_writer_paravirtual: [Downgrade, Write], 3;
    those_who_try_native, those_who_try_paravirtual: [TryWrite, TryRead, Write], 2;
    one_who_tries_and_readers_native, one_who_tries_and_readers_paravirtual: [Read, TryRead, Write], 3;
    in_one_step_native, in_one_step_paravirtual<RwOneStep>: [Write, Write], 5;
    in_one_step_beside_readers_native, in_one_step_beside_readers_paravirtual<RwOneStep>:
        [Read, Write, Write], 2;
    an_interrupts_reader_native, an_interrupts_reader_paravirtual: [ReadInterrupted, Write], 5;
}

/// Compiled so that waiters can park, on a machine where they do not.
#[test]
fn a_switched_lock() {
    together::<Switched>(&[Read, Write], 5);
    together::<Switched>(&[Write, Write], 5);
    together::<Switched>(&[Downgrade, Write], 3);
    together::<Switched>(&[Read, Write, Write], 1);
}

/// Who comes when a writer claims the lock reads what that writer wrote.
fn in_turn<P: RwCopies>() {
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let seen = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let saw = Arc::clone(&seen);
    explore(3, 3, move || {
        let lock = Arc::new(Checked::<P>::default());
        let reader = lock.read();
        let writer = Arc::clone(&lock);
        let late = Arc::clone(&lock);
        let saw = Arc::clone(&saw);
        let others = vec![
            on_cpu(1, move || {
                writer.write().add();
            }),
            on_cpu(2, move || {
                let claimed = late.raw().is_claimed();
                saw.fetch_or(claimed, relaxed);
                assert!(late.read().get() == 1 || !claimed, "overtaken");
            }),
        ];
        drop(reader);
        end(others);
    });
    assert!(seen.load(relaxed), "no order in which the claim is seen");
}

#[test]
fn readers_do_not_overtake_a_claiming_writer() {
    in_turn::<Native>();
}

#[test]
#[should_panic(expected = "overtaken")]
fn a_reader_that_overtakes_a_claiming_writer_is_found() {
    in_turn::<Native<RwReaderIgnoresWaiting>>();
}

/// A writer and then a reader, or a reader and then a writer, come while a third CPU writes: the first
/// is the head of the queue, and the second is seen behind it.
fn serve_the_queue_in_turn<P: RwCopies>(reader_first: bool) {
    explore(3, 2, move || {
        let lock = Arc::new(Checked::<P>::default());
        let held = lock.write();
        held.add();
        let come = |cpu, reads: bool| {
            let lock = Arc::clone(&lock);
            on_cpu(cpu, move || {
                if reads {
                    assert_eq!(lock.read().get(), u32::from(cpu), "out of turn");
                } else {
                    lock.write().add();
                }
            })
        };
        let first = come(1, reader_first);
        while !lock.raw().has_head() {
            P::relax();
        }
        let second = come(2, !reader_first);
        while !lock.raw().has_queue() && !P::PLANTED.eq(&Planted::RwHeadLetsGo) {
            P::relax();
        }
        drop(held);
        end(vec![first, second]);
        assert_eq!(lock.read().get(), 2);
    });
}

#[test]
fn the_native_lock_serves_its_queue_in_turn() {
    serve_the_queue_in_turn::<Native>(false);
    serve_the_queue_in_turn::<Native>(true);
}

#[test]
#[should_panic(expected = "out of turn")]
fn a_queue_that_is_let_go_before_the_head_is_served_is_found() {
    serve_the_queue_in_turn::<Native<RwHeadLetsGo>>(false);
}

/// Planted defects, what finds them, and how it shows.
macro_rules! found {
    ($($name:ident: $machine:ident<$fault:ident>, $all:expr, $preemptions:literal, $shows:literal;)*) => {
        $(
            #[test]
            #[should_panic(expected = $shows)]
            fn $name() {
                together::<$machine<$fault>>(&$all, $preemptions);
            }
        )*
    };
}
found! {
    a_reader_that_does_not_acquire_is_found:
        Native<RwRelaxedRead>, [Read, Write], 2, "Causality violation";
    a_waiting_reader_that_does_not_acquire_is_found:
        Native<RwRelaxedReadClaim>, [Read, Write], 2, "Causality violation";
    a_writer_that_does_not_acquire_is_found:
        Native<RwRelaxedWrite>, [Write, Write], 2, "Causality violation";
    a_waiting_writer_that_does_not_acquire_is_found:
        Native<RwRelaxedWriteClaim>, [Write, Write], 2, "Causality violation";
    a_reader_that_does_not_release_is_found:
        Native<RwRelaxedReadUnlock>, [Read, Write], 2, "Causality violation";
    a_writer_that_does_not_release_is_found:
        Native<RwRelaxedWriteUnlock>, [Read, Write], 2, "Causality violation";
    a_downgrade_that_does_not_release_is_found:
        Native<RwRelaxedDowngrade>, [Downgrade, Read], 2, "Causality violation";
    a_writer_that_ignores_readers_is_found:
        Native<RwHeadIgnoresReaders>, [Read, Write], 2, "Causality violation";
    a_writer_that_does_not_look_again_is_found:
        Native<RwNoSecondLook>, [Read, Write], 2, "Causality violation";
    a_missing_kick_by_a_writer_that_steps_back_is_found:
        Paravirt<RwNoKickAtWriterStepBack>, [Read, Write, Write], 3, "deadlock";
    a_missing_kick_by_the_last_reader_is_found:
        Paravirt<RwNoKickAtReadUnlock>, [Read, Write], 2, "deadlock";
    a_missing_kick_by_a_reader_that_steps_back_is_found:
        Paravirt<RwNoKickAtStepBack>, [Read, Write, Read], 3, "deadlock";
    a_missing_kick_by_the_writer_is_found:
        Paravirt<RwNoKickAtWriteUnlock>, [Read, Write], 2, "deadlock";
    a_missing_kick_by_a_downgrade_is_found:
        Paravirt<RwNoKickAtDowngrade>, [Downgrade, Read], 2, "deadlock";
    an_interrupts_reader_that_queues_is_found:
        Paravirt<Nothing>, [ReadTwice, Write], 2, "deadlock";
}
