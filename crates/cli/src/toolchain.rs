//! Finding compilers and their profile tools on `PATH`.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::exit::{Exit, fail};

/// A program that was found and answered.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    /// First line of `--version`.
    pub(crate) version: String,
}

/// Clang and the two tools that read its profiles.
#[derive(Debug, Clone)]
pub(crate) struct Llvm {
    pub(crate) clang: Tool,
    pub(crate) profdata: PathBuf,
    pub(crate) cov: PathBuf,
}

/// The program `name` on `PATH`, or at the path that `name` is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|p| is_program(p));
    }
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(name)).find(|p| is_program(p))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The program `name` and its version.
pub(crate) fn tool(name: &str) -> Option<Tool> {
    let path = find(name)?;
    let version = first_line(&path, ["--version"])?;
    Some(Tool { path, version })
}

/// As [`tool`], or the error that says where the remedy is.
pub(crate) fn need(name: &str) -> anyhow::Result<Tool> {
    tool(name).ok_or_else(|| {
        fail(Exit::Tool, format!("{name} is not installed; `unlikely doctor` says how to"))
    })
}

fn first_line<I: AsRef<OsStr>>(
    path: &Path,
    arguments: impl IntoIterator<Item = I>,
) -> Option<String> {
    let out = Command::new(path)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&out.stdout);
    out.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The newest clang whose profile tools stand beside it: profiles are read by the very release
/// that wrote them.
pub(crate) fn llvm() -> Option<Llvm> {
    let versioned = (14..=40).rev().map(|n| format!("-{n}"));
    std::iter::once(String::new()).chain(versioned).find_map(|suffix| {
        let clang = tool(&format!("clang{suffix}"))?;
        let beside = |name: &str| {
            let printed = first_line(&clang.path, [format!("-print-prog-name={name}")]);
            printed
                .map(PathBuf::from)
                .filter(|p| p.is_absolute() && is_program(p))
                .or_else(|| find(&format!("{name}{suffix}")))
        };
        Some(Llvm { profdata: beside("llvm-profdata")?, cov: beside("llvm-cov")?, clang })
    })
}

/// The `gcov` of a GCC: the same suffix, beside it or on `PATH`.
pub(crate) fn gcov_of(gcc: &Path) -> anyhow::Result<PathBuf> {
    let name = gcc.file_name().unwrap_or_default().to_string_lossy().replace("gcc", "gcov");
    let name = if name.contains("gcov") { name } else { "gcov".to_owned() };
    let beside = gcc.with_file_name(&name);
    if is_program(&beside) {
        return Ok(beside);
    }
    need(&name).map(|t| t.path)
}
