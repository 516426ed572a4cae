//! What the hint on a negative descriptor is worth in the loop of poll, and how that loop stands
//! beside one in C.
//!
//! The patch that this repeats hinted `fd < 0` and was measured by calls of poll on 1024 descriptors
//! with a zero timeout, none of them negative. Here the scan of `unlikely-poll` is built without the
//! hint and with it; one in a hundred and one in two negative descriptors show what the hint costs
//! where it is wrong.

use experiments::{
    Arm, Bar, Build, Comparison, Experiment, ExperimentError, Listing, Objects, Published, Recipe,
    Source,
};

/// Scenario of the objects, its name, and its share of negative descriptors in words.
const SHARES: [(u32, &str, &str); 3] =
    [(0, "0", "none negative"), (1, "1", "1 % negative"), (2, "50", "50 % negative")];
const BEFORE: &str = "unhinted";
const AFTER: &str = "hinted";
const C: &str = "C, gcc -O2";

/// The experiment, for its binary and whoever else runs it.
#[must_use]
pub fn source() -> Source {
    let cargo = |features| Recipe::Cargo { package: "pollfd-arm", features };
    let c = Recipe::C { source: "experiments/pollfd/arm.c", flags: &[] };
    Source {
        name: "pollfd",
        builds: vec![
            Build { name: BEFORE, recipe: cargo("unhinted") },
            Build { name: AFTER, recipe: cargo("") },
            Build { name: "c", recipe: c },
        ],
        make,
    }
}

fn make(objects: &Objects) -> Result<Experiment, ExperimentError> {
    let mut comparisons = Vec::new();
    for (scenario, name, share) in SHARES {
        let arm = |name: &str, object: &str| objects.arm(name, object, scenario);
        let arms = vec![
            arm(BEFORE, BEFORE)?,
            arm("unhinted again", BEFORE)?.control(),
            arm(AFTER, AFTER)?,
        ];
        comparisons.push(Comparison {
            code: Some((BEFORE.to_owned(), AFTER.to_owned())),
            published: if scenario == 0 { published() } else { Vec::new() },
            ..comparison(format!("hint-{name}"), format!("the hint on fd < 0, {share}"), arms)
        });
        let arms = vec![arm(C, "c")?, arm("C again", "c")?.control(), arm(AFTER, AFTER)?];
        comparisons.push(Comparison {
            bars: vec![Bar { arm: AFTER.to_owned(), at_most: 1.0 }],
            ..comparison(format!("c-{name}"), format!("the loop in C, {share}"), arms)
        });
    }
    let listing = |name: &str, object: &str| Listing {
        name: name.to_owned(),
        function: "pollfd_scan".to_owned(),
        kept: 0,
        object: Some(object.to_owned()),
    };
    Ok(Experiment {
        name: "pollfd".to_owned(),
        title: "what the hint on a negative descriptor is worth in poll".to_owned(),
        comparisons,
        listings: vec![listing(BEFORE, BEFORE), listing(AFTER, AFTER), listing(C, "c")],
    })
}

fn comparison(name: String, title: String, arms: Vec<Arm>) -> Comparison {
    Comparison {
        name,
        title,
        operation: "call on 1024 descriptors".to_owned(),
        threads: 1,
        inner_threads: 1,
        operations_max: 1 << 40,
        arms,
        bars: Vec::new(),
        published: Vec::new(),
        code: None,
        by_default: true,
    }
}

/// The patch's figures: ns a call, which it rounds to 0.5 %; and the merge's, in calls.
fn published() -> Vec<Published> {
    vec![
        Published {
            source: "the patch, Core Ultra 9 285K, 2025, said to be ~0.5 % less".to_owned(),
            arm: AFTER.to_owned(),
            baseline: 32818.0,
            value: 32635.0,
            unit: "ns a call".to_owned(),
        },
        Published {
            source: "its merge's record, will-it-scale poll2, as time a call".to_owned(),
            arm: AFTER.to_owned(),
            baseline: 254_873.0,
            value: 245_368.0,
            unit: "calls, turned round".to_owned(),
        },
    ]
}
