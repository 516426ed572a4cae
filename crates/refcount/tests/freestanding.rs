//! The crate without the standard library, in a C program.
#![cfg(all(unix, not(miri)))]

mod compile;

use std::path::Path;

use compile::{folder, run, rustc, user};

/// Whether anything of the archive is of the standard library, or asks for it.
fn has_std(archive: &Path) -> bool {
    let symbols = run("nm", ["--demangle", &archive.display().to_string()]).stdout;
    String::from_utf8_lossy(&symbols).lines().any(|line| line.contains(" std::"))
}

#[test]
fn a_c_program_counts_without_the_standard_library() {
    let folder = folder("freestanding");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let archive = folder.join("liblibrary.a");
    let library = here.join("tests/freestanding/library.rs");
    user(&folder, &library, &archive, &["--crate-type=staticlib"]);
    assert!(!has_std(&archive), "the standard library is in it");
    let program = folder.join("program").display().to_string();
    let main = here.join("tests/freestanding/main.c");
    let (main, archive) = (main.display().to_string(), archive.display().to_string());
    run("cc", ["-Wall", "-Werror", &main, &archive, "-o", &program]);
    let output = run(&program, [""; 0]);
    assert_eq!((output.stdout, output.stderr), (vec![], vec![]), "silent");
}

/// The control: the same search finds the standard library where it is.
#[test]
fn the_standard_library_would_be_found() {
    let folder = folder("with_std");
    let source = folder.join("with_std.rs");
    let text = "#[unsafe(no_mangle)] pub extern \"C\" fn now() { println!(\"now\"); }";
    std::fs::write(&source, text).expect("the target folder can be written");
    let archive = folder.join("libwith_std.a");
    let made = format!("-o{}", archive.display());
    rustc(&source, &["--crate-type=staticlib".to_owned(), made]);
    assert!(has_std(&archive));
}
