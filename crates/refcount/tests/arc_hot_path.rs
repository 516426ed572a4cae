//! What a handle costs, read from the machine code of both instruction sets: that of its counter, and
//! nothing of its own.
//!
//! The compilers for both are on the x86-64 machine that builds; elsewhere there is nothing to run.
#![cfg(target_arch = "x86_64")]

use unlikely_asmcheck::{Asm, Probe, Target};

/// A clone, a drop, both in one, and what finds the counter or looks at it.
fn build(target: Target, flags: &[&str]) -> Asm {
    let source = r"
        use refcount::Arc;
        #[unsafe(no_mangle)] pub fn arc_clone(a: &Arc<u64>) -> Arc<u64> { a.clone() }
        #[unsafe(no_mangle)] pub fn arc_drop(a: Arc<u64>) { drop(a) }
        #[unsafe(no_mangle)] pub fn arc_both(a: &Arc<u64>) { drop(a.clone()) }
        #[unsafe(no_mangle)] pub fn arc_slice(a: &Arc<[u64]>) -> Arc<[u64]> { a.clone() }
        #[unsafe(no_mangle)] pub fn arc_get_mut(a: &mut Arc<u64>) -> Option<&mut u64> {
            Arc::get_mut(a)
        }
        #[unsafe(no_mangle)] pub fn arc_from_raw(a: *const u64) -> Arc<u64> {
            unsafe { Arc::from_raw(a) }
        }
    ";
    let probe =
        Probe::new(source).depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), &[]);
    probe.flags(flags).build(target).expect("builds")
}

fn steps<'a>(asm: &'a Asm, name: &str) -> Vec<&'a str> {
    asm.function(name).expect("was built").hot_path().expect("returns").mnemonics()
}

/// Calls nothing, and goes past so many branches that are not taken.
#[track_caller]
fn passes(asm: &Asm, name: &str, branches: usize) {
    let path = asm.function(name).expect("was built").hot_path().expect("returns");
    assert!(path.calls().is_empty(), "{}", path.text());
    assert_eq!(path.branches().len(), branches, "{}", path.text());
}

#[test]
fn on_x86_64_a_clone_is_one_locked_increment_and_one_branch() {
    let asm = build(Target::X86_64, &[]);
    assert_eq!(steps(&asm, "arc_clone"), ["mov", "lock inc", "js", "ret"]);
    assert_eq!(steps(&asm, "arc_slice"), ["mov", "mov", "lock inc", "js", "ret"]);
    // One register is saved, for the pointer that both ends out of line need.
    assert_eq!(steps(&asm, "arc_drop"), ["push", "lock dec", "jl", "je", "pop", "ret"]);
    let both = ["push", "mov", "lock inc", "js", "lock dec", "jl", "je", "pop", "ret"];
    assert_eq!(steps(&asm, "arc_both"), both);
    passes(&asm, "arc_get_mut", 0);
    assert_eq!(steps(&asm, "arc_from_raw"), ["lea", "ret"]);
}

/// One branch more than on x86-64 for each choice between LSE and exclusives.
#[test]
fn on_aarch64_it_is_what_the_counter_costs() {
    for flags in [&[][..], &["-Ctarget-feature=+lse"]] {
        let asm = build(Target::Aarch64, flags);
        passes(&asm, "arc_clone", 2);
        passes(&asm, "arc_drop", 3);
        passes(&asm, "arc_both", 5);
        passes(&asm, "arc_get_mut", 0);
        assert!(steps(&asm, "arc_clone").contains(&"ldadd"));
        assert!(steps(&asm, "arc_drop").contains(&"ldaddl"));
        assert_eq!(steps(&asm, "arc_from_raw"), ["sub", "ret"]);
    }
}
