//! The compiler wrapper: this same binary, called under a compiler's name.
//!
//! Build systems pass flags in as many ways as there are build systems; all of them call a
//! compiler. So every private build has a folder of links named `gcc`, `cc`, `clang` … first on
//! its `PATH` (and as `CC`). Such a link writes down the command, adds the flags of the build's
//! purpose, and becomes the real compiler. Its orders stand in `wrap.json` beside the links, so
//! that they reach builds that clear the environment.

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

/// File of the orders, beside the links.
const ORDERS: &str = "wrap.json";
/// Names under which C compilers are called.
const NAMES: [&str; 5] = ["cc", "gcc", "clang", "c99", "c11"];

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
    for name in NAMES.iter().copied().chain([own.as_str()]) {
        let link = folder.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(&me, &link)
                .with_context(|| format!("{}", link.display()))?;
        }
    }
    fs::write(folder.join(ORDERS), serde_json::to_vec(orders)?)?;
    Ok(folder.join(own))
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
    let error = run(&orders, env::args_os().skip(1).collect());
    eprintln!("unlikely: cannot run {}: {error}", orders.compiler.display());
    Some(ExitCode::FAILURE)
}

/// The folder of the link that we were called by.
fn folder_of(called: &Path) -> Option<PathBuf> {
    if called.components().count() > 1 {
        return called.parent().map(Path::to_path_buf);
    }
    env::split_paths(&env::var_os("PATH")?).find(|dir| dir.join(called).exists())
}

fn run(orders: &Orders, arguments: Vec<OsString>) -> std::io::Error {
    let kind = kind(&arguments);
    if matches!(kind, Kind::Compile | Kind::CompileAndLink) {
        // A lost record costs advice, not the build.
        let _ = write_down(orders, &arguments);
    }
    let mut command = Command::new(&orders.compiler);
    command.args(&arguments);
    if matches!(kind, Kind::Compile | Kind::CompileAndLink) {
        command.args(&orders.compile_flags);
    }
    if matches!(kind, Kind::Link | Kind::CompileAndLink) {
        command.args(&orders.link_flags);
    }
    command.exec()
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
enum Kind {
    Compile,
    CompileAndLink,
    Link,
    /// Preprocessing, a question, dependencies only.
    Other,
}

fn kind(arguments: &[OsString]) -> Kind {
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
    let source = inputs().any(|a| is_c_source(&a.to_string_lossy()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(command: &str) -> Kind {
        kind(&command.split_whitespace().map(OsString::from).collect::<Vec<_>>())
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
}
