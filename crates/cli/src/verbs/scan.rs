//! `scan`: join the recorded counts with the source and print what they say.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

use unlikely_advise::{Advice, Thresholds, Workload, advise, audit_counted};
use unlikely_profile::{Diagnostic, Severity};
use unlikely_source::{MacroTable, sites};

use super::record::{Recording, hash};
use crate::args::{Format, ScanArgs};
use crate::exit::Exit;
use crate::output::{color, print, width};
use crate::project::{Project, is_c};
use crate::steps::evidence::proposes;

/// The advice and the text that it is about.
pub(crate) struct Scanned {
    pub(crate) advice: Advice,
    pub(crate) sources: BTreeMap<String, Vec<u8>>,
    pub(crate) table: MacroTable,
    pub(crate) workloads: Vec<Workload>,
}

/// Runs the verb.
pub(crate) fn run(dir: &Path, args: &ScanArgs) -> anyhow::Result<Exit> {
    let project = Project::open(dir)?;
    let recording = Recording::load(&project)?;
    let scanned = scan(&project, &recording)?;
    let scan = &scanned.advice.scan;
    match args.format {
        Format::Json => print(&format!("{}\n", serde_json::to_string_pretty(scan)?))?,
        Format::Text => print(&unlikely_report::scan_terminal(
            scan,
            args.top,
            width(),
            color(std::io::stdout().is_terminal()),
        ))?,
    }
    Ok(if proposes(scan) { Exit::Done } else { Exit::Negative })
}

/// Joins a recording with the project's text as it is now.
pub(crate) fn scan(project: &Project, recording: &Recording) -> anyhow::Result<Scanned> {
    let sources = project.texts()?;
    let mut table = MacroTable::default();
    for (path, text) in sources.iter().filter(|(path, _)| is_c(path)) {
        table.add(path, text);
    }
    let mut stale = Vec::new();
    let mut workloads = Vec::new();
    for workload in &recording.workloads {
        let mut profile = recording.profile(project, &workload.name)?;
        profile.files.retain(|path, _| {
            let fresh = match (recording.sources.get(path), sources.get(path)) {
                (Some(then), Some(now)) => *then == hash(now),
                _ => true,
            };
            if !fresh {
                stale.push(path.clone());
            }
            fresh
        });
        let (name, class) = (workload.name.clone(), workload.class.clone());
        workloads.push(Workload { name, class, profile });
    }
    // Only what was counted needs to be parsed.
    let counted = |path: &str| workloads.iter().any(|w| w.profile.files.contains_key(path));
    let files = sources
        .iter()
        .filter(|(path, _)| is_c(path) && counted(path))
        .map(|(path, text)| (path.clone(), sites(text, &table)))
        .collect();
    let config = project.config.advise;
    let thresholds = Thresholds { rare_max: config.rare_max, executed_min: config.executed_min };
    let mut advice = advise(&workloads, &files, thresholds);
    audit_counted(&workloads, &sources, &mut advice.scan);
    let diagnostics = &mut advice.scan.diagnostics;
    diagnostics.splice(0..0, recording.diagnostics.iter().cloned());
    stale.sort_unstable();
    stale.dedup();
    diagnostics.extend(stale.iter().map(|path| {
        Diagnostic::new(
            Severity::Warning,
            "source-changed",
            format!("{path} changed since it was recorded; its counts are set aside: record again"),
            Some(path),
        )
    }));
    Ok(Scanned { advice, sources, table, workloads })
}
