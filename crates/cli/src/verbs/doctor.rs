//! `doctor`: what is missing, the command that installs it, and what the machine is like.
//!
//! Being on `PATH` is not enough for a compiler: without its profile runtime or the C library's
//! headers it fails in the middle of a recording. So each compiler links a small program with
//! coverage before it is called well.

mod packages;
mod tools;

use std::io::IsTerminal;
use std::path::Path;

use serde::Serialize;
use unlikely_measure::Machine;

use crate::args::Format;
use crate::config::{Config, FILE};
use crate::exit::{Exit, fail};
use crate::output::{color, print};
use packages::Distribution;
use tools::Tool;

/// Schema of [`Diagnosis`].
const SCHEMA: &str = "unlikely/doctor/1";

/// Everything that was looked at.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    tools: Vec<Tool>,
    project: ProjectState,
    machine: Machine,
    warnings: Vec<String>,
}

/// What the project's configuration is like.
#[derive(Debug, Serialize)]
#[serde(tag = "config", rename_all = "lowercase")]
enum ProjectState {
    /// There is none.
    None { path: String },
    /// It reads.
    Good { path: String, workloads: usize },
    /// It does not read.
    Bad { error: String },
}

/// Runs the verb.
pub(crate) fn run(dir: &Path, format: Format) -> anyhow::Result<Exit> {
    if !dir.is_dir() {
        return Err(fail(Exit::Usage, format!("{}: no such folder", dir.display())));
    }
    let (config, project) = project(dir);
    let machine = Machine::read();
    let diagnosis = Diagnosis {
        schema: SCHEMA,
        tools: tools::look(dir, config.as_ref(), &Distribution::read()),
        project,
        warnings: machine.warnings().iter().map(ToString::to_string).collect(),
        machine,
    };
    print(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&diagnosis)?),
        Format::Text => text(&diagnosis, color(std::io::stdout().is_terminal())),
    })?;
    Ok(if diagnosis.tools.iter().any(|t| t.required && !t.works()) {
        Exit::Tool
    } else if matches!(diagnosis.project, ProjectState::Bad { .. }) {
        Exit::Usage
    } else {
        Exit::Done
    })
}

fn project(dir: &Path) -> (Option<Config>, ProjectState) {
    let path = dir.join(FILE);
    // A link that leads nowhere is there, and unreadable.
    if path.symlink_metadata().is_err() {
        return (None, ProjectState::None { path: path.display().to_string() });
    }
    match Config::read(dir) {
        Ok(config) => {
            let workloads = config.workloads.len();
            let path = path.display().to_string();
            (Some(config), ProjectState::Good { path, workloads })
        }
        Err(error) => (None, ProjectState::Bad { error: format!("{error:#}") }),
    }
}

/// How a line is marked.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Good,
    Note,
    Bad,
}

impl Mark {
    fn text(self, color: bool) -> String {
        let (word, code) = match self {
            Self::Good => ("ok", 32),
            Self::Note => ("--", 33),
            Self::Bad => ("!!", 31),
        };
        if color { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
    }
}

fn text(diagnosis: &Diagnosis, color: bool) -> String {
    let name_columns = diagnosis.tools.iter().map(|t| t.name.len()).max().unwrap_or(0).max(9);
    let line = |mark: Mark, name: &str, text: &str| {
        format!("{} {name:<name_columns$}  {text}\n", mark.text(color))
    };
    let mut out = String::new();
    for required in [true, false] {
        out += if required { "Required\n" } else { "\nOptional\n" };
        for tool in diagnosis.tools.iter().filter(|t| t.required == required) {
            out += &match (tool.works(), required) {
                (true, _) => line(Mark::Good, &tool.name, &tool.good()),
                (false, true) => line(Mark::Bad, &tool.name, &tool.bad()),
                (false, false) => line(Mark::Note, &tool.name, &tool.bad()),
            };
            if let Some(install) = tool.install.as_ref().filter(|_| !tool.works()) {
                out += &format!("   {:name_columns$}  install: {install}\n", "");
            }
        }
    }
    out += "\nProject\n";
    out += &match &diagnosis.project {
        ProjectState::None { path } => {
            line(Mark::Note, FILE, &format!("{path}: none; `unlikely init` writes a first one"))
        }
        ProjectState::Good { path, workloads: 0 } => {
            line(Mark::Note, FILE, &format!("{path} reads, but has no [[workload]] yet"))
        }
        ProjectState::Good { path, workloads } => {
            line(Mark::Good, FILE, &format!("{path} reads; {workloads} workload(s)"))
        }
        ProjectState::Bad { error } => line(Mark::Bad, FILE, error),
    };
    out += "\nMachine\n";
    out += &line(Mark::Good, "is", &machine(&diagnosis.machine));
    for warning in &diagnosis.warnings {
        out += &line(Mark::Note, "warning", warning);
    }
    out
}

fn machine(machine: &Machine) -> String {
    let mut out = format!("{}, Linux {}, turbo {}", machine.cpu, machine.kernel, machine.turbo);
    if !machine.governors.is_empty() {
        out += &format!(", governor {}", machine.governors.join("/"));
    }
    if let Some(load) = machine.load1 {
        out += &format!(", load {load:.2}");
    }
    out
}
