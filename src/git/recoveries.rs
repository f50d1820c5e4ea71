//! Recoveries that aren't merged yet: what their branches say counts before that.

use std::collections::BTreeMap;

use anyhow::Result;
use git2::{Oid, Repository};

use super::branches::{descends, trailer};
use super::old_offers::{OldOffer, described};
use super::raw_trees::RawTrees;
use super::said;
use crate::plan::bundle::OFFERS;
use crate::plan::message::KEY_TRAILER;

/// Our recoveries that aren't merged into a commit's history: of branches here, and of remotes as far as is known. They say what was rejected before it is merged.
///
/// # Errors
/// When the branches can't be read.
pub fn recoveries(repository: &Repository, base: Oid) -> Result<Vec<OldOffer>> {
    let git = |why: git2::Error| said("list the branches", &why);
    let mut found: Vec<OldOffer> = Vec::new();
    // Remotes that have a branch, and whether it is one here.
    let mut places: BTreeMap<String, (Vec<String>, bool)> = BTreeMap::new();
    for place in ["refs/heads/", "refs/remotes/*/"] {
        let glob = format!("{place}{OFFERS}recover-*");
        for reference in repository.references_glob(&glob).map_err(git)? {
            let reference = reference.map_err(git)?;
            let (Ok(name), Ok(tip)) = (reference.name(), reference.peel_to_commit()) else {
                continue;
            };
            let Some(at) = name.find(OFFERS) else {
                continue;
            };
            let remote = name[..at].strip_prefix("refs/remotes/");
            let remote = remote.map(|remote| remote.trim_end_matches('/').to_owned());
            let branch = &name[at..];
            let (remotes, is_local) = places.entry(branch.to_owned()).or_default();
            *is_local |= remote.is_none();
            remotes.extend(remote);
            let is_merged = tip.id() == base || descends(repository, base, tip.id());
            let is_known = found
                .iter()
                .any(|one| one.tip == tip.id() && one.branch == branch);
            if !is_merged && !is_known {
                found.extend(recovery(repository, base, branch, &tip)?);
            }
        }
    }
    // One that was merged by squashing brings nothing.
    let mut open = Vec::new();
    for one in found {
        if !one.is_in_base && !was_in_base(repository, base, &one).map_err(git)? {
            let (remotes, is_local) = places.get(&one.branch).cloned().unwrap_or_default();
            open.push(OldOffer {
                remotes,
                is_local,
                ..one
            });
        }
    }
    Ok(open)
}

/// Whether the base's history since the fork has a commit with all that a recovery changes: it was merged by squashing, and what came later changed the same
/// files again.
fn was_in_base(repository: &Repository, base: Oid, offer: &OldOffer) -> Result<bool, git2::Error> {
    /// A recovery isn't left open for longer.
    const MOST: usize = 2_000;
    let trees = RawTrees::of(repository)?;
    let ids = |commit: &git2::Commit<'_>| {
        let tree = commit.tree_id();
        let all = offer.paths.iter();
        all.map(|path| Ok(trees.find(tree, path)?.map(|found| found.id)))
            .collect::<Result<Vec<_>, git2::Error>>()
    };
    let Ok(fork) = repository.merge_base(base, offer.tip) else {
        return Ok(false);
    };
    let wanted = ids(&repository.find_commit(offer.tip)?)?;
    let mut commit = repository.find_commit(base)?;
    for _ in 0..MOST {
        if commit.id() == fork {
            break;
        }
        if ids(&commit)? == wanted {
            return Ok(true);
        }
        match commit.parent(0) {
            Ok(parent) => commit = parent,
            Err(_) => break,
        }
    }
    Ok(false)
}

/// The recovery that a branch is. Also where people have put commits on it or have amended it, with the lines at the end of its message: what it says was rejected stays so, and its pins are on their way.
fn recovery(
    repository: &Repository,
    base: Oid,
    branch: &str,
    tip: &git2::Commit<'_>,
) -> Result<Option<OldOffer>> {
    /// Nobody puts more commits on a branch of ours.
    const MOST: usize = 100;
    let git = |why: git2::Error| said(&format!("read `{branch}`"), &why);
    let mut own = tip.clone();
    for _ in 0..MOST {
        if own.id() == base || descends(repository, base, own.id()) {
            return Ok(None);
        }
        let key = trailer(&own, KEY_TRAILER);
        if key.is_some_and(|key| key.starts_with("recover ")) {
            return described(repository, (base, branch), &own, tip).map_err(git);
        }
        match own.parent(0) {
            Ok(parent) => own = parent,
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}
