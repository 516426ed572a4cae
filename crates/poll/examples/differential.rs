//! Compares the core with the running kernel on as many random sets as one likes.
//!
//! `cargo run --release -p unlikely-poll --example differential -- 1000000 7`: a million sets with
//! seed 7. It ends with status 0 and a summary, or at the first disagreement with the set.

#[path = "../tests/world/mod.rs"]
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(sets)), Some(Ok(seed)), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        eprintln!("usage: differential SETS SEED, two whole numbers");
        return ExitCode::from(2);
    };
    let tally = world::World::new(seed).run(sets);
    println!(
        "{} sets, {} entries ({} with an answer), {} sets waited: no disagreement",
        tally.sets, tally.entries, tally.answered, tally.waited
    );
    println!("answers by bit, lowest first: {:?}", tally.bits);
    ExitCode::SUCCESS
}
