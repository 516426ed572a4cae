//! The good path as the processor sees it: one compare, one jump not taken, one jump away.

use std::fs;
use std::path::Path;

use capstone::arch::{arm64, x86};
use capstone::prelude::*;
use object::{Architecture, Object, ObjectSection, ObjectSymbol};

use crate::support::{prefix_aarch64, shared_library};

/// Checks whose bound is an argument, and whose work is a function of the C library.
const BOUNDED: [&str; 6] = [
    "__memcpy_chk",
    "__memmove_chk",
    "__mempcpy_chk",
    "__memset_chk",
    "__strncpy_chk",
    "__stpncpy_chk",
];

/// One decoded instruction.
struct Instruction {
    address: u64,
    mnemonic: String,
    operands: String,
}

impl Instruction {
    /// Where a direct jump goes.
    fn target(&self) -> Option<u64> {
        let digits = self.operands.trim_start_matches('#').strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    }
}

/// The instructions of a function that a shared library exports.
fn instructions(library: &Path, name: &str) -> Vec<Instruction> {
    let bytes = fs::read(library).expect("the shared library");
    let file = object::File::parse(&*bytes).expect("an object file");
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(name))
        .unwrap_or_else(|| panic!("{name} is not exported"));
    let section = file
        .section_by_index(symbol.section_index().expect("a section"))
        .expect("the section of a symbol");
    let code = section
        .data_range(symbol.address(), symbol.size())
        .expect("readable code")
        .expect("code in the section");
    let decoder = match file.architecture() {
        Architecture::X86_64 => Capstone::new().x86().mode(x86::ArchMode::Mode64).build(),
        Architecture::Aarch64 => Capstone::new().arm64().mode(arm64::ArchMode::Arm).build(),
        other => panic!("no decoder for {other:?}"),
    };
    let decoder = decoder.expect("a decoder");
    let decoded = decoder.disasm_all(code, symbol.address()).expect("instructions");
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    decoded
        .iter()
        .map(|instruction| Instruction {
            address: instruction.address(),
            mnemonic: text(instruction.mnemonic()),
            operands: text(instruction.op_str()),
        })
        .collect()
}

/// Asserts that a function opens with a compare, a forward branch and a jump, and with nothing else.
fn opens_with(library: &Path, name: &str, compare: (&str, &str), branch: &str, jump: &str) {
    let code = instructions(library, name);
    let [first, second, third, ..] = &code[..] else { panic!("{name} is too short") };
    assert_eq!((&*first.mnemonic, &*first.operands), compare, "{name}");
    assert_eq!(second.mnemonic, branch, "{name}");
    assert!(second.target() > Some(third.address), "{name}: the failing path is not behind");
    assert_eq!(third.mnemonic, jump, "{name}");
}

/// Length beside size, away if it is more, else on to the C library, which returns to the caller.
/// Nothing is moved, nothing saved. What reports is behind that.
#[cfg(target_arch = "x86_64")]
#[test]
fn checks_with_a_bound_are_compare_branch_and_jump_on_x86_64() {
    for name in BOUNDED {
        opens_with(&shared_library(), name, ("cmp", "rdx, rcx"), "ja", "jmp");
    }
    opens_with(&shared_library(), "__explicit_bzero_chk", ("cmp", "rsi, rdx"), "ja", "jmp");
}

/// The same on the other processor.
#[test]
fn checks_with_a_bound_are_compare_branch_and_jump_on_aarch64() {
    let library = prefix_aarch64().join("lib/libunlikely_fortify.so");
    for name in BOUNDED {
        opens_with(&library, name, ("cmp", "x2, x3"), "b.hi", "b");
    }
    opens_with(&library, "__explicit_bzero_chk", ("cmp", "x1, x2"), "b.hi", "b");
}

/// The string functions call, but on their way no conditional jump is taken: each goes forward, to
/// what reports, behind the return. (The functions that cut choose the shorter length by a move, and
/// their second jump is a bound of zero.)
#[cfg(target_arch = "x86_64")]
#[test]
fn failing_paths_of_strings_are_behind_the_return() {
    for name in ["__strcpy_chk", "__stpcpy_chk", "__strcat_chk", "__strncat_chk"] {
        let code = instructions(&shared_library(), name);
        // A function may end the good path by a jump to the C library in place of a return.
        let end = code
            .iter()
            .find(|one| one.mnemonic == "ret" || one.mnemonic == "jmp")
            .unwrap_or_else(|| panic!("{name} does not end"));
        let branches: Vec<_> = code
            .iter()
            .filter(|one| one.mnemonic.starts_with('j') && one.mnemonic != "jmp")
            .collect();
        assert!(!branches.is_empty(), "{name} checks nothing");
        for branch in branches {
            assert!(
                branch.target() > Some(end.address),
                "{name}: {} {} stays on the good path",
                branch.mnemonic,
                branch.operands
            );
        }
    }
}
