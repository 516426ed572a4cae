//! Arms in shared objects: built with or without a hint, loaded into one process.
//!
//! See the crate `arm` for the entry points. An object is never unloaded: a process of an experiment is
//! short.

use crate::error::ExperimentError;
use crate::experiment::{Arm, Work};
use crate::scatter::scatter;
use arm::PLACES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, OsString, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// One shared object that an experiment needs.
#[derive(Debug, Clone)]
pub struct Build {
    /// Its name among the experiment's.
    pub name: &'static str,
    /// How it is made.
    pub recipe: Recipe,
}

/// How a shared object is made.
#[derive(Debug, Clone)]
pub enum Recipe {
    /// A `cdylib` of this workspace, in release.
    Cargo {
        /// The package.
        package: &'static str,
        /// Its features, comma-separated.
        features: &'static str,
    },
    /// One C file, by `CC` or gcc, at -O2.
    C {
        /// The file, from the workspace's root.
        source: &'static str,
        /// More flags.
        flags: &'static [&'static str],
    },
}

/// The objects of an experiment, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objects(BTreeMap<String, PathBuf>);

impl Objects {
    /// Makes all of `builds` below `folder`, each in one of its own.
    ///
    /// # Errors
    /// The first one that cannot be built. The compiler's words are on standard error.
    pub fn build(builds: &[Build], folder: &Path) -> Result<Self, ExperimentError> {
        let made = builds.iter().map(|build| Ok((build.name.to_owned(), make(build, folder)?)));
        Ok(Self(made.collect::<Result<_, ExperimentError>>()?))
    }

    /// Where the object of this name is.
    ///
    /// # Errors
    /// If the experiment does not build one. A defect of the experiment.
    pub fn path(&self, name: &str) -> Result<&Path, ExperimentError> {
        self.0.get(name).map(PathBuf::as_path).ok_or_else(|| ExperimentError::Build {
            name: name.to_owned(),
            what: "the experiment does not say how".to_owned(),
        })
    }

    /// An arm that runs `scenario` of the object `object`, once at each place.
    ///
    /// # Errors
    /// If the object is missing, cannot be loaded, or does not know the scenario.
    pub fn arm(&self, name: &str, object: &str, scenario: u32) -> Result<Arm, ExperimentError> {
        let object = Object::open(self.path(object)?)?;
        let copy = |place| {
            scatter();
            Ok(Box::new(object.state(scenario, place)?) as Box<dyn Work>)
        };
        Ok(Arm::new(name, (0..PLACES).map(copy).collect::<Result<_, ExperimentError>>()?))
    }

    /// Their names and files.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.0.iter().map(|(name, path)| (&**name, &**path))
    }
}

/// The folder of the workspace that this program was built from: objects are built from its sources, which
/// must still be there.
#[must_use]
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

fn make(build: &Build, folder: &Path) -> Result<PathBuf, ExperimentError> {
    let sources = workspace();
    if !sources.join("Cargo.toml").exists() {
        return Err(ExperimentError::Build {
            name: build.name.to_owned(),
            what: format!(
                "it is built from the sources of this program, which are no longer at {}: put the \
                 checkout back, or install the program from another one (cargo install --path \
                 crates/cli)",
                sources.display()
            ),
        });
    }
    let folder = folder.join(build.name);
    match &build.recipe {
        Recipe::Cargo { package, features } => {
            let said = finished(build, cargo(&sources, package, features, &folder))?;
            built(&said, package).ok_or_else(|| ExperimentError::Build {
                name: build.name.to_owned(),
                what: format!("cargo does not say where the library of {package} is"),
            })
        }
        Recipe::C { source, flags } => {
            std::fs::create_dir_all(&folder).map_err(|error| ExperimentError::Build {
                name: build.name.to_owned(),
                what: error.to_string(),
            })?;
            let object = folder.join("arm.so");
            let mut cc = Command::new(named("CC", "gcc"));
            cc.args(["-O2", "-std=gnu11", "-shared", "-fPIC", "-o"]).arg(&object).args(*flags);
            // A compiler may print; standard output is for figures.
            cc.arg(sources.join(source)).stdout(std::io::stderr());
            finished(build, cc).map(|_| object)
        }
    }
}

/// The command that builds a `cdylib` of the workspace at `sources` below `folder`, and says where it is.
///
/// Cargo names a `cdylib` after its package alone. If two checkouts built into one folder, or two sets of
/// features, it would find each of them built and hand out the one that was built last. So each checkout
/// has a folder of its own, and no setting of the user's moves what is built into one for all. Neither the
/// settings of the folder that the program is started from nor another machine that the user builds for
/// has to do with it.
fn cargo(sources: &Path, package: &str, features: &str, folder: &Path) -> Command {
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    let folder = folder.join(format!("{:016x}", hasher.finish()));
    let mut cargo = Command::new(named("CARGO", "cargo"));
    cargo.current_dir(sources).env_remove("CARGO_BUILD_TARGET");
    cargo.args(["build", "--quiet", "--release", "--package", package, "--features", features]);
    cargo.arg("--manifest-path").arg(sources.join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&folder).env("CARGO_BUILD_BUILD_DIR", &folder);
    cargo.arg("--message-format=json-render-diagnostics");
    cargo
}

/// Where the library of `package` is, by what cargo said of what it made.
fn built(said: &[u8], package: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Artifact {
        target: Target,
        filenames: Vec<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let lines = said.split(|&byte| byte == b'\n');
    // Its other messages have no target, or no files.
    let mut artifacts = lines.filter_map(|line| serde_json::from_slice::<Artifact>(line).ok());
    let library = package.replace('-', "_");
    let of = artifacts.find(|artifact| artifact.target.name == library)?;
    of.filenames.into_iter().find(|file| file.extension().is_some_and(|end| end == "so"))
}

/// The program that a variable names; set to nothing is not set.
fn named(variable: &str, usual: &str) -> OsString {
    std::env::var_os(variable).filter(|name| !name.is_empty()).unwrap_or_else(|| usual.into())
}

/// What `command` printed, once it is done; of cargo, that is for this program.
fn finished(build: &Build, mut command: Command) -> Result<Vec<u8>, ExperimentError> {
    let fail = |what: String| ExperimentError::Build { name: build.name.to_owned(), what };
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| {
        fail(format!(
            "{program} cannot be started: {error}; install it, or set CARGO or CC to one that is"
        ))
    })?;
    if !output.status.success() {
        return Err(fail(format!("{program} failed ({}); its message is above", output.status)));
    }
    Ok(output.stdout)
}

type Open = unsafe extern "C" fn(u32) -> *mut c_void;
type Run = unsafe extern "C" fn(*mut c_void, u32, u64) -> u64;
type Expected = unsafe extern "C" fn(*mut c_void, u64) -> u64;
type Close = unsafe extern "C" fn(*mut c_void);

/// The entry points of a loaded object.
#[derive(Clone, Copy)]
struct Object {
    open: Open,
    run: Run,
    expected: Expected,
    close: Close,
}

impl Object {
    fn open(path: &Path) -> Result<Self, ExperimentError> {
        let fail = |what: String| ExperimentError::Load { path: path.to_owned(), what };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| fail("its path holds a zero byte".to_owned()))?;
        // SAFETY: a string that ends in zero. The objects are this workspace's own, and run nothing
        // when they are loaded.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let handle = NonNull::new(handle).ok_or_else(|| fail(said()))?;
        let symbol = |name: &CStr| -> Result<*mut c_void, ExperimentError> {
            // SAFETY: a handle that is never closed, and a string that ends in zero.
            let address = unsafe { libc::dlsym(handle.as_ptr(), name.as_ptr()) };
            if address.is_null() { Err(fail(said())) } else { Ok(address) }
        };
        // SAFETY: the objects export these symbols with these types: see the crate `arm`.
        unsafe {
            Ok(Self {
                open: std::mem::transmute::<*mut c_void, Open>(symbol(c"arm_open")?),
                run: std::mem::transmute::<*mut c_void, Run>(symbol(c"arm_run")?),
                expected: std::mem::transmute::<*mut c_void, Expected>(symbol(c"arm_expected")?),
                close: std::mem::transmute::<*mut c_void, Close>(symbol(c"arm_close")?),
            })
        }
    }

    fn state(self, scenario: u32, place: u32) -> Result<State, ExperimentError> {
        // SAFETY: any number may be asked for.
        let state = NonNull::new(unsafe { (self.open)(scenario) });
        let state = state.ok_or_else(|| ExperimentError::Malformed {
            comparison: format!("scenario {scenario}"),
            what: "an object does not have it".to_owned(),
        })?;
        Ok(State { object: self, place, state: Mutex::new(Owned(state)) })
    }
}

/// The loader's last words.
fn said() -> String {
    // SAFETY: gives null or a string that lives until the thread's next call of the loader.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader does not say why".to_owned();
    }
    // SAFETY: it is not null, so it is such a string.
    let text = unsafe { CStr::from_ptr(text) };
    OsStr::from_bytes(text.to_bytes()).to_string_lossy().into_owned()
}

/// A state that only this owner uses.
struct Owned(NonNull<c_void>);

// SAFETY: the states of objects are not bound to a thread, and this is the only pointer to one.
unsafe impl Send for Owned {}

/// A state of an object, and the place at which it runs.
struct State {
    object: Object,
    place: u32,
    state: Mutex<Owned>,
}

impl State {
    fn with<T>(&self, then: impl FnOnce(*mut c_void) -> T) -> T {
        // A panic inside an object ends the process: there is none to be afraid of here.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        then(state.0.as_ptr())
    }
}

impl Work for State {
    fn begin(&self, _: u32) {}

    fn run(&self, operations: u64) -> u64 {
        // SAFETY: the state is live until `self` is dropped, and locked.
        self.with(|state| unsafe { (self.object.run)(state, self.place, operations) })
    }

    fn check(&self, operations: u64, seen: &[u64]) -> Result<(), String> {
        // SAFETY: as in `run`.
        let expected = self.with(|state| unsafe { (self.object.expected)(state, operations) });
        match seen.iter().find(|&&one| one != expected) {
            None => Ok(()),
            Some(one) => Err(format!("its operations add up to {one} and not to {expected}")),
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: the state is live, and nobody has it after this.
        self.with(|state| unsafe { (self.object.close)(state) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_of_ours_is_told_with_its_path() {
        let refused = |path: &str| {
            let Err(error) = Object::open(Path::new(path)) else { panic!("{path} was loaded") };
            error.to_string()
        };
        assert!(refused("/nowhere/arm.so").contains("/nowhere/arm.so"));
        let libc = refused("libc.so.6");
        assert!(libc.contains("arm_open"), "{libc}");
        assert!(refused("a\0b").contains("zero byte"));
    }

    #[test]
    fn an_object_is_built_loaded_run_and_checked() {
        let folder = std::env::temp_dir().join(format!("unlikely-arm-{}", std::process::id()));
        let source = "experiments/harness/tests/fixtures/arm.c";
        let recipe = Recipe::C { source, flags: &["-Wall", "-Werror"] };
        let objects = Objects::build(&[Build { name: "small", recipe }], &folder).unwrap();
        let right = objects.arm("right", "small", 0).unwrap();
        assert_eq!(right.copies.len(), PLACES as usize);
        let mut seen: Vec<u64> = Vec::new();
        for copy in &right.copies {
            copy.begin(1);
            seen.push(copy.run(10));
            assert_eq!(copy.check(10, &seen[seen.len() - 1..]), Ok(()));
        }
        assert_eq!(seen, [1_000_010, 2_000_010, 4_000_010, 8_000_010]);
        let wrong = objects.arm("wrong", "small", 1).unwrap();
        let seen = wrong.copies[0].run(10);
        let said = wrong.copies[0].check(10, &[seen]).unwrap_err();
        assert_eq!(said, "its operations add up to 1000009 and not to 1000010");
        let Err(unknown) = objects.arm("unknown", "small", 2) else { panic!("opened") };
        assert!(unknown.to_string().contains("scenario 2"), "{unknown}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// A checkout of one package, whose object returns `value`.
    fn checkout(folder: &Path, value: u32) -> PathBuf {
        let manifest = "[package]\nname = \"one-arm\"\nedition = \"2024\"\n[lib]\n\
                        crate-type = [\"cdylib\"]\n[features]\nmore = []\n[workspace]\n";
        let code = format!(
            "#[unsafe(no_mangle)] pub extern \"C\" fn value() -> u32 {{\n\
             if cfg!(feature = \"more\") {{ {value} + 1000 }} else {{ {value} }} }}\n"
        );
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        std::fs::write(folder.join("src/lib.rs"), code).unwrap();
        folder.to_owned()
    }

    #[test]
    fn two_checkouts_that_build_into_one_folder_have_each_its_own_object() {
        let folder = std::env::temp_dir().join(format!("unlikely-two-{}", std::process::id()));
        let [one, two] = [("one", 11), ("it's two", 22)].map(|(n, v)| checkout(&folder.join(n), v));
        let recipe = Recipe::Cargo { package: "one-arm", features: "" };
        let build = Build { name: "small", recipe };
        let object = |sources: &Path, features: &str| {
            let into = folder.join("objects").join(features);
            let said = finished(&build, cargo(sources, "one-arm", features, &into)).unwrap();
            let object = built(&said, "one-arm").unwrap();
            assert!(object.starts_with(&into), "{}", object.display());
            std::fs::read(object).unwrap()
        };
        let first = object(&one, "");
        let others = [object(&two, ""), object(&one, "more")];
        assert!(!others.contains(&first));
        assert!(object(&one, "") == first, "not what the other one built");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_object_that_cannot_be_built_names_the_compiler() {
        let folder = std::env::temp_dir().join(format!("unlikely-object-{}", std::process::id()));
        let recipe = Recipe::C { source: "no/such/file.c", flags: &[] };
        let error = Objects::build(&[Build { name: "none", recipe }], &folder).unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.to_string().contains("failed (exit status"), "{error}");
        assert!(Objects::default().path("other").unwrap_err().to_string().contains("other"));
    }
}
