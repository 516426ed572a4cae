use super::*;
use crate::number::read;
use proptest::prelude::*;

fn said(text: &str, about: About) -> Option<Fit> {
    let number = read(text).unwrap();
    fit(&number, None, about, Span { value: 0.5577, low: 0.555, high: 0.561 })
}

#[test]
fn a_figure_is_the_nearest_cut_off_rounded_up_or_wrong() {
    assert_eq!(said("0.56", About::Plain), Some(Fit::Nearest));
    assert_eq!(said("0.6", About::Plain), Some(Fit::Nearest));
    assert_eq!(said("0.5", About::Plain), Some(Fit::Down));
    assert_eq!(said("0.57", About::Plain), None);
    assert_eq!(said("0.4", About::Plain), None);
}

#[test]
fn about_and_bounds_promise_less() {
    assert_eq!(said("0.60", About::Plain), None);
    assert_eq!(said("0.60", About::Near), Some(Fit::Near));
    assert_eq!(said("0.60", About::AtMost), Some(Fit::Bound));
    assert_eq!(said("0.40", About::AtLeast), Some(Fit::Bound));
    assert_eq!(said("0.40", About::AtMost), None);
    assert_eq!(said("0.60", About::AtLeast), None);
}

fn arms(before: &str, after: &str) -> Arms {
    Arms {
        before: read(before).unwrap(),
        after: read(after).unwrap(),
        better: None,
        better_sure: false,
        percent: false,
        ordered: true,
    }
}

fn percent(text: &str, way: Way) -> Said {
    let (number, about) = (read(text).unwrap(), About::Plain);
    Said { number, to: None, about, way: Some(way), measure: Measure::Percent, scale: 1.0 }
}

#[test]
fn swapped_figures_are_recognised() {
    let verdict = judge(&arms("8527918", "8462235"), &percent("0.78", Way::Up));
    assert_eq!(verdict.finding, Finding::Inconsistent);
    assert_eq!(verdict.recomputed.as_deref(), Some("-0.770 %"));
    assert!(verdict.reason.contains("+0.776 %"), "{}", verdict.reason);
    assert!(verdict.reason.contains("probably swapped"), "{}", verdict.reason);
}

#[test]
fn a_reduction_on_the_second_base_is_named() {
    let verdict = judge(&arms("1.31", "1.15"), &percent("13.9", Way::Down));
    assert_eq!(verdict.finding, Finding::Inconsistent);
    assert!(verdict.reason.contains("second figure as the base"), "{}", verdict.reason);
    let speed = judge(&arms("1.31", "1.15"), &percent("13.9", Way::Better));
    assert_eq!(speed.finding, Finding::Consistent);
    assert!(speed.reason.contains("as speed"), "{}", speed.reason);
}

#[test]
fn a_zero_or_a_negative_figure_gives_no_ratio() {
    for (before, after) in [("0", "5"), ("-5", "-4"), ("0.0", "0.0")] {
        let verdict = judge(&arms(before, after), &percent("20", Way::Changed));
        assert_eq!(verdict.finding, Finding::NotRecomputable);
    }
}

proptest! {
    /// What is printed honestly from the figures themselves is never called wrong.
    #[test]
    fn an_honest_percentage_is_consistent(
        before in 1.0f64..1e6,
        change in -0.9f64..3.0,
        figures in 0_usize..4,
        decimals in 0_usize..4,
    ) {
        let after = before * (1.0 + change);
        let printed = (after / before - 1.0) * 100.0;
        let way = if printed < 0.0 { Way::Down } else { Way::Up };
        let arms = arms(&format!("{before:.figures$}"), &format!("{after:.figures$}"));
        let verdict = judge(&arms, &percent(&format!("{:.decimals$}", printed.abs()), way));
        prop_assert!(
            verdict.finding != Finding::Inconsistent,
            "{verdict:?}"
        );
    }
}
