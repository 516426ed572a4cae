//! Collectors: a build that counts, and the counts of one workload.

pub(crate) mod gcov;
pub(crate) mod import;
pub(crate) mod llvm;

use std::path::{Path, PathBuf};

use unlikely_profile::{Diagnostic, Profile};
use walkdir::WalkDir;

use crate::project::is_inside;

/// Keeps the files below the tree, under their path relative to it.
fn relative_to(tree: &Path, mut profile: Profile) -> Profile {
    profile.map_paths(&[(tree.display().to_string(), String::new())]);
    profile.files.retain(|path, _| is_inside(path));
    profile
}

/// Every file below `folder` that `wanted` picks, in a stable order.
fn files_below(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    WalkDir::new(folder)
        .follow_links(false)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|e| e.file_type().is_file() && wanted(e.path()))
        .map(walkdir::DirEntry::into_path)
        .collect()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

/// Counts and what was said on the way.
pub(crate) type Counted = (Profile, Vec<Diagnostic>);
