//! Words of change, of metrics, and of before and after.

use crate::token::{Kind, Token};
use crate::unit::Better;

/// Which way a word says that something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// The figure grew.
    Up,
    /// The figure fell.
    Down,
    /// It became better, whatever way that is.
    Better,
    /// It became worse.
    Worse,
    /// It changed.
    Changed,
}

impl Way {
    /// The way for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Up => "an increase",
            Self::Down => "a decrease",
            Self::Better => "an improvement",
            Self::Worse => "a regression",
            Self::Changed => "a change",
        }
    }
}

const UP: &[&str] = &[
    "increase",
    "increases",
    "increased",
    "increasing",
    "grow",
    "grows",
    "grew",
    "growth",
    "grown",
    "rise",
    "rises",
    "rose",
    "raise",
    "raises",
    "raised",
    "higher",
    "more",
    "larger",
    "bigger",
    "climbs",
    "climbed",
    "inflates",
    "bump",
];
const DOWN: &[&str] = &[
    "decrease",
    "decreases",
    "decreased",
    "decreasing",
    "reduce",
    "reduces",
    "reduced",
    "reducing",
    "reduction",
    "reductions",
    "drop",
    "drops",
    "dropped",
    "dropping",
    "shrink",
    "shrinks",
    "shrank",
    "shrunk",
    "lower",
    "lowers",
    "lowered",
    "fewer",
    "less",
    "smaller",
    "cut",
    "cuts",
    "cutting",
    "saving",
    "savings",
    "saves",
    "saved",
    "fall",
    "falls",
    "fell",
    "decline",
    "declines",
    "shorter",
    "shaves",
];
const BETTER: &[&str] = &[
    "improve",
    "improves",
    "improved",
    "improving",
    "improvement",
    "improvements",
    "speedup",
    "speedups",
    "speed-up",
    "speed-ups",
    "speeds",
    "faster",
    "quicker",
    "gain",
    "gains",
    "gained",
    "boost",
    "boosts",
    "boosted",
    "better",
    "win",
    "uplift",
    "acceleration",
    "benefit",
    "speed",
];
const WORSE: &[&str] = &[
    "regression",
    "regressions",
    "regress",
    "regresses",
    "regressed",
    "slower",
    "slowdown",
    "slow-down",
    "slows",
    "degrade",
    "degrades",
    "degraded",
    "degradation",
    "worse",
];
const CHANGED: &[&str] =
    &["change", "changes", "changed", "difference", "delta", "diff", "chg", "delta:"];

/// The way that a word says, if it is one of change.
pub(crate) fn way(token: &Token) -> Option<Way> {
    if token.kind != Kind::Word {
        return None;
    }
    let word = token.text.as_str();
    [
        (UP, Way::Up),
        (DOWN, Way::Down),
        (BETTER, Way::Better),
        (WORSE, Way::Worse),
        (CHANGED, Way::Changed),
    ]
    .into_iter()
    .find_map(|(words, way)| words.contains(&word).then_some(way))
}

const LOWER: &[&str] = &[
    "latency",
    "latencies",
    "time",
    "times",
    "runtime",
    "run-time",
    "duration",
    "overhead",
    "size",
    "footprint",
    "cycles",
    "instructions",
    "misses",
    "memory",
    "cost",
    "elapsed",
    "delay",
    "rss",
    "faults",
    "usage",
    "consumption",
    "utilization",
    "wall",
    "text",
    "allocations",
    "count",
    "number",
];
const HIGHER: &[&str] = &[
    "throughput",
    "bandwidth",
    "performance",
    "score",
    "iops",
    "rate",
    "rates",
    "speed",
    "perf",
    "goodput",
    "fps",
    "qps",
    "tps",
];

/// Which way a metric's name improves. "number" and "count" stand for neither way.
pub(crate) fn metric(token: &Token) -> Option<Better> {
    // More performance is better whatever its figures are of, so it is no metric of theirs.
    const NO_METRIC: &[&str] = &["number", "count", "text", "performance", "perf", "speed"];
    if token.kind != Kind::Word || token.is_word(NO_METRIC) {
        return None;
    }
    let word = token.text.as_str();
    if LOWER.contains(&word) {
        return Some(Better::Lower);
    }
    HIGHER.contains(&word).then_some(Better::Higher)
}

/// The arm that a label names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

const BEFORE: &[&str] = &[
    "before",
    "without",
    "w/o",
    "baseline",
    "base",
    "old",
    "vanilla",
    "unpatched",
    "original",
    "orig",
    "stock",
    "mainline",
    "master",
    "trunk",
    "previously",
    "previous",
    "prev",
    "pre-patch",
    "control",
    "upstream",
    "unmodified",
    "reference",
    "parent",
    "old.txt",
    "main",
];
const AFTER: &[&str] = &[
    "after",
    "with",
    "w/",
    "patched",
    "new",
    "now",
    "patch",
    "modified",
    "optimized",
    "optimised",
    "proposed",
    "improved",
    "branch",
    "post-patch",
    "pr",
    "candidate",
    "experiment",
    "new.txt",
    "contender",
    "feature",
    "comparison",
];

/// The arm that a word names where it stands as a label.
pub(crate) fn side(token: &Token) -> Option<Side> {
    if !matches!(token.kind, Kind::Word) {
        return None;
    }
    let word = token.text.as_str();
    if BEFORE.contains(&word) {
        return Some(Side::Before);
    }
    AFTER.contains(&word).then_some(Side::After)
}

/// Words that begin a part of a sentence with a subject of its own.
pub(crate) fn parts(token: &Token) -> bool {
    const WORDS: &[&str] = &[
        "and",
        "but",
        "while",
        "whereas",
        "although",
        "though",
        "plus",
        "also",
        "when",
        "because",
        "since",
        "if",
        "where",
        "whilst",
        "however",
        "so",
        "thereby",
        "then",
        "respectively",
        "alongside",
        "with",
        "without",
        "due",
        "other",
    ];
    token.is_word(WORDS) || matches!(token.kind, Kind::Sign(';')) || token.kind == Kind::Stop
}
