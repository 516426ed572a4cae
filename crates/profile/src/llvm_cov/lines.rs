//! Execution counts of lines from llvm-cov's segments, by llvm-cov's own rule.
//!
//! A segment says which count holds from its position on. A line's count is the largest of: the
//! count that holds where the line begins, and the counts of the code regions that start on it. A
//! line is measured if code starts on it or a count holds where it begins; a gap (the blank between
//! two statements) holds a count but starts none.

use std::collections::BTreeMap;

use super::schema::Segment;

/// Counts of the lines that `segments` (in file order) measure.
///
/// Fills at most `lines_left` lines, which it lowers: two segments can claim any number of lines
/// between them. `None` if that was not enough.
pub(super) fn line_counts(
    segments: &[Segment],
    lines_left: &mut usize,
) -> Option<BTreeMap<u32, u64>> {
    let mut lines = BTreeMap::new();
    let mut before: Option<&Segment> = None;
    let mut by_line = segments.chunk_by(|a, b| a.at.line == b.at.line).peekable();
    while let Some(on_line) = by_line.next() {
        let first = on_line.first()?;
        let last = on_line.last()?;
        let mut add = |line: u32, on_line: &[Segment], before: Option<&Segment>| {
            *lines_left = lines_left.checked_sub(1)?;
            if let Some(count) = line_count(on_line, before) {
                lines.insert(line, count);
            }
            Some(())
        };
        add(first.at.line, on_line, before)?;
        before = Some(last);
        // Lines up to the next segment hold what the last segment says.
        let next = by_line.peek().and_then(|next| next.first());
        if let (true, Some(next)) = (last.has_count, next) {
            for line in first.at.line.saturating_add(1)..next.at.line {
                add(line, &[], before)?;
            }
        }
    }
    Some(lines)
}

/// The count of a line with the segments `on_line`, begun under the segment `before`; `None`: not
/// measured.
fn line_count(on_line: &[Segment], before: Option<&Segment>) -> Option<u64> {
    let starts_code = |s: &&Segment| s.has_count && s.is_entry && !s.is_gap;
    let starts_skipped = on_line.first().is_some_and(|s| !s.has_count && s.is_entry);
    let begins_counted = before.is_some_and(|s| s.has_count);
    let code_starts = on_line.iter().any(|s| starts_code(&s));
    let any_entry = on_line.iter().any(|s| s.has_count && s.is_entry);
    if !any_entry && (starts_skipped || !(begins_counted || code_starts)) {
        return None;
    }
    let carried = before.filter(|s| s.has_count).map(|s| s.count);
    let started = on_line.iter().filter(starts_code).map(|s| s.count);
    let count = started.chain(carried).max().unwrap_or(0);
    Some(u64::try_from(count).unwrap_or(0))
}
