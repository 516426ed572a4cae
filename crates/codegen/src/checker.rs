//! Compiles units with and without edits, and compares.
//!
//! Each version is first compiled by the project's own command. Only if the machine code differs
//! are both compiled again with a line table, and that one is used only if it left the code as it
//! was: compilers promise so, and it is checked each time.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use blake3::Hash;
use rayon::prelude::*;

use crate::anchors::anchors;
use crate::cache::{Cache, Key, lock};
use crate::code::Code;
use crate::command::{Command, Product, plain, rule_files};
use crate::compare::{Version, functions, identical, padding_only, sizes, within_blocks};
use crate::delta::{CodeDelta, SizePair};
use crate::error::{CheckError, ObjectError};
use crate::lines::Lines;
use crate::moved::Moves;
use crate::object::Image;
use crate::run::{Outcome, run};
use crate::site::Wanted;
use crate::unit::{Edit, SiteQuery, TREE_PLACEHOLDER, Unit};
use crate::worker::{Worker, Workers, inside};

/// Longest run of the compiler, in seconds.
pub const COMPILE_SECONDS_MAX: u64 = 300;

/// Compiles and compares in private copies of one tree.
#[derive(Debug)]
pub struct Checker {
    workers: Workers,
    threads: rayon::ThreadPool,
    cache: Cache,
    scratch: PathBuf,
    /// `--version` of each compiler.
    versions: Mutex<HashMap<String, Arc<str>>>,
    /// What each unit reads as it stands.
    sources: Mutex<HashMap<Unit, Arc<Sources>>>,
}

/// The files a unit reads.
#[derive(Debug)]
struct Sources {
    /// Those of the project, relative to the tree, sorted.
    project: Vec<String>,
    /// Those of the original tree that the worker's copy does not stand in for.
    absolute: BTreeSet<String>,
    /// The compile's key, see [`crate::cache`].
    key: Hash,
}

/// Which version of the unit is at hand, as errors name it.
const AS_IS: &str = "as it stands";
const HINTED: &str = "with the hint";

/// One unit in one worker's copy.
struct Job<'a> {
    checker: &'a Checker,
    worker: &'a Worker<'a>,
    unit: &'a Unit,
    command: &'a Command,
}

impl Checker {
    /// Makes `workers` private copies of `tree` under `scratch`, and keeps results in
    /// `scratch/cache`. Copies of an earlier run are made afresh, its results used again.
    ///
    /// # Errors
    /// If the tree cannot be copied.
    pub fn new(tree: &Path, scratch: &Path, workers: usize) -> Result<Self, CheckError> {
        let pool = Workers::new(tree, scratch, workers)?;
        let failed = |action| {
            let path = scratch.to_owned();
            move |source| CheckError::File { action, path, source }
        };
        let scratch = scratch.canonicalize().map_err(failed("find"))?;
        let cache = Cache::new(scratch.join("cache")).map_err(failed("create the cache in"))?;
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(workers.max(1))
            .build()
            .map_err(|e| failed("start threads for")(io::Error::other(e)))?;
        let (versions, sources) = (Mutex::default(), Mutex::default());
        Ok(Self { workers: pool, threads, cache, scratch, versions, sources })
    }

    /// The project's files that `unit` reads, relative to the tree, sorted; its source is one.
    ///
    /// # Errors
    /// If the command is unusable or the compiler refuses the unit.
    pub fn dependencies(&self, unit: &Unit) -> Result<Vec<String>, CheckError> {
        let command = Command::new(unit)?;
        let worker = self.workers.lend();
        let job = Job { checker: self, worker: &worker, unit, command: &command };
        Ok(job.sources_as_is()?.project.clone())
    }

    /// Compiles `unit` as it stands and with `edit`, and compares the machine code.
    ///
    /// `site` is the condition in question, as it lies before the edit; its counts are taken as
    /// executions in this unit.
    ///
    /// # Errors
    /// If either version does not compile to a comparable object, or the edit does not reach the
    /// unit.
    pub fn check(
        &self,
        unit: &Unit,
        edit: &Edit,
        site: &SiteQuery,
    ) -> Result<CodeDelta, CheckError> {
        inside(&edit.file)?;
        let command = Command::new(unit)?;
        let worker = self.workers.lend();
        let job = Job { checker: self, worker: &worker, unit, command: &command };
        let before = job.sources_as_is()?;
        before.reach(unit, &edit.file)?;
        let after = {
            let _edited = worker.edit(&edit.file, &edit.text)?;
            job.sources(HINTED)?
        };
        let question = serde_json::to_vec(site).unwrap_or_default();
        let mut key = Key::new("delta");
        key.add(before.key.as_bytes()).add(after.key.as_bytes()).add(question);
        let key = key.finish();
        if let Some(delta) = self.cache.delta(key) {
            return Ok(delta);
        }
        let delta = job.compare(&before, edit, site)?;
        self.cache.keep_delta(key, &delta).map_err(self.in_cache())?;
        Ok(delta)
    }

    /// [`Checker::check`] on many, one at a time in each worker's copy; results in order.
    pub fn check_all(
        &self,
        jobs: &[(Unit, Edit, SiteQuery)],
    ) -> Vec<Result<CodeDelta, CheckError>> {
        self.threads.install(|| jobs.par_iter().map(|(u, e, s)| self.check(u, e, s)).collect())
    }

    /// Whether `unit` compiles to the same blocks in the same order with either set of edits, what is
    /// within them and alignment padding aside: what tells a hint that adds nothing to others from one that does.
    ///
    /// # Errors
    /// As [`Checker::check`]; edits of files that the unit does not read are allowed and change
    /// nothing.
    pub fn same_code(&self, unit: &Unit, a: &[Edit], b: &[Edit]) -> Result<bool, CheckError> {
        let command = Command::new(unit)?;
        let worker = self.workers.lend();
        let job = Job { checker: self, worker: &worker, unit, command: &command };
        let objects = (job.edited(a)?, job.edited(b)?);
        let images = (job.image(&objects.0)?, job.image(&objects.1)?);
        let (a, b) = (job.code(&images.0)?, job.code(&images.1)?);
        Ok(identical(&a, &b) || within_blocks(&a, &b))
    }

    /// The whole of `program --version`.
    fn version(&self, program: &str, dir: &Path) -> Result<Arc<str>, CheckError> {
        if let Some(known) = lock(&self.versions).get(program) {
            return Ok(known.clone());
        }
        let outcome = start(program, &["--version".into()], dir)?;
        let version: Arc<str> = String::from_utf8_lossy(&outcome.stdout).into();
        lock(&self.versions).insert(program.to_owned(), version.clone());
        Ok(version)
    }

    fn in_cache(&self) -> impl FnOnce(io::Error) -> CheckError {
        let path = self.scratch.join("cache");
        move |source| CheckError::File { action: "write to", path, source }
    }
}

impl Sources {
    fn reach(&self, unit: &Unit, file: &str) -> Result<(), CheckError> {
        let file = plain(Path::new(file)).to_string_lossy().into_owned();
        let unit = unit.source.clone();
        if self.absolute.contains(&file) {
            Err(CheckError::Absolute { unit, file })
        } else if self.project.contains(&file) {
            Ok(())
        } else {
            Err(CheckError::NotIncluded { unit, file })
        }
    }
}

impl Job<'_> {
    fn sources_as_is(&self) -> Result<Arc<Sources>, CheckError> {
        let known = lock(&self.checker.sources).get(self.unit).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = Arc::new(self.sources(AS_IS)?);
        lock(&self.checker.sources).insert(self.unit.clone(), found.clone());
        Ok(found)
    }

    /// The folder the command runs in.
    fn dir(&self) -> Result<PathBuf, CheckError> {
        match self.unit.dir.as_str() {
            "" => Ok(self.worker.root.clone()),
            dir => Ok(self.worker.root.join(inside(dir)?)),
        }
    }

    /// The compiler; it may be a program of the tree.
    fn program(&self) -> String {
        self.command.program.replace(TREE_PLACEHOLDER, &self.worker.root.to_string_lossy())
    }

    fn sources(&self, version: &'static str) -> Result<Sources, CheckError> {
        let dir = self.dir()?;
        let rule = self.product(Product::Dependencies, version)?;
        let checker = self.checker;
        let mut key = Key::new("compile");
        key.add(checker.version(&self.program(), &dir)?.as_bytes());
        key.add(checker.workers.original.as_os_str().as_encoded_bytes()).add(&self.unit.dir);
        self.command.identity().for_each(|part| {
            key.add(part);
        });
        let mut project = BTreeSet::new();
        let mut absolute = BTreeSet::new();
        let mut files = rule_files(&String::from_utf8_lossy(&rule));
        let root = self.worker.root.to_string_lossy();
        files.extend(self.command.response_files().map(|f| f.replace(TREE_PLACEHOLDER, &root)));
        for file in files {
            let path = plain(&dir.join(file));
            let failed = |source| CheckError::File { action: "read", path: path.clone(), source };
            if let Ok(relative) = path.strip_prefix(&self.worker.root) {
                let relative = relative.to_string_lossy().into_owned();
                key.add(&relative).add(fs::read(&path).map_err(failed)?);
                project.insert(relative);
            } else {
                key.add(path.as_os_str().as_encoded_bytes());
                key.add(checker.cache.outside(&path).map_err(failed)?.as_bytes());
                if let Ok(relative) = path.strip_prefix(&checker.workers.original) {
                    absolute.insert(relative.to_string_lossy().into_owned());
                }
            }
        }
        Ok(Sources { project: project.into_iter().collect(), absolute, key: key.finish() })
    }

    /// Runs the compiler on what the worker's copy holds now.
    fn product(&self, product: Product, version: &'static str) -> Result<Vec<u8>, CheckError> {
        let scratch = &self.checker.scratch;
        let failed =
            |source| CheckError::File { action: "write in", path: scratch.clone(), source };
        // All that the compiler writes beside its output lands in this folder too.
        let folder = tempfile::tempdir_in(scratch).map_err(failed)?;
        let output = folder.path().join("unit.o");
        let original = &self.checker.workers.original;
        let args = self.command.arguments(&self.worker.root, original, product, &output);
        let outcome = start(&self.program(), &args, &self.dir()?)?;
        let unit = self.unit.source.clone();
        if outcome.timed_out {
            return Err(CheckError::Timeout { unit, seconds: COMPILE_SECONDS_MAX });
        }
        match fs::read(&output) {
            Ok(bytes) if outcome.success => Ok(bytes),
            _ => {
                let stderr = String::from_utf8_lossy(&outcome.stderr).trim_end().to_owned();
                Err(CheckError::Compile { unit, version, stderr })
            }
        }
    }

    /// The object of the unit as it stands, compiled once.
    fn baseline(&self, sources: &Sources, product: Product) -> Result<Vec<u8>, CheckError> {
        let mut key = Key::new("object");
        key.add(sources.key.as_bytes()).add([u8::from(product == Product::ObjectWithLines)]);
        let key = key.finish();
        let making = self.checker.cache.making(key);
        let _alone = lock(&making);
        if let Some(object) = self.checker.cache.object(key) {
            return Ok(object);
        }
        let object = self.product(product, AS_IS)?;
        self.checker.cache.keep_object(key, &object).map_err(self.checker.in_cache())?;
        Ok(object)
    }

    fn hinted(&self, edit: &Edit, product: Product) -> Result<Vec<u8>, CheckError> {
        let _edited = self.worker.edit(&edit.file, &edit.text)?;
        self.product(product, HINTED)
    }

    /// The object of the unit with several files edited at once.
    fn edited(&self, edits: &[Edit]) -> Result<Vec<u8>, CheckError> {
        let in_effect: Result<Vec<_>, _> =
            edits.iter().map(|e| self.worker.edit(&e.file, &e.text)).collect();
        let _in_effect = in_effect?;
        self.product(Product::Object, HINTED)
    }

    fn compare(
        &self,
        sources: &Sources,
        edit: &Edit,
        site: &SiteQuery,
    ) -> Result<CodeDelta, CheckError> {
        let objects =
            (self.baseline(sources, Product::Object)?, self.hinted(edit, Product::Object)?);
        let images = (self.image(&objects.0)?, self.image(&objects.1)?);
        let (before, after) = (self.code(&images.0)?, self.code(&images.1)?);
        let (hot_before, cold_before) = sizes(&before);
        let (hot_after, cold_after) = sizes(&after);
        let version = self.checker.version(&self.program(), &self.dir()?)?;
        let mut delta = CodeDelta {
            unit: self.unit.source.clone(),
            compiler: version.lines().next().unwrap_or("").to_owned(),
            arch: images.0.arch.name().to_owned(),
            identical: identical(&before, &after),
            padding_only: false,
            within_blocks: false,
            hot_bytes: SizePair { before: hot_before, after: hot_after },
            cold_bytes: SizePair { before: cold_before, after: cold_after },
            functions: Vec::new(),
            notes: self.command.notes.clone(),
        };
        if !delta.identical {
            delta.padding_only = padding_only(&before, &after);
            delta.within_blocks = !delta.padding_only && within_blocks(&before, &after);
            self.explain(sources, edit, site, (&before, &after), &mut delta)?;
        }
        Ok(delta)
    }

    /// Compiles both versions with line tables and says which functions differ and how.
    fn explain(
        &self,
        sources: &Sources,
        edit: &Edit,
        site: &SiteQuery,
        plain: (&Code<'_>, &Code<'_>),
        delta: &mut CodeDelta,
    ) -> Result<(), CheckError> {
        let objects = (
            self.baseline(sources, Product::ObjectWithLines)?,
            self.hinted(edit, Product::ObjectWithLines)?,
        );
        let images = (self.image(&objects.0)?, self.image(&objects.1)?);
        let lined = (self.code(&images.0)?, self.code(&images.1)?);
        if !identical(plain.0, &lined.0) || !identical(plain.1, &lined.1) {
            delta.notes.push(
                "with -g the compiler made other code, so moved blocks and taken branches are not told"
                    .to_owned(),
            );
            let version = |code| Version { code, lines: None };
            delta.functions = functions(&version(plain.0), &version(plain.1));
            return Ok(());
        }
        let original = &self.checker.workers.original;
        let dir = original.join(&self.unit.dir);
        let read = |image| Lines::parse(image, &dir).map_err(|e| self.object_error(e));
        let files_named = |lines: &Lines, site: &SiteQuery| lines.files_named(original, &site.file);
        let tables = (read(&images.0)?, read(&images.1)?);
        let (text, edited) = self.texts(edit, site)?;
        let site_after = Moves::new(&text, &edited).site(site);
        let version = |code, lines, site: SiteQuery, text: &[u8]| {
            let (anchors, files) = (anchors(text, &site), files_named(lines, &site));
            Version { code, lines: Some((lines, Wanted { site, anchors, files })) }
        };
        delta.functions = functions(
            &version(&lined.0, &tables.0, site.clone(), &text),
            &version(&lined.1, &tables.1, site_after, &edited),
        );
        if !delta.functions.iter().any(|f| f.hot_taken.is_some()) {
            delta.notes.push(
                "the condition's machine branch or its direction could not be told from the line table"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The text of the site's file before and after the edit.
    fn texts(&self, edit: &Edit, site: &SiteQuery) -> Result<(Vec<u8>, Vec<u8>), CheckError> {
        let path = self.worker.root.join(inside(&site.file)?);
        let old =
            fs::read(&path).map_err(|source| CheckError::File { action: "read", path, source })?;
        let same = plain(Path::new(&edit.file)) == plain(Path::new(&site.file));
        let new = if same { edit.text.clone() } else { old.clone() };
        Ok((old, new))
    }

    fn image<'o>(&self, object: &'o [u8]) -> Result<Image<'o>, CheckError> {
        Image::parse(object).map_err(|e| self.object_error(e))
    }

    fn code<'i>(&self, image: &'i Image<'i>) -> Result<Code<'i>, CheckError> {
        Code::new(image).map_err(|e| self.object_error(e))
    }

    fn object_error(&self, source: ObjectError) -> CheckError {
        CheckError::Object { unit: self.unit.source.clone(), source }
    }
}

fn start(program: &str, args: &[OsString], dir: &Path) -> Result<Outcome, CheckError> {
    run(program, args, dir, Duration::from_secs(COMPILE_SECONDS_MAX))
        .map_err(|source| CheckError::Spawn { program: program.to_owned(), source })
}
