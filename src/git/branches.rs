//! A change as one commit on a branch of its own: built in the object database, so no work tree and no index is touched.

use anyhow::Result;
use git2::{Oid, Repository};

use super::commit::{self, Commit};
use super::differences::differences;
use super::raw_trees::RawTrees;
use super::said;
use super::target::Head;
use crate::error::Problem;
use crate::model::policy::RequestPolicy;
use crate::plan::bundle::OFFERS;
use crate::plan::change::Change;
use crate::plan::message::{BASE_TRAILER, DIGEST_TRAILER, KEY_TRAILER, digest_of};

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

impl Offered {
    /// The commit that the branch has now; nothing where it is left alone.
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Created(id) | Self::Updated(id) | Self::Same(id) => Some(id),
            Self::LeftAlone | Self::CheckedOut => None,
        }
    }
}

/// When an offer that is as good as ever is built anew on a base that has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebuild {
    /// Where it would conflict: the base has changed one of its files.
    OnConflict,
    /// Always.
    Always,
}

impl Rebuild {
    /// As a team decided.
    pub fn of(policy: &RequestPolicy) -> Self {
        match policy.always_rebuild {
            true => Self::Always,
            false => Self::OnConflict,
        }
    }
}

/// Puts a change on its branch, on top of a commit.
///
/// # Errors
/// When the repository can't be read or written, the signature can't be had, or the branch moves meanwhile.
pub fn offer(
    repository: &Repository,
    change: &Change,
    (base, rebuild): (Oid, Rebuild),
    commit: &Commit<'_>,
) -> Result<Offered> {
    let name = format!("refs/heads/{}", change.branch);
    let git = |why: git2::Error| said(&format!("read `{}`", change.branch), &why);
    let trees = RawTrees::of(repository).map_err(git)?;
    if is_checked_out(repository, &name) {
        return Ok(Offered::CheckedOut);
    }
    let Tips { old, published } = tips(repository, &change.branch)?;
    for tip in old.iter().chain(&published) {
        if !is_ours(repository, &trees, tip, (base, change)) {
            return Ok(Offered::LeftAlone);
        }
    }
    // One with the same content is as good on an older base, where nobody has to look at it again; but not on one that isn't in the base's history any more:
    // that was taken away, perhaps for what is in it. One that was merged brings nothing.
    let is_same = |tip: &&git2::Commit<'_>| {
        let is_on = |parent: Oid| match rebuild {
            Rebuild::Always => parent == base,
            Rebuild::OnConflict => {
                let is_before = || descends(repository, base, parent);
                parent == base
                    || is_before() && has_same(repository, &trees, change, [parent, base])
            }
        };
        let is_merged = tip.id() == base || descends(repository, base, tip.id());
        tip.parent_id(0).is_ok_and(is_on)
            && !is_merged
            && trailer(tip, DIGEST_TRAILER) == trailer_of(change, DIGEST_TRAILER)
    };
    // The remote's first: what people see there isn't made a second time.
    if let Some(same) = published.iter().chain(&old).find(is_same) {
        let known = old.as_ref().map(git2::Commit::id);
        if known != Some(same.id()) {
            commit::move_branch(repository, &name, known, same.id(), &change.message.subject)?;
        }
        return Ok(Offered::Same(same.id().to_string()));
    }
    let head = Head {
        branch: Some(name.clone()),
        commit: Some(base),
    };
    let mut based = change.clone();
    let on = (BASE_TRAILER.to_owned(), base.to_string());
    based.message.trailers.push(on);
    let Some(made) = commit::make_from(&trees, repository, &based, &head, commit)? else {
        return Ok(Offered::LeftAlone);
    };
    let old = old.map(|old| old.id());
    commit::move_branch(repository, &name, old, made.id, &change.message.subject)?;
    let id = made.id.to_string();
    Ok(if old.is_none() && published.is_empty() {
        Offered::Created(id)
    } else {
        Offered::Updated(id)
    })
}

/// Whether two commits have the same in the files that a change writes. What it writes over says nothing of what it was written over.
fn has_same(
    repository: &Repository,
    trees: &RawTrees<'_>,
    change: &Change,
    commits: [Oid; 2],
) -> bool {
    let ids = |commit: Oid| -> Result<Vec<Option<Oid>>, git2::Error> {
        let tree = repository.find_commit(commit)?.tree_id();
        let files = change.writes();
        let id = |path: &str| Ok(trees.find(tree, path)?.map(|found| found.id));
        files.map(|file| id(file.path.as_str())).collect()
    };
    let [one, other] = commits.map(ids);
    matches!((one, other), (Ok(one), Ok(other)) if one == other)
}

/// Whether a change's branch is somebody's, so that [`offer`] would leave it alone.
///
/// # Errors
/// When the repository can't be read.
pub fn is_somebodys(repository: &Repository, change: &Change, base: Oid) -> Result<bool> {
    let git = |why: git2::Error| said(&format!("read `{}`", change.branch), &why);
    let trees = RawTrees::of(repository).map_err(git)?;
    let Tips { old, published } = tips(repository, &change.branch)?;
    let mut all = old.iter().chain(&published);
    let name = format!("refs/heads/{}", change.branch);
    Ok(is_checked_out(repository, &name)
        || all.any(|tip| !is_ours(repository, &trees, tip, (base, change))))
}

/// Where a branch is: here, and on remotes as far as is known. What a clone knows of them counts as much: a push would go over it.
struct Tips<'r> {
    old: Option<git2::Commit<'r>>,
    published: Vec<git2::Commit<'r>>,
}

fn tips<'r>(repository: &'r Repository, branch: &str) -> Result<Tips<'r>> {
    let git = |why: git2::Error| said(&format!("read `{branch}`"), &why);
    let old = match repository.find_reference(&format!("refs/heads/{branch}")) {
        Ok(reference) => Some(reference.peel_to_commit().map_err(git)?),
        Err(why) if why.code() == git2::ErrorCode::NotFound => None,
        Err(why) => return Err(git(why)),
    };
    Ok(Tips {
        old,
        published: remote_tips(repository, branch)?,
    })
}

/// Whether it can be said of every offer, by its parent, if that is the base's: not where the history is cut off before it. Of a recovery it is our own commit
/// that counts, which others may have put theirs on.
///
/// # Errors
/// When a commit can't be read.
pub fn is_decided(repository: &Repository, base: Oid, offers: &[(&str, Oid)]) -> Result<bool> {
    let git = |why: git2::Error| said("read the offers", &why);
    let is_known = |commit: Oid| commit == base || descends(repository, base, commit);
    for (name, tip) in offers {
        let mut own = repository.find_commit(*tip).map_err(git)?;
        let is_recovery = name.contains(&format!("{OFFERS}recover-"));
        while is_recovery && trailer(&own, KEY_TRAILER).is_none() && !is_known(own.id()) {
            match own.parent(0) {
                Ok(parent) => own = parent,
                Err(_) => return Ok(!repository.is_shallow()),
            }
        }
        let is_plain = trailer(&own, KEY_TRAILER).is_none();
        if !is_plain && !own.parent_ids().any(is_known) {
            return Ok(!repository.is_shallow());
        }
    }
    Ok(true)
}

/// Deletes a branch of an offer here, where it is at this commit and nobody works on it.
///
/// # Errors
/// When it can't be deleted.
pub fn forget(repository: &Repository, branch: &str, tip: Oid) -> Result<()> {
    let name = format!("refs/heads/{branch}");
    let git = |why: git2::Error| said(&format!("delete `{branch}`"), &why);
    match repository.find_reference(&name) {
        Ok(mut reference)
            if reference.target() == Some(tip) && !is_checked_out(repository, &name) =>
        {
            reference.delete().map_err(git)
        }
        _ => Ok(()),
    }
}

/// The tips of a branch as clones of remotes know them.
fn remote_tips<'r>(repository: &'r Repository, branch: &str) -> Result<Vec<git2::Commit<'r>>> {
    let git = |why: git2::Error| said("list the branches", &why);
    let mut tips = Vec::new();
    let references = repository.references_glob(&format!("refs/remotes/*/{branch}"));
    for reference in references.map_err(git)? {
        tips.extend(reference.map_err(git)?.peel_to_commit());
    }
    Ok(tips)
}

/// Whether a commit is an offer and nothing else: branches of offers are on it, and no other is.
///
/// # Errors
/// When the branches can't be read.
pub fn is_offer(repository: &Repository, commit: Oid) -> Result<bool> {
    let git = |why: git2::Error| said("list the branches", &why);
    let (mut has_offer, mut has_other) = (false, false);
    for reference in repository.references().map_err(git)? {
        let reference = reference.map_err(git)?;
        let is_here = reference.target() == Some(commit);
        let name = reference.name().unwrap_or_default();
        if is_here && (name.starts_with("refs/heads/") || name.starts_with("refs/remotes/")) {
            let is_of_offers = name.contains(&format!("/{OFFERS}"));
            has_offer |= is_of_offers;
            has_other |= !is_of_offers;
        }
    }
    Ok(has_offer && !has_other)
}

/// A branch whose name is a folder of offers, or below one, leaves no room for them. Looked at before the first is made.
///
/// # Errors
/// When there is such a branch.
pub fn check_room(repository: &Repository, changes: &[Change]) -> Result<()> {
    let git = |why: git2::Error| said("list the branches", &why);
    let folder = OFFERS.trim_end_matches('/').to_owned();
    let is_there = repository
        .find_reference(&format!("refs/heads/{folder}"))
        .is_ok();
    let mut in_the_way = is_there.then_some(folder);
    for change in changes {
        let below = repository.references_glob(&format!("refs/heads/{}/*", change.branch));
        for reference in below.map_err(git)? {
            let reference = reference.map_err(git)?;
            in_the_way = in_the_way.or(reference.shorthand().ok().map(str::to_owned));
        }
    }
    match in_the_way {
        None => Ok(()),
        Some(name) => Err(Problem::failed(format!(
            "cannot make branches `{OFFERS}…`: there is a branch `{name}`"
        ))
        .hint(format!("git branch -m {name} another-name"))
        .into()),
    }
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
    // Of a linked work tree the main one is somewhere else, and in no list.
    let main = Repository::open(repository.commondir());
    let is_main = main.is_ok_and(|main| !main.is_bare() && has(&main));
    elsewhere || is_main || (!repository.is_bare() && has(repository))
}

/// What a commit changes, digested as changes are: another digest than its own trailer says that somebody amended it.
fn changed(
    repository: &Repository,
    trees: &RawTrees<'_>,
    commit: &git2::Commit<'_>,
) -> Result<String, git2::Error> {
    let (old, new) = (commit.parent(0)?.tree_id(), commit.tree_id());
    let files = differences(repository, trees, Some(old), Some(new))?;
    let parts = files
        .iter()
        .map(|(path, new)| (path.as_str(), new.as_deref()));
    Ok(digest_of(parts))
}

/// Whether a commit has another among its ancestors, as far as they are known.
pub(super) fn descends(repository: &Repository, commit: Oid, from: Oid) -> bool {
    repository
        .graph_descendant_of(commit, from)
        .unwrap_or(false)
}

/// A branch is ours while it has one commit beside the base's, and that one has our key and our content.
fn is_ours(
    repository: &Repository,
    trees: &RawTrees<'_>,
    tip: &git2::Commit<'_>,
    (base, change): (Oid, &Change),
) -> bool {
    trailer(tip, KEY_TRAILER).as_deref() == Some(&change.key)
        && is_intact(repository, trees, tip, base)
}

/// Whether a commit is as we made it: what it changes has the digest that it says, and nothing is below it that isn't the base's.
pub(super) fn is_intact(
    repository: &Repository,
    trees: &RawTrees<'_>,
    tip: &git2::Commit<'_>,
    base: Oid,
) -> bool {
    // The parent that it was made with says so too where the base was rewritten, or its history is cut off.
    let is_known = |parent: Oid| {
        let made_on = trailer(tip, BASE_TRAILER);
        parent == base || made_on == Some(parent.to_string()) || descends(repository, base, parent)
    };
    trailer(tip, DIGEST_TRAILER) == changed(repository, trees, tip).ok()
        && tip.parent_id(0).is_ok_and(is_known)
}

pub(super) fn trailer(commit: &git2::Commit<'_>, name: &str) -> Option<String> {
    trailers(commit, name).pop()
}

pub(super) fn trailers(commit: &git2::Commit<'_>, name: &str) -> Vec<String> {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let prefix = format!("{name}: ");
    let values = message
        .lines()
        .filter_map(|line| line.strip_prefix(&prefix));
    values.map(str::to_owned).collect()
}

fn trailer_of(change: &Change, name: &str) -> Option<String> {
    let trailers = &change.message.trailers;
    trailers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.clone())
}
