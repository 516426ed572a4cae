//! More classes than can be watched: the first are, and the rest are as if they had no class. In a
//! program of its own, as numbers are not given back.
#![cfg(all(target_os = "linux", target_pointer_width = "64", not(loom)))]

use std::sync::atomic::{AtomicU32, Ordering};

use lock::{Checked, Class, Queued, SpinLock, Std, rearm, set_handler};

static REPORTS: AtomicU32 = AtomicU32::new(0);

fn reports() -> u32 {
    rearm();
    REPORTS.swap(0, Ordering::Relaxed)
}

#[test]
fn the_first_classes_are_watched() {
    set_handler(|_| {
        REPORTS.fetch_add(1, Ordering::Relaxed);
    });
    let locks: Vec<SpinLock<(), Std, _>> = (0..600)
        .map(|_| {
            let class = Box::leak(Box::new(Class::new("one of many")));
            SpinLock::with_raw((), Checked::new(Queued::new(), Some(class)))
        })
        .collect();
    for (before, after) in locks.iter().zip(&locks[1..]) {
        drop((before.lock(), after.lock()));
    }
    assert_eq!(reports(), 0);
    // Over all that are watched in between.
    drop((locks[254].lock(), locks[0].lock()));
    assert_eq!(reports(), 1);
    drop((locks[599].lock(), locks[255].lock()));
    drop((locks[255].lock(), locks[0].lock()));
    assert_eq!(reports(), 0);
}
