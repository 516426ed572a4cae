//! Which comparisons of which experiments are repeated, and how much of each.

use experiments::{PLACES, Settings, Source};

use super::claim::{Claim, Sizes};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Enough to make a claim, within three minutes.
    Quick,
    /// Some minutes.
    Normal,
    /// As many tests as were published.
    Full,
    /// Everything once, for its form.
    Smoke,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Normal => "normal",
            Self::Full => "full",
            Self::Smoke => "smoke",
        }
    }
}

/// What the bytes of code are those of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Text {
    /// Two shared objects, by name: their executable sections.
    Objects(&'static str, &'static str),
    /// Two functions, by their listings' names.
    Functions(&'static str, &'static str),
}

/// A rate in which a claim is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    /// Nanoseconds of one operation times operations in one unit of the rate.
    pub(super) ns: f64,
}

/// One experiment, and what of it is held against which claim.
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) source: fn() -> Source,
    /// By name; the first is the one that the claim is about.
    pub(super) comparisons: &'static [&'static str],
    pub(super) claim: Claim,
    /// What else was published, by the comparison that it is about.
    pub(super) further: &'static [(&'static str, Claim)],
    /// The arm that is held against the baseline.
    pub(super) arm: &'static str,
    /// Listings of the hot path, before and after.
    pub(super) code: (&'static str, &'static str),
    pub(super) text: Text,
    pub(super) text_claim: Option<Sizes>,
    pub(super) rate: Option<Unit>,
    /// Tests of each side that the publication ran; ours are fresh processes.
    pub(super) tests: u32,
}

/// The backend that the refcount patch is about, where this machine has it.
const CHECKED: &str =
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) { "fast" } else { "fetch" };
const CHECKED_INC: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    "inc, fast"
} else {
    "inc, fetch"
};
const CHECKED_LOOPS: &str = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
    "both loops, fast"
} else {
    "both loops, fetch"
};

/// All of them, in the order in which they run.
pub(super) const PLANS: &[Plan] = &[
    Plan {
        name: "refcount",
        source: experiment_refcount::source,
        comparisons: &["patch-1", "u32-1", "patch-2", "u32-2"],
        claim: Claim {
            text: "\"The performance gain is substantial\": two loops over a counter took \
                           191057942484 cycles with REFCOUNT_FULL and 127060259162 cycles with the \
                           patch.",
            source: "the arm64 patch (v5), ThunderX2 at 2.2 GHz with LSE, 2019; one run of each",
            figures: [191_057_942_484.0, 127_060_259_162.0],
            rate: false,
            printed_percent: None,
        },
        further: &[(
            "u32-1",
            Claim {
                text: "The same loops took 116252672661 cycles with plain atomics and \
                           127060259162 cycles with the patch.",
                source: "the same message: what is left of the check's cost",
                figures: [116_252_672_661.0, 127_060_259_162.0],
                rate: false,
                printed_percent: None,
            },
        )],
        arm: CHECKED,
        code: ("inc, full", CHECKED_INC),
        text: Text::Functions("both loops, full", CHECKED_LOOPS),
        text_claim: None,
        rate: None,
        // One run was published; as many processes as other experiments have by default.
        tests: Settings::FULL.processes,
    },
    Plan {
        name: "fortify",
        source: experiment_fortify::source,
        comparisons: &["hint-stress", "cold-stress"],
        claim: Claim {
            text: "With the hints the rate rose from 50512.95 bogo-ops/sec to 50819.58 \
                           bogo-ops/sec, an \"improvement of ~0.6%\".",
            source: "the patch (v2), stress-ng urandom, 100 tests of a minute, Core Ultra 9 \
                             285K, 2025",
            figures: [50512.95, 50819.58],
            rate: true,
            printed_percent: Some(0.6),
        },
        further: &[],
        arm: "hinted",
        code: ("unhinted read", "hinted read"),
        text: Text::Objects("unhinted", "hinted"),
        text_claim: None,
        rate: Some(Unit { name: "reads/s", ns: 1e9 }),
        tests: 100,
    },
    Plan {
        name: "pollfd",
        source: experiment_pollfd::source,
        comparisons: &["hint-0", "hint-1", "hint-50"],
        claim: Claim {
            text: "A call on 1024 descriptors went from 32818 ns down to 32635 ns, a \"~0.5% \
                           performance improvement\".",
            source: "the patch (v2), 25 tests of 30 seconds, Core Ultra 9 285K, 2025",
            figures: [32818.0, 32635.0],
            rate: false,
            printed_percent: Some(-0.5),
        },
        further: &[],
        arm: "hinted",
        code: ("unhinted", "hinted"),
        text: Text::Objects("unhinted", "hinted"),
        text_claim: None,
        rate: None,
        tests: 25,
    },
    Plan {
        name: "unlock",
        source: experiment_unlock::source,
        comparisons: &[
            "mix",
            "mix-1",
            "bh",
            "irqrestore",
            "read-bh",
            "read-irqrestore",
            "write-bh",
            "write-irqrestore",
            "plain",
            "irq",
        ],
        claim: Claim {
            text: "The text size increased from 8527918 bytes to 8462235 bytes, an increase of \
                           0.78%. The rate of jobs increased from 209818.43 jobs/min to 213333.33 \
                           jobs/min, an increase of 1.68%.",
            source: "the patch, AIM7 high_systime, 1000 users, 2 sockets, 48 threads, 2017",
            figures: [209_818.43, 213_333.33],
            rate: true,
            printed_percent: Some(1.68),
        },
        further: &[],
        arm: "inline",
        code: ("irqrestore, before", "irqrestore, inline"),
        text: Text::Objects("before", "inline"),
        text_claim: Some(Sizes { bytes: [8_527_918, 8_462_235], printed_percent: 0.78 }),
        rate: Some(Unit { name: "jobs/min", ns: 60e9 }),
        // The number of runs was not published.
        tests: Settings::FULL.processes,
    },
];

impl Plan {
    /// How much is measured in this mode.
    pub(super) fn settings(&self, mode: Mode, seed: Option<u64>) -> Settings {
        let base = match mode {
            // More processes than can just make a claim: there is time for them.
            Mode::Quick => Settings { processes: 10, ..Settings::QUICK },
            Mode::Normal => Settings::NORMAL,
            Mode::Full => Settings { processes: self.tests, ..Settings::FULL },
            Mode::Smoke => Settings::SMOKE,
        };
        Settings { seed: seed.unwrap_or(base.seed), ..base }
    }

    /// About how long measuring takes: what each run is to last, by the runs of all blocks. Builds, and
    /// comparisons of the same machine code, which take no time, are not known before.
    pub(super) fn seconds(&self, mode: Mode) -> f64 {
        let settings = self.settings(mode, None);
        let arms = |name: &str| if name.starts_with("u32") { 5 } else { 3 };
        let arms: u32 = self.comparisons.iter().map(|name| arms(name)).sum();
        let runs = settings.processes * (settings.warmups + settings.blocks) * arms * PLACES;
        // Starting a process, and bringing each state to its beginning, takes a twentieth or so.
        f64::from(runs) * settings.run_ms / 1e3 * 1.05
    }
}
