//! `secrets`: what the release needs, made, replaced and looked at.

mod agreement;
mod apply;
mod bundles;
mod keys;
mod list;
mod live;
mod next_ca;
mod rotate;
mod script;

use anyhow::Result;

use super::files;
use super::gather::{Gathered, Places, gather};
use super::init::{LastRun, catalog};
use crate::cli::Common;
use crate::cli::init::InitArgs;
use crate::cli::secrets::{SecretsArgs, SecretsCommand};
use crate::cluster::Cluster;
use crate::error::Problem;
use crate::layout::answers::Answers;
use crate::layout::catalog::Catalog;
use crate::layout::definition::Layout;
use crate::layout::profile::Profile;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Runs one of the commands.
///
/// # Errors
/// When there is no scaffold, something given is wrong, or a cluster refuses.
pub fn run(
    arguments: &SecretsArgs,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    let path = arguments.path.as_deref();
    match &arguments.command {
        SecretsCommand::List(list) => list::run(list, &Repo::open(path, common, world)?, world),
        SecretsCommand::Apply(apply) => {
            apply::run(apply, &Repo::open(path, common, world)?, common, world, ui)
        }
        SecretsCommand::Script => Ok(script::run(&Repo::open(path, common, world)?)),
        SecretsCommand::Rotate(rotate) => rotate::run(rotate, path, common, world, ui),
        SecretsCommand::AgeKey { file } => keys::age_key(file, common, world),
        SecretsCommand::TrialCertificates(trial) => keys::trial(trial, path, common, world),
    }
}

/// A scaffolded repository.
struct Repo {
    gathered: Gathered,
    catalog: Catalog,
    layout: Layout,
    answers: Answers,
    profile: Profile,
}

impl Repo {
    /// Opens the one that the common flags name.
    fn open(path: Option<&str>, common: &Common, world: &World) -> Result<Self> {
        let folder = files::working_folder(common, world);
        let config = common.config.as_deref().map(|file| world.folder.join(file));
        let gathered = gather(&Places {
            folder: &folder,
            dir: None,
            sub: path,
            config: config.as_deref(),
            may_follow_bootstrap: false,
            bench: None,
        })?;
        let catalog = catalog(&InitArgs::default(), &gathered, world)?;
        let Some(last) = LastRun::of(&gathered, &catalog) else {
            let mut problem = Problem::invalid(format!(
                "`{}` has no scaffold whose Secrets are known",
                gathered.target.place().display()
            ));
            for other in &gathered.others {
                problem = problem.hint(format!("there is one in {other}: add `--path {other}`"));
            }
            return Err(problem
                .hint("`-C DIR` names a repository that `haptic-scaffold init` has written")
                .into());
        };
        Ok(Self {
            profile: Profile::of(&last.answers),
            layout: last.layout,
            answers: last.answers,
            gathered,
            catalog,
        })
    }

    /// The cluster that a flag's value is about, and the context: `CONTEXT`, or `CLUSTER=CONTEXT`.
    fn context<'a>(&'a self, text: &'a str) -> Result<(&'a str, &'a str)> {
        let named = text.split_once('=').filter(|(name, _)| {
            self.answers
                .clusters
                .iter()
                .any(|known| known.name == *name)
        });
        match (named, self.answers.clusters.as_slice()) {
            (Some(named), _) => Ok(named),
            (None, [one]) => Ok((&one.name, text)),
            (None, many) => Err(Problem::usage(format!(
                "`--context {text}` doesn't say which cluster it is"
            ))
            .hint(format!("write `--context {}={text}`", many[0].name))
            .into()),
        }
    }

    /// The clusters that flags name, connected, by name.
    fn connect(&self, contexts: &[String], world: &World) -> Result<Vec<(String, Cluster)>> {
        contexts
            .iter()
            .map(|text| {
                let (name, context) = self.context(text)?;
                Ok((
                    name.to_owned(),
                    Cluster::connect(&world.env, Some(context))?,
                ))
            })
            .collect()
    }
}
