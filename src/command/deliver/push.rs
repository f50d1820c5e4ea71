//! The push of a run: what the remote lacks, each branch under its lease.

use anyhow::Result;
use git2::Repository;

use super::told::{Told, Verdict};
use super::{Delivery, Opening, Work};
use crate::error::Problem;
use crate::forge::Kind;
use crate::forge::push_options::push_options;
use crate::git::remote::RefUpdate;
use crate::git::remote::pushed::{Outcome, Pushed};
use crate::git::target::move_tracking;
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
                        self.pushed(repository, work, &status.outcome, &pushed)?;
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
                let written = push_options(&self.new_request(work.change));
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

    /// What became of one branch.
    fn pushed(
        &mut self,
        repository: &Repository,
        work: &mut Work<'_>,
        outcome: &Outcome,
        pushed: &Pushed,
    ) -> Result<()> {
        let branch = &work.change.branch;
        match outcome {
            Outcome::Done | Outcome::Unchanged => {
                work.is_pushed = true;
                move_tracking(repository, &self.reached.name, branch, work.commit())?;
                if let Opening::PushOptions = self.opening {
                    let was_there = self.reached.tip(branch).is_some();
                    work.told = Some(by_options(was_there, &pushed.words));
                }
            }
            refused => {
                let told = Told::of(self.kind(), None, Verdict::Refused);
                work.told = Some(told.because(reason(refused)));
            }
        }
        Ok(())
    }
}

fn reason(outcome: &Outcome) -> String {
    match outcome {
        Outcome::LeaseLost(_) => "somebody else moved the branch meanwhile".to_owned(),
        Outcome::Refused(why) | Outcome::Unsent(why) => why.clone(),
        Outcome::Unknown(why) => format!("nobody knows whether it was pushed: {why}"),
        Outcome::Done | Outcome::Unchanged => String::new(),
    }
}

/// What GitLab says of a push with options: the address of the request.
fn by_options(was_there: bool, words: &[String]) -> Told {
    let address = words.iter().flat_map(|line| line.split_whitespace());
    let mut address =
        address.filter(|word| word.contains("/merge_requests/") && !word.contains("/new"));
    let url = address.next().map(str::to_owned);
    let number = url
        .as_ref()
        .and_then(|url| url.rsplit('/').next()?.parse().ok());
    let verdict = if was_there {
        Verdict::Updated
    } else {
        Verdict::Created
    };
    let told = Told {
        number,
        url,
        ..Told::of(Kind::Gitlab, None, verdict)
    };
    match told.number {
        Some(_) => told,
        None => Told {
            verdict: Verdict::Refused,
            ..told
        }
        .because("the branch is pushed, and GitLab doesn't say that it has a request"),
    }
}
