//! Shows what a leak of references does with a counter that wraps and with one that saturates.
//!
//! `cargo run --release -p slab`; with `--one-by-one` each of the 2³² leaks is a request of its own.

use std::process::ExitCode;

use refcount::{Backend, DefaultBackend, Plain};
use slab::sessions::{ALICE, Leaks, Outcome, attack};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let how = match &arguments[..] {
        [] => Leaks::InStrides,
        [flag] if flag == "--one-by-one" => Leaks::OneByOne,
        _ => {
            eprintln!("usage: slab [--one-by-one]");
            return ExitCode::from(2);
        }
    };
    tell::<Plain>("a counter that wraps", &attack::<Plain>(how));
    println!();
    tell::<DefaultBackend>("a counter that saturates", &attack::<DefaultBackend>(how));
    ExitCode::SUCCESS
}

fn tell<B: Backend<u32>>(counter: &str, outcome: &Outcome) {
    println!("{counter} (backend `{}`), after 2^32 - 1 leaked references:", B::NAME);
    println!("  the count is {:#010x}, with two references in use", outcome.count);
    println!("  Alice holds {}; Bob was given {}", outcome.id, outcome.bobs);
    let whose = if outcome.reads_secret_of == ALICE { "her own" } else { "Bob's" };
    println!("  under Alice's handle is {}: she reads {whose} secret", outcome.id_now);
    let (used, leaked) = outcome.used_and_leaked;
    println!("  of 4 slots {used} in use, {leaked} leaked");
    let verdict = if outcome.id == outcome.id_now { "contained" } else { "USE AFTER FREE" };
    println!("  {verdict}");
}
