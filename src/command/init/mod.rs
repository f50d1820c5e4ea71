//! `init`: renders a layout into a repository and commits it.

mod answer;
mod show;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::files;
use super::gather::{Gathered, gather};
use super::next_steps::next_steps;
use super::versions::Chosen;
use crate::cli::Common;
use crate::cli::init::{InitArgs, OnConflict as Flag};
use crate::error::{ExitStatus, Problem};
use crate::git::apply::{self, Applied, Commit};
use crate::git::journal::{Guard, RealDisk};
use crate::git::target::{Target, check_committable};
use crate::git::{identity, sign};
use crate::layout::answers::Answers;
use crate::layout::catalog::Catalog;
use crate::layout::definition::{Layout, Owner};
use crate::layout::profile::Profile;
use crate::layout::render::{OwnValues, Rendering, render};
use crate::model::repo_path::RepoPath;
use crate::plan::change::Change;
use crate::plan::scaffold::{self, Facts, OnConflict};
use crate::ui::{Outcome, Ui};
use crate::world::World;

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
    let folder = common
        .directory
        .as_deref()
        .map_or_else(|| world.folder.clone(), |dir| world.folder.join(dir));
    let config = common.config.as_deref().map(|file| world.folder.join(file));
    recover_first(&folder, arguments, common.dry_run)?;
    let gathered = gather(
        &folder,
        arguments.dir.as_deref(),
        arguments.path.as_deref(),
        config.as_deref(),
    )?;
    gathered.notices.iter().for_each(|notice| ui.notice(notice));
    let catalog = catalog(arguments, &gathered, world)?;
    let mut init = Init {
        arguments,
        common,
        world,
        ui,
        gathered: &gathered,
        catalog: &catalog,
    };
    let answered = init.answer()?;
    let change = init.plan(&answered)?;
    init.finish(&answered, &change)
}

/// What an earlier run left half-way is put right before anything is looked at.
fn recover_first(folder: &Path, arguments: &InitArgs, dry_run: bool) -> Result<()> {
    let target = match &arguments.dir {
        Some(dir) => Target::at(&folder.join(dir))?,
        None => Target::around(folder)?,
    };
    match &target {
        Target::Existing(repository) if !dry_run && Guard::is_needed(repository) => {
            Guard::take(repository).map(|_| ())
        }
        _ => Ok(()),
    }
}

fn catalog(arguments: &InitArgs, gathered: &Gathered, world: &World) -> Result<Catalog> {
    let recorded = gathered
        .recorded
        .as_ref()
        .and_then(|(recorded, _)| recorded.layouts.as_deref());
    match (&arguments.layouts, recorded) {
        (Some(dir), _) => files::catalog(Some(&world.folder.join(dir))),
        (None, Some(dir)) => {
            let path = RepoPath::parse(dir).map_err(|why| {
                Problem::invalid(format!(
                    "{}: cannot use `layouts`: {why}",
                    gathered.recorded_place
                ))
            })?;
            files::catalog(Some(&gathered.target.place().join(path.as_str())))
        }
        (None, None) => Ok(Catalog::embedded()),
    }
}

struct Init<'a> {
    arguments: &'a InitArgs,
    common: &'a Common,
    world: &'a World,
    ui: &'a mut Ui,
    gathered: &'a Gathered,
    catalog: &'a Catalog,
}

/// Every answer, and the version of each cluster.
struct Answered {
    layout: Layout,
    answers: Answers,
    resolved: Map<String, Value>,
    own_values: Option<(String, String)>,
    chosen: Chosen,
    command: Option<String>,
}

impl Init<'_> {
    fn plan(&self, answered: &Answered) -> Result<Change> {
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
        let starters = self.starters(answered, &rendering);
        let versions: Vec<String> = chosen
            .versions
            .values()
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let facts = Facts {
            files: &rendering.files,
            layout: &layout.name,
            layout_digest: &self.catalog.digest(layout),
            release: &answers.release,
            chart: &answers.chart.address(),
            versions: &versions,
            prefix: &answers.prefix(),
            answers: resolved,
            lock: &self.gathered.lock,
            starters: &starters,
            on_conflict: match self.arguments.on_conflict {
                Flag::Stop => OnConflict::Stop,
                Flag::Keep => OnConflict::Keep,
                Flag::Replace => OnConflict::Replace,
            },
        };
        scaffold::plan(self.gathered.target.tree()?.as_ref(), &facts)
    }

    /// What the answers of the last run give for the team's own files, where that isn't what the answers of now give.
    fn starters(&self, answered: &Answered, now: &Rendering) -> BTreeMap<RepoPath, String> {
        let before = self
            .gathered
            .recorded
            .as_ref()
            .and_then(|(recorded, _)| recorded.answers.as_ref());
        let old = before.and_then(|before| {
            let layout = self.catalog.layout(before.layout.as_deref()?).ok()?;
            let answers =
                Answers::of(&layout, &before.to_map(), self.gathered.path.clone()).ok()?;
            let versions = answers
                .clusters
                .iter()
                .map(|c| {
                    (
                        c.name.clone(),
                        answered
                            .chosen
                            .versions
                            .get(&c.name)
                            .cloned()
                            .unwrap_or_default(),
                    )
                })
                .collect();
            render(self.catalog, &layout, &answers, &versions, None).ok()
        });
        let is_changed = |path: &RepoPath, text: &str| {
            now.files.iter().any(|f| f.path == *path && f.text != text)
        };
        let files = old
            .into_iter()
            .flat_map(|old| old.files)
            .filter(|f| f.owner == Owner::User && is_changed(&f.path, &f.text));
        files.map(|file| (file.path, file.text)).collect()
    }

    fn finish(&mut self, answered: &Answered, change: &Change) -> Result<Outcome> {
        if change.conflicts().next().is_some() {
            return Ok(self.conflicts(change));
        }
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
        let applied = if self.common.dry_run {
            Applied {
                commit: None,
                branch: None,
            }
        } else {
            self.apply(change, &answered.answers.branch)?
        };
        let steps = next_steps(
            &answered.answers,
            &Profile::of(&answered.answers),
            self.gathered,
            &self.place(),
            &applied,
            self.arguments.no_commit,
        );
        let told = self.told(answered, change, &applied, &steps);
        if let Some(command) = &answered.command {
            self.ui.notice(&format!("\nthe same again: {command}"));
        }
        let mut json = self.json(change, &applied);
        json.insert("versions".into(), json!(answered.chosen.versions));
        json.insert("version_why".into(), json!(answered.chosen.why));
        json.insert("next_steps".into(), json!(steps));
        Ok(Outcome {
            status: ExitStatus::Done,
            text: told,
            json,
            problem: None,
        })
    }

    /// The target as the person named it.
    fn place(&self) -> String {
        match (&self.arguments.dir, &self.common.directory) {
            (Some(dir), Some(folder)) => folder.join(dir).display().to_string(),
            (Some(dir), None) | (None, Some(dir)) => dir.display().to_string(),
            (None, None) => ".".to_owned(),
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
        let config = target.config(&self.world.env)?;
        let identity = identity::identify(
            &config,
            &self.world.env,
            self.arguments.author.as_deref(),
            self.world.now,
        )?;
        let committer = format!(
            "{} <{}>",
            identity.committer.name().unwrap_or_default(),
            identity.committer.email().unwrap_or_default()
        );
        let signing = sign::configured(&config, &committer)?;
        let commit = Commit {
            identity: &identity,
            signing: signing.as_ref(),
            env: &self.world.env,
        };
        let applied = apply::apply(target, change, branch, Some(&commit), &mut RealDisk)?;
        if identity.is_fallback && applied.commit.is_some() {
            self.ui.notice(&format!(
                "committed as {committer}, since git knows no name: git config --global user.name and user.email"
            ));
        }
        Ok(applied)
    }
}
