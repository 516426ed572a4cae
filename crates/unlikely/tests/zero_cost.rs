//! What a hint costs: nothing where it is a hint, and where it counts it is none.
//!
//! Compared is the compiler's own assembly, with the names of symbols made alike.

mod common;

use common::{Build, Workshop};

/// A function whose two ways call two others, so that their order in the text shows the layout.
fn library(condition: &str, cold_then: &str, cold_else: &str) -> String {
    format!(
        "#![no_std]
        unsafe extern \"C\" {{ safe fn seldom(); safe fn often(n: u64) -> u64; }}
        #[unsafe(no_mangle)]
        pub extern \"C\" fn f(n: u64) -> u64 {{
            if {condition} {{ {cold_then} seldom(); 1 }} else {{ {cold_else} often(n) + 2 }}
        }}"
    )
}

/// The instructions and labels of `f`, without what names the file.
fn body(assembly: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in assembly.lines().map(str::trim).skip_while(|line| *line != "f:") {
        let is_directive =
            line.starts_with('.') && !line.ends_with(':') && !line.starts_with(".section");
        if line.starts_with(".Lfunc_end") {
            break;
        }
        if !line.is_empty() && !is_directive {
            lines.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    assert!(lines.len() > 4, "no body of f in {assembly}");
    lines
}

/// Where in the text the callee `name` is called or jumped to.
fn place(body: &[String], name: &str) -> usize {
    let at = body.iter().position(|line| line.split(['@', ' ', '*', '(']).any(|w| w == name));
    at.unwrap_or_else(|| panic!("{name} is not called in {body:#?}"))
}

/// One of them the compiler takes for rare by itself, so each hint has one that it must turn round.
const CONDITIONS: [&str; 2] = ["n == 0", "n != 0"];

/// Whether the code of the true outcome stands first.
fn then_first(shop: &Workshop, condition: &str) -> bool {
    let body = body(&shop.assembly(&library(condition, "", "")));
    place(&body, "seldom") < place(&body, "often")
}

#[test]
fn a_hint_is_the_cold_path_written_by_hand() {
    let shop = Workshop::new(Build::Hints);
    let cold = "core::hint::cold_path();";
    for condition in CONDITIONS {
        for (hint, cold_then, cold_else) in [
            ("unlikely!", cold, ""),
            ("likely!", "", cold),
            ("unlikely", cold, ""),
            ("likely", "", cold),
        ] {
            let hint = format!("unlikely::{hint}({condition})");
            let hinted = body(&shop.assembly(&library(&hint, "", "")));
            let by_hand = body(&shop.assembly(&library(condition, cold_then, cold_else)));
            assert_eq!(hinted, by_hand, "{hint}");
        }
    }
}

#[test]
fn a_hint_moves_the_code_of_the_other_outcome_away() {
    let shop = Workshop::new(Build::Hints);
    let bare = CONDITIONS.map(|condition| then_first(&shop, condition));
    assert_ne!(bare[0], bare[1], "neither hint would have something to move");
    for condition in CONDITIONS {
        for (hint, expected) in [("likely!", true), ("unlikely!", false)] {
            let hint = format!("unlikely::{hint}({condition})");
            assert_eq!(then_first(&shop, &hint), expected, "{hint}");
        }
    }
}

#[test]
fn no_static_and_no_string_of_a_site_is_left() {
    let text = library("unlikely::unlikely!(n == 0x7e57_ab1e)", "", "");
    let hints = Workshop::new(Build::Hints).assembly(&text);
    let counts = Workshop::new(Build::Counts).assembly(&text);
    let traces = ["SITE", "0x7e57_ab1e", "init_array", "a.rs\""];
    for trace in &traces[..3] {
        assert!(counts.contains(trace), "{trace} would not be found: {counts}");
    }
    for trace in traces {
        // The name of the source is the compiler's own directive, once.
        let others = hints.lines().filter(|line| !line.trim_start().starts_with(".file"));
        assert!(!others.into_iter().any(|line| line.contains(trace)), "{trace}: {hints}");
    }
    for data in [".data", ".bss", ".rodata"] {
        assert!(!hints.contains(data), "{data}: {hints}");
    }
}

#[test]
fn a_build_that_counts_has_the_layout_of_the_bare_condition() {
    let shop = Workshop::new(Build::Counts);
    for condition in CONDITIONS {
        let bare = then_first(&shop, condition);
        for hint in ["likely!", "unlikely!", "likely", "unlikely"] {
            let hint = format!("unlikely::{hint}({condition})");
            assert_eq!(then_first(&shop, &hint), bare, "{hint}");
        }
        // The functions do not even count.
        let function = format!("unlikely::unlikely({condition})");
        let function = body(&shop.assembly(&library(&function, "", "")));
        assert_eq!(function, body(&shop.assembly(&library(condition, "", ""))));
    }
}
