//! The plots of one campaign, as SVG that inherits the page's fonts and colours.
//!
//! A and B differ in shape as well as in colour, and every plot carries a title and a description
//! for those who do not see it.

use maud::{Markup, html};
use unlikely_measure::{BenchReport, BlockRow, Direction};

use super::axis::{Axis, drawable, px};
use crate::evidence::WorkloadBench;
use crate::facts::{improvement, ratio_with_interval, valid_rows, verdict, workload};
use crate::figures::{Scale, arms, counted, exact, scale, signed};
use crate::text::{clip, clip_middle};

/// Blocks that are drawn; a caption states when there are more.
pub(crate) const BLOCKS_DRAWN_MAX: usize = 1_000;

const WIDTH: f64 = 460.0;
pub(super) const LEFT: f64 = 52.0;
pub(super) const RIGHT: f64 = 450.0;

/// An SVG with its title and description.
pub(super) fn figure(
    key: &str,
    height: f64,
    title: &str,
    description: &str,
    body: &Markup,
) -> Markup {
    let (title_id, description_id) = (format!("{key}-t"), format!("{key}-d"));
    html! {
        svg viewBox=(format!("0 0 {} {}", px(WIDTH), px(height))) role="img"
            aria-labelledby=(format!("{title_id} {description_id}")) {
            title id=(title_id) { (title) }
            desc id=(description_id) { (description) }
            (body)
        }
    }
}

pub(super) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> Markup {
    html! { line class=(class) x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) {} }
}

pub(super) fn label(class: &str, at: (f64, f64), anchor: &str, text: &str) -> Markup {
    html! { text class=(class) x=(px(at.0)) y=(px(at.1)) text-anchor=(anchor) { (text) } }
}

pub(super) fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// A's mark is a disc, B's a diamond; hollow where `hollow`.
pub(super) fn mark(arm: &str, at: (f64, f64), hollow: bool, tip: &str) -> Markup {
    let class = if hollow { format!("{arm} hollow") } else { arm.to_owned() };
    let (x, y) = at;
    if arm == "b" {
        let r = 3.9;
        let points = [(x, y - r), (x + r, y), (x, y + r), (x - r, y)]
            .map(|(x, y)| format!("{},{}", px(x), px(y)))
            .join(" ");
        html! { polygon class=(class) points=(points) { title { (tip) } } }
    } else {
        html! { circle class=(class) cx=(px(x)) cy=(px(y)) r="3.2" { title { (tip) } } }
    }
}

/// 100 · ln(B/A), where it can be drawn.
pub(super) fn log_percent(ratio: f64) -> Option<f64> {
    if ratio > 0.0 { drawable(ratio.ln() * 100.0) } else { None }
}

/// Ticks and grid of a horizontal axis below a plot, with its title.
pub(super) fn x_axis(axis: &Axis, top: f64, bottom: f64, title: &str) -> Markup {
    html! {
        @for (tick, text) in axis.ticks() {
            (line("grid", (axis.at(tick), top), (axis.at(tick), bottom)))
            (label("tick", (axis.at(tick), bottom + 15.0), "middle", &minus(&text)))
        }
        (label("axis", ((LEFT + RIGHT) / 2.0, bottom + 33.0), "middle", title))
    }
}

/// Each block's log-ratio in the order in which the blocks ran, with the zero line and the
/// interval of the mean; `None` where no block can be drawn.
pub(crate) fn blocks(report: &BenchReport, key: &str) -> Option<Markup> {
    const TOP: f64 = 12.0;
    const BOTTOM: f64 = 196.0;
    let rows: Vec<&BlockRow> = valid_rows(report).take(BLOCKS_DRAWN_MAX).collect();
    let points: Vec<_> = rows
        .iter()
        .enumerate()
        .filter_map(|(at, row)| Some((at + 1, row, log_percent(row.b / row.a)?)))
        .collect();
    points.first()?;
    let interval =
        report.ci95.map(log_percent).into_iter().collect::<Option<Vec<f64>>>().unwrap_or_default();
    let values = points.iter().map(|point| point.2).chain(interval.iter().copied()).chain([0.0]);
    let y = Axis::new(values, (BOTTOM, TOP))?;
    let x = Axis::new([0.5, rows.len() as f64 + 0.5], (LEFT, RIGHT))?;
    let title = "Every block in run order";
    let description = format!(
        "{}: B relative to A is {}.",
        counted(points.len() as u64, "block"),
        ratio_with_interval(report)
    );
    let body = html! {
        @if let [low, high] = interval[..] && report.blocks >= 2 {
            rect class="band" x=(px(LEFT)) y=(px(y.at(high))) width=(px(RIGHT - LEFT))
                height=(px((y.at(low) - y.at(high)).max(1.0))) {}
        }
        @for (tick, text) in y.ticks() {
            (line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick))))
            (label("tick", (LEFT - 6.0, y.at(tick) + 3.5), "end", &minus(&text)))
        }
        (line("zero", (LEFT, y.at(0.0)), (RIGHT, y.at(0.0))))
        @if let Some(mean) = log_percent(report.ratio) {
            (line("mean", (LEFT, y.at(mean)), (RIGHT, y.at(mean))))
        }
        @for (n, row, value) in &points {
            @let (arm, first) = if row.a_first { ("a", "A") } else { ("b", "B") };
            @let tip = format!("block {n}: {} %, {first} first", minus(&signed(*value, 2)));
            (mark(arm, (x.at(*n as f64), y.at(*value)), !row.a_first, &tip))
        }
        @for n in block_ticks(rows.len()) {
            (label("tick", (x.at(n as f64), BOTTOM + 15.0), "middle", &n.to_string()))
        }
        (label("axis", (LEFT, BOTTOM + 33.0), "start", "block, in run order"))
        (vertical_title((TOP + BOTTOM) / 2.0, "ln(B/A) × 100  (≈ %)"))
        (label("note", (RIGHT, BOTTOM + 33.0), "end", better_side(report.direction)))
    };
    Some(figure(key, 240.0, title, &minus(&description), &body))
}

fn vertical_title(middle: f64, text: &str) -> Markup {
    let turn = format!("translate(11 {}) rotate(-90)", px(middle));
    html! { text class="axis" transform=(turn) text-anchor="middle" { (text) } }
}

fn better_side(direction: Direction) -> &'static str {
    match direction {
        Direction::Higher => "above zero: B better",
        Direction::Lower => "below zero: B better",
    }
}

/// A few round block numbers, the first and the last among them.
fn block_ticks(n: usize) -> Vec<usize> {
    let step =
        [1, 2, 5, 10, 20, 50, 100, 200].into_iter().find(|step| n / step <= 8).unwrap_or(500);
    let mut ticks: Vec<usize> = (1..=n).filter(|i| i % step == 0).collect();
    if ticks.first() != Some(&1) && n > 0 && step > 1 {
        ticks.insert(0, 1);
    }
    ticks
}

/// Every run of both arms as a stack of marks, with the geometric mean and the middle half;
/// `None` where no run can be drawn.
pub(crate) fn distribution(report: &BenchReport, key: &str) -> Option<Markup> {
    const TOP: f64 = 12.0;
    const ROW: f64 = 92.0;
    const BOTTOM: f64 = TOP + 2.0 * ROW;
    let Scale { factor, unit } = scale(report);
    let rows: Vec<&BlockRow> = valid_rows(report).take(BLOCKS_DRAWN_MAX).collect();
    let shown = |value: f64| drawable(value * factor);
    let a: Vec<f64> = rows.iter().filter_map(|row| shown(row.a)).collect();
    let b: Vec<f64> = rows.iter().filter_map(|row| shown(row.b)).collect();
    let x = Axis::new(a.iter().chain(&b).copied(), (LEFT, RIGHT))?;
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let metric = clip(&crate::facts::metric(report), 40);
    let (mean_a, mean_b) = arms(report);
    let description = format!(
        "A: {} around {mean_a}. B: {} around {mean_b}.",
        counted(a.len() as u64, "run"),
        counted(b.len() as u64, "run")
    );
    let arms =
        [("a", &a, shown(report.a.geomean), TOP + ROW), ("b", &b, shown(report.b.geomean), BOTTOM)];
    let body = html! {
        (x_axis(&x, TOP, BOTTOM, &format!("{metric}{unit}")))
        @for (arm, values, mean, base) in arms {
            (line("base", (LEFT, base), (RIGHT, base)))
            (label("arm", (LEFT - 14.0, base - 8.0), "end", &arm.to_uppercase()))
            (strip(&x, arm, values, mean, base, ROW))
        }
    };
    Some(figure(key, BOTTOM + 44.0, "Every run of A and of B", &minus(&description), &body))
}

/// One arm's marks, stacked where they would overlap.
fn strip(x: &Axis, arm: &str, values: &[f64], mean: Option<f64>, base: f64, room: f64) -> Markup {
    const BIN: f64 = 8.0;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| sorted.get(sorted.len().saturating_sub(1) * quarters / 4);
    let mut heights = std::collections::BTreeMap::new();
    let mut places = Vec::with_capacity(sorted.len());
    for value in &sorted {
        let bin = (x.at(*value) / BIN).round() as i64;
        let height = heights.entry(bin).or_insert(0_usize);
        places.push((*value, bin as f64 * BIN, *height));
        *height += 1;
    }
    let tallest = heights.values().copied().max().unwrap_or(1).max(1);
    let spacing = ((room - 30.0) / tallest as f64).min(BIN);
    html! {
        @if let (Some(low), Some(high)) = (quartile(1), quartile(3)) {
            rect class=(format!("half {arm}")) x=(px(x.at(*low))) y=(px(base - 8.0)) height="5"
                width=(px((x.at(*high) - x.at(*low)).max(1.0))) {}
        }
        @if let Some(mean) = mean {
            (line(&format!("geomean {arm}"), (x.at(mean), base - room + 8.0), (x.at(mean), base)))
        }
        @for (value, place, height) in places {
            (mark(arm, (place, base - 15.0 - height as f64 * spacing), false, &exact(value)))
        }
    }
}

/// Every workload's estimate and interval on one scale, on which right of zero is better whatever
/// the metric's direction; `None` where none can be drawn.
pub(crate) fn forest(bench: &[WorkloadBench], key: &str) -> Option<Markup> {
    const TOP: f64 = 6.0;
    const ROW: f64 = 40.0;
    let rows: Vec<_> = bench
        .iter()
        .filter_map(|one| {
            let report = &one.report;
            let gain =
                |ratio: f64| log_percent(ratio).and_then(|_| improvement(ratio, report.direction));
            let ends = if report.blocks >= 2 {
                gain(report.ci95[0]).zip(gain(report.ci95[1]))
            } else {
                None
            };
            Some((one, gain(report.ratio)?, ends))
        })
        .collect();
    let ends = rows.iter().filter_map(|row| row.2).flat_map(|(low, high)| [low, high]);
    let estimates = rows.iter().map(|row| row.1);
    rows.first()?;
    let x = Axis::new(estimates.chain(ends).chain([0.0]), (12.0, RIGHT))?;
    let bottom = TOP + ROW * rows.len() as f64;
    let described: Vec<String> = rows
        .iter()
        .map(|(one, ..)| {
            format!(
                "{}: {}, {}",
                workload(one),
                ratio_with_interval(&one.report),
                verdict(one.report.verdict)
            )
        })
        .collect();
    let body = html! {
        (x_axis(&x, TOP, bottom, "improvement of B over A: |ln(B/A)| × 100, signed  (≈ %)"))
        @for (at, (one, estimate, ends)) in rows.iter().enumerate() {
            @let y = TOP + ROW * at as f64;
            (line("zero", (x.at(0.0), y + 18.0), (x.at(0.0), y + ROW - 4.0)))
            (label("row", (12.0, y + 13.0), "start", &clip_middle(&workload(one), 44)))
            (label("row verdict", (RIGHT, y + 13.0), "end", verdict(one.report.verdict)))
            @if let Some((low, high)) = ends {
                (line("whisker", (x.at(*low), y + 27.0), (x.at(*high), y + 27.0)))
                (line("whisker", (x.at(*low), y + 22.5), (x.at(*low), y + 31.5)))
                (line("whisker", (x.at(*high), y + 22.5), (x.at(*high), y + 31.5)))
            }
            rect class="estimate" width="7" height="7"
                x=(px(x.at(*estimate) - 3.5)) y=(px(y + 23.5)) {}
        }
        (label("note", (RIGHT, bottom + 46.0), "end", "B better →"))
        (label("note", (12.0, bottom + 46.0), "start", "← B worse"))
    };
    let title = "Improvement by workload, with 95 % intervals";
    Some(figure(key, bottom + 52.0, title, &minus(&described.join(". ")), &body))
}
