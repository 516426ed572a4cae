//! Salted builds behind the wrapper: what moves, what stays, and what must not fail.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{must, project, text};
use object::{Object, ObjectSymbol, SymbolKind};
use serde_json::json;

const COMPILERS: [&str; 2] = ["gcc", "clang-22"];

/// Enough functions that no two salts give the same order, one of them cold by itself, one with a
/// cold block.
const FILES: [(&str, &str); 4] = [
    (
        "one.c",
        r#"
#include <stdio.h>
#include <stdlib.h>
int two_a(int), two_b(int), two_c(int), two_d(int);
static __attribute__((noinline)) int local(int x) { return x * 3; }
__attribute__((cold, noinline)) int chilled(int x) { return x * 7 + local(x); }
__attribute__((hot, noinline)) int heated(int x) { return x * 9; }
__attribute__((noinline)) int hinted(int x)
{
	if (__builtin_expect(x > 1000, 0)) {
		fprintf(stderr, "too large: %d\n", chilled(x));
		abort();
	}
	return x + 1;
}
int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", two_a(argc) + two_b(argc) + two_c(argc) + two_d(argc) + hinted(argc)
	       + heated(argc) + local(argc));
	return 0;
}
"#,
    ),
    (
        "two.c",
        r"
static __attribute__((noinline)) int local(int x) { return x - 5; }
__attribute__((noinline)) int two_a(int x) { return x ^ 3; }
__attribute__((noinline)) int two_b(int x) { return x ^ two_a(x); }
__attribute__((noinline)) int two_c(int x) { return x + two_b(x); }
__attribute__((noinline)) int two_d(int x) { return local(x) - two_c(x); }
",
    ),
    (
        "by_hand.s",
        "\t.globl first\n\t.type first, @function\n\t.section .text.first,\"ax\"\nfirst:\tret\n\
         \t.section .note.GNU-stack,\"\"\n",
    ),
    (
        "Makefile",
        "prog: one.o libtwo.a by_hand.o\n\t$(CC) $(LDFLAGS) -o $@ one.o by_hand.o libtwo.a\n\
         libtwo.a: two.o\n\tar rcs $@ two.o\n\
         %.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n\
         %.o: %.s\n\t$(CC) -c -o $@ $<\n\
         once:\n\t$(CC) $(CFLAGS) $(LDFLAGS) -o prog one.c two.c by_hand.s\n",
    ),
];

fn path_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").expect("PATH");
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|p| p.is_file())
}

/// The wrapper's links and orders for a salted build, and its record.
struct Wrapper {
    folder: tempfile::TempDir,
}

impl Wrapper {
    fn new(compiler: &str, salt: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let compiler = path_of(compiler).unwrap_or_else(|| panic!("{compiler} is not installed"));
        let linkers: BTreeMap<&str, _> = [
            ("ld", "ld", false),
            ("ld.bfd", "ld.bfd", false),
            ("ld.gold", "ld.gold", false),
            ("ld.lld", "ld.lld-22", true),
        ]
        .into_iter()
        .filter_map(|(name, file, lld)| Some((name, json!({ "path": path_of(file)?, "lld": lld }))))
        .collect();
        for name in ["cc"].iter().chain(linkers.keys()) {
            let link = folder.path().join(name);
            symlink(env!("CARGO_BIN_EXE_unlikely"), link).expect("a link");
        }
        let record = folder.path().join("record");
        let salting = json!({ "salt": salt, "record": record, "linkers": linkers });
        let orders = json!({
            "compiler": compiler,
            "compile_flags": [],
            "link_flags": [],
            "log": folder.path().join("calls"),
            "salting": if salt == 0 { serde_json::Value::Null } else { salting },
        });
        fs::write(folder.path().join("wrap.json"), orders.to_string()).expect("orders");
        Self { folder }
    }

    fn cc(&self) -> PathBuf {
        self.folder.path().join("cc")
    }

    /// What became of each object, by file name.
    fn record(&self) -> BTreeMap<String, serde_json::Value> {
        let text = fs::read_to_string(self.folder.path().join("record")).unwrap_or_default();
        text.lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let object = line["object"].as_str().expect("an object");
                (object.rsplit('/').next().unwrap_or_default().to_owned(), line["outcome"].clone())
            })
            .collect()
    }
}

/// A build of the project, and its program.
struct Built {
    dir: tempfile::TempDir,
    wrapper: Wrapper,
}

fn build(compiler: &str, salt: u64, variables: &[&str]) -> Built {
    let built = Built { dir: project(&FILES), wrapper: Wrapper::new(compiler, salt) };
    must(
        Command::new("make")
            .current_dir(built.dir.path())
            .arg(format!("CC={}", built.wrapper.cc().display()))
            .args(variables),
    );
    built
}

impl Built {
    fn program(&self) -> PathBuf {
        self.dir.path().join("prog")
    }

    fn output(&self) -> String {
        text(&must(&mut Command::new(self.program())).stdout)
    }

    /// The project's functions in the order of their addresses.
    fn order(&self) -> Vec<String> {
        order(&self.program())
    }
}

fn order(program: &Path) -> Vec<String> {
    let ours = ["local", "chilled", "heated", "hinted", "main", "two_", "first"];
    let data = fs::read(program).expect("a program");
    let file = object::File::parse(&*data).expect("ELF");
    let mut found: Vec<(u64, String)> = file
        .symbols()
        .filter(|s| s.kind() == SymbolKind::Text && s.is_definition())
        .map(|s| (s.address(), s.name().expect("UTF-8").to_owned()))
        .filter(|(_, name)| ours.iter().any(|o| name.starts_with(o)))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

fn linkers(compiler: &str) -> Vec<&'static str> {
    let mut all = vec!["CFLAGS=-O2", "LDFLAGS=-fuse-ld=gold"];
    if compiler != "gcc" {
        all.push("LDFLAGS=-fuse-ld=lld");
    }
    all
}

/// All but what the compilers place apart.
fn movable(order: &[String]) -> Vec<&String> {
    let apart = ["chilled", "heated", "main", "first"];
    order
        .iter()
        .filter(|f| !apart.iter().any(|a| f.starts_with(a)) && !f.contains(".cold"))
        .collect()
}

#[test]
fn a_salt_gives_one_order_and_another_salt_another() {
    for compiler in COMPILERS {
        for linker in linkers(compiler) {
            for how in ["prog", "once"] {
                let variables = ["CFLAGS=-O2", linker, how];
                let plain = build(compiler, 0, &variables);
                let [one, again, two] = [1, 1, 2].map(|salt| build(compiler, salt, &variables));
                let context = format!("{compiler} {linker} {how}");
                assert_eq!(one.order(), again.order(), "{context}");
                for (a, b) in [(&plain, &one), (&plain, &two), (&one, &two)] {
                    let (a_order, b_order) = (a.order(), b.order());
                    assert_ne!(movable(&a_order), movable(&b_order), "{context}");
                    assert_eq!(a.output(), b.output(), "{context}");
                }
                assert_eq!(
                    fs::read(one.program()).expect("a program"),
                    fs::read(again.program()).expect("a program"),
                    "{context}"
                );
            }
        }
    }
}

#[test]
fn the_same_salt_orders_what_two_versions_share_in_the_same_way() {
    for linker in linkers("clang-22") {
        let built = build("clang-22", 3, &["CFLAGS=-O2", linker]);
        let before = built.order();
        let path = built.dir.path().join("two.c");
        let source = fs::read_to_string(&path).expect("source");
        fs::write(&path, format!("{source}int two_more(int x) {{ return x; }}\n")).expect("source");
        must(
            Command::new("make")
                .current_dir(built.dir.path())
                .arg(format!("CC={}", built.wrapper.cc().display()))
                .args(["CFLAGS=-O2", linker]),
        );
        let mut after = built.order();
        assert!(after.iter().any(|f| f == "two_more"));
        after.retain(|f| f != "two_more");
        assert_eq!(before, after, "{linker}");
    }
}

#[test]
fn what_the_compiler_placed_apart_stays_apart() {
    for compiler in COMPILERS {
        for salt in [1, 2, 3] {
            let built = build(compiler, salt, &["CFLAGS=-O2"]);
            let order = built.order();
            let place = |name: &str| order.iter().position(|f| f == name);
            // The linker lays cold code first, then what runs once, then hot code, then the rest.
            let first_warm = movable(&order).first().and_then(|f| place(f)).expect("warm code");
            let mut cold = vec!["chilled", "heated"];
            if compiler == "gcc" {
                cold.extend(["hinted.cold", "main"]);
            }
            for name in cold {
                assert!(
                    place(name).expect(name) < first_warm,
                    "{compiler} {salt} {name}: {order:?}"
                );
            }
        }
    }
}

#[test]
fn the_record_names_each_object_and_why_it_was_left() {
    let built = build("gcc", 1, &["CFLAGS=-O2"]);
    let record = built.wrapper.record();
    assert_eq!(record["two.o"]["Ok"].as_array().expect("functions").len(), 5);
    assert!(record["one.o"]["Ok"].as_array().expect("functions").contains(&json!("hinted")));
    // The assembler's own text is not a compilation.
    assert_eq!(record.keys().collect::<Vec<_>>(), ["one.o", "two.o"]);
    let built = build("gcc", 1, &["CFLAGS=-O2 -flto", "LDFLAGS=-O2 -flto"]);
    assert_eq!(built.wrapper.record()["one.o"]["Err"], "Lto");
    assert_eq!(built.output(), build("gcc", 0, &[]).output());
}

/// Calls the wrapped compiler in a folder with the project's files.
fn call(wrapper: &Wrapper, dir: &Path, arguments: &str) -> Output {
    let mut command = Command::new(wrapper.cc());
    command.current_dir(dir).args(arguments.split_whitespace()).output().expect("a compiler")
}

#[test]
fn a_failing_call_says_what_the_plain_one_says() {
    let dir = project(&FILES);
    fs::write(dir.path().join("bad.c"), "int f(void) { return nothing; }\n").expect("source");
    for compiler in COMPILERS {
        let [plain, salted] = [0, 1].map(|salt| Wrapper::new(compiler, salt));
        for arguments in
            ["-c bad.c", "bad.c one.c two.c -o x", "-c none.c", "one.c -o x", "-c -wrong one.c"]
        {
            let [a, b] = [&plain, &salted].map(|w| call(w, dir.path(), arguments));
            assert_eq!(a.status, b.status, "{compiler} {arguments}");
            let lines = |out: &Output| {
                text(&out.stderr)
                    .lines()
                    .filter(|l| !l.contains("/tmp/"))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            assert!(!a.status.success() && !a.stderr.is_empty());
            assert_eq!(lines(&a), lines(&b), "{compiler} {arguments}");
        }
    }
}

#[test]
fn a_compiler_that_refuses_the_flags_is_called_without_them() {
    let dir = project(&FILES);
    let old = dir.path().join("old-cc");
    fs::write(
        &old,
        "#!/bin/sh\nfor a; do case $a in -falign-functions=*|-ffunction-sections) echo unknown $a >&2; exit 1;; esac; done\nexec gcc \"$@\"\n",
    )
    .expect("a script");
    must(Command::new("chmod").arg("+x").arg(&old));
    let wrapper = Wrapper::new(old.to_str().expect("UTF-8"), 1);
    for arguments in ["-O2 -c two.c", "-O2 one.c two.c -o prog"] {
        let out = call(&wrapper, dir.path(), arguments);
        assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
    }
    let record = wrapper.record();
    assert_eq!(
        (&record["two.o"]["Err"], &record["prog"]["Err"]),
        (&json!("Refused"), &json!("Refused"))
    );
}

#[test]
fn partial_links_and_shared_libraries_keep_their_functions() {
    for compiler in COMPILERS {
        for linker in ["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld"] {
            if compiler == "gcc" && linker.ends_with("lld") {
                continue;
            }
            let dir = project(&FILES);
            let wrapper = Wrapper::new(compiler, 2);
            for arguments in [
                "-O2 -fPIC -c one.c two.c".to_owned(),
                format!("{linker} -nostdlib -r -o both.o one.o two.o"),
                format!("{linker} -o prog both.o"),
                format!("{linker} -shared -o lib.so two.o"),
            ] {
                let out = call(&wrapper, dir.path(), &arguments);
                assert!(out.status.success(), "{compiler} {arguments}: {}", text(&out.stderr));
            }
            let whole = build(compiler, 2, &["CFLAGS=-O2 -fPIC", &format!("LDFLAGS={linker}")]);
            let (partial, whole) = (order(&dir.path().join("prog")), whole.order());
            assert_eq!(movable(&partial), movable(&whole), "{compiler} {linker}");
            assert_eq!(order(&dir.path().join("lib.so")).len(), 5);
        }
    }
}

#[test]
fn functions_that_units_of_cxx_share_are_salted_and_stay_shared() {
    let header = "#include <vector>\n#include <string>\n                  inline int shared(int x) { static int n; n += x; return n; }\n";
    let one = "#include \"h.h\"\n#include <cstdio>\nint other(int);\n               int main() { std::vector<std::string> v; for (int i = 0; i < 9; i++) \
               v.push_back(std::to_string(shared(i))); \
               try { v.at(99); } catch (const std::exception &e) { std::puts(e.what()); } \
               std::printf(\"%d %s\\n\", other(3), v.back().c_str()); }\n";
    let two = "#include \"h.h\"\nint other(int x) { std::vector<std::string> v(3, \"a\"); \
               return shared(x) + (int)v.size(); }\n";
    let dir = project(&[("h.h", header), ("one.cc", one), ("two.cc", two)]);
    let mut seen = Vec::new();
    for salt in [0, 1, 2] {
        let wrapper = Wrapper::new("g++", salt);
        let out = call(&wrapper, dir.path(), "-O1 -g -c one.cc two.cc");
        assert!(out.status.success(), "{}", text(&out.stderr));
        let out = call(&wrapper, dir.path(), "-o prog one.o two.o");
        assert!(out.status.success(), "{}", text(&out.stderr));
        seen.push(text(&must(&mut Command::new(dir.path().join("prog"))).stdout));
        assert_eq!(wrapper.record().len(), if salt == 0 { 0 } else { 2 });
    }
    assert!(seen[0].contains("42 36"), "{seen:?}");
    assert!(seen.iter().all(|s| *s == seen[0]), "{seen:?}");
}
