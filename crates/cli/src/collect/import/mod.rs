//! Reading counts that were recorded elsewhere.
//!
//! What a file is, its first bytes tell; names are only believed where a folder is searched. Raw
//! GCC files are read by this project's own reader and never by the `gcov` that happens to be
//! installed: it need not be the release that wrote them, and its JSON loses where each arc leads,
//! which is what tells the direction of a branch. For a release that the reader does not know, the
//! diagnostic asks for the JSON of that release's own gcov.
//!
//! Only what the user named is opened: files, and what lies below folders. The paths inside a
//! profile are names to join with the project's text, nothing more.

mod kind;
mod numbering;
mod pair;
mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use unlikely_profile::{
    Diagnostic, Profile, Severity, gcda, gcno, gcov_json, lcov, llvm_cov, site_counts,
};

use super::{Counted, files_below};
use crate::exit::{Exit, fail};
pub(crate) use kind::Kind;
pub(crate) use numbering::is_misnumbered;
pub(crate) use paths::{Joined, Mapping, Moved, into_project};

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// Largest gzipped one; a reader lets it grow a hundredfold.
const GZIP_BYTES_MAX: u64 = 32 << 20;

/// Everything that the named paths hold.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) profile: Profile,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// Each kind of profile that was read, with the number of files.
    pub(crate) kinds: Vec<(Kind, usize)>,
    /// Raw GCC notes, which wait for the data that belong to them.
    notes: Vec<pair::Notes>,
    data: Vec<pair::Data>,
    /// Which kind told of each source file.
    tellers: BTreeMap<String, Kind>,
    told_twice: BTreeSet<String>,
}

/// Reads the files, and the profiles below the folders, that the user named.
///
/// # Errors
/// When a named path is not there. What is there and cannot be used is a diagnostic.
pub(crate) fn read(named: &[PathBuf]) -> anyhow::Result<Inputs> {
    let mut inputs = Inputs::default();
    for path in named {
        let about = path.metadata().map_err(|error| {
            let message =
                format!("{}: {error}; name a profile or a folder of them", path.display());
            fail(Exit::Usage, message)
        })?;
        match about.is_dir() {
            true => inputs.folder(path),
            false => inputs.file(path),
        }
    }
    inputs.raw_gcc();
    inputs.report_told_twice();
    Ok(inputs)
}

impl Inputs {
    fn folder(&mut self, folder: &Path) {
        let has = |path: &Path, end: &str| path.to_string_lossy().ends_with(end);
        let raw = files_below(folder, |p| has(p, ".gcda") || has(p, ".gcno"));
        let made = files_below(folder, |p| has(p, ".gcov.json.gz") || has(p, ".gcov.json"));
        let with_data = raw.iter().any(|path| has(path, ".gcda"));
        // gcov leaves its JSON beside the data it was made from; both would count everything twice.
        let chosen = if with_data || made.is_empty() { &raw } else { &made };
        if with_data && !made.is_empty() {
            let message = format!(
                "{} gcov JSON files stand beside .gcda files and are left out, as they tell the \
                 same runs again: name them to import them too",
                made.len()
            );
            self.say(Severity::Note, "json-left-out", message, folder);
        }
        if chosen.is_empty() {
            let message = "holds no .gcda, no .gcno and no .gcov.json.gz: name the files of other \
                           kinds one by one";
            self.say(Severity::Error, "nothing-here", message.to_owned(), folder);
        }
        for path in chosen {
            self.file(path);
        }
    }

    fn file(&mut self, path: &Path) {
        let bytes = match contents(path) {
            Ok(bytes) => bytes,
            Err(why) => return self.say(Severity::Error, "unreadable", why, path),
        };
        let name = path.display().to_string();
        match kind::of(&bytes) {
            Ok(Kind::GccNotes) => self.notes.push(pair::Notes::new(path, bytes)),
            Ok(Kind::GccData) => self.data.push(pair::Data::new(path, bytes)),
            Ok(kind) => {
                let counted = match kind {
                    Kind::LlvmCov => llvm_cov::read(&bytes, &name),
                    Kind::Lcov => lcov::read(&bytes, &name),
                    Kind::SiteCounts => site_counts::read(&bytes, &name),
                    _ => gcov_json::read(&bytes, &name),
                };
                self.add(kind, counted);
            }
            Err(remedy) => self.say(Severity::Error, "unknown-kind", remedy.to_owned(), path),
        }
    }

    /// Brings data and notes together, now that all of them are known.
    fn raw_gcc(&mut self) {
        let data = std::mem::take(&mut self.data);
        let mut notes = std::mem::take(&mut self.notes);
        self.notes_beside(&data, &mut notes);
        let mut used = vec![false; notes.len()];
        for one in &data {
            let name = one.path.display().to_string();
            let graphs = pair::find(one, &notes).map(|index| {
                used[index] = true;
                let notes = &notes[index];
                let (graphs, said) = gcno::read(&notes.bytes, &notes.path.display().to_string());
                self.diagnostics.extend(said);
                graphs
            });
            self.add(Kind::GccData, gcda::merge(graphs.as_ref(), &one.bytes, &name));
        }
        let unused = used.iter().filter(|used| !**used).count();
        if let Some(first) = notes.iter().zip(&used).find(|(_, used)| !**used) {
            let message = format!(
                "{unused} .gcno without a .gcda of the same build: their code did not run, or the \
                 program did not end normally; it counts as not measured"
            );
            self.say(Severity::Note, "gcda-missing", message, &first.0.path);
        }
    }

    /// A `.gcda` that was named alone belongs to the `.gcno` beside it.
    fn notes_beside(&mut self, data: &[pair::Data], notes: &mut Vec<pair::Notes>) {
        for one in data {
            let path = one.path.with_extension("gcno");
            if notes.iter().any(|n| n.path == path) || !path.is_file() {
                continue;
            }
            match contents(&path) {
                Ok(bytes) => notes.push(pair::Notes::new(&path, bytes)),
                Err(why) => self.say(Severity::Error, "unreadable", why, &path),
            }
        }
    }

    fn add(&mut self, kind: Kind, (profile, diagnostics): Counted) {
        match self.kinds.iter_mut().find(|(k, _)| *k == kind) {
            Some((_, files)) => *files += 1,
            None => self.kinds.push((kind, 1)),
        }
        for path in profile.files.keys() {
            if *self.tellers.entry(path.clone()).or_insert(kind) != kind {
                self.told_twice.insert(path.clone());
            }
        }
        self.profile.merge(profile);
        self.diagnostics.extend(diagnostics);
    }

    fn report_told_twice(&mut self) {
        if let Some(first) = self.told_twice.first() {
            let message = format!(
                "{} source files ({first} …) are counted by profiles of two kinds, and the counts \
                 are added; if both tell the same runs, import one of them only",
                self.told_twice.len()
            );
            self.diagnostics.push(Diagnostic::new(
                Severity::Warning,
                "told-twice",
                message,
                Some(first),
            ));
        }
    }

    fn say(&mut self, severity: Severity, code: &str, message: String, path: &Path) {
        let path = path.display().to_string();
        let message = format!("{path}: {message}");
        self.diagnostics.push(Diagnostic::new(severity, code, message, Some(&path)));
    }
}

/// The bytes of a plain file of bearable size, or why not.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("{error}; this file is set aside"))?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("no plain file: name a profile or a folder of them".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{error}; this file is set aside"))?;
    let len = bytes.len() as u64;
    let len_max = if kind::is_gzip(&bytes) { GZIP_BYTES_MAX } else { FILE_BYTES_MAX };
    if len > len_max {
        return Err(format!(
            "more than {} MiB are not read: export less at a time (one program, or one folder)",
            len_max >> 20
        ));
    }
    Ok(bytes)
}
