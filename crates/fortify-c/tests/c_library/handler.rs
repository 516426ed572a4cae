//! The handler, and reports in a process where little works.

use std::process::Command;

use crate::support::{LEVEL_3, compiler, link_shared, source, succeed};

fn handler_keeps_its_word(name: &str) {
    let place = tempfile::tempdir().expect("a directory");
    let program = place.path().join("handler");
    succeed(
        compiler(name, LEVEL_3)
            .arg(source("c/handler.c"))
            .arg("-o")
            .arg(&program)
            .args(link_shared()),
    );
    succeed(&mut Command::new(program));
}

#[test]
fn handler_keeps_its_word_to_gcc() {
    handler_keeps_its_word("gcc");
}

#[test]
fn handler_keeps_its_word_to_clang() {
    handler_keeps_its_word("clang-22");
}

#[test]
fn header_is_c_of_1990_and_cpp() {
    let place = tempfile::tempdir().unwrap();
    for (language, standard) in [("c", "-std=c90"), ("c++", "-std=c++98")] {
        succeed(
            Command::new("clang-22")
                .args(["-x", language, standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-c"])
                .arg(crate::support::prefix().join("include/unlikely_fortify.h"))
                .arg("-o")
                .arg(place.path().join("out")),
        );
    }
}
