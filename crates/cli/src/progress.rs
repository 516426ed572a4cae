//! What is going on, on stderr: bars where a person looks, plain lines where a log does.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// One stage of the work.
#[derive(Debug)]
pub(crate) struct Stage {
    bar: ProgressBar,
    name: String,
    visible: bool,
}

/// Opens a stage of `total` steps; 0 if nobody knows how many.
pub(crate) fn stage(name: impl Into<String>, total: u64) -> Stage {
    let name = name.into();
    let visible = stderr().is_terminal();
    let bar = match (visible, total) {
        (false, _) => ProgressBar::hidden(),
        (true, 0) => ProgressBar::new_spinner().with_style(style("{spinner} {msg} {elapsed}")),
        (true, _) => ProgressBar::new(total)
            .with_style(style("{spinner} {msg} [{bar:30}] {pos}/{len} {elapsed} (eta {eta})")),
    };
    bar.set_message(name.clone());
    if visible {
        bar.enable_steady_tick(Duration::from_millis(120));
    } else {
        tell(&format!("{name} …"));
    }
    Stage { bar, name, visible }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Stage {
    /// One step further.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Says what is being done within the stage.
    pub(crate) fn note(&self, text: &str) {
        self.bar.set_message(format!("{}: {text}", self.name));
    }

    /// Closes the stage with its result.
    pub(crate) fn done(self, result: &str) {
        self.bar.finish_and_clear();
        if self.visible {
            tell(&format!("✓ {}: {result}", self.name));
        } else {
            tell(&format!("  {result}"));
        }
    }
}

/// A line for whoever looks on. Nobody may: a closed pipe or a full disk ends no measurement.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// A warning that a person should see even when all goes on.
pub(crate) fn warn(text: &str) {
    say("warning", text);
}

/// What ended the program.
pub(crate) fn error(text: &str) {
    say("unlikely", text);
}

/// Messages quote what was read; nothing of it may act on the terminal.
fn say(what: &str, text: &str) {
    tell(&format!("{what}: {}", unlikely_report::shown(text)));
}
