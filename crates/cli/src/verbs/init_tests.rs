//! The file as its reader sees it: it must read back, with every key that it shows.

use super::*;

/// The file with its commented keys taken in.
fn uncommented(text: &str) -> String {
    let keys = ["[[workload]]", "[advise]", "[bench]"];
    let line = |line: &str| {
        let bare = line.strip_prefix("# ").unwrap_or(line);
        let key = bare.split_once(" = ").is_some_and(|(k, _)| !k.contains(' '));
        let twice = bare.starts_with("metric = \"time\"");
        let wanted = keys.iter().any(|k| bare.starts_with(k)) || key && !twice;
        if wanted { bare.to_owned() } else { line.to_owned() }
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

fn read(text: &str) -> crate::config::Config {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(FILE), text).unwrap();
    crate::config::Config::read(folder.path()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn recipe() -> Recipe {
    Recipe {
        system: "make",
        marker: "Makefile".to_owned(),
        build: "make CC=\"$CC\"".to_owned(),
        cflags: "-O2".to_owned(),
        program: "./x".to_owned(),
        ..Recipe::default()
    }
}

#[test]
fn every_key_that_is_shown_is_one_that_is_read() {
    let text = uncommented(&text("x", &recipe()));
    let config = read(&text);
    assert_eq!(config.workloads.len(), 1);
    assert_eq!(config.bench.margin_percent, Some(0.5));
    for key in ["cc =", "ldflags =", "rare_max =", "executed_min =", "sites_max =", "blocks ="]
        .into_iter()
        .chain(["warmups =", "timeout_s =", "metric = { regex"])
    {
        assert!(text.lines().any(|l| l.starts_with(key)), "{key}\n{text}");
    }
}

#[test]
fn the_values_that_are_shown_are_those_that_hold() {
    let (shown, silent) = (read(&uncommented(&text("x", &recipe()))), read(&text("x", &recipe())));
    assert_eq!(format!("{:?}", shown.advise), format!("{:?}", silent.advise));
    assert_eq!(shown.bench.blocks, silent.bench.blocks);
    assert_eq!(shown.bench.warmups, silent.bench.warmups);
    assert_eq!(shown.bench.timeout_s, silent.bench.timeout_s);
    assert_eq!(shown.build.cc, silent.build.cc);
}

#[test]
fn any_text_reads_back_as_it_was() {
    for odd in [
        "plain",
        "",
        "it's",
        "\"q\"",
        "back\\slash",
        "'''",
        "a'''\nb",
        "two\nlines\n",
        "\nfirst",
        "tab\t",
        "cr\r\nlf",
        "\u{7f}\u{1}\u{85}",
        "ü 🦀",
        "ends'\n'",
        "\\",
        "{x} # y",
        "\"'\\\n'",
    ] {
        let recipe = Recipe { build: odd.to_owned(), program: odd.to_owned(), ..recipe() };
        let config = read(&uncommented(&text(odd, &recipe)));
        assert_eq!(config.project.name, odd);
        assert_eq!(config.build.command.get_ref(), odd);
        assert_eq!(config.workloads[0].get_ref().command, odd);
    }
}

#[test]
fn a_file_name_cannot_leave_its_comment() {
    let recipe = Recipe { marker: "x\n[evil]\r.c".to_owned(), ..recipe() };
    assert!(text("x", &recipe).lines().next().unwrap().ends_with("(x?[evil]?.c)."));
}

#[test]
fn an_unknown_test_is_no_passing_test() {
    let text = text("x", &recipe());
    assert!(text.contains("exit 1"), "{text}");
    let known = Recipe { test: Some("make check".to_owned()), ..recipe() };
    assert_eq!(read(&super::text("x", &known)).test.command.get_ref(), "make check");
}
