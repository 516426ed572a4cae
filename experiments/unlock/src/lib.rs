//! What it is worth to inline unlocks, in time and in bytes.
//!
//! The patch that this repeats inlined the unlocks of spin and read-write locks that turn bottom halves
//! or interrupts on again, where the others were inlined already. It was measured by a mix of jobs of
//! 1000 users that spends its time in system calls. Here 1000 users run jobs of short sections from a
//! thousand call sites, so that what inlining adds to the text is there to be fetched. The mix is held
//! against what the patch found, six unlocks of which there is one shared copy each; each unlock alone
//! against a build that inlines none.

use experiments::{
    Build, Comparison, Experiment, ExperimentError, Listing, Objects, Published, Recipe, Source,
};

/// What the patch inlines is out of line, the rest inlined.
const BEFORE: &str = "before";
/// All unlocks are out of line.
const OUTLINE: &str = "out of line";
const AFTER: &str = "inline";
/// Scenarios of the objects by their numbers: name, and what is compared.
const UNLOCKS: [(&str, &str); 8] = [
    ("plain", "spin_unlock alone, inlined before the patch"),
    ("bh", "spin_unlock_bh alone"),
    ("irq", "spin_unlock_irq alone, inlined before the patch"),
    ("irqrestore", "spin_unlock_irqrestore alone"),
    ("read-bh", "read_unlock_bh alone"),
    ("read-irqrestore", "read_unlock_irqrestore alone"),
    ("write-bh", "write_unlock_bh alone"),
    ("write-irqrestore", "write_unlock_irqrestore alone"),
];
/// The scenarios of all of them, on two threads and on one.
const MIX: u32 = 8;
const MIX_ALONE: u32 = 9;

/// The experiment, for its binary and whoever else runs it.
#[must_use]
pub fn source() -> Source {
    let cargo = |features| Recipe::Cargo { package: "unlock-arm", features };
    Source {
        name: "unlock",
        builds: vec![
            Build { name: BEFORE, recipe: cargo("before") },
            Build { name: OUTLINE, recipe: cargo("outline") },
            Build { name: AFTER, recipe: cargo("") },
        ],
        make,
    }
}

fn make(objects: &Objects) -> Result<Experiment, ExperimentError> {
    let mix = |name: &str, threads: &str, scenario| {
        let title = format!("1000 users, all unlocks, {threads}");
        comparison(objects, name, &title, "irqrestore", BEFORE, scenario)
    };
    let mut comparisons = vec![
        Comparison { published: vec![published()], ..mix("mix", "two threads", MIX)? },
        mix("mix-1", "one thread", MIX_ALONE)?,
    ];
    for (scenario, (name, title)) in (0..).zip(UNLOCKS) {
        let title = format!("{title}, one thread");
        comparisons.push(comparison(objects, name, &title, name, OUTLINE, scenario)?);
    }
    let listing = |object: &str, what: &str| Listing {
        name: listed(object, what),
        function: format!("leave_{}", what.replace('-', "_")),
        kept: 0,
        object: Some(object.to_owned()),
    };
    let all = [BEFORE, OUTLINE, AFTER].into_iter();
    Ok(Experiment {
        name: "unlock".to_owned(),
        title: "what inlined unlocks are worth in a mix of jobs".to_owned(),
        comparisons,
        listings: all.flat_map(|one| UNLOCKS.map(|(what, _)| listing(one, what))).collect(),
    })
}

/// The build `before` and the inlined one in a scenario; `code` is the unlock whose code must differ.
fn comparison(
    objects: &Objects,
    name: &str,
    title: &str,
    code: &str,
    before: &str,
    scenario: u32,
) -> Result<Comparison, ExperimentError> {
    Ok(Comparison {
        name: name.to_owned(),
        title: title.to_owned(),
        operation: "job of 64 system calls".to_owned(),
        threads: 1,
        inner_threads: if scenario == MIX { 2 } else { 1 },
        operations_max: 1 << 40,
        arms: vec![
            objects.arm(before, before, scenario)?,
            objects.arm(&format!("{before} again"), before, scenario)?.control(),
            objects.arm(AFTER, AFTER, scenario)?,
        ],
        bars: Vec::new(),
        published: Vec::new(),
        code: Some((listed(before, code), listed(AFTER, code))),
        by_default: true,
    })
}

fn listed(object: &str, what: &str) -> String {
    format!("{what}, {object}")
}

/// The patch's rates, turned round as a ratio of times.
fn published() -> Published {
    Published {
        source:
            "the patch, AIM7 high_systime, 1000 users, 48 threads, 2017, said to be 1.68 % more"
                .to_owned(),
        arm: AFTER.to_owned(),
        baseline: 213_333.33,
        value: 209_818.43,
        unit: "jobs/min, turned round".to_owned(),
    }
}
