//! What chooses between the two kinds of atomics of aarch64.
//!
//! One test, since the choice belongs to the whole program.
#![cfg(target_arch = "aarch64")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use refcount::{Counter, Fast, set_lse_probe, uses_lse};

/// The kernel's word, by a way the library does not go.
fn kernel_says_lse() -> bool {
    let vector = std::fs::read("/proc/self/auxv").expect("Linux");
    let words: Vec<u64> =
        vector.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().expect("eight"))).collect();
    let entry = words.chunks_exact(2).find(|entry| entry[0] == 16).expect("AT_HWCAP");
    entry[1] & (1 << 8) != 0
}

/// Four threads take and drop references while `meanwhile` runs; the count comes out right.
fn count_while(meanwhile: impl Fn() + Sync) {
    let counter = Counter::<Fast, u32>::new(1);
    let done = AtomicBool::new(false);
    // Without it one is done before the next begins.
    let start = Barrier::new(4);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..50_000 {
                        counter.inc();
                        assert!(counter.inc_not_zero());
                        counter.dec();
                        assert!(!counter.dec_and_test());
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                meanwhile();
            }
        });
        let all: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(all.iter().all(Result::is_ok), "a worker failed");
    });
    assert_eq!(counter.read(), 1);
    assert!(counter.dec_and_test());
}

#[test]
fn the_cpu_decides_and_a_probe_overrules() {
    let has = kernel_says_lse();
    // The first operation asks, if there is a system to ask; what it counts is counted.
    let expected = if cfg!(feature = "std") { has } else { cfg!(target_feature = "lse") };
    let first = Counter::<Fast, u64>::new(1);
    first.inc();
    assert_eq!((first.read(), uses_lse()), (2, expected));
    count_while(|| ());

    set_lse_probe(|| false);
    assert!(!uses_lse());
    count_while(|| ());

    set_lse_probe(kernel_says_lse);
    assert_eq!(uses_lse(), has);
    // Both ways at once on one counter, as while the choice is being made.
    count_while(|| {
        set_lse_probe(|| false);
        set_lse_probe(kernel_says_lse);
    });
}
