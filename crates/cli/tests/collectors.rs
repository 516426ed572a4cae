//! What each collector must get right beyond a single plain program.

mod common;

use common::{json, path, project, run};

fn config(build: &str, workloads: &[(&str, &str)]) -> String {
    let workloads: String = workloads
        .iter()
        .map(|(name, command)| {
            format!(
                "[[workload]]\nname = \"{name}\"\nclass = \"benchmark\"\ncommand = \"{command}\"\n"
            )
        })
        .collect();
    format!(
        "[project]\nname = \"p\"\nlanguage = \"c\"\n[build]\ncommand = \"{build}\"\n\
         cflags = \"-O2\"\n[test]\ncommand = \"true\"\n{workloads}"
    )
}

/// Two programs whose `main` have one name and one shape, and opposite branches.
#[test]
fn one_programs_counts_are_not_anothers() {
    let main = |limit: &str| {
        format!(
            "#include <stdlib.h>\nint main(int argc, char **argv)\n{{\n\tlong n = atol(argv[1]), s = 0;\n\
             \tfor (long i = 0; i < n; i++) {{\n\t\tif (i % 10000 < {limit})\n\t\t\ts += 3;\n\
             \t\ts ^= i;\n\t}}\n\treturn s == 12345;\n}}\n"
        )
    };
    let build = "$CC $CFLAGS $LDFLAGS -o a a.c && $CC $CFLAGS $LDFLAGS -o b b.c";
    let both = [("one", "./a 100000"), ("two", "./b 50000")];
    for (collector, workloads) in [("llvm", &both[..1]), ("llvm", &both), ("gcov", &both)] {
        let config = config(build, workloads);
        let (a, b) = (main("1"), main("9999"));
        let dir = project(&[("unlikely.toml", &config), ("a.c", &a), ("b.c", &b)]);
        let (code, _, err) = run(["record", path(&dir), "--collector", collector]);
        assert_eq!(code, 0, "{err}");
        let (_, scan) = json(["scan", path(&dir), "--format", "json"]);
        let of = |file: &str| {
            let all = scan["candidates"].as_array().unwrap();
            let found = all.iter().find(|c| c["file"] == file && c["kind"] == "if")?;
            Some((found["executed"].as_u64()?, found["taken"].as_u64()?))
        };
        assert_eq!(of("a.c"), Some((100_000, 10)), "{collector}");
        let second = (workloads.len() == 2).then_some((50_000, 49_995));
        assert_eq!(of("b.c"), second, "{collector}: what was not run was not measured");
    }
}

#[test]
fn conditions_that_use_macros_are_counted_by_both() {
    let main = "#include <stdlib.h>\nint more(int n) { return n & 1; }\n\
        #define CACHE(p, n) ((p) >= (n) ? 1 : more(n))\n#define SIZE(o) ((o) * 3 + 1)\n\
        static int f(int n, int i)\n{\n\tif (!CACHE(n, 3)) return 0;\n\tif (i >= SIZE(n)) return 2;\n\
        \treturn 1;\n}\nint main(int argc, char **argv)\n{\n\tint n = atoi(argv[1]), s = 0;\n\
        \tfor (int i = 0; i < n; i++)\n\t\ts += f(i + 4, i);\n\treturn s == 12345;\n}\n";
    let config = config("$CC $CFLAGS $LDFLAGS -o p main.c", &[("run", "./p 5000")]);
    for collector in ["gcov", "llvm"] {
        let dir = project(&[("unlikely.toml", &config), ("main.c", main)]);
        let (code, _, err) = run(["record", path(&dir), "--collector", collector]);
        assert_eq!(code, 0, "{err}");
        let (_, scan) = json(["scan", path(&dir), "--format", "json"]);
        for condition in ["!CACHE(n, 3)", "i >= SIZE(n)"] {
            let all = scan["candidates"].as_array().unwrap();
            let found = all.iter().find(|c| c["condition"] == condition);
            let found = found.unwrap_or_else(|| panic!("{collector}: {condition}: {scan}"));
            let numbers = ["executed", "taken"].map(|key| found[key].as_u64());
            assert_eq!(numbers, [Some(5000), Some(0)], "{collector}: {condition}");
            assert_eq!(found["polarity"], "known");
        }
    }
}
