//! What no record may do to any output, whatever stands in it.

mod fixture;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;
use unlikely_report::{
    Evidence, Fate, bench_terminal, commit_message, html, json, scan_terminal, site_commit_message,
    terminal,
};

/// Checks that every tag is closed by its own name and every attribute is quoted, that text and
/// attributes hold no bare `&`, and returns the text between tags.
fn well_formed(page: &str) -> Result<String, String> {
    const VOID: [&str; 2] = ["meta", "br"];
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let (mut open, mut text) = (Vec::new(), String::new());
    while let Some(at) = rest.find('<') {
        let (before, tail) = rest.split_at(at);
        entities(before)?;
        if open.last() != Some(&"style") {
            text.push_str(before);
        }
        let (tag, tail) = tag(&tail[1..])?;
        rest = tail;
        match tag.strip_prefix('/') {
            Some(name) if open.last() == Some(&name) => {
                open.pop();
            }
            Some(name) => return Err(format!("</{name}> closes {open:?}")),
            None => {
                let name = tag.split(' ').next().unwrap_or_default();
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return Err(format!("odd tag <{tag}>"));
                }
                if !VOID.contains(&name) {
                    open.push(name);
                }
            }
        }
    }
    text.push_str(rest);
    if open.is_empty() { Ok(text) } else { Err(format!("never closed: {open:?}")) }
}

/// The inside of a tag and what follows it; a `>` within a quoted value does not end the tag.
fn tag(rest: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (at, c) in rest.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '<' => return Err(format!("< within a tag: {:.60}", rest)),
            '>' if !quoted => {
                let inside = &rest[..at];
                inside.split('"').skip(1).step_by(2).try_for_each(entities)?;
                return Ok((inside, &rest[at + 1..]));
            }
            _ => {}
        }
    }
    Err("a tag never ends".into())
}

fn entities(text: &str) -> Result<(), String> {
    text.split('&').skip(1).try_for_each(|after| {
        let known = ["amp;", "lt;", "gt;", "quot;"].iter().any(|name| after.starts_with(name));
        if known { Ok(()) } else { Err(format!("bare & before {after:.20}")) }
    })
}

fn all_outputs(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("terminal", terminal(evidence, 80, false)),
        ("scan", scan_terminal(&evidence.scan, 10, 80, false)),
        ("html", html(evidence)),
        ("commit", commit_message(evidence).unwrap_or_default()),
    ];
    for site in &evidence.sites {
        all.push(("site commit", site_commit_message(evidence, &site.id).unwrap_or_default()));
    }
    for bench in &evidence.bench {
        all.push(("bench", bench_terminal(&bench.report, false)));
    }
    all
}

fn deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || ('\u{200b}'..='\u{200f}').contains(&c)
        || ('\u{2028}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
        || c == '\u{feff}'
}

const HOSTILE: [&str; 8] = [
    "<script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "</style></svg><img src=x onerror=alert(1)>",
    "a & b &amp; c &#60; ' \" `",
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m",
    "access = \u{202e}lanimirc\u{2066} // \u{2069}",
    "line\nSigned-off-by: Mallory <m@example.org>\n---\ndiff --git a/x b/x",
    "javascript:alert(1)",
];

#[test]
fn no_hostile_text_reaches_a_page_as_markup() {
    for text in HOSTILE {
        let page = html(&fixture::with_text(text));
        well_formed(&page).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        for forbidden in ["<script", "<img", " onmouseover=\"", "href=\"javascript", "src="] {
            let plain = html(&fixture::rich()).matches(forbidden).count();
            let with_escapes = page.replace("src=x", "").matches(forbidden).count();
            assert_eq!(with_escapes, plain, "{forbidden} from {text:?}");
        }
    }
}

#[test]
fn no_output_carries_a_control_character_or_a_direction_override() {
    for text in HOSTILE {
        for (name, output) in all_outputs(&fixture::with_text(text)) {
            let found = output.chars().find(|c| deceptive(*c));
            assert_eq!(found, None, "{name} of {text:?}");
        }
    }
}

#[test]
fn with_colour_the_only_escapes_are_our_own() {
    for text in HOSTILE {
        let evidence = fixture::with_text(text);
        let mut output =
            terminal(&evidence, 80, true) + &scan_terminal(&evidence.scan, 9, 80, true);
        output += &bench_terminal(&evidence.bench[0].report, true);
        for code in ["0", "1", "2", "31", "32", "33"] {
            output = output.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(output.chars().find(|c| deceptive(*c)), None, "{text:?}");
    }
}

#[test]
fn input_cannot_add_a_trailer_a_cut_or_a_patch_to_a_commit_message() {
    let texts = [
        HOSTILE[6],
        "Signed-off-by: M <m@x>",
        "# hidden",
        "--- a/x",
        "diff --git a/x b/x",
        "From nobody",
        "Fixes: 1234",
    ];
    for text in texts {
        let mut evidence = fixture::with_text(text);
        for filler in [0, 20, 40, 55, 61, 62, 63, 64, 65, 66, 67, 68] {
            evidence.scan.candidates[0].condition = format!("{} {text}", "x".repeat(filler));
            for line in commit_message(&evidence).unwrap().lines() {
                let starts = ["#", "---", "diff ", "From ", "Signed-off-by:", "Fixes:"];
                assert!(
                    !starts.iter().any(|start| line.starts_with(start)),
                    "{line:?} from {text:?}"
                );
            }
        }
    }
}

#[test]
fn the_page_loads_and_runs_nothing() {
    let page = html(&fixture::rich());
    assert!(page.contains(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">"
    ));
    let style = page.split("<style>").nth(1).and_then(|s| s.split("</style>").next()).unwrap();
    for forbidden in ["url(", "@import", "expression("] {
        assert!(!style.contains(forbidden), "{forbidden} in the style");
    }
    for tag in page.split('<').filter_map(|part| part.split_once('>')).map(|(tag, _)| tag) {
        for forbidden in
            ["script", "link", "img", "image", "iframe", "object", "embed", "base", "form"]
        {
            assert_ne!(tag.split(' ').next(), Some(forbidden));
        }
        for forbidden in ["src=", "xlink", " on", "http:", "https:", "style="] {
            assert!(!tag.contains(forbidden) || tag.contains("viewport"), "{forbidden} in <{tag}>");
        }
    }
}

#[test]
fn nothing_degenerate_prints_nan_or_infinity() {
    for (at, evidence) in fixture::edges::degenerate().iter().enumerate() {
        for (name, output) in all_outputs(evidence) {
            for word in output.split(|c: char| !c.is_alphanumeric()) {
                let word = word.to_lowercase();
                assert!(
                    !["nan", "inf", "infinity"].contains(&word.as_str()),
                    "{name} of case {at}: {output}"
                );
            }
        }
        well_formed(&html(evidence)).unwrap_or_else(|error| panic!("case {at}: {error}"));
        assert!(json(evidence).starts_with('{'));
    }
}

#[test]
fn lines_keep_to_the_width_asked_for() {
    for width in [40, 60, 80, 132] {
        for evidence in [
            fixture::rich(),
            fixture::no_gain(),
            fixture::with_text(&"long ".repeat(60)),
            fixture::with_text(&"x".repeat(300)),
            fixture::with_text("中文 ".repeat(50).as_str()),
        ] {
            for output in
                [terminal(&evidence, width, false), scan_terminal(&evidence.scan, 5, width, false)]
            {
                let wide = output.lines().find(|line| line.width() > width);
                assert_eq!(wide, None, "at width {width}");
            }
        }
    }
}

#[test]
fn a_commit_message_keeps_to_the_columns_that_maintainers_ask_for() {
    for evidence in [
        fixture::rich(),
        fixture::no_gain(),
        fixture::with_text(&"long ".repeat(60)),
        fixture::with_text(&"x".repeat(300)),
    ] {
        let message = commit_message(&evidence).unwrap();
        let (subject, body) = message.split_once("\n\n").unwrap();
        assert!(subject.width() <= 75 && !subject.contains('\n'), "{subject}");
        assert_eq!(body.lines().find(|line| line.width() > 72), None);
        assert!(!message.contains("Signed-off-by"));
    }
}

#[test]
fn a_subject_fits_whatever_the_names_in_it() {
    for length in (1..140).step_by(3) {
        let mut evidence = fixture::no_gain();
        evidence.scan.candidates[0].condition = "c".repeat(length);
        let message = commit_message(&evidence).unwrap();
        assert!(message.lines().next().unwrap().width() <= 75, "{message}");
        evidence.scan.candidates[0].function = Some("f".repeat(length));
        evidence.project = "p".repeat(length);
        let message = commit_message(&evidence).unwrap();
        assert!(message.lines().next().unwrap().width() <= 75, "{message}");
    }
}

#[test]
fn a_message_speaks_of_likely_where_the_condition_is_usually_true() {
    let mut evidence = fixture::no_gain();
    let candidate = &mut evidence.scan.candidates[0];
    (candidate.expect, candidate.taken) = (true, candidate.executed - 2);
    candidate.workloads.iter_mut().for_each(|one| one.taken = one.executed - 1);
    let message = commit_message(&evidence).unwrap();
    assert!(message.starts_with("pollset: scan_entries: add likely branch hint on"), "{message}");
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("was false in 2 of 266,140,113 evaluations"), "{message}");
}

#[test]
fn there_is_no_message_where_nothing_was_kept() {
    assert_eq!(commit_message(&fixture::empty()), None);
    let mut evidence = fixture::rich();
    assert_eq!(site_commit_message(&evidence, "c0ffee03"), None, "a no-op");
    assert_eq!(site_commit_message(&evidence, "unknown"), None);
    evidence.sites.iter_mut().for_each(|site| site.fate = Fate::NoOp);
    assert_eq!(commit_message(&evidence), None);
}

#[test]
fn json_reads_back() {
    let evidence = fixture::rich();
    let again: Evidence = serde_json::from_str(&json(&evidence)).unwrap();
    assert!(json(&again) == json(&evidence), "the record changed on its way");
}

/// Any characters at all: `any::<String>()` leaves out control characters.
fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_leaves_the_page_well_formed(
        text in any_text(),
        markup in "[<>&\"'a-z/=; -]{0,40}",
    ) {
        for text in [text, markup] {
            let page = html(&fixture::with_text(&text));
            let shown = well_formed(&page).map_err(TestCaseError::fail)?;
            prop_assert!(!shown.contains(['<', '>']), "{shown}");
            prop_assert_eq!(page.chars().find(|c| deceptive(*c)), None);
        }
    }

    #[test]
    fn any_text_leaves_the_terminal_and_the_message_harmless(text in any_text()) {
        for (name, output) in all_outputs(&fixture::with_text(&text)) {
            prop_assert_eq!(output.chars().find(|c| deceptive(*c)), None, "{}", name);
        }
    }
}
