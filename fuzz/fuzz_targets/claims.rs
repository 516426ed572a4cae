//! Any bytes as a message: it is audited, and what is said of it holds of any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let audit = unlikely_claims::audit(bytes);
    let lines = bytes.iter().filter(|b| matches!(b, b'\n' | b'\r')).count() as u64 + 1;
    for claim in &audit.claims {
        assert!(claim.line >= 1 && u64::from(claim.line) <= lines);
        assert!(!claim.reason.is_empty());
    }
    for precision in &audit.precision {
        assert!(precision.of_runs.mde80.is_finite() && precision.of_runs.mde80 > 0.0);
    }
});
