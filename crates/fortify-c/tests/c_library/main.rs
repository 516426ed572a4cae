//! The C library as C programs meet it: installed by the script, then linked, preloaded, and read.
//!
//! Every test compiles real programs against the installed files. Nothing is skipped: a compiler or
//! a program that is missing fails the test, and `scripts/install-test-tools` installs it.

mod aarch64;
mod differential;
mod entries;
mod handler;
mod linking;
mod machine_code;
mod programs;
mod support;
mod symbols;
