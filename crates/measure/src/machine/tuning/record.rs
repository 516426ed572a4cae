//! The record on disk of settings that are changed just now, and of their values before.
//!
//! It is complete before the first change: written beside its place, locked, synced, and then
//! linked into it, which fails if one is there. The lock is held by the process that changed the
//! settings and by the shell that restores them; once both are gone the kernel has released it.
//! So a record that can be locked is one that nobody will act on any more.
//!
//! It may lie in a folder that others can write, and is read by a process with the right to change
//! settings: nothing of it is believed but paths and values of the list in `knob`.

use super::error::TuneError;
use super::knob::Knob;
use super::plan::{Change, Tuning};
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NAME: &str = "tuned-machine.json";
const SCHEMA: &str = "unlikely/tuned-machine/1";
/// A record of thousands of CPUs is smaller.
const BYTES_MAX: u64 = 1 << 20;
/// How long a shell that is restoring is waited for.
const RELEASE_MAX: Duration = Duration::from_secs(2);
const RETRY: Duration = Duration::from_millis(10);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    schema: String,
    boot_id: String,
    settings: Vec<Setting>,
}

/// A setting's value before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    /// Relative to the root.
    pub(super) path: String,
    pub(super) value: String,
}

/// A locked record.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
    file: File,
}

impl Record {
    /// Where the record of a folder is.
    pub(super) fn path_in(state_dir: &Path) -> PathBuf {
        state_dir.join(NAME)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, whose lock whoever inherits it shares.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writes the record of `changes`.
    pub(super) fn create(tuning: &Tuning, changes: &[Change]) -> Result<Self, TuneError> {
        let path = Self::path_in(tuning.state_dir());
        let fail = |doing| {
            let path = path.clone();
            move |source| TuneError::Record { path, doing, source }
        };
        let content = Content {
            schema: SCHEMA.to_owned(),
            boot_id: boot_id(tuning),
            settings: changes.iter().filter_map(|change| setting(tuning, change)).collect(),
        };
        let text = serde_json::to_vec_pretty(&content)
            .map_err(|error| fail("writing it")(io::Error::other(error)))?;
        fs::create_dir_all(tuning.state_dir()).map_err(fail("making its folder"))?;
        let draft = tuning.state_dir().join(format!("{NAME}.new-{}", std::process::id()));
        let file = write_draft(&draft, &text).map_err(fail("writing it"))?;
        let linked = fs::hard_link(&draft, &path);
        fs::remove_file(&draft).map_err(fail("putting it in place"))?;
        match linked {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(TuneError::LeftOver { path });
            }
            other => other.map_err(fail("putting it in place"))?,
        }
        let folder = File::open(tuning.state_dir()).map_err(fail("syncing its folder"))?;
        folder.sync_all().map_err(fail("syncing its folder"))?;
        Ok(Self { path, file })
    }

    /// Opens and locks the record that a killed process left; `None` if there is none. A shell that
    /// is just restoring from it is waited for.
    pub(super) fn left_over(state_dir: &Path) -> Result<Option<Self>, TuneError> {
        Self::left_over_within(state_dir, RELEASE_MAX)
    }

    fn left_over_within(state_dir: &Path, limit: Duration) -> Result<Option<Self>, TuneError> {
        let path = Self::path_in(state_dir);
        let fail = |doing, source| TuneError::Record { path: path.clone(), doing, source };
        // A link or a pipe in its place is not followed, nor waited at.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(TuneError::Permission { path, source });
            }
            Err(error) => return Err(fail("opening it", error)),
        };
        let began = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if error != rustix::io::Errno::WOULDBLOCK {
                return Err(fail("locking it", error.into()));
            }
            if began.elapsed() >= limit {
                return Err(TuneError::InUse { path });
            }
            std::thread::sleep(RETRY);
        }
        // Removed by whoever held the lock: restored already.
        let links = file.metadata().map_err(|error| fail("reading it", error))?.nlink();
        Ok((links > 0).then_some(Self { path, file }))
    }

    /// The settings to restore, if they were changed since this machine booted; `None` if a reboot
    /// has undone them.
    pub(super) fn settings(&self, tuning: &Tuning) -> Result<Option<Vec<Setting>>, TuneError> {
        let bad = |what: String| TuneError::RecordContent { path: self.path.clone(), what };
        let mut text = String::new();
        let read = (&self.file).take(BYTES_MAX).read_to_string(&mut text);
        read.map_err(|error| bad(error.to_string()))?;
        let content: Content =
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if content.schema != SCHEMA {
            return Err(bad(format!("its schema is {:?}", content.schema)));
        }
        for setting in &content.settings {
            let Some(knob) = Knob::at(Path::new(&setting.path)) else {
                return Err(bad(format!("{:?} is no setting that is changed", setting.path)));
            };
            if !knob.accepts(&setting.value) {
                return Err(bad(format!("{:?} is no value of {}", setting.value, setting.path)));
            }
        }
        Ok((content.boot_id == boot_id(tuning)).then_some(content.settings))
    }

    /// Removes it, now that nothing is changed any more.
    pub(super) fn remove(&self) -> Result<(), TuneError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other.map_err(|source| TuneError::Record {
                path: self.path.clone(),
                doing: "removing it",
                source,
            }),
        }
    }
}

fn write_draft(draft: &Path, text: &[u8]) -> io::Result<File> {
    // Left by a process of the same id that was killed here.
    match fs::remove_file(draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(text)?;
    file.sync_all()?;
    Ok(file)
}

fn boot_id(tuning: &Tuning) -> String {
    tuning.files().text("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

pub(super) fn setting(tuning: &Tuning, change: &Change) -> Option<Setting> {
    let path = change.path.strip_prefix(tuning.root()).ok()?.to_str()?.to_owned();
    Some(Setting { path, value: change.from.clone() })
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::machine;
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use tempfile::TempDir;

    fn server() -> (TempDir, Tuning) {
        let root = machine("server");
        let tuning = Tuning::below(root.path(), root.path());
        (root, tuning)
    }

    #[test]
    fn a_record_holds_every_value_before() {
        let (root, tuning) = server();
        drop(Record::create(&tuning, &tuning.plan()).unwrap());
        let record = Record::left_over(root.path()).unwrap().unwrap();
        let settings = record.settings(&tuning).unwrap().unwrap();
        let setting = |path: &str| Setting { path: path.to_owned(), value: "1".to_owned() };
        let expected = ["sys/kernel/mm/ksm/run", "proc/sys/kernel/numa_balancing"].map(setting);
        assert_eq!(settings[..2], expected);
        assert_eq!(settings.len(), 3);
        record.remove().unwrap();
        assert!(Record::left_over(root.path()).unwrap().is_none());
    }

    #[test]
    fn the_record_of_a_living_process_is_left_alone() {
        let (root, tuning) = server();
        let held = Record::create(&tuning, &tuning.plan()).unwrap();
        let error = Record::left_over_within(root.path(), Duration::ZERO).unwrap_err();
        assert!(matches!(error, TuneError::InUse { .. }), "{error}");
        // One that inherited it holds it as well as its maker.
        let inherited = held.file().try_clone().unwrap();
        drop(held);
        assert!(Record::left_over_within(root.path(), Duration::ZERO).is_err());
        drop(inherited);
        assert!(Record::left_over_within(root.path(), Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn a_record_is_never_written_over() {
        let (root, tuning) = server();
        let held = Record::create(&tuning, &tuning.plan()).unwrap();
        let text = fs::read(held.path()).unwrap();
        let error = Record::create(&tuning, &[]).unwrap_err();
        assert!(matches!(error, TuneError::LeftOver { .. }), "{error}");
        assert_eq!(fs::read(held.path()).unwrap(), text);
        let names: Vec<String> = tuning.files().names("");
        assert_eq!(names.iter().filter(|name| name.starts_with(NAME)).count(), 1, "{names:?}");
        drop(root);
    }

    #[test]
    fn what_is_no_plain_file_is_neither_followed_nor_waited_at() {
        let (root, tuning) = server();
        let path = Record::path_in(root.path());
        drop(Record::create(&tuning, &tuning.plan()).unwrap());
        fs::rename(&path, root.path().join("elsewhere")).unwrap();
        symlink(root.path().join("elsewhere"), &path).unwrap();
        assert!(matches!(Record::left_over(root.path()), Err(TuneError::Record { .. })));
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let fifo = Record::left_over(root.path()).unwrap().unwrap();
        assert!(matches!(fifo.settings(&tuning), Err(TuneError::RecordContent { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_are_a_record_or_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let root = tempfile::tempdir().unwrap();
            fs::write(Record::path_in(root.path()), bytes).unwrap();
            let tuning = Tuning::below(root.path(), root.path());
            let record = Record::left_over(root.path()).unwrap().unwrap();
            prop_assert!(record.settings(&tuning).is_err());
        }
    }
}
