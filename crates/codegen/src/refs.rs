//! What a relocation means, said in a way that two compilations of one source agree on.
//!
//! The assembler rewrites local labels to section plus offset, and compilers number the symbols
//! they invent. Both shift with any change, so a place is named by what is there: a function by
//! its symbol without the invented number, a variable likewise, a constant or a jump table by its
//! content. Every string counts as equal to every other: since a hint does not change what the
//! program does, only the text of a stringified condition can differ, and that is not code.

use std::collections::HashMap;

use crate::object::{Arch, Image, Reloc, Symbol};

/// A place that code or data refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Equal for the same thing in another compilation.
    pub(crate) key: String,
    /// For a reader.
    pub(crate) shown: String,
    /// Its address, if it is code of this object.
    pub(crate) code: Option<u64>,
}

/// Names places of one image.
pub(crate) struct Resolver<'a> {
    image: &'a Image<'a>,
    /// Sized data symbols as (section, first offset, offset after the last, name), sorted.
    variables: Vec<(usize, u64, u64, &'a str)>,
    /// For each section the offsets that code refers to, sorted: where one table ends at the
    /// latest.
    starts: Vec<Vec<u64>>,
    /// Content keys already made, by section and offset.
    contents: HashMap<(usize, u64), String>,
}

/// `name` without what compilers append with a running number: `f.cold`, `f.part.0`, `f.isra.0`,
/// `f.constprop.0`, `f.llvm.123`, `x.7`.
pub(crate) fn base_name(name: &str) -> &str {
    // A leading dot belongs to the name.
    let from = name.find(|c| c != '.').unwrap_or(0);
    match name.get(from..).and_then(|rest| rest.find('.')) {
        Some(dot) => name.get(..from + dot).unwrap_or(name),
        None => name,
    }
}

/// `name` without the numbers in its suffixes: `f.part.3` to `f.part`.
pub(crate) fn unnumbered(name: &str) -> String {
    let mut words = name.split('.');
    let mut out = words.next().unwrap_or("").to_owned();
    for word in words.filter(|w| w.is_empty() || w.contains(|c: char| !c.is_ascii_digit())) {
        out.push('.');
        out.push_str(word);
    }
    out
}

impl<'a> Resolver<'a> {
    /// `referred` lists what the code refers to, as (section, offset).
    pub(crate) fn new(
        image: &'a Image<'a>,
        referred: impl IntoIterator<Item = (usize, u64)>,
    ) -> Self {
        let mut variables: Vec<(usize, u64, u64, &str)> = image
            .symbols
            .iter()
            .filter(|s| s.size > 0 && !s.whole_section)
            .filter_map(|s| {
                let section = s.section?;
                let data = image.sections.get(section).is_some_and(|s| !s.code);
                data.then(|| (section, s.value, s.value.saturating_add(s.size), s.name))
            })
            .collect();
        variables.sort_unstable();
        let mut starts = vec![Vec::new(); image.sections.len()];
        for (section, offset) in referred {
            if let Some(list) = starts.get_mut(section) {
                list.push(offset);
            }
        }
        for list in &mut starts {
            list.sort_unstable();
            list.dedup();
        }
        Self { image, variables, starts, contents: HashMap::new() }
    }

    /// The place that a relocation in code refers to. `after` is the number of bytes from the
    /// relocated field to the end of its instruction.
    pub(crate) fn place(&mut self, reloc: &Reloc, after: u64) -> Place {
        match target(self.image, reloc, after) {
            Some((section, offset)) => self.at(section, offset),
            None => outside(self.image, reloc, after),
        }
    }

    /// The place at `offset` of `section`.
    pub(crate) fn at(&mut self, section: usize, offset: i64) -> Place {
        let image = self.image;
        let Some(found) = image.sections.get(section) else {
            return Place { key: "?".into(), shown: "?".into(), code: None };
        };
        let elsewhere = |code| {
            let text = with_offset(found.name, offset);
            Place { key: text.clone(), shown: text, code }
        };
        let Ok(at) = u64::try_from(offset) else { return elsewhere(None) };
        if found.code {
            let addr = found.base.wrapping_add(at);
            let Some(part) = image.part_at(addr).and_then(|p| image.parts.get(p)) else {
                return elsewhere(Some(addr));
            };
            let delta = addr.wrapping_sub(part.start).cast_signed();
            return Place {
                key: with_offset(&unnumbered(part.name), delta),
                shown: with_offset(part.name, delta),
                code: Some(addr),
            };
        }
        if found.strings {
            let shown = shown_string(found.data, at);
            return Place { key: "string".into(), shown, code: None };
        }
        if let Some((from, name)) = self.variable(section, at) {
            let delta = at.wrapping_sub(from).cast_signed();
            return Place {
                key: with_offset(&unnumbered(name), delta),
                shown: with_offset(name, delta),
                code: None,
            };
        }
        if found.writable || !found.alloc {
            return elsewhere(None);
        }
        Place { key: self.content(section, at), shown: with_offset(found.name, offset), code: None }
    }

    fn variable(&self, section: usize, offset: u64) -> Option<(u64, &'a str)> {
        let after = self.variables.partition_point(|v| (v.0, v.1) <= (section, offset));
        let &(s, from, to, name) = self.variables.get(after.checked_sub(1)?)?;
        (s == section && offset < to).then_some((from, name))
    }

    /// A key for constants and jump tables: their bytes, and what they point to.
    fn content(&mut self, section: usize, offset: u64) -> String {
        if let Some(key) = self.contents.get(&(section, offset)) {
            return key.clone();
        }
        let key = self.hash_content(section, offset).unwrap_or_else(|| "empty".into());
        self.contents.insert((section, offset), key.clone());
        key
    }

    fn hash_content(&self, section: usize, offset: u64) -> Option<String> {
        let found = self.image.sections.get(section)?;
        let length = found.data.len() as u64;
        let starts = self.starts.get(section)?;
        let next = starts.get(starts.partition_point(|&s| s <= offset)).copied();
        let end = match found.constant_bytes {
            0 => length,
            size => offset.saturating_add(size).min(length),
        };
        // Pieces do not overlap, so all of them together cost no more than the section.
        let end = next.map_or(end, |next| next.min(end));
        let data = found.data.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)?;
        let mut hash = blake3::Hasher::new();
        hash.update(data);
        let first = found.relocs.partition_point(|r| r.offset < offset);
        for reloc in found.relocs.iter().skip(first).take_while(|r| r.offset < end) {
            // Entries of a position-independent table count from the table's start.
            let from_table = reloc.offset.wrapping_sub(offset);
            hash.update(&from_table.to_le_bytes());
            hash.update(&reloc.kind.to_le_bytes());
            hash.update(self.entry(reloc, from_table).as_bytes());
        }
        Some(format!("content {}", hash.finalize().to_hex()))
    }

    /// What one entry of a table points to; constants below it are not followed further.
    fn entry(&self, reloc: &Reloc, from_table: u64) -> String {
        let back = if relative_data(self.image.arch, reloc.kind) { from_table } else { 0 };
        let Some(symbol) = reloc.symbol.and_then(|s| self.image.symbols.get(s)) else {
            return String::new();
        };
        let offset = offset_in(symbol, reloc).wrapping_sub(back.cast_signed());
        match symbol.section.and_then(|s| self.image.sections.get(s)) {
            Some(section) if section.code => {
                let addr = section.base.wrapping_add_signed(offset);
                match self.image.part_at(addr).and_then(|p| self.image.parts.get(p)) {
                    Some(part) => with_offset(
                        &unnumbered(part.name),
                        addr.wrapping_sub(part.start).cast_signed(),
                    ),
                    None => with_offset(section.name, offset),
                }
            }
            Some(section) if section.strings => "string".into(),
            Some(section) if symbol.whole_section => section.name.to_owned(),
            _ => with_offset(&unnumbered(symbol.name), reloc.addend),
        }
    }

    /// Code addresses inside functions that read-only or relocated data points to: where an
    /// indirect jump may go. Sorted.
    pub(crate) fn labels(&self) -> Vec<u64> {
        let mut labels = Vec::new();
        for (index, section) in self.image.sections.iter().enumerate() {
            if section.code
                || !(section.name.starts_with(".rodata") || section.name.starts_with(".data"))
            {
                continue;
            }
            let none = Vec::new();
            let starts = self.starts.get(index).unwrap_or(&none);
            for reloc in &section.relocs {
                let table = starts.partition_point(|&s| s <= reloc.offset);
                let table = table.checked_sub(1).and_then(|t| starts.get(t)).copied();
                let back = match (relative_data(self.image.arch, reloc.kind), table) {
                    (true, Some(table)) => reloc.offset.wrapping_sub(table),
                    _ => 0,
                };
                let Some((section, offset)) = target(self.image, reloc, 0) else { continue };
                let Some(found) = self.image.sections.get(section).filter(|s| s.code) else {
                    continue;
                };
                let addr = found.base.wrapping_add_signed(offset.wrapping_sub(back.cast_signed()));
                if self.image.part_at(addr).is_some() {
                    labels.push(addr);
                }
            }
        }
        labels.sort_unstable();
        labels.dedup();
        labels
    }
}

/// The section and offset that a relocation refers to, `after` as in [`Resolver::place`]; `None`
/// if it is not in this object.
pub(crate) fn target(image: &Image<'_>, reloc: &Reloc, after: u64) -> Option<(usize, i64)> {
    let symbol = image.symbols.get(reloc.symbol?)?;
    let section = symbol.section.filter(|&s| s < image.sections.len())?;
    let pc = if relative_code(image.arch, reloc.kind) { after.cast_signed() } else { 0 };
    Some((section, offset_in(symbol, reloc).wrapping_add(pc)))
}

fn offset_in(symbol: &Symbol<'_>, reloc: &Reloc) -> i64 {
    symbol.value.cast_signed().wrapping_add(reloc.addend)
}

fn outside(image: &Image<'_>, reloc: &Reloc, after: u64) -> Place {
    let name = reloc.symbol.and_then(|s| image.symbols.get(s)).map_or("?", |s| s.name);
    let pc = if relative_code(image.arch, reloc.kind) { after.cast_signed() } else { 0 };
    let text = with_offset(name, reloc.addend.wrapping_add(pc));
    Place { key: text.clone(), shown: text, code: None }
}

/// Whether the field counts from the end of the instruction, so that the addend holds minus the
/// bytes up to there: the x86-64 psABI's PC32, PLT32, GOTPCREL, GOTPCRELX, REX_GOTPCRELX, TLSGD,
/// TLSLD, GOTTPOFF, PC16, PC8 and PC64. On aarch64 no field does.
fn relative_code(arch: Arch, kind: u32) -> bool {
    arch == Arch::X86_64 && matches!(kind, 2 | 4 | 9 | 13 | 15 | 19 | 20 | 22 | 24 | 41 | 42)
}

/// Whether a data field holds a distance from itself: PC32 and PC64, or PREL64, PREL32 and PREL16.
fn relative_data(arch: Arch, kind: u32) -> bool {
    match arch {
        Arch::X86_64 => matches!(kind, 2 | 24),
        Arch::Aarch64 => matches!(kind, 260..=262),
    }
}

fn with_offset(name: &str, offset: i64) -> String {
    match offset {
        0 => name.to_owned(),
        o if o < 0 => format!("{name}-{:#x}", o.unsigned_abs()),
        o => format!("{name}+{o:#x}"),
    }
}

/// The first characters of a string constant, quoted.
fn shown_string(data: &[u8], offset: u64) -> String {
    let bytes = usize::try_from(offset).ok().and_then(|o| data.get(o..)).unwrap_or(&[]);
    let text = bytes.split(|&b| b == 0).next().unwrap_or(&[]);
    let shown = String::from_utf8_lossy(text.get(..24).unwrap_or(text));
    let more = if text.len() > 24 { "…" } else { "" };
    format!("\"{}{more}\"", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_suffixes_group_under_the_function() {
        for name in ["f", "f.cold", "f.part.0", "f.isra.0", "f.constprop.0.cold", "f.llvm.77"] {
            assert_eq!(base_name(name), "f");
        }
        assert_eq!(base_name(".hidden.part.0"), ".hidden");
    }

    #[test]
    fn invented_numbers_do_not_count() {
        assert_eq!(unnumbered("f.part.3"), "f.part");
        assert_eq!(unnumbered("CSWTCH.12"), "CSWTCH");
        assert_eq!(unnumbered("f.constprop.0.cold"), "f.constprop.cold");
        assert_eq!(unnumbered("plain2"), "plain2");
    }
}
