//! Counts of all arcs and blocks from the few that were counted.
//!
//! GCC counts only the arcs off a spanning tree of the graph. What flows into a block flows out of
//! it again, so each block with one unknown arc gives that arc away; on a spanning tree this ends
//! with every arc known. The entry has no way in and the exit none out, so these two balance
//! nothing.
//!
//! Such a solution is unique, which leaves one way to see that racing threads have lost counts: an
//! arc whose count comes out negative. The sums are checked all the same, because nothing forces a
//! file to hold a spanning tree.
//!
//! A fake arc stands for calls that did not return. It is rightly negative where `setjmp` returned
//! more often than it was called; GCC gives such functions a block without a way in. (`fork` does
//! the same but leaves no trace in the graph, so its caller cannot be told from a racing one.)

use crate::gcno::Graph;

/// The counts of one function.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Parallel to [`Graph::arcs`].
    pub(crate) arcs: Vec<u64>,
    /// By block number.
    pub(crate) blocks: Vec<u64>,
}

/// Why a function has no counts.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// The counters contradict the graph, as racing threads leave them.
    #[error("its counters contradict each other ({0})")]
    Racing(&'static str),
    /// The counters do not determine the arcs.
    #[error("its graph does not belong to its counters ({0})")]
    Graph(&'static str),
}

pub(crate) const ENTRY: usize = 0;
pub(crate) const EXIT: usize = 1;

/// One side of a block: its arcs in or its arcs out.
#[derive(Debug, Clone, Default)]
struct Side {
    unknown: usize,
    /// Sum of the known arcs. Each counter enters at most once, so `i128` cannot overflow.
    known: i128,
}

/// Solves the graph for `counters`, one for each arc off the tree, in the graph's order.
pub(crate) fn solve(graph: &Graph, counters: &[i64]) -> Result<Counts, Fault> {
    let mut solver = Solver::new(graph)?;
    let mut counters = counters.iter();
    for (index, arc) in graph.arcs.iter().enumerate() {
        if !arc.on_tree {
            let counter = counters.next().ok_or(Fault::Graph("too few counters"))?;
            solver.set(index, i128::from(*counter));
        }
    }
    if counters.next().is_some() {
        return Err(Fault::Graph("too many counters"));
    }
    solver.propagate();
    solver.checked()
}

struct Solver<'a> {
    graph: &'a Graph,
    arcs: Vec<Option<i128>>,
    /// Arcs in and out of each block.
    ways: Vec<[Side; 2]>,
    /// Indices into `arcs`, grouped by block, for ways in and out.
    members: [Grouped; 2],
    /// Blocks to look at again.
    queue: Vec<usize>,
}

const IN: usize = 0;
const OUT: usize = 1;

impl<'a> Solver<'a> {
    fn new(graph: &'a Graph) -> Result<Self, Fault> {
        let block_count = graph.block_count as usize;
        if block_count < 2 {
            return Err(Fault::Graph("no entry or no exit"));
        }
        let mut ways = vec![<[Side; 2]>::default(); block_count];
        for arc in &graph.arcs {
            for (block, side) in [(arc.from, OUT), (arc.to, IN)] {
                let way = ways.get_mut(block as usize).ok_or(Fault::Graph("an arc to nowhere"))?;
                way[side].unknown += 1;
            }
        }
        if ways[ENTRY][IN].unknown != 0 || ways[EXIT][OUT].unknown != 0 {
            return Err(Fault::Graph("an arc into the entry or out of the exit"));
        }
        Ok(Self {
            graph,
            arcs: vec![None; graph.arcs.len()],
            ways,
            members: [
                Grouped::new(block_count, graph.arcs.iter().map(|arc| arc.to)),
                Grouped::new(block_count, graph.arcs.iter().map(|arc| arc.from)),
            ],
            queue: (0..block_count).collect(),
        })
    }

    /// Records an arc's count, once.
    fn set(&mut self, index: usize, count: i128) {
        self.arcs[index] = Some(count);
        let arc = self.graph.arcs[index];
        for (block, side) in [(arc.from, OUT), (arc.to, IN)] {
            let way = &mut self.ways[block as usize][side];
            way.unknown -= 1;
            way.known += count;
            self.queue.push(block as usize);
        }
    }

    /// The block's count, if one of its sides tells.
    fn block(&self, block: usize) -> Option<i128> {
        let [into, out] = &self.ways[block];
        if out.unknown == 0 && block != EXIT {
            Some(out.known)
        } else if into.unknown == 0 && block != ENTRY {
            Some(into.known)
        } else {
            None
        }
    }

    fn propagate(&mut self) {
        while let Some(block) = self.queue.pop() {
            let Some(count) = self.block(block) else { continue };
            for (side, open) in [(IN, block != ENTRY), (OUT, block != EXIT)] {
                let way = &self.ways[block][side];
                if !open || way.unknown != 1 {
                    continue;
                }
                let missing = count - way.known;
                let arcs = &self.arcs;
                let unknown = self.members[side].of(block).iter().find(|&&i| arcs[i].is_none());
                if let Some(&index) = unknown {
                    self.set(index, missing);
                }
            }
        }
    }

    fn checked(self) -> Result<Counts, Fault> {
        let unsolved = Fault::Graph("not enough counters to solve it");
        let Some(arcs) = self.arcs.iter().copied().collect::<Option<Vec<i128>>>() else {
            return Err(unsolved);
        };
        let returns_twice = (2..self.ways.len()).any(|block| self.members[IN].of(block).is_empty());
        let arcs = arcs
            .into_iter()
            .zip(&self.graph.arcs)
            .map(|(count, arc)| match u64::try_from(count) {
                Ok(count) => Ok(count),
                Err(_) if !arc.fake => Err(Fault::Racing("a negative count")),
                Err(_) if returns_twice => Ok(0),
                Err(_) => Err(Fault::Racing(
                    "a call returned more often than it was made, which is right for `fork` alone",
                )),
            })
            .collect::<Result<Vec<u64>, Fault>>()?;
        let mut blocks = Vec::with_capacity(self.ways.len());
        for (index, [into, out]) in self.ways.iter().enumerate() {
            // Where all blocks between balance, so do the entry and the exit.
            if index != ENTRY && index != EXIT && into.known != out.known {
                return Err(Fault::Racing("a block was not left as often as entered"));
            }
            let count = if index == EXIT { into.known } else { out.known };
            blocks.push(u64::try_from(count).map_err(|_| Fault::Racing("a count beyond 64 bits"))?);
        }
        Ok(Counts { arcs, blocks })
    }
}

/// Arc indices by block, in two flat lists.
pub(crate) struct Grouped {
    starts: Vec<usize>,
    members: Vec<usize>,
}

impl Grouped {
    /// Groups the positions of `keys` (block numbers below `block_count`) by their value.
    pub(crate) fn new(block_count: usize, keys: impl Iterator<Item = u32> + Clone) -> Self {
        let mut starts = vec![0; block_count + 1];
        for key in keys.clone() {
            starts[key as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut members = vec![0; starts[block_count]];
        for (position, key) in keys.enumerate() {
            let slot = &mut next[key as usize];
            members[*slot] = position;
            *slot += 1;
        }
        Self { starts, members }
    }

    /// The positions whose key is `block`.
    pub(crate) fn of(&self, block: usize) -> &[usize] {
        &self.members[self.starts[block]..self.starts[block + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gcno::Arc;

    fn graph(block_count: u32, arcs: &[(u32, u32, bool)]) -> Graph {
        let arcs = arcs.iter().map(|&(from, to, on_tree)| Arc { from, to, on_tree, fake: false });
        Graph { block_count, arcs: arcs.collect(), ..Graph::default() }
    }

    /// entry → 2; 2 → 3 or 4; 3 → 4; 4 → 2 (loop) or exit.
    fn looping() -> Graph {
        graph(
            5,
            &[
                (0, 2, true),
                (2, 3, false),
                (2, 4, true),
                (3, 4, true),
                (4, 1, false),
                (4, 2, false),
            ],
        )
    }

    #[test]
    fn tree_arcs_follow_from_the_counted_ones() {
        let counts = solve(&looping(), &[30, 1, 99]).unwrap();
        assert_eq!(counts.arcs, [1, 30, 70, 30, 1, 99]);
        assert_eq!(counts.blocks, [1, 1, 100, 30, 100]);
    }

    #[test]
    fn lost_counts_show_as_a_negative_arc() {
        let fault = solve(&looping(), &[30, 1, 12]).unwrap_err();
        assert_eq!(fault, Fault::Racing("a negative count"));
    }

    #[test]
    fn an_overdetermined_graph_must_balance() {
        let counted = graph(3, &[(0, 2, false), (2, 1, false)]);
        assert!(solve(&counted, &[4, 4]).is_ok());
        assert!(matches!(solve(&counted, &[4, 5]), Err(Fault::Racing(_))));
        // The exit is reached more often than the entry: 3 is on no way from it.
        let island = graph(4, &[(0, 2, false), (2, 1, false), (3, 1, false)]);
        assert!(matches!(solve(&island, &[4, 4, 1]), Err(Fault::Racing(_))));
    }

    #[test]
    fn counters_must_fit_the_graph() {
        for counters in [&[30, 1][..], &[30, 1, 99, 0]] {
            assert!(matches!(solve(&looping(), counters), Err(Fault::Graph(_))), "{counters:?}");
        }
        let undetermined = graph(3, &[(0, 2, true), (2, 1, true)]);
        assert!(matches!(solve(&undetermined, &[]), Err(Fault::Graph(_))));
        assert!(matches!(solve(&graph(1, &[]), &[]), Err(Fault::Graph(_))));
        assert!(matches!(solve(&graph(2, &[(1, 0, false)]), &[1]), Err(Fault::Graph(_))));
    }

    proptest::proptest! {
        /// Walks through a graph make counts that balance, so the solver must find them again.
        #[test]
        fn finds_the_counts_of_any_walk(choices in proptest::collection::vec(0..6_usize, 0..200)) {
            let graph = looping();
            let mut truth = vec![0_u64; graph.arcs.len()];
            let mut choices = choices.into_iter();
            while let Some(first) = choices.next() {
                let (mut block, mut choice) = (0, first);
                while block != 1 {
                    let out: Vec<usize> = (0..graph.arcs.len())
                        .filter(|&i| graph.arcs[i].from == block)
                        .collect();
                    let arc = out[choice % out.len()];
                    truth[arc] += 1;
                    block = graph.arcs[arc].to;
                    choice = choices.next().unwrap_or(0);
                }
            }
            let counters: Vec<i64> = graph.arcs.iter().zip(&truth)
                .filter(|(arc, _)| !arc.on_tree)
                .map(|(_, &count)| count as i64)
                .collect();
            proptest::prop_assert_eq!(solve(&graph, &counters).unwrap().arcs, truth);
        }
    }
}
