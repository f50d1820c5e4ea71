//! `bot run`: the round over one repository or many: look, upgrade, open and update requests, tidy.

mod repos;
mod waits;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use git2::Repository;
use serde_json::{Map, Value, json};

use self::repos::{Repo, Workshop, asked, check_token};
use self::waits::has_waits;
use super::deliver::Delivery;
use super::deliver::access::Access;
use super::deliver::reach::{OWN_DEPTH, Reached};
use super::upgrade::Round;
use crate::cli::Common;
use crate::cli::bot::BotRunArgs;
use crate::cli::deliver::DeliverArgs;
use crate::cli::upgrade::UpgradeArgs;
use crate::error::{ExitStatus, Problem, Report};
use crate::forge::Kind;
use crate::git::target::{Target, open};
use crate::registry::shared::Shared;
use crate::ui::{Outcome, Ui};
use crate::world::World;

/// Does the round of every repository that was asked for, some at the same time. One that fails keeps no other back.
///
/// # Errors
/// When the list of repositories can't be used.
pub fn run(arguments: &BotRunArgs, common: &Common, world: &World, ui: &mut Ui) -> Result<Outcome> {
    let repos = asked(arguments, world)?;
    check_token(&repos, arguments, world)?;
    let world = World {
        registry: Arc::new(Shared::before(Arc::clone(&world.registry))),
        ..world.clone()
    };
    let bot = Bot {
        upgrade: upgrade_arguments(arguments),
        arguments,
        common,
        world: &world,
    };
    let next = Mutex::new(repos.iter().enumerate());
    let done = Mutex::new((ui, vec![None; repos.len()]));
    let jobs = arguments.jobs.get().min(repos.len());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let taken = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((index, repo)) = taken else {
                        return;
                    };
                    let (mut own, said) = Ui::kept(bot.common.output, bot.common.verbosity());
                    let result = bot.round(repo, &mut own);
                    let row = Row::of(repo, result);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.0.pass_on(&repo.shown(), &said);
                    done.1[index] = Some(row);
                }
            });
        }
    });
    let (_, rows) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(summary(&rows.into_iter().flatten().collect::<Vec<_>>()))
}

fn upgrade_arguments(arguments: &BotRunArgs) -> UpgradeArgs {
    UpgradeArgs {
        versions: arguments.versions.clone(),
        offline: arguments.offline,
        limit: arguments.limit,
        author: arguments.author.clone(),
        deliver: DeliverArgs {
            push: true,
            open: true,
            place: arguments.place.clone(),
            remote: None,
        },
        ..UpgradeArgs::default()
    }
}

struct Bot<'a> {
    upgrade: UpgradeArgs,
    arguments: &'a BotRunArgs,
    common: &'a Common,
    world: &'a World,
}

impl Bot<'_> {
    fn round(&self, repo: &Repo, ui: &mut Ui) -> Result<Outcome> {
        match repo {
            Repo::Clone(folder) => {
                let common = Common {
                    directory: Some(folder.clone()),
                    ..self.common.clone()
                };
                super::upgrade::run(&self.upgrade, &common, self.world, ui)
            }
            Repo::Remote(address) => self.fetched(address, ui),
        }
    }

    fn fetched(&self, address: &str, ui: &mut Ui) -> Result<Outcome> {
        let (world, place) = (self.world, &self.arguments.place);
        let access = Access::of(place, address, &world.folder, &world.env)?;
        let own = Path::new(address);
        if access.place.kind == Kind::Local && !own.is_dir() {
            return Err(
                Problem::usage("it isn't known which forge this repository is at")
                    .hint("`--forge gitlab`, `github` or `gitea` says it")
                    .into(),
            );
        }
        let cache = self.arguments.cache.as_ref();
        let cache = cache.map(|cache| world.folder.join(cache));
        let workshop = Workshop::of(address, cache.as_deref())?;
        let look = |repository: &Repository, depth: Option<NonZeroU32>| {
            let remote = access.at(&world.folder)?;
            let base = place.base.as_deref();
            Reached::look(repository, ("origin", remote), (base, None), depth)
        };
        let mut reached = look(&open(&workshop.folder)?, Some(OWN_DEPTH))?;
        // A history that came in pieces is read anew.
        let mut repository = open(&workshop.folder)?;
        let config = self.common.config.as_ref();
        let config = config.map(|file| world.folder.join(file));
        if repository.is_shallow() && has_waits(&repository, reached.base.1, config.as_deref())? {
            reached = look(&repository, None)?;
            repository = open(&workshop.folder)?;
        }
        let git_folder = match own.is_dir() {
            true => Repository::discover(own)
                .map(|own| own.commondir().to_owned())
                .ok(),
            false => None,
        };
        let base = reached.base.clone();
        let mut delivery = Delivery::new(&access, reached, self.common.dry_run);
        delivery.request_files = git_folder;
        let round = Round::new(&self.upgrade, self.common, world);
        let target = Target::Existing(repository);
        round.run(&target, (base.1, &base.0), Some((delivery, true)), ui)
    }
}

/// What became of one repository.
#[derive(Debug, Clone)]
struct Row {
    repo: String,
    text: String,
    changes: Value,
    problem: Option<Problem>,
}

impl Row {
    fn of(repo: &Repo, result: Result<Outcome>) -> Self {
        let (text, changes, problem) = match result {
            Ok(mut outcome) => {
                let changes = outcome.json.remove("changes").unwrap_or_default();
                (outcome.text, changes, outcome.problem)
            }
            Err(why) => (String::new(), json!([]), Some(Report::of(&why).into())),
        };
        Self {
            repo: repo.shown(),
            text,
            changes,
            problem,
        }
    }
}

fn summary(rows: &[Row]) -> Outcome {
    let failed = rows.iter().filter(|row| row.problem.is_some()).count();
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!("{}\n", row.repo));
        for line in row.text.lines() {
            text.push_str(&format!("  {line}\n"));
        }
        if let Some(problem) = &row.problem {
            text.push_str(&format!("  failed: {}\n", problem.message));
            for hint in &problem.hints {
                text.push_str(&format!("  hint: {hint}\n"));
            }
        }
    }
    let repositories = |count: usize| match count {
        1 => "1 repository".to_owned(),
        count => format!("{count} repositories"),
    };
    if rows.len() > 1 {
        text.push_str(&format!("{}, {failed} failed\n", repositories(rows.len())));
    }
    let json: Vec<Value> = rows.iter().map(row_json).collect();
    let problem = (failed > 0).then(|| {
        Problem::new(
            ExitStatus::Failed,
            format!("{failed} of {} failed", repositories(rows.len())),
        )
    });
    Outcome {
        status: problem
            .as_ref()
            .map_or(ExitStatus::Done, |problem| problem.status),
        text,
        json: Map::from_iter([("repos".to_owned(), json!(json))]),
        problem,
        lists: Vec::new(),
    }
}

fn row_json(row: &Row) -> Value {
    let error = row.problem.as_ref().map(|problem| {
        json!({"message": problem.message, "hint": problem.hints.first(), "code": problem.status.code()})
    });
    json!({"repo": row.repo, "ok": row.problem.is_none(), "error": error, "changes": row.changes})
}
