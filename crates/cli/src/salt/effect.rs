//! What a salt did: which functions lie elsewhere than in the plain build.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSymbol, SymbolKind};
use walkdir::WalkDir;

use super::Record;

/// Two builds' programs and libraries compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Programs and libraries that both builds have, and whose symbols can be read.
    pub(crate) programs: usize,
    /// Those without symbols: nothing can be said of them.
    pub(crate) stripped: usize,
    /// Functions that both builds of a program have.
    pub(crate) functions: usize,
    /// Functions that another one precedes than in the other build.
    pub(crate) moved: usize,
}

/// Compares the build in `folders[0]` with the one in `folders[1]`, file by file.
pub(crate) fn moved(folders: [&Path; 2]) -> Moved {
    let [one, other] = folders.map(programs);
    let mut sum = Moved::default();
    for (path, a) in &one {
        let Some(b) = other.get(path) else { continue };
        if a.is_empty() || b.is_empty() {
            sum.stripped += 1;
            continue;
        }
        sum.programs += 1;
        let before = preceding(a, b);
        let after = preceding(b, a);
        sum.functions += before.len();
        sum.moved += before.iter().filter(|(f, p)| after.get(*f) != Some(p)).count();
    }
    sum
}

/// Why the salts had no effect on any of the builds in `folders`, whose first has this record.
pub(crate) fn no_effect(folders: &[&Path], record: &Record) -> Option<String> {
    let (first, others) = folders.split_first()?;
    // Where there are few functions, two salts may well draw one order.
    let mut why = None;
    for other in others {
        why = moved([first, other]).no_effect(record);
        why.as_ref()?;
    }
    why
}

impl Moved {
    /// Why the salt of a build with this record had no effect, and what helps.
    pub(crate) fn no_effect(&self, record: &Record) -> Option<String> {
        let why = if record.objects == 0 {
            "the build compiles nothing through $CC or $CXX: it must call the compilers that they \
             name, and build from source"
                .to_owned()
        } else if record.functions == 0 && record.left.is_empty() {
            "no function could be given a place: they must be compiled by what $CC or $CXX names, \
             and be more than main"
                .to_owned()
        } else if record.functions == 0 {
            format!("no function could be given a place: {record}")
        } else if record.functions == 1 && self.moved == 0 {
            "one function alone has no other order".to_owned()
        } else if self.programs == 0 && self.stripped == 0 {
            "the build left no program or library".to_owned()
        } else if self.programs > 0 && self.moved == 0 {
            "the linker keeps an order of its own (GNU ld since 2.36, gold and LLD do not; a linker \
             script may)"
                .to_owned()
        } else {
            return None;
        };
        Some(format!("salting had no effect: {why}"))
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} functions moved", self.moved, self.functions)?;
        if self.stripped > 0 {
            write!(f, "; {} programs have no symbols to tell by", self.stripped)?;
        }
        Ok(())
    }
}

/// For each function of `order` that `other` has too, the one before it among these.
fn preceding<'a>(order: &'a [String], other: &[String]) -> HashMap<&'a str, &'a str> {
    let both: HashSet<&str> = other.iter().map(String::as_str).collect();
    let mut last = "";
    let functions = order.iter().map(String::as_str).filter(|f| both.contains(f));
    functions.map(|f| (f, std::mem::replace(&mut last, f))).collect()
}

/// The functions of every linked program and library below `folder`, in the order of addresses.
fn programs(folder: &Path) -> BTreeMap<PathBuf, Vec<String>> {
    let mut out = BTreeMap::new();
    let walk = WalkDir::new(folder).follow_links(false);
    for entry in walk.into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file()) {
        let Ok(path) = entry.path().strip_prefix(folder) else { continue };
        let Ok(data) = fs::read(entry.path()) else { continue };
        if let Some(functions) = functions(&data) {
            out.insert(path.to_owned(), functions);
        }
    }
    out
}

/// `None` if it is no program or library. Names that are there twice say nothing and are left out,
/// and of names for the same address the first stands for all.
fn functions(data: &[u8]) -> Option<Vec<String>> {
    if !data.starts_with(b"\x7fELF") {
        return None;
    }
    let file = object::File::parse(data).ok()?;
    if file.kind() == object::ObjectKind::Relocatable {
        return None;
    }
    let mut found: Vec<(u64, &str)> = file
        .symbols()
        .filter(|s| s.kind() == SymbolKind::Text && s.is_definition())
        .filter_map(|s| Some((s.address(), s.name().ok()?)))
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|(address, _)| *address);
    let mut times: HashMap<&str, usize> = HashMap::new();
    for (_, name) in &found {
        *times.entry(name).or_default() += 1;
    }
    found.retain(|(_, name)| times.get(name) == Some(&1));
    Some(found.into_iter().map(|(_, name)| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::salt::record::Left;
    use std::process::Command;

    /// A folder with a program whose functions lie in this order, linked with `flags`.
    fn build(order: &[&str], flags: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let source: String =
            order.iter().map(|f| format!("int {f}(void) {{ return {}; }}\n", f.len())).collect();
        fs::write(dir.path().join("a.c"), source).unwrap();
        // Neither optimised nor started: the order of the text is the order of the addresses.
        let mut gcc = Command::new("gcc");
        gcc.current_dir(dir.path()).args([
            "-O0",
            "-nostdlib",
            "-shared",
            "-fPIC",
            "a.c",
            "-o",
            "a.so",
        ]);
        assert!(gcc.args(flags).status().unwrap().success());
        dir
    }

    fn compared(a: &tempfile::TempDir, b: &tempfile::TempDir) -> Moved {
        moved([a.path(), b.path()])
    }

    #[test]
    fn a_function_has_moved_when_another_precedes_it() {
        let plain = build(&["one", "two", "three", "four"], &[]);
        let same = Moved { programs: 1, stripped: 0, functions: 4, moved: 0 };
        assert_eq!(compared(&plain, &plain), same);
        // "four" went first: it and "one" follow others than before.
        let moved = build(&["four", "one", "two", "three"], &[]);
        assert_eq!(compared(&plain, &moved), Moved { moved: 2, ..same });
        // What one build has alone is not compared.
        let more = build(&["one", "more", "two", "three", "four"], &[]);
        assert_eq!(compared(&plain, &more), same);
    }

    #[test]
    fn nothing_is_said_of_a_program_without_symbols() {
        let plain = build(&["one", "two"], &[]);
        let stripped = build(&["two", "one"], &["-s"]);
        let unknown = Moved { stripped: 1, ..Moved::default() };
        assert_eq!(compared(&plain, &stripped), unknown);
        let salted = Record { objects: 1, functions: 2, ..Record::default() };
        assert_eq!(unknown.no_effect(&salted), None);
    }

    #[test]
    fn a_salt_without_effect_is_explained() {
        let same = Moved { programs: 1, functions: 4, ..Moved::default() };
        let why = |moved: &Moved, record: &Record| moved.no_effect(record).unwrap_or_default();
        let salted = Record { objects: 2, functions: 4, ..Record::default() };
        assert!(why(&same, &Record::default()).contains("compiles nothing through $CC"));
        let unplaced = Record { objects: 1, functions: 0, ..Record::default() };
        assert!(why(&same, &unplaced).contains("$CC"));
        let one = Record { functions: 1, ..unplaced.clone() };
        assert!(why(&same, &one).contains("no other order"));
        let lto = [(Left::Lto, vec!["/a.o".into()])].into();
        let left = Record { objects: 1, functions: 0, left: lto };
        assert!(why(&same, &left).contains("link-time optimisation"));
        assert!(why(&Moved::default(), &salted).contains("no program"));
        assert!(why(&same, &salted).contains("the linker keeps an order of its own"));
        assert_eq!(why(&Moved { moved: 1, ..same }, &salted), "");
    }
}
