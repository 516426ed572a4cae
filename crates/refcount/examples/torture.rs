//! Four threads and a watcher at a counter's ends, for as long as is asked for:
//! `cargo run --release --example torture -- [ROUNDS] [OPERATIONS]`.
//!
//! A line for each backend; the exit code is 1 if one that checks broke a promise, or if the control,
//! which does not check, kept them all.

#[path = "../tests/hammer/mod.rs"]
mod hammer;
#[path = "../tests/width/mod.rs"]
mod width;

use std::process::ExitCode;

use hammer::{near_the_greatest, near_zero};
use refcount::{Backend, Fetch, Full, Plain, set_handler};

/// Every place and width; the first promise broken.
fn torture<B: Backend<u32> + Backend<u64>>(rounds: u64, operations: u32) -> Result<(), String> {
    for seed in 0..rounds {
        near_the_greatest::<B, u32>(operations, seed)?;
        near_the_greatest::<B, u64>(operations, seed)?;
        near_zero::<B, u32>(operations, seed)?;
        near_zero::<B, u64>(operations, seed)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u32>());
    let (Ok(rounds), Ok(operations)) =
        (args.next().unwrap_or(Ok(100)), args.next().unwrap_or(Ok(20_000)))
    else {
        eprintln!("torture: ROUNDS and OPERATIONS are whole numbers below 2^32");
        return ExitCode::from(2);
    };
    set_handler(|_| ());
    let (rounds, operations) = (u64::from(rounds), operations.max(1));
    let mut broken = false;
    let mut tell = |name: &str, result: Result<(), String>, must_fail: bool| {
        broken |= result.is_err() != must_fail;
        println!("{name}: {}", result.err().unwrap_or_else(|| "kept every promise".to_owned()));
    };
    tell("fetch", torture::<Fetch>(rounds, operations), false);
    tell("full", torture::<Full>(rounds, operations), false);
    #[cfg(refcount_fast)]
    tell("fast", torture::<refcount::Fast>(rounds, operations), false);
    tell("plain (control, must fail)", torture::<Plain>(rounds, operations), true);
    ExitCode::from(u8::from(broken))
}
