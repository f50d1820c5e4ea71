//! [`Tree`]: how planners read a repository, whatever it is made of.

use std::collections::BTreeMap;

use anyhow::Result;

use super::repo_path::RepoPath;
use crate::error::Problem;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file with its bytes.
    File(Vec<u8>),
    /// A symbolic link with its target as written.
    Link(String),
    /// A folder.
    Folder,
    /// Something that can't be read as a file: a submodule, a device.
    Other,
}

/// A repository as planners see it: a map in tests, a git tree for bare repositories, a work tree for people.
///
/// `entry` doesn't follow links; [`resolve`] does, and refuses the ones that leave.
pub trait Tree {
    /// Returns what stands at a path, or nothing.
    ///
    /// # Errors
    /// When the repository can't be read.
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>>;

    /// Returns the names of the folders in a folder (`None`: the repository itself), sorted. Linked folders are not among them.
    ///
    /// # Errors
    /// When the repository can't be read.
    fn folders(&self, folder: Option<&RepoPath>) -> Result<Vec<String>>;

    /// Returns the files below a folder (`None`: all of the repository), by path. Links are not followed, submodules and `.git` are left out.
    ///
    /// # Errors
    /// When the repository can't be read.
    fn files(&self, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>>;

    /// Reads all files that [`Tree::files`] lists and `is_wanted` wants, and hands over each with its bytes, in any order. The real trees do so on all processors at once.
    /// What can't be read, is larger than [`MOST_BYTES`] or is another repository is handed over with the reason instead.
    ///
    /// # Errors
    /// When the repository itself can't be read.
    fn read_each(&self, is_wanted: &Wanted<'_>, take: &Take<'_>) -> Result<()> {
        for path in self.files(None)? {
            if is_wanted(&path)
                && let Some(Entry::File(bytes)) = self.entry(&path)?
            {
                match bytes.len() as u64 > MOST_BYTES {
                    true => take(path, Err(&too_large())),
                    false => take(path, Ok(&bytes)),
                }
            }
        }
        Ok(())
    }
}

/// Says by its path whether a file is read.
pub type Wanted<'a> = dyn Fn(&RepoPath) -> bool + Sync + 'a;

/// Takes a file that was read, or the reason why something wasn't.
pub type Take<'a> = dyn Fn(RepoPath, Result<&[u8], &str>) + Sync + 'a;

/// The most that [`Tree::read_each`] reads of one file, in bytes. Nobody writes a manifest as large, and memory has an end.
pub const MOST_BYTES: u64 = 64 << 20;

/// Why a file isn't read.
pub fn too_large() -> String {
    format!("it is larger than {} MiB", MOST_BYTES >> 20)
}

/// Why a submodule isn't read.
pub const SUBMODULE: &str = "a submodule: another repository";

/// A tree with other texts of some of its files, as it will be.
pub struct Overlay<'a> {
    /// The tree.
    pub under: &'a dyn Tree,
    /// Files with their new bytes; in folders that are there.
    pub files: BTreeMap<RepoPath, Vec<u8>>,
}

impl Tree for Overlay<'_> {
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        match self.files.get(path) {
            Some(bytes) => Ok(Some(Entry::File(bytes.clone()))),
            None => self.under.entry(path),
        }
    }

    fn folders(&self, folder: Option<&RepoPath>) -> Result<Vec<String>> {
        self.under.folders(folder)
    }

    fn files(&self, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>> {
        let prefix = RepoPath::prefix(folder);
        let own = self.files.keys();
        let own = own.filter(|path| path.as_str().starts_with(&prefix));
        let mut all = self.under.files(folder)?;
        all.extend(own.cloned());
        all.sort();
        all.dedup();
        Ok(all)
    }
}

/// A tree in memory.
#[derive(Debug, Clone, Default)]
pub struct MapTree(pub BTreeMap<RepoPath, Entry>);

impl Tree for MapTree {
    fn entry(&self, path: &RepoPath) -> Result<Option<Entry>> {
        if let Some(entry) = self.0.get(path) {
            return Ok(Some(entry.clone()));
        }
        let inside = format!("{path}/");
        Ok(self
            .0
            .keys()
            .any(|known| known.as_str().starts_with(&inside))
            .then_some(Entry::Folder))
    }

    fn folders(&self, folder: Option<&RepoPath>) -> Result<Vec<String>> {
        let prefix = folder.map(|f| format!("{f}/")).unwrap_or_default();
        let below = self
            .0
            .keys()
            .filter_map(|path| path.as_str().strip_prefix(&prefix));
        let mut names: Vec<String> = below
            .filter_map(|rest| rest.split_once('/'))
            .map(|(name, _)| name.to_owned())
            .collect();
        names.dedup();
        Ok(names)
    }

    fn files(&self, folder: Option<&RepoPath>) -> Result<Vec<RepoPath>> {
        let prefix = folder.map(|f| format!("{f}/")).unwrap_or_default();
        let files = self
            .0
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::File(_)));
        Ok(files
            .map(|(path, _)| path.clone())
            .filter(|path| path.as_str().starts_with(&prefix))
            .collect())
    }
}

/// More links than any repository that is read by people needs; git and Linux stop at about as many.
const MOST_LINKS: usize = 40;

/// Returns where a path leads when the links on its way are followed: the place that a write must go to.
///
/// # Errors
/// When a link leaves the repository, links go round in a circle, or a file stands where a folder is needed.
pub fn resolve(tree: &dyn Tree, path: &RepoPath) -> Result<RepoPath> {
    let mut wanted: Vec<String> = path.parts().rev().map(str::to_owned).collect();
    let mut done: Vec<String> = Vec::new();
    let mut links = 0;
    while let Some(part) = wanted.pop() {
        if part == ".." {
            if done.pop().is_none() {
                return Err(leaves(path, ".."));
            }
            continue;
        }
        done.push(part);
        let here = RepoPath::parse(&done.join("/"))
            .map_err(|why| Problem::invalid(format!("cannot write `{path}`: {why}")))?;
        match tree.entry(&here)? {
            Some(Entry::Link(target)) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Problem::invalid(format!(
                        "cannot write `{path}`: the links on the way go round in a circle at `{here}`"
                    ))
                    .into());
                }
                if target.starts_with('/') {
                    return Err(leaves(path, &format!("{here} -> {target}")));
                }
                done.pop();
                wanted.extend(
                    target
                        .split('/')
                        .rev()
                        .filter(|p| !p.is_empty() && *p != ".")
                        .map(str::to_owned),
                );
            }
            Some(Entry::File(_)) if !wanted.is_empty() => {
                return Err(Problem::invalid(format!(
                    "cannot write `{path}`: `{here}` is a file, not a folder"
                ))
                .hint("rename that file, or choose another folder with `--path`")
                .into());
            }
            Some(Entry::Other) => {
                return Err(Problem::invalid(format!(
                    "cannot write `{path}`: `{here}` is a submodule or a special file"
                ))
                .hint("run the command in that repository, or choose another folder with `--path`")
                .into());
            }
            _ => {}
        }
    }
    RepoPath::parse(&done.join("/"))
        .map_err(|why| Problem::invalid(format!("cannot write `{path}`: {why}")).into())
}

fn leaves(path: &RepoPath, link: &str) -> anyhow::Error {
    Problem::invalid(format!(
        "cannot write `{path}`: a link on the way leaves the repository: {link}"
    ))
    .hint("replace the link by a folder, or choose another folder with `--path`")
    .into()
}

/// Reads a file as text, following links. Nothing when there is no file.
///
/// # Errors
/// When a link leaves the repository, or the file isn't UTF-8.
pub fn read_text(tree: &dyn Tree, path: &RepoPath) -> Result<Option<String>> {
    match tree.entry(&resolve(tree, path)?)? {
        Some(Entry::File(bytes)) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|why| not_text(path, &why).into()),
        _ => Ok(None),
    }
}

/// Where a file stops being text.
fn not_text(path: &RepoPath, why: &std::string::FromUtf8Error) -> Problem {
    let before = &why.as_bytes()[..why.utf8_error().valid_up_to()];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    Problem::invalid(format!("`{path}:{line}` is not UTF-8 text")).hint(format!(
        "save it as UTF-8, and commit that: iconv -f LATIN1 -t UTF-8 {path}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("good path")
    }

    fn tree(entries: &[(&str, Entry)]) -> MapTree {
        MapTree(entries.iter().map(|(p, e)| (path(p), e.clone())).collect())
    }

    /// Public report O51: a check against escapes refused links that stay inside.
    #[test]
    fn links_that_stay_inside_are_followed() {
        let tree = tree(&[
            ("values.base.yaml", Entry::File(b"a: 1\n".to_vec())),
            ("values.prod.yaml", Entry::Link("values.base.yaml".into())),
            ("defs/c.yaml", Entry::File(b"c: 1\n".to_vec())),
            ("a/b/x/c.yaml", Entry::Link("../../../defs/c.yaml".into())),
            ("linked", Entry::Link("a/b".into())),
        ]);
        assert_eq!(
            resolve(&tree, &path("values.prod.yaml"))
                .expect("inside")
                .as_str(),
            "values.base.yaml"
        );
        assert_eq!(
            resolve(&tree, &path("a/b/x/c.yaml"))
                .expect("inside")
                .as_str(),
            "defs/c.yaml"
        );
        assert_eq!(
            resolve(&tree, &path("linked/new.yaml"))
                .expect("inside")
                .as_str(),
            "a/b/new.yaml"
        );
        assert_eq!(
            read_text(&tree, &path("a/b/x/c.yaml"))
                .expect("read")
                .as_deref(),
            Some("c: 1\n")
        );
    }

    #[test]
    fn links_that_leave_or_circle_are_refused() {
        let tree = tree(&[
            ("out", Entry::Link("../elsewhere".into())),
            ("abs", Entry::Link("/etc".into())),
            ("git", Entry::Link(".git".into())),
            ("x", Entry::Link("y".into())),
            ("y", Entry::Link("x".into())),
            ("file", Entry::File(Vec::new())),
        ]);
        for bad in ["out/a", "abs/passwd", "git/config", "x/a", "file/a"] {
            assert!(resolve(&tree, &path(bad)).is_err(), "{bad}");
        }
    }
}
