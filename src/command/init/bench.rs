//! `--open`: the change is made on top of the remote's branch, in a repository of its own, and goes behind a merge request. The files and branches here stay as they are.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use git2::{Oid, Repository};

use super::Init;
use crate::cli::deliver::DeliverArgs;
use crate::command::author::Author;
use crate::command::deliver::Delivery;
use crate::command::deliver::access::Access;
use crate::command::deliver::reach::{OWN_DEPTH, Reached};
use crate::command::deliver::told::Told;
use crate::command::gather::{Gathered, Places, gather};
use crate::error::Problem;
use crate::git::apply::Applied;
use crate::git::branches::{Offered, Rebuild, check_room, offer};
use crate::git::old_offers::old_offer;
use crate::git::target::{Target, make_bare, open};
use crate::model::policy::RequestPolicy;
use crate::plan::bundle::{OFFERS, for_base, slug};
use crate::plan::change::Change;
use crate::plan::message::{DIGEST_TRAILER, digest};
use crate::world::World;

/// A bare repository for the change, beside the one that the person is in.
pub(in crate::command) struct Bench {
    /// The one that the person is in.
    pub(in crate::command) here: Gathered,
    /// The way to its remote.
    pub(in crate::command) access: Access,
    folder: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Bench {
    /// Sets one up where a request is to be opened.
    ///
    /// # Errors
    /// When there is no repository with a remote, or no room for another.
    pub(in crate::command) fn of(
        deliver: &DeliverArgs,
        places: &Places<'_>,
        world: &World,
    ) -> Result<Option<Self>> {
        if !deliver.open {
            return Ok(None);
        }
        let here = gather(places)?;
        let access = Access::of_target(deliver, &here.target, world)?;
        let temporary = tempfile::tempdir().context("cannot make a folder for the change")?;
        let folder = temporary.path().join("repository.git");
        make_bare(&folder)?;
        Ok(Some(Self {
            here,
            access,
            folder,
            _temporary: temporary,
        }))
    }

    /// Fetches the base, and makes it what the change is built on.
    ///
    /// # Errors
    /// When the remote can't be asked, or has no such branch.
    pub(in crate::command) fn reach(&self, deliver: &DeliverArgs) -> Result<Reached<'_>> {
        let bench = open(&self.folder)?;
        let reached =
            self.access
                .reach_into(deliver, &self.here.target, &bench, Some(OWN_DEPTH))?;
        let (branch, id) = &reached.base;
        let name = format!("refs/heads/{branch}");
        let set = bench
            .reference(&name, *id, true, "haptic-scaffold: base")
            .and_then(|_| bench.set_head(&name));
        set.map_err(|why| {
            Problem::failed(format!("cannot build on `{branch}`: {}", why.message()))
        })?;
        Ok(reached)
    }

    /// The places as they are for the change.
    pub(in crate::command) fn places<'p>(&'p self, places: Places<'p>) -> Places<'p> {
        Places {
            sub: self
                .here
                .path
                .as_ref()
                .map_or(places.sub, |path| Some(path.as_str())),
            bench: Some(&self.folder),
            ..places
        }
    }

    /// Refuses where the remote's branch isn't what the person sees.
    ///
    /// # Errors
    /// When it isn't.
    pub(in crate::command) fn check_same(&self, reached: &Reached<'_>) -> Result<()> {
        let (branch, there) = &reached.base;
        let here = self.here.head.as_ref().and_then(|head| head.commit);
        if here == Some(*there) {
            return Ok(());
        }
        Err(Problem::usage(format!(
            "`{branch}` isn't where `{}` has it, and what is rotated depends on what is there",
            reached.name
        ))
        .hint(format!("git pull {} {branch}, or git push", reached.name))
        .into())
    }
}

/// A change of files as an offer: with a branch of its own, and the digest of what it changes.
fn offered(change: &Change, reached: &Reached<'_>, policy: &RequestPolicy) -> Change {
    let base = &reached.base.0;
    let mut offered = change.clone();
    let words: Vec<String> = change.key.split(' ').map(slug).collect();
    offered.branch = format!("{OFFERS}{}", words.join("-"));
    offered.base.clone_from(base);
    offered.labels.extend(policy.labels.iter().cloned());
    offered
        .message
        .trailers
        .retain(|(name, _)| name != DIGEST_TRAILER);
    let content = digest(change.writes());
    offered
        .message
        .trailers
        .push((DIGEST_TRAILER.to_owned(), content));
    if !reached.is_default() {
        for_base(&mut offered, base);
    }
    offered
}

impl Init<'_> {
    /// The offer of an earlier run, where it is ours: its sealed Secrets count as there, since nothing is sealed twice.
    pub(super) fn earlier(&self) -> Result<Option<(&Repository, Oid)>> {
        let (Some(delivery), Target::Existing(repository)) =
            (&self.delivery, &self.gathered.target)
        else {
            return Ok(None);
        };
        let base = delivery.reached.base.1;
        for (branch, tip) in delivery.reached.offers() {
            let old = old_offer(repository, base, branch, tip)?;
            if old.is_some_and(|old| old.key.starts_with("init ")) {
                return Ok(Some((repository, tip)));
            }
        }
        Ok(None)
    }

    /// Commits the change to a branch of its own, pushes that and has its request opened.
    pub(super) fn open(
        &mut self,
        change: &Change,
        bench: &Bench,
        mut delivery: Delivery<'_>,
    ) -> Result<Opened> {
        let Target::Existing(repository) = &self.gathered.target else {
            return Err(Problem::failed("there is no repository to build on").into());
        };
        let recorded = self.gathered.recorded.as_ref();
        let policy = recorded.and_then(|(recorded, _)| recorded.requests.clone());
        let policy = policy.unwrap_or_default();
        if let Target::Existing(here) = &bench.here.target {
            delivery.request_files = Some(here.commondir().to_owned());
        }
        let base = delivery.reached.base.clone();
        let mut opened = Opened {
            change: offered(change, &delivery.reached, &policy),
            offered: None,
            request: None,
            problem: None,
        };
        let mut delivery = delivery.opening(repository, policy, true, self.ui)?;
        if opened.change.writes().next().is_none() {
            return Ok(opened);
        }
        if !self.common.dry_run {
            check_room(repository, std::slice::from_ref(&opened.change))?;
        }
        let author = self.arguments.author.as_deref();
        let author = Author::of(&bench.here.target, author, self.world)?;
        let commit = author.commit(self.world);
        let make =
            |change: &Change| offer(repository, change, (base.1, Rebuild::OnConflict), &commit);
        let changes = std::slice::from_ref(&opened.change);
        let (delivered, problem) = delivery.deliver(repository, changes, &make, self.ui)?;
        let made = delivered.into_iter().next();
        let (offered, request) = made
            .map(|one| (one.offered, one.request))
            .unwrap_or_default();
        opened.offered = offered;
        opened.request = request;
        opened.problem = problem;
        Ok(opened)
    }
}

/// What became of a change behind a request.
pub(super) struct Opened {
    pub(super) change: Change,
    pub(super) offered: Option<Offered>,
    pub(super) request: Option<Told>,
    pub(super) problem: Option<Problem>,
}

impl Opened {
    /// In the words of a change that was applied.
    pub(super) fn applied(&self) -> Applied {
        let commit = self.offered.as_ref().and_then(Offered::commit);
        let commit = commit.map(str::to_owned);
        Applied {
            branch: commit.is_some().then(|| self.change.branch.clone()),
            commit,
        }
    }
}
