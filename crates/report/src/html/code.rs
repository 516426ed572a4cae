//! Source excerpts, patches and disassembly.

use maud::{Markup, html};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

use crate::evidence::ExcerptLine;
use crate::figures::{UNKNOWN, count};
use crate::text::clean_code;

/// Lines of disassembly or of a patch that are shown; a remark states when there are more.
const LINES_MAX: usize = 400;

fn more(n: usize) -> Markup {
    html! {
        @if n > LINES_MAX {
            p class="soft" { (count((n - LINES_MAX) as u64)) " more lines are in the record." }
        }
    }
}

/// Source lines with their numbers and counts; those of `hits` are marked.
pub(super) fn excerpt(lines: &[ExcerptLine], hits: std::ops::RangeInclusive<u32>) -> Markup {
    html! {
        div class="code" {
            table {
                @for line in lines.iter().take(LINES_MAX) {
                    @let hit = hits.contains(&line.line);
                    tr class=[hit.then_some("hit")] {
                        td class="ln" { (if hit { "▸\u{a0}" } else { "" }) (line.line) }
                        td class="ct" { (line.count.map_or_else(|| UNKNOWN.to_owned(), count)) }
                        td { (clean_code(&line.text)) }
                    }
                }
            }
        }
        (more(lines.len()))
    }
}

/// A unified diff; what is added and removed keeps its sign beside its colour.
pub(super) fn diff(patch: &str) -> Markup {
    html! {
        div class="code" {
            @for line in patch.lines().take(LINES_MAX) {
                div class=[diff_class(line)] {
                    (if line.is_empty() { "\u{a0}".to_owned() } else { clean_code(line) })
                }
            }
        }
        (more(patch.lines().count()))
    }
}

fn diff_class(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => Some("hunk"),
        [b'+', ..] => Some("add"),
        [b'-', ..] => Some("del"),
        _ => None,
    }
}

/// Both versions of a function side by side, equal lines level with each other.
pub(super) fn side_by_side(before: &[String], after: &[String]) -> Markup {
    beside(("without the hint", before), ("with the hint", after))
}

/// As [`side_by_side`], with a heading for either version.
pub(super) fn beside((old, before): (&str, &[String]), (new, after): (&str, &[String])) -> Markup {
    let longest = before.len().max(after.len());
    let before = before.get(..LINES_MAX).unwrap_or(before);
    let after = after.get(..LINES_MAX).unwrap_or(after);
    let ops = capture_diff_slices(Algorithm::Myers, before, after);
    html! {
        div class="code asm" {
            table {
                thead { tr { th { (old) } th { (new) } } }
                tbody { @for op in &ops { (rows(op, before, after)) } }
            }
        }
        (more(longest))
    }
}

fn rows(op: &DiffOp, before: &[String], after: &[String]) -> Markup {
    let equal = op.tag() == DiffTag::Equal;
    let old = before.get(op.old_range()).unwrap_or_default();
    let new = after.get(op.new_range()).unwrap_or_default();
    html! {
        @for at in 0..old.len().max(new.len()) {
            tr {
                (half(old.get(at), "del", "−", equal))
                (half(new.get(at), "add", "+", equal))
            }
        }
    }
}

fn half(line: Option<&String>, class: &str, sign: &str, equal: bool) -> Markup {
    let class = (line.is_some() && !equal).then_some(class);
    html! {
        td class=[class] {
            @if let Some(line) = line { (if equal { " " } else { sign }) " " (clean_code(line)) }
        }
    }
}
