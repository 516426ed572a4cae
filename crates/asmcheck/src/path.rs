//! The way through a function on which no conditional branch is taken.
//!
//! Processors fetch straight ahead: a branch that is not taken costs a slot, one that is taken
//! costs the front end a redirect. So a good check falls through, and its handler lies where
//! straight fetching does not reach: behind the return, or in another section. The exception is
//! the loop of an exclusive load and store, whose back edge is taken only when another processor
//! came between.

use unlikely_codegen::listing::{Flow, ListedInsn};

use crate::error::AsmError;
use crate::function::{Function, shown};

/// Where the other side of a conditional branch lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// After the last instruction of the hot path, or in another part or object: out of line.
    Out,
    /// Back on the path: a loop.
    Back,
    /// Among the instructions of the path, where straight fetching meets it.
    Inside,
}

/// A conditional branch on the hot path, not taken there.
#[derive(Debug, Clone, Copy)]
pub struct Branch<'a> {
    /// The instruction.
    pub insn: &'a ListedInsn,
    /// Where its other side lies.
    pub side: Side,
}

/// What a hot path must be like. Everything else is refused: calls, tail calls and jumps, any use
/// of the stack, and branches to a place between its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Conditional branches to out-of-line code, exactly: one fewer, and a check is gone.
    pub branches: usize,
    /// Back edges, exactly: 1 for an exclusive load and store.
    pub loops: usize,
}

/// The instructions that run if no conditional branch is taken.
#[derive(Debug, Clone)]
pub struct HotPath<'a> {
    function: Function<'a>,
    insns: Vec<&'a ListedInsn>,
    branches: Vec<Branch<'a>>,
}

impl<'a> HotPath<'a> {
    pub(crate) fn walk(function: Function<'a>) -> Result<Self, AsmError> {
        let asm = function.asm;
        let mut path = Self { function, insns: Vec::new(), branches: Vec::new() };
        let mut next = function.entry.start;
        loop {
            let part = asm.part_at(next);
            let Some((part, insn)) = part.zip(asm.insn_at(next)) else {
                return Err(path.no_end("runs out of the function"));
            };
            if path.insns.iter().any(|i| i.addr == next) {
                return Err(path.no_end("never ends"));
            }
            path.insns.push(insn);
            let after = part.insns.iter().find(|i| i.addr > next).map_or(part.end, |i| i.addr);
            next = match insn.flow {
                Flow::Next | Flow::Call | Flow::Branch => after,
                Flow::Indirect => break,
                Flow::End if insn.mnemonic.contains("ret") => break,
                Flow::End => return Err(path.no_end("ends in a trap")),
                // Within the function the path goes on there; elsewhere it is a tail call.
                Flow::Jump => match insn.goes_to {
                    Some(to) if !path.is_entry_of_another(to) => to,
                    _ => break,
                },
            };
        }
        let branches = path.insns.iter().filter(|i| i.flow == Flow::Branch);
        path.branches = branches.map(|&insn| Branch { insn, side: path.side(insn) }).collect();
        Ok(path)
    }

    /// The instructions, in the order they run.
    #[must_use]
    pub fn insns(&self) -> &[&'a ListedInsn] {
        &self.insns
    }

    /// Their mnemonics with prefixes: `["lock inc", "jle", "ret"]`.
    #[must_use]
    pub fn mnemonics(&self) -> Vec<&'a str> {
        self.insns.iter().map(|i| &*i.mnemonic).collect()
    }

    /// The conditional branches, in order.
    #[must_use]
    pub fn branches(&self) -> &[Branch<'a>] {
        &self.branches
    }

    /// Calls, and jumps that leave the function or may lead anywhere.
    #[must_use]
    pub fn calls(&self) -> Vec<&'a ListedInsn> {
        let last = self.insns.last().map(|i| i.addr);
        let leaves = |i: &ListedInsn| match i.flow {
            Flow::Call | Flow::Indirect => true,
            Flow::Jump => Some(i.addr) == last,
            Flow::Next | Flow::Branch | Flow::End => false,
        };
        self.insns.iter().copied().filter(|i| leaves(i)).collect()
    }

    /// Unconditional jumps within the function: each is a taken branch.
    #[must_use]
    pub fn jumps(&self) -> Vec<&'a ListedInsn> {
        let last = self.insns.last().map(|i| i.addr);
        let jump = |i: &ListedInsn| i.flow == Flow::Jump && Some(i.addr) != last;
        self.insns.iter().copied().filter(|i| jump(i)).collect()
    }

    /// What touches the stack or the stack pointer: frames, spills, saved registers.
    #[must_use]
    pub fn stack(&self) -> Vec<&'a ListedInsn> {
        self.insns.iter().copied().filter(|i| uses_stack(i)).collect()
    }

    /// The path, one instruction a line.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.insns.iter().map(|i| shown(i, self.function.entry.start));
        lines.map(|line| format!("    {line}\n")).collect()
    }

    /// Holds the path against `shape`.
    ///
    /// # Errors
    /// [`AsmError::Shape`] with every fault and the path itself.
    pub fn check(&self, shape: Shape) -> Result<(), AsmError> {
        let start = self.function.entry.start;
        let mut faults = Vec::new();
        let mut refuse = |what: &str, insns: Vec<&ListedInsn>| {
            faults.extend(insns.iter().map(|i| format!("  {what}: {}", shown(i, start))));
        };
        refuse("a call", self.calls());
        refuse("a taken jump", self.jumps());
        refuse("use of the stack", self.stack());
        refuse("a branch to code between", self.on(Side::Inside));
        let mut count = |what: &str, found: usize, wanted: usize| {
            if found != wanted {
                faults.push(format!("  {found} {what}, {wanted} promised"));
            }
        };
        count("branches out of line", self.on(Side::Out).len(), shape.branches);
        count("loops", self.on(Side::Back).len(), shape.loops);
        if faults.is_empty() {
            return Ok(());
        }
        Err(AsmError::Shape { name: self.function.name().into(), faults, text: self.text() })
    }

    fn on(&self, side: Side) -> Vec<&'a ListedInsn> {
        self.branches.iter().filter(|b| b.side == side).map(|b| b.insn).collect()
    }

    fn side(&self, insn: &ListedInsn) -> Side {
        let entry = self.function.entry;
        let Some(to) = insn.goes_to.filter(|to| (entry.start..entry.end).contains(to)) else {
            return Side::Out;
        };
        if to <= insn.addr && self.insns.iter().any(|i| i.addr == to) {
            return Side::Back;
        }
        let last = self.insns.iter().map(|i| i.addr).max().unwrap_or(0);
        if to > last { Side::Out } else { Side::Inside }
    }

    /// Whether `addr` is where a function other than this one starts. What the compiler split off
    /// bears this function's name and a suffix.
    fn is_entry_of_another(&self, addr: u64) -> bool {
        let name = &self.function.entry.symbol;
        let own = |symbol: &str| {
            symbol
                .strip_prefix(&**name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.function.asm.part_at(addr).is_some_and(|p| p.start == addr && !own(&p.symbol))
    }

    fn no_end(&self, why: &'static str) -> AsmError {
        AsmError::NoEnd { name: self.function.name().into(), why, text: self.text() }
    }
}

fn uses_stack(insn: &ListedInsn) -> bool {
    let name = insn.mnemonic.rsplit(' ').next().unwrap_or("");
    let mut words = insn.operands.split(|c: char| !c.is_ascii_alphanumeric());
    matches!(name, "push" | "pushfq" | "pop" | "popfq" | "enter" | "leave")
        || words.any(|word| matches!(word, "rsp" | "esp" | "sp" | "wsp"))
}
