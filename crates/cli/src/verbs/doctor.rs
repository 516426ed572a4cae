//! `doctor`: what is missing, the command that installs it, and what the machine is like.
//!
//! Being on `PATH` is not enough for a compiler: without its profile runtime or the C library's
//! headers it fails in the middle of a recording. So each compiler links a small program with
//! coverage before it is called well.

mod machine;
mod packages;
mod tools;

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use unlikely_measure::Machine;

use crate::args::Format;
use crate::config::{Config, FILE};
use crate::exit::{Exit, fail};
use crate::output::{color, print, width};
use packages::Distribution;
use tools::Tool;

/// How long the machine is watched for other work: 25 of the kernel's ticks, enough to see who
/// keeps a CPU busy.
const WATCHED: Duration = Duration::from_millis(250);

/// Schema of [`Diagnosis`].
const SCHEMA: &str = "unlikely/doctor/1";

/// Everything that was looked at.
#[derive(Debug, Serialize)]
struct Diagnosis {
    schema: &'static str,
    tools: Vec<Tool>,
    project: ProjectState,
    machine: Machine,
    /// Why the hardware counts no instructions here, if it does not.
    counters: Option<String>,
    /// What a measurement suffers from here, the loud first.
    warnings: Vec<String>,
    /// How many of the warnings are loud: reasons not to measure now.
    loud: usize,
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

impl ProjectState {
    fn said(&self) -> (Mark, String) {
        match self {
            Self::None { path } => {
                (Mark::Note, format!("no {path}; `unlikely init` writes a first one"))
            }
            Self::Good { path, workloads: 0 } => {
                (Mark::Note, format!("{path} reads, but has no [[workload]] yet: fill one in"))
            }
            Self::Good { path, workloads } => {
                (Mark::Good, format!("{path} reads; workloads: {workloads}"))
            }
            Self::Bad { error } => (Mark::Bad, error.clone()),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(dir: &Path, format: Format) -> anyhow::Result<Exit> {
    if !dir.is_dir() {
        return Err(fail(Exit::Usage, format!("{}: no such folder", dir.display())));
    }
    let (config, project) = project(dir);
    let tools = tools::look(dir, config.as_ref(), &Distribution::read());
    // When the programs tried by then have ended, which are no other work.
    let counters = unlikely_measure::metric::probe("instructions").err();
    let machine = Machine::watch(WATCHED);
    let diagnosis = Diagnosis {
        schema: SCHEMA,
        tools,
        project,
        warnings: machine.warnings().iter().map(ToString::to_string).collect(),
        loud: machine.loud().len(),
        counters: counters.map(|problem| problem.to_string()),
        machine,
    };
    print(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&diagnosis)?),
        Format::Text => text(&diagnosis, width(), color(std::io::stdout().is_terminal())),
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

/// The text, and how it is laid out.
struct Page {
    text: String,
    color: bool,
    columns: usize,
    name_columns: usize,
}

impl Page {
    fn title(&mut self, title: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.text += &format!("{gap}{title}\n");
    }

    fn line(&mut self, mark: Mark, name: &str, said: &str) {
        let indent = self.name_columns + 5;
        let said = wrapped(said, self.columns.saturating_sub(indent).max(20));
        let said = said.join(&format!("\n{:indent$}", ""));
        let mark = mark.text(self.color);
        self.text += &format!("{mark} {name:<0$}  {said}\n", self.name_columns);
    }
}

/// Lines of at most `columns` characters, as far as words allow.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in text.lines() {
        let words = line.trim_start();
        let mut current = line[..line.len() - words.len()].to_owned();
        for word in words.split(' ') {
            let longer = current.chars().count() + 1 + word.chars().count();
            if current.trim().is_empty() {
                // Its first word, after the indent.
            } else if longer > columns {
                out.push(std::mem::take(&mut current));
            } else {
                current.push(' ');
            }
            current += word;
        }
        out.push(current);
    }
    out
}

fn text(diagnosis: &Diagnosis, columns: usize, color: bool) -> String {
    let longest = diagnosis.tools.iter().map(|t| t.name.chars().count()).max();
    let name_columns = longest.unwrap_or(0).max("config".len());
    let mut page = Page { text: String::new(), color, columns, name_columns };
    for required in [true, false] {
        page.title(if required { "Required" } else { "Optional" });
        for tool in diagnosis.tools.iter().filter(|t| t.required == required) {
            let mark = match (tool.works(), required) {
                (true, _) => Mark::Good,
                (false, true) => Mark::Bad,
                (false, false) => Mark::Note,
            };
            page.line(mark, &tool.name, &tool.said());
        }
    }
    page.title("Project");
    let (mark, said) = diagnosis.project.said();
    page.line(mark, "config", &said);
    page.title("Machine");
    for (name, said) in machine::lines(&diagnosis.machine) {
        page.line(Mark::Good, name, &said);
    }
    match &diagnosis.counters {
        None => {
            page.line(Mark::Good, "counters", "`bench --metric perf:instructions` and its like")
        }
        Some(problem) => page.line(
            Mark::Note,
            "counters",
            &format!("{problem}; `bench --count` takes their place"),
        ),
    }
    for (index, warning) in diagnosis.warnings.iter().enumerate() {
        let loud = index < diagnosis.loud;
        let (mark, name) = if loud { (Mark::Bad, "loud") } else { (Mark::Note, "note") };
        page.line(mark, name, warning);
    }
    page.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("unbreakable x", 4), ["unbreakable", "x"]);
        assert_eq!(wrapped("a\n  b c", 10), ["a", "  b c"]);
    }
}
