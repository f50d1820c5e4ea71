//! [`Change`]: what a command wants to do to a repository, as a plain value.
//!
//! One change is one commit on one branch and, where asked for, one merge request. It carries what it expects to find, so that
//! applying it to anything else is refused, and applying it twice is the same as once.

use serde::Serialize;
use serde_json::{Value, json};

use super::message::Message;
use crate::model::repo_path::RepoPath;

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It is new.
    Create,
    /// It gets another text.
    Update,
    /// It goes.
    Delete,
    /// It has the wanted text already.
    Same,
    /// It is left as it is, on purpose.
    Skip,
    /// It has a text of somebody else's, and a person has to decide.
    Conflict,
}

impl Verdict {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Same => "same",
            Self::Skip => "skip",
            Self::Conflict => "conflict",
        }
    }

    /// Whether the file's text becomes another one.
    pub fn writes(self) -> bool {
        matches!(self, Self::Create | Self::Update | Self::Delete)
    }
}

/// Whether a commit holds a file that the change doesn't write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// It is somebody else's.
    Never,
    /// It is ours, and the last commit lacks it.
    IfMissing,
    /// It is ours, and an earlier run left it uncommitted.
    Yes,
}

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Where it is: where the links on the way lead.
    pub path: RepoPath,
    /// What happens to it.
    pub verdict: Verdict,
    /// Why, for people.
    pub why: String,
    /// Whether a commit holds it although it isn't written.
    #[serde(skip)]
    pub commit: Commit,
    /// What has to be there for the change to fit; nothing means no file.
    #[serde(skip)]
    pub old: Option<Vec<u8>>,
    /// What is wanted there; nothing means no file.
    #[serde(skip)]
    pub new: Option<Vec<u8>>,
}

/// What a command wants to do to a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it is about: verb and subject, never a version, a person or a time.
    pub key: String,
    /// The branch that its commit goes to.
    pub branch: String,
    /// The branch that it is made for: the same, or the one that a merge request goes to.
    pub base: String,
    /// Title of a merge request.
    pub title: String,
    /// Text of a merge request.
    pub body: String,
    /// Labels of a merge request.
    pub labels: Vec<String>,
    /// The text of its commit.
    pub message: Message,
    /// Its files, by path.
    pub files: Vec<FileChange>,
}

impl Change {
    /// The files whose text becomes another one.
    pub fn writes(&self) -> impl Iterator<Item = &FileChange> {
        self.files.iter().filter(|file| file.verdict.writes())
    }

    /// The files that a commit of this change may hold: those that it writes, and those of ours that may not be committed yet.
    pub fn committed(&self) -> impl Iterator<Item = &FileChange> {
        let is_ours =
            |file: &FileChange| file.verdict != Verdict::Conflict && file.commit != Commit::Never;
        self.files
            .iter()
            .filter(move |file| file.verdict.writes() || is_ours(file))
    }

    /// The files that a person has to decide about.
    pub fn conflicts(&self) -> impl Iterator<Item = &FileChange> {
        self.files
            .iter()
            .filter(|file| file.verdict == Verdict::Conflict)
    }

    /// Adds labels that it lacks.
    pub fn label(&mut self, labels: &[String]) {
        let new = labels.iter().filter(|label| !self.labels.contains(label));
        let new: Vec<String> = new.cloned().collect();
        self.labels.extend(new);
    }

    /// The form that scripts rely on, with the commit that it became.
    pub fn to_json(&self, commit: Option<&str>) -> Value {
        json!({
            "key": self.key,
            "branch": self.branch,
            "base": self.base,
            "commit": commit,
            "title": self.title,
            "body": self.body,
            "labels": self.labels,
            "files": self.files,
            "request": null,
        })
    }
}
