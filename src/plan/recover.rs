//! The planner of `recover`: a higher version, or corrected values, as one change with the evidence; and what was rejected, remembered in the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use semver::Version;

use super::bundle::Bundle;
use super::change::{Change, Commit, FileChange, Verdict};
use super::corrected::{Corrected, correct};
use super::forward::Choice;
use super::message::Message;
use super::reconcile::Follow;
use super::rejections;
use super::release_values::{Described, Layer};
use super::upgrade::{Section, moved_files, moves_table, trailers, with_sections};
use crate::haptic;
use crate::haptic::rejection::Cause;
use crate::model::policy::Rejected;
use crate::model::repo_path::RepoPath;
use crate::model::text::{fenced, one_line, plain};
use crate::model::tree::{Entry, Overlay, Tree, read_text};

/// Where a rejection is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The cluster itself.
    Cluster,
    /// A Job's log, or the Job, in a file.
    JobLog,
    /// Somebody says so.
    Flag,
    /// It is the highest version that the pin has had, and somebody said yes to that.
    Git,
}

impl Found {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::JobLog => "job-log",
            Self::Flag => "flag",
            Self::Git => "git",
        }
    }
}

/// A version that was rejected, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// The version, without the digest that Flux may add.
    pub version: Version,
    /// Why, where that is known.
    pub cause: Option<Cause>,
    /// When, as the evidence says.
    pub date: Option<String>,
    /// Digest of the evidence.
    pub evidence: Option<String>,
    /// Where it is known from.
    pub found: Found,
    /// How it is known, a sentence without a full stop.
    pub how: String,
    /// The end of the Job's log; what looks like a secret is hidden.
    pub log: Option<String>,
}

impl Rejection {
    /// Why, on one line; as much as may be shown.
    pub fn reason(&self) -> Option<String> {
        self.cause
            .as_ref()
            .map(|cause| one_line(&crate::secrets::redact::redact(&cause.text())).into_owned())
    }

    /// What the repository remembers of it.
    pub fn record(&self, chart: &str) -> Rejected {
        Rejected {
            chart: chart.to_owned(),
            version: self.version.to_string(),
            reason: self.reason(),
            date: self.date.clone(),
            evidence: self.evidence.clone(),
        }
    }
}

/// What is done about a rejection.
pub struct Recovery<'a> {
    /// Pins that move, in one environment; they may be none.
    pub bundle: &'a Bundle,
    /// What was rejected.
    pub rejection: &'a Rejection,
    /// The version that is chosen; nothing where only values are corrected.
    pub choice: Option<&'a Choice>,
    /// The file that remembers the rejection, and what it remembers; nothing where the version is not to blame.
    pub record: Option<(RepoPath, Vec<Rejected>)>,
    /// Values to merge into those of the release.
    pub values: Option<Patch<'a>>,
    /// The release wherever it is deployed: its values are corrected everywhere.
    pub described: &'a [&'a Described],
    /// How to follow it.
    pub follow: &'a Follow,
    /// What is said of other environments.
    pub others: &'a [String],
}

/// Corrected values.
#[derive(Clone, Copy)]
pub struct Patch<'a> {
    /// The merge patch.
    pub values: &'a serde_json::Value,
    /// Why, in a few words.
    pub why: &'a str,
}

/// What a recovery changes, before its text is written: sections are made of it.
pub struct Edits {
    /// Files by path.
    pub files: BTreeMap<RepoPath, FileChange>,
    /// The values, where they are corrected: as many as the release is described.
    pub corrected: Vec<Corrected>,
}

/// Makes the edits of a recovery.
///
/// # Errors
/// When a file can't be read, or a pin, a value or the record can't be edited without another change.
pub fn edits(tree: &dyn Tree, recovery: &Recovery<'_>) -> Result<Edits> {
    let mut edits = Edits {
        files: BTreeMap::new(),
        corrected: Vec::new(),
    };
    for file in moved_files(tree, recovery.bundle)? {
        edits.files.insert(file.path.clone(), file);
    }
    let patched = recovery.values.iter().flat_map(|patch| {
        let all = recovery.described.iter();
        all.map(move |described| (patch, *described))
    });
    for (patch, described) in patched {
        let corrected = correct(&edits.after(tree), described, patch.values)?;
        for (path, text) in &corrected.files {
            edits.put(tree, path, text, patch.why)?;
        }
        edits.corrected.push(corrected);
    }
    if let Some((path, all)) = &recovery.record {
        let mut text = read_text(tree, path)?;
        for rejected in all {
            text = Some(rejections::record(text.as_deref(), rejected)?);
        }
        let Rejection { version, .. } = recovery.rejection;
        let why = format!("{} {version} was rejected", recovery.bundle.name);
        edits.put(tree, path, &text.unwrap_or_default(), &why)?;
    }
    Ok(edits)
}

impl Edits {
    /// The repository as it will be.
    pub fn after<'t>(&self, tree: &'t dyn Tree) -> Overlay<'t> {
        let files = self.files.iter();
        Overlay {
            under: tree,
            files: files
                .filter_map(|(path, file)| Some((path.clone(), file.new.clone()?)))
                .collect(),
        }
    }

    fn put(&mut self, tree: &dyn Tree, path: &RepoPath, text: &str, why: &str) -> Result<()> {
        let new = text.as_bytes().to_vec();
        if let Some(known) = self.files.get_mut(path) {
            known.new = Some(new);
            return Ok(());
        }
        let old = match tree.entry(path)? {
            Some(Entry::File(bytes)) => Some(bytes),
            _ => None,
        };
        if old.as_ref() != Some(&new) {
            let change = FileChange {
                path: path.clone(),
                verdict: match old {
                    Some(_) => Verdict::Update,
                    None => Verdict::Create,
                },
                why: why.to_owned(),
                commit: Commit::Never,
                old,
                new: Some(new),
            };
            self.files.insert(path.clone(), change);
        }
        Ok(())
    }
}

/// Writes the change of a recovery; nothing where everything is as it should be.
pub fn plan(
    recovery: &Recovery<'_>,
    edits: &Edits,
    sections: &[Section],
    base: &str,
) -> Option<Change> {
    let files: Vec<FileChange> = edits.files.values().cloned().collect();
    if files.is_empty() {
        return None;
    }
    let key = recovery.bundle.key();
    let trailers = trailers(recovery.bundle, &files);
    let title = title(recovery);
    let own = own_sections(recovery, edits);
    let body = with_sections(&opening(recovery), &own[..2]);
    // What the charts say stands between what was done and how to go on.
    let body = with_sections(&body, sections);
    Some(Change {
        branch: recovery.bundle.branch(),
        base: base.to_owned(),
        body: with_sections(&body, &own[2..]),
        message: Message {
            subject: title.clone(),
            body: message(recovery),
            trailers,
        },
        key,
        title,
        labels: vec!["recovery".to_owned()],
        files,
    })
}

fn title(recovery: &Recovery<'_>) -> String {
    let Recovery {
        bundle, rejection, ..
    } = recovery;
    let place = bundle.environment.as_ref();
    let place = place.map(|name| format!(" in {name}")).unwrap_or_default();
    let chart = &bundle.name;
    match recovery.choice {
        Some(choice) if !bundle.moves.is_empty() => format!(
            "Recover {chart}{place}: {} after {} was rejected",
            choice.version, rejection.version
        ),
        _ if recovery.values.is_some() => format!(
            "Recover {chart}{place}: correct the values that {} was rejected with",
            rejection.version
        ),
        _ => format!("Remember that {chart} {} was rejected", rejection.version),
    }
}

/// The text of the commit.
fn message(recovery: &Recovery<'_>) -> String {
    let Rejection { version, how, .. } = recovery.rejection;
    let mut text = format!("{} {version} was rejected: {how}.", recovery.bundle.name);
    if let Some(reason) = recovery.rejection.reason() {
        text.push_str(&format!("\n\n    {reason}"));
    }
    text
}

/// What the request begins with.
fn opening(recovery: &Recovery<'_>) -> String {
    let Recovery {
        bundle, rejection, ..
    } = recovery;
    let chart = &bundle.name;
    // What somebody says has no date of its own but that of the commit.
    let word = match rejection.found {
        Found::Cluster | Found::JobLog => " on",
        Found::Flag | Found::Git => "; it was pinned on",
    };
    let date = rejection.date.as_ref();
    let date = date
        .map(|date| format!("{word} {date}"))
        .unwrap_or_default();
    let mut text = format!(
        "`{chart}` **{}** was rejected{date}.",
        plain(&rejection.version.to_string())
    );
    match (recovery.choice, bundle.moves.is_empty()) {
        (Some(choice), false) => text.push_str(&format!(
            " This goes forward to **{}**: {}.\n",
            choice.version,
            plain(&choice.why)
        )),
        _ if recovery.values.is_some() => {
            text.push_str(" This corrects the values, and the version stays.\n");
        }
        _ => text.push_str(" This only remembers it: no pin has to move.\n"),
    }
    if !bundle.moves.is_empty() {
        text.push_str(&format!("\n{}", moves_table(&bundle.moves)));
    }
    let mut notes = recovery
        .choice
        .map(|choice| choice.remarks.clone())
        .unwrap_or_default();
    notes.extend(
        bundle
            .kept
            .iter()
            .map(|kept| format!("not moved: {}: {}", kept.place, kept.why)),
    );
    // What another release was refused for may be a text from elsewhere.
    notes.extend(recovery.others.iter().map(|other| plain(other)));
    if !notes.is_empty() {
        text.push_str("\nTo know:\n\n");
        notes
            .iter()
            .for_each(|note| text.push_str(&format!("- {note}\n")));
    }
    text
}

/// What was rejected and what changes; what did not, how to follow it, and what not to do.
fn own_sections(recovery: &Recovery<'_>, edits: &Edits) -> [Section; 5] {
    let section = |title: &str, text: String| Section {
        title: title.to_owned(),
        text,
        is_folded: false,
    };
    [
        section("What was rejected", rejected(recovery)),
        section("What changes", changes(recovery, edits)),
        section("What did not change", unchanged(recovery)),
        section("How to follow it", following(recovery)),
        section("What not to do", do_not(recovery)),
    ]
}

fn is_haptic(recovery: &Recovery<'_>) -> bool {
    let mut moves = recovery.bundle.moves.iter();
    recovery.bundle.name == haptic::CHART
        || moves.any(|one| one.pin.chart.as_deref() == Some(haptic::CHART))
}

/// A clause as a sentence begins.
fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

fn rejected(recovery: &Recovery<'_>) -> String {
    let rejection = recovery.rejection;
    let mut text = format!("{}.\n", plain(&sentence(&rejection.how)));
    if let Some(reason) = rejection.reason() {
        text.push_str(&format!("\nWhy: {}\n", plain(&reason)));
    }
    if let Some(log) = &rejection.log {
        text.push_str(&format!(
            "\nThe end of its log; what looks like a secret is hidden:\n\n{}",
            fenced("text", log)
        ));
    }
    if let Some(evidence) = &rejection.evidence {
        text.push_str(&format!("\nDigest of the evidence: `{evidence}`\n"));
    }
    text
}

fn changes(recovery: &Recovery<'_>, edits: &Edits) -> String {
    let mut text = String::new();
    for FileChange { path, old, why, .. } in edits.files.values() {
        let is_new = if old.is_none() { " (new)" } else { "" };
        text.push_str(&format!("- `{path}`{is_new}: {}\n", plain(why)));
    }
    if let Some(first) = edits.corrected.first() {
        text.push_str(&format!("\nValues: {}\n", first.keys.join(", ")));
        let notes = edits.corrected.iter().flat_map(|one| &one.notes);
        for note in notes.collect::<BTreeSet<_>>() {
            text.push_str(&format!("\n{note}\n"));
        }
    }
    if let Some((_, all)) = &recovery.record {
        let versions: Vec<&str> = all.iter().map(|one| one.version.as_str()).collect();
        let (stand, is) = match versions.len() {
            1 => ("stands", "it is"),
            _ => ("stand", "they are"),
        };
        text.push_str(&format!(
            "\n{} {stand} under `rejected` from now on, so that {is} never offered again.\n",
            versions.join(", ")
        ));
    }
    text
}

fn unchanged(recovery: &Recovery<'_>) -> String {
    let mut text = "What runs is what ran before: a release whose hook fails changes neither Deployments nor Services, Secrets or configuration, and goes on serving.\n".to_owned();
    if is_haptic(recovery) {
        text.push_str("\nCRDs may have changed: the Job that applies them runs before the one that judges, and they are not taken back. That is why no lower version is offered.\n");
    } else {
        text.push_str(
            "\nWhat hooks did before the one that failed stays done, and so do new CRDs.\n",
        );
    }
    text
}

fn following(recovery: &Recovery<'_>) -> String {
    let Follow {
        force,
        watch,
        notes,
    } = recovery.follow;
    let block =
        |lines: &[String]| -> String { lines.iter().map(|line| format!("    {line}\n")).collect() };
    if recovery.described.is_empty() {
        return "No manifest in this repository says what deploys it. Once this is merged, whoever deploys it has to do so.\n".to_owned();
    }
    let mut text = "Once this is merged, the controllers go on by themselves.\n".to_owned();
    if !force.is_empty() {
        text.push_str(&format!(
            "\nTo have them look at once, in this order:\n\n{}",
            block(force)
        ));
    }
    for note in notes {
        text.push_str(&format!("\n{note}\n"));
    }
    if !watch.is_empty() {
        text.push_str(&format!("\nTo wait until it is live:\n\n{}", block(watch)));
    }
    // Where there are more, one release alone is followed.
    let chart = match &recovery.bundle.release {
        Some(release) => format!(" {release}"),
        None if is_haptic(recovery) => String::new(),
        None => format!(" {}", recovery.bundle.name),
    };
    let place = recovery.bundle.environment.as_ref();
    let place = place.map_or_else(String::new, |name| format!(" --cluster {name}"));
    text.push_str(&format!("\n    haptic-scaffold recover{chart} --watch{place} --context CONTEXT\n\nsays live (exit code 0), rejected again (10), or that the time was up (1).\n"));
    if let (true, Some(described)) = (is_haptic(recovery), recovery.described.first()) {
        let version = recovery.choice.map(|choice| choice.version.to_string());
        let version = version.unwrap_or_else(|| recovery.rejection.version.to_string());
        text.push_str(&format!("\nTo have HAPTIC's own check judge it before the merge, in a pipeline with the controller's image of {version}:\n\n    haptic preflight -f values.yaml --chart CHART-FOLDER --namespace {} --release {} --expect-chart-version {version} --schema-dir SCHEMAS\n\nAnother exit code than 0 means that it would be rejected. values.yaml is what the release has: {}.\n", described.namespace, described.release, values_in(described)));
    }
    text
}

/// Where the values of a release stand, each place over those before.
fn values_in(described: &Described) -> String {
    let place = |layer: &Layer| match layer.route.is_root() {
        true => format!("`{}`", layer.file),
        false => format!("`{}` in `{}`", layer.route, layer.file),
    };
    let all: Vec<String> = described.layers.iter().map(place).collect();
    let known = match all.is_empty() {
        true => "none of its own".to_owned(),
        false => all.join(", and over that "),
    };
    match described.values {
        Some(_) => known,
        None => format!("{known}, and what doesn't stand in this repository"),
    }
}

fn do_not(recovery: &Recovery<'_>) -> String {
    let mut text = "- No rollback and no lower version, by Helm, by a revert or by hand: what the failed release has changed in the cluster doesn't come down again.\n- No `--no-hooks`, no `disableHooks` and no selective sync (`argocd app sync --resource`): they skip the check that has just protected what runs.\n".to_owned();
    if is_haptic(recovery) {
        text.push_str("- No `preRolloutValidation.enabled: false`: the new controller then doesn't become ready, instead of never being started.\n");
    }
    text
}
