//! From counts to one condition's executions and truths, and how the direction is known.
//!
//! Five ways, the strongest first:
//! 1. the collector counted this very condition, both outcomes apart;
//! 2. the condition is a macro call, and the collector counted the one branch in its expansion;
//! 3. its operands are known, and their logic gives the whole;
//! 4. the lines around it were counted: the then-arm's first line runs as often as it is true, and
//!    the branches of GCC's own formats are told apart by where they lead ([`crate::infer`]);
//! 5. none: unknown.

use std::collections::HashMap;

use unlikely_profile::{BranchRegion, FileProfile, Pos, Profile, RegionKind};
use unlikely_source::{Logic, Site, SiteKind, Sites};

use crate::infer::Inference;
use crate::model::Polarity;

/// Executions of one condition under one workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Times evaluated.
    pub executed: u64,
    /// Times true.
    pub taken: u64,
    /// How the direction is known.
    pub polarity: Polarity,
    /// In words.
    pub reason: String,
}

/// A profile, arranged for look-ups by position.
#[derive(Debug)]
pub struct CountIndex<'p> {
    profile: &'p Profile,
    /// Macro call → regions in its expansion, with the file of the definition.
    expansions: HashMap<(&'p str, Pos), Vec<(&'p str, &'p BranchRegion)>>,
}

type Regions<'p> = HashMap<(Pos, Pos), Vec<&'p BranchRegion>>;

impl<'p> CountIndex<'p> {
    /// Arranges `profile`.
    pub fn new(profile: &'p Profile) -> Self {
        let mut expansions: HashMap<_, Vec<_>> = HashMap::new();
        for (path, file) in &profile.files {
            for region in &file.regions {
                if let Some(site) = &region.expanded_at {
                    let key = (site.file.as_str(), site.start);
                    expansions.entry(key).or_default().push((path.as_str(), region));
                }
            }
        }
        Self { profile, expansions }
    }

    /// The count of each site of `path`; `None` where nothing was measured.
    pub fn counts(&self, path: &str, sites: &Sites) -> Vec<Option<Count>> {
        let Some(file) = self.profile.files.get(path) else {
            return vec![None; sites.sites.len()];
        };
        let mut regions: Regions = HashMap::new();
        for region in &file.regions {
            regions.entry((region.start, region.end)).or_default().push(region);
        }
        let mut out: Vec<Option<Count>> = sites
            .sites
            .iter()
            .map(|site| self.direct(path, site, &regions).or_else(|| self.expanded(path, site)))
            .collect();
        // Operands follow their root, so backwards every operand is settled before its root.
        for i in (0..sites.sites.len()).rev() {
            if out[i].is_none() {
                out[i] = from_operands(sites.sites[i].logic, &out);
            }
        }
        // A collector that counts conditions counts lines by the text, too; GCC's own lines are
        // those that its optimiser left.
        let exact = file.arcs.is_empty() && !file.regions.is_empty();
        let inference = Inference::new(sites, file);
        for i in 0..out.len() {
            if out[i].is_none() {
                out[i] = match exact {
                    true => from_lines(sites, i, file),
                    false => inference.count(i, &out),
                };
            }
        }
        out
    }

    fn direct(&self, path: &str, site: &Site, regions: &Regions) -> Option<Count> {
        if site.kind == SiteKind::Case {
            return case(path, site, regions);
        }
        let at = |end| regions.get(&(pos(site.span.start), pos(end)));
        // Clang ends a condition at the name of a macro call that stands last in it.
        let found = at(site.span.end).or_else(|| at(site.name_end?))?;
        let found = found.iter().filter(|r| r.kind == RegionKind::Condition);
        // In a macro's body every expansion is one more execution of the same text.
        let (taken, other, calls) = found
            .filter(|r| r.expanded_at.is_some() == site.in_macro.is_some())
            .fold((0_u64, 0_u64, 0_usize), |(t, f, n), r| {
                (t.saturating_add(r.taken_true), f.saturating_add(r.taken_false), n + 1)
            });
        let reason = match (&site.in_macro, calls) {
            (_, 0) => return None,
            (None, _) => "both outcomes counted at this column".to_owned(),
            (Some(name), n) => format!("both outcomes counted in {n} expansions of {name}"),
        };
        known(taken, other, reason)
    }

    fn expanded(&self, path: &str, site: &Site) -> Option<Count> {
        let inside = self.expansions.get(&(path, pos(site.span.start)))?;
        let (_, first) = inside.first()?;
        let one = inside.iter().all(|(file, r)| {
            (*file, r.start, r.end) == (inside[0].0, first.start, first.end)
                && r.kind == RegionKind::Condition
        });
        let is_call = site.calls_macro.is_some() || site.hint.is_some();
        if !one || !is_call || site.logic != Logic::Leaf || site.in_macro.is_some() {
            return None;
        }
        let taken = inside.iter().fold(0_u64, |n, (_, r)| n.saturating_add(r.taken_true));
        let other = inside.iter().fold(0_u64, |n, (_, r)| n.saturating_add(r.taken_false));
        let name = site.text.split('(').next().unwrap_or_default().trim_start_matches('!');
        known(taken, other, format!("both outcomes counted in the expansion of {name}"))
    }
}

fn known(taken: u64, other: u64, reason: String) -> Option<Count> {
    let executed = taken.checked_add(other)?;
    Some(Count { executed, taken, polarity: Polarity::Known, reason })
}

fn case(_path: &str, site: &Site, regions: &Regions) -> Option<Count> {
    // A collector's region of a label starts where the label does; its end differs by version.
    let start = pos(site.span.start);
    let mut found = regions
        .iter()
        .filter(|((s, _), _)| *s == start)
        .flat_map(|(_, all)| all)
        .filter(|r| r.kind == RegionKind::Case && r.expanded_at.is_none());
    let region = found.next()?;
    known(region.taken_true, region.taken_false, "jumps to this label counted".to_owned())
}

fn from_operands(logic: Logic, counts: &[Option<Count>]) -> Option<Count> {
    let get = |i: usize| counts.get(i)?.as_ref();
    let (executed, taken, parts) = match logic {
        Logic::Leaf => return None,
        Logic::Same(a) => (get(a)?.executed, get(a)?.taken, vec![get(a)?]),
        Logic::Not(a) => (get(a)?.executed, get(a)?.executed - get(a)?.taken, vec![get(a)?]),
        Logic::And(a, b) => (get(a)?.executed, get(b)?.taken, vec![get(a)?, get(b)?]),
        Logic::Or(a, b) => {
            (get(a)?.executed, get(a)?.taken.checked_add(get(b)?.taken)?, vec![get(a)?, get(b)?])
        }
    };
    if parts.iter().any(|c| c.polarity == Polarity::Unknown) {
        return None;
    }
    let polarity = match parts.iter().all(|c| c.polarity == Polarity::Known) {
        true => Polarity::Known,
        false => Polarity::Inferred,
    };
    // Operands that contradict each other (counts lost in a race) say nothing.
    let consistent = taken <= executed;
    consistent.then(|| Count {
        executed,
        taken,
        polarity,
        reason: "from the counts of its operands".to_owned(),
    })
}

/// Where the lines are exact: the first statement of an arm, if it is a plain one on a line of its
/// own, runs as often as the condition comes out that way.
fn from_lines(sites: &Sites, i: usize, file: &FileProfile) -> Option<Count> {
    let site = &sites.sites[i];
    if !matches!(site.kind, SiteKind::If | SiteKind::ElseIf) || site.in_macro.is_some() {
        return None;
    }
    let line = site.span.start.line;
    let then = site.when_true.as_ref()?;
    // Other decisions on this line would share its count.
    let crowded = sites.sites.iter().enumerate().any(|(j, other)| {
        other.span.start.line == line && sites.root(j) != sites.root(i) && other.in_macro.is_none()
    });
    if crowded || then.start.line < line {
        return None;
    }
    let executed = *file.lines.get(&line)?;
    // An arm that starts on a line where other code stands shares its count.
    let own = |at: Option<u32>, after: u32| {
        at.filter(|at| *at > after).and_then(|at| file.lines.get(&at)).copied()
    };
    let taken = own(site.true_line, site.span.end.line);
    let other = own(site.false_line, then.end.line);
    let unknown = |why: &str| {
        Some(Count { executed, taken: 0, polarity: Polarity::Unknown, reason: why.to_owned() })
    };
    let taken = match (taken, other) {
        (Some(taken), Some(other)) if taken.checked_add(other) != Some(executed) => {
            return unknown("the counts of both arms do not add up to the condition's");
        }
        (Some(taken), _) => taken,
        (None, Some(other)) => executed.checked_sub(other)?,
        (None, None) => return unknown("neither arm starts with a measured line of its own"),
    };
    if taken > executed {
        return unknown("the then-arm ran more often than the condition");
    }
    Some(Count {
        executed,
        taken,
        polarity: Polarity::Inferred,
        reason: format!("counts of line {line} and of its arm's first statement"),
    })
}

fn pos(p: unlikely_source::Pos) -> Pos {
    Pos { line: p.line, column: p.column }
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
