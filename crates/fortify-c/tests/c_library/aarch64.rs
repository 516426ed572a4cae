//! The library for aarch64, emulated: the other processor has its own system call and its own code.

use std::process::Command;

use crate::support::{ENTRIES, LEVEL_3, compiler, prefix_aarch64, source, static_library, succeed};

/// Statically linked, since the emulator then needs no files of the other system.
fn reports_on_aarch64(file: &str) {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("program");
    let library = static_library(prefix_aarch64());
    succeed(
        compiler("aarch64-linux-gnu-gcc", LEVEL_3)
            .arg("-static")
            .arg(r#"-DEMULATOR_ADDS="qemu: uncaught target signal 6 (Aborted) - core dumped\n""#)
            .arg(source(file))
            .arg(library)
            .arg("-o")
            .arg(&program),
    );
    succeed(Command::new("qemu-aarch64").arg(program));
}

#[test]
fn every_overflow_is_reported_on_aarch64() {
    for entry in ENTRIES {
        reports_on_aarch64(&format!("c/entry/{entry}.c"));
    }
}

#[test]
fn a_program_without_c_library_brings_what_the_header_lists_on_aarch64() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    succeed(
        compiler("aarch64-linux-gnu-gcc", "-U_FORTIFY_SOURCE")
            .args([
                "-ffreestanding",
                "-fno-builtin",
                "-fno-stack-protector",
                "-nostdlib",
                "-static",
            ])
            .arg(source("c/freestanding.c"))
            .arg(static_library(prefix_aarch64()))
            .arg("-o")
            .arg(&program),
    );
    succeed(Command::new("qemu-aarch64").arg(program));
}
