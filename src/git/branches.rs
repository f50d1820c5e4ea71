//! A change as one commit on a branch of its own: built in the object database, so no work tree and no index is touched.

use anyhow::Result;
use git2::{Oid, Repository};

use super::commit::{self, Commit};
use super::differences::differences;
use super::said;
use super::target::Head;
use crate::plan::change::Change;
use crate::plan::message::{DIGEST_TRAILER, KEY_TRAILER, digest_of};

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offered {
    /// It is new, with this commit.
    Created(String),
    /// It had an older offer of the same, and has this commit now.
    Updated(String),
    /// It has this very change already, in this commit.
    Same(String),
    /// It has a commit that isn't ours, so it is left alone.
    LeftAlone,
    /// Somebody works on it, so it is left alone.
    CheckedOut,
}

/// Puts a change on its branch, on top of a commit.
///
/// # Errors
/// When the repository can't be read or written, the signature can't be had, or the branch moves meanwhile.
pub fn offer(
    repository: &Repository,
    change: &Change,
    base: Oid,
    commit: &Commit<'_>,
) -> Result<Offered> {
    let name = format!("refs/heads/{}", change.branch);
    let git = |why: git2::Error| said(&format!("read `{}`", change.branch), &why);
    let old = match repository.find_reference(&name) {
        Ok(reference) => Some(reference.peel_to_commit().map_err(git)?),
        Err(why) if why.code() == git2::ErrorCode::NotFound => None,
        Err(why) => return Err(git(why)),
    };
    if is_checked_out(repository, &name) {
        return Ok(Offered::CheckedOut);
    }
    if let Some(old) = &old {
        if !is_ours(repository, old, base, change)? {
            return Ok(Offered::LeftAlone);
        }
        let is_on_base = old.parent_id(0).is_ok_and(|parent| parent == base);
        if is_on_base && trailer(old, DIGEST_TRAILER) == trailer_of(change, DIGEST_TRAILER) {
            return Ok(Offered::Same(old.id().to_string()));
        }
    }
    let head = Head {
        branch: Some(name.clone()),
        commit: Some(base),
    };
    let Some(made) = commit::make(repository, change, &head, commit)? else {
        return Ok(Offered::LeftAlone);
    };
    let old = old.map(|old| old.id());
    commit::move_branch(repository, &name, old, made.id, &change.message.subject)?;
    let id = made.id.to_string();
    Ok(match old {
        None => Offered::Created(id),
        Some(_) => Offered::Updated(id),
    })
}

/// Moving a branch that is checked out would leave its files behind: the next commit there would take the change back.
fn is_checked_out(repository: &Repository, branch: &str) -> bool {
    let has = |repository: &Repository| {
        let head = repository.find_reference("HEAD");
        head.is_ok_and(|head| head.symbolic_target().ok().flatten() == Some(branch))
    };
    let worktrees = repository.worktrees();
    let elsewhere = worktrees.iter().flatten().flatten().flatten().any(|name| {
        let worktree = repository.find_worktree(name);
        let opened = worktree.and_then(|worktree| Repository::open_from_worktree(&worktree));
        opened.is_ok_and(|opened| has(&opened))
    });
    elsewhere || (!repository.is_bare() && has(repository))
}

/// What a commit changes, digested as changes are: another digest than its own trailer says that somebody amended it.
fn changed(repository: &Repository, commit: &git2::Commit<'_>) -> Result<String, git2::Error> {
    let (old, new) = (commit.parent(0)?.tree()?, commit.tree()?);
    let files = differences(repository, Some(&old), Some(&new))?;
    let parts = files
        .iter()
        .map(|(path, new)| (path.as_str(), new.as_deref()));
    Ok(digest_of(parts))
}

/// A branch is ours while it has one commit beside the base's, and that one has our key and our content.
fn is_ours(
    repository: &Repository,
    tip: &git2::Commit<'_>,
    base: Oid,
    change: &Change,
) -> Result<bool> {
    let has_key = trailer(tip, KEY_TRAILER).as_deref() == Some(&change.key)
        && trailer(tip, DIGEST_TRAILER) == changed(repository, tip).ok();
    let parent = tip.parent_id(0).ok();
    let is_known = |parent: Oid| {
        parent == base
            || repository
                .graph_descendant_of(base, parent)
                .unwrap_or(false)
    };
    Ok(has_key && parent.is_some_and(is_known))
}

fn trailer(commit: &git2::Commit<'_>, name: &str) -> Option<String> {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let prefix = format!("{name}: ");
    message
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
}

fn trailer_of(change: &Change, name: &str) -> Option<String> {
    let trailers = &change.message.trailers;
    trailers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.clone())
}
