//! What a cluster says of a release: the recorded words of Kubernetes and Argo CD, and those of helm-controller as `observe` has them.

use std::path::Path;

use serde_json::{Value, json};

use super::Life;
use crate::fake_cluster::FakeCluster;

/// What the Job says. The password would be one of a person who logs too much.
pub(super) const LOG: &str = "level=INFO msg=\"preflight of the release haptic\"
read: dataplane_password: hunter2x
error: the configuration is invalid: `timeout client 30y` with dataplane_password: hunter2x is no duration
";
const JOB: &str = "batch/v1/jobs";
const PODS: [&str; 2] = [
    "haptic-haptic-pre-rollout-bn6vg",
    "haptic-haptic-pre-rollout-ssdpm",
];

/// The Application of several sources was recorded under another name.
const NAME: (&str, &str) = ("\"multi\"", "\"haptic\"");

/// Who deploys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shapes {
    Flux,
    Argo,
}

/// What stands in `.haptic-scaffold.yaml` then.
pub(super) fn remembered(digest: &str) -> String {
    format!(
        "rejected:\n  - chart: haptic\n    version: 0.2.1\n    reason: \"{REASON}\"\n    date: \"2026-11-30T21:31:04Z\"\n    evidence: {digest}\n"
    )
}

const REASON: &str =
    "error: the configuration is invalid: `timeout client 30y` with dataplane_password: (hidden)";

impl Life {
    /// The pre-rollout Job of a version over 0.2.0 has failed.
    pub(super) fn cluster_rejects(&self, version: &str) {
        put_job(&self.cluster, "job-rejected", version);
        self.put_release([self.shapes.rejected(version)]);
    }

    /// In a cluster of a fleet: with Argo CD the Job is out of sight there, and its Application's word is all there is.
    pub(super) fn cluster_rejects_in(&self, cluster: &str) {
        if self.is_flux() {
            return self.cluster_rejects("0.2.1");
        }
        let mut object = self.shapes.rejected("0.2.1");
        object["metadata"]["name"] = json!(format!("haptic-{cluster}-release"));
        object["spec"]["destination"] = json!({"name": cluster, "namespace": "haptic"});
        object["status"]["sync"]["comparedTo"]["destination"] =
            object["spec"]["destination"].clone();
        self.put_release([object]);
    }

    /// What was rejected is still there at first; then the version is worked on, then it is live, and its pods come last.
    pub(super) fn cluster_goes_live(&self, version: &str) {
        put_job(&self.cluster, "job-rejected", "0.2.1");
        let shapes = self.shapes;
        self.put_release([
            shapes.rejected("0.2.1"),
            shapes.running(version),
            shapes.live(version),
        ]);
        let deployment = |new: u64| {
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "haptic-controller", "namespace": "haptic", "generation": 2,
                    "labels": {"app.kubernetes.io/instance": "haptic"}},
                "spec": {"replicas": 2},
                "status": {"observedGeneration": 2, "replicas": 2, "updatedReplicas": new,
                    "availableReplicas": 2},
            })
        };
        let both = [deployment(1), deployment(2)];
        self.cluster.put("apps/v1/deployments", both);
    }

    fn put_release(&self, states: impl IntoIterator<Item = Value>) {
        let api = match self.shapes {
            Shapes::Flux => "helm.toolkit.fluxcd.io/v2/helmreleases",
            Shapes::Argo => "argoproj.io/v1alpha1/applications",
        };
        self.cluster.put(api, states);
    }
}

/// A recorded text, with one version in place of another.
fn recorded(name: &str, replaced: &[(&str, &str)]) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cluster/{name}.json"));
    let mut text = std::fs::read_to_string(path).expect("is there");
    for (old, new) in replaced {
        text = text.replace(old, new);
    }
    serde_json::from_str(&text).expect("JSON")
}

fn put_job(cluster: &FakeCluster, name: &str, version: &str) {
    let mut all = recorded(name, &[("0.2.1", version)]);
    cluster.put(JOB, [all["job"].take()]);
    for pod in all["pods"].as_array_mut().expect("pods") {
        cluster.put("v1/pods", [pod.take()]);
    }
    for pod in PODS {
        cluster.put_log("haptic", pod, "preflight", &[LOG]);
    }
}

impl Shapes {
    fn rejected(self, version: &str) -> Value {
        match self {
            Self::Argo => recorded("app-sources-rejected", &[NAME, ("0.2.1", version)]),
            Self::Flux => {
                let said = format!(
                    "Helm upgrade failed for release haptic/haptic with chart haptic@{version}: pre-upgrade hooks failed: failed early due to stalled resources: [Job/haptic/haptic-haptic-pre-rollout status: 'Failed']"
                );
                helm_release(
                    version,
                    &[
                        ("Ready", "False", "UpgradeFailed", &said),
                        ("Released", "False", "UpgradeFailed", &said),
                    ],
                    &json!({
                        "lastAttemptedRevision": version, "failures": 1, "upgradeFailures": 1,
                        "history": [
                            {"chartVersion": version, "status": "failed", "version": 2},
                            {"chartVersion": "0.2.0", "status": "deployed", "version": 1},
                        ],
                    }),
                )
            }
        }
    }

    fn running(self, version: &str) -> Value {
        match self {
            Self::Argo => {
                let replaced = [("0.2.2", "0.2.0"), ("0.2.33", version)];
                recorded("app-running", &replaced)
            }
            Self::Flux => {
                let said = "Running 'upgrade' action with timeout of 15m0s";
                helm_release(
                    version,
                    &[
                        ("Reconciling", "True", "Progressing", said),
                        ("Ready", "Unknown", "Progressing", said),
                    ],
                    &json!({
                        "lastAttemptedRevision": version,
                        "history": [{"chartVersion": "0.2.0", "status": "deployed", "version": 1}],
                    }),
                )
            }
        }
    }

    fn live(self, version: &str) -> Value {
        match self {
            Self::Argo => recorded("app-sources-live", &[NAME, ("0.2.0", version)]),
            Self::Flux => {
                let said = format!(
                    "Helm upgrade succeeded for release haptic/haptic.v3 with chart haptic@{version}"
                );
                helm_release(
                    version,
                    &[
                        ("Ready", "True", "UpgradeSucceeded", &said),
                        ("Released", "True", "UpgradeSucceeded", &said),
                    ],
                    &json!({
                        "lastAttemptedRevision": version,
                        "history": [
                            {"chartVersion": version, "status": "deployed", "version": 3},
                            {"chartVersion": "0.2.0", "status": "superseded", "version": 1},
                        ],
                    }),
                )
            }
        }
    }
}

/// A HelmRelease of generation 4, and what it says of that.
fn helm_release(version: &str, conditions: &[(&str, &str, &str, &str)], status: &Value) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, reason, message)| {
            json!({"type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": "2026-11-30T21:31:05Z", "observedGeneration": 4})
        })
        .collect();
    let mut object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "haptic", "namespace": "flux-system", "generation": 4},
        "spec": {"chart": {"spec": {"chart": "haptic", "version": version}}},
        "status": {"observedGeneration": 4, "lastAttemptedGeneration": 4, "conditions": conditions},
    });
    for (key, value) in status.as_object().expect("a map") {
        object["status"][key] = value.clone();
    }
    object
}
