//! Rows of tables: two figures and the change between them.
//!
//! A header that names the arms tells which figure comes first ("old … new … delta", "| Before |
//! After |", the newest benchstat). Without one a row is believed if its figures fit, or if both
//! print the same unit. A column whose meaning no row bears out accuses nobody.

use crate::judge::{Arms, Measure, Said, Verdict, judge};
use crate::mail::Line;
use crate::model::{Claim, Finding, Kind as ClaimKind};
use crate::pair::{comparable, in_base, is_spread};
use crate::perf::Found;
use crate::token::{About, Kind, Token, tokens};
use crate::unit::{Better, Unit};
use crate::words::{Side, Way, metric, side};

/// Most bytes of a row.
const WIDTH_MAX: usize = 1000;

/// A row with its verdict.
struct Row {
    line: u32,
    text: String,
    printed: String,
    kind: ClaimKind,
    verdict: Verdict,
    /// Whether the order of its figures is known.
    sure: bool,
    /// Whether its figures print the same unit.
    unit: bool,
    /// Whether the change would fit if the figures stood the other way round.
    fits_turned: bool,
    /// Whether its printed sign is that of the change; `None` if there is none to compare.
    sign: Option<bool>,
}

/// What a header says.
#[derive(Default)]
struct Header {
    /// Whether the second arm stands first.
    turned: bool,
    /// Cells of the arms, from 0, for tables whose cells are marked.
    cells: Option<(usize, usize)>,
    /// Words of the arms, from 0, and the number of words: a row of as many words has one a column.
    words: Option<(usize, usize, usize)>,
    /// Whether a column holds the change.
    delta: bool,
    /// What that column is called.
    way: Option<Way>,
    /// Unit of both columns.
    unit: Option<Unit>,
    metric: Option<Better>,
}

/// Reads the tables of a text.
pub(crate) fn read(lines: &[Line]) -> Found {
    let mut found = Found::default();
    let mut header: Option<Header> = None;
    let mut rows: Vec<Row> = Vec::new();
    for line in lines {
        let text = line.text.as_str();
        // No table is that wide; a whole mail on one line is.
        if text.trim().is_empty() || text.len() > WIDTH_MAX {
            continue;
        }
        let parts = tokens(text);
        if let Some(next) = read_header(text, &parts) {
            finish(std::mem::take(&mut rows), &mut found);
            header = Some(next);
            continue;
        }
        let next = rows_of(line, &parts, header.as_ref());
        if !next.is_empty() {
            rows.extend(next);
        } else if !is_rule(text) && !is_tabular(text) {
            finish(std::mem::take(&mut rows), &mut found);
            header = None;
        } else if let (Some(header), Some(unit)) = (&mut header, column_unit(&parts)) {
            // The second header line of benchstat holds the unit.
            header.unit = Some(unit);
        }
    }
    finish(rows, &mut found);
    found
}

/// "|---|---:|", "-----", "goos: linux".
fn is_rule(text: &str) -> bool {
    text.trim().chars().all(|c| {
        matches!(c, '|' | '-' | '+' | ':' | '=' | ' ' | '─' | '┼' | '│' | '\t' | '\\' | '/')
    })
}

/// Marked cells, or more than one wide gap.
fn is_tabular(text: &str) -> bool {
    let text = text.trim();
    is_marked(text) || text.contains('\t') || text.contains("   ") || text.matches("  ").count() > 1
}

fn is_marked(text: &str) -> bool {
    text.contains('│') || text.matches('|').count() >= 2
}

fn cells(text: &str) -> Vec<&str> {
    text.trim().trim_matches(['|', '│']).split(['|', '│']).map(str::trim).collect()
}

const DELTAS: &[&str] = &[
    "delta",
    "change",
    "diff",
    "difference",
    "improvement",
    "speedup",
    "ratio",
    "gain",
    "vs",
    "increase",
    "chg",
    "reduction",
];

/// A line that names both arms, and holds no figures.
fn read_header(text: &str, parts: &[Token]) -> Option<Header> {
    if parts.iter().any(|t| t.number().is_some()) && !is_marked(text) || parts.len() > 40 {
        return None;
    }
    let is_delta = |t: &Token| t.is_word(DELTAS) || t.text == "%change";
    // "vs base" names no arm.
    let named = |parts: &[Token]| -> Vec<Side> {
        let vs = parts.iter().position(|t| t.is_word(&["vs"])).unwrap_or(parts.len());
        let parts = parts.get(..vs).unwrap_or_default();
        parts.iter().filter_map(side).collect()
    };
    let sides = named(parts);
    // A third word for an arm ("reads with cache  before  after") leaves the order open, unless
    // marked cells tell the columns.
    let turned = match sides.as_slice() {
        [Side::Before, Side::After] => false,
        [Side::After, Side::Before] => true,
        _ if is_marked(text) => false,
        _ => return None,
    };
    let mut header = Header { turned, ..Header::default() };
    if is_marked(text) {
        let of = |wanted: Side| {
            cells(text).iter().position(|cell| {
                let parts = tokens(cell);
                !parts.iter().any(is_delta) && named(&parts).first() == Some(&wanted)
            })
        };
        header.cells = Some((of(Side::Before)?, of(Side::After)?));
    } else if !is_tabular(text) && !parts.iter().any(is_delta) {
        // A sentence that speaks of before and after.
        return None;
    }
    let word = |wanted: Side| {
        text.split_whitespace().position(|w| named(&tokens(w)).first() == Some(&wanted))
    };
    header.words = word(Side::Before)
        .zip(word(Side::After))
        .map(|(before, after)| (before, after, text.split_whitespace().count()));
    header.way = parts.iter().find(|t| is_delta(t)).and_then(crate::words::way);
    header.delta = parts.iter().any(is_delta) || text.contains('%');
    header.unit = column_unit(parts);
    header.metric = parts.iter().find_map(metric);
    Some(header)
}

/// The one unit that a header names; "time/op" of the older benchstat has none.
fn column_unit(parts: &[Token]) -> Option<Unit> {
    let mut units = parts
        .iter()
        .filter(|t| t.kind == Kind::Word)
        .filter_map(|t| t.text.split(['(', ')', '[', ']']).find_map(Unit::read));
    let first = units.next()?;
    units.all(|unit| unit.key == first.key).then_some(first)
}

/// The changes that a line prints beside their figures.
fn rows_of(line: &Line, parts: &[Token], header: Option<&Header>) -> Vec<Row> {
    let text = line.text.as_str();
    if header.is_none() && !is_tabular(text) || parts.iter().any(|t| t.kind == Kind::Arrow) {
        return Vec::new();
    }
    let by_column = || {
        let (at, measure) = claimed(parts, header)?;
        let (before, after) = figures(text, parts, at, header?)?;
        Some(Cells { before, after, at, measure, last: None })
    };
    let cells = match by_column() {
        Some(cells) => vec![cells],
        None => neighbours(parts, header.is_some_and(|header| header.turned)),
    };
    let read = |cells: &Cells| {
        let first = row(line, parts, cells, header)?;
        // A third arm may be held against the first or against the second.
        let Some(last) = cells.last.filter(|_| !is_good(&first)) else { return Some(first) };
        let second = row(line, parts, &Cells { before: last, ..*cells }, header)?;
        Some(if is_good(&second) { second } else { Row { sure: false, unit: false, ..first } })
    };
    cells.iter().filter_map(read).collect()
}

/// Indices of two figures and of the change between them.
struct Cells {
    before: usize,
    after: usize,
    at: usize,
    measure: Measure,
    /// The figure of the arm before the last, where that is another than the first.
    last: Option<usize>,
}

/// Figures side by side with signed percentages: "X Y +P% Z +Q%", both against X, and "X +P% Y".
fn neighbours(parts: &[Token], turned: bool) -> Vec<Cells> {
    let mut found = Vec::new();
    let mut figures: Vec<usize> = Vec::new();
    let (mut base, mut previous, mut between, mut depth) = (None, None, None, 0_u32);
    for (at, token) in parts.iter().enumerate() {
        match &token.kind {
            Kind::Sign('(' | '[') => depth += 1,
            Kind::Sign(')' | ']') => depth = depth.saturating_sub(1),
            _ if depth > 0 || is_spread(parts, at) => {}
            Kind::PlusMinus | Kind::Sign('|' | '│' | '~') => {}
            Kind::Number(number) if token.percent && number.signed => {
                let (before, after, last) = match figures.as_slice() {
                    [.., one, other] => (Some(*one), Some(*other), None),
                    [one] => (base, Some(*one), previous),
                    [] => (None, None, None),
                };
                previous = after;
                if let (Some(before), Some(after)) = (before, after) {
                    let (before, after) = if turned { (after, before) } else { (before, after) };
                    found.push(Cells { before, after, at, measure: Measure::Percent, last });
                    base = Some(before);
                }
                between = figures
                    .first()
                    .copied()
                    .filter(|_| figures.len() == 1 && base.is_none())
                    .zip(Some(at));
                figures.clear();
            }
            Kind::Number(number) if !token.percent && !number.signed => {
                if let Some((before, claim)) = between.take() {
                    found.push(Cells {
                        before,
                        after: at,
                        at: claim,
                        measure: Measure::Percent,
                        last: None,
                    });
                }
                figures.push(at);
            }
            _ => {
                figures.clear();
                (base, previous, between) = (None, None, None);
            }
        }
    }
    found
}

fn row(line: &Line, parts: &[Token], cells: &Cells, header: Option<&Header>) -> Option<Row> {
    let Cells { before, after, at, measure, .. } = *cells;
    let (one, other) = (parts.get(before)?, parts.get(after)?);
    if !comparable(one, other) || one.unit.is_some() != other.unit.is_some() {
        return None;
    }
    let token = parts.get(at)?;
    let number = match &token.kind {
        Kind::Number(number) | Kind::Factor(number) => number.clone(),
        _ => return None,
    };
    let unit = one.unit.as_ref().or(header.and_then(|header| header.unit.as_ref()));
    let better = unit.and_then(|unit| unit.better).or(header.and_then(|header| header.metric));
    let arms = Arms {
        before: in_base(one.number()?, one.unit.as_ref()),
        after: in_base(other.number()?, other.unit.as_ref()),
        better,
        better_sure: false,
        percent: one.percent,
        ordered: true,
    };
    let named = header.and_then(|header| header.way);
    let way = match named {
        Some(Way::Better | Way::Worse) => named,
        _ if number.signed => Some(Way::Changed),
        named => named,
    };
    let spread = parts.iter().any(|t| t.kind == Kind::PlusMinus);
    let sure = header.is_some() || spread;
    let said = Said { number, to: None, about: About::Plain, way, measure, scale: 1.0 };
    Some(Row {
        line: line.number,
        text: line.text.trim().to_owned(),
        printed: token.text.clone(),
        kind: if measure == Measure::Factor { ClaimKind::Factor } else { ClaimKind::Percent },
        verdict: judge(&arms, &said),
        sure,
        unit: one.unit.is_some(),
        fits_turned: is_agreed(&judge(&turned(&arms), &said)),
        sign: sign(&arms, &said),
    })
}

/// The figures the other way round.
fn turned(arms: &Arms) -> Arms {
    Arms { before: arms.after.clone(), after: arms.before.clone(), ..arms.clone() }
}

/// Whether the printed sign is that of the change.
fn sign(arms: &Arms, said: &Said) -> Option<bool> {
    let change = arms.after.value - arms.before.value;
    let printed = said.number.value;
    (said.number.signed && change != 0.0 && printed != 0.0)
        .then_some((change > 0.0) == (printed > 0.0))
}

/// The claimed change of a row: its last percentage that is no spread, or factor, or difference.
fn claimed(parts: &[Token], header: Option<&Header>) -> Option<(usize, Measure)> {
    let of_kind = |wanted: &dyn Fn(&Token) -> bool| {
        (0..parts.len()).rev().find(|&at| {
            parts.get(at).is_some_and(wanted) && !is_spread(parts, at) && !is_argument(parts, at)
        })
    };
    let signed = of_kind(&|t| t.percent && t.number().is_some_and(|n| n.signed));
    if let Some(at) = signed {
        return Some((at, Measure::Percent));
    }
    header.filter(|header| header.delta)?;
    // "17 % of the run time" is a share of something else.
    let share = |at: usize| parts.get(at + 1).is_some_and(|t| t.is_word(&["of"]));
    if let Some(at) = of_kind(&|t| t.percent && t.number().is_some()).filter(|at| !share(*at)) {
        return Some((at, Measure::Percent));
    }
    of_kind(&|t| matches!(t.kind, Kind::Factor(_))).map(|at| (at, Measure::Factor))
}

/// "p=0.016", "n=5".
fn is_argument(parts: &[Token], at: usize) -> bool {
    matches!(parts.get(..at), Some([.., last]) if last.kind == Kind::Sign('='))
}

/// Indices of the first and second figure.
fn figures(text: &str, parts: &[Token], claim: usize, header: &Header) -> Option<(usize, usize)> {
    if let Some((before, after)) = header.cells.filter(|_| is_marked(text)) {
        return Some((in_cell(text, parts, before, claim)?, in_cell(text, parts, after, claim)?));
    }
    let plain: Vec<usize> = (0..parts.len())
        .filter(|&at| {
            at != claim
                && parts.get(at).is_some_and(|t| t.figure().is_some_and(|n| !n.signed))
                && !is_spread(parts, at)
                && !is_argument(parts, at)
        })
        .collect();
    let [one, other] = plain.as_slice() else {
        let (before, after, count) = header.words?;
        let starts: Vec<usize> = words(text).collect();
        let at = |word: usize| {
            let start = *starts.get(word)?;
            plain.iter().copied().find(|&at| parts.get(at).is_some_and(|t| t.start == start))
        };
        return (starts.len() == count).then(|| at(before).zip(at(after)))?;
    };
    Some(if header.turned { (*other, *one) } else { (*one, *other) })
}

/// Where the words of a line begin.
fn words(text: &str) -> impl Iterator<Item = usize> {
    let mut last = ' ';
    text.char_indices().filter_map(move |(at, c)| {
        let opens = last.is_whitespace() && !c.is_whitespace();
        last = c;
        opens.then_some(at)
    })
}

/// The first figure of a marked cell.
fn in_cell(text: &str, parts: &[Token], cell: usize, claim: usize) -> Option<usize> {
    let trimmed = text.trim_start().trim_start_matches(['|', '│']);
    let offset = text.len() - trimmed.len();
    let mut start = offset;
    let mut found = None;
    for (index, piece) in trimmed.split(['|', '│']).enumerate() {
        let end = start + piece.len();
        if index == cell {
            found = (0..parts.len()).find(|&at| {
                at != claim
                    && parts
                        .get(at)
                        .is_some_and(|t| t.start >= start && t.end <= end && t.number().is_some())
            });
        }
        let mark = text.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        start = end + mark;
    }
    found
}

fn is_good(row: &Row) -> bool {
    is_agreed(&row.verdict)
}

fn is_agreed(verdict: &Verdict) -> bool {
    matches!(verdict.finding, Finding::Consistent | Finding::Rounded)
}

/// Keeps what a table bears out.
fn finish(rows: Vec<Row>, found: &mut Found) {
    let fits = rows.iter().filter(|row| is_good(row)).count();
    let misfits = rows.len() - fits;
    let plain = rows.iter().any(|row| is_good(row) && row.sign == Some(true));
    for mut row in rows {
        let most = fits > 3 * misfits;
        let believed = if row.sure {
            fits > 0 || misfits == 1 && !row.fits_turned
        } else {
            row.unit && fits > misfits || fits >= 3 && most
        };
        if !is_good(&row) && !believed {
            if !row.sure {
                continue;
            }
            row.verdict.finding = Finding::NotRecomputable;
            row.verdict.reason = format!(
                "no row of the table bears out what its columns mean; {}",
                row.verdict.reason
            );
        }
        if is_good(&row) && plain && row.sign == Some(false) {
            row.verdict.finding = Finding::Inconsistent;
            row.verdict.reason =
                "against the printed sign, which other rows use as it is".to_owned();
        }
        found.lines.push(row.line);
        found.claims.push(Claim {
            kind: row.kind,
            line: row.line,
            repeated_on: Vec::new(),
            excerpt: row.text.split_whitespace().collect::<Vec<_>>().join(" "),
            printed: row.printed,
            recomputed: row.verdict.recomputed,
            finding: row.verdict.finding,
            reason: row.verdict.reason,
        });
    }
}
