//! The static library: before glibc, in place of what musl does not have, and without any C library.

use std::path::Path;
use std::process::Command;

use crate::support::{
    ENTRIES, LEVEL_3, compiler, pkg_config, prefix, run, source, static_library, succeed, text,
};

/// An object file of a program, compiled against glibc's headers.
fn object(place: &Path, name: &str) -> std::path::PathBuf {
    let object = place.join("program.o");
    succeed(compiler("gcc", LEVEL_3).arg("-c").arg(source(name)).arg("-o").arg(&object));
    object
}

#[test]
fn entries_come_before_those_of_a_static_glibc() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    for kind in ["-static", "-static-pie"] {
        for entry in ENTRIES {
            succeed(
                compiler("gcc", LEVEL_3)
                    .arg(kind)
                    .arg(source(&format!("c/entry/{entry}.c")))
                    .arg(static_library(prefix()))
                    .arg("-o")
                    .arg(&program),
            );
            succeed(&mut Command::new(&program));
        }
    }
}

#[test]
fn checks_inside_a_static_glibc_report_here_too() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    succeed(
        compiler("gcc", LEVEL_3)
            .arg("-static")
            .arg(source("c/static_glibc.c"))
            .args(pkg_config(&["--static", "--libs"]))
            .arg("-o")
            .arg(&program),
    );
    succeed(&mut Command::new(&program));
}

/// Objects made for glibc are linked to musl: what is missing there is what this library has.
#[test]
fn fortified_objects_link_to_musl_and_report() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    for entry in ENTRIES {
        let object = object(place.path(), &format!("c/entry/{entry}.c"));
        let link = |library: &[&Path]| {
            let mut link = Command::new("musl-gcc");
            link.arg("-static").arg(&object).args(library).arg("-o").arg(&program);
            link
        };
        let without = run(&mut link(&[]));
        let complaint = text(&without.stderr);
        assert!(
            complaint.contains(&format!("undefined reference to `__{entry}_chk'")),
            "musl has __{entry}_chk? {complaint}"
        );
        succeed(&mut link(&[&static_library(prefix())]));
        succeed(&mut Command::new(&program));
    }
}

#[test]
fn a_program_without_c_library_brings_what_the_header_lists() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("program");
    succeed(
        compiler("gcc", "-U_FORTIFY_SOURCE")
            .args([
                "-ffreestanding",
                "-fno-builtin",
                "-fno-stack-protector",
                "-nostdlib",
                "-static",
            ])
            .arg(source("c/freestanding.c"))
            .arg(static_library(prefix()))
            .arg("-o")
            .arg(&program),
    );
    succeed(&mut Command::new(&program));
}
