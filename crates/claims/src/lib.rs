//! Recomputes the figures of a published performance claim: prose in, findings out.
//!
//! A commit message or mail prints figures twice: measured ones, and what they are said to show.
//! [`audit`] finds both, recomputes the second from the first, and says of each claim whether it is
//! consistent, rounded, inconsistent or not recomputable, and why.
//!
//! An accusation must be right. So each stage gives up rather than guess: `mail` drops headers and
//! patches, `token` makes a figure only of what stands as one, `pair`, `label` and `said` find
//! measured figures and claims, `link` tells sure pairs from likely ones, and `judge` tries every usual
//! meaning of a claim before it calls it a contradiction. `perf`, `size` and `table` read what
//! programs print; `spread` says what runs and standard deviation allow to be seen.
//!
//! Text is untrusted: any bytes give a result, in time that grows with their number.

mod judge;
mod label;
mod link;
mod mail;
mod model;
mod number;
mod pair;
mod passage;
mod perf;
mod prose;
mod said;
mod size;
mod spread;
mod table;
mod token;
mod unit;
mod words;

pub use model::{Audit, Claim, Finding, Kind, Note, Precision, Reading, SCHEMA};

use std::collections::HashMap;

use mail::Line;
use perf::Found;

/// Audits one text: a commit message, a mail, a thread, a patch. It need not be UTF-8; only its
/// first 4 MiB are read.
#[must_use]
pub fn audit(text: &[u8]) -> Audit {
    let lines = mail::lines(text);
    let mut all = Found::default();
    for read in [perf::read, size::read, table::read] {
        take(read(&without(&lines, &all.lines)), &mut all);
    }
    let passages = passage::passages(&lines, &all.lines);
    let mut found = prose::read(&passages);
    all.claims.append(&mut found.claims);
    all.notes.append(&mut found.notes);
    all.claims.sort_by_key(|claim| claim.line);
    all.notes.sort_by_key(|note| note.line);
    Audit {
        schema: SCHEMA,
        claims: once(all.claims),
        precision: spread::read(&passages, found.effect.as_ref()),
        notes: all.notes,
    }
}

fn take(mut found: Found, all: &mut Found) {
    all.claims.append(&mut found.claims);
    all.notes.append(&mut found.notes);
    all.lines.append(&mut found.lines);
    all.lines.sort_unstable();
}

/// The lines with those that are `taken` emptied.
fn without(lines: &[Line], taken: &[u32]) -> Vec<Line> {
    lines
        .iter()
        .map(|line| match taken.binary_search(&line.number) {
            Ok(_) => Line { text: String::new(), ..*line },
            Err(_) => line.clone(),
        })
        .collect()
}

/// A claim that a quotation repeats is one claim.
fn once(claims: Vec<Claim>) -> Vec<Claim> {
    let mut kept: Vec<Claim> = Vec::new();
    let mut seen: HashMap<(Kind, String, String, String), usize> = HashMap::new();
    for claim in claims {
        let recomputed = claim.recomputed.clone().unwrap_or_default();
        let key = (claim.kind, claim.printed.clone(), recomputed, claim.excerpt.clone());
        match seen.get(&key).and_then(|at| kept.get_mut(*at)) {
            Some(first) if first.line != claim.line => first.repeated_on.push(claim.line),
            Some(_) => {}
            None => {
                seen.insert(key, kept.len());
                kept.push(claim);
            }
        }
    }
    kept
}
