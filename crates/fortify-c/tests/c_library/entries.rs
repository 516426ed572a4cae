//! A program for each entry point: every overflow ends in exactly its report, good calls are right.
//!
//! The programs, one file each, hold the calls and the reports: constant and run-time lengths, the
//! sizes of arrays, members and, at level 3, of the heap.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use crate::support::{
    ENTRIES, LEVEL_3, compiler, link_shared, run, shared_library, source, succeed,
};

const LEVEL_2: &str = "-D_FORTIFY_SOURCE=2";

/// Whether the program imports the checked form of a function: otherwise it would show nothing.
fn imports(program: &Path, function: &str) -> bool {
    let bytes = fs::read(program).expect("a program");
    let file = object::File::parse(&*bytes).expect("an object file");
    let wanted = format!("__{function}_chk");
    file.dynamic_symbols().any(|symbol| symbol.is_undefined() && symbol.name() == Ok(&wanted))
}

fn every_overflow_is_reported(name: &str, level: &str) {
    let place = tempfile::tempdir().expect("a directory");
    for entry in ENTRIES {
        let program = place.path().join(entry);
        let file = source(&format!("c/entry/{entry}.c"));
        succeed(compiler(name, level).arg(file).arg("-o").arg(&program).args(link_shared()));
        assert!(imports(&program, entry), "{entry} is not called");
        succeed(&mut Command::new(&program));
    }
}

#[test]
fn there_is_a_program_for_each_entry_point() {
    let programs: BTreeSet<String> = fs::read_dir(source("c/entry"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(programs, ENTRIES.iter().map(|entry| format!("{entry}.c")).collect());
}

#[test]
fn every_overflow_is_reported_to_gcc_at_level_2() {
    every_overflow_is_reported("gcc", LEVEL_2);
}

#[test]
fn every_overflow_is_reported_to_gcc_at_level_3() {
    every_overflow_is_reported("gcc", LEVEL_3);
}

#[test]
fn every_overflow_is_reported_to_clang_at_level_2() {
    every_overflow_is_reported("clang-22", LEVEL_2);
}

#[test]
fn every_overflow_is_reported_to_clang_at_level_3() {
    every_overflow_is_reported("clang-22", LEVEL_3);
}

/// Programs that were linked without the library, to glibc alone.
#[test]
fn every_overflow_is_reported_when_the_library_is_preloaded() {
    let place = tempfile::tempdir().unwrap();
    let newer = place.path().join("libnewer.so");
    let mut build = compiler("gcc", "-U_FORTIFY_SOURCE");
    succeed(build.args(["-shared", "-fPIC"]).arg(source("c/newer_libc.c")).arg("-o").arg(&newer));
    for entry in ENTRIES {
        let program = place.path().join(entry);
        let file = source(&format!("c/entry/{entry}.c"));
        succeed(compiler("gcc", LEVEL_3).arg(file).arg(&newer).arg("-o").arg(&program));
        assert!(imports(&program, entry), "{entry} is not called");
        succeed(Command::new(&program).env("LD_PRELOAD", shared_library()));
        // Without it, the reports are not these.
        assert!(!run(&mut Command::new(&program)).status.success(), "{entry} without the library");
    }
}
