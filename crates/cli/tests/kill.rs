//! `kill -9` at any moment of a tuning run loses nothing: every resume ends well, and the blocks
//! that were in the journal are there still, each once, with the same figures.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{HINTABLE, path, project, unlikely};
use rand::{RngExt, SeedableRng};
use unlikely_measure::{BlockRecord, campaigns, kept_blocks};

const KILLS: u32 = 50;
const BLOCKS: u32 = 12;

fn config() -> String {
    let workload = |name: &str| {
        format!("[[workload]]\nname = \"{name}\"\nclass = \"benchmark\"\ncommand = \"./tiny\"\n")
    };
    format!(
        "[project]\nname = \"tiny\"\nlanguage = \"c\"\n[build]\n\
         command = \"$CC $CFLAGS $LDFLAGS -o tiny main.c\"\ncflags = \"-O2\"\n[test]\n\
         command = \"./tiny\"\n{}{}[bench]\nblocks = {BLOCKS}\nbuilds = 2\nstop = \"fixed\"\nwarmups = 1\n",
        workload("one"),
        workload("two"),
    )
}

fn start(dir: &str) -> Child {
    unlikely()
        .args(["tune", dir, "--collector", "gcov"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// All blocks of all campaigns.
fn journal(dir: &Path) -> BTreeMap<String, Vec<BlockRecord>> {
    let path = dir.join(".unlikely/journal.redb");
    let keys = campaigns(&path).expect("the journal can be read");
    keys.into_iter()
        .map(|key| {
            let rows = kept_blocks(&path, &key).expect("its rows can be read");
            (key, rows)
        })
        .collect()
}

/// Blocks that nothing disturbed; the others were run again.
fn valid(blocks: &[BlockRecord]) -> usize {
    blocks.iter().filter(|block| block.invalid.is_none()).count()
}

/// What was kept before must be there now, unchanged, with at most more behind it.
fn holds(now: &BTreeMap<String, Vec<BlockRecord>>, before: &BTreeMap<String, Vec<BlockRecord>>) {
    for (key, rows) in before {
        let now = now.get(key).unwrap_or_else(|| panic!("campaign {key} is lost"));
        assert!(now.len() >= rows.len(), "{key}: {} blocks, {} before", now.len(), rows.len());
        assert_eq!(&now[..rows.len()], rows, "{key}");
    }
    for rows in now.values() {
        let numbers: Vec<u32> = rows.iter().map(|r| r.block).collect();
        assert_eq!(numbers, (0..rows.len() as u32).collect::<Vec<_>>(), "each block once");
    }
}

#[test]
fn a_killed_run_resumes_where_it_was() {
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(9);
    let config = config();
    let fresh = || project(&[("unlikely.toml", &config), ("main.c", HINTABLE)]);
    let mut dir = fresh();
    let begun = Instant::now();
    assert!(start(path(&dir)).wait().unwrap().code().is_some_and(|c| c < 2), "it runs at all");
    let whole = begun.elapsed();
    dir = fresh();
    let mut kept = BTreeMap::new();
    let (mut kills, mut finished, mut with_blocks) = (0, 0, 0);
    while kills < KILLS {
        let mut child = start(path(&dir));
        let limit = Instant::now() + random.random_range(Duration::ZERO..whole);
        let ended = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() >= limit => break None,
                None => std::thread::yield_now(),
            }
        };
        match ended {
            Some(status) => {
                // It got through: everything must be there, and nothing is run again.
                assert!(status.code().is_some_and(|c| c < 2), "{status}");
                finished += 1;
                let all = journal(dir.path());
                holds(&all, &kept);
                assert!(
                    all.values().all(|blocks| valid(blocks) == BLOCKS as usize),
                    "{:?}",
                    all.keys()
                );
                assert_eq!(all.len(), 2);
                assert!(start(path(&dir)).wait().unwrap().code().is_some_and(|c| c < 2));
                assert_eq!(journal(dir.path()), all, "a finished run is not run again");
                dir = fresh();
                kept.clear();
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                let now = journal(dir.path());
                holds(&now, &kept);
                with_blocks += u32::from(now.values().any(|rows| !rows.is_empty()));
                kept = now;
            }
        }
    }
    assert!(start(path(&dir)).wait().unwrap().code().is_some_and(|c| c < 2));
    let all = journal(dir.path());
    holds(&all, &kept);
    assert!(all.values().all(|blocks| valid(blocks) == BLOCKS as usize), "{:?}", all.keys());
    println!("{kills} kills, {finished} runs got through, {with_blocks} kills with blocks kept");
    assert!(finished > 2 && with_blocks > 5, "kills fell on all stages: {finished} {with_blocks}");
}
