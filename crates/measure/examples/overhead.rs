//! What a run costs beyond starting the command itself: a campaign of `true` against bare
//! spawn-and-wait of the same shell command, in turn.
//!
//! `cargo run --release -p unlikely-measure --example overhead`

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unlikely_measure::{Arm, Metric, Plan, Stop, run};

const BLOCKS: u32 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("unlikely-overhead-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let arm = Arm::new("true", &folder);
    let plan = Plan {
        arms: vec![arm.clone(), arm],
        metrics: vec![Metric::Time],
        blocks: BLOCKS,
        stop: Stop::Fixed,
        warmups: 3,
        seed: 1,
        timeout: Duration::from_secs(10),
        equivalence_margin: None,
        strict: false,
        rule: None,
    };
    let begun = Instant::now();
    let report = run(&plan, &folder.join("journal"), "overhead", &mut |_| {})?;
    let campaign = begun.elapsed();
    std::fs::remove_dir_all(&folder)?;

    let runs = 2 * BLOCKS;
    let begun = Instant::now();
    for _ in 0..runs {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "true"]).stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    }
    let bare = begun.elapsed();

    let per_run = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(runs);
    println!("spawn and wait      {:.3} ms a run", per_run(bare));
    println!("timed by a campaign {:.3} ms a run", report.a.geomean * 1e3);
    println!("campaign, all told  {:.3} ms a run (with its journal)", per_run(campaign));
    println!("verdict: {:?}: {}", report.verdict, report.reason);
    for warning in report.provenance.warnings {
        println!("warning: {warning}");
    }
    Ok(())
}
