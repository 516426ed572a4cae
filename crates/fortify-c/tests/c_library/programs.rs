//! Programs as Debian ships them do real jobs with the library preloaded, and nothing changes.
//!
//! Each job runs three times: alone, with the library, and with a counter in front of the library.
//! What it prints and every file it makes must be the same; the counter shows that the program really
//! came through the entry points, and that they were this library's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::support::{ENTRIES, run, shared_library, source, succeed, text};

/// What a job left: what its commands said, and the files.
#[derive(Debug, PartialEq)]
struct Outcome {
    said: Vec<String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// The job's commands, one after the other, in a directory of their own with some input files.
struct Job<'a> {
    commands: &'a [&'a [&'a str]],
    /// What is taken out of the output since it differs from run to run.
    vary: fn(&str) -> String,
}

impl Job<'_> {
    fn run(&self, environment: &[(&str, OsString)]) -> Outcome {
        let place = tempfile::tempdir().expect("a directory");
        prepare(place.path());
        let mut said = Vec::new();
        for command in self.commands {
            let mut child = Command::new(command[0]);
            child.args(&command[1..]).current_dir(place.path()).env("LC_ALL", "C");
            child.envs(environment.iter().map(|(name, value)| (name, value)));
            let output = run(&mut child);
            assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
            said.push((self.vary)(&text(&output.stdout)));
            said.push((self.vary)(&text(&output.stderr)));
        }
        let mut files = BTreeMap::new();
        collect(place.path(), place.path(), &mut files);
        Outcome { said, files }
    }
}

/// Input: the test sources as one text, dated alike, and the jobs' own files.
fn prepare(place: &Path) {
    let mut input = Vec::new();
    for entry in ENTRIES {
        input.extend(fs::read(source(&format!("c/entry/{entry}.c"))).expect("a source"));
    }
    fs::write(place.join("input"), input.repeat(8)).expect("an input file");
    for file in ["Makefile", "job.lua"] {
        fs::copy(source("jobs").join(file), place.join(file)).expect("a job's file");
    }
    for file in ["input", "Makefile", "job.lua"] {
        let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = File::options().write(true).open(place.join(file)).expect("an input file");
        file.set_modified(date).expect("a settable date");
    }
}

/// The files below a directory, by their paths from the root.
fn collect(root: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            files.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

/// The counts that a job left behind, by entry point, in the order of `count.c`.
fn counts(file: &Path) -> BTreeMap<&'static str, u64> {
    let bytes = fs::read(file).expect("the counts");
    let words = bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8")));
    ENTRIES.into_iter().zip(words).collect()
}

/// Runs a job the three ways. `through` names entry points with the least calls that must be seen.
fn same_with_the_library(job: &Job<'_>, through: &[(&str, u64)]) {
    let library = shared_library();
    let place = tempfile::tempdir().expect("a directory");
    let counter = place.path().join("count.so");
    succeed(
        Command::new("gcc")
            .args(["-O2", "-w", "-shared", "-fPIC", "-fno-builtin", "-U_FORTIFY_SOURCE"])
            .arg(source("c/count.c"))
            .arg("-o")
            .arg(&counter),
    );
    let counted = place.path().join("counts");
    fs::write(&counted, [0; 8 * ENTRIES.len()]).expect("a file for the counts");

    let alone = job.run(&[]);
    let preloaded = job.run(&[("LD_PRELOAD", library.clone().into())]);
    assert!(alone == preloaded, "alone: {:?}\nwith it: {:?}", alone.said, preloaded.said);

    let mut both = counter.into_os_string();
    both.push(" ");
    both.push(&library);
    let seen = job.run(&[("LD_PRELOAD", both), ("COUNTS", counted.clone().into())]);
    assert!(alone == seen, "alone: {:?}\ncounted: {:?}", alone.said, seen.said);

    let counts = counts(&counted);
    for (entry, least) in through {
        assert!(counts[entry] >= *least, "{entry} should be called {least} times: {counts:?}");
    }
}

fn as_it_is(said: &str) -> String {
    said.to_owned()
}

#[test]
fn make_builds_a_hundred_targets() {
    let job = Job { commands: &[&["make"], &["make"]], vary: as_it_is };
    same_with_the_library(&job, &[("memcpy", 10_000)]);
}

#[test]
fn lua_formats_and_packs() {
    let job = Job { commands: &[&["lua5.4", "job.lua"]], vary: as_it_is };
    same_with_the_library(&job, &[("memcpy", 1_000)]);
}

#[test]
fn gzip_and_bzip2_go_there_and_back() {
    let there = ["-9", "-k", "input"];
    let gzip = [&["gzip"], &there[..]].concat();
    let bzip2 = [&["bzip2"], &there[..]].concat();
    let job = Job {
        commands: &[
            &gzip,
            &bzip2,
            &["gzip", "-dc", "input.gz"],
            &["bzip2", "-dc", "input.bz2"],
            &["gzip", "-l", "input.gz"],
        ],
        vary: as_it_is,
    };
    same_with_the_library(&job, &[("memcpy", 1), ("strcpy", 1), ("strcat", 1)]);
}

#[test]
fn zip_and_unzip_go_there_and_back() {
    let job = Job {
        commands: &[
            &["zip", "-X", "archive.zip", "input", "Makefile", "job.lua"],
            &["unzip", "archive.zip", "-d", "out"],
            &["unzip", "-t", "archive.zip"],
        ],
        vary: as_it_is,
    };
    same_with_the_library(&job, &[("strcpy", 3)]);
}

/// Python's own tests. Only the time they took differs.
#[test]
fn python_passes_its_own_tests() {
    let modules = ["test.test_array", "test.test_hashlib", "test.test_codecs"];
    let command = [&["/usr/bin/python3", "-B", "-m", "unittest", "-q"], &modules[..]].concat();
    let without_time = |said: &str| {
        said.lines().map(|line| line.split(" tests in ").next().unwrap_or_default()).collect()
    };
    let job = Job { commands: &[&command], vary: without_time };
    same_with_the_library(&job, &[("memcpy", 1_000), ("explicit_bzero", 1_000), ("strcpy", 10)]);
}
