//! Every place in a C file where control can go two ways, and what is known of it from the text.
//!
//! A *decision* (`if`, loop, `?:`) has one condition, its root site. A condition joined from
//! operands by `&&` and `||` has a site for each operand as well, since each is a branch of its
//! own. [`Logic`] says how a site's outcome follows from its operands', so that counts of operands
//! give the counts of the whole.
//!
//! Macro bodies are read too: the replacement text of a `#define` with parameters is parsed by
//! itself but in place, so its conditions have the positions that compilers report for them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::flow::{Call, Flow};
use crate::layout::{complement, count_ifs, defines, parse};
use crate::macros::MacroTable;
use crate::text::{Pos, Span};
use crate::walk::Walker;

/// What kind of decision a site belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// `if (…)`.
    If,
    /// `else if (…)`.
    ElseIf,
    /// `while (…)`.
    While,
    /// `do … while (…)`.
    DoWhile,
    /// The condition of `for`.
    For,
    /// The condition of `?:`.
    Ternary,
    /// An operand of `&&` or `||`.
    Operand,
    /// A `case` label.
    Case,
}

impl SiteKind {
    /// The name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::If => "if",
            Self::ElseIf => "else-if",
            Self::While => "while",
            Self::DoWhile => "do-while",
            Self::For => "for",
            Self::Ternary => "ternary",
            Self::Operand => "operand",
            Self::Case => "case",
        }
    }
}

/// How a site's outcome follows from other sites' (indices into [`Sites::sites`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logic {
    /// It is evaluated as one.
    Leaf,
    /// The opposite of another's.
    Not(usize),
    /// The same as another's (inside a hint).
    Same(usize),
    /// `a && b`.
    And(usize, usize),
    /// `a || b`.
    Or(usize, usize),
}

/// Why a hint cannot be written at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Barrier {
    /// The text around it did not parse.
    ParseError,
    /// A preprocessor directive lies inside the condition.
    Directive,
    /// It stands in the argument of a macro, which may repeat or quote it.
    MacroArgument(String),
    /// It is a `case` label.
    CaseLabel,
    /// The value must be a constant there (file scope, array bound, `case` expression).
    Constant,
    /// It is a constant (`while (1)`).
    Trivial,
}

/// A hint that already stands at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The name: `unlikely`, `__builtin_expect`, `[[unlikely]]`.
    pub spelling: String,
    /// The outcome that it promises for the whole condition.
    pub expect: bool,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The decision that it belongs to.
    pub kind: SiteKind,
    /// The condition, without the parentheses of the statement but with its own, as compilers
    /// report it.
    pub span: Span,
    /// Where a compiler that sees macros may end the condition: after the name of the call that
    /// stands last in it.
    pub name_end: Option<Pos>,
    /// The condition without any parentheses around it: what a hint goes around.
    pub bare: Range<usize>,
    /// Its text, bare, white space collapsed.
    pub text: String,
    /// The function around it.
    pub function: Option<String>,
    /// The macro whose body holds it.
    pub in_macro: Option<String>,
    /// How its outcome follows from its operands'.
    pub logic: Logic,
    /// The site that this one is an operand or the inside of.
    pub parent: Option<usize>,
    /// The code that runs when it is true, if it has text of its own.
    pub when_true: Option<Span>,
    /// The code that runs when it is false, if it has text of its own.
    pub when_false: Option<Span>,
    /// Where no text of its own runs when it is false: the statements after it in its block, if the
    /// true arm does not fall through to them.
    pub after: Option<Span>,
    /// The line (from 1) of the first statement of the true arm, if it is a plain one, which runs
    /// just once each time the arm is entered.
    pub true_line: Option<u32>,
    /// The same of the false arm.
    pub false_line: Option<u32>,
    /// The code may leave both arms only forwards (not a loop's condition).
    pub is_loop: bool,
    /// What stands around it, if it is the condition of a whole statement.
    pub flow: Flow,
    /// A hint that stands here already.
    pub hint: Option<Hint>,
    /// The macro that the condition is a call of, if the project defines such a macro and it is one
    /// branch at most.
    pub calls_macro: Option<String>,
    /// Why no hint can be written here.
    pub barrier: Option<Barrier>,
}

/// All sites of one file.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// In the order of the text, except that operands follow their root.
    pub sites: Vec<Site>,
    /// `if`s of the text, outside of macros, that no site was found for.
    pub ifs_missed: usize,
    /// Byte offsets of statements that are entered from elsewhere too, ascending.
    pub labels: Vec<usize>,
    /// Byte offsets of `return`, `goto`, `break` and `continue`, ascending.
    pub jumps: Vec<usize>,
    /// Calls of the functions that have sites, where each run of a plain statement makes just one.
    pub calls: Vec<Call>,
}

/// Finds the sites of `text`, recognising hint macros by `table`.
pub fn sites(text: &[u8], table: &MacroTable) -> Sites {
    let mut walker = Walker::new(text, table);
    let defines = defines(text);
    let outside = complement(&defines.iter().map(|d| d.line.clone()).collect::<Vec<_>>(), text);
    if let Some(tree) = parse(text, &walker.index, &outside) {
        walker.walk(&tree, None);
    }
    walker.name_functions(&defines);
    let is_if = |s: &&Site| matches!(s.kind, SiteKind::If | SiteKind::ElseIf);
    let found = walker.out.sites.iter().filter(is_if).count();
    walker.out.ifs_missed = count_ifs(text, &defines).saturating_sub(found);
    for define in defines {
        if let Some(tree) = parse(text, &walker.index, &[define.body]) {
            walker.walk(&tree, Some(&define.name));
        }
    }
    let named: HashSet<&str> =
        walker.out.sites.iter().filter_map(|s| s.function.as_deref()).collect();
    walker.out.calls.retain(|call| named.contains(call.callee.as_str()));
    walker.out.labels.sort_unstable();
    walker.out.jumps.sort_unstable();
    walker.out
}

impl Sites {
    /// The outermost site of the condition that `site` belongs to.
    pub fn root(&self, mut site: usize) -> usize {
        while let Some(parent) = self.sites.get(site).and_then(|s| s.parent) {
            site = parent;
        }
        site
    }

    /// Ordinals of sites with the same function and text, in file order: what keeps an identity
    /// stable when lines move.
    pub fn ordinals(&self) -> Vec<u32> {
        let mut seen: HashMap<(Option<&str>, &str, SiteKind), u32> = HashMap::new();
        self.sites
            .iter()
            .map(|site| {
                let key = (site.function.as_deref(), site.text.as_str(), site.kind);
                let next = seen.entry(key).or_default();
                *next += 1;
                *next - 1
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "sites_tests.rs"]
mod tests;
