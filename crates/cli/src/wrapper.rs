//! The compiler wrapper: this same binary, called under a compiler's name.
//!
//! Build systems pass flags in as many ways as there are build systems; all of them call a
//! compiler. So every private build has a folder of links named `gcc`, `cc`, `clang` … first on
//! its `PATH` (and as `CC`). Such a link writes down the command, adds the flags of the build's
//! purpose, and becomes the real compiler. Its orders stand in `wrap.json` beside the links, so
//! that they reach builds that clear the environment. In a salted build there are links named as
//! linkers, too, and the call is made by [`salt`] first.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::salt::{self, Salting};

/// File of the orders, beside the links.
const ORDERS: &str = "wrap.json";
/// Names under which C compilers are called.
const NAMES: [&str; 5] = ["cc", "gcc", "clang", "c99", "c11"];
/// Names under which C++ compilers are called.
const NAMES_CXX: [&str; 3] = ["c++", "g++", "clang++"];

/// What a wrapper does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The real compiler, absolute.
    pub(crate) compiler: PathBuf,
    /// Added to every compilation.
    pub(crate) compile_flags: Vec<String>,
    /// Added to every link.
    pub(crate) link_flags: Vec<String>,
    /// Where compilations are written down, one JSON object a line.
    pub(crate) log: PathBuf,
    /// Only in a salted build.
    #[serde(default)]
    pub(crate) salting: Option<Salting>,
}

/// One compilation as it was called.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Call {
    /// Working directory.
    pub(crate) dir: String,
    /// The compiler and its arguments, without the flags that the wrapper adds.
    pub(crate) argv: Vec<String>,
}

/// Lays the links in `folder`; returns the path of the one for `CC`.
pub(crate) fn lay(folder: &Path, orders: &Orders) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let me = env::current_exe().context("cannot find this program's own file")?;
    let own = orders.compiler.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names = if own.contains("++") { &NAMES_CXX[..] } else { &NAMES[..] };
    let linkers = orders.salting.iter().flat_map(|s| s.linkers.keys().map(String::as_str));
    for name in names.iter().copied().chain([own.as_str()]).chain(linkers) {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(&me, &link)
                .with_context(|| format!("{}", link.display()))?;
        }
    }
    fs::write(folder.join(ORDERS), serde_json::to_vec(orders)?)?;
    Ok(folder.join(own))
}

/// `PATH` with the links of `folders` before everything else.
pub(crate) fn path(folders: &[&Path]) -> String {
    let mut path = OsString::new();
    for folder in folders {
        path.push(folder);
        path.push(":");
    }
    path.push(env::var_os("PATH").unwrap_or_default());
    path.to_string_lossy().into_owned()
}

/// How a build calls `compiler`, which is on its `PATH`.
pub(crate) fn word(compiler: &Path) -> String {
    let text = compiler.display().to_string();
    // A makefile does not quote $(CC): with white space in the path only the name will do.
    match text.contains(char::is_whitespace) {
        true => compiler.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        false => text,
    }
}

/// If this process was called as a compiler, becomes it; returns only otherwise or on failure.
pub(crate) fn become_compiler_if_called_so() -> Option<ExitCode> {
    let name = env::args_os().next()?;
    let folder = folder_of(Path::new(&name))?;
    let text = fs::read(folder.join(ORDERS)).ok()?;
    let orders: Orders = match serde_json::from_slice(&text) {
        Ok(orders) => orders,
        Err(error) => {
            eprintln!("unlikely: {}: {error}", folder.join(ORDERS).display());
            return Some(ExitCode::FAILURE);
        }
    };
    let called = Path::new(&name).file_name().unwrap_or_default().to_string_lossy();
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let salting = orders.salting.as_ref();
    let linker = salting.and_then(|s| Some((s, s.linkers.get(&*called)?)));
    let (program, error) = match linker {
        Some((salting, linker)) => {
            if let Some(code) = salt::link(salting, linker, &folder, &arguments) {
                return Some(code);
            }
            (&linker.path, Command::new(&linker.path).args(&arguments).exec())
        }
        None => {
            let kind = kind(&arguments, if salting.is_some() { is_source } else { is_c_source });
            if matches!(kind, Kind::Compile | Kind::CompileAndLink) {
                // A lost record costs advice, not the build.
                let _ = write_down(&orders, &arguments);
            }
            if let Some(code) =
                salting.and_then(|s| salt::compile(&orders, s, kind, &folder, &arguments))
            {
                return Some(code);
            }
            let mut plain = Command::new(&orders.compiler);
            add(&mut plain, &orders, kind, &arguments);
            (&orders.compiler, plain.exec())
        }
    };
    eprintln!("unlikely: cannot run {}: {error}", program.display());
    Some(ExitCode::FAILURE)
}

/// The folder of the link that we were called by.
fn folder_of(called: &Path) -> Option<PathBuf> {
    if called.components().count() > 1 {
        return called.parent().map(Path::to_path_buf);
    }
    env::split_paths(&env::var_os("PATH")?).find(|dir| dir.join(called).exists())
}

/// Adds to a compiler's command the arguments of a call and the flags of the build.
pub(crate) fn add(command: &mut Command, orders: &Orders, kind: Kind, arguments: &[OsString]) {
    command.args(arguments);
    if matches!(kind, Kind::Compile | Kind::CompileAndLink) {
        command.args(&orders.compile_flags);
    }
    if matches!(kind, Kind::Link | Kind::CompileAndLink) {
        command.args(&orders.link_flags);
    }
}

fn write_down(orders: &Orders, arguments: &[OsString]) -> anyhow::Result<()> {
    let text = |s: &OsStr| s.to_string_lossy().into_owned();
    let call = Call {
        dir: text(env::current_dir()?.as_os_str()),
        argv: std::iter::once(text(orders.compiler.as_os_str()))
            .chain(arguments.iter().map(|a| text(a)))
            .collect(),
    };
    let mut line = serde_json::to_vec(&call)?;
    line.push(b'\n');
    // One write in append mode: parallel compilations do not tear each other's lines.
    File::options().append(true).create(true).open(&orders.log)?.write_all(&line)?;
    Ok(())
}

/// What a call of a compiler does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To an object, or to assembly.
    Compile,
    /// From source to a program.
    CompileAndLink,
    /// Of objects.
    Link,
    /// Preprocessing, a question, dependencies only.
    Other,
}

fn kind(arguments: &[OsString], is_source: fn(&str) -> bool) -> Kind {
    let is = |flag: &str| arguments.iter().any(|a| a == flag);
    let queries =
        ["-E", "-M", "-MM", "--version", "-v", "-dumpversion", "-dumpmachine", "-fsyntax-only"];
    let asks = arguments.iter().any(|a| {
        let a = a.as_bytes();
        a.starts_with(b"-print-") || a.starts_with(b"--print-") || a.starts_with(b"--help")
    });
    let inputs = || arguments.iter().filter(|a| !a.as_bytes().starts_with(b"-"));
    if asks || queries.iter().any(|q| is(q)) && !(is("-v") && inputs().next().is_some()) {
        return Kind::Other;
    }
    let source = inputs().any(|a| is_source(&a.to_string_lossy()))
        || arguments.windows(2).any(|w| w[0] == "-x" && w[1] == "c");
    match (source, is("-c") || is("-S")) {
        (true, true) => Kind::Compile,
        (true, false) => Kind::CompileAndLink,
        (false, true) => Kind::Other,
        (false, false) if inputs().next().is_some() => Kind::Link,
        (false, false) => Kind::Other,
    }
}

/// Whether an argument names a C source file.
pub(crate) fn is_c_source(argument: &str) -> bool {
    !argument.starts_with('-') && (argument.ends_with(".c") || argument.ends_with(".i"))
}

/// Whether an argument names a C or C++ source file.
pub(crate) fn is_source(argument: &str) -> bool {
    let extension = argument.rsplit_once('.').map_or("", |(_, extension)| extension);
    let cxx = ["cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "ii"].contains(&extension);
    is_c_source(argument) || cxx && !argument.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Kind {
        kind(&command.split_whitespace().map(OsString::from).collect::<Vec<_>>(), is_c_source)
    }

    #[test]
    fn each_way_to_call_a_compiler_is_told_apart() {
        assert_eq!(of("-O2 -c -o a.o a.c"), Kind::Compile);
        assert_eq!(of("-O2 a.c b.c -o a -lm"), Kind::CompileAndLink);
        assert_eq!(of("-o a a.o b.o"), Kind::Link);
        assert_eq!(of("-E a.c"), Kind::Other);
        assert_eq!(of("-MM a.c"), Kind::Other);
        assert_eq!(of("-v"), Kind::Other);
        assert_eq!(of("-v -c a.c"), Kind::Compile);
        assert_eq!(of("-c a.S"), Kind::Other);
        assert_eq!(of("-print-prog-name=ld"), Kind::Other);
        assert_eq!(of("-xc - -dumpversion"), Kind::Other);
    }

    #[test]
    fn source_of_cxx_is_told_from_objects_and_flags() {
        for name in ["a.c", "a.i", "b/a.cc", "a.cpp", "a.cxx", "a.C", "a.ii"] {
            assert!(is_source(name), "{name}");
        }
        for name in ["a.o", "a.S", "a.h", "cc", "-Da.cc", "-la.c"] {
            assert!(!is_source(name), "{name}");
        }
    }
}
