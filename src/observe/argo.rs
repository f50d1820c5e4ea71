//! Argo CD's Application (`argoproj.io/v1alpha1`).
//!
//! Source: argo-cd's controllers and API types, and what 3.5.3 wrote: `operationState` is of the last sync alone, `history` has the
//! syncs that succeeded and were of the whole Application, and a chart that doesn't render is told as a condition only.

use serde_json::{Value, json};

use super::words::failure;
use super::{Failure, JobName, Phase, State, without_digest};
use crate::model::condition::Condition;

/// Makes the application controller leave an Application alone.
const SKIPPED: &str = "argocd.argoproj.io/skip-reconcile";
/// The hooks that run before a sync changes anything; with the others the new version runs already.
const BEFORE_SYNC: &str = "PreSync";
/// Told before anything is synced: a spec that is no good, manifests that can't be had.
const BEFORE: [&str; 2] = ["InvalidSpecError", "ComparisonError"];

/// Reads what an Application says of a chart's release.
pub fn application(object: &Value, chart: &str) -> State {
    let view = View::of(object, chart);
    let phase = view.phase();
    let told = view.told(&phase);
    State {
        attempted: view
            .refused()
            .is_none()
            .then(|| view.tried().version())
            .flatten(),
        attempt: view.tried().told(),
        wanted: view.spec.wanted(),
        message: told.0,
        at: told.1.map(str::to_owned),
        is_current: view.refused().is_some() || view.is_current(),
        jobs: view.failed_jobs(),
        live: view.live(),
        is_suspended: view.is_suspended(),
        phase,
    }
}

/// What an Application says of a hook that failed before the sync: of the Job that judges, where that is among them.
pub fn hook_says(object: &Value, judge: Option<&str>) -> Option<String> {
    let view = View::of(object, "");
    let all: Vec<&Value> = view.results().filter(|one| is_failed_hook(one)).collect();
    let own = all.iter().find(|one| one["name"].as_str() == judge);
    let says = own.or(all.first())?["message"].as_str()?;
    (!says.is_empty()).then(|| says.to_owned())
}

/// Whether a result of a sync is of a hook Job that ran before it, and failed.
fn is_failed_hook(result: &Value) -> bool {
    let ended = result["hookPhase"].as_str().unwrap_or_default();
    result["kind"] == "Job"
        && result["hookType"] == BEFORE_SYNC
        && result["status"] != "SyncFailed"
        && matches!(ended, "Failed" | "Error")
}

/// What an Application reads from, in one of the places where that stands, with what it was at that time.
#[derive(Clone, Copy)]
struct Sources<'a> {
    /// Has `source` or `sources`.
    sources: &'a Value,
    /// Has `revision` or `revisions`.
    revisions: &'a Value,
    chart: &'a str,
}

impl<'a> Sources<'a> {
    fn of(holder: &'a Value, chart: &'a str) -> Self {
        Self {
            sources: holder,
            revisions: holder,
            chart,
        }
    }

    /// With several sources the single `source` is ignored, and so is its revision.
    fn list(&self) -> Vec<&'a Value> {
        match self.sources["sources"].as_array() {
            Some(list) if !list.is_empty() => list.iter().collect(),
            _ => Some(&self.sources["source"])
                .filter(|source| source.is_object())
                .into_iter()
                .collect(),
        }
    }

    /// All that tells it from another attempt: where it was from, with which values.
    fn told(&self) -> Option<String> {
        let sources = self.list();
        let revisions = self.revisions();
        (!sources.is_empty()).then(|| json!([sources, revisions]).to_string())
    }

    fn revisions(&self) -> Vec<&'a str> {
        let text = |revision: &'a Value| revision.as_str().unwrap_or_default();
        match self.revisions["revisions"].as_array() {
            Some(list) if !list.is_empty() => list.iter().map(text).collect(),
            _ => self.revisions["revision"].as_str().into_iter().collect(),
        }
    }

    /// Where the chart is: by its name, as the end of an OCI address, or the only chart that there is.
    fn index(&self) -> Option<usize> {
        let list = self.list();
        let is_chart = |source: &&Value| source["chart"] == self.chart;
        let is_address = |source: &&Value| {
            let address = source["repoURL"].as_str().unwrap_or_default();
            address.starts_with("oci://")
                && address.trim_end_matches('/').rsplit('/').next() == Some(self.chart)
        };
        let mut charts = (0..list.len()).filter(|index| list[*index]["chart"].is_string());
        let only = charts.next().filter(|_| charts.next().is_none());
        list.iter()
            .position(is_chart)
            .or_else(|| list.iter().position(is_address))
            .or(only)
    }

    /// The `targetRevision` of the chart.
    fn wanted(&self) -> Option<String> {
        let source = *self.list().get(self.index()?)?;
        source["targetRevision"].as_str().map(str::to_owned)
    }

    /// The version that the chart had. Of an `oci://` source the revision is a digest; what was asked for is the version
    /// then, unless it was a range.
    fn version(&self) -> Option<String> {
        let revision = *self.revisions().get(self.index()?)?;
        if is_version(revision) {
            return Some(without_digest(revision).to_owned());
        }
        self.wanted().filter(|wanted| is_version(wanted))
    }

    fn is_same(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.list(), other.list());
        let mut pairs = ours.iter().zip(&theirs);
        ours.len() == theirs.len() && !ours.is_empty() && pairs.all(|(a, b)| same(a, b))
    }
}

/// Whether two parts of a spec mean the same: the controller leaves out what is empty.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => a
            .keys()
            .chain(b.keys())
            .all(|key| same(&one[key], &other[key])),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(one, other)| same(one, other))
        }
        _ => one == other || (is_empty(one) && is_empty(other)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
    }
}

fn is_version(text: &str) -> bool {
    semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).is_ok()
}

/// An Application with its parts at hand.
struct View<'a> {
    object: &'a Value,
    status: &'a Value,
    operation: &'a Value,
    spec: Sources<'a>,
    compared: Sources<'a>,
}

impl<'a> View<'a> {
    fn of(object: &'a Value, chart: &'a str) -> Self {
        let status = &object["status"];
        Self {
            object,
            status,
            operation: &status["operationState"],
            spec: Sources::of(&object["spec"], chart),
            compared: Sources {
                sources: &status["sync"]["comparedTo"],
                revisions: &status["sync"],
                chart,
            },
        }
    }

    /// What the last sync was of. At its start there is no result yet.
    fn tried(&self) -> Sources<'a> {
        let result = Sources::of(&self.operation["syncResult"], self.spec.chart);
        if result.list().is_empty() {
            Sources::of(&self.operation["operation"]["sync"], self.spec.chart)
        } else {
            result
        }
    }

    /// Whether the last sync was of the live spec, and of its newest revisions as far as those are known.
    fn is_current(&self) -> bool {
        let tried = self.tried();
        tried.is_same(&self.spec)
            && (!self.compared.is_same(&self.spec)
                || self.compared.revisions().is_empty()
                || self.compared.revisions() == tried.revisions())
    }

    fn says(&self) -> &'a str {
        self.operation["phase"].as_str().unwrap_or_default()
    }

    /// The condition that says why the live spec can't be synced at all. A sync of this very spec says more than that.
    fn refused(&self) -> Option<Condition<'a>> {
        let condition =
            Condition::all(self.object).find(|condition| BEFORE.contains(&condition.kind))?;
        let is_told = matches!(self.says(), "Failed" | "Error" | "Running" | "Terminating")
            && self.tried().is_same(&self.spec);
        (!is_told).then_some(condition)
    }

    fn phase(&self) -> Phase {
        if let Some(condition) = self.refused() {
            return Phase::Failed(failure(condition.message));
        }
        let not_yet = Phase::Progressing {
            retries: self.operation["retryCount"].as_u64().unwrap_or_default(),
        };
        let health = self.status["health"]["status"].as_str();
        match self.says() {
            "Failed" | "Error" if self.failed_jobs().is_empty() => {
                Phase::Failed(failure(&self.words()))
            }
            "Failed" | "Error" => Phase::HookFailed,
            "Succeeded" if !self.is_current() || !self.is_synced() => {
                Phase::Progressing { retries: 0 }
            }
            "Succeeded" if health == Some("Healthy") => Phase::Live,
            "Succeeded" if health == Some("Degraded") => Phase::Failed(Failure::Other),
            "Succeeded" => Phase::Progressing { retries: 0 },
            _ => not_yet,
        }
    }

    fn is_synced(&self) -> bool {
        self.status["sync"]["status"] == "Synced" && self.compared.is_same(&self.spec)
    }

    /// The message of a phase, and its time.
    fn told(&self, phase: &Phase) -> (String, Option<&'a str>) {
        if let Some(condition) = self.refused() {
            return (condition.message.to_owned(), condition.at);
        }
        let time = |key: &str| self.operation[key].as_str();
        let at = time("finishedAt").or_else(|| time("startedAt"));
        if self.says() != "Succeeded" || *phase == Phase::Live {
            return (self.words(), at);
        }
        // That the sync succeeded would be the wrong word for what isn't done or isn't well.
        let health = &self.status["health"];
        let degraded = match health["message"].as_str() {
            Some(message) => format!("health is Degraded: {message}"),
            None => "health is Degraded".to_owned(),
        };
        match phase {
            Phase::Failed(_) => (degraded, health["lastTransitionTime"].as_str().or(at)),
            _ => (String::new(), at),
        }
    }

    /// The sync's words, and those of the first object that it failed at.
    fn words(&self) -> String {
        let message = self.operation["message"].as_str().unwrap_or_default();
        let failed = self
            .results()
            .find(|result| result["status"] == "SyncFailed");
        match failed.and_then(|result| result["message"].as_str()) {
            Some(words) if !message.contains(words) => {
                format!("{message} {words}").trim().to_owned()
            }
            _ => message.to_owned(),
        }
    }

    fn results(&self) -> impl Iterator<Item = &'a Value> {
        let results = self.operation["syncResult"]["resources"].as_array();
        results.into_iter().flatten()
    }

    fn failed_jobs(&self) -> Vec<JobName> {
        let failed = self.results().filter(|result| is_failed_hook(result));
        let jobs = failed.filter_map(|result| {
            Some(JobName {
                namespace: result["namespace"].as_str().map(str::to_owned),
                name: result["name"].as_str()?.to_owned(),
            })
        });
        jobs.collect()
    }

    /// Synced says which version is there. Else the last whole sync that succeeded: later ones may have been of single
    /// objects, which run no hooks, or have failed.
    fn live(&self) -> Option<String> {
        let chart = self.spec.chart;
        let synced = self.is_synced().then(|| self.compared.version()).flatten();
        let past = || Sources::of(self.status["history"].as_array()?.last()?, chart).version();
        synced.or_else(past)
    }

    fn is_suspended(&self) -> bool {
        let automated = &self.object["spec"]["syncPolicy"]["automated"];
        let is_off = !automated.is_object() || automated["enabled"] == false;
        is_off || self.object["metadata"]["annotations"][SKIPPED] == "true"
    }
}
