//! Where the spread of a campaign comes from: builds, boots, processes. A layer of which one was
//! sampled has a spread too, but these data cannot tell it, and no interval holds it.

use crate::journal::Session;
use crate::plan::Plan;
use crate::record::{BlockRecord, valid};
use crate::report::Layer;
use crate::stats::{Groups, PairedT};
use std::collections::{BTreeMap, BTreeSet};

/// The layers of `arm` against the baseline, the outermost first.
pub(crate) fn of(
    plan: &Plan,
    records: &[BlockRecord],
    sessions: &[Session],
    arm: u32,
    metric: usize,
) -> Vec<Layer> {
    let boot_of = |record: &BlockRecord| {
        sessions.get(record.session as usize).map_or("", |session| session.machine.boot_id.as_str())
    };
    let blocks: Vec<(u32, &str, f64)> = valid(records)
        .filter_map(|r| Some((r.build, boot_of(r), r.log_ratio(arm, metric)?)))
        .collect();
    let by_build = grouped(blocks.iter().map(|(build, _, log)| (*build, *log)));
    // What a build adds to its blocks is no part of the other layers.
    let means: BTreeMap<u32, f64> =
        by_build.iter().map(|(build, logs)| (*build, mean(logs))).collect();
    let rest = |build: &u32, log: f64| log - means.get(build).copied().unwrap_or_default();
    let by_boot = grouped(blocks.iter().map(|(build, boot, log)| (*boot, rest(build, *log))));
    // Boots can be told from builds only where one build ran in several.
    let boots_of = |build: u32| -> BTreeSet<&str> {
        blocks.iter().filter(|(b, _, _)| *b == build).map(|(_, boot, _)| *boot).collect()
    };
    let boots = by_build
        .keys()
        .any(|build| boots_of(*build).len() > 1)
        .then(|| Groups::new(&by_boot.values().collect::<Vec<_>>()))
        .flatten();
    let process = match &boots {
        Some(boots) => Some(boots.within_sd),
        None => process_sd(&by_build, blocks.len()),
    };
    let layer = |name: &str, groups: usize, sd: Option<f64>| Layer {
        name: name.to_owned(),
        groups: u32::try_from(groups).unwrap_or(u32::MAX),
        sd_percent: sd.map(|sd| sd.exp_m1() * 100.0),
    };
    let builds = (plan.builds() > 1)
        .then(|| Groups::new(&by_build.values().collect::<Vec<_>>()))
        .flatten()
        .map(|groups| groups.between_sd);
    vec![
        layer("build", by_build.len(), builds),
        layer("boot", by_boot.len(), boots.map(|groups| groups.between_sd)),
        layer("process", blocks.len(), process),
        // What a process repeats inside is one number when it gets here.
        layer("iteration", 0, None),
    ]
}

/// Standard deviation of blocks within their builds.
fn process_sd(by_build: &BTreeMap<u32, Vec<f64>>, blocks: usize) -> Option<f64> {
    let squares: f64 = by_build
        .values()
        .filter_map(|logs| PairedT::new(logs))
        .map(|t| t.sd.powi(2) * t.df())
        .sum();
    let df = blocks.checked_sub(by_build.len()).filter(|df| *df > 0)?;
    Some((squares / df as f64).sqrt())
}

fn grouped<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, Vec<f64>> {
    let mut groups: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for (key, value) in values {
        groups.entry(key).or_default().push(value);
    }
    groups
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::metric::Metric;
    use crate::plan::{Arm, Stop};
    use crate::record::tests::block;
    use std::time::Duration;

    /// The boot layer of four blocks, each of a build and a boot; the second boot adds 10 %.
    fn boot_of(builds: [u32; 4], boots: [u32; 4]) -> Layer {
        let mut arm = Arm::new("true", "/");
        arm.builds = vec![arm.builds[0].clone(); 1 + builds[3] as usize];
        let plan = Plan {
            arms: vec![arm.clone(), arm],
            metrics: vec![Metric::Time],
            blocks: 4,
            stop: Stop::Fixed,
            warmups: 0,
            seed: 0,
            timeout: Duration::from_secs(1),
            equivalence_margin: None,
            strict: false,
            rule: None,
        };
        let records: Vec<BlockRecord> = (0..)
            .zip(builds.into_iter().zip(boots))
            .map(|(at, (build, session))| {
                let b = 1.0 + 0.1 * f64::from(session) + 0.001 * f64::from(at % 2);
                BlockRecord { build, session, ..block(at, 1.0, b) }
            })
            .collect();
        let session = |boot: &str| Session {
            started_unix_s: 0,
            machine: Machine { boot_id: boot.to_owned(), ..Machine::default() },
        };
        of(&plan, &records, &[session("one"), session("two")], 1, 0).swap_remove(1)
    }

    #[test]
    fn a_boot_is_told_from_a_build_only_where_one_build_ran_in_several() {
        let across = boot_of([0, 0, 0, 0], [0, 0, 1, 1]);
        assert_eq!(across.groups, 2);
        assert!(across.sd_percent.unwrap() > 5.0, "{across:?}");
        let confounded = boot_of([0, 0, 1, 1], [0, 0, 1, 1]);
        assert_eq!((confounded.groups, confounded.sd_percent), (2, None));
    }
}
