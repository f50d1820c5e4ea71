//! [`Change`]: what a command wants to do to a repository, as a plain value.
//!
//! One change is one commit on one branch and, where asked for, one merge request. It carries what it expects to find, so that
//! applying it to anything else is refused, and applying it twice is the same as once.

use serde::Serialize;

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

/// One file of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Where it is: where the links on the way lead.
    pub path: RepoPath,
    /// What happens to it.
    pub verdict: Verdict,
    /// Why, for people.
    pub why: String,
    /// What has to be there for the change to fit; nothing means no file.
    #[serde(skip)]
    pub old: Option<Vec<u8>>,
    /// What is wanted there; nothing means no file.
    #[serde(skip)]
    pub new: Option<Vec<u8>>,
}

/// What a command wants to do to a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is about: verb and subject, never a version, a person or a time.
    pub key: String,
    /// The text of its commit.
    #[serde(skip)]
    pub message: Message,
    /// Its files, by path.
    pub files: Vec<FileChange>,
}

impl Change {
    /// The files whose text becomes another one.
    pub fn writes(&self) -> impl Iterator<Item = &FileChange> {
        self.files.iter().filter(|file| file.verdict.writes())
    }

    /// The files that a commit of this change holds: those that it writes, and those that have the wanted text already, which may not be committed yet.
    pub fn committed(&self) -> impl Iterator<Item = &FileChange> {
        self.files
            .iter()
            .filter(|file| file.verdict.writes() || file.verdict == Verdict::Same)
    }

    /// The files that a person has to decide about.
    pub fn conflicts(&self) -> impl Iterator<Item = &FileChange> {
        self.files
            .iter()
            .filter(|file| file.verdict == Verdict::Conflict)
    }
}
