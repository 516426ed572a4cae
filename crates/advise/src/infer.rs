//! The direction of branches that were counted without one: GCC's.
//!
//! gcov counts the ways out of a line, not which of them is "true". What is known besides is the
//! text, how often each line ran, and, from the raw files, the line that each way leads to. At
//! `-O2` none of it can be trusted by itself: the optimiser merges statements, follows a flag past
//! the test that reads it, and answers conditions of inlined functions for good. So a direction is
//! only told from several facts that must all agree:
//!
//! 1. *Direction.* A way into the true arm is "true", a way into the false arm or to the statement
//!    that only the false outcome comes to is "false", and of two ways the other one follows.
//!    Where the ways' ends are not recorded, the line of an arm's first statement tells.
//! 2. *Equations.* The ways out add up to the executions of the line; each outcome equals the
//!    executions of its arm's first line; where both arms go on, the next statement runs as often
//!    as the condition.
//! 3. *Completeness.* Something that is not the branch itself runs as often as the condition: both
//!    arms together, the next statement, or what comes before it ([`Before`]). Else part of the
//!    executions may have gone another way, and the rest says nothing of the whole.
//!
//! Functions that were inlined anywhere are left out: copies whose outcome the compiler knew have
//! left no trace, and the ones that are left would speak for them.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

use unlikely_profile::{FileProfile, LineArcs};
use unlikely_source::{Before, Logic, Site, SiteKind, Sites, Span};

use crate::count::Count;
use crate::model::Polarity;

/// One file's counts and sites, arranged for look-ups by line.
pub(crate) struct Inference<'a> {
    sites: &'a Sites,
    file: &'a FileProfile,
    arcs: HashMap<u32, Vec<&'a LineArcs>>,
    /// Roots of the conditions on each line.
    roots: HashMap<u32, BTreeSet<usize>>,
    /// The root of each `if`, by the offset of its statement.
    statements: HashMap<usize, usize>,
    /// Functions of which copies were inlined into others.
    inlined: BTreeSet<&'a str>,
}

impl<'a> Inference<'a> {
    pub(crate) fn new(sites: &'a Sites, file: &'a FileProfile) -> Self {
        let mut this = Self {
            sites,
            file,
            arcs: HashMap::new(),
            roots: HashMap::new(),
            statements: HashMap::new(),
            inlined: BTreeSet::new(),
        };
        for arcs in &file.arcs {
            this.arcs.entry(arcs.line).or_default().push(arcs);
        }
        for (i, site) in sites.sites.iter().enumerate() {
            if site.in_macro.is_none() && site.kind != SiteKind::Case {
                this.roots.entry(site.span.start.line).or_default().insert(sites.root(i));
            }
            if let Some(statement) = &site.flow.statement {
                this.statements.insert(statement.bytes.start, i);
            }
        }
        this.inlined = sites.sites.iter().filter_map(|site| this.shows_inlined(site)).collect();
        this.inlined.extend(this.called_but_not_entered());
        this
    }

    /// Functions that were called more often than they were entered.
    fn called_but_not_entered(&self) -> Vec<&'a str> {
        let mut calls: HashMap<&str, u64> = HashMap::new();
        for call in &self.sites.calls {
            // On a decision's line other statements may run, too.
            if !self.roots.contains_key(&call.statement.start.line) {
                let sum = calls.entry(&call.callee).or_default();
                *sum = sum.saturating_add(self.executions(&call.statement).unwrap_or(0));
            }
        }
        let entered = |name: &str| {
            let of_name = self.file.functions.iter().filter(|f| f.name == name);
            of_name.fold(0_u64, |n, f| n.saturating_add(f.entered))
        };
        calls.into_iter().filter(|(name, calls)| *calls > entered(name)).map(|(n, _)| n).collect()
    }

    /// The site's function, if what was counted at the site is more than the function itself.
    fn shows_inlined(&self, site: &'a Site) -> Option<&'a str> {
        let function = site.function.as_deref().filter(|_| site.in_macro.is_none())?;
        let in_another = |way: &&LineArcs| way.function.as_deref().is_some_and(|f| f != function);
        let ways = self.arcs.get(&site.span.start.line).into_iter().flatten();
        if ways.copied().any(|way| in_another(&way)) {
            return Some(function);
        }
        // Before the function's first loop nothing can run more often than it is entered.
        let flow = &site.flow;
        if !flow.before.contains(&Before::Function) {
            return None;
        }
        let entered = self.file.functions.iter().find(|f| f.name == function)?.entered;
        let heads = flow.before.iter().filter_map(|before| match before {
            Before::Statement { head, .. } => Some(head),
            _ => None,
        });
        let straight = heads.chain([&site.span]).chain(&flow.next).filter(|_| !site.is_loop);
        straight
            .filter_map(|span| self.executions(span))
            .any(|executed| executed > entered)
            .then_some(function)
    }

    /// Executions and direction of the `if` with site `i`; `None` where nothing was measured.
    /// `known` has the counts of the sites before it.
    pub(crate) fn count(&self, i: usize, known: &[Option<Count>]) -> Option<Count> {
        let site = self.sites.sites.get(i)?;
        if !matches!(site.kind, SiteKind::If | SiteKind::ElseIf) || site.in_macro.is_some() {
            return None;
        }
        let executed = self.executions(&site.span)?;
        let inferred =
            |taken, reason| Count { executed, taken, polarity: Polarity::Inferred, reason };
        if executed == 0 {
            return Some(inferred(0, "its line never ran".to_owned()));
        }
        Some(match (Decision { all: self, i, site, known, executed }).taken() {
            Ok((taken, reason)) => inferred(taken, reason),
            Err(why) => Count { polarity: Polarity::Unknown, ..inferred(0, why.to_owned()) },
        })
    }
}

impl Inference<'_> {
    /// Executions of the first measured line of `span`.
    fn executions(&self, span: &Span) -> Option<u64> {
        self.file.lines.range(span.start.line..=span.end.line).next().map(|(_, n)| *n)
    }
}

/// Why a direction is not told.
type Untold = &'static str;

/// An `if`, and all that is known of it.
struct Decision<'a> {
    all: &'a Inference<'a>,
    i: usize,
    site: &'a Site,
    known: &'a [Option<Count>],
    /// Executions of the first measured line of the condition.
    executed: u64,
}

/// Executions of what the two outcomes lead to, where it was measured.
#[derive(Debug, Clone, Copy)]
struct Outcomes {
    /// Of the true arm's first line.
    when_true: Option<u64>,
    /// Of the false arm's, or of the statement after a true arm that leaves.
    when_false: Option<u64>,
    /// Of the statement that both outcomes come to.
    joined: Option<u64>,
}

impl Decision<'_> {
    fn taken(&self) -> Result<(u64, String), Untold> {
        if self.is_crowded() {
            return Err("another decision stands on the same line");
        }
        let ways: Vec<&LineArcs> =
            self.lines().filter_map(|line| self.all.arcs.get(&line)).flatten().copied().collect();
        if ways.is_empty() {
            return Err(
                "no branch was counted on its line: the compiler kept none, or the profile \
                        was made without branches",
            );
        }
        if !ways.iter().all(|w| self.is_own(w)) {
            return Err("it is in an inlined function, of which the compiler may have answered \
                        copies for good; -fno-early-inlining keeps them countable");
        }
        let outcomes = self.outcomes();
        let line = self.site.span.start.line;
        let (taken, other, reason) = match ways.iter().all(|w| !w.leads_to.is_empty()) {
            true => {
                let (taken, other) = self.by_destination(&ways)?;
                (taken, other, format!("where the branches of line {line} lead to"))
            }
            false => {
                let (taken, other) = self.by_lines(&ways, outcomes)?;
                (taken, other, format!("counts of line {line} and of the lines it leads to"))
            }
        };
        if taken.checked_add(other) != Some(self.executed) {
            return Err("its branches do not add up to the executions of its line");
        }
        self.check(outcomes, taken, other)?;
        Ok((taken, reason))
    }

    /// The lines that the condition stands on.
    fn lines(&self) -> RangeInclusive<u32> {
        self.site.span.start.line..=self.site.span.end.line
    }

    /// Whether branches of another condition would be taken for this one's.
    fn is_crowded(&self) -> bool {
        let roots = self.lines().filter_map(|line| self.all.roots.get(&line)).flatten();
        roots.into_iter().any(|root| *root != self.i)
    }

    /// Whether the branch is in the condition's own function, and that is the only copy.
    fn is_own(&self, way: &LineArcs) -> bool {
        let Some(function) = &self.site.function else { return false };
        let compiled = match &way.function {
            Some(name) => name == function,
            // A format that names no function with a branch lists those that were compiled.
            None => self.all.file.functions.iter().any(|f| f.name == *function),
        };
        compiled && !self.all.inlined.contains(function.as_str())
    }

    fn outcomes(&self) -> Outcomes {
        let last = self.site.span.end.line;
        let line = |at: Option<u32>| {
            at.filter(|at| *at > last).and_then(|at| self.all.file.lines.get(&at).copied())
        };
        let next = self.site.flow.next.as_ref().filter(|next| next.start.line > last);
        let next = next.and_then(|next| self.all.executions(next));
        let jumps = self.arms().iter().any(|arm| any_in(&self.all.sites.jumps, arm));
        Outcomes {
            when_true: line(self.site.true_line),
            when_false: match self.site.when_false {
                Some(_) => line(self.site.false_line),
                None => next.filter(|_| self.leaves()),
            },
            joined: next.filter(|_| !jumps),
        }
    }

    fn arms(&self) -> Vec<&Span> {
        self.site.when_true.iter().chain(&self.site.when_false).collect()
    }

    /// Whether the true arm never goes on to the next statement.
    fn leaves(&self) -> bool {
        self.site.after.is_some()
    }

    /// Both outcomes, from the lines that each branch leads to.
    fn by_destination(&self, ways: &[&LineArcs]) -> Result<(u64, u64), Untold> {
        if self.arms().iter().any(|arm| any_in(&self.all.sites.labels, arm)) {
            return Err("a label in its arm can be reached from elsewhere");
        }
        let lone = ways.len() == 1;
        let single = lone || self.site.logic == Logic::Leaf;
        let beside = lone && self.arm_on_condition();
        let (mut taken, mut other) = (0_u64, 0_u64);
        for way in ways {
            let ([a, b], [to_a, to_b]) = (way.taken.as_slice(), way.leads_to.as_slice()) else {
                return Err("a branch of its line goes more than two ways");
            };
            let (a, b) = (a.unwrap_or(0), b.unwrap_or(0));
            let (t, f) = match (self.end(*to_a), self.end(*to_b)) {
                (End::True, End::False | End::Next) => (a, b),
                (End::False | End::Next, End::True) => (b, a),
                // The arm stands beside the condition.
                (End::Condition, End::False | End::Next | End::Else) if beside => (a, b),
                (End::False | End::Next | End::Else, End::Condition) if beside => (b, a),
                // Of two ways the other one follows, unless the condition has more.
                (End::True, End::Else) | (End::Else | End::Next, End::False) if single => (a, b),
                (End::Else, End::True) | (End::False, End::Else | End::Next) if single => (b, a),
                (End::True, End::Condition) => (a, 0),
                (End::Condition, End::True) => (b, 0),
                (End::False, End::Condition) => (0, a),
                (End::Condition, End::False) => (0, b),
                (End::Condition, End::Condition) => (0, 0),
                _ => return Err("the lines its branches lead to do not tell them apart"),
            };
            taken = taken.checked_add(t).ok_or("its counts are beyond 64 bits")?;
            other = other.checked_add(f).ok_or("its counts are beyond 64 bits")?;
        }
        Ok((taken, other))
    }

    /// What a way that leads to `line` comes to.
    fn end(&self, line: Option<u32>) -> End {
        let Some(line) = line else { return End::Else };
        if self.lines().contains(&line) {
            return End::Condition;
        }
        let flow = &self.site.flow;
        let within = |part: &Option<Span>| part.as_ref().is_some_and(|s| on_lines(s, line));
        match (within(&self.site.when_true), within(&self.site.when_false), within(&flow.next)) {
            (true, true, _) if flow.arms_meet => End::Else,
            (_, true, _) => End::False,
            (true, false, false) => End::True,
            (false, false, true) if self.leaves() => End::False,
            (false, false, true) => End::Next,
            _ => End::Else,
        }
    }

    /// Whether the true arm, and it alone, stands on the condition's own last line.
    fn arm_on_condition(&self) -> bool {
        let last = self.site.span.end.line;
        self.site.when_false.is_none()
            && self.site.when_true.as_ref().is_some_and(|t| t.end.line == last)
            && self.site.flow.next.as_ref().is_some_and(|next| next.start.line > last)
    }

    /// Both outcomes, from the executions of the lines that they lead to.
    fn by_lines(&self, ways: &[&LineArcs], outcomes: Outcomes) -> Result<(u64, u64), Untold> {
        let (taken, other) = match (outcomes.when_true, outcomes.when_false) {
            (Some(taken), Some(other)) => (taken, other),
            (Some(taken), None) => (taken, self.executed.saturating_sub(taken)),
            (None, Some(other)) => (self.executed.saturating_sub(other), other),
            (None, None) => return Err("neither outcome leads to a measured line of its own"),
        };
        let both = outcomes.when_true.is_some() && outcomes.when_false.is_some();
        if let [one] = ways {
            let branch: Vec<u64> = one.taken.iter().map(|t| t.unwrap_or(0)).collect();
            if branch == [taken, other] || branch == [other, taken] {
                return Ok((taken, other));
            }
        }
        // The branches of joined operands are several; then both outcomes must be seen.
        if both && self.site.logic != Logic::Leaf {
            return Ok((taken, other));
        }
        Err("the branches of its line do not match the lines they lead to")
    }

    /// Holds the result against everything else that was measured.
    fn check(&self, outcomes: Outcomes, taken: u64, other: u64) -> Result<(), Untold> {
        let differs = |measured: Option<u64>, expected| measured.is_some_and(|n| n != expected);
        if differs(outcomes.when_true, taken) || differs(outcomes.when_false, other) {
            return Err("its branches do not match the executions of its arms");
        }
        // A true arm that ends in a call may never come back.
        let gone = outcomes.when_true.is_some() && outcomes.joined == Some(other);
        if differs(outcomes.joined, self.executed) && !gone {
            return Err("the statement after it did not run as often as it did");
        }
        let before = self.before();
        if differs(before, self.executed) {
            return Err("what leads to it did not run as often as it did");
        }
        let both_arms = outcomes.when_true.is_some() && outcomes.when_false.is_some();
        if !both_arms && outcomes.joined.is_none() && before.is_none() {
            return Err("nothing around it shows that all its executions were counted");
        }
        Ok(())
    }

    /// Executions of the nearest thing before it that was measured.
    fn before(&self) -> Option<u64> {
        for before in &self.site.flow.before {
            match before {
                Before::Function => {
                    let function = self.site.function.as_ref()?;
                    let of_name = self.all.file.functions.iter().find(|f| f.name == *function)?;
                    return Some(of_name.entered);
                }
                Before::Arm { site, outcome } => return self.outcome(*site, *outcome),
                Before::Statement { whole, head } => {
                    if any_in(&self.all.sites.labels, whole) {
                        return None;
                    }
                    if any_in(&self.all.sites.jumps, whole) {
                        return self.past(whole);
                    }
                    if let Some(n) = self.all.executions(head) {
                        return Some(n);
                    }
                }
            }
        }
        None
    }

    /// How often an `if` whose arm leaves goes on to what follows it.
    fn past(&self, statement: &Span) -> Option<u64> {
        let site = *self.all.statements.get(&statement.bytes.start)?;
        self.all.sites.sites.get(site)?.after.as_ref()?;
        self.outcome(site, false)
    }

    /// How often another decision came out so.
    fn outcome(&self, site: usize, outcome: bool) -> Option<u64> {
        let of = |taken: u64, other: u64| Some(if outcome { taken } else { other });
        if let Some(count) = self.known.get(site)?.as_ref() {
            return match count.polarity {
                Polarity::Unknown => None,
                _ => of(count.taken, count.executed.checked_sub(count.taken)?),
            };
        }
        // Loops are not proposed, but what their bodies start with can be checked against them.
        let site = self.all.sites.sites.get(site).filter(|s| s.is_loop)?;
        let line = site.span.start.line;
        let [way] = self.all.arcs.get(&line)?.as_slice() else { return None };
        let body = site.when_true.as_ref()?;
        let into = |to: &Option<u32>| to.is_some_and(|to| to != line && on_lines(body, to));
        match (way.taken.as_slice(), way.leads_to.as_slice()) {
            ([Some(a), Some(b)], [x, y]) if into(x) != into(y) => {
                if into(x) {
                    of(*a, *b)
                } else {
                    of(*b, *a)
                }
            }
            _ => None,
        }
    }
}

/// Where one way out of a line leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// To code that only the true outcome comes to.
    True,
    /// To code that only the false outcome comes to.
    False,
    /// To the statement after the decision, which both outcomes may come to.
    Next,
    /// To the condition's own lines: the next operand, most likely.
    Condition,
    /// Anywhere else, or the format does not say.
    Else,
}

fn on_lines(span: &Span, line: u32) -> bool {
    (span.start.line..=span.end.line).contains(&line)
}

fn any_in(sorted: &[usize], span: &Span) -> bool {
    let from = sorted.partition_point(|at| *at < span.bytes.start);
    sorted.get(from).is_some_and(|at| *at < span.bytes.end)
}

#[cfg(test)]
#[path = "infer_tests.rs"]
mod tests;
