//! Forges, the effect: where merge requests live.
//!
//! Each forge is one file behind the one narrow trait [`Forge`]; what a forge can't do is a value that says so. Which request is ours and what should become of
//! it is decided elsewhere: nothing in here knows keys, markers or versions, and nothing asks who the token's user is.

mod common;
pub mod detect;
pub mod error;
mod gitea;
mod github;
mod gitlab;
mod http;
pub mod local;
pub mod push_options;
mod record;
pub mod token;
mod unanswered;
mod waits;
mod words;

use std::path::Path;

use self::detect::Place;
use self::error::ForgeError;
use self::gitea::Gitea;
use self::github::Github;
use self::gitlab::Gitlab;
use self::http::Http;
pub use self::http::Trace;
use self::local::Local;
use self::token::Token;
pub use crate::model::request::{Edit, NewRequest, Request, State};

/// Gets ready to ask a forge; nothing is sent yet. Proxies and certificates are those of the environment.
///
/// # Errors
/// When the forge's address can't be used, or the token would go over a network in clear.
pub fn connect(
    place: &Place,
    token: Option<&Token>,
    requests: &Path,
    trace: Trace,
) -> Result<Box<dyn Forge>, ForgeError> {
    let http = || Http::new(place, token.cloned(), trace);
    Ok(match place.kind {
        Kind::Gitlab => Box::new(Gitlab::new(http()?, &place.project)),
        Kind::Local => Box::new(Local::new(requests)),
        Kind::Github => Box::new(Github::new(http()?, &place.project)?),
        Kind::Gitea => Box::new(Gitea::new(http()?, &place.project)),
    })
}

/// Which forge it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// GitLab, by its API or by push options.
    Gitlab,
    /// GitHub, also as Enterprise Server.
    Github,
    /// Gitea and Forgejo.
    Gitea,
    /// None: request files in the repository's git folder.
    Local,
}

/// An opened request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The request.
    pub request: Request,
    /// What of it the forge couldn't do, each with the reason: a reviewer that isn't known, a label that can't be made.
    pub unable: Vec<String>,
}

impl Kind {
    /// The word in output and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gitlab => "gitlab",
            Self::Github => "github",
            Self::Gitea => "gitea",
            Self::Local => "local",
        }
    }
}

/// Requests in the order of their last change, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recent {
    /// As many as one call gives.
    pub requests: Vec<Request>,
    /// Whether there are no others.
    pub is_all: bool,
}

/// Whether a forge did what not every forge, project or state of a request lets one do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Able {
    /// It did.
    Done,
    /// It can't, and why.
    Unable(String),
}

/// A place for merge requests.
pub trait Forge {
    /// Which forge it is.
    fn kind(&self) -> Kind;

    /// The requests that were last changed, in every state: one call.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn recent(&self) -> Result<Recent, ForgeError>;

    /// All open requests.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn open(&self) -> Result<Vec<Request>, ForgeError>;

    /// The requests of a branch in every state, newest first.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn of_branch(&self, branch: &str) -> Result<Vec<Request>, ForgeError>;

    /// The requests that were last changed, in every state and more than one call gives, where the forge can't be asked for those of a branch: one bounded list
    /// serves all branches then. Nothing where it can.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn history(&self) -> Result<Option<Recent>, ForgeError> {
        Ok(None)
    }

    /// Opens a request. A second one for the same branch is an error whose [`ForgeError::may_be_done`] holds, as is an answer that was lost.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn create(&self, new: &NewRequest) -> Result<Created, ForgeError>;

    /// Gives a request that was opened what the forge takes only then, and at last its text. Gives what of it the forge couldn't do.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn finish(&self, number: u64, new: &NewRequest) -> Result<Vec<String>, ForgeError> {
        let edit = Edit {
            body: Some(new.body.clone()),
            labels: Some(new.labels.clone()),
            ..Edit::default()
        };
        self.edit(number, &edit).map(|_| Vec::new())
    }

    /// Changes a request.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn edit(&self, number: u64, edit: &Edit) -> Result<Request, ForgeError>;

    /// Says something below a request.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn comment(&self, number: u64, text: &str) -> Result<(), ForgeError>;

    /// Closes a request.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn close(&self, number: u64) -> Result<(), ForgeError>;

    /// Has a request merged as soon as all that it waits for is there, if it still brings this commit.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses for another reason than that it can't.
    fn merge_when_ready(&self, number: u64, head: &str) -> Result<Able, ForgeError>;

    /// The text of the open issue with a title, or nothing.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn issue(&self, title: &str) -> Result<Option<Issue>, ForgeError>;

    /// Opens an issue, or changes its text.
    ///
    /// # Errors
    /// When the forge can't be asked or refuses.
    fn put_issue(&self, known: Option<u64>, title: &str, body: &str) -> Result<Able, ForgeError>;
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Its number.
    pub number: u64,
    /// Its text.
    pub body: String,
}

#[cfg(test)]
mod tests_answers;
