//! One function of a probe, with all its parts.

use std::fmt::Write as _;

use unlikely_codegen::listing::{Flow, ListedInsn, ListedPart, Listing};

use crate::error::AsmError;
use crate::path::HotPath;

/// The machine code of a probe.
#[derive(Debug)]
pub struct Asm {
    listing: Listing,
}

impl Asm {
    pub(crate) fn new(listing: Listing) -> Self {
        Self { listing }
    }

    /// The function with the symbol `name`. Equal functions may be one with several symbols.
    ///
    /// # Errors
    /// If there is none.
    pub fn function(&self, name: &str) -> Result<Function<'_>, AsmError> {
        let parts = &self.listing.parts;
        for entry in parts {
            let mut symbols = entry.aliases.iter().chain([&entry.symbol]);
            if let Some(name) = symbols.find(|s| *s == name) {
                return Ok(Function { asm: self, entry, name });
            }
        }
        let known = parts.iter().flat_map(|p| p.aliases.iter().chain([&p.symbol]));
        Err(AsmError::NoFunction { name: name.into(), known: known.cloned().collect() })
    }

    /// The part that holds `addr`.
    pub(crate) fn part_at(&self, addr: u64) -> Option<&ListedPart> {
        self.listing.parts.iter().find(|p| (p.start..p.end).contains(&addr))
    }

    /// The instruction at `addr`.
    pub(crate) fn insn_at(&self, addr: u64) -> Option<&ListedInsn> {
        let insns = &self.part_at(addr)?.insns;
        insns.binary_search_by_key(&addr, |i| i.addr).ok().and_then(|i| insns.get(i))
    }
}

/// One function.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    pub(crate) asm: &'a Asm,
    pub(crate) entry: &'a ListedPart,
    name: &'a str,
}

impl<'a> Function<'a> {
    /// The symbol it was asked for by.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// What runs from the entry to the return if no conditional branch is taken.
    ///
    /// # Errors
    /// If it does not return: it falls out of the function, traps, or goes round for ever.
    pub fn hot_path(&self) -> Result<HotPath<'a>, AsmError> {
        HotPath::walk(*self)
    }

    /// The instructions, one a line, with targets counted from the entry: two functions with the
    /// same text are the same code. Padding at the end is left out, and so are split-off parts.
    #[must_use]
    pub fn text(&self) -> String {
        let insns = &self.entry.insns;
        let end = insns.iter().rposition(|i| !is_padding(i)).map_or(0, |last| last + 1);
        let mut text = String::new();
        for insn in insns.iter().take(end) {
            let _ = writeln!(text, "{}", shown(insn, self.entry.start));
        }
        text
    }
}

/// One instruction as a line; addresses count from `start`.
pub(crate) fn shown(insn: &ListedInsn, start: u64) -> String {
    let direct = matches!(insn.flow, Flow::Branch | Flow::Jump | Flow::Call);
    let mut line = insn.mnemonic.clone();
    match (&insn.refers_to, insn.goes_to) {
        // `cbz` and `tbz` have operands before the address, which is the last.
        (to, addr) if direct && (to.is_some() || addr.is_some()) => {
            let (operands, _) = insn.operands.rsplit_once(',').unwrap_or(("", ""));
            let comma = if operands.is_empty() { "" } else { ", " };
            let place = match (to, addr) {
                (Some(name), _) => name.clone(),
                (None, addr) => {
                    format!("{:+#x}", addr.unwrap_or(0).wrapping_sub(start).cast_signed())
                }
            };
            let _ = write!(line, " {operands}{comma}{place}");
        }
        (Some(name), _) => {
            let _ = write!(line, " {} ; {name}", insn.operands);
        }
        (None, _) if insn.operands.is_empty() => {}
        (None, _) => {
            let _ = write!(line, " {}", insn.operands);
        }
    }
    line
}

fn is_padding(insn: &ListedInsn) -> bool {
    let name = insn.mnemonic.rsplit(' ').next().unwrap_or("");
    matches!(name, "nop" | "int3") || (name == "xchg" && insn.operands == "ax, ax")
}
