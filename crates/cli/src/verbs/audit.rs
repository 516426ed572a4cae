//! `audit`: recompute the figures of a published claim.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use unlikely_claims::{Finding, audit};

use crate::args::Format;
use crate::exit::{Exit, fail};
use crate::output::{color, print, width};

/// Most bytes that are read: more than any message has, and what `audit` looks at.
const BYTES_MAX: u64 = 4 << 20;

/// Runs the verb.
pub(crate) fn run(message: &Path, format: Format) -> anyhow::Result<Exit> {
    let text = read(message)
        .map_err(|error| fail(Exit::Usage, format!("{}: {error}", message.display())))?;
    let audit = audit(&text);
    print(&match format {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&audit)?),
        Format::Text => {
            unlikely_report::audit_terminal(&audit, width(), color(io::stdout().is_terminal()))
        }
    })?;
    Ok(if audit.count(Finding::Inconsistent) == 0 { Exit::Done } else { Exit::Negative })
}

fn read(message: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if message.as_os_str() == "-" {
        io::stdin().lock().take(BYTES_MAX).read_to_end(&mut text)?;
    } else {
        File::open(message)?.take(BYTES_MAX).read_to_end(&mut text)?;
    }
    Ok(text)
}
