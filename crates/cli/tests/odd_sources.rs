//! Sources as they are found: other encodings and line ends, generated lines, files of no project.

mod common;

use std::fs;
use std::process::Command;

use common::{json, must, path, project, run};

const CONFIG: &str = "[project]\nname = \"odd\"\nlanguage = \"c\"\n[build]\n\
    command = \"$CC $CFLAGS $LDFLAGS -o odd main.c latin.c generated.c\"\ncflags = \"-O2\"\n\
    [test]\ncommand = \"./odd\"\n[[workload]]\nname = \"run\"\nclass = \"benchmark\"\n\
    command = \"./odd\"\n[bench]\nblocks = 2\nbuilds = 1\nwarmups = 0\n";

const MAIN: &str = "int latin(int), generated(int);\nint main(void)\n{\n\tint n = 0;\n\
    \tfor (int i = 0; i < 4000; i++)\n\t\tn += latin(i) + generated(i);\n\treturn n == 7;\n}\n";

/// ISO 8859-1 and CRLF.
const LATIN: &[u8] =
    b"/* \xe4\xf6\xfc */\r\nint latin(int a)\r\n{\r\n\t/* \xdf */ if (a < 0) {\r\n\
    \t\treturn -1;\r\n\t}\r\n\treturn a & 3;\r\n}";

const GENERATED: &str = "#line 1 \"grammar.y\"\nint generated(int a)\n{\n\tif (a > 5000)\n\
    \t\treturn 9;\n\treturn 1;\n}\n";

fn odd() -> tempfile::TempDir {
    let files = [("unlikely.toml", CONFIG), ("main.c", MAIN), ("generated.c", GENERATED)];
    let dir = project(&files);
    fs::write(dir.path().join("latin.c"), LATIN).expect("a file");
    dir
}

#[test]
fn odd_sources_are_counted_or_named() {
    for collector in ["gcov", "llvm"] {
        let dir = odd();
        let (code, _, err) = run(["record", path(&dir), "--collector", collector]);
        assert_eq!(code, 0, "{err}");
        let (_, scan) = json(["scan", path(&dir), "--format", "json"]);
        let all = scan["candidates"].as_array().unwrap();
        let latin = all.iter().find(|c| c["file"] == "latin.c").unwrap();
        let numbers = ["line", "column", "executed", "taken"].map(|k| latin[k].as_u64().unwrap());
        assert_eq!(numbers, [4, 14, 4000, 0], "{collector}");
        let said = scan["diagnostics"].as_array().unwrap();
        let named =
            said.iter().any(|d| d["code"] == "line-directive" && d["path"] == "generated.c");
        assert_eq!(named, collector == "gcov", "{said:?}");
    }
}

#[test]
fn a_patch_keeps_line_ends_and_bytes() {
    let dir = odd();
    let (code, out, err) = run(["tune", path(&dir), "--collector", "gcov"]);
    assert!(code < 2, "{out}{err}");
    let patch = dir.path().join(".unlikely/patches/combined.patch");
    assert!(patch.exists(), "{out}");
    must(Command::new("git").arg("apply").arg(&patch).current_dir(dir.path()));
    let after = fs::read(dir.path().join("latin.c")).unwrap();
    let hinted = b"\t/* \xdf */ if (__builtin_expect(!!(a < 0), 0)) {\r\n";
    assert!(after.windows(hinted.len()).any(|w| w == hinted), "{}", after.escape_ascii());
}
