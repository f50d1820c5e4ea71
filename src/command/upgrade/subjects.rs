//! What can be upgraded: charts by name where that is unique in the repository, else by address; and what is asked for by name.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;

use crate::cli::upgrade::UpgradeArgs;
use crate::command::pins::{chart_of, git_of};
use crate::error::Problem;
use crate::model::address::shown;
use crate::model::chart::ChartRef;
use crate::pins::{Kind, Pin, Source};

/// Pins of one thing that has versions.
pub(in crate::command) struct Subject {
    /// Its name, or its address where others have the same name.
    pub(in crate::command) name: String,
    /// What it is.
    pub(in crate::command) what: What,
    /// Its pins, by file and place.
    pub(in crate::command) pins: Vec<Pin>,
}

/// What has versions.
pub(in crate::command) enum What {
    /// A chart of a registry or a Helm repository.
    Chart(ChartRef),
    /// A chart that lies in the Git repository of this address, by its name there.
    Git(String, String),
    /// An image or a Git repository that was asked for by name.
    Named,
}

impl What {
    /// The chart of a registry or a Helm repository.
    pub(in crate::command) fn chart(&self) -> Option<&ChartRef> {
        match self {
            Self::Chart(chart) => Some(chart),
            Self::Git(..) | Self::Named => None,
        }
    }

    /// The chart's name and its address.
    pub(in crate::command) fn named(&self) -> Option<(&str, String)> {
        match self {
            Self::Chart(chart) => Some((&chart.name, chart.address())),
            Self::Git(address, name) => Some((name, address.clone())),
            Self::Named => None,
        }
    }

    /// Its address as it may be shown: that of a Git repository may have a user name.
    fn address(&self, address: &str) -> String {
        match self {
            Self::Git(..) => shown(address),
            Self::Chart(_) | Self::Named => address.to_owned(),
        }
    }
}

impl Subject {
    /// Whether it is what people call by this name.
    pub(in crate::command) fn is(&self, wanted: &str) -> bool {
        let named = self.what.named();
        self.name == wanted
            || named.is_some_and(|(name, address)| {
                name == wanted || address == wanted || self.what.address(&address) == wanted
            })
    }
}

/// The wanted subjects, by name.
///
/// # Errors
/// When a name is of nothing here, or of more than one thing where one is needed.
pub(in crate::command) fn wanted(
    pins: &[Pin],
    arguments: &UpgradeArgs,
    groups: &dyn Fn(&Subject) -> BTreeSet<String>,
) -> Result<Vec<Subject>> {
    let wanted = &arguments.charts;
    let mut all = charts(pins);
    // A chart comes before an image of its name.
    let is_chart = |one: &&String| all.iter().any(|subject| subject.is(one));
    let others_wanted: Vec<String> = wanted
        .iter()
        .filter(|one| !is_chart(one))
        .cloned()
        .collect();
    all.extend(others(pins, &others_wanted));
    for one in wanted {
        let found: Vec<&Subject> = all.iter().filter(|subject| subject.is(one)).collect();
        match (found.as_slice(), &arguments.to) {
            ([], _) => {
                return Err(Problem::usage(format!("no pin is of a chart `{one}`"))
                    .hint("`haptic-scaffold pins` shows charts and pins")
                    .into());
            }
            ([_, _, ..], Some(_)) => {
                return Err(Problem::usage(format!("`{one}` is more than one chart here"))
                    .hint("name it by its address: `haptic-scaffold pins --output json` has it under `source`")
                    .into());
            }
            ([subject], None) if matches!(subject.what, What::Named) => {
                return Err(Problem::usage(format!(
                    "`{one}` is no chart, and is moved only to a version that is named"
                ))
                .hint(format!("haptic-scaffold upgrade {one} --to VERSION"))
                .into());
            }
            _ => {}
        }
    }
    if arguments.to.is_some() && wanted.is_empty() && all.len() > 1 {
        return Err(
            Problem::usage("`--to` is for one chart, and there are more here")
                .hint("name it: haptic-scaffold upgrade CHART --to VERSION")
                .into(),
        );
    }
    let is_wanted =
        |subject: &Subject| wanted.is_empty() || wanted.iter().any(|one| subject.is(one));
    // A group moves as one: who asks for a chart of it gets the others too.
    let with: BTreeSet<String> = match arguments.to {
        None => all
            .iter()
            .filter(|one| is_wanted(one))
            .flat_map(groups)
            .collect(),
        Some(_) => BTreeSet::new(),
    };
    all.retain(|subject| is_wanted(subject) || !groups(subject).is_disjoint(&with));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Everything in a repository that is known to have versions.
pub(in crate::command) fn charts(pins: &[Pin]) -> Vec<Subject> {
    let mut by_address: BTreeMap<(String, String), (What, Vec<Pin>)> = BTreeMap::new();
    for pin in pins {
        let what = match (chart_of(pin), git_of(pin)) {
            (Some(chart), _) => What::Chart(chart),
            (None, Some((name, address))) => What::Git(address.to_owned(), name.to_owned()),
            (None, None) => continue,
        };
        if let Some((name, address)) = what.named() {
            let entry = by_address.entry((address, name.to_owned()));
            let (_, pins) = entry.or_insert_with(|| (what, Vec::new()));
            pins.push(pin.clone());
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in by_address.keys() {
        *names.entry(name.clone()).or_default() += 1;
    }
    let subject = |((address, name), (what, pins)): ((String, String), (What, Vec<Pin>))| Subject {
        name: if names.get(&name) == Some(&1) {
            name
        } else {
            what.address(&address)
        },
        what,
        pins,
    };
    by_address.into_iter().map(subject).collect()
}

/// Images and Git repositories are moved only where they are asked for by name; so are charts that nobody knows an address of.
fn others(pins: &[Pin], wanted: &[String]) -> Vec<Subject> {
    let name = |pin: &Pin| match (pin.kind, &pin.source) {
        // It isn't known where it is published, and its name is.
        (Kind::Chart, _) if chart_of(pin).is_none() => pin.chart.clone(),
        (Kind::Chart, _) => None,
        (Kind::Git, _) if git_of(pin).is_some() => None,
        (Kind::Git, Source::Address(address)) => Some(shown(address)),
        _ => pin.chart.clone(),
    };
    let of = |wanted: &String| {
        let pins = pins.iter().filter(|pin| name(pin).as_ref() == Some(wanted));
        Subject {
            name: wanted.clone(),
            what: What::Named,
            pins: pins.cloned().collect(),
        }
    };
    let found = wanted.iter().map(of);
    found.filter(|subject| !subject.pins.is_empty()).collect()
}
