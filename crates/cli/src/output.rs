//! Data on stdout.

use std::env;
use std::io::{self, Write};
use std::sync::OnceLock;

use crate::args::ColorChoice;

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Remembers `--color` for the whole run.
pub(crate) fn choose_color(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// Whether to colour what goes to a place that is a terminal or not.
pub(crate) fn color(terminal: bool) -> bool {
    match CHOICE.get().copied().unwrap_or_default() {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        // https://no-color.org: present and not empty.
        ColorChoice::Auto => terminal && env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// Columns of the terminal, or 100 where there is none.
pub(crate) fn width() -> usize {
    match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col >= 40 => usize::from(size.ws_col),
        _ => 100,
    }
}

/// Prints; a reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("standard output cannot be written: {error}")))
        }
        done => done,
    }
}
