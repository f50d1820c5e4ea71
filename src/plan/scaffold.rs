//! The planner of `init`: rendered files against what the repository has, one verdict for each.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::change::{Change, Commit, FileChange, Verdict};
use super::lock::{Lock, LockedFile};
use super::purpose::{Purpose, key, message};
use super::{answers_file, lock, pin, sealed};
use crate::layout::definition::{Owner, PinRoute};
use crate::layout::recorded::FILE_NAME as ANSWERS_FILE;
use crate::layout::render::{Rendered, SEALED};
use crate::model::repo_path::RepoPath;
use crate::model::text::unix_lines;
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

/// What the answers of the last run said, as far as planning needs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Before {
    /// What they give now for files that are the team's, by path; only where that differs from what is rendered now.
    pub starters: BTreeMap<RepoPath, String>,
    /// Where pins stand in the files that they give.
    pub pins: BTreeMap<RepoPath, Vec<PinRoute>>,
    /// A values file whose text the new form of the values has taken over.
    pub carried: Option<RepoPath>,
}

/// The facts that the planner works on.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What was rendered.
    pub files: &'a [Rendered],
    /// The lock to be written: the layout's name and digest and the answers, no files.
    pub layout: &'a Lock,
    /// The release's name.
    pub release: &'a str,
    /// The chart's address, for the message.
    pub chart: &'a str,
    /// The versions that the pins get, each once.
    pub versions: &'a [String],
    /// `""`, or the folder that everything goes below with a `/`.
    pub prefix: &'a str,
    /// The branch that the commit goes to.
    pub branch: &'a str,
    /// Whether the last commit has nothing of this yet.
    pub is_first: bool,
    /// Whether what an earlier run wrote isn't committed.
    pub is_pending: bool,
    /// The answers to record.
    pub answers: &'a Map<String, Value>,
    /// What it is about.
    pub purpose: &'a Purpose,
    /// New texts of sealed files, by the path that was rendered.
    pub sealed: &'a BTreeMap<RepoPath, String>,
    /// What was rendered last.
    pub lock: &'a Lock,
    /// What the answers of the last run said.
    pub before: &'a Before,
    /// What to do with conflicts.
    pub on_conflict: OnConflict,
}

/// Plans the files of a scaffolded repository.
///
/// # Errors
/// When the repository can't be read, or a path in it leads out of it.
pub fn plan(tree: &dyn Tree, facts: &Facts<'_>) -> Result<Change> {
    let mut files = Vec::new();
    let mut next = facts.layout.clone();
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
        .filter(|(path, _)| facts.files.iter().all(|f| f.path != **path))
    {
        let Some(file) = plan_leftover(tree, facts, path, locked)? else {
            continue;
        };
        if file.verdict == Verdict::Skip {
            let mut kept = locked.clone();
            kept.kept = Some(LEFT.to_owned());
            next.files.insert(path.clone(), kept);
        }
        files.push(file);
    }
    let answers_path = RepoPath::parse(&format!("{}{ANSWERS_FILE}", facts.prefix))?;
    let old = tree::read_text(tree, &answers_path)?.map(|text| text.replace("\r\n", "\n"));
    let text = answers_file::write(old.as_deref(), facts.answers)?;
    files.push(own_file(
        tree,
        &answers_path,
        text,
        "the answers",
        facts.is_pending,
    )?);
    files.push(plan_lock(tree, facts, next, &files)?);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let message = message(facts, &files);
    Ok(Change {
        key: key(facts),
        branch: facts.branch.to_owned(),
        base: facts.branch.to_owned(),
        title: message.subject.clone(),
        body: message.body.clone(),
        labels: Vec::new(),
        message,
        files,
    })
}

/// A file of the tool's own, which is written as it has to be.
fn own_file(
    tree: &dyn Tree,
    path: &RepoPath,
    text: String,
    what: &str,
    is_pending: bool,
) -> Result<FileChange> {
    let path = tree::resolve(tree, path)?;
    let old = match tree.entry(&path)? {
        Some(Entry::File(old)) => Some(old),
        _ => None,
    };
    let verdict = match &old {
        None => Verdict::Create,
        Some(old) if unix_lines(old) == text.as_bytes() => Verdict::Same,
        Some(_) => Verdict::Update,
    };
    Ok(FileChange {
        path,
        verdict,
        why: what.to_owned(),
        commit: if is_pending {
            Commit::Yes
        } else {
            Commit::Never
        },
        old,
        new: Some(text.into_bytes()),
    })
}

/// The lock changes only with a rendered text or an answer, so that a newer tool alone changes nothing.
fn plan_lock(
    tree: &dyn Tree,
    facts: &Facts<'_>,
    mut next: Lock,
    files: &[FileChange],
) -> Result<FileChange> {
    let path = RepoPath::parse(&format!("{}{}", facts.prefix, lock::FILE_NAME))?;
    next.keep_packed(facts.lock);
    keep_bases(&mut next, facts, files);
    let unchanged = next.files == facts.lock.files
        && next.answers == facts.lock.answers
        && tree.entry(&tree::resolve(tree, &path)?)?.is_some();
    let text = if unchanged {
        facts.lock.to_text()
    } else {
        next.to_text()
    };
    own_file(
        tree,
        &path,
        text,
        "what was rendered, for later merges",
        facts.is_pending,
    )
}

/// What a file was rendered to becomes its base. Four kinds keep the base that they had: files of the team, files that were taken away,
/// those where only a pin moved, which is no new rendering, and those that a person kept as they are, with what was refused.
fn keep_bases(next: &mut Lock, facts: &Facts<'_>, files: &[FileChange]) {
    for (rendered, file) in facts.files.iter().zip(files) {
        let known = facts.lock.files.get(&rendered.path);
        if file.verdict == Verdict::Skip && file.is_kept() {
            let mut kept = known
                .cloned()
                .unwrap_or_else(|| LockedFile::new(rendered.owner, ""));
            kept.kept = Some(refusal(&rendered.text));
            next.files.insert(rendered.path.clone(), kept);
            continue;
        }
        let Some(known) = known.filter(|known| known.kept.is_none()) else {
            continue;
        };
        let is_left_alone =
            file.verdict == Verdict::Skip && (rendered.owner == Owner::User || file.old.is_none());
        let is_same_but_for_pins =
            pin::with_pin_of(&known.text, &rendered.text, &rendered.pins) == rendered.text;
        if is_left_alone || (!file.verdict.writes() && is_same_but_for_pins) {
            next.files.insert(rendered.path.clone(), known.clone());
        }
    }
}

/// What stands for a text that was refused.
fn refusal(text: &str) -> String {
    format!("sha256:{:x}", Sha256::digest(text))
}

fn plan_file(tree: &dyn Tree, facts: &Facts<'_>, rendered: &Rendered) -> Result<FileChange> {
    if rendered.secret.is_some() {
        return sealed::plan(tree, facts, rendered);
    }
    let path = tree::resolve(tree, &rendered.path)?;
    let known = facts.lock.files.get(&rendered.path);
    let mut new = rendered.text.clone();
    let (old, verdict, why) = match tree.entry(&path)? {
        Some(Entry::File(old)) => {
            let here = String::from_utf8_lossy(&unix_lines(&old)).into_owned();
            // A pin stays as people wrote it, quotes and all.
            new = pin::written_as_in(&new, &here, &rendered.pins);
            let (verdict, why) = match followed(facts, rendered, &here) {
                Some(text) if text == here => (
                    Verdict::Skip,
                    "yours, and as the answers say already".to_owned(),
                ),
                Some(text) => {
                    new = text;
                    (Verdict::Update, FOLLOWED.to_owned())
                }
                None => judge(facts, rendered, &here, &new),
            };
            (Some(old), verdict, why)
        }
        Some(_) => (None, Verdict::Conflict, "a folder has this name".to_owned()),
        None if known.is_some() && facts.on_conflict != OnConflict::Replace => {
            let why =
                "taken away here since it was written; `--on-conflict replace` brings it back";
            (None, Verdict::Skip, why.to_owned())
        }
        None => (None, Verdict::Create, rendered.what.clone()),
    };
    let is_foreign = verdict == Verdict::Skip && known.is_none_or(|known| known.text.is_empty());
    // Where the lock is committed, everything beside it was, and what the last commit lacks was taken out on purpose.
    let commit = match verdict {
        _ if is_foreign || !facts.is_pending => Commit::Never,
        Verdict::Same => Commit::Yes,
        _ => Commit::IfMissing,
    };
    Ok(FileChange {
        path,
        verdict,
        why,
        commit,
        old,
        new: Some(new.into_bytes()),
    })
}

/// A file of the team's in which only those scalars have to change that follow the answers, and in which they are as earlier answers gave them.
fn followed(facts: &Facts<'_>, rendered: &Rendered, here: &str) -> Option<String> {
    let starter = facts.before.starters.get(&rendered.path)?;
    if rendered.owner != Owner::User || starter == here {
        return None;
    }
    pin::followed(here, starter, &rendered.text, &rendered.follows)
}

/// The reason of a file of the team's that is changed in what follows the answers alone.
pub const FOLLOWED: &str = "yours, and only what follows the answers is changed";

/// Compares a file with what is wanted and with what was rendered last.
fn judge(facts: &Facts<'_>, rendered: &Rendered, here: &str, new: &str) -> (Verdict, String) {
    if here == new {
        return (Verdict::Same, rendered.what.clone());
    }
    let Some(locked) = facts.lock.files.get(&rendered.path) else {
        return settle(
            facts,
            "there is such a file already, and haptic-scaffold has not written it",
        );
    };
    if locked.kept.as_ref() == Some(&refusal(&rendered.text)) {
        let kept = (
            Verdict::Skip,
            format!("{KEPT}: it differs from what the answers give"),
        );
        return if facts.on_conflict == OnConflict::Replace {
            settle(facts, "kept before")
        } else {
            kept
        };
    }
    if locked.text.is_empty() {
        return settle(
            facts,
            "there is such a file already, and haptic-scaffold has not written it",
        );
    }
    if rendered.owner == Owner::User {
        return judge_own(facts, rendered, locked, here);
    }
    let base = pin::with_pin_of(&locked.text, here, &rendered.pins);
    if here == base {
        (Verdict::Update, rendered.what.clone())
    } else if pin::find(new, &rendered.pins).is_some() && pin::find(here, &rendered.pins).is_none()
    {
        settle(facts, "its version pin is gone")
    } else if base == new {
        (
            Verdict::Skip,
            "edited here, and nothing new for it".to_owned(),
        )
    } else {
        settle(facts, "edited here, and the answers give another text")
    }
}

/// A file that is the team's: touched only while it is still the text that earlier answers gave, and only where the answers changed.
fn judge_own(
    facts: &Facts<'_>,
    rendered: &Rendered,
    locked: &LockedFile,
    here: &str,
) -> (Verdict, String) {
    match facts.before.starters.get(&rendered.path) {
        _ if locked.text == rendered.text => (Verdict::Skip, "yours: written once".to_owned()),
        Some(starter) if starter == here => (Verdict::Update, rendered.what.clone()),
        Some(_) => settle(
            facts,
            "yours and edited, and the changed answers ask for another text",
        ),
        None => (Verdict::Skip, "yours: written once".to_owned()),
    }
}

/// How the reason of a file starts that a person kept as it is.
const KEPT: &str = "kept";

impl FileChange {
    /// Whether a person kept it, although the answers give another text.
    pub fn is_kept(&self) -> bool {
        self.verdict == Verdict::Skip && self.why.starts_with(KEPT)
    }
}

fn settle(facts: &Facts<'_>, why: &str) -> (Verdict, String) {
    match facts.on_conflict {
        OnConflict::Stop => (Verdict::Conflict, why.to_owned()),
        OnConflict::Keep => (Verdict::Skip, format!("{KEPT}: {why}")),
        OnConflict::Replace => (Verdict::Update, format!("{why}; replaced")),
    }
}

/// A file of an earlier run that the answers no longer ask for.
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
    let here = String::from_utf8_lossy(&unix_lines(&old)).into_owned();
    let pins = facts
        .before
        .pins
        .get(path)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let is_untouched = locked.text == SEALED || here == pin::with_pin_of(&locked.text, &here, pins);
    let is_carried = facts.before.carried.as_ref() == Some(path);
    let (verdict, why) = if at != *path {
        (
            Verdict::Skip,
            format!(
                "{KEPT}: a link leads to it from `{path}`, and the answers no longer ask for that"
            ),
        )
    } else if locked.kept.as_deref() == Some(LEFT) {
        (
            Verdict::Skip,
            format!("{KEPT}: the answers no longer ask for it"),
        )
    } else if is_untouched || is_carried {
        (
            Verdict::Delete,
            "the answers no longer ask for it".to_owned(),
        )
    } else {
        match settle(facts, "edited here, and the answers no longer ask for it") {
            (Verdict::Update, why) => (Verdict::Delete, why),
            settled => settled,
        }
    };
    Ok(Some(FileChange {
        path: at,
        verdict,
        why,
        commit: Commit::Never,
        old: Some(old),
        new: None,
    }))
}

/// Stands in the lock for a file that no answer asks for and that a person kept.
const LEFT: &str = "left";
