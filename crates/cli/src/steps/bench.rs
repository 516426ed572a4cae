//! The A/B of the combined patch: arm A is the baseline, arm B the patched tree, each workload a
//! campaign of randomised blocks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object, ObjectSection, SectionKind};
use serde::{Deserialize, Serialize};
use unlikely_measure::{Arm, MeasureError, Plan, Progress};
use unlikely_report::{Fate, WorkloadBench};
use walkdir::WalkDir;

use super::baseline::{Baseline, plain_build};
use super::check::Checked;
use super::patch::{Patches, edited};
use crate::config::{self, Workload};
use crate::exit::{Exit, fail};
use crate::progress::stage;
use crate::project::Project;
use crate::tree;
use crate::verbs::scan::Scanned;

/// Name of the journal of all campaigns.
const JOURNAL: &str = "journal.redb";
const ARM_B: &str = "arm-b.json";

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) bench: Vec<WorkloadBench>,
    /// Bytes of executable sections of every program and library, before and after.
    pub(crate) text_bytes: Option<(u64, u64)>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    fingerprint: String,
}

/// Runs what is left of every workload's campaign.
pub(crate) fn bench(
    project: &Project,
    scanned: &Scanned,
    baseline: &Baseline,
    checked: &[Checked],
    patches: &Patches,
) -> anyhow::Result<Measured> {
    if patches.combined.is_empty() {
        return Ok(Measured::default());
    }
    build_arm_b(project, scanned, baseline, checked, patches)?;
    let trees = [baseline.build.tree.clone(), project.state("arm-b")];
    let [before, after] = trees.each_ref().map(|tree| texts(tree));
    // The baseline's tree may hold test programs besides; only what both have is compared.
    let both = before.iter().filter_map(|(path, a)| Some((a, after.get(path)?)));
    let sum = both.clone().fold((0, 0), |(a, b), (x, y)| (a + x.bytes, b + y.bytes));
    let text_bytes = Some(sum);
    if both.clone().all(|(a, b)| a.hash == b.hash) {
        // Nothing that runs differs (the linker folded it): there is nothing to measure.
        return Ok(Measured { bench: Vec::new(), text_bytes });
    }
    let mut bench = Vec::new();
    for workload in project.config.workloads(&project.dir)? {
        let config = project.config.bench;
        let arm = |dir: &Path| Arm {
            command: workload.command.clone(),
            dir: dir.to_owned(),
            env: Vec::new(),
        };
        let key = key(workload, config, &patches.fingerprint);
        let plan = Plan {
            a: arm(&trees[0]),
            b: arm(&trees[1]),
            metric: workload.metric(),
            blocks: config.blocks,
            warmups: config.warmups,
            seed: seed(&key),
            timeout: Duration::from_secs(config.timeout_s),
            equivalence_margin: config.margin_percent.map(|m| m / 100.0),
        };
        let measuring = stage(format!("measuring {}", workload.name()), config.blocks.into());
        let report = unlikely_measure::run(&plan, &project.state(JOURNAL), &key, &mut |at| {
            show(&measuring, &at);
        })
        .map_err(failed)?;
        measuring.done(&report.reason);
        bench.push(WorkloadBench {
            workload: workload.name().to_owned(),
            class: workload.class.name().to_owned(),
            report,
        });
    }
    Ok(Measured { bench, text_bytes })
}

/// Moves a stage's bar.
pub(crate) fn show(measuring: &crate::progress::Stage, at: &Progress) {
    match at {
        Progress::Resumed { blocks, .. } => (0..*blocks).for_each(|_| measuring.step()),
        Progress::Warmup { done, of } => measuring.note(&format!("warm-up {done}/{of}")),
        Progress::Block { row, .. } => {
            measuring.step();
            measuring.note(&format!("B/A {:.4}", row.b / row.a));
        }
    }
}

/// The exit code of a measuring error.
pub(crate) fn failed(error: MeasureError) -> anyhow::Error {
    let exit = match &error {
        MeasureError::Failed { .. }
        | MeasureError::TimedOut { .. }
        | MeasureError::NoValue { .. } => Exit::Workload,
        MeasureError::Plan(_) => Exit::Usage,
        MeasureError::JournalLocked { .. } => Exit::Busy,
        _ => Exit::System,
    };
    fail(exit, error.to_string())
}

fn build_arm_b(
    project: &Project,
    scanned: &Scanned,
    baseline: &Baseline,
    checked: &[Checked],
    patches: &Patches,
) -> anyhow::Result<()> {
    let build = plain_build(project, "arm-b", &baseline.compiler);
    let stands = project
        .load::<Kept>(ARM_B)
        .is_some_and(|k| k.fingerprint == patches.fingerprint && build.tree.is_dir());
    if stands {
        return Ok(());
    }
    let building = stage("building the patched tree", 0);
    let kept: Vec<&Checked> = checked.iter().filter(|c| c.fate == Fate::Kept).collect();
    project.forget(ARM_B)?;
    tree::copy(&project.dir, &build.tree)?;
    for (path, text) in edited(scanned, &kept)? {
        tree::replace(&build.tree.join(path), &text)?;
    }
    build.build(project)?;
    building.done("done");
    project.save(ARM_B, &Kept { fingerprint: patches.fingerprint.clone() })
}

/// A campaign is of these builds, this workload and this way to measure; any change of them
/// begins a new one.
fn key(workload: &Workload, config: config::Bench, builds: &str) -> String {
    let how = (workload.command.as_str(), workload.metric(), config.warmups, config.margin_percent);
    let mut hasher = blake3::Hasher::new();
    hasher.update(format!("{how:?} {builds}").as_bytes());
    format!("{} {}", workload.name(), &hasher.finalize().to_hex()[..16])
}

/// The order of arms is random, and the same again after a kill.
fn seed(key: &str) -> u64 {
    let hash = blake3::hash(key.as_bytes());
    hash.as_bytes().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}

/// The machine code of one program or library.
struct Text {
    bytes: u64,
    hash: blake3::Hash,
}

/// The executable sections of every linked program and library below `tree`, by relative path.
fn texts(tree: &Path) -> BTreeMap<PathBuf, Text> {
    let mut out = BTreeMap::new();
    let walk = WalkDir::new(tree).follow_links(false);
    for entry in walk.into_iter().filter_map(Result::ok).filter(|e| e.file_type().is_file()) {
        let Ok(data) = fs::read(entry.path()) else { continue };
        if !data.starts_with(b"\x7fELF") {
            continue;
        }
        let (Ok(file), Ok(path)) = (object::File::parse(&*data), entry.path().strip_prefix(tree))
        else {
            continue;
        };
        if file.kind() == object::ObjectKind::Relocatable {
            continue;
        }
        let mut hasher = blake3::Hasher::new();
        let mut bytes = 0;
        for section in file.sections().filter(|s| s.kind() == SectionKind::Text) {
            bytes += section.size();
            hasher.update(section.data().unwrap_or_default());
        }
        out.insert(path.to_owned(), Text { bytes, hash: hasher.finalize() });
    }
    out
}
