//! What can be upgraded: charts by name where that is unique in the repository, else by address; and what is asked for by name.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::cli::upgrade::UpgradeArgs;
use crate::command::pins::chart_of;
use crate::error::Problem;
use crate::model::chart::ChartRef;
use crate::pins::{Kind, Pin, Source};

/// Pins of one thing that has versions.
pub(super) struct Subject {
    /// Its name, or its address where others have the same name.
    pub(super) name: String,
    /// The chart; an image or a Git repository is none.
    pub(super) chart: Option<ChartRef>,
    /// Its pins, by file and place.
    pub(super) pins: Vec<Pin>,
}

impl Subject {
    /// Whether it is what people call by this name.
    fn is(&self, wanted: &str) -> bool {
        let chart = self.chart.as_ref();
        self.name == wanted
            || chart.is_some_and(|chart| chart.name == wanted || chart.address() == wanted)
    }
}

/// The wanted subjects, by name.
///
/// # Errors
/// When a name is of nothing here, or of more than one thing where one is needed.
pub(super) fn wanted(pins: &[Pin], arguments: &UpgradeArgs) -> Result<Vec<Subject>> {
    let wanted = &arguments.charts;
    let mut all = charts(pins);
    all.extend(others(pins, wanted));
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
            ([subject], None) if subject.chart.is_none() => {
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
    all.retain(|subject| wanted.is_empty() || wanted.iter().any(|one| subject.is(one)));
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

fn charts(pins: &[Pin]) -> Vec<Subject> {
    let mut by_address: BTreeMap<String, (ChartRef, Vec<Pin>)> = BTreeMap::new();
    for pin in pins {
        if let Some(chart) = chart_of(pin) {
            let entry = by_address.entry(chart.address());
            let (_, pins) = entry.or_insert_with(|| (chart, Vec::new()));
            pins.push(pin.clone());
        }
    }
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (chart, _) in by_address.values() {
        *names.entry(chart.name.clone()).or_default() += 1;
    }
    let subject = |(address, (chart, pins)): (String, (ChartRef, Vec<Pin>))| Subject {
        name: if names.get(&chart.name) == Some(&1) {
            chart.name.clone()
        } else {
            address
        },
        chart: Some(chart),
        pins,
    };
    by_address.into_iter().map(subject).collect()
}

/// Images and Git repositories are moved only where they are asked for by name.
fn others(pins: &[Pin], wanted: &[String]) -> Vec<Subject> {
    let name = |pin: &Pin| match (pin.kind, &pin.source) {
        (Kind::Chart, _) => None,
        (Kind::Git, Source::Address(address)) => Some(address.clone()),
        _ => pin.chart.clone(),
    };
    let of = |wanted: &String| {
        let pins = pins.iter().filter(|pin| name(pin).as_ref() == Some(wanted));
        Subject {
            name: wanted.clone(),
            chart: None,
            pins: pins.cloned().collect(),
        }
    };
    let found = wanted.iter().map(of);
    found.filter(|subject| !subject.pins.is_empty()).collect()
}
