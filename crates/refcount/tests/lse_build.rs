//! A build for `target-feature=+lse` that runs on a CPU without LSE counts, and reports.
//!
//! A program of its own: the test harness has threads and channels, whose atomics the compiler makes
//! by the flags of the build, and would die of them. `scripts/test` builds it so and runs it on a
//! Cortex-A53; elsewhere it is one more test of the same.

use std::sync::atomic::{AtomicU32, Ordering};

use refcount::{Backend, Counter, DefaultBackend, Word, rearm, set_handler};

/// Reports since the start; loaded and stored, since adding is what is not to be relied on here.
static REPORTS: AtomicU32 = AtomicU32::new(0);

fn behave<W: Word>(at: impl Fn(W) -> Counter<DefaultBackend, W>, values: [W; 3])
where
    DefaultBackend: Backend<W>,
{
    let [two, seven, eight] = values;
    let is = |counter: &Counter<DefaultBackend, W>, n: W| assert_eq!(counter.read(), n);

    let counter = at(W::ONE);
    counter.inc();
    is(&counter, two);
    counter.dec();
    counter.add(seven);
    is(&counter, eight);
    assert!(!counter.sub_and_test(seven));
    assert!(counter.inc_not_zero() && counter.dec_not_one());
    assert!(counter.dec_and_test());
    assert!(!counter.inc_not_zero_acquire() && !counter.dec_if_one());
    is(&counter, W::ZERO);

    // Each kind of fault: what reports it must do without LSE as well.
    let faults: [fn(&Counter<DefaultBackend, W>); 5] = [
        |c| c.inc(),
        |c| c.dec(),
        |c| assert!(!c.dec_and_test()),
        |c| {
            assert!({
                c.set(W::MAX);
                c.inc_not_zero()
            })
        },
        |c| {
            c.set(W::MAX);
            c.inc()
        },
    ];
    for fault in faults {
        let counter = at(W::ZERO);
        fault(&counter);
        is(&counter, W::SATURATED);
    }
}

fn main() {
    let built_for_lse = cfg!(target_feature = "lse");
    #[cfg(target_arch = "aarch64")]
    println!("built for LSE: {built_for_lse}, used: {}", refcount::uses_lse());
    #[cfg(not(target_arch = "aarch64"))]
    assert!(!built_for_lse);

    behave(Counter::<_, u32>::new, [2, 7, 8]);
    behave(Counter::<_, u64>::new, [2, 7, 8]);
    // The reports so far went to standard error. Again each kind comes once, from either width.
    rearm();
    set_handler(|_| REPORTS.store(REPORTS.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
    behave(Counter::<_, u32>::new, [2, 7, 8]);
    behave(Counter::<_, u64>::new, [2, 7, 8]);
    assert_eq!(REPORTS.load(Ordering::Relaxed), 5);
    println!("counts and reports: ok");
}
