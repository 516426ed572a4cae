//! The table as a file, at exit or by hand.
//!
//! The file is written whole under another name and renamed, so a reader never meets half of one.
//! Two copies of this crate in one process (a plug-in that was linked with its own) would write to
//! one name one after the other: the first line says which process and which copy wrote it, and
//! the later one takes the next free name.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::string::{String, ToString as _};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::{env, format};

use super::table::{SCHEMA, TABLE, dump_sites, sites};

/// The environment variable that names the file to be written at exit; see [`write_file`]. Where it
/// is not set, or empty, none is.
pub const ENV: &str = "UNLIKELY_SITES";

/// Copies of this crate in one process that find a name each.
const COPIES_MAX: u32 = 64;

/// Writes the table to the file of this name, over an older one, and returns the name.
///
/// In `pattern`, `%p` stands for the process id and `%%` for a percent sign. Folders that are
/// missing are made. The program's end calls this with the value of [`ENV`], if it is an orderly
/// one: a return from `main` or [`std::process::exit`], not a signal, `_exit` or an abort. So call
/// it by hand in a program that is killed; the last call decides what the file holds.
///
/// A forked child that ends in an orderly way writes a file, too; give it `%p`, and call
/// [`reset`](super::reset()) in the child, or what its parent had counted is told twice.
///
/// # Errors
/// When the file or its folder cannot be written.
pub fn write_file(pattern: &Path) -> io::Result<PathBuf> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let process = process::id();
    let header = header(process);
    let mut table = format!("{header}\n");
    // Writing to a String cannot fail.
    _ = dump_sites(&mut table, sites());
    let path = own_name(expand(pattern, process), &header);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut temporary = path.clone().into_os_string();
    temporary.push(format!(".{process}-{:x}-{}.tmp", copy(), WRITTEN.fetch_add(1, Relaxed)));
    let done = fs::write(&temporary, table).and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = done {
        _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(path)
}

/// Which copy of this crate this is, within its process.
fn copy() -> usize {
    (&raw const TABLE).addr()
}

fn header(process: u32) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    _ = write!(text, "{{\"schema\":\"{SCHEMA}\",\"process\":{process},\"copy\":\"{:x}\"}}", copy());
    text
}

/// `pattern` with its placeholders filled in. One that is not Unicode is taken as it is.
fn expand(pattern: &Path, process: u32) -> PathBuf {
    let Some(text) = pattern.to_str() else { return pattern.into() };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let (filled, skipped) = match after.as_bytes().first() {
            Some(b'p') => (process.to_string(), 1),
            Some(b'%') => ("%".to_string(), 1),
            _ => ("%".to_string(), 0),
        };
        out.push_str(&filled);
        rest = after.get(skipped..).unwrap_or_default();
    }
    out.push_str(rest);
    out.into()
}

/// `path`, or the first `path.2`, `path.3` … that no other copy of this process wrote.
fn own_name(path: PathBuf, header: &str) -> PathBuf {
    let numbered = |n: u32| {
        let mut name = OsString::from(&path);
        name.push(format!(".{n}"));
        PathBuf::from(name)
    };
    if !is_of_other_copy(&path, header) {
        return path;
    }
    (2..=COPIES_MAX).map(numbered).find(|name| !is_of_other_copy(name, header)).unwrap_or(path)
}

/// Whether the file was written by this process, but not by this copy.
fn is_of_other_copy(path: &Path, header: &str) -> bool {
    let Ok(file) = fs::File::open(path) else { return false };
    let mut start = String::new();
    let of_process = header.split_inclusive(",\"copy\"").next().unwrap_or(header);
    let read = file.take(header.len() as u64).read_to_string(&mut start);
    read.is_ok() && start.starts_with(of_process) && start != header
}

/// Has the table written at the program's end, from the first call on.
#[cfg(any(unix, windows, target_os = "wasi"))]
pub(super) fn write_at_exit() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if !ASKED.swap(true, Relaxed) && atexit(at_exit) != 0 {
        complain("no room for one more exit handler");
    }
}

/// Nobody is called at this system's end of a program: [`write_file`] is by hand there.
#[cfg(not(any(unix, windows, target_os = "wasi")))]
pub(super) fn write_at_exit() {}

#[cfg(any(unix, windows, target_os = "wasi"))]
#[expect(unsafe_code, reason = "std has no hook for the end of a program")]
// SAFETY: the C standard's `int atexit(void (*)(void))`, which may be called at any time.
unsafe extern "C" {
    safe fn atexit(callback: extern "C" fn()) -> core::ffi::c_int;
}

/// Nothing here panics: that would abort a program that has done its work.
#[cfg(any(unix, windows, target_os = "wasi"))]
extern "C" fn at_exit() {
    let Some(pattern) = env::var_os(ENV).filter(|pattern| !pattern.is_empty()) else { return };
    if let Err(error) = write_file(Path::new(&pattern)) {
        complain(&format!(
            "{}: {error}; set {ENV} to a file that can be written",
            Path::new(&pattern).display()
        ));
    }
}

/// One line on standard error, which may be closed.
fn complain(why: &str) {
    _ = writeln!(io::stderr(), "unlikely: the counts of hints are not written: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn placeholders_are_filled_in() {
        for (pattern, name) in [
            ("a.jsonl", "a.jsonl"),
            ("%p", "77"),
            ("d/a-%p-%p.x", "d/a-77-77.x"),
            ("100%%p%", "100%p%"),
            ("%q%é", "%q%é"),
        ] {
            assert_eq!(expand(Path::new(pattern), 77), Path::new(name), "{pattern}");
        }
    }

    #[test]
    fn the_file_is_whole_and_alone() {
        let dir = tempfile::tempdir().unwrap();
        let pattern = dir.path().join("new/folder/%p");
        let written = write_file(&pattern).unwrap();
        let again = write_file(&pattern).unwrap();
        assert_eq!(written, again, "the later takes the place of the earlier");
        let folder = dir.path().join("new/folder");
        assert_eq!(names(&folder), [process::id().to_string()], "no temporary file is left");
        let text = fs::read_to_string(written).unwrap();
        let last = text.lines().last().unwrap();
        assert!(
            text.starts_with(&header(process::id())) && last.starts_with("{\"end\":"),
            "{text}"
        );
    }

    #[test]
    fn another_copy_of_this_process_keeps_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("counts");
        let other = header(process::id()).replace("\"copy\":\"", "\"copy\":\"f00");
        fs::write(&path, &other).unwrap();
        assert_eq!(write_file(&path).unwrap(), dir.path().join("counts.2"));
        assert_eq!(write_file(&path).unwrap(), dir.path().join("counts.2"));
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
        // What another process left is out of date.
        fs::write(&path, header(0)).unwrap();
        assert_eq!(write_file(&path).unwrap(), path);
    }

    #[test]
    fn a_name_that_cannot_be_written_is_an_error_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("folder");
        fs::create_dir(&taken).unwrap();
        write_file(&taken).unwrap_err();
        assert_eq!(names(dir.path()), ["folder"]);
    }
}
