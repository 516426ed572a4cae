//! Tortures a lock and says what came of it: `locktorture LOCK`. Exit status 1 if the lock failed, as
//! `lock_busted` must. `scripts/torture-locks` runs it on each lock.
#![cfg(not(loom))]

mod engine;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use engine::{Busted, GivesWay, Outcome, Plan, Tortured, Until, torture};
use lock::{RwLock, SpinLock, Std};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Lock {
    /// The queued spinlock whose waiters park
    Spin,
    /// The queued spinlock whose waiters stand in line
    SpinInLine,
    /// The queued read-write lock whose waiters park
    Rw,
    /// The queued read-write lock whose waiters stand in line
    RwInLine,
    /// No lock at all: must fail
    #[value(name = "lock_busted")]
    Busted,
}

/// Tortures a lock, after the kernel's locktorture
#[derive(Parser, Debug)]
struct Options {
    lock: Lock,
    /// Threads that write
    #[arg(long, default_value_t = 2)]
    writers: usize,
    /// Threads that read; those of a spinlock take it as the writers do
    #[arg(long, default_value_t = 0)]
    readers: usize,
    /// How long, in seconds
    #[arg(long, default_value_t = 10, conflicts_with = "operations")]
    seconds: u64,
    /// How many operations, instead of how long
    #[arg(long)]
    operations: Option<u64>,
    /// Most operations between two times that all stop
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    round: u32,
    /// Leave threads on their CPUs
    #[arg(long)]
    no_shuffle: bool,
    /// Let threads live as long as a round
    #[arg(long)]
    no_onoff: bool,
    /// What everything random is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Options {
    fn plan(&self) -> Plan {
        let elapsed = Until::Elapsed(Duration::from_secs(self.seconds));
        Plan {
            writers: self.writers,
            readers: self.readers,
            until: self.operations.map_or(elapsed, Until::Operations),
            round: self.round,
            shuffle: !self.no_shuffle,
            onoff: !self.no_onoff,
            seed: self.seed,
        }
    }
}

fn run(lock: &impl Tortured, plan: &Plan) -> Outcome {
    torture(lock, plan)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let plan = options.plan();
    if plan.writers + plan.readers == 0 {
        eprintln!("locktorture: nobody takes the lock: give --writers or --readers a number");
        return ExitCode::from(2);
    }
    let outcome = match options.lock {
        Lock::Spin => run(&SpinLock::<(), Std>::new(()), &plan),
        Lock::SpinInLine => run(&SpinLock::<(), GivesWay>::new(()), &plan),
        Lock::Rw => run(&RwLock::<(), Std>::new(()), &plan),
        Lock::RwInLine => run(&RwLock::<(), GivesWay>::new(()), &plan),
        Lock::Busted => run(&Busted, &plan),
    };
    for (kind, counts) in [("write", &outcome.writes), ("read", &outcome.reads)] {
        if !counts.is_empty() {
            println!(
                "{kind}: {} in all, most by least {:.3}",
                counts.iter().sum::<u64>(),
                Outcome::unfairness(counts)
            );
        }
    }
    println!("threads replaced: {}, moved: {}", outcome.replaced, outcome.moved);
    println!("violations: {}, writes lost: {}", outcome.violations, outcome.lost);
    if outcome.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
