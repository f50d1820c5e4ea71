//! The files of a repository that may have pins: of the work tree, or of a revision.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;

use crate::error::Problem;
use crate::git::target::Target;
use crate::git::trees::GitTree;
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree;
use crate::pins::{Findings, Joined, join, look_at_bytes, may_have_pins, may_name_pins};

/// Finds the pins of a repository, or of the files below a folder that is none. Without `rev` those of the work tree, or of the last commit where there is none.
///
/// # Errors
/// When the folder or the revision isn't there, or can't be read.
pub(super) fn gather(folder: &Path, rev: Option<&str>) -> Result<Joined> {
    if !folder.is_dir() {
        return Err(
            Problem::usage(format!("there is no folder `{}`", folder.display()))
                .hint("`-C` names a folder that is there")
                .into(),
        );
    }
    let target = Target::around(folder)?;
    let files = match (&target, rev) {
        (Target::Existing(repository), rev) if rev.is_some() || repository.workdir().is_none() => {
            let rev = rev.unwrap_or("HEAD");
            let commit = repository
                .revparse_single(rev)
                .and_then(|object| object.peel_to_commit())
                .map_err(|why| {
                    Problem::usage(format!(
                        "cannot read the revision `{rev}`: {}",
                        why.message()
                    ))
                    .hint("name a branch, a tag or a commit of this repository")
                })?;
            from_tree(&GitTree::of(repository, Some(commit.id()))?)?
        }
        (_, Some(_)) => {
            return Err(Problem::usage(format!(
                "`{}` is no repository, so it has no revisions",
                folder.display()
            ))
            .into());
        }
        _ => from_tree(target.tree()?.as_ref())?,
    };
    Ok(join(files))
}

/// Looks at every file of a tree that may have pins. By path, whoever was ready first.
///
/// # Errors
/// When a file can't be read.
pub(super) fn from_tree(tree: &dyn Tree) -> Result<Vec<Findings>> {
    let found: Mutex<Vec<(RepoPath, Findings)>> = Mutex::default();
    tree.read_each(&|path| may_name_pins(path.name()), &|path, bytes| {
        if may_have_pins(path.name(), bytes) {
            let findings = look_at_bytes(&path, bytes);
            let mut found = found.lock().expect("nobody panics with the lock");
            found.push((path, findings));
        }
    })?;
    let mut found = found.into_inner().expect("nobody panics with the lock");
    found.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found.into_iter().map(|(_, findings)| findings).collect())
}
