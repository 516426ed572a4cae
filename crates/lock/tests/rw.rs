//! What a read-write lock promises, on threads as CPUs.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]
#![expect(unsafe_code, reason = "ends to read without guards")]

use std::panic::AssertUnwindSafe;
use std::sync::Barrier;
use std::thread;

use lock::{Bh, Context, Irq, IrqSave, Plain, Platform, QueuedRw, RawRw, RwLock, Std, StdNative};

type Native = RwLock<u64, StdNative>;

/// Threads change a pair of numbers together, and read it twice between; whether they always find the
/// two equal, and nothing is lost. Every third change goes on as a reader, who must find it as it was.
fn excludes<P: Platform, R: RawRw<P>, C: Context>(threads: u64, rounds: u64) -> bool {
    let pair = RwLock::<(u64, u64), P, R>::new((0, 0));
    let start = Barrier::new(threads as usize);
    let work = || {
        start.wait();
        (0..rounds).all(|round| {
            let mut writer = pair.write_in::<C>();
            let mut equal = writer.0 == writer.1;
            writer.0 = std::hint::black_box(writer.0 + 1);
            writer.1 += 1;
            let written = writer.0;
            if round % 3 == 0 {
                equal &= *writer.downgrade() == (written, written);
            } else {
                drop(writer);
            }
            equal
                && (0..2).all(|_| {
                    let reader = pair.read_in::<C>();
                    reader.0 == reader.1 && reader.0 >= written
                })
        })
    };
    let equal = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|w| w.join().expect("no panic")).fold(true, |all, one| all & one)
    });
    equal && pair.into_inner() == (threads * rounds, threads * rounds)
}

fn excludes_in_every_context<P: Platform>(threads: u64, rounds: u64)
where
    QueuedRw: RawRw<P>,
{
    assert!(excludes::<P, QueuedRw, Plain>(threads, rounds));
    assert!(excludes::<P, QueuedRw, Bh>(threads, rounds));
    assert!(excludes::<P, QueuedRw, Irq>(threads, rounds / 10));
    assert!(excludes::<P, QueuedRw, IrqSave>(threads, rounds / 10));
}

#[test]
fn a_writer_is_alone() {
    excludes_in_every_context::<Std>(2, 30_000);
    // Where two threads share a CPU, each hand-over takes a time slice.
    excludes_in_every_context::<StdNative>(2, 1_000);
}

#[test]
fn more_threads_than_cpus_get_through() {
    excludes_in_every_context::<Std>(8, 10_000);
}

#[test]
fn eight_bytes() {
    assert_eq!(size_of::<QueuedRw>(), 8);
}

#[test]
fn readers_read_together_and_a_writer_is_kept_out_meanwhile() {
    let lock = Native::new(7);
    let (one, two) = (lock.read(), lock.read_irqsave());
    assert_eq!((*one, *two), (7, 7));
    assert!(lock.try_write().is_none() && lock.is_locked() && !lock.is_written());
    drop(one);
    assert!(lock.try_write().is_none());
    drop(two);
    *lock.try_write().expect("free") = 8;
    assert_eq!(*lock.try_read().expect("free"), 8);
    assert!(!lock.is_locked());
}

#[test]
fn a_writer_keeps_everybody_out_until_it_reads() {
    let lock = Native::new(7);
    let writer = lock.write();
    assert!(lock.try_read().is_none() && lock.try_write().is_none() && lock.is_written());
    let reader = writer.downgrade();
    assert!(lock.try_read_bh().is_some() && lock.try_write().is_none());
    drop(reader);
    assert!(lock.try_write_irq().is_some());
}

#[test]
fn one_who_was_refused_leaves_nothing_behind() {
    let lock = Native::new(7);
    let writer = lock.write_bh();
    assert_eq!(StdNative::bh_depth(), 1);
    assert!(lock.try_read_bh().is_none() && lock.try_write_bh().is_none());
    assert_eq!(StdNative::bh_depth(), 1);
    drop(writer);
    assert_eq!(StdNative::bh_depth(), 0);
    assert!(!lock.is_locked());
}

/// Runs `meanwhile` while this thread reads and another claims the lock to write; that one must get
/// through afterwards.
fn while_a_writer_waits<P: Platform>(meanwhile: impl FnOnce(&RwLock<u64, P, QueuedRw>))
where
    QueuedRw: RawRw<P>,
{
    let lock = RwLock::<u64, P, QueuedRw>::new(0);
    thread::scope(|scope| {
        let reader = lock.read();
        let writer = scope.spawn(|| *lock.write() = 1);
        // From then on, newcomers are turned away.
        while lock.try_read().is_some() {
            thread::yield_now();
        }
        meanwhile(&lock);
        assert_eq!(*reader, 0);
        drop(reader);
        writer.join().expect("no panic");
    });
    assert_eq!(lock.into_inner(), 1);
}

#[test]
fn a_reader_does_not_overtake_a_waiting_writer() {
    while_a_writer_waits::<StdNative>(|lock| {
        thread::scope(|scope| {
            // It would wait for this thread if it were not asked at once.
            assert!(scope.spawn(|| lock.try_read().is_none()).join().expect("no panic"));
        });
    });
    // Who waits reads what the writer wrote before.
    let lock = Native::new(0);
    thread::scope(|scope| {
        let reader = lock.read();
        let writer = scope.spawn(|| *lock.write() = 1);
        while lock.try_read().is_some() {
            thread::yield_now();
        }
        let late = scope.spawn(|| *lock.read());
        drop(reader);
        assert_eq!(late.join().expect("no panic"), 1);
        writer.join().expect("no panic");
    });
}

#[test]
fn a_handlers_reader_overtakes_a_writer_who_waits_for_what_it_interrupted() {
    while_a_writer_waits::<StdNative>(|lock| assert_eq!(StdNative::interrupt(|| *lock.read()), 0));
    while_a_writer_waits::<Std>(|lock| assert_eq!(Std::interrupt(|| *lock.read()), 0));
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    let (one, two) = (Native::new(1), Native::new(2));
    let outer = one.read_bh();
    let inner = two.write_bh();
    drop(outer);
    assert_eq!(StdNative::bh_depth(), 1);
    assert!(!one.is_locked() && two.is_written());
    drop(inner);
    assert_eq!(StdNative::bh_depth(), 0);
}

#[test]
fn leaked_readers_do_not_come_round_to_none() {
    let lock = Native::new(0);
    for _ in 0..(1 << 20) - 1 {
        std::mem::forget(lock.read());
    }
    assert!(lock.try_read().is_none() && lock.try_write().is_none());
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| drop(lock.read_bh())));
    assert_eq!(StdNative::bh_depth(), 0, "the section ended");
    let why = refused.expect_err("there are too many");
    assert!(why.downcast_ref::<String>().is_some_and(|why| why.contains("1048575 readers")));
    assert!(lock.try_write().is_none());
}

/// A refused reader panics even where it would have to queue behind a writer who waits for the leaked
/// ones, and is counted no longer, whether or not it is an interrupt.
#[test]
fn a_refused_reader_does_not_wait_and_leaves_nothing_behind() {
    const MOST: u32 = (1 << 20) - 1;
    let lock = QueuedRw::new();
    let is_refused = || {
        let read = std::panic::catch_unwind(AssertUnwindSafe(|| RawRw::<Std>::read(&lock)));
        read.is_err()
    };
    (1..MOST).for_each(|_| RawRw::<Std>::read(&lock));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            RawRw::<Std>::write(&lock);
            // SAFETY: it is written.
            unsafe { RawRw::<Std>::unlock_write(&lock) };
        });
        while RawRw::<Std>::try_read(&lock) {
            // SAFETY: it is read.
            unsafe { RawRw::<Std>::unlock_read(&lock) };
            thread::yield_now();
        }
        // The last place, which only an interrupt's reader gets beside a claim.
        Std::interrupt(|| RawRw::<Std>::read(&lock));
        assert!(is_refused() && Std::interrupt(is_refused));
        // SAFETY: each was read above.
        (0..MOST).for_each(|_| unsafe { RawRw::<Std>::unlock_read(&lock) });
        writer.join().expect("no panic");
    });
    assert!(!RawRw::<Std>::is_locked(&lock));
}
