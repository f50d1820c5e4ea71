//! The push of a run: what the remote lacks, each branch under its lease.

use anyhow::Result;
use git2::Repository;

use super::told::{Told, Verdict};
use super::{Delivery, Opening, Work};
use crate::error::{ExitStatus, Problem};
use crate::forge::Kind;
use crate::forge::push_options::{push_options, push_options_again};
use crate::git::remote::RefUpdate;
use crate::git::remote::pushed::{Outcome, Pushed};
use crate::git::target::move_tracking;
use crate::plan::change::Change;
use crate::ui::Ui;

impl Delivery<'_> {
    /// Pushes what the remote lacks, each branch under its lease.
    pub(super) fn push(
        &mut self,
        repository: &Repository,
        works: &mut [Work<'_>],
        ui: &mut Ui,
    ) -> Result<Option<Problem>> {
        let mut waiting: Vec<&mut Work<'_>> = Vec::new();
        for work in works {
            let tip = self.reached.tip(&work.change.branch);
            if work.told.is_none() && work.commit().is_some() && work.commit() != tip {
                waiting.push(work);
            }
        }
        if waiting.is_empty() {
            return Ok(None);
        }
        // Options are of a whole push, and each request has its own.
        let batches: Vec<Vec<&mut Work<'_>>> = match self.opening {
            Opening::PushOptions => waiting.into_iter().map(|work| vec![work]).collect(),
            Opening::No | Opening::Forge(_) => vec![waiting],
        };
        let mut problem = None;
        for mut batch in batches {
            let updates: Vec<RefUpdate> = batch.iter().map(|work| self.update(work)).collect();
            match self.send(repository, &updates, &batch, ui) {
                Ok(pushed) => {
                    for (work, status) in batch.iter_mut().zip(&pushed.refs) {
                        let unopened = self.pushed(repository, work, &status.outcome, &pushed)?;
                        problem = problem.or(unopened);
                    }
                    problem = problem.or(pushed.check().err());
                }
                Err(why) => {
                    for work in &mut batch {
                        let told = Told::of(self.kind(), None, Verdict::Refused);
                        work.told = Some(told.because(why.message.clone()));
                    }
                    problem = problem.or(Some(why));
                }
            }
        }
        Ok(problem)
    }

    fn update(&self, work: &Work<'_>) -> RefUpdate {
        RefUpdate {
            name: format!("refs/heads/{}", work.change.branch),
            new: work.commit(),
            expected_old: self.reached.tip(&work.change.branch),
        }
    }

    fn send(
        &self,
        repository: &Repository,
        updates: &[RefUpdate],
        batch: &[&mut Work<'_>],
        ui: &mut Ui,
    ) -> Result<Pushed, Problem> {
        let sent = match (&self.opening, batch) {
            (Opening::PushOptions, [work]) => {
                let new = self.new_request(work.change);
                // What people wrote in the request of a branch that is there already would be overwritten.
                let written = match self.reached.tip(&work.change.branch) {
                    Some(_) => push_options_again(&new),
                    None => push_options(&new),
                };
                for unable in &written.unable {
                    ui.warn(&format!("{}: {unable}", work.change.branch));
                }
                let remote = self.reached.again(self.access, repository);
                let remote = remote.map_err(|why| Problem::failed(why.to_string()))?;
                remote
                    .with_options(written.options)
                    .push(repository, updates)
            }
            _ => self.reached.remote.push(repository, updates),
        };
        sent.map_err(|why| why.problem())
    }

    /// What became of one branch; the problem is that of its request.
    fn pushed(
        &mut self,
        repository: &Repository,
        work: &mut Work<'_>,
        outcome: &Outcome,
        pushed: &Pushed,
    ) -> Result<Option<Problem>> {
        let branch = &work.change.branch;
        match outcome {
            Outcome::Done | Outcome::Unchanged => {
                work.is_pushed = true;
                move_tracking(repository, &self.reached.name, branch, work.commit())?;
                if let Opening::PushOptions = self.opening {
                    let verdict = match self.reached.tip(branch) {
                        Some(_) => Verdict::Updated,
                        None => Verdict::Created,
                    };
                    let told = by_options(verdict, &pushed.words);
                    let problem = told.is_none().then(|| self.unopened(branch, pushed));
                    work.told = Some(told.unwrap_or_else(|| {
                        let told = Told::of(Kind::Gitlab, None, Verdict::Refused);
                        told.because(NO_REQUEST)
                    }));
                    return Ok(problem);
                }
            }
            refused => {
                let told = Told::of(self.kind(), None, Verdict::Refused);
                work.told = Some(told.because(reason(refused)));
            }
        }
        Ok(None)
    }

    /// A branch that is there without a request that anybody knows of.
    fn unopened(&self, branch: &str, pushed: &Pushed) -> Problem {
        let words: String = pushed.words.join("; ").chars().take(MOST_WORDS).collect();
        let words = match words.as_str() {
            "" => String::new(),
            words => format!("; it says: {words}"),
        };
        let problem = Problem::new(
            ExitStatus::Remote,
            format!(
                "cannot open the merge request of `{branch}` by options of the push: {NO_REQUEST}{words}"
            ),
        );
        problem.hint(self.way_out(branch))
    }

    /// What is said of a branch that was there and didn't move: options go with a move alone, so nobody can ask.
    pub(super) fn unknown(&self, change: &Change, ui: &mut Ui) -> Told {
        let branch = &change.branch;
        let why = "the branch is there already, and without a token for GitLab's API nobody knows whether it has a request";
        ui.warn(&format!("{branch}: {why}: {}", self.way_out(branch)));
        Told::of(self.kind(), None, Verdict::LeftAlone).because(why)
    }

    fn way_out(&self, branch: &str) -> String {
        format!(
            "if it has none, a token with the scope `api` (`GITLAB_TOKEN`) opens it, or the next run does once the branch is gone: git push {} --delete {branch}",
            self.reached.name
        )
    }
}

const NO_REQUEST: &str = "the branch is pushed, and GitLab doesn't say that it has a request";
/// The most of a server's words in a message, in characters.
const MOST_WORDS: usize = 600;

fn reason(outcome: &Outcome) -> String {
    match outcome {
        Outcome::LeaseLost(_) => "somebody else moved the branch meanwhile".to_owned(),
        Outcome::Refused(why) | Outcome::Unsent(why) => why.clone(),
        Outcome::Unknown(why) => format!("nobody knows whether it was pushed: {why}"),
        Outcome::Done | Outcome::Unchanged => String::new(),
    }
}

/// What GitLab says of a push with options: the address of the request; nothing where it names none.
fn by_options(verdict: Verdict, words: &[String]) -> Option<Told> {
    let words = words.iter().flat_map(|line| line.split_whitespace());
    let mut words = words.filter(|word| word.contains("/merge_requests/"));
    let (url, number) = words.find_map(|word| {
        let number = word.rsplit('/').next()?.parse().ok()?;
        Some((word.to_owned(), number))
    })?;
    Some(Told {
        number: Some(number),
        url: Some(url),
        ..Told::of(Kind::Gitlab, None, verdict)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_known_by_what_gitlab_says() {
        let said = |text: &str| {
            let words: Vec<String> = text.lines().map(str::to_owned).collect();
            by_options(Verdict::Created, &words).and_then(|told| told.number)
        };
        let view = "View merge request for b:\n  https://h.example.org/a/b/-/merge_requests/7";
        assert_eq!(said(view), Some(7));
        // The way for a person to open one is none.
        let new = "To create a merge request for b, visit:\n  https://h.example.org/a/b/-/merge_requests/new?merge_request%5Bsource_branch%5D=b";
        assert_eq!(said(new), None);
        assert_eq!(said(&format!("{new}\n{view}")), Some(7));
        assert_eq!(said(""), None);
    }
}
