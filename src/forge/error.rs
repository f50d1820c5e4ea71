//! What goes wrong with a forge, in words that say what was asked of whom, why it failed, and what to do now.

use thiserror::Error;

use crate::error::{ExitStatus, Problem};

/// A forge couldn't be asked, or refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot {aim} at `{address}`: {why}")]
pub struct ForgeError {
    /// What was wanted, as in `open a merge request`.
    pub aim: String,
    /// Whom it was asked, without any login.
    pub address: String,
    /// The forge's words, or what broke.
    pub why: String,
    /// The status of the answer, where there was one.
    pub status: Option<u16>,
    /// Whether it may be done all the same: the answer was lost, or says that it is there already. Look before asking again.
    pub may_be_done: bool,
    /// What to do now.
    pub hint: Option<String>,
}

impl ForgeError {
    /// The error as the edge shows it, with its exit code and next step.
    pub fn problem(&self) -> Problem {
        let problem = Problem::new(ExitStatus::Remote, self.to_string());
        match &self.hint {
            Some(hint) => problem.hint(hint.clone()),
            None => problem,
        }
    }
}
