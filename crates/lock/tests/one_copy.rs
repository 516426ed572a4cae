//! The inline policy in a program of several crates, read from the linked program: out of line, every
//! operation is there once, and all crates call that copy; inlined, it is not there, and nobody calls.
//!
//! The compiler that builds for x86-64 is on the machine that does; elsewhere there is nothing to run.
#![cfg(all(target_arch = "x86_64", target_os = "linux", not(loom)))]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use capstone::arch::x86::ArchMode;
use capstone::prelude::*;
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// An operation, and one who uses it.
struct Operation {
    /// Its feature, without `outline-`.
    feature: String,
    /// The name of its shared copy.
    copy: String,
    /// Parameters, result and body of a function that is this operation.
    user: String,
    /// Whether it does nothing else: no section of bottom halves or interrupts.
    plain: bool,
}

/// Those of each kind of lock, with the type of the lock and its guard, how it is taken, and what its
/// unlocks are called.
const KINDS: [(&str, &str, &str, &str, &str); 3] = [
    ("spin", "Spin", "SpinGuard", "lock", "unlock"),
    ("read", "Rw", "ReadGuard", "read", "unlock_read"),
    ("write", "Rw", "WriteGuard", "write", "unlock_write"),
];

static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (kind, lock, guard, take, unlock) in KINDS {
        all.push(Operation {
            feature: format!("{kind}-lock"),
            copy: take.into(),
            user: format!("(l: &{lock}) {{ forget(l.{take}()) }}"),
            plain: true,
        });
        all.push(Operation {
            feature: format!("{kind}-trylock"),
            copy: format!("try_{take}"),
            user: format!("(l: &{lock}) -> bool {{ l.try_{take}().map(forget).is_some() }}"),
            plain: true,
        });
        for (end, context) in
            [("", "Plain"), ("_bh", "Bh"), ("_irq", "Irq"), ("_irqrestore", "IrqSave")]
        {
            all.push(Operation {
                feature: format!("{kind}-unlock{}", end.replace('_', "-")),
                copy: format!("{unlock}{end}"),
                user: format!("(g: {guard}<'_, u64, Std, {context}>) {{ drop(g) }}"),
                plain: context == "Plain",
            });
        }
    }
    all
});

/// The crates that use the locks, beside the program itself.
const CRATES: [&str; 2] = ["left", "right"];

impl Operation {
    /// The function of `krate` that uses it.
    fn user(&self, krate: &str) -> String {
        format!("{krate}_{}", self.feature.replace('-', "_"))
    }

    /// Whether a symbol is a shared copy of it, in either of the compiler's spellings.
    fn is_copy(&self, symbol: &str) -> bool {
        let name = format!("{}{}", self.copy.len(), self.copy);
        symbol.contains(&format!("Copies$GT${name}17h"))
            || symbol.ends_with(&format!("Copies{name}"))
    }
}

/// A linked program: its functions, and who calls or jumps to whom.
struct Program {
    /// By symbol: the address, and the addresses that its code goes to outside of itself.
    functions: BTreeMap<String, (u64, Vec<u64>)>,
}

impl Program {
    /// Builds a program of which two crates use every operation, with these features of the lock
    /// crate, and reads it.
    fn build(features: &[String]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write_sources(folder.path(), features);
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // Flags that are meant for the tests would change what is looked at.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            let of_cargo = text.starts_with("CARGO_") && text != "CARGO_HOME";
            if of_cargo || text.starts_with("RUSTC") || text == "RUSTFLAGS" {
                command.env_remove(&name);
            }
        }
        let output = command
            .current_dir(folder.path())
            .env("CARGO_ENCODED_RUSTFLAGS", "")
            .args(["build", "--quiet", "--offline", "--release", "--target-dir", "target"])
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::read(&fs::read(folder.path().join("target/release/program")).expect("was built"))
    }

    fn read(bytes: &[u8]) -> Self {
        let file = object::File::parse(bytes).expect("a program");
        let decoder = Capstone::new().x86().mode(ArchMode::Mode64).build();
        let decoder = decoder.expect("decodes x86-64");
        // A position-independent program calls through slots, which are filled when it is loaded.
        let slots: BTreeMap<u64, u64> = file
            .dynamic_relocations()
            .into_iter()
            .flatten()
            .map(|(slot, filled)| (slot, filled.addend() as u64))
            .collect();
        let mut functions = BTreeMap::new();
        for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0) {
            let section = symbol.section_index().expect("code is in a section");
            let section = file.section_by_index(section).expect("of this file");
            let code = section.data_range(symbol.address(), symbol.size()).expect("readable");
            let code = code.expect("in the section");
            let goes_to = goes_to(&decoder, code, symbol.address(), &slots);
            let name = symbol.name().expect("a name").to_owned();
            let before = functions.insert(name.clone(), (symbol.address(), goes_to));
            // Local functions of other languages may share a name.
            assert!(before.is_none() || !name.contains("Copies"), "{name} is there twice");
        }
        Self { functions }
    }

    /// The addresses of the shared copies of an operation. The compiler makes functions one that do the
    /// same, which then have several names.
    fn copies(&self, of: &Operation) -> Vec<u64> {
        let copies = self.functions.iter().filter(|(name, _)| of.is_copy(name));
        copies.map(|(_, f)| f.0).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn goes_to(&self, function: &str) -> &[u64] {
        let function = self.functions.get(function);
        &function.expect("whatever has a plain name is linked").1
    }

    /// The symbols at an address.
    fn names(&self, address: u64) -> Vec<&str> {
        let here = self.functions.iter().filter(|(_, f)| f.0 == address);
        here.map(|(name, _)| &**name).collect()
    }
}

/// Where calls and jumps of a function lead to outside of it, directly or by a slot; 0 for a slot that is
/// filled by name, from another library.
fn goes_to(decoder: &Capstone, code: &[u8], address: u64, slots: &BTreeMap<u64, u64>) -> Vec<u64> {
    let own = address..address + code.len() as u64;
    let hex = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let mut targets = Vec::new();
    for insn in decoder.disasm_all(code, address).expect("decodes").iter() {
        let mnemonic = insn.mnemonic().unwrap_or("");
        if !mnemonic.starts_with('j') && !mnemonic.ends_with("call") {
            continue;
        }
        let operand = insn.op_str().unwrap_or("");
        let slot =
            operand.strip_prefix("qword ptr [rip + ").and_then(|slot| slot.strip_suffix(']'));
        let target = match slot.and_then(hex) {
            Some(offset) => slots.get(&(insn.address() + insn.len() as u64 + offset)).copied(),
            None => hex(operand),
        };
        targets.extend(target.filter(|target| !own.contains(target)));
    }
    targets
}

fn write_sources(folder: &Path, features: &[String]) {
    let package = |name: &str, dependencies: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
             [dependencies]\n{dependencies}"
        )
    };
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("in the folder")).expect("a folder");
        fs::write(path, text).expect("is written");
    };
    let lock = format!(
        "unlikely-lock = {{ path = {:?}, features = {features:?} }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut calls = String::new();
    for krate in CRATES {
        let mut text = "
            use {lock::*, std::mem::forget};
            type Spin = SpinLock<u64, Std>;
            type Rw = RwLock<u64, Std>;
        "
        .to_owned();
        for operation in &*OPERATIONS {
            let (user, body) = (operation.user(krate), &operation.user);
            writeln!(text, "#[unsafe(no_mangle)] #[inline(never)] pub fn {user}{body}")
                .expect("text");
            writeln!(calls, "black_box({krate}::{user} as *const ());").expect("text");
        }
        write(&format!("{krate}/Cargo.toml"), &package(krate, &lock));
        write(&format!("{krate}/src/lib.rs"), &text);
    }
    let uses: String = CRATES.map(|krate| format!("{krate} = {{ path = \"{krate}\" }}\n")).concat();
    write(
        "Cargo.toml",
        // As many codegen units as the compiler likes, and nothing is optimised across crates.
        &format!("{}[profile.release]\nlto = \"off\"\n[workspace]\n", package("program", &uses)),
    );
    write("src/main.rs", &format!("use std::hint::black_box;\nfn main() {{\n{calls}}}\n"));
}

static OUTLINED: LazyLock<Program> = LazyLock::new(|| {
    let features: Vec<_> = OPERATIONS.iter().map(|o| format!("outline-{}", o.feature)).collect();
    Program::build(&features)
});
static INLINED: LazyLock<Program> = LazyLock::new(|| Program::build(&[]));

#[test]
fn every_feature_of_the_policy_is_looked_at() {
    let manifest = include_str!("../Cargo.toml").lines();
    let mut features: Vec<_> =
        manifest.filter_map(|line| line.strip_prefix("outline-")?.strip_suffix(" = []")).collect();
    let mut looked_at: Vec<_> = OPERATIONS.iter().map(|o| &*o.feature).collect();
    features.sort_unstable();
    looked_at.sort_unstable();
    assert_eq!(features, looked_at);
}

#[test]
fn an_outlined_operation_is_in_the_program_once() {
    for operation in &*OPERATIONS {
        let copies = OUTLINED.copies(operation);
        assert_eq!(copies.len(), 1, "{}: {copies:#x?}", operation.feature);
    }
}

#[test]
fn every_crate_calls_the_one_copy() {
    for operation in &*OPERATIONS {
        let copies = OUTLINED.copies(operation);
        for krate in CRATES {
            // Nothing else is called: the copy ends the section too.
            assert_eq!(OUTLINED.goes_to(&operation.user(krate)), copies, "{}", operation.feature);
        }
    }
}

#[test]
fn an_inlined_operation_is_in_the_program_nowhere_else() {
    for operation in &*OPERATIONS {
        assert_eq!(INLINED.copies(operation), [0; 0], "{}", operation.feature);
        for krate in CRATES {
            let user = operation.user(krate);
            // What waits and what wakes is out of line always, among the copies or by a thunk to
            // them; a section's end is the platform's.
            for &target in INLINED.goes_to(&user).iter().filter(|_| operation.plain) {
                let names = INLINED.names(target);
                let cold = ["Copies", "thunk"];
                let is_cold = |name: &&str| cold.iter().any(|&part| name.contains(part));
                assert!(names.iter().any(is_cold), "{user} goes to {names:?}");
            }
        }
    }
}
