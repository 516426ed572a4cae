//! Counting, with a real valgrind on real programs. Counts are derived by hand from the code that
//! they are of: where it must not depend on a compiler, that code is written in assembly language.
#![cfg(target_arch = "x86_64")]
#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the report")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use unlikely_measure::{
    Arm, CountReport, CountVerdict, FunctionCounts, MeasureError, count as count_arms,
};

const LONG: Duration = Duration::from_secs(300);

/// 1,000 rounds, of which one takes the `je`: by hand, 999 + 1 conditional jumps of 2,000 are
/// followed, and one unconditional jump is taken.
const WORK: &str = r#"
__asm__(".text\n.globl work\n.type work,@function\n.p2align 6\nwork:\n"
        " xor %eax,%eax\n"
        "1: inc %eax\n cmp $500,%eax\n je 2f\n"
        "3: cmp $1000,%eax\n jne 1b\n ret\n"
        "2: nop\n jmp 3b\n.size work,.-work\n");
int work(void);
"#;

/// Compiles `source` to `dir/name`.
fn compile(dir: &Path, name: &str, source: &str, flags: &[&str]) {
    fs::write(dir.join("tool.c"), source).unwrap();
    let status = Command::new("gcc")
        .current_dir(dir)
        .args(["-O2", "-o", name, "tool.c"])
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success());
}

fn arm(dir: &Path, command: &str) -> Arm {
    Arm::new(command, dir)
}

fn count(dir: &Path, a: &str, b: &str, runs: u32) -> CountReport {
    count_arms(&arm(dir, a), &arm(dir, b), runs, LONG, &mut |_| {}).unwrap()
}

/// One program of `source`, counted as A; B is the same command.
fn one(source: &str, flags: &[&str], command: &str) -> (TempDir, CountReport) {
    let dir = tempfile::tempdir().unwrap();
    compile(dir.path(), "tool", source, flags);
    let report = count(dir.path(), command, command, 1);
    (dir, report)
}

fn assert_is_work(function: &FunctionCounts, calls: u64) {
    let counts = function.counts;
    // xor and ret; 5 in each round; nop and jmp.
    assert_eq!(counts.instructions, calls * (2 + 5 * 1000 + 2));
    assert_eq!((counts.conditional, counts.followed), (calls * 2000, calls * 1000));
    assert_eq!((counts.unconditional, counts.returns, counts.calls), (calls, calls, 0));
    assert_eq!(counts.taken(), calls * 1001);
    assert_eq!(counts.fall_through_rate(), Some(0.5));
    assert_eq!(function.code_lines, 1);
}

#[test]
fn counts_are_those_that_a_hand_derives() {
    let source = format!("{WORK} int main(void) {{ return work() != 1000; }}");
    let (_dir, report) = one(&source, &[], "./tool");
    assert_is_work(report.a.function("work").unwrap(), 1);
    assert_eq!(report.verdict, CountVerdict::Same);
    assert_eq!(report.a.processes.len(), 1);
    assert_eq!(report.a.undecoded_instructions, 0);
    assert!(report.a.added_instructions > 0);
    assert!(report.a.problems.is_empty(), "{:?}", report.a.problems);
    assert!(report.provenance.valgrind.starts_with("valgrind-3."));
}

#[test]
fn a_static_binary_is_counted_alike() {
    let source = format!("{WORK} int main(void) {{ return work() != 1000; }}");
    let (_dir, report) = one(&source, &["-static"], "./tool");
    assert_is_work(report.a.function("work").unwrap(), 1);
}

#[test]
fn a_stripped_binary_has_one_nameless_function() {
    let source = format!("{WORK} int main(void) {{ return work() != 1000; }}");
    let (dir, report) = one(&source, &["-s"], "./tool");
    let tool = dir.path().join("tool").canonicalize().unwrap();
    let nameless: Vec<_> =
        report.a.functions.iter().filter(|f| Path::new(&f.object) == tool).collect();
    assert_eq!(nameless.len(), 1, "{nameless:?}");
    assert_eq!(nameless[0].name, "(no symbol)");
    assert!(nameless[0].counts.taken() >= 1001);
    assert!(nameless[0].counts.conditional >= 2000);
}

#[test]
fn children_are_counted_and_the_shell_is_not() {
    let source = format!(
        "{WORK} #include <stdlib.h>\nint main(int c, char **v) {{ \
         return work() != 1000 || (c > 1 && system(\"./tool\")); }}"
    );
    let (_dir, report) = one(&source, &[], "./tool && echo done; ./tool child");
    assert_is_work(report.a.function("work").unwrap(), 3);
    // `system` runs a shell of its own, which is part of the workload.
    assert_eq!(report.a.processes.len(), 4);
    assert!(report.a.shell_instructions > 0);
}

#[test]
fn a_program_that_replaces_the_shell_is_counted() {
    let source = format!("{WORK} int main(void) {{ return work() != 1000; }}");
    let (_dir, report) = one(&source, &[], "exec ./tool");
    assert_is_work(report.a.function("work").unwrap(), 1);
    assert_eq!((report.a.processes.len(), report.a.shell_instructions), (1, 0));
}

/// Works once, forks, and works once more in the child.
const FORKS: &str = "#include <unistd.h>\n#include <sys/wait.h>\n\
    int main(void) { work(); if (fork() == 0) { work(); _exit(0); } wait(0); return 0; }";

#[test]
fn a_forked_child_does_not_count_its_parents_past_again() {
    for flags in [&[][..], &["-static"]] {
        let (_dir, report) = one(&format!("{WORK}{FORKS}"), flags, "./tool");
        assert_is_work(report.a.function("work").unwrap(), 2);
        assert_eq!((report.a.processes.len(), report.a.repeated_processes), (2, 0));
    }
}

#[test]
fn a_fork_that_cannot_be_found_is_said() {
    let (_dir, report) = one(&format!("{WORK}{FORKS}"), &["-static", "-s"], "./tool");
    assert_eq!(report.a.repeated_processes, 1);
    assert!(report.warnings.iter().any(|w| w.contains("before the fork")), "{:?}", report.warnings);
}

#[test]
fn a_killed_process_is_missing_and_said_to_be() {
    let source = format!(
        "{WORK} #include <fcntl.h>\n#include <unistd.h>\nint main(int c, char **v) {{ \
         if (c > 1) {{ creat(\"begun\", 0600); for (;;) pause(); }} return work() != 1000; }}"
    );
    let command =
        "rm -f begun; ./tool wait & while ! test -e begun; do :; done; kill -9 $!; ./tool";
    let (_dir, report) = one(&source, &[], command);
    assert_is_work(report.a.function("work").unwrap(), 1);
    assert_eq!(report.a.lost_processes, 1, "{:?}", report.a.processes);
}

#[test]
fn recursion_is_one_function_and_its_head_may_be_jumped_to() {
    // fib(10) calls itself 176 times. `spin` jumps to its own first instruction, which callgrind
    // takes for a call.
    let source = r#"
        __asm__(".text\n.globl spin\n.type spin,@function\nspin: dec %edi\n jnz spin\n ret\n"
                ".size spin,.-spin\n");
        __asm__(".globl fib\n.type fib,@function\nfib: mov %edi,%eax\n cmp $2,%edi\n jl 1f\n"
                " push %rbx\n push %rdi\n dec %edi\n call fib\n mov %eax,%ebx\n pop %rdi\n"
                " sub $2,%edi\n call fib\n add %ebx,%eax\n pop %rbx\n1: ret\n.size fib,.-fib\n");
        void spin(int n); int fib(int n);
        int main(void) { spin(700); return fib(10) != 55; }"#;
    let (_dir, report) = one(source, &[], "./tool");
    let fib = report.a.function("fib").unwrap().counts;
    assert_eq!((fib.conditional, fib.followed), (177, 89));
    assert_eq!((fib.calls, fib.returns, fib.taken()), (176, 177, 89));
    let spin = report.a.function("spin").unwrap().counts;
    assert_eq!((spin.instructions, spin.conditional, spin.followed), (1401, 700, 699));
    assert_eq!((spin.calls, spin.returns), (0, 1));
}

#[test]
fn the_jump_of_a_plt_is_a_jump_and_no_part_of_the_call() {
    let source = r#"
        __asm__(".text\n.globl ask\n.type ask,@function\nask: push %rbx\n mov $1000,%ebx\n"
                "1: call getppid@PLT\n dec %ebx\n jnz 1b\n pop %rbx\n ret\n.size ask,.-ask\n");
        void ask(void);
        int main(void) { ask(); return 0; }"#;
    let (_dir, report) = one(source, &[], "./tool");
    let ask = report.a.function("ask").unwrap().counts;
    assert_eq!((ask.instructions, ask.calls, ask.followed), (4 + 3000, 1000, 999));
    // The program's own PLT, for which callgrind names no object.
    let tool = ask.taken() + 1000;
    let own = report.a.functions.iter().filter(|function| function.object.ends_with("/tool"));
    let taken: u64 = own.map(|function| function.counts.taken()).sum();
    assert!((tool..tool + 100).contains(&taken), "{taken}");
}

#[test]
fn inlined_code_belongs_to_its_function_and_to_its_own_line() {
    let source = r#"
static inline __attribute__((always_inline)) int half(int x)
{
    __asm__ volatile("nop");
    return x;
}
__attribute__((noinline)) int sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += half(i);
    return s;
}
int main(void) { return sum(100) != 4950; }"#;
    let (_dir, report) = one(source, &["-g"], "./tool");
    assert!(report.a.function("half").is_none());
    assert!(report.a.function("sum").is_some());
    // The nop, 100 times; found under the file's name below the arm's directory.
    let line = report.a.line("tool.c", 4).unwrap();
    assert!(line.instructions >= 100, "{line:?}");
    assert_eq!(line.taken(), 0);
    let head = report.a.line("tool.c", 10).unwrap();
    assert!(head.conditional >= 100 && head.followed >= 99, "{head:?}");
    assert_eq!(report.a.line("tool.c", 1), None);
    assert_eq!(report.a.line("other.c", 4), None);
}

#[test]
fn mangled_names_are_kept() {
    let source = r#"
        __attribute__((noinline)) int a(int x) __asm__("_ZN4work3runEi");
        __attribute__((noinline)) int b(int x) __asm__("_RNvCsABC_4work3run");
        int a(int x) { __asm__(""); return x; }
        int b(int x) { __asm__(""); return x; }
        int main(int c, char **v) { return a(c) + b(c) != 2; }"#;
    let (_dir, report) = one(source, &[], "./tool");
    for name in ["_ZN4work3runEi", "_RNvCsABC_4work3run"] {
        assert_eq!(report.a.function(name).map(|f| f.counts.returns), Some(1), "{name}");
    }
}

/// A loop with a rare branch, which `EXPECTED` says is rare or common.
const HINTED: &str = r#"
#include <stdlib.h>
#define expected(x) __builtin_expect(!!(x), EXPECTED)
__attribute__((noinline)) long scan(const unsigned char *data, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        if (expected(data[i] == 255)) {
            sum ^= sum << 3;
            __asm__ volatile("nop" : "+r"(sum));
        } else {
            __asm__ volatile("nop; nop" : "+r"(sum));
        }
    }
    return sum;
}
int main(void)
{
    unsigned char *data = calloc(20000, 1);
    for (int i = 0; i < 20000; i += 100) data[i] = 255;
    return scan(data, 20000) != 0;
}"#;

#[test]
fn a_right_hint_shows_as_fewer_jumps_taken_and_a_wrong_one_as_more() {
    let dir = tempfile::tempdir().unwrap();
    compile(dir.path(), "wrong", HINTED, &["-g", "-DEXPECTED=1"]);
    compile(dir.path(), "right", HINTED, &["-g", "-DEXPECTED=0"]);
    let report = count(dir.path(), "./wrong", "./right", 2);
    assert_eq!(report.verdict, CountVerdict::Fewer, "{}", report.reason);
    let [wrong, right] = [&report.a, &report.b].map(|arm| arm.function("scan").unwrap().counts);
    // Each of 19,800 common rounds saves the way to the common part, and back or not.
    let saved = wrong.taken() - right.taken();
    assert!((19_000..=40_000).contains(&saved), "{wrong:?} {right:?}");
    let first = &report.changed_functions[0];
    assert_eq!(first.name, "scan");
    let sides = [&first.a, &first.b].map(|side| side.as_ref().unwrap());
    assert!(sides[0].place.ends_with("/wrong") && sides[1].place.ends_with("/right"));
    assert_eq!((sides[0].counts, sides[1].counts), (wrong, right));
    assert!(report.changed_lines.iter().any(|line| line.a.is_some() && line.b.is_some()));
    assert!(report.reason.contains("every run gave the same"), "{}", report.reason);
    assert!(report.warnings.iter().any(|warning| warning.contains("not time")));
    // The C library is in both, and no claim rests on it.
    assert!(report.a.own.instructions < report.a.total.instructions);

    let back = count(dir.path(), "./right", "./wrong", 1);
    assert_eq!(back.verdict, CountVerdict::More);
    assert!(back.reason.contains("one run each"), "{}", back.reason);

    let text = serde_json::to_string(&report).unwrap();
    assert!(text.contains("\"taken\":") && text.contains("\"fall_through_rate\":"));
    assert_eq!(serde_json::from_str::<CountReport>(&text).unwrap(), report);
}

#[test]
fn a_function_of_one_arm_alone_is_said_to_be_so() {
    let dir = tempfile::tempdir().unwrap();
    let source = |name: &str| {
        format!(
            "__attribute__((noinline)) int {name}(int x) {{ __asm__(\"\"); return x; }} \
             int main(int c, char **v) {{ return {name}(c) != 1; }}"
        )
    };
    compile(dir.path(), "old", &source("before"), &[]);
    compile(dir.path(), "new", &source("after"), &[]);
    let report = count(dir.path(), "./old", "./new", 1);
    let change = |name| report.changed_functions.iter().find(|c| c.name == name).unwrap();
    assert!(change("before").a.is_some() && change("before").b.is_none());
    assert!(change("after").a.is_none() && change("after").b.is_some());
    assert!(report.changed_functions.iter().all(|change| change.name != "main"));
}

#[test]
fn a_program_that_is_not_deterministic_is_found_out() {
    let source = format!(
        "{WORK} #include <unistd.h>\nint main(void) {{ \
         for (int i = getpid() % 1000; i >= 0; i--) work(); return 0; }}"
    );
    let dir = tempfile::tempdir().unwrap();
    compile(dir.path(), "tool", &source, &[]);
    let report = count(dir.path(), "./tool", "./tool", 2);
    let [least, most] = report.a.own_taken_range;
    assert!(least < most);
    assert!(report.warnings.iter().any(|w| w.contains("A is not deterministic")));
    let work = report.a.function("work").unwrap();
    assert!(work.taken_range[0] < work.taken_range[1]);
}

#[test]
fn what_fails_or_lasts_too_long_is_an_error_about_the_users_command() {
    let dir = tempfile::tempdir().unwrap();
    let try_count = |command: &str, timeout| {
        let arm = arm(dir.path(), command);
        count_arms(&arm, &arm, 1, timeout, &mut |_| {}).unwrap_err()
    };
    let text = try_count("ls /nonexistent", LONG).to_string();
    assert!(text.contains("counting run 0 of A failed"), "{text}");
    assert!(text.contains("`ls /nonexistent`") && text.contains("No such file"), "{text}");
    assert!(!text.contains("valgrind"), "{text}");
    let error = try_count("sleep 1000", Duration::from_millis(300));
    assert!(matches!(&error, MeasureError::TimedOut { command, .. } if command == "sleep 1000"));
    let text = try_count(":", LONG).to_string();
    assert!(text.contains("must run a program"), "{text}");
    assert!(try_count(" ", LONG).to_string().contains("empty"));
    assert!(try_count("true", Duration::ZERO).to_string().contains("timeout"));
}
