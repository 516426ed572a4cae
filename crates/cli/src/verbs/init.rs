//! `init`: a first `unlikely.toml`, for the build system that the folder shows.
//!
//! What only a person knows (what the program is used for) stands in it as a comment to fill in,
//! never as a guess that would run and measure the wrong thing.

mod makefile;
mod recipe;

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::Context;

use crate::config::{Advise, Bench, FILE};
use crate::exit::{Exit, fail};
use crate::output::print;
use crate::tree;
use recipe::Recipe;
pub(crate) use recipe::{Choice, choose};

/// Runs the verb.
pub(crate) fn run(dir: &Path, force: bool) -> anyhow::Result<Exit> {
    if !dir.is_dir() {
        return Err(fail(Exit::Usage, format!("{}: no such folder", dir.display())));
    }
    let Choice { recipe, others } = choose(dir)?;
    let text = text(&name_of(dir), &recipe);
    let path = dir.join(FILE);
    write(&path, &text, force)?;
    let mut said = format!("wrote {} for {} ({})", path.display(), recipe.system, recipe.marker);
    if !others.is_empty() {
        said += &format!("; not for {}, which is there too", others.join(", "));
    }
    said += "\nto fill in: ";
    if recipe.test.is_none() {
        said += "[test] command, since no tests were recognised; ";
    }
    said += &format!(
        "[[workload]]\nthen: read the build command over, and `unlikely tune {}`\n",
        dir.display()
    );
    print(&said)?;
    Ok(Exit::Done)
}

/// A project is called as its folder.
fn name_of(dir: &Path) -> String {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    full.file_name().map_or_else(|| "project".to_owned(), |n| n.to_string_lossy().into_owned())
}

fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    if force {
        return tree::replace(path, text.as_bytes());
    }
    let mut file = File::create_new(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let what = "exists already; --force writes it anew";
            fail(Exit::Usage, format!("{} {what}", path.display()))
        }
        _ => anyhow::Error::new(error).context(format!("cannot write {}", path.display())),
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("{}", path.display()))
}

/// The whole file.
fn text(name: &str, recipe: &Recipe) -> String {
    let Recipe { system, marker, build, cflags, ldflags, test, program, notes } = recipe;
    let notes: String = notes.iter().map(|note| format!("# {note}\n")).collect();
    let ldflags = match ldflags.is_empty() {
        true => "# ldflags = \"\"              # LDFLAGS".to_owned(),
        false => format!("ldflags = {}", toml_text(ldflags)),
    };
    let (test_note, test) = match test {
        Some(test) => ("", test.as_str()),
        None => (NO_TEST_NOTE, NO_TEST),
    };
    let (name, build, cflags, test) =
        (toml_text(name), toml_text(build), toml_text(cflags), toml_text(test));
    let (program, measured) = (toml_text(program), measured());
    // Other people's file names, in a comment, where a line's end would end it.
    let marker: String = marker.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!(
        r#"# What `unlikely` needs to know of this project: written for {system} ({marker}).

[project]
name = {name}
language = "c"              # "rust": `import` and `scan` only, of hints that count themselves

# Run by sh in private copies of this folder, never in the folder itself, with CC, CFLAGS and
# LDFLAGS set; run again in the same copy after a source file was edited.
{notes}[build]
command = {build}
# CFLAGS: those that your users get, since a hint is judged by the code that they make.
cflags = {cflags}
{ldflags}
# cc = "gcc"                # the compiler whose code is checked and measured

# Run by sh in a built copy; must pass before a patch is tried, and with it.
{test_note}[test]
command = {test}

# What the program is used for, run by sh in a built copy: as many as there are kinds of use.
# The command must run the program that the build makes, by a relative path; a second or more of
# it is measured best. Remove the '# ' of these lines and fill in:
#
# [[workload]]
# name = "typical"          # letters, digits, '.', '_' and '-'
# class = "application"     # application | benchmark | stressor
# command = {program}
# metric = "time"           # or cpu, rss, stress-ng:poll, perf:instructions, json:$.path,
#                           # or a number that it prints, the group of a regex:
# metric = {{ regex = '([0-9.]+) ops/s', direction = "higher", unit = "ops/s" }}
{measured}"#
    )
}

const NO_TEST: &str = "echo 'unlikely.toml: [test] command is to be filled in' >&2; exit 1";
const NO_TEST_NOTE: &str = "# No tests were recognised: say here how you know that it works.\n";

/// The optional tables, with the values that hold where they are left out.
fn measured() -> String {
    let Advise { rare_max, executed_min, sites_max } = Advise::default();
    let Bench { blocks, builds, warmups, timeout_s, .. } = Bench::default();
    let rows = [
        (format!("rare_max = {rare_max}"), "share of the rarer outcome, at most"),
        (format!("executed_min = {executed_min}"), "executions of a branch, at least"),
        (format!("sites_max = {sites_max}"), "hints of a patch, at most"),
        (String::new(), ""),
        (format!("blocks = {blocks}"), "runs of either arm at most, in random order"),
        (format!("builds = {builds}"), "builds of either arm with different layouts; 1: as it is"),
        ("stop = \"sequential\"".to_owned(), "ends early if clear | fixed | open"),
        (format!("warmups = {warmups}"), "discarded runs of each before them"),
        (format!("timeout_s = {timeout_s}"), "seconds that one run may take"),
        ("margin_percent = 0.5".to_owned(), "a change that counts as none; no margin if left out"),
    ];
    let mut out = String::from(
        "\n# These hold where they are left out:\n#\n# [advise]                  # when a branch \
         is worth a hint\n",
    );
    for (key, meaning) in rows {
        out += &match key.is_empty() {
            true => "#\n# [bench]                   # how much is measured\n".to_owned(),
            false => format!("# {key:<25} # {meaning}\n"),
        };
    }
    out
}

/// A TOML string of the form that reads best; whatever it holds, it reads back as it was.
fn toml_text(text: &str) -> String {
    let odd = text.chars().any(|c| c.is_control() && c != '\n');
    let lines = text.contains('\n');
    if !odd && lines && !text.contains("'''") && !text.ends_with('\'') {
        format!("'''\n{text}'''")
    } else if !odd && !lines && text.contains(['"', '\\']) && !text.contains('\'') {
        format!("'{text}'")
    } else {
        // JSON's escapes are all among TOML's, and it escapes every control character but DEL.
        serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
    }
}

#[cfg(test)]
#[path = "init_tests.rs"]
mod tests;
