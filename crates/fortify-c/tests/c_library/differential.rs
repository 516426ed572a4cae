//! Half a million calls beside glibc's.

use std::process::Command;

use crate::support::{shared_library, source, succeed, text};

/// Lengths from nothing to a page, every alignment, bounds around each limit, sources that end where
/// memory ends: bytes, results and errno are glibc's, and so is the decision what is refused.
#[test]
fn good_calls_do_what_glibc_does_and_bad_ones_are_refused_as_by_glibc() {
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("differential");
    succeed(
        Command::new("gcc")
            .args(["-std=gnu11", "-O1", "-fno-builtin", "-U_FORTIFY_SOURCE"])
            .arg(source("c/differential.c"))
            .arg("-o")
            .arg(&program),
    );
    let said = text(&succeed(Command::new(&program).arg(shared_library())).stdout);
    let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [compared, refused] = numbers[..] else { panic!("{said}") };
    assert!(compared > 500_000 && refused > 25_000, "{said}");
}
