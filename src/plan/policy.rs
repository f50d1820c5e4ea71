//! [`Policy`]: what a team decided about upgrades, read and checked.

use std::collections::BTreeMap;

use anyhow::Result;
use semver::Version;

use super::bundle;
use crate::error::Problem;
use crate::layout::recorded::Recorded;
use crate::model::cluster::{Cluster, stages};
use crate::model::pattern::is_below;
use crate::model::policy::{ChartPolicy, Environment, Ignored, Rejected};
use crate::model::range::{Range, lenient_version};
use crate::model::repo_path::RepoPath;
use crate::pins::{Barred, Rule};
use crate::yaml;

/// The name under which charts have what all have.
const EVERY: &str = "*";

/// What a team decided about upgrades.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    charts: BTreeMap<String, ChartRule>,
    pub(crate) rejected: Vec<(String, Version, String)>,
    /// Parts of the repository in the order in which a version reaches them.
    pub environments: Vec<Stage>,
    /// Which of several files has said that order.
    pub order: usize,
}

/// What was decided about one chart.
#[derive(Debug, Clone, Default)]
pub struct ChartRule {
    /// Which versions its pins may get.
    pub rule: Rule,
    /// Versions that are never offered, also not by hand, and why.
    pub rejected: Vec<(Version, String)>,
    /// How long a version has to be published, in seconds.
    pub minimum_age: Option<i64>,
    /// Why nothing moves.
    pub hold: Option<String>,
    /// The charts that it moves with.
    pub group: Option<String>,
    pub(super) is_range_rule_said: bool,
}

/// A part of the repository that gets versions before or after others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    paths: Vec<String>,
    /// When it follows the one before.
    pub after: After,
}

/// When an environment follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// These seconds after the version reached the one before.
    Seconds(i64),
    /// When somebody says so.
    Command,
}

impl Policy {
    /// Reads what was recorded. `place` and `text` are the file's, for errors.
    ///
    /// # Errors
    /// When a range, an age or a version isn't one; file, line and the next step are said.
    pub fn of(recorded: &Recorded, place: &str, text: &str) -> Result<Self> {
        let at = At { place, text };
        let upgrade = recorded.upgrade.clone().unwrap_or_default();
        let mut policy = Self::default();
        for (name, chart) in &upgrade.charts {
            let rule = chart_rule(chart, &at, &["upgrade", "charts", name])?;
            policy.charts.insert(name.clone(), rule);
        }
        for one in &recorded.rejected {
            policy.rejected.push(rejection(one, &at)?);
        }
        policy.environments = match &upgrade.environments {
            Some(environments) => environments
                .iter()
                .map(|one| stage(one, &at))
                .collect::<Result<_>>()?,
            None => stages_of(recorded),
        };
        let mut names: Vec<&str> = policy
            .environments
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            let what = format!("there are two environments `{}`", twice[0]);
            return Err(at.problem(
                &["upgrade", "environments"],
                &what,
                "give each a name of its own",
            ));
        }
        Ok(policy)
    }

    /// What counts for one chart: what stands under its address or name, and what all have where that says nothing.
    pub fn rule(&self, chart: &str, address: &str) -> ChartRule {
        let mut rule = [address, chart, EVERY]
            .iter()
            .filter_map(|name| self.charts.get(*name))
            .fold(ChartRule::default(), ChartRule::or);
        for (name, version, why) in &self.rejected {
            if name == chart || name == address {
                rule.rejected.push((version.clone(), why.clone()));
                rule.rule.barred.push(Barred {
                    versions: Range::only(version),
                    why: why.clone(),
                });
            }
        }
        rule
    }

    /// Takes what another one says of charts where this one says nothing, and its environments where there are none.
    pub fn inherit(&mut self, other: &Self) {
        for (name, rule) in &other.charts {
            let own = self.charts.remove(name).unwrap_or_default();
            self.charts.insert(name.clone(), own.or(rule));
        }
        if self.environments.is_empty() {
            self.environments.clone_from(&other.environments);
            self.order = other.order;
        }
    }

    /// Whether a chart, by its name or address, moves with a group's others.
    pub fn is_in_group(&self, chart: &str, is_it: &dyn Fn(&str) -> bool) -> bool {
        let rule = self.rule(bundle::short(chart), chart);
        rule.group.as_deref().is_some_and(is_it)
    }

    /// Lets the paths of its environments also be seen from the folder of its file.
    pub fn seen_from(&mut self, folder: &RepoPath) {
        for stage in &mut self.environments {
            let below: Vec<String> = stage
                .paths
                .iter()
                .map(|path| format!("{folder}/{path}"))
                .collect();
            stage.paths.extend(below);
        }
    }

    /// What it says about things that aren't there: a name that was mistyped protects nothing.
    pub fn unmet(&self, charts: &[(String, String)], files: &[&RepoPath]) -> Vec<String> {
        let is_there = |wanted: &str| {
            wanted == EVERY
                || charts
                    .iter()
                    .any(|(name, address)| name == wanted || address == wanted)
        };
        let rules = self.charts.keys().filter(|name| !is_there(name));
        let rules = rules
            .map(|name| format!("`upgrade.charts` has `{name}`, and no pin is of such a chart"));
        let rejected = self.rejected.iter().filter(|(name, ..)| !is_there(name));
        let rejected = rejected
            .map(|(name, ..)| format!("`rejected` has `{name}`, and no pin is of such a chart"));
        let rules = rules.chain(rejected);
        let has = |path: &String| files.iter().any(|file| is_below(path, file.as_str()));
        let stages = self
            .environments
            .iter()
            .filter(|stage| !stage.paths.iter().any(has));
        let stages = stages.map(|stage| {
            let paths = stage.paths.join("`, `");
            format!(
                "the environment `{}` has no pin: none is below `{paths}`",
                stage.name
            )
        });
        rules.chain(stages).collect()
    }

    /// Takes over what another one says was rejected.
    pub fn reject_as(&mut self, other: &Self) {
        for one in &other.rejected {
            if !self.rejected.contains(one) {
                self.rejected.push(one.clone());
            }
        }
    }

    /// The environment that a file belongs to, by its place in the order.
    pub fn environment(&self, file: &RepoPath) -> Option<usize> {
        self.environments
            .iter()
            .position(|one| one.paths.iter().any(|path| is_below(path, file.as_str())))
    }
}

impl ChartRule {
    /// What this one leaves unsaid is as the other one says.
    fn or(mut self, other: &Self) -> Self {
        self.rule.range = self.rule.range.or_else(|| other.rule.range.clone());
        self.rule.prereleases = self.rule.prereleases.or(other.rule.prereleases);
        self.rule.barred.extend(other.rule.barred.iter().cloned());
        if !self.is_range_rule_said {
            self.rule.ranges = other.rule.ranges;
            self.is_range_rule_said = other.is_range_rule_said;
        }
        self.minimum_age = self.minimum_age.or(other.minimum_age);
        self.hold = self.hold.or_else(|| other.hold.clone());
        self.group = self.group.or_else(|| other.group.clone());
        self
    }

    /// Why a version must not be had by hand either.
    pub fn rejection(&self, version: &Version) -> Option<&str> {
        let mut rejected = self.rejected.iter();
        let found = rejected.find(|(one, _)| one.cmp_precedence(version).is_eq())?;
        Some(&found.1)
    }
}

/// The file, for errors.
struct At<'a> {
    place: &'a str,
    text: &'a str,
}

impl At<'_> {
    fn problem(&self, keys: &[&str], what: &str, hint: &str) -> anyhow::Error {
        let line = line_of(self.text, keys);
        Problem::invalid(format!("{}:{line}: {what}", self.place))
            .hint(hint)
            .into()
    }

    fn range(&self, keys: &[&str], text: &str) -> Result<Range> {
        let hint = "write it as Helm does: `0.2.x`, `>=1.2 <2`, `1.2.3`";
        Range::parse(text).map_err(|why| self.problem(keys, &why.to_string(), hint))
    }

    fn seconds(&self, keys: &[&str], text: &str) -> Result<i64> {
        let hint = "a number and a unit: `36h`, `3d`, `2w`";
        let what = format!("`{text}` is no length of time");
        seconds(text).ok_or_else(|| self.problem(keys, &what, hint))
    }
}

/// The line of the innermost key that is there.
fn line_of(text: &str, keys: &[&str]) -> usize {
    let stream = yaml::parse(text);
    let mut node = stream.documents.first().and_then(|d| d.root.as_ref());
    let mut line = 1;
    for key in keys {
        let entry =
            node.and_then(|node| node.entries().find(|(name, _)| name.as_str() == Some(key)));
        let Some((name, value)) = entry else {
            return line;
        };
        line = name.position.line;
        node = Some(value);
    }
    line
}

/// Reads `36h`, `3d` or `2w`.
fn seconds(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = match text.chars().last()? {
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u32 = text[..text.len() - 1].trim().parse().ok()?;
    Some(i64::from(number) * unit)
}

fn chart_rule(chart: &ChartPolicy, at: &At<'_>, keys: &[&str]) -> Result<ChartRule> {
    let with = |key| [keys, &[key]].concat();
    let range = chart.range.as_deref();
    let mut rule = Rule {
        range: range
            .map(|text| at.range(&with("range"), text))
            .transpose()?,
        within: None,
        prereleases: chart.prereleases,
        barred: Vec::new(),
        young: BTreeMap::new(),
        most: None,
        ranges: chart.ranges.unwrap_or_default(),
    };
    for one in &chart.ignored {
        let (versions, why) = match one {
            Ignored::Versions(versions) => (versions, format!("is ignored by `{}`", at.place)),
            Ignored::Because { versions, reason } => (versions, format!("is ignored: {reason}")),
        };
        let versions = at.range(&with("ignored"), versions)?;
        rule.barred.push(Barred { versions, why });
    }
    let age = chart.minimum_age.as_deref();
    Ok(ChartRule {
        rule,
        rejected: Vec::new(),
        minimum_age: age
            .map(|text| at.seconds(&with("minimum_age"), text))
            .transpose()?,
        hold: chart.hold.clone(),
        group: chart.group.clone(),
        is_range_rule_said: chart.ranges.is_some(),
    })
}

fn rejection(one: &Rejected, at: &At<'_>) -> Result<(String, Version, String)> {
    let version = lenient_version(&one.version).ok_or_else(|| {
        let what = format!("`{}` is no version", one.version);
        at.problem(
            &["rejected"],
            &what,
            "a rejection is of one version: `0.2.1`",
        )
    })?;
    let mut why = "was rejected".to_owned();
    if let Some(date) = &one.date {
        why.push_str(&format!(" on {date}"));
    }
    if let Some(reason) = &one.reason {
        why.push_str(&format!(": {reason}"));
    }
    Ok((one.chart.clone(), version, why))
}

fn stage(one: &Environment, at: &At<'_>) -> Result<Stage> {
    let after = match one.after.as_deref() {
        None => After::Seconds(0),
        Some("command") => After::Command,
        Some(text) => After::Seconds(at.seconds(&["upgrade", "environments"], text)?),
    };
    // `/prod` is seen from the top too.
    let paths = one.paths.iter().map(|path| path.trim_start_matches('/'));
    Ok(Stage {
        name: one.name.clone(),
        paths: paths.map(str::to_owned).collect(),
        after,
    })
}

/// The stages of a fleet's clusters, in their order: what has a cluster's name in its path is of the cluster.
fn stages_of(recorded: &Recorded) -> Vec<Stage> {
    let texts = recorded.answers.as_ref().and_then(|a| a.clusters.as_ref());
    let clusters: Vec<Cluster> = texts
        .into_iter()
        .flatten()
        .filter_map(|text| Cluster::parse(text).ok())
        .collect();
    let names = stages(&clusters);
    if names.len() < 2 {
        return Vec::new();
    }
    names
        .into_iter()
        .map(|name| Stage {
            name: name.to_owned(),
            paths: clusters
                .iter()
                .filter(|cluster| cluster.stage == name)
                .map(|cluster| format!("**/{}", cluster.name))
                .collect(),
            after: After::Seconds(0),
        })
        .collect()
}

#[cfg(test)]
#[path = "tests_policy.rs"]
mod tests;
