//! Which `.gcno` a `.gcda` belongs to.
//!
//! A data file names its notes file only by a stamp. The two usually stand side by side; with
//! `GCOV_PREFIX`, or on another machine than the build's, they come in separate folders. So of all
//! notes files of the same name the one with the same stamp is taken, the one beside it first.

use std::path::{Path, PathBuf};

/// A notes file.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// A data file.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl Notes {
    pub(super) fn new(path: &Path, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), bytes }
    }
}

impl Data {
    pub(super) fn new(path: &Path, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), bytes }
    }
}

/// The notes of `data` among `all`; if no stamp fits, the file beside it, so that the reader can
/// name both.
pub(super) fn find(data: &Data, all: &[Notes]) -> Option<usize> {
    let beside = data.path.with_extension("gcno");
    let mut named: Vec<usize> =
        (0..all.len()).filter(|&i| all[i].path.file_name() == beside.file_name()).collect();
    named.sort_by_key(|&i| all[i].path != beside);
    let fits = |&&i: &&usize| build(&all[i].bytes) == build(&data.bytes);
    named.iter().find(fits).or_else(|| named.iter().find(|&&i| all[i].path == beside)).copied()
}

/// Version and stamp: bytes 4 to 12 of both kinds, in the same byte order.
fn build(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(4..12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(path: &str, stamp: &str) -> Notes {
        Notes::new(Path::new(path), format!("oncg*22B{stamp}").into_bytes())
    }

    #[test]
    fn the_stamp_decides_and_then_the_place() {
        let data = Data::new(Path::new("run/a.gcda"), b"adcg*22BAAAA".to_vec());
        let old = notes("run/a.gcno", "ZZZZ");
        let other = notes("build/b.gcno", "AAAA");
        let built = notes("build/a.gcno", "AAAA");
        let beside = notes("run/a.gcno", "AAAA");
        assert_eq!(
            find(&data, &[other, old, built]),
            Some(2),
            "the one beside is of another build"
        );
        let far = notes("build/a.gcno", "AAAA");
        assert_eq!(find(&data, &[far, beside]), Some(1));
        let old = notes("run/a.gcno", "ZZZZ");
        assert_eq!(find(&data, &[old]), Some(0), "the reader names both files");
        assert_eq!(find(&data, &[notes("x/a.gcno", "ZZZZ")]), None);
    }
}
