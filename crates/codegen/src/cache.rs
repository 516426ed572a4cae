//! Results and baseline objects, kept by what they were made from.
//!
//! The key of a compile is the compiler's `--version`, the command, and the name and content of
//! every file the compiler's own `-M` says it reads, system headers included. That was chosen over
//! hashing the preprocessed text because `-E` keeps no columns inside macro arguments, and the
//! branch is looked for by column. What `-M` does not list is not in the key: files read by the
//! assembler's `.incbin`, profiles given with `-fprofile-use`, compiler plugins.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use blake3::{Hash, Hasher};

use crate::delta::CodeDelta;

/// Part of every key: raise it when the comparison or its record changes.
const FORMAT: &str = "unlikely-codegen 2";

/// The folder of one cache.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    /// Content hashes of files outside the tree, which no edit changes.
    outside: Mutex<HashMap<PathBuf, Hash>>,
    /// One lock a baseline, so that two jobs do not compile the same one.
    making: Mutex<HashMap<Hash, Arc<Mutex<()>>>>,
}

/// A key under construction; every piece is hashed with its length before it.
pub(crate) struct Key(Hasher);

impl Key {
    pub(crate) fn new(kind: &str) -> Self {
        let mut key = Self(Hasher::new());
        key.add(FORMAT).add(kind);
        key
    }

    pub(crate) fn add(&mut self, piece: impl AsRef<[u8]>) -> &mut Self {
        let piece = piece.as_ref();
        self.0.update(&(piece.len() as u64).to_le_bytes());
        self.0.update(piece);
        self
    }

    pub(crate) fn finish(&self) -> Hash {
        self.0.finalize()
    }
}

impl Cache {
    pub(crate) fn new(dir: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        Ok(Self { dir, outside: Mutex::default(), making: Mutex::default() })
    }

    /// Hash of a file outside the tree.
    pub(crate) fn outside(&self, path: &Path) -> io::Result<Hash> {
        let known = lock(&self.outside).get(path).copied();
        if let Some(hash) = known {
            return Ok(hash);
        }
        let hash = blake3::hash(&fs::read(path)?);
        lock(&self.outside).insert(path.to_owned(), hash);
        Ok(hash)
    }

    /// The lock of one baseline.
    pub(crate) fn making(&self, key: Hash) -> Arc<Mutex<()>> {
        lock(&self.making).entry(key).or_default().clone()
    }

    /// A kept object.
    pub(crate) fn object(&self, key: Hash) -> Option<Vec<u8>> {
        fs::read(self.path(key, "o")).ok()
    }

    pub(crate) fn keep_object(&self, key: Hash, object: &[u8]) -> io::Result<()> {
        self.keep(key, "o", object)
    }

    /// A kept result. One that cannot be read back counts as absent and is made again.
    pub(crate) fn delta(&self, key: Hash) -> Option<CodeDelta> {
        serde_json::from_slice(&fs::read(self.path(key, "json")).ok()?).ok()
    }

    pub(crate) fn keep_delta(&self, key: Hash, delta: &CodeDelta) -> io::Result<()> {
        self.keep(key, "json", &serde_json::to_vec(delta)?)
    }

    fn path(&self, key: Hash, extension: &str) -> PathBuf {
        self.dir.join(format!("{}.{extension}", key.to_hex()))
    }

    /// Written whole or not at all: a reader never sees half a file.
    fn keep(&self, key: Hash, extension: &str, content: &[u8]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.dir)?;
        file.write_all(content)?;
        file.persist(self.path(key, extension))?;
        Ok(())
    }
}

/// Locks of maps whose entries are whole at every moment, so a panic elsewhere does no harm.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
