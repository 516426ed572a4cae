//! What a check costs, read from the machine code of both instruction sets.
//!
//! The compilers for both are on the x86-64 machine that builds; elsewhere there is nothing to run.
#![cfg(target_arch = "x86_64")]

use std::fmt::Write as _;
use std::sync::LazyLock;

use unlikely_asmcheck::{Asm, Function, Probe, Shape, Target};

/// Each operation, its call, what that returns, and its branches out of line: one for the fault, one for
/// the last reference, and one more for an argument that may be beyond the greatest count.
const OPERATIONS: [(&str, &str, &str, usize); 7] = [
    ("inc", "inc()", "()", 1),
    ("add", "add(3)", "()", 1),
    ("add_any", "add(i)", "()", 2),
    ("dec", "dec()", "()", 1),
    ("dec_and_test", "dec_and_test()", "bool", 2),
    ("sub_and_test", "sub_and_test(3)", "bool", 2),
    ("sub_any_and_test", "sub_and_test(i)", "bool", 3),
];
/// Those that look before they write.
const CONDITIONAL: [(&str, &str, &str); 4] = [
    ("inc_not_zero", "inc_not_zero()", "bool"),
    ("inc_not_zero_acquire", "inc_not_zero_acquire()", "bool"),
    ("dec_if_one", "dec_if_one()", "bool"),
    ("dec_not_one", "dec_not_one()", "bool"),
];
/// The second of each pair of functions reports its caller's place instead of its own.
const PLACES: [(&str, &str); 2] = [("own", ""), ("callers", "#[track_caller]")];
const WORDS: [&str; 2] = ["u32", "u64"];

/// Every operation of every one of `backends` on both widths, as a function of its own.
fn build(target: Target, flags: &[&str], backends: &[&str]) -> Asm {
    probe(backends).flags(flags).build(target).expect("builds")
}

fn probe(backends: &[&str]) -> Probe {
    let mut source = String::from("#![no_std]\n");
    let unconditional = OPERATIONS.map(|(name, call, returned, _)| (name, call, returned));
    for backend in backends {
        for word in WORDS {
            for (name, call, returned) in unconditional.into_iter().chain(CONDITIONAL) {
                for (place, attribute) in PLACES {
                    let name = symbol(place, backend, word, name);
                    let _ = writeln!(
                        source,
                        "#[unsafe(no_mangle)] {attribute} pub fn {name}(c: \
                         &refcount::Counter<refcount::{backend}, {word}>, i: {word}) -> {returned} \
                         {{ let _ = i; c.{call} }}"
                    );
                }
            }
        }
    }
    Probe::new(source).depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), &[])
}

fn symbol(place: &str, backend: &str, word: &str, operation: &str) -> String {
    format!("{place}_{backend}_{word}_{operation}")
}

fn function<'a>(asm: &'a Asm, backend: &str, word: &str, operation: &str) -> Function<'a> {
    asm.function(&symbol("own", backend, word, operation)).expect("was built")
}

/// Holds every operation to its own branches and `more` of the backend's.
#[track_caller]
fn check(asm: &Asm, backend: &str, more: Shape) {
    for word in WORDS {
        for (operation, _, _, branches) in OPERATIONS {
            let shape = Shape { branches: branches + more.branches, loops: more.loops };
            let path = function(asm, backend, word, operation).hot_path().expect("returns");
            path.check(shape).expect("costs what it may");
        }
    }
}

/// The mnemonics of the way through an operation.
fn steps<'a>(asm: &'a Asm, backend: &str, word: &str, operation: &str) -> Vec<&'a str> {
    function(asm, backend, word, operation).hot_path().expect("returns").mnemonics()
}

static X86_64: LazyLock<Asm> = LazyLock::new(|| build(Target::X86_64, &[], &["Fast"]));
static AARCH64: LazyLock<Asm> =
    LazyLock::new(|| build(Target::Aarch64, &[], &["Fast", "LlSc", "Lse"]));
static AARCH64_LSE: LazyLock<Asm> =
    LazyLock::new(|| build(Target::Aarch64, &["-Ctarget-feature=+lse"], &["Fast"]));

const NOTHING_MORE: Shape = Shape { branches: 0, loops: 0 };

#[test]
fn on_x86_64_a_check_is_one_branch() {
    check(&X86_64, "Fast", NOTHING_MORE);
    for word in WORDS {
        for (operation, ..) in OPERATIONS {
            let steps = steps(&X86_64, "Fast", word, operation);
            let locked = steps.iter().filter(|step| step.starts_with("lock"));
            assert_eq!(locked.count(), 1, "{operation}: {steps:?}");
        }
    }
}

/// Where a fault is reported from is known to the cold block alone.
#[test]
fn a_call_site_costs_the_hot_path_nothing() {
    for (asm, backend) in [(&X86_64, "Fast"), (&AARCH64, "LlSc"), (&AARCH64, "Lse")] {
        for word in WORDS {
            for (operation, ..) in OPERATIONS {
                let [own, callers] = PLACES.map(|(place, _)| {
                    let function = asm.function(&symbol(place, backend, word, operation));
                    function.expect("was built").hot_path().expect("returns").mnemonics().join(" ")
                });
                assert_eq!(own, callers, "{backend} {word} {operation}");
            }
        }
    }
}

#[test]
fn exclusives_add_the_loop_of_a_lost_store() {
    check(&AARCH64, "LlSc", Shape { branches: 0, loops: 1 });
    for word in WORDS {
        let inc = ["ldxr", "adds", "ccmp", "b.le", "stxr", "cbnz", "ret"];
        assert_eq!(steps(&AARCH64, "LlSc", word, "inc"), inc);
        let dec = ["ldxr", "subs", "b.lt", "stlxr", "cbnz", "b.eq", "mov", "ret"];
        assert_eq!(steps(&AARCH64, "LlSc", word, "dec_and_test"), dec);
    }
}

#[test]
fn lse_is_one_atomic_instruction_and_its_flags() {
    check(&AARCH64, "Lse", NOTHING_MORE);
    for word in WORDS {
        let inc = ["mov", "ldadd", "cmn", "ccmp", "b.le", "ret"];
        assert_eq!(steps(&AARCH64, "Lse", word, "inc"), inc);
        let dec = ["mov", "ldaddl", "cmp", "b.lt", "b.eq", "mov", "ret"];
        assert_eq!(steps(&AARCH64, "Lse", word, "dec_and_test"), dec);
    }
}

/// The choice is a load and a branch. LSE is straight ahead, the exclusives are there for the CPU that
/// needs them, whatever the build is for.
#[test]
fn the_choice_at_run_time_is_one_branch_more() {
    for asm in [&AARCH64, &AARCH64_LSE] {
        check(asm, "Fast", Shape { branches: 1, loops: 0 });
        for word in WORDS {
            assert!(steps(asm, "Fast", word, "inc").contains(&"ldadd"));
            assert!(function(asm, "Fast", word, "inc").text().contains("ldxr"));
        }
    }
}

/// Without a system to ask there is nothing to choose in the middle of an operation.
#[test]
fn without_std_the_choice_is_never_open() {
    let probe = probe(&["Fast"]).no_default_features(env!("CARGO_PKG_NAME"));
    let asm = probe.build(Target::Aarch64).unwrap();
    check(&asm, "Fast", Shape { branches: 1, loops: 0 });
    let [with, without] = [&AARCH64, &asm].map(|asm| function(asm, "Fast", "u32", "inc").text());
    assert!(with.contains("choose_and") && !without.contains("choose_and"), "{without}");
}

/// The orderings of the table in the crate's documentation, as aarch64 spells them. x86-64 has no
/// weaker ones to choose.
#[test]
fn orderings_are_those_of_the_table() {
    // Operation; load and store of the exclusives, atomic instruction of LSE; fence of the last.
    let table = [
        ("inc", "ldxr stxr", "ldadd", false),
        ("add", "ldxr stxr", "ldadd", false),
        ("dec", "ldxr stlxr", "ldaddl", false),
        ("dec_and_test", "ldxr stlxr", "ldaddl", true),
        ("sub_and_test", "ldxr stlxr", "ldaddl", true),
        // The second exchange of each saturates.
        ("inc_not_zero", "ldxr stxr ldaxr stlxr", "cas casal", false),
        ("inc_not_zero_acquire", "ldaxr stxr ldaxr stlxr", "casa casal", false),
        ("dec_if_one", "ldxr stlxr", "casl", true),
        ("dec_not_one", "ldxr stlxr", "casl", false),
    ];
    for word in WORDS {
        for (operation, exclusive, atomic, fence) in table {
            for (backend, wanted) in [("LlSc", exclusive), ("Lse", atomic)] {
                let text = function(&AARCH64, backend, word, operation).text();
                let names = text.lines().filter_map(|line| line.split(' ').next());
                let atomics = ["ldx", "ldax", "stx", "stlx", "ldadd", "cas"];
                let changes = names.filter(|n| atomics.iter().any(|start| n.starts_with(start)));
                assert_eq!(changes.collect::<Vec<_>>().join(" "), wanted, "{operation}\n{text}");
                assert_eq!(text.contains("dmb ishld"), fence, "{operation}\n{text}");
            }
        }
    }
}

/// A lost race repeats, and nothing else costs: neither a call nor the stack.
#[test]
fn the_conditional_forms_stay_in_registers() {
    let all = [(&X86_64, "Fast"), (&AARCH64, "LlSc"), (&AARCH64, "Lse"), (&AARCH64, "Fast")];
    for (asm, backend) in all {
        for word in WORDS {
            let path = function(asm, backend, word, "inc_not_zero").hot_path().unwrap();
            assert!(path.calls().is_empty() && path.stack().is_empty(), "{}", path.text());
        }
    }
}
