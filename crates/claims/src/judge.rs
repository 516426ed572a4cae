//! The arithmetic of a claim: what two printed figures give, and whether a printed change fits.
//!
//! Printed figures are intervals: 50512.95 is anything from 50512.945 to 50512.955. A claim is
//! consistent if the interval of its own last digit meets the interval that the figures allow.
//! Where wording has more than one usual meaning every one of them is tried before anything is
//! called a contradiction.

use crate::model::Finding;
use crate::number::Number;
use crate::token::About;
use crate::unit::Better;
use crate::words::Way;

/// Two figures that are compared, in one unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arms {
    pub(crate) before: Number,
    pub(crate) after: Number,
    /// Which way the metric improves, if known.
    pub(crate) better: Option<Better>,
    /// Whether that is beyond doubt: named in words, or a rate.
    pub(crate) better_sure: bool,
    /// Whether the figures are percentages themselves.
    pub(crate) percent: bool,
    /// Whether it is known which comes first.
    pub(crate) ordered: bool,
}

/// A claimed change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// What is printed, and the upper end of a printed range.
    pub(crate) number: Number,
    pub(crate) to: Option<Number>,
    pub(crate) about: About,
    pub(crate) way: Option<Way>,
    /// What the number is of.
    pub(crate) measure: Measure,
    /// Size of the unit that a difference is printed in.
    pub(crate) scale: f64,
}

/// What a claimed number measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    Percent,
    Factor,
    /// In the base unit of the figures.
    Difference,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) finding: Finding,
    pub(crate) recomputed: Option<String>,
    pub(crate) reason: String,
}

/// A value with the interval that printed precision leaves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Span {
    pub(crate) fn of(number: &Number) -> Self {
        let value = number.value.abs();
        Self { value, low: (value - number.half).max(0.0), high: value + number.half }
    }

    pub(crate) fn over(self, other: Self) -> Self {
        Self {
            value: self.value / other.value,
            low: self.low / other.high,
            high: self.high / other.low,
        }
    }

    pub(crate) fn scaled(self, by: f64) -> Self {
        Self { value: self.value * by, low: self.low * by, high: self.high * by }
    }

    /// This minus one, in percent.
    fn excess(self) -> Self {
        let percent = |ratio: f64| (ratio - 1.0) * 100.0;
        Self { value: percent(self.value), low: percent(self.low), high: percent(self.high) }
    }

    /// Without its sign.
    fn magnitude(self) -> Self {
        let (low, high) =
            (self.low.abs().min(self.high.abs()), self.low.abs().max(self.high.abs()));
        let low = if self.low < 0.0 && self.high > 0.0 { 0.0 } else { low };
        Self { value: self.value.abs(), low, high }
    }
}

/// How well a printed figure agrees with a computed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The nearest rounding.
    Nearest,
    /// Cut off after its last digit.
    Down,
    /// Rounded up though the next digit is small.
    Up,
    /// As near as "about" promises.
    Near,
    /// Within what "up to" or "over" promises.
    Bound,
    /// The nearest ten, of a figure that ends in a zero.
    Tens,
    /// The nearest rounding, if a figure was cut off instead of rounded.
    Edge,
}

/// Compares magnitudes; `None` is a contradiction.
pub(crate) fn fit(number: &Number, to: Option<&Number>, about: About, span: Span) -> Option<Fit> {
    const LOOSE: f64 = 0.15;
    let slack = 1e-9 * span.value.abs().max(1e-9);
    let (low, high) = (number.value.abs(), to.unwrap_or(number).value.abs());
    if low - number.half <= span.high + slack && span.low - slack <= high + number.half {
        return Some(Fit::Nearest);
    }
    let (printed, step, value) = (low, 2.0 * number.half, span.value);
    match about {
        About::AtMost if value <= high + number.half => return Some(Fit::Bound),
        About::AtLeast if value >= low - number.half => return Some(Fit::Bound),
        _ => {}
    }
    if to.is_some() {
        return None;
    }
    if printed <= value && value < printed + step && printed > 0.0 {
        return Some(Fit::Down);
    }
    if printed - step < value && value <= printed && printed <= value * (1.0 + LOOSE) {
        return Some(Fit::Up);
    }
    let tens = number.decimals == 0 && printed >= 10.0 && printed % 10.0 == 0.0;
    if tens && (value - printed).abs() <= (LOOSE * printed).min(5.0 * step) {
        return Some(if about == About::Plain { Fit::Tens } else { Fit::Near });
    }
    let near = (value - printed).abs() <= (LOOSE * printed).max(step);
    (about == About::Near && near).then_some(Fit::Near)
}

/// One meaning of a claimed number.
struct Reading {
    span: Span,
    /// Said where it is not the plain one.
    meaning: &'static str,
}

/// Judges a claimed change against two figures that are surely its own.
pub(crate) fn judge(arms: &Arms, said: &Said) -> Verdict {
    let (before, after) = (Span::of(&arms.before), Span::of(&arms.after));
    if arms.before.value <= 0.0 || arms.after.value < 0.0 || before.low <= 0.0 {
        return not("a ratio to zero or to a negative figure says nothing");
    }
    if after.low <= 0.0 && said.measure == Measure::Factor {
        return not("a ratio to zero or to a negative figure says nothing");
    }
    let said = &without_sign(said);
    let recomputed = change(arms, said.measure, said.scale);
    let fitting = readings(arms, said).into_iter().find_map(|reading| {
        fit(&said.number, said.to.as_ref(), said.about, reading.span).map(|fit| (fit, reading))
    });
    let direction = direction(arms, said);
    let fitting = fitting.or_else(|| cut_off(arms, said).map(|reading| (Fit::Edge, reading)));
    let Some((fit, reading)) = fitting else {
        let mut reason = misfit(arms, said);
        if let Direction::Against(why) | Direction::Doubtful(why) = &direction {
            reason = format!("{why}; {reason}");
        }
        return Verdict { finding: Finding::Inconsistent, recomputed: Some(recomputed), reason };
    };
    let (mut finding, mut reason) = agreement(said, fit, &reading);
    match direction {
        Direction::With => {}
        Direction::Note(note) => reason = format!("{reason}; {note}"),
        Direction::Doubtful(why) => (finding, reason) = (Finding::NotRecomputable, why),
        Direction::Against(why) => {
            finding = Finding::Inconsistent;
            reason = format!("{why}; {}", swapped(arms, said));
        }
    }
    Verdict { finding, recomputed: Some(recomputed), reason }
}

/// "an improvement of −5 %" is a regression of 5 %.
fn without_sign(said: &Said) -> Said {
    let mut said = said.clone();
    if said.number.signed && said.number.value < 0.0 {
        said.way = match said.way {
            Some(Way::Better) => Some(Way::Worse),
            Some(Way::Worse) => Some(Way::Better),
            Some(Way::Up) => Some(Way::Down),
            // "reduced by -5 %" repeats itself.
            other => other,
        };
    }
    said
}

fn not(reason: &str) -> Verdict {
    Verdict { finding: Finding::NotRecomputable, recomputed: None, reason: reason.to_owned() }
}

/// The reading that fits if each figure may be off by one unit of its last digit.
fn cut_off(arms: &Arms, said: &Said) -> Option<Reading> {
    let twice = |number: &Number| Number { half: 2.0 * number.half, ..number.clone() };
    let wide = Arms { before: twice(&arms.before), after: twice(&arms.after), ..arms.clone() };
    readings(&wide, said).into_iter().find(|reading| {
        fit(&said.number, said.to.as_ref(), About::Plain, reading.span) == Some(Fit::Nearest)
    })
}

/// The plain meaning first.
fn readings(arms: &Arms, said: &Said) -> Vec<Reading> {
    let (before, after) = (Span::of(&arms.before), Span::of(&arms.after));
    let plain = |span: Span| Reading { span: span.magnitude(), meaning: "" };
    let mut all = Vec::new();
    match said.measure {
        Measure::Difference => {
            let value = (after.value - before.value).abs();
            let half = arms.before.half + arms.after.half;
            all.push(plain(Span { value, low: (value - half).max(0.0), high: value + half }));
        }
        Measure::Factor => {
            let (up, down) = (after.over(before), before.over(after));
            let (large, small) = if up.value >= 1.0 { (up, down) } else { (down, up) };
            let span = if said.number.value >= 1.0 { large } else { small };
            all.push(plain(span));
            if matches!(said.way, Some(Way::Better | Way::Worse | Way::Up)) {
                let span = span.excess().scaled(0.01);
                all.push(Reading { span: span.magnitude(), meaning: "as so many times on top" });
            }
        }
        Measure::Percent => {
            all.push(plain(after.over(before).excess()));
            let speed = matches!(said.way, Some(Way::Better | Way::Worse));
            if speed && arms.better != Some(Better::Higher) && after.low > 0.0 {
                let span = before.over(after).excess().magnitude();
                all.push(Reading { span, meaning: "as speed, first ÷ second − 1" });
            }
            if arms.percent {
                let value = (after.value - before.value).abs();
                let half = arms.before.half + arms.after.half;
                let span = Span { value, low: (value - half).max(0.0), high: value + half };
                all.push(Reading { span, meaning: "in percentage points" });
            }
            if !arms.ordered && after.low > 0.0 {
                let span = before.over(after).excess().magnitude();
                all.push(Reading { span, meaning: "with the second figure as the base" });
            }
            if said.way.is_none() && !said.number.signed {
                let span = after.over(before).scaled(100.0);
                all.push(Reading { span, meaning: "as the second figure's share of the first" });
            }
        }
    }
    all
}

fn agreement(said: &Said, fit: Fit, reading: &Reading) -> (Finding, String) {
    let value = shown(reading.span.value, said);
    let (finding, mut reason) = match fit {
        Fit::Nearest => (Finding::Consistent, "fits at the printed precision".to_owned()),
        Fit::Down => {
            let step = 2.0 * said.number.half;
            let nearest = (reading.span.value / step).round() * step;
            (
                Finding::Rounded,
                format!("rounded down: {value} is nearest to {}", decimals(nearest, said)),
            )
        }
        Fit::Up => (Finding::Rounded, format!("rounded up from {value}")),
        Fit::Edge => {
            (Finding::Rounded, format!("the figures give {value}: fits if one of them was cut off"))
        }
        Fit::Tens => (Finding::Rounded, format!("a round number for {value}")),
        Fit::Near => (Finding::Rounded, format!("loosely: {value}")),
        Fit::Bound => (Finding::Rounded, format!("within the bound that is printed: {value}")),
    };
    if !reading.meaning.is_empty() {
        reason.push_str(&format!(" {}", reading.meaning));
    }
    (finding, reason)
}

enum Direction {
    With,
    Note(String),
    /// It would be a contradiction if the metric improves the way its unit suggests.
    Doubtful(String),
    Against(String),
}

/// Whether the figures go where the words say.
fn direction(arms: &Arms, said: &Said) -> Direction {
    let (before, after) = (Span::of(&arms.before), Span::of(&arms.after));
    let apart = after.low > before.high || after.high < before.low;
    if !apart || !arms.ordered {
        return Direction::With;
    }
    let rises = after.value > before.value;
    let went = if rises { "the figures rise" } else { "the figures fall" };
    match said.way {
        Some(Way::Up) if !rises => Direction::Against(format!("{went}: it is a decrease")),
        Some(Way::Down) if rises => Direction::Against(format!("{went}: it is an increase")),
        Some(way @ (Way::Better | Way::Worse)) => {
            let Some(better) = arms.better else { return Direction::With };
            let improves = rises == (better == Better::Higher);
            if improves == (way == Way::Better) {
                return Direction::With;
            }
            let good = if better == Better::Higher { "higher" } else { "lower" };
            let why = format!("{went}, and {good} is better: that is not {}", way.name());
            if arms.better_sure {
                Direction::Against(why)
            } else {
                Direction::Doubtful(format!("{why}, unless this metric improves the other way"))
            }
        }
        None | Some(Way::Changed) if said.number.signed => {
            if (said.number.value > 0.0) == rises || said.number.value == 0.0 {
                return Direction::With;
            }
            match arms.better {
                Some(Better::Higher) if arms.better_sure => {
                    Direction::Against(format!("{went}, against the printed sign"))
                }
                _ => Direction::Note(format!("{went}: a plus must mean better here")),
            }
        }
        _ => Direction::With,
    }
}

/// What would fit a magnitude that does not.
fn misfit(arms: &Arms, said: &Said) -> String {
    let (before, after) = (Span::of(&arms.before), Span::of(&arms.after));
    let try_fit =
        |span: Span| fit(&said.number, said.to.as_ref(), About::Plain, span) == Some(Fit::Nearest);
    if said.measure == Measure::Percent && after.low > 0.0 {
        let reversed = before.over(after).excess();
        if try_fit(reversed.magnitude()) {
            return match direction(arms, said) {
                Direction::Against(_) => swapped(arms, said),
                _ => format!(
                    "{} fits only with the second figure as the base",
                    signed_percent(reversed.value)
                ),
            };
        }
        let share = after.over(before).scaled(100.0);
        if try_fit(share) {
            return format!(
                "{:.2} % is the second figure's share of the first, not its change",
                share.value
            );
        }
        let plain = after.over(before).excess().magnitude();
        if plain.value > 0.0 && (try_fit(plain.scaled(10.0)) || try_fit(plain.scaled(0.1))) {
            return format!(
                "the figures give {}: a decimal place apart",
                change(arms, said.measure, said.scale)
            );
        }
    }
    format!("the figures give {}", change(arms, said.measure, said.scale))
}

/// What the claim would be if the figures were printed in the wrong order.
fn swapped(arms: &Arms, said: &Said) -> String {
    let turned = Arms { before: arms.after.clone(), after: arms.before.clone(), ..arms.clone() };
    let value = change(&turned, said.measure, said.scale);
    let span = Span::of(&turned.after).over(Span::of(&turned.before)).excess().magnitude();
    if said.measure == Measure::Percent
        && turned.before.value > 0.0
        && fit(&said.number, None, About::Plain, span) == Some(Fit::Nearest)
    {
        format!("swapped they give {value}, which fits: they are probably swapped")
    } else {
        format!("swapped they give {value}")
    }
}

/// The change that the figures give, in words.
///
/// `scale` is the size of the unit that a difference is wanted in.
pub(crate) fn change(arms: &Arms, measure: Measure, scale: f64) -> String {
    let (before, after) = (arms.before.value, arms.after.value);
    match measure {
        Measure::Percent => signed_percent((after / before - 1.0) * 100.0),
        Measure::Factor => {
            let ratio = if after >= before { after / before } else { before / after };
            format!("{ratio:.3}x")
        }
        Measure::Difference => {
            let text = format!("{:+.6}", (after - before) / scale);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// A percentage with its sign and three digits or more.
pub(crate) fn signed_percent(value: f64) -> String {
    let places = places(value);
    format!("{value:+.places$} %")
}

fn places(value: f64) -> usize {
    match value.abs() {
        // What rounds to ten has the digits of ten.
        v if v < 9.9995 => 3,
        v if v < 99.995 => 2,
        _ => 1,
    }
}

/// A magnitude with the claim's unit, a digit finer than it is printed.
fn shown(value: f64, said: &Said) -> String {
    let places = places(value).max(said.number.decimals + 1).min(9);
    match said.measure {
        Measure::Percent => format!("{value:.places$} %"),
        Measure::Factor => format!("{value:.places$}x"),
        Measure::Difference => format!("{}", value / said.scale),
    }
}

fn decimals(value: f64, said: &Said) -> String {
    let places = said.number.decimals.min(9);
    match said.measure {
        Measure::Percent => format!("{value:.places$} %"),
        Measure::Factor => format!("{value:.places$}x"),
        Measure::Difference => format!("{value:.places$}"),
    }
}

/// Judges the word of change that joins two figures, without a printed amount.
pub(crate) fn judge_way(arms: &Arms, way: Way) -> Verdict {
    if arms.before.value <= 0.0 || arms.after.value < 0.0 {
        return not("a ratio to zero or to a negative figure says nothing");
    }
    let number = Number { value: 0.0, half: 0.0, decimals: 0, signed: false, length: 0 };
    let said = Said {
        number,
        to: None,
        about: About::Plain,
        way: Some(way),
        measure: Measure::Percent,
        scale: 1.0,
    };
    let (finding, reason) = match direction(arms, &said) {
        Direction::With => (Finding::Consistent, "the figures go that way".to_owned()),
        Direction::Note(note) => (Finding::Consistent, note),
        Direction::Doubtful(why) => (Finding::NotRecomputable, why),
        Direction::Against(why) => {
            (Finding::Inconsistent, format!("{why}; {}", swapped(arms, &said)))
        }
    };
    Verdict { finding, recomputed: Some(change(arms, Measure::Percent, 1.0)), reason }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
