//! A campaign from plan to report: registers, warms up, runs block after block, and goes on where
//! it was after any interruption.

use crate::command;
use crate::error::{MeasureError, RunName, RunPhase};
use crate::guardian::Guardian;
use crate::journal::{Journal, Registered, Session};
use crate::machine::Machine;
use crate::metric::Reader;
use crate::order::a_first;
use crate::plan::Plan;
use crate::report::{BenchReport, BlockRow, Provenance, SCHEMA};
use crate::verdict;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a campaign has just done, for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Blocks of an earlier sitting are kept.
    Resumed {
        /// Kept.
        blocks: u32,
        /// Planned.
        of: u32,
    },
    /// A warm-up of both arms has run and is discarded.
    Warmup {
        /// Done.
        done: u32,
        /// Planned.
        of: u32,
    },
    /// A block has run and is in the journal.
    Block {
        /// Its row.
        row: BlockRow,
        /// Planned.
        of: u32,
    },
}

/// Runs what is left of the campaign `key` of the file `journal`, and reports all of it.
///
/// A campaign that is complete reports without running anything. More blocks than it was
/// registered with continue it (and the report says so, if it was complete before); any other
/// change of plan is refused. The journal does not see what is behind a command: put the content of
/// the programs compared into the key, so that a rebuild starts a new campaign.
///
/// # Errors
/// See [`MeasureError`]; blocks that were kept stay kept.
pub fn run(
    plan: &Plan,
    journal: &Path,
    key: &str,
    on: &mut dyn FnMut(Progress),
) -> Result<BenchReport, MeasureError> {
    plan.validate()?;
    let reader = Reader::new(&plan.metric)?;
    let journal = Journal::open(journal)?;
    let mut rows = journal.rows(key)?;
    let kept = count(&rows);
    let registered = journal.register(key, &Registered::of(plan), kept)?;
    if kept > 0 {
        on(Progress::Resumed { blocks: kept, of: plan.blocks });
    }
    if kept < plan.blocks {
        let session = begin(&journal, key)?;
        let sitting = Sitting { plan, reader, guardian: start_guardian()?, session };
        sitting.warm_up(on)?;
        for block in kept..plan.blocks {
            let row = sitting.block(block)?;
            journal.append(key, &row)?;
            rows.push(row.clone());
            on(Progress::Block { row, of: plan.blocks });
        }
    }
    report(plan, key, rows, &journal.sessions(key)?, &registered)
}

/// Blocks that the campaign `key` has in the file `journal` by now: none if either is not there.
///
/// # Errors
/// If the journal is in use or cannot be read.
pub fn kept_rows(journal: &Path, key: &str) -> Result<Vec<BlockRow>, MeasureError> {
    if journal.exists() { Journal::open(journal)?.rows(key) } else { Ok(Vec::new()) }
}

/// The keys of all campaigns in the file `journal`: none if it is not there.
///
/// # Errors
/// If the journal is in use or cannot be read.
pub fn campaigns(journal: &Path) -> Result<Vec<String>, MeasureError> {
    if journal.exists() { Journal::open(journal)?.keys() } else { Ok(Vec::new()) }
}

fn count(rows: &[BlockRow]) -> u32 {
    u32::try_from(rows.len()).unwrap_or(u32::MAX)
}

fn start_guardian() -> Result<Guardian, MeasureError> {
    Guardian::start().map_err(|source| MeasureError::Guardian { source })
}

/// Notes a new sitting and the machine's state; its index.
fn begin(journal: &Journal, key: &str) -> Result<u32, MeasureError> {
    let index = u32::try_from(journal.sessions(key)?.len()).unwrap_or(u32::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let session = Session { started_unix_s: now.as_secs(), machine: Machine::read() };
    journal.begin_session(key, index, &session)?;
    Ok(index)
}

/// One uninterrupted stretch of a campaign.
struct Sitting<'p> {
    plan: &'p Plan,
    reader: Reader,
    guardian: Guardian,
    session: u32,
}

/// What one run gave.
struct Run {
    value: f64,
    wall: Duration,
    cpu: Duration,
    max_rss_bytes: u64,
}

impl Sitting<'_> {
    fn warm_up(&self, on: &mut dyn FnMut(Progress)) -> Result<(), MeasureError> {
        for index in 0..self.plan.warmups {
            for is_a in [true, false] {
                self.run(RunName { is_a, when: RunPhase::Warmup(index) })?;
            }
            on(Progress::Warmup { done: index + 1, of: self.plan.warmups });
        }
        Ok(())
    }

    fn block(&self, block: u32) -> Result<BlockRow, MeasureError> {
        let a_first = a_first(self.plan.seed, block);
        let first = self.run(RunName { is_a: a_first, when: RunPhase::Block(block) })?;
        let second = self.run(RunName { is_a: !a_first, when: RunPhase::Block(block) })?;
        let (a, b) = if a_first { (first, second) } else { (second, first) };
        Ok(BlockRow {
            block,
            a_first,
            a: a.value,
            b: b.value,
            a_wall_s: a.wall.as_secs_f64(),
            b_wall_s: b.wall.as_secs_f64(),
            a_cpu_s: a.cpu.as_secs_f64(),
            b_cpu_s: b.cpu.as_secs_f64(),
            a_max_rss_bytes: a.max_rss_bytes,
            b_max_rss_bytes: b.max_rss_bytes,
            session: self.session,
        })
    }

    fn run(&self, name: RunName) -> Result<Run, MeasureError> {
        let arm = if name.is_a { &self.plan.a } else { &self.plan.b };
        let output = command::run(arm, name, self.plan.timeout, &self.guardian)?;
        let value = self.reader.value(&output).map_err(|reason| MeasureError::NoValue {
            run: name,
            reason,
            tail: output.tail(),
        })?;
        Ok(Run { value, wall: output.wall, cpu: output.cpu, max_rss_bytes: output.max_rss_bytes })
    }
}

fn report(
    plan: &Plan,
    key: &str,
    rows: Vec<BlockRow>,
    sessions: &[Session],
    registered: &Registered,
) -> Result<BenchReport, MeasureError> {
    let unfit = || MeasureError::Summary {
        key: key.to_owned(),
        what: "its values are not finite numbers above zero",
    };
    let values = |of: fn(&BlockRow) -> f64| rows.iter().map(of).collect::<Vec<_>>();
    let direction = plan.metric.direction();
    let judged = verdict::judge(&rows, direction, plan.equivalence_margin).ok_or_else(unfit)?;
    let mut reason = judged.reason;
    if !registered.extended_from.is_empty() {
        let blocks: Vec<String> =
            registered.extended_from.iter().map(ToString::to_string).collect();
        reason += &format!(
            "; caution: the campaign was made longer after its result at {} blocks was known, \
             which makes false claims likelier than the interval says",
            blocks.join(" and ")
        );
    }
    Ok(BenchReport {
        schema: SCHEMA.to_owned(),
        metric: plan.metric.name().to_owned(),
        direction,
        unit: plan.metric.unit().to_owned(),
        a: verdict::summarise(&values(|row| row.a)).ok_or_else(unfit)?,
        b: verdict::summarise(&values(|row| row.b)).ok_or_else(unfit)?,
        ratio: judged.ratio,
        ci95: judged.ci95,
        p: judged.p,
        companion: judged.companion,
        mde80_percent: judged.mde80_percent,
        equivalence_margin: plan.equivalence_margin,
        verdict: judged.verdict,
        reason,
        blocks: count(&rows),
        n_counts: n_counts(&rows, sessions),
        seed: plan.seed,
        provenance: provenance(plan, sessions),
        rows,
    })
}

/// What n is, in one sentence, and the layers that it does not sample.
fn n_counts(rows: &[BlockRow], sessions: &[Session]) -> String {
    let boots: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| sessions.get(row.session as usize))
        .map(|session| session.machine.boot_id.as_str())
        .collect();
    let sittings: BTreeSet<u32> = rows.iter().map(|row| row.session).collect();
    format!(
        "n counts {} pairs of processes, of one build per arm, in {} boot(s) and {} sitting(s); \
         the interval does not hold what another build's layout or another boot would add",
        rows.len(),
        boots.len(),
        sittings.len()
    )
}

fn provenance(plan: &Plan, sessions: &[Session]) -> Provenance {
    let warnings: BTreeSet<String> = sessions
        .iter()
        .flat_map(|session| session.machine.warnings())
        .map(|warning| warning.to_string())
        .collect();
    let first = sessions.first();
    let machine = first.map(|session| &session.machine);
    Provenance {
        command_a: plan.a.command.clone(),
        command_b: plan.b.command.clone(),
        started_unix_s: first.map_or(0, |session| session.started_unix_s),
        cpu: machine.map_or_else(String::new, |machine| machine.cpu.clone()),
        kernel: machine.map_or_else(String::new, |machine| machine.kernel.clone()),
        turbo: machine.map_or_else(String::new, |machine| machine.turbo.to_string()),
        tool: concat!("unlikely ", env!("CARGO_PKG_VERSION")).to_owned(),
        warnings: warnings.into_iter().collect(),
    }
}
