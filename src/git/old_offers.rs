//! Offers of earlier runs, as their branches say them.

use anyhow::Result;
use git2::{Oid, Repository};

use super::branches::{descends, is_intact, trailer, trailers};
use super::differences::differences;
use super::raw_trees::RawTrees;
use super::said;
use crate::plan::bundle::{OFFERS, base_word};
use crate::plan::message::{DIGEST_TRAILER, KEY_TRAILER, VERSION_TRAILER};

/// An offer of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldOffer {
    /// Its branch.
    pub branch: String,
    /// The remotes that are known to have it there.
    pub remotes: Vec<String>,
    /// Whether it is a branch here.
    pub is_local: bool,
    /// Its commit.
    pub tip: Oid,
    /// What it is about.
    pub key: String,
    /// The versions that it offers.
    pub versions: Vec<String>,
    /// The digest of what it changes.
    pub content: String,
    /// The files that it changes.
    pub paths: Vec<String>,
    /// Whether the base has all that it changes, by a merge of any kind or by hand.
    pub is_in_base: bool,
    /// Whether it is as we made it: no commit of somebody's is on it.
    pub is_intact: bool,
}

impl OldOffer {
    /// What it is about, and the branch that it is for where that isn't the default one.
    pub fn key_and_base(&self) -> (&str, Option<&str>) {
        match self.key.rsplit_once(" @") {
            Some((key, base)) => (key, Some(base)),
            None => (&self.key, None),
        }
    }

    /// The commands that take it away everywhere where it is known to be.
    pub fn take_away(&self) -> String {
        let local = format!("git branch -D {}", self.branch);
        let remote = |one: &String| format!("git push {one} --delete {}", self.branch);
        let local = self.is_local.then_some(local);
        let all: Vec<String> = local
            .into_iter()
            .chain(self.remotes.iter().map(remote))
            .collect();
        all.join(" and ")
    }

    /// Whether it may be for a branch: one that names none is for the default one, which isn't known without a remote.
    pub fn may_be_for(&self, base: &str) -> bool {
        let (_, named) = self.key_and_base();
        named.is_none_or(|named| named == base_word(base))
    }
}

/// Our offers of upgrades that were built on a commit's history and aren't merged into it.
///
/// # Errors
/// When the branches can't be read.
pub fn offers(repository: &Repository, base: Oid) -> Result<Vec<OldOffer>> {
    let git = |why: git2::Error| said("list the branches", &why);
    let mut found = Vec::new();
    let references = repository
        .references_glob(&format!("refs/heads/{OFFERS}upgrade-*"))
        .map_err(git)?;
    for reference in references {
        let reference = reference.map_err(git)?;
        let (Ok(name), Ok(tip)) = (reference.shorthand(), reference.peel_to_commit()) else {
            continue;
        };
        let is_merged = tip.id() == base || descends(repository, base, tip.id());
        // What was built on another branch is of that one.
        let is_of_base = |parent| parent == base || descends(repository, base, parent);
        if !is_merged && tip.parent_id(0).is_ok_and(is_of_base) {
            found.extend(old_offer(repository, base, name, tip.id())?);
        }
    }
    Ok(found)
}

/// The offer that a branch is, where it is ours: what somebody amended is theirs.
///
/// # Errors
/// When the commit can't be read.
pub fn old_offer(
    repository: &Repository,
    base: Oid,
    branch: &str,
    tip: Oid,
) -> Result<Option<OldOffer>> {
    let git = |why: git2::Error| said(&format!("read `{branch}`"), &why);
    let tip = repository.find_commit(tip).map_err(git)?;
    if trailer(&tip, KEY_TRAILER).is_none() {
        return Ok(None);
    }
    let offer = described(repository, (base, branch), &tip, &tip).map_err(git)?;
    Ok(offer.filter(|offer| offer.is_intact))
}

/// What a branch offers: its commit of ours says what it is about, its last one what there is. Nothing where ours has no parent.
pub(super) fn described(
    repository: &Repository,
    (base, branch): (Oid, &str),
    own: &git2::Commit<'_>,
    tip: &git2::Commit<'_>,
) -> Result<Option<OldOffer>, git2::Error> {
    let trees = RawTrees::of(repository)?;
    let Ok(parent) = own.parent(0) else {
        return Ok(None);
    };
    // Where people have brought the base into the branch, what the base has is nothing that the branch changes.
    let fork = repository.merge_base(base, tip.id());
    let is_later = |fork: &Oid| tip.id() != own.id() && descends(repository, *fork, parent.id());
    let old = match fork.ok().filter(is_later) {
        Some(fork) => repository.find_commit(fork)?.tree_id(),
        None => parent.tree_id(),
    };
    let new = tip.tree_id();
    let files = differences(repository, &trees, Some(old), Some(new))?;
    let base_tree = repository.find_commit(base)?.tree_id();
    let mut is_in_base = true;
    for path in files.keys() {
        let id = |tree| trees.find(tree, path).map(|found| found.map(|it| it.id));
        is_in_base &= id(base_tree)? == id(new)?;
    }
    Ok(Some(OldOffer {
        branch: branch.to_owned(),
        remotes: Vec::new(),
        is_local: true,
        tip: tip.id(),
        key: trailer(own, KEY_TRAILER).unwrap_or_default(),
        versions: trailers(own, VERSION_TRAILER),
        content: trailer(own, DIGEST_TRAILER).unwrap_or_default(),
        paths: files.into_keys().collect(),
        is_in_base,
        is_intact: own.id() == tip.id() && is_intact(repository, &trees, tip, base),
    }))
}
