//! What is measured, kept as files that are written whole: finished comparisons, and of an unfinished one
//! the processes that are done.
//!
//! A file lies in a folder named after all that its figures depend on: the program, the objects, the
//! settings, and the boot of the machine, since n counts processes of one program on one boot. So a
//! run that was killed goes on, and a changed program or another boot begins anew. What cannot be read
//! is measured again, and that is said.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use experiments::{Begun, Keep, Objects, Report, SCHEMA, Settings};
use rustix::fs::FlockOperation;
use serde::de::DeserializeOwned;
use unlikely_measure::Machine;

use super::plan::{Mode, Plan};
use crate::exit::{Exit, fail};
use crate::progress::warn;
use crate::tree;

/// A command caught between fork and exec holds the lock of a run that was killed; not for long.
const LOCK_GRACE: Duration = Duration::from_secs(1);

/// The state folder, ours alone as long as this lives.
pub(super) struct Journal {
    folder: PathBuf,
    boot_id: String,
    /// The kernel releases it whatever happens to us.
    _lock: File,
}

impl Journal {
    /// Opens the state folder, making it if it is not there.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let elsewhere = |what: &Path| {
            format!("cannot write {}: give another folder with --state DIR", what.display())
        };
        fs::create_dir_all(folder).with_context(|| elsewhere(folder))?;
        let path = folder.join("lock");
        // Ours holds nothing, but a file of this name may be anybody's: it is left as it is.
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.with_context(|| elsewhere(&path))?;
        let begun = Instant::now();
        while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() > LOCK_GRACE {
                let why = "another `unlikely reproduce` works here, and would disturb the figures; \
                           wait for it";
                return Err(fail(Exit::Busy, format!("{}: {why}", folder.display())));
            }
            thread::sleep(LOCK_GRACE / 100);
        }
        Ok(Self { folder: folder.to_owned(), boot_id: Machine::read().boot_id, _lock: lock })
    }

    /// Where objects are built.
    pub(super) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// The records of an experiment with these settings, of these objects.
    pub(super) fn records(
        &self,
        plan: &'static Plan,
        mode: Mode,
        settings: &Settings,
        (program, objects): (&Path, &Objects),
    ) -> anyhow::Result<Records> {
        let mut hash = blake3::Hasher::new();
        // Each part behind its length, so that no two lists of parts are one text.
        let mut part = |bytes: &[u8]| {
            hash.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        };
        part(SCHEMA.as_bytes());
        part(self.boot_id.as_bytes());
        part(&serde_json::to_vec(settings)?);
        for (name, path) in [("", program)].into_iter().chain(objects.iter()) {
            part(name.as_bytes());
            part(&fs::read(path).with_context(|| format!("{}", path.display()))?);
        }
        let hash = hash.finalize().to_hex();
        let key = format!("{}{}", prefix(mode, settings), hash.get(..16).unwrap_or_default());
        let folder = self.folder.join("finished").join(key);
        fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        Ok(Records { folder, plan: plan.name, settings: *settings })
    }

    /// Forgets all that was measured of an experiment with these settings, whatever was built.
    pub(super) fn forget(
        &self,
        plan: &Plan,
        mode: Mode,
        settings: &Settings,
    ) -> anyhow::Result<()> {
        let finished = self.folder.join("finished");
        let Ok(keys) = fs::read_dir(&finished) else { return Ok(()) };
        for key in keys {
            let key = key.with_context(|| format!("{}", finished.display()))?;
            if !key.file_name().to_string_lossy().starts_with(&prefix(mode, settings)) {
                continue;
            }
            for name in plan.comparisons {
                for file in [finished_file(plan.name, name), begun_file(plan.name, name)] {
                    remove(&key.path().join(file))?;
                }
            }
        }
        Ok(())
    }
}

/// How the folders of these settings begin.
fn prefix(mode: Mode, settings: &Settings) -> String {
    format!("{}-{}-", mode.name(), settings.seed)
}

fn finished_file(plan: &str, comparison: &str) -> String {
    format!("{plan}-{comparison}.json")
}

fn begun_file(plan: &str, comparison: &str) -> String {
    format!("{plan}-{comparison}.begun")
}

/// The folder of one experiment's records.
#[derive(Debug)]
pub(super) struct Records {
    folder: PathBuf,
    plan: &'static str,
    settings: Settings,
}

impl Records {
    /// A finished comparison; `None` if there is none, or it is not one.
    pub(super) fn load(&self, comparison: &str) -> Option<Report> {
        let path = self.folder.join(finished_file(self.plan, comparison));
        let report: Report = read(&path)?;
        let of = Settings { watch: self.settings.watch, ..report.settings };
        let names = report.comparisons.iter().map(|one| &one.name);
        let names: Vec<_> = names.chain(report.not_run.iter().map(|one| &one.name)).collect();
        let ran = report.comparisons.iter().all(|one| one.processes == self.settings.processes);
        let is_it = report.schema == SCHEMA
            && report.experiment == self.plan
            && of == self.settings
            && names == [comparison]
            && ran;
        if !is_it {
            spoilt(&path, OTHER);
        }
        is_it.then_some(report)
    }

    /// Keeps a finished comparison, and forgets that it was begun.
    pub(super) fn save(&self, comparison: &str, report: &Report) -> anyhow::Result<()> {
        let path = self.folder.join(finished_file(self.plan, comparison));
        tree::replace(&path, &sealed(&serde_json::to_vec(report)?))?;
        remove(&self.folder.join(begun_file(self.plan, comparison)))
    }
}

impl Keep for Records {
    fn begun(&self, comparison: &str) -> Option<Begun> {
        read(&self.folder.join(begun_file(self.plan, comparison)))
    }

    fn unfit(&self, comparison: &str) {
        spoilt(&self.folder.join(begun_file(self.plan, comparison)), OTHER);
    }

    fn keep(&self, comparison: &str, begun: &Begun) -> io::Result<()> {
        let path = self.folder.join(begun_file(self.plan, comparison));
        let text = sealed(&serde_json::to_vec(begun)?);
        tree::replace(&path, &text).map_err(|error| io::Error::other(format!("{error:#}")))
    }
}

/// What is wrong with a whole record.
const OTHER: &str = "it is of something else";

/// A record as it is written: its digest, a line break, and what it says. A figure that a disk or a hand
/// has changed is a number like any other, so that nothing but the digest tells.
fn sealed(says: &[u8]) -> Vec<u8> {
    [blake3::hash(says).to_hex().as_bytes(), b"\n", says].concat()
}

/// What a record says; `None` if that is not what was written.
fn unsealed(file: &[u8]) -> Option<&[u8]> {
    let line = file.iter().position(|&byte| byte == b'\n')?;
    let (digest, says) = (file.get(..line)?, file.get(line + 1..)?);
    (digest == blake3::hash(says).to_hex().as_bytes()).then_some(says)
}

/// What a file says; `None` if there is none, or it says something else.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            spoilt(path, &error.to_string());
            return None;
        }
    };
    let Some(says) = unsealed(&bytes) else {
        spoilt(path, "it is not as it was written");
        return None;
    };
    serde_json::from_slice(says).map_err(|error| spoilt(path, &error.to_string())).ok()
}

fn spoilt(path: &Path, why: &str) {
    warn(&format!("{}: {why}; what it held is measured again", path.display()));
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}", path.display()))
        }
        _ => Ok(()),
    }
}
