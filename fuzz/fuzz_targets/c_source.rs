//! Any bytes as C text: it is read, probed and hinted. Parser and lexer need not read garbage alike;
//! where they do not, the comparison of tokens says so, and no patch is made.
#![no_main]

use unlikely_source::{HintEdit, HintForm, MacroTable, apply, probe, same_without_hints, sites};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut table = MacroTable::default();
    table.add("input.c", bytes);
    let found = sites(bytes, &table);
    if let Some(probed) = probe(bytes, &found, &Default::default()) {
        let lines = probed.text.iter().filter(|b| **b == b'\n').count();
        assert!(probed.line_map.len().abs_diff(lines) <= 1);
    }
    // A few are enough for one input; the fuzzer brings others.
    for site in found.sites.iter().filter(|s| s.barrier.is_none()).take(4) {
        let edit =
            HintEdit { bytes: site.bare.clone(), form: HintForm::Builtin, expect: false };
        let after = apply(bytes, &[edit]).expect("a site lies in its text");
        assert!(same_without_hints(&after, &after, &table));
        let _ = same_without_hints(bytes, &after, &table);
    }
});
