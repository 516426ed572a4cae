//! The control-flow graph of one function, its cold part included.

use std::collections::{BTreeSet, VecDeque};

use crate::code::{Code, Op};
use crate::insn::Flow;

/// A straight run of instructions.
#[derive(Debug)]
pub(crate) struct Block {
    /// First address.
    pub(crate) start: u64,
    /// The address after the last.
    pub(crate) end: u64,
    /// Lies in a cold part.
    pub(crate) cold: bool,
    /// Blocks that may follow, as indices in [`Graph::blocks`], and whether a jump is taken to
    /// get there.
    next: Vec<(usize, bool)>,
    /// May leave the function: a return, a jump to another function.
    leaves: bool,
}

/// All blocks of one function, sorted by address.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// Every edge is known. False where an indirect jump has no table to read.
    pub(crate) complete: bool,
}

/// Functions that do not return, beside those the compiler ends a block after with a trap or with
/// nothing: after a call of one of them control does not go on.
const NO_RETURN: &[&str] = &[
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "longjmp",
    "siglongjmp",
    "_longjmp",
    "__longjmp_chk",
    "__assert_fail",
    "__assert",
    "__stack_chk_fail",
    "__fortify_fail",
    "__chk_fail",
    "pthread_exit",
    "panic",
    "err",
    "errx",
    "verr",
    "verrx",
    "_Unwind_Resume",
];

impl Graph {
    /// The graph of the function made of `parts`, indices in [`Code::parts`].
    pub(crate) fn new(code: &Code<'_>, parts: &[usize]) -> Self {
        let parts: Vec<_> = parts.iter().filter_map(|&p| code.parts.get(p)).collect();
        let own = |addr: u64| parts.iter().any(|p| (p.start..p.end).contains(&addr));
        let labels: Vec<u64> = code.labels.iter().copied().filter(|&l| own(l)).collect();
        let mut leaders: BTreeSet<u64> = labels.iter().copied().collect();
        for part in &parts {
            leaders.insert(part.start);
            for op in &part.ops {
                if ends_block(op) {
                    leaders.insert(op.insn.end());
                }
                if matches!(op.insn.flow, Flow::Branch | Flow::Jump) {
                    leaders.extend(op.goes_to().filter(|&t| own(t)));
                }
            }
        }
        let mut blocks: Vec<(Block, Option<&Op>)> = Vec::new();
        for part in &parts {
            for op in &part.ops {
                let fresh = leaders.contains(&op.insn.addr);
                match blocks.last_mut() {
                    Some((block, last)) if !fresh && block.end == op.insn.addr => {
                        block.end = op.insn.end();
                        *last = Some(op);
                    }
                    _ => {
                        let (start, end) = (op.insn.addr, op.insn.end());
                        let block =
                            Block { start, end, cold: part.cold, next: Vec::new(), leaves: false };
                        blocks.push((block, Some(op)));
                    }
                }
            }
        }
        blocks.sort_by_key(|(b, _)| b.start);
        Self::link(blocks, &labels)
    }

    fn link(blocks: Vec<(Block, Option<&Op>)>, labels: &[u64]) -> Self {
        let (blocks, lasts): (Vec<_>, Vec<_>) = blocks.into_iter().unzip();
        let mut graph = Self { blocks, complete: true };
        let tables: Vec<usize> = labels.iter().filter_map(|&l| graph.starting_at(l)).collect();
        for (index, last) in lasts.into_iter().enumerate() {
            let Some(op) = last else { continue };
            let mut next = Vec::new();
            let mut leaves = false;
            let after = graph.starting_at(op.insn.end());
            let target = op.goes_to().and_then(|t| graph.starting_at(t));
            match op.insn.flow {
                Flow::Next | Flow::Call => {
                    next.extend(after.filter(|_| !never_returns(op)).map(|b| (b, false)));
                }
                Flow::Branch => {
                    next.extend(after.map(|b| (b, false)));
                    next.extend(target.map(|b| (b, true)));
                    leaves = target.is_none();
                }
                Flow::Jump => {
                    next.extend(target.map(|b| (b, true)));
                    leaves = target.is_none();
                }
                Flow::Indirect => {
                    next.extend(tables.iter().map(|&b| (b, true)));
                    leaves = tables.is_empty();
                    graph.complete &= !tables.is_empty();
                }
                Flow::End => leaves = true,
            }
            if let Some(block) = graph.blocks.get_mut(index) {
                block.next = next;
                block.leaves = leaves;
            }
        }
        graph
    }

    /// The block that starts at `addr`.
    pub(crate) fn starting_at(&self, addr: u64) -> Option<usize> {
        self.blocks.binary_search_by_key(&addr, |b| b.start).ok()
    }

    /// The block that holds `addr`.
    pub(crate) fn holding(&self, addr: u64) -> Option<usize> {
        let after = self.blocks.partition_point(|b| b.start <= addr);
        let index = after.checked_sub(1)?;
        (addr < self.blocks.get(index)?.end).then_some(index)
    }

    /// For each block, whether it can run after `from` starts and before `stop` starts again.
    pub(crate) fn reached(&self, from: usize, stop: usize) -> Vec<bool> {
        self.search(from, stop, None).0
    }

    /// Blocks that run on every way from the start of `from` to the function's end or to `stop`.
    pub(crate) fn certain(&self, from: usize, stop: usize) -> Vec<usize> {
        let (reached, arrives) = self.search(from, stop, None);
        if !arrives {
            return vec![from];
        }
        let candidates = (0..self.blocks.len()).filter(|&b| reached.get(b) == Some(&true));
        // Without a certain block the end is out of reach.
        candidates.filter(|&b| b == from || !self.search(from, stop, Some(b)).1).collect()
    }

    /// The fewest jumps taken from the start of `from` to the start of `stop`, or where that cannot
    /// be reached, to the function's end; leaving by a jump counts as a return does, as none.
    pub(crate) fn fewest_jumps(&self, from: usize, stop: usize) -> Option<u32> {
        let mut least: Vec<Option<u32>> = vec![None; self.blocks.len()];
        let mut at_end: Option<u32> = None;
        // Ways without a further jump go to the front, so the queue stays sorted by jumps.
        let mut queue = VecDeque::from([(from, 0u32)]);
        while let Some((index, jumps)) = queue.pop_front() {
            if index == stop {
                return Some(jumps);
            }
            let Some(block) = self.blocks.get(index) else { continue };
            match least.get_mut(index) {
                Some(known @ None) => *known = Some(jumps),
                _ => continue,
            }
            if block.leaves {
                at_end.get_or_insert(jumps);
            }
            for &(next, taken) in &block.next {
                if taken {
                    queue.push_back((next, jumps.saturating_add(1)));
                } else {
                    queue.push_front((next, jumps));
                }
            }
        }
        at_end
    }

    /// Breadth first from `from`, not through `stop` nor `without`; whether the function's end or
    /// `stop` was arrived at.
    fn search(&self, from: usize, stop: usize, without: Option<usize>) -> (Vec<bool>, bool) {
        let mut reached = vec![false; self.blocks.len()];
        let mut arrives = false;
        let mut queue = VecDeque::from([from]);
        while let Some(index) = queue.pop_front() {
            if index == stop {
                arrives = true;
                continue;
            }
            let Some(block) = self.blocks.get(index).filter(|_| Some(index) != without) else {
                continue;
            };
            match reached.get_mut(index) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            arrives |= block.leaves;
            queue.extend(block.next.iter().map(|&(b, _)| b));
        }
        (reached, arrives)
    }
}

fn ends_block(op: &Op) -> bool {
    match op.insn.flow {
        Flow::Next => false,
        Flow::Call => never_returns(op),
        Flow::Branch | Flow::Jump | Flow::Indirect | Flow::End => true,
    }
}

fn never_returns(op: &Op) -> bool {
    op.insn.flow == Flow::Call
        && op.place.as_ref().is_some_and(|p| NO_RETURN.contains(&p.key.as_str()))
}
