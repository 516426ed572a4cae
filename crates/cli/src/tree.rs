//! Private copies of the project: nothing is ever built, run or edited in the project's own tree.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use walkdir::WalkDir;

/// Folder of the state inside the project.
pub(crate) const STATE: &str = ".unlikely";

/// Makes `to` a fresh copy of `from`, with the same modification times so that no build tool
/// thinks anything newer than it is. The state folder, `.git` and objects of earlier builds stay
/// out: the copy makes its own.
pub(crate) fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot clear {}", to.display()))?;
    }
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let walk = WalkDir::new(from).follow_links(false).min_depth(1);
    for entry in walk.into_iter().filter_entry(|e| !is_left_out(e)) {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        let target = to.join(entry.path().strip_prefix(from)?);
        copy_one(&entry, &target)
            .with_context(|| format!("cannot copy {}", entry.path().display()))?;
    }
    Ok(())
}

/// Every plain file that a copy takes, by relative path, in order.
pub(crate) fn files(from: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let mut out = Vec::new();
    let walk = WalkDir::new(from).follow_links(false).min_depth(1).sort_by_file_name();
    for entry in walk.into_iter().filter_entry(|e| !is_left_out(e)) {
        let entry = entry.with_context(|| format!("cannot read {}", from.display()))?;
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(from)?.to_string_lossy().into_owned();
            out.push((path, entry.into_path()));
        }
    }
    Ok(out)
}

fn is_left_out(entry: &walkdir::DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    if entry.file_type().is_dir() {
        return entry.depth() == 1 && (name == STATE || name == ".git");
    }
    let extension = name.rsplit_once('.').map_or("", |(_, e)| e);
    match extension {
        "gcda" | "gcno" => true,
        "o" | "lo" | "a" => is_object(entry.path()),
        _ => false,
    }
}

/// An ELF object, a libtool object or an archive: something that a compiler made.
fn is_object(path: &Path) -> bool {
    let mut head = [0; 8];
    let Ok(mut file) = fs::File::open(path) else { return false };
    let n = std::io::Read::read(&mut file, &mut head).unwrap_or(0);
    head[..n].starts_with(b"\x7fELF")
        || head[..n].starts_with(b"!<arch>")
        || head[..n].starts_with(b"# ")
}

fn copy_one(entry: &walkdir::DirEntry, target: &Path) -> anyhow::Result<()> {
    let kind = entry.file_type();
    if kind.is_dir() {
        fs::create_dir_all(target)?;
    } else if kind.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
    } else if kind.is_file() {
        fs::copy(entry.path(), target)?;
        let modified = entry.metadata()?.modified()?;
        fs::File::options().write(true).open(target)?.set_modified(modified)?;
    }
    // Sockets, pipes and devices are not source.
    Ok(())
}

/// Replaces a file of a private copy, never writing through a hard link.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let Some(parent) = path.parent() else { bail!("{} has no folder", path.display()) };
    // A new file is for everybody to read, as the umask would have it in most places.
    let mode = fs::metadata(path)
        .map_or_else(|_| std::os::unix::fs::PermissionsExt::from_mode(0o644), |m| m.permissions());
    let mut file = tempfile::NamedTempFile::new_in(parent)
        .with_context(|| format!("cannot write in {}", parent.display()))?;
    std::io::Write::write_all(&mut file, bytes)?;
    fs::set_permissions(file.path(), mode)?;
    file.persist(path).with_context(|| format!("cannot replace {}", path.display()))?;
    Ok(())
}
