//! The paths that `pins` is asked for, as seen from the repository's top.

use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use super::pin_files::commit_of;
use crate::error::Problem;
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree as _;

/// The wanted paths as seen from the repository's top: people name them as seen from where they stand. The top itself is an empty text.
///
/// # Errors
/// When one isn't there, in the work tree or in the revision that is read: nothing to show would look like nothing to do.
pub(super) fn paths(folder: &Path, rev: Option<&str>, wanted: &[String]) -> Result<Vec<String>> {
    let target = Target::around(folder)?;
    let commit = match &target {
        Target::Existing(repository) => commit_of(repository, rev)?.map(|id| (repository, id)),
        Target::New(_) | Target::Plain(_) => None,
    };
    let tree = commit
        .map(|(repository, id)| GitTree::of(repository, Some(id)))
        .transpose()?;
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (top, here) = (canonical(target.place()), canonical(folder));
    let place = match rev {
        Some(rev) => format!("the revision `{rev}`"),
        None => "the repository".to_owned(),
    };
    let absent = |path: &str| {
        Problem::usage(format!("there is no `{path}` in {place}"))
            .hint("name a file or folder as seen from the current folder")
    };
    let seen = |path: &String| -> Result<String> {
        let whole = match &tree {
            Some(_) => normal(&here.join(path)),
            None => here.join(path).canonicalize().map_err(|_| absent(path))?,
        };
        let below = whole.strip_prefix(&top).map_err(|_| absent(path))?;
        let below = below.to_string_lossy().replace('\\', "/");
        if let (Some(tree), false) = (&tree, below.is_empty()) {
            let known = RepoPath::parse(&below).map_err(|_| absent(path))?;
            tree.entry(&known)?.ok_or_else(|| absent(path))?;
        }
        Ok(below)
    };
    wanted.iter().map(seen).collect()
}

/// A path without `.` and `..`, by its text alone: what a revision has need not be on the disk.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    out
}
