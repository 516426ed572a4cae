//! The A/B of the combined patch: arm A is the baseline, arm B the patched tree, each workload a
//! campaign of randomised blocks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object, ObjectSection, SectionKind};
use unlikely_measure::machine::Rule;
use unlikely_measure::{Arm, BenchReport, Build, MeasureError, Plan, Progress};
use unlikely_report::WorkloadBench;
use walkdir::WalkDir;

use super::arms::{Arms, Source};
use crate::config::{self, Workload};
use crate::exit::{Exit, fail};
use crate::progress::stage;
use crate::project::Project;

/// Name of the journal of all campaigns.
const JOURNAL: &str = "journal.redb";

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) bench: Vec<WorkloadBench>,
    /// Bytes of executable sections of every program and library, before and after.
    pub(crate) text_bytes: Option<(u64, u64)>,
}

/// Runs what is left of every workload's campaign.
pub(crate) fn bench(source: Source<'_>) -> anyhow::Result<Measured> {
    let Source { project, baseline, patches, .. } = source;
    if patches.combined.is_empty() {
        return Ok(Measured::default());
    }
    let [before, after] = [&baseline.build.tree, &source.patched()?].map(|tree| texts(tree));
    // The baseline's tree may hold test programs besides; only what both have is compared.
    let both = before.iter().filter_map(|(path, a)| Some((a, after.get(path)?)));
    let sum = both.clone().fold((0, 0), |(a, b), (x, y)| (a + x.bytes, b + y.bytes));
    let text_bytes = Some(sum);
    if both.clone().all(|(a, b)| a.hash == b.hash) {
        // Nothing that runs differs (the linker folded it): there is nothing to measure.
        return Ok(Measured { bench: Vec::new(), text_bytes });
    }
    let arms = source.arms(project.config.bench.builds)?;
    let mut bench = Vec::new();
    for workload in project.config.workloads(&project.dir)? {
        let mut report = campaign(project, workload, &arms, &patches.fingerprint)?;
        report.provenance.warnings.extend(arms.warning.clone());
        bench.push(WorkloadBench {
            workload: workload.name().to_owned(),
            class: workload.class.name().to_owned(),
            report,
            dose: None,
        });
    }
    // One patch, several workloads: several claims.
    unlikely_measure::claim_together(bench.iter_mut().map(|one| &mut one.report));
    Ok(Measured { bench, text_bytes })
}

/// Runs what is left of one workload's campaign.
fn campaign(
    project: &Project,
    workload: &Workload,
    arms: &Arms,
    fingerprint: &str,
) -> anyhow::Result<BenchReport> {
    let config = project.config.bench;
    let arm = |builds: &[Build]| Arm { command: workload.command.clone(), builds: builds.to_vec() };
    let key = key(workload, config, fingerprint);
    let plan = Plan {
        arms: vec![arm(&arms.a), arm(&arms.b)],
        metrics: vec![workload.metric()],
        blocks: config.blocks.next_multiple_of(config.builds.max(1)),
        stop: config.stop,
        warmups: config.warmups,
        seed: seed(&key),
        timeout: Duration::from_secs(config.timeout_s),
        equivalence_margin: config.margin_percent.map(|m| m / 100.0),
        strict: config.strict,
        rule: Some(Rule::default()),
    };
    let measuring = stage(format!("measuring {}", workload.name()), plan.blocks.into());
    let mut report = unlikely_measure::run(&plan, &project.state(JOURNAL), &key, &mut |at| {
        show(&measuring, &at);
    })
    .map_err(failed)?;
    measuring.done(&report.reason);
    report.provenance.warnings.extend(tried_before(project, &key));
    Ok(report)
}

/// Moves a stage's bar.
pub(crate) fn show(measuring: &crate::progress::Stage, at: &Progress) {
    match at {
        Progress::Resumed { blocks, .. } => (0..*blocks).for_each(|_| measuring.step()),
        Progress::Warmup { done, of } => measuring.note(&format!("warm-up {done}/{of}")),
        Progress::Block { block, .. } => match &block.invalid {
            Some(disturbance) => measuring.note(&format!("again: {disturbance}")),
            None => {
                measuring.step();
                let ratio = block.log_ratio(1, 0).unwrap_or_default().exp();
                measuring.note(&format!("B/A {ratio:.4}"));
            }
        },
    }
}

/// The exit code of a measuring error.
pub(crate) fn failed(error: MeasureError) -> anyhow::Error {
    let exit = match &error {
        MeasureError::Failed { .. }
        | MeasureError::TimedOut { .. }
        | MeasureError::NoValue { .. } => Exit::Workload,
        MeasureError::Plan(_) | MeasureError::PlanDiffers { .. } => Exit::Usage,
        MeasureError::JournalLocked { .. } => Exit::Busy,
        _ => Exit::System,
    };
    fail(exit, error.to_string())
}

/// A campaign is of this workload, these builds and this way to measure; any change of them
/// begins a new one. The first two are the prefix that all campaigns on one question share.
fn key(workload: &Workload, config: config::Bench, builds: &str) -> String {
    let how = (workload.command.as_str(), workload.metric(), config);
    let digest = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..8].to_owned();
    format!("{} {} {}", workload.name(), digest(builds), digest(&format!("{how:?}")))
}

/// A word on other campaigns on the same question: who tries until one pleases finds one.
fn tried_before(project: &Project, key: &str) -> Option<String> {
    let (question, _) = key.rsplit_once(' ')?;
    let all = unlikely_measure::campaigns(&project.state(JOURNAL)).ok()?;
    let others = all
        .iter()
        .filter(|other| *other != key && other.rsplit_once(' ').is_some_and(|(q, _)| q == question))
        .count();
    (others > 0).then(|| {
        format!(
            "{others} other campaign(s) on the same builds and workload were measured with other \
             settings: of several tries one looks best by chance, so say how many there were"
        )
    })
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
