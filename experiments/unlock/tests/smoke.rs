//! The binary in its shortest form: the objects are built and loaded, everything runs, in the shape
//! that is promised. Nothing here is about time.

use object::{Object, ObjectSymbol};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list").iter();
    list.map(|one| one["name"].as_str().expect("a name")).collect()
}

#[test]
fn each_unlock_is_compared_alone_and_all_in_a_mix() {
    let output = Command::new(env!("CARGO_BIN_EXE_experiment-unlock"))
        .args(["--smoke", "--format", "json"])
        .output()
        .expect("the experiment starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("standard output is JSON");
    let unlocks = [
        "plain",
        "bh",
        "irq",
        "irqrestore",
        "read-bh",
        "read-irqrestore",
        "write-bh",
        "write-irqrestore",
    ];
    assert_eq!(names(&report["comparisons"])[..2], ["mix", "mix-1"]);
    assert_eq!(names(&report["comparisons"])[2..], unlocks);
    assert!(names(&report["not_run"]).is_empty(), "the policies differ in their code");
    for comparison in report["comparisons"].as_array().expect("a list") {
        let arms = names(&comparison["arms"]);
        // The mix is held against what the patch found, each unlock alone against none inlined.
        if comparison["name"] == "mix" || comparison["name"] == "mix-1" {
            assert_eq!(arms, ["before", "before again", "inline"]);
        } else {
            assert_eq!(arms, ["out of line", "out of line again", "inline"]);
        }
    }
    assert_eq!(names(&report["objects"]), ["before", "inline", "out of line"]);
    let objects = report["objects"].as_array().expect("a list");
    let bytes = |at: usize| objects[at]["text_bytes"].as_u64().expect("a size");
    assert!(bytes(0) != bytes(1) && bytes(0) != bytes(2));
    // They are built already: this asks where.
    let beside = Path::new(env!("CARGO_BIN_EXE_experiment-unlock")).with_file_name("objects");
    let built = experiments::build(&experiment_unlock::source(), &beside).expect("the objects");
    assert_eq!(built.iter().count(), 3);
    for (name, path) in built.iter() {
        every_site_is_there(name, path);
    }
    // Out of line an unlock is a call, or a jump in place of one; inlined it is neither.
    for code in report["code"].as_array().expect("a list") {
        let name = code["name"].as_str().expect("a name");
        let instructions = code["instructions"].as_array().expect("a list");
        let leaves = instructions.iter().any(|one| {
            let one = one.as_str().expect("an instruction");
            ["jmp ", "call ", "bl ", "b "].iter().any(|jump| one.starts_with(jump))
        });
        let (unlock, build) = name.split_once(", ").expect("an unlock and a build");
        let by_the_patch = unlock.ends_with("bh") || unlock.ends_with("irqrestore");
        match build {
            "out of line" => assert!(leaves, "{code}"),
            "before" if by_the_patch => assert!(leaves, "{code}"),
            // A jump to another function would be a wake-up; only a writer's waiters need one.
            _ if unlock == "plain" => assert!(!leaves && code["calls"] == 0, "{code}"),
            // What is the thread's own is found without a call, as what is a CPU's in a kernel.
            _ if cfg!(all(target_arch = "x86_64", target_env = "gnu")) => {
                assert_eq!(code["calls"], 0, "{code}");
            }
            _ => {}
        }
    }
}

/// None of the thousand sites has become a jump to another whose code is the same: that would happen to
/// more of them in one object than in another, and the difference in bytes would be of that.
fn every_site_is_there(object: &str, path: &Path) {
    let bytes = std::fs::read(path).expect("the object that was measured");
    let file = object::File::parse(&*bytes).expect("a shared object");
    let sites = file.symbols().filter(|symbol| {
        let name = symbol.name().unwrap_or_default();
        ["5sites4spin", "5sites4read", "5sites5write"].iter().any(|site| name.contains(site))
    });
    let own: Vec<_> = sites.map(|site| (site.address(), site.size())).collect();
    assert_eq!(own.len(), 8 * 128, "{object}");
    let mut places: Vec<_> = own.iter().map(|site| site.0).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), own.len(), "{object}");
    assert!(own.iter().all(|site| site.1 >= 48), "{object}: {:?}", own.iter().map(|s| s.1).min());
}
