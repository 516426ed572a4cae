//! The table as a file, at exit or by hand.
//!
//! The file is written whole under another name and renamed, so a reader never meets half of one.
//! Two copies of this crate in one process (a plug-in that was linked with its own) would write to
//! one name one after the other: the first line says which process and which copy wrote it, and
//! the later one takes the next free name. A process is told by its number and, where that can be
//! known (Linux), by when it started: in a container every run may be number 1.
//!
//! Renaming would put a regular file in the place of a device, a pipe or a terminal, so into whatever
//! is there and is no file the table is written as it is. Such a thing is never read, and never waited
//! for without end: a program that has done its work is to end.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::string::{String, ToString as _};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;
use std::{env, format, thread};

use super::table::{Quoted, SCHEMA, TABLE, dump_sites, sites};

/// The environment variable that names the file to be written at exit; see [`write_file`]. Where it
/// is not set, or empty, none is.
pub const ENV: &str = "UNLIKELY_SITES";

/// Copies of this crate in one process that find a name each.
const COPIES_MAX: u32 = 64;
/// Symbolic links that are followed, as many as Linux follows.
const LINKS_MAX: usize = 40;
/// How long a reader may leave a full pipe full.
const STALL_MAX: Duration = Duration::from_secs(5);

/// Writes the table to the file of this name, over an older one, and returns the name.
///
/// In `pattern`, `%p` stands for the process id and `%%` for a percent sign. Folders that are
/// missing are made. A symbolic link stays, and the file that it leads to is written. A device, a
/// terminal or a pipe is written into as it is, behind what it has; so are the process's own
/// descriptors (`/dev/stdout`, `/dev/fd/3`), whatever they lead to. A pipe must have a reader.
///
/// The program's end calls this with the value of [`ENV`], if it is an orderly
/// one: a return from `main` or [`std::process::exit`], not a signal, `_exit` or an abort. So call
/// it by hand in a program that is killed; the last call decides what the file holds.
///
/// A forked child that ends in an orderly way writes a file, too; give it `%p`, and call
/// [`reset`](super::reset()) in the child, or what its parent had counted is told twice.
///
/// # Errors
/// When the file or its folder cannot be written, or a pipe has no reader or one that takes nothing
/// for five seconds.
pub fn write_file(pattern: &Path) -> io::Result<PathBuf> {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let process = process::id();
    let header = header(process, started().as_deref());
    let mut table = format!("{header}\n");
    // Writing to a String cannot fail.
    _ = dump_sites(&mut table, sites());
    let path = own_name(expand(pattern, process), &header);
    if is_written_into(&path) {
        write_into(&path, table.as_bytes())?;
        return Ok(path);
    }
    let file = behind_links(&path)?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    let mut temporary = file.clone().into_os_string();
    temporary.push(format!(".{process}-{:x}-{}.tmp", copy(), WRITTEN.fetch_add(1, Relaxed)));
    let done = fs::write(&temporary, table).and_then(|()| fs::rename(&temporary, &file));
    if let Err(error) = done {
        _ = fs::remove_file(&temporary);
        return Err(error);
    }
    Ok(path)
}

/// Whether the path names something that is there, and must stay what it is.
fn is_written_into(path: &Path) -> bool {
    let own = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    match fs::metadata(path) {
        Ok(found) => !found.is_file() || own.iter().any(|own| path.starts_with(own)),
        Err(_) => false,
    }
}

/// Where a chain of symbolic links ends, be there a file or not.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        // A target that is absolute takes the place of all.
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("its symbolic links go round in a circle"))
}

/// Writes into what is there, behind what it has.
fn write_into(path: &Path, mut table: &[u8]) -> io::Result<()> {
    const STEP: Duration = Duration::from_millis(1);
    let mut options = fs::OpenOptions::new();
    options.append(true);
    without_waiting(&mut options);
    let mut file = options.open(path)?;
    let mut stalled = Duration::ZERO;
    while !table.is_empty() {
        match file.write(table) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                table = table.get(n..).unwrap_or_default();
                stalled = Duration::ZERO;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The pipe is full: its reader gets time, but not all.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && stalled < STALL_MAX => {
                thread::sleep(STEP);
                stalled += STEP;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Has a pipe without a reader be refused, not waited for.
#[cfg(unix)]
fn without_waiting(options: &mut fs::OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    // O_NONBLOCK, from each system's fcntl.h.
    const NONBLOCK: i32 = if cfg!(any(
        target_vendor = "apple",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "dragonfly"
    )) {
        0x4
    } else if cfg!(any(target_os = "solaris", target_os = "illumos")) {
        0x80
    } else if !cfg!(any(target_os = "linux", target_os = "android")) {
        // Not known: there a pipe is waited for, as by other programs.
        0
    } else if cfg!(any(target_arch = "sparc", target_arch = "sparc64")) {
        0x4000
    } else if cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "mips32r6",
        target_arch = "mips64r6"
    )) {
        0x80
    } else {
        0x800
    };
    options.custom_flags(NONBLOCK);
}

/// No such pipe has a name there.
#[cfg(not(unix))]
fn without_waiting(_: &mut fs::OpenOptions) {}

/// Which copy of this crate this is, within its process.
fn copy() -> usize {
    (&raw const TABLE).addr()
}

/// The first line: all up to the copy is the process's.
fn header(process: u32, started: Option<&str>) -> String {
    let mut text = format!("{{\"schema\":\"{SCHEMA}\",\"process\":{process}");
    // Writing to a String cannot fail.
    if let Some(started) = started {
        _ = write!(text, ",\"started\":{}", Quoted(started));
    }
    _ = write!(text, ",\"copy\":\"{:x}\"}}", copy());
    text
}

/// When this process started: the boot, and clock ticks since. No other process of the same number
/// has it. `None` where `/proc` does not tell; there a rerun under an equal number passes for
/// another copy.
fn started() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read("/proc/self/stat").ok()?;
    Some(format!("{} {}", boot.trim(), start_ticks(&String::from_utf8_lossy(&stat))?))
}

/// Field 22 (`starttime`) of proc_pid_stat(5). The second is the program's name in brackets, which
/// may hold spaces and brackets itself.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
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

/// Whether the file was written by this process, but not by this copy. What is no file is not read:
/// that could wait for ever, and take what another reader is to have.
fn is_of_other_copy(path: &Path, header: &str) -> bool {
    if is_written_into(path) {
        return false;
    }
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

    fn own_header() -> String {
        header(process::id(), started().as_deref())
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
        assert!(text.starts_with(&own_header()) && last.starts_with("{\"end\":"), "{text}");
    }

    #[test]
    fn another_copy_of_this_process_keeps_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("counts");
        let other = own_header().replace("\"copy\":\"", "\"copy\":\"f00");
        fs::write(&path, &other).unwrap();
        assert_eq!(write_file(&path).unwrap(), dir.path().join("counts.2"));
        assert_eq!(write_file(&path).unwrap(), dir.path().join("counts.2"));
        assert_eq!(fs::read_to_string(&path).unwrap(), other);
        // What another process left is out of date.
        fs::write(&path, header(0, started().as_deref())).unwrap();
        assert_eq!(write_file(&path).unwrap(), path);
    }

    #[test]
    fn an_earlier_process_of_the_same_number_is_out_of_date() {
        let of = |started| header(1, started).replace("\"copy\":\"", "\"copy\":\"f00");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("counts");
        let own = "boot 9021";
        for (left, is_other_copy) in [
            (of(Some(own)), true),
            (of(Some("boot 902")), false),
            (of(Some("boot 90210")), false),
            (of(Some("before 9021")), false),
            (of(None), false),
            (header(1, Some(own)), false),
        ] {
            fs::write(&path, &left).unwrap();
            assert_eq!(is_of_other_copy(&path, &header(1, Some(own))), is_other_copy, "{left}");
        }
        // Nothing else is known of either.
        fs::write(&path, of(None)).unwrap();
        assert!(is_of_other_copy(&path, &header(1, None)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_rerun_under_the_same_number_takes_the_name_of_the_earlier() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("counts");
        let earlier =
            header(process::id(), Some("another boot 1")).replace("copy\":\"", "copy\":\"f00");
        fs::write(&path, earlier).unwrap();
        assert_eq!(write_file(&path).unwrap(), path);
        assert_eq!(names(dir.path()), ["counts"]);
        let text = fs::read_to_string(&path).unwrap();
        let head: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(head["process"], process::id());
        assert_eq!(head["started"].as_str(), started().as_deref());
        assert!(head["started"].is_string(), "{text}");
    }

    #[test]
    fn the_start_is_found_behind_any_name_of_a_program() {
        let fields = "S 0 1 1 0 -1 4194560 9 8 7 6 5 4 3 2 20 0 1 0 9021 1000 55";
        for name in ["cat", "a b", ") S 1 (", "(x) (y))"] {
            assert_eq!(start_ticks(&std::format!("1 ({name}) {fields}\n")), Some(9021), "{name}");
        }
        for stat in
            ["", "1 (cat", "1 (cat) S 0 1", "1 (cat) S 0 1 1 0 -1 4 9 8 7 6 5 4 3 2 20 0 1 0 x"]
        {
            assert_eq!(start_ticks(stat), None, "{stat}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_written_is_an_error_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("folder");
        fs::create_dir(&taken).unwrap();
        write_file(&taken).unwrap_err();
        assert_eq!(names(dir.path()), ["folder"]);
    }

    #[cfg(unix)]
    mod what_is_no_file {
        use super::*;
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        use std::process::Command;
        use std::sync::mpsc;

        /// A folder with a pipe of this name.
        fn pipe() -> (tempfile::TempDir, PathBuf) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("pipe");
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            (dir, path)
        }

        fn is_pipe(path: &Path) -> bool {
            fs::symlink_metadata(path).unwrap().file_type().is_fifo()
        }

        /// `write` on a thread, so that one that hangs fails and does not hang the tests.
        fn in_time<T: Send + 'static>(write: impl FnOnce() -> T + Send + 'static) -> T {
            let (done, wait) = mpsc::channel();
            thread::spawn(move || _ = done.send(write()));
            wait.recv_timeout(Duration::from_secs(60)).expect("it waits for ever")
        }

        #[test]
        fn a_pipe_without_a_reader_is_an_error_and_stays() {
            let (dir, path) = pipe();
            let to = path.clone();
            in_time(move || write_file(&to)).unwrap_err();
            assert!(is_pipe(&path));
            assert_eq!(names(dir.path()), ["pipe"]);
        }

        #[test]
        fn a_pipe_with_a_reader_is_written_into_and_stays() {
            let (dir, path) = pipe();
            // Its reader also writes, so that opening it needs nobody else.
            let mut reader = fs::File::options().read(true).write(true).open(&path).unwrap();
            let to = path.clone();
            assert_eq!(in_time(move || write_file(&to)).unwrap(), path);
            assert!(is_pipe(&path));
            assert_eq!(names(dir.path()), ["pipe"]);
            let mut start = [0; 29];
            reader.read_exact(&mut start).unwrap();
            assert_eq!(&start, b"{\"schema\":\"unlikely/sites/1\",");
        }

        #[test]
        fn a_table_longer_than_a_pipe_is_whole() {
            let (_dir, path) = pipe();
            let from = path.clone();
            let reader = fs::File::options().read(true).write(true).open(&from).unwrap();
            let table: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
            let expected = table.clone();
            let read = thread::spawn(move || {
                let mut read = Vec::new();
                reader.take(1_000_000).read_to_end(&mut read).unwrap();
                read
            });
            in_time(move || write_into(&path, &table)).unwrap();
            assert!(read.join().unwrap() == expected);
        }

        /// Not by `write_file`: if it were wrong, root's tests would take the machine's device away.
        #[test]
        fn a_device_is_written_into_by_its_name_and_by_a_link() {
            let dir = tempfile::tempdir().unwrap();
            let link = dir.path().join("null");
            symlink("/dev/null", &link).unwrap();
            for path in [Path::new("/dev/null"), &link] {
                assert!(is_written_into(path), "{path:?}");
                assert!(!is_of_other_copy(path, "any"));
                write_into(path, b"table").unwrap();
            }
        }

        #[test]
        fn a_link_stays_and_its_file_is_written_be_it_there_or_not() {
            let dir = tempfile::tempdir().unwrap();
            let (link, other) = (dir.path().join("link"), dir.path().join("other"));
            symlink("other", &link).unwrap();
            symlink("to/file", &other).unwrap();
            for _ in 0..2 {
                assert_eq!(write_file(&link).unwrap(), link);
                assert_eq!(names(dir.path()), ["link", "other", "to"]);
                assert_eq!(names(&dir.path().join("to")), ["file"]);
                assert!(fs::read_link(&link).is_ok() && fs::read_link(&other).is_ok());
                let text = fs::read_to_string(&link).unwrap();
                assert_eq!(text.matches("\"schema\"").count(), 1, "the older is gone");
            }
        }

        #[test]
        fn links_in_a_circle_are_an_error() {
            let dir = tempfile::tempdir().unwrap();
            let link = dir.path().join("link");
            symlink("link", &link).unwrap();
            write_file(&link).unwrap_err();
            assert_eq!(names(dir.path()), ["link"]);
        }

        #[cfg(target_os = "linux")]
        #[test]
        fn a_file_behind_an_open_descriptor_keeps_what_it_has() {
            use std::os::fd::AsRawFd as _;
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("output");
            fs::write(&path, "said before\n").unwrap();
            let open = fs::File::open(&path).unwrap();
            for folder in ["/dev/fd", "/proc/self/fd"] {
                write_file(&Path::new(folder).join(open.as_raw_fd().to_string())).unwrap();
            }
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("said before\n{\"schema\""), "{text}");
            assert_eq!(text.matches("\"schema\"").count(), 2);
            assert_eq!(names(dir.path()), ["output"]);
        }
    }
}
