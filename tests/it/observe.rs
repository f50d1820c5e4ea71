//! What is read out of a cluster's objects. `tests/cluster` holds what Argo CD 3.5.3 and Kubernetes 1.36.3 wrote for a
//! stand-in chart, and source-controller 1.9.5 of its versions, without names of machines; HelmReleases are built here from
//! what helm-controller 1.6.3 says.

use haptic_scaffold::observe::job::{JobPhase, JobState, job};
use haptic_scaffold::observe::{Failure, JobName, Phase, State, argo, flux};
use serde_json::{Value, json};

/// An object that was recorded.
pub fn recorded(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cluster")
        .join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect("is there");
    serde_json::from_str(&text).expect("JSON")
}

fn app(name: &str) -> State {
    argo::application(&recorded(name), "haptic")
}

/// What was tried, what is wanted, what runs.
type Versions<'a> = [Option<&'a str>; 3];

fn versions(state: &State) -> Versions<'_> {
    [
        state.attempted.as_deref(),
        state.wanted.as_deref(),
        state.live.as_deref(),
    ]
}

fn names(state: &State) -> Vec<&str> {
    state.jobs.iter().map(|job| job.name.as_str()).collect()
}

const PRE_ROLLOUT: &str = "haptic-haptic-pre-rollout";
const CRD_UPGRADE: &str = "haptic-haptic-crd-upgrade";

#[test]
fn a_recorded_application_is_read() {
    use Failure::{CrdMissing, NotRendered, Pull};
    let progressing = |retries| Phase::Progressing { retries };
    // What it is, its phase, [attempted, wanted, live], whether that is of the live spec, its failed Jobs.
    let cases: [(&str, Phase, Versions<'_>, bool, &[&str]); 14] = [
        ("app-live", Phase::Live, [Some("0.2.0"); 3], true, &[]),
        (
            "app-retrying",
            progressing(1),
            [Some("0.2.1"), Some("0.2.1"), Some("0.2.0")],
            true,
            &[PRE_ROLLOUT],
        ),
        (
            "app-rejected",
            Phase::HookFailed,
            [Some("0.2.1"), Some("0.2.1"), Some("0.2.0")],
            true,
            &[PRE_ROLLOUT],
        ),
        // Put back to 0.2.0, synced once more, and so nothing is left of 0.2.1.
        ("app-reverted", Phase::Live, [Some("0.2.0"); 3], true, &[]),
        (
            "app-crd-job",
            Phase::HookFailed,
            [Some("0.2.31"), Some("0.2.31"), Some("0.2.0")],
            true,
            &[CRD_UPGRADE],
        ),
        ("app-next-live", Phase::Live, [Some("0.2.2"); 3], true, &[]),
        (
            "app-no-such-version",
            Phase::Failed(Pull),
            [None, Some("9.9.9"), Some("0.2.2")],
            true,
            &[],
        ),
        (
            "app-kube-version",
            Phase::Failed(NotRendered),
            [None, Some("0.2.32"), Some("0.2.2")],
            true,
            &[],
        ),
        (
            "app-schema",
            Phase::Failed(NotRendered),
            [None, Some("0.4.1"), Some("0.2.2")],
            true,
            &[],
        ),
        (
            "app-crd-missing",
            Phase::Failed(CrdMissing),
            [Some("0.2.34"), Some("0.2.34"), Some("0.2.2")],
            true,
            &[],
        ),
        (
            "app-running",
            progressing(0),
            [Some("0.2.33"), Some("0.2.33"), Some("0.2.2")],
            true,
            &[],
        ),
        // That the time was up is the Job's word.
        (
            "app-deadline",
            Phase::HookFailed,
            [Some("0.2.33"), Some("0.2.33"), Some("0.2.2")],
            true,
            &[PRE_ROLLOUT],
        ),
        (
            "app-sources-live",
            Phase::Live,
            [Some("0.2.0"); 3],
            true,
            &[],
        ),
        (
            "app-sources-rejected",
            Phase::HookFailed,
            [Some("0.2.1"), Some("0.2.1"), Some("0.2.0")],
            true,
            &[PRE_ROLLOUT],
        ),
    ];
    for (name, phase, wanted, is_current, jobs) in cases {
        let state = app(name);
        assert_eq!(state.phase, phase, "{name}: {state:?}");
        assert_eq!(versions(&state), wanted, "{name}");
        assert_eq!(state.is_current, is_current, "{name}");
        assert_eq!(names(&state), jobs, "{name}");
        assert!(!state.is_suspended, "{name}");
        assert!(
            state.at.is_some() && !state.message.is_empty(),
            "{name}: {state:?}"
        );
    }
    let rejected = app("app-rejected");
    assert_eq!(
        rejected.message,
        "one or more synchronization tasks completed unsuccessfully (retried 1 times)."
    );
    assert_eq!(rejected.at.as_deref(), Some("2026-11-30T21:31:04Z"));
    assert_eq!(rejected.jobs[0].namespace.as_deref(), Some("haptic"));
    let kind = app("app-crd-missing").message;
    assert!(
        kind.contains("Make sure the \"Widget\" CRD is installed"),
        "{kind}"
    );
}

#[test]
fn an_application_that_syncs_by_hand_waits_for_a_person() {
    // It was rejected at 0.2.1; 0.2.2 stands in the spec now and nobody has synced it.
    let state = app("app-sources-manual");
    assert!(state.is_suspended);
    assert_eq!(
        versions(&state),
        [Some("0.2.1"), Some("0.2.2"), Some("0.2.0")]
    );
    assert!(!state.is_current);
    let mut object = recorded("app-live");
    object["metadata"]["annotations"] = json!({ "argocd.argoproj.io/skip-reconcile": "true" });
    assert!(argo::application(&object, "haptic").is_suspended);
}

#[test]
fn a_chart_by_oci_address_has_the_version_that_was_asked_for() {
    let state = app("app-oci-live");
    assert_eq!(versions(&state), [Some("0.2.2"); 3]);
    assert_eq!(state.phase, Phase::Live);
}

#[test]
fn what_an_application_says_of_another_spec_isnt_current() {
    let mut object = recorded("app-rejected");
    object["spec"]["source"]["targetRevision"] = json!("0.2.2");
    let state = argo::application(&object, "haptic");
    assert!(!state.is_current);
    assert_eq!(
        versions(&state),
        [Some("0.2.1"), Some("0.2.2"), Some("0.2.0")]
    );
    // The same version with other values is another attempt too.
    let mut object = recorded("app-rejected");
    object["spec"]["source"]["helm"]["valuesObject"]["x"] = json!(1);
    let state = argo::application(&object, "haptic");
    assert!(!state.is_current);
    let before = argo::application(&recorded("app-rejected"), "haptic").attempt;
    assert!(before.is_some() && state.attempt == before, "not tried yet");
    let tried = &mut object["status"]["operationState"]["syncResult"]["source"];
    assert!(tried.is_object());
    tried["helm"]["valuesObject"]["x"] = json!(1);
    assert_ne!(argo::application(&object, "haptic").attempt, before);
    // What is live but not what is wanted isn't done.
    let mut object = recorded("app-live");
    object["spec"]["source"]["targetRevision"] = json!("0.2.1");
    let state = argo::application(&object, "haptic");
    assert_eq!(state.phase, Phase::Progressing { retries: 0 });
    assert_eq!(
        (state.live.as_deref(), state.message.as_str()),
        (Some("0.2.0"), "")
    );
    // Fields that say nothing make no other spec.
    let mut object = recorded("app-rejected");
    object["spec"]["source"]["helm"]["parameters"] = json!([]);
    assert!(argo::application(&object, "haptic").is_current);
}

#[test]
fn a_sync_of_single_objects_makes_nothing_live() {
    // Somebody synced one object by hand after the rejection: the operation is another, and its hooks didn't run.
    let mut object = recorded("app-rejected");
    let operation = &mut object["status"]["operationState"];
    operation["phase"] = json!("Succeeded");
    operation["operation"]["sync"]["resources"] =
        json!([{ "kind": "Service", "name": "haptic-webhook" }]);
    operation["syncResult"]["resources"] = json!([]);
    let state = argo::application(&object, "haptic");
    assert_eq!(state.phase, Phase::Progressing { retries: 0 });
    assert_eq!(
        versions(&state),
        [Some("0.2.1"), Some("0.2.1"), Some("0.2.0")]
    );
}

#[test]
fn a_release_that_went_bad_after_its_sync_isnt_live() {
    let mut object = recorded("app-live");
    object["status"]["health"] = json!({ "status": "Degraded" });
    let state = argo::application(&object, "haptic");
    assert_eq!(state.phase, Phase::Failed(Failure::Other));
    assert_eq!(state.message, "health is Degraded");
    object["status"]["health"] = json!({ "status": "Progressing" });
    assert_eq!(
        argo::application(&object, "haptic").phase,
        Phase::Progressing { retries: 0 }
    );
}

#[test]
fn objects_that_say_nothing_are_read_as_that() {
    for object in [
        json!({}),
        json!(null),
        json!([]),
        json!({ "status": 1, "spec": "x" }),
    ] {
        let states = [
            argo::application(&object, "haptic"),
            flux::helm_release(&object),
        ];
        for state in states {
            assert_eq!(state.phase, Phase::Progressing { retries: 0 });
            assert_eq!(versions(&state), [None; 3]);
            assert!(!state.is_current && state.jobs.is_empty());
        }
        assert_eq!(
            job(&object, std::slice::from_ref(&object)).state,
            JobPhase::Running
        );
    }
}

#[test]
fn a_recorded_source_is_read() {
    const MISSING: &str = "no 'haptic' chart with version matching '9.9.9' found";
    const UNKNOWN: &str = "manifests/9.9.9: MANIFEST_UNKNOWN";
    // What is wanted, what was pulled last, and why it can't be had.
    let cases = [
        ("source-chart", "0.2.2", Some("0.2.2"), None),
        ("source-chart-moved", "9.9.9", Some("0.2.2"), Some(MISSING)),
        ("source-oci", "0.2.2", Some("0.2.2"), None),
        // These have an observedGeneration of before: the pull is tried again and again.
        ("source-oci-moved", "9.9.9", Some("0.2.2"), Some(UNKNOWN)),
        ("source-oci-never", "9.9.9", None, Some(UNKNOWN)),
        ("source-oci-range", "0.2.x", Some("0.2.2"), None),
    ];
    for (name, wanted, version, failure) in cases {
        let source = flux::source(&recorded(name));
        assert_eq!(source.wanted.as_deref(), Some(wanted), "{name}");
        assert_eq!(source.version.as_deref(), version, "{name}");
        match (failure, &source.failure) {
            (Some(words), Some(told)) => assert!(told.contains(words), "{name}: {told}"),
            (wanted, told) => assert_eq!((wanted, told), (None, &None), "{name}"),
        }
    }
    // What is said of the spec before isn't said of this one.
    let mut object = recorded("source-chart-moved");
    object["metadata"]["generation"] = json!(3);
    let source = flux::source(&object);
    assert_eq!(source.failure, None);
    // A digest is no version, and tags have no `+`.
    for (revision, version) in [
        ("sha256:abc", None),
        ("latest@sha256:abc", None),
        ("0.2.1_build.1@sha256:abc", Some("0.2.1+build.1")),
    ] {
        object["status"]["artifact"]["revision"] = json!(revision);
        assert_eq!(
            flux::source(&object).version.as_deref(),
            version,
            "{revision}"
        );
    }
}

#[test]
fn the_source_of_a_helm_release_is_named() {
    let name = |object: &Value| {
        let source = flux::chart_source(object)?;
        Some(format!(
            "{} {}/{}",
            source.kind, source.namespace, source.name
        ))
    };
    let mut by_reference = release(None, &[], &json!({}));
    assert_eq!(
        name(&by_reference).as_deref(),
        Some("OCIRepository flux-system/haptic")
    );
    by_reference["spec"]["chartRef"]["namespace"] = json!("charts");
    assert_eq!(
        name(&by_reference).as_deref(),
        Some("OCIRepository charts/haptic")
    );
    let made = json!({ "helmChart": "flux-system/flux-system-haptic" });
    let made = release(Some("0.2.1"), &[], &made);
    assert_eq!(
        name(&made).as_deref(),
        Some("HelmChart flux-system/flux-system-haptic")
    );
    assert_eq!(name(&release(Some("0.2.1"), &[], &json!({}))), None);
}

/// A HelmRelease of generation 4 with these conditions, told of that generation.
pub fn release(
    version: Option<&str>,
    conditions: &[(&str, &str, &str, &str)],
    status: &Value,
) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, reason, message)| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": "2026-08-20T10:00:00Z", "observedGeneration": 4,
            })
        })
        .collect();
    let spec = match version {
        Some(version) => json!({ "chart": { "spec": { "chart": "haptic", "version": version } } }),
        None => json!({ "chartRef": { "kind": "OCIRepository", "name": "haptic" } }),
    };
    let mut object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": { "name": "haptic", "namespace": "flux-system", "generation": 4 },
        "spec": spec,
        "status": { "observedGeneration": 4, "lastAttemptedGeneration": 4, "conditions": conditions },
    });
    for (key, value) in status.as_object().expect("a map") {
        object["status"][key] = value.clone();
    }
    object
}

pub const FAILED_HOOK: &str = "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: pre-upgrade hooks failed: failed early due to stalled resources: [Job/haptic/haptic-haptic-pre-rollout status: 'Failed']";
pub const FAILED_CRDS: &str = "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: pre-upgrade hooks failed: 1 error occurred:\n\t* job haptic-haptic-crd-upgrade failed: BackoffLimitExceeded";

pub fn failed(message: &str) -> [(&str, &str, &str, &str); 2] {
    [
        ("Ready", "False", "UpgradeFailed", message),
        ("Released", "False", "UpgradeFailed", message),
    ]
}

/// What is left after 0.2.1 failed over 0.2.0.
pub fn after(version: &str) -> Value {
    json!({
        "lastAttemptedRevision": version, "failures": 1, "upgradeFailures": 1,
        "history": [
            { "chartVersion": version, "status": "failed", "version": 2 },
            { "chartVersion": "0.2.0", "status": "deployed", "version": 1 },
        ],
    })
}

#[test]
fn a_helm_release_is_read() {
    let with = |reason: &'static str, message: &'static str| [("Ready", "False", reason, message)];
    let up = [
        (
            "Ready",
            "True",
            "UpgradeSucceeded",
            "Helm upgrade succeeded for release haptic/haptic.v2 with chart haptic@0.2.1",
        ),
        (
            "Released",
            "True",
            "UpgradeSucceeded",
            "Helm upgrade succeeded",
        ),
    ];
    let live = json!({
        "lastAttemptedRevision": "0.2.1",
        "history": [{ "chartVersion": "0.2.1", "status": "deployed" }, { "chartVersion": "0.2.0", "status": "superseded" }],
    });
    let rejected = after("0.2.1");
    let retrying = [
        ("Reconciling", "True", "ProgressingWithRetry", FAILED_HOOK),
        failed(FAILED_HOOK)[0],
        failed(FAILED_HOOK)[1],
    ];
    let running = [
        (
            "Reconciling",
            "True",
            "Progressing",
            "Running 'upgrade' action with timeout of 15m0s",
        ),
        (
            "Ready",
            "Unknown",
            "Progressing",
            "Running 'upgrade' action with timeout of 15m0s",
        ),
        ("Released", "False", "UpgradeFailed", FAILED_HOOK),
    ];
    let rolled_back = [
        (
            "Ready",
            "False",
            "RollbackSucceeded",
            "Helm rollback to previous release haptic/haptic.v1 with chart haptic@0.2.0 succeeded",
        ),
        (
            "Remediated",
            "True",
            "RollbackSucceeded",
            "Helm rollback to previous release haptic/haptic.v1 with chart haptic@0.2.0 succeeded",
        ),
        ("Released", "False", "UpgradeFailed", FAILED_HOOK),
    ];
    let tried = [Some("0.2.1"), Some("0.2.1"), Some("0.2.0")];
    let untried = [None, Some("0.2.1"), Some("0.2.0")];
    let progressing = |retries| Phase::Progressing { retries };
    let cases: Vec<(&str, Value, Phase, Versions<'_>, &[&str])> = vec![
        (
            "live",
            release(Some("0.2.1"), &up, &live),
            Phase::Live,
            [Some("0.2.1"); 3],
            &[],
        ),
        (
            "rejected",
            release(Some("0.2.1"), &failed(FAILED_HOOK), &rejected),
            Phase::HookFailed,
            tried,
            &[PRE_ROLLOUT],
        ),
        (
            "waits for its retry",
            release(Some("0.2.1"), &retrying, &rejected),
            Phase::HookFailed,
            tried,
            &[PRE_ROLLOUT],
        ),
        (
            "retries",
            release(Some("0.2.1"), &running, &rejected),
            progressing(1),
            tried,
            &[PRE_ROLLOUT],
        ),
        (
            "rolled back",
            release(Some("0.2.1"), &rolled_back, &rejected),
            Phase::HookFailed,
            tried,
            &[PRE_ROLLOUT],
        ),
        (
            "CRD Job",
            release(Some("0.2.1"), &failed(FAILED_CRDS), &rejected),
            Phase::HookFailed,
            tried,
            &[CRD_UPGRADE],
        ),
        (
            "pull",
            release(
                Some("0.2.1"),
                &with(
                    "SourceNotReady",
                    "HelmChart 'flux-system/flux-system-haptic' is not ready: invalid chart reference: failed to get chart version for remote reference: no 'haptic' chart with version matching '0.2.1' found",
                ),
                &after("0.2.0-alpha.3"),
            ),
            Phase::Failed(Failure::Pull),
            untried,
            &[],
        ),
        (
            "source missing",
            release(
                Some("0.2.1"),
                &with(
                    "ArtifactFailed",
                    "could not get Source object: helmcharts.source.toolkit.fluxcd.io \"x\" not found",
                ),
                &after("0.2.0-alpha.3"),
            ),
            Phase::Failed(Failure::Pull),
            untried,
            &[],
        ),
        (
            "source in work",
            release(
                Some("0.2.1"),
                &with(
                    "SourceNotReady",
                    "HelmChart 'flux-system/flux-system-haptic' is not ready: latest generation of object has not been reconciled",
                ),
                &json!({ "history": rejected["history"] }),
            ),
            progressing(0),
            untried,
            &[],
        ),
        (
            "depends",
            release(
                Some("0.2.1"),
                &with(
                    "DependencyNotReady",
                    "dependency 'flux-system/x' is not ready",
                ),
                &json!({ "history": rejected["history"] }),
            ),
            progressing(0),
            untried,
            &[],
        ),
        (
            "values",
            release(
                Some("0.2.1"),
                &with("ValuesError", "could not find ConfigMap 'flux-system/x'"),
                &rejected,
            ),
            Phase::Failed(Failure::Other),
            untried,
            &[],
        ),
        (
            "timeout",
            release(
                Some("0.2.1"),
                &failed(
                    "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: timeout waiting for: [Deployment/haptic/haptic-controller status: 'InProgress']",
                ),
                &rejected,
            ),
            Phase::Failed(Failure::Timeout),
            tried,
            &[],
        ),
        (
            "hook that goes on",
            release(
                Some("0.2.1"),
                &failed(
                    "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: pre-upgrade hooks failed: timeout waiting for: [Job/haptic/haptic-haptic-pre-rollout status: 'InProgress']",
                ),
                &rejected,
            ),
            Phase::Failed(Failure::Timeout),
            tried,
            &[],
        ),
        (
            "kubeVersion",
            release(
                Some("0.2.1"),
                &failed(
                    "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: chart requires kubeVersion: >=1.35.0-0 which is incompatible with Kubernetes v1.34.0",
                ),
                &rejected,
            ),
            Phase::Failed(Failure::NotRendered),
            tried,
            &[],
        ),
        (
            "CRD missing",
            release(
                Some("0.2.1"),
                &failed(
                    "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: unable to build kubernetes objects from new release manifest: resource mapping not found for name: \"self\": no matches for kind \"Issuer\" in version \"cert-manager.io/v1\" ensure CRDs are installed first",
                ),
                &rejected,
            ),
            Phase::Failed(Failure::CrdMissing),
            tried,
            &[],
        ),
        (
            "other",
            release(
                Some("0.2.1"),
                &failed(
                    "Helm upgrade failed: Service \"haptic-haproxy\" is invalid: provided port is already allocated",
                ),
                &rejected,
            ),
            Phase::Failed(Failure::Other),
            tried,
            &[],
        ),
        // The version stands in the OCIRepository.
        (
            "chartRef",
            release(None, &failed(FAILED_HOOK), &after("0.2.1+abcdef012345")),
            Phase::HookFailed,
            [Some("0.2.1"), None, Some("0.2.0")],
            &[PRE_ROLLOUT],
        ),
    ];
    for (name, object, phase, wanted, jobs) in cases {
        let state = flux::helm_release(&object);
        assert_eq!(state.phase, phase, "{name}: {state:?}");
        assert_eq!(versions(&state), wanted, "{name}");
        assert_eq!(names(&state), jobs, "{name}");
        assert!(state.is_current && !state.is_suspended, "{name}");
        assert_eq!(state.at.as_deref(), Some("2026-08-20T10:00:00Z"), "{name}");
    }
    let state = flux::helm_release(&release(
        None,
        &failed(FAILED_HOOK),
        &after("0.2.1+abcdef012345"),
    ));
    assert_eq!(state.attempted.as_deref(), Some("0.2.1"));
    assert_eq!(state.message, FAILED_HOOK);
    let namespace = Some("haptic".to_owned());
    assert_eq!(
        state.jobs,
        [JobName {
            namespace,
            name: PRE_ROLLOUT.to_owned()
        }]
    );
}

#[test]
fn what_a_helm_release_says_of_another_generation_isnt_current() {
    let object = |generation: i64, conditions: Value, status: Value| {
        let mut object = release(Some("0.2.2"), &failed(FAILED_HOOK), &after("0.2.1"));
        object["metadata"]["generation"] = json!(generation);
        for condition in object["status"]["conditions"]
            .as_array_mut()
            .expect("a list")
        {
            condition["observedGeneration"] = conditions.clone();
        }
        object["status"]["observedGeneration"] = status;
        object
    };
    // The spec has moved on.
    assert!(!flux::helm_release(&object(5, json!(4), json!(4))).is_current);
    // An attempt that is to be repeated leaves the status' generation as it was, but says which one it was of.
    assert!(flux::helm_release(&object(5, json!(5), json!(4))).is_current);
    // Without a word of the condition, the status' counts, unless nothing was tried of it.
    assert!(!flux::helm_release(&object(5, json!(null), json!(4))).is_current);
    assert!(!flux::helm_release(&object(5, json!(null), json!(5))).is_current);
    assert!(flux::helm_release(&object(4, json!(null), json!(4))).is_current);

    let mut suspended = object(5, json!(4), json!(5));
    suspended["spec"]["suspend"] = json!(true);
    let state = flux::helm_release(&suspended);
    assert!(state.is_suspended && !state.is_current);

    let up = [(
        "Ready",
        "True",
        "UpgradeSucceeded",
        "Helm upgrade succeeded",
    )];
    let mut old = release(
        Some("0.2.2"),
        &up,
        &json!({ "lastAttemptedRevision": "0.2.1" }),
    );
    old["metadata"]["generation"] = json!(5);
    assert_eq!(
        flux::helm_release(&old).phase,
        Phase::Progressing { retries: 0 }
    );
}

fn recorded_job(name: &str) -> (Value, Vec<Value>) {
    let mut both = recorded(name);
    let pods = both["pods"].take().as_array().expect("a list").clone();
    (both["job"].take(), pods)
}

fn read(name: &str) -> JobState {
    let (object, pods) = recorded_job(name);
    job(&object, &pods)
}

#[test]
fn a_recorded_job_is_read() {
    let rejected = read("job-rejected");
    assert_eq!(rejected.state, JobPhase::Rejected);
    assert_eq!(rejected.expected_version.as_deref(), Some("0.2.1"));
    assert_eq!(rejected.finished.as_deref(), Some("2026-11-30T21:31:04Z"));
    // The later of two.
    assert_eq!(
        rejected.pod.as_deref(),
        Some("haptic-haptic-pre-rollout-bn6vg")
    );
    assert_eq!(rejected.container.as_deref(), Some("preflight"));

    let crds = read("job-crd-failed");
    assert_eq!(crds.state, JobPhase::Rejected);
    assert_eq!(
        crds.expected_version.as_deref(),
        Some("0.2.31"),
        "by its label"
    );
    assert_eq!(crds.container.as_deref(), Some("crd-upgrade"));

    // The pod is deleted at the deadline, and counted as failed.
    let late = read("job-deadline");
    assert_eq!(late.state, JobPhase::TimedOut { waiting: None });
    assert_eq!(late.pod, None);
    assert_eq!(read("job-running").state, JobPhase::Running);
    let done = read("job-succeeded");
    assert_eq!((done.state, done.pod), (JobPhase::Succeeded, None));
    assert_eq!(done.finished.as_deref(), Some("2026-11-30T21:34:32Z"));
}

#[test]
fn a_job_that_failed_without_its_programs_word_is_no_rejection() {
    let (object, pods) = recorded_job("job-rejected");
    let with = |end: Value| {
        let mut pods = pods.clone();
        for pod in &mut pods {
            pod["status"]["containerStatuses"][0]["state"] = end.clone();
        }
        pods
    };
    let ended = |code: i64, reason: &str, message: &str| json!({ "terminated": { "exitCode": code, "reason": reason, "message": message } });
    let memory = with(ended(137, "OOMKilled", ""));
    assert_eq!(job(&object, &memory).state, JobPhase::OutOfMemory);
    let start = with(ended(128, "StartError", "exec: \"haptic\": not found"));
    let waiting = Some("StartError: exec: \"haptic\": not found".to_owned());
    assert_eq!(job(&object, &start).state, JobPhase::NotStarted { waiting });
    let killed = with(ended(137, "Error", ""));
    assert_eq!(
        job(&object, &killed).state,
        JobPhase::Unknown("the program was ended from outside (exit code 137)".to_owned())
    );
    let mut evicted = killed.clone();
    evicted[0]["status"]["reason"] = json!("Evicted");
    evicted[0]["status"]["message"] = json!("The node was low on resource: memory.");
    let words = "Evicted: The node was low on resource: memory.".to_owned();
    assert_eq!(job(&object, &evicted).state, JobPhase::Unknown(words));

    // One pod that came to its end is enough, and its log is the one to read.
    let mut mixed = pods.clone();
    mixed[0]["status"]["containerStatuses"][0]["state"] = ended(137, "OOMKilled", "");
    let state = job(&object, &mixed);
    assert_eq!(state.state, JobPhase::Rejected);
    assert_eq!(state.pod.as_deref(), mixed[1]["metadata"]["name"].as_str());

    // What sets up a pod, or was put beside the Job's own containers, says nothing of the release.
    let mut early = pods.clone();
    for pod in &mut early {
        pod["status"]["initContainerStatuses"] =
            json!([{ "name": "vault-agent-init", "state": ended(1, "Error", "") }]);
        pod["status"]["containerStatuses"] = json!([
            { "name": "preflight", "state": { "waiting": { "reason": "PodInitializing" } } },
        ]);
    }
    let words = "its container `vault-agent-init` ended with exit code 1 before";
    let waiting = Some(words.to_owned());
    assert_eq!(job(&object, &early).state, JobPhase::NotStarted { waiting });
    let mut beside = pods.clone();
    for pod in &mut beside {
        let statuses = pod["status"]["containerStatuses"].as_array_mut();
        let sidecar = json!({ "name": "istio-proxy", "state": ended(2, "Error", "") });
        statuses.expect("a list").insert(0, sidecar);
    }
    let state = job(&object, &beside);
    assert_eq!(state.state, JobPhase::Rejected);
    assert_eq!(state.container.as_deref(), Some("preflight"));

    // Pods that were cleaned away.
    let state = job(&object, &[]);
    assert_eq!((state.state, state.pod), (JobPhase::Rejected, None));
    let mut other = object.clone();
    for condition in other["status"]["conditions"]
        .as_array_mut()
        .expect("a list")
    {
        condition["reason"] = json!("PodFailurePolicy");
        condition["message"] = json!("a rule matched");
    }
    assert_eq!(
        job(&other, &[]).state,
        JobPhase::Unknown("PodFailurePolicy: a rule matched".to_owned())
    );
}

#[test]
fn a_job_whose_program_never_runs_says_what_it_waits_for() {
    let (running, mut pods) = recorded_job("job-running");
    let wait = |reason: &str, message: &str| json!({ "waiting": { "reason": reason, "message": message } });
    pods.retain(|pod| {
        pod["metadata"]["name"]
            .as_str()
            .expect("a name")
            .starts_with(CRD_UPGRADE)
    });
    pods[0]["status"]["phase"] = json!("Pending");
    for (reason, is_stuck) in [
        ("ImagePullBackOff", true),
        ("ErrImagePull", true),
        ("CreateContainerConfigError", true),
        ("ContainerCreating", false),
        ("PodInitializing", false),
    ] {
        pods[0]["status"]["containerStatuses"][0]["state"] = wait(reason, "why");
        let state = job(&running, &pods).state;
        let waiting = Some(format!("{reason}: why"));
        let wanted = if is_stuck {
            JobPhase::NotStarted { waiting }
        } else {
            JobPhase::Running
        };
        assert_eq!(state, wanted, "{reason}");
    }
    // No node takes it.
    let mut homeless = pods.clone();
    homeless[0]["status"] = json!({ "phase": "Pending", "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available" },
    ] });
    let waiting = Some("Unschedulable: 0/3 nodes are available".to_owned());
    assert_eq!(
        job(&running, &homeless).state,
        JobPhase::NotStarted { waiting }
    );
    let mut held = running.clone();
    held["spec"]["suspend"] = json!(true);
    let waiting = Some("the Job is suspended".to_owned());
    assert_eq!(job(&held, &[]).state, JobPhase::NotStarted { waiting });

    // The deadline came while the pod is still there.
    let (late, _) = recorded_job("job-deadline");
    let mut pod = pods[0].clone();
    pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] = late["metadata"]["name"].clone();
    pod["status"]["containerStatuses"][0]["state"] =
        wait("ImagePullBackOff", "Back-off pulling image");
    let waiting = Some("ImagePullBackOff: Back-off pulling image".to_owned());
    assert_eq!(job(&late, &[pod]).state, JobPhase::TimedOut { waiting });
}

#[test]
fn pods_of_an_earlier_job_of_the_same_name_dont_count() {
    let (mut object, mut pods) = recorded_job("job-rejected");
    object["metadata"]["uid"] = json!("second");
    for pod in &mut pods {
        pod["metadata"]["ownerReferences"] = json!([{ "kind": "Job", "uid": "first" }]);
    }
    object["status"] = json!({ "active": 1 });
    let state = job(&object, &pods);
    assert_eq!((state.state, state.pod), (JobPhase::Running, None));
    // A pod that failed while the Job goes on to try another is no verdict yet.
    pods[0]["metadata"]["ownerReferences"][0]["uid"] = json!("second");
    object["status"] = json!({ "active": 1, "failed": 1 });
    let state = job(&object, &pods);
    assert_eq!(state.state, JobPhase::Running);
    assert_eq!(state.pod.as_deref(), pods[0]["metadata"]["name"].as_str());
}

#[test]
fn the_version_of_a_job_is_read_from_its_variable_or_its_label() {
    let label = |label: &str| {
        let object = json!({ "metadata": { "labels": { "helm.sh/chart": label } } });
        job(&object, &[]).expected_version
    };
    for (text, version) in [
        ("haptic-0.2.1", Some("0.2.1")),
        ("haptic-0.2.0-alpha.3", Some("0.2.0-alpha.3")),
        ("my-chart-2-0.2.1_abcdef012345", Some("0.2.1+abcdef012345")),
        ("haptic", None),
        ("haptic-", None),
        ("haptic-main", None),
    ] {
        assert_eq!(label(text).as_deref(), version, "{text}");
    }
    let (mut object, _) = recorded_job("job-rejected");
    object["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"] =
        json!("0.2.1+abcdef012345");
    assert_eq!(
        job(&object, &[]).expected_version.as_deref(),
        Some("0.2.1+abcdef012345")
    );
}
