//! What `check` says of small C programs, with the compilers a project may use.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::fs;
use std::process::Command;

use tempfile::TempDir;
use unlikely_codegen::{CheckError, Checker, CodeDelta, Edit, Pos, SiteQuery, Span, Unit};

/// A poll-like loop. GCC 12 takes the usual way, which returns a negative number, for an error, and
/// so lays the early return in line and the usual way behind the loop.
const POLL: &str = include_str!("c/poll.c");

struct Project {
    tree: TempDir,
    scratch: TempDir,
    checker: Checker,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let (tree, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        for (name, text) in files {
            let path = tree.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let checker = Checker::new(tree.path(), scratch.path(), 2).unwrap();
        Self { tree, scratch, checker }
    }

    /// Puts the hint `never true` around `condition` in `file` and checks `unit`.
    fn never_true(&self, unit: &Unit, file: &str, query: &Query<'_>) -> CodeDelta {
        self.try_never_true(unit, file, query).unwrap()
    }

    fn try_never_true(
        &self,
        unit: &Unit,
        file: &str,
        query: &Query<'_>,
    ) -> Result<CodeDelta, CheckError> {
        let text = fs::read_to_string(self.tree.path().join(file)).unwrap();
        let hinted = format!("__builtin_expect(!!({}), 0)", query.condition);
        let edit = Edit {
            file: file.into(),
            text: text.replacen(query.condition, &hinted, 1).into_bytes(),
        };
        self.checker.check(unit, &edit, &query.site(file, &text))
    }
}

/// The condition and its arms, each by its text, which must be the first of its kind in the file.
struct Query<'t> {
    condition: &'t str,
    when_true: Option<&'t str>,
    when_false: Option<&'t str>,
}

impl Query<'_> {
    fn site(&self, file: &str, text: &str) -> SiteQuery {
        let (start, end) = span(text, self.condition);
        SiteQuery {
            file: file.into(),
            start,
            end,
            when_true: self.when_true.map(|t| span(text, t)),
            when_false: self.when_false.map(|t| span(text, t)),
            taken_true: 0,
            taken_false: 1000,
        }
    }
}

fn span(text: &str, part: &str) -> Span {
    let at = text.find(part).unwrap_or_else(|| panic!("no {part:?}"));
    let pos = |at: usize| {
        let head = &text[..at];
        let line = head.matches('\n').count() + 1;
        let column = at - head.rfind('\n').map_or(0, |n| n + 1) + 1;
        Pos::new(line as u32, column as u32)
    };
    (pos(at), pos(at + part.len()))
}

fn unit(source: &str, argv: &[&str]) -> Unit {
    let argv = argv.iter().copied().chain(["-c", source]).map(str::to_owned).collect();
    Unit { source: source.into(), dir: String::new(), argv }
}

/// Fails, rather than skips, where a compiler is missing.
fn need(program: &str) {
    let found = Command::new(program).arg("--version").output();
    assert!(
        found.is_ok_and(|o| o.status.success()),
        "{program} is missing: run scripts/install-test-tools"
    );
}

const POLL_SITE: Query<'static> = Query {
    condition: "fd < 0",
    when_true: Some("{\n        e->revents = 0;\n        skipped++;\n        return 0;\n    }"),
    when_false: None,
};

fn poll_with(cc: &str, options: &[&str]) -> CodeDelta {
    need(cc);
    let project = Project::new(&[("poll.c", POLL)]);
    let argv: Vec<&str> = [cc].iter().chain(options).copied().collect();
    project.never_true(&unit("poll.c", &argv), "poll.c", &POLL_SITE)
}

#[test]
fn a_never_taken_early_return_in_line_is_moved_out_of_the_loop() {
    let delta = poll_with("gcc", &["-O2"]);
    assert!(!delta.identical);
    assert_eq!((delta.arch.as_str(), delta.unit.as_str()), ("x86-64", "poll.c"));
    assert!(delta.compiler.starts_with("gcc "), "{}", delta.compiler);
    let [function] = delta.functions.as_slice() else { panic!("{delta:#?}") };
    assert_eq!(function.name, "arm_all");
    // The jump to the usual way, the jump back from it and the loop's own; then the loop's alone.
    let taken = function.hot_taken.unwrap();
    assert_eq!((taken.before, taken.after), (3000, 1000));
    assert!(function.blocks_moved.unwrap() >= 1, "{function:#?}");
    assert_eq!(delta.notes, [""; 0]);
}

#[test]
fn clang_and_aarch64_objects_are_told_too() {
    for (cc, arch) in [("clang-22", "x86-64"), ("aarch64-linux-gnu-gcc", "aarch64")] {
        let delta = poll_with(cc, &["-O2"]);
        assert!(!delta.identical, "{cc}");
        assert_eq!(delta.arch, arch);
        let taken = delta.functions[0].hot_taken.unwrap_or_else(|| panic!("{delta:#?}"));
        assert!(taken.after <= taken.before, "{delta:#?}");
    }
}

#[test]
fn the_disassembly_names_lines_offsets_and_symbols() {
    let delta = poll_with("gcc", &["-O2"]);
    let asm = &delta.functions[0].asm_before;
    assert!(asm.len() <= 40 && delta.functions[0].asm_after.len() <= 40);
    let has = |words: &[&str]| asm.iter().any(|l| words.iter().all(|w| l.contains(w)));
    assert!(
        has(&["poll.c:12 ", "js ", " +0x"]) || has(&["poll.c:12 ", "jns ", " +0x"]),
        "{asm:#?}"
    );
    assert!(has(&["<sources>"]), "{asm:#?}");
}

/// Both are conditions GCC's own heuristics already decide.
#[test]
fn a_hint_the_compiler_already_assumes_is_a_no_op() {
    let text = "
#include <stdlib.h>
int first(int *p) { if (p == NULL) abort(); return *p; }
extern int *table[];
int second(const int *fds, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (fds[i] < 0)
            return -1;
        sum += *table[fds[i]] & n;
    }
    return sum;
}
";
    let project = Project::new(&[("x.c", text)]);
    for (condition, arm) in [("p == NULL", "abort();"), ("fds[i] < 0", "return -1;")] {
        let query = Query { condition, when_true: Some(arm), when_false: None };
        let delta = project.never_true(&unit("x.c", &["gcc", "-O2"]), "x.c", &query);
        assert!(delta.identical, "{condition}: {delta:#?}");
        assert!(delta.functions.is_empty());
        assert_eq!(delta.hot_bytes.before, delta.hot_bytes.after);
    }
}

/// GCC aligns the target of a branch it holds for likely enough, and nothing else changes here.
#[test]
fn a_difference_in_padding_alone_is_said() {
    let text = "#include <stddef.h>\nint f(int *p) { if (p == NULL) return -1; return *p; }\n";
    let project = Project::new(&[("x.c", text)]);
    let query = Query { condition: "p == NULL", when_true: Some("return -1;"), when_false: None };
    let delta = project.never_true(&unit("x.c", &["gcc", "-O2"]), "x.c", &query);
    assert!(!delta.identical && delta.padding_only, "{delta:#?}");
    let taken = delta.functions[0].hot_taken.unwrap();
    assert_eq!(taken.before, taken.after);
    assert!(!poll_with("gcc", &["-O2"]).padding_only);
}

/// The usual way of `arm` is the only one that returns this number, so GCC joins this condition with
/// the one inside; what is left of the hint is other registers, and two instructions exchanged.
#[test]
fn a_difference_within_blocks_alone_is_said() {
    let project = Project::new(&[("poll.c", POLL)]);
    let condition = "arm(&set[i]) == -EAGAIN";
    let query = Query { condition, when_true: Some("waiting++;"), when_false: None };
    let hinted = format!("__builtin_expect(!!({condition}), 1)");
    let text = POLL.replace(condition, &hinted).into_bytes();
    let edit = Edit { file: "poll.c".into(), text };
    let unit = unit("poll.c", &["gcc", "-O2"]);
    let delta = project.checker.check(&unit, &edit, &query.site("poll.c", POLL)).unwrap();
    assert!(!delta.identical && !delta.padding_only && delta.within_blocks, "{delta:#?}");
    let other = poll_with("gcc", &["-O2"]);
    assert!(!other.identical && !other.within_blocks, "{other:#?}");
}

/// The text of an assertion changes with its condition; that is data, not code.
#[test]
fn the_text_of_a_stringified_condition_is_not_code() {
    let text = "
extern void fail(const char *) __attribute__((noreturn));
#define CHECK(x) do { if (!(x)) fail(#x); } while (0)
extern void note(const char *);
int f(int *p, int n) { CHECK(n != 9); note(\"after\"); return p[n]; }
";
    let project = Project::new(&[("x.c", text)]);
    let query = Query { condition: "n != 9", when_true: None, when_false: None };
    let edit = Edit {
        file: "x.c".into(),
        text: text.replace("n != 9", "__builtin_expect(!!(n != 9), 1)").into(),
    };
    let site = query.site("x.c", text);
    let delta = project.checker.check(&unit("x.c", &["gcc", "-Os"]), &edit, &site).unwrap();
    assert!(delta.identical, "{delta:#?}");
}

#[test]
fn functions_that_only_shifted_are_not_reported() {
    let after = "
static __attribute__((noinline)) int helper(int x) { return x * 3 + 1; }
int calls(int x) { return helper(x) + 1; }
int loops(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i] / 3; return s; }
static int hidden[4];
int *points(int i) { hidden[i]++; return &hidden[1]; }
int chooses(int i) {
    switch (i) { case 0: return calls(3); case 1: return 77; case 2: return loops(hidden, 2);
    case 3: return calls(9); case 4: return 5; case 5: return calls(i + 8); } return 0; }
";
    // Text after the changed function, so that all of it moves.
    let project = Project::new(&[("x.c", &format!("{POLL}{after}"))]);
    for option in ["-fPIC", "-ffunction-sections", "-fno-pic"] {
        let argv = ["gcc", "-O2", "-falign-functions=4", "-fno-align-jumps", option];
        let text = fs::read_to_string(project.tree.path().join("x.c")).unwrap();
        let site = POLL_SITE.site("x.c", &text);
        // Longer, so that all behind it moves, and not by a multiple of any alignment.
        let text = text.replace("skipped++;", "skipped += 1000; e->events = 5; e->fd ^= 77;");
        let edit = Edit { file: "x.c".into(), text: text.into() };
        let delta = project.checker.check(&unit("x.c", &argv), &edit, &site).unwrap();
        let names: Vec<_> = delta.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["arm_all"], "{option}");
        assert_ne!(delta.hot_bytes.before, delta.hot_bytes.after, "nothing shifted");
    }
}

#[test]
fn a_cold_part_belongs_to_its_function_and_counts_as_cold() {
    let text = "
extern void cry(int) __attribute__((cold));
extern int work(int);
int f(int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (p[i] == 3) { s += work(p[i]); s ^= work(s); s += 5; }
        if (p[i] == 12345) cry(i);
        s += work(p[i]);
    }
    return s;
}
";
    let project = Project::new(&[("x.c", text)]);
    let query = Query {
        condition: "p[i] == 3",
        when_true: Some("{ s += work(p[i]); s ^= work(s); s += 5; }"),
        when_false: None,
    };
    let delta = project.never_true(&unit("x.c", &["gcc", "-O2"]), "x.c", &query);
    assert!(delta.cold_bytes.before > 0, "{delta:#?}");
    let [function] = delta.functions.as_slice() else { panic!("{delta:#?}") };
    assert_eq!(function.name, "f");
    assert_eq!(function.bytes.before, delta.hot_bytes.before + delta.cold_bytes.before);
}

#[test]
fn a_hint_in_a_header_reaches_every_unit_that_includes_it() {
    let header = POLL;
    let files = [
        ("inc/poll.h", header),
        ("src/a.c", "#include \"poll.h\"\n"),
        ("src/b.c", "int other;\n#include <poll.h>\n"),
        ("src/c.c", "int alone;\n"),
    ];
    let project = Project::new(&files);
    let units = ["a.c", "b.c", "c.c"].map(|name| Unit {
        source: format!("src/{name}"),
        dir: "src".into(),
        argv: ["gcc", "-O2", "-I{tree}/inc", "-MMD", "-c", name].map(str::to_owned).into(),
    });
    assert_eq!(project.checker.dependencies(&units[0]).unwrap(), ["inc/poll.h", "src/a.c"]);
    assert_eq!(project.checker.dependencies(&units[2]).unwrap(), ["src/c.c"]);
    let text = header.replace("fd < 0", "__builtin_expect(fd < 0, 0)").into_bytes();
    let edit = Edit { file: "inc/poll.h".into(), text };
    let site = POLL_SITE.site("inc/poll.h", header);
    let jobs = units.map(|unit| (unit, edit.clone(), site.clone()));
    let deltas = project.checker.check_all(&jobs);
    for (delta, unit) in deltas.iter().zip(["src/a.c", "src/b.c"]) {
        let delta = delta.as_ref().unwrap();
        assert_eq!((delta.unit.as_str(), delta.identical), (unit, false));
        assert_eq!(delta.functions[0].hot_taken.unwrap().after, 1000);
    }
    assert!(matches!(deltas[2], Err(CheckError::NotIncluded { .. })));
    assert!(!project.tree.path().join("src/a.d").exists());
}

#[test]
fn link_time_optimisation_is_set_aside_and_said() {
    let delta = poll_with("gcc", &["-O2", "-flto"]);
    assert!(!delta.identical);
    assert!(delta.notes.iter().any(|n| n.contains("-fno-lto")), "{:?}", delta.notes);
}

#[test]
fn a_version_that_does_not_compile_is_named_with_the_compilers_words() {
    let project = Project::new(&[("x.c", "int f(int a) { return a; }\n")]);
    let site = Query { condition: "a", when_true: None, when_false: None }.site("x.c", "a");
    let edit = Edit { file: "x.c".into(), text: b"int f(int a) { return b; }\n".to_vec() };
    let unit = unit("x.c", &["gcc", "-O2", "-Werror"]);
    let error = project.checker.check(&unit, &edit, &site).unwrap_err().to_string();
    assert!(error.contains("x.c does not compile with the hint"), "{error}");
    assert!(error.contains("'b' undeclared"), "{error}");
    // The copy is whole again.
    let fine = Edit { text: b"int f(int a) { return a; } \n".to_vec(), ..edit };
    assert!(project.checker.check(&unit, &fine, &site).unwrap().identical);
}

/// A compiler that notes each run shows what is compiled, and that a known answer is not again.
#[test]
fn results_are_kept_by_content_and_a_baseline_is_compiled_once() {
    let log = TempDir::new().unwrap();
    let log = log.path().join("log");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *' -c '*) echo run >> {}; esac\nexec gcc \"$@\"\n",
        log.display()
    );
    let project = Project::new(&[("poll.c", POLL), ("cc", &script)]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(project.tree.path().join("cc"), mode).unwrap();
    let runs = || fs::read_to_string(&log).map_or(0, |t| t.lines().count());
    let unit = unit("poll.c", &["{tree}/cc", "-O2"]);
    let first = project.never_true(&unit, "poll.c", &POLL_SITE);
    // Two versions, each with and without a line table.
    assert_eq!(runs(), 4);
    assert_eq!(project.never_true(&unit, "poll.c", &POLL_SITE), first);
    assert_eq!(runs(), 4);
    let other = Query { condition: "== -EAGAIN", when_true: Some("waiting++;"), when_false: None };
    let text = POLL.replace("== -EAGAIN", "<= -EAGAIN").into_bytes();
    let edit = Edit { file: "poll.c".into(), text };
    project.checker.check(&unit, &edit, &other.site("poll.c", POLL)).unwrap();
    let after_other = runs();
    assert!(after_other <= 6, "the baseline was compiled again: {after_other}");
    let again = Checker::new(project.tree.path(), project.scratch.path(), 1).unwrap();
    let text = POLL.replacen("fd < 0", "__builtin_expect(!!(fd < 0), 0)", 1).into_bytes();
    let edit = Edit { file: "poll.c".into(), text };
    assert_eq!(again.check(&unit, &edit, &POLL_SITE.site("poll.c", POLL)).unwrap(), first);
    assert_eq!(runs(), after_other);
}

#[test]
fn the_original_tree_is_left_as_it_was() {
    let project = Project::new(&[("poll.c", POLL)]);
    project.never_true(
        &unit("poll.c", &["gcc", "-O2", "-MMD", "-save-temps"]),
        "poll.c",
        &POLL_SITE,
    );
    let names: Vec<_> =
        fs::read_dir(project.tree.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["poll.c"]);
    assert_eq!(fs::read_to_string(project.tree.path().join("poll.c")).unwrap(), POLL);
}
