//! Changes the settings, and puts them back.

use super::super::files::Files;
use super::error::TuneError;
use super::keeper::Keeper;
use super::plan::{Change, Tuning};
use super::record::{Record, Setting};
use serde::Serialize;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A setting that the kernel would not change, though it may be written. It is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its file, absolute.
    pub path: PathBuf,
    /// The value that was wanted.
    pub wanted: String,
    /// What the kernel said or did.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} stays as it was, not {}: {}", self.path.display(), self.wanted, self.reason)
    }
}

/// What was found of an earlier start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOver {
    /// Nothing.
    None,
    /// A killed process had left these files changed; they are as before it.
    Restored(Vec<PathBuf>),
    /// A record from before the last reboot, which had restored everything.
    OtherBoot,
}

/// Holding this means that the machine is tuned. Dropping it puts back every setting.
#[derive(Debug)]
#[must_use = "the machine is put back when this is dropped"]
pub struct Tuned {
    changes: Vec<Change>,
    refusals: Vec<Refusal>,
    /// What to restore and who else would; `None` once it is done or if nothing was to change.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    files: Files,
    settings: Vec<Setting>,
    record: Record,
    keeper: Keeper,
}

impl Tuning {
    /// Changes what [`Tuning::plan`] says. A setting that may be written but that the kernel
    /// refuses (turbo that the firmware has switched off) stays as it was and is told in
    /// [`Tuned::refusals`].
    ///
    /// # Errors
    /// Without the right to write a setting, or if record or keeper fail; nothing is changed then.
    /// [`TuneError::LeftOver`] as long as [`Tuning::restore_left_over`] was not called.
    pub fn apply(&self) -> Result<Tuned, TuneError> {
        let plan = self.plan();
        let mut tuned = Tuned { changes: Vec::new(), refusals: Vec::new(), held: None };
        if plan.is_empty() {
            return Ok(tuned);
        }
        let record = Record::create(self, &plan)?;
        tuned.held = Some(Held::start(self, record, &plan)?);
        // On an error `tuned` is dropped, and with it all that was changed so far.
        tuned.carry_out(plan)?;
        Ok(tuned)
    }

    /// Puts back what a killed process has left changed, if anything. To be called before
    /// [`Tuning::apply`], and well whenever a campaign starts.
    ///
    /// # Errors
    /// [`TuneError::InUse`] if the process that changed the settings is still alive;
    /// [`TuneError::RecordContent`] if the record holds anything that this tool does not write, of
    /// which nothing is then restored; [`TuneError::Restore`] or [`TuneError::Permission`] if a
    /// setting cannot be written.
    pub fn restore_left_over(&self) -> Result<LeftOver, TuneError> {
        let Some(record) = Record::left_over(self.state_dir())? else { return Ok(LeftOver::None) };
        let Some(settings) = record.settings(self)? else {
            record.remove()?;
            return Ok(LeftOver::OtherBoot);
        };
        restore(&self.files(), &settings)?;
        record.remove()?;
        let files = self.files();
        Ok(LeftOver::Restored(settings.iter().map(|one| files.path(&one.path)).collect()))
    }
}

impl Held {
    fn start(tuning: &Tuning, record: Record, plan: &[Change]) -> Result<Self, TuneError> {
        let recorded = record_of(tuning, plan);
        // The last change first.
        let settings: Vec<Setting> = recorded.into_iter().rev().collect();
        match Keeper::start(tuning.root(), &record, &settings) {
            Ok(keeper) => Ok(Self { files: tuning.files(), settings, record, keeper }),
            Err(source) => {
                record.remove()?;
                Err(TuneError::Keeper { source })
            }
        }
    }

    /// Restores, and calls the others off; if that fails, the keeper tries too, and the record
    /// stays for the next start.
    fn restore(self) -> Result<(), TuneError> {
        restore(&self.files, &self.settings)?;
        self.record.remove()?;
        self.keeper.dismiss();
        Ok(())
    }
}

impl Tuned {
    fn carry_out(&mut self, plan: Vec<Change>) -> Result<(), TuneError> {
        for change in plan {
            match make(&change)? {
                None => self.changes.push(change),
                Some(reason) => {
                    let Change { path, to, .. } = change;
                    self.refusals.push(Refusal { path, wanted: to, reason });
                }
            }
        }
        Ok(())
    }

    /// What was changed.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// What the kernel would not change.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Puts everything back, and tells if that failed, which a drop cannot.
    ///
    /// # Errors
    /// [`TuneError::Restore`] for the first setting that could not be written.
    pub fn restore(mut self) -> Result<(), TuneError> {
        self.held.take().map_or(Ok(()), Held::restore)
    }
}

impl Drop for Tuned {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            let _ = held.restore();
        }
    }
}

fn record_of(tuning: &Tuning, plan: &[Change]) -> Vec<Setting> {
    plan.iter().filter_map(|change| super::record::setting(tuning, change)).collect()
}

/// Makes a change; why not, if the kernel refuses.
fn make(change: &Change) -> Result<Option<String>, TuneError> {
    let mut file = open(&change.path).map_err(|source| unwritable(change.path.clone(), source))?;
    if let Err(error) = write_value(&mut file, &change.to) {
        return Ok(Some(error.to_string()));
    }
    match value(&change.path) {
        Ok(now) if now == change.to => Ok(None),
        // Not what was wanted, so rather what it was.
        Ok(now) => {
            put_back(&change.path, &change.from)?;
            Ok(Some(format!("the kernel made it {now}")))
        }
        Err(source) => Err(unwritable(change.path.clone(), source)),
    }
}

fn unwritable(path: PathBuf, source: io::Error) -> TuneError {
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => TuneError::ReadOnly { path },
        _ => TuneError::Permission { path, source },
    }
}

/// Puts every setting back, also if one fails; the first failure.
fn restore(files: &Files, settings: &[Setting]) -> Result<(), TuneError> {
    let mut first = Ok(());
    for setting in settings {
        first = first.and(put_back(&files.path(&setting.path), &setting.value));
    }
    first
}

fn put_back(path: &Path, before: &str) -> Result<(), TuneError> {
    if value(path).is_ok_and(|now| now == before) {
        return Ok(());
    }
    match open(path).and_then(|mut file| write_value(&mut file, before)) {
        // A CPU was taken out; nothing is left of its setting.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(TuneError::Permission { path: path.to_owned(), source })
        }
        other => other.map_err(|source| {
            let (path, value) = (path.to_owned(), before.to_owned());
            TuneError::Restore { path, value, source }
        }),
    }
}

fn value(path: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

/// For writing, and never to create.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// The kernel takes a setting as one write.
fn write_value(file: &mut File, value: &str) -> io::Result<()> {
    file.write_all(format!("{value}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{machine, write};
    use super::*;
    use crate::guardian::dies;
    use rustix::fs::{FlockOperation, flock};
    use rustix::process::{Pid, Signal, kill_process};
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Command, Stdio};
    use tempfile::TempDir;

    const ROOT: &str = "UNLIKELY_TUNE_TEST_ROOT";

    fn tuning(root: &Path) -> Tuning {
        Tuning::below(root, &root.join("state"))
    }

    /// Values of all settings that a plan for the laptop changes.
    fn values(root: &Path) -> BTreeMap<PathBuf, String> {
        let laptop = machine("laptop");
        let plan = Tuning::below(laptop.path(), laptop.path()).plan();
        let paths = plan.iter().map(|one| one.path.strip_prefix(laptop.path()).unwrap());
        paths.map(|path| (path.to_owned(), value(&root.join(path)).unwrap())).collect()
    }

    fn is_tuned(root: &Path) -> bool {
        tuning(root).plan().is_empty()
    }

    fn record(root: &Path) -> PathBuf {
        Record::path_in(&root.join("state"))
    }

    /// A laptop's tree with its values.
    fn laptop() -> (TempDir, BTreeMap<PathBuf, String>) {
        let root = machine("laptop");
        let before = values(root.path());
        (root, before)
    }

    #[test]
    fn what_is_changed_is_put_back() {
        let (root, before) = laptop();
        let tuned = tuning(root.path()).apply().unwrap();
        assert_eq!((tuned.changes().len(), tuned.refusals().len()), (before.len(), 0));
        assert!(is_tuned(root.path()) && record(root.path()).exists());
        tuned.restore().unwrap();
        assert_eq!(values(root.path()), before);
        assert!(!record(root.path()).exists());
        // And again, by a drop.
        drop(tuning(root.path()).apply().unwrap());
        assert_eq!(values(root.path()), before);
        assert_eq!(tuning(root.path()).restore_left_over().unwrap(), LeftOver::None);
    }

    #[test]
    fn a_machine_that_is_as_wanted_needs_no_record() {
        let root = machine("guest");
        let tuned = tuning(root.path()).apply().unwrap();
        assert!(tuned.changes().is_empty() && !root.path().join("state").exists());
    }

    #[test]
    fn an_error_in_the_middle_undoes_what_was_changed() {
        let (root, before) = laptop();
        let plan = tuning(root.path()).plan();
        // Read when the plan is made, and a folder, which cannot be written, when it is carried out.
        let blocked = &plan[12].path;
        let record = Record::create(&tuning(root.path()), &plan).unwrap();
        let held = Held::start(&tuning(root.path()), record, &plan).unwrap();
        let mut tuned = Tuned { changes: vec![], refusals: vec![], held: Some(held) };
        let kept = fs::read(blocked).unwrap();
        fs::remove_file(blocked).unwrap();
        fs::create_dir(blocked).unwrap();
        let error = tuned.carry_out(plan.clone()).unwrap_err();
        assert!(matches!(&error, TuneError::Permission { path, .. } if path == blocked));
        assert!(error.to_string().contains("sudo"), "{error}");
        fs::remove_dir(blocked).unwrap();
        fs::write(blocked, kept).unwrap();
        assert_eq!(tuned.changes().len(), 12);
        drop(tuned);
        assert_eq!(values(root.path()), before);
    }

    #[test]
    fn what_the_kernel_refuses_stays_and_is_told() {
        // One file takes every write and keeps nothing of it, the other takes none.
        for (file, said) in [("/dev/null", "made it"), ("/dev/full", "space")] {
            let path = PathBuf::from(file);
            let mut tuned = Tuned { changes: vec![], refusals: vec![], held: None };
            let change = Change { path, from: "1".into(), to: "0".into(), why: "" };
            tuned.carry_out(vec![change]).unwrap();
            assert!(tuned.changes().is_empty());
            assert!(tuned.refusals()[0].to_string().contains(said), "{:?}", tuned.refusals());
        }
    }

    #[test]
    fn a_second_process_is_refused_while_the_first_is_at_it() {
        let (root, _) = laptop();
        let tuned = tuning(root.path()).apply().unwrap();
        write(root.path(), "sys/kernel/mm/ksm/run", "1");
        let error = tuning(root.path()).apply().unwrap_err();
        assert!(matches!(error, TuneError::LeftOver { .. }), "{error}");
        drop(tuned);
        drop(tuning(root.path()).apply().unwrap());
    }

    /// Nothing unless the environment names a tree; then a process that tunes it and waits.
    #[test]
    fn child_tuner() {
        let Some(root) = std::env::var_os(ROOT) else { return };
        let tuned = tuning(Path::new(&root)).apply().unwrap();
        println!("keeper {}", tuned.held.as_ref().unwrap().keeper.id());
        // Until the test kills this process, or is gone itself.
        let _ = io::stdin().read_to_end(&mut Vec::new());
    }

    /// A child that has tuned `root`, and the id of its keeper.
    fn spawn(root: &Path) -> (Child, Pid) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--nocapture", "--exact", "machine::tuning::guard::tests::child_tuner"])
            .env(ROOT, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut ids = lines.filter_map(|line| line.split("keeper ").nth(1)?.parse().ok());
        let keeper = ids.next().expect("the child tells its keeper");
        (child, Pid::from_raw(keeper).unwrap())
    }

    #[test]
    fn a_killed_process_leaves_the_machine_as_it_was() {
        for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
            let (root, before) = laptop();
            let (mut child, keeper) = spawn(root.path());
            assert!(is_tuned(root.path()));
            kill_process(Pid::from_child(&child), signal).unwrap();
            child.wait().unwrap();
            assert!(dies(keeper));
            assert_eq!(values(root.path()), before, "{signal:?}");
            assert!(!record(root.path()).exists());
        }
    }

    #[test]
    fn if_the_keeper_is_killed_too_the_next_start_restores() {
        let (root, before) = laptop();
        let (mut child, keeper) = spawn(root.path());
        let locked = File::open(record(root.path())).unwrap();
        assert!(flock(&locked, FlockOperation::NonBlockingLockShared).is_err());
        kill_process(keeper, Signal::KILL).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(dies(keeper));
        assert!(is_tuned(root.path()));
        let found = tuning(root.path()).restore_left_over().unwrap();
        assert!(matches!(found, LeftOver::Restored(paths) if paths.len() == before.len()));
        assert_eq!(values(root.path()), before);
        assert_eq!(tuning(root.path()).restore_left_over().unwrap(), LeftOver::None);
    }

    /// A tree whose tuned settings nobody guards any more.
    fn abandoned() -> TempDir {
        let root = machine("laptop");
        let plan = tuning(root.path()).plan();
        drop(Record::create(&tuning(root.path()), &plan).unwrap());
        for change in &plan {
            fs::write(&change.path, &change.to).unwrap();
        }
        root
    }

    #[test]
    fn a_record_from_before_a_reboot_restores_nothing() {
        let root = abandoned();
        write(root.path(), "proc/sys/kernel/random/boot_id", "another");
        assert_eq!(tuning(root.path()).restore_left_over().unwrap(), LeftOver::OtherBoot);
        assert!(is_tuned(root.path()) && !record(root.path()).exists());
    }

    #[test]
    fn a_tampered_record_is_refused_whole() {
        for (from, to, said) in [
            ("proc/sys/kernel/nmi_watchdog", "etc/passwd", "no setting"),
            ("proc/sys/kernel/nmi_watchdog", "../../etc/passwd", "no setting"),
            ("proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/core_pattern", "no setting"),
            ("powersave", "|/bin/sh", "no value"),
            ("tuned-machine/1", "tuned-machine/9", "schema"),
            ("\"boot_id\"", "\"other\"", "unknown field"),
            ("{", "", "expected"),
        ] {
            let root = abandoned();
            let text = fs::read_to_string(record(root.path())).unwrap();
            assert!(text.contains(from), "{text}");
            fs::write(record(root.path()), text.replacen(from, to, 1)).unwrap();
            let error = tuning(root.path()).restore_left_over().unwrap_err();
            assert!(matches!(error, TuneError::RecordContent { .. }), "{error}");
            assert!(error.to_string().contains(said), "{error}");
            assert!(is_tuned(root.path()), "something was written from {to:?}");
            assert!(record(root.path()).exists());
        }
    }

    #[test]
    fn a_cpu_that_was_taken_out_has_nothing_to_restore() {
        let root = abandoned();
        let policy = root.path().join("sys/devices/system/cpu/cpufreq/policy7");
        fs::remove_dir_all(policy).unwrap();
        let found = tuning(root.path()).restore_left_over().unwrap();
        assert!(matches!(found, LeftOver::Restored(_)));
        assert!(!record(root.path()).exists());
    }
}
