//! What numbers look like, by example.

use proptest::prelude::*;
use unlikely_measure::{ArmSummary, BenchReport};

use super::*;
use crate::fixture::bench;

fn plain(text: &str) -> String {
    crate::text::plain(text)
}

fn with_arms(a: f64, b: f64, sd_percent: f64, n: u32, unit: &str) -> BenchReport {
    let mut report = bench(20);
    report.a = ArmSummary { geomean: a, sd_percent, n };
    report.b = ArmSummary { geomean: b, sd_percent, n };
    report.unit = unit.to_owned();
    report
}

fn with_ratio(ratio: f64, low: f64, high: f64) -> BenchReport {
    let mut report = bench(20);
    report.ratio = ratio;
    report.ci95 = [low, high];
    report
}

#[test]
fn thousands_are_grouped() {
    assert_eq!(count(0_u64), "0");
    assert_eq!(count(999_u64), "999");
    assert_eq!(count(204_936_u64), "204,936");
    assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    assert_eq!(decimal(-1234567.891, 1), "-1,234,567.9");
}

#[test]
fn a_rare_outcome_is_never_rounded_to_none_nor_a_common_one_to_all() {
    assert_eq!(plain(&share(0, 1000)), "0 %");
    assert_eq!(plain(&share(1, 1_000_000)), "<0.01 %");
    assert_eq!(plain(&share(999_999, 1_000_000)), ">99.99 %");
    assert_eq!(plain(&share(1000, 1000)), "100 %");
    assert_eq!(plain(&share(3, 1000)), "0.30 %");
    assert_eq!(plain(&share(125, 1000)), "12.5 %");
    assert_eq!(share(0, 0), UNKNOWN);
}

#[test]
fn a_mean_has_the_digits_that_its_standard_error_supports() {
    // 25 runs with 0.08 %: standard error 5 ns.
    let (a, b) = arms(&with_arms(32818.4, 32635.2, 0.08, 25, "ns"));
    assert_eq!((plain(&a), plain(&b)), ("32,818 ns".into(), "32,635 ns".into()));
    // 100 runs with 0.18 %: standard error 9.1 bogo-ops/s.
    let (a, b) = arms(&with_arms(50512.95, 50819.58, 0.18, 100, "bogo-ops/s"));
    assert_eq!((plain(&a), plain(&b)), ("50,513 bogo-ops/s".into(), "50,820 bogo-ops/s".into()));
    // 4 runs with 20 %: standard error 5 s.
    let (a, _) = arms(&with_arms(51.234, 49.0, 20.0, 4, "s"));
    assert_eq!(plain(&a), "51 s");
    // Standard error of 123: rounded at the tens.
    let (a, _) = arms(&with_arms(12345.0, 12345.0, 1.0, 1, ""));
    assert_eq!(a, "12,345", "one run has no error to go by");
    let (a, _) = arms(&with_arms(12345.0, 12345.0, 2.0, 4, ""));
    assert_eq!(a, "12,350");
}

#[test]
fn times_are_shown_in_the_unit_that_suits_them() {
    let (a, b) = arms(&with_arms(0.0328184, 0.0326352, 0.08, 25, "s"));
    assert_eq!((plain(&a), plain(&b)), ("32.818 ms".into(), "32.635 ms".into()));
    assert_eq!(plain(&duration(30.0)), "30.0 s");
    assert_eq!(plain(&duration(0.01234)), "12.3 ms");
    assert_eq!(plain(&duration(3000.0)), "50.0 min");
}

#[test]
fn what_every_run_repeats_is_shown_whole() {
    let (a, b) = arms(&with_arms(1_234_567.0, 1_234_000.0, 0.0, 20, "instructions"));
    assert_eq!(plain(&a), "1,234,567 instructions");
    assert_eq!(plain(&b), "1,234,000 instructions");
}

#[test]
fn a_ratio_has_the_digits_that_its_interval_supports() {
    let shown = ratio(&with_ratio(0.99442, 0.99381, 0.99503));
    assert_eq!(plain(&shown.change), "-0.56 %");
    assert_eq!(plain(&shown.interval.unwrap()), "-0.62 % to -0.50 %");
    let shown = ratio(&with_ratio(1.0123, 0.95, 1.08));
    assert_eq!(plain(&shown.change), "+1 %");
    assert_eq!(plain(&shown.interval.unwrap()), "-5 % to +8 %");
}

#[test]
fn a_bound_off_zero_does_not_read_as_zero() {
    let shown = ratio(&with_ratio(1.01, 1.0002, 1.0199));
    assert_eq!(plain(&shown.interval.unwrap()), "+0.02 % to +1.99 %");
}

#[test]
fn one_block_has_no_interval() {
    let mut report = with_ratio(0.99, 0.5, 2.0);
    report.n = 1;
    let shown = ratio(&report);
    assert!(shown.interval.is_none());
    assert_eq!(plain(&shown.change), "-1.0 %");
}

#[test]
fn what_is_no_number_is_shown_as_a_dash() {
    let shown = ratio(&with_ratio(f64::NAN, f64::NEG_INFINITY, f64::INFINITY));
    assert_eq!(shown.change, UNKNOWN);
    assert!(shown.interval.is_none());
    assert_eq!(decimal(f64::INFINITY, 2), UNKNOWN);
    assert_eq!(duration(f64::NAN), UNKNOWN);
}

#[test]
fn changes_of_counts_come_from_the_counts() {
    assert_eq!(plain(&bytes_change(1204, 1180)), "1,204 → 1,180 bytes (-24)");
    assert_eq!(plain(&bytes_change(0, 32)), "0 → 32 bytes (+32)");
    assert_eq!(plain(&bytes_change(7, 7)), "7 bytes (unchanged)");
    assert_eq!(plain(&relative(409_872, 204_936).unwrap()), "-50.0 %");
    assert_eq!(plain(&relative(10_000_000, 9_999_999).unwrap()), "-<0.01 %");
    assert_eq!(relative(0, 5), None);
}

#[test]
fn dates_are_civil() {
    assert_eq!(date(0), "1970-01-01 00:00 UTC");
    assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(date(1_767_225_599), "2025-12-31 23:59 UTC");
    assert_eq!(date(u64::MAX), UNKNOWN);
}

proptest! {
    #[test]
    fn no_number_prints_nan_or_infinity(
        value in prop::num::f64::ANY,
        other in prop::num::f64::ANY,
        n in 0_u32..5,
    ) {
        let mut report = with_arms(value, -value, other, n, "s");
        report.ratio = value;
        report.ci95 = [value, other];
        report.blocks = n;
        let (a, b) = arms(&report);
        let Ratio { change, interval } = ratio(&report);
        let all = [a, b, change, interval.unwrap_or_default(), sd(&report.a), duration(value),
            rough(value), size_percent(value).unwrap_or_default()].concat().to_lowercase();
        prop_assert!(!all.contains("nan") && !all.contains("inf"), "{all}");
        prop_assert!(all.len() < 400, "{all}");
    }
}
