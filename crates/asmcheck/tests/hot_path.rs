//! What is said of hot paths, by functions whose machine code is known, on both instruction sets.

use std::sync::OnceLock;

use unlikely_asmcheck::{Asm, AsmError, Probe, Shape, Side, Target};

/// Functions that are what their names say, from Rust where the compiler has no choice and from
/// assembler where it has.
const SOURCE: &str = r#"
#![no_std]
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

unsafe extern "C" { safe fn elsewhere(n: u32) -> u32; }

#[cold] #[inline(never)] fn handler(n: &AtomicU32) { n.store(7, Relaxed); elsewhere(1); }

#[unsafe(no_mangle)] pub fn straight(a: u32, b: u32) -> u32 { a.wrapping_add(b) }

#[unsafe(no_mangle)] pub fn checked(n: &AtomicU32) {
    let old = n.load(Relaxed);
    n.store(old.wrapping_add(1), Relaxed);
    if old > 1000 { handler(n) }
}
#[unsafe(no_mangle)] pub fn calls(n: &AtomicU32) { elsewhere(2); n.store(1, Relaxed); }
#[unsafe(no_mangle)] pub fn calls_last(n: &AtomicU32) { n.store(1, Relaxed); elsewhere(2); }
#[unsafe(no_mangle)] pub fn calls_own_last(n: &AtomicU32) { n.store(1, Relaxed); handler(n); }
#[unsafe(no_mangle)] pub fn calls_pointer_last(f: extern "C" fn(u32), n: u32) { f(n & 3) }
#[unsafe(no_mangle)] pub fn skips(n: &AtomicU32, a: bool) {
    if a { n.store(1, Relaxed); }
    n.store(2, Relaxed);
}
#[unsafe(no_mangle)] pub fn spins(n: &AtomicU32) { while n.load(Relaxed) != 0 {} }
#[unsafe(no_mangle)] pub fn never_returns(n: &AtomicU32) -> ! { loop { n.store(1, Relaxed); } }
#[unsafe(no_mangle)] pub fn traps(n: &AtomicU32) -> ! {
    n.store(1, Relaxed);
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("ud2", options(noreturn)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("brk #1", options(noreturn)) }
}
#[unsafe(no_mangle)] pub fn jumps() {
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("jmp 2f", "ud2", "2:", options(nostack)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("b 2f", "udf #0", "2:", options(nostack)) }
}
#[unsafe(no_mangle)] pub fn spills(a: &mut u64) {
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("mov [rsp - 8], {0}", in(reg) *a, options(nostack)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("str {0}, [sp, #-16]", in(reg) *a, options(nostack)) }
}
#[unsafe(no_mangle)] pub fn saves(a: u64) {
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("push {0}", "pop {0}", inout(reg) a => _, options(nostack)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("sub sp, sp, #16", "add sp, sp, #16", in("x9") a, options(nostack)) }
}
/// Not the stack, for all that its name begins alike.
#[unsafe(no_mangle)] pub fn counts_bits(a: u64) -> u64 {
    let mut bits = a;
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("popcnt {0}, {0}", inout(reg) bits, options(nostack)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("cls {0}, {0}", inout(reg) bits, options(nostack)) }
    bits
}
#[unsafe(no_mangle)] pub fn leaves_by_branch(n: &AtomicU32) {
    #[cfg(target_arch = "x86_64")]
    unsafe { asm!("test {0:e}, {0:e}", "js {1}", in(reg) n.load(Relaxed), sym handler, options(nostack)) }
    #[cfg(target_arch = "aarch64")]
    unsafe { asm!("cmp {0:w}, #0", "b.mi {1}", in(reg) n.load(Relaxed), sym handler, options(nostack)) }
}
#[unsafe(no_mangle)] pub fn counts(n: &AtomicU32) { n.fetch_add(1, Relaxed); }
"#;

const TARGETS: [Target; 2] = [Target::X86_64, Target::Aarch64];

fn asm(target: Target) -> &'static Asm {
    static BUILT: [OnceLock<Asm>; 2] = [OnceLock::new(), OnceLock::new()];
    BUILT[target as usize].get_or_init(|| Probe::new(SOURCE).build(target).expect("builds"))
}

fn expect(target: Target, name: &str, branches: usize, loops: usize) -> Result<(), AsmError> {
    asm(target).function(name)?.hot_path()?.check(Shape { branches, loops })
}

/// What is said against `name` when it is held against a path with `branches` and no loop.
fn refusal(target: Target, name: &str, branches: usize) -> String {
    expect(target, name, branches, 0).expect_err(name).to_string()
}

#[test]
fn straight_code_has_no_fault() {
    for target in TARGETS {
        expect(target, "straight", 0, 0).unwrap();
        expect(target, "counts_bits", 0, 0).unwrap();
        let path = asm(target).function("straight").unwrap().hot_path().unwrap();
        assert_eq!(path.mnemonics().last(), Some(&"ret"));
        assert!(path.insns().len() <= 3, "{}", path.text());
    }
}

#[test]
fn a_check_is_one_branch_out_of_line_no_more_and_no_fewer() {
    for target in TARGETS {
        expect(target, "checked", 1, 0).unwrap();
        assert!(refusal(target, "checked", 0).contains("1 branches out of line, 0 promised"));
        assert!(refusal(target, "checked", 2).contains("1 branches out of line, 2 promised"));
    }
}

#[test]
fn a_branch_to_another_function_is_out_of_line() {
    for target in TARGETS {
        expect(target, "leaves_by_branch", 1, 0).unwrap();
    }
}

#[test]
fn calls_are_refused_also_in_the_last_place() {
    for target in TARGETS {
        for name in ["calls", "calls_last"] {
            let text = refusal(target, name, 0);
            assert!(text.contains("a call: ") && text.contains("elsewhere"), "{text}");
        }
        assert!(refusal(target, "calls_pointer_last", 0).contains("a call: "));
        // A function of the same object is not walked into.
        let text = refusal(target, "calls_own_last", 0);
        assert!(text.contains("a call: ") && !text.contains("elsewhere"), "{text}");
    }
}

#[test]
fn a_taken_jump_is_refused() {
    for target in TARGETS {
        let text = refusal(target, "jumps", 0);
        assert!(text.contains("a taken jump: ") && !text.contains("a call"), "{text}");
    }
}

#[test]
fn a_branch_round_code_of_the_path_is_refused() {
    for target in TARGETS {
        let text = refusal(target, "skips", 0);
        assert!(text.contains("a branch to code between: "), "{text}");
    }
}

#[test]
fn spills_saved_registers_and_frames_are_refused() {
    for target in TARGETS {
        for name in ["spills", "saves", "calls"] {
            let text = refusal(target, name, 0);
            assert!(text.contains("use of the stack: "), "{text}");
        }
        let saves = asm(target).function("saves").unwrap().hot_path().unwrap();
        assert_eq!(saves.stack().len(), 2, "{}", saves.text());
    }
}

#[test]
fn a_loop_is_told_from_a_check() {
    for target in TARGETS {
        expect(target, "spins", 0, 1).unwrap();
        assert!(refusal(target, "spins", 1).contains("1 loops, 0 promised"));
    }
}

#[test]
fn a_path_without_a_return_is_no_path() {
    for target in TARGETS {
        for (name, why) in [("never_returns", "never ends"), ("traps", "ends in a trap")] {
            let error = asm(target).function(name).unwrap().hot_path().unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
    }
}

/// Without flags an atomic of aarch64 is a call that chooses at run time; the flags choose before.
#[test]
fn flags_decide_what_an_atomic_becomes() {
    assert!(refusal(Target::Aarch64, "counts", 0).contains("__aarch64_ldadd4"));

    let build = |feature| Probe::new(SOURCE).flags(&[feature]).build(Target::Aarch64).unwrap();
    let exclusive = build("-Ctarget-feature=-outline-atomics");
    let path = exclusive.function("counts").unwrap().hot_path().unwrap();
    path.check(Shape { branches: 0, loops: 1 }).unwrap();
    assert_eq!(path.branches()[0].side, Side::Back);
    assert_eq!(path.mnemonics()[0], "ldxr");

    let lse = build("-Ctarget-feature=+lse");
    let path = lse.function("counts").unwrap().hot_path().unwrap();
    path.check(Shape { branches: 0, loops: 0 }).unwrap();
    assert!(path.mnemonics().iter().any(|m| m.starts_with("stadd") || m.starts_with("ldadd")));
}

#[test]
fn functions_with_the_same_text_are_the_same_code() {
    const DECLARED: &str =
        r#"unsafe extern "C" { safe fn elsewhere(n: u32) -> u32; safe fn other(n: u32) -> u32; }"#;
    let text = |target, before: &str, body: &str| {
        let function = format!("#[unsafe(no_mangle)] pub fn f(n: u32) -> u32 {{ {body} }}");
        let asm = Probe::new([DECLARED, before, &function].concat()).build(target).unwrap();
        asm.function("f").unwrap().text()
    };
    let before = "#[unsafe(no_mangle)] pub fn earlier(n: u32) -> u32 { elsewhere(n) + other(n) }";
    for target in TARGETS {
        let one = text(target, "", "if n > 9 { elsewhere(n) } else { n }");
        assert_eq!(one, text(target, before, "if n >= 10 { elsewhere(n) } else { n }"));
        assert_ne!(one, text(target, "", "if n > 8 { elsewhere(n) } else { n }"));
        assert_ne!(one, text(target, "", "if n > 9 { other(n) } else { n }"));
    }
}

#[test]
fn a_function_folded_into_its_equal_is_still_found() {
    let asm = Probe::new(
        "#[unsafe(no_mangle)] pub fn one(n: u32) -> u32 { n / 3 }
         #[unsafe(no_mangle)] pub fn same(n: u32) -> u32 { n / 3 }",
    );
    for target in TARGETS {
        let asm = asm.build(target).unwrap();
        let [one, same] = ["one", "same"].map(|name| asm.function(name).unwrap());
        assert_eq!((same.name(), one.text()), ("same", same.text()));
    }
}

#[test]
fn a_package_can_be_used_with_and_without_its_features() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "Cargo.toml",
        "[package]\nname = \"used\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [features]\ndefault = [\"seven\"]\nseven = []\nhundred = []\n[workspace]\n",
    );
    write(
        "lib.rs",
        "#[inline] pub fn value() -> u32 { (if cfg!(feature = \"seven\") { 7 } else { 3 })
            + if cfg!(feature = \"hundred\") { 100 } else { 0 } + if cfg!(thousand) { 1000 } else { 0 } }",
    );
    let source = "#[unsafe(no_mangle)] pub fn value() -> u32 { used::value() }";
    let text = |probe: Probe| {
        let asm = probe.build(Target::X86_64).unwrap();
        asm.function("value").unwrap().text()
    };
    let plain = Probe::new(source).depends_on("used", folder.path(), &[]);
    assert_eq!(text(plain.clone()), "mov eax, 7\nret\n");
    let more = Probe::new(source).depends_on("used", folder.path(), &["hundred"]);
    assert_eq!(text(more.no_default_features("used")), "mov eax, 0x67\nret\n");
    assert_eq!(text(plain.flags(&["--cfg=thousand"])), "mov eax, 0x3ef\nret\n");
}

#[test]
fn mistakes_in_the_probe_are_told() {
    let error = asm(Target::X86_64).function("strait").unwrap_err().to_string();
    assert!(error.contains("`strait`") && error.contains("straight"), "{error}");
    let error = Probe::new("pub fn f() -> u32 { \"\" }").build(Target::X86_64).unwrap_err();
    assert!(error.to_string().contains("mismatched types"), "{error}");
}
