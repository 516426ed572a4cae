//! Machines as text: each file of `tests/fixtures/machines` is one machine's /proc and /sys, laid
//! out as a folder tree for a test.
//!
//! A line `== path` begins a file, whose text is what follows; `cpu{0-3}` in a path stands for four
//! paths. Lines before the first file say what the machine is.

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// The tree of the machine of this name.
pub(super) fn machine(name: &str) -> TempDir {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/machines");
    let text = fs::read_to_string(folder.join(name).with_extension("txt")).unwrap();
    tree(&text)
}

/// The tree that `text` describes.
pub(super) fn tree(text: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let text = format!("\n{text}");
    for block in text.split("\n== ").skip(1) {
        let (path, content) = block.split_once('\n').unwrap_or((block, ""));
        for path in expanded(path.trim()) {
            write(root.path(), &path, content);
        }
    }
    root
}

/// Writes one file of a tree, with its folders.
pub(super) fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{}\n", content.trim_end())).unwrap();
}

fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (range, after) = rest.split_once('}').unwrap();
    let (first, last) = range.split_once('-').unwrap();
    let range = first.parse::<u32>().unwrap()..=last.parse().unwrap();
    range.map(|number| format!("{before}{number}{after}")).collect()
}

#[test]
fn braces_stand_for_several_paths() {
    assert_eq!(expanded("cpu{0-2}/x"), ["cpu0/x", "cpu1/x", "cpu2/x"]);
    let root = tree("A comment.\n== a/b\none\ntwo\n== c\nthree");
    assert_eq!(fs::read_to_string(root.path().join("a/b")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(root.path().join("c")).unwrap(), "three\n");
}
