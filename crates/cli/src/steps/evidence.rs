//! The evidence record of a run, and what it says in the end.

use std::collections::BTreeMap;

use anyhow::Context;
use unlikely_advise::Scan;
use unlikely_measure::{Machine, Verdict};
use unlikely_report::{
    Dose, Evidence, ExcerptLine, Fate, Outcome, SCHEMA, SiteEvidence, WorkloadBench,
};

use super::baseline::Baseline;
use super::bench::Measured;
use super::check::Checked;
use super::patch::Patches;
use crate::exit::{Exit, fail};
use crate::project::Project;
use crate::verbs::record::{Recording, now_unix_s};
use crate::verbs::scan::Scanned;

const PATH: &str = "evidence.json";
/// Lines of source shown before and after a site.
const AROUND: u32 = 4;

/// How far a run went: the later verbs go on where the earlier ones stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Checked,
    Patched,
    Measured,
}

/// Everything that a run learned.
pub(crate) struct Learned<'l> {
    pub(crate) recording: &'l Recording,
    pub(crate) scanned: &'l Scanned,
    pub(crate) baseline: &'l Baseline,
    pub(crate) checked: &'l [Checked],
    pub(crate) patches: &'l Patches,
    pub(crate) measured: Measured,
    pub(crate) reached: Reached,
}

/// Puts the record together.
pub(crate) fn gather(project: &Project, learned: Learned) -> Evidence {
    let Learned { recording, scanned, baseline, checked, patches, measured, reached } = learned;
    let lines = line_counts(scanned);
    let sites: Vec<SiteEvidence> = checked
        .iter()
        .enumerate()
        .map(|(i, hint)| SiteEvidence {
            id: scanned.advice.targets[hint.index].id.clone(),
            excerpt: match hint.fate {
                Fate::NotTried => Vec::new(),
                _ => excerpt(scanned, hint, &lines),
            },
            code: hint.code.clone(),
            patch: patches.single.get(i).map(|p| text(p)).unwrap_or_default(),
            fate: hint.fate,
            fate_reason: hint.reason.clone(),
            bench: Vec::new(),
        })
        .collect();
    let mut measured = measured;
    for one in &mut measured.bench {
        one.dose = dose(&scanned.advice.scan, &sites, one);
    }
    let outcome = outcome(&sites, &measured, reached);
    let dir = project.dir.display();
    Evidence {
        schema: SCHEMA.to_owned(),
        tool: format!("unlikely {}", env!("CARGO_PKG_VERSION")),
        project: project.config.project.name.clone(),
        created_unix_s: now_unix_s(),
        collector: recording.collector.clone(),
        compiler: baseline.compiler.version.clone(),
        cflags: project.config.build.cflags.clone(),
        scan: scanned.advice.scan.clone(),
        summary: summary(outcome, &sites, &measured.bench, reached),
        sites,
        bench: measured.bench,
        combined_patch: text(&patches.combined),
        text_bytes: measured.text_bytes,
        outcome,
        next: match (outcome, reached) {
            (Outcome::NoCandidate, _) => format!("unlikely scan {dir}"),
            (_, Reached::Checked) => format!("unlikely patch {dir}"),
            (_, Reached::Patched) => format!("unlikely bench {dir}"),
            (Outcome::Gain, _) => {
                let patch = project.state("patches/combined.patch");
                format!("git apply {}", patch.display())
            }
            (_, Reached::Measured) => format!("unlikely report {dir}"),
        },
    }
}

/// Keeps the record.
pub(crate) fn keep(project: &Project, evidence: &Evidence) -> anyhow::Result<()> {
    project.save(PATH, evidence)
}

/// The kept record, or the error that says how to make one.
pub(crate) fn load(project: &Project) -> anyhow::Result<Evidence> {
    let path = project.state(PATH);
    let remedy = || format!("no evidence yet: `unlikely tune {}`", project.dir.display());
    let bytes = std::fs::read(&path).map_err(|_| fail(Exit::Usage, remedy()))?;
    serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is of another version: run tune again", path.display()))
}

/// The exit code of an outcome.
pub(crate) fn exit(evidence: &Evidence) -> Exit {
    match evidence.outcome {
        Outcome::Gain | Outcome::NotMeasured => Exit::Done,
        Outcome::NoGain | Outcome::Loss | Outcome::NoEffect | Outcome::NoCandidate => {
            Exit::Negative
        }
    }
}

fn outcome(sites: &[SiteEvidence], measured: &Measured, reached: Reached) -> Outcome {
    let verdict = |v| measured.bench.iter().any(|b| b.report.verdict == v);
    if sites.is_empty() {
        Outcome::NoCandidate
    } else if !sites.iter().any(|s| s.fate == Fate::Kept)
        // The linked program is the same after all.
        || (reached == Reached::Measured && measured.bench.is_empty())
    {
        Outcome::NoEffect
    } else if reached != Reached::Measured {
        Outcome::NotMeasured
    } else if verdict(Verdict::Slower) {
        Outcome::Loss
    } else if verdict(Verdict::Faster) {
        Outcome::Gain
    } else {
        Outcome::NoGain
    }
}

fn summary(
    outcome: Outcome,
    sites: &[SiteEvidence],
    bench: &[WorkloadBench],
    reached: Reached,
) -> String {
    let count = |fate| sites.iter().filter(|s| s.fate == fate).count();
    let kept = count(Fate::Kept);
    let named = |verdict| {
        let of = bench.iter().filter(|b| b.report.verdict == verdict);
        of.map(|b| b.workload.as_str()).collect::<Vec<_>>().join(", ")
    };
    match outcome {
        Outcome::NoCandidate => {
            "No condition is worth a hint under these workloads. Leave the code as it is."
                .to_owned()
        }
        Outcome::NoEffect => format!(
            "No hint survives: {} leave the machine code as it is, {} do not better it, {} were \
             withdrawn. Leave the code as it is.",
            count(Fate::NoOp),
            count(Fate::NoBenefit),
            count(Fate::Withdrawn)
        ),
        Outcome::NotMeasured if reached == Reached::Checked => format!(
            "{} the machine code; whether that helps is not measured yet.",
            hints(kept, "changes", "change")
        ),
        Outcome::NotMeasured => format!(
            "{} and passes the project's tests; whether it helps is not measured yet.",
            if kept == 1 { "The patch builds" } else { "Each patch builds" }
        ),
        Outcome::Gain if bench.iter().any(WorkloadBench::is_suspicious) => format!(
            "{} {} faster, but the effect is larger than hints can explain. Find its cause before \
             proposing the patch.",
            hints(kept, "makes", "together make"),
            named(Verdict::Faster)
        ),
        Outcome::Gain => format!(
            "{} {} faster, and no workload is shown to be slower. Propose the patch.",
            hints(kept, "makes", "together make"),
            named(Verdict::Faster)
        ),
        Outcome::Loss => format!(
            "{} {} slower. Do not propose the patch as it stands.",
            hints(kept, "makes", "together make"),
            named(Verdict::Slower)
        ),
        Outcome::NoGain => format!(
            "{} the machine code, but no workload shows a gain that these blocks could resolve. \
             Do not claim one.",
            hints(kept, "changes", "change")
        ),
    }
}

/// Whether the kept hints can explain what `one` measured: by the executions that its workload's
/// profile counted.
fn dose(scan: &Scan, sites: &[SiteEvidence], one: &WorkloadBench) -> Option<Dose> {
    let kept = sites.iter().filter(|site| site.fate == Fate::Kept);
    let executed: Vec<u64> = kept
        .filter_map(|site| scan.candidates.iter().find(|c| c.id == site.id))
        .flat_map(|c| &c.workloads)
        .filter(|count| count.name == one.workload && count.executed > 0)
        .map(|count| count.executed)
        .collect();
    let executions = executed.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
    let clock = one.report.provenance.machines.iter().filter_map(Machine::clock_hz_max);
    let clock = clock.fold(None, |max: Option<f64>, hz| Some(max.map_or(hz, |max| max.max(hz))))?;
    Dose::of(&one.report, u32::try_from(executed.len()).ok()?, executions, clock)
}

/// A patch for reading; the file in `patches/` has its bytes.
fn text(patch: &[u8]) -> String {
    String::from_utf8_lossy(patch).into_owned()
}

/// `The hint makes` or `The 3 hints together make`.
fn hints(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("The hint {one}") } else { format!("The {n} hints {many}") }
}

/// Executions of each line of each file, all workloads.
fn line_counts(scanned: &Scanned) -> BTreeMap<&str, BTreeMap<u32, u64>> {
    let mut out: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    for workload in &scanned.workloads {
        for (path, file) in &workload.profile.files {
            let lines = out.entry(path).or_default();
            for (line, count) in &file.lines {
                let sum = lines.entry(*line).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
    out
}

fn excerpt(
    scanned: &Scanned,
    hint: &Checked,
    lines: &BTreeMap<&str, BTreeMap<u32, u64>>,
) -> Vec<ExcerptLine> {
    let target = &scanned.advice.targets[hint.index];
    let Some(text) = scanned.sources.get(&target.file) else { return Vec::new() };
    let from = target.condition.start.line.saturating_sub(AROUND).max(1);
    let to = target.condition.end.line.saturating_add(AROUND);
    let counts = lines.get(target.file.as_str());
    text.split(|b| *b == b'\n')
        .zip(1_u32..)
        .skip_while(|(_, n)| *n < from)
        .take_while(|(_, n)| *n <= to)
        .map(|(bytes, line)| ExcerptLine {
            line,
            count: counts.and_then(|c| c.get(&line)).copied(),
            text: String::from_utf8_lossy(bytes).trim_end_matches('\r').to_owned(),
        })
        .collect()
}

/// Whether a scan proposes anything.
pub(crate) fn proposes(scan: &Scan) -> bool {
    scan.candidates.iter().any(|c| c.verdict == unlikely_advise::SiteVerdict::Propose)
}
