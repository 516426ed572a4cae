//! A campaign killed with SIGKILL again and again ends with each block once and with the values
//! that were first kept, and takes its workload with it.
//!
//! The tests run their own executable as the campaign: `child_campaign` does nothing unless the
//! environment names a folder and a command.

#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the report")]

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use unlikely_measure::{Arm, BlockRecord, Build, Direction, Metric, Plan, Stop, kept_blocks, run};

const FOLDER: &str = "UNLIKELY_KILL_TEST_FOLDER";
const COMMAND: &str = "UNLIKELY_KILL_TEST_COMMAND";
const BLOCKS: u32 = 4000;
const KILLS: usize = 100;

/// Each run has a value of its own, so a block that ran again would not look the same; and each
/// leaves a line, so every kept value can be traced to one run.
const TRACED: &str = "echo $ARM $$ >>runs; echo v=$$";

fn plan(dir: &Path, command: &str) -> Plan {
    let arm = |name: &str| Arm {
        command: command.to_owned(),
        builds: vec![Build { dir: dir.to_owned(), env: vec![("ARM".to_owned(), name.to_owned())] }],
    };
    let pattern = r"v=(\d+)".to_owned();
    Plan {
        arms: vec![arm("a"), arm("b")],
        metrics: vec![Metric::Regex {
            pattern,
            direction: Direction::Higher,
            unit: "id".to_owned(),
        }],
        blocks: BLOCKS,
        stop: Stop::Fixed,
        warmups: 1,
        seed: 5,
        timeout: Duration::from_secs(60),
        equivalence_margin: None,
        strict: false,
        rule: None,
    }
}

fn journal(dir: &Path) -> PathBuf {
    dir.join("journal.redb")
}

#[test]
fn child_campaign() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let dir = Path::new(&folder);
    let command = std::env::var(COMMAND).unwrap();
    run(&plan(dir, &command), &journal(dir), "kill", &mut |_| {}).unwrap();
}

fn spawn_campaign(dir: &Path, command: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_campaign"])
        .env(FOLDER, dir)
        .env(COMMAND, command)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Rows are numbered without a gap, and those known before are the same to the last bit.
fn check_kept(before: &[BlockRecord], now: &[BlockRecord]) {
    assert!(now.len() >= before.len(), "{} of {} rows are lost", before.len(), now.len());
    assert_eq!(&now[..before.len()], before);
    for (row, block) in now.iter().zip(0..) {
        assert_eq!(row.block, block);
    }
}

#[test]
fn no_kill_loses_a_block_or_repeats_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(99);
    let mut rows = Vec::new();
    let mut killed = 0;
    for _ in 0..KILLS {
        let mut campaign = spawn_campaign(dir.path(), TRACED);
        // From the first microseconds on, so that laying the journal and reopening it are hit too.
        std::thread::sleep(Duration::from_micros(u64::from(rng.next_u32() % 40_000)));
        campaign.kill().unwrap();
        killed += usize::from(campaign.wait().unwrap().signal() == Some(9));
        let now = kept_blocks(&journal(dir.path()), "kill").unwrap();
        check_kept(&rows, &now);
        rows = now;
    }
    assert_eq!(killed, KILLS, "some campaigns were over before they could be killed");
    assert!(spawn_campaign(dir.path(), TRACED).wait().unwrap().success());
    let finished = kept_blocks(&journal(dir.path()), "kill").unwrap();
    check_kept(&rows, &finished);
    assert_eq!(finished.len(), BLOCKS as usize);
    check_traced(dir.path(), &finished);
}

/// Every kept value is that of exactly one run of its own arm. (Ids may come round again in
/// theory; among so few runs they do not.)
fn check_traced(dir: &Path, rows: &[BlockRecord]) {
    let log = fs::read_to_string(dir.join("runs")).unwrap();
    let mut runs: HashMap<String, u32> = HashMap::new();
    for line in log.lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    for row in rows {
        for (arm, name) in [(0, "a"), (1, "b")] {
            let run = format!("{name} {}", row.run(arm).unwrap().values[0]);
            assert_eq!(runs.remove(&run), Some(1), "{run} of block {}", row.block);
        }
    }
}

#[test]
fn a_killed_campaign_leaves_no_workload_running() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let command = "sleep 1000 & echo $! >fifo; wait";
    let mut campaign = spawn_campaign(dir.path(), command);
    // Blocks until the workload is there.
    let pid: i32 = fs::read_to_string(&fifo).unwrap().trim().parse().unwrap();
    let workload = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    campaign.kill().unwrap();
    campaign.wait().unwrap();
    let limit = Timespec { tv_sec: 30, tv_nsec: 0 };
    let mut asked = [PollFd::new(&workload, PollFlags::IN)];
    assert_eq!(poll(&mut asked, Some(&limit)).unwrap(), 1, "{pid} lives on");
}
