//! What a release in a cluster comes to: rejected, live, or neither, with the reason. A failed hook is a suspicion; the Job that judges decides.

use semver::Version;

use super::cluster::View;
use super::evidence::{digest_of, next_step, not_a_rejection, tail_of};
use crate::error::Problem;
use crate::haptic;
use crate::haptic::rejection::{cause, circumstance};
use crate::model::range::lenient_version;
use crate::model::text::one_line;
use crate::observe::job::{JobPhase, JobState};
use crate::observe::{Failure, JobName, Phase, State, without_digest};
use crate::plan::reconcile::application;
use crate::plan::recover::{Found, Rejection};
use crate::plan::release_values::Controller;
use crate::secrets::redact::redact;

/// What a view comes to.
pub(super) enum Verdict {
    Rejected(Box<Rejection>),
    Live(Version),
    /// Neither: with the reason, and what to do.
    Not(Problem),
}

impl View {
    /// What it comes to.
    pub(super) fn verdict(&self, chart: &str) -> Verdict {
        let state = &self.state;
        if let (Some(why), true) = (&self.no_chart, state.phase != Phase::HookFailed) {
            let state = State {
                phase: Phase::Failed(Failure::Pull),
                message: why.clone(),
                ..state.clone()
            };
            return Verdict::Not(self.not_by(&state));
        }
        if state.phase == Phase::Live {
            let live = state.live.as_deref().or(state.wanted.as_deref());
            return match live.map(without_digest).and_then(lenient_version) {
                Some(live) => Verdict::Live(live),
                None => Verdict::Not(
                    Problem::invalid(format!(
                        "{} is live, and doesn't say in which version",
                        self.seat.name()
                    ))
                    .hint("if somebody knows better: `--rejected VERSION`"),
                ),
            };
        }
        // What failed otherwise failed without the Job, which may be there still from a version before.
        if let Phase::Failed(_) = state.phase {
            return Verdict::Not(self.not_by_state());
        }
        match &self.job {
            // One that is left from an attempt before says nothing of the hook that failed now.
            Some((name, _)) if !self.names(name) => self.without_job(chart),
            Some((name, job)) if job.state == JobPhase::Rejected && self.is_of(job) => {
                match self
                    .log
                    .as_deref()
                    .and_then(|log| circumstance(&redact(log)))
                {
                    Some(line) => Verdict::Not(self.not_by_circumstance(name, &line)),
                    None => self.rejected(chart, Some((name, job))),
                }
            }
            Some((name, job)) if self.is_of(job) => self.not_by_job(name, job),
            _ if state.phase == Phase::HookFailed => self.without_job(chart),
            _ => Verdict::Not(self.not_by_state()),
        }
    }

    /// Whether a Job is among the hooks that are said to have failed, where any is named.
    fn names(&self, judge: &JobName) -> bool {
        let jobs = &self.state.jobs;
        let is_named = jobs.iter().any(|one| one.name == judge.name);
        self.state.phase != Phase::HookFailed || jobs.is_empty() || is_named
    }

    /// Whether a Job is of the version that the controller speaks of.
    fn is_of(&self, job: &JobState) -> bool {
        match (&self.state.attempted, &job.expected_version) {
            (Some(attempted), Some(expected)) => without_digest(expected) == attempted,
            _ => true,
        }
    }

    /// By the Job that judged, or without it by the controller's word.
    fn rejected(&self, chart: &str, job: Option<(&JobName, &JobState)>) -> Verdict {
        let state = &self.state;
        let expected = job.and_then(|(_, job)| job.expected_version.as_deref());
        let attempted = state.attempted.as_deref();
        let version = expected.map(without_digest).or(attempted);
        let version = version.or(state.wanted.as_deref());
        let Some(version) = version.and_then(lenient_version) else {
            return Verdict::Not(
                Problem::invalid(format!(
                    "{} was rejected, and nothing says which version of `{chart}` that is",
                    self.seat.name()
                ))
                .hint("`--rejected VERSION` without `--context` says it"),
            );
        };
        let log = self.log.clone().filter(|_| job.is_some());
        let log = log.unwrap_or_default();
        let has_log = !log.trim().is_empty();
        let said = match &self.hook_says {
            _ if has_log => &log,
            Some(says) => says,
            None => &state.message,
        };
        // The whole of it before a line is taken out: a line by itself doesn't show what the lines above make of it.
        let shown = redact(said);
        let finished = job.and_then(|(_, job)| job.finished.clone());
        let how = match job {
            Some((name, _)) => format!(
                "in the cluster the Job {}/{} of {} has failed",
                name.namespace.as_deref().unwrap_or_default(),
                name.name,
                self.seat.name()
            ),
            None if self.is_elsewhere => format!(
                "{} says that its hook failed; the Job and its log are in the cluster that it deploys to (`--job-log` takes them from there)",
                self.seat.name()
            ),
            None => format!("{} says that a hook failed", self.seat.name()),
        };
        Verdict::Rejected(Box::new(Rejection {
            version,
            cause: cause(&shown),
            date: finished.or(state.at.clone()),
            evidence: digest_of(&shown),
            found: Found::Cluster,
            how,
            log: tail_of(&shown).filter(|_| has_log),
        }))
    }

    /// A Job that hasn't failed by its own verdict.
    fn not_by_job(&self, name: &JobName, job: &JobState) -> Verdict {
        let why = not_a_rejection(&job.state).unwrap_or_default();
        let other = self.other_hook(name);
        match (&job.state, other) {
            (JobPhase::Succeeded, Some(other)) => {
                Verdict::Not(other_hook(&other, &self.seat.namespace))
            }
            (JobPhase::Succeeded, None) => Verdict::Not(self.not_by_state()),
            _ => Verdict::Not(
                Problem::invalid(format!(
                    "nothing was rejected: {} isn't live, but of the Job {}: {why}",
                    self.seat.name(),
                    name.name
                ))
                .hint(next_step(&job.state)),
            ),
        }
    }

    /// A Job that was kept from judging, as a line of its log says.
    fn not_by_circumstance(&self, name: &JobName, line: &str) -> Problem {
        let namespace = name.namespace.as_deref().unwrap_or(&self.seat.namespace);
        Problem::invalid(format!(
            "nothing was rejected: the Job {namespace}/{} came to no verdict: {line}",
            name.name
        ))
        .hint(format!(
            "mend that, and the controller tries again; the whole log: kubectl logs job/{} -n {namespace}",
            name.name
        ))
        .hint("if somebody knows that the version is to blame: `--rejected VERSION`")
    }

    /// Another hook that is said to have failed.
    fn other_hook(&self, judge: &JobName) -> Option<JobName> {
        let mut jobs = self.state.jobs.iter();
        jobs.find(|one| one.name != judge.name).cloned()
    }

    /// A hook failed, and its Job isn't there any more, or lies in another cluster: the controller's word is what there is.
    fn without_job(&self, chart: &str) -> Verdict {
        let seat = &self.seat;
        let judge = seat.judge(&self.state.jobs).name;
        let is_other =
            |one: &&JobName| chart == haptic::CHART && (self.is_of_crds || one.name != judge);
        let all_other =
            !self.state.jobs.is_empty() && self.state.jobs.iter().all(|one| is_other(&one));
        let says = self.hook_says.as_deref().unwrap_or(&self.state.message);
        let is_late = ["DeadlineExceeded", "longer than specified deadline"]
            .iter()
            .any(|words| says.contains(words));
        if is_late {
            let failed = self.state.jobs.first();
            let job = failed.map_or(judge.as_str(), |one| one.name.as_str());
            let namespace = failed.and_then(|one| one.namespace.as_deref());
            let namespace = namespace.unwrap_or(&seat.namespace);
            return Verdict::Not(
                Problem::invalid(format!(
                    "nothing was rejected: a hook of {} wasn't done in its time: {}",
                    self.seat.name(),
                    one_line(&redact(says))
                ))
                .hint(format!(
                    "see why its pod doesn't run (image, Secrets, room): kubectl describe pod -l job-name={job} -n {namespace}; the controller tries again once that is mended"
                )),
            );
        }
        match self.state.jobs.first() {
            Some(other) if all_other => Verdict::Not(other_hook(other, &seat.namespace)),
            _ => self.rejected(chart, None),
        }
    }

    fn not_by_state(&self) -> Problem {
        self.not_by(&self.state)
    }

    fn not_by(&self, state: &State) -> Problem {
        let name = self.seat.name();
        let message = redact(&state.message);
        let message: String = one_line(&message).chars().take(300).collect();
        let said = match message.as_str() {
            "" => String::new(),
            text => format!(": {text}"),
        };
        let kind = self.seat.kind().to_lowercase();
        let of = &self.seat.owner;
        let resume = match of.controller {
            Controller::Flux => format!("flux resume helmrelease {} -n {}", of.name, of.namespace),
            Controller::Argo => format!(
                "argocd app sync {}, or automated sync",
                application(&of.namespace, &of.name)
            ),
        };
        let resume = format!("let it go on: {resume}");
        let (why, hint) = match &state.phase {
            Phase::Failed(Failure::Pull) => (
                "the chart couldn't be had, which is no rejection",
                "mend the way to the registry or its login; the controller tries again by itself",
            ),
            Phase::Failed(Failure::NotRendered) => (
                "the chart didn't render with these values in this cluster, so preflight never saw it",
                "correct the values (`--rejected VERSION --values FILE`), or choose a version for this cluster",
            ),
            Phase::Failed(Failure::CrdMissing) => (
                "the cluster lacks a kind that the release needs, which is no rejection",
                "install what brings it; the controller tries again by itself",
            ),
            Phase::Failed(Failure::Timeout) => (
                "something didn't get ready in time, which is no rejection",
                "see what isn't ready, and mend it; the controller tries again by itself",
            ),
            Phase::Failed(Failure::Other) => (
                "it failed, and not by a hook",
                "mend what it says; if somebody knows that the version is to blame: `--rejected VERSION`",
            ),
            Phase::HookFailed | Phase::Live | Phase::Progressing { .. } if state.is_suspended => {
                ("it is suspended, so nothing goes on", resume.as_str())
            }
            Phase::Progressing { retries: 1.. } => (
                "it failed before, and is still being worked on",
                "wait until it has come to an end; `recover --watch` follows it",
            ),
            Phase::HookFailed | Phase::Live | Phase::Progressing { .. } => (
                "it is still being worked on",
                "wait until it has come to an end; `recover --watch` follows it",
            ),
        };
        Problem::invalid(format!("nothing was rejected: {name}: {why}{said}")).hint(format!(
            "{hint}; what it says: kubectl describe {kind} {} -n {}",
            of.name, of.namespace
        ))
    }
}

/// A hook that failed and judges nothing: the one of the CRDs, say.
fn other_hook(job: &JobName, namespace: &str) -> Problem {
    let namespace = job.namespace.as_deref().unwrap_or(namespace);
    Problem::invalid(format!(
        "nothing was rejected: the Job {namespace}/{} failed, which isn't the one that judges a release",
        job.name
    ))
    .hint(format!("kubectl logs job/{} -n {namespace}", job.name))
    .hint("mend what it says; the controller tries again by itself")
}
