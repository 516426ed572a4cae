//! What became of each object of a salted build: written down by many compilers at once, read when
//! the build is over.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Names shown for one reason.
const SHOWN: usize = 3;

/// Why an object stands as the plain build has it.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error,
)]
pub(crate) enum Left {
    /// Its code is made at the link.
    #[error("link-time optimisation: only function alignment is salted")]
    Lto,
    /// Another format than the one that is understood.
    #[error("not a 64-bit ELF object")]
    NotElf64,
    /// Not to be read as an ELF object.
    #[error("malformed: {0}")]
    Malformed(String),
    /// The compiler failed with the flags of the salt.
    #[error("the compiler fails with -ffunction-sections or -falign-functions")]
    Refused,
    /// What cannot be compiled twice.
    #[error("compiled from standard input")]
    Input,
    /// Assembly is all that was asked for.
    #[error("compiled to assembly")]
    Assembly,
    /// The object cannot be read or replaced.
    #[error("{0}")]
    File(String),
}

/// One object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Its absolute path; for one that a program was linked from at once, the program's with a
    /// number.
    pub(super) object: String,
    /// The functions that were given a place.
    pub(super) outcome: Result<Vec<String>, Left>,
}

impl Line {
    /// Appends it to the record at `path`. A lost line costs knowledge, not the build.
    pub(super) fn write_down(&self, path: &Path) {
        let Ok(mut line) = serde_json::to_vec(self) else { return };
        line.push(b'\n');
        // One write in append mode: parallel compilations do not tear each other's lines.
        let file = File::options().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(&line));
    }
}

/// What became of the objects of one build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Objects that were compiled through `$CC` or `$CXX`.
    pub(crate) objects: usize,
    /// Functions that were given a place.
    pub(crate) functions: usize,
    /// Objects left as they were, by reason.
    pub(crate) left: BTreeMap<Left, Vec<PathBuf>>,
}

impl Record {
    /// Reads the record at `path`; the last line of an object counts. No record is an empty one.
    pub(crate) fn read(path: &Path) -> Self {
        let mut last = BTreeMap::new();
        for line in lines(path) {
            last.insert(line.object, line.outcome);
        }
        // What fails without the flags, too, leaves nothing: a probe of a configure script.
        last.retain(|object, outcome| {
            !matches!(outcome, Err(Left::Refused)) || Path::new(object).exists()
        });
        let mut record = Self { objects: last.len(), ..Self::default() };
        for (object, outcome) in last {
            match outcome {
                Ok(functions) => record.functions += functions.len(),
                Err(left) => record.left.entry(left).or_default().push(object.into()),
            }
        }
        record
    }

    /// Objects whose functions were given places.
    pub(crate) fn salted(&self) -> usize {
        self.objects - self.left.values().map(Vec::len).sum::<usize>()
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (salted, functions) = (self.salted(), self.functions);
        write!(f, "salted {salted} of {} objects, {functions} functions", self.objects)?;
        for (why, objects) in &self.left {
            write!(f, "; {} left as they are ({why}): ", objects.len())?;
            for (n, object) in objects.iter().take(SHOWN).enumerate() {
                let comma = if n == 0 { "" } else { ", " };
                write!(f, "{comma}{}", object.display())?;
            }
            if objects.len() > SHOWN {
                f.write_str(" …")?;
            }
        }
        Ok(())
    }
}

/// The names of all functions that were given a place.
pub(super) fn functions(path: &Path) -> Vec<String> {
    lines(path).filter_map(|line| line.outcome.ok()).flatten().collect()
}

fn lines(path: &Path) -> impl Iterator<Item = Line> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(object: &str, outcome: Result<&[&str], Left>) -> Line {
        let outcome = outcome.map(|names| names.iter().map(|&n| n.to_owned()).collect());
        Line { object: object.to_owned(), outcome }
    }

    #[test]
    fn the_last_line_of_an_object_counts_and_a_torn_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        assert_eq!(Record::read(&path), Record::default());
        line("/p/a.o", Err(Left::Refused)).write_down(&path);
        line("/p/a.o", Ok(&["f", "g"])).write_down(&path);
        line("/p/b.o", Err(Left::Lto)).write_down(&path);
        let mut text = fs::read(&path).unwrap();
        text.extend_from_slice(b"{\"object\":\"/p/c.o\",\"out");
        fs::write(&path, text).unwrap();
        let record = Record::read(&path);
        assert_eq!((record.objects, record.salted(), record.functions), (2, 1, 2));
        assert_eq!(record.left, BTreeMap::from([(Left::Lto, vec![PathBuf::from("/p/b.o")])]));
    }

    #[test]
    fn what_does_not_compile_without_the_flags_either_is_no_object() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        let stands = dir.path().join("a.o").display().to_string();
        fs::write(&stands, "").unwrap();
        line(&stands, Err(Left::Refused)).write_down(&path);
        line("/p/conftest.o", Err(Left::Refused)).write_down(&path);
        let record = Record::read(&path);
        assert_eq!(record.objects, 1);
        assert_eq!(record.left, BTreeMap::from([(Left::Refused, vec![PathBuf::from(stands)])]));
    }

    #[test]
    fn it_says_how_many_and_why_not_the_others() {
        let left = ["/1.o", "/2.o", "/3.o", "/4.o"].map(PathBuf::from).to_vec();
        let record = Record {
            objects: 44,
            functions: 612,
            left: BTreeMap::from([(Left::Lto, vec!["/l.o".into()]), (Left::NotElf64, left)]),
        };
        assert_eq!(
            record.to_string(),
            "salted 39 of 44 objects, 612 functions; 1 left as they are (link-time optimisation: \
             only function alignment is salted): /l.o; 4 left as they are (not a 64-bit ELF \
             object): /1.o, /2.o, /3.o …"
        );
    }
}
