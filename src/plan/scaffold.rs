//! The planner of `init`: rendered files against what the repository has, one verdict for each.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value};

use super::change::{Change, FileChange, Verdict};
use super::lock::{Lock, LockedFile};
use super::message::{DIGEST_TRAILER, KEY_TRAILER, Message, VERSION_TRAILER, digest};
use super::{answers_file, lock, pin};
use crate::layout::definition::{Owner, PinRoute};
use crate::layout::recorded::FILE_NAME as ANSWERS_FILE;
use crate::layout::render::Rendered;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{self, Entry, Tree};

/// What to do where a file has a text of somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Nothing at all is written.
    Stop,
    /// The file stays as it is.
    Keep,
    /// The file gets the rendered text.
    Replace,
}

/// The facts that the planner works on.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What was rendered.
    pub files: &'a [Rendered],
    /// The layout's name.
    pub layout: &'a str,
    /// The digest of the layout and its templates.
    pub layout_digest: &'a str,
    /// The release's name.
    pub release: &'a str,
    /// The chart and its version, for the message.
    pub chart: &'a str,
    /// The versions that the pins get, each once.
    pub versions: &'a [String],
    /// `""`, or the folder that everything goes below with a `/`.
    pub prefix: &'a str,
    /// The answers to record.
    pub answers: &'a Map<String, Value>,
    /// What was rendered last.
    pub lock: &'a Lock,
    /// What the answers of the last run gave for files that are the team's, by path; nothing where they gave the same as now.
    pub starters: &'a BTreeMap<RepoPath, String>,
    /// What to do with conflicts.
    pub on_conflict: OnConflict,
}

/// Plans the files of a scaffolded repository.
///
/// # Errors
/// When the repository can't be read, or a path in it leads out of it.
pub fn plan(tree: &dyn Tree, facts: &Facts<'_>) -> Result<Change> {
    let mut files = Vec::new();
    let mut next = Lock {
        layout: facts.layout.to_owned(),
        digest: facts.layout_digest.to_owned(),
        files: BTreeMap::new(),
    };
    for rendered in facts.files {
        files.push(plan_file(tree, facts, rendered)?);
        next.files.insert(
            rendered.path.clone(),
            LockedFile::new(rendered.owner, &rendered.text),
        );
    }
    for (path, locked) in facts
        .lock
        .files
        .iter()
        .filter(|(path, _)| !next.files.contains_key(*path))
    {
        files.extend(plan_leftover(tree, facts, path, locked)?);
    }
    let answers_path = RepoPath::parse(&format!("{}{ANSWERS_FILE}", facts.prefix))?;
    let old = tree::read_text(tree, &answers_path)?;
    let text = answers_file::write(old.as_deref(), facts.answers)?;
    files.push(own_file(tree, &answers_path, old, text, "the answers")?);
    files.push(plan_lock(tree, facts, next, &files)?);
    let mut change = Change {
        key: format!("init {}", facts.release),
        message: message(facts, &files),
        files,
    };
    change.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(change)
}

fn message(facts: &Facts<'_>, files: &[FileChange]) -> Message {
    let first = facts.lock.files.is_empty();
    let body = format!("Layout {} for the chart {}.", facts.layout, facts.chart);
    let mut trailers = vec![(KEY_TRAILER.to_owned(), format!("init {}", facts.release))];
    trailers.extend(
        facts
            .versions
            .iter()
            .map(|version| (VERSION_TRAILER.to_owned(), version.clone())),
    );
    trailers.push((
        DIGEST_TRAILER.to_owned(),
        digest(
            files
                .iter()
                .filter(|f| f.verdict.writes() || f.verdict == Verdict::Same),
        ),
    ));
    Message {
        subject: format!(
            "{} the config repository of {}",
            if first { "Scaffold" } else { "Re-render" },
            facts.release
        ),
        body,
        trailers,
    }
}

/// A file of the tool's own, which is written as it has to be.
fn own_file(
    tree: &dyn Tree,
    path: &RepoPath,
    old: Option<String>,
    text: String,
    what: &str,
) -> Result<FileChange> {
    let verdict = match &old {
        None => Verdict::Create,
        Some(old) if *old == text => Verdict::Same,
        Some(_) => Verdict::Update,
    };
    Ok(FileChange {
        path: tree::resolve(tree, path)?,
        verdict,
        why: what.to_owned(),
        old: old.map(String::into_bytes),
        new: Some(text.into_bytes()),
    })
}

/// The lock changes only with a rendered text, so that a newer tool alone changes nothing.
fn plan_lock(
    tree: &dyn Tree,
    facts: &Facts<'_>,
    mut next: Lock,
    files: &[FileChange],
) -> Result<FileChange> {
    let path = RepoPath::parse(&format!("{}{}", facts.prefix, lock::FILE_NAME))?;
    let old = tree::read_text(tree, &path)?;
    next.keep_packed(facts.lock);
    keep_bases(&mut next, facts, files);
    let unchanged = next.files == facts.lock.files && old.is_some();
    let text = if unchanged {
        facts.lock.to_text()
    } else {
        next.to_text()
    };
    own_file(
        tree,
        &path,
        old,
        text,
        "what was rendered, for later merges",
    )
}

/// What a file was rendered to becomes its base, also where a person chose to keep another text. Three kinds keep the base that they had:
/// files of the team, files that were taken away, and those where only a pin moved, which is no new rendering.
fn keep_bases(next: &mut Lock, facts: &Facts<'_>, files: &[FileChange]) {
    for (rendered, file) in facts.files.iter().zip(files) {
        let Some(known) = facts.lock.files.get(&rendered.path) else {
            continue;
        };
        let is_left_alone =
            file.verdict == Verdict::Skip && (rendered.owner == Owner::User || file.old.is_none());
        let is_same_but_for_pins =
            with_pins_of(&known.text, &rendered.pins, &rendered.text) == rendered.text;
        if is_left_alone || (!file.verdict.writes() && is_same_but_for_pins) {
            next.files.insert(rendered.path.clone(), known.clone());
        }
    }
}

/// A text rendered before, with the version that another text has in its pin: what it would be had only the pin moved.
fn with_pins_of(base: &str, routes: &[PinRoute], other: &str) -> String {
    match pin::find(other, routes) {
        Some(found) => pin::moved(base, routes, &found.value),
        None => base.to_owned(),
    }
}

fn plan_file(tree: &dyn Tree, facts: &Facts<'_>, rendered: &Rendered) -> Result<FileChange> {
    let path = tree::resolve(tree, &rendered.path)?;
    let new = rendered.text.as_bytes().to_vec();
    let (old, verdict, why) = match tree.entry(&path)? {
        Some(Entry::File(old)) => {
            let (verdict, why) = judge(facts, rendered, &old);
            (Some(old), verdict, why)
        }
        Some(_) => (None, Verdict::Conflict, "a folder has this name".to_owned()),
        None if facts.lock.files.contains_key(&rendered.path)
            && facts.on_conflict != OnConflict::Replace =>
        {
            (
                None,
                Verdict::Skip,
                "taken away here since it was written; `--on-conflict replace` brings it back"
                    .to_owned(),
            )
        }
        None => (None, Verdict::Create, rendered.what.clone()),
    };
    Ok(FileChange {
        path,
        verdict,
        why,
        old,
        new: Some(new),
    })
}

/// The text with line ends as in the repository: a checkout with `core.autocrlf` or `eol=crlf` has others.
pub fn unix_lines(bytes: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if *byte != b'\r' || bytes.get(index + 1) != Some(&b'\n') {
            lines.push(*byte);
        }
    }
    lines
}

/// Compares a file with what is wanted and with what was rendered last.
fn judge(facts: &Facts<'_>, rendered: &Rendered, old: &[u8]) -> (Verdict, String) {
    let old = unix_lines(old);
    if old == rendered.text.as_bytes() {
        return (Verdict::Same, rendered.what.clone());
    }
    let Some(locked) = facts.lock.files.get(&rendered.path) else {
        return settle(
            facts,
            "there is such a file already, and haptic-scaffold has not written it",
        );
    };
    if rendered.owner == Owner::User {
        return judge_own(facts, rendered, &old);
    }
    let base = with_pins_of(&locked.text, &rendered.pins, &rendered.text);
    if old == base.as_bytes() {
        (Verdict::Update, rendered.what.clone())
    } else if base == rendered.text {
        (
            Verdict::Skip,
            "edited here, and nothing new for it".to_owned(),
        )
    } else {
        settle(facts, "edited here, and the layout has another text for it")
    }
}

/// A file that is the team's: touched only while it is still the text that earlier answers gave, and only where the answers changed.
fn judge_own(facts: &Facts<'_>, rendered: &Rendered, old: &[u8]) -> (Verdict, String) {
    match facts.starters.get(&rendered.path) {
        Some(starter) if starter.as_bytes() == old => (Verdict::Update, rendered.what.clone()),
        Some(_) => settle(
            facts,
            "yours and edited, and the changed answers ask for another text",
        ),
        None => (Verdict::Skip, "yours: written once".to_owned()),
    }
}

fn settle(facts: &Facts<'_>, why: &str) -> (Verdict, String) {
    match facts.on_conflict {
        OnConflict::Stop => (Verdict::Conflict, why.to_owned()),
        OnConflict::Keep => (Verdict::Skip, format!("{why}; kept")),
        OnConflict::Replace => (Verdict::Update, format!("{why}; replaced")),
    }
}

/// A file of an earlier run that the layout no longer writes.
fn plan_leftover(
    tree: &dyn Tree,
    facts: &Facts<'_>,
    path: &RepoPath,
    locked: &LockedFile,
) -> Result<Option<FileChange>> {
    let at = tree::resolve(tree, path)?;
    let Some(Entry::File(old)) = tree.entry(&at)? else {
        return Ok(None);
    };
    let untouched = unix_lines(&old) == locked.text.as_bytes();
    let (verdict, why) = match locked.owner {
        Owner::User if !untouched => (
            Verdict::Skip,
            "yours; the layout no longer has it".to_owned(),
        ),
        _ if untouched => (Verdict::Delete, "the layout no longer has it".to_owned()),
        Owner::Scaffold | Owner::User => {
            settle(facts, "edited here, and the layout no longer has it")
        }
    };
    let verdict = if verdict == Verdict::Update {
        Verdict::Delete
    } else {
        verdict
    };
    Ok(Some(FileChange {
        path: at,
        verdict,
        why,
        old: Some(old),
        new: None,
    }))
}
