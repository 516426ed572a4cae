//! How often a line ran, from how often its blocks ran.
//!
//! A line is often several blocks: a `for` has three. Adding their counts would count one pass
//! over the line several times. gcov's rule, which is followed to the letter so that the numbers
//! are those that gcov prints: the arcs that enter the line's blocks from elsewhere, plus the
//! rounds of loops that stay on the line. Of the lines of a block only the largest number (in each
//! file) has the block as its own, and the last block of a function belongs to no line; a line
//! that has no block of its own gets the sum of all blocks it occurs in.
//!
//! That rule can lose executions of a line whose block the optimiser copied: one copy may belong
//! to the line and another not. For a statement from which control may not come back (a call, a
//! volatile `asm`) there is a better way: it is the last of its block, which GCC marks by a fake
//! arc to the exit. The counts of these blocks add up to its executions, and are kept beside.

use std::collections::{BTreeMap, HashSet};

use crate::flow::{Counts, Grouped};
use crate::gcno::Graph;

/// Steps that the search for loops within lines may take for one function, and as many more for
/// each of its arcs. Real functions need a few hundred.
const STEPS_MAX: usize = 10_000;
const STEPS_PER_ARC: usize = 16;

/// Counts by file and line.
pub(crate) type ByLine = BTreeMap<(usize, u32), u64>;

/// The blocks of one line.
#[derive(Default)]
struct LineBlocks {
    own: Vec<u32>,
    last_seen: Option<u32>,
    /// Sum over all blocks it occurs in.
    sum: u64,
}

fn blocks_by_line(graph: &Graph, counts: &Counts) -> BTreeMap<(usize, u32), LineBlocks> {
    let mut lines: BTreeMap<(usize, u32), LineBlocks> = BTreeMap::new();
    for group in graph.lines.chunk_by(|a, b| (a.block, a.group) == (b.block, b.group)) {
        let largest = group.iter().map(|line| line.line).max();
        for line in group {
            let of_line = lines.entry((line.file, line.line)).or_default();
            if of_line.last_seen != Some(line.block) {
                of_line.last_seen = Some(line.block);
                of_line.sum = of_line.sum.saturating_add(counts.blocks[line.block as usize]);
            }
            let is_own = Some(line.line) == largest && line.block + 1 != graph.block_count;
            if is_own && of_line.own.last() != Some(&line.block) {
                of_line.own.push(line.block);
            }
        }
    }
    lines
}

/// Executions of the statements that control may not come back from.
pub(crate) fn barriers(graph: &Graph, counts: &Counts) -> ByLine {
    let ends: HashSet<u32> = graph.arcs.iter().filter(|a| a.fake).map(|arc| arc.from).collect();
    let mut barriers = ByLine::new();
    for of_block in graph.lines.chunk_by(|a, b| a.block == b.block) {
        if let Some(last) = of_block.last().filter(|last| ends.contains(&last.block)) {
            let sum = barriers.entry((last.file, last.line)).or_insert(0);
            *sum = sum.saturating_add(counts.blocks[last.block as usize]);
        }
    }
    barriers
}

/// Counts of each `(file, line)` of the function by gcov's rule, and how many lines have too many
/// loops within them to be counted; these are absent.
pub(crate) fn line_counts(graph: &Graph, counts: &Counts) -> (ByLine, usize) {
    let block_count = graph.block_count as usize;
    let into = Grouped::new(block_count, graph.arcs.iter().map(|arc| arc.to));
    let out = Grouped::new(block_count, graph.arcs.iter().map(|arc| arc.from));
    let mut steps_left = STEPS_MAX.saturating_add(graph.arcs.len().saturating_mul(STEPS_PER_ARC));
    let mut lines = ByLine::new();
    let mut uncounted = 0;
    for (line, LineBlocks { own, sum, .. }) in blocks_by_line(graph, counts) {
        if own.is_empty() {
            lines.insert(line, sum);
            continue;
        }
        let mut executed = 0_u64;
        for &arc in own.iter().flat_map(|&block| into.of(block as usize)) {
            if own.binary_search(&graph.arcs[arc].from).is_err() {
                executed = executed.saturating_add(counts.arcs[arc]);
            }
        }
        match Inner::new(graph, counts, &own, &out).rounds(&mut steps_left) {
            Some(rounds) => {
                lines.insert(line, executed.saturating_add(rounds));
            }
            None => uncounted += 1,
        }
    }
    (lines, uncounted)
}

/// The arcs with counts that stay among the blocks of one line. Blocks go by their place in the
/// line's list.
struct Inner {
    /// Ways of block `b`: `starts[b]..starts[b + 1]`.
    starts: Vec<usize>,
    ways: Vec<(usize, u64)>,
    /// The search that last came by each block.
    seen: Vec<usize>,
    searches: usize,
}

impl Inner {
    /// `own`: ascending block numbers.
    fn new(graph: &Graph, counts: &Counts, own: &[u32], out: &Grouped) -> Self {
        let mut starts = vec![0];
        let mut ways = Vec::new();
        for &block in own {
            for &arc in out.of(block as usize) {
                let taken = counts.arcs[arc];
                if let (Ok(to), 1..) = (own.binary_search(&graph.arcs[arc].to), taken) {
                    ways.push((to, taken));
                }
            }
            starts.push(ways.len());
        }
        Self { starts, ways, seen: vec![0; own.len()], searches: 0 }
    }

    /// Rounds of all loops: loop after loop is found and its smallest count taken off all its
    /// arcs, until none is left. `None`: the steps were used up.
    fn rounds(mut self, steps_left: &mut usize) -> Option<u64> {
        self.drop_straight_code();
        let mut total = 0_u64;
        for start in 0..self.seen.len() {
            while let Some(path) = self.loop_through(start, steps_left)? {
                let taken = path.iter().map(|&way| self.ways[way].1).min().unwrap_or(0);
                for way in path {
                    self.ways[way].1 -= taken;
                }
                total = total.saturating_add(taken);
            }
        }
        Some(total)
    }

    /// Zeroes the ways out of blocks that no loop leads back to, so that only loops cost a search.
    fn drop_straight_code(&mut self) {
        let mut entries = vec![0_usize; self.seen.len()];
        for &(to, _) in &self.ways {
            entries[to] += 1;
        }
        let mut unreached: Vec<usize> = (0..entries.len()).filter(|&b| entries[b] == 0).collect();
        while let Some(block) = unreached.pop() {
            for (to, taken) in &mut self.ways[self.starts[block]..self.starts[block + 1]] {
                *taken = 0;
                entries[*to] -= 1;
                if entries[*to] == 0 {
                    unreached.push(*to);
                }
            }
        }
    }

    /// The ways of a loop through `start` that still have counts, if there is one.
    #[expect(clippy::option_option, reason = "outer: the steps sufficed; inner: a loop was found")]
    fn loop_through(&mut self, start: usize, steps_left: &mut usize) -> Option<Option<Vec<usize>>> {
        self.searches += 1;
        self.seen[start] = self.searches;
        // Where each block of the path goes on, and its next way to try.
        let mut path = vec![(start, self.starts[start])];
        while let Some(&(block, way)) = path.last() {
            if way == self.starts[block + 1] {
                path.pop();
                if let Some((_, way)) = path.last_mut() {
                    *way += 1;
                }
                continue;
            }
            *steps_left = steps_left.checked_sub(1)?;
            let (to, taken) = self.ways[way];
            if taken > 0 && to == start {
                return Some(Some(path.into_iter().map(|(_, way)| way).collect()));
            }
            if taken > 0 && self.seen[to] != self.searches {
                self.seen[to] = self.searches;
                path.push((to, self.starts[to]));
            } else if let Some((_, way)) = path.last_mut() {
                *way += 1;
            }
        }
        Some(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcno::{Arc, BlockLine};

    /// A graph whose blocks 2, 3, … lie on the lines given, with arcs and their counts.
    fn counted(lines: &[&[u32]], arcs: &[(u32, u32, u64)]) -> (Graph, Counts) {
        let block_count = u32::try_from(lines.len()).unwrap() + 2;
        let mut graph = Graph { block_count, ..Graph::default() };
        let mut blocks = vec![0; block_count as usize];
        let mut counts = Vec::new();
        for &(from, to, taken) in arcs {
            graph.arcs.push(Arc { from, to, on_tree: false, fake: to == 1 && from == 4 });
            counts.push(taken);
            blocks[if to == 1 { 1 } else { to as usize }] += taken;
        }
        for (block, lines) in (2..).zip(lines) {
            let of_block = lines.iter().map(|&line| BlockLine { block, group: 1, file: 0, line });
            graph.lines.extend(of_block);
        }
        (graph, Counts { arcs: counts, blocks })
    }

    fn executed(lines: &[&[u32]], arcs: &[(u32, u32, u64)]) -> Vec<(u32, u64)> {
        let (graph, counts) = counted(lines, arcs);
        let (lines, uncounted) = line_counts(&graph, &counts);
        assert_eq!(uncounted, 0);
        lines.into_iter().map(|((_, line), count)| (line, count)).collect()
    }

    #[test]
    fn a_pass_over_several_blocks_counts_once_and_a_loop_each_round() {
        // Line 5: 2 → 3 → 4, with 3 → 2 taken again 9 times; line 6: the last block.
        let arcs = [(0, 2, 1), (2, 3, 10), (3, 2, 9), (3, 4, 1), (4, 5, 1), (5, 1, 1)];
        assert_eq!(executed(&[&[5], &[5], &[5], &[6]], &arcs), [(5, 10), (6, 1)]);
    }

    #[test]
    fn a_line_without_a_block_of_its_own_gets_the_sum() {
        let arcs = [(0, 2, 4), (2, 3, 4), (3, 4, 4), (4, 1, 4)];
        assert_eq!(executed(&[&[5, 6], &[5, 7], &[8]], &arcs), [(5, 8), (6, 4), (7, 4), (8, 4)]);
    }

    #[test]
    fn the_last_block_of_a_function_belongs_to_no_line() {
        let arcs = [(0, 2, 1), (2, 3, 1), (3, 4, 1), (4, 1, 1)];
        assert_eq!(executed(&[&[5], &[6], &[5]], &arcs), [(5, 1), (6, 1)]);
    }

    #[test]
    fn barriers_are_the_last_lines_of_blocks_with_a_fake_arc() {
        let arcs = [(0, 2, 4), (2, 3, 4), (3, 4, 4), (4, 5, 4), (4, 1, 0), (5, 1, 4)];
        let (graph, counts) = counted(&[&[5], &[9], &[9, 5], &[6]], &arcs);
        assert_eq!(barriers(&graph, &counts), ByLine::from([((0, 5), 4)]));
    }

    #[test]
    fn a_hopeless_tangle_is_left_uncounted() {
        // Each block leads to all blocks before it and to the next: loops without end.
        let blocks = 400;
        let mut arcs = vec![(0, 2, 1)];
        for from in 2..blocks {
            arcs.push((from, from + 1, u64::from(from)));
            arcs.extend((2..=from).step_by(3).map(|to| (from, to, u64::from(to * from))));
        }
        let lines = vec![&[5][..]; blocks as usize];
        let (graph, counts) = counted(&lines, &arcs);
        let (lines, uncounted) = line_counts(&graph, &counts);
        assert_eq!((lines.len(), uncounted), (0, 1));
    }
}
