//! A campaign from plan to report: registers, warms up, runs block after block, looks where its
//! design allows it, and goes on where it was after any interruption.

use crate::command::{self, Call};
use crate::design::Design;
use crate::error::{MeasureError, RunName, RunPhase};
use crate::guardian::Guardian;
use crate::instruments::Instruments;
use crate::journal::{Journal, Registered, Session};
use crate::machine::{Machine, RunProbe};
use crate::metric::Reader;
use crate::order::{order, padding_bytes};
use crate::plan::Plan;
use crate::record::{BlockRecord, RunRecord, next_slot, units, valid};
use crate::report::BenchReport;
use crate::summary::{self, Kept};
use crate::verdict::{self, Rules};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Variable that makes the environment of a run longer.
const PADDING: &str = "UNLIKELY_PADDING";

/// What a campaign has just done, for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Blocks of an earlier sitting are kept.
    Resumed {
        /// Kept.
        blocks: u32,
        /// Planned at most.
        of: u32,
    },
    /// A warm-up of all arms has run and is discarded.
    Warmup {
        /// Done.
        done: u32,
        /// Planned.
        of: u32,
    },
    /// A block has run and is in the journal.
    Block {
        /// What is kept of it.
        block: BlockRecord,
        /// Planned at most.
        of: u32,
    },
}

/// Runs what is left of the campaign `key` of the file `journal`, and reports all of it.
///
/// A campaign that is complete reports without running anything. Where the number of blocks
/// decides nothing but the end, more of them than it was registered with continue it (and the
/// report says so, if it was complete before); any other change of plan is refused. The journal
/// does not see what is behind a command: put the content of the programs compared into the key,
/// so that a rebuild starts a new campaign.
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
    let readers = plan.metrics.iter().map(Reader::new).collect::<Result<Vec<_>, _>>()?;
    let journal = Journal::open(journal)?;
    let mut records = journal.blocks(key)?;
    let kept = count(valid(&records).count());
    let registered = journal.register(key, &Registered::of(plan), kept)?;
    if kept > 0 {
        on(Progress::Resumed { blocks: kept, of: plan.blocks });
    }
    let design = Design::of(plan);
    if next(plan, &design, &records).is_some() {
        let session = begin(&journal, key)?;
        let mut sitting = Sitting::begin(plan, &readers, session)?;
        let mut warm = None;
        while let Some((slot, may_be_invalid)) = next(plan, &design, &records) {
            // A build that has not run yet is as cold as the first of the sitting.
            let build = plan.build_of(slot);
            if warm.replace(build) != Some(build) {
                sitting.warm_up(slot, on)?;
            }
            let block = sitting.block(count(records.len()), slot, may_be_invalid)?;
            journal.append(key, &block)?;
            records.push(block.clone());
            on(Progress::Block { block, of: plan.blocks });
        }
    }
    let sessions = journal.sessions(key)?;
    let kept = Kept { plan, design: &design, records: &records, sessions: &sessions };
    summary::report(kept, key, &registered)
}

/// Blocks that the campaign `key` has in the file `journal` by now: none if either is not there.
///
/// # Errors
/// If the journal is in use or cannot be read.
pub fn kept_blocks(journal: &Path, key: &str) -> Result<Vec<BlockRecord>, MeasureError> {
    if journal.exists() { Journal::open(journal)?.blocks(key) } else { Ok(Vec::new()) }
}

/// The keys of all campaigns in the file `journal`: none if it is not there.
///
/// # Errors
/// If the journal is in use or cannot be read.
pub fn campaigns(journal: &Path) -> Result<Vec<String>, MeasureError> {
    if journal.exists() { Journal::open(journal)?.keys() } else { Ok(Vec::new()) }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The slot to run next, and whether its block may be found invalid; `None` if the campaign has
/// ended.
fn next(plan: &Plan, design: &Design, records: &[BlockRecord]) -> Option<(u32, bool)> {
    let slot = next_slot(records, plan.blocks)?;
    let whole_units = count(valid(records).count()).is_multiple_of(plan.blocks_per_unit());
    let after_valid = records.last().is_some_and(|record| record.invalid.is_none());
    let stopped = whole_units && after_valid && {
        let rules = Rules::of(plan, &plan.metrics[0], design);
        verdict::stops(&units(plan, records, 1, 0), rules)
    };
    (!stopped).then_some(slot)
}

/// Notes a new sitting and the machine's state; its index.
fn begin(journal: &Journal, key: &str) -> Result<u32, MeasureError> {
    let index = count(journal.sessions(key)?.len());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let session = Session { started_unix_s: now.as_secs(), machine: Machine::read() };
    journal.begin_session(key, index, &session)?;
    Ok(index)
}

/// One uninterrupted stretch of a campaign.
struct Sitting<'p> {
    plan: &'p Plan,
    readers: &'p [Reader],
    guardian: Guardian,
    instruments: Instruments,
    probe: RunProbe,
    session: u32,
    /// The commands, with the environment of the slot that runs.
    calls: Vec<Call>,
    /// What the metrics have warned of so far.
    warned: BTreeSet<String>,
}

impl<'p> Sitting<'p> {
    fn begin(plan: &'p Plan, readers: &'p [Reader], session: u32) -> Result<Self, MeasureError> {
        let guardian = Guardian::start().map_err(|source| MeasureError::Guardian { source })?;
        let instruments = Instruments::new(readers)?;
        let probe = RunProbe::open();
        Ok(Self {
            plan,
            readers,
            guardian,
            instruments,
            probe,
            session,
            calls: Vec::new(),
            warned: BTreeSet::new(),
        })
    }

    /// Runs what the plan discards, of the build of `slot`.
    fn warm_up(&mut self, slot: u32, on: &mut dyn FnMut(Progress)) -> Result<(), MeasureError> {
        self.calls_of(slot);
        for index in 0..self.plan.warmups {
            for arm in 0..count(self.plan.arms.len()) {
                self.run(RunName { arm, when: RunPhase::Warmup(index) })?;
            }
            on(Progress::Warmup { done: index + 1, of: self.plan.warmups });
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: u32,
        slot: u32,
        may_be_invalid: bool,
    ) -> Result<BlockRecord, MeasureError> {
        self.calls_of(slot);
        let mut runs = Vec::with_capacity(self.plan.arms.len());
        for arm in order(self.plan.seed, slot, count(self.plan.arms.len())) {
            runs.push(self.run(RunName { arm, when: RunPhase::Block(block) })?);
        }
        let disturbance = self.plan.rule.as_ref().filter(|_| may_be_invalid).and_then(|rule| {
            runs.iter()
                .find_map(|run| rule.violated(&run.conditions, Duration::from_secs_f64(run.wall_s)))
        });
        let mut warnings: Vec<String> = self.readers.iter().flat_map(Reader::warnings).collect();
        warnings.retain(|warning| self.warned.insert(warning.clone()));
        Ok(BlockRecord {
            block,
            slot,
            build: self.plan.build_of(slot),
            session: self.session,
            runs,
            invalid: disturbance,
            warnings,
        })
    }

    /// Sets the commands to the build and the padding of `slot`.
    fn calls_of(&mut self, slot: u32) {
        let build = self.plan.build_of(slot) as usize;
        let padding = "x".repeat(padding_bytes(self.plan.seed, slot));
        let call = |arm: &crate::plan::Arm| {
            let place = arm.builds.get(build)?;
            let mut env = place.env.clone();
            env.push((PADDING.to_owned(), padding.clone()));
            Some(Call { command: arm.command.clone(), dir: place.dir.clone(), env })
        };
        self.calls = self.plan.arms.iter().filter_map(call).collect();
    }

    fn run(&mut self, name: RunName) -> Result<RunRecord, MeasureError> {
        let call = self.calls.get(name.arm as usize).ok_or(MeasureError::NoArm { run: name })?;
        let begun = self.probe.start();
        let limit = self.plan.timeout;
        let output = command::run(call, name, limit, &self.guardian, &self.instruments)?;
        let conditions = self.probe.finish(&begun, output.cpu());
        let value = |reader: &Reader| {
            reader.value(&output).map_err(|reason| MeasureError::NoValue {
                run: name,
                reason,
                tail: output.tail(),
            })
        };
        Ok(RunRecord {
            arm: name.arm,
            values: self.readers.iter().map(value).collect::<Result<_, _>>()?,
            wall_s: output.wall.as_secs_f64(),
            cpu_s: output.cpu().as_secs_f64(),
            max_rss_bytes: output.max_rss_bytes,
            voluntary_switches: output.voluntary_switches,
            involuntary_switches: output.involuntary_switches,
            conditions,
        })
    }
}
