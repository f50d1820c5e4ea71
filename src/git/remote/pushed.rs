//! [`Pushed`]: what became of each reference, and what the server says.

use git2::Oid;

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
        }
    }
}

impl Pushed {
    /// Whether every reference is where it shall be.
    ///
    /// # Errors
    /// A [`Problem`] that names the references that aren't, with the server's own words and a next step.
    pub fn check(&self) -> Result<(), Problem> {
        let faults: Vec<String> = self.refs.iter().filter_map(RefStatus::fault).collect();
        if faults.is_empty() {
            return Ok(());
        }
        let is_refused = |it: &RefStatus| matches!(it.outcome, Outcome::Refused(_));
        let mut message = format!("cannot push to `{}`: {}", self.address, faults.join("; "));
        if self.refs.iter().any(is_refused) {
            for words in &self.words {
                message.push_str("\n  remote: ");
                message.push_str(words);
            }
        }
        let problem = Problem::new(ExitStatus::Remote, message);
        Err(self.hints().into_iter().fold(problem, Problem::hint))
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
