//! What earlier runs left that nothing asks for any more: requests that are superseded or no longer needed, and branches whose request has ended.

use anyhow::Result;
use git2::{Oid, Repository};

use super::told::{Delivered, Verdict};
use super::{Delivery, Opening, withdraw};
use crate::error::Problem;
use crate::git::branches::forget;
use crate::git::old_offers::{OldOffer, old_offer};
use crate::git::remote::RefUpdate;
use crate::git::remote::pushed::Outcome;
use crate::git::target::move_tracking;
use crate::model::request::{Request, State};
use crate::plan::bundle::{OFFERS, base_word};
use crate::plan::marker::Marker;
use crate::ui::Ui;

/// What a run found out about all of a repository.
pub struct Wanted<'a> {
    /// Whether what has this key stays although something is newer: an older offer of it may be as good as ever.
    pub stays: &'a dyn Fn(&str) -> bool,
    /// Whether any of the versions that a change with this key offers was rejected.
    pub is_rejected: &'a dyn Fn(&str, &[String]) -> bool,
    /// Whether everything was looked at and answered: only then nothing asks for what isn't asked for.
    pub is_all: bool,
}

impl Delivery<'_> {
    /// Leaves those recoveries that an upgrade waits for: of the same base, and not closed by people.
    ///
    /// # Errors
    /// When the forge can't be asked.
    pub fn keep_awaited(&mut self, recoveries: &mut Vec<OldOffer>) -> Result<()> {
        let base = (!self.reached.is_default()).then(|| base_word(&self.reached.base.0));
        recoveries.retain(|one| one.key_and_base().1 == base.as_deref());
        let Opening::Forge(lookups) = &mut self.opening else {
            return Ok(());
        };
        let mut awaited = Vec::new();
        for one in recoveries.drain(..) {
            let requests = lookups
                .of_branch(&one.branch)
                .map_err(|why| why.problem())?;
            let has = |state: State| requests.iter().any(|request| request.state == state);
            // By squashing, so that no history has it.
            let tip = one.tip.to_string();
            let is_merged = requests.iter().any(|request| {
                request.state == State::Merged && request.head.as_deref() == Some(&tip)
            });
            if !is_merged && (has(State::Open) || !has(State::Closed)) {
                awaited.push(one);
            }
        }
        *recoveries = awaited;
        Ok(())
    }

    /// Closes what is superseded, and deletes branches of ours whose request was merged or closed.
    ///
    /// # Errors
    /// When the repository can't be read. What the forge or the remote refuse comes back as the problem.
    pub fn tidy(
        &mut self,
        repository: &Repository,
        delivered: &[Delivered<'_>],
        wanted: &Wanted<'_>,
        ui: &mut Ui,
    ) -> Result<Option<Problem>> {
        let mut deleted = Vec::new();
        let branches: Vec<(String, Oid)> = self
            .reached
            .offers()
            .map(|(name, id)| (name.to_owned(), id))
            .collect();
        for (branch, tip) in branches {
            let current = delivered.iter().find(|one| one.change.branch == branch);
            if current.is_some_and(|one| !one.is_closed()) {
                continue;
            }
            match self.ended(repository, (&branch, tip), delivered, wanted, ui) {
                Ok(true) => deleted.push((branch, tip)),
                Ok(false) => {}
                Err(problem) => return Ok(Some(problem)),
            }
        }
        self.tell_cut(ui);
        self.delete(repository, &deleted, ui)
    }

    /// Says where the forge has more requests than were looked at.
    pub(super) fn tell_cut(&mut self, ui: &mut Ui) {
        if let Opening::Forge(lookups) = &mut self.opening
            && let Some(cut) = lookups.cut()
        {
            ui.warn(&cut);
        }
    }

    /// Whether a branch has done its work. A request that is still open is closed first, where nothing asks for it any more.
    fn ended(
        &mut self,
        repository: &Repository,
        (branch, tip): (&str, Oid),
        delivered: &[Delivered<'_>],
        wanted: &Wanted<'_>,
        ui: &mut Ui,
    ) -> Result<bool, Problem> {
        let Opening::Forge(lookups) = &mut self.opening else {
            return Ok(false);
        };
        let requests = lookups
            .of_branch(branch)
            .map_err(|why| why.problem())?
            .to_vec();
        let (base, base_id) = self.reached.base.clone();
        let marked = |request: &Request| {
            Marker::split(&request.body)
                .1
                .filter(|_| request.base == base)
        };
        let offer = old_offer(repository, base_id, branch, tip)
            .map_err(|why| Problem::failed(why.to_string()))?;
        let mut open = requests.iter().filter(|one| one.state == State::Open);
        if let Some(request) = open.next() {
            let is_upgrade = branch.starts_with(&format!("{OFFERS}upgrade-"));
            let (Some(marker), true, true) = (marked(request), wanted.is_all, is_upgrade) else {
                return Ok(false);
            };
            let is_rejected = (wanted.is_rejected)(&marker.key, &marker.versions);
            // What the base has already waits for nothing.
            let is_done = offer.as_ref().is_some_and(|offer| offer.is_in_base);
            if (wanted.stays)(&marker.key) && !is_rejected && !is_done {
                return Ok(false);
            }
            let Some(offer) = offer else {
                ui.warn(&format!("{branch}: nothing asks for it any more, and it has a commit that isn't ours, so it is left alone: {}", request.url));
                return Ok(false);
            };
            // That nothing asks for it may be a file that can't be read now, or a source that has lost its list: no reason to close what people look at.
            let Some(note) = note(&offer, delivered, &base, is_rejected) else {
                ui.notice(&format!(
                    "{}: nothing asks for it any more; close it if it isn't wanted",
                    request.url
                ));
                return Ok(false);
            };
            ui.notice(&format!("{}: closed: {note}", request.url));
            if !self.is_dry {
                withdraw(lookups.forge.as_ref(), request, &note).map_err(|why| why.problem())?;
            }
            return Ok(true);
        }
        // Whoever merged or closed it has seen this commit; one that came later is somebody's work, or an offer that has no request yet.
        let is_of_it = |request: &&Request| {
            let has_seen = request.head.as_deref() == Some(&tip.to_string());
            let is_same = |marker: &Marker| {
                let offer = offer.as_ref();
                offer.is_some_and(|offer| offer.content == marker.content)
            };
            marked(request).is_some_and(|marker| has_seen || is_same(&marker))
        };
        let mut all = requests.iter().filter(is_of_it);
        let is_merged = all.clone().any(|one| one.state == State::Merged);
        // A recovery that people closed is a no to its version. What it says was rejected stays so, and stands nowhere else: whoever else has worked on it, and
        // whatever was merged before under its name.
        let is_recovery = branch.starts_with(&format!("{OFFERS}recover-"));
        let is_in_base = offer.as_ref().is_some_and(|offer| offer.is_in_base);
        if is_recovery && !is_merged && !is_in_base {
            return Ok(false);
        }
        Ok(all.any(|one| !self.policy.keep_branch || one.state != State::Merged))
    }

    fn delete(
        &mut self,
        repository: &Repository,
        branches: &[(String, Oid)],
        ui: &mut Ui,
    ) -> Result<Option<Problem>> {
        for (branch, _) in branches {
            ui.notice(&format!("{branch}: deleted, its request has ended"));
        }
        if self.is_dry || branches.is_empty() {
            return Ok(None);
        }
        let update = |(branch, tip): &(String, Oid)| RefUpdate {
            name: format!("refs/heads/{branch}"),
            new: None,
            expected_old: Some(*tip),
        };
        let updates: Vec<RefUpdate> = branches.iter().map(update).collect();
        let pushed = match self.reached.remote.push(repository, &updates) {
            Ok(pushed) => pushed,
            Err(why) => return Ok(Some(why.problem())),
        };
        for ((branch, tip), status) in branches.iter().zip(&pushed.refs) {
            if matches!(status.outcome, Outcome::Done | Outcome::Unchanged) {
                move_tracking(repository, &self.reached.name, branch, None)?;
                forget(repository, branch, *tip)?;
            }
        }
        Ok(pushed.check().err())
    }
}

/// Why an open request is closed; nothing where there is no reason.
fn note(
    offer: &OldOffer,
    delivered: &[Delivered<'_>],
    base: &str,
    is_rejected: bool,
) -> Option<String> {
    let is_in = |one: &&Delivered<'_>| {
        let paths: Vec<&str> = one.change.writes().map(|file| file.path.as_str()).collect();
        offer
            .paths
            .iter()
            .all(|path| paths.contains(&path.as_str()))
    };
    // One that people closed, or that couldn't be had, takes nothing's place.
    let is_open = |verdict| !matches!(verdict, Verdict::Closed | Verdict::Refused);
    let newer = delivered.iter().filter(is_in);
    let mut newer = newer
        .filter_map(|one| one.request.as_ref())
        .filter(|told| is_open(told.verdict));
    match newer.find_map(|told| told.url.as_ref()) {
        Some(url) if is_rejected => Some(format!(
            "Its version was rejected. {url} goes forward from there."
        )),
        Some(url) => Some(format!("Superseded by {url}.")),
        None if offer.is_in_base => Some(format!("`{base}` has this already.")),
        None if is_rejected => Some("Its version was rejected.".to_owned()),
        None => None,
    }
}
