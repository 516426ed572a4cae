//! A project folder, its state folder, and the files of its text.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::FlockOperation;
use serde::Serialize;
use serde::de::DeserializeOwned;
use walkdir::WalkDir;

use crate::config::Config;
use crate::exit::{Exit, fail};
use crate::tree::{self, STATE};

/// A command caught between fork and exec holds the lock of a run that was killed; not for long.
const LOCK_GRACE: Duration = Duration::from_secs(1);
/// Largest source file that is read, in bytes; larger ones are generated tables.
const SOURCE_BYTES_MAX: u64 = 16 << 20;

/// A project and its open state.
#[derive(Debug)]
pub(crate) struct Project {
    /// The project's folder, absolute.
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    /// Held as long as this lives; the kernel releases it whatever happens to us.
    _lock: File,
}

impl Project {
    /// Opens the project in `dir`, alone.
    pub(crate) fn open(dir: &Path) -> anyhow::Result<Self> {
        let config = Config::read(dir)?;
        let dir = dir.canonicalize().with_context(|| format!("{}", dir.display()))?;
        let state = dir.join(STATE);
        fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
        let path = state.join("lock");
        let lock = File::create(&path).with_context(|| format!("{}", path.display()))?;
        let begun = Instant::now();
        while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            if begun.elapsed() > LOCK_GRACE {
                let why = "another unlikely works in this project; wait for it";
                return Err(fail(Exit::Busy, format!("{}: {why}", dir.display())));
            }
            thread::sleep(LOCK_GRACE / 100);
        }
        // The project's own version control need not know of the state.
        let ignore = state.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").with_context(|| format!("{}", ignore.display()))?;
        }
        Ok(Self { dir, config, _lock: lock })
    }

    /// A path inside the state folder.
    pub(crate) fn state(&self, path: &str) -> PathBuf {
        self.dir.join(STATE).join(path)
    }

    /// Every C source file, by path relative to the project.
    pub(crate) fn sources(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        sources_in(&self.dir)
    }

    /// As [`Self::sources`], with the Rust files, whose hints say themselves where they stand.
    pub(crate) fn texts(&self) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
        texts_in(&self.dir, |path| is_c(path) || path.ends_with(".rs"))
    }

    /// Writes a record of the state so that a reader sees the old one or the new one, whole.
    pub(crate) fn save<T: Serialize>(&self, path: &str, record: &T) -> anyhow::Result<()> {
        self.save_bytes(path, &serde_json::to_vec(record)?)
    }

    /// As [`Self::save`], for bytes.
    pub(crate) fn save_bytes(&self, path: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let path = self.state(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| format!("{}", parent.display()))?;
        }
        tree::replace(&path, bytes)
    }

    /// Forgets a record, before what it speaks of is changed.
    pub(crate) fn forget(&self, path: &str) -> anyhow::Result<()> {
        let path = self.state(path);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("{}", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Reads a record of the state; `None` if there is none, or it is another version's.
    pub(crate) fn load<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        serde_json::from_slice(&fs::read(self.state(path)).ok()?).ok()
    }
}

/// Every C source file below `dir`, by relative path. Links are not followed.
pub(crate) fn sources_in(dir: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    texts_in(dir, is_c)
}

fn texts_in(
    dir: &Path,
    wanted: impl Fn(&str) -> bool,
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut out = BTreeMap::new();
    let walk = WalkDir::new(dir).follow_links(false).sort_by_file_name();
    let walk = walk.into_iter().filter_entry(|e| {
        // Hidden folders hold a tool's affairs: the state, version control, patch queues.
        !(e.file_type().is_dir() && e.depth() > 0 && e.file_name().as_encoded_bytes()[0] == b'.')
    });
    for entry in walk {
        let entry = entry.with_context(|| format!("cannot read {}", dir.display()))?;
        let Ok(path) = entry.path().strip_prefix(dir) else { continue };
        let Some(path) = path.to_str().filter(|p| wanted(p)) else { continue };
        if !entry.file_type().is_file() || entry.metadata()?.len() > SOURCE_BYTES_MAX {
            continue;
        }
        let text = fs::read(entry.path()).with_context(|| format!("{}", entry.path().display()))?;
        out.insert(path.to_owned(), text);
    }
    Ok(out)
}

/// Whether a file's name is that of C text.
pub(crate) fn is_c(path: &str) -> bool {
    matches!(path.rsplit_once('.'), Some((_, "c" | "h" | "inc" | "inl")))
}

/// Whether a path that came from outside names something below the project.
pub(crate) fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    path.is_relative() && path.components().all(|c| matches!(c, Component::Normal(_)))
}
