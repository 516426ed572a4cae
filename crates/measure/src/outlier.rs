//! Runs far from the rest of their arm, flagged with what the machine did meanwhile. Nothing is
//! ever removed for being one: a flag sends the reader to the row, no more.

use crate::machine::RunConditions;
use crate::report::BlockRow;

/// Distance from the median, in robust standard deviations, from which a run is flagged.
const FAR: f64 = 5.0;
/// A median absolute deviation times this is a standard deviation, if values are normal.
const MAD_TO_SD: f64 = 1.4826;
/// Runs below which there is no telling what is far.
const RUNS_MIN: usize = 8;

/// Fills `outlier` of each row.
pub(crate) fn flag(rows: &mut [BlockRow]) {
    for name in ["A", "B"] {
        let value = |row: &BlockRow| if name == "A" { row.a } else { row.b };
        let logs: Vec<f64> = rows.iter().map(|row| value(row).ln()).collect();
        let Some((median, sd)) = centre(&logs) else { continue };
        for (row, log) in rows.iter_mut().zip(logs) {
            let off = log - median;
            if off.abs() <= FAR * sd {
                continue;
            }
            let (conditions, switches) = match name {
                "A" => (&row.a_conditions, row.a_involuntary_switches),
                _ => (&row.b_conditions, row.b_involuntary_switches),
            };
            let text = format!(
                "{name} lies {:+.1} % from its median ({})",
                off.exp_m1() * 100.0,
                evidence(conditions, switches)
            );
            row.outlier = Some(match row.outlier.take() {
                Some(before) => format!("{before}; {text}"),
                None => text,
            });
        }
    }
}

/// What the machine did meanwhile, as far as it could have disturbed the run.
fn evidence(conditions: &RunConditions, switches: u64) -> String {
    let seconds = |name: &str, value: Option<f64>| {
        value.filter(|s| *s >= 0.01).map(|s| format!("{name} {s:.2} s of CPU time"))
    };
    let count =
        |name: &str, value: Option<u64>| value.filter(|n| *n > 0).map(|n| format!("{name} {n}"));
    let seen: Vec<String> = [
        seconds("other work used", conditions.foreign_cpu_s),
        seconds("the hypervisor took", conditions.steal_s),
        count("thermal throttling events:", conditions.throttles),
        Some(switches).filter(|n| *n > 0).map(|n| format!("the CPU was taken from it {n}×")),
        count("µs stopped by the CPU quota:", conditions.quota_stopped_us),
    ]
    .into_iter()
    .flatten()
    .collect();
    if seen.is_empty() {
        "the machine shows no cause".to_owned()
    } else {
        format!("meanwhile {}", seen.join(", "))
    }
}

/// Median and robust standard deviation; `None` if values are too few or half of them are equal.
fn centre(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < RUNS_MIN {
        return None;
    }
    let median = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let sd = self::median(&distances)? * MAD_TO_SD;
    (sd > 0.0).then_some((median, sd))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = *sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::block;

    fn rows(pairs: &[(f64, f64)]) -> Vec<BlockRow> {
        let row = |(index, (a, b)): (u32, &(f64, f64))| block(index, *a, *b).row(1, 0).unwrap();
        (0..).zip(pairs).map(row).collect()
    }

    #[test]
    fn a_run_far_from_its_arm_is_flagged_and_kept() {
        let mut pairs: Vec<(f64, f64)> = (0..12)
            .map(|i| (100.0 + f64::from(i % 4) * 0.1, 50.0 + f64::from(i % 3) * 0.1))
            .collect();
        pairs[5].1 = 60.0;
        let mut rows = rows(&pairs);
        flag(&mut rows);
        let flagged: Vec<u32> =
            rows.iter().filter(|row| row.outlier.is_some()).map(|row| row.block).collect();
        assert_eq!((rows.len(), flagged), (12, vec![5]));
        let text = rows[5].outlier.as_deref().unwrap();
        assert!(text.starts_with("B lies +19.8 % from its median ("), "{text}");
    }

    #[test]
    fn few_runs_and_runs_of_one_value_have_no_outliers() {
        let mut few = rows(&[(1.0, 1.0), (1.0, 9.0), (1.1, 1.0)]);
        flag(&mut few);
        let mut equal = rows(&[(1.0, 1.0); 20]);
        equal[3].a = 2.0;
        flag(&mut equal);
        assert!(few.iter().chain(&equal).all(|row| row.outlier.is_none()));
    }
}
