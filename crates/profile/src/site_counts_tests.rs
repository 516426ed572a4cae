//! Tables whole, cut, mixed up and hostile.

use proptest::prelude::*;

use super::*;

const HEAD: &str = "{\"schema\":\"unlikely/sites/1\"}\n";

fn line(hint: &str, file: &str, at: (u32, u32), right: u64, wrong: u64) -> String {
    format!(
        "{{\"hint\":\"{hint}\",\"file\":\"{file}\",\"line\":{},\"column\":{},\"module\":\"m\",\
         \"condition\":\"n == 0\",\"right\":{right},\"wrong\":{wrong}}}\n",
        at.0, at.1
    )
}

/// Reads a table of these lines, closed as it should be.
fn table(lines: &[String]) -> String {
    format!("{HEAD}{}{{\"end\":{}}}\n", lines.concat(), lines.len())
}

fn counts(text: &str) -> Vec<(String, u32, bool, u64, u64)> {
    let (profile, _) = read(text.as_bytes(), "t");
    let files = profile.files.into_iter();
    let each = files.flat_map(|(path, file)| {
        file.hints.into_iter().map(move |h| (path.clone(), h.line, h.expect, h.right, h.wrong))
    });
    each.collect()
}

fn codes(text: &str) -> Vec<String> {
    read(text.as_bytes(), "t").1.into_iter().map(|d| d.code).collect()
}

#[test]
fn a_whole_table_is_read_without_a_word() {
    let text = table(&[
        line("unlikely", "src/./a.rs", (3, 8), 99, 1),
        line("likely", "src/b.rs", (7, 1), u64::MAX, 0),
    ]);
    assert_eq!(codes(&text), [""; 0]);
    assert_eq!(
        counts(&text),
        [("src/a.rs".into(), 3, false, 99, 1), ("src/b.rs".into(), 7, true, u64::MAX, 0)]
    );
    let (profile, _) = read(text.as_bytes(), "t");
    let hint = &profile.files["src/a.rs"].hints[0];
    assert_eq!((hint.column, hint.condition.as_str()), (8, "n == 0"));
}

#[test]
fn a_table_may_say_which_process_wrote_it() {
    let text = table(&[line("unlikely", "a.rs", (3, 8), 99, 1)]);
    for more in [
        r#","process":1,"copy":"55d0c0de""#,
        r#","process":1,"started":"0f5c2e7a-boot 9021","copy":"55d0c0de""#,
    ] {
        let text = text.replacen("/1\"}", &format!("/1\"{more}}}"), 1);
        assert!(text.contains(more));
        assert_eq!(codes(&text), [""; 0], "{more}");
        assert_eq!(counts(&text), [("a.rs".into(), 3, false, 99, 1)]);
    }
}

#[test]
fn tables_of_several_processes_add_up_and_stop_at_the_maximum() {
    let one = table(&[line("unlikely", "a.rs", (3, 8), 90, 10)]);
    let other = table(&[line("unlikely", "a.rs", (3, 8), u64::MAX - 50, 2)]);
    let expected = [("a.rs".into(), 3, false, u64::MAX, 12)];
    assert_eq!(counts(&format!("{one}{other}")), expected);
    // In files of their own, they are merged as all profiles are.
    let (mut sum, _) = read(one.as_bytes(), "1");
    sum.merge(read(other.as_bytes(), "2").0);
    let hint = &sum.files["a.rs"].hints[..];
    assert_eq!((hint.len(), hint[0].right, hint[0].wrong), (1, u64::MAX, 12));
}

#[test]
fn what_differs_in_place_hint_or_condition_is_another_site() {
    let first = line("unlikely", "a.rs", (3, 8), 1, 0);
    let others = [
        line("likely", "a.rs", (3, 8), 1, 0),
        line("unlikely", "b.rs", (3, 8), 1, 0),
        line("unlikely", "a.rs", (4, 8), 1, 0),
        line("unlikely", "a.rs", (3, 9), 1, 0),
        first.replace("n == 0", "n == 1"),
    ];
    for other in others {
        assert_eq!(counts(&table(&[first.clone(), other])).len(), 2);
    }
    let moved = first.replace("\"m\"", "\"elsewhere\"");
    assert_eq!(counts(&table(&[first, moved])).len(), 1, "one file, included twice");
}

#[test]
fn a_cut_table_is_used_as_far_as_it_goes() {
    let site = line("unlikely", "a.rs", (3, 8), 5, 0);
    let open = format!("{HEAD}{site}");
    assert_eq!((codes(&open), counts(&open).len()), (vec!["truncated".to_owned()], 1));
    assert_eq!(codes(&format!("{open}{HEAD}{{\"end\":0}}\n")), ["truncated"]);
    let lost = format!("{open}{{\"end\":2}}\n");
    assert_eq!((codes(&lost), counts(&lost).len()), (vec!["sites-missing".to_owned()], 1));
    let torn = &open[..open.len() - 9];
    assert_eq!(codes(torn), ["bad-line", "truncated", "no-sites"]);
}

#[test]
fn output_between_the_lines_of_a_serial_console_is_named_and_skipped() {
    let text = table(&[line("unlikely", "a.rs", (3, 8), 5, 0)]).replace('\n', "\r\nboot: ok\r\n");
    assert_eq!(counts(&text).len(), 1);
    let (_, said) = read(text.as_bytes(), "t");
    assert!(said.iter().all(|d| d.code == "bad-line"), "{said:?}");
    assert!(said[0].message.contains("line 2: `boot: ok`"), "{said:?}");
}

#[test]
fn what_is_no_table_is_said_to_be_none() {
    assert_eq!(codes(""), ["not-site-counts"]);
    let site = line("unlikely", "a.rs", (3, 8), 5, 0);
    assert_eq!(codes(&site), ["bad-line", "not-site-counts"], "no schema stands before it");
    assert_eq!(codes(&format!("{HEAD}{{\"end\":0}}")), ["no-sites"]);
    let next = HEAD.replace("/1", "/2");
    let text = format!("{next}{{\"new\":1}}\n");
    assert_eq!(codes(&text), ["unsupported-version"]);
    // A table that can be read may follow.
    assert_eq!(counts(&format!("{text}{}", table(&[site]))).len(), 1);
}

#[test]
fn no_field_is_guessed() {
    let good = line("unlikely", "a.rs", (3, 8), 5, 0);
    for (from, to) in [
        ("\"right\":5", "\"right\":-5"),
        ("\"right\":5", "\"right\":5.5"),
        ("\"right\":5", "\"right\":18446744073709551616"),
        ("\"right\":5,", ""),
        ("\"line\":3", "\"line\":0"),
        ("\"column\":8", "\"column\":0"),
        ("\"line\":3", "\"line\":4294967296"),
        ("\"unlikely\"", "\"cold\""),
        ("\"a.rs\"", "7"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        let text = table(&[bad]);
        assert_eq!(counts(&text), [], "{to}");
        assert_eq!(codes(&text), ["bad-line", "sites-missing", "no-sites"], "{to}");
    }
    let long = table(&[good.replace("a.rs", &"x".repeat(5000))]);
    assert_eq!(codes(&long), ["path-too-long", "no-sites"]);
}

proptest! {
    #[test]
    fn any_bytes_give_a_result(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes, "t");
        let _ = read(&[HEAD.as_bytes(), &bytes].concat(), "t");
    }

    /// One damaged byte spoils one line at most.
    #[test]
    fn damage_stays_where_it_is(at in 0_usize..600, byte in any::<u8>()) {
        let lines: Vec<String> =
            (1..6).map(|n| line("unlikely", "a.rs", (n, 1), n.into(), 0)).collect();
        let mut bytes = table(&lines).into_bytes();
        let at = HEAD.len() + at % (bytes.len() - HEAD.len());
        prop_assume!(bytes[at] != b'\n');
        bytes[at] = byte;
        let (profile, _) = read(&bytes, "t");
        let sites: usize = profile.files.values().map(|f| f.hints.len()).sum();
        prop_assert!(sites >= 4, "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn the_sum_is_exact_in_any_order(tables in prop::collection::vec((0..4_u32, 0..1000_u64, 0..1000_u64), 1..20)) {
        let text = |all: &[(u32, u64, u64)]| -> String {
            all.iter().map(|(n, r, w)| table(&[line("likely", "a.rs", (n + 1, 1), *r, *w)])).collect()
        };
        let forward = counts(&text(&tables));
        let mut reversed = tables.clone();
        reversed.reverse();
        prop_assert_eq!(&forward, &counts(&text(&reversed)));
        let sum = |f: fn(&(u32, u64, u64)) -> u64| tables.iter().map(f).sum::<u64>();
        prop_assert_eq!(forward.iter().map(|s| s.3).sum::<u64>(), sum(|t| t.1));
        prop_assert_eq!(forward.iter().map(|s| s.4).sum::<u64>(), sum(|t| t.2));
    }
}
