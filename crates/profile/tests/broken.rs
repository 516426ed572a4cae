//! Inputs that are cut off, damaged or of another build. Nothing panics, each gives a diagnostic
//! that names its remedy, and what is whole is still used.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use proptest::prelude::*;
use unlikely_profile::{Diagnostic, Graphs, Profile, gcda, gcno, gcov_json, lcov, llvm_cov};

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn graphs(bytes: &[u8]) -> Graphs {
    gcno::read(bytes, "a.gcno").0
}

fn merged(gcno: &[u8], gcda: &[u8]) -> (Profile, Vec<Diagnostic>) {
    gcda::merge(Some(&graphs(gcno)), gcda, "a.gcda")
}

fn functions(profile: &Profile) -> Vec<&str> {
    profile.files.values().flat_map(|f| &f.functions).map(|f| f.name.as_str()).collect()
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<&str> {
    diagnostics.iter().map(|d| d.code.as_str()).collect()
}

/// The word at which the arc counters of a record start, for the nth record that has any.
fn counters_at(gcda: &[u8], nth: usize) -> usize {
    let tag = 0x01a1_0000_u32.to_le_bytes();
    let starts = (0..gcda.len() - 8).step_by(4).filter(|&at| {
        gcda[at..at + 4] == tag && i32::from_le_bytes(gcda[at + 4..at + 8].try_into().unwrap()) > 0
    });
    starts.collect::<Vec<_>>()[nth] + 8
}

#[test]
fn another_build_is_named_with_both_files_and_the_remedy() {
    let gcno = fixture("gcc-12.2/shapes.gcno");
    let gcda = fixture("gcc-12.2/other.gcda");
    let (profile, diagnostics) = merged(&gcno, &gcda);
    assert_eq!(profile, Profile::default());
    assert_eq!(codes(&diagnostics), ["stamp-mismatch"]);
    for part in ["a.gcda", "a.gcno", "rebuild", "delete"] {
        assert!(diagnostics[0].message.contains(part), "{part}");
    }
    let (_, diagnostics) = merged(&gcno, &fixture("gcc-11.3/shapes.gcda"));
    assert!(diagnostics[0].message.contains("GCC 11.3"), "{diagnostics:?}");
}

#[test]
fn data_without_notes_names_what_is_missing() {
    let (profile, diagnostics) = gcda::merge(None, &fixture("gcc-12.2/shapes.gcda"), "a.gcda");
    assert_eq!(profile, Profile::default());
    assert_eq!(codes(&diagnostics), ["gcno-missing"]);
    let (_, diagnostics) =
        merged(&fixture("gcc-12.2/shapes.gcno"), &fixture("gcc-12.2/shapes.gcda")[..16]);
    assert_eq!(codes(&diagnostics), ["no-counters"], "an empty data file measured nothing");
}

#[test]
fn an_unknown_compiler_is_refused_by_name() {
    let mut gcno = fixture("gcc-12.2/shapes.gcno");
    gcno[4..8].copy_from_slice(b"*02C");
    let (_, diagnostics) = gcno::read(&gcno, "a.gcno");
    assert_eq!(codes(&diagnostics), ["unsupported-version"]);
    assert!(diagnostics[0].message.contains("C20* (GCC 22.0)"), "{}", diagnostics[0].message);
    assert!(diagnostics[0].message.contains("gcov --json-format -b"));
}

#[test]
fn other_byte_order_is_read_too() {
    // Every item but the strings' letters is a word; turning all words round and the letters back
    // is what a big-endian machine writes. GCC 11 pads strings to words, so words stay aligned.
    let turned = |bytes: &[u8]| -> Vec<u8> {
        bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect()
    };
    let mut gcno = turned(&fixture("gcc-11.3/shapes.gcno"));
    let original = fixture("gcc-11.3/shapes.gcno");
    for at in (0..original.len() - 4).step_by(4) {
        let letters = original[at..at + 4].iter().filter(|b| b.is_ascii_graphic()).count();
        let padded = original[at..at + 4].iter().all(|&b| b == 0 || b.is_ascii_graphic());
        // A string's words: only letters and padding, not a small number.
        if at >= 12 && padded && letters >= 2 {
            gcno[at..at + 4].copy_from_slice(&original[at..at + 4]);
        }
    }
    let gcda = turned(&fixture("gcc-11.3/shapes.gcda"));
    let (big, _) = merged(&gcno, &gcda);
    let (little, _) = merged(&original, &fixture("gcc-11.3/shapes.gcda"));
    let counts = |p: &Profile| -> Vec<u64> {
        p.files.values().flat_map(|f| f.lines.values().copied()).collect()
    };
    assert!(!counts(&little).is_empty());
    assert_eq!(counts(&big), counts(&little));
}

#[test]
fn racing_counters_set_their_function_aside_alone() {
    let gcno = fixture("gcc-12.2/shapes.gcno");
    let good = fixture("gcc-12.2/shapes.gcda");
    let all = functions(&merged(&gcno, &good).0).len();
    let mut found = 0;
    // Raise single counters, as lost counts elsewhere would, until arcs come out negative.
    for at in (counters_at(&good, 0)..good.len() - 8).step_by(8) {
        let mut gcda = good.clone();
        gcda[at + 2] = 0x7f;
        let (profile, diagnostics) = merged(&gcno, &gcda);
        for d in diagnostics.iter().filter(|d| d.code == "racing-counters") {
            assert!(d.message.contains("-fprofile-update=atomic"));
            assert_eq!(functions(&profile).len(), all - 1, "{}", d.message);
            found += 1;
        }
    }
    assert!(found > 0);
}

#[test]
fn counters_of_another_version_of_a_function_set_it_aside_alone() {
    let gcno = fixture("gcc-12.2/shapes.gcno");
    let good = fixture("gcc-12.2/shapes.gcda");
    let all = functions(&merged(&gcno, &good).0).len();
    let mut gcda = good.clone();
    // The checksum before the counters' tag and length.
    let checksum = counters_at(&good, 1) - 12;
    gcda[checksum] ^= 1;
    let (profile, diagnostics) = merged(&gcno, &gcda);
    assert_eq!(codes(&diagnostics), ["function-mismatch"]);
    assert_eq!(functions(&profile).len(), all - 1);
}

#[test]
fn a_cut_data_file_keeps_the_functions_before_the_cut() {
    let gcno = fixture("gcc-12.2/shapes.gcno");
    let good = fixture("gcc-12.2/shapes.gcda");
    let cut = counters_at(&good, 1) + 4;
    let (profile, diagnostics) = merged(&gcno, &good[..cut]);
    assert_eq!(codes(&diagnostics), ["truncated"]);
    assert_eq!(functions(&profile).len(), 1);
}

#[test]
fn names_that_are_not_utf8_are_kept_apart_and_reported() {
    let mut gcno = fixture("gcc-12.2/shapes.gcno");
    while let Some(at) = gcno.windows(8).position(|w| w == b"shapes.c") {
        gcno[at + 2] = 0xe4;
    }
    let (graphs, diagnostics) = gcno::read(&gcno, "a.gcno");
    assert!(codes(&diagnostics).contains(&"path-not-utf8"));
    let (profile, _) = gcda::merge(Some(&graphs), &fixture("gcc-12.2/shapes.gcda"), "a.gcda");
    assert!(profile.files.keys().any(|path| path == "/build/sh\\xe4pes.c"), "{:?}", profile.files);
}

#[test]
fn wrapped_counters_set_their_function_aside_alone() {
    let name = "clang-22/program.json";
    let text = String::from_utf8(fixture(name)).unwrap();
    let bad = text.replace("[19,7,19,12,0,1000,0,0,4]", "[19,7,19,12,0,9223372036854775807,0,0,4]");
    assert_ne!(text, bad);
    let (profile, diagnostics) = llvm_cov::read(bad.as_bytes(), name);
    assert!(codes(&diagnostics).contains(&"counter-underflow"));
    let file = &profile.files["/build/shapes.c"];
    assert!(file.regions.iter().all(|r| !(17..=32).contains(&r.start.line)));
    assert!(!file.lines.contains_key(&19) && file.lines.contains_key(&36));
    let mut kept = functions(&profile);
    kept.sort_unstable();
    assert_eq!(kept, ["main", "other", "other.c:clamp", "shapes.c:clamp", "shapes.c:classify"]);
    // The macro called from that function is in doubt as well; nothing else in the header is.
    assert_eq!(profile.files["/build/shapes.h"].regions.len(), 1);
}

#[test]
fn one_wrapped_copy_makes_the_sum_of_all_copies_unknown() {
    let name = "clang-22/program.json";
    let text = String::from_utf8(fixture(name)).unwrap();
    // clamp() as other.c holds it, in the list of functions.
    let copy = "[5,7,5,12,1,1,0,0,4]";
    let at = text.rfind(copy).unwrap();
    let bad = text[..at].to_owned() + "[5,7,5,12,-1,1,0,0,4]" + &text[at + copy.len()..];
    let (profile, diagnostics) = llvm_cov::read(bad.as_bytes(), name);
    assert!(codes(&diagnostics).contains(&"counter-underflow"));
    let header = &profile.files["/build/shapes.h"];
    assert!(header.regions.iter().all(|r| r.start.line != 5));
}

#[test]
fn a_condition_that_llvm_did_not_measure_is_not_never_taken() {
    let name = "clang-22/program.json";
    let text = String::from_utf8(fixture(name)).unwrap();
    // As LLVM before 20 lists a constant condition: both counts 0 in a region that ran.
    let folded = text.replace("[25,7,25,23,1000,0,0,0,4]", "[25,7,25,23,0,0,0,0,4]");
    assert_ne!(text, folded);
    let (profile, _) = llvm_cov::read(folded.as_bytes(), name);
    let file = &profile.files["/build/shapes.c"];
    assert!(file.regions.iter().all(|r| r.start.line != 25));
}

#[test]
fn every_cut_of_every_input_is_survived() {
    for folder in ["gcc-11.3", "gcc-12.2"] {
        let gcno = fixture(&format!("{folder}/shapes.gcno"));
        let gcda = fixture(&format!("{folder}/shapes.gcda"));
        for cut in 0..gcno.len() {
            let (graphs, diagnostics) = gcno::read(&gcno[..cut], "a.gcno");
            let (profile, _) = gcda::merge(Some(&graphs), &gcda, "a.gcda");
            assert!(cut > 12 || profile == Profile::default());
            assert!(cut > 12 || !diagnostics.is_empty(), "{cut}");
        }
        for cut in 0..gcda.len() {
            let (_, diagnostics) = merged(&gcno, &gcda[..cut]);
            assert!(cut > 12 || !diagnostics.is_empty(), "{cut}");
        }
    }
    let json = fixture("gcc-12.2/program.gcov.json");
    let info = fixture("lcov-2-by-hand/program.info");
    let llvm = fixture("clang-22/program.json");
    for cut in 0..json.len() {
        let _ = gcov_json::read(&json[..cut], "a");
    }
    for cut in 0..info.len() {
        let _ = lcov::read(&info[..cut], "a");
    }
    for cut in 0..llvm.len().saturating_sub(2) {
        let (profile, diagnostics) = llvm_cov::read(&llvm[..cut], "a");
        assert_eq!(profile, Profile::default());
        // A cut inside "83.3" leaves no number at all.
        let code = codes(&diagnostics)[0];
        assert!(["truncated", "not-llvm-cov-json"].contains(&code), "{cut}: {code}");
    }
}

proptest! {
    /// Bytes of real files overwritten anywhere, and bytes that never were a file.
    #[test]
    fn damage_anywhere_is_survived(
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let damaged = |path: &str| {
            let mut bytes = fixture(path);
            for (at, byte) in &hits {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes
        };
        for folder in ["gcc-11.3", "gcc-12.2"] {
            let (gcno, gcda) = (format!("{folder}/shapes.gcno"), format!("{folder}/shapes.gcda"));
            let _ = merged(&damaged(&gcno), &fixture(&gcda));
            let _ = merged(&fixture(&gcno), &damaged(&gcda));
            let _ = merged(&damaged(&gcno), &damaged(&gcda));
        }
        let _ = gcov_json::read(&damaged("gcc-12.2/program.gcov.json"), "a");
        let _ = llvm_cov::read(&damaged("clang-22/program.json"), "a");
        let _ = lcov::read(&damaged("clang-22/program.info"), "a");
        let _ = (merged(&noise, &noise), gcov_json::read(&noise, "a"));
        let _ = (llvm_cov::read(&noise, "a"), lcov::read(&noise, "a"));
    }
}
