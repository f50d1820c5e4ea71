//! [`Reached`]: a remote that was looked at, and the commit there that changes are built on.

use std::num::NonZeroU32;

use anyhow::Result;
use git2::{Oid, Repository};

use super::access::Access;
use crate::error::{ExitStatus, Problem};
use crate::git::branches::is_decided;
use crate::git::remote::{Listing, Remote};
use crate::git::target::{Head, move_tracking, open};
use crate::plan::bundle::OFFERS;

const HEADS: &str = "refs/heads/";
/// How many commits of a cut history come: our own branches are compared with their parents.
pub const OWN_DEPTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);
/// How many commits come where it can't be told of an offer whether it was built on the base's history; where that isn't enough, all.
const DEEPER: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// A remote that was looked at.
pub struct Reached<'a> {
    /// The remote.
    pub remote: Remote<'a>,
    /// Its name in the repository.
    pub name: String,
    /// What it has.
    pub listing: Listing,
    /// The branch that changes are for, and where it is.
    pub base: (String, Oid),
}

impl<'a> Reached<'a> {
    /// Asks a remote once: its references, and the objects of the base and of our own branches. The repository's remote-tracking branches follow, as with `git fetch`.
    ///
    /// # Errors
    /// When the remote can't be asked, or has no such branch.
    pub fn look(
        repository: &Repository,
        (name, remote): (&str, Remote<'a>),
        (given, head): (Option<&str>, Option<&Head>),
        depth: Option<NonZeroU32>,
    ) -> Result<Self> {
        let current = head.and_then(|head| head.branch.as_deref());
        let current = current.and_then(|branch| branch.strip_prefix(HEADS));
        // An offer is nothing to build on.
        let current = current.filter(|branch| !branch.starts_with(OFFERS));
        let own = format!("{HEADS}{OFFERS}");
        let given_ref = given.map(|name| format!("{HEADS}{name}"));
        let current_ref = current.map(|name| format!("{HEADS}{name}"));
        let is_wanted = |name: &str| match (&given_ref, &current_ref) {
            _ if name.starts_with(&own) => true,
            (Some(given), _) => name == given,
            (None, Some(current)) => name == current,
            (None, None) => name == "HEAD",
        };
        let mut depth = depth;
        let (listing, base) = loop {
            let listing = remote.fetch(repository, &is_wanted, depth);
            let listing = listing.map_err(|why| why.problem())?;
            let of_remote = listing.head.as_deref();
            let of_remote = of_remote.and_then(|name| name.strip_prefix(HEADS));
            let branch = given.or(current).or(of_remote).unwrap_or("HEAD").to_owned();
            let Some(id) = listing.refs.get(&format!("{HEADS}{branch}")).copied() else {
                return Err(no_base(&branch, &remote.shown(), &listing).into());
            };
            let own = listing
                .refs
                .iter()
                .filter(|(name, _)| name.starts_with(&own));
            let own: Vec<(&str, Oid)> = own.map(|(name, id)| (name.as_str(), *id)).collect();
            // Where a history is cut is read when a repository is opened.
            let fresh = open(repository.path())?;
            if depth.is_none() || is_decided(&fresh, id, &own)? {
                break (listing, (branch, id));
            }
            depth = depth.filter(|depth| *depth < DEEPER).map(|_| DEEPER);
        };
        let it = Self {
            remote,
            name: name.to_owned(),
            listing,
            base,
        };
        it.track(repository)?;
        Ok(it)
    }

    /// The same remote once more, for a push with options of its own.
    ///
    /// # Errors
    /// When it isn't one that can be asked.
    pub fn again<'b>(&self, access: &'b Access, repository: &Repository) -> Result<Remote<'b>> {
        match repository.find_remote(&self.name) {
            Ok(_) => access.named(repository, &self.name),
            Err(_) => access.at(repository.path()),
        }
    }

    /// Whether the base is the remote's default branch, or nobody says which that is.
    pub fn is_default(&self) -> bool {
        let default = self.listing.head.as_deref();
        default.is_none_or(|name| name.strip_prefix(HEADS) == Some(&self.base.0))
    }

    /// Where a branch is on the remote.
    pub fn tip(&self, branch: &str) -> Option<Oid> {
        self.listing.refs.get(&format!("{HEADS}{branch}")).copied()
    }

    /// Our branches there, by name.
    pub fn offers(&self) -> impl Iterator<Item = (&str, Oid)> {
        let all = self.listing.refs.iter();
        let all = all.filter_map(|(name, id)| Some((name.strip_prefix(HEADS)?, *id)));
        all.filter(|(name, _)| name.starts_with(OFFERS))
    }

    /// Says in the repository where the remote's branches are, and forgets those of ours that are gone.
    fn track(&self, repository: &Repository) -> Result<()> {
        let (base, id) = &self.base;
        move_tracking(repository, &self.name, base, Some(*id))?;
        for (branch, id) in self.offers() {
            move_tracking(repository, &self.name, branch, Some(id))?;
        }
        let prefix = format!("refs/remotes/{}/", self.name);
        let known = repository.references_glob(&format!("{prefix}{OFFERS}*"));
        let git = |why: git2::Error| {
            Problem::failed(format!("cannot list the branches: {}", why.message()))
        };
        let mut gone = Vec::new();
        for reference in known.map_err(git)? {
            let reference = reference.map_err(git)?;
            let branch = reference
                .name()
                .ok()
                .and_then(|name| name.strip_prefix(&prefix));
            gone.extend(
                branch
                    .filter(|branch| self.tip(branch).is_none())
                    .map(str::to_owned),
            );
        }
        for branch in gone {
            move_tracking(repository, &self.name, &branch, None)?;
        }
        Ok(())
    }
}

fn no_base(branch: &str, remote: &str, listing: &Listing) -> Problem {
    let names: Vec<&str> = listing
        .refs
        .keys()
        .filter_map(|name| name.strip_prefix(HEADS))
        .collect();
    let names: Vec<&str> = names
        .into_iter()
        .filter(|name| !name.starts_with(OFFERS))
        .take(10)
        .collect();
    let problem = Problem::new(
        ExitStatus::Remote,
        format!("`{remote}` has no branch `{branch}` to build on"),
    );
    if names.is_empty() {
        problem.hint(format!("it is empty: git push origin {branch}"))
    } else {
        problem.hint(format!(
            "`--base BRANCH` names another; there are: {}",
            names.join(", ")
        ))
    }
}
