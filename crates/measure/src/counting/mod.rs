//! Counting in place of timing: both arms under callgrind, compared instruction by instruction.
//!
//! Where a machine has no hardware counters, this still shows exactly what a change of code layout
//! is meant to change: how many jumps are taken on the way. It shows nothing of what they cost.
//!
//! `run` executes a command under callgrind, `gather` and `callgrind` read what that leaves, `objects` and `decode`
//! tell from the machine code what each instruction is, `tally` counts, `names` matches what two
//! builds name differently, `compare` judges, and `record` is what comes out.

mod callgrind;
mod compare;
mod decode;
mod gather;
mod names;
mod objects;
mod record;
mod run;
mod tally;

#[doc(hidden)]
pub use callgrind::fuzz as fuzz_callgrind;
pub use record::{
    ArmCounts, COUNT_SCHEMA, CountProvenance, CountReport, CountVerdict, CountedProcess, Counts,
    FunctionChange, FunctionCounts, LineChange, LineCounts, Side,
};

use crate::command::Call;
use crate::error::{MeasureError, PlanError, RunName, RunPhase};
use crate::guardian::Guardian;
use crate::machine::Machine;
use crate::plan::{Arm, Build};
use gather::Gathered;
use objects::Objects;
use run::Valgrind;
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tally::Tally;

/// A run under callgrind has ended, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountProgress {
    /// Runs of both arms that have ended.
    pub done: u32,
    /// Runs that there will be.
    pub of: u32,
}

/// Counts both arms, `runs` times each in turn, and compares B with A.
///
/// One run shows the difference if the commands are deterministic; two show whether they are. A
/// run takes 20 to 100 times as long as the command alone, and `timeout` is for one run. Code
/// lines, functions and source lines are those of each arm's first run.
///
/// # Errors
/// If valgrind is missing, or a command cannot be run, fails, takes too long, or runs no program.
pub fn count(
    a: &Arm,
    b: &Arm,
    runs: u32,
    timeout: Duration,
    on: &mut dyn FnMut(CountProgress),
) -> Result<CountReport, MeasureError> {
    let calls = validate(a, b, runs, timeout)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let valgrind = Valgrind::find(&std::env::var_os("PATH").unwrap_or_default())?;
    let guardian = Guardian::start().map_err(|source| MeasureError::Guardian { source })?;
    let mut objects = Objects::default();
    let of = runs.saturating_mul(2);
    let mut done = 0;
    let mut counted: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
    for index in 0..runs {
        for ((arm, call), of_arm) in (0..).zip(&calls).zip(&mut counted) {
            let name = RunName { arm, when: RunPhase::Count(index) };
            let mut gathered = run::run(call, name, timeout, &guardian, &valgrind, &mut objects)?;
            let code = std::mem::take(&mut gathered.code);
            let tally = Tally::of(&code, &mut objects, &call.dir);
            if code.dropped > 0 {
                let what = format!("{} entries were too many to be held", code.dropped);
                gathered.problems.push(what);
            }
            of_arm.push(Run { gathered, tally });
            done += 1;
            on(CountProgress { done, of });
        }
    }
    let [of_a, of_b] = counted;
    let (counts_a, counts_b) = (arm_counts(&of_a, &of_b), arm_counts(&of_b, &of_a));
    let (verdict, reason) = compare::verdict(&counts_a, &counts_b);
    let [a, b] = calls;
    Ok(CountReport {
        schema: COUNT_SCHEMA.to_owned(),
        verdict,
        reason,
        changed_functions: compare::functions(&counts_a, &counts_b),
        changed_lines: compare::lines(&counts_a, &counts_b),
        warnings: compare::warnings(&counts_a, &counts_b),
        a: counts_a,
        b: counts_b,
        provenance: CountProvenance {
            command_a: a.command,
            command_b: b.command,
            dir_a: a.dir.to_string_lossy().into_owned(),
            dir_b: b.dir.to_string_lossy().into_owned(),
            started_unix_s: now.as_secs(),
            valgrind: valgrind.version,
            machine: Machine::read(),
            tool: concat!("unlikely ", env!("CARGO_PKG_VERSION")).to_owned(),
        },
    })
}

/// What is counted of each arm: its first build.
fn validate(a: &Arm, b: &Arm, runs: u32, timeout: Duration) -> Result<[Call; 2], MeasureError> {
    if runs == 0 {
        return Err(PlanError::NoCountRuns.into());
    }
    if timeout.is_zero() {
        return Err(PlanError::NoTime.into());
    }
    let call = |arm: char, of: &Arm| {
        if of.command.trim().is_empty() {
            return Err(PlanError::EmptyCommand { arm });
        }
        let Build { dir, env } =
            of.builds.first().cloned().ok_or(PlanError::Builds { arm, builds: 0 })?;
        Ok(Call { command: of.command.clone(), dir, env })
    };
    Ok([call('A', a)?, call('B', b)?])
}

/// One run of one arm.
struct Run {
    gathered: Gathered,
    tally: Tally,
}

/// The record of an arm from its runs; `other` are the runs of the other arm.
fn arm_counts(runs: &[Run], other: &[Run]) -> ArmCounts {
    let (Some(first), Some(first_of_other)) = (runs.first(), other.first()) else {
        return ArmCounts::default();
    };
    let paths = |run: &Run| -> BTreeSet<String> { run.tally.objects.keys().cloned().collect() };
    let (of, of_other) = (paths(first), paths(first_of_other));
    let own = compare::own(
        &of.iter().map(String::as_str).collect(),
        &of_other.iter().map(String::as_str).collect(),
    );
    let own_parts = |run: &Run| {
        let (mut counts, mut code_lines) = (Counts::default(), 0_u64);
        for part in own.iter().filter_map(|&path| run.tally.objects.get(path)) {
            counts.add(&part.counts);
            code_lines = code_lines.saturating_add(part.code_lines.len() as u64);
        }
        (counts, code_lines)
    };
    let (own_counts, code_lines) = own_parts(first);
    let functions =
        first.tally.functions.iter().map(|(key, whole)| FunctionCounts {
            name: key.1.clone(),
            object: key.0.clone(),
            counts: whole.counts,
            code_lines: whole.code_lines.len() as u64,
            taken_range: range(runs.iter().map(|run| {
                run.tally.functions.get(key).map_or(0, |function| function.counts.taken())
            })),
        });
    let lines = first.tally.lines.iter().map(|((file, line), counts)| LineCounts {
        file: file.clone(),
        line: *line,
        counts: *counts,
    });
    ArmCounts {
        total: first.tally.total,
        own: own_counts,
        code_lines,
        runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        own_taken_range: range(runs.iter().map(|run| own_parts(run).0.taken())),
        instructions_range: range(runs.iter().map(|run| run.tally.total.instructions)),
        functions: functions.collect(),
        lines: lines.collect(),
        processes: first.gathered.processes.clone(),
        shell_instructions: first.gathered.shell_instructions,
        added_instructions: first.tally.added_instructions,
        undecoded_instructions: first.tally.undecoded_instructions,
        lost_processes: first.gathered.lost_processes,
        repeated_processes: first.gathered.repeated_processes,
        problems: first.gathered.problems.clone(),
    }
}

/// Least and most of `values`; zeros of none.
fn range(values: impl Iterator<Item = u64> + Clone) -> [u64; 2] {
    [values.clone().min().unwrap_or(0), values.max().unwrap_or(0)]
}
