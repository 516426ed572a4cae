//! Messages of every kind, each with what an audit must find in it and nothing more.
//!
//! The fixtures are written for this test; their wording is that of no real message. A fixture
//! file holds messages: `=== title`, the message, `---`, and one line a claim:
//! `finding kind line printed => recomputed`. `notes` and `runs` lines stand for the rest.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use unlikely_claims::{Audit, audit};

/// A message, its title, and the lines that an audit of it must give.
struct Message {
    title: String,
    text: String,
    expected: Vec<String>,
}

fn messages() -> Vec<Message> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for message in text.split("=== ").skip(1) {
            let (title, rest) = message.split_once('\n').unwrap();
            let (text, expected) = rest.rsplit_once("\n---\n").unwrap();
            all.push(Message {
                title: format!("{}: {title}", file.file_name().unwrap().to_string_lossy()),
                text: format!("{text}\n"),
                expected: expected.lines().filter(|l| !l.is_empty()).map(str::to_owned).collect(),
            });
        }
    }
    all
}

fn name(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
}

/// An audit as the fixtures write it.
fn summary(audit: &Audit) -> Vec<String> {
    let claims = audit.claims.iter().map(|claim| {
        let recomputed = claim.recomputed.as_deref().unwrap_or("?");
        format!(
            "{} {} {} {} => {recomputed}",
            name(claim.finding),
            name(claim.kind),
            claim.line,
            claim.printed
        )
    });
    let runs = audit.precision.iter().map(|runs| {
        let interval = runs
            .of_runs
            .interval
            .map_or("?".to_owned(), |[low, high]| format!("{low:+.3} {high:+.3}"));
        let mde = runs.of_runs.mde80;
        format!("runs {} sd {} => {interval} mde {mde:.3}", runs.runs, runs.sd_percent)
    });
    claims.chain(runs).collect()
}

#[test]
fn every_message_gives_what_stands_below_it_and_nothing_more() {
    let mut wrong = Vec::new();
    let messages = messages();
    for message in &messages {
        let audit = audit(message.text.as_bytes());
        let found = summary(&audit);
        if found != message.expected {
            wrong.push(format!("{}\n  {}\n", message.title, found.join("\n  ")));
        }
    }
    assert!(messages.len() >= 40, "{}", messages.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Quoted, with other line ends, and as one of several mails: the same claims.
#[test]
fn quoting_and_line_ends_change_no_finding() {
    for message in messages() {
        let plain = summary(&audit(message.text.as_bytes()));
        let windows = message.text.replace('\n', "\r\n");
        assert_eq!(summary(&audit(windows.as_bytes())), plain, "{}", message.title);
        let quoted: String = message.text.lines().map(|line| format!("> > {line}\n")).collect();
        assert_eq!(summary(&audit(quoted.as_bytes())), plain, "{}", message.title);
    }
}

/// A claim and its quotation are one claim.
#[test]
fn a_thread_that_quotes_itself_counts_each_claim_once() {
    // Quoted-printable is an encoding of the whole mail; a quotation of its raw form has no meaning.
    for message in messages().iter().filter(|m| !m.text.contains("quoted-printable")) {
        let alone = audit(message.text.as_bytes());
        let quoted: String = message.text.lines().map(|line| format!("> {line}\n")).collect();
        let thread = format!("{}\nThanks.\n\n{quoted}\nLooks good.\n", message.text);
        let thread = audit(thread.as_bytes());
        assert_eq!(thread.claims.len(), alone.claims.len(), "{}", message.title);
        let all_repeated = thread.claims.iter().all(|claim| !claim.repeated_on.is_empty());
        assert!(all_repeated, "{}: {:#?}", message.title, thread.claims);
    }
}

proptest::proptest! {
    /// Figures, signs and words in any order: something is said, and nothing breaks.
    #[test]
    fn any_mix_of_words_and_figures_is_read(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "from", "to", "10 ms", "9 ms", "(", ")", "->", "-10%", "12%", "by", "improved",
                "Before:", "After:", "\n", "|", "2x", ".", "±", "cycles", "# 2.2 GHz", ">", "@@ -1 +1 @@",
                "seconds time elapsed", "Total: Before=1, After=2, chg +1%", "=", "up", "~", "runs", "sd",
            ]),
            0..60,
        ),
    ) {
        let text = parts.join(" ");
        for claim in audit(text.as_bytes()).claims {
            proptest::prop_assert!(claim.line >= 1 && !claim.reason.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = audit(&bytes);
    }
}
