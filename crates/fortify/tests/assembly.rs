//! What the checks cost, read from the machine code of functions that use them.
//!
//! On the path where nothing is wrong there is a compare and a branch that is not taken for each size
//! that is checked, no frame, and the copy itself. All that can be wrong meets in one call, behind the
//! return. The builds without hints are held against the hinted one.

use std::sync::OnceLock;

use unlikely_asmcheck::{Asm, Function, Probe, Shape, Side, Target};

/// One function a promise. Each takes what it needs in registers and ends in what it promises.
const SOURCE: &str = r"
#![no_std]
use core::cmp::Ordering;
use fortify::*;

#[repr(C)] pub struct Record { name: [u8; 10], next: [u8; 10], flags: u32 }

#[unsafe(no_mangle)] pub unsafe fn bare(to: *mut u8, from: *const u8, n: usize) {
    unsafe { core::ptr::copy_nonoverlapping(from, to, n) }
}
#[unsafe(no_mangle)] pub unsafe fn unknown(to: *mut u8, from: *const u8, n: usize) {
    unsafe { memcpy(Dst::unknown(to), Src::unknown(from), n) }
}
#[unsafe(no_mangle)] pub unsafe fn bare_eight(to: &mut [u8; 8], from: &[u8; 8]) { *to = *from; }
#[unsafe(no_mangle)] pub unsafe fn constant_eight(to: &mut [u8; 8], from: &[u8; 8]) {
    unsafe { memcpy(to.into(), from.into(), Fixed::<8>) }
}
#[unsafe(no_mangle)] pub unsafe fn eight(to: *mut u8, size: usize, from: *const u8) {
    unsafe { memcpy(Dst::known(to, size), Src::unknown(from), Fixed::<8>) }
}
#[unsafe(no_mangle)] pub unsafe fn copied(
    to: *mut u8, size: usize, from: *const u8, read: usize, n: usize,
) {
    unsafe { memcpy(Dst::known(to, size), Src::known(from, read), n) }
}
#[unsafe(no_mangle)] pub unsafe fn moved(
    to: *mut u8, size: usize, from: *const u8, read: usize, n: usize,
) {
    unsafe { memmove(Dst::known(to, size), Src::known(from, read), n) }
}
#[unsafe(no_mangle)] pub unsafe fn filled(to: *mut u8, size: usize, byte: u8, n: usize) {
    unsafe { memset(Dst::known(to, size), byte, n) }
}
#[unsafe(no_mangle)] pub unsafe fn into_member(to: *mut Record, from: *const u8, n: usize) {
    unsafe { memcpy(dst_member!(to, Record, name), Src::unknown(from), n) }
}
#[unsafe(no_mangle)] pub unsafe fn reported(
    to: *mut u64, size: usize, from: *const u64, read: usize,
) -> bool {
    unsafe { try_memcpy(Dst::known(to, size), Src::known(from, read), Fixed::<8>).is_ok() }
}
#[unsafe(no_mangle)] pub unsafe fn compared(
    a: *const u8, size: usize, b: *const u8, read: usize,
) -> Ordering {
    unsafe { memcmp(Src::known(a, size), Src::known(b, read), Fixed::<1>) }
}
#[unsafe(no_mangle)] pub unsafe fn string(
    to: *mut u8, size: usize, from: *const u8, read: usize,
) -> usize {
    unsafe { strcpy(Dst::known(to, size), Src::known(from, read)) }
}
#[unsafe(no_mangle)] pub unsafe fn appended(
    to: *mut u8, size: usize, from: *const u8, read: usize, n: usize,
) -> usize {
    unsafe { strncat(Dst::known(to, size), Src::known(from, read), n) }
}
";

fn build(target: Target, features: &[&str], flags: &[&str]) -> Asm {
    Probe::new(SOURCE)
        .depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), features)
        .flags(flags)
        .build(target)
        .expect("the probe compiles")
}

/// The hinted build as it ships.
fn x86() -> &'static Asm {
    static ASM: OnceLock<Asm> = OnceLock::new();
    ASM.get_or_init(|| build(Target::X86_64, &[], &[]))
}

fn arm() -> &'static Asm {
    static ASM: OnceLock<Asm> = OnceLock::new();
    ASM.get_or_init(|| build(Target::Aarch64, &[], &[]))
}

fn find<'a>(asm: &'a Asm, name: &str) -> Function<'a> {
    asm.function(name).expect("the probe exports it")
}

/// Holds the hot path against `branches` checks, each out of line, no frame, and nothing called but
/// the copy that it ends in, if it ends in one.
fn expect_checks(asm: &Asm, name: &str, branches: usize, calls: usize) {
    let path = find(asm, name).hot_path().expect("it returns");
    let text = path.text();
    assert_eq!(path.stack().len(), 0, "{name} has a frame:\n{text}");
    assert_eq!(path.jumps().len(), 0, "{name} jumps:\n{text}");
    assert!(path.branches().iter().all(|b| b.side == Side::Out), "{name}:\n{text}");
    assert_eq!(path.branches().len(), branches, "checks of {name}:\n{text}");
    let called = path.calls();
    assert_eq!(called.len(), calls, "calls of {name}:\n{text}");
    let last = path.insns().last().map(|insn| insn.addr);
    assert!(called.iter().all(|insn| Some(insn.addr) == last), "{name} calls early:\n{text}");
}

/// Whether a call leaves the program's path for a report.
fn is_report(symbol: &str) -> bool {
    symbol.contains("fortify") && symbol.contains("form")
}

/// Calls that report, in the whole function.
fn reports(function: Function<'_>) -> usize {
    let text = function.text();
    let calls = |line: &&str| line.starts_with("call ") || line.starts_with("bl ");
    text.lines().filter(calls).filter(|line| is_report(line)).count()
}

/// Whether the hot path reports.
fn reports_on_path(asm: &Asm, name: &str) -> bool {
    let path = find(asm, name).hot_path().expect("it returns");
    path.calls().iter().any(|insn| insn.refers_to.as_deref().is_some_and(is_report))
}

fn every_check(asm: &Asm) {
    // Nothing known: the bare copy.
    assert_eq!(find(asm, "unknown").text(), find(asm, "bare").text());
    // Two constants: a load, a store, a return.
    assert_eq!(find(asm, "constant_eight").text(), find(asm, "bare_eight").text());
    expect_checks(asm, "constant_eight", 0, 0);
    // A constant length and a size at run time: no copy is called either.
    expect_checks(asm, "eight", 1, 0);
    expect_checks(asm, "filled", 1, 1);
    // A member's warning is out of line with its copy.
    expect_checks(asm, "into_member", 1, 1);
    for name in
        ["eight", "copied", "moved", "filled", "into_member", "compared", "string", "appended"]
    {
        assert_eq!(reports(find(asm, name)), 1, "{name}:\n{}", find(asm, name).text());
    }
    for name in ["string", "appended"] {
        // These call scans and copies, and have a frame for it; everything but the hot path still
        // lies behind it.
        let path = find(asm, name).hot_path().expect("it returns");
        assert!(path.jumps().is_empty(), "{name}:\n{}", path.text());
        assert!(path.branches().iter().all(|b| b.side == Side::Out), "{name}:\n{}", path.text());
        assert!(!reports_on_path(asm, name), "{name}:\n{}", path.text());
    }
}

#[test]
fn a_check_is_a_compare_and_a_branch_not_taken_on_x86_64() {
    every_check(x86());
    // Two compares, two branches to the same place.
    expect_checks(x86(), "copied", 2, 1);
    expect_checks(x86(), "moved", 2, 1);
    expect_checks(x86(), "compared", 2, 0);
}

#[test]
fn a_check_is_a_compare_and_a_branch_not_taken_on_aarch64() {
    every_check(arm());
    // The second compare is conditional on the first, so that one branch is left.
    for name in ["copied", "moved", "compared"] {
        let path = find(arm(), name).hot_path().expect("it returns");
        let checks = path.branches().len();
        assert!((1..=2).contains(&checks), "{name}:\n{}", path.text());
        expect_checks(arm(), name, checks, usize::from(name != "compared"));
    }
}

#[test]
fn two_ends_share_one_cold_call() {
    let path = find(x86(), "copied").hot_path().expect("it returns");
    let targets: Vec<_> = path.branches().iter().map(|branch| branch.insn.goes_to).collect();
    assert_eq!(targets.len(), 2);
    assert!(targets[0].is_some());
    assert_eq!(targets[0], targets[1], "{}", path.text());
}

#[test]
fn the_form_that_returns_is_inlined_and_tested_once() {
    // Nothing of the report is made where there is none.
    let path = find(x86(), "reported").hot_path().expect("it returns");
    assert!(path.branches().iter().all(|b| b.side == Side::Out), "{}", path.text());
    assert_eq!(path.branches().len(), 2, "{}", path.text());
    assert_eq!(path.calls().len(), 0, "{}", path.text());
}

/// Each line without the hash that names a crate's build.
fn code(asm: &Asm, name: &str) -> String {
    let text = find(asm, name).text();
    let mut lines = String::new();
    for line in text.lines() {
        let line = match line.find("17h") {
            Some(hash) if line.contains("fortify") => &line[..hash],
            _ => line,
        };
        lines.push_str(line);
        lines.push('\n');
    }
    lines
}

const CHECKED: [&str; 9] = [
    "eight",
    "copied",
    "moved",
    "filled",
    "into_member",
    "reported",
    "compared",
    "string",
    "appended",
];

#[test]
fn a_hint_moves_the_failing_path_where_nothing_else_says_that_it_is_cold() {
    let hinted = build(Target::X86_64, &["warm"], &[]);
    let bare = build(Target::X86_64, &["warm", "unhinted"], &[]);
    for name in ["into_member", "reported"] {
        assert!(!reports_on_path(&hinted, name), "{name}:\n{}", find(&hinted, name).text());
        assert!(reports_on_path(&bare, name), "{name}:\n{}", find(&bare, name).text());
    }
}

#[test]
fn with_cold_reports_the_hint_of_a_memory_function_changes_nothing() {
    // The compiler takes a call to a cold function for a hint: a finding, which the experiment that
    // measures the hint has to know of.
    let bare = build(Target::X86_64, &["unhinted"], &[]);
    let strings = ["string", "appended"];
    for name in CHECKED.into_iter().filter(|name| !strings.contains(name)) {
        assert_eq!(code(x86(), name), code(&bare, name), "{name}");
    }
    // A string's size that is only unknown at run time is answered by a call that returns, which
    // nothing but the hint calls rare.
    assert_ne!(code(x86(), "string"), code(&bare, "string"));
}

#[test]
fn where_branches_are_profiled_the_hint_is_the_bare_condition() {
    let profiled = build(Target::X86_64, &["warm"], &["--cfg=unlikely_profile"]);
    let bare = build(Target::X86_64, &["warm", "unhinted"], &[]);
    let hinted = build(Target::X86_64, &["warm"], &[]);
    for name in CHECKED {
        assert_eq!(code(&profiled, name), code(&bare, name), "{name}");
    }
    assert!(CHECKED.iter().any(|name| code(&profiled, name) != code(&hinted, name)));
}

/// A call with a constant that is too long, and the end of the sentence that refuses it.
const WRONG: [(&str, &str); 13] = [
    ("memcpy(dst, src, Fixed::<9>)", "memcpy: the constant length exceeds the destination"),
    ("memcpy(any, src, Fixed::<10>)", "memcpy: the constant length exceeds the source"),
    ("memmove(dst, src, Fixed::<9>)", "memmove: the constant length exceeds the destination"),
    ("try_memset(dst, 0, Fixed::<9>)", "memset: the constant length exceeds the destination"),
    ("memcmp(dst.to_src(), src, Fixed::<9>)", "memcmp: the constant length exceeds the first"),
    ("memcmp(src, dst.to_src(), Fixed::<9>)", "memcmp: the constant length exceeds the second"),
    ("memchr(src, 0, SizeOf::<[u8; 10]>::new())", "memchr: the constant length exceeds the buffer"),
    ("try_memchr_inv(src, 0, Fixed::<10>)", "memchr_inv: the constant length exceeds the buffer"),
    ("memscan(src, 0, Fixed::<10>)", "memscan: the constant length exceeds the buffer"),
    ("kmemdup(src, Fixed::<10>, |_| None)", "kmemdup: the constant length exceeds the source"),
    ("strncpy(dst, src, Fixed::<9>)", "strncpy: the constant length exceeds the destination"),
    ("strscpy(dst, src, Fixed::<9>)", "strscpy: the constant length exceeds the destination"),
    ("strlcat(dst, src, Fixed::<9>)", "strlcat: the constant length exceeds the destination"),
];

#[test]
fn a_wrong_constant_does_not_compile() {
    let mut source = String::from("use fortify::*;\n");
    for (at, (call, _)) in WRONG.iter().enumerate() {
        source.push_str(&format!(
            "#[unsafe(no_mangle)] pub unsafe fn wrong_{at}(a: &mut [u8; 8], b: &[u8; 9]) {{
                 let (dst, src) = (Dst::from(a), Src::from(b));
                 let any = Dst::unknown(dst.as_ptr());
                 unsafe {{ let _ = (any, {call}); }}
             }}\n"
        ));
    }
    let built = Probe::new(source)
        .depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), &[])
        .build(Target::X86_64);
    let error = built.map(|_| ()).expect_err("every function is wrong").to_string();
    for (call, message) in WRONG {
        let message = format!("evaluation panicked: {message}");
        assert!(error.contains(&message), "{call}:\n{error}");
    }
}

#[test]
fn a_hot_path_that_ends_in_a_return_has_the_promised_shape() {
    for (name, branches) in [("constant_eight", 0), ("eight", 1), ("compared", 2)] {
        find(x86(), name)
            .hot_path()
            .expect("it returns")
            .check(Shape { branches, loops: 0 })
            .expect("the shape is as promised");
    }
}
