//! `check`, `patch`, `bench` and `tune` of a project: the same way, gone to a different length.

use std::io::IsTerminal;
use std::path::Path;

use crate::args::{CollectorName, Format};
use crate::exit::Exit;
use crate::output::{color, print, width};
use crate::progress::tell;
use crate::project::Project;
use crate::steps::arms::Source;
use crate::steps::baseline::baseline;
use crate::steps::bench::{Measured, bench};
use crate::steps::check::check;
use crate::steps::evidence::{self, Learned, Reached};
use crate::steps::patch::{Patches, patch};
use crate::verbs::record::{Recording, recorded};
use crate::verbs::report::write_files;
use crate::verbs::scan::scan;

/// Runs all of it, from the recording to the report.
pub(crate) fn run(
    dir: &Path,
    collector: Option<CollectorName>,
    format: Format,
) -> anyhow::Result<Exit> {
    let project = Project::open(dir)?;
    project.config.workloads(&project.dir)?;
    // A baseline that does not build or fails its tests makes all that follows pointless.
    baseline(&project)?;
    let recording = recorded(&project, collector)?;
    go(&project, &recording, Reached::Measured, format)
}

/// Goes on from the recording that is there.
pub(crate) fn run_to(dir: &Path, reached: Reached, format: Format) -> anyhow::Result<Exit> {
    let project = Project::open(dir)?;
    let recording = Recording::load(&project)?;
    go(&project, &recording, reached, format)
}

fn go(
    project: &Project,
    recording: &Recording,
    reached: Reached,
    format: Format,
) -> anyhow::Result<Exit> {
    let baseline = baseline(project)?;
    let scanned = scan(project, recording)?;
    let mut checked = check(project, &scanned, &baseline)?;
    let patches = match reached {
        Reached::Checked => Patches::default(),
        _ => patch(project, &scanned, &baseline, &mut checked)?,
    };
    let measured = match reached {
        Reached::Measured => bench(Source {
            project,
            scanned: &scanned,
            baseline: &baseline,
            checked: &checked,
            patches: &patches,
        })?,
        _ => Measured::default(),
    };
    let learned = Learned {
        recording,
        scanned: &scanned,
        baseline: &baseline,
        checked: &checked,
        patches: &patches,
        measured,
        reached,
    };
    let evidence = evidence::gather(project, learned);
    evidence::keep(project, &evidence)?;
    write_files(project, &evidence)?;
    let text = match format {
        Format::Json => format!("{}\n", unlikely_report::json(&evidence)),
        Format::Text => {
            unlikely_report::terminal(&evidence, width(), color(std::io::stdout().is_terminal()))
        }
    };
    print(&text)?;
    tell(&format!("page: {}", project.state("report.html").display()));
    Ok(evidence::exit(&evidence))
}
