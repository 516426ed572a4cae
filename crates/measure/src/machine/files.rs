//! Reads the small text files in which Linux tells its state. They lie below a root folder, so that
//! a copy of another machine's files can be read in place of this one's.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Bytes read of one file: `/proc/stat` of a machine with thousands of interrupts is some 100 KiB.
pub(super) const FILE_MAX: usize = 512 << 10;
/// No kernel numbers its CPUs higher.
const CPUS_MAX: u32 = 1 << 16;

/// The files below one root.
#[derive(Debug, Clone)]
pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// Text of a file without the space around it.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut bytes = Vec::new();
        let file = File::open(self.path(path)).ok()?;
        file.take(FILE_MAX as u64).read_to_end(&mut bytes).ok()?;
        // The device tree ends its strings with NUL.
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
    }

    /// Text of a file that says something.
    pub(super) fn word(&self, path: impl AsRef<Path>) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    pub(super) fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that holds 0 for no and another number for yes.
    pub(super) fn switch(&self, path: impl AsRef<Path>) -> Option<bool> {
        self.number::<i64>(path).map(|value| value != 0)
    }

    pub(super) fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, sorted; none if it cannot be read.
    pub(super) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Numbers of the entries of `folder` that are called `prefix` and a number, ascending.
    pub(super) fn numbered(&self, folder: &str, prefix: &str) -> Vec<u32> {
        let names = self.names(folder);
        let mut numbers: Vec<u32> =
            names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The part of a path that leads down: neither a root nor a step up.
pub(super) fn downward(path: &str) -> PathBuf {
    Path::new(path).components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// CPU numbers of a list such as `0-3,8`; `None` if it is no such list. The empty one has none,
/// and so has the `(null)` that kernels print for a mask that was never made.
pub(super) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last >= CPUS_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cpu_list_has_numbers_and_ranges() {
        assert_eq!(cpu_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(cpu_list("5"), Some(vec![5]));
        assert_eq!(cpu_list(""), Some(vec![]));
        assert_eq!(cpu_list("(null)"), Some(vec![]));
        assert_eq!(cpu_list("0-3,x"), None);
        assert_eq!(cpu_list("0-4294967295"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_is_not(text in ".*|[0-9,-]{0,30}") {
            let _ = cpu_list(&text);
        }

        #[test]
        fn a_path_from_a_file_leads_down(text in "[./a]{0,30}") {
            prop_assert!(downward(&text).components().all(|c| matches!(c, Component::Normal(_))));
        }
    }

    #[test]
    fn texts_lose_the_space_and_the_nul_around_them() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("model"), "Board 4\0").unwrap();
        fs::write(root.path().join("empty"), "\n").unwrap();
        let files = Files::below(root.path());
        assert_eq!(files.text("model").as_deref(), Some("Board 4"));
        assert_eq!((files.word("empty"), files.text("none")), (None, None));
    }
}
