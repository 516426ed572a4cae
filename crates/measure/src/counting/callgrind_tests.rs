//! The format's rules, one by one, and the manual's own examples.

use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Dump {
    Dump::read(text.as_bytes())
}

/// Reads a body of instructions and lines; nothing may be wrong with it.
fn body(text: &str) -> Code {
    let dump = read(&format!("positions: instr line\nevents: Ir\n\n{text}"));
    assert!(dump.problems.is_empty(), "{:?}", dump.problems);
    dump.code
}

/// (object, function, address, file, line, count), in order.
type Row<'t> = (&'t str, &'t str, u64, &'t str, u32, u64);

fn rows(code: &Code) -> Vec<Row<'_>> {
    let mut rows: Vec<_> = code
        .executed
        .iter()
        .map(|(place, ran)| {
            let (object, function) =
                (code.objects.name(place.object), code.functions.name(place.function));
            (object, function, place.address, code.files.name(ran.file), ran.line, ran.count)
        })
        .collect();
    rows.sort();
    rows
}

fn arcs(code: &Code) -> Vec<(u64, ArcKind, u64, u64, u64)> {
    let mut arcs: Vec<_> = code
        .arcs
        .iter()
        .map(|(arc, n)| (arc.from.address, arc.kind, arc.target, n.followed, n.executed))
        .collect();
    arcs.sort();
    arcs
}

#[test]
fn the_header_says_whose_counts_they_are() {
    let dump = read(
        "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\n\
         cmd:  ./x a: b=c\\nd\npart: 1\n\n\ndesc: I1 cache: \n\
         desc: Timerange: Basic block 0 - 48660\ndesc: Trigger: Program termination\n\n\
         positions: instr line\nevents: Ir\nsummary: 5\n\n\nfn=(1) f\n0x10 3 5\n\ntotals: 5\n",
    );
    assert_eq!(dump.command, "./x a: b=c\\nd");
    assert!(dump.from_start && dump.complete && dump.problems.is_empty(), "{dump:?}");
    assert_eq!(rows(&dump.code), [("???", "f", 0x10, "???", 3, 5)]);
}

#[test]
fn a_dump_cut_short_is_not_complete_and_a_later_one_does_not_begin_at_the_start() {
    let dump = read("desc: Timerange: Basic block 512 - 600\nevents: Ir\n");
    assert!(!dump.from_start && !dump.complete);
}

#[test]
fn names_are_defined_once_in_three_spaces() {
    let code = body(
        "ob=(1) /a\nfl=(1) x.c\nfn=(1) f\n0x10 1 1\nfn=(2) g\n0x20 1 1\nob=(2) /b\nfn=(1)\n0x10 1 1\n",
    );
    assert_eq!(
        rows(&code),
        [
            ("/a", "f", 0x10, "x.c", 1, 1),
            ("/a", "g", 0x20, "x.c", 1, 1),
            ("/b", "f", 0x10, "x.c", 1, 1)
        ]
    );
}

#[test]
fn a_target_may_define_a_name_and_changes_nothing_else() {
    let code = body(
        "ob=(1) /a\nfl=(1) x.c\nfn=(1) f\n0x10 1 1\ncob=(2) /b\ncfi=(2) y.c\ncfn=(2) g\n\
         calls=3 0x90 8\n* * 300\njfi=(3) z.h\njfn=(3) h\njump=1 +8 *\n* *\n+2 +1 1\n\
         ob=(2)\nfl=(2)\nfn=(2)\n0x90 8 4\nfi=(3)\nfn=(3)\n0x99 1 1\n",
    );
    assert_eq!(
        rows(&code),
        [
            ("/a", "f", 0x10, "x.c", 1, 1),
            ("/a", "f", 0x12, "x.c", 2, 1),
            ("/b", "g", 0x90, "y.c", 8, 4),
            ("/b", "h", 0x99, "z.h", 1, 1),
        ]
    );
}

#[test]
fn names_without_numbers_are_names_too() {
    let code = body("ob=/a b\nfl=x.c\nfn=(below main)\n0x10 1 1\nfn=op(int)\n0x20 1 1\n");
    let names: Vec<_> = rows(&code).into_iter().map(|row| row.1).collect();
    assert_eq!(names, ["(below main)", "op(int)"]);
}

#[test]
fn positions_count_from_the_last_cost_line() {
    // The manual's example of subposition compression.
    let plain = body("fn=func\n0x80001234 90 1\n0x80001237 90 5\n0x80001238 91 6\n");
    let short = body("fn=func\n0x80001234 90 1\n+3 * 5\n+1 +1 6\n");
    assert_eq!(rows(&plain), rows(&short));
    let back = body("fn=f\n0x20 10 1\n-16 -9 2\n* * 3\n");
    let found: Vec<_> = rows(&back).iter().map(|row| (row.2, row.4, row.5)).collect();
    assert_eq!(found, [(0x10, 1, 5), (0x20, 10, 1)]);
}

#[test]
fn inlined_lines_change_the_file_and_not_the_function() {
    let code = body("fl=(1) x.c\nfn=(1) f\n0x10 3 1\nfi=(2) y.h\n+2 9 1\nfe=(1)\n+2 4 1\n");
    let found: Vec<_> = rows(&code).into_iter().map(|row| (row.1, row.3, row.4)).collect();
    assert_eq!(found, [("f", "x.c", 3), ("f", "y.h", 9), ("f", "x.c", 4)]);
}

#[test]
fn the_cost_of_a_call_is_not_the_callers_own() {
    let code = body("fn=f\n0x10 1 2\ncfn=g\ncalls=2 0x40 9\n* * 400\n+5 +1 2\n");
    assert_eq!(code.instructions(), 4);
    assert_eq!(arcs(&code), [(0x10, ArcKind::Call, 0x40, 2, 0)]);
}

#[test]
fn jumps_have_a_source_and_a_target_and_cost_nothing() {
    let code = body("fn=f\n0x10 1 9\njcnd=4/9 +8 *\n* *\njump=5 0x40 2\n* *\n+2 * 5\n");
    assert_eq!(code.instructions(), 14);
    assert_eq!(
        arcs(&code),
        [(0x10, ArcKind::Conditional, 0x18, 4, 9), (0x10, ArcKind::Jump, 0x40, 5, 0)]
    );
    // The specification has a space where callgrind writes a slash.
    assert_eq!(arcs(&body("fn=f\n0x10 1 9\njcnd=4 9 +8 *\n* *\n")).len(), 1);
}

#[test]
fn the_same_place_adds_up_and_so_do_parts_and_processes() {
    let text = "fn=f\n0x10 1 9\njcnd=4/9 +8 *\n* *\n";
    let part = format!("positions: instr line\nevents: Ir\n{text}");
    let mut twice = read(&format!("{part}{part}")).code;
    assert_eq!((twice.instructions(), arcs(&twice)[0].3), (18, 8));
    let other = body("fn=z\n0x10 1 1\nob=/b\nfn=f\n0x10 1 9\n");
    twice.merge(&other);
    let found: Vec<_> = rows(&twice).into_iter().map(|row| (row.0, row.1, row.5)).collect();
    assert_eq!(found, [("/b", "f", 9), ("???", "f", 18), ("???", "z", 1)]);
    assert_eq!(twice.dropped, 0);
}

#[test]
fn ir_is_found_among_other_events() {
    let dump = read("events: Dr Ir Dw\nfn=f\n7 100 5 3\n8 100\n");
    let found: Vec<_> = rows(&dump.code).into_iter().map(|row| (row.4, row.5)).collect();
    // Without a `positions:` line there are lines only; costs left out at the end are none.
    assert_eq!(found, [(7, 5)]);
}

#[test]
fn what_is_wrong_is_said_with_its_line_and_the_rest_is_read() {
    let dump = read(
        "positions: instr line\nevents: Ir\nfn=(1) f\n0x10 1 1\n0x 1 1\n-99 * 1\nwhat\nzz=1\n\
         fn=(9)\n+1 * x\n0x14 99999999999 1\n0x18 1 2\n",
    );
    assert_eq!(dump.code.instructions(), 3);
    let lines: Vec<_> =
        dump.problems.iter().map(|what| what.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(lines, [5, 6, 7, 8, 9, 10, 11].map(|at| format!("line {at}")));
}

#[test]
fn a_broken_arc_does_not_turn_its_source_line_into_a_cost() {
    let dump = read("positions: instr line\nevents: Ir\nfn=f\n0x10 1 1\ncalls=x\n* * 999\n");
    assert_eq!((dump.code.instructions(), dump.problems.len()), (1, 1));
}

#[test]
fn costs_before_the_events_are_known_mean_nothing() {
    let dump = read("fn=f\n1 2 3\n");
    assert_eq!((dump.code.instructions(), dump.problems.len()), (0, 2));
    assert!(dump.problems[1].contains("not a callgrind dump"), "{:?}", dump.problems);
}

#[test]
fn problems_and_lines_and_names_are_bounded() {
    let dump = read(&"?\n".repeat(1000));
    assert_eq!(dump.problems.len(), PROBLEMS_MAX + 1);
    assert_eq!(dump.problems.last().unwrap(), "and 985 more");
    let long = "é".repeat(LINE_MAX);
    for name in [long.clone(), format!("(1) {long}")] {
        let code = read(&format!("events: Ir\nfn={name}\n1 1\n")).code;
        let kept = rows(&code)[0].1.len();
        assert!((NAME_MAX - 1..=NAME_MAX).contains(&kept), "{kept}");
        assert_eq!(code.instructions(), 1);
    }
}

#[test]
fn a_reader_that_fails_ends_the_dump() {
    struct Failing;
    impl std::io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("disk"))
        }
    }
    let dump = Dump::read(std::io::BufReader::new(Failing));
    assert!(dump.problems[0].contains("disk"), "{:?}", dump.problems);
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzz(&bytes);
    }

    #[test]
    fn any_lines_of_the_format_end(
        lines in prop::collection::vec(
            "(ob|fl|fi|fn|cfn|jfn)=\\([0-9]\\)( [a-z]{1,3})?|(calls|jump|jcnd)=[0-9/ *+-]{0,12}|\
             [0-9*+-][0-9x*+ -]{0,24}|(positions|events): (instr|line|Ir| ){0,6}|totals: 1",
            0..60,
        ),
    ) {
        fuzz(lines.join("\n").as_bytes());
    }

    #[test]
    fn what_is_written_is_read(
        counts in prop::collection::btree_map((0_u64..1 << 40, 0_u32..9000), 1_u64..1 << 40, 1..40),
    ) {
        let mut text = String::from("positions: instr line\nevents: Ir\nfn=f\n");
        let mut expected: std::collections::BTreeMap<u64, u64> = Default::default();
        for ((address, line), count) in &counts {
            text += &format!("{address:#x} {line} {count}\n");
            *expected.entry(*address).or_default() += count;
        }
        let dump = read(&text);
        prop_assert!(dump.problems.is_empty());
        let found = dump.code.executed.iter().map(|(place, ran)| (place.address, ran.count));
        prop_assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), expected);
    }
}
