//! What offers are built on: a commit of a branch, and the policies in it.

use anyhow::Result;
use git2::{Oid, Repository};

use crate::error::Problem;
use crate::git::branches::is_offer;
use crate::git::target::{Head, Target};
use crate::layout::recorded::FILE_NAME;
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree;
use crate::plan::bundle::OFFERS;

/// The repository, and the commit and branch that offers are built on.
pub(in crate::command) fn base_of(target: &Target) -> Result<(&Repository, Oid, String)> {
    let (
        Target::Existing(repository),
        Some(Head {
            commit: Some(base),
            branch,
        }),
    ) = (target, target.head()?)
    else {
        return Err(Problem::usage(format!(
            "`{}` has no commit to build on",
            target.place().display()
        ))
        .hint("`-C DIR` names a repository, bare or with a work tree")
        .into());
    };
    let name = branch
        .as_deref()
        .and_then(|name| name.strip_prefix("refs/heads/"));
    let name = name.unwrap_or("HEAD").to_owned();
    if name.starts_with(OFFERS) {
        return Err(Problem::usage(format!(
            "`{name}` is checked out, which is a branch of offers and nothing to build on"
        ))
        .hint("git switch main, or whichever branch the controller follows")
        .into());
    }
    // CI checks requests out without a branch.
    if name == "HEAD" && is_offer(repository, base)? {
        return Err(Problem::usage(
            "the commit that is checked out is an offer, which is nothing to build on",
        )
        .hint("git switch main, or whichever branch the controller follows")
        .into());
    }
    Ok((repository, base, name))
}

/// Policies whose file in the work tree is another than the committed one, or not committed at all.
pub(in crate::command) fn uncommitted(
    repository: &Repository,
    tree: &dyn Tree,
    policies: &[(RepoPath, String)],
) -> Vec<RepoPath> {
    let Some(root) = repository.workdir() else {
        return Vec::new();
    };
    let top = RepoPath::parse(FILE_NAME).ok();
    let new = top.filter(|top| tree.entry(top).is_ok_and(|entry| entry.is_none()));
    let new = new.filter(|top| root.join(top.as_str()).exists());
    let is_changed = |(path, text): &&(RepoPath, String)| {
        std::fs::read(root.join(path.as_str())).ok().as_deref() != Some(text.as_bytes())
    };
    let changed = policies
        .iter()
        .filter(is_changed)
        .map(|(path, _)| path.clone());
    changed.chain(new).collect()
}
