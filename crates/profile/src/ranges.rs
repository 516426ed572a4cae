//! Line ranges that are set aside.

use std::ops::RangeInclusive;

/// Line ranges of one file. Add ranges, then [`sort`](Self::sort), then ask.
#[derive(Debug, Default)]
pub(crate) struct Ranges(Vec<RangeInclusive<u32>>);

impl Ranges {
    pub(crate) fn add(&mut self, range: RangeInclusive<u32>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    /// Orders the ranges and joins those that overlap, so that asking is fast for any number.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|range| *range.start());
        self.0.dedup_by(|next, kept| {
            let joins = next.start() <= kept.end();
            if joins {
                *kept = *kept.start()..=*kept.end().max(next.end());
            }
            joins
        });
    }

    pub(crate) fn contains(&self, line: u32) -> bool {
        let after = self.0.partition_point(|range| *range.start() <= line);
        let before = after.checked_sub(1).and_then(|index| self.0.get(index));
        before.is_some_and(|range| range.contains(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn holds_exactly_the_lines_that_were_added(
            added in proptest::collection::vec((0_u32..40, 0_u32..40), 0..12),
        ) {
            let mut ranges = Ranges::default();
            added.iter().for_each(|&(start, end)| ranges.add(start..=end));
            ranges.sort();
            for line in 0..45 {
                let expected = added.iter().any(|&(start, end)| (start..=end).contains(&line));
                proptest::prop_assert_eq!(ranges.contains(line), expected, "line {}", line);
            }
        }
    }
}
