//! `perf stat` output: the rates behind "#", recomputed from the counts.
//!
//! perf divides cycles by the time that CPUs ran, not by the time that elapsed. Where that time
//! (task-clock) is not printed, one CPU can have run no longer than the time that elapsed, so
//! cycles ÷ seconds above the printed clock needs more than one busy CPU. That contradicts the
//! text only if its other blocks show that one is busy; otherwise it is said and left open.
//!
//! With `-r`, the percentage behind "+-" is the standard error of the mean, not the spread of runs.

use crate::judge::{Fit, Span, fit, signed_percent};
use crate::mail::Line;
use crate::model::{Claim, Finding, Kind, Note};
use crate::number::{self, Number};
use crate::token::About;

/// A count and what perf prints behind it.
struct Event {
    line: u32,
    text: String,
    name: String,
    count: Number,
    /// Behind "#": the number and its words.
    rate: Option<(Number, String)>,
    /// "(83.3%)": the counter ran only part of the time.
    shared: bool,
}

/// The output of one run of perf.
#[derive(Default)]
struct Block {
    events: Vec<Event>,
    elapsed: Option<(u32, Number)>,
}

/// What reading gave: claims, remarks, and the lines that they took.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) claims: Vec<Claim>,
    pub(crate) notes: Vec<Note>,
    pub(crate) lines: Vec<u32>,
}

/// A block that keeps one CPU busy.
struct Busy {
    at: usize,
    clock: Span,
    busy: f64,
}

/// Most blocks that others are held against.
const COMPARED_MAX: usize = 64;

/// Reads every block of a text.
pub(crate) fn read(lines: &[Line]) -> Found {
    let mut found = Found::default();
    let blocks = blocks(lines, &mut found);
    let busy: Vec<Busy> = blocks
        .iter()
        .enumerate()
        .filter_map(|(at, block)| block.busy().map(|(clock, busy)| Busy { at, clock, busy }))
        .filter(|block| (SHARE_MIN..=1.0 + SHARE_SLACK).contains(&block.busy))
        .take(COMPARED_MAX)
        .collect();
    for (at, block) in blocks.iter().enumerate() {
        found.claims.extend(clock(block, at, &busy));
        found.claims.extend(block.events.iter().filter_map(|event| rate(block, event)));
    }
    compare(&blocks, &mut found.notes);
    found
}

fn blocks(lines: &[Line], found: &mut Found) -> Vec<Block> {
    /// Other lines that may stand between two lines of a block.
    const APART_MAX: u32 = 4;
    let mut blocks: Vec<Block> = Vec::new();
    let (mut open, mut apart, mut runs) = (false, 0, None);
    for line in lines {
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if text.contains("Performance counter stats for") {
            open = false;
            runs = runs_of(text);
            found.lines.push(line.number);
        } else if let Some(event) = event(line.number, text) {
            if !open || blocks.last().is_none_or(|block| block.elapsed.is_some()) {
                blocks.push(Block::default());
            }
            (open, apart) = (true, 0);
            found.lines.push(line.number);
            spread(line.number, text, runs, &mut found.notes);
            if let Some(block) = blocks.last_mut() {
                block.events.push(event);
            }
        } else if let Some((seconds, "elapsed")) = timed(text) {
            found.lines.push(line.number);
            spread(line.number, text, runs, &mut found.notes);
            if let Some(block) = blocks.last_mut().filter(|block| open && block.elapsed.is_none()) {
                block.elapsed = Some((line.number, seconds));
            }
        } else if timed(text).is_some() {
            found.lines.push(line.number);
        } else {
            apart += 1;
            open = open && apart <= APART_MAX && !text.contains("perf stat");
        }
    }
    blocks.retain(|block| {
        block.events.iter().any(|event| event.rate.is_some()) || block.elapsed.is_some()
    });
    blocks
}

/// "116252672661      cycles                    #    2.207 GHz".
fn event(line: u32, text: &str) -> Option<Event> {
    const KNOWN: &[&str] = &[
        "cycles",
        "instructions",
        "branches",
        "branch-misses",
        "cache-references",
        "cache-misses",
        "task-clock",
        "cpu-clock",
        "context-switches",
        "cpu-migrations",
        "page-faults",
        "cpu-cycles",
        "faults",
        "stalled-cycles-frontend",
    ];
    let (counted, comment) = text.split_once('#').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut words = counted.split_whitespace();
    let count = whole(words.next()?)?;
    let mut name = words.next()?;
    if name == "msec" {
        name = words.next()?;
    }
    let rest: Vec<&str> = words.collect();
    let plain = name.split([':', '/']).any(|part| KNOWN.contains(&part));
    let tail = rest.first().is_none_or(|word| word.starts_with('('));
    if !plain || !tail || comment.is_none() && rest.is_empty() && !text.contains("  ") {
        return None;
    }
    let rate = comment.and_then(rate_of);
    let shared = [Some(counted), comment].into_iter().flatten().any(is_shared);
    Some(Event { line, text: text.to_owned(), name: name.to_owned(), count, rate, shared })
}

/// A number that is the whole word.
fn whole(word: &str) -> Option<Number> {
    number::read(word).filter(|number| number.length == word.len() && number.value >= 0.0)
}

fn rate_of(comment: &str) -> Option<(Number, String)> {
    let comment = comment.trim();
    let number = number::read(comment)?;
    let words = comment.get(number.length..)?.split(['(', '[']).next()?.trim().to_lowercase();
    Some((number, words))
}

fn is_shared(text: &str) -> bool {
    text.rsplit_once('(').is_some_and(|(_, inside)| {
        inside
            .trim_end_matches(')')
            .trim()
            .strip_suffix('%')
            .is_some_and(|share| share.trim().parse::<f64>().is_ok())
    })
}

/// "52.689793525 seconds time elapsed", with or without "+- 0.01".
fn timed(text: &str) -> Option<(Number, &'static str)> {
    let mut words = text.split_whitespace();
    let number = whole(words.next()?)?;
    let rest: Vec<&str> = words.take_while(|word| !word.starts_with('(')).collect();
    let rest = match rest.as_slice() {
        ["+-", _, rest @ ..] => rest,
        rest => rest,
    };
    match rest {
        ["seconds", "time", "elapsed"] => Some((number, "elapsed")),
        ["seconds", "user"] => Some((number, "user")),
        ["seconds", "sys"] => Some((number, "sys")),
        _ => None,
    }
}

/// "(10 runs)".
fn runs_of(text: &str) -> Option<u32> {
    let (before, _) = text.rsplit_once(" runs)")?;
    before.rsplit_once('(')?.1.trim().parse().ok()
}

/// Says once what perf's "+-" means.
fn spread(line: u32, text: &str, runs: Option<u32>, notes: &mut Vec<Note>) {
    let Some((_, behind)) = text.rsplit_once("+-") else { return };
    let percent = behind.split('%').next().unwrap_or_default().trim();
    let Some(error) = whole(percent).filter(|_| behind.contains('%')) else { return };
    const MEANING: &str =
        "perf's \"+-\" is the standard error of the mean in percent, not the spread of runs";
    if notes.iter().any(|note| note.text.starts_with(MEANING)) {
        return;
    }
    let spread = match runs {
        Some(runs) => format!(
            ": with {runs} runs, +- {percent} % is a standard deviation of {:.2} %",
            error.value * f64::from(runs).sqrt()
        ),
        None => {
            ": multiply by the root of the number of runs for the standard deviation".to_owned()
        }
    };
    notes.push(Note { line, text: format!("{MEANING}{spread}") });
}

impl Block {
    /// The only event of this name; the part behind ":" must be that of `like`.
    fn only(&self, name: &str, like: &Event) -> Option<&Event> {
        let wanted = |event: &&Event| {
            base(&event.name) == name && modifier(&event.name) == modifier(&like.name)
        };
        let mut all = self.events.iter().filter(wanted);
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// CPU time in seconds.
    fn cpu_seconds(&self) -> Option<Span> {
        let mut clocks =
            self.events.iter().filter(|e| matches!(base(&e.name), "task-clock" | "cpu-clock"));
        let first = clocks.next()?;
        clocks.next().is_none().then(|| Span::of(&first.count).scaled(clock_unit(first)))
    }

    fn cycles(&self) -> Option<&Event> {
        let mut all =
            self.events.iter().filter(|e| matches!(base(&e.name), "cycles" | "cpu-cycles"));
        let first = all.next()?;
        all.next().is_none().then_some(first)
    }

    /// The printed clock in Hz, and the busy CPUs that cycles ÷ elapsed seconds need for it.
    fn busy(&self) -> Option<(Span, f64)> {
        let cycles = self.cycles()?;
        let printed = clock_of(cycles)?;
        let (_, elapsed) = self.elapsed.as_ref()?;
        Some((printed, cycles.count.value / elapsed.value / printed.value))
    }
}

/// Seconds in the unit of a task-clock: milliseconds where perf says so or prints a fraction, as
/// all versions did that scale it; nanoseconds otherwise.
fn clock_unit(event: &Event) -> f64 {
    if event.text.contains("msec") || event.count.decimals > 0 { 1e-3 } else { 1e-9 }
}

/// "cycles" of "cycles:u" and of "cpu_core/cycles/".
fn base(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or(name).trim_end_matches('/');
    name.rsplit('/').next().unwrap_or(name)
}

fn modifier(name: &str) -> (&str, &str) {
    (
        name.split_once('/').map_or("", |(unit, _)| unit),
        name.split_once(':').map_or("", |(_, modifier)| modifier),
    )
}

fn clock_of(cycles: &Event) -> Option<Span> {
    let (number, words) = cycles.rate.as_ref()?;
    let scale = match words.as_str() {
        "ghz" => 1e9,
        "mhz" => 1e6,
        _ => return None,
    };
    Some(Span::of(number).scaled(scale)).filter(|span| span.value > 0.0)
}

/// Most by which a busy CPU's share may be off: perf itself reads its clocks one after the other.
const SHARE_SLACK: f64 = 0.001;
/// From here on a process counts as one that keeps one CPU busy.
const SHARE_MIN: f64 = 0.97;
/// Above this more than one thread is more likely than a wrong figure.
const SHARE_MAX: f64 = 1.05;

/// Cycles ÷ seconds against the printed clock.
fn clock(block: &Block, at: usize, busy_blocks: &[Busy]) -> Option<Claim> {
    let cycles = block.cycles()?;
    let printed = clock_of(cycles)?;
    let shown = format!("{:.3} GHz", printed.value / 1e9);
    if let Some(seconds) = block.cpu_seconds().filter(|seconds| seconds.low > 0.0) {
        return Some(rated(
            cycles,
            Kind::Clock,
            Span::of(&cycles.count).over(seconds),
            "cycles ÷ task-clock",
            "Hz",
        ));
    }
    let (line, elapsed) = block.elapsed.as_ref().filter(|(_, seconds)| seconds.value > 0.0)?;
    let hertz = cycles.count.value / elapsed.value;
    let busy = hertz / printed.value;
    let ghz = hertz / 1e9;
    let low =
        Span { low: printed.low / printed.high, high: printed.high / printed.low, value: 1.0 };
    let slack = SHARE_SLACK.max(low.high - 1.0);
    let one_cpu = busy_blocks.iter().any(|other| {
        other.at != at && other.clock.high >= printed.low && other.clock.low <= printed.high
    });
    let division = format!("cycles ÷ elapsed seconds (line {line}) is {ghz:.3} GHz");
    let (finding, reason) = if busy > 1.0 + slack && busy <= SHARE_MAX && one_cpu {
        let fit_cycles = printed.value * elapsed.value;
        let fit_seconds = cycles.count.value / printed.value;
        (
            Finding::Inconsistent,
            format!(
                "{division}, where {shown} is printed: {busy:.3} busy CPUs, while other blocks of the text show one; {fit_cycles:.4e} cycles or {fit_seconds:.3} s would fit"
            ),
        )
    } else if busy > 1.0 + slack {
        (
            Finding::NotRecomputable,
            format!(
                "{division}: that takes {busy:.3} busy CPUs, and the CPU time (task-clock) is not printed"
            ),
        )
    } else if busy >= SHARE_MIN {
        (Finding::Consistent, format!("{division}: {:.4} of one CPU was busy", busy.min(1.0)))
    } else {
        (
            Finding::NotRecomputable,
            format!(
                "{division}: only {busy:.2} of one CPU was busy, and the CPU time (task-clock) is not printed"
            ),
        )
    };
    Some(claim(cycles, Kind::Clock, shown, Some(format!("{ghz:.3} GHz")), finding, reason))
}

fn claim(
    event: &Event,
    kind: Kind,
    printed: String,
    recomputed: Option<String>,
    finding: Finding,
    reason: String,
) -> Claim {
    Claim {
        kind,
        line: event.line,
        repeated_on: Vec::new(),
        excerpt: event.text.clone(),
        printed,
        recomputed,
        finding,
        reason,
    }
}

/// The other rates that follow from counts of the same block.
fn rate(block: &Block, event: &Event) -> Option<Claim> {
    let (_, words) = event.rate.as_ref()?;
    let count = Span::of(&event.count);
    let over = |name: &str| {
        block.only(name, event).map(|other| Span::of(&other.count)).filter(|span| span.low > 0.0)
    };
    let (value, how, unit) = match words.as_str() {
        "insn per cycle" | "insns per cycle" => (
            count.over(over("cycles").or_else(|| over("cpu-cycles"))?),
            "instructions ÷ cycles",
            "",
        ),
        "% of all branches" => {
            (count.over(over("branches")?).scaled(100.0), "branch-misses ÷ branches", "%")
        }
        "% of all cache refs" => (
            count.over(over("cache-references")?).scaled(100.0),
            "cache-misses ÷ cache-references",
            "%",
        ),
        "cpus utilized" => {
            let (_, elapsed) = block.elapsed.as_ref().filter(|(_, seconds)| seconds.value > 0.0)?;
            (
                count.scaled(clock_unit(event)).over(Span::of(elapsed)),
                "task-clock ÷ elapsed seconds",
                "CPUs",
            )
        }
        "g/sec" | "m/sec" | "k/sec" | "/sec" => {
            let scale = match words.as_str() {
                "g/sec" => 1e-9,
                "m/sec" => 1e-6,
                "k/sec" => 1e-3,
                _ => 1.0,
            };
            let seconds = block.cpu_seconds().filter(|seconds| seconds.low > 0.0)?;
            (count.over(seconds).scaled(scale), "count ÷ task-clock", "")
        }
        _ => return None,
    };
    Some(rated(event, Kind::Rate, value, how, unit))
}

fn rated(event: &Event, kind: Kind, value: Span, how: &str, unit: &str) -> Claim {
    let Some((number, words)) = event.rate.as_ref() else {
        return claim(
            event,
            kind,
            String::new(),
            None,
            Finding::NotRecomputable,
            "no rate is printed".to_owned(),
        );
    };
    let value = match (unit, words.as_str()) {
        ("Hz", "mhz") => value.scaled(1e-6),
        ("Hz", _) => value.scaled(1e-9),
        _ => value,
    };
    let places = number.decimals + 1;
    let places = places.min(9);
    let shown = format!("{:.places$}", value.value);
    let (finding, reason) = match fit(number, None, About::Plain, value) {
        Some(Fit::Nearest) => (Finding::Consistent, format!("{how} gives {shown}")),
        Some(_) => (Finding::Rounded, format!("{how} gives {shown}")),
        None if event.shared => (
            Finding::NotRecomputable,
            format!("{how} gives {shown}, but the counters ran only part of the time"),
        ),
        None => (Finding::Inconsistent, format!("{how} gives {shown}")),
    };
    let printed = format!("{:.*} {words}", number.decimals.min(9), number.value);
    claim(event, kind, printed, Some(shown), finding, reason)
}

/// What the later blocks of a text are beside its first.
fn compare(blocks: &[Block], notes: &mut Vec<Note>) {
    let Some((first, rest)) = blocks.split_first() else { return };
    for block in rest.iter().take(COMPARED_MAX) {
        let mut parts = Vec::new();
        for event in &block.events {
            if let Some(base) =
                first.only(base(&event.name), event).filter(|base| base.count.value > 0.0)
            {
                let change = (event.count.value / base.count.value - 1.0) * 100.0;
                parts.push(format!("{} {}", event.name, signed_percent(change)));
            }
        }
        if let (Some((_, seconds)), Some((_, base))) = (&block.elapsed, &first.elapsed)
            && base.value > 0.0
        {
            parts.push(format!(
                "seconds {}",
                signed_percent((seconds.value / base.value - 1.0) * 100.0)
            ));
        }
        let place = first.events.first().map_or(0, |event| event.line);
        if let (Some(event), false) = (block.events.first(), parts.is_empty()) {
            let text = format!("beside the first block (line {place}): {}", parts.join(", "));
            if !notes.iter().any(|note| note.text.rsplit_once(": ") == text.rsplit_once(": ")) {
                notes.push(Note { line: event.line, text });
            }
        }
    }
}
