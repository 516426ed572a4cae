//! The page of `unlikely reproduce`: the table, what was published beside what was measured as a plot,
//! and for each experiment its processes and its machine code.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::axis::{Axis, px};
use super::plot::{LEFT, RIGHT, figure, label, line, log_percent, mark, minus, x_axis};
use super::{POLICY, STYLE, chip, code, fig};
use crate::figures::{UNKNOWN, bytes_change, count, date, signed};
use crate::reproduce::{Measured, PublishedClaim, ReproduceVerdict, Reproduced, Reproduction};
use crate::terminal_reproduce::{
    as_time, audited, change, further, hot_path, printed, recomputed, text_change, text_verdict,
    words,
};
use crate::text::{clip_middle, prose, sentence};

/// Units that are drawn of a comparison; a caption says when there are more.
const UNITS_DRAWN_MAX: usize = 400;

/// The whole record as a single HTML file: no scripts, nothing loaded, all input escaped.
pub fn reproduce_html(record: &Reproduction) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Published and measured" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    p class="eyebrow" { "Published experiments, repeated · " (date(record.started_unix_s)) }
                    h1 { "Published and measured" }
                    p class="soft" { (prose(&record.machine)) " · " (prose(&record.mode))
                        @if record.mode == "smoke" { ": its figures mean nothing" } }
                }
                main {
                    (table(&record.experiments))
                    @if let Some(forest) = forest(&record.experiments) {
                        figure class="forest" {
                            (forest)
                            figcaption { "Square: measured here. Whiskers: 95\u{a0}% interval. Diamond: "
                                "what the published figures give. Left of zero is faster." }
                        }
                    }
                    @for (at, one) in record.experiments.iter().enumerate() { (section(at, one)) }
                    @if !record.warnings.is_empty() {
                        section { h2 { "Warnings" }
                            @for warning in &record.warnings { p { (prose(warning)) } } }
                    }
                }
                footer {
                    (prose(&record.tool)) " · record " code { (prose(&record.schema)) }
                    " · every figure here is in that record"
                }
            }
        }
    };
    page.into_string()
}

fn tone(verdict: ReproduceVerdict) -> &'static str {
    match verdict {
        ReproduceVerdict::Faster => "good",
        ReproduceVerdict::Slower => "bad",
        ReproduceVerdict::Inconclusive => "warn",
        ReproduceVerdict::Equivalent | ReproduceVerdict::SameMachineCode => "dim",
    }
}

fn table(experiments: &[Reproduced]) -> Markup {
    html! {
        p class="soft" { "Printed: as published. Recomputed: from the figures that were published with it. "
            "The rest is change of the time of one operation, or of the text: below zero is faster, or "
            "smaller." }
        div class="scroll wide claims" {
            table {
                thead { tr {
                    th { "Experiment" } th class="n" { "Printed" } th class="n" { "Recomputed" }
                    th class="n" { "As time" } th class="n" { "Measured" }
                    th class="n" { "95\u{a0}% CI" } th class="n" { "n" } th { "Verdict" }
                } }
                tbody { @for one in experiments { (rows(one)) } }
            }
        }
    }
}

/// The row of the claim, those of what else was published, and that of the size of the text.
fn rows(one: &Reproduced) -> Markup {
    html! {
        (row(html! { strong { (prose(&one.name)) } small { (prose(&one.title)) } }, &one.claim,
            &one.measured))
        @for (claim, measured) in further(one) {
            (row(html! { (prose(&measured.comparison)) small { (prose(&measured.title)) } }, claim,
                measured))
        }
        @if let Some(text) = &one.text_bytes {
            @let claim = one.text_claim.as_ref();
            @let percent = |value: Option<f64>| {
                value.map_or(UNKNOWN.to_owned(), |value| format!("{} %", signed(value, 2)))
            };
            tr {
                td { "text" small { (prose(&text.of)) } }
                td class="n" { (fig(&percent(claim.map(|claim| claim.printed_percent)))) }
                td class="n" { (fig(&percent(claim.map(|claim| claim.recomputed_percent)))) }
                td class="n" { (UNKNOWN) }
                td class="n" { strong { (fig(&text_change(text))) } }
                td class="n" { (UNKNOWN) }
                td class="n" { (UNKNOWN) }
                td { (fig(&text_verdict(text))) }
            }
        }
    }
}

fn row(name: Markup, claim: &PublishedClaim, measured: &Measured) -> Markup {
    let (change, interval) = change(measured);
    html! {
        tr {
            td { (name) }
            td class="n" { (fig(&printed(claim))) }
            td class="n" { (fig(&recomputed(claim))) }
            td class="n" { (fig(&as_time(claim))) }
            td class="n" { strong { (fig(&change)) } }
            td class="n" { (fig_words(&interval)) }
            td class="n" { (count(measured.n)) small { (count(measured.blocks)) " blocks" } }
            td { (chip(tone(measured.verdict), measured.verdict.words())) }
        }
    }
}

fn section(at: usize, one: &Reproduced) -> Markup {
    html! {
        section {
            h2 { (prose(&one.name)) ": " (prose(&one.title)) }
            dl class="method" {
                @for claim in std::iter::once(&one.claim).chain(&one.further_claims) {
                    dt { "Claim" } dd { (prose(&claim.text)) }
                    dt { "Where" } dd { (prose(&claim.source)) }
                    @for figure in &claim.audit { dt { "Audit" } dd { (audited(figure)) } }
                }
                @for measured in &one.comparisons {
                    dt { "Measured" } dd { (fig_words(&words(measured))) }
                }
                dt { "What n counts" } dd { (sentence(&one.measured.n_counts)) }
                @if let Some(text) = &one.text_bytes {
                    dt { "Text" }
                    dd { (prose(&text.of)) ": " (fig(&bytes_change(text.before, text.after))) }
                }
                @if let Some(code) = &one.code { dt { "Hot path" } dd { (hot_path(code)) } }
            }
            div class="plots" {
                @for (number, measured) in one.comparisons.iter().enumerate() {
                    @if let Some(plot) = units(measured, &format!("e{at}-{number}")) {
                        figure {
                            (plot)
                            figcaption { "One mark a unit. Solid line: no difference. Dashed line and "
                                "band: mean and its 95\u{a0}% interval."
                                @if measured.units.len() > UNITS_DRAWN_MAX {
                                    " The first " (count(UNITS_DRAWN_MAX as u64)) " are drawn."
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(pair) = &one.code && pair.before.instructions != pair.after.instructions {
                h4 { "Machine code of the hot path" }
                (code::beside(
                    (&prose(&pair.before.name), &pair.before.instructions),
                    (&prose(&pair.after.name), &pair.after.instructions),
                ))
            }
        }
    }
}

/// A name may hold a hyphen, so only a sign before a digit becomes a minus.
fn fig_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = '\0';
    while let Some(one) = chars.next() {
        let sign = one == '-'
            && [' ', '(', '…', '\0'].contains(&before)
            && chars.peek().is_some_and(char::is_ascii_digit);
        out.push(if sign { '−' } else { one });
        before = one;
    }
    out
}

/// Every claim beside what was measured of it, on one scale; `None` where nothing can be drawn.
fn forest(experiments: &[Reproduced]) -> Option<Markup> {
    const TOP: f64 = 6.0;
    const ROW: f64 = 46.0;
    let claims: Vec<(String, &PublishedClaim, &Measured)> = experiments
        .iter()
        .flat_map(|one| {
            let name = prose(&one.name);
            let more = further(one).map({
                let name = name.clone();
                move |(claim, of)| (format!("{name}, {}", prose(&of.comparison)), claim, of)
            });
            std::iter::once((name, &one.claim, &one.measured)).chain(more)
        })
        .collect();
    claims.first()?;
    let ends = |of: &Measured| of.ci95.into_iter().flatten().filter_map(log_percent);
    let values = claims.iter().flat_map(|(_, claim, of)| {
        ends(of).chain(log_percent(claim.time_ratio)).chain(of.ratio.and_then(log_percent))
    });
    let x = Axis::new(values.chain([0.0]), (12.0, RIGHT))?;
    let bottom = TOP + ROW * claims.len() as f64;
    let described: Vec<String> = claims
        .iter()
        .map(|(name, claim, of)| {
            let (change, interval) = change(of);
            format!("{name}: measured {change} ({interval}), published {}", as_time(claim))
        })
        .collect();
    let body = html! {
        (x_axis(&x, TOP, bottom, "time, after by before: ln(after/before) × 100  (≈ %)"))
        @for (at, (name, claim, of)) in claims.iter().enumerate() {
            @let y = TOP + ROW * at as f64;
            (line("zero", (x.at(0.0), y + 18.0), (x.at(0.0), y + ROW - 4.0)))
            (label("row", (12.0, y + 13.0), "start", &clip_middle(name, 44)))
            (label("row verdict", (RIGHT, y + 13.0), "end", of.verdict.words()))
            @if let [low, high] = ends(of).collect::<Vec<_>>()[..] {
                (line("whisker", (x.at(low), y + 25.0), (x.at(high), y + 25.0)))
                (line("whisker", (x.at(low), y + 20.5), (x.at(low), y + 29.5)))
                (line("whisker", (x.at(high), y + 20.5), (x.at(high), y + 29.5)))
            }
            @if let Some(estimate) = of.ratio.and_then(log_percent) {
                rect class="estimate" width="7" height="7"
                    x=(px(x.at(estimate) - 3.5)) y=(px(y + 21.5)) {}
            }
            @if let Some(published) = log_percent(claim.time_ratio) {
                @let tip = format!("published: {}", minus(&as_time(claim)));
                (mark("b", (x.at(published), y + 37.0), false, &tip))
            }
        }
        (label("note", (12.0, bottom + 46.0), "start", "← faster"))
        (label("note", (RIGHT, bottom + 46.0), "end", "slower →"))
    };
    let title = "Measured here and published, by claim";
    Some(figure("forest", bottom + 52.0, title, &minus(&described.join(". ")), &body))
}

/// Each unit's log-ratio in the order in which they ran; `None` where none can be drawn.
fn units(measured: &Measured, key: &str) -> Option<Markup> {
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 160.0;
    let points: Vec<(usize, f64)> = measured
        .units
        .iter()
        .take(UNITS_DRAWN_MAX)
        .enumerate()
        .filter_map(|(at, ratio)| Some((at + 1, log_percent(*ratio)?)))
        .collect();
    points.first()?;
    let interval: Vec<f64> = measured.ci95.into_iter().flatten().filter_map(log_percent).collect();
    let mean = measured.ratio.and_then(log_percent);
    let values = points.iter().map(|point| point.1).chain(interval.iter().copied()).chain([0.0]);
    let y = Axis::new(values, (BOTTOM, TOP))?;
    let x = Axis::new([0.5, points.len() as f64 + 0.5], (LEFT, RIGHT))?;
    let title = format!("Each unit of {}", prose(&measured.comparison));
    let body = html! {
        @if let [low, high] = interval[..] {
            rect class="band" x=(px(LEFT)) y=(px(y.at(high))) width=(px(RIGHT - LEFT))
                height=(px((y.at(low) - y.at(high)).max(1.0))) {}
        }
        @for (tick, text) in y.ticks() {
            (line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick))))
            (label("tick", (LEFT - 6.0, y.at(tick) + 3.5), "end", &minus(&text)))
        }
        (line("zero", (LEFT, y.at(0.0)), (RIGHT, y.at(0.0))))
        @if let Some(mean) = mean { (line("mean", (LEFT, y.at(mean)), (RIGHT, y.at(mean)))) }
        @for (number, value) in &points {
            @let tip = format!("{number}: {} %", minus(&signed(*value, 2)));
            (mark("a", (x.at(*number as f64), y.at(*value)), false, &tip))
        }
        (label("axis", (LEFT, BOTTOM + 20.0), "start",
            &format!("{}, in run order", clip_middle(&prose(&measured.comparison), 40))))
        (label("note", (RIGHT, BOTTOM + 20.0), "end", "below zero: faster; ln × 100  (≈ %)"))
    };
    Some(figure(key, BOTTOM + 30.0, &title, &minus(&words(measured)), &body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal_reproduce::tests::record;

    #[test]
    fn no_text_of_the_record_becomes_markup() {
        let page = reproduce_html(&record("<script>alert(\"x\")</script>'&\u{1b}\u{202e}"));
        assert!(page.matches("&lt;script&gt;").count() > 20, "{page}");
        assert!(!page.contains("<script") && !page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(!page.contains("=\"x\""), "{page}");
        assert!(page.contains("default-src 'none'"), "{page}");
    }

    #[test]
    fn the_page_has_a_plot_of_all_and_one_of_each_that_ran() {
        let page = reproduce_html(&record("name"));
        assert_eq!(page.matches("<svg").count(), 2, "{page}");
        assert_eq!(page.matches("<circle").count(), 6, "one mark a unit: {page}");
        assert_eq!(page.matches("<polygon").count(), 4, "one published figure a claim: {page}");
        assert!(page.contains("same machine code: not run") && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn figures_that_cannot_be_drawn_leave_a_page() {
        let mut record = record("name");
        for one in &mut record.experiments {
            one.measured.ratio = Some(f64::NAN);
            one.measured.ci95 = Some([0.0, f64::INFINITY]);
            one.comparisons[0].units = vec![-1.0, f64::NAN];
            one.claim.time_ratio = 0.0;
        }
        let page = reproduce_html(&record);
        assert!(page.ends_with("</html>") && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn a_hyphen_in_a_name_is_no_minus() {
        let mut measured = record("u32-1").experiments.remove(0).measured;
        measured.ratio = Some(0.9);
        let words = fig_words(&words(&measured));
        assert!(words.contains("u32-1") && words.contains(": −10"), "{words}");
    }
}
