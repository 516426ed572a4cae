//! Many questions asked of one machine: p-values adjusted so that the number of questions is paid
//! for.
//!
//! Holm (1979) bounds the chance of even one false claim, whatever the dependence: for claims.
//! Benjamini and Hochberg (1995) bounds the expected share of false ones among those found, for
//! independent or positively dependent tests: for exploration. An adjusted p is compared with the
//! level directly. A p-value that is not a number counts as 1: no evidence.

/// Adjusted p-values by Holm's step-down procedure, in the order of `p_values`.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let ascending = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &(place, p)) in ascending.iter().enumerate() {
        // None is below one that was easier to reject.
        largest = largest.max(((p_values.len() - rank) as f64 * p).min(1.0));
        if let Some(slot) = adjusted.get_mut(place) {
            *slot = largest;
        }
    }
    adjusted
}

/// Adjusted p-values by the step-up procedure of Benjamini and Hochberg, in the order of
/// `p_values`.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let ascending = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut smallest = 1.0_f64;
    for (rank, &(place, p)) in ascending.iter().enumerate().rev() {
        smallest = smallest.min(p_values.len() as f64 / (rank + 1) as f64 * p);
        if let Some(slot) = adjusted.get_mut(place) {
            *slot = smallest;
        }
    }
    adjusted
}

/// Places and values from the smallest p up, values held within [0, 1].
fn ascending(p_values: &[f64]) -> Vec<(usize, f64)> {
    let within = |p: f64| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
    let mut ascending: Vec<(usize, f64)> =
        p_values.iter().map(|&p| within(p)).enumerate().collect();
    ascending.sort_by(|x, y| x.1.total_cmp(&y.1));
    ascending
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The 15 comparisons of thrombolytic treatments in Benjamini and Hochberg (1995).
    const THROMBOLYSIS: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.000,
    ];

    fn rejected(adjusted: &[f64]) -> usize {
        adjusted.iter().filter(|&&p| p <= 0.05).count()
    }

    #[test]
    fn the_published_comparisons_reject_four_and_three() {
        assert_eq!(rejected(&benjamini_hochberg(&THROMBOLYSIS)), 4);
        assert_eq!(rejected(&holm(&THROMBOLYSIS)), 3);
        let bonferroni: Vec<f64> = THROMBOLYSIS.iter().map(|p| 15.0 * p).collect();
        assert_eq!(rejected(&bonferroni), 3);
    }

    #[test]
    fn adjusted_values_follow_the_definition_and_keep_their_places() {
        // Holm: 3 × .01; then 2 × .02; then .03 lifted to what came before it.
        let close = |got: Vec<f64>, want: [f64; 3]| {
            assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-15), "{got:?}");
        };
        close(holm(&[0.03, 0.01, 0.02]), [0.04, 0.03, 0.04]);
        close(benjamini_hochberg(&[0.03, 0.01, 0.02]), [0.03, 0.03, 0.03]);
        close(benjamini_hochberg(&[0.9, 0.01, 0.5]), [0.9, 0.03, 0.75]);
    }

    #[test]
    fn what_is_not_a_number_is_no_evidence() {
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn exploration_never_asks_more_than_claims_and_both_more_than_one_test(
            p_values in prop::collection::vec(0.0f64..=1.0, 1..30),
        ) {
            let (holm, bh) = (holm(&p_values), benjamini_hochberg(&p_values));
            for ((p, holm), bh) in p_values.iter().zip(holm).zip(bh) {
                prop_assert!(*p <= bh + 1e-15 && bh <= holm + 1e-15 && holm <= 1.0);
            }
        }
    }
}
