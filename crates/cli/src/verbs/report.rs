//! `report`: every output from the evidence record of the last run.

use std::io::IsTerminal;
use std::path::Path;

use unlikely_report::Evidence;

use crate::args::ReportFormat;
use crate::exit::{Exit, fail};
use crate::output::{color, print, width};
use crate::project::Project;
use crate::steps::evidence::load;

/// Runs the verb.
pub(crate) fn run(dir: &Path, format: ReportFormat, site: Option<&str>) -> anyhow::Result<Exit> {
    let project = Project::open(dir)?;
    let evidence = load(&project)?;
    let text = match format {
        ReportFormat::Text => {
            unlikely_report::terminal(&evidence, width(), color(std::io::stdout().is_terminal()))
        }
        ReportFormat::Json => format!("{}\n", unlikely_report::json(&evidence)),
        ReportFormat::Html => unlikely_report::html(&evidence),
        ReportFormat::Message => {
            let message = match site {
                Some(id) => unlikely_report::site_commit_message(&evidence, id),
                None => unlikely_report::commit_message(&evidence),
            };
            message.ok_or_else(|| {
                fail(Exit::Negative, "no hint was kept: there is nothing to commit")
            })?
        }
    };
    print(&text)?;
    Ok(Exit::Done)
}

/// Writes the page and the message beside the record.
pub(crate) fn write_files(project: &Project, evidence: &Evidence) -> anyhow::Result<()> {
    project.save_bytes("report.html", unlikely_report::html(evidence).as_bytes())?;
    let message = unlikely_report::commit_message(evidence).unwrap_or_default();
    project.save_bytes("commit-message.txt", message.as_bytes())
}
