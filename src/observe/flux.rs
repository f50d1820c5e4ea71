//! Flux's HelmRelease (`helm.toolkit.fluxcd.io/v2`), and the source that its chart comes from.
//!
//! Source: helm-controller's reconciler and the API's `conditions` and `status.history`; the sentences are of 1.6.3. Of sources: what source-controller 1.9.5 wrote.

use serde_json::Value;

use super::words::{failed_hooks, failure};
use super::{Failure, Phase, State, without_digest};
use crate::model::condition::Condition;
use crate::model::range::{Range, lenient_version};

/// The source isn't there or has nothing. Told before a version is tried, so `lastAttemptedRevision` is an older one's.
const NO_CHART: [&str; 2] = ["ArtifactFailed", "SourceNotReady"];
/// Waits for another release; nothing was tried either.
const WAITS: &str = "DependencyNotReady";
/// Other failures before a version is tried.
const BEFORE: [&str; 5] = [
    "AccessDenied",
    "ValuesError",
    "ChartMutateError",
    "RESTClientError",
    "FactoryError",
];
/// A source that was changed a moment ago says this until source-controller comes to it.
const SOURCE_IN_WORK: [&str; 3] = [
    "latest generation of object has not been reconciled",
    "does not have an artifact",
    "artifact not found. Retrying",
];

/// Reads what a HelmRelease says of its release.
pub fn helm_release(object: &Value) -> State {
    let status = &object["status"];
    let ready = Condition::find(object, "Ready");
    let told = told(object, ready);
    let phase = phase(object, ready, told);
    let reason = ready.map_or("", |ready| ready.reason);
    let is_before = NO_CHART.contains(&reason) || BEFORE.contains(&reason) || reason == WAITS;
    let attempted = status["lastAttemptedRevision"]
        .as_str()
        .filter(|written| !is_before && !written.is_empty())
        .map(|written| without_digest(written).to_owned());
    State {
        attempted,
        attempt: status["lastAttemptedConfigDigest"]
            .as_str()
            .map(str::to_owned),
        wanted: object["spec"]["chart"]["spec"]["version"]
            .as_str()
            .map(str::to_owned),
        phase,
        message: told.map_or_else(String::new, |told| told.message.to_owned()),
        at: told.and_then(|told| told.at).map(str::to_owned),
        is_current: is_current(object, ready),
        jobs: Condition::find(object, "Released")
            .filter(|released| released.is_false() && !is_before)
            .map_or_else(Vec::new, |released| failed_hooks(released.message)),
        live: live(status),
        is_suspended: object["spec"]["suspend"].as_bool() == Some(true),
    }
}

/// The condition whose words count. After a rollback `Ready` speaks of that, and `Released` of what went wrong.
fn told<'a>(object: &'a Value, ready: Option<Condition<'a>>) -> Option<Condition<'a>> {
    let is_remedy =
        |reason: &str| reason.starts_with("Rollback") || reason.starts_with("Uninstall");
    let released = Condition::find(object, "Released").filter(Condition::is_false);
    match ready {
        Some(ready) if ready.is_false() && is_remedy(ready.reason) => released.or(Some(ready)),
        other => other,
    }
}

fn phase(object: &Value, ready: Option<Condition<'_>>, told: Option<Condition<'_>>) -> Phase {
    let waiting = Phase::Progressing {
        retries: object["status"]["failures"].as_u64().unwrap_or_default(),
    };
    let (Some(ready), Some(told)) = (ready, told) else {
        return waiting;
    };
    if ready.is_true() {
        return if is_current(object, Some(ready)) {
            Phase::Live
        } else {
            waiting
        };
    }
    if !ready.is_false() || ready.reason == WAITS {
        return waiting;
    }
    if NO_CHART.contains(&ready.reason) {
        let is_in_work = SOURCE_IN_WORK
            .iter()
            .any(|words| ready.message.contains(words));
        return if is_in_work {
            waiting
        } else {
            Phase::Failed(Failure::Pull)
        };
    }
    if BEFORE.contains(&ready.reason) {
        return Phase::Failed(Failure::Other);
    }
    if failed_hooks(told.message).is_empty() {
        Phase::Failed(failure(told.message))
    } else {
        Phase::HookFailed
    }
}

/// Whether it is said of the live spec. `status.observedGeneration` alone doesn't tell: it isn't set after an attempt
/// that is to be repeated, and it is set for a suspended release that nothing was tried of.
fn is_current(object: &Value, ready: Option<Condition<'_>>) -> bool {
    let status = &object["status"];
    let Some(generation) = object["metadata"]["generation"].as_i64() else {
        return false;
    };
    if let Some(told) = ready.and_then(|ready| ready.generation) {
        return told == generation;
    }
    let tried = status["lastAttemptedGeneration"].as_i64();
    status["observedGeneration"].as_i64() == Some(generation)
        && tried.is_none_or(|tried| tried == generation)
}

/// The newest entry of the history that Helm calls deployed; a failed upgrade leaves the one before so.
fn live(status: &Value) -> Option<String> {
    let entries = status["history"].as_array()?;
    let deployed = entries.iter().find(|entry| entry["status"] == "deployed")?;
    deployed["chartVersion"]
        .as_str()
        .map(|written| without_digest(written).to_owned())
}

/// Where a HelmRelease's chart comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceName {
    /// `HelmChart` (made by helm-controller for `spec.chart`) or what `chartRef` names, mostly `OCIRepository`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What a HelmChart or an OCIRepository says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The version in the live spec, as written: maybe a range.
    pub wanted: Option<String>,
    /// The version that was pulled last. It stays when the next one can't be had.
    pub version: Option<String>,
    /// Why it can't be had, in the controller's words.
    pub failure: Option<String>,
}

impl Source {
    /// Whether what was pulled last is what is wanted: then nothing waits for what can't be had now.
    pub fn has_wanted(&self) -> bool {
        let wanted = self.wanted.as_deref().map(Range::parse);
        let version = self.version.as_deref().and_then(lenient_version);
        match (wanted, version) {
            (Some(Ok(wanted)), Some(version)) => wanted.matches(&version),
            _ => false,
        }
    }
}

/// Names the source of a HelmRelease's chart; nothing while helm-controller hasn't made one.
///
/// helm-controller looks at a source only when it has something new, or at its interval: a HelmRelease says nothing of a
/// version that can't be had for up to that long, and with a `chartRef` stays Ready. The source knows at once.
pub fn chart_source(release: &Value) -> Option<SourceName> {
    let reference = &release["spec"]["chartRef"];
    if let (Some(kind), Some(name)) = (reference["kind"].as_str(), reference["name"].as_str()) {
        let namespace = reference["namespace"]
            .as_str()
            .or_else(|| release["metadata"]["namespace"].as_str())?;
        return Some(SourceName {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        });
    }
    let (namespace, name) = release["status"]["helmChart"].as_str()?.split_once('/')?;
    Some(SourceName {
        kind: "HelmChart".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

/// Reads what a HelmChart or an OCIRepository (`source.toolkit.fluxcd.io/v1`) says of its chart.
pub fn source(object: &Value) -> Source {
    let spec = &object["spec"];
    let reference = &spec["ref"];
    // Of several the controller takes the digest, then the range, then the tag.
    let places = [
        &spec["version"],
        &reference["digest"],
        &reference["semver"],
        &reference["tag"],
    ];
    let ready = Condition::find(object, "Ready");
    let is_current = is_current(object, ready);
    let revision = object["status"]["artifact"]["revision"].as_str();
    Source {
        wanted: places
            .into_iter()
            .find_map(Value::as_str)
            .map(str::to_owned),
        version: revision.and_then(version_of_revision),
        failure: ready
            .filter(|ready| is_current && ready.is_false())
            .map(|ready| ready.message.to_owned()),
    }
}

/// `0.2.2` of a HelmChart, `0.2.2@sha256:…` of an OCIRepository, in whose tags `_` stands for `+`. A digest alone is none.
fn version_of_revision(revision: &str) -> Option<String> {
    let tag = revision.split_once('@').map_or(revision, |(tag, _)| tag);
    let version = tag.replace('_', "+");
    let plain = version.strip_prefix('v').unwrap_or(&version);
    semver::Version::parse(plain).is_ok().then_some(version)
}
