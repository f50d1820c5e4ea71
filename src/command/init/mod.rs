//! `init`: renders a layout into a repository and commits it.

mod answer;
mod before;
mod bench;
mod checks;
mod last_run;
mod own_values;
mod push;
mod rotation;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use self::bench::Bench;
use super::author::Author;
use super::deliver::Delivery;
use super::deliver::reach::Reached;
use super::files;
use super::gather::{self, Gathered, Places, gather};
use super::next_steps::NextSteps;
use super::versions::Chosen;
use crate::cli::Common;
use crate::cli::deliver::DeliverArgs;
use crate::cli::init::{InitArgs, OnConflict as Flag};
use crate::error::{ExitStatus, Problem};
use crate::git::apply::{self, Applied};
use crate::git::journal::{Guard, RealDisk};
use crate::git::target::{Head, Target, check_committable};
use crate::layout::answers::Answers;
use crate::layout::catalog::Catalog;
use crate::layout::definition::Layout;
use crate::layout::profile::Profile;
use crate::layout::render::{OwnValues, render};
use crate::model::repo_path::RepoPath;
use crate::plan::change::Change;
use crate::plan::lock::Lock;
use crate::plan::scaffold::{self, FOLLOWED, Facts, OnConflict};
use crate::ui::{Outcome, Ui};
use crate::world::World;

pub(super) use last_run::{LastRun, catalog};
pub(super) use rotation::{Rotation, rotate};

/// Runs `init`.
///
/// # Errors
/// When answers are wrong or missing, a version is refused, the repository can't be used, or something can't be written.
pub fn run(
    arguments: &InitArgs,
    common: &Common,
    world: &mut World,
    ui: &mut Ui,
) -> Result<Outcome> {
    let folder = files::working_folder(common, world);
    let config = common.config.as_deref().map(|file| world.folder.join(file));
    let places = Places {
        folder: &folder,
        dir: arguments.dir.as_deref(),
        sub: arguments.path.as_deref(),
        config: config.as_deref(),
        may_follow_bootstrap: is_flux(arguments),
        bench: None,
    };
    if !common.dry_run {
        recover_first(&places)?;
    }
    let bench = Bench::of(&arguments.deliver, &places, world)?;
    let (gathered, reached) = gathered(bench.as_ref(), &arguments.deliver, places)?;
    gathered.notices.iter().for_each(|notice| ui.notice(notice));
    let catalog = catalog(arguments, &gathered, world)?;
    let mut init = Init {
        arguments,
        common,
        world,
        ui,
        gathered: &gathered,
        catalog: &catalog,
        last: LastRun::of(&gathered, &catalog),
        rotation: None,
        is_init: true,
        delivery: delivery(bench.as_ref(), reached, common),
        bench: bench.as_ref(),
    };
    let answered = init.answer()?;
    init.say_details(&answered);
    init.warn_of_plain_secrets()?;
    let change = init.plan(&answered)?;
    init.finish(&answered, &change)
}

/// Whether the command line asks for Flux: only then does the folder of `flux bootstrap` say where to write.
fn is_flux(arguments: &InitArgs) -> bool {
    let names_flux = |name: &String| name == "flux" || name.starts_with("flux-");
    arguments
        .layout
        .as_ref()
        .or(arguments.provider.as_ref())
        .is_some_and(names_flux)
}

/// What is there: of the remote's branch, where a request is to be opened.
fn gathered<'b>(
    bench: Option<&'b Bench>,
    deliver: &DeliverArgs,
    places: Places<'_>,
) -> Result<(Gathered, Option<Reached<'b>>)> {
    match bench {
        None => Ok((gather(&places)?, None)),
        Some(bench) => {
            let reached = bench.reach(deliver)?;
            Ok((gather(&bench.places(places))?, Some(reached)))
        }
    }
}

fn delivery<'b>(
    bench: Option<&'b Bench>,
    reached: Option<Reached<'b>>,
    common: &Common,
) -> Option<Delivery<'b>> {
    let (bench, reached) = (bench?, reached?);
    Some(Delivery::new(&bench.access, reached, common.dry_run))
}

/// What an earlier run left half-way is put right before anything is looked at.
fn recover_first(places: &Places<'_>) -> Result<()> {
    match &gather::target(places)? {
        Target::Existing(repository) if Guard::is_needed(repository) => {
            Guard::take(repository).map(|_| ())
        }
        _ => Ok(()),
    }
}

struct Init<'a> {
    arguments: &'a InitArgs,
    common: &'a Common,
    world: &'a World,
    ui: &'a mut Ui,
    gathered: &'a Gathered,
    catalog: &'a Catalog,
    last: Option<LastRun>,
    rotation: Option<&'a Rotation<'a>>,
    /// Whether it is `init` itself.
    is_init: bool,
    /// Where the change goes, when a request is to be opened.
    delivery: Option<Delivery<'a>>,
    bench: Option<&'a Bench>,
}

/// Every answer, and the version of each cluster.
struct Answered {
    layout: Layout,
    answers: Answers,
    resolved: Map<String, Value>,
    own_values: Option<(String, String)>,
    /// The values file whose text `own_values` has.
    carried: Option<RepoPath>,
    chosen: Chosen,
    command: Option<String>,
}

impl Init<'_> {
    /// For `-v`: what was understood. For `-vv`: every answer.
    fn say_details(&mut self, answered: &Answered) {
        let (answers, layout) = (&answered.answers, &answered.layout);
        self.ui.detail(
            1,
            &format!("target: {}", self.gathered.target.place().display()),
        );
        self.ui.detail(
            1,
            &format!("layout: {} ({})", layout.name, self.catalog.digest(layout)),
        );
        self.ui
            .detail(1, &format!("chart: {}", answers.chart.address()));
        for (cluster, version) in &answered.chosen.versions {
            self.ui
                .detail(1, &format!("version in {cluster}: {version}"));
        }
        for (name, value) in answered
            .resolved
            .iter()
            .filter(|(name, _)| *name != "values")
        {
            self.ui.detail(2, &format!("answer {name}: {value}"));
        }
    }

    fn plan(&mut self, answered: &Answered) -> Result<Change> {
        let Answered {
            layout,
            answers,
            resolved,
            own_values,
            chosen,
            ..
        } = answered;
        let own = own_values
            .as_ref()
            .map(|(text, place)| OwnValues { text, place });
        let rendering = render(self.catalog, layout, answers, &chosen.versions, own)?;
        let before = self.before(answered, &rendering)?;
        let sealed = self.seal(answers, &rendering.files)?;
        let purpose = self
            .rotation
            .map(|rotation| rotation.purpose.clone())
            .unwrap_or_default();
        let versions: BTreeSet<String> = chosen.versions.values().cloned().collect();
        let lock = Lock {
            layout: layout.name.clone(),
            digest: self.catalog.digest(layout),
            own_layouts: self.catalog.has_own(),
            answers: resolved.clone(),
            files: BTreeMap::new(),
        };
        let facts = Facts {
            files: &rendering.files,
            layout: &lock,
            release: &answers.release,
            chart: &answers.chart.address(),
            versions: &versions.into_iter().collect::<Vec<_>>(),
            prefix: &answers.prefix(),
            branch: self
                .gathered
                .head
                .as_ref()
                .and_then(Head::short)
                .unwrap_or(&answers.branch),
            is_first: self.gathered.is_first,
            is_pending: self.gathered.is_pending,
            answers: resolved,
            purpose: &purpose,
            sealed: &sealed,
            lock: &self.gathered.lock,
            before: &before,
            on_conflict: match self.arguments.on_conflict {
                Flag::Stop => OnConflict::Stop,
                Flag::Keep => OnConflict::Keep,
                Flag::Replace => OnConflict::Replace,
            },
        };
        scaffold::plan(self.gathered.target.tree()?.as_ref(), &facts)
    }

    fn finish(&mut self, answered: &Answered, change: &Change) -> Result<Outcome> {
        if change.conflicts().next().is_some() {
            return Ok(self.conflicts(answered, change));
        }
        self.refuse_dirty(change)?;
        if let Some(why) = answered.chosen.why.as_ref() {
            let version = answered
                .chosen
                .versions
                .values()
                .next()
                .cloned()
                .unwrap_or_default();
            self.ui.notice(&format!("version {version}: {why}"));
        }
        if let (Some(bench), Some(delivery)) = (self.bench, self.delivery.take()) {
            return self.opened(answered, change, bench, delivery);
        }
        let push = self.push_ahead(answered)?;
        let applied = if self.common.dry_run {
            Applied {
                commit: None,
                branch: None,
            }
        } else {
            self.apply(change, &answered.answers.branch)?
        };
        let rotated = self.rotation.map(|rotation| rotation.steps.clone());
        let plan = NextSteps {
            answers: &answered.answers,
            profile: &Profile::of(&answered.answers),
            gathered: self.gathered,
            change,
            place: &self.place(),
            no_commit: self.arguments.no_commit,
            is_pushed: push.is_some(),
        };
        let steps = rotated.map_or_else(|| plan.list(), Ok)?;
        let mut told = if self.common.quiet {
            String::new()
        } else {
            self.told(answered, change, &applied, &steps)
        };
        let problem = match push {
            Some(push) if !self.common.dry_run => self.push(&push, &mut told)?,
            _ => None,
        };
        if let Some(command) = &answered.command {
            self.ui.notice(&format!("\nthe same again: {command}"));
        }
        let mut json = self.json(change, &applied);
        json.insert("versions".into(), json!(answered.chosen.versions));
        json.insert("version_why".into(), json!(answered.chosen.why));
        json.insert("next_steps".into(), json!(steps));
        let status = problem
            .as_ref()
            .map_or(ExitStatus::Done, |problem: &Problem| problem.status);
        Ok(Outcome {
            status,
            text: told,
            json,
            problem,
            lists: Vec::new(),
        })
    }

    /// What somebody edited and did not commit must neither be lost nor go out with a change: a rotation touches committed texts alone, and so does
    /// what follows an answer in a file of the team's.
    fn refuse_dirty(&self, change: &Change) -> Result<()> {
        let files = change
            .writes()
            .filter(|file| self.rotation.is_some() || file.why == FOLLOWED);
        let Some(file) = rotation::dirty(self.gathered, files)? else {
            return Ok(());
        };
        Err(Problem::new(
            ExitStatus::Conflicts,
            format!(
                "`{}` has a text that isn't committed, so nothing was written",
                file.path
            ),
        )
        .hint(format!(
            "commit it, or put it aside: git stash push {}",
            file.path
        ))
        .into())
    }

    /// The target as the person named it.
    fn place(&self) -> String {
        match (&self.arguments.dir, &self.common.directory) {
            (Some(dir), Some(folder)) => folder.join(dir).display().to_string(),
            (Some(dir), None) | (None, Some(dir)) => dir.display().to_string(),
            (None, None) => {
                let canonical =
                    |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
                let place = self.here().target.place();
                if canonical(place) == canonical(&self.world.folder) {
                    ".".to_owned()
                } else {
                    place.display().to_string()
                }
            }
        }
    }

    fn apply(&mut self, change: &Change, branch: &str) -> Result<Applied> {
        let target = &self.gathered.target;
        if self.arguments.no_commit {
            return apply::apply(target, change, branch, None, &mut RealDisk);
        }
        if let (Target::Existing(repository), Some(head)) = (target, &self.gathered.head) {
            check_committable(repository, head)?;
        }
        let author = Author::of(target, self.arguments.author.as_deref(), self.world)?;
        let commit = author.commit(self.world);
        let applied = apply::apply(target, change, branch, Some(&commit), &mut RealDisk)?;
        if applied.commit.is_some() {
            author.tell(self.ui);
        }
        Ok(applied)
    }
}
