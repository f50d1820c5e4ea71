//! Hook Jobs (`batch/v1`) with their pods: did the program run, and what did it say?
//!
//! HAPTIC's own tests take `.status.failed >= 1` for a rejection. That count also grows when a pod is killed, so here the
//! program must have ended with an exit code of its own, unless no pod is left to ask.

use serde_json::Value;

use crate::haptic::names::EXPECTED_VERSION_VARIABLE;
use crate::model::condition::Condition;

/// `<chart's name>-<version>`, with `_` for `+`.
const CHART_LABEL: &str = "helm.sh/chart";
/// The labels that the Job controller gives to pods, newest first.
const JOB_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];
/// What a shell and the kernel make of an exit by a signal.
const SIGNALS: i64 = 128;

/// What a Job is, with its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobState {
    /// How it ended, or that it hasn't.
    pub state: JobPhase,
    /// The chart version that it was to judge, as written (maybe with a digest, see [`super::without_digest`]).
    pub expected_version: Option<String>,
    /// When it ended (RFC 3339).
    pub finished: Option<String>,
    /// The failed pod whose log counts: the last in which the program ended by itself, else the last that failed.
    pub pod: Option<String>,
    /// The container in it.
    pub container: Option<String>,
    /// What the kubelet kept of its last words; a log has more.
    pub message: Option<String>,
}

/// How a Job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobPhase {
    /// The program ran, and said no. The log has the reason where a pod is named.
    Rejected,
    /// The program ran, and said yes.
    Succeeded,
    /// Not done; a pod may have failed already.
    Running,
    /// The program was killed since it took more memory than it may have.
    OutOfMemory,
    /// The time was up before the program had ended by itself.
    TimedOut {
        /// What its pod waited for, such as `ImagePullBackOff: …`.
        waiting: Option<String>,
    },
    /// The program has never run.
    NotStarted {
        /// What its pod waits for or died of, such as `CreateContainerConfigError: …`.
        waiting: Option<String>,
    },
    /// Failed in another way, in words.
    Unknown(String),
}

/// Reads a Job with pods of its namespace; those of other Jobs are passed over.
pub fn job(job: &Value, pods: &[Value]) -> JobState {
    let mut pods: Vec<&Value> = pods.iter().filter(|pod| is_of(pod, job)).collect();
    pods.sort_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str());
    let own = own_containers(job);
    let ends: Vec<End<'_>> = pods.iter().filter_map(|pod| End::of(pod, &own)).collect();
    let counts = ends
        .iter()
        .rfind(|end| end.is_own())
        .or_else(|| ends.last());
    let label = job["metadata"]["labels"][CHART_LABEL].as_str();
    let state = phase(job, &pods, &ends);
    let has_log = state != JobPhase::Succeeded;
    JobState {
        expected_version: expected(job)
            .map(str::to_owned)
            .or_else(|| label.and_then(version_of_label)),
        finished: finished(job).map(str::to_owned),
        pod: counts.filter(|_| has_log).map(|end| end.pod.to_owned()),
        container: counts
            .filter(|_| has_log)
            .map(|end| end.container.to_owned()),
        message: counts
            .filter(|end| has_log && !end.message.is_empty())
            .map(|end| end.message.to_owned()),
        state,
    }
}

/// The containers whose word counts: the one that is told which version it judges, else all of the Job's own. Others set up
/// what these need, or were put beside them by the cluster.
fn own_containers(job: &Value) -> Vec<&str> {
    let judges = templates(job).filter(|one| version_in(one).is_some());
    let judges: Vec<&str> = judges.filter_map(|one| one["name"].as_str()).collect();
    if judges.is_empty() {
        templates(job)
            .filter_map(|one| one["name"].as_str())
            .collect()
    } else {
        judges
    }
}

/// By the owner's UID where both are known, since a Job's name is used again; else by label.
fn is_of(pod: &Value, job: &Value) -> bool {
    let uid = job["metadata"]["uid"].as_str();
    let mut owners = pod["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|owner| owner["uid"].as_str())
        .peekable();
    if let (Some(uid), true) = (uid, owners.peek().is_some()) {
        return owners.any(|owner| owner == uid);
    }
    let name = &job["metadata"]["name"];
    JOB_LABELS
        .iter()
        .any(|label| name.is_string() && pod["metadata"]["labels"][*label] == *name)
}

/// A container that ended without success.
struct End<'a> {
    pod: &'a str,
    container: &'a str,
    reason: &'a str,
    message: &'a str,
    code: i64,
    /// Whether the container's word counts.
    counts: bool,
}

impl<'a> End<'a> {
    /// The first container of a pod that failed, now or before it was started again: of those whose word counts, else of all.
    fn of(pod: &'a Value, own: &[&str]) -> Option<Self> {
        let name = pod["metadata"]["name"].as_str()?;
        // A Job without a template says nothing of its containers.
        let counts = |end: &Self| own.is_empty() || own.contains(&end.container);
        let ends = || containers(pod).filter_map(|container| Self::of_container(name, container));
        let mut end = ends().find(counts).or_else(|| ends().next())?;
        end.counts = counts(&end);
        Some(end)
    }

    fn of_container(pod: &'a str, container: &'a Value) -> Option<Self> {
        let ends = ["state", "lastState"].map(|key| &container[key]["terminated"]);
        let end = ends
            .into_iter()
            .find(|end| end["exitCode"].as_i64().is_some_and(|code| code != 0))?;
        Some(Self {
            pod,
            container: container["name"].as_str().unwrap_or_default(),
            reason: end["reason"].as_str().unwrap_or_default(),
            message: end["message"].as_str().unwrap_or_default(),
            code: end["exitCode"].as_i64()?,
            counts: false,
        })
    }

    /// The kubelet's words for a program that couldn't be started.
    fn is_not_started(&self) -> bool {
        matches!(
            self.reason,
            "StartError" | "ContainerCannotRun" | "CreateContainerError" | "ContainerStatusUnknown"
        )
    }

    fn is_out_of_memory(&self) -> bool {
        self.reason == "OOMKilled"
    }

    /// Whether the program gave this exit code itself.
    fn is_own(&self) -> bool {
        let is_by_itself = self.code > 0 && self.code < SIGNALS;
        self.counts && is_by_itself && !self.is_out_of_memory() && !self.is_not_started()
    }
}

fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    lists
        .into_iter()
        .filter_map(|key| pod["status"][key].as_array())
        .flatten()
}

fn phase(job: &Value, pods: &[&Value], ends: &[End<'_>]) -> JobPhase {
    if holds(job, "Complete").is_some() {
        return JobPhase::Succeeded;
    }
    let waiting = pods.iter().rev().find_map(|pod| waits_for(pod));
    let Some(failed) = holds(job, "Failed") else {
        let is_held = job["spec"]["suspend"].as_bool() == Some(true);
        return match waiting {
            Some(words) => JobPhase::NotStarted {
                waiting: Some(words),
            },
            None if is_held => JobPhase::NotStarted {
                waiting: Some("the Job is suspended".to_owned()),
            },
            None => JobPhase::Running,
        };
    };
    if ends.iter().any(End::is_own) {
        return JobPhase::Rejected;
    }
    if ends.iter().any(End::is_out_of_memory) {
        return JobPhase::OutOfMemory;
    }
    if failed.reason == "DeadlineExceeded" {
        return JobPhase::TimedOut { waiting };
    }
    if let Some(end) = ends.iter().rfind(|end| end.is_not_started()) {
        return JobPhase::NotStarted {
            waiting: Some(said(end.reason, end.message)),
        };
    }
    if let Some(end) = ends.iter().rfind(|end| !end.counts) {
        let words = format!(
            "its container `{}` ended with exit code {} before",
            end.container, end.code
        );
        return JobPhase::NotStarted {
            waiting: Some(words),
        };
    }
    let evicted = pods.iter().rev().find_map(|pod| {
        let reason = pod["status"]["reason"].as_str()?;
        let message = pod["status"]["message"].as_str().unwrap_or_default();
        Some(said(reason, message))
    });
    let failed_count = job["status"]["failed"].as_u64().unwrap_or_default();
    match (evicted, ends.last()) {
        (Some(words), _) => JobPhase::Unknown(words),
        (None, Some(end)) => JobPhase::Unknown(format!(
            "the program was ended from outside (exit code {})",
            end.code
        )),
        // No pod is left to ask. The limit of retries was reached, which is the usual end of a program that says no.
        (None, None)
            if pods.is_empty() && failed_count >= 1 && failed.reason == "BackoffLimitExceeded" =>
        {
            JobPhase::Rejected
        }
        (None, None) if waiting.is_some() => JobPhase::NotStarted { waiting },
        (None, None) => JobPhase::Unknown(said(failed.reason, failed.message)),
    }
}

fn holds<'a>(job: &'a Value, kind: &str) -> Option<Condition<'a>> {
    Condition::find(job, kind).filter(Condition::is_true)
}

fn finished(job: &Value) -> Option<&str> {
    job["status"]["completionTime"]
        .as_str()
        .or_else(|| holds(job, "Failed")?.at)
        .or_else(|| holds(job, "Complete")?.at)
}

/// What a pod waits for that may never come. Being created is not such a thing, and a pod that has ended waits no more.
fn waits_for(pod: &Value) -> Option<String> {
    if matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    ) {
        return None;
    }
    let usual = [
        "",
        "ContainerCreating",
        "PodInitializing",
        "CrashLoopBackOff",
    ];
    let stuck = containers(pod).find_map(|container| {
        let waiting = &container["state"]["waiting"];
        let reason = waiting["reason"].as_str().unwrap_or_default();
        let message = waiting["message"].as_str().unwrap_or_default();
        (!usual.contains(&reason)).then(|| said(reason, message))
    });
    stuck.or_else(|| {
        let scheduled = Condition::find(pod, "PodScheduled").filter(Condition::is_false)?;
        Some(said(scheduled.reason, scheduled.message))
    })
}

fn said(reason: &str, message: &str) -> String {
    match (reason, message) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// The containers of a Job's template, without those that run before.
fn templates(job: &Value) -> impl Iterator<Item = &Value> {
    let containers = job["spec"]["template"]["spec"]["containers"].as_array();
    containers.into_iter().flatten()
}

fn expected(job: &Value) -> Option<&str> {
    templates(job).find_map(version_in)
}

/// The version that a container is told to judge.
fn version_in(container: &Value) -> Option<&str> {
    let variables = container["env"].as_array().into_iter().flatten();
    variables
        .filter(|variable| variable["name"] == EXPECTED_VERSION_VARIABLE)
        .find_map(|variable| variable["value"].as_str())
        .filter(|value| !value.is_empty())
}

/// `haptic-0.2.1-alpha.3` → `0.2.1-alpha.3`: what follows the first `-` behind which a whole version stands.
fn version_of_label(label: &str) -> Option<String> {
    label.match_indices('-').find_map(|(place, _)| {
        let version = label[place + 1..].replace('_', "+");
        semver::Version::parse(&version).is_ok().then_some(version)
    })
}
