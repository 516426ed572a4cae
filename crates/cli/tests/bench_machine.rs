//! `--require quiet` and `--tune-machine`: a machine that is not fit to measure, and one that has
//! nothing to change. Apart from the other tests, whose work would be in its way.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::Bench;

/// Runs `test` while this process keeps every CPU busy.
fn loud<T>(test: impl FnOnce() -> T) -> T {
    /// Sets it however the test ends, or the others would spin for ever.
    struct Stop<'s>(&'s AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = AtomicBool::new(false);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        // Several for each, so that it is the busiest of all whatever else runs.
        for _ in 0..8 * cpus {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _stop = Stop(&stop);
        test()
    })
}

#[test]
fn a_loud_machine_is_refused_and_the_busiest_is_named() {
    let bench = Bench::new();
    let quiet = ["--a", "sh arm a 1", "--b", "sh arm b 1", "--require", "quiet"];
    let (said, waited) = loud(|| {
        let said = bench.refused(7, &quiet);
        let begun = Instant::now();
        bench.refused(7, &[&quiet[..], &["--wait", "2"]].concat());
        (said, begun.elapsed())
    });
    assert!(said.contains("--require quiet: this machine is loud"), "{said}");
    assert!(said.contains(&format!("(process {})", std::process::id())), "{said}");
    assert!(said.contains("--wait SECONDS"), "what to do: {said}");
    assert!(waited >= Duration::from_secs(2), "{waited:?}");
    assert_eq!(bench.runs_of("a"), 0, "nothing has run");
    // The same of a project, before it is looked at.
    let said = loud(|| bench.refused(7, &["--require", "quiet"]));
    assert!(said.contains("this machine is loud"), "{said}");
}

#[test]
fn waiting_is_for_a_requirement_and_there_is_one() {
    let bench = Bench::new();
    let compare = ["--a", "true", "--b", "true"];
    let refused = |more: &[&str]| bench.refused(2, &[&compare[..], more].concat());
    assert!(refused(&["--wait", "3"]).contains("--require"));
    assert!(refused(&["--require", "loud"]).contains("possible values: quiet"));
}

#[test]
fn tuning_says_what_it_changes_or_that_there_is_nothing() {
    let bench = Bench::new();
    let args = ["--a", "sh arm a 1 2", "--b", "sh arm b 1 2", "--blocks", "2", "--tune-machine"];
    let (code, _, err) = bench.run(&args);
    // Where this user may change settings it has named them, and has put them back.
    let said = ["nothing to change on this machine", "changed until the end", "not changed: "];
    assert!(code <= 1 && said.iter().any(|part| err.contains(part)), "{code}: {err}");
    assert!(bench.runs_of("a") > 0, "it measures all the same");
}
