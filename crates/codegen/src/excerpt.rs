//! A few lines of disassembly around a branch, for a reader.
//!
//! Each line is `file:line  +offset  mnemonic operands`. Offsets count from the start of the
//! function's part; a target inside the function is shown as such an offset, anything else by
//! name.

use crate::code::{Code, Op, PartCode};
use crate::compare::Version;
use crate::insn::Flow;
use crate::site::Branch;

/// Lines of an excerpt at most.
const LINES_MAX: usize = 40;
/// Instructions before the branch, from it on, and at its target.
const BEFORE: usize = 10;
const FROM: usize = 17;
const TARGET: usize = 12;

/// The surroundings of `branch`, or where there is none of `other`.
pub(crate) fn excerpt(
    version: &Version<'_>,
    parts: &[usize],
    branch: Option<&Branch>,
    other: Option<u64>,
) -> Vec<String> {
    let code = version.code;
    let Some(addr) = branch.map(|b| b.addr).or(other) else { return Vec::new() };
    let Some((part, index)) = find(code, addr) else { return Vec::new() };
    let shown = |part: &PartCode<'_>, from: usize, to: usize| {
        let ops = part.ops.get(from..to.min(part.ops.len())).unwrap_or(&[]);
        ops.iter().map(|op| line(version, parts, part, op)).collect::<Vec<_>>()
    };
    let (from, to) = (index.saturating_sub(BEFORE), index + FROM);
    let mut lines = shown(part, from, to);
    let target = part.ops.get(index).filter(|op| op.insn.flow == Flow::Branch);
    if let Some((goal, at)) = target.and_then(Op::goes_to).and_then(|t| find(code, t)) {
        let apart = goal.start != part.start || !(from..to).contains(&at);
        if apart {
            lines.push(match goal.start == part.start {
                true => "…".to_owned(),
                false => format!("… {}:", goal.label),
            });
            lines.extend(shown(goal, at, at + TARGET));
        }
    }
    lines.truncate(LINES_MAX);
    lines
}

fn find<'c, 'a>(code: &'c Code<'a>, addr: u64) -> Option<(&'c PartCode<'a>, usize)> {
    let part = code.parts.get(code.part_at(addr)?)?;
    let index = part.ops.binary_search_by_key(&addr, |o| o.insn.addr).ok()?;
    Some((part, index))
}

fn line(version: &Version<'_>, parts: &[usize], part: &PartCode<'_>, op: &Op) -> String {
    let source = version.lines.as_ref().and_then(|(lines, _)| {
        let row = lines.at(op.insn.addr)?;
        let file = lines.files.get(row.file)?.rsplit('/').next()?;
        Some(format!("{file}:{:<5} ", row.pos.line))
    });
    let offset = op.insn.addr.wrapping_sub(part.start);
    let source = source.unwrap_or_default();
    let text = format!(
        "{source}+{offset:<#6x} {:<8} {}",
        op.insn.mnemonic,
        operands(version.code, parts, op)
    );
    text.trim_end().to_owned()
}

fn operands(code: &Code<'_>, parts: &[usize], op: &Op) -> String {
    let jumps = matches!(op.insn.flow, Flow::Branch | Flow::Jump | Flow::Call);
    let Some(target) = op.goes_to().filter(|_| jumps) else {
        return match &op.place {
            Some(place) if jumps => place.shown.clone(),
            Some(place) => format!("{}  <{}>", op.insn.operands, place.shown),
            None => op.insn.operands.to_string(),
        };
    };
    let found = code.part_at(target).filter(|p| parts.contains(p));
    let name = match found.and_then(|p| code.parts.get(p)) {
        Some(own) if (own.start..own.end).contains(&op.insn.addr) => {
            format!("+{:#x}", target.wrapping_sub(own.start))
        }
        Some(own) if target == own.start => own.label.clone(),
        Some(own) => format!("{}+{:#x}", own.label, target.wrapping_sub(own.start)),
        None => op.place.as_ref().map_or_else(|| "?".to_owned(), |p| p.shown.clone()),
    };
    // What stands before the target: the register a cbz or tbz tests.
    let tested = op.insn.operands.rsplit_once(", #").map_or("", |(head, _)| head);
    if tested.is_empty() { name } else { format!("{tested}, {name}") }
}
