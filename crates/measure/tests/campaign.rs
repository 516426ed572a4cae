//! What a caller may rely on: the design, the journal, the report and the messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the report")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unlikely_measure::{
    Arm, BenchReport, Build, Direction, Look, MeasureError, Metric, Plan, Progress, Stop, UnitOf,
    Verdict, kept_blocks, leader, run,
};

/// A folder with a journal, and commands that log each of their runs.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn journal(&self) -> PathBuf {
        self.dir.path().join("journal.redb")
    }

    fn arm(&self, command: &str) -> Arm {
        let command = format!("echo x >>runs; {command}");
        Arm::new(command, self.dir.path())
    }

    fn plan(&self, a: &str, b: &str, blocks: u32) -> Plan {
        let pattern = r"v=(\S+)".to_owned();
        Plan {
            arms: vec![self.arm(a), self.arm(b)],
            metrics: vec![Metric::Regex {
                pattern,
                direction: Direction::Lower,
                unit: "ops".to_owned(),
            }],
            blocks,
            stop: Stop::Fixed,
            warmups: 0,
            seed: 3,
            timeout: Duration::from_secs(60),
            equivalence_margin: None,
            strict: false,
            rule: None,
        }
    }

    fn run(&self, plan: &Plan) -> Result<BenchReport, MeasureError> {
        run(plan, &self.journal(), "sort", &mut |_| {})
    }

    /// Runs that took place.
    fn runs(&self) -> usize {
        lines(&self.dir.path().join("runs"))
    }
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[test]
fn a_campaign_ends_in_a_verdict_with_its_evidence() {
    let bench = Bench::new();
    let report = bench.run(&bench.plan("echo v=200", "echo v=199", 6)).unwrap();
    assert_eq!((report.verdict, report.blocks, report.seed), (Verdict::Faster, 6, 3));
    assert!((report.ratio - 0.995).abs() < 1e-12);
    assert!((report.a.geomean - 200.0).abs() < 1e-9 && report.a.n == 6);
    assert_eq!(report.rows.len(), 6);
    for (row, block) in report.rows.iter().zip(0..) {
        assert_eq!((row.block, row.a, row.b, row.session), (block, 200.0, 199.0, 0));
        assert!(row.a_wall_s > 0.0 && row.b_wall_s > 0.0);
    }
    let first: Vec<bool> = report.rows.iter().map(|row| row.a_first).collect();
    assert!(first.chunks(2).all(|pair| pair[0] != pair[1]), "{first:?}");
    assert!(report.provenance.started_unix_s > 0);
    assert!(report.n_counts.contains("6 pairs"), "{}", report.n_counts);
}

#[test]
fn time_is_the_metric_where_none_is_printed() {
    let bench = Bench::new();
    let plan = Plan { metrics: vec![Metric::Time], ..bench.plan("true", "true", 2) };
    let report = bench.run(&plan).unwrap();
    assert_eq!((report.metric.as_str(), report.unit.as_str()), ("time", "s"));
    assert!(report.rows.iter().all(|row| row.a == row.a_wall_s && row.b == row.b_wall_s));
}

#[test]
fn the_printed_form_has_the_agreed_keys_and_no_nulls_for_figures() {
    let bench = Bench::new();
    let report = bench.run(&bench.plan("echo v=2", "echo v=2", 2)).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "unlikely/bench/1");
    assert_eq!(json["direction"], "lower");
    assert_eq!(json["verdict"], "inconclusive");
    for key in ["ratio", "p", "mde80_percent", "blocks", "seed"] {
        assert!(json[key].is_number(), "{key}: {}", json[key]);
    }
    for (arm, key) in [("a", "geomean"), ("a", "sd_percent"), ("b", "n")] {
        assert!(json[arm][key].is_number(), "{arm}.{key}");
    }
    assert!(json["ci95"][0].is_number() && json["ci95"][1].is_number());
    assert_eq!(serde_json::from_value::<BenchReport>(json).unwrap(), report);
}

#[test]
fn the_order_of_runs_is_the_one_that_the_rows_tell() {
    let bench = Bench::new();
    let mut plan = bench.plan("", "", 8);
    plan.arms[0].command = "printf A >>order; echo v=1".into();
    plan.arms[1].command = "printf B >>order; echo v=1".into();
    let report = bench.run(&plan).unwrap();
    let told: String =
        report.rows.iter().map(|row| if row.a_first { "AB" } else { "BA" }).collect();
    assert_eq!(fs::read_to_string(bench.dir.path().join("order")).unwrap(), told);
}

#[test]
fn a_complete_campaign_reports_again_without_running_anything() {
    let bench = Bench::new();
    let plan = Plan { warmups: 1, ..bench.plan("echo v=$$", "echo v=$$", 4) };
    let first = bench.run(&plan).unwrap();
    assert_eq!(bench.runs(), 2 + 8);
    assert_eq!(bench.run(&plan).unwrap(), first);
    assert_eq!(bench.runs(), 2 + 8);
}

#[test]
fn warmups_come_before_each_sitting_and_are_not_kept() {
    let bench = Bench::new();
    // The fourth run of a block fails once: 4 warm-ups and one block before it.
    let fragile = "test $(wc -l <runs) -ne 8 && echo v=$$";
    let plan = Plan { warmups: 2, ..bench.plan(fragile, fragile, 3) };
    assert!(matches!(bench.run(&plan), Err(MeasureError::Failed { .. })));
    assert_eq!((bench.runs(), kept_blocks(&bench.journal(), "sort").unwrap().len()), (8, 1));
    let kept = kept_blocks(&bench.journal(), "sort").unwrap();
    let mut told = Vec::new();
    let report = run(&plan, &bench.journal(), "sort", &mut |progress| told.push(progress)).unwrap();
    // 4 warm-ups again, and the two blocks that were not there.
    assert_eq!(bench.runs(), 8 + 4 + 4);
    assert_eq!(report.rows[0].a, kept[0].run(0).unwrap().values[0]);
    let sessions: Vec<u32> = report.rows.iter().map(|row| row.session).collect();
    assert_eq!(sessions, [0, 1, 1]);
    assert!(report.n_counts.contains("2 sitting"), "{}", report.n_counts);
    assert_eq!(told[0], Progress::Resumed { blocks: 1, of: 3 });
    assert_eq!(told[2], Progress::Warmup { done: 2, of: 2 });
    assert!(matches!(&told[4], Progress::Block { block, of: 3 } if block.block == 2));
}

#[test]
fn another_plan_under_the_same_key_is_refused_and_says_what_differs() {
    let bench = Bench::new();
    let plan = bench.plan("echo v=1", "echo v=2", 4);
    bench.run(&plan).unwrap();
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut other = plan.clone();
        change(&mut other);
        let error = bench.run(&other).unwrap_err();
        assert!(matches!(error, MeasureError::PlanDiffers { .. }), "{error}");
        error.to_string()
    };
    assert!(refused(&|p| p.arms[1].command += " ").contains("command of B"));
    assert!(
        refused(&|p| {
            p.arms[0].builds[0].env.push(("X".into(), "1".into()));
        })
        .contains("environment of A")
    );
    assert!(refused(&|p| p.metrics = vec![Metric::Time]).contains("metrics"));
    assert!(refused(&|p| p.seed += 1).contains("seed"));
    assert!(refused(&|p| p.equivalence_margin = Some(0.01)).contains("equivalence margin"));
    assert!(refused(&|p| p.blocks = 3).contains("blocks"));
    assert!(refused(&|p| p.warmups = 1).contains("in a journal of its own"));
    // Nothing of that ran, and another key takes what this one refuses.
    assert_eq!(bench.runs(), 8);
    let other = Plan { seed: 9, ..plan.clone() };
    run(&other, &bench.journal(), "search", &mut |_| {}).unwrap();
    assert_eq!(kept_blocks(&bench.journal(), "sort").unwrap().len(), 4);
    assert_eq!(kept_blocks(&bench.journal(), "search").unwrap().len(), 4);
}

#[test]
fn more_blocks_continue_a_complete_campaign_and_the_report_says_so() {
    let bench = Bench::new();
    let short = bench.plan("echo v=$$", "echo v=$$", 4);
    let before = bench.run(&short).unwrap();
    assert!(!before.reason.contains("caution"));
    let longer = Plan { blocks: 6, ..short };
    for _ in 0..2 {
        let after = bench.run(&longer).unwrap();
        assert_eq!(after.rows[..4], before.rows);
        assert!(
            after.reason.contains("after its result at 4 blocks was known"),
            "{}",
            after.reason
        );
    }
    assert_eq!(bench.runs(), 12);
}

#[test]
fn a_journal_in_use_is_refused_by_name() {
    let bench = Bench::new();
    let plan = bench.plan("echo v=1", "echo v=1", 2);
    let mut refusals = Vec::new();
    let journal = bench.journal();
    let second = &mut |progress| {
        if matches!(progress, Progress::Block { block, .. } if block.block == 0) {
            refusals.push(run(&plan, &journal, "other", &mut |_| {}).unwrap_err());
        }
    };
    run(&plan, &journal, "sort", second).unwrap();
    assert_eq!(refusals.len(), 1);
    for refusal in refusals {
        assert!(matches!(refusal, MeasureError::JournalLocked { .. }), "{refusal}");
        assert!(refusal.to_string().contains(&*journal.to_string_lossy()), "{refusal}");
    }
}

#[test]
fn output_without_the_metric_names_run_pattern_and_output() {
    let bench = Bench::new();
    let text = bench.run(&bench.plan("echo score 5", "echo v=1", 2)).unwrap_err().to_string();
    for part in ["run of A in block", r"v=(\\S+)", "score 5"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_alone() {
    let bench = Bench::new();
    fs::write(bench.journal(), "precious text").unwrap();
    let error = bench.run(&bench.plan("echo v=1", "echo v=1", 2)).unwrap_err();
    assert!(matches!(error, MeasureError::Journal { .. }), "{error}");
    assert!(error.to_string().contains("journal.redb"), "{error}");
    assert_eq!(fs::read_to_string(bench.journal()).unwrap(), "precious text");
    assert_eq!(bench.runs(), 0);
}

#[test]
fn a_journal_in_a_missing_folder_is_named_before_anything_runs() {
    let bench = Bench::new();
    let plan = bench.plan("echo v=1", "echo v=1", 2);
    let journal = bench.dir.path().join("missing/journal.redb");
    let error = run(&plan, &journal, "sort", &mut |_| {}).unwrap_err();
    assert!(matches!(error, MeasureError::JournalCreate { .. }), "{error}");
    assert_eq!((bench.runs(), kept_blocks(&journal, "sort").unwrap().len()), (0, 0));
}

#[test]
fn a_clear_difference_ends_a_sequential_campaign_early() {
    let bench = Bench::new();
    // Values scatter a little, so that neither interval is a point.
    let scatter = |base: u32| format!("n=$(wc -l <runs); echo v=$(({base} + n % 3))");
    let plan = Plan { stop: Stop::Sequential, ..bench.plan(&scatter(2000), &scatter(1000), 40) };
    let report = bench.run(&plan).unwrap();
    assert_eq!(report.verdict, Verdict::Faster, "{}", report.reason);
    assert!(report.blocks < 40 && report.ending.early, "{} blocks", report.blocks);
    let last = report.ending.looks.last().unwrap();
    assert_eq!((last.n, last.crossed), (report.blocks, true));
    assert!(report.ending.looks.iter().rev().skip(1).all(|look| !look.crossed));
    // It is over: the same plan again runs nothing.
    let runs = bench.runs();
    assert_eq!(bench.run(&plan).unwrap(), report);
    assert_eq!(bench.runs(), runs);
    let longer = Plan { blocks: 50, ..plan };
    assert!(bench.run(&longer).unwrap_err().to_string().contains("blocks differ"));
}

#[test]
fn no_difference_runs_a_sequential_campaign_to_its_end() {
    let bench = Bench::new();
    let plan = Plan { stop: Stop::Sequential, ..bench.plan("echo v=100", "echo v=100", 10) };
    let report = bench.run(&plan).unwrap();
    // Ranks of 2, 4 and 6 blocks could not claim what the boundary asks for there.
    let looks: Vec<u32> = report.ending.looks.iter().map(|look| look.n).collect();
    assert_eq!((report.blocks, report.ending.early, looks), (10, false, vec![8, 10]));
}

#[test]
fn with_several_builds_n_counts_the_builds() {
    let bench = Bench::new();
    let mut plan = bench.plan("echo v=$((100 + LUCK))", "echo v=$((100 + LUCK))", 12);
    for (arm, luck) in plan.arms.iter_mut().zip([[0, 4, 0, 4, 0, 4], [4, 0, 4, 0, 4, 0]]) {
        let build = arm.builds.remove(0);
        arm.builds = luck
            .map(|luck| Build { env: vec![("LUCK".into(), luck.to_string())], ..build.clone() })
            .to_vec();
    }
    let report = bench.run(&plan).unwrap();
    assert_eq!((report.blocks, report.n, report.n_unit), (12, 6, UnitOf::Build));
    let builds: Vec<u32> = report.rows.iter().map(|row| row.build).collect();
    assert_eq!(builds, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    // Each build is as different as can be, and their mean is not.
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert!((report.ratio - 1.0).abs() < 1e-12);
    let layer = |name: &str| report.layers.iter().find(|layer| layer.name == name).unwrap();
    assert!(layer("build").sd_percent.unwrap() > 3.0, "{:?}", report.layers);
    assert!(layer("process").sd_percent.unwrap() < 1e-9, "{:?}", report.layers);
    assert!(report.n_counts.contains("6 pairs of salted builds"), "{}", report.n_counts);
}

#[test]
fn several_arms_share_a_baseline_and_their_claims_are_adjusted() {
    let bench = Bench::new();
    let mut plan = bench.plan("echo v=1000", "echo v=1000", 8);
    plan.arms.push(bench.arm("echo v=$((900 + $$ % 2))"));
    plan.arms.push(bench.arm("echo v=$((950 + $$ % 2))"));
    let report = bench.run(&plan).unwrap();
    assert_eq!(bench.runs(), 8 * 4);
    let arms: Vec<(char, Verdict)> =
        std::iter::once(&report).chain(&report.others).map(|one| (one.arm, one.verdict)).collect();
    let faster = Verdict::Faster;
    assert_eq!(arms, [('B', Verdict::Inconclusive), ('C', faster), ('D', faster)]);
    assert!(report.others.iter().all(|one| one.family.unwrap().size == 3));
    assert_eq!(leader(&report).unwrap().arm, 'C');
}

#[test]
fn other_metrics_of_the_same_runs_are_explored() {
    let bench = Bench::new();
    let mut plan = bench.plan("echo v=1000", "echo v=900", 6);
    plan.metrics.push(Metric::Time);
    let report = bench.run(&plan).unwrap();
    assert_eq!(bench.runs(), 12);
    assert_eq!(report.verdict, Verdict::Faster);
    assert_eq!(report.others.len(), 1);
    let time = &report.others[0];
    assert_eq!((time.metric.as_str(), time.arm), ("time", 'B'));
    assert!(time.rows.iter().all(|row| row.a == row.a_wall_s));
}

#[test]
fn the_environment_is_as_long_for_one_arm_as_for_the_other_and_changes_between_blocks() {
    let bench = Bench::new();
    let length = r#"echo v=$((1 + ${#UNLIKELY_PADDING}))"#;
    let report = bench.run(&bench.plan(length, length, 8)).unwrap();
    assert!(report.rows.iter().all(|row| row.a == row.b));
    let mut lengths: Vec<f64> = report.rows.iter().map(|row| row.a).collect();
    lengths.dedup();
    assert!(lengths.len() > 4, "{lengths:?}");
}

#[test]
fn a_strict_plan_asks_the_sign_test_too() {
    let bench = Bench::new();
    // A single run below and the rest above: both intervals are clear, signs are 7 of 8.
    let a = "echo v=1000";
    let b = "n=$(wc -l <runs); test $n -le 2 && echo v=999 || echo v=$((1100 + n))";
    let plan = bench.plan(a, b, 8);
    let strict = Plan { strict: true, ..plan.clone() };
    let lenient = run(&plan, &bench.journal(), "lenient", &mut |_| {}).unwrap();
    fs::remove_file(bench.dir.path().join("runs")).unwrap();
    let strict = run(&strict, &bench.journal(), "strict", &mut |_| {}).unwrap();
    assert_eq!((lenient.sign_p, lenient.verdict), (None, Verdict::Slower));
    assert_eq!(strict.verdict, Verdict::Inconclusive, "{}", strict.reason);
    assert!((strict.sign_p.unwrap() - 0.070_312_5).abs() < 1e-12);
}

#[test]
fn a_clear_claim_at_the_last_look_survives_being_one_of_two() {
    let bench = Bench::new();
    let plan = bench.plan("echo v=1000", "echo v=$((1080 + $$ % 5))", 20);
    let mut one = bench.run(&plan).unwrap();
    assert_eq!(one.verdict, Verdict::Slower, "{}", one.reason);
    // As a campaign that crossed at its last look: p by looks is above what the earlier ones spent.
    let look = |n, p| Look { n, p, p_needed: 0.04, crossed: n == 20 };
    one.ending.rule = Stop::Sequential;
    one.ending.looks = vec![look(12, 0.2), look(16, 0.06), look(20, 0.0005)];
    one.p = 0.0262;
    let mut other = one.clone();
    unlikely_measure::claim_together([&mut one, &mut other].into_iter());
    assert_eq!(one.verdict, Verdict::Slower, "{}", one.reason);
    assert!(one.family.unwrap().p < 0.01, "{:?}", one.family);
}
