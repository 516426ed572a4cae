//! How a folder is built and tested, by the build system whose files it has.
//!
//! A build command must do three things that a habitual one does not. It takes the compiler and
//! the flags that it is given. It can be run again after an edit, and then builds only what the
//! edit touches. And it does not trust what it finds: a private copy holds whatever earlier builds
//! left behind, with the paths and flags of another folder, so the first run in a copy configures
//! or cleans, and leaves a stamp that holds the copy's own path.

use std::fs;
use std::path::Path;

use anyhow::Context;
use regex::Regex;
use walkdir::WalkDir;

use super::makefile::{Makefile, Passed};
use crate::exit::{Exit, fail};

/// Flags where the project names none of its own.
const CFLAGS: &str = "-O2";
/// Where a folder's build is stamped with its path.
const STAMP: &str = ".unlikely-built-in";
/// Folders deep that build files are looked for.
const DEPTH_MAX: usize = 6;

/// What an `unlikely.toml` says of building and testing.
#[derive(Debug, Default)]
pub(crate) struct Recipe {
    pub(crate) system: &'static str,
    /// The file that gave the build system away.
    pub(crate) marker: String,
    pub(crate) build: String,
    pub(crate) cflags: String,
    pub(crate) ldflags: String,
    /// `None` where no tests were recognised.
    pub(crate) test: Option<String>,
    /// How a workload might call the program.
    pub(crate) program: String,
    /// Lines that explain the build command.
    pub(crate) notes: Vec<String>,
}

/// The recipe of the build system that is preferred, and the others that are there.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) recipe: Recipe,
    pub(crate) others: Vec<String>,
}

/// Finds out how `dir` is built.
///
/// Several build systems often lie side by side. Those that build in a folder of their own and
/// take flags in a uniform way come first, and makefiles that the others generate come after them.
pub(crate) fn choose(dir: &Path) -> anyhow::Result<Choice> {
    let recipes = [cmake(dir)?, meson(dir)?, autotools(dir)?, make(dir)?];
    let mut found = recipes.into_iter().flatten();
    if let Some(recipe) = found.next() {
        let others = found.map(|r| format!("{} ({})", r.system, r.marker)).collect();
        return Ok(Choice { recipe, others });
    }
    match plain(dir)? {
        Some(recipe) => Ok(Choice { recipe, others: Vec::new() }),
        None => Err(fail(Exit::Usage, nothing_found(dir))),
    }
}

fn nothing_found(dir: &Path) -> String {
    format!(
        "{}: no build was recognised. Looked for\n  \
         CMakeLists.txt                           CMake\n  \
         meson.build                              Meson\n  \
         configure, configure.ac, configure.in    autotools\n  \
         GNUmakefile, makefile, Makefile          make, here or in src\n  \
         *.c with a main function                 a program without build files\n\
         Name the folder that has one of them, or write unlikely.toml by hand: \
         `unlikely init --help`",
        dir.display()
    )
}

fn cmake(dir: &Path) -> anyhow::Result<Option<Recipe>> {
    let marker = "CMakeLists.txt";
    if !dir.join(marker).is_file() {
        return Ok(None);
    }
    let tests = r"(?mi)^\s*(enable_testing|add_test|gtest_discover_tests|include\s*\(\s*ctest)\b";
    let is_cmake = |name: &str| name == marker || name.ends_with(".cmake");
    let folder = build_folder(dir, "CMakeCache.txt");
    let setup = format!(
        "rm -rf {folder}\n\
         cmake -S . -B {folder} -DCMAKE_C_COMPILER=\"$CC\" -DCMAKE_C_FLAGS=\"$CFLAGS\" \
         -DCMAKE_BUILD_TYPE=None"
    );
    let build = once(&format!("{folder}/{STAMP}"), &setup)
        + &format!("cmake --build {folder} -j \"$(nproc)\"\n");
    Ok(Some(Recipe {
        system: "CMake",
        marker: marker.to_owned(),
        build,
        cflags: CFLAGS.to_owned(),
        test: any_file(dir, is_cmake, tests)?
            .then(|| format!("ctest --test-dir {folder} --no-tests=error --output-on-failure")),
        program: format!("./{folder}/… arguments"),
        notes: vec![
            "Build type None adds no flags to those below; CMake takes LDFLAGS from the environment."
                .to_owned(),
        ],
        ..Recipe::default()
    }))
}

fn meson(dir: &Path) -> anyhow::Result<Option<Recipe>> {
    let marker = "meson.build";
    if !dir.join(marker).is_file() {
        return Ok(None);
    }
    let folder = build_folder(dir, "meson-private");
    let setup = format!("rm -rf {folder}\nmeson setup {folder} --buildtype=plain");
    let build =
        once(&format!("{folder}/{STAMP}"), &setup) + &format!("meson compile -C {folder}\n");
    Ok(Some(Recipe {
        system: "Meson",
        marker: marker.to_owned(),
        build,
        cflags: CFLAGS.to_owned(),
        test: any_file(dir, |name| name == marker, r"(?m)^\s*test\s*\(")?
            .then(|| format!("meson test -C {folder}")),
        program: format!("./{folder}/… arguments"),
        notes: vec!["Meson takes CC, CFLAGS and LDFLAGS from the environment.".to_owned()],
        ..Recipe::default()
    }))
}

fn autotools(dir: &Path) -> anyhow::Result<Option<Recipe>> {
    let markers = ["configure", "configure.ac", "configure.in"];
    let Some(marker) = markers.into_iter().find(|m| dir.join(m).is_file()) else {
        return Ok(None);
    };
    // A `configure` that someone wrote by hand takes options of its own, but the environment.
    let by_hand = marker == "configure" && !read(&dir.join(marker))?.contains("Autoconf");
    let automake = dir.join("Makefile.am").is_file();
    let template = ["Makefile.in", "Makefile"].map(|name| dir.join(name));
    let rules = match template.iter().find(|path| path.is_file()) {
        Some(path) => Makefile::parse(&read(path)?),
        None => Makefile::default(),
    };
    let mut setup = String::new();
    if marker != "configure" {
        setup += "autoreconf -fi\n";
    }
    setup += match by_hand {
        true => "./configure",
        false => "./configure CC=\"$CC\" CFLAGS=\"$CFLAGS\" LDFLAGS=\"$LDFLAGS\"",
    };
    if automake || rules.has_target("clean") {
        setup += "\nmake clean";
    }
    let target = ["check", "test"].into_iter().find(|t| rules.has_target(t));
    let target = target.or(automake.then_some("check"));
    Ok(Some(Recipe {
        system: if by_hand { "a configure script" } else { "autotools" },
        marker: marker.to_owned(),
        build: once(STAMP, &setup) + "make -j \"$(nproc)\"\n",
        cflags: CFLAGS.to_owned(),
        test: target.map(|t| format!("make {t}")),
        program: "./… arguments".to_owned(),
        notes: match by_hand {
            true => vec!["It takes CC, CFLAGS and LDFLAGS from the environment.".to_owned()],
            false => Vec::new(),
        },
        ..Recipe::default()
    }))
}

fn make(dir: &Path) -> anyhow::Result<Option<Recipe>> {
    // In the order in which make looks.
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let places = [("", "make"), ("src/", "make -C src")];
    let Some((folder, call, marker)) = places.into_iter().find_map(|(folder, call)| {
        let found = names.into_iter().find(|n| dir.join(folder).join(n).is_file())?;
        Some((folder, call, format!("{folder}{found}")))
    }) else {
        return Ok(None);
    };
    let text = read(&dir.join(&marker))?;
    let mut top = Makefile::parse(&text);
    if top.reaches_others() {
        for (path, text) in files(dir, DEPTH_MAX, is_makefile)? {
            if path != marker {
                top.add_other(Makefile::parse(&text));
            }
        }
    }
    let mut flags = MakeFlags::default();
    let cflags = flags.pass(&top, "CFLAGS", CFLAGS);
    let ldflags = flags.pass(&top, "LDFLAGS", "");
    let call = format!("{}{call} CC=\"$CC{}\"", flags.unset, top.compiler_arguments());
    let call = format!("{call}{}", flags.arguments);
    let clean = top.has_target("clean").then(|| {
        let clean = if folder.is_empty() { "make clean" } else { "make -C src clean" };
        once(STAMP, clean)
    });
    let test = ["check", "test"].into_iter().find(|t| top.has_target(t));
    Ok(Some(Recipe {
        system: "make",
        marker,
        build: match clean {
            Some(clean) => format!("{clean}{call}\n"),
            None => call.clone(),
        },
        cflags: with_optimisation(cflags),
        ldflags,
        test: test.map(|t| call.replacen("make", &format!("make {t}"), 1)),
        program: format!("./{folder}… arguments"),
        notes: flags.notes,
    }))
}

/// How flags reach a makefile.
#[derive(Debug, Default)]
struct MakeFlags {
    arguments: String,
    unset: String,
    notes: Vec<String>,
}

impl MakeFlags {
    /// Decides for one variable; returns the flags that go into the configuration.
    fn pass(&mut self, makefile: &Makefile, variable: &str, default: &str) -> String {
        match makefile.passed(variable) {
            Passed::Argument(own) => {
                self.arguments += &format!(" {variable}=\"${variable}\"");
                own.filter(|own| !own.is_empty()).unwrap_or_else(|| default.to_owned())
            }
            Passed::Environment(own) => {
                let why = "the makefile adds to it, and an argument would take that away";
                self.notes.push(format!("{variable} is left to the environment: {why}."));
                own.filter(|own| !own.is_empty()).unwrap_or_else(|| default.to_owned())
            }
            Passed::Never => {
                if self.unset.is_empty() {
                    self.unset = "env ".to_owned();
                }
                self.unset += &format!("-u {variable} ");
                let why = "the makefile computes its own, so that of this file is not used";
                self.notes.push(format!("{variable} is not given: {why}."));
                String::new()
            }
        }
    }
}

/// A build without optimisation lays out nothing, and no hint changes it.
fn with_optimisation(cflags: String) -> String {
    let optimises = cflags.split_whitespace().any(|flag| flag.starts_with("-O"));
    match optimises || cflags.is_empty() {
        true => cflags,
        false => format!("{CFLAGS} {cflags}"),
    }
}

fn plain(dir: &Path) -> anyhow::Result<Option<Recipe>> {
    let here = files(dir, 1, |name| name.ends_with(".c"))?;
    let (programs, parts): (Vec<_>, Vec<_>) = here.iter().partition(|(_, text)| defines_main(text));
    let Some((first, _)) = programs.first() else { return Ok(None) };
    let name = |path: &str| path.trim_end_matches(".c").to_owned();
    let uses = |header: &str| here.iter().any(|(_, text)| text.contains(header));
    let mut libraries = String::new();
    if uses("<math.h>") {
        libraries += " -lm";
    }
    if uses("<pthread.h>") {
        libraries += " -pthread";
    }
    let parts: String = parts.iter().map(|(path, _)| format!(" {}", sh_text(path))).collect();
    let lines: Vec<String> = programs
        .iter()
        .map(|(path, _)| {
            let (source, output) = (sh_text(path), sh_text(&name(path)));
            format!("$CC $CFLAGS -o {output} {source}{parts} $LDFLAGS{libraries}")
        })
        .collect();
    Ok(Some(Recipe {
        system: "a program without build files",
        marker: (*first).clone(),
        build: lines.join(" &&\n"),
        cflags: CFLAGS.to_owned(),
        program: format!("{} arguments", sh_text(&name(first))),
        ..Recipe::default()
    }))
}

/// A definition of `main`: at the start of a line, and not ended as a declaration is.
fn defines_main(text: &str) -> bool {
    let pattern = r"(?m)^[ \t]*(?:(?:int|void)\s+)?main\s*\([^()]*\)\s*[^;\s]";
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(text))
}

/// A file name for sh, which no leading dash makes an option.
fn sh_text(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    match path.chars().all(plain) {
        true => format!("./{path}"),
        false => format!("'./{}'", path.replace('\'', r"'\''")),
    }
}

/// Lines of sh that run `commands` unless they ran in this very folder.
fn once(stamp: &str, commands: &str) -> String {
    let commands: String = commands.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "set -e\n\
         # Once in each copy, which may hold what an older build left:\n\
         if [ \"$(cat {stamp} 2>/dev/null)\" != \"$PWD\" ]; then\n\
         {commands}  echo \"$PWD\" > {stamp}\n\
         fi\n"
    )
}

/// `build`, unless the project keeps something else under that name.
fn build_folder(dir: &Path, proof: &str) -> &'static str {
    let customary = dir.join("build");
    match !customary.exists() || customary.join(proof).exists() {
        true => "build",
        false => "build-unlikely",
    }
}

fn is_makefile(name: &str) -> bool {
    matches!(name, "GNUmakefile" | "makefile" | "Makefile")
        || name == "Makefile.inc"
        || name.ends_with(".mk")
        || name.ends_with(".mak")
}

fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Files below `dir` whose name is `wanted`, with their relative path.
fn files(
    dir: &Path,
    depth_max: usize,
    wanted: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut out = Vec::new();
    let walk = WalkDir::new(dir).follow_links(false).max_depth(depth_max).sort_by_file_name();
    let hidden =
        |e: &walkdir::DirEntry| e.depth() > 0 && e.file_name().as_encoded_bytes()[0] == b'.';
    for entry in walk.into_iter().filter_entry(|e| !hidden(e)).filter_map(Result::ok) {
        if entry.file_type().is_file() && wanted(&entry.file_name().to_string_lossy()) {
            let path = entry.path().strip_prefix(dir).unwrap_or(entry.path());
            out.push((path.to_string_lossy().into_owned(), read(entry.path())?));
        }
    }
    Ok(out)
}

fn any_file(dir: &Path, wanted: impl Fn(&str) -> bool, pattern: &str) -> anyhow::Result<bool> {
    let regex = Regex::new(pattern)?;
    Ok(files(dir, DEPTH_MAX, wanted)?.iter().any(|(_, text)| regex.is_match(text)))
}
