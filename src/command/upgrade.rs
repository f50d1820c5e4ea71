//! `upgrade`: pins moved to newer versions, each chart by a commit on a branch of its own.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use anyhow::Result;
use semver::Version;
use serde_json::{Map, Value, json};

use super::author::Author;
use super::files;
use super::pin_files::from_tree;
use super::pins::{chart_of, unknown, versions_of};
use super::published::{Known, Published};
use crate::cli::Common;
use crate::cli::upgrade::UpgradeArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::branches::{Offered, offer};
use crate::git::target::{Head, Target};
use crate::git::trees::GitTree;
use crate::model::chart::ChartRef;
use crate::model::range::{Range, lenient_version};
use crate::model::tree::Tree;
use crate::pins::{Form, Kind, Pin, join, newest};
use crate::plan::change::Change;
use crate::plan::upgrade::{Kept, Move, OFFERS, hindrance, is_haptic, plan};
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
    let versions = arguments
        .versions
        .as_ref()
        .map(|file| world.folder.join(file));
    let registry = (!arguments.offline).then_some(world.registry.as_ref());
    let mut upgrade = Upgrade {
        arguments,
        tree: &tree,
        published: Published::new(versions.as_deref(), registry)?,
    };
    let (changes, kept) = upgrade.changes(&base_name)?;
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

struct Upgrade<'a> {
    arguments: &'a UpgradeArgs,
    tree: &'a dyn Tree,
    published: Published<'a>,
}

impl Upgrade<'_> {
    /// One change for each chart that has something newer, and the pins that stay.
    fn changes(&mut self, base: &str) -> Result<(Vec<Change>, Vec<Kept>)> {
        let charts = self.charts()?;
        let mut changes = Vec::new();
        let mut all_kept = Vec::new();
        for (name, (chart, pins)) in &charts {
            let (mut moves, mut kept, mut lower) = (Vec::new(), Vec::new(), None);
            for pin in pins {
                let stays = |why: String| Kept {
                    place: format!("{}:{}", pin.file, pin.line),
                    why,
                };
                match self.moved(chart, pin)? {
                    Next::Moves(to) => moves.push(Move {
                        pin: pin.clone(),
                        to,
                    }),
                    Next::Stays(why) => kept.push(stays(why)),
                    Next::IsHigher(problem) => {
                        kept.push(stays(problem.message.clone()));
                        lower = lower.or(Some(problem));
                    }
                    Next::Nothing => {}
                }
            }
            if let (true, Some(problem)) = (moves.is_empty(), lower) {
                return Err(problem.into());
            }
            let is_wanted = self.arguments.limit.is_none_or(|most| changes.len() < most);
            if !moves.is_empty() && is_wanted {
                // One file that can't be edited is no reason to leave the other charts.
                match plan(self.tree, name, &moves, &kept, base) {
                    Ok(change) => changes.push(change),
                    Err(why) => kept.push(Kept {
                        place: name.clone(),
                        why: why.to_string(),
                    }),
                }
            }
            all_kept.extend(kept);
        }
        Ok((changes, all_kept))
    }

    /// The wanted charts with their pins: by name where that is unique in the repository, else by address.
    fn charts(&self) -> Result<BTreeMap<String, (ChartRef, Vec<Pin>)>> {
        let mut by_address: BTreeMap<String, (ChartRef, Vec<Pin>)> = BTreeMap::new();
        for pin in join(from_tree(self.tree)?).pins {
            if let (Kind::Chart, Some(chart)) = (pin.kind, chart_of(&pin)) {
                let entry = by_address.entry(chart.address());
                entry.or_insert_with(|| (chart, Vec::new())).1.push(pin);
            }
        }
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (chart, _) in by_address.values() {
            *names.entry(chart.name.clone()).or_default() += 1;
        }
        let all: BTreeMap<String, (ChartRef, Vec<Pin>)> = by_address
            .into_iter()
            .map(|(address, found)| {
                let is_unique = names.get(&found.0.name) == Some(&1);
                let name = if is_unique {
                    found.0.name.clone()
                } else {
                    address
                };
                (name, found)
            })
            .collect();
        let wanted = &self.arguments.charts;
        let is = |name: &String, chart: &ChartRef, wanted: &String| {
            name == wanted || chart.name == *wanted || chart.address() == *wanted
        };
        for one in wanted {
            let count = all
                .iter()
                .filter(|(name, (chart, _))| is(name, chart, one))
                .count();
            if count == 0 {
                return Err(Problem::usage(format!("no pin is of a chart `{one}`"))
                    .hint("`haptic-scaffold pins` shows charts and pins")
                    .into());
            }
            if count > 1 && self.arguments.to.is_some() {
                return Err(Problem::usage(format!("`{one}` is more than one chart here"))
                    .hint("name it by its address: `haptic-scaffold pins --output json` has it under `source`")
                    .into());
            }
        }
        if self.arguments.to.is_some() && wanted.is_empty() && all.len() > 1 {
            return Err(
                Problem::usage("`--to` is for one chart, and there are more here")
                    .hint("name it: haptic-scaffold upgrade CHART --to VERSION")
                    .into(),
            );
        }
        let is_wanted = |name: &String, chart: &ChartRef| {
            wanted.is_empty() || wanted.iter().any(|one| is(name, chart, one))
        };
        Ok(all
            .into_iter()
            .filter(|(name, (chart, _))| is_wanted(name, chart))
            .collect())
    }

    /// What becomes of a pin.
    fn moved(&mut self, chart: &ChartRef, pin: &Pin) -> Result<Next> {
        let hindrance = hindrance(self.tree, pin)?;
        let next = match &self.arguments.to {
            Some(to) => self.asked(chart, pin, to)?,
            None if self.published.is_nobody() => Next::Nothing,
            None => match self.published.of(chart) {
                Ok(known) => {
                    let newest = newest(pin, &versions_of(known));
                    match newest.version.filter(|_| newest.is_newer) {
                        Some(version) => Next::Moves(text_of(known, &version, pin)),
                        None => Next::Nothing,
                    }
                }
                Err(_) => Next::Nothing,
            },
        };
        Ok(match (next, hindrance) {
            (Next::Moves(_) | Next::IsHigher(_), Some(why)) => Next::Stays(why),
            (next, _) => next,
        })
    }

    /// The version that `--to` asks for.
    fn asked(&mut self, chart: &ChartRef, pin: &Pin, to: &str) -> Result<Next> {
        let range = Range::parse(to)
            .map_err(|why| Problem::usage(format!("cannot use `--to {to}`: {why}")))?;
        let Some(current) = lenient_version(&pin.value).filter(|_| pin.form == Form::Exact) else {
            return Ok(Next::Nothing);
        };
        let (version, text) = match (range.exact(), self.published.is_nobody()) {
            (Some(exact), true) => {
                let v = if pin.value.starts_with('v') { "v" } else { "" };
                (exact.clone(), format!("{v}{exact}"))
            }
            (None, true) => {
                return Err(Problem::usage(format!(
                    "`--to {to}` is a range, and nobody is asked which versions there are"
                ))
                .hint("name the version, or take away `--offline`")
                .into());
            }
            (_, false) => match self.published.of(chart) {
                Ok(known) => {
                    let versions = versions_of(known);
                    let version = range.newest(versions.iter()).cloned().ok_or_else(|| {
                        Problem::new(
                            ExitStatus::Remote,
                            format!("no version of `{}` fits `--to {to}`", chart.name),
                        )
                        .hint("`haptic-scaffold pins` says what is newest")
                    })?;
                    let text = text_of(known, &version, pin);
                    (version, text)
                }
                Err(_) => return Ok(Next::Nothing),
            },
        };
        Ok(match version.cmp_precedence(&current) {
            Ordering::Equal => Next::Nothing,
            Ordering::Less if is_haptic(pin) => Next::IsHigher(
                Problem::invalid(format!(
                    "{version} is lower than {current} in {}:{}, and HAPTIC never goes back: its CRDs and configuration don't come down again",
                    pin.file, pin.line
                ))
                .hint("a version that fails is answered by a higher one or by corrected values: `--to` names a higher one"),
            ),
            _ => Next::Moves(text),
        })
    }
}

/// What becomes of a pin.
enum Next {
    /// It gets this version.
    Moves(String),
    /// It stays although something is newer, for this reason.
    Stays(String),
    /// What was asked for is lower, and the chart never goes back.
    IsHigher(Problem),
    /// Nothing is newer, or nothing is known.
    Nothing,
}

/// A version as its source writes it. A tag of a registry has no `+`.
fn text_of(known: &[Known], version: &Version, pin: &Pin) -> String {
    let text = known
        .iter()
        .find(|known| known.version == *version)
        .map_or_else(|| version.to_string(), |known| known.text.clone());
    if pin.place.starts_with("OCIRepository") {
        text.replace('+', "_")
    } else {
        text
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
