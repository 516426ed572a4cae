//! Private copies of the project's tree, one a worker, in which an edit can be tried.
//!
//! A copy is made of hard links, so it costs no space and little time. The original must then
//! never be written through a link: an edited file is always written under another name first and
//! renamed over the link, which replaces the name and leaves the original's content alone.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::CheckError;

/// Folders that no compile reads: history, and this tool's own state.
const SKIPPED: [&str; 2] = [".git", ".unlikely"];

/// Deepest folder that is copied.
const DEPTH_MAX: u32 = 128;

/// A set of copies, each lent to one job at a time.
#[derive(Debug)]
pub(crate) struct Workers {
    /// The tree they are copies of, canonical.
    pub(crate) original: PathBuf,
    idle: Mutex<Vec<PathBuf>>,
    returned: Condvar,
}

/// A copy lent to one job.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    pool: &'a Workers,
    pub(crate) root: PathBuf,
}

/// An edit in effect in one copy; undone when dropped.
#[derive(Debug)]
pub(crate) struct Edited {
    original: PathBuf,
    copy: PathBuf,
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CheckError {
    let path = path.to_owned();
    move |source| CheckError::File { action, path, source }
}

/// The pool's lock: a panic elsewhere leaves the list of paths whole, so poison is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workers {
    /// Makes `count` copies of `tree` in `scratch`, named so that their paths are of one length.
    pub(crate) fn new(tree: &Path, scratch: &Path, count: usize) -> Result<Self, CheckError> {
        let original = tree.canonicalize().map_err(failed("find", tree))?;
        fs::create_dir_all(scratch).map_err(failed("create", scratch))?;
        let scratch = scratch.canonicalize().map_err(failed("find", scratch))?;
        let mut roots = Vec::new();
        for number in 0..count.clamp(1, 1000) {
            let root = scratch.join(format!("w{number:03}"));
            match fs::remove_dir_all(&root) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove", &root)(error));
                }
                _ => {}
            }
            let copy = Copy { original: &original, root: &root, scratch: &scratch };
            copy.folder(Path::new(""), DEPTH_MAX)?;
            roots.push(root);
        }
        Ok(Self { original, idle: Mutex::new(roots), returned: Condvar::new() })
    }

    /// Waits for a copy that no other job uses.
    pub(crate) fn lend(&self) -> Worker<'_> {
        let mut idle = lock(&self.idle);
        loop {
            if let Some(root) = idle.pop() {
                return Worker { pool: self, root };
            }
            idle = self.returned.wait(idle).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        lock(&self.pool.idle).push(std::mem::take(&mut self.root));
        self.pool.returned.notify_one();
    }
}

impl Worker<'_> {
    /// Puts `text` in place of `file` until the result is dropped.
    pub(crate) fn edit(&self, file: &str, text: &[u8]) -> Result<Edited, CheckError> {
        let relative = inside(file)?;
        let real = |root: &Path| -> Result<PathBuf, CheckError> {
            let path = root.join(relative);
            let real = path.canonicalize().map_err(failed("find", &path))?;
            if real.starts_with(root) {
                return Ok(real);
            }
            let why = "is a link that leaves the tree";
            Err(CheckError::Path { path: file.to_owned(), why })
        };
        // Linked names are followed, so that every name of the file shows the edit.
        let copy = real(&self.root)?;
        let within = copy.strip_prefix(&self.root).unwrap_or(relative);
        let edited = Edited { original: self.pool.original.join(within), copy };
        let fresh = edited.fresh_name();
        fs::write(&fresh, text).map_err(failed("write", &fresh))?;
        fs::rename(&fresh, &edited.copy).map_err(failed("replace", &edited.copy))?;
        Ok(edited)
    }
}

impl Edited {
    /// A name beside the file that nothing else uses: the copy belongs to this job alone.
    fn fresh_name(&self) -> PathBuf {
        let mut name = self.copy.clone().into_os_string();
        name.push(".unlikely-edit");
        name.into()
    }
}

impl Drop for Edited {
    fn drop(&mut self) {
        let fresh = self.fresh_name();
        // A failure is found by the next edit or compile of this file, which cannot then succeed:
        // without the file there is nothing stale to be compiled by mistake.
        if link_or_copy(&self.original, &fresh)
            .and_then(|()| fs::rename(&fresh, &self.copy))
            .is_err()
        {
            let _ = fs::remove_file(&self.copy);
        }
    }
}

/// Checks that `path` is relative and stays inside whatever it is joined to.
pub(crate) fn inside(path: &str) -> Result<&Path, CheckError> {
    let why = if path.is_empty() {
        "is empty"
    } else if Path::new(path).is_absolute() {
        "is absolute"
    } else if Path::new(path).components().any(|c| c == Component::ParentDir) {
        "contains `..`"
    } else {
        return Ok(Path::new(path));
    };
    Err(CheckError::Path { path: path.to_owned(), why })
}

/// One tree to be copied, and where to.
struct Copy<'a> {
    original: &'a Path,
    root: &'a Path,
    /// Not copied, should it lie in the tree.
    scratch: &'a Path,
}

impl Copy<'_> {
    fn folder(&self, relative: &Path, depth: u32) -> Result<(), CheckError> {
        let (from, to) = (self.original.join(relative), self.root.join(relative));
        if depth == 0 {
            let why = "lies deeper than 128 folders";
            return Err(CheckError::Path { path: from.to_string_lossy().into_owned(), why });
        }
        fs::create_dir_all(&to).map_err(failed("create", &to))?;
        for entry in fs::read_dir(&from).map_err(failed("read", &from))? {
            let entry = entry.map_err(failed("read", &from))?;
            let name = entry.file_name();
            let (source, target) = (entry.path(), to.join(&name));
            let kind = entry.file_type().map_err(failed("read", &source))?;
            if kind.is_dir() {
                if source != self.scratch && !SKIPPED.iter().any(|s| name == *s) {
                    self.folder(&relative.join(&name), depth - 1)?;
                }
            } else if kind.is_symlink() {
                let points = fs::read_link(&source).map_err(failed("read", &source))?;
                symlink(self.moved(points), &target).map_err(failed("create", &target))?;
            } else if kind.is_file() && !precompiled(&source) {
                link_or_copy(&source, &target).map_err(failed("copy", &source))?;
            }
        }
        Ok(())
    }

    /// Where a link of the copy points: an absolute one into the original moves with it, or an
    /// edit would not be seen through it.
    fn moved(&self, points: PathBuf) -> PathBuf {
        match points.strip_prefix(self.original) {
            Ok(rest) => self.root.join(rest),
            Err(_) => points,
        }
    }
}

/// Precompiled headers stay behind: the compiler would take one instead of the edited header.
fn precompiled(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "gch" || e == "pch")
}

/// A hard link, or a copy where the file system allows none.
fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn an_edit_is_seen_in_its_copy_alone_and_then_undone() {
        let (dir, scratch) = (tree(&[("a/x.c", "old")]), tempfile::tempdir().unwrap());
        let workers = Workers::new(dir.path(), scratch.path(), 2).unwrap();
        let (one, two) = (workers.lend(), workers.lend());
        let read = |root: &Path| fs::read_to_string(root.join("a/x.c")).unwrap();
        let edited = one.edit("a/x.c", b"new").unwrap();
        assert_eq!(
            (read(&one.root), read(&two.root), read(dir.path())),
            ("new".into(), "old".into(), "old".into())
        );
        drop(edited);
        assert_eq!(read(&one.root), "old");
        assert_eq!(fs::read_dir(one.root.join("a")).unwrap().count(), 1);
        assert_eq!(one.root.as_os_str().len(), two.root.as_os_str().len());
    }

    #[test]
    fn an_edit_of_a_linked_name_reaches_the_file_itself() {
        let (dir, scratch) = (tree(&[("src/x.h", "old")]), tempfile::tempdir().unwrap());
        let original = dir.path().canonicalize().unwrap();
        symlink(original.join("src/x.h"), original.join("x.h")).unwrap();
        let workers = Workers::new(dir.path(), scratch.path(), 1).unwrap();
        let worker = workers.lend();
        let _edited = worker.edit("x.h", b"new").unwrap();
        assert_eq!(fs::read(worker.root.join("src/x.h")).unwrap(), b"new");
        assert_eq!(fs::read(dir.path().join("src/x.h")).unwrap(), b"old");
    }

    #[test]
    fn paths_that_leave_the_tree_are_refused() {
        let (dir, scratch) = (tree(&[("x.c", "")]), tempfile::tempdir().unwrap());
        symlink("/etc/hostname", dir.path().join("out.h")).unwrap();
        let workers = Workers::new(dir.path(), scratch.path(), 1).unwrap();
        let worker = workers.lend();
        for path in ["../x.c", "/etc/hostname", "a/../../x", "", "out.h"] {
            assert!(matches!(worker.edit(path, b""), Err(CheckError::Path { .. })), "{path}");
        }
    }

    #[test]
    fn history_state_and_precompiled_headers_stay_behind() {
        let dir = tree(&[(".git/x", ""), (".unlikely/x", ""), ("x.h.gch", ""), ("x.h", "")]);
        let scratch = dir.path().join("scratch");
        let workers = Workers::new(dir.path(), &scratch, 1).unwrap();
        let worker = workers.lend();
        let names: Vec<_> =
            fs::read_dir(&worker.root).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names, ["x.h"]);
    }

    #[test]
    fn copies_left_by_an_interrupted_run_are_made_afresh() {
        let (dir, scratch) = (tree(&[("x.c", "old")]), tempfile::tempdir().unwrap());
        drop(Workers::new(dir.path(), scratch.path(), 1).unwrap());
        let stale = scratch.path().join("w000/x.c");
        fs::remove_file(&stale).unwrap();
        fs::write(&stale, "stale").unwrap();
        let workers = Workers::new(dir.path(), scratch.path(), 1).unwrap();
        assert_eq!(fs::read(workers.lend().root.join("x.c")).unwrap(), b"old");
    }
}
