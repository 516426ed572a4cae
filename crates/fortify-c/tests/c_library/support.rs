//! The installed library, and the ways to build a program against it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The functions with an entry point of the name `__…_chk`.
pub(crate) const ENTRIES: [&str; 13] = [
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "explicit_bzero",
    "strcpy",
    "stpcpy",
    "strncpy",
    "stpncpy",
    "strcat",
    "strncat",
    "strlcpy",
    "strlcat",
];

/// Optimised, as fortified programs are, and quiet about overflows that are meant.
pub(crate) const FLAGS: [&str; 4] = ["-std=gnu11", "-O2", "-w", "-U_FORTIFY_SOURCE"];

/// The level that knows sizes of the running program.
pub(crate) const LEVEL_3: &str = "-D_FORTIFY_SOURCE=3";

/// A file of the test programs.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Where the library is installed.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| install("prefix", &[]))
}

/// Where the library for aarch64 is installed.
pub(crate) fn prefix_aarch64() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let root = succeed(&mut Command::new(script("aarch64-root")));
        let rustc = format!("{}/rustc", text(&root.stdout).trim());
        assert!(Path::new(&rustc).exists(), "no compiler for aarch64: run scripts/install-aarch64");
        let environment = [
            ("RUSTC", &*rustc),
            ("CARGO_BUILD_TARGET", "aarch64-unknown-linux-gnu"),
            ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
            ("CC", "aarch64-linux-gnu-gcc"),
            ("AR", "aarch64-linux-gnu-ar"),
            ("OBJCOPY", "aarch64-linux-gnu-objcopy"),
        ];
        install("prefix-aarch64", &environment)
    })
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(name)
}

/// Runs the install script. Once a process is enough; the file lock is for several processes.
fn install(name: &str, environment: &[(&str, &str)]) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fortify-c");
    let prefix = place.join(name);
    fs::create_dir_all(&place).expect("a directory for the installed library");
    let lock = File::create(place.join("lock")).expect("a lock file");
    lock.lock().expect("the only process that installs");
    let mut install = Command::new(script("install-fortify-c"));
    install.arg(&prefix).env("CARGO_TARGET_DIR", place.join("build"));
    // Flags of this test run, such as coverage, are not for a library without std.
    for flags in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "DESTDIR"] {
        install.env_remove(flags);
    }
    succeed(install.envs(environment.iter().copied()));
    prefix
}

/// The shared library's file.
pub(crate) fn shared_library() -> PathBuf {
    prefix().join("lib/libunlikely_fortify.so")
}

/// The static library's file.
pub(crate) fn static_library(prefix: &Path) -> PathBuf {
    prefix.join("lib/libunlikely_fortify.a")
}

/// What pkg-config says of the installed library.
pub(crate) fn pkg_config(questions: &[&str]) -> Vec<String> {
    let output = succeed(
        Command::new("pkg-config")
            .args(questions)
            .arg("unlikely_fortify")
            .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")),
    );
    text(&output.stdout).split_whitespace().map(str::to_owned).collect()
}

/// Flags that link the shared library and find it again at run time.
pub(crate) fn link_shared() -> Vec<String> {
    let mut flags = pkg_config(&["--libs"]);
    flags.push(format!("-Wl,-rpath,{}", prefix().join("lib").display()));
    flags
}

/// A compiler with the flags of all test programs, and the header in reach.
pub(crate) fn compiler(name: &str, level: &str) -> Command {
    let mut command = Command::new(name);
    command.args(FLAGS).arg(level).arg("-I").arg(source("c"));
    command.args(pkg_config(&["--cflags"]));
    command
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must start.
pub(crate) fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}; scripts/install-test-tools installs what tests need")
    })
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}
