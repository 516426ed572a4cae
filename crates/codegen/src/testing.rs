//! Objects for tests, compiled from text.

use std::fs;
use std::process::Command;

/// The object that `cc` makes of `text`, written to a file named `name`.
pub(crate) fn compile(cc: &str, options: &[&str], name: &str, text: &str) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(name), text).unwrap();
    let run = Command::new(cc)
        .args(options)
        .args(["-w", "-c", "-o", "x.o", name])
        .current_dir(dir.path())
        .output()
        .unwrap_or_else(|_| panic!("{cc} is missing: run scripts/install-test-tools"));
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    fs::read(dir.path().join("x.o")).unwrap()
}
