//! What the hints on the failing paths of checked copies are worth, and what the checks cost.
//!
//! The patch that this repeats hinted the two comparisons of the kernel's memcpy, and was measured by a
//! stressor that reads random bytes: they are generated block by block, and each block is copied out.
//! Here that is a ChaCha20 stream read 1024 bytes at a time. `unhinted` has the checks without the
//! hints; `warm` lacks the cold attribute of the handler too, which tells a compiler as much as a hint
//! does. Beside that, copies alone: checked against unchecked, between objects whose sizes are known when
//! the program runs (`check`) or when it is compiled (`sized`), as most are that the patch is about.

use experiments::{
    Arm, Bar, Build, Comparison, Experiment, ExperimentError, Listing, Objects, Published, Recipe,
    Source,
};

const WARM: &str = "warm";
const BEFORE: &str = "unhinted";
const AFTER: &str = "hinted";
const UNCHECKED: &str = "unchecked";
/// What scenarios of the objects have added for the unchecked form.
const WITHOUT_CHECK: u32 = 8;
/// And for the form that returns an overflow.
const RETURNED: u32 = 16;
/// And for copies between objects of known size.
const SIZED: u32 = 24;
/// What the hinted build is held against: its object, its name, and what of it is compared.
const FORMS_OF_HINT: [(&str, &str, &str); 2] =
    [(BEFORE, "hint", "the hints"), (WARM, "cold", "the hints and the cold handler")];
/// Scenario, name, what one operation is, and what the check may cost at most.
const COPIES: [(u32, &str, &str, f64); 3] = [
    (1, "8", "copy of 8 bytes", 1.03),
    (2, "64", "copy of 64 bytes", 1.01),
    (3, "4096", "copy of 4096 bytes", 1.01),
];
const READ: &str = "read of 1024 random bytes";

/// The experiment, for its binary and whoever else runs it.
#[must_use]
pub fn source() -> Source {
    let cargo = |features| Recipe::Cargo { package: "fortify-arm", features };
    Source {
        name: "fortify",
        builds: vec![
            Build { name: WARM, recipe: cargo("warm") },
            Build { name: BEFORE, recipe: cargo("unhinted") },
            Build { name: AFTER, recipe: cargo("") },
        ],
        make,
    }
}

fn make(objects: &Objects) -> Result<Experiment, ExperimentError> {
    let mut comparisons = Vec::new();
    let two = |before: &str, scenario| -> Result<Vec<Arm>, ExperimentError> {
        Ok(vec![
            objects.arm(before, before, scenario)?,
            objects.arm(&format!("{before} again"), before, scenario)?.control(),
            objects.arm(AFTER, AFTER, scenario)?,
        ])
    };
    for (before, name, title) in
        [(BEFORE, "hint", "the hints"), (WARM, "cold", "the hints and the cold handler")]
    {
        comparisons.push(Comparison {
            code: Some((format!("{before} read"), format!("{AFTER} read"))),
            published: published(),
            ..comparison(
                format!("{name}-stress"),
                format!("{title}, random bytes"),
                READ,
                two(before, 0)?,
            )
        });
    }
    comparisons.push(comparison(
        "check-stress".to_owned(),
        "the check, random bytes".to_owned(),
        READ,
        checked(objects, 0, 0)?,
    ));
    for (scenario, bytes, operation, at_most) in COPIES {
        for (before, name, title) in
            [(BEFORE, "hint", "the hints"), (WARM, "cold", "the hints and the cold handler")]
        {
            comparisons.push(Comparison {
                code: Some((format!("{before} copy"), format!("{AFTER} copy"))),
                ..comparison(
                    format!("{name}-{bytes}"),
                    format!("{title}, {bytes} bytes"),
                    operation,
                    two(before, scenario)?,
                )
            });
        }
        for (name, title, more) in
            [("check", "the check", 0), ("sized", "the check of objects of known size", SIZED)]
        {
            comparisons.push(Comparison {
                bars: vec![Bar { arm: AFTER.to_owned(), at_most }],
                ..comparison(
                    format!("{name}-{bytes}"),
                    format!("{title}, {bytes} bytes"),
                    operation,
                    checked(objects, scenario, more)?,
                )
            });
        }
    }
    for (before, name, title) in FORMS_OF_HINT {
        comparisons.push(Comparison {
            code: Some((format!("{before} try"), format!("{AFTER} try"))),
            ..comparison(
                format!("{name}-try"),
                format!("{title}, 64 bytes, overflow returned"),
                "copy of 64 bytes",
                two(before, 2 + RETURNED)?,
            )
        });
    }
    Ok(Experiment {
        name: "fortify".to_owned(),
        title: "what hints on failing copies are worth, and what the checks cost".to_owned(),
        comparisons,
        listings: listings(),
    })
}

/// The unchecked form, the same again, and the checked one, which is `more` scenarios on.
fn checked(objects: &Objects, scenario: u32, more: u32) -> Result<Vec<Arm>, ExperimentError> {
    Ok(vec![
        objects.arm(UNCHECKED, AFTER, scenario + WITHOUT_CHECK)?,
        objects.arm("unchecked again", AFTER, scenario + WITHOUT_CHECK)?.control(),
        objects.arm(AFTER, AFTER, scenario + more)?,
    ])
}

fn listings() -> Vec<Listing> {
    let listing = |object: &str, what: &str, function: &str| Listing {
        name: what.to_owned(),
        function: function.to_owned(),
        kept: 0,
        object: Some(object.to_owned()),
    };
    let mut listings = Vec::new();
    for object in [WARM, BEFORE, AFTER] {
        listings.push(listing(object, &format!("{object} copy"), "fortify_copy"));
        listings.push(listing(object, &format!("{object} try"), "fortify_try_copy"));
        listings.push(listing(object, &format!("{object} read"), "fortify_read"));
    }
    listings.push(listing(AFTER, "hinted copy of objects of 64 bytes", "fortify_sized_copy"));
    listings.push(listing(AFTER, "unchecked copy", "unchecked_copy"));
    listings
}

fn comparison(name: String, title: String, operation: &str, arms: Vec<Arm>) -> Comparison {
    Comparison {
        name,
        title,
        operation: operation.to_owned(),
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

/// The patch's rates, turned round as a ratio of times.
fn published() -> Vec<Published> {
    vec![Published {
        source: "the patch, stress-ng urandom, Core Ultra 9 285K, 2025, said to be ~0.6 % more"
            .to_owned(),
        arm: AFTER.to_owned(),
        baseline: 50819.58,
        value: 50512.95,
        unit: "bogo-ops/s, turned round".to_owned(),
    }]
}
