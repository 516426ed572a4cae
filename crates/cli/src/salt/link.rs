//! The linkers that a compiler may call, and what each needs to keep the order of a salt.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::{key, record};
use crate::toolchain::find;

/// Names under which compilers call linkers.
const NAMES: [&str; 5] = ["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"];

/// A real linker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Linker {
    /// Absolute.
    pub(crate) path: PathBuf,
    /// LLD, which does not place sections by name unless it is given a file.
    pub(crate) lld: bool,
}

/// The linkers that `compiler` would call.
pub(crate) fn linkers(compiler: &Path) -> BTreeMap<String, Linker> {
    let found = NAMES.into_iter().filter_map(|name| {
        let asked = said(compiler, &format!("-print-prog-name={name}"))?;
        let path = find(asked.trim())?;
        let lld = said(&path, "--version")?.contains("LLD");
        Some((name.to_owned(), Linker { path, lld }))
    });
    found.collect()
}

fn said(program: &Path, question: &str) -> Option<String> {
    let out = Command::new(program)
        .arg(question)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// A file for LLD's `--symbol-ordering-file` in `folder`: every function of the record, in the
/// order of their keys.
pub(super) fn order(
    folder: &Path,
    record: &Path,
    salt: u64,
) -> std::io::Result<tempfile::NamedTempFile> {
    let mut functions: Vec<(String, String)> = record::functions(record)
        .into_iter()
        .map(|name| (key(salt, name.as_bytes()), name))
        .collect();
    functions.sort_unstable();
    functions.dedup();
    let mut text = String::new();
    for (_, name) in functions {
        text.push_str(&name);
        text.push('\n');
    }
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_compilers_own_linkers_are_found_and_lld_is_told_apart() {
        let clang = linkers(&find("clang-22").unwrap());
        assert!(clang.get("ld.lld").unwrap().lld, "{clang:?}");
        let gcc = linkers(&find("gcc").unwrap());
        for linker in ["ld", "ld.bfd", "ld.gold"].map(|name| gcc.get(name).unwrap()) {
            assert!(linker.path.is_absolute() && !linker.lld, "{gcc:?}");
        }
    }

    #[test]
    fn the_order_for_lld_is_that_of_the_keys() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record");
        let names: Vec<String> = ('a'..='z').map(String::from).collect();
        let object = "/a.o".to_owned();
        record::Line { object, outcome: Ok(names.clone()) }.write_down(&record);
        // Two units have a function of this name.
        let object = "/b.o".to_owned();
        record::Line { object, outcome: Ok(vec!["q".to_owned()]) }.write_down(&record);
        let text = fs::read_to_string(order(dir.path(), &record, 5).unwrap().path()).unwrap();
        let mut sorted = names;
        sorted.sort_by_key(|name| key(5, name.as_bytes()));
        assert_eq!(text.lines().collect::<Vec<_>>(), sorted);
    }
}
