//! A small crate that uses a primitive, compiled to an object.
//!
//! Cargo builds it, so that the primitive is compiled as its users compile it: optimised, in one
//! codegen unit, from its own manifest. The environment of the test run is kept away from that
//! build, since flags meant for the tests (coverage, sanitizers) would change what is looked at.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, str};

use tempfile::TempDir;
use unlikely_codegen::listing::Listing;

use crate::error::AsmError;
use crate::function::Asm;

/// What to compile for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// 64-bit x86, by the Rust toolchain that runs the tests.
    X86_64,
    /// 64-bit Arm, by the toolchain of `scripts/install-aarch64`.
    Aarch64,
}

impl Target {
    /// The name rustc gives it.
    #[must_use]
    pub fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    /// The compiler to give to cargo, unless cargo's own does.
    fn rustc(self) -> Result<Option<PathBuf>, AsmError> {
        if self == Self::X86_64 || cfg!(target_arch = "aarch64") {
            return Ok(None);
        }
        // The script decides where the toolchain lies, here and for those who install it.
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/aarch64-root");
        let spawn = |source| AsmError::Spawn { program: script.display().to_string(), source };
        let output = Command::new(&script).output().map_err(spawn)?;
        rustc_in(Path::new(String::from_utf8_lossy(&output.stdout).trim_end())).map(Some)
    }
}

/// The compiler of a toolchain whose installation came to its end.
fn rustc_in(root: &Path) -> Result<PathBuf, AsmError> {
    if root.join("version").is_file() {
        return Ok(root.join("rustc"));
    }
    Err(AsmError::NoToolchain { root: root.into() })
}

/// Source text that exports functions, and how to compile it.
#[derive(Debug, Clone)]
pub struct Probe {
    source: String,
    dependencies: toml::Table,
    flags: Vec<String>,
}

impl Probe {
    /// A library crate (edition 2024) of one file. What is to be looked at must be a
    /// `#[unsafe(no_mangle)] pub fn`.
    #[must_use]
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), dependencies: toml::Table::new(), flags: Vec::new() }
    }

    /// Makes the package `name` in `folder` usable. From a test of that package:
    /// `depends_on(env!("CARGO_PKG_NAME"), env!("CARGO_MANIFEST_DIR"), &[])`. Its default features
    /// are on; `features` adds others.
    #[must_use]
    pub fn depends_on(mut self, name: &str, folder: impl AsRef<Path>, features: &[&str]) -> Self {
        let mut dependency = toml::Table::new();
        dependency.insert("path".into(), folder.as_ref().display().to_string().into());
        dependency.insert("features".into(), features.to_vec().into());
        self.dependencies.insert(name.into(), dependency.into());
        self
    }

    /// The same, without the default features of the package `name`.
    #[must_use]
    pub fn no_default_features(mut self, name: &str) -> Self {
        if let Some(toml::Value::Table(dependency)) = self.dependencies.get_mut(name) {
            dependency.insert("default-features".into(), false.into());
        }
        self
    }

    /// Flags for rustc, for the probe and for what it depends on: `-Ctarget-feature=+lse`,
    /// `--cfg=…`.
    #[must_use]
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&f| f.to_owned()));
        self
    }

    /// Compiles it for `target`, optimised as `cargo build --release` does.
    ///
    /// # Errors
    /// If there is no compiler for `target`, if it refuses the probe, or if its object cannot be
    /// read.
    pub fn build(&self, target: Target) -> Result<Asm, AsmError> {
        let rustc = target.rustc()?;
        let folder = TempDir::with_prefix("asmcheck-").map_err(|source| AsmError::File {
            action: "make a folder in",
            path: env::temp_dir(),
            source,
        })?;
        self.write(folder.path())?;
        self.compile(target, rustc, folder.path())?;
        let object =
            object_in(&folder.path().join("target").join(target.triple()).join("release/deps"))?;
        let bytes = fs::read(&object).map_err(file("read", &object))?;
        Ok(Asm::new(Listing::read(&bytes)?))
    }

    fn write(&self, folder: &Path) -> Result<(), AsmError> {
        let mut package = toml::Table::new();
        package.insert("name".into(), "probe".into());
        package.insert("version".into(), "0.0.0".into());
        package.insert("edition".into(), "2024".into());
        let mut release = toml::Table::new();
        // One object, so that nothing depends on how functions were dealt out.
        release.insert("codegen-units".into(), 1.into());
        let mut profile = toml::Table::new();
        profile.insert("release".into(), release.into());
        let mut manifest = toml::Table::new();
        manifest.insert("package".into(), package.into());
        manifest.insert("dependencies".into(), self.dependencies.clone().into());
        manifest.insert("profile".into(), profile.into());
        // Not a member of whatever workspace the temporary folder may lie in.
        manifest.insert("workspace".into(), toml::Table::new().into());

        for (name, text) in
            [("Cargo.toml", manifest.to_string()), ("src/lib.rs", self.source.clone())]
        {
            let path = folder.join(name);
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(file("make", parent))?;
            fs::write(&path, text).map_err(file("write", &path))?;
        }
        Ok(())
    }

    fn compile(
        &self,
        target: Target,
        rustc: Option<PathBuf>,
        folder: &Path,
    ) -> Result<(), AsmError> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(&cargo);
        for (name, _) in env::vars_os().filter(|(name, _)| of_this_build(name)) {
            command.env_remove(name);
        }
        if let Some(rustc) = rustc {
            command.env("RUSTC", rustc);
        }
        command
            .current_dir(folder)
            // Empty flags too, so that those of a configuration file do not count.
            .env("CARGO_ENCODED_RUSTFLAGS", self.flags.join("\x1f"))
            .args(["rustc", "--quiet", "--offline", "--release", "--lib"])
            .args(["--target", target.triple(), "--target-dir", "target"])
            .args(["--", "--emit=obj"]);
        let spawn =
            |source| AsmError::Spawn { program: cargo.to_string_lossy().into_owned(), source };
        let output = command.output().map_err(spawn)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(AsmError::Compile { target: target.triple(), stderr });
        }
        Ok(())
    }
}

/// Whether a variable speaks of the build of the tests rather than of the machine.
fn of_this_build(name: &OsString) -> bool {
    let Some(name) = name.to_str() else { return false };
    let cargo = name.starts_with("CARGO_") && name != "CARGO_HOME";
    cargo || name.starts_with("RUSTC") || name.starts_with("RUSTDOC") || name == "RUSTFLAGS"
}

fn object_in(folder: &Path) -> Result<PathBuf, AsmError> {
    let mut objects = Vec::new();
    for entry in fs::read_dir(folder).map_err(file("read", folder))? {
        let path = entry.map_err(file("read", folder))?.path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if name.starts_with("probe") && name.ends_with(".o") {
            objects.push(path);
        }
    }
    match <[PathBuf; 1]>::try_from(objects) {
        Ok([object]) => Ok(object),
        Err(objects) => Err(AsmError::Objects { found: objects.len(), folder: folder.into() }),
    }
}

fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> AsmError {
    let path = path.to_owned();
    move |source| AsmError::File { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_meant_for_the_tests_do_not_reach_the_probe() {
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WRAPPER"] {
            assert!(of_this_build(&name.into()), "{name}");
        }
        for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_TOOLCHAIN"] {
            assert!(!of_this_build(&name.into()), "{name}");
        }
    }

    #[test]
    fn a_toolchain_that_is_not_there_names_its_installer() {
        let root = TempDir::new().unwrap();
        // What an installation leaves that was stopped before its last step.
        fs::write(root.path().join("rustc"), "").unwrap();
        let error = rustc_in(root.path()).unwrap_err().to_string();
        assert!(error.contains("scripts/install-aarch64"), "{error}");
        fs::write(root.path().join("version"), "").unwrap();
        assert_eq!(rustc_in(root.path()).unwrap(), root.path().join("rustc"));
    }
}
