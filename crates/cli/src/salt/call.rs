//! One call of a compiler or a linker with a salt.
//!
//! A compiler writes its object, which is then salted in place. When it compiles and links at once
//! its objects are nameless and short-lived; so the compiler is made to find our name for `ld`
//! first (`-B`), and the objects are salted on their way into the real linker.
//!
//! What fails with the salt is done again without it: the errors of the first attempt are held
//! back, and the second is the plain call, whatever it ends with.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use super::link::{self, Linker};
use super::object::salted;
use super::record::{Left, Line};
use super::{Salting, flags};
use crate::tree;
use crate::wrapper::{Kind, Orders, add, is_source};

/// Compiles or links with the salt; `None` if the plain call is to be made instead.
pub(crate) fn compile(
    orders: &Orders,
    salting: &Salting,
    kind: Kind,
    folder: &Path,
    arguments: &[OsString],
) -> Option<ExitCode> {
    if kind == Kind::Other {
        return None;
    }
    let outputs = outputs(arguments, kind);
    let left = |why: Left| {
        if kind != Kind::Link {
            outputs.iter().for_each(|o| write_down(salting, o, None, Err(why.clone())));
        }
    };
    let plain = [("-S", Left::Assembly), ("-", Left::Input)];
    if let Some((_, why)) = plain.into_iter().find(|(flag, _)| arguments.iter().any(|a| a == flag))
    {
        left(why);
        return None;
    }
    let mut salted = Command::new(&orders.compiler);
    if kind != Kind::Compile {
        salted.arg("-B").arg(folder);
    }
    add(&mut salted, orders, kind, arguments);
    if kind != Kind::Link || arguments.iter().any(|a| a.as_bytes().starts_with(b"-flto")) {
        salted.args(flags(salting.salt));
    }
    let Some(code) = attempt(&mut salted) else {
        left(Left::Refused);
        return None;
    };
    if kind == Kind::Compile {
        for output in &outputs {
            write_down(salting, output, None, salt_file(output, output, salting.salt));
        }
    }
    Some(code)
}

/// Links with the salt, called as the linker `name` through the link in `folder`; `None` if the
/// plain call is to be made.
pub(crate) fn link(
    salting: &Salting,
    linker: &Linker,
    folder: &Path,
    arguments: &[OsString],
) -> Option<ExitCode> {
    let program = named_output(arguments).unwrap_or_else(|| PathBuf::from("a.out"));
    let scratch = tempfile::tempdir_in(folder).ok()?;
    let mut command = Command::new(&linker.path);
    for (n, argument) in arguments.iter().enumerate() {
        if !is_nameless(argument) {
            command.arg(argument);
            continue;
        }
        let copy = scratch.path().join(n.to_string()).with_extension("o");
        let outcome = salt_file(Path::new(argument), &copy, salting.salt);
        command.arg(if outcome.is_ok() { copy.as_os_str() } else { argument });
        write_down(salting, &program, Some(n), outcome);
    }
    let order;
    if linker.lld {
        order = link::order(scratch.path(), &salting.record, salting.salt).ok()?;
        command.arg("--no-warn-symbol-ordering").arg("--symbol-ordering-file").arg(order.path());
    }
    attempt(&mut command)
}

/// Runs a call to its end. One that fails leaves no word behind, as it will be made again.
fn attempt(command: &mut Command) -> Option<ExitCode> {
    let out = command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).output().ok()?;
    if !out.status.success() {
        return None;
    }
    // Warnings; nobody is left to hear that they cannot be shown.
    let _ = io::stderr().write_all(&out.stderr);
    Some(ExitCode::SUCCESS)
}

/// Where a compilation puts what it makes.
fn outputs(arguments: &[OsString], kind: Kind) -> Vec<PathBuf> {
    if let Some(output) = named_output(arguments) {
        return vec![output];
    }
    if kind != Kind::Compile {
        return vec![PathBuf::from("a.out")];
    }
    let sources = arguments.iter().map(|a| a.to_string_lossy()).filter(|a| is_source(a));
    sources
        .filter_map(|s| Some(PathBuf::from(Path::new(&*s).with_extension("o").file_name()?)))
        .collect()
}

/// The operand of `-o`.
fn named_output(arguments: &[OsString]) -> Option<PathBuf> {
    let at = arguments.iter().rposition(|a| a.as_bytes().starts_with(b"-o"))?;
    match arguments.get(at)?.as_bytes() {
        b"-o" => arguments.get(at + 1).map(PathBuf::from),
        joined => joined.get(2..).map(|name| PathBuf::from(OsStr::from_bytes(name))),
    }
}

/// Whether a linker's argument is an object that the compiler made for this one link.
fn is_nameless(argument: &OsStr) -> bool {
    let path = Path::new(argument);
    path.extension().is_some_and(|e| e == "o") && path.parent() == Some(&env::temp_dir())
}

/// Salts the object `from` into `to`, which may be the same; the functions that moved.
fn salt_file(from: &Path, to: &Path, salt: u64) -> Result<Vec<String>, Left> {
    // Neither a device nor a link: they are not the compiler's to make anew.
    let plain = fs::symlink_metadata(from).map_err(|e| Left::File(e.to_string()))?.is_file();
    if !plain {
        return Err(Left::File("not a plain file".to_owned()));
    }
    let data = fs::read(from).map_err(|e| Left::File(e.to_string()))?;
    let salted = salted(&data, salt)?;
    tree::replace(to, &salted.bytes).map_err(|e| Left::File(format!("{e:#}")))?;
    Ok(salted.functions)
}

fn write_down(
    salting: &Salting,
    output: &Path,
    part: Option<usize>,
    outcome: Result<Vec<String>, Left>,
) {
    let path = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
    let object = match part {
        Some(part) => format!("{} ({part})", path.display()),
        None => path.display().to_string(),
    };
    Line { object, outcome }.write_down(&salting.record);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(command: &str, kind: Kind) -> Vec<PathBuf> {
        outputs(&command.split_whitespace().map(OsString::from).collect::<Vec<_>>(), kind)
    }

    #[test]
    fn what_a_call_makes_is_known_before_it_is_made() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let compile = |command| made(command, Kind::Compile);
        assert_eq!(compile("-c -o b/x.o a.c"), paths(&["b/x.o"]));
        assert_eq!(compile("-c -ob/x.o a.c"), paths(&["b/x.o"]));
        assert_eq!(compile("-c -o y.o -o x.o a.c"), paths(&["x.o"]));
        assert_eq!(compile("-c src/a.c ../b.cc -Isrc"), paths(&["a.o", "b.o"]));
        assert_eq!(made("a.c -o prog", Kind::CompileAndLink), paths(&["prog"]));
        assert_eq!(made("a.c", Kind::CompileAndLink), paths(&["a.out"]));
    }

    #[test]
    fn objects_of_one_link_lie_in_the_compilers_scratch_folder() {
        let scratch = env::temp_dir();
        assert!(is_nameless(scratch.join("ccQw3x.o").as_os_str()));
        assert!(!is_nameless(scratch.join("build/a.o").as_os_str()));
        assert!(!is_nameless(scratch.join("liba.a").as_os_str()));
        assert!(!is_nameless(OsStr::new("a.o")));
    }
}
