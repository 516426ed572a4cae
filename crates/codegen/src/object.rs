//! A relocatable object file as this crate needs it: executable sections at addresses of their
//! own, function parts, and relocations that can be looked up by place.
//!
//! In a relocatable object every section starts at address 0, so an address alone does not name a
//! place. Each executable section is therefore given a base of its own, and every code address in
//! this crate is base plus offset. Nothing here trusts the file: sizes are held against the
//! file's length before work is done in proportion to them.

use object::elf;
use object::read::elf::{ElfFile64, FileHeader, SectionHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
};

use crate::error::ObjectError;

/// The instruction sets that can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arch {
    X86_64,
    Aarch64,
}

impl Arch {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86-64",
            Self::Aarch64 => "aarch64",
        }
    }
}

/// One section; `base` is 0 unless it holds code.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a str,
    pub(crate) code: bool,
    pub(crate) alloc: bool,
    pub(crate) writable: bool,
    /// Holds NUL-terminated strings that the linker may merge.
    pub(crate) strings: bool,
    /// Size of one constant, where the linker may merge constants; otherwise 0.
    pub(crate) constant_bytes: u64,
    pub(crate) base: u64,
    pub(crate) data: &'a [u8],
    /// Sorted by offset.
    pub(crate) relocs: Vec<Reloc>,
}

/// One relocation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reloc {
    /// Offset in the section.
    pub(crate) offset: u64,
    /// The processor's relocation number.
    pub(crate) kind: u32,
    /// Index in [`Image::symbols`].
    pub(crate) symbol: Option<usize>,
    pub(crate) addend: i64,
}

/// One symbol.
#[derive(Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a str,
    /// Index in [`Image::sections`], if defined here.
    pub(crate) section: Option<usize>,
    pub(crate) value: u64,
    pub(crate) size: u64,
    /// Stands for its section, as the assembler does for local labels.
    pub(crate) whole_section: bool,
    function: bool,
    global: bool,
}

/// One contiguous piece of a function.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    /// The symbol, `.cold` and the like included.
    pub(crate) name: &'a str,
    /// Index in [`Image::sections`].
    pub(crate) section: usize,
    /// First address.
    pub(crate) start: u64,
    /// The address after the last.
    pub(crate) end: u64,
}

/// A parsed object file.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    pub(crate) arch: Arch,
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) symbols: Vec<Symbol<'a>>,
    /// Sorted by address, without overlaps.
    pub(crate) parts: Vec<Part<'a>>,
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// Room between the bases of two sections, so that an offset past the end names no other section.
const SECTION_GAP: u64 = 0x1_0000;

impl<'a> Image<'a> {
    /// Reads an object file.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, ObjectError> {
        if bytes.starts_with(b"BC\xC0\xDE") {
            return Err(ObjectError::Bytecode("LLVM"));
        }
        if !bytes.starts_with(&elf::ELFMAG) {
            return Err(ObjectError::malformed("no ELF header"));
        }
        // Class 64, little-endian: what both machines are.
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(ObjectError::Machine);
        }
        let file = Elf::parse(bytes).map_err(ObjectError::malformed)?;
        let arch = match file.elf_header().e_machine(LittleEndian) {
            elf::EM_X86_64 => Arch::X86_64,
            elf::EM_AARCH64 => Arch::Aarch64,
            _ => return Err(ObjectError::Machine),
        };
        let sections = read_sections(&file, bytes.len() as u64)?;
        let symbols = read_symbols(&file);
        if symbols.iter().any(|s| s.name == "__gnu_lto_slim") {
            return Err(ObjectError::Bytecode("GIMPLE"));
        }
        let parts = find_parts(&sections, &symbols);
        Ok(Self { arch, sections, symbols, parts })
    }

    /// The executable section that holds `addr`, or whose end it is.
    pub(crate) fn section_at(&self, addr: u64) -> Option<(usize, u64)> {
        self.sections.iter().enumerate().filter(|(_, s)| s.code).find_map(|(i, s)| {
            let offset = addr.checked_sub(s.base)?;
            (offset <= s.data.len() as u64).then_some((i, offset))
        })
    }

    /// The function part that holds `addr`, as an index in [`Self::parts`].
    pub(crate) fn part_at(&self, addr: u64) -> Option<usize> {
        let after = self.parts.partition_point(|p| p.start <= addr);
        let index = after.checked_sub(1)?;
        (addr < self.parts.get(index)?.end).then_some(index)
    }

    /// The names of the functions that start at `addr`: compilers make equal functions one.
    pub(crate) fn names_at(&self, addr: u64) -> impl Iterator<Item = &'a str> {
        let starts = move |s: &&Symbol<'a>| {
            let section = s.section.and_then(|index| self.sections.get(index));
            s.function && section.is_some_and(|x| x.code && x.base.wrapping_add(s.value) == addr)
        };
        self.symbols.iter().filter(starts).map(|s| s.name)
    }
}

fn read_sections<'a>(file: &Elf<'a>, file_bytes: u64) -> Result<Vec<Section<'a>>, ObjectError> {
    let mut sections = Vec::new();
    let (mut base, mut code_bytes, mut reloc_bytes) = (SECTION_GAP, 0u64, 0u64);
    for section in file.sections() {
        let header = section.elf_section_header();
        let flags = header.sh_flags(LittleEndian).0;
        let has = |flag: elf::SectionFlags| flags & flag.0 != 0;
        let data = section.data().map_err(ObjectError::malformed)?;
        let code = has(elf::SHF_ALLOC) && has(elf::SHF_EXECINSTR) && !data.is_empty();
        let relocs = read_relocs(&section);
        reloc_bytes = reloc_bytes.saturating_add(relocs.len() as u64 * 16);
        code_bytes = code_bytes.saturating_add(if code { data.len() as u64 } else { 0 });
        if code_bytes > file_bytes || reloc_bytes > file_bytes {
            return Err(ObjectError::malformed("sections overlap"));
        }
        let (merge, strings) = (has(elf::SHF_MERGE), has(elf::SHF_STRINGS));
        let entry = header.sh_entsize(LittleEndian);
        // The null section may or may not be iterated: the index decides.
        sections.resize_with(sections.len().max(section.index().0), empty_section);
        sections.push(Section {
            name: section.name().unwrap_or("?"),
            code,
            alloc: has(elf::SHF_ALLOC),
            writable: has(elf::SHF_WRITE),
            strings: merge && strings,
            constant_bytes: if merge && !strings { entry } else { 0 },
            base: if code { base } else { 0 },
            data,
            relocs,
        });
        if code {
            // Bounded by the file's length, so this cannot wrap.
            base += (data.len() as u64).next_multiple_of(SECTION_GAP) + SECTION_GAP;
        }
    }
    Ok(sections)
}

fn empty_section<'a>() -> Section<'a> {
    Section {
        name: "",
        code: false,
        alloc: false,
        writable: false,
        strings: false,
        constant_bytes: 0,
        base: 0,
        data: &[],
        relocs: Vec::new(),
    }
}

fn read_relocs<'a>(section: &impl ObjectSection<'a>) -> Vec<Reloc> {
    let mut relocs: Vec<Reloc> = section
        .relocations()
        .map(|(offset, reloc)| Reloc {
            offset,
            kind: match reloc.flags() {
                RelocationFlags::Elf { r_type } => r_type.0,
                _ => 0,
            },
            symbol: match reloc.target() {
                RelocationTarget::Symbol(index) => Some(index.0),
                _ => None,
            },
            addend: reloc.addend(),
        })
        .collect();
    relocs.sort_by_key(|r| r.offset);
    relocs
}

fn read_symbols<'a>(file: &Elf<'a>) -> Vec<Symbol<'a>> {
    let mut symbols = Vec::new();
    for symbol in file.symbols() {
        let kind = symbol.elf_symbol().st_type();
        while symbols.len() < symbol.index().0 {
            symbols.push(null_symbol());
        }
        symbols.push(Symbol {
            name: symbol.name().unwrap_or("?"),
            section: symbol.section_index().map(|s| s.0),
            value: symbol.address(),
            size: symbol.size(),
            whole_section: kind == elf::STT_SECTION,
            function: kind == elf::STT_FUNC
                || kind == elf::STT_GNU_IFUNC
                || (kind == elf::STT_NOTYPE && symbol.is_global()),
            global: symbol.is_global(),
        });
    }
    symbols
}

fn null_symbol<'a>() -> Symbol<'a> {
    Symbol {
        name: "",
        section: None,
        value: 0,
        size: 0,
        whole_section: false,
        function: false,
        global: false,
    }
}

/// Function symbols to non-overlapping pieces: a symbol without a size, or one whose size runs
/// into the next function, ends where the next one starts.
fn find_parts<'a>(sections: &[Section<'a>], symbols: &[Symbol<'a>]) -> Vec<Part<'a>> {
    let mut starts: Vec<(u64, bool, bool, &'a str, u64, usize)> = Vec::new();
    for symbol in symbols.iter().filter(|s| s.function && !s.name.is_empty()) {
        let Some(index) = symbol.section else { continue };
        let Some(section) = sections.get(index).filter(|s| s.code) else { continue };
        let length = section.data.len() as u64;
        if symbol.value >= length {
            continue;
        }
        let size = if symbol.size == 0 { length } else { symbol.size };
        let end = symbol.value.saturating_add(size).min(length);
        let (start, end) = (section.base + symbol.value, section.base + end);
        // Of several names for one place, the one with a size and then the global one is kept.
        starts.push((start, symbol.size == 0, !symbol.global, symbol.name, end, index));
    }
    starts.sort_unstable();
    starts.dedup_by_key(|s| s.0);
    let mut parts: Vec<Part<'a>> = Vec::with_capacity(starts.len());
    for (start, _, _, name, end, section) in starts {
        if let Some(last) = parts.last_mut() {
            last.end = last.end.min(start);
        }
        parts.push(Part { name, section, start, end });
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::code::Code;
    use crate::compare::{Version, functions, sizes};
    use crate::lines::Lines;
    use crate::site::Wanted;
    use crate::testing::compile;
    use crate::unit::{Pos, SiteQuery};

    const TEXT: &str = "
extern int g(int); extern void cry(const char *) __attribute__((cold));
static int table[3];
int f(int x) { switch (x) { case 0: return g(1); case 1: return 7; case 2: return g(9);
    case 3: return table[g(1)]; case 4: return g(x + 1); case 5: cry(\"text\"); } return x; }
static double scale(double d) { return d * 1.5 + 0.25; }
double h(double d) { return scale(d) * g(3); }
";

    /// Everything that is ever done with an object; the number of its function parts.
    fn whole(bytes: &[u8]) -> Result<usize, ObjectError> {
        let image = Image::parse(bytes)?;
        let code = Code::new(&image)?;
        let lines = Lines::parse(&image, Path::new("/"))?;
        let (start, end) = (Pos::new(1, 1), Pos::new(9, 99));
        let arm = Some((Pos::new(4, 50), Pos::new(6, 1)));
        let site = SiteQuery {
            file: "x.c".into(),
            start,
            end,
            when_true: arm,
            when_false: None,
            taken_true: 1,
            taken_false: u64::MAX,
        };
        let files = lines.files_named(Path::new("/"), "x.c");
        let version = Version {
            code: &code,
            lines: Some((&lines, Wanted { site, anchors: Vec::new(), files })),
        };
        let none = Image { sections: vec![], symbols: vec![], parts: vec![], arch: image.arch };
        let nothing = Version { code: &Code::new(&none)?, lines: None };
        let _ = (functions(&version, &nothing), functions(&version, &version), sizes(&code));
        Ok(code.parts.len())
    }

    #[test]
    fn functions_and_their_cold_parts_are_found() {
        let object = compile("gcc", &["-O2"], "x.c", TEXT);
        let image = Image::parse(&object).unwrap();
        let names: Vec<_> = image.parts.iter().map(|p| p.name).collect();
        assert_eq!(names, ["f", "h", "f.cold"]);
        assert!(image.parts.windows(2).all(|w| w[0].end <= w[1].start));
    }

    #[test]
    fn bytecode_is_named_as_such() {
        let gimple = compile("gcc", &["-O2", "-flto", "-fno-fat-lto-objects"], "x.c", TEXT);
        let llvm = compile("clang-22", &["-O2", "-flto"], "x.c", TEXT);
        for (object, kind) in [(gimple, "GIMPLE"), (llvm, "LLVM")] {
            let error = Image::parse(&object).unwrap_err().to_string();
            assert!(error.contains(kind) && error.contains("-ffat-lto-objects"), "{error}");
        }
        let fat = compile("gcc", &["-O2", "-flto", "-ffat-lto-objects"], "x.c", TEXT);
        assert_eq!(whole(&fat).unwrap(), 3);
    }

    #[test]
    fn other_machines_and_other_files_are_refused() {
        let mut object = compile("gcc", &["-O2"], "x.c", TEXT);
        assert!(matches!(Image::parse(b"not an object"), Err(ObjectError::Malformed(_))));
        assert!(matches!(Image::parse(b""), Err(ObjectError::Malformed(_))));
        object[18] = 243; // e_machine: RISC-V
        assert!(matches!(Image::parse(&object), Err(ObjectError::Machine)));
    }

    /// Damages a real object in a few places, in the headers or anywhere.
    fn damaged(object: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
        let length = object.len();
        // Section headers and symbols stand at the end: half of the damage goes there.
        let place = prop_oneof![0..length, length.saturating_sub(4096)..length];
        let change = (place, any::<u8>());
        (proptest::collection::vec(change, 1..8), 0..length).prop_map(move |(changes, cut)| {
            let mut object = object.clone();
            for (at, value) in changes {
                object[at] = value;
            }
            if cut % 8 == 0 {
                object.truncate(cut);
            }
            object
        })
    }

    #[test]
    fn objects_that_lie_are_errors_or_harmless() {
        for (cc, options) in [("gcc", ["-O2", "-g"]), ("aarch64-linux-gnu-gcc", ["-O2", "-g"])] {
            let object = compile(cc, &options, "x.c", TEXT);
            assert!(whole(&object).unwrap() >= 2);
            proptest!(ProptestConfig::with_cases(600), |(bytes in damaged(object))| {
                let _ = whole(&bytes);
            });
        }
    }
}
