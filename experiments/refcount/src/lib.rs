//! What a saturating counter costs beside an unchecked one.
//!
//! The patch that this repeats was measured with a pair of loops: increments from one up to a count,
//! then decrements, each of which asks whether it was the last, down to zero. Here the count is what
//! fills some milliseconds, the backends of `unlikely-refcount` stand side by side, and `plain`, which
//! does not check, is the baseline; in `patch` it is what the patch replaced. The same with two threads
//! on one counter, and beside it what programs see of all this: cloning and dropping an `Arc`.
//!
//! `plain` stands among the arms a second time. It is the same code, so its ratio is what this
//! machine shows of no difference at all.

mod clones;
mod code;
mod pair;

use experiments::{Arm, Bar, Comparison, Experiment, Published, Source};
use refcount::{Backend, DefaultBackend};

/// What the checked backends may cost at most, and `Arc` beside that of std.
const CHECK_AT_MOST: f64 = 1.02;
const ARC_AT_MOST: f64 = 1.05;

/// The experiment, for its binary and whoever else runs it.
#[must_use]
pub fn source() -> Source {
    Source { name: "refcount", builds: Vec::new(), make: |_| Ok(experiment()) }
}

/// All that is measured.
fn experiment() -> Experiment {
    let mut comparisons = Vec::new();
    for threads in [1, 2] {
        let one = |name: &str, arms, operations_max, by_default| Comparison {
            name: format!("{name}-{threads}"),
            title: format!("a counter of {name}, {}", contention(threads)),
            operation: "increment and decrement".to_owned(),
            threads,
            inner_threads: 1,
            operations_max,
            arms,
            bars: bars(),
            published: if threads == 1 { published() } else { Vec::new() },
            code: None,
            by_default,
        };
        // Half of the range, as two threads count together.
        comparisons.push(one("u32", pair::arms_u32(), 1 << 29, true));
        comparisons.push(one("u64", pair::arms_u64(), 1 << 40, false));
        comparisons.push(arc(threads));
        comparisons.push(patch(threads));
    }
    Experiment {
        name: "refcount".to_owned(),
        title: "what a reference counter's check costs".to_owned(),
        comparisons,
        listings: code::listings(),
    }
}

fn contention(threads: u32) -> &'static str {
    if threads == 1 { "one thread" } else { "two threads contending for it" }
}

fn arc(threads: u32) -> Comparison {
    let bar = Bar { arm: clones::OURS.to_owned(), at_most: ARC_AT_MOST };
    Comparison {
        name: format!("arc-{threads}"),
        title: format!("an Arc, {}", contention(threads)),
        operation: "clone and drop".to_owned(),
        threads,
        inner_threads: 1,
        operations_max: 1 << 40,
        arms: clones::arms(),
        bars: vec![bar],
        published: Vec::new(),
        code: None,
        by_default: true,
    }
}

/// What the patch changed: from the loop of compare-exchange to arithmetic with a branch.
fn patch(threads: u32) -> Comparison {
    Comparison {
        name: format!("patch-{threads}"),
        title: format!("the check as the patch found and left it, {}", contention(threads)),
        operation: "increment and decrement".to_owned(),
        threads,
        inner_threads: 1,
        // Half of the range, as two threads count together.
        operations_max: 1 << 29,
        arms: pair::arms_patch(),
        bars: Vec::new(),
        published: Vec::new(),
        code: Some(("inc, full".to_owned(), format!("inc, {CHECKED}"))),
        by_default: false,
    }
}

/// The backend that stands for what the patch put there.
const CHECKED: &str =
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) { "fast" } else { "fetch" };

/// Asked of `fast`, where there is one, and of what the crate takes by default.
fn bars() -> Vec<Bar> {
    let mut names = vec![<DefaultBackend as Backend<u32>>::NAME];
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && !names.contains(&"fast") {
        names.push("fast");
    }
    let bar = |name: &str| Bar { arm: name.to_owned(), at_most: CHECK_AT_MOST };
    names.into_iter().map(bar).collect()
}

/// Figures of the patches, as they were printed: cycles or seconds of the whole pair.
fn published() -> Vec<Published> {
    let arm64 = "arm64 asm, ThunderX2, v5 of the patch, 2019";
    let x86 = "x86 asm, 2017";
    let generic = "generic, arm64, 5.5 series, 2019";
    let generic_x86 = "generic, x86, 5.5 series, 2019";
    [
        (arm64, "fast", 116.252_672_661, 127.060_259_162, "G cycles"),
        (arm64, "full", 116.252_672_661, 191.057_942_484, "G cycles"),
        (x86, "fast", 82.249, 82.211, "G cycles"),
        (x86, "full", 82.249, 144.815, "G cycles"),
        (generic, "fetch", 46.50, 48.72, "s"),
        (generic, "full", 46.50, 77.58, "s"),
        (generic_x86, "fetch", 31.62, 31.74, "s"),
        (generic_x86, "full", 31.62, 53.20, "s"),
    ]
    .map(|(source, arm, baseline, value, unit)| Published {
        source: source.to_owned(),
        arm: arm.to_owned(),
        baseline,
        value,
        unit: unit.to_owned(),
    })
    .into()
}

/// An arm of one copy for each place; `$work` is an expression in which `$at` is the place.
macro_rules! at_each_place {
    ($name:expr, $at:ident => $work:expr) => {{
        const _: () = assert!(experiments::PLACES == 4);
        let mut copies: Vec<Box<dyn experiments::Work>> = Vec::new();
        at_each_place!(@ copies, $at => $work, 0, 1, 2, 3);
        $crate::Arm::new($name, copies)
    }};
    (@ $copies:ident, $at:ident => $work:expr, $($place:literal),*) => {
        $({
            const $at: u32 = $place;
            experiments::scatter();
            $copies.push(Box::new($work));
        })*
    };
}
pub(crate) use at_each_place;
