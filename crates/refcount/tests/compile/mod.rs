//! The crate compiled by rustc itself, beside something that uses it.
//!
//! Not by cargo: nothing is fetched or locked, flags meant for the tests do not get in, and what is
//! looked at is what is written here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `program`, which must succeed.
pub(crate) fn run<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = A>,
) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env_remove("RUSTFLAGS");
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// Runs the compiler that cargo uses, for `source`.
pub(crate) fn rustc(source: &Path, arguments: &[String]) {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let edition = ["--edition=2024".to_owned(), source.display().to_string()];
    run(rustc, arguments.iter().chain(&edition));
}

/// A folder of a test's own, which cargo cleans away with the rest.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Compiles the crate, optimised and without the standard library, into `folder`, and then `source`
/// as `made` with `flags` on top of it.
pub(crate) fn user(folder: &Path, source: &Path, made: &Path, flags: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let to = |flag: &str, path: &Path| format!("{flag}{}", path.display());
    let library = |name: &str, source: &str, more: &[String]| {
        let path = folder.join(format!("lib{name}.rlib"));
        let mut arguments = vec![format!("--crate-name={name}"), to("-o", &path)];
        arguments.extend(["--crate-type=rlib", "-O", "-Cpanic=abort"].map(str::to_owned));
        arguments.extend_from_slice(more);
        rustc(&here.join(source), &arguments);
        to(&format!("--extern={name}="), &path)
    };
    let unlikely = library("unlikely", "../unlikely/src/lib.rs", &[]);
    let mut more = vec![unlikely];
    // What the build script says of the target.
    more.extend(cfg!(refcount_fast).then(|| "--cfg=refcount_fast".to_owned()));
    let refcount = library("refcount", "src/lib.rs", &more);

    let mut arguments = vec![refcount, to("-Ldependency=", folder), to("-o", made)];
    arguments.extend(["-O", "-Cpanic=abort"].iter().chain(flags).map(|flag| (*flag).to_owned()));
    rustc(source, &arguments);
}
