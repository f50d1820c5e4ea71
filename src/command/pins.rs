//! `pins`: every place where a chart's version stands.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::Map;

use super::choice::{allowed, allowed_tag};
use super::files;
use super::pin_files::{commit_of, gather};
use super::pin_history::{self, went_back};
use super::pin_paths::paths;
use super::policies::Policies;
use super::published::Published;
use crate::cli::Common;
use crate::cli::pins::PinsArgs;
use crate::error::{ExitStatus, Problem};
use crate::git::target::Target;
use crate::model::address;
use crate::model::chart::ChartRef;
use crate::model::repo_path::RepoPath;
use crate::model::text::one_line;
use crate::pins::{Form, Joined, Kind, Newest, Pin, Source};
use crate::plan::upgrade::is_haptic;
use crate::ui::{Format, Outcome, Ui};
use crate::world::World;

/// Shows the pins of the repository.
///
/// # Errors
/// When the repository can't be read.
pub fn run(arguments: &PinsArgs, common: &Common, world: &World, ui: &mut Ui) -> Result<Outcome> {
    let folder = files::working_folder(common, world);
    let found = gather(&folder, arguments.rev.as_deref())?;
    let joined = found.joined;
    let config = common.config.as_ref().map(|file| world.folder.join(file));
    let policies = Policies::read(&found.policies, config.as_deref())?;
    let paths = paths(&folder, arguments.rev.as_deref(), &arguments.paths)?;
    check_chart(arguments, &joined.pins)?;
    let mut published = Published::asked(arguments.versions.as_deref(), arguments.offline, world)?;
    let mut rows: Vec<Row<'_>> = joined
        .pins
        .iter()
        .filter(|pin| is_wanted(pin, arguments, &paths))
        .map(|pin| row(pin, &mut published, &policies, world.now))
        .filter(|row| !arguments.outdated || row.newest.is_newer)
        .collect();
    let is_newer = rows
        .iter()
        .any(|row| row.newest.is_newer && row.pin.effective);
    warn_of_logins(&joined.pins, ui);
    tell_ways_back(&folder, arguments.rev.as_deref(), &mut rows, ui)?;
    for remark in published.remarks() {
        ui.warn(remark);
    }
    let problem = unknown(&published);
    let status = match &problem {
        Some(problem) => problem.status,
        None if arguments.exit_code && is_newer => ExitStatus::Differences,
        None => ExitStatus::Done,
    };
    let (mut text, mut lists) = (String::new(), Vec::new());
    match common.output {
        Format::Human => text = shown(&rows, &joined, !published.is_nobody()),
        Format::Json => {
            let told: Vec<Told<'_>> = rows.iter().map(told).collect();
            lists.push(("pins", serde_json::to_string(&told)?));
            lists.push(("unread", serde_json::to_string(&joined.unread)?));
        }
    }
    Ok(Outcome {
        status,
        text,
        json: Map::new(),
        problem,
        lists,
    })
}

/// A pin, and what is newer.
struct Row<'a> {
    pin: &'a Pin,
    chart: Option<ChartRef>,
    newest: Newest,
    /// Whether its source was asked and gave no answer.
    is_unanswered: bool,
}

fn row<'a>(pin: &'a Pin, published: &mut Published<'_>, policies: &Policies, now: i64) -> Row<'a> {
    let chart = chart_of(pin);
    let answer = match &chart {
        _ if published.is_nobody() => Ok(unasked("nobody was asked for versions")),
        _ if git_of(pin).is_some() => {
            let (name, address) = git_of(pin).unwrap_or_default();
            let rule = policies.of(&pin.file).rule(name, address);
            let newest = allowed_tag(published, address, pin, &rule);
            newest.map(|(newest, _)| held(newest, rule.hold.as_deref()))
        }
        _ if pin.kind != Kind::Chart && has_login(pin) => Ok(unasked(HAS_LOGIN)),
        _ if pin.kind != Kind::Chart => Ok(unasked("not asked for: it is no chart")),
        Some(chart) => {
            let mut rule = policies.of(&pin.file).rule(&chart.name, &chart.address());
            let newest = allowed(published, chart, pin, &mut rule, now);
            newest.map(|newest| held(newest, rule.hold.as_deref()))
        }
        None => Ok(unasked(unplaced(pin))),
    };
    Row {
        pin,
        chart,
        is_unanswered: answer.is_err(),
        newest: answer.unwrap_or_else(|why| unasked(&why)),
    }
}

/// What is newer, and that the policy holds it.
fn held(newest: Newest, hold: Option<&str>) -> Newest {
    let held = hold.map(|why| format!("held: {why}"));
    let all: Vec<String> = held.into_iter().chain(newest.why).collect();
    Newest {
        why: (!all.is_empty()).then(|| all.join("; ")),
        ..newest
    }
}

fn unasked(why: &str) -> Newest {
    Newest {
        version: None,
        is_newer: false,
        why: Some(why.to_owned()),
    }
}

/// The chart that a pin is of, with its address.
pub(super) fn chart_of(pin: &Pin) -> Option<ChartRef> {
    match (&pin.source, &pin.chart) {
        (Source::Address(address), Some(name)) if pin.kind == Kind::Chart => {
            ChartRef::new(address, name).ok()
        }
        _ => None,
    }
}

/// The chart that lies in a Git repository, with the repository's address. One that carries a login is asked by nobody.
pub(super) fn git_of(pin: &Pin) -> Option<(&str, &str)> {
    match (&pin.source, &pin.chart) {
        (Source::Address(address), Some(name)) if pin.kind == Kind::Git && !has_login(pin) => {
            Some((name, address))
        }
        _ => None,
    }
}

/// Why nobody can be asked about a pin of a chart.
pub(super) fn unplaced(pin: &Pin) -> &'static str {
    match has_login(pin) {
        true => HAS_LOGIN,
        false => "it isn't known where the chart is published",
    }
}

/// Whether the address that a pin has carries a login, which is never sent and never shown.
fn has_login(pin: &Pin) -> bool {
    matches!(&pin.source, Source::Address(address) if address::has_login(address))
}

const HAS_LOGIN: &str = "its address carries a login, which everybody has who reads the repository: take it out and make a new one";

/// Says which pins of HAPTIC are lower than they were, with each of them and as a warning.
fn tell_ways_back(
    folder: &Path,
    rev: Option<&str>,
    rows: &mut [Row<'_>],
    ui: &mut Ui,
) -> Result<()> {
    let is_meant = |row: &&mut Row<'_>| row.pin.effective && is_haptic(row.pin);
    let mut meant = rows.iter_mut().filter(is_meant).peekable();
    if meant.peek().is_none() {
        return Ok(());
    }
    let Target::Existing(repository) = Target::around(folder)? else {
        return Ok(());
    };
    // Without a commit nothing was ever otherwise.
    let Ok(Some(tip)) = commit_of(&repository, rev.or(Some("HEAD"))) else {
        return Ok(());
    };
    let meant: Vec<&mut Row<'_>> = meant.collect();
    let pins: Vec<&Pin> = meant.iter().map(|row| row.pin).collect();
    let all = went_back(&repository, tip, &pins)?;
    for (row, highest) in meant.into_iter().zip(all) {
        if let Some(highest) = highest {
            let told = pin_history::told(row.pin, &highest);
            ui.warn(&one_line(&told));
            let why = row.newest.why.take().map(|why| format!("; {why}"));
            row.newest.why = Some(format!("{told}{}", why.unwrap_or_default()));
        }
    }
    Ok(())
}

/// Says once for each address that it carries a login.
fn warn_of_logins(pins: &[Pin], ui: &mut Ui) {
    let mut told = BTreeSet::new();
    for pin in pins.iter().filter(|pin| has_login(pin)) {
        if let Source::Address(address) = &pin.source
            && told.insert(address)
        {
            ui.warn(&format!(
                "{}:{}: `{}`: {HAS_LOGIN}",
                one_line(pin.file.as_str()),
                pin.line,
                one_line(&address::shown(address))
            ));
        }
    }
}

/// Charts that nobody could say anything about: the rest is shown all the same.
pub(super) fn unknown(published: &Published<'_>) -> Option<Problem> {
    // A hundred charts of one source that is down are one piece of news.
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (chart, why) in published.unknown() {
        let chart = one_line(&chart).into_owned();
        match by_reason.iter_mut().find(|(known, _)| *known == why) {
            Some((_, charts)) => charts.push(chart),
            None => by_reason.push((why, vec![chart])),
        }
    }
    let lines = by_reason.iter();
    let all: Vec<String> = lines
        .map(|(why, charts)| {
            let why = why.replace('\n', "\n    ");
            format!("{}: {why}", charts.join(", "))
        })
        .collect();
    (!all.is_empty()).then(|| {
        Problem::new(
            ExitStatus::Remote,
            format!(
                "not every chart could be asked about:\n  {}",
                all.join("\n  ")
            ),
        )
        .hint("`--offline` asks nobody, `--versions FILE` says the versions instead")
    })
}

/// A chart that is written wrong would be nothing to show, and nothing newer.
fn check_chart(arguments: &PinsArgs, pins: &[Pin]) -> Result<()> {
    let wanted = arguments.chart.as_ref();
    match wanted.filter(|wanted| !pins.iter().any(|pin| is_of(pin, wanted))) {
        None => Ok(()),
        Some(wanted) => Err(Problem::usage(format!("no pin is of a chart `{wanted}`"))
            .hint("`haptic-scaffold pins --offline` shows charts and pins")
            .into()),
    }
}

/// Whether a pin is of what people call by this name or address.
fn is_of(pin: &Pin, wanted: &str) -> bool {
    pin.chart.as_deref() == Some(wanted)
        || match (chart_of(pin), &pin.source) {
            (Some(chart), _) => chart.address() == wanted,
            (None, Source::Address(address)) => address::shown(address) == wanted,
            (None, _) => false,
        }
}

fn is_wanted(pin: &Pin, arguments: &PinsArgs, paths: &[String]) -> bool {
    let is_below = |path: &String| {
        let file = pin.file.as_str();
        let rest = file.strip_prefix(path.as_str());
        path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let wanted = arguments.chart.as_ref();
    let is_chart = wanted.is_none_or(|wanted| is_of(pin, wanted));
    is_chart && (paths.is_empty() || paths.iter().any(is_below))
}

/// A pin as scripts get it.
#[derive(Serialize)]
struct Told<'a> {
    file: &'a RepoPath,
    line: usize,
    column: usize,
    place: &'a str,
    kind: Kind,
    object: Option<&'a str>,
    chart: Option<&'a str>,
    source: Option<String>,
    value: &'a str,
    form: Form,
    effective: bool,
    editable: bool,
    why: Option<&'a str>,
    newest: Option<String>,
    newest_why: Option<&'a str>,
}

fn told<'a>(row: &'a Row<'_>) -> Told<'a> {
    let pin = row.pin;
    let source = match (&row.chart, &pin.source) {
        (Some(chart), _) => Some(chart.address()),
        (None, Source::Address(address)) => Some(address::shown(address)),
        (None, _) => None,
    };
    Told {
        file: &pin.file,
        line: pin.line,
        column: pin.column,
        place: &pin.place,
        kind: pin.kind,
        object: pin.object.as_deref(),
        chart: pin.chart.as_deref(),
        source,
        value: &pin.value,
        form: pin.form,
        effective: pin.effective,
        editable: pin.editable,
        why: pin.why.as_deref(),
        newest: row.newest.version.as_ref().map(ToString::to_string),
        newest_why: row.newest.why.as_deref(),
    }
}

fn shown(rows: &[Row<'_>], joined: &Joined, is_asked: bool) -> String {
    let mut text = String::new();
    for row in rows {
        let Row { pin, newest, .. } = row;
        let newer = newest
            .version
            .as_ref()
            .filter(|_| newest.is_newer)
            .map(|version| format!(" -> {version}"))
            .unwrap_or_default();
        // What stands in a file must not look like a line of ours.
        text.push_str(&format!(
            "{}:{}:{}: {} {}{newer}  ({})\n",
            one_line(pin.file.as_str()),
            pin.line,
            pin.column,
            one_line(pin.chart.as_deref().unwrap_or("-")),
            one_line(&pin.value),
            one_line(&pin.place)
        ));
        let said = match (&newest.why, row.is_unanswered) {
            (Some(_), true) => Some("its source could not be asked: the error says why"),
            (Some(why), false) if is_asked && pin.kind == Kind::Chart => Some(why.as_str()),
            _ => None,
        };
        for why in pin.why.as_deref().into_iter().chain(said) {
            text.push_str(&format!("  {}\n", one_line(why)));
        }
    }
    if rows.is_empty() {
        text.push_str("no pins\n");
    }
    if !is_asked {
        text.push_str("nobody was asked which versions there are\n");
    }
    for unread in &joined.unread {
        text.push_str(&format!(
            "{}:{}: not read: {}\n",
            one_line(unread.file.as_str()),
            unread.line,
            one_line(&unread.why)
        ));
    }
    text
}
