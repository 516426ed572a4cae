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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pos;

    /// `(line, count, has count, is entry, is gap)`.
    fn segments(rows: &[(u32, i64, bool, bool, bool)]) -> Vec<Segment> {
        let rows = rows.iter().map(|&(line, count, has_count, is_entry, is_gap)| Segment {
            at: Pos { line, column: 1 },
            count,
            has_count,
            is_entry,
            is_gap,
        });
        rows.collect()
    }

    fn counts(rows: &[(u32, i64, bool, bool, bool)]) -> Vec<(u32, u64)> {
        let lines = line_counts(&segments(rows), &mut 100).unwrap();
        lines.into_iter().collect()
    }

    #[test]
    fn a_line_has_the_largest_count_that_holds_or_starts_on_it() {
        let rows = [
            (3, 5, true, true, false),
            (5, 9, true, true, false),
            (5, 2, true, false, false),
            (7, 0, false, false, false),
        ];
        assert_eq!(counts(&rows), [(3, 5), (4, 5), (5, 9), (6, 2), (7, 2)]);
    }

    #[test]
    fn a_gap_counts_for_the_lines_after_it_only() {
        let rows =
            [(3, 5, true, true, false), (4, 50, true, true, true), (6, 0, false, false, false)];
        assert_eq!(counts(&rows), [(3, 5), (4, 5), (5, 50), (6, 50)]);
    }

    #[test]
    fn code_after_a_skipped_region_is_measured_and_the_region_is_not() {
        let rows = [
            (3, 5, true, true, false),
            (4, 0, false, true, false),
            (5, 0, false, true, false),
            (5, 7, true, true, false),
            (6, 0, false, false, false),
        ];
        assert_eq!(counts(&rows), [(3, 5), (5, 7), (6, 7)]);
    }

    #[test]
    fn lines_beyond_the_budget_are_refused() {
        let far = segments(&[(1, 1, true, true, false), (4_000_000_000, 0, false, false, false)]);
        assert!(line_counts(&far, &mut 1000).is_none());
    }
}
