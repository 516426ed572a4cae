//! Rewriting a file so that gcov counts each outcome of each condition on a line of its own.
//!
//! At `-O2` neither gcov's branch index nor its `fallthrough` flag tells true from false, and its
//! JSON has no columns. Line counts, however, are exact. So in a private copy of the tree every
//! leaf condition `X` becomes
//!
//! ```c
//! ((X)?
//! __extension__({__asm__ volatile("");1;})     // this line's count: X was true
//! :
//! __extension__({__asm__ volatile("");0;})     // this line's count: X was false
//! )
//! ```
//!
//! The empty volatile assembly keeps each outcome alive through every optimisation, and the
//! optimiser is otherwise free: the build keeps the project's flags. What was tried first and
//! left: solving the block graph of the unchanged text and matching blocks with arms (right for
//! two thirds of the conditions, wrong for some), and building at `-O0` (code that relies on the
//! optimiser does not link).
//!
//! A hint macro around joined operands is dropped in the copy, since every line inside a macro's
//! argument collapses to the line of the macro's name.

use std::collections::BTreeSet;

use crate::sites::{Barrier, Logic, Site, SiteKind, Sites};
use crate::text::Pos;

/// A rewritten file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// The new text.
    pub text: Vec<u8>,
    /// Where each condition's outcomes are counted.
    pub probes: Vec<Probe>,
    /// Original line (from 1) of each line of the new text.
    pub line_map: Vec<u32>,
}

/// One condition's counting lines, in the rewritten text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// The condition's first character, in the original.
    pub start: Pos,
    /// One past its last character, in the original.
    pub end: Pos,
    /// The line that is run once each time the condition is true.
    pub true_line: u32,
    /// The line that is run once each time it is false.
    pub false_line: u32,
}

const OPEN: &[u8] = b"((";
const CLOSE: [&[u8]; 5] = [
    b")?",
    b"__extension__({__asm__ volatile(\"\");1;})",
    b":",
    b"__extension__({__asm__ volatile(\"\");0;})",
    b")",
];

/// Rewrites `text`, whose sites are `sites`, but for conditions on the lines (from 1) in `except`.
/// `None` if nothing in it can be probed.
///
/// A file with `#line` directives is left alone: its lines do not count physical lines.
pub fn probe(text: &[u8], sites: &Sites, except: &BTreeSet<u32>) -> Option<Probed> {
    if has_line_directive(text) {
        return None;
    }
    let mut events = Vec::new();
    for (i, site) in sites.sites.iter().enumerate() {
        let excepted = except.range(site.span.start.line..=site.span.end.line).next().is_some();
        if excepted {
            continue;
        }
        if is_probed(text, sites, i) {
            events.push(Event { offset: site.span.bytes.start, act: Act::Open(site) });
            events.push(Event { offset: site.span.bytes.end, act: Act::Close(site) });
        } else if let Some(name) = dropped_hint(text, site) {
            events.push(Event { offset: site.bare.start, act: Act::Skip(name) });
        }
    }
    if !events.iter().any(|e| matches!(e.act, Act::Close(_))) {
        return None;
    }
    // At one offset: what ends here first, the inner before the outer; then what starts here, the
    // outer before the inner.
    events.sort_by_key(|e| match e.act {
        Act::Close(s) => (e.offset, 0, usize::MAX - s.span.bytes.start),
        Act::Open(s) => (e.offset, 1, usize::MAX - s.span.bytes.end),
        Act::Skip(_) => (e.offset, 2, 0),
    });
    Some(Writer::default().write(text, &events))
}

#[derive(Debug)]
struct Event<'s> {
    offset: usize,
    act: Act<'s>,
}

#[derive(Debug)]
enum Act<'s> {
    Open(&'s Site),
    Close(&'s Site),
    /// Leave out so many bytes.
    Skip(usize),
}

fn is_probed(text: &[u8], sites: &Sites, i: usize) -> bool {
    let site = &sites.sites[i];
    (site.logic == Logic::Leaf || keeps_hint(text, site))
        && site.kind != SiteKind::Case
        && site.in_macro.is_none()
        && site.barrier.is_none()
        && !inside_kept_hint(text, sites, site)
}

/// Whether joined operands stand in a hint macro that stays in the copy, so that their lines
/// collapse: the call is then probed as one.
fn keeps_hint(text: &[u8], site: &Site) -> bool {
    let is_macro = site.hint.as_ref().is_some_and(|hint| {
        !hint.spelling.starts_with('[') && !hint.spelling.starts_with("__builtin_expect")
    });
    is_macro && matches!(site.logic, Logic::Same(_)) && dropped_hint(text, site).is_none()
}

fn inside_kept_hint(text: &[u8], sites: &Sites, site: &Site) -> bool {
    let mut at = site.parent;
    while let Some(parent) = at.and_then(|p| sites.sites.get(p)) {
        if keeps_hint(text, parent) {
            return true;
        }
        at = parent.parent;
    }
    false
}

/// The length of the hint macro's name in front of joined operands; it is left out of the copy.
fn dropped_hint(text: &[u8], site: &Site) -> Option<usize> {
    let hint = site.hint.as_ref().filter(|_| matches!(site.logic, Logic::Same(_)))?;
    let at = text.get(site.bare.clone())?;
    let is_macro = !hint.spelling.starts_with("__builtin_expect");
    (is_macro
        && site.in_macro.is_none()
        && site.barrier.as_ref().is_none_or(|b| *b == Barrier::Trivial)
        && at.starts_with(hint.spelling.as_bytes())
        // One argument: what is left behind is its parentheses.
        && hint_has_one_argument(at))
    .then_some(hint.spelling.len())
}

fn hint_has_one_argument(call: &[u8]) -> bool {
    let mut depth = 0_i32;
    !crate::lex::tokens(call).iter().any(|token| match token.text(call) {
        b"(" | b"[" | b"{" => {
            depth += 1;
            false
        }
        b")" | b"]" | b"}" => {
            depth -= 1;
            false
        }
        b"," => depth == 1,
        _ => false,
    })
}

/// Whether `text` says that its lines are another file's (`#line`), as generated code does.
pub fn has_line_directive(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').any(|line| {
        let Some(rest) = line.trim_ascii_start().strip_prefix(b"#") else { return false };
        let rest = rest.trim_ascii_start();
        rest.first().is_some_and(u8::is_ascii_digit)
            || rest
                .strip_prefix(b"line")
                .is_some_and(|r| r.first().is_some_and(|b| b.is_ascii_whitespace()))
    })
}

#[derive(Default)]
struct Writer {
    out: Vec<u8>,
    line_map: Vec<u32>,
    probes: Vec<Probe>,
    original_line: u32,
}

impl Writer {
    fn write(mut self, text: &[u8], events: &[Event]) -> Probed {
        self.original_line = 1;
        self.line_map.push(1);
        let mut at = 0;
        for event in events {
            self.copy(text.get(at..event.offset).unwrap_or_default());
            at = at.max(event.offset);
            match event.act {
                Act::Open(_) => self.out.extend_from_slice(OPEN),
                Act::Close(site) => self.close(site),
                Act::Skip(length) => at += length,
            }
        }
        self.copy(text.get(at..).unwrap_or_default());
        if self.out.ends_with(b"\n") {
            self.line_map.pop();
        }
        Probed { text: self.out, probes: self.probes, line_map: self.line_map }
    }

    fn copy(&mut self, text: &[u8]) {
        for byte in text {
            self.out.push(*byte);
            if *byte == b'\n' {
                self.original_line += 1;
                self.line_map.push(self.original_line);
            }
        }
    }

    fn close(&mut self, site: &Site) {
        let mut lines = [0; CLOSE.len()];
        for (piece, line) in CLOSE.iter().zip(&mut lines) {
            if piece != &CLOSE[0] {
                self.out.push(b'\n');
                self.line_map.push(self.original_line);
            }
            self.out.extend_from_slice(piece);
            *line = u32::try_from(self.line_map.len()).unwrap_or(u32::MAX);
        }
        let [_, true_line, _, false_line, _] = lines;
        let (start, end) = (site.span.start, site.span.end);
        self.probes.push(Probe { start, end, true_line, false_line });
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
