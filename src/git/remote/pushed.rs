//! [`Pushed`]: what became of each reference, and what the server says.

use git2::Oid;

use super::RefUpdate;
use super::error::RemoteError;
use crate::error::{ExitStatus, Problem};

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    /// Each reference, in the order in which they were given.
    pub refs: Vec<RefStatus>,
    /// What the server says to people, line by line: why it refuses, or where to open a merge request.
    pub words: Vec<String>,
    /// The remote, without user and password.
    pub address: String,
    /// What became of it at the remote's further addresses for pushing.
    pub others: Vec<Self>,
}

/// What became of one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefStatus {
    /// Its full name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It moved.
    Done,
    /// It was there already; nothing was sent.
    Unchanged,
    /// It isn't where the lease says, but there (nothing: it doesn't exist); it wasn't touched.
    LeaseLost(Option<Oid>),
    /// The server refused it, for this reason.
    Refused(String),
    /// It was sent, and the answer was lost for this reason; it hasn't moved yet, or nobody knows whether by this push.
    Unknown(String),
    /// Nothing was sent to this address, for this reason. Only where a remote has several: with one, the push fails.
    Unsent(String),
}

impl RefStatus {
    /// The name as people know it.
    fn short(&self) -> &str {
        let name = &self.name;
        name.strip_prefix("refs/heads/").unwrap_or(name)
    }

    fn fault(&self) -> Option<String> {
        let name = self.short();
        match &self.outcome {
            Outcome::Done | Outcome::Unchanged => None,
            Outcome::LeaseLost(Some(id)) => Some(format!(
                "`{name}` was moved by somebody else (it is at {id:.10} now) and wasn't touched"
            )),
            Outcome::LeaseLost(None) => Some(format!(
                "`{name}` was deleted by somebody else and wasn't made again"
            )),
            Outcome::Refused(why) => Some(format!("`{name}` is refused: {why}")),
            Outcome::Unknown(why) => Some(format!(
                "whether `{name}` moves isn't known, since the answer was lost: {why}"
            )),
            Outcome::Unsent(why) => Some(format!("`{name}` wasn't sent: {why}")),
        }
    }
}

impl Pushed {
    /// Whether every reference is where it shall be.
    ///
    /// # Errors
    /// A [`Problem`] that names the references that aren't, with the server's own words and a next step.
    pub fn check(&self) -> Result<(), Problem> {
        let each = || std::iter::once(self).chain(&self.others);
        let messages: Vec<String> = each().filter_map(Self::message).collect();
        if messages.is_empty() {
            return Ok(());
        }
        let mut hints: Vec<&str> = Vec::new();
        for hint in each().flat_map(Self::hints) {
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        let mut problem = Problem::new(ExitStatus::Remote, messages.join("\n"));
        for hint in hints {
            problem = problem.hint(hint);
        }
        Err(problem)
    }

    /// What became of a push that wasn't sent.
    pub(super) fn failed(updates: &[RefUpdate], why: &RemoteError) -> Self {
        let refs = updates.iter().map(|update| RefStatus {
            name: update.name.clone(),
            outcome: Outcome::Unsent(why.why.to_string()),
        });
        Self {
            refs: refs.collect(),
            words: Vec::new(),
            address: why.address.clone(),
            others: Vec::new(),
        }
    }

    /// What failed at this address.
    fn message(&self) -> Option<String> {
        let faults: Vec<String> = self.refs.iter().filter_map(RefStatus::fault).collect();
        if faults.is_empty() {
            return None;
        }
        let mut message = format!("cannot push to `{}`: {}", self.address, faults.join("; "));
        let is_refused = |it: &RefStatus| matches!(it.outcome, Outcome::Refused(_));
        if self.refs.iter().any(is_refused) {
            for words in &self.words {
                message.push_str("\n  remote: ");
                message.push_str(words);
            }
        }
        Some(message)
    }

    /// Next steps. Texts of servers choose the advice alone, never what is done.
    fn hints(&self) -> Vec<&'static str> {
        let mut hints = Vec::new();
        for it in &self.refs {
            let hint = match &it.outcome {
                Outcome::Done | Outcome::Unchanged => continue,
                Outcome::LeaseLost(_) => {
                    "look at the branch; merge or delete what is there, then run it again"
                }
                Outcome::Refused(why) => advice(why, &self.words),
                Outcome::Unknown(_) => {
                    "run it again in a moment: what is done already isn't done twice"
                }
                Outcome::Unsent(_) => {
                    "`git push` to this address has to work without a question, or take it from the remote (`pushurl`)"
                }
            };
            if !hints.contains(&hint) {
                hints.push(hint);
            }
        }
        hints
    }
}

/// Sources of the texts: GitLab's `GitAccess` and push rules, GitHub's rule sets, Gitea's pre-receive hook, git's `receive-pack`.
fn advice(why: &str, words: &[String]) -> &'static str {
    let said = format!("{why}\n{}", words.join("\n")).to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if has(&["protected branch", "protected ref", "protected from"]) {
        "the branch is protected: let this token's user push there, or push another branch and open a merge request"
    } else if has(&["signature", "signed", "unverified", "gpg"]) {
        "the server wants signed commits: set `commit.gpgsign` and `user.signingkey`, with a key that the forge knows"
    } else if has(&["permission", "not allowed", "denied", "forbidden"]) {
        "the token's user needs the right to push here"
    } else if has(&["currently checked out"]) {
        "the branch is checked out there: push to a bare repository, or another branch"
    } else if has(&[
        "lock ref",
        "failed to update ref",
        "non-fast-forward",
        "fetch first",
    ]) {
        "somebody pushed at the same time, or the server lets nobody rewrite a branch: run it again"
    } else {
        "the server's words say what it wants; the commit has to fulfil it, or the rule has to let this user pass"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(why: &str, words: &[&str]) -> Problem {
        let pushed = Pushed {
            refs: vec![
                RefStatus {
                    name: "refs/heads/a".to_owned(),
                    outcome: Outcome::Done,
                },
                RefStatus {
                    name: "refs/heads/b".to_owned(),
                    outcome: Outcome::Refused(why.to_owned()),
                },
            ],
            words: words.iter().map(|line| (*line).to_owned()).collect(),
            address: "https://h.example.org/a.git".to_owned(),
            others: Vec::new(),
        };
        pushed.check().unwrap_err()
    }

    #[test]
    fn each_refusal_has_its_words_and_a_next_step() {
        let cases = [
            (
                "GitLab: You are not allowed to push code to protected branches on this project.",
                "the branch is protected",
            ),
            (
                "error: Not allowed to push to protected branch main",
                "the branch is protected",
            ),
            (
                "GL-HOOK-ERR: Commit must be signed with a GPG key",
                "signed commits",
            ),
            (
                "error: User permission denied for writing.",
                "right to push",
            ),
            ("GL-HOOK-ERR: needs ticket", "what it wants"),
        ];
        for (said, hint) in cases {
            let problem = refused("pre-receive hook declined", &[said]);
            let message = &problem.message;
            assert!(message.contains(&format!("remote: {said}")), "{message}");
            assert!(
                message.contains("`b` is refused: pre-receive hook declined"),
                "{message}"
            );
            assert!(!message.contains("`a`"), "{message}");
            assert!(
                problem.hints[0].contains(hint),
                "{said}: {:?}",
                problem.hints
            );
            assert_eq!(problem.status, ExitStatus::Remote);
        }
    }
}
