//! What locking and unlocking cost when nobody else comes, read from the machine code of both
//! instruction sets, and which operations are one copy under the other inline policy.
//!
//! The compilers for both are on the x86-64 machine that builds; elsewhere there is nothing to run.
#![cfg(all(target_arch = "x86_64", not(loom)))]

use std::sync::LazyLock;

use unlikely_asmcheck::{Asm, HotPath, Probe, Shape, Target};

const SOURCE: &str = "
use lock::{Bh, IrqSave, Plain, ReadGuard, RwLock, SpinGuard, SpinLock, Std, StdNative, WriteGuard};
use std::mem::forget;

macro_rules! on {
    ($platform:ty, $lock:ident, $try_lock:ident, $unlock:ident, $add:ident, $unlock_bh:ident,
        $unlock_irqrestore:ident) => {
        #[unsafe(no_mangle)] pub fn $lock(l: &SpinLock<u64, $platform>) { forget(l.lock()) }
        #[unsafe(no_mangle)] pub fn $try_lock(l: &SpinLock<u64, $platform>) -> bool {
            l.try_lock().map(forget).is_some()
        }
        #[unsafe(no_mangle)] pub fn $unlock(g: SpinGuard<'_, u64, $platform, Plain>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $add(l: &SpinLock<u64, $platform>) { *l.lock() += 1 }
        #[unsafe(no_mangle)] pub fn $unlock_bh(g: SpinGuard<'_, u64, $platform, Bh>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $unlock_irqrestore(
            g: SpinGuard<'_, u64, $platform, IrqSave>) { drop(g) }
    };
}
on!(StdNative, native_lock, native_try_lock, native_unlock, native_add, native_unlock_bh,
    native_unlock_irqrestore);
on!(Std, parking_lock, parking_try_lock, parking_unlock, parking_add, parking_unlock_bh,
    parking_unlock_irqrestore);

macro_rules! rw {
    ($platform:ty, $read:ident, $write:ident, $try_read:ident, $try_write:ident, $unlock_read:ident,
        $unlock_write:ident, $get:ident, $add:ident, $unlock_read_bh:ident, $unlock_write_bh:ident,
        $unlock_read_irqrestore:ident, $unlock_write_irqrestore:ident) => {
        #[unsafe(no_mangle)] pub fn $read(l: &RwLock<u64, $platform>) { forget(l.read()) }
        #[unsafe(no_mangle)] pub fn $write(l: &RwLock<u64, $platform>) { forget(l.write()) }
        #[unsafe(no_mangle)] pub fn $try_read(l: &RwLock<u64, $platform>) -> bool {
            l.try_read().map(forget).is_some()
        }
        #[unsafe(no_mangle)] pub fn $try_write(l: &RwLock<u64, $platform>) -> bool {
            l.try_write().map(forget).is_some()
        }
        #[unsafe(no_mangle)] pub fn $unlock_read(g: ReadGuard<'_, u64, $platform, Plain>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $unlock_write(g: WriteGuard<'_, u64, $platform, Plain>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $get(l: &RwLock<u64, $platform>) -> u64 { *l.read() }
        #[unsafe(no_mangle)] pub fn $add(l: &RwLock<u64, $platform>) { *l.write() += 1 }
        #[unsafe(no_mangle)] pub fn $unlock_read_bh(g: ReadGuard<'_, u64, $platform, Bh>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $unlock_write_bh(g: WriteGuard<'_, u64, $platform, Bh>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $unlock_read_irqrestore(
            g: ReadGuard<'_, u64, $platform, IrqSave>) { drop(g) }
        #[unsafe(no_mangle)] pub fn $unlock_write_irqrestore(
            g: WriteGuard<'_, u64, $platform, IrqSave>) { drop(g) }
    };
}
rw!(StdNative, native_read, native_write, native_try_read, native_try_write, native_unlock_read,
    native_unlock_write, native_get, native_add_rw, native_unlock_read_bh, native_unlock_write_bh,
    native_unlock_read_irqrestore, native_unlock_write_irqrestore);
rw!(Std, parking_read, parking_write, parking_try_read, parking_try_write, parking_unlock_read,
    parking_unlock_write, parking_get, parking_add_rw, parking_unlock_read_bh,
    parking_unlock_write_bh, parking_unlock_read_irqrestore, parking_unlock_write_irqrestore);
";

fn build(target: Target, features: &[&str], flags: &[&str]) -> Asm {
    Probe::new(SOURCE)
        .depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), features)
        .flags(flags)
        .build(target)
        .expect("builds")
}

static X86_64: LazyLock<Asm> = LazyLock::new(|| build(Target::X86_64, &[], &[]));
static AARCH64: LazyLock<Asm> = LazyLock::new(|| build(Target::Aarch64, &[], &[]));
static AARCH64_LSE: LazyLock<Asm> =
    LazyLock::new(|| build(Target::Aarch64, &[], &["-Ctarget-feature=+lse"]));

fn path<'a>(asm: &'a Asm, name: &str) -> HotPath<'a> {
    asm.function(name).expect("was built").hot_path().expect("returns")
}

fn costs(asm: &Asm, name: &str, branches: usize, loops: usize) {
    path(asm, name).check(Shape { branches, loops }).expect("costs what it may");
}

#[test]
fn unlocking_is_one_store() {
    assert_eq!(path(&X86_64, "native_unlock").mnemonics(), ["mov", "ret"]);
    assert!(path(&X86_64, "native_unlock").text().contains("byte ptr [rdi], 0"));
    for asm in [&AARCH64, &AARCH64_LSE] {
        assert_eq!(path(asm, "native_unlock").mnemonics(), ["stlrb", "ret"]);
    }
}

#[test]
fn unlocking_where_waiters_park_is_a_store_and_a_branch() {
    assert_eq!(path(&X86_64, "parking_unlock").mnemonics(), ["mov", "test", "jne", "ret"]);
    costs(&X86_64, "parking_unlock", 1, 0);
    assert_eq!(path(&AARCH64, "parking_unlock").mnemonics(), ["stlrb", "ldrb", "tbnz", "ret"]);
    costs(&AARCH64, "parking_unlock", 1, 0);
}

#[test]
fn locking_is_one_exchange_and_branches_forward() {
    for name in ["native_lock", "parking_lock"] {
        let steps = path(&X86_64, name).mnemonics();
        // Whoever may overtake those who sleep looks at one bit.
        let look = if name == "native_lock" { "cmp" } else { "test" };
        assert!(steps.ends_with(&["lock cmpxchg", "jne", look, "jne", "ret"]), "{steps:?}");
        costs(&X86_64, name, 2, 0);
        costs(&AARCH64, name, 2, 1);
        costs(&AARCH64_LSE, name, 2, 0);
        assert!(self::path(&AARCH64_LSE, name).mnemonics().contains(&"swpab"));
    }
}

#[test]
fn trying_looks_before_it_writes() {
    for name in ["native_try_lock", "parking_try_lock"] {
        let path = path(&X86_64, name);
        assert!(path.calls().is_empty() && path.stack().is_empty(), "{}", path.text());
        let steps = path.mnemonics();
        let write = steps.iter().position(|step| step.starts_with("lock")).expect("it takes it");
        let looks = steps[..write].iter().filter(|step| **step == "jne").count();
        assert_eq!(looks, 2, "{steps:?}");
    }
}

#[test]
fn nothing_is_called_in_a_section_that_nobody_else_wants() {
    for asm in [&X86_64, &AARCH64, &AARCH64_LSE] {
        for name in [
            "native_add",
            "parking_add",
            "native_get",
            "native_add_rw",
            "parking_get",
            "parking_add_rw",
        ] {
            let path = path(asm, name);
            assert!(path.calls().is_empty() && path.jumps().is_empty(), "{}", path.text());
        }
    }
}

#[test]
fn reading_is_one_addition_and_its_flags() {
    for name in ["native_read", "parking_read"] {
        assert_eq!(path(&X86_64, name).mnemonics(), ["lock add", "js", "jnp", "ret"]);
        costs(&X86_64, name, 2, 0);
        costs(&AARCH64, name, 1, 1);
        costs(&AARCH64_LSE, name, 1, 0);
        assert!(path(&AARCH64_LSE, name).mnemonics().contains(&"ldadda"));
    }
}

#[test]
fn ending_to_read_is_one_subtraction_and_where_waiters_park_a_branch() {
    assert_eq!(path(&X86_64, "native_unlock_read").mnemonics(), ["lock sub", "ret"]);
    assert_eq!(path(&X86_64, "parking_unlock_read").mnemonics(), ["lock sub", "js", "ret"]);
    for (name, branches) in [("native_unlock_read", 0), ("parking_unlock_read", 1)] {
        costs(&X86_64, name, branches, 0);
        costs(&AARCH64, name, branches, 1);
        costs(&AARCH64_LSE, name, branches, 0);
        assert!(path(&AARCH64_LSE, name).mnemonics().contains(&"ldaddl"));
    }
}

#[test]
fn writing_is_one_exchange_between_two_looks() {
    for name in ["native_write", "parking_write"] {
        let steps = path(&X86_64, name).mnemonics();
        assert_eq!(steps.iter().filter(|m| **m == "lock cmpxchg").count(), 1, "{steps:?}");
        costs(&X86_64, name, 3, 0);
        costs(&AARCH64, name, 1, 1);
        costs(&AARCH64_LSE, name, 1, 0);
        assert!(path(&AARCH64_LSE, name).mnemonics().contains(&"casa"));
    }
}

#[test]
fn ending_to_write_is_one_store_and_where_waiters_park_a_branch() {
    assert_eq!(path(&X86_64, "native_unlock_write").mnemonics(), ["mov", "ret"]);
    assert!(path(&X86_64, "native_unlock_write").text().contains("byte ptr [rdi], 0"));
    assert_eq!(path(&X86_64, "parking_unlock_write").mnemonics(), ["mov", "test", "jne", "ret"]);
    costs(&X86_64, "parking_unlock_write", 1, 0);
    for asm in [&AARCH64, &AARCH64_LSE] {
        assert_eq!(path(asm, "native_unlock_write").mnemonics(), ["stlrb", "ret"]);
        let steps = path(asm, "parking_unlock_write").mnemonics();
        assert_eq!(steps, ["stlrb", "ldrb", "tbnz", "ret"]);
        costs(asm, "parking_unlock_write", 1, 0);
    }
}

#[test]
fn trying_to_read_or_write_calls_nothing() {
    for name in ["native_try_read", "parking_try_read", "native_try_write", "parking_try_write"] {
        for asm in [&X86_64, &AARCH64, &AARCH64_LSE] {
            let path = path(asm, name);
            assert!(path.calls().is_empty() && path.stack().is_empty(), "{}", path.text());
        }
    }
}

/// Waking a sleeper costs the unlock's caller no register on x86-64.
#[test]
fn a_wake_up_preserves_the_callers_registers() {
    for name in ["parking_unlock", "parking_unlock_read", "parking_unlock_write"] {
        assert!(path(&X86_64, name).stack().is_empty());
        let whole = X86_64.function(name).expect("was built").text();
        assert!(whole.contains("lea rsp, [rsp - 0x80]"), "{whole}");
    }
}

/// With the policy's feature, an operation is a jump to the one copy in the program.
#[test]
fn an_outlined_operation_is_one_shared_copy() {
    let outlined = [
        ("outline-spin-lock", "lock", "lock"),
        ("outline-spin-trylock", "try_lock", "try_lock"),
        ("outline-spin-unlock", "unlock", "unlock"),
        ("outline-spin-unlock-bh", "unlock_bh", "unlock_bh"),
        ("outline-spin-unlock-irqrestore", "unlock_irqrestore", "unlock_irqrestore"),
        ("outline-read-lock", "read", "read"),
        ("outline-read-trylock", "try_read", "try_read"),
        ("outline-read-unlock", "unlock_read", "unlock_read"),
        ("outline-read-unlock-bh", "unlock_read_bh", "unlock_read_bh"),
        ("outline-read-unlock-irqrestore", "unlock_read_irqrestore", "unlock_read_irqrestore"),
        ("outline-write-lock", "write", "write"),
        ("outline-write-trylock", "try_write", "try_write"),
        ("outline-write-unlock", "unlock_write", "unlock_write"),
        ("outline-write-unlock-bh", "unlock_write_bh", "unlock_write_bh"),
        ("outline-write-unlock-irqrestore", "unlock_write_irqrestore", "unlock_write_irqrestore"),
    ];
    let features = outlined.map(|(feature, ..)| feature);
    let asm = build(Target::X86_64, &features, &[]);
    for (feature, function, copy) in outlined {
        for platform in ["native", "parking"] {
            let text = asm.function(&format!("{platform}_{function}")).expect("was built").text();
            // The copy is of the lock crate, so it is one for all crates that use it.
            let kind = if feature.contains("spin") { "Spin" } else { "Rw" };
            let name = format!("{kind}Copies$GT${}{copy}17h", copy.len());
            assert!(text.contains(&name), "{feature}: {text}");
            let symbol = text.split_whitespace().find(|word| word.contains(&name));
            let here = symbol.and_then(|symbol| asm.function(symbol).ok());
            assert!(here.is_none(), "{feature}: compiled again by its user");
            assert!(
                !text.contains("xchg") && !text.contains("lock ") && !text.contains("byte ptr"),
                "{feature}: {text}"
            );
        }
    }
}
