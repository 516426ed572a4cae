//! The help texts, the completions and the man pages: complete, and in step with the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Read;
use std::process::{Command, Stdio};

use common::{must, path, project, run, text, unlikely};

/// The verbs that the program has, by its own account.
fn verbs() -> Vec<String> {
    let (_, help, _) = run(["--help"]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let lines = commands.lines().take_while(|l| !l.is_empty());
    let verbs: Vec<String> = lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .map(str::to_owned)
        .collect();
    assert!(verbs.len() > 8, "{help}");
    verbs
}

/// The lines of a section of a help text.
fn section<'t>(help: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = help.lines().skip_while(|l| *l != heading).skip(1);
    lines.take_while(|l| l.starts_with(' ')).map(str::trim).collect()
}

#[test]
fn every_verb_shows_examples_of_itself() {
    for verb in verbs() {
        let (code, help, _) = run([verb.as_str(), "--help"]);
        assert_eq!(code, 0);
        let examples = section(&help, "Examples:");
        let own = examples.iter().filter(|l| l.split_whitespace().take(2).eq(["unlikely", &verb]));
        assert!(own.count() > 0, "{verb}: {help}");
    }
}

#[test]
fn every_example_is_a_command_line_that_is_taken() {
    for verb in verbs() {
        let (_, help, _) = run([verb.as_str(), "--help"]);
        for example in section(&help, "Examples:") {
            let Some(arguments) = example.strip_prefix("unlikely ") else { continue };
            // The shell splits it; `--help` makes it harmless, after all else has been read.
            let arguments = arguments.split(" | ").next().unwrap().split(" > ").next().unwrap();
            let script = format!("for a in {arguments}; do printf '%s\\n' \"$a\"; done");
            let words = text(&must(Command::new("sh").args(["-c", &script])).stdout);
            let words: Vec<&str> = words.lines().collect();
            let (code, _, err) = run(words.iter().copied().chain(["--no-such-flag"]));
            assert_eq!(code, 2, "{example}");
            assert!(err.contains("unexpected argument '--no-such-flag'"), "{example}: {err}");
        }
    }
}

#[test]
fn the_exit_codes_of_the_help_are_those_of_the_program() {
    let source = include_str!("../src/exit.rs");
    let (_, body) = source.split_once("pub(crate) enum Exit {\n").unwrap();
    let (body, _) = body.split_once("\n}\n").unwrap();
    let mut meaning = String::new();
    let mut expected = Vec::new();
    for line in body.lines().map(str::trim) {
        match line.strip_prefix("/// ") {
            Some(doc) => meaning = format!("{meaning} {doc}"),
            None => {
                let code = line.split_once(" = ").unwrap().1.trim_end_matches(',');
                expected.push(format!("{code} {}", meaning.trim().trim_end_matches('.')));
                meaning.clear();
            }
        }
    }
    let (_, help, _) = run(["--help"]);
    let shown: Vec<String> = section(&help, "Exit codes:")
        .iter()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(shown, expected);
    assert!(shown.len() >= 9);
}

#[test]
fn each_step_of_how_it_goes_is_a_verb() {
    let (_, help, _) = run(["--help"]);
    let verbs = verbs();
    let steps = section(&help, "How it goes:");
    let named: Vec<&str> = steps
        .iter()
        .filter_map(|l| l.strip_prefix("unlikely ")?.split_whitespace().next())
        .collect();
    assert!(named.len() >= 4, "{help}");
    assert!(named.iter().all(|step| verbs.iter().any(|v| v == step)), "{named:?}");
}

#[test]
fn help_texts_are_shown_as_they_are_written() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/help");
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        let verb = file.file_stem().unwrap().to_str().unwrap();
        let (_, help, _) = run([verb, "--help"].into_iter().skip((verb == "unlikely").into()));
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            assert!(help.lines().any(|l| l == line), "{verb}: {line}");
            // Wrapping at the width that help texts have at most would tear a line's columns.
            assert!(line.chars().count() <= 100, "{verb}: {line}");
        }
    }
}

#[test]
fn completions_of_every_shell_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, _) = run(["completions", shell]);
        assert_eq!(code, 0, "{shell}");
        for verb in verbs() {
            assert!(out.contains(&verb), "{shell}: {verb}");
        }
    }
    let (_, script, _) = run(["completions", "bash"]);
    let ask = "COMP_WORDS=(unlikely do); COMP_CWORD=1; _unlikely unlikely do unlikely; \
               echo \"${COMPREPLY[@]}\"";
    let out = must(Command::new("bash").args(["-c", &format!("{script}\n{ask}")]));
    assert_eq!(text(&out.stdout), "doctor\n");
    let (code, _, err) = run(["completions", "cmd.exe"]);
    assert_eq!(code, 2, "{err}");
}

#[test]
fn man_pages_are_written_for_the_program_and_each_verb() {
    let folder = project(&[]);
    let pages = folder.path().join("man/man1");
    let (code, out, err) = run(["man", pages.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (0, ""), "{err}");
    let mut expected: Vec<String> = verbs().iter().map(|v| format!("unlikely-{v}.1")).collect();
    expected.push("unlikely.1".to_owned());
    expected.sort_unstable();
    let entries = std::fs::read_dir(&pages).unwrap();
    let mut found: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    found.sort_unstable();
    assert_eq!(found, expected);
    for name in &found {
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{page}");
        let section =
            if name == "unlikely.1" { ".SH EXIT CODES\n.nf\n" } else { ".SH EXAMPLES\n.nf\n" };
        assert!(page.contains(section), "{page}");
        let title = name.trim_end_matches(".1");
        let version = env!("CARGO_PKG_VERSION");
        assert!(page.contains(&format!(".TH {title} 1  \"unlikely {version}\"")), "{page}");
    }
    let (code, page, _) = run(["man"]);
    assert_eq!(code, 0);
    assert_eq!(page, std::fs::read_to_string(pages.join("unlikely.1")).unwrap());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = project(&[]);
    let all: [&[&str]; 5] = [
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["tune", "--help"],
        &["doctor", path(&dir)],
    ];
    for arguments in all {
        let mut child = unlikely()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {said}");
        assert_eq!(said, "", "{arguments:?}");
    }
}
