//! What the library offers and needs, symbol by symbol: no more than it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};

use crate::support::{ENTRIES, prefix, shared_library, static_library, succeed, text};

/// The global names that a file defines and that it takes from elsewhere.
struct Names {
    defined: BTreeSet<String>,
    needed: BTreeSet<String>,
}

fn names<'data>(symbols: impl Iterator<Item = object::Symbol<'data, 'data>>) -> Names {
    let mut names = Names { defined: BTreeSet::new(), needed: BTreeSet::new() };
    for symbol in symbols.filter(|symbol| symbol.is_global() && !symbol.is_weak()) {
        let set = if symbol.is_undefined() { &mut names.needed } else { &mut names.defined };
        set.insert(symbol.name().expect("a name").to_owned());
    }
    names.needed.remove("");
    names
}

fn offered() -> BTreeSet<String> {
    let own = ["__chk_fail", "unlikely_fortify_set_handler"].map(str::to_owned);
    ENTRIES.iter().map(|entry| format!("__{entry}_chk")).chain(own).collect()
}

/// The list in the header, of what a static link needs.
fn listed_in_the_header() -> BTreeSet<String> {
    let header = fs::read_to_string(prefix().join("include/unlikely_fortify.h")).expect("a header");
    let (_, list) = header.split_once("needs from the C library:").expect("the list");
    let (list, _) = list.split_once('.').expect("the end of the list");
    list.split_whitespace().filter(|word| *word != "*").map(str::to_owned).collect()
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("an installed file")
}

#[test]
fn shared_library_exports_its_entry_points_and_needs_only_libc() {
    let bytes = read(&shared_library());
    let file = object::File::parse(&*bytes).unwrap();
    let names = names(file.dynamic_symbols());
    assert_eq!(names.defined, offered());
    assert_eq!(names.needed, listed_in_the_header());
}

/// Without a version, glibc would answer with the oldest `memcpy` that it has.
#[test]
fn shared_library_says_which_version_of_a_function_it_means() {
    let output = succeed(Command::new("nm").args(["-D", "--undefined-only"]).arg(shared_library()));
    let listing = text(&output.stdout);
    let strong: Vec<&str> =
        listing.lines().filter_map(|line| line.trim().strip_prefix("U ")).collect();
    assert!(strong.len() >= 8, "{listing}");
    assert!(strong.iter().all(|symbol| symbol.contains("@GLIBC_")), "{listing}");
}

#[test]
fn static_library_needs_only_what_the_header_lists() {
    let bytes = read(&static_library(prefix()));
    let archive = ArchiveFile::parse(&*bytes).unwrap();
    let members: Vec<_> = archive.members().map(Result::unwrap).collect();
    let [member] = &members[..] else { panic!("{} objects", members.len()) };
    let file = object::File::parse(member.data(&*bytes).unwrap()).unwrap();
    let names = names(file.symbols());
    assert_eq!(names.defined, offered());
    assert_eq!(names.needed, listed_in_the_header());
}
