//! The attack: a use after free with a counter that wraps, a leaked slot and a report with every other.

use std::process::Command;

use refcount::{Backend, DefaultBackend, Fetch, Full, Plain, Word};
use slab::sessions::{ALICE, BOB, Leaks, attack};

#[test]
fn a_counter_that_wraps_gives_the_slot_away_in_use() {
    let outcome = attack::<Plain>(Leaks::InStrides);
    assert_eq!(outcome.count, 1, "for two references in use");
    assert_eq!(outcome.reads_secret_of, BOB, "through Alice's handle");
    assert_eq!(outcome.id_now, outcome.bobs);
    assert_ne!(outcome.id_now, outcome.id);
    assert_eq!(outcome.used_and_leaked, (1, 0));
}

fn contained<B: Backend<u32>>() {
    let outcome = attack::<B>(Leaks::InStrides);
    assert_eq!(outcome.count, <u32 as Word>::SATURATED, "{}", B::NAME);
    assert_eq!(outcome.reads_secret_of, ALICE, "{}", B::NAME);
    assert_eq!(outcome.id_now, outcome.id, "{}", B::NAME);
    assert_ne!(outcome.bobs, outcome.id, "{}", B::NAME);
    assert_eq!(outcome.used_and_leaked, (1, 1), "{}", B::NAME);
}

#[test]
fn every_counter_that_saturates_leaks_the_slot_instead() {
    contained::<DefaultBackend>();
    contained::<Fetch>();
    contained::<Full>();
}

/// What the program prints, and where the report says that the bug is.
#[test]
fn the_program_shows_both_and_names_the_line() {
    let output = Command::new(env!("CARGO_BIN_EXE_slab")).output().unwrap();
    assert!(output.status.success());
    let told = String::from_utf8(output.stdout).unwrap();
    let (wraps, saturates) = told.split_once("\n\n").expect("two paragraphs");
    assert!(wraps.contains("she reads Bob's secret") && wraps.ends_with("USE AFTER FREE"));
    assert!(saturates.contains("she reads her own secret") && saturates.contains("1 leaked"));
    assert!(saturates.ends_with("contained\n"), "{saturates}");

    let source = include_str!("../src/sessions.rs");
    let bug = |line: &str| line.contains("session.clone().into_id()");
    let line = source.lines().position(bug).expect("the bug is there") + 1;
    let reports = String::from_utf8(output.stderr).unwrap();
    let first = reports.lines().next().expect("a report");
    assert!(first.contains("increment beyond the greatest count"), "{first}");
    assert!(first.contains(&format!("sessions.rs:{line}:")), "{first}");
}

#[test]
fn an_unknown_argument_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_slab")).arg("--fast").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("usage"));
}
