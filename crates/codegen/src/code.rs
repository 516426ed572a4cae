//! The machine code of one object, instruction by instruction, each with what it refers to.

use crate::error::ObjectError;
use crate::insn::{Decoder, Flow, Insn, without_direct};
use crate::object::{Image, Section};
use crate::refs::{Place, Resolver, base_name, target, unnumbered};

/// One instruction and the place it refers to by relocation, or directly outside its own part.
#[derive(Debug)]
pub(crate) struct Op {
    pub(crate) insn: Insn,
    pub(crate) place: Option<Place>,
}

impl Op {
    /// The code address a branch, jump or call goes to, if it is in this object.
    pub(crate) fn goes_to(&self) -> Option<u64> {
        match &self.place {
            Some(place) => place.code,
            None => self.insn.direct,
        }
    }

    fn name(&self) -> &str {
        &self.insn.mnemonic
    }

    fn key(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.key.as_str())
    }
}

/// One instruction of [`PartCode::blocks`].
pub(crate) type Step<'a> = (&'a str, Option<&'a str>, Option<usize>);

/// One contiguous piece of a function.
#[derive(Debug)]
pub(crate) struct PartCode<'a> {
    /// The symbol, without the numbers compilers invent.
    pub(crate) label: String,
    /// The function it belongs to.
    pub(crate) function: &'a str,
    /// First address.
    pub(crate) start: u64,
    /// The address after the last.
    pub(crate) end: u64,
    /// Out of line: in a cold section, or a `.cold` symbol.
    pub(crate) cold: bool,
    pub(crate) ops: Vec<Op>,
    /// What the part does and where it lies, free of addresses: equal parts are the same code.
    pub(crate) canonical: Vec<u8>,
    /// The same without padding between the instructions.
    pub(crate) unpadded: Vec<u8>,
}

/// All code of one object.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    pub(crate) image: &'a Image<'a>,
    pub(crate) parts: Vec<PartCode<'a>>,
    /// For each executable section that is not empty: name, bytes, and for each relocation its
    /// offset, number and place.
    pub(crate) bodies: Vec<Body<'a>>,
    /// Where indirect jumps may go, see [`Resolver::labels`].
    pub(crate) labels: Vec<u64>,
}

/// One executable section as it is compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Body<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: &'a [u8],
    pub(crate) relocs: Vec<(u64, u32, String)>,
}

/// Whether a section holds code that the compiler placed apart as unlikely: GCC's
/// `.text.unlikely`, clang's `.text.unlikely.` and `.text.split.`, and what is marked cold.
pub(crate) fn cold_section(name: &str) -> bool {
    [".text.unlikely", ".text.split", ".text.cold"].iter().any(|cold| {
        name.strip_prefix(cold).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

impl<'a> Code<'a> {
    /// Decodes and names everything in `image`.
    pub(crate) fn new(image: &'a Image<'a>) -> Result<Self, ObjectError> {
        let decoder = Decoder::new(image.arch)?;
        let mut decoded = Vec::with_capacity(image.parts.len());
        for part in &image.parts {
            let section = image.sections.get(part.section);
            let bytes = section.map_or(&[][..], |s| bytes_of(s, part.start, part.end));
            decoded.push(decoder.decode(bytes, part.start)?);
        }
        let ends = Ends::new(&decoded);
        let mut referred = Vec::new();
        for section in image.sections.iter().filter(|s| s.code) {
            for reloc in &section.relocs {
                let found = target(image, reloc, ends.after(section.base, reloc.offset));
                referred.extend(found.and_then(|(s, o)| Some((s, u64::try_from(o).ok()?))));
            }
        }
        let mut resolver = Resolver::new(image, referred);
        let places: Vec<Vec<Place>> = image
            .sections
            .iter()
            .map(|section| {
                let relocs = if section.code { &section.relocs[..] } else { &[] };
                relocs
                    .iter()
                    .map(|r| resolver.place(r, ends.after(section.base, r.offset)))
                    .collect()
            })
            .collect();
        let parts = decoded
            .into_iter()
            .zip(&image.parts)
            .map(|(insns, part)| {
                let empty = Vec::new();
                let places = places.get(part.section).unwrap_or(&empty);
                let section = image.sections.get(part.section);
                let name = section.map_or("", |s| s.name);
                let mut code = PartCode {
                    label: unnumbered(part.name),
                    function: base_name(part.name),
                    start: part.start,
                    end: part.end,
                    cold: cold_section(name) || part.name.split('.').skip(1).any(|w| w == "cold"),
                    ops: Vec::with_capacity(insns.len()),
                    canonical: Vec::new(),
                    unpadded: Vec::new(),
                };
                code.canonical.extend_from_slice(name.as_bytes());
                code.unpadded.extend_from_slice(name.as_bytes());
                if let Some(section) = section {
                    let padding = Padding::new(&insns);
                    for insn in insns {
                        code.push(image, section, places, &mut resolver, &padding, insn);
                    }
                }
                code
            })
            .collect();
        let labels = resolver.labels();
        let bodies = bodies(image, places);
        Ok(Self { image, parts, bodies, labels })
    }

    /// The part that holds `addr`, as an index in [`Self::parts`].
    pub(crate) fn part_at(&self, addr: u64) -> Option<usize> {
        self.image.part_at(addr)
    }
}

impl PartCode<'_> {
    /// The blocks in their order, each as its instructions without operands: mnemonic, the place
    /// referred to, and the number of the block gone to. The order within a block is left out, and so
    /// is padding. `labels` are where indirect jumps go.
    pub(crate) fn blocks<'s>(&'s self, labels: &[u64]) -> Vec<Vec<Step<'s>>> {
        let own = |addr: &u64| (self.start..self.end).contains(addr);
        let goes = |op: &Op| op.goes_to().filter(own);
        let mut leaders: Vec<u64> = labels.iter().copied().filter(own).collect();
        leaders.extend(self.ops.iter().filter_map(goes));
        leaders.sort_unstable();
        let ops: Vec<&'s Op> = self.ops.iter().filter(|op| !op.insn.is_padding()).collect();
        let led = |after: u64, upto: u64| {
            leaders.partition_point(|&l| l <= after) < leaders.partition_point(|&l| l <= upto)
        };
        let joined = |a: &&Op, b: &&Op| {
            matches!(a.insn.flow, Flow::Next | Flow::Call) && !led(a.insn.addr, b.insn.addr)
        };
        let runs: Vec<&[&'s Op]> = ops.chunk_by(joined).collect();
        let start = |run: &[&Op]| run.first().map_or(self.end, |op| op.insn.addr);
        let number = |addr: u64| runs.partition_point(|run| start(run) < addr);
        let block = |run: &&[&'s Op]| {
            let mut steps: Vec<Step<'s>> =
                run.iter().map(|op| (op.name(), op.key(), goes(op).map(number))).collect();
            steps.sort_unstable();
            steps
        };
        runs.iter().map(block).collect()
    }

    fn push(
        &mut self,
        image: &Image<'_>,
        section: &Section<'_>,
        places: &[Place],
        resolver: &mut Resolver<'_>,
        padding: &Padding,
        insn: Insn,
    ) {
        let bytes = bytes_of(section, insn.addr, insn.end());
        let (from, to) =
            (insn.addr.wrapping_sub(section.base), insn.end().wrapping_sub(section.base));
        let first = section.relocs.partition_point(|r| r.offset < from);
        let last = section.relocs.partition_point(|r| r.offset < to);
        let mut place = None;
        // The instruction with its references named, and the same with targets in this part
        // counted in instructions.
        let mut exact = Vec::new();
        let mut counted = None;
        if first < last {
            exact.extend_from_slice(bytes);
            for index in first..last {
                let (Some(reloc), Some(found)) = (section.relocs.get(index), places.get(index))
                else {
                    continue;
                };
                exact.extend_from_slice(&(reloc.offset - from).to_le_bytes());
                exact.extend_from_slice(&reloc.kind.to_le_bytes());
                exact.extend_from_slice(found.key.as_bytes());
                place.get_or_insert_with(|| found.clone());
            }
        } else if let Some(addr) = insn.direct {
            let shape = without_direct(image.arch, &insn, bytes);
            if (self.start..self.end).contains(&addr) {
                exact.extend_from_slice(bytes);
                counted = Some([&shape[..], &padding.index(addr).to_le_bytes()].concat());
            } else {
                let found = match image.section_at(addr) {
                    Some((index, offset)) => resolver.at(index, offset.cast_signed()),
                    None => Place { key: "?".into(), shown: format!("{addr:#x}"), code: None },
                };
                exact = [&shape[..], found.key.as_bytes()].concat();
                place = Some(found);
            }
        } else {
            exact.extend_from_slice(bytes);
        }
        // The mark keeps the fields of neighbouring instructions apart.
        exact.push(0xFF);
        if !insn.is_padding() {
            self.unpadded.extend_from_slice(counted.as_ref().unwrap_or(&exact));
        }
        self.canonical.append(&mut exact);
        self.ops.push(Op { insn, place });
    }
}

/// Numbers the instructions of a part without its padding.
struct Padding(Vec<u64>);

impl Padding {
    fn new(insns: &[Insn]) -> Self {
        Self(insns.iter().filter(|i| !i.is_padding()).map(|i| i.addr).collect())
    }

    /// The number of the first instruction at or after `addr` that is no padding.
    fn index(&self, addr: u64) -> u64 {
        self.0.partition_point(|&a| a < addr) as u64
    }
}

fn bodies<'a>(image: &'a Image<'a>, places: Vec<Vec<Place>>) -> Vec<Body<'a>> {
    let sections = image.sections.iter().zip(places).filter(|(s, _)| s.code);
    sections
        .map(|(section, places)| Body {
            name: section.name,
            data: section.data,
            relocs: section
                .relocs
                .iter()
                .zip(places)
                .map(|(r, place)| (r.offset, r.kind, place.key))
                .collect(),
        })
        .collect()
}

fn bytes_of<'a>(section: &Section<'a>, start: u64, end: u64) -> &'a [u8] {
    let offset = |addr: u64| usize::try_from(addr.wrapping_sub(section.base)).ok();
    offset(start)
        .zip(offset(end))
        .and_then(|(start, end)| section.data.get(start..end))
        .unwrap_or(&[])
}

/// Where instructions end, to tell how far a relocated field is from there.
struct Ends(Vec<(u64, u64)>);

impl Ends {
    fn new(decoded: &[Vec<Insn>]) -> Self {
        // Parts are sorted and do not overlap, so this is sorted too.
        Self(decoded.iter().flatten().map(|i| (i.addr, i.end())).collect())
    }

    /// Bytes from the field at `base + offset` to the end of its instruction; 4, the usual, where
    /// no instruction is known.
    fn after(&self, base: u64, offset: u64) -> u64 {
        let addr = base.wrapping_add(offset);
        let next = self.0.partition_point(|&(start, _)| start <= addr);
        let found = next.checked_sub(1).and_then(|i| self.0.get(i));
        found.filter(|&&(_, end)| addr < end).map_or(4, |&(_, end)| end - addr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_the_compilers_call_unlikely_are_cold() {
        for name in [".text.unlikely", ".text.unlikely.f", ".text.unlikely.", ".text.split.f"] {
            assert!(cold_section(name), "{name}");
        }
        for name in [".text", ".text.hot.f", ".text.unlikely_named", ".text.startup"] {
            assert!(!cold_section(name), "{name}");
        }
    }
}
