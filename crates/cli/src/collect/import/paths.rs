//! From the paths that a profile names to those of the project's files.
//!
//! A profile names files of the machine, the container and the folder it was recorded in. First
//! the user's own `--map` is applied, then what lies below the project's folder is made relative to
//! it. What is left names no file of the project; if that is all, the folders that must have moved
//! are found by comparing the ends of paths.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use unlikely_profile::{Profile, clean_path};

use crate::project::is_inside;

/// `FROM=TO` of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    from: String,
    to: String,
}

impl FromStr for Mapping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, to) = text.split_once('=').ok_or("expected FROM=TO, such as /build/src=.")?;
        Ok(Self { from: from.to_owned(), to: to.to_owned() })
    }
}

/// What became of a profile's paths.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The counts of the project's files, and of files that should be there.
    pub(crate) profile: Profile,
    /// How many files of the project have counts.
    pub(crate) matched: usize,
    /// What was left out, by the folder that must have moved.
    pub(crate) unmatched: Vec<Moved>,
}

/// Files that the project does not have under the path named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    /// What their paths start with; empty if they are relative.
    pub(crate) prefix: String,
    pub(crate) files: usize,
    /// The folder of the project where files of the same names stand.
    pub(crate) here: Option<String>,
}

impl Moved {
    /// The option that would mend it.
    pub(crate) fn remedy(&self) -> Option<String> {
        self.here.as_ref().map(|here| format!("--map {}={here}", self.prefix))
    }
}

/// Gives the files of `profile` their paths in the project, which stands at `roots` (its own path,
/// and the one without links) and has `sources`.
pub(crate) fn into_project<T>(
    mut profile: Profile,
    mappings: &[Mapping],
    roots: &[&Path],
    sources: &BTreeMap<String, T>,
) -> Joined {
    let own: Vec<_> = mappings.iter().map(|m| (m.from.clone(), m.to.clone())).collect();
    profile.map_paths(&own);
    let roots: Vec<_> = roots.iter().map(|r| (r.display().to_string(), String::new())).collect();
    profile.map_paths(&roots);
    let strangers: Vec<&String> =
        profile.files.keys().filter(|path| !sources.contains_key(*path)).collect();
    let unmatched = moved(&strangers, sources);
    let matched = profile.files.len() - strangers.len();
    profile.files.retain(|path, _| is_inside(path));
    Joined { profile, matched, unmatched }
}

/// The folders that `strangers` stand in, the most frequent first.
fn moved<T>(strangers: &[&String], sources: &BTreeMap<String, T>) -> Vec<Moved> {
    let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in sources.keys() {
        by_name.entry(file_name(path)).or_default().push(path);
    }
    let mut counted: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    for path in strangers {
        let alike = by_name.get(file_name(path)).into_iter().flatten();
        let best = alike.max_by_key(|here| common_end(path, here));
        let place = match best {
            Some(here) => {
                let end = common_end(path, here);
                let here = folder(here, end);
                (folder(path, end), Some(if here.is_empty() { ".".to_owned() } else { here }))
            }
            None => (folder(path, 1), None),
        };
        *counted.entry(place).or_default() += 1;
    }
    let mut out: Vec<Moved> =
        counted.into_iter().map(|((prefix, here), files)| Moved { prefix, files, here }).collect();
    // A folder that can be mapped says more than one that cannot.
    out.sort_by_key(|m| (m.here.is_none(), std::cmp::Reverse(m.files)));
    out
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How many components two paths have in common at their ends.
fn common_end(a: &str, b: &str) -> usize {
    a.rsplit('/').zip(b.rsplit('/')).take_while(|(a, b)| a == b && !a.is_empty()).count()
}

/// `path` without its last `components`; empty if that is all of a relative one.
fn folder(path: &str, components: usize) -> String {
    let mut rest = path;
    for _ in 0..components {
        match rest.rsplit_once('/') {
            Some(("", _)) => return "/".to_owned(),
            Some((head, _)) => rest = head,
            None => return String::new(),
        }
    }
    clean_path(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unlikely_profile::FileProfile;

    const SOURCES: [&str; 4] = ["main.c", "src/a.c", "src/b.c", "lib/a.c"];

    fn join(paths: &[&str], map: &[&str]) -> (Vec<String>, usize, Vec<Moved>) {
        let files = paths.iter().map(|p| ((*p).to_owned(), FileProfile::default())).collect();
        let sources = SOURCES.iter().map(|p| ((*p).to_owned(), ())).collect();
        let map: Vec<Mapping> = map.iter().map(|m| m.parse().unwrap()).collect();
        let roots = [Path::new("/home/u/link"), Path::new("/data/proj")];
        let joined = into_project(Profile { files }, &map, &roots, &sources);
        (joined.profile.files.into_keys().collect(), joined.matched, joined.unmatched)
    }

    #[test]
    fn paths_below_the_project_become_relative() {
        let (paths, matched, unmatched) = join(
            &["/data/proj/src/../main.c", "/home/u/link/src/a.c", "./src/b.c", "/usr/include/x.h"],
            &[],
        );
        assert_eq!(paths, ["main.c", "src/a.c", "src/b.c"]);
        assert_eq!(matched, 3);
        assert_eq!(unmatched.len(), 1);
        assert_eq!(unmatched[0].remedy(), None, "no file of the project has this name");
    }

    #[test]
    fn the_users_map_comes_first_and_may_name_the_project_absolutely() {
        for map in ["/build=.", "/build=", "/build/=/data/proj"] {
            assert_eq!(join(&["/build/src/a.c"], &[map]).0, ["src/a.c"], "{map}");
        }
        assert_eq!(join(&["/data/proj/old/a.c"], &["/data/proj/old=src"]).0, ["src/a.c"]);
        assert!("/build".parse::<Mapping>().is_err());
    }

    #[test]
    fn nothing_outside_the_project_is_kept() {
        let (paths, matched, _) = join(&["../main.c", "/etc/passwd", "/data/proj/../x.c"], &[]);
        assert_eq!((paths.len(), matched), (0, 0));
    }

    #[test]
    fn the_map_that_would_mend_it_is_named() {
        let (_, matched, unmatched) = join(
            &["/w/x/src/a.c", "/w/x/src/b.c", "/w/x/main.c", "/w/x/lib/a.c", "/usr/include/q.h"],
            &[],
        );
        assert_eq!(matched, 0);
        assert_eq!(unmatched[0].remedy().as_deref(), Some("--map /w/x=."));
        assert_eq!((unmatched[0].files, unmatched.len()), (4, 2));
        let (_, _, unmatched) = join(&["/w/flat/b.c"], &[]);
        assert_eq!(unmatched[0].remedy().as_deref(), Some("--map /w/flat=src"));
        let (_, _, unmatched) = join(&["b.c"], &[]);
        assert_eq!(unmatched[0].remedy().as_deref(), Some("--map =src"), "relative paths");
        assert_eq!(join(&["b.c"], &["=src"]).1, 1);
    }
}
