//! Numbers as text, with no more digits than the data hold.
//!
//! A value is rounded at the place that its standard error supports. The place follows the rule of
//! the Particle Data Group's Review (introduction, section 5.3): take the error's three leading
//! digits; up to 354 it is given with two digits, above with one. Shares of rare outcomes come
//! from counts and are never rounded to zero or to all. Nothing here prints a NaN or an infinity:
//! [`UNKNOWN`] stands for what could not be computed.

use unlikely_measure::{ArmSummary, BenchReport};

use crate::text::{NBSP, clean, clip};

/// Stands for a number that could not be computed.
pub(crate) const UNKNOWN: &str = "–";

/// Smallest and largest power of ten at which a number is rounded.
const PLACES: std::ops::RangeInclusive<i32> = -9..=12;

/// A count with its thousands grouped: `204,936`.
pub(crate) fn count(n: impl Into<u128>) -> String {
    group(&n.into().to_string())
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// `n` and a noun in the number that fits: `1 block`, `2 blocks`.
pub(crate) fn counted(n: impl Into<u128>, noun: &str) -> String {
    let n = n.into();
    let plural = if n == 1 { "" } else { "s" };
    format!("{}{NBSP}{noun}{plural}", count(n))
}

/// A number with fixed decimals and grouped thousands; a zero carries no sign.
pub(crate) fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value.abs() >= 1e15 {
        return format!("{value:.3e}");
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if value < 0.0 && !zero { "-" } else { "" };
    format!("{sign}{}{rest}", group(whole))
}

/// As [`decimal`], with a plus sign before what is above zero.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = decimal(value, decimals);
    let positive = value > 0.0 && value.is_finite() && text.chars().any(|c| matches!(c, '1'..='9'));
    if positive { format!("+{text}") } else { text }
}

/// The power of ten at which a value with this error is rounded.
fn place(error: f64) -> i32 {
    let exponent = error.log10().floor();
    let leading = error / 10_f64.powf(exponent);
    let digits_after_first = if leading < 3.545 { 1.0 } else { 0.0 };
    let place = exponent - digits_after_first;
    if place.is_finite() {
        (place.clamp(-300.0, 300.0) as i32).clamp(*PLACES.start(), *PLACES.end())
    } else {
        0
    }
}

/// A value rounded at a power of ten.
fn at_place(value: f64, place: i32) -> String {
    let decimals = usize::try_from(-place).unwrap_or(0);
    if place > 0 {
        let step = 10_f64.powi(place);
        decimal((value / step).round() * step, 0)
    } else {
        decimal(value, decimals)
    }
}

/// A value of which nothing is known but itself, to three significant digits.
pub(crate) fn rough(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return decimal(value, 0);
    }
    let exponent = value.abs().log10().floor().clamp(-9.0, 300.0) as i32;
    at_place(value, (exponent - 2).min(0))
}

/// Part of a whole in percent, from counts: never rounded to none or all unless it is.
pub(crate) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return UNKNOWN.to_owned();
    }
    // Exact up to 2^53; beyond that the error is far below the digits shown.
    let percent = part as f64 / whole as f64 * 100.0;
    let text = match part {
        0 => "0".to_owned(),
        _ if part >= whole => decimal(percent, 0),
        _ if percent < 0.01 => "<0.01".to_owned(),
        _ if percent > 99.99 => ">99.99".to_owned(),
        _ if !(1.0..99.0).contains(&percent) => decimal(percent, 2),
        _ => decimal(percent, 1),
    };
    format!("{text}{NBSP}%")
}

/// `after` relative to `before` in signed percent, from counts; `None` where `before` is 0.
pub(crate) fn relative(before: u64, after: u64) -> Option<String> {
    if before == 0 {
        return None;
    }
    let percent = (after as f64 - before as f64) / before as f64 * 100.0;
    let text = match percent {
        0.0 => "no change".to_owned(),
        p if p.abs() < 0.01 => format!("{}<0.01{NBSP}%", if p < 0.0 { "-" } else { "+" }),
        p if p.abs() < 1.0 => format!("{}{NBSP}%", signed(p, 2)),
        p => format!("{}{NBSP}%", signed(p, 1)),
    };
    Some(text)
}

/// `1,204 → 1,180 bytes (-24)`; one number where nothing changed.
pub(crate) fn bytes_change(before: u64, after: u64) -> String {
    if before == after {
        return format!("{}{NBSP}bytes (unchanged)", count(before));
    }
    let by = difference(before, after);
    format!("{} → {}{NBSP}bytes ({by})", count(before), count(after))
}

/// `after - before`, signed and grouped.
pub(crate) fn difference(before: u64, after: u64) -> String {
    let sign = if after > before { "+" } else { "-" };
    match after.abs_diff(before) {
        0 => "0".to_owned(),
        by => format!("{sign}{}", count(by)),
    }
}

/// Seconds, with the unit that suits them.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return UNKNOWN.to_owned();
    }
    let (value, unit) = match seconds {
        s if s >= 7200.0 => (s / 3600.0, "h"),
        s if s >= 120.0 => (s / 60.0, "min"),
        s => {
            let (factor, unit) = time_scale(s);
            (s * factor, unit)
        }
    };
    format!("{}{NBSP}{unit}", rough(value))
}

/// Factor and unit that bring a time in seconds between 1 and 1000.
fn time_scale(seconds: f64) -> (f64, &'static str) {
    match seconds.abs() {
        s if s >= 1.0 || s == 0.0 => (1.0, "s"),
        s if s >= 1e-3 => (1e3, "ms"),
        s if s >= 1e-6 => (1e6, "µs"),
        _ => (1e9, "ns"),
    }
}

/// How a report's values are shown: multiplied by `factor`, in `unit`.
pub(crate) struct Scale {
    /// From the report's unit to the shown one.
    pub(crate) factor: f64,
    /// The shown unit; may be empty.
    pub(crate) unit: String,
}

/// The unit in which both arms read well.
pub(crate) fn scale(report: &BenchReport) -> Scale {
    let largest = report.a.geomean.abs().max(report.b.geomean.abs());
    if report.unit == "s" && largest.is_finite() {
        let (factor, unit) = time_scale(largest);
        return Scale { factor, unit: unit.to_owned() };
    }
    Scale { factor: 1.0, unit: clip(&clean(report.unit.trim()), 16) }
}

/// Both arms' geometric means with their unit, rounded alike at the place that the larger
/// standard error supports.
pub(crate) fn arms(report: &BenchReport) -> (String, String) {
    let Scale { factor, unit } = scale(report);
    let error = |arm: &ArmSummary| {
        arm.geomean.abs() * factor * arm.sd_percent / 100.0 / f64::from(arm.n).sqrt()
    };
    let error = error(&report.a).max(error(&report.b));
    let few = report.a.n.min(report.b.n) < 2;
    let show = |value: f64| {
        let value = value * factor;
        let number = if !value.is_finite() {
            return UNKNOWN.to_owned();
        } else if few {
            rough(value)
        } else if error.is_finite() && error > 0.0 {
            at_place(value, place(error))
        } else {
            exact(value)
        };
        if unit.is_empty() { number } else { format!("{number}{NBSP}{unit}") }
    };
    (show(report.a.geomean), show(report.b.geomean))
}

/// A value that every run repeated: as it is, to at most six digits after the point.
pub(crate) fn exact(value: f64) -> String {
    let text = decimal(value, 6);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A standard deviation in percent, to two digits.
pub(crate) fn sd(arm: &ArmSummary) -> String {
    let sd = arm.sd_percent;
    if arm.n < 2 || !sd.is_finite() || sd < 0.0 {
        return UNKNOWN.to_owned();
    }
    let text = match sd {
        0.0 => "0".to_owned(),
        sd if sd < 0.01 => "<0.01".to_owned(),
        sd if sd < 1.0 => decimal(sd, 2),
        sd if sd < 10.0 => decimal(sd, 1),
        sd => decimal(sd, 0),
    };
    format!("{text}{NBSP}%")
}

/// B/A as signed percent, with its interval.
pub(crate) struct Ratio {
    /// `-0.56 %`.
    pub(crate) change: String,
    /// `-0.62 % to -0.50 %`, where there is an interval.
    pub(crate) interval: Option<String>,
}

/// A ratio as a difference from 1, in percent; `None` for what is no ratio.
pub(crate) fn percent(ratio: f64) -> Option<f64> {
    let percent = (ratio - 1.0) * 100.0;
    (ratio > 0.0 && percent.is_finite()).then_some(percent)
}

/// The report's ratio in percent, rounded at the place that its interval supports.
pub(crate) fn ratio(report: &BenchReport) -> Ratio {
    ratio_of(report.ratio, report.ci95, report.n)
}

/// A ratio in percent, rounded at the place that its interval over `blocks` blocks supports.
pub(crate) fn ratio_of(ratio: f64, interval: [f64; 2], blocks: u32) -> Ratio {
    let [low, high] = interval.map(percent);
    let bounds = (blocks >= 2).then_some(low.zip(high)).flatten();
    let decimals = bounds.map_or(1, |(low, high)| decimals(low, high));
    let show = |value: f64| format!("{}{NBSP}%", signed(value, decimals));
    Ratio {
        change: percent(ratio).map_or_else(|| UNKNOWN.to_owned(), show),
        interval: bounds.map(|(low, high)| format!("{} to {}", show(low), show(high))),
    }
}

/// A p-value: never zero.
pub(crate) fn p_value(p: f64) -> String {
    match p {
        p if !(0.0..=1.0).contains(&p) => UNKNOWN.to_owned(),
        p if p < 0.0001 => "<0.0001".to_owned(),
        p if p < 0.001 => decimal(p, 4),
        p => decimal(p, 3),
    }
}

/// Decimals for an interval: what its half-width supports, and enough that a bound off zero does
/// not read as zero.
fn decimals(low: f64, high: f64) -> usize {
    let half = (high - low).abs() / 2.0;
    let mut decimals =
        if half > 0.0 { usize::try_from(-place(half)).unwrap_or(0).min(4) } else { 2 };
    let reads_as_zero =
        |value: f64, decimals: i32| value != 0.0 && value.abs() < 0.5 * 10_f64.powi(-decimals);
    while decimals < 4 && [low, high].iter().any(|v| reads_as_zero(*v, decimals as i32)) {
        decimals += 1;
    }
    decimals
}

/// A percentage that only its size is wanted of: `0.31 %`.
pub(crate) fn size_percent(percent: f64) -> Option<String> {
    (percent.is_finite() && percent >= 0.0).then(|| {
        let text = match percent {
            p if p > 0.0 && p < 0.01 => "<0.01".to_owned(),
            p if p < 1.0 => decimal(p, 2),
            p => decimal(p, 1),
        };
        format!("{text}{NBSP}%")
    })
}

/// A moment as `2026-01-31 13:05 UTC`, from seconds since the epoch.
pub(crate) fn date(unix_s: u64) -> String {
    let days = unix_s / 86_400;
    if days > 2_932_896 {
        return UNKNOWN.to_owned(); // past the year 9999
    }
    // Days to a civil date, counted in eras of 400 years that begin on 1 March.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let minutes = unix_s % 86_400 / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
