//! The journal: one database file that holds any number of campaigns, each under its key.
//!
//! A block is one durable transaction, so whatever kills the process leaves all of its runs or
//! none. The file is created under another name and then linked into place, since a database
//! that was cut short while being laid could not be opened again. The store locks the file against
//! a second process for as long as it is open.

use crate::error::MeasureError;
use crate::machine::{Machine, Rule};
use crate::metric::Metric;
use crate::order::order;
use crate::plan::{Arm, Plan, Stop};
use crate::record::{BlockRecord, RunRecord, next_slot};
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Key → [`Registered`] as JSON.
const CAMPAIGNS: TableDefinition<&str, &[u8]> = TableDefinition::new("campaigns");
/// Key and index → [`Session`] as JSON.
const SESSIONS: TableDefinition<(&str, u32), &[u8]> = TableDefinition::new("sessions");
/// Key and block → [`BlockRecord`] as JSON.
const BLOCKS: TableDefinition<(&str, u32), &[u8]> = TableDefinition::new("blocks");

/// Form of what is stored.
const JOURNAL_SCHEMA: &str = "unlikely/journal/2";

/// How long a locked journal is tried again. A command that was being started when its campaign
/// was killed holds the lock until its exec, and a resume must not trip over that.
const LOCK_GRACE: Duration = Duration::from_secs(1);

/// A campaign's plan, as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Registered {
    schema: String,
    // What follows is absent in plans of another form, which are refused by their schema.
    #[serde(default)]
    arms: Vec<Arm>,
    #[serde(default)]
    metrics: Vec<Metric>,
    #[serde(default)]
    stop: Stop,
    warmups: u32,
    seed: u64,
    equivalence_margin: Option<f64>,
    #[serde(default)]
    strict: bool,
    #[serde(default)]
    rule: Option<Rule>,
    /// Blocks planned.
    blocks: u32,
    /// Numbers of blocks at which the campaign was already complete, and was then made longer.
    pub(crate) extended_from: Vec<u32>,
}

impl Registered {
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            schema: JOURNAL_SCHEMA.to_owned(),
            arms: plan.arms.clone(),
            metrics: plan.metrics.clone(),
            stop: plan.stop,
            warmups: plan.warmups,
            seed: plan.seed,
            equivalence_margin: plan.equivalence_margin,
            strict: plan.strict,
            rule: plan.rule,
            blocks: plan.blocks,
            extended_from: Vec::new(),
        }
    }

    /// Fields in which `other` is not the same campaign. More blocks are, where the number of
    /// blocks decides nothing but the end; fewer are not, since stopping early at a result that
    /// pleases is no plan.
    fn differs(&self, other: &Self) -> Vec<String> {
        let mut differs = Vec::new();
        if self.arms.len() != other.arms.len() {
            differs.push("number of arms".to_owned());
        }
        for ((one, two), name) in self.arms.iter().zip(&other.arms).zip('A'..) {
            let builds = || one.builds.iter().zip(&two.builds);
            let checks = [
                (one.command != two.command, "command"),
                (one.builds.len() != two.builds.len(), "number of builds"),
                (builds().any(|(x, y)| x.dir != y.dir), "directory"),
                (builds().any(|(x, y)| x.env != y.env), "environment"),
            ];
            differs.extend(named(&checks).map(|what| format!("{what} of {name}")));
        }
        let bound = self.stop != Stop::Fixed || self.arms.iter().any(|arm| arm.builds.len() > 1);
        let checks = [
            (self.metrics != other.metrics, "metrics"),
            (self.stop != other.stop, "stopping rule"),
            (self.warmups != other.warmups, "warm-ups"),
            (self.seed != other.seed, "seed"),
            (self.equivalence_margin != other.equivalence_margin, "equivalence margin"),
            (self.strict != other.strict, "strictness"),
            (self.rule != other.rule, "rule for invalid blocks"),
            (self.blocks > other.blocks || bound && self.blocks != other.blocks, "blocks"),
        ];
        differs.extend(named(&checks).map(str::to_owned));
        differs
    }
}

fn named<'c>(checks: &'c [(bool, &'static str)]) -> impl Iterator<Item = &'static str> + 'c {
    checks.iter().filter(|(differ, _)| *differ).map(|(_, name)| *name)
}

/// One sitting of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Start, seconds since the epoch.
    pub(crate) started_unix_s: u64,
    pub(crate) machine: Machine,
}

/// An open journal; nobody else has it open.
pub(crate) struct Journal {
    database: Database,
    path: PathBuf,
}

impl Journal {
    /// Opens `path`, and lays it first if it is not there.
    pub(crate) fn open(path: &Path) -> Result<Self, MeasureError> {
        if !path.exists() {
            lay(path)?;
        }
        let begun = Instant::now();
        loop {
            match Database::open(path) {
                Ok(database) => return Ok(Self { database, path: path.to_owned() }),
                Err(DatabaseError::DatabaseAlreadyOpen) if begun.elapsed() < LOCK_GRACE => {
                    std::thread::sleep(LOCK_GRACE / 100);
                }
                Err(DatabaseError::DatabaseAlreadyOpen) => {
                    return Err(MeasureError::JournalLocked { path: path.to_owned() });
                }
                Err(error) => return Err(failure(path, "opening it", error)),
            }
        }
    }

    /// Registers `plan` under `key`, or checks it against the one that is registered and takes
    /// over a larger number of blocks; `valid` is how many valid ones it has.
    pub(crate) fn register(
        &self,
        key: &str,
        plan: &Registered,
        valid: u32,
    ) -> Result<Registered, MeasureError> {
        let mut registered = plan.clone();
        if let Some(before) = self.campaign(key)? {
            self.check_form(key, &before)?;
            let differs = before.differs(plan);
            if !differs.is_empty() {
                return Err(MeasureError::PlanDiffers {
                    path: self.path.clone(),
                    key: key.to_owned(),
                    differs: differs.join(", "),
                });
            }
            if before.blocks == plan.blocks {
                return Ok(before);
            }
            registered.extended_from = before.extended_from;
            if valid >= before.blocks {
                registered.extended_from.push(before.blocks);
            }
        }
        self.put(CAMPAIGNS, key, &registered, "registering a campaign")?;
        Ok(registered)
    }

    /// The keys of all campaigns, sorted.
    pub(crate) fn keys(&self) -> Result<Vec<String>, MeasureError> {
        let doing = "listing the campaigns";
        let fail = |error: redb::Error| failure(&self.path, doing, error);
        let read = self.database.begin_read().map_err(|e| fail(e.into()))?;
        let table = match read.open_table(CAMPAIGNS) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(fail(error.into())),
        };
        let mut keys = Vec::new();
        for entry in table.iter().map_err(|e| fail(e.into()))? {
            keys.push(entry.map_err(|e| fail(e.into()))?.0.value().to_owned());
        }
        Ok(keys)
    }

    fn campaign(&self, key: &str) -> Result<Option<Registered>, MeasureError> {
        let doing = "reading a campaign";
        let read = self.database.begin_read().map_err(|e| failure(&self.path, doing, e))?;
        let table = match read.open_table(CAMPAIGNS) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(failure(&self.path, doing, error)),
        };
        let value = table.get(key).map_err(|e| failure(&self.path, doing, e))?;
        value.map(|bytes| self.decode(key, bytes.value(), "its plan")).transpose()
    }

    /// Every committed block of `key`, in order, each checked: the journal is a file like any
    /// other, and a block that is wrong must not become a figure.
    pub(crate) fn blocks(&self, key: &str) -> Result<Vec<BlockRecord>, MeasureError> {
        let Some(registered) = self.campaign(key)? else {
            let none: Vec<serde::de::IgnoredAny> = self.all(BLOCKS, key, "a block")?;
            return if none.is_empty() {
                Ok(Vec::new())
            } else {
                Err(self.content(key, "blocks without a plan".to_owned()))
            };
        };
        self.check_form(key, &registered)?;
        let blocks: Vec<BlockRecord> = self.all(BLOCKS, key, "a block")?;
        for (index, block) in blocks.iter().enumerate() {
            let before = blocks.get(..index).unwrap_or_default();
            if !is_sound(&registered, before, block) {
                return Err(self.content(key, format!("block {index} is not as written")));
            }
        }
        Ok(blocks)
    }

    fn check_form(&self, key: &str, registered: &Registered) -> Result<(), MeasureError> {
        if registered.schema == JOURNAL_SCHEMA {
            return Ok(());
        }
        let what = format!("its form is {:?}, not {JOURNAL_SCHEMA:?}", registered.schema);
        Err(self.content(key, what))
    }

    /// Every sitting of `key`, in order.
    pub(crate) fn sessions(&self, key: &str) -> Result<Vec<Session>, MeasureError> {
        self.all(SESSIONS, key, "a sitting")
    }

    /// Commits one sitting; durable when this returns.
    pub(crate) fn begin_session(
        &self,
        key: &str,
        index: u32,
        session: &Session,
    ) -> Result<(), MeasureError> {
        self.put(SESSIONS, (key, index), session, "noting a sitting")
    }

    /// Commits one block; durable when this returns.
    pub(crate) fn append(&self, key: &str, block: &BlockRecord) -> Result<(), MeasureError> {
        self.put(BLOCKS, (key, block.block), block, "keeping a block")
    }

    fn put<'k, K: redb::Key + 'static>(
        &self,
        table: TableDefinition<K, &[u8]>,
        key: impl std::borrow::Borrow<K::SelfType<'k>>,
        value: &impl Serialize,
        doing: &'static str,
    ) -> Result<(), MeasureError> {
        let fail = |error: redb::Error| failure(&self.path, doing, error);
        let bytes = serde_json::to_vec(value)
            .map_err(|error| fail(redb::Error::Io(io::Error::other(error))))?;
        let write = self.database.begin_write().map_err(|error| fail(error.into()))?;
        {
            let mut table = write.open_table(table).map_err(|error| fail(error.into()))?;
            table.insert(key, bytes.as_slice()).map_err(|error| fail(error.into()))?;
        }
        write.commit().map_err(|error| fail(error.into()))
    }

    /// Every value of `table` under `key`, by index.
    fn all<T: DeserializeOwned>(
        &self,
        table: TableDefinition<(&str, u32), &[u8]>,
        key: &str,
        what: &'static str,
    ) -> Result<Vec<T>, MeasureError> {
        let fail = |error: redb::Error| failure(&self.path, "reading a campaign", error);
        let read = self.database.begin_read().map_err(|error| fail(error.into()))?;
        let table = match read.open_table(table) {
            Ok(table) => table,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
            Err(error) => return Err(fail(error.into())),
        };
        let mut values = Vec::new();
        let range = table.range((key, 0)..=(key, u32::MAX)).map_err(|error| fail(error.into()))?;
        for entry in range {
            let (_, bytes) = entry.map_err(|error| fail(error.into()))?;
            values.push(self.decode(key, bytes.value(), what)?);
        }
        Ok(values)
    }

    fn decode<T: DeserializeOwned>(
        &self,
        key: &str,
        bytes: &[u8],
        what: &str,
    ) -> Result<T, MeasureError> {
        serde_json::from_slice(bytes)
            .map_err(|error| self.content(key, format!("{what} cannot be read ({error})")))
    }

    fn content(&self, key: &str, what: String) -> MeasureError {
        MeasureError::JournalContent { path: self.path.clone(), key: key.to_owned(), what }
    }
}

/// Whether `block` is what this tool writes after `before`.
fn is_sound(plan: &Registered, before: &[BlockRecord], block: &BlockRecord) -> bool {
    let arms = u32::try_from(plan.arms.len()).unwrap_or(u32::MAX);
    let sound = |values: &[f64]| {
        values.len() == plan.metrics.len() && values.iter().all(|v| v.is_finite() && *v > 0.0)
    };
    let builds = u32::try_from(plan.arms.first().map_or(0, |arm| arm.builds.len())).unwrap_or(0);
    let build = if builds > 1 { block.slot / (plan.blocks / builds).max(1) } else { 0 };
    // A block that no rule left out is what a pleasing result could be made of.
    let left_out = |may_be: bool| block.invalid.is_none() || may_be && plan.rule.is_some();
    let next = next_slot(before, plan.blocks).filter(|(slot, _)| *slot == block.slot);
    let measured = |run: &RunRecord| {
        [run.wall_s, run.cpu_s].iter().all(|seconds| Duration::try_from_secs_f64(*seconds).is_ok())
    };
    block.block as usize == before.len()
        && next.is_some_and(|(_, may_be_invalid)| left_out(may_be_invalid))
        && block.build == build
        && before.last().is_none_or(|last| last.session <= block.session)
        && block.runs.iter().all(measured)
        && block.runs.iter().map(|run| run.arm).eq(order(plan.seed, block.slot, arms))
        && block.runs.iter().all(|run| sound(&run.values))
}

fn failure(path: &Path, doing: &'static str, error: impl Into<redb::Error>) -> MeasureError {
    MeasureError::Journal { path: path.to_owned(), doing, source: Box::new(error.into()) }
}

/// Creates an empty journal at `path` in one step: complete, or not there.
fn lay(path: &Path) -> Result<(), MeasureError> {
    let fail = |source| MeasureError::JournalCreate { path: path.to_owned(), source };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let draft = PathBuf::from(name);
    // Left by a process of the same id that was killed here.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    match Database::create(&draft) {
        Ok(database) => drop(database),
        Err(DatabaseError::Storage(redb::StorageError::Io(error))) => return Err(fail(error)),
        Err(error) => return Err(failure(path, "creating it", error)),
    }
    let linked = match fs::hard_link(&draft, path) {
        // Another process was faster; whichever opens it first has it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    };
    fs::remove_file(&draft).and(linked).map_err(fail)?;
    // The name must survive a power cut as the contents do.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::File::open(folder.unwrap_or(Path::new("."))).map_err(fail)?;
    folder.sync_all().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Disturbance;
    use crate::record::tests::block;
    use crate::report::Direction;
    use proptest::prelude::*;

    const KEY: &str = "sort";

    fn plan(blocks: u32) -> Registered {
        let direction = Direction::Lower;
        let metric = Metric::Regex { pattern: "(x)".into(), direction, unit: "s".into() };
        Registered {
            schema: JOURNAL_SCHEMA.into(),
            arms: vec![Arm::new("true", "/"), Arm::new("true", "/")],
            metrics: vec![metric],
            stop: Stop::Fixed,
            warmups: 0,
            seed: 1,
            equivalence_margin: Some(0.1),
            strict: false,
            rule: None,
            blocks,
            extended_from: vec![],
        }
    }

    /// What a campaign of that plan writes as its block of this index.
    fn written(index: u32) -> BlockRecord {
        let mut record = block(index, 0.1, 1e-300);
        let order = order(1, index, 2);
        record.runs.sort_by_key(|run| order.iter().position(|arm| *arm == run.arm));
        record
    }

    const HEAT: Disturbance = Disturbance::Throttled { events: 1 };

    /// The same for its first slot, found to be disturbed.
    fn left_out(index: u32) -> BlockRecord {
        BlockRecord { block: index, invalid: Some(HEAT), ..written(0) }
    }

    fn journal(dir: &tempfile::TempDir) -> Journal {
        Journal::open(&dir.path().join("journal")).unwrap()
    }

    #[test]
    fn what_was_kept_is_there_when_the_file_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        {
            let journal = journal(&dir);
            journal.register(KEY, &plan(4), 0).unwrap();
            journal.append(KEY, &written(0)).unwrap();
            journal.append(KEY, &written(1)).unwrap();
        }
        let journal = journal(&dir);
        assert_eq!(journal.blocks(KEY).unwrap(), [written(0), written(1)]);
        assert_eq!(journal.campaign(KEY).unwrap(), Some(plan(4)));
    }

    #[test]
    fn keys_do_not_see_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(&dir);
        for key in ["sort", "sor", "sorta"] {
            journal.register(key, &plan(4), 0).unwrap();
        }
        journal.append("sorta", &written(0)).unwrap();
        journal.append("sor", &written(0)).unwrap();
        assert_eq!(journal.blocks("sort").unwrap(), []);
    }

    #[test]
    fn only_laying_leaves_a_file_and_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        // What a process of this id leaves that is killed while laying.
        fs::write(format!("{}.new-{}", path.display(), std::process::id()), "half").unwrap();
        drop(Journal::open(&path).unwrap());
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["journal"]);
    }

    #[test]
    fn a_longer_plan_is_noted_only_if_the_result_was_known() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(&dir);
        let longer = |blocks, rows| journal.register(KEY, &plan(blocks), rows).unwrap();
        assert_eq!(longer(4, 0).extended_from, [0; 0]);
        assert_eq!(longer(6, 3).extended_from, [0; 0]);
        assert_eq!(longer(8, 6).extended_from, [6]);
        assert_eq!(longer(9, 8).extended_from, [6, 8]);
        assert_eq!(longer(9, 8).extended_from, [6, 8]);
    }

    #[test]
    fn blocks_that_were_tampered_with_are_no_figures() {
        let tampered = |change: fn(&mut BlockRecord)| {
            let dir = tempfile::tempdir().unwrap();
            let journal = journal(&dir);
            journal.register(KEY, &plan(4), 0).unwrap();
            let mut block = written(0);
            change(&mut block);
            journal.append(KEY, &block).unwrap();
            journal.blocks(KEY).unwrap_err().to_string()
        };
        assert!(tampered(|block| block.block = 1).contains("not as written"));
        assert!(tampered(|block| block.slot = 1).contains("not as written"));
        assert!(tampered(|block| block.runs.reverse()).contains("not as written"));
        assert!(tampered(|block| block.runs[1].values[0] = -1.0).contains("not as written"));
        assert!(tampered(|block| block.runs[1].values.clear()).contains("not as written"));
        assert!(tampered(|block| block.build = 1).contains("not as written"));
        assert!(tampered(|block| block.runs[0].wall_s = -1.0).contains("not as written"));
        let heat = |block: &mut BlockRecord| block.invalid = Some(HEAT);
        assert!(tampered(heat).contains("not as written"), "its plan has no rule");
        // JSON has no infinity, so it is stored as null.
        assert!(tampered(|b| b.runs[0].values[0] = f64::INFINITY).contains("cannot be read"));
    }

    #[test]
    fn a_block_is_left_out_by_a_rule_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(&dir);
        let ruled = Registered { rule: Some(Rule::default()), ..plan(4) };
        journal.register(KEY, &ruled, 0).unwrap();
        for index in 0..3 {
            journal.append(KEY, &left_out(index)).unwrap();
            let read = journal.blocks(KEY).map_err(|error| error.to_string());
            match index {
                2 => assert!(read.unwrap_err().contains("not as written"), "three times"),
                _ => assert_eq!(read.unwrap().len(), index as usize + 1),
            }
        }
    }

    #[test]
    fn blocks_without_a_plan_and_plans_of_another_form_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(&dir);
        journal.append(KEY, &written(0)).unwrap();
        assert!(journal.blocks(KEY).unwrap_err().to_string().contains("without a plan"));
        let other = Registered { schema: "unlikely/journal/9".into(), ..plan(4) };
        journal.register(KEY, &other, 0).unwrap();
        let error = journal.register(KEY, &plan(4), 0).unwrap_err().to_string();
        assert!(error.contains("unlikely/journal/9"), "{error}");
    }

    #[test]
    fn what_decides_the_looks_cannot_be_changed_after_one() {
        let mut sequential = plan(20);
        sequential.stop = Stop::Sequential;
        let longer = Registered { blocks: 30, ..sequential.clone() };
        assert_eq!(sequential.differs(&longer), ["blocks"]);
        assert_eq!(plan(20).differs(&plan(30)), [""; 0]);
        assert_eq!(plan(20).differs(&plan(19)), ["blocks"]);
    }

    proptest! {
        #[test]
        fn a_value_is_read_back_to_the_last_bit(bits in 0u64..f64::MAX.to_bits()) {
            let mut block = written(0);
            block.runs[0].values[0] = f64::from_bits(bits);
            let json = serde_json::to_vec(&block).unwrap();
            let back: BlockRecord = serde_json::from_slice(&json).unwrap();
            prop_assert_eq!(back.runs[0].values[0].to_bits(), bits);
        }
    }
}
