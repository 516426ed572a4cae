//! Which names of two builds mean the same thing.
//!
//! A compiler that splits, clones or specialises a function adds a suffix to its name; a second
//! build lies in another folder, and may bear another name. Mangled names are left as they are.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Component, Path, PathBuf};

/// What GCC and LLVM append, before numbers, to the name of a part or copy of a function.
const SUFFIXES: [&str; 7] = ["cold", "part", "constprop", "isra", "lto_priv", "llvm", "localalias"];

/// The name of functions without a symbol: those of an object are counted together, since their
/// addresses mean nothing in another build.
pub(crate) const NAMELESS: &str = "(no symbol)";

/// The function that a symbol is of: `f` for `f.constprop.0.cold`.
pub(crate) fn function_of(symbol: &str) -> &str {
    if symbol.strip_prefix("0x").is_some_and(is_hex) || symbol == super::callgrind::UNKNOWN {
        return NAMELESS;
    }
    let mut name = symbol;
    loop {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        // Digits count only behind a point, points only before digits: `f2` is a name.
        let numbers = name.get(bare.len()..).unwrap_or_default();
        let stem = match numbers.find('.') {
            Some(at) => name.get(..bare.len() + at).unwrap_or(name),
            None => name,
        };
        match stem.rsplit_once('.') {
            Some((head, suffix)) if !head.is_empty() && SUFFIXES.contains(&suffix) => name = head,
            _ => return name,
        }
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_hexdigit())
}

/// A source file's name as it is shown and found: without `.` and `x/..`, and relative to `dir`
/// where it lies below it.
pub(crate) fn file_name(name: &str, dir: &Path) -> String {
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(path.components().next_back(), Some(Component::Normal(_))) =>
            {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned()
}

/// The last component of a path.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Pairs the paths of two builds: equal ones; of the rest those of a file name that is unique on
/// both sides; and, where `last` is set, two that are left alone.
pub(crate) fn pair<'n>(a: &[&'n str], b: &[&'n str], last: bool) -> HashMap<&'n str, &'n str> {
    let mut pairs: HashMap<&str, &str> =
        a.iter().filter(|name| b.contains(name)).map(|&name| (name, name)).collect();
    let mut rest_a: Vec<&str> = a.iter().copied().filter(|name| !b.contains(name)).collect();
    let mut rest_b: Vec<&str> = b.iter().copied().filter(|name| !a.contains(name)).collect();
    let by_base_b = unique(&rest_b);
    for (name, path_a) in unique(&rest_a) {
        if let Some(path_b) = by_base_b.get(name) {
            pairs.insert(path_a, path_b);
        }
    }
    rest_a.retain(|path| !pairs.contains_key(path));
    rest_b.retain(|path| !pairs.values().any(|paired| paired == path));
    if let (true, [only_a], [only_b]) = (last, rest_a.as_slice(), rest_b.as_slice()) {
        pairs.insert(only_a, only_b);
    }
    pairs
}

/// The paths whose file name no other of them has, by that name.
fn unique<'n>(paths: &[&'n str]) -> HashMap<&'n str, &'n str> {
    let mut count: HashMap<&str, (usize, &str)> = HashMap::new();
    for path in paths {
        let entry = count.entry(base(path)).or_insert((0, path));
        entry.0 += 1;
    }
    count.into_iter().filter(|(_, (n, _))| *n == 1).map(|(name, (_, path))| (name, path)).collect()
}

/// Entries of two lists joined by a key; what only one has stands alone.
pub(crate) fn join<'t, T, K: Hash + Eq>(
    a: &'t [T],
    b: &'t [T],
    key_a: impl Fn(&'t T) -> K,
    key_b: impl Fn(&'t T) -> K,
) -> Vec<(Option<&'t T>, Option<&'t T>)> {
    let mut of_b: HashMap<K, &T> = b.iter().map(|item| (key_b(item), item)).collect();
    let mut out: Vec<_> = a.iter().map(|item| (Some(item), of_b.remove(&key_a(item)))).collect();
    // In B's own order, so that nothing depends on hashes.
    let alone = b.iter().filter(|item| of_b.contains_key(&key_b(item)));
    out.extend(alone.map(|item| (None, Some(item))));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_copies_belong_to_their_function() {
        for symbol in [
            "work.cold",
            "work.part.0",
            "work.constprop.0",
            "work.isra.0.constprop.1.cold",
            "work.cold.1",
            "work.llvm.1234567890",
            "work.lto_priv.0.lto_priv.0",
        ] {
            assert_eq!(function_of(symbol), "work", "{symbol}");
        }
    }

    #[test]
    fn other_names_are_left_as_they_are() {
        for symbol in [
            "work2",
            "cold",
            ".cold",
            "work.cool.0",
            "counter.0",
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
            "_RNvCs1234_7mycrate3foo",
            "_ZNSt6vectorIiSaIiEE9push_backERKi",
            "(below main)",
            "",
        ] {
            assert_eq!(function_of(symbol), symbol);
        }
        assert_eq!(function_of("_Z4workv.cold"), "_Z4workv");
    }

    #[test]
    fn an_address_is_no_name() {
        assert_eq!(function_of("0x0000000000001100"), NAMELESS);
        assert_eq!(function_of("???"), NAMELESS);
        assert_eq!(function_of("0xtra"), "0xtra");
    }

    #[test]
    fn files_are_named_from_the_working_directory() {
        let name = |text| file_name(text, Path::new("/build/a"));
        assert_eq!(name("/build/a/src/./x.c"), "src/x.c");
        assert_eq!(name("/build/a/obj/../src/x.c"), "src/x.c");
        assert_eq!(name("/usr/include/stdio.h"), "/usr/include/stdio.h");
        assert_eq!(name("./csu/../sysdeps/x.S"), "sysdeps/x.S");
        assert_eq!(name("../x.c"), "../x.c");
        assert_eq!(name("???"), "???");
    }

    #[test]
    fn builds_in_two_folders_are_paired_by_file_name() {
        let a = ["/lib/libc.so", "/a/tool", "/a/x/lib.so", "/a/y/lib.so"];
        let b = ["/b/tool", "/lib/libc.so", "/b/x/lib.so"];
        let pairs = pair(&a, &b, true);
        assert_eq!(pairs.get("/lib/libc.so"), Some(&"/lib/libc.so"));
        assert_eq!(pairs.get("/a/tool"), Some(&"/b/tool"));
        // Which of the two is meant cannot be told.
        assert_eq!(pairs.len(), 2);
    }

    #[test]
    fn two_programs_of_different_names_are_a_pair_if_nothing_else_is_left() {
        let pairs = pair(&["/w/old", "/lib/libc.so"], &["/w/new", "/lib/libc.so"], true);
        assert_eq!(pairs.get("/w/old"), Some(&"/w/new"));
        assert_eq!(pair(&["/w/old.c"], &["/w/new.c"], false).len(), 0);
        assert_eq!(pair(&["/w/old", "/w/more"], &["/w/new"], true).len(), 0);
    }

    #[test]
    fn what_one_side_lacks_stands_alone() {
        let joined = join(&[1, 2], &[2, 3], |n| *n, |n| *n);
        assert_eq!(joined, [(Some(&1), None), (Some(&2), Some(&2)), (None, Some(&3))]);
    }
}
