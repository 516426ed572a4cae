//! Renames the function sections of an object so that a linker places them in the order of a salt.
//!
//! Names are all that changes: a longer table of names is put at the file's end, and the headers of
//! the renamed sections and of the table itself point into it. Every section keeps its number, so
//! relocations, groups, linked sections and symbols need no change, and cannot be got wrong.

use std::collections::HashSet;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endian, Endianness};

use super::record::Left;
use super::{SORTED, key};

/// What begins the name of a function's own section.
const OWN: &[u8] = b".text.";
/// Places that the compiler chose, by the first word after `.text.`.
const GROUPS: [&[u8]; 7] =
    [b"unlikely", b"hot", b"startup", b"exit", b"split", b"sorted", b"unknown"];
/// Bytes of a section's header in a 64-bit object.
const HEADER_BYTES: u64 = 64;
/// Where a section's header holds its name, offset and size.
const NAME_AT: u64 = 0;
const OFFSET_AT: u64 = 24;
const SIZE_AT: u64 = 32;

/// A salted object.
#[derive(Debug)]
pub(super) struct Salted {
    pub(super) bytes: Vec<u8>,
    /// The functions whose sections were renamed.
    pub(super) functions: Vec<String>,
}

/// `data` with its functions in the order of `salt`.
///
/// # Errors
/// With the reason why it must be left as it is.
pub(super) fn salted(data: &[u8], salt: u64) -> Result<Salted, Left> {
    if data.starts_with(b"BC\xc0\xde") {
        return Err(Left::Lto);
    }
    let header = FileHeader64::<Endianness>::parse(data).map_err(|_| Left::NotElf64)?;
    let malformed = |error: object::read::Error| Left::Malformed(error.to_string());
    let endian = header.endian().map_err(malformed)?;
    if header.e_type(endian) != elf::ET_REL {
        return Err(Left::NotElf64);
    }
    let sections = header.sections(endian, data).map_err(malformed)?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB).map_err(malformed)?;
    let mut held = HashSet::new();
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_type() == elf::STT_FUNC
            && let Ok(Some(section)) = symbols.symbol_section(endian, symbol, index)
        {
            held.insert((section, symbols.symbol_name(endian, symbol).map_err(malformed)?));
        }
    }
    let mut renamed = Vec::new();
    for (index, section) in sections.enumerate() {
        let name = sections.section_name(endian, section).map_err(malformed)?;
        if name.starts_with(b".gnu.lto_") {
            return Err(Left::Lto);
        }
        if let Some(function) = function_of(name)
            && section.sh_flags(endian).contains(elf::SHF_EXECINSTR)
            && held.contains(&(index, function))
        {
            renamed.push((index.0 as u64, function));
        }
    }
    let table = header.section_strings_index(endian, data).map_err(malformed)?;
    let names = sections.section(table).and_then(|s| s.data(endian, data)).map_err(malformed)?;
    let mut patch = Patch {
        little: endian.is_little_endian(),
        headers: header.e_shoff(endian),
        bytes: data.to_vec(),
    };
    patch
        .rename(salt, table.0 as u64, names, &renamed)
        .ok_or_else(|| Left::Malformed("its table of names is too large".to_owned()))?;
    let functions = renamed.iter().map(|(_, f)| String::from_utf8_lossy(f).into_owned()).collect();
    Ok(Salted { bytes: patch.bytes, functions })
}

/// The function that a section is named after, unless the compiler chose its place.
fn function_of(section: &[u8]) -> Option<&[u8]> {
    let name = section.strip_prefix(OWN)?;
    let mut words = name.split(|b| *b == b'.');
    let first = words.next()?;
    let apart = GROUPS.contains(&first)
        || words.any(|w| w == b"cold")
        // GNU ld takes it for a cold section of old compilers.
        || name.ends_with(b"_unlikely");
    (!apart && !first.is_empty()).then_some(name)
}

/// An object that is being changed.
struct Patch {
    little: bool,
    /// Where the section headers begin.
    headers: u64,
    bytes: Vec<u8>,
}

impl Patch {
    /// `None` if anything lies outside the file, or a number does not fit.
    fn rename(
        &mut self,
        salt: u64,
        table: u64,
        names: &[u8],
        sections: &[(u64, &[u8])],
    ) -> Option<()> {
        if sections.is_empty() {
            return Some(());
        }
        let mut names = names.to_vec();
        for (section, function) in sections {
            let at = u32::try_from(names.len()).ok()?;
            names.extend_from_slice(SORTED.as_bytes());
            names.extend_from_slice(key(salt, function).as_bytes());
            names.push(b'.');
            names.extend_from_slice(function);
            names.push(0);
            let bytes = if self.little { at.to_le_bytes() } else { at.to_be_bytes() };
            self.put(*section, NAME_AT, &bytes)?;
        }
        u32::try_from(names.len()).ok()?;
        let offset = self.bytes.len() as u64;
        self.put_word(table, OFFSET_AT, offset)?;
        self.put_word(table, SIZE_AT, names.len() as u64)?;
        self.bytes.append(&mut names);
        Some(())
    }

    fn put_word(&mut self, section: u64, field: u64, value: u64) -> Option<()> {
        let bytes = if self.little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.put(section, field, &bytes)
    }

    fn put(&mut self, section: u64, field: u64, value: &[u8]) -> Option<()> {
        let at = self.headers.checked_add(section.checked_mul(HEADER_BYTES)?)?;
        let at = usize::try_from(at.checked_add(field)?).ok()?;
        self.bytes.get_mut(at..at.checked_add(value.len())?)?.copy_from_slice(value);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection};
    use rand::{RngExt, SeedableRng};
    use std::fs;
    use std::process::Command;

    const SOURCE: &str = r#"
void out(int);
__attribute__((noinline)) static int local(int x) { return x * 3; }
__attribute__((cold)) void chilled(int x) { out(x + 7); }
__attribute__((hot)) void heated(int x) { out(x + 9); }
__attribute__((section(".text.chosen"))) void placed(int x) { out(x + 2); }
int own(int x) { return local(x) + local(x + 1); }
int main(int argc, char **argv) { (void)argv; return own(argc); }
"#;

    /// What a compiler makes of `source`, in a file called `name`.
    fn compiled(compiler: &str, flags: &[&str], name: &str, source: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(name), source).unwrap();
        let status = Command::new(compiler)
            .current_dir(dir.path())
            .args(flags)
            .args(["-c", "-o", "out.o", name])
            .status()
            .unwrap();
        assert!(status.success(), "{compiler} {flags:?}");
        fs::read(dir.path().join("out.o")).unwrap()
    }

    fn sections(data: &[u8]) -> Vec<String> {
        let file = object::File::parse(data).unwrap();
        file.sections().map(|s| s.name().unwrap().to_owned()).collect()
    }

    #[test]
    fn only_a_functions_own_section_is_renamed() {
        for compiler in ["gcc", "clang-22"] {
            let plain = compiled(compiler, &["-O2", "-g", "-ffunction-sections"], "a.c", SOURCE);
            let salted = salted(&plain, 3).unwrap();
            let mut functions = salted.functions.clone();
            functions.sort_unstable();
            // GCC places main among what runs once; clang does not.
            let moved: &[&str] =
                if compiler == "gcc" { &["local", "own"] } else { &["local", "main", "own"] };
            assert_eq!(functions, moved, "{compiler}");
            let expected: Vec<String> = sections(&plain)
                .into_iter()
                .map(|name| match name.strip_prefix(".text.") {
                    Some(f) if moved.contains(&f) => {
                        format!(".text.sorted.{}.{f}", key(3, f.as_bytes()))
                    }
                    _ => name,
                })
                .collect();
            assert_eq!(sections(&salted.bytes), expected, "{compiler}");
        }
    }

    #[test]
    fn names_that_a_linker_reads_as_a_place_are_no_functions() {
        for name in ["f", "f.part.0", "f.constprop.1", "hotter", "unlikely_f", "_ZN1aC2Ev"] {
            let section = format!(".text.{name}");
            assert_eq!(function_of(section.as_bytes()), Some(name.as_bytes()));
        }
        let places = ["hot", "unlikely.f", "exit", "startup.main", "split.f", "unknown.f"];
        for name in places.into_iter().chain(["sorted.0.f", "f.cold", "f.cold.1", "f_unlikely", ""])
        {
            assert_eq!(function_of(format!(".text.{name}").as_bytes()), None, "{name}");
        }
        assert_eq!(function_of(b".text"), None);
        assert_eq!(function_of(b".data.f"), None);
    }

    #[test]
    fn nothing_but_names_changes() {
        for compiler in ["gcc", "clang-22"] {
            let plain = compiled(compiler, &["-O2", "-g", "-ffunction-sections"], "a.c", SOURCE);
            let salted = salted(&plain, 3).unwrap().bytes;
            let [before, after] = [&plain, &salted].map(|d| object::File::parse(&**d).unwrap());
            assert_eq!(before.sections().count(), after.sections().count());
            for (a, b) in before.sections().zip(after.sections()) {
                let (old, new) = (a.data().unwrap(), b.data().unwrap());
                // The table of names is the one that grew.
                assert!(old == new || new.starts_with(old), "{compiler} {:?}", a.name());
                assert_eq!(a.flags(), b.flags());
                let relocations = |s: &object::Section<'_, '_>| {
                    format!("{:?}", s.relocations().collect::<Vec<_>>())
                };
                assert_eq!(relocations(&a), relocations(&b));
            }
            let symbols = |f: &object::File<'_>| format!("{:?}", f.symbols().collect::<Vec<_>>());
            assert_eq!(symbols(&before), symbols(&after));
        }
    }

    #[test]
    fn a_salted_object_is_not_salted_again() {
        let plain = compiled("gcc", &["-O2", "-ffunction-sections"], "a.c", SOURCE);
        let once = salted(&plain, 3).unwrap().bytes;
        let twice = salted(&once, 4).unwrap();
        assert_eq!((twice.functions.len(), twice.bytes), (0, once));
    }

    #[test]
    fn what_cannot_be_salted_is_left_with_the_reason() {
        let reason = |data: &[u8]| salted(data, 1).unwrap_err();
        for compiler in ["gcc", "clang-22"] {
            let lto = compiled(compiler, &["-O2", "-flto"], "a.c", SOURCE);
            assert_eq!(reason(&lto), Left::Lto, "{compiler}");
        }
        let fat = compiled("gcc", &["-O2", "-flto", "-ffat-lto-objects"], "a.c", SOURCE);
        assert_eq!(reason(&fat), Left::Lto);
        let small = compiled("gcc", &["-m32"], "a.c", "int f(void) { return 1; }");
        assert_eq!(reason(&small), Left::NotElf64);
        assert_eq!(reason(b"#!/bin/sh\n"), Left::NotElf64);
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(reason(&program), Left::NotElf64);
    }

    #[test]
    fn more_sections_than_a_header_can_count_are_no_obstacle() {
        let names: Vec<String> = (0..66_000).map(|n| format!("f{n}")).collect();
        let source: String = names
            .iter()
            .map(|f| format!(".section .text.{f},\"ax\"\n.type {f},@function\n{f}: ret\n"))
            .collect();
        let plain = compiled("gcc", &[], "a.s", &source);
        let salted = salted(&plain, 1).unwrap();
        assert_eq!(salted.functions, names);
        let last = format!(".text.sorted.{}.f65999", key(1, b"f65999"));
        assert!(sections(&salted.bytes).contains(&last));
    }

    #[test]
    fn no_damage_makes_it_panic() {
        let plain = compiled("gcc", &["-O2", "-ffunction-sections"], "a.c", SOURCE);
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..20_000 {
            let mut data = plain.clone();
            data.truncate(random.random_range(0..=2 * data.len()));
            for _ in 0..random.random_range(1..8) {
                // Headers stand at both ends.
                let near = random.random_range(0..data.len().clamp(1, 400));
                let at = if random.random() { near } else { data.len().saturating_sub(near + 1) };
                if let Some(byte) = data.get_mut(at) {
                    *byte = random.random();
                }
            }
            let _ = salted(&data, 1);
        }
    }
}
