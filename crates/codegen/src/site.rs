//! The machine branches of one condition, and which of their two sides is which.
//!
//! The line table names the branch: its row lies within the condition's span, or at one of its
//! anchors. It also names the
//! sides: each is followed, through unconditional jumps, until an instruction of one of the arms
//! comes up. Where one side cannot be told it is the other one's complement; where both say the
//! same, or where a second branch of the same condition comes first (`a || b` in two jumps), the
//! direction is not told at all.

use std::collections::BTreeMap;

use crate::blocks::Graph;
use crate::code::{Code, Op, PartCode};
use crate::insn::Flow;
use crate::lines::Lines;
use crate::unit::{Pos, SiteQuery};

/// One machine branch of the condition. Inlining, unrolling and unswitching make several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Index in [`Code::parts`].
    pub(crate) part: usize,
    /// Address of the branch instruction.
    pub(crate) addr: u64,
    /// The branch is taken when the condition is true; `None` if that could not be told.
    pub(crate) taken_when: Option<bool>,
}

/// Where the rarely run blocks of a branch lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RareBlocks {
    /// In the main body: before code that is certain to run the usual way.
    pub(crate) inside: u32,
    /// Behind it, or in a cold part.
    pub(crate) outside: u32,
}

/// The condition in one version: where it lies in the source, and what its line table calls that.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The condition as it lies in this version's source.
    pub(crate) site: SiteQuery,
    /// Further places its branch may be put down to, see [`crate::anchors`].
    pub(crate) anchors: Vec<Pos>,
    /// Numbers of the site's file in the line table.
    pub(crate) files: Vec<usize>,
}

/// Finds the condition in one object.
pub(crate) struct Sites<'a> {
    code: &'a Code<'a>,
    lines: &'a Lines,
    site: &'a SiteQuery,
    wanted: &'a Wanted,
}

/// What a side of a branch leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    True,
    False,
    Unknown,
    /// Another branch of the same condition.
    Again,
}

/// Instructions followed from each side before giving up.
const WALK_MAX: usize = 32;

/// Blocks of the largest function whose certain blocks are looked for: the search is quadratic.
const BLOCKS_MAX: usize = 4096;

impl<'a> Sites<'a> {
    pub(crate) fn new(code: &'a Code<'a>, lines: &'a Lines, wanted: &'a Wanted) -> Self {
        Self { code, lines, site: &wanted.site, wanted }
    }

    /// The condition's branches, by the function they are in.
    pub(crate) fn branches(&self) -> BTreeMap<&'a str, Vec<Branch>> {
        let mut found: BTreeMap<&'a str, Vec<Branch>> = BTreeMap::new();
        for (index, part) in self.code.parts.iter().enumerate() {
            let mut block_start = part.start;
            for op in &part.ops {
                if op.insn.flow == Flow::Branch && self.is_of_site(op, block_start) {
                    let taken_when = self.taken_when(op);
                    let branch = Branch { part: index, addr: op.insn.addr, taken_when };
                    found.entry(part.function).or_default().push(branch);
                }
                if !matches!(op.insn.flow, Flow::Next | Flow::Call) {
                    block_start = op.insn.end();
                }
            }
        }
        found
    }

    /// Whether the branch comes from the condition. An instruction without a line of its own
    /// inherits the one before it, which counts only from within the same run of instructions.
    fn is_of_site(&self, op: &Op, run_start: u64) -> bool {
        self.place(op.insn.addr, run_start).is_some_and(|pos| {
            pos.within((self.site.start, self.site.end)) || self.wanted.anchors.contains(&pos)
        })
    }

    /// The place in the site's file that `addr` comes from, if a row that starts at or after
    /// `run_start` says so to the column.
    fn place(&self, addr: u64, run_start: u64) -> Option<Pos> {
        let row = self.lines.at(addr)?;
        let usable =
            row.start >= run_start && row.pos.column > 0 && self.wanted.files.contains(&row.file);
        usable.then_some(row.pos)
    }

    fn taken_when(&self, branch: &Op) -> Option<bool> {
        let taken = branch.goes_to().map_or(Side::Unknown, |t| self.follow(branch, t));
        let not_taken = self.follow(branch, branch.insn.end());
        match (taken, not_taken) {
            (Side::True, Side::False | Side::Unknown) | (Side::Unknown, Side::False) => Some(true),
            (Side::False, Side::True | Side::Unknown) | (Side::Unknown, Side::True) => Some(false),
            _ => None,
        }
    }

    fn follow(&self, branch: &Op, from: u64) -> Side {
        let within = |pos: Pos, arm: Option<_>| arm.is_some_and(|span| pos.within(span));
        let (mut at, mut run_start) = (from, from);
        for _ in 0..WALK_MAX {
            let Some(op) = self.code.part_at(at).and_then(|p| self.code.parts.get(p)?.op_at(at))
            else {
                return Side::Unknown;
            };
            let place = self.place(at, run_start);
            match place {
                Some(pos) if within(pos, self.site.when_true) => return Side::True,
                Some(pos) if within(pos, self.site.when_false) => return Side::False,
                _ => {}
            }
            match op.insn.flow {
                Flow::Next | Flow::Call => at = op.insn.end(),
                Flow::Jump => match op.goes_to() {
                    Some(target) => (at, run_start) = (target, target),
                    None => return Side::Unknown,
                },
                Flow::Branch
                    if op.insn.addr != branch.insn.addr && self.is_of_site(op, run_start) =>
                {
                    return Side::Again;
                }
                Flow::Branch | Flow::Indirect | Flow::End => return Side::Unknown,
            }
        }
        Side::Unknown
    }

    /// Jumps taken in one pass when the condition is true, and when it is false; see
    /// [`crate::FunctionDelta::hot_taken`] for what a pass is.
    pub(crate) fn pass(&self, graph: &Graph, branch: Branch) -> Option<(u32, u32)> {
        if !graph.complete {
            return None;
        }
        let (own, taken, next) = self.sides(graph, branch)?;
        let jumps =
            (graph.fewest_jumps(taken, own)?.saturating_add(1), graph.fewest_jumps(next, own)?);
        Some(if branch.taken_when? { jumps } else { (jumps.1, jumps.0) })
    }

    /// The blocks of the branch itself, of its target and of what follows it.
    fn sides(&self, graph: &Graph, branch: Branch) -> Option<(usize, usize, usize)> {
        let op = self.code.parts.get(branch.part)?.op_at(branch.addr)?;
        let own = graph.holding(branch.addr)?;
        Some((own, graph.starting_at(op.goes_to()?)?, graph.starting_at(op.insn.end())?))
    }

    /// Where the blocks lie that run only after `branch` went its rarer way; `None` if its
    /// direction or the function's edges are not known, or no way is the rarer one.
    ///
    /// A block belongs to the rare way if it can run after the rare side and not after the usual
    /// one, both until the branch's own block comes up again. It is outside the main body if it
    /// is in a cold part, or if neither the branch nor code that is certain to run after the
    /// usual side lies behind it in the main part.
    pub(crate) fn rare_blocks(&self, graph: &Graph, branch: Branch) -> Option<RareBlocks> {
        let (when_true, when_false) = (self.site.taken_true, self.site.taken_false);
        if when_true == when_false || !graph.complete || graph.blocks.len() > BLOCKS_MAX {
            return None;
        }
        let rare_is_taken = branch.taken_when? == (when_true < when_false);
        let (own, taken, next) = self.sides(graph, branch)?;
        let (rare, usual) = if rare_is_taken { (taken, next) } else { (next, taken) };
        let (after_rare, after_usual) = (graph.reached(rare, own), graph.reached(usual, own));
        let last_hot = graph
            .certain(usual, own)
            .into_iter()
            .chain([own])
            .filter_map(|b| graph.blocks.get(b))
            .filter(|b| !b.cold)
            .map(|b| b.start)
            .max();
        let mut blocks = RareBlocks::default();
        for (block, _) in graph
            .blocks
            .iter()
            .zip(after_rare.iter().zip(&after_usual))
            .filter(|(_, (rare, usual))| **rare && !**usual)
        {
            let outside = block.cold || last_hot.is_none_or(|last| last < block.start);
            *(if outside { &mut blocks.outside } else { &mut blocks.inside }) += 1;
        }
        Some(blocks)
    }
}

impl PartCode<'_> {
    /// The instruction that starts at `addr`.
    pub(crate) fn op_at(&self, addr: u64) -> Option<&Op> {
        let index = self.ops.binary_search_by_key(&addr, |o| o.insn.addr).ok()?;
        self.ops.get(index)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::anchors::anchors;
    use crate::object::Image;
    use crate::testing::compile;

    const HEAD: &str = "extern int g(int), h(int); extern long n; extern void stop(void) \
__attribute__((noreturn)); struct e { int fd, out; };\n";

    /// Shapes of code around the condition `x < 0`; `A` marks what runs when it is true, `B` what
    /// runs when it is false.
    const SHAPES: &[&str] = &[
        "int f(int x) { if (x < 0) A{ g(1); }A return h(2); }",
        "int f(int x) { if (x < 0) A{ g(1); }A else B{ h(2); n++; }B return g(3); }",
        "int f(int x) { n++; if (x < 0) Areturn -1;A Breturn h(x);B }",
        "int f(int x) { if (x < 0) Areturn 7;A Bn += x; return g(n) + h(n);B }",
        "int f(int *p, int k) { int s = 0; for (int i = 0; i < k; i++) { int x = p[i]; \
          if (x < 0) A{ s += g(x); continue; }A Bs += h(x) & 3;B } return s; }",
        "int f(int *p, int k) { int s = 0; for (int i = 0; i < k; i++) { int x = p[i]; \
          if (x < 0) Agoto out;A Bs += x ^ i;B } return s; out: n++; return g(s); }",
        "int f(int *p) { int x = *p, s = 0; while (x < 0) A{ s += g(x); x = *++p; }A return s; }",
        "int f(int x) { if (x < 0) Astop();A Breturn x + 1;B }",
        "static inline int in(struct e *p) { int x = p->fd; if (x < 0) A{ p->out = 0; n++; \
          return 0; }A Bp->out = g(x); return p->out;B } \
          int f(struct e *p, int k) { int c = 0; for (int i = 0; i < k; i++) \
          if (in(&p[i])) c++; return c; } int f2(struct e *p) { return in(p) + in(p + 1); }",
        "int f(int x, int y) { int r = x < 0 ? Ag(y)A : Bh(y)B; return r * 3; }",
        "int f(int x) { if (__builtin_expect(x < 0, 1)) A{ n = g(1); }A else B{ n = h(n); }B \
          return n; }",
        "int f(int x) { switch (n) { case 1: if (x < 0) Areturn g(5);A Breturn h(6);B \
          case 2: return 3; case 3: return g(4); case 4: return 11; case 5: return h(9); } \
          return 0; }",
        "int f(int x) { do { n += g(x); if (x < 0) Abreak;A Bx = h(x);B } while (n); return x; }",
    ];

    /// The text without its marks, and the query.
    fn unmark(shape: &str) -> (String, SiteQuery) {
        let mut text = HEAD.to_owned();
        let mut marks: BTreeMap<char, Vec<Pos>> = BTreeMap::new();
        let (mut line, mut column) = (2, 1);
        for (at, c) in shape.char_indices() {
            // A mark stands beside a brace, a blank or a statement's own letter.
            let mark = matches!(c, 'A' | 'B');
            if shape[at..].starts_with("x < 0") {
                marks.entry('x').or_default().push(Pos::new(line, column));
            }
            if mark {
                marks.entry(c).or_default().push(Pos::new(line, column));
            } else {
                text.push(c);
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
        }
        let span = |c| marks.get(&c).map(|m| (m[0], m[1]));
        let start = marks[&'x'][0];
        let site = SiteQuery {
            file: "x.c".into(),
            start,
            end: Pos::new(start.line, start.column + 5),
            when_true: span('A'),
            when_false: span('B'),
            taken_true: 1,
            taken_false: 99,
        };
        (text, site)
    }

    /// For a test of the sign the instruction itself says when it is taken.
    fn sign_test(op: &Op) -> Option<bool> {
        match &*op.insn.mnemonic {
            "js" | "jl" | "tbnz" => Some(true),
            "jns" | "jge" | "tbz" => Some(false),
            _ => None,
        }
    }

    /// Every direction told must be the instruction's own. What share of the branches is told is
    /// held to what the shapes allow, so that the method does not decay unnoticed.
    #[test]
    fn directions_agree_with_the_sign_the_instruction_tests() {
        for cc in ["gcc", "clang-22", "aarch64-linux-gnu-gcc"] {
            let (mut told, mut seen) = (0, 0);
            for shape in SHAPES {
                for level in ["-O1", "-O2", "-O3", "-Os"] {
                    let (text, site) = unmark(shape);
                    let object = compile(cc, &[level, "-g", "-gz=none"], "x.c", &text);
                    let image = Image::parse(&object).unwrap();
                    let code = Code::new(&image).unwrap();
                    let lines = Lines::parse(&image, Path::new("/nowhere")).unwrap();
                    let files = lines.files_named(Path::new("/nowhere"), "x.c");
                    let anchors = anchors(text.as_bytes(), &site);
                    let wanted = Wanted { site, anchors, files };
                    let sites = Sites::new(&code, &lines, &wanted);
                    for branch in sites.branches().into_values().flatten() {
                        let op = code.parts[branch.part].op_at(branch.addr).unwrap();
                        let Some(truth) = sign_test(op) else { continue };
                        seen += 1;
                        told += usize::from(branch.taken_when.is_some());
                        let said = branch.taken_when.unwrap_or(truth);
                        assert_eq!(said, truth, "{cc} {level} {:x} {shape}", branch.addr);
                    }
                }
            }
            println!("{cc}: {told} of {seen} directions told");
            assert!(told * 10 >= seen * 9, "{cc}: {told} of {seen}");
        }
    }
}
