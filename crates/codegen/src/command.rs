//! A captured compile command, turned into one that compiles one file to an object of ours.
//!
//! What decides the code stays as it was. What writes files elsewhere, or stops before an object,
//! is taken out; what would hide the machine code is overruled. Each such change that a reader
//! should know of becomes a note.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::error::CheckError;
use crate::unit::{TREE_PLACEHOLDER, Unit};

/// What a run of the compiler is to produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    /// An object as the project builds it.
    Object,
    /// The same with a full line table.
    ObjectWithLines,
    /// A make rule that names every file the unit reads.
    Dependencies,
}

/// A command with everything unit-specific settled but the tree and the output.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    /// The compiler.
    pub(crate) program: String,
    /// Options that stay, placeholders unreplaced, and the source where it stood.
    options: Vec<String>,
    /// What was changed that a reader should know of.
    pub(crate) notes: Vec<String>,
}

/// Compiler launchers, which would only add their own caches.
const LAUNCHERS: [&str; 5] = ["ccache", "sccache", "distcc", "icecc", "gomacc"];

/// Options whose value is the next argument, apart from those in [`DROPPED_WITH_VALUE`].
const WITH_VALUE: &[&str] = &[
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-T",
    "-u",
    "-z",
    "-x",
    "-A",
    "-B",
    "-e",
    "-G",
    "-b",
    "-V",
    "-arch",
    "-target",
    "-include",
    "-imacros",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-imultilib",
    "-cxx-isystem",
    "-include-pch",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xlinker",
    "-Xclang",
    "-mllvm",
    "-Xanalyzer",
    "--param",
    "--sysroot",
    "--include",
    "--include-directory",
    "--define-macro",
    "--undefine-macro",
    "-wrapper",
    "-specs",
    "-framework",
    "-resource-dir",
    "-working-directory",
    "-Xarch_host",
];

/// Options that write a file of their own, or name one, with a separate value.
const DROPPED_WITH_VALUE: &[&str] = &[
    "-o",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "--serialize-diagnostics",
    "-serialize-diagnostics",
    "-index-store-path",
];

/// Options without a separate value that write further files or stop before an object.
fn dropped(arg: &str) -> bool {
    let exact = ["-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-MV"];
    let exact_long = ["-fsyntax-only", "-emit-llvm", "-v", "-###", "-Wp,-MD", "--save-temps"];
    let starts = [
        "-save-temps",
        "--save-temps=",
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-Wp,-M",
        "-Wa,-a",
        "-fdump-",
        "-dumpbase",
        "-dumpdir",
        "-aux-info",
        "-fcallgraph-info",
        "-fstack-usage",
        "-ftime-trace",
        "-fsave-optimization-record",
        "-fopt-info",
        "--output=",
    ];
    exact.contains(&arg)
        || exact_long.contains(&arg)
        || starts.iter().any(|s| arg.starts_with(s))
        || (arg.starts_with("-o") && !arg.starts_with("-object"))
}

impl Command {
    /// Settles the command of `unit`.
    pub(crate) fn new(unit: &Unit) -> Result<Self, CheckError> {
        let mut args = unit.argv.iter().map(String::as_str).peekable();
        let mut program = args.next().unwrap_or("");
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        while LAUNCHERS.contains(&name(program).as_str())
            && args.peek().is_some_and(|a| !a.starts_with('-'))
        {
            program = args.next().unwrap_or("");
        }
        let mut command =
            Self { program: program.to_owned(), options: Vec::new(), notes: Vec::new() };
        if command.take(args, unit) { Ok(command) } else { Err(no_source(unit)) }
    }

    /// Sorts the arguments; false if none of them can bring in the unit's source.
    fn take<'u>(&mut self, mut args: impl Iterator<Item = &'u str>, unit: &Unit) -> bool {
        let (mut found, mut response) = (false, false);
        while let Some(arg) = args.next() {
            if DROPPED_WITH_VALUE.contains(&arg) {
                args.next();
            } else if WITH_VALUE.contains(&arg) {
                self.options.push(arg.to_owned());
                self.options.extend(args.next().map(str::to_owned));
            } else if arg.starts_with('@') {
                response = true;
                self.options.push(arg.to_owned());
            } else if arg.starts_with('-') && arg != "-" {
                if dropped(arg) {
                    continue;
                }
                if arg.starts_with("-flto") {
                    self.note("-fno-lto was added: link-time optimisation keeps no machine code in the object, so what it would do later is not shown");
                }
                self.options.push(arg.to_owned());
            } else if !found && same_file(unit, arg) {
                found = true;
                self.options.push(arg.to_owned());
            }
        }
        found || response
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|n| n == text) {
            self.notes.push(text.to_owned());
        }
    }

    /// Response files of the command, relative to the folder it runs in or absolute, with
    /// placeholders unreplaced.
    pub(crate) fn response_files(&self) -> impl Iterator<Item = &str> {
        self.options.iter().filter_map(|o| o.strip_prefix('@'))
    }

    /// The arguments for a run in `tree`, a copy of `original`, that writes `product` to `output`.
    ///
    /// Paths that the compiler puts into the object are mapped back to the original tree, so that
    /// every copy yields the bytes the project's own build would. The mapping stands first: the
    /// compilers prefer later ones, so a mapping of the project's own still wins. Warnings are
    /// silenced because `-Werror` could otherwise trip over the added options.
    pub(crate) fn arguments(
        &self,
        tree: &Path,
        original: &Path,
        product: Product,
        output: &Path,
    ) -> Vec<OsString> {
        let root = tree.to_string_lossy();
        let map = format!("-ffile-prefix-map={root}={}", original.to_string_lossy());
        let mut args: Vec<OsString> = vec![map.into()];
        args.extend(self.options.iter().map(|o| o.replace(TREE_PLACEHOLDER, &root).into()));
        let last: &[&str] = match product {
            Product::Object => &["-w", "-fno-lto", "-c", "-o"],
            Product::ObjectWithLines => {
                &["-w", "-fno-lto", "-g", "-gcolumn-info", "-gz=none", "-c", "-o"]
            }
            Product::Dependencies => &["-w", "-M", "-MT", "unit", "-MF"],
        };
        args.extend(last.iter().map(OsString::from));
        args.push(output.into());
        args
    }

    /// Everything that decides the code apart from file contents, for a cache key.
    pub(crate) fn identity(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.options.iter().map(String::as_str))
    }
}

fn no_source(unit: &Unit) -> CheckError {
    CheckError::NoSource { unit: unit.source.clone(), command: unit.argv.join(" ") }
}

/// Whether `arg` names the unit's source, seen from the folder the command runs in.
fn same_file(unit: &Unit, arg: &str) -> bool {
    let given = match arg.strip_prefix(TREE_PLACEHOLDER) {
        Some(rest) => PathBuf::from(rest.trim_start_matches('/')),
        None => Path::new(&unit.dir).join(arg),
    };
    plain(&given) == plain(Path::new(&unit.source))
}

/// `path` without `.` and with `x/..` taken out, without asking the file system.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(out.components().next_back(), Some(Component::Normal(_))) =>
            {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// The files a make rule names after its target, with make's escapes undone.
pub(crate) fn rule_files(rule: &str) -> Vec<String> {
    let Some((_, files)) = rule.split_once(':') else { return Vec::new() };
    let (mut found, mut name) = (Vec::new(), String::new());
    let mut chars = files.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {}
            ('\\', Some(&next @ (' ' | '#' | '\\' | ':'))) => {
                name.push(next);
                chars.next();
            }
            ('$', Some('$')) => {
                name.push('$');
                chars.next();
            }
            (c, _) if c.is_whitespace() => {
                if !name.is_empty() {
                    found.push(std::mem::take(&mut name));
                }
            }
            (c, _) => name.push(c),
        }
    }
    if !name.is_empty() {
        found.push(name);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(dir: &str, source: &str, argv: &[&str]) -> Unit {
        Unit {
            source: source.into(),
            dir: dir.into(),
            argv: argv.iter().map(|&a| a.into()).collect(),
        }
    }

    fn options(dir: &str, source: &str, argv: &[&str]) -> Vec<String> {
        Command::new(&unit(dir, source, argv)).unwrap().options
    }

    #[test]
    fn outputs_and_dependency_files_are_taken_out() {
        let argv = [
            "gcc",
            "-O2",
            "-MMD",
            "-MP",
            "-MF",
            "x.d",
            "-MTx.o",
            "-Wp,-MMD,.x.d",
            "-save-temps",
            "-Wa,-adhlns=x.lst",
            "-fstack-usage",
            "-c",
            "-o",
            "x.o",
            "x.c",
            "-ox2.o",
        ];
        assert_eq!(options("", "x.c", &argv), ["-O2", "x.c"]);
    }

    #[test]
    fn values_of_options_are_no_inputs() {
        let argv = ["gcc", "-include", "x.c", "-I", "inc", "-D", "A=1", "x.c"];
        assert_eq!(options("", "x.c", &argv), ["-include", "x.c", "-I", "inc", "-D", "A=1", "x.c"]);
    }

    #[test]
    fn of_several_inputs_only_the_units_own_stays() {
        let argv = ["gcc", "-O2", "a.c", "../lib/b.c", "c.o", "-lm", "-o", "prog"];
        assert_eq!(options("src", "lib/b.c", &argv), ["-O2", "../lib/b.c", "-lm"]);
        assert_eq!(options("src", "src/a.c", &["cc", "{tree}/src/a.c"]), ["{tree}/src/a.c"]);
    }

    #[test]
    fn a_command_for_another_file_is_refused() {
        let error = Command::new(&unit("", "x.c", &["gcc", "-c", "y.c"])).unwrap_err();
        assert!(error.to_string().contains("does not name this file"));
    }

    #[test]
    fn response_files_are_kept_and_may_hold_the_source() {
        let command = Command::new(&unit("", "x.c", &["gcc", "@args"])).unwrap();
        assert_eq!(command.response_files().collect::<Vec<_>>(), ["args"]);
    }

    #[test]
    fn launchers_are_left_out() {
        let command = Command::new(&unit("", "x.c", &["/usr/bin/ccache", "gcc", "x.c"])).unwrap();
        assert_eq!(command.program, "gcc");
    }

    #[test]
    fn link_time_optimisation_is_overruled_and_said() {
        let command = Command::new(&unit("", "x.c", &["gcc", "-flto=auto", "x.c"])).unwrap();
        assert!(command.notes[0].contains("-fno-lto"));
        let args =
            command.arguments(Path::new("/w"), Path::new("/t"), Product::Object, Path::new("/o"));
        let at = |text: &str| args.iter().position(|a| a == text).unwrap();
        assert!(at("-flto=auto") < at("-fno-lto"));
    }

    #[test]
    fn placeholders_become_the_copy_and_paths_map_back() {
        let unit = unit("", "x.c", &["gcc", "-I{tree}/inc", "x.c"]);
        let args = Command::new(&unit).unwrap().arguments(
            Path::new("/copy"),
            Path::new("/project"),
            Product::Object,
            Path::new("/o"),
        );
        assert_eq!(args[0], "-ffile-prefix-map=/copy=/project");
        assert_eq!(args[1], "-I/copy/inc");
    }

    #[test]
    fn make_rules_are_read_with_their_escapes() {
        let rule = "unit: a.c \\\n inc/with\\ space.h \\\n $$x.h\n";
        assert_eq!(rule_files(rule), ["a.c", "inc/with space.h", "$x.h"]);
    }

    #[test]
    fn paths_are_made_plain() {
        assert_eq!(plain(Path::new("./a/../b/./c.h")), Path::new("b/c.h"));
        assert_eq!(plain(Path::new("../x")), Path::new("../x"));
    }
}
