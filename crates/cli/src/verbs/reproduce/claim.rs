//! What was published: the figures as printed, and what they come to when they are recomputed.
//!
//! No percentage here is typed but the printed ones. The sentence that restates a claim goes through the
//! same audit as any message does.

use unlikely_claims::{Finding, audit};
use unlikely_report::{AuditedFigure, PublishedClaim, TextClaim};

/// A published pair of figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// The figures as printed, in a sentence of ours.
    pub(super) text: &'static str,
    /// Where and on what.
    pub(super) source: &'static str,
    /// Before and after, as printed.
    pub(super) figures: [f64; 2],
    /// Whether they are work by time, and not time by work.
    pub(super) rate: bool,
    /// The change in percent as printed.
    pub(super) printed_percent: Option<f64>,
}

/// Published sizes of the text, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Before and after, as printed.
    pub(super) bytes: [u64; 2],
    /// The change in percent as printed.
    pub(super) printed_percent: f64,
}

impl Sizes {
    /// The claim with what is computed from it.
    pub(super) fn publish(&self) -> TextClaim {
        let [before, after] = self.bytes;
        TextClaim {
            before,
            after,
            printed_percent: self.printed_percent,
            recomputed_percent: (after as f64 / before as f64 - 1.0) * 100.0,
        }
    }
}

impl Claim {
    /// The claim with all that is computed from it, which is held against `comparison`.
    pub(super) fn publish(&self, comparison: &str) -> PublishedClaim {
        let [before, after] = self.figures;
        let audited = audit(self.text.as_bytes()).claims.into_iter();
        PublishedClaim {
            comparison: comparison.to_owned(),
            text: self.text.to_owned(),
            source: self.source.to_owned(),
            printed_percent: self.printed_percent,
            recomputed_percent: (after / before - 1.0) * 100.0,
            time_ratio: if self.rate { before / after } else { after / before },
            audit: audited
                .map(|claim| AuditedFigure {
                    printed: claim.printed,
                    recomputed: claim.recomputed,
                    finding: finding(claim.finding).to_owned(),
                    reason: claim.reason,
                })
                .collect(),
        }
    }
}

fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Consistent => "consistent",
        Finding::Rounded => "rounded",
        Finding::Inconsistent => "inconsistent",
        Finding::NotRecomputable => "not-recomputable",
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::PLANS;
    use super::*;

    /// Every claim with the experiment's name.
    fn claims() -> Vec<(&'static str, Claim)> {
        let of = PLANS.iter().flat_map(|plan| {
            let further = plan.further.iter().map(|(_, claim)| *claim);
            std::iter::once(plan.claim).chain(further).map(|claim| (plan.name, claim))
        });
        of.collect()
    }

    /// The percentages that an audit of the text recomputes.
    fn percents(published: &PublishedClaim) -> Vec<f64> {
        let percent = |text: &str| text.trim_end_matches('%').trim().parse::<f64>().ok();
        published.audit.iter().filter_map(|one| percent(one.recomputed.as_deref()?)).collect()
    }

    #[test]
    fn what_is_recomputed_here_is_what_the_audit_of_the_text_recomputes() {
        let mut audited = 0;
        for (name, claim) in claims() {
            let claim = claim.publish("c");
            if claim.printed_percent.is_none() {
                continue;
            }
            let near = |one: f64| (one.abs() - claim.recomputed_percent.abs()).abs() < 0.001;
            assert!(percents(&claim).into_iter().any(near), "{name}: {:?}", claim.audit);
            audited += 1;
        }
        assert_eq!(audited, 3);
    }

    #[test]
    fn each_claim_is_held_against_a_comparison_that_runs() {
        for plan in PLANS {
            for (comparison, _) in plan.further {
                assert!(plan.comparisons.contains(comparison), "{}: {comparison}", plan.name);
            }
        }
    }

    #[test]
    fn the_figures_stand_in_the_text() {
        assert_eq!(claims().len(), 5, "one each, and two of refcount");
        for (name, claim) in claims() {
            for figure in claim.figures {
                assert!(claim.text.contains(&figure.to_string()), "{name}: {figure}");
            }
            if let Some(percent) = claim.printed_percent {
                assert!(claim.text.contains(&format!("{}%", percent.abs())), "{name}: {percent}");
            }
        }
    }

    #[test]
    fn a_printed_increase_that_is_a_decrease_is_found() {
        let plan = PLANS.iter().find(|plan| plan.name == "unlock").unwrap();
        let unlock = plan.claim.publish("mix");
        let text = unlock.audit.iter().find(|one| one.printed.contains("0.78")).unwrap();
        assert_eq!(text.finding, "inconsistent", "{text:?}");
        let sizes = plan.text_claim.unwrap();
        let published = sizes.publish();
        assert!((published.recomputed_percent - percents(&unlock)[0]).abs() < 0.001, "{text:?}");
        assert!(published.printed_percent > 0.0 && published.recomputed_percent < 0.0);
        for figure in sizes.bytes {
            assert!(unlock.text.contains(&figure.to_string()), "{figure}");
        }
        assert!(unlock.text.contains(&format!("{}%", sizes.printed_percent)));
    }

    #[test]
    fn a_rate_is_turned_round_into_a_time() {
        for (name, claim) in claims() {
            let published = claim.publish("c");
            let grew = published.recomputed_percent > 0.0;
            assert_eq!(published.time_ratio > 1.0, grew != claim.rate, "{name}");
        }
    }
}
