//! Size tables: the output of `bloat-o-meter` and of `size`.
//!
//! Both are printed by programs, so a sum that does not come out means that the text was edited or
//! put together from two runs. A table that was cut is not summed.

use crate::judge::{Fit, Span, fit, signed_percent};
use crate::mail::Line;
use crate::model::{Claim, Finding, Kind, Note};
use crate::number;
use crate::perf::Found;
use crate::token::About;

/// "add/remove: 0/0 grow/shrink: 1/0 up/down: 12/0 (12)", and the rows below.
struct Bloat {
    line: u32,
    text: String,
    /// Functions added, removed, grown and shrunk.
    functions: u64,
    up: i64,
    down: i64,
    net: i64,
    /// Sum of the rows' increases, of their decreases, and their number.
    rows: (i64, i64, u64),
}

/// Reads the tables of a text.
pub(crate) fn read(lines: &[Line]) -> Found {
    let mut found = Found::default();
    let mut bloat: Option<Bloat> = None;
    let mut table = Table::None;
    let mut sections = Vec::new();
    for line in lines {
        let text = line.text.trim();
        if let Some(next) = summary(line.number, text) {
            close(bloat.take(), &mut found);
            found.lines.push(line.number);
            found.claims.push(net(&next));
            (bloat, table) = (Some(next), Table::None);
        } else if is_bloat_header(text) {
            found.lines.push(line.number);
            table = Table::Bloat;
        } else if is_size_header(text) {
            found.lines.push(line.number);
            table = Table::Size;
        } else if let Some(claims) = total(line.number, text, bloat.as_ref()) {
            found.lines.push(line.number);
            found.claims.extend(claims);
            close(bloat.take(), &mut found);
            table = Table::None;
        } else if let (Table::Bloat, Some((old, new, delta))) = (&table, bloat_row(text)) {
            found.lines.push(line.number);
            if let Some(bloat) = &mut bloat {
                let (up, down, rows) = bloat.rows;
                bloat.rows =
                    (up.saturating_add(delta.max(0)), down.saturating_add(delta.min(0)), rows + 1);
            }
            if new.checked_sub(old) != Some(delta) {
                let reason = format!("{new} − {old} is {:+}", new.saturating_sub(old));
                found.claims.push(claim(
                    line.number,
                    text,
                    format!("{delta:+}"),
                    Some(format!("{:+}", new.saturating_sub(old))),
                    Finding::Inconsistent,
                    reason,
                ));
            }
        } else if let (Table::Size, Some(row)) = (&table, size_row(text)) {
            found.lines.push(line.number);
            found.claims.push(size_sum(line.number, text, &row));
            sections.push((line.number, row));
        } else if !matches!(text, "" | "...") {
            table = Table::None;
        }
    }
    close(bloat, &mut found);
    if let [(_, before), (line, after)] = sections.as_slice()
        && before.text > 0
    {
        let change = (after.text as f64 / before.text as f64 - 1.0) * 100.0;
        let text = format!(
            "text {} to {}: {:+} bytes, {}",
            before.text,
            after.text,
            i128::from(after.text) - i128::from(before.text),
            signed_percent(change)
        );
        found.notes.push(Note { line: *line, text });
    }
    found
}

enum Table {
    None,
    Bloat,
    Size,
}

fn claim(
    line: u32,
    text: &str,
    printed: String,
    recomputed: Option<String>,
    finding: Finding,
    reason: String,
) -> Claim {
    Claim {
        kind: Kind::Size,
        line,
        repeated_on: Vec::new(),
        excerpt: text.to_owned(),
        printed,
        recomputed,
        finding,
        reason,
    }
}

fn summary(line: u32, text: &str) -> Option<Bloat> {
    let (_, rest) = text.split_once("add/remove: ")?;
    let (added, rest) = rest.split_once(" grow/shrink: ")?;
    let (grown, rest) = rest.split_once(" up/down: ")?;
    let (moved, net) = rest.trim().strip_suffix(')')?.split_once(" (")?;
    let two = |text: &str| -> Option<(i64, i64)> {
        let (one, other) = text.trim().split_once('/')?;
        Some((one.parse().ok()?, other.parse().ok()?))
    };
    let ((add, remove), (grow, shrink), (up, down)) = (two(added)?, two(grown)?, two(moved)?);
    let functions = [add, remove, grow, shrink]
        .iter()
        .try_fold(0_u64, |sum, n| sum.checked_add(u64::try_from(*n).ok()?))?;
    Some(Bloat {
        line,
        text: text.to_owned(),
        functions,
        up,
        down: -down.checked_abs()?,
        net: net.parse().ok()?,
        rows: (0, 0, 0),
    })
}

fn net(bloat: &Bloat) -> Claim {
    let sum = bloat.up.saturating_add(bloat.down);
    let (finding, reason) = if sum == bloat.net {
        (Finding::Consistent, format!("up {} and down {} give {sum}", bloat.up, bloat.down))
    } else {
        (Finding::Inconsistent, format!("up {} and down {} give {sum}", bloat.up, bloat.down))
    };
    claim(
        bloat.line,
        &bloat.text,
        format!("({})", bloat.net),
        Some(format!("({sum})")),
        finding,
        reason,
    )
}

/// Sums the rows, if none is missing.
fn close(bloat: Option<Bloat>, found: &mut Found) {
    let Some(bloat) = bloat else { return };
    let (up, down, rows) = bloat.rows;
    if rows == 0 || rows != bloat.functions {
        return;
    }
    let printed = format!("up/down {}/{}", bloat.up, bloat.down);
    let sums = format!("up/down {up}/{down}");
    let finding = if (up, down) == (bloat.up, bloat.down) {
        Finding::Consistent
    } else {
        Finding::Inconsistent
    };
    let reason = format!("the sum over {rows} rows");
    found.claims.push(claim(bloat.line, &bloat.text, printed, Some(sums), finding, reason));
}

fn is_bloat_header(text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    matches!(words.as_slice(), [_, "old", "new", "delta"])
}

/// "name  12  24  +12"; a function that was added or removed has a dash.
fn bloat_row(text: &str) -> Option<(i64, i64, i64)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, .., old, new, delta] = words.as_slice() else { return None };
    let count = |word: &str| if word == "-" { Some(0) } else { word.parse().ok() };
    Some((count(old)?, count(new)?, delta.parse().ok()?))
}

/// "Total: Before=50348, After=50275, chg -0.14%".
fn total(line: u32, text: &str, bloat: Option<&Bloat>) -> Option<Vec<Claim>> {
    let rest = text.strip_prefix("Total: Before=")?;
    let (before, rest) = rest.split_once(", After=")?;
    let (after, chg) = rest.split_once(", chg ")?;
    let (before, after): (i64, i64) = (before.parse().ok()?, after.parse().ok()?);
    let printed = number::read(chg.trim())?;
    let difference = after.checked_sub(before)?;
    let mut claims = Vec::new();
    if let Some(bloat) = bloat {
        let finding =
            if difference == bloat.net { Finding::Consistent } else { Finding::Inconsistent };
        let reason =
            format!("After − Before is {difference:+}, line {} prints ({})", bloat.line, bloat.net);
        claims.push(claim(
            line,
            text,
            format!("({})", bloat.net),
            Some(format!("{difference:+}")),
            finding,
            reason,
        ));
    }
    let mut chg = claim(
        line,
        text,
        chg.trim().to_owned(),
        None,
        Finding::NotRecomputable,
        "a ratio to zero says nothing".to_owned(),
    );
    if before > 0 {
        let value = difference as f64 / before as f64 * 100.0;
        let span = Span { value: value.abs(), low: value.abs(), high: value.abs() };
        let same_sign = printed.value == 0.0 || (printed.value > 0.0) == (difference > 0);
        (chg.finding, chg.reason) = match fit(&printed, None, About::Plain, span) {
            Some(Fit::Nearest) if same_sign => {
                (Finding::Consistent, "fits at the printed precision".to_owned())
            }
            Some(_) if same_sign => (Finding::Rounded, "not the nearest rounding".to_owned()),
            _ => (Finding::Inconsistent, format!("{difference:+} of {before}")),
        };
        chg.recomputed = Some(signed_percent(value));
    }
    claims.push(chg);
    Some(claims)
}

/// A row of `size`.
struct Sections {
    text: u64,
    data: u64,
    bss: u64,
    dec: u64,
    hex: u64,
}

fn is_size_header(text: &str) -> bool {
    text.split_whitespace().take(5).eq(["text", "data", "bss", "dec", "hex"])
}

fn size_row(text: &str) -> Option<Sections> {
    let mut words = text.split_whitespace();
    let mut next = || words.next()?.parse::<u64>().ok();
    let (text, data, bss, dec) = (next()?, next()?, next()?, next()?);
    let hex = u64::from_str_radix(words.next()?, 16).ok()?;
    Some(Sections { text, data, bss, dec, hex })
}

fn size_sum(line: u32, text: &str, row: &Sections) -> Claim {
    let sum = row.text.checked_add(row.data).and_then(|sum| sum.checked_add(row.bss));
    let (finding, reason) = if sum == Some(row.dec) && row.hex == row.dec {
        (Finding::Consistent, "text + data + bss, and the same in hex".to_owned())
    } else if sum == Some(row.dec) {
        (Finding::Inconsistent, format!("{} is {:x} in hex", row.dec, row.dec))
    } else {
        (Finding::Inconsistent, "text + data + bss is another sum".to_owned())
    };
    claim(
        line,
        text,
        format!("dec {}, hex {:x}", row.dec, row.hex),
        sum.map(|sum| format!("dec {sum}, hex {sum:x}")),
        finding,
        reason,
    )
}
