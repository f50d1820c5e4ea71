//! `--push`: the commit goes to the remote's branch, and nothing is rewritten there. And what `--open` tells.

use anyhow::Result;
use git2::{Oid, Repository};
use serde_json::json;

use super::bench::{Bench, Opened};
use super::{Answered, Init};
use crate::command::deliver::Delivery;
use crate::command::deliver::access::Access;
use crate::command::deliver::told::Told;
use crate::command::sealing::Sealed;
use crate::error::{ExitStatus, Problem};
use crate::git::remote::RefUpdate;
use crate::git::target::{Target, move_tracking};
use crate::git::trees::GitTree;
use crate::layout::render::Rendered;
use crate::model::tree;
use crate::plan::change::Change;
use crate::ui::Outcome;

/// A push that is to come, and where the branch was when it was looked at.
pub(super) struct Push {
    access: Access,
    remote: String,
    /// The address of a remote that a new repository gets.
    address: Option<String>,
    branch: String,
    tip: Option<Oid>,
}

impl Init<'_> {
    /// Looks at the remote before anything is written: what can't be pushed afterwards isn't begun.
    pub(super) fn push_ahead(&self, answered: &Answered) -> Result<Option<Push>> {
        let deliver = &self.arguments.deliver;
        if !deliver.push {
            return Ok(None);
        }
        let target = &self.gathered.target;
        let own = target.remote_name();
        let told = answered.answers.repo_url.as_ref();
        let told = told.map(|url| url.as_str().to_owned());
        let (access, remote, address) = match (deliver.remote.clone().or(own), target) {
            (Some(name), Target::Existing(_)) => {
                (Access::of_target(deliver, target, self.world)?, name, None)
            }
            _ => {
                let Some(address) = told else {
                    return Err(Problem::usage(format!("cannot push: `{}` has no remote", self.place()))
                        .hint("`--repo-url ADDRESS` names one that a new repository gets; in an existing one: git remote add origin ADDRESS")
                        .into());
                };
                let access = Access::of(
                    &deliver.place,
                    &address,
                    &self.world.folder,
                    &self.world.env,
                )?;
                (access, "origin".to_owned(), Some(address))
            }
        };
        let head = self.gathered.head.as_ref();
        let branch = head
            .and_then(|head| head.short())
            .unwrap_or(&answered.answers.branch)
            .to_owned();
        let listed = match (&address, target) {
            (None, Target::Existing(repository)) => access.named(repository, &remote)?.list(),
            _ => access.at(&self.world.folder)?.list(),
        };
        let listing = listed.map_err(|why| why.problem())?;
        let tip = listing.refs.get(&format!("refs/heads/{branch}")).copied();
        let own = head.and_then(|head| head.commit);
        let is_behind = |tip: Oid| match (target, own) {
            (Target::Existing(repository), Some(own)) => {
                own == tip || repository.graph_descendant_of(own, tip).unwrap_or(false)
            }
            _ => false,
        };
        if tip.is_some_and(|tip| !is_behind(tip)) {
            return Err(Problem::new(
                ExitStatus::Remote,
                format!(
                    "`{branch}` of `{remote}` has commits that aren't here, so nothing was written"
                ),
            )
            .hint(format!("git pull --rebase {remote} {branch}"))
            .into());
        }
        Ok(Some(Push {
            access,
            remote,
            address,
            branch,
            tip,
        }))
    }

    /// Pushes what was committed.
    pub(super) fn push(&mut self, push: &Push, told: &mut String) -> Result<Option<Problem>> {
        let place = self.gathered.target.place();
        let target = Target::around(place)?;
        let Target::Existing(repository) = &target else {
            return Ok(None);
        };
        let head = target.head()?;
        let Some(commit) = head.and_then(|head| head.commit) else {
            return Ok(None);
        };
        if let Some(address) = &push.address {
            let made = repository.remote(&push.remote, address);
            made.map_err(|why| {
                Problem::failed(format!(
                    "cannot add the remote `{}`: {}",
                    push.remote,
                    why.message()
                ))
            })?;
        }
        if push.tip == Some(commit) {
            told.push_str(&format!(
                "\n{} has `{}` already\n",
                push.remote, push.branch
            ));
            return Ok(None);
        }
        let update = RefUpdate {
            name: format!("refs/heads/{}", push.branch),
            new: Some(commit),
            expected_old: push.tip,
        };
        let pushed = push
            .access
            .named(repository, &push.remote)?
            .push(repository, &[update]);
        let pushed = match pushed {
            Ok(pushed) => pushed,
            Err(why) => return Ok(Some(again(why.problem(), push))),
        };
        if let Err(problem) = pushed.check() {
            return Ok(Some(again(problem, push)));
        }
        move_tracking(repository, &push.remote, &push.branch, Some(commit))?;
        follow(repository, push)?;
        told.push_str(&format!(
            "\npushed {} to {} ({})\n",
            push.branch, push.remote, pushed.address
        ));
        Ok(None)
    }

    /// Sealed files of an open offer of the same: they are random each time, and count as they are there.
    pub(super) fn offered_files(&self, files: &[Rendered]) -> Result<Sealed> {
        let mut found = Sealed::new();
        let (true, Some((repository, tip))) = (self.is_init, self.earlier()?) else {
            return Ok(found);
        };
        let (tree, base) = (
            GitTree::of(repository, Some(tip))?,
            self.gathered.target.tree()?,
        );
        for file in files.iter().filter(|file| file.secret.is_some()) {
            let is_new = tree::read_text(base.as_ref(), &file.path)?.is_none();
            if let (true, Some(text)) = (is_new, tree::read_text(&tree, &file.path)?) {
                found.insert(file.path.clone(), text);
            }
        }
        Ok(found)
    }

    /// What became of a change behind a request.
    pub(super) fn opened(
        &mut self,
        answered: &Answered,
        change: &Change,
        bench: &Bench,
        delivery: Delivery<'_>,
    ) -> Result<Outcome> {
        let opened = self.open(change, bench, delivery)?;
        let Opened {
            change,
            request,
            problem,
            ..
        } = &opened;
        let applied = opened.applied();
        // Nothing was written where a request is left alone or closed.
        let is_left = request.is_some() && applied.commit.is_none() && !self.common.dry_run;
        let mut text = match is_left {
            true => format!("{}: {}\n", change.branch, change.title),
            false => self.told(answered, change, &applied, &[]),
        };
        if let Some(request) = request {
            text.push_str(&format!("{}\n", request.to_text()));
        }
        let mut json = self.json(change, &applied);
        json["changes"][0]["request"] = json!(request.as_ref().map(Told::to_json));
        json.insert("versions".into(), json!(answered.chosen.versions));
        Ok(Outcome {
            status: problem
                .as_ref()
                .map_or(ExitStatus::Done, |problem| problem.status),
            text,
            json,
            problem: problem.clone(),
            lists: Vec::new(),
        })
    }
}

fn again(problem: Problem, push: &Push) -> Problem {
    problem.hint(format!(
        "the commit is made; once that is mended: git push {} {}",
        push.remote, push.branch
    ))
}

/// The branch follows the remote's from now on, as with `git push -u`.
fn follow(repository: &Repository, push: &Push) -> Result<()> {
    let set = repository
        .find_branch(&push.branch, git2::BranchType::Local)
        .and_then(|mut branch| match branch.upstream() {
            Ok(_) => Ok(()),
            Err(_) => branch.set_upstream(Some(&format!("{}/{}", push.remote, push.branch))),
        });
    set.map_err(|why| {
        Problem::failed(format!(
            "cannot set what `{}` follows: {}",
            push.branch,
            why.message()
        ))
        .into()
    })
}
