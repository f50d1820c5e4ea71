//! `upgrade`: pins moved to newer versions, each chart by a commit on a branch of its own.

mod next;
mod order;
mod sections;
mod subjects;

use std::collections::BTreeMap;

use anyhow::Result;
use git2::{Oid, Repository};
use serde_json::{Map, Value, json};

use self::next::Next;
use self::subjects::Subject;
use super::author::Author;
use super::files;
use super::pin_files::from_tree;
use super::pins::unknown;
use super::policies::Policies;
use super::published::Published;
use crate::cli::Common;
use crate::cli::upgrade::UpgradeArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::branches::{Offered, offer};
use crate::git::target::{Head, Target};
use crate::git::trees::GitTree;
use crate::model::env::Env;
use crate::model::tree::Tree;
use crate::pins::Pin;
use crate::plan::change::Change;
use crate::plan::upgrade::{Bundle, Kept, OFFERS, plan};
use crate::ui::{Outcome, Ui, diff};
use crate::world::World;

/// Moves pins. The files as they lie in the work tree are neither read nor touched: what is committed counts.
///
/// # Errors
/// When the repository can't be read or written, a chart or version is refused, or a pin can't be moved.
pub fn run(
    arguments: &UpgradeArgs,
    common: &Common,
    world: &World,
    ui: &mut Ui,
) -> Result<Outcome> {
    let folder = files::working_folder(common, world);
    let target = Target::around(&folder)?;
    let (
        Target::Existing(repository),
        Some(Head {
            commit: Some(base),
            branch,
        }),
    ) = (&target, target.head()?)
    else {
        return Err(Problem::usage(format!(
            "`{}` has no commit to build on",
            target.place().display()
        ))
        .hint("`-C DIR` names a repository, bare or with a work tree")
        .into());
    };
    let base_name = branch
        .as_deref()
        .and_then(|name| name.strip_prefix("refs/heads/"))
        .unwrap_or("HEAD")
        .to_owned();
    if base_name.starts_with(OFFERS) {
        return Err(Problem::usage(format!(
            "`{base_name}` is checked out, which is a branch of offers and nothing to build on"
        ))
        .hint("git switch main, or whichever branch the controller follows")
        .into());
    }
    let tree = GitTree::of(repository, Some(base))?;
    let found = from_tree(&tree)?;
    let config = common.config.as_ref().map(|file| world.folder.join(file));
    let policies = Policies::read(&found.policies, config.as_deref())?;
    check_environments(arguments, &policies)?;
    let versions = arguments
        .versions
        .as_ref()
        .map(|file| world.folder.join(file));
    let registry = (!arguments.offline).then_some(world.registry.as_ref());
    let mut upgrade = Upgrade {
        arguments,
        repository,
        base,
        tree: &tree,
        policies: &policies,
        now: world.now,
        env: &world.env,
        published: Published::new(versions.as_deref(), registry)?,
    };
    let (changes, kept) = upgrade.changes(&found.joined.pins, &base_name)?;
    for remark in upgrade.published.remarks() {
        ui.warn(remark);
    }
    let problem = unknown(&upgrade.published);
    let author = Author::of(&target, arguments.author.as_deref(), world)?;
    let mut told = Vec::new();
    for change in &changes {
        let offered = if common.dry_run {
            None
        } else {
            Some(offer(repository, change, base, &author.commit(world))?)
        };
        match &offered {
            Some(Offered::LeftAlone) => ui.warn(&format!(
                "{}: the branch has a commit that isn't ours, so it is left alone",
                change.branch
            )),
            Some(Offered::CheckedOut) => ui.warn(&format!(
                "{}: the branch is checked out, so it is left alone",
                change.branch
            )),
            _ => {}
        }
        told.push((change, offered));
    }
    if told
        .iter()
        .any(|(_, offered)| matches!(offered, Some(Offered::Created(_))))
    {
        author.tell(ui);
    }
    let status = match &problem {
        Some(problem) => problem.status,
        None if arguments.exit_code && !changes.is_empty() => ExitStatus::Differences,
        None => ExitStatus::Done,
    };
    Ok(Outcome {
        status,
        text: shown(&told, &kept, common),
        json: as_json(&told, &kept, common),
        problem,
        lists: Vec::new(),
    })
}

/// An environment that nobody knows would be nothing to do, silently.
fn check_environments(arguments: &UpgradeArgs, policies: &Policies) -> Result<()> {
    let known = policies.environments();
    let mut asked = arguments.environments.iter();
    match asked.find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let hint = if known.is_empty() {
                "`.haptic-scaffold.yaml` has none: `upgrade.environments` or the clusters of a fleet".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            };
            Err(Problem::usage(format!("there is no environment `{name}`"))
                .hint(hint)
                .into())
        }
    }
}

struct Upgrade<'a> {
    arguments: &'a UpgradeArgs,
    repository: &'a Repository,
    base: Oid,
    tree: &'a dyn Tree,
    policies: &'a Policies,
    now: i64,
    env: &'a Env,
    published: Published<'a>,
}

/// Bundles by name, and by environment in their order.
type Bundles = BTreeMap<(String, Option<usize>), Bundle>;

impl Upgrade<'_> {
    /// One change for each chart or group and environment that has something newer, and the pins that stay.
    fn changes(&mut self, pins: &[Pin], base: &str) -> Result<(Vec<Change>, Vec<Kept>)> {
        let mut bundles = Bundles::new();
        let mut all_kept = Vec::new();
        for subject in subjects::wanted(pins, self.arguments)? {
            let (mut has_moved, mut lower) = (false, None);
            for pin in &subject.pins {
                let stays = |why: String| Kept {
                    place: format!("{}:{}", pin.file, pin.line),
                    why,
                };
                let (next, group) = self.next(&subject, pin)?;
                let bundle = self.bundle(&mut bundles, &subject, group, pin);
                match next {
                    Next::Moves(moves) => {
                        has_moved = true;
                        bundle.moves.extend(moves);
                    }
                    Next::Stays(why) => bundle.kept.push(stays(why)),
                    Next::IsHigher(problem) => {
                        bundle.kept.push(stays(problem.message.clone()));
                        lower = lower.or(Some(problem));
                    }
                    Next::Nothing => {}
                }
            }
            if let (false, Some(problem)) = (has_moved, lower) {
                return Err(problem.into());
            }
        }
        let mut changes: Vec<Change> = Vec::new();
        for bundle in bundles.values_mut() {
            let is_wanted = self.arguments.limit.is_none_or(|most| changes.len() < most);
            if !bundle.moves.is_empty() && is_wanted {
                let sections = sections::of(&mut self.published, self.tree, self.env, bundle);
                // One file that can't be edited is no reason to leave the other charts.
                match plan(self.tree, bundle, &sections, base) {
                    Ok(change) => changes.push(change),
                    Err(why) => bundle.kept.push(Kept {
                        place: bundle.name.clone(),
                        why: why.to_string(),
                    }),
                }
            }
            all_kept.append(&mut bundle.kept);
        }
        Ok((changes, all_kept))
    }

    /// The bundle that a pin belongs to.
    fn bundle<'b>(
        &self,
        bundles: &'b mut Bundles,
        subject: &Subject,
        group: Option<String>,
        pin: &Pin,
    ) -> &'b mut Bundle {
        let policy = self.policies.of(&pin.file);
        let environment = policy.environment(&pin.file);
        let is_group = group.is_some();
        let name = group.unwrap_or_else(|| subject.name.clone());
        let key = if is_group {
            format!("group:{name}")
        } else {
            name.clone()
        };
        bundles.entry((key, environment)).or_insert_with(|| Bundle {
            name,
            is_group,
            environment: environment.map(|index| policy.environments[index].name.clone()),
            ..Bundle::default()
        })
    }
}

fn commit_of(offered: Option<&Offered>) -> Option<&str> {
    match offered? {
        Offered::Created(id) | Offered::Updated(id) | Offered::Same(id) => Some(id),
        Offered::LeftAlone | Offered::CheckedOut => None,
    }
}

fn word(offered: Option<&Offered>) -> &'static str {
    match offered {
        None => "would be offered",
        Some(Offered::Created(_)) => "created",
        Some(Offered::Updated(_)) => "updated",
        Some(Offered::Same(_)) => "same",
        Some(Offered::LeftAlone | Offered::CheckedOut) => "left-alone",
    }
}

fn as_json(
    told: &[(&Change, Option<Offered>)],
    kept: &[Kept],
    common: &Common,
) -> Map<String, Value> {
    let changes: Vec<Value> = told
        .iter()
        .map(|(change, offered)| {
            let mut json = change.to_json(commit_of(offered.as_ref()));
            json["branch_verdict"] = json!(word(offered.as_ref()));
            json
        })
        .collect();
    let kept: Vec<Value> = kept
        .iter()
        .map(|kept| json!({"place": kept.place, "why": kept.why}))
        .collect();
    Map::from_iter([
        ("changes".to_owned(), json!(changes)),
        ("not_moved".to_owned(), json!(kept)),
        ("dry_run".to_owned(), json!(common.dry_run)),
    ])
}

fn shown(told: &[(&Change, Option<Offered>)], kept: &[Kept], common: &Common) -> String {
    let mut text = String::new();
    for (change, offered) in told {
        text.push_str(&format!(
            "{}: {} ({})\n\n{}\n",
            change.branch,
            change.title,
            word(offered.as_ref()),
            change.body
        ));
        if common.diff {
            text.push_str(&diff::diffs(change));
        }
    }
    if told.is_empty() {
        text.push_str("nothing to upgrade\n");
        for Kept { place, why } in kept {
            text.push_str(&format!("  not moved: {place}: {why}\n"));
        }
    } else if common.dry_run {
        text.push_str("nothing was written (dry run)\n");
    }
    text
}
