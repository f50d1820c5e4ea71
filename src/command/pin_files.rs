//! The files of a repository that may have pins: of the work tree, or of a revision.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;

use super::policies::is_policy;
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
pub(super) fn gather(folder: &Path, rev: Option<&str>) -> Result<PinFiles> {
    if !folder.is_dir() {
        return Err(
            Problem::usage(format!("there is no folder `{}`", folder.display()))
                .hint("`-C` names a folder that is there")
                .into(),
        );
    }
    let target = Target::around(folder)?;
    match (&target, rev) {
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
            from_tree(&GitTree::of(repository, Some(commit.id()))?)
        }
        (_, Some(_)) => Err(Problem::usage(format!(
            "`{}` is no repository, so it has no revisions",
            folder.display()
        ))
        .into()),
        _ => from_tree(target.tree()?.as_ref()),
    }
}

/// Looks at every file of a tree that may have pins.
///
/// # Errors
/// When a file can't be read.
pub(super) fn from_tree(tree: &dyn Tree) -> Result<PinFiles> {
    let found: Mutex<Found> = Mutex::default();
    let is_wanted = |path: &RepoPath| may_name_pins(path.name()) || is_policy(path);
    tree.read_each(&is_wanted, &|path, bytes| {
        let text = || String::from_utf8_lossy(bytes).into_owned();
        let policy = is_policy(&path).then(|| (path.clone(), text()));
        let findings = may_have_pins(path.name(), bytes).then(|| look_at_bytes(&path, bytes));
        if policy.is_some() || findings.is_some() {
            let mut found = found.lock().expect("nobody panics with the lock");
            found.policies.extend(policy);
            found.findings.extend(findings.map(|one| (path, one)));
        }
    })?;
    // By path, whoever was ready first.
    let mut found = found.into_inner().expect("nobody panics with the lock");
    found
        .findings
        .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    found.policies.sort();
    let findings = found.findings.into_iter().map(|(_, findings)| findings);
    Ok(PinFiles {
        joined: join(findings.collect()),
        policies: found.policies,
    })
}

/// What the files of a repository say.
pub(super) struct PinFiles {
    /// Its pins.
    pub(super) joined: Joined,
    /// The texts of the files with policies.
    pub(super) policies: Vec<(RepoPath, String)>,
}

#[derive(Default)]
struct Found {
    findings: Vec<(RepoPath, Findings)>,
    policies: Vec<(RepoPath, String)>,
}
