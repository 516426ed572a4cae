//! What a lock costs beside others: alone, with two threads contending, and with more threads than CPUs.
//!
//! Each operation takes the lock, changes or reads a number behind it, and gives the lock back. Alone,
//! the baseline is what no lock can do without: a swap and a store. With two threads it is the fairest
//! peer, a ticket lock, since a lock that lets whoever has it take it again is faster for being unfair.
//! With eight it is `parking_lot`; those that only spin, in turn, are left out there, as each hand-over
//! would take a time slice.
//!
//! Threads that contend take their operations from one stock, so that none works alone after a faster
//! one is done; how many each got says how evenly the lock serves.
//!
//! The first arm of each comparison stands there a second time, as what this machine shows of no
//! difference.

mod exclusive;
mod shared;

use experiments::{Arm, Bar, Comparison, Experiment, Source};

/// The experiment, for its binary and whoever else runs it.
#[must_use]
pub fn source() -> Source {
    Source { name: "lock", builds: Vec::new(), make: |_| Ok(experiment()) }
}

/// All that is measured.
fn experiment() -> Experiment {
    let bar = |arm: &str, at_most| Bar { arm: arm.to_owned(), at_most };
    let native = exclusive::OURS_NATIVE;
    let parks = exclusive::OURS;
    let contended = || vec![bar(native, 1.0), bar(parks, 1.0)];
    let and_work = "lock and unlock, and some 30 ns of work";
    let exclusive = [
        ("lock", "lock and unlock", 1, exclusive::alone(), vec![bar(native, 1.03)]),
        ("lock", "lock and unlock", 2, exclusive::contended::<0>(), contended()),
        ("work", and_work, 2, exclusive::contended::<48>(), contended()),
        // Four fifths of the throughput.
        ("lock", "lock and unlock", 8, exclusive::overcommitted(), vec![bar(parks, 1.25)]),
    ];
    let mut comparisons: Vec<_> = exclusive
        .into_iter()
        .map(|(name, operation, threads, arms, bars)| {
            comparison(name, operation, threads, arms, bars)
        })
        .collect();
    for threads in [1, 2] {
        let bars = if threads == 1 { vec![bar(shared::OURS_NATIVE, 1.0)] } else { Vec::new() };
        comparisons.push(comparison(
            "read",
            "read lock and unlock",
            threads,
            shared::reads(),
            bars,
        ));
    }
    for threads in [1, 2, 8] {
        let arms = if threads > 2 { shared::overcommitted() } else { shared::mixed() };
        let operation = "7 read locks and one write lock";
        comparisons.push(comparison("mixed", operation, threads, arms, Vec::new()));
    }
    Experiment {
        name: "lock".to_owned(),
        title: "what a lock costs beside others".to_owned(),
        comparisons,
        listings: Vec::new(),
    }
}

fn comparison(
    name: &str,
    operation: &str,
    threads: u32,
    arms: Vec<Arm>,
    bars: Vec<Bar>,
) -> Comparison {
    let title = match threads {
        1 => "alone".to_owned(),
        2 => "two threads contending".to_owned(),
        more => format!("{more} threads, which may be more than there are CPUs"),
    };
    Comparison {
        name: format!("{name}-{threads}"),
        title: format!("{operation}, {title}"),
        operation: operation.to_owned(),
        threads,
        inner_threads: 1,
        operations_max: 1 << 40,
        arms,
        bars,
        published: Vec::new(),
        code: None,
        by_default: true,
    }
}

/// An arm of one copy for each place; `$work` is an expression in which `$at` is the place.
macro_rules! at_each_place {
    ($name:expr, $at:ident => $work:expr) => {{
        const _: () = assert!(experiments::PLACES == 4);
        let mut copies: Vec<Box<dyn experiments::Work>> = Vec::new();
        at_each_place!(@ copies, $at => $work, 0, 1, 2, 3);
        experiments::Arm::new($name, copies)
    }};
    (@ $copies:ident, $at:ident => $work:expr, $($place:literal),*) => {
        $({
            const $at: u32 = $place;
            $copies.push(Box::new($work));
        })*
    };
}
pub(crate) use at_each_place;
