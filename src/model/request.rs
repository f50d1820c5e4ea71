//! Merge requests as nouns: one that a forge has, one to be opened, and what of one becomes another.

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It waits for people.
    Open,
    /// Somebody said no.
    Closed,
    /// It is in its base.
    Merged,
}

/// A merge request, as the forge has it. Requests from forks are never among those that a forge gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its number in the project.
    pub number: u64,
    /// Its page; for `local` the path of its file.
    pub url: String,
    /// The branch that it brings, without `refs/heads/`.
    pub branch: String,
    /// The branch that it goes to.
    pub base: String,
    /// The commit that it brings, where the forge says it.
    pub head: Option<String>,
    /// Its title, without what marks a draft.
    pub title: String,
    /// Its text, with LF as line end.
    pub body: String,
    /// Names of its labels.
    pub labels: Vec<String>,
    /// What became of it.
    pub state: State,
    /// Whether it is a draft.
    pub is_draft: bool,
}

/// A merge request to be opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewRequest {
    /// The branch that it brings.
    pub branch: String,
    /// The branch that it goes to.
    pub base: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// Its text for as long as it lacks what a forge takes only after the opening (labels, people): one that was left so is known by it.
    pub first_body: Option<String>,
    /// Names of its labels; made where the forge lacks them and lets us.
    pub labels: Vec<String>,
    /// Login names of those who shall see to it.
    pub assignees: Vec<String>,
    /// Login names of those who shall look at it.
    pub reviewers: Vec<String>,
    /// Title of its milestone.
    pub milestone: Option<String>,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Whether its commits become one; nothing leaves it to the project.
    pub squash: Option<bool>,
    /// Whether its branch goes when it is merged.
    pub remove_branch: bool,
}

/// What of a request becomes another. Nothing leaves it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edit {
    /// Its title.
    pub title: Option<String>,
    /// Its text.
    pub body: Option<String>,
    /// All its labels.
    pub labels: Option<Vec<String>>,
    /// The branch that it goes to.
    pub base: Option<String>,
}
