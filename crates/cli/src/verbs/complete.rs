//! `completions` and `man`: both from the one definition of the command line.

use std::io;
use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output::print;
use crate::tree;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut out = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "unlikely", &mut out);
    print(&String::from_utf8_lossy(&out))?;
    Ok(Exit::Done)
}

/// Prints the program's man page, or writes it and those of its verbs into `folder`.
pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<Exit> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let Some(folder) = folder else {
        let page = page(&program).context("cannot make the man page")?;
        print(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Done);
    };
    std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let name = format!("{}.1", command.get_display_name().unwrap_or(command.get_name()));
        let page = page(command).with_context(|| format!("cannot make {name}"))?;
        tree::replace(&folder.join(name), &page)?;
    }
    Ok(Exit::Done)
}

/// One man page. What follows the options in a help text is laid out already, and stays so.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(concat!("unlikely ", env!("CARGO_PKG_VERSION")));
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    if let Some(text) = command.get_after_help() {
        out.extend(sections(&text.to_string()).into_bytes());
    }
    Ok(out)
}

/// A help text as man page sections: a line that starts in the first column is a heading.
fn sections(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let heading = line.strip_suffix(':').filter(|l| !l.starts_with(' '));
        out += &match heading {
            Some(heading) => {
                let end = if out.is_empty() { "" } else { ".fi\n" };
                format!("{end}.SH {}\n.nf\n", escaped(&heading.to_uppercase()))
            }
            None => format!("{}\n", escaped(line.strip_prefix("  ").unwrap_or(line))),
        };
    }
    out + ".fi\n"
}

/// A line of text for roff, to which a backslash, a leading dot and a leading quote are orders.
fn escaped(line: &str) -> String {
    let text = line.replace('\\', "\\e").replace('-', "\\-");
    match text.starts_with(['.', '\'']) {
        true => format!("\\&{text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_heading_of_a_help_text_opens_a_section_that_keeps_its_lines() {
        let text = "Examples:\n  a --b\n      .\\c\n\nExit codes:\n  0  done\n";
        let page =
            ".SH EXAMPLES\n.nf\na \\-\\-b\n    .\\ec\n\n.fi\n.SH EXIT CODES\n.nf\n0  done\n.fi\n";
        assert_eq!(sections(text), page);
        assert_eq!(escaped(".x"), "\\&.x");
        assert_eq!(escaped("'x"), "\\&'x");
    }
}
