//! Since when something stands in a file, as the history of a branch says.

use anyhow::Result;
use git2::{Oid, Repository};

use super::said;
use crate::model::repo_path::RepoPath;

/// Returns the time (seconds since 1970) of the commit with which a file came to say what it says at `tip`, along first parents. Where the history is cut off
/// (a shallow clone), that of the oldest commit there: it has stood there at least so long.
///
/// # Errors
/// When a commit can't be read.
pub fn since(
    repository: &Repository,
    tip: Oid,
    path: &RepoPath,
    says: &dyn Fn(&[u8]) -> bool,
) -> Result<i64> {
    let git = |why: git2::Error| said(&format!("read the history of `{path}`"), &why);
    let blob = |commit: &git2::Commit<'_>| -> Option<Oid> {
        let tree = commit.tree().ok()?;
        let entry = tree.get_path(std::path::Path::new(path.as_str())).ok()?;
        Some(entry.id())
    };
    let mut commit = repository.find_commit(tip).map_err(git)?;
    let mut known = blob(&commit);
    while let Ok(parent) = commit.parent(0) {
        let before = blob(&parent);
        if before != known {
            let content = before.and_then(|id| repository.find_blob(id).ok());
            if !content.is_some_and(|blob| says(blob.content())) {
                break;
            }
            known = before;
        }
        commit = parent;
    }
    Ok(commit.time().seconds())
}

/// Returns the commit that a branch was on at some time (seconds since 1970), along first parents; nothing where its history doesn't go back so far.
///
/// # Errors
/// When a commit can't be read.
pub fn at(repository: &Repository, tip: Oid, time: i64) -> Result<Option<Oid>> {
    let git = |why: git2::Error| said("read the history", &why);
    let mut commit = repository.find_commit(tip).map_err(git)?;
    while commit.time().seconds() > time {
        let Ok(parent) = commit.parent(0) else {
            return Ok(None);
        };
        commit = parent;
    }
    Ok(Some(commit.id()))
}

/// Returns what a file was in a commit; nothing where it wasn't there.
///
/// # Errors
/// When the commit can't be read.
pub fn content(repository: &Repository, commit: Oid, path: &RepoPath) -> Result<Option<Vec<u8>>> {
    let git = |why: git2::Error| said(&format!("read the history of `{path}`"), &why);
    let tree = repository
        .find_commit(commit)
        .and_then(|commit| commit.tree())
        .map_err(git)?;
    let entry = tree.get_path(std::path::Path::new(path.as_str())).ok();
    let blob = entry.and_then(|entry| repository.find_blob(entry.id()).ok());
    Ok(blob.map(|blob| blob.content().to_vec()))
}
