//! Delivery: a change becomes a pushed branch and one merge request, and stays that one for as long as it is about the same.
//!
//! Everything that is known lives on the remote and the forge: the branch, the commit's trailers, and the marker in the request's text. So a run that was ended
//! anywhere is finished by the next one. Looked at first, then pushed, then the requests: nothing is opened for a branch that isn't there.

pub mod access;
mod dashboard;
pub mod lookups;
mod push;
pub mod reach;
mod tidy;
pub mod told;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::Result;
use git2::{Oid, Repository};

use self::access::Access;
use self::lookups::Lookups;
use self::reach::Reached;
use self::told::{Delivered, Told, Verdict};
use crate::error::Problem;
use crate::forge::error::ForgeError;
use crate::forge::{Able, Forge, Kind};
use crate::git::branches::{Offered, is_somebodys};
use crate::model::policy::RequestPolicy;
use crate::model::request::{Edit, NewRequest, Request, State};
use crate::plan::bundle::{Kept, OFFERS};
use crate::plan::change::Change;
use crate::plan::marker::{Marker, text_of, title_of};
use crate::plan::request::{Step, edited, is_to_merge, merging, step, withdrawn};
use crate::plan::schedule::Schedule;
use crate::ui::Ui;

pub use self::dashboard::Listed;
pub use self::tidy::Wanted;

const LEFT_ALONE: &str = "the branch has a commit that isn't ours";

/// How requests are opened.
pub enum Opening {
    /// Not at all: branches are pushed.
    No,
    /// By the forge.
    Forge(Box<Lookups>),
    /// By options of the push, which GitLab takes from whoever may push.
    PushOptions,
}

/// Where changes go.
pub struct Delivery<'a> {
    /// The remote, looked at.
    pub reached: Reached<'a>,
    /// How requests are opened.
    pub opening: Opening,
    /// How they are kept.
    pub policy: RequestPolicy,
    /// Whether nothing is pushed, opened or changed.
    pub is_dry: bool,
    /// The way to the remote.
    pub access: &'a Access,
    /// The git folder in which request files lie where there is no forge; that of the repository where nothing is said.
    pub request_files: Option<PathBuf>,
}

/// One change on its way.
struct Work<'c> {
    change: &'c Change,
    offered: Option<Offered>,
    /// Requests that may be about it.
    requests: Vec<Request>,
    told: Option<Told>,
    /// Whether its branch moved on the remote in this run.
    is_pushed: bool,
}

impl Work<'_> {
    fn commit(&self) -> Option<Oid> {
        Oid::from_str(self.offered.as_ref()?.commit()?).ok()
    }
}

impl<'a> Delivery<'a> {
    /// To a remote that was looked at. Nothing is opened until [`Self::opening`].
    pub fn new(access: &'a Access, reached: Reached<'a>, is_dry: bool) -> Self {
        Self {
            access,
            reached,
            opening: Opening::No,
            policy: RequestPolicy::default(),
            is_dry,
            request_files: None,
        }
    }

    fn kind(&self) -> Kind {
        self.access.place.kind
    }

    /// Finds the forge, and asks what it has.
    ///
    /// # Errors
    /// When no token is known, or the forge can't be asked.
    pub fn opening(
        mut self,
        repository: &Repository,
        policy: RequestPolicy,
        opens: bool,
        ui: &Ui,
    ) -> Result<Self> {
        self.policy = policy;
        if opens && self.access.is_by_options()? {
            self.opening = Opening::PushOptions;
        } else if opens {
            let folder = self.request_files.as_deref();
            let folder = folder.unwrap_or(repository.commondir());
            let forge = self.access.forge(folder, ui.trace())?;
            let lookups = Lookups::of(forge).map_err(|why| why.problem())?;
            self.opening = Opening::Forge(Box::new(lookups));
        }
        Ok(self)
    }

    /// Takes out what has to wait: for its time, or for others to be merged. What has an open request doesn't wait for others.
    ///
    /// # Errors
    /// When the forge can't be asked, or the schedule is none.
    pub fn hold_back(
        &mut self,
        changes: &mut Vec<Change>,
        (kept, staying): (&mut Vec<Kept>, &mut BTreeSet<String>),
        now: i64,
    ) -> Result<()> {
        if let Opening::No = self.opening {
            return Ok(());
        }
        let mut stays = |change: &Change, why: String| {
            let place = change.branch.clone();
            kept.push(Kept { place, why });
            staying.insert(change.key.clone());
        };
        let schedule = Schedule::parse(&self.policy.schedule)?;
        if !schedule.is_open(now) {
            let why = format!("it waits for its time: {}", self.policy.schedule.join(", "));
            changes
                .drain(..)
                .for_each(|change| stays(&change, why.clone()));
        }
        for change in &mut *changes {
            change.label(&self.policy.labels);
        }
        // How many are open can't be asked where only pushes open them.
        let (Opening::Forge(lookups), Some(most)) = (&mut self.opening, self.policy.most_open)
        else {
            return Ok(());
        };
        let open = lookups.open().map_err(|why| why.problem())?.to_vec();
        let is_ours =
            |one: &&Request| one.branch.starts_with(OFFERS) && Marker::split(&one.body).1.is_some();
        let ours = open.iter().filter(is_ours);
        let ours: BTreeSet<_> = ours.map(|one| (&one.branch, &one.base)).collect();
        let mut count = ours.len();
        let mut going = Vec::new();
        for change in changes.drain(..) {
            let is_new = !ours.contains(&(&change.branch, &change.base));
            if is_new && count >= most {
                let why = format!(
                    "it waits: {count} requests are open, and `requests.most_open` is {most}"
                );
                stays(&change, why);
                continue;
            }
            // One that people closed takes nobody's place.
            if is_new {
                let requests = lookups.about(&change).map_err(|why| why.problem())?;
                count += usize::from(!matches!(step(&change, &requests), Step::Closed(_)));
            }
            going.push(change);
        }
        *changes = going;
        Ok(())
    }

    /// Delivers changes: each is committed by `offer`, all are pushed at once, and each has its request. What one of them is refused is told with it, and the
    /// others go on; the problem that comes back is what the run ends with.
    ///
    /// # Errors
    /// When the forge can't be asked, before anything is done; or a commit can't be made.
    pub fn deliver<'c>(
        &mut self,
        repository: &Repository,
        changes: &'c [Change],
        offer: &dyn Fn(&Change) -> Result<Offered>,
        ui: &mut Ui,
    ) -> Result<(Vec<Delivered<'c>>, Option<Problem>)> {
        let mut works = Vec::new();
        for change in changes {
            let requests = match &mut self.opening {
                Opening::Forge(lookups) => lookups.about(change).map_err(|why| why.problem())?,
                Opening::No | Opening::PushOptions => Vec::new(),
            };
            works.push(Work {
                change,
                offered: None,
                requests,
                told: None,
                is_pushed: false,
            });
        }
        for work in &mut works {
            let decided = match step(work.change, &work.requests) {
                Step::Closed(request) => Some(self.closed(request)),
                Step::Elsewhere(request) => Some(self.elsewhere(request)),
                Step::Keep { .. } | Step::Open => None,
            };
            if decided.is_some() {
                work.told = decided;
            } else if self.is_dry {
                work.told = self.foreseen(repository, work)?;
            } else {
                work.offered = Some(offer(work.change)?);
                work.told = self.left_alone(work);
            }
        }
        let mut problem = None;
        if !self.is_dry {
            problem = self.push(repository, &mut works, ui)?;
            for work in &mut works {
                match (&work.told, &self.opening) {
                    (None, Opening::Forge(lookups)) => {
                        let forge = lookups.forge.as_ref();
                        work.told = Some(self.request(forge, work, &mut problem, ui));
                    }
                    (None, Opening::PushOptions) => {
                        work.told = Some(self.unknown(work.change, ui));
                    }
                    _ => {}
                }
            }
        }
        self.tell_cut(ui);
        let delivered = works.into_iter().map(|work| Delivered {
            change: work.change,
            offered: work.offered,
            request: work.told,
        });
        Ok((delivered.collect(), problem))
    }

    fn closed(&self, request: &Request) -> Told {
        let why = "people closed it: this version is offered no more; a newer one is";
        Told::of(self.kind(), Some(request), Verdict::Closed).because(why)
    }

    fn elsewhere(&self, request: &Request) -> Told {
        let why = format!("people aimed it at `{}`", request.base);
        Told::of(self.kind(), Some(request), Verdict::LeftAlone).because(why)
    }

    /// What would become of the request.
    fn foreseen(&self, repository: &Repository, work: &Work<'_>) -> Result<Option<Told>> {
        let Opening::Forge(_) = &self.opening else {
            return Ok(None);
        };
        let (request, verdict) = match step(work.change, &work.requests) {
            Step::Keep {
                request,
                edit,
                is_adopted,
            } => {
                let verdict = match (is_adopted, edit) {
                    (true, _) => Verdict::Adopted,
                    (false, Some(_)) => Verdict::Updated,
                    (false, None) => Verdict::Same,
                };
                (Some(request), verdict)
            }
            Step::Open | Step::Closed(_) | Step::Elsewhere(_) => (None, Verdict::Created),
        };
        if is_somebodys(repository, work.change, self.reached.base.1)? {
            let told = Told::of(self.kind(), request, Verdict::LeftAlone);
            return Ok(Some(told.because(LEFT_ALONE)));
        }
        Ok(Some(Told::of(self.kind(), request, verdict)))
    }

    fn left_alone(&self, work: &Work<'_>) -> Option<Told> {
        let why = match work.offered.as_ref()? {
            Offered::LeftAlone => LEFT_ALONE,
            Offered::CheckedOut => "the branch is checked out",
            Offered::Created(_) | Offered::Updated(_) | Offered::Same(_) => return None,
        };
        let request = match step(work.change, &work.requests) {
            Step::Keep { request, .. } => Some(request),
            Step::Open | Step::Closed(_) | Step::Elsewhere(_) => None,
        };
        Some(Told::of(self.kind(), request, Verdict::LeftAlone).because(why))
    }

    /// Opens the request of a pushed branch, or brings the open one up to date.
    fn request(
        &self,
        forge: &dyn Forge,
        work: &Work<'_>,
        problem: &mut Option<Problem>,
        ui: &mut Ui,
    ) -> Told {
        match self.try_request(forge, work, ui) {
            Ok(told) => told,
            Err(why) => {
                let shown = why.problem();
                let told =
                    Told::of(self.kind(), None, Verdict::Refused).because(shown.message.clone());
                let shown = shown.hint(format!(
                    "the branch `{}` is pushed: the next run goes on from there",
                    work.change.branch
                ));
                problem.get_or_insert(shown);
                told
            }
        }
    }

    fn try_request(
        &self,
        forge: &dyn Forge,
        work: &Work<'_>,
        ui: &mut Ui,
    ) -> Result<Told, ForgeError> {
        let new = self.new_request(work.change);
        let (request, verdict) = match step(work.change, &work.requests) {
            Step::Keep {
                request,
                edit,
                is_adopted,
            } => {
                let verdict = match (is_adopted, work.is_pushed || edit.is_some()) {
                    (true, _) => Verdict::Adopted,
                    (false, true) => Verdict::Updated,
                    (false, false) => Verdict::Same,
                };
                let mut request = request.clone();
                if let Some(edit) = edit {
                    request.body = bring_up(forge, &request, edit, new, ui)?;
                }
                (request, verdict)
            }
            Step::Open | Step::Closed(_) | Step::Elsewhere(_) => match forge.create(&new) {
                Ok(created) => {
                    for unable in &created.unable {
                        ui.warn(&format!("{}: {unable}", created.request.url));
                    }
                    let is_old = !work.is_pushed;
                    let verdict = if is_old {
                        Verdict::Adopted
                    } else {
                        Verdict::Created
                    };
                    (created.request, verdict)
                }
                // Another bot was faster, or the answer was lost on the way.
                Err(why) if why.may_be_done => {
                    let found = forge.of_branch(&work.change.branch)?;
                    let is_it =
                        |one: &Request| one.state == State::Open && one.base == work.change.base;
                    let mut open = found.into_iter().filter(is_it);
                    let mut request = open.next().ok_or(why)?;
                    if let Some(edit) = edited(&request, work.change) {
                        request.body = bring_up(forge, &request, edit, new, ui)?;
                    }
                    (request, Verdict::Created)
                }
                Err(why) => return Err(why),
            },
        };
        let told = Told::of(self.kind(), Some(&request), verdict);
        let commit = work.commit().filter(|_| self.policy.auto_merge);
        match commit.map(|commit| have_merged(forge, &request, &commit.to_string())) {
            None => Ok(told),
            Some(able) => Ok(match able? {
                Able::Done => told,
                Able::Unable(why) => told.because(format!("it isn't merged by itself: {why}")),
            }),
        }
    }

    fn new_request(&self, change: &Change) -> NewRequest {
        let policy = &self.policy;
        NewRequest {
            branch: change.branch.clone(),
            base: change.base.clone(),
            title: title_of(change),
            body: Marker::of(change).behind(&text_of(change)),
            first_body: Some(Marker::of(change).unfinished().behind(&text_of(change))),
            labels: change.labels.clone(),
            assignees: policy.assignees.clone(),
            reviewers: policy.reviewers.clone(),
            milestone: policy.milestone.clone(),
            is_draft: policy.draft,
            squash: policy.squash,
            remove_branch: !policy.keep_branch,
        }
    }
}

/// Closes a request of ours, and says why in it. What says that we did it is written first: else the next run took it for somebody's "no".
fn withdraw(forge: &dyn Forge, request: &Request, note: &str) -> Result<(), ForgeError> {
    if let Some(body) = withdrawn(request) {
        let edit = Edit {
            body: Some(body),
            ..Edit::default()
        };
        forge.edit(request.number, &edit)?;
    }
    forge.comment(request.number, note)?;
    forge.close(request.number)
}

/// Has a request merged as soon as it may be, unless that was said of this commit before. What can't be now may be in the next run.
fn have_merged(forge: &dyn Forge, request: &Request, commit: &str) -> Result<Able, ForgeError> {
    if !is_to_merge(&request.body, commit) {
        return Ok(Able::Done);
    }
    let able = forge.merge_when_ready(request.number, commit)?;
    if let (Able::Done, body @ Some(_)) = (&able, merging(&request.body, commit)) {
        let edit = Edit {
            body,
            ..Edit::default()
        };
        forge.edit(request.number, &edit)?;
    }
    Ok(able)
}

/// Changes an open request, and gives the text that it has now. One that was opened and left there gets the rest of what belongs to it.
fn bring_up(
    forge: &dyn Forge,
    request: &Request,
    mut edit: Edit,
    new: NewRequest,
    ui: &mut Ui,
) -> Result<String, ForgeError> {
    let body = edit.body.clone().unwrap_or(request.body.clone());
    let marker = Marker::split(&request.body).1;
    if marker.is_some_and(|marker| marker.unfinished) {
        let given = NewRequest {
            body: edit.body.take().unwrap_or(new.body),
            labels: edit.labels.take().unwrap_or(request.labels.clone()),
            ..new
        };
        for unable in forge.finish(request.number, &given)? {
            ui.warn(&format!("{}: {unable}", request.url));
        }
    }
    if edit != Edit::default() {
        forge.edit(request.number, &edit)?;
    }
    Ok(body)
}
