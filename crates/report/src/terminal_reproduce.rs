//! What `unlikely reproduce` prints for people: one table of all experiments, then what stands behind
//! each of its rows.

use crate::figures::{
    UNKNOWN, bytes_change, count, date, decimal, difference as bytes, ratio_of, signed,
};
use crate::reproduce::{
    CodePair, Measured, PublishedClaim, ReproduceVerdict, Reproduced, Reproduction, TextBytes,
    difference,
};
use crate::screen::{Align, Screen, Tone};
use crate::text::{clean_code, clip, prose, sentence};

/// Lines of a difference in machine code that are printed; a remark says when there are more.
const CODE_LINES_MAX: usize = 40;
/// Columns that the table takes with its whole headings.
const WIDE: usize = 94;
/// Equal instructions beside a change that are printed.
const CONTEXT: usize = 1;

/// The table and its explanation on a page of at most `width` columns (at least 40).
pub fn reproduce_terminal(record: &Reproduction, width: usize, color: bool) -> String {
    let mut screen = Screen::new(width, color);
    screen.heading("Published and measured", &header(record));
    let narrow = width < WIDE;
    let head = [
        (if narrow { "" } else { "experiment" }, Align::Left),
        ("printed", Align::Right),
        (if narrow { "exact" } else { "recomputed" }, Align::Right),
        ("as time", Align::Right),
        (if narrow { "here" } else { "measured" }, Align::Right),
        ("95 %", Align::Right),
        ("n", Align::Right),
        ("verdict", Align::Left),
    ];
    let rows: Vec<_> = record.experiments.iter().flat_map(rows).collect();
    screen.table(&head, &rows);
    let names = if narrow { ["exact", "here"] } else { ["recomputed", "measured"] };
    let legend = format!(
        "printed: as published; {}: from the figures that were published with it; as time: the same as \
         change of the time that an operation takes; {}: that change on this machine. Below zero is \
         faster, or smaller.",
        names[0], names[1]
    );
    screen.paragraph(Tone::Faint, &legend, "  ", "  ");
    for one in &record.experiments {
        experiment(&mut screen, one);
    }
    if !record.warnings.is_empty() {
        screen.heading("Warnings", "");
        for warning in &record.warnings {
            screen.paragraph(Tone::Warn, &prose(warning), "  ", "    ");
        }
    }
    screen.finish()
}

fn header(record: &Reproduction) -> String {
    let smoke = if record.mode == "smoke" { ": its figures mean nothing" } else { "" };
    format!(
        "{}, {}{smoke}, from {}",
        prose(&record.machine),
        prose(&record.mode),
        date(record.started_unix_s)
    )
}

fn tone(verdict: ReproduceVerdict) -> Tone {
    match verdict {
        ReproduceVerdict::Faster => Tone::Good,
        ReproduceVerdict::Slower => Tone::Bad,
        ReproduceVerdict::Inconclusive => Tone::Warn,
        ReproduceVerdict::Equivalent | ReproduceVerdict::SameMachineCode => Tone::Faint,
    }
}

/// The row of the claim, those of what else was published, and that of the size of the text.
fn rows(one: &Reproduced) -> Vec<Vec<(String, Tone)>> {
    let mut rows = vec![row((prose(&one.name), Tone::Strong), &one.claim, &one.measured)];
    for (claim, measured) in further(one) {
        let name = (format!("  {}", prose(&claim.comparison)), Tone::Plain);
        rows.push(row(name, claim, measured));
    }
    rows.extend(text_row(one));
    rows
}

fn row(name: (String, Tone), claim: &PublishedClaim, measured: &Measured) -> Vec<(String, Tone)> {
    let (change, interval) = change(measured);
    vec![
        name,
        (printed(claim), Tone::Plain),
        (recomputed(claim), Tone::Plain),
        (as_time(claim), Tone::Plain),
        (change, Tone::Strong),
        (interval, Tone::Plain),
        (count(measured.n), Tone::Plain),
        (short(measured.verdict).to_owned(), tone(measured.verdict)),
    ]
}

/// Sizes are not drawn from anything: they have no interval and no n.
fn text_row(one: &Reproduced) -> Option<Vec<(String, Tone)>> {
    let text = one.text_bytes.as_ref()?;
    let claim = one.text_claim.as_ref();
    let of = |percent: Option<f64>| {
        let cell = percent.map_or(UNKNOWN.to_owned(), |value| format!("{} %", signed(value, 2)));
        (cell, Tone::Plain)
    };
    let unknown = || (UNKNOWN.to_owned(), Tone::Plain);
    Some(vec![
        ("  text".to_owned(), Tone::Plain),
        of(claim.map(|claim| claim.printed_percent)),
        of(claim.map(|claim| claim.recomputed_percent)),
        unknown(),
        (text_change(text), Tone::Strong),
        unknown(),
        unknown(),
        (text_verdict(text), Tone::Plain),
    ])
}

/// What else was published, each with what it is held against.
pub(crate) fn further(one: &Reproduced) -> impl Iterator<Item = (&PublishedClaim, &Measured)> {
    one.further_claims.iter().filter_map(|claim| {
        let measured = one.comparisons.iter().find(|of| of.comparison == claim.comparison)?;
        Some((claim, measured))
    })
}

/// The change of the size in percent.
pub(crate) fn text_change(text: &TextBytes) -> String {
    let change = (text.after as f64 / text.before as f64 - 1.0) * 100.0;
    if change.is_finite() { format!("{} %", signed(change, 2)) } else { UNKNOWN.to_owned() }
}

/// The change of the size in bytes.
pub(crate) fn text_verdict(text: &TextBytes) -> String {
    if text.before == text.after {
        return "same size".to_owned();
    }
    format!("{} bytes", bytes(text.before, text.after))
}

/// A verdict in a column's width; the lines below the table say it whole.
fn short(verdict: ReproduceVerdict) -> &'static str {
    if verdict == ReproduceVerdict::SameMachineCode { "same code" } else { verdict.words() }
}

/// The printed change in the published unit.
pub(crate) fn printed(claim: &PublishedClaim) -> String {
    claim.printed_percent.map_or_else(
        || "none".to_owned(),
        |value| {
            let decimals = if (value * 10.0).fract().abs() < 1e-9 { 1 } else { 2 };
            format!("{} %", signed(value, decimals))
        },
    )
}

/// The recomputed change in the published unit.
pub(crate) fn recomputed(claim: &PublishedClaim) -> String {
    format!("{} %", signed(claim.recomputed_percent, 2))
}

/// The recomputed change as one of time.
pub(crate) fn as_time(claim: &PublishedClaim) -> String {
    format!("{} %", signed((claim.time_ratio - 1.0) * 100.0, 2))
}

/// The measured change and its interval, rounded alike; dashes where nothing was run.
pub(crate) fn change(measured: &Measured) -> (String, String) {
    match (measured.ratio, measured.ci95) {
        (Some(ratio), Some(interval)) => {
            let shown = ratio_of(ratio, interval, measured.n);
            let short = |interval: String| interval.replace("\u{a0}% to ", "…");
            (shown.change, shown.interval.map_or_else(|| UNKNOWN.to_owned(), short))
        }
        _ => (UNKNOWN.to_owned(), UNKNOWN.to_owned()),
    }
}

fn experiment(screen: &mut Screen, one: &Reproduced) {
    screen.heading(&prose(&one.name), &prose(&one.title));
    for claim in std::iter::once(&one.claim).chain(&one.further_claims) {
        screen.field("  claim", &prose(&claim.text));
        screen.field("  where", &prose(&claim.source));
        for figure in &claim.audit {
            screen.field("  audit", &audited(figure));
        }
    }
    for measured in &one.comparisons {
        screen.field("  measured", &words(measured));
    }
    screen.field("  n counts", &sentence(&one.measured.n_counts));
    if let Some(text) = &one.text_bytes {
        let what = format!("{}: {}", prose(&text.of), bytes_change(text.before, text.after));
        screen.field("  text", &what);
    }
    if let Some(code) = &one.code {
        screen.field("  hot path", &hot_path(code));
        assembly(screen, code);
    }
}

/// What became of a printed figure.
pub(crate) fn audited(figure: &crate::reproduce::AuditedFigure) -> String {
    let recomputed = figure.recomputed.as_deref().unwrap_or(UNKNOWN);
    format!(
        "printed {}, recomputed {}: {} ({})",
        prose(&figure.printed),
        prose(recomputed),
        prose(&figure.finding),
        prose(&figure.reason)
    )
}

/// A comparison in one sentence.
pub(crate) fn words(measured: &Measured) -> String {
    let title = match prose(&measured.title) {
        none if none.is_empty() => none,
        title => format!(": {title}"),
    };
    let name = format!("{}{title}", prose(&measured.comparison));
    let (Some(_), Some([before, after])) = (measured.ratio, measured.ns) else {
        return format!("{name}: {}", measured.verdict.words());
    };
    let (change, interval) = change(measured);
    let rate = measured.rate.as_ref().map_or_else(String::new, |rate| {
        format!(", {} → {} {}", decimal(rate.before, 0), decimal(rate.after, 0), prose(&rate.unit))
    });
    format!(
        "{name}: {} {} ns, {} {} ns per {}{rate}: {change} ({interval}), {}{}; n = {}, {} blocks",
        prose(&measured.before),
        time(before),
        prose(&measured.after),
        time(after),
        prose(&measured.operation),
        measured.verdict.words(),
        hidden(measured),
        count(measured.n),
        count(measured.blocks),
    )
}

/// Why an interval on one side of zero makes no claim, where that is so.
fn hidden(measured: &Measured) -> String {
    let beside = |[low, high]: [f64; 2]| low > 1.0 || high < 1.0;
    match (measured.ratio, measured.ci95, measured.claim_ci95) {
        (Some(ratio), Some(ci), Some(claim))
            if measured.verdict == ReproduceVerdict::Inconclusive && beside(ci) =>
        {
            if beside(claim) {
                return " (so few units make no claim)".to_owned();
            }
            let shown = ratio_of(ratio, claim, measured.n).interval;
            let shown = shown.unwrap_or_else(|| UNKNOWN.to_owned());
            format!(
                " (with the exact ranks, and what the baseline shows against itself: {})",
                shown.replace("\u{a0}% to ", "…")
            )
        }
        _ => String::new(),
    }
}

/// A time with four digits or so.
fn time(ns: f64) -> String {
    let decimals = if ns < 10.0 {
        3
    } else if ns < 1000.0 {
        1
    } else {
        0
    };
    decimal(ns, decimals)
}

/// How far the hot path differs, in one sentence.
pub(crate) fn hot_path(code: &CodePair) -> String {
    let lines = difference(code);
    let of = |sign| lines.iter().filter(|line| line.0 == sign).count() as u64;
    let (before, after) = (&code.before, &code.after);
    let names = format!("{} → {}", prose(&before.name), prose(&after.name));
    if of('-') + of('+') == 0 {
        return format!(
            "{names}: the same {} instructions",
            count(before.instructions.len() as u64)
        );
    }
    format!(
        "{names}: {} → {} bytes, {} → {} branches, {} → {} calls; instructions: {} out, {} in",
        count(before.bytes),
        count(after.bytes),
        count(before.branches),
        count(after.branches),
        count(before.calls),
        count(after.calls),
        count(of('-')),
        count(of('+')),
    )
}

/// The changed lines, each with its neighbours.
fn assembly(screen: &mut Screen, code: &CodePair) {
    let lines = difference(code);
    let changed: Vec<usize> =
        lines.iter().enumerate().filter(|(_, line)| line.0 != ' ').map(|(at, _)| at).collect();
    let near = |at: usize| changed.iter().any(|one| one.abs_diff(at) <= CONTEXT);
    let shown: Vec<_> = lines.iter().enumerate().filter(|(at, _)| near(*at)).collect();
    let mut last = None;
    for (at, (sign, text)) in shown.iter().take(CODE_LINES_MAX) {
        if last.is_some_and(|last: usize| last + 1 < *at) {
            screen.line("      …");
        }
        last = Some(*at);
        let tone = match sign {
            '-' => Tone::Bad,
            '+' => Tone::Good,
            _ => Tone::Faint,
        };
        let text = clip(&format!("{sign} {}", clean_code(text)), screen.width.saturating_sub(6));
        let text = screen.paint(tone, &text);
        screen.line(&format!("      {text}"));
    }
    if shown.len() > CODE_LINES_MAX {
        let more = count((shown.len() - CODE_LINES_MAX) as u64);
        screen.line(&format!("      … {more} more lines: see --format html"));
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reproduce::{AuditedFigure, HotPath, REPRODUCE_SCHEMA, Rate, TextClaim};

    /// One experiment that ran and one with the same code on both sides; every text is `text`.
    pub(crate) fn record(text: &str) -> Reproduction {
        let text = || text.to_owned();
        let ran = Measured {
            comparison: text(),
            title: text(),
            operation: text(),
            before: text(),
            after: text(),
            ns: Some([4.0, 3.9]),
            rate: Some(Rate { unit: text(), before: 250_000.0, after: 256_410.26 }),
            ratio: Some(0.975),
            ci95: Some([0.97, 0.98]),
            claim_ci95: Some([0.96, 0.99]),
            p: Some(0.001),
            verdict: ReproduceVerdict::Faster,
            blocks: 24,
            n: 6,
            n_counts: text(),
            units: vec![0.975, 0.97, 0.98, 0.974, 0.976, 0.975],
        };
        let not_run = Measured {
            ns: None,
            rate: None,
            ratio: None,
            ci95: None,
            claim_ci95: None,
            p: None,
            verdict: ReproduceVerdict::SameMachineCode,
            blocks: 0,
            n: 0,
            units: vec![],
            ..ran.clone()
        };
        let path = |extra: &str| HotPath {
            name: text(),
            bytes: 8,
            branches: 1,
            calls: 0,
            instructions: vec!["ret".to_owned(), text(), extra.to_owned()],
        };
        let claim = PublishedClaim {
            comparison: text(),
            text: text(),
            source: text(),
            printed_percent: Some(0.6),
            recomputed_percent: 0.607,
            time_ratio: 0.993_966,
            audit: vec![AuditedFigure {
                printed: text(),
                recomputed: Some(text()),
                finding: text(),
                reason: text(),
            }],
        };
        let further = PublishedClaim {
            printed_percent: None,
            recomputed_percent: 9.2966,
            time_ratio: 1.092_966,
            ..claim.clone()
        };
        let one = |measured: Measured| Reproduced {
            name: text(),
            title: text(),
            claim: claim.clone(),
            comparisons: vec![measured.clone()],
            measured,
            further_claims: vec![further.clone()],
            text_claim: Some(TextClaim {
                before: 1000,
                after: 992,
                printed_percent: 0.8,
                recomputed_percent: -0.8,
            }),
            text_bytes: Some(TextBytes { before: 1000, after: 996, of: text() }),
            code: Some(CodePair { before: path("jne +0x1"), after: path("je +0x2") }),
        };
        Reproduction {
            schema: REPRODUCE_SCHEMA.to_owned(),
            tool: text(),
            mode: text(),
            machine: text(),
            started_unix_s: 0,
            warnings: vec![text()],
            experiments: vec![one(ran), one(not_run)],
        }
    }

    /// The cells of the lines in which `what` stands.
    fn lines<'p>(page: &'p str, what: &str) -> Vec<&'p str> {
        page.lines().filter(|line| line.contains(what)).collect()
    }

    #[test]
    fn printed_recomputed_and_measured_stand_in_one_row() {
        for width in [80, 100, 120] {
            let page = crate::text::plain(&reproduce_terminal(&record("name"), width, false));
            let rows = lines(&page, "-2.5 %  ");
            for cell in ["+0.6 %", "+0.61 %", "-0.60 %", "-3.0…-2.0 %", " 6 ", "faster"] {
                assert!(rows[0].contains(cell), "{width}: {cell}: {page}");
            }
            for cell in ["  name", "none", "+9.30 %", "+9.30 %", "-3.0…-2.0 %", " 6 ", "faster"] {
                assert!(rows[1].contains(cell), "{width}: {cell}: {page}");
            }
            let text = lines(&page, "  text ")[0];
            for cell in ["+0.80 %", "-0.80 %", "-0.40 %", "-4 bytes"] {
                assert!(text.contains(cell), "{width}: {cell}: {page}");
            }
            let head = page.lines().nth(1).unwrap_or_default();
            assert_eq!(head.contains("recomputed"), width >= WIDE, "{page}");
        }
    }

    #[test]
    fn the_same_machine_code_is_a_verdict_and_shows_no_figure() {
        let page = reproduce_terminal(&record("name"), 100, false);
        assert!(page.contains("name: name: same machine code: not run"), "{page}");
        let rows = lines(&page, "same code");
        assert!(
            rows.len() == 2 && rows.iter().all(|row| row.matches(UNKNOWN).count() == 2),
            "{page}"
        );
    }

    #[test]
    fn a_rate_is_told_in_the_unit_of_the_claim() {
        let words = words(&record("name").experiments[0].measured);
        assert!(words.contains(", 250,000 → 256,410 name: -2.5"), "{words}");
    }

    #[test]
    fn an_interval_beside_zero_that_makes_no_claim_says_why() {
        let mut measured = record("name").experiments.remove(0).measured;
        assert!(!words(&measured).contains("against itself"));
        measured.claim_ci95 = Some([0.96, 1.01]);
        measured.verdict = ReproduceVerdict::Inconclusive;
        let words = crate::text::plain(&super::words(&measured));
        assert!(words.contains("against itself: -4.0…+1.0 %)"), "{words}");
        measured.claim_ci95 = measured.ci95;
        let words = super::words(&measured);
        assert!(words.contains("so few units"), "{words}");
    }

    #[test]
    fn the_difference_of_the_hot_path_shows_what_changed() {
        let page = reproduce_terminal(&record("name"), 100, false);
        assert!(page.contains("instructions: 1 out, 1 in"), "{page}");
        assert!(page.contains("      - jne +0x1\n      + je +0x2\n"), "{page}");
        assert!(!page.contains("        ret\n"), "far from the change: {page}");
    }

    #[test]
    fn control_characters_are_spelled_out_and_no_line_is_too_wide() {
        let page = reproduce_terminal(&record("a\u{1b}[2J\u{202e} b"), 80, false);
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
        for line in page.lines() {
            assert!(crate::text::columns(line) <= 80, "{line:?}");
        }
    }
}
