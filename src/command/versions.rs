//! Which version each cluster's pin gets: what stands there, what was asked for, or the default with its reason.

use anyhow::{Context as _, Result};
use semver::Version;

use crate::error::{ExitStatus, Problem};
use crate::haptic;
use crate::haptic::versions::{Severity, default_version, is_snapshot, judge, snapshot_text};
use crate::layout::answers::Answers;
use crate::layout::context::Versions;
use crate::layout::profile::is_haptic;
use crate::layout::render::Outline;
use crate::model::tree::{self, Tree};
use crate::plan::lock::Lock;
use crate::plan::pin::{self, Pin};
use crate::registry::{ChartSource, Registry, newest_stable};
use crate::ui::Ui;

/// The versions, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// By cluster.
    pub versions: Versions,
    /// Why a first version was taken that nobody named.
    pub why: Option<String>,
}

/// A pin that stands in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    cluster: String,
    file: String,
    pin: Pin,
}

impl Standing {
    /// Whether another pin is for the same cluster.
    pub fn is_for(&self, other: &Self) -> bool {
        self.cluster == other.cluster
    }
}

/// Where pins are looked for.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// The repository.
    pub tree: &'a dyn Tree,
    /// What was rendered last: what a pin was, where its file is gone or lost it.
    pub lock: &'a Lock,
    /// Whether a file that lost its pin gets it back.
    pub may_restore: bool,
}

/// Finds the pins of a layout's files, in the order of the clusters.
///
/// # Errors
/// When a file can't be read, or has lost the pin that it had: no version is guessed for it.
pub fn standing(
    answers: &Answers,
    outlines: &[Outline<'_>],
    places: Places<'_>,
) -> Result<Vec<Standing>> {
    let mut standing = Vec::new();
    for cluster in &answers.clusters {
        for outline in outlines
            .iter()
            .filter(|o| !o.rule.pin.is_empty() && o.cluster.is_none_or(|c| c == cluster))
        {
            let here = tree::read_text(places.tree, &outline.path)?;
            let last = places
                .lock
                .files
                .get(&outline.path)
                .and_then(|locked| pin::find(&locked.text, &outline.rule.pin));
            let pin = match (
                here.as_deref()
                    .and_then(|text| pin::find(text, &outline.rule.pin)),
                last,
            ) {
                (Some(pin), _) => pin,
                (None, Some(last)) if here.is_none() || places.may_restore => last,
                (None, Some(last)) => return Err(lost(outline, &last)),
                (None, None) => continue,
            };
            standing.push(Standing {
                cluster: cluster.name.clone(),
                file: outline.path.to_string(),
                pin,
            });
        }
    }
    Ok(standing)
}

fn lost(outline: &Outline<'_>, last: &Pin) -> anyhow::Error {
    let routes: Vec<&str> = outline
        .rule
        .pin
        .iter()
        .map(|pin| pin.route.as_str())
        .collect();
    Problem::invalid(format!(
        "`{}` has no version any more: there is nothing at {}",
        outline.path,
        routes.join(" or ")
    ))
    .hint(format!(
        "put it back; it was {} when the file was last rendered",
        last.value
    ))
    .hint("`--on-conflict replace` writes the file anew with that version")
    .into()
}

/// Warns of pins that no upgrade wrote: a range, or a version below the one that was rendered last.
pub fn warn_of_odd(standing: &[Standing], lock: &Lock, outlines: &[Outline<'_>], ui: &mut Ui) {
    for known in standing {
        let place = format!("{}:{}", known.file, known.pin.line);
        if exact(&known.pin.value).is_err() {
            ui.warn(&format!(
                "the pin {place} is `{}`, which is not one exact version",
                known.pin.value
            ));
        }
        let outline = outlines
            .iter()
            .find(|outline| outline.path.as_str() == known.file);
        let last = outline.and_then(|o| pin::find(&lock.files.get(&o.path)?.text, &o.rule.pin));
        if let Some(last) = last
            && let (Some(now), Some(before)) = (ordered(&known.pin.value), ordered(&last.value))
            && now < before
        {
            ui.warn(&format!("the pin {place} was lowered from {} to {}: a version that failed is answered by a higher one", last.value, known.pin.value));
        }
    }
}

/// A version that has a place in the order of versions.
fn ordered(text: &str) -> Option<Version> {
    Version::parse(text.trim_start_matches('v'))
        .ok()
        .filter(|version| !is_snapshot(version))
}

/// What is asked for, and whom to ask for `latest`.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// `--chart-version`.
    pub flag: Option<&'a str>,
    /// Where versions are looked up.
    pub registry: &'a dyn Registry,
}

/// Chooses the versions. `standing` are the pins of this layout and of the one that the repository had before, of the same chart:
/// a pin is never lost with the place that it stood in. The flag counts where no pin stands.
///
/// # Errors
/// When the flag asks for a lower version than a pin has, the version is refused, or the registry can't be asked.
pub fn choose(
    answers: &Answers,
    standing: &[Standing],
    has_pins: bool,
    wanted: Wanted<'_>,
    ui: &mut Ui,
) -> Result<Chosen> {
    let Wanted { flag, registry } = wanted;
    for known in standing {
        if let Some(flag) = flag {
            compare(flag, known, ui)?;
        }
    }
    let by_name = |name: &str| {
        standing
            .iter()
            .find(|s| s.cluster == name)
            .map(|s| s.pin.value.clone())
    };
    let mut versions = Versions::new();
    let mut why = None;
    for cluster in &answers.clusters {
        if let Some(version) = by_name(&cluster.name) {
            versions.insert(cluster.name.clone(), version);
        }
    }
    if !has_pins {
        return Ok(Chosen {
            versions: answers
                .clusters
                .iter()
                .map(|cluster| (cluster.name.clone(), String::new()))
                .collect(),
            why,
        });
    }
    if versions.len() < answers.clusters.len() {
        // A new cluster starts with what the last one in the order of promotion runs: the version that has proved itself most.
        let is_here = |known: &&Standing| {
            answers
                .clusters
                .iter()
                .any(|cluster| cluster.name == known.cluster)
        };
        let last = standing.iter().rfind(is_here).or(standing.last());
        let first = match (flag.filter(|flag| *flag != "latest"), last) {
            (None, Some(last)) => last.pin.value.clone(),
            _ => {
                let (version, reason) = first(answers, flag, registry)?;
                why = reason;
                accept(answers, &version, ui)?;
                version
            }
        };
        for cluster in &answers.clusters {
            versions
                .entry(cluster.name.clone())
                .or_insert_with(|| first.clone());
        }
    }
    Ok(Chosen { versions, why })
}

/// A version asked for beside a pin that stands: the same is fine, a lower one is refused, a higher one is not what `init` is for.
fn compare(flag: &str, known: &Standing, ui: &mut Ui) -> Result<()> {
    let (place, value) = (
        format!("{}:{}", known.file, known.pin.line),
        &known.pin.value,
    );
    if flag == value {
        return Ok(());
    }
    if let (Some(wanted), Some(stands)) = (ordered(flag), ordered(value))
        && wanted < stands
    {
        return Err(Problem::invalid(format!(
            "cannot take `--chart-version {flag}`: the pin stands at {value} ({place}), and a chart never goes back"
        ))
        .hint("leave out `--chart-version`; a version that failed is answered by a higher one")
        .into());
    }
    if flag == "latest" {
        ui.notice(&format!("the pin stays at {value} ({place}): `--chart-version latest` counts for the first rendering only"));
        return Ok(());
    }
    ui.warn(&format!(
        "the pin stays at {value} ({place}): `--chart-version` counts for the first rendering only; to move it, change that line"
    ));
    Ok(())
}

/// The version of a first rendering.
fn first(
    answers: &Answers,
    flag: Option<&str>,
    registry: &dyn Registry,
) -> Result<(String, Option<String>)> {
    let known = is_haptic(&answers.chart.name);
    match flag {
        Some("latest") => latest(answers, registry),
        Some(version) => exact(version).map(|()| (version.to_owned(), None)),
        None if known => {
            let choice = default_version();
            let is_default = answers.chart.repo_url() == haptic::CHART_REPO;
            let elsewhere = format!(
                "the newest that is known without a trap; whether {} has it was not asked",
                answers.chart.repo_url()
            );
            Ok((
                choice.version.to_owned(),
                Some(if is_default { choice.why } else { elsewhere }),
            ))
        }
        None => latest(answers, registry),
    }
}

fn latest(answers: &Answers, registry: &dyn Registry) -> Result<(String, Option<String>)> {
    let address = answers.chart.address();
    let refuse = |message: String, hint: String| {
        Problem::new(ExitStatus::Remote, message)
            .hint(hint)
            .hint("or name a version: `--chart-version VERSION`")
    };
    let source = ChartSource::new(&answers.chart.repo_url(), &answers.chart.name)
        .map_err(|why| Problem::invalid(why.to_string()).hint(why.hint()))?;
    let published = registry.versions(&source).map_err(|why| {
        refuse(
            format!("cannot look up the newest version of `{address}`: {why}"),
            why.hint(),
        )
    })?;
    let newest = newest_stable(&published).ok_or_else(|| {
        refuse(
            format!("`{address}` has no stable version"),
            "pre-releases are never taken by themselves".to_owned(),
        )
    })?;
    Ok((
        newest.version.clone(),
        Some(format!("the newest stable version at {address}")),
    ))
}

/// A pin names one version.
fn exact(version: &str) -> Result<()> {
    let is_version = version
        .trim_start_matches('v')
        .starts_with(|c: char| c.is_ascii_digit())
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-+._".contains(c))
        && !version
            .split('.')
            .any(|part| matches!(part, "x" | "X" | "*" | ""));
    if is_version || snapshot_text(version) {
        return Ok(());
    }
    Err(Problem::invalid(format!(
        "cannot take `--chart-version {version}`: it is not one exact version"
    ))
    .hint("a pin names one version, like 0.5.0; `latest` looks the newest one up")
    .into())
}

/// What is known of a version of HAPTIC: refused, warned about, or said.
fn accept(answers: &Answers, version: &str, ui: &mut Ui) -> Result<()> {
    if !is_haptic(&answers.chart.name) || snapshot_text(version) {
        return Ok(());
    }
    let parsed = Version::parse(version)
        .with_context(|| format!("cannot take `--chart-version {version}`"))
        .map_err(|why| {
            Problem::invalid(format!("{why:#}")).hint("HAPTIC's versions look like 0.5.0")
        })?;
    let default_address = answers.chart.repo_url() == haptic::CHART_REPO;
    for remark in judge(&parsed, default_address) {
        match remark.severity {
            Severity::Refuse => {
                let problem =
                    Problem::invalid(format!("cannot take HAPTIC {version}: {}", remark.text));
                return Err(remark.hint.into_iter().fold(problem, Problem::hint).into());
            }
            Severity::Warn => ui.warn(&format!("HAPTIC {version}: {}", remark.text)),
            Severity::Note => ui.notice(&format!("HAPTIC {version}: {}", remark.text)),
        }
    }
    Ok(())
}
