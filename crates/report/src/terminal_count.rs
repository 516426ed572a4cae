//! What `unlikely bench --count` prints for people: two commands, counted under callgrind.

use unlikely_measure::{
    ArmCounts, CountReport, CountVerdict, Counts, FunctionChange, LineChange, Side,
};

use crate::figures::{UNKNOWN, count, counted, decimal, difference, relative, signed};
use crate::screen::{Align, Screen, Tone};
use crate::text::{NBSP, clip, clip_middle, named, prose, sentence};

/// Columns of the page: it is written for any terminal.
const WIDTH: usize = 80;

/// Rows of the tables of functions and of lines.
const ROWS_MAX: usize = 10;

/// Both arms' counts, the functions and lines that differ most, what the counts are not, and the
/// verdict with its reason.
pub fn count_terminal(report: &CountReport, color: bool) -> String {
    let mut screen = Screen::new(WIDTH, color);
    let apart = report.a.own != report.a.total || report.b.own != report.b.total;
    let remark = if apart { "in code that the commands do not share" } else { "in all code" };
    screen.heading("executed under callgrind", remark);
    totals(&mut screen, &report.a, &report.b);
    functions(&mut screen, &report.changed_functions);
    lines(&mut screen, &report.changed_lines);
    screen.line("");
    provenance(&mut screen, report, apart);
    for warning in &report.warnings {
        screen.field("warning", &prose(warning));
    }
    screen.line("");
    let (word, tone) = match report.verdict {
        CountVerdict::Fewer => ("fewer jumps taken", Tone::Good),
        CountVerdict::More => ("more jumps taken", Tone::Bad),
        CountVerdict::Same => ("as many jumps taken", Tone::Warn),
        CountVerdict::Unclear => ("unclear", Tone::Warn),
    };
    screen.paragraph(tone, &format!("{word}: {}", sentence(&report.reason)), "", "  ");
    screen.finish()
}

fn cells(texts: impl IntoIterator<Item = String>) -> Vec<(String, Tone)> {
    texts.into_iter().map(|text| (text, Tone::Plain)).collect()
}

fn totals(screen: &mut Screen, a: &ArmCounts, b: &ArmCounts) {
    let head = [
        ("count", Align::Left),
        ("A", Align::Right),
        ("B", Align::Right),
        ("B-A", Align::Right),
        ("change", Align::Right),
    ];
    let row = |name: &str, a: u64, b: u64| {
        let change = relative(a, b).unwrap_or_else(|| UNKNOWN.to_owned());
        cells([name.to_owned(), count(a), count(b), difference(a, b), change])
    };
    let of = |name: &str, what: fn(&Counts) -> u64| row(name, what(&a.own), what(&b.own));
    let fall_through = cells([
        "  fall through".to_owned(),
        rate(&a.own),
        rate(&b.own),
        match (a.own.fall_through_rate(), b.own.fall_through_rate()) {
            (Some(a), Some(b)) => format!("{} pp", signed((b - a) * 100.0, 2)),
            _ => UNKNOWN.to_owned(),
        },
        String::new(),
    ]);
    let rows = [
        of("jumps taken", Counts::taken),
        of("conditional jumps", |counts| counts.conditional),
        of("  followed", |counts| counts.followed),
        fall_through,
        of("unconditional jumps", |counts| counts.unconditional),
        of("calls", |counts| counts.calls),
        of("returns", |counts| counts.returns),
        of("instructions", |counts| counts.instructions),
        row("64-byte code lines", a.code_lines, b.code_lines),
    ];
    screen.table(&head, &rows);
}

fn rate(counts: &Counts) -> String {
    let percent = |rate: f64| format!("{}{NBSP}%", decimal(rate * 100.0, 2));
    counts.fall_through_rate().map_or_else(|| UNKNOWN.to_owned(), percent)
}

/// What a side takes, the difference in jumps and the difference in instructions.
fn sides(a: &Option<Side>, b: &Option<Side>) -> [String; 4] {
    let counts = |side: &Option<Side>| side.as_ref().map(|side| side.counts);
    let taken =
        |side| counts(side).map_or_else(|| "not run".to_owned(), |counts| count(counts.taken()));
    let [before, after] = [a, b].map(|side| counts(side).unwrap_or_default());
    [
        taken(a),
        taken(b),
        difference(before.taken(), after.taken()),
        difference(before.instructions, after.instructions),
    ]
}

/// Name and heading of the columns that [`sides`] fills.
fn head(first: &'static str) -> [(&'static str, Align); 5] {
    [
        (first, Align::Left),
        ("A takes", Align::Right),
        ("B takes", Align::Right),
        ("B-A", Align::Right),
        ("instructions", Align::Right),
    ]
}

fn functions(screen: &mut Screen, changes: &[FunctionChange]) {
    if changes.is_empty() {
        return;
    }
    screen.heading("functions that differ most", &rest(changes.len()));
    let rows: Vec<_> = changes
        .iter()
        .take(ROWS_MAX)
        .map(|change| {
            let object = change.b.as_ref().or(change.a.as_ref()).map_or("", |side| &side.place);
            let object = object.rsplit('/').next().unwrap_or_default();
            let name = clip(&named(&change.name, "(no name)"), 24);
            let mut first = format!("{name} {}", clip_middle(&prose(object), 16));
            if wavers(&change.a) || wavers(&change.b) {
                first.push('~');
            }
            cells(std::iter::once(first).chain(sides(&change.a, &change.b)))
        })
        .collect();
    screen.table(&head("function"), &rows);
    if changes.iter().take(ROWS_MAX).any(|change| wavers(&change.a) || wavers(&change.b)) {
        screen.line("  ~ its runs differ from each other");
    }
}

/// Whether the runs of one arm differ in a function.
fn wavers(side: &Option<Side>) -> bool {
    side.as_ref().and_then(|side| side.taken_range).is_some_and(|[least, most]| least < most)
}

fn lines(screen: &mut Screen, changes: &[LineChange]) {
    if changes.is_empty() {
        return;
    }
    screen.heading("source lines that differ most", &rest(changes.len()));
    let rows: Vec<_> = changes
        .iter()
        .take(ROWS_MAX)
        .map(|change| {
            let file = change.b.as_ref().or(change.a.as_ref()).map_or("", |side| &side.place);
            let line = change.line_b.or(change.line_a).unwrap_or(0);
            let first = format!("{}:{line}", clip_middle(&prose(file), 28));
            cells(std::iter::once(first).chain(sides(&change.a, &change.b)))
        })
        .collect();
    screen.table(&head("line"), &rows);
}

fn rest(changes: usize) -> String {
    match changes.saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!("{more} more in --format json"),
    }
}

fn provenance(screen: &mut Screen, report: &CountReport, apart: bool) {
    let provenance = &report.provenance;
    for (name, command, arm) in
        [("A", &provenance.command_a, &report.a), ("B", &provenance.command_b, &report.b)]
    {
        let processes = match arm.processes.len() {
            1 => "1 process".to_owned(),
            n => format!("{} processes", count(n as u64)),
        };
        let runs = counted(arm.runs, "run");
        screen.field(name, &format!("{} ({processes}, {runs})", clip(&prose(command), 200)));
    }
    if apart {
        let [a, b] = [&report.a, &report.b].map(|arm| arm.total.taken());
        screen.field(
            "all code",
            &format!("{} → {} jumps taken ({})", count(a), count(b), difference(a, b)),
        );
    }
    let [shell, added] = [
        report.a.shell_instructions.saturating_add(report.b.shell_instructions),
        report.a.added_instructions.saturating_add(report.b.added_instructions),
    ];
    screen.field(
        "left out",
        &format!(
            "{} instructions of the shell that runs the commands, {} of valgrind's own libraries",
            count(shell),
            count(added)
        ),
    );
    let machine = named(&provenance.machine.cpu, "CPU unknown");
    screen.field("counted by", &format!("{} on {machine}", prose(&provenance.valgrind)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::columns;
    use unlikely_measure::{
        COUNT_SCHEMA, CountProvenance, CountedProcess, FunctionCounts, Machine,
    };

    fn counts(followed: u64) -> Counts {
        Counts {
            instructions: 1_423_040,
            conditional: 202_111,
            followed,
            unconditional: 23,
            calls: 65,
            returns: 58,
        }
    }

    fn arm(followed: u64) -> ArmCounts {
        let function = FunctionCounts {
            name: "arm_all".into(),
            object: "/a/pollset".into(),
            counts: counts(followed),
            code_lines: 2,
            taken_range: [0, 0],
        };
        ArmCounts {
            total: Counts { instructions: 1_500_000, ..counts(followed + 12) },
            own: counts(followed),
            code_lines: 17,
            runs: 2,
            functions: vec![function],
            processes: vec![CountedProcess { command: "x".into(), instructions: 5 }],
            shell_instructions: 225_044,
            added_instructions: 40,
            ..ArmCounts::default()
        }
    }

    fn side(place: &str, followed: u64, range: [u64; 2]) -> Option<Side> {
        Some(Side {
            place: place.into(),
            counts: counts(followed),
            code_lines: Some(2),
            taken_range: Some(range),
        })
    }

    fn report() -> CountReport {
        let machine = Machine {
            cpu: "AMD EPYC".into(),
            kernel: "6.1".into(),
            boot_id: String::new(),
            turbo: unlikely_measure::machine::Turbo::Unknown,
            governors: vec![],
            load1: None,
            hypervisor: true,
            ..Machine::default()
        };
        CountReport {
            schema: COUNT_SCHEMA.into(),
            verdict: CountVerdict::Fewer,
            reason: "B takes 100000 fewer jumps".into(),
            changed_functions: vec![
                FunctionChange {
                    name: "arm_all".into(),
                    a: side("/a/pollset", 202_002, [5, 5]),
                    b: side("/b/pollset", 102_002, [5, 6]),
                },
                FunctionChange { name: "gone".into(), a: side("/a/x", 7, [30, 30]), b: None },
            ],
            changed_lines: vec![LineChange {
                line_a: Some(14),
                line_b: Some(15),
                a: side("poll.c", 202_002, [0, 0]),
                b: side("poll.c", 102_002, [0, 0]),
            }],
            warnings: vec!["counts are not time".into()],
            a: arm(202_002),
            b: arm(102_002),
            provenance: CountProvenance {
                command_a: "a/pollset 2000".into(),
                command_b: "b/pollset 2000".into(),
                dir_a: "/".into(),
                dir_b: "/".into(),
                started_unix_s: 0,
                valgrind: "valgrind-3.19.0".into(),
                machine,
                tool: "unlikely".into(),
            },
        }
    }

    /// The words of the first line that holds `start`.
    fn row(page: &str, start: &str) -> Vec<String> {
        let line = page.lines().find(|line| line.trim_start().starts_with(start));
        line.unwrap_or_default()
            .split("  ")
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn both_arms_stand_side_by_side_with_their_difference() {
        let page = count_terminal(&report(), false);
        assert_eq!(
            row(&page, "jumps taken"),
            ["jumps taken", "202,025", "102,025", "-100,000", "-49.5 %"]
        );
        assert_eq!(row(&page, "fall through"), ["fall through", "0.05 %", "49.53 %", "+49.48 pp"]);
        assert_eq!(row(&page, "calls"), ["calls", "65", "65", "0", "no change"]);
        assert!(page.contains("fewer jumps taken: B takes 100000 fewer jumps."), "{page}");
        assert!(page.contains("202,037 → 102,037 jumps taken (-100,000)"), "{page}");
        assert!(page.contains("450,088 instructions of the shell"), "{page}");
        assert!(page.lines().all(|line| columns(line) <= WIDTH), "{page}");
    }

    #[test]
    fn a_function_that_one_arm_lacks_and_one_that_wavers_are_marked() {
        let page = count_terminal(&report(), false);
        assert_eq!(row(&page, "gone x"), ["gone x", "30", "not run", "-30", "-1,423,040"]);
        assert!(page.contains("arm_all pollset~") && page.contains("~ its runs differ"), "{page}");
        assert!(page.contains("poll.c:15"), "{page}");
    }

    #[test]
    fn what_is_not_shown_is_counted_and_what_is_not_there_is_not_headed() {
        let mut long = report();
        long.changed_functions = vec![long.changed_functions[1].clone(); ROWS_MAX + 3];
        long.changed_lines.clear();
        let page = count_terminal(&long, false);
        assert!(page.contains("3 more in --format json"), "{page}");
        assert!(!page.contains("source lines") && !page.contains("~ its runs"), "{page}");
    }

    #[test]
    fn names_from_outside_cannot_steer_the_terminal() {
        let mut hostile = report();
        hostile.changed_functions[0].name = "f\u{1b}[2J".into();
        hostile.provenance.command_a = "x\u{202e}y".into();
        hostile.warnings = vec!["a\u{9b}b".into()];
        let page = count_terminal(&hostile, false);
        assert!(!page.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{page:?}");
    }
}
