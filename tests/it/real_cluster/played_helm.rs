//! The part of Flux's helm-controller, played by the real helm where that controller isn't there: it asks source-controller for the
//! chart, runs Helm with its hooks, and writes conditions and history in the controller's words. It plays what an upgrade, a
//! rejection, a repeated sync and a forced one need; no uninstall, no rollback, no tests, no drift.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::field::{Field, Kubectl, text};
use crate::kit;

/// The annotation that asks to look again, and the one that asks for an upgrade that nothing has changed for.
pub const REQUESTED: &str = "reconcile.fluxcd.io/requestedAt";
pub const FORCED: &str = "reconcile.fluxcd.io/forceAt";

/// The player. It ends with this value.
pub struct PlayedHelm {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PlayedHelm {
    /// Plays for a cluster that has no helm-controller; nothing is played where it has one.
    pub fn start(field: &Field) -> Option<Self> {
        let ends = Arc::new(AtomicBool::new(false));
        if field.runs("helm-controller") {
            return Some(Self { ends, thread: None });
        }
        let player = Player {
            kubectl: Kubectl::clone(field),
            helm: kit::program("helm")?,
            folder: tempfile::tempdir().expect("a folder"),
        };
        let told = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                player.looks();
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        Some(Self {
            ends,
            thread: Some(thread),
        })
    }
}

impl Drop for PlayedHelm {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "the player has failed"
            );
        }
    }
}

struct Player {
    kubectl: Kubectl,
    helm: PathBuf,
    folder: tempfile::TempDir,
}

/// What an upgrade is made of: the chart, its version, and the files of values, later ones winning.
struct Wanted {
    chart: PathBuf,
    version: String,
    values: Vec<PathBuf>,
    /// Of the values and of the chart: what is tried once only while both are the same.
    digests: [String; 2],
}

impl Player {
    fn looks(&self) {
        // Without the kind there is nothing to do yet.
        let releases = self.kubectl.list("helmrelease", "flux-system");
        for release in releases.unwrap_or_default() {
            let is_gone = release["metadata"]["deletionTimestamp"].is_string();
            if !is_gone && release["spec"]["suspend"] != true {
                self.sees_to(&release);
            }
        }
    }

    fn sees_to(&self, release: &Value) {
        let wanted = match self.wanted(release) {
            Ok(wanted) => wanted,
            Err(why) => {
                let chart = format!("HelmChart 'flux-system/{}' is not ready", chart_of(release));
                let why = format!("{chart}: {why}");
                if !says(release, "Ready", &why) {
                    let ready = condition(release, "Ready", "False", "SourceNotReady", &why);
                    let mut all = vec![ready];
                    let others = release["status"]["conditions"].as_array();
                    let others = others.into_iter().flatten();
                    all.extend(others.filter(|one| one["type"] != "Ready").cloned());
                    self.writes(release, &json!({"conditions": all}));
                }
                return;
            }
        };
        let asked = text(&release["metadata"]["annotations"], &pointer(REQUESTED));
        let forced = text(&release["metadata"]["annotations"], &pointer(FORCED));
        let status = &release["status"];
        let is_asked = !asked.is_empty() && asked != text(status, "/lastHandledReconcileAt");
        let is_forced =
            is_asked && asked == forced && forced != text(status, "/lastHandledForceAt");
        let is_seen = status["observedGeneration"] == release["metadata"]["generation"];
        let is_tried = wanted.digests
            == [
                text(status, "/lastAttemptedConfigDigest"),
                text(status, "/lastAttemptedRevisionDigest"),
            ];
        if is_tried && is_seen && !is_asked {
            return;
        }
        let mut said = json!({"observedGeneration": release["metadata"]["generation"]});
        if is_asked {
            said["lastHandledReconcileAt"] = json!(asked);
        }
        if is_forced {
            said["lastHandledForceAt"] = json!(forced);
        }
        // What has failed is tried again when it is looked at again; what is deployed isn't.
        if is_forced || !is_tried || !succeeded(release) {
            let made = self.upgrades(release, &wanted);
            for (key, value) in made.as_object().expect("an object") {
                said[key] = value.clone();
            }
        }
        self.writes(release, &said);
    }

    /// Asks source-controller for the chart; the reason where it hasn't got it.
    fn wanted(&self, release: &Value) -> Result<Wanted, String> {
        let (name, spec) = (chart_of(release), &release["spec"]["chart"]["spec"]);
        let source = json!({"kind": spec["sourceRef"]["kind"], "name": spec["sourceRef"]["name"]});
        let chart = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmChart",
            "metadata": {"name": name, "namespace": "flux-system", "labels": {
                "helm.toolkit.fluxcd.io/name": release["metadata"]["name"],
                "helm.toolkit.fluxcd.io/namespace": "flux-system"}},
            "spec": {"chart": spec["chart"], "version": spec["version"], "sourceRef": source,
                "interval": release["spec"]["interval"], "reconcileStrategy": "ChartVersion"},
        });
        let mut there = self.kubectl.get("helmchart", "flux-system", &name)?;
        if there["spec"] != chart["spec"] {
            let apply = [
                "apply",
                "--server-side",
                "--force-conflicts",
                "--filename=-",
            ];
            self.kubectl.kubectl_with(&apply, &chart.to_string())?;
            there = self.kubectl.get("helmchart", "flux-system", &name)?;
        }
        let said = super::flux::condition(&there, "Ready");
        let is_current = there["status"]["observedGeneration"] == there["metadata"]["generation"];
        if !is_current {
            return Err("latest generation of object has not been reconciled".to_owned());
        }
        if !said.starts_with("True") {
            let why = said.split_once(": ").map_or("", |(_, why)| why);
            return Err(why.to_owned());
        }
        let artifact = &there["status"]["artifact"];
        let file = self.folder.path().join("chart.tgz");
        let mut body = ureq::get(text(artifact, "/url"))
            .call()
            .map_err(|why| why.to_string())?;
        let body = body.body_mut().read_to_vec().expect("an archive");
        std::fs::write(&file, body).expect("writes");
        let values = self.values(release)?;
        let mut digest = Sha256::new();
        for file in &values {
            digest.update(std::fs::read(file).expect("reads"));
        }
        Ok(Wanted {
            chart: file,
            version: text(artifact, "/revision").to_owned(),
            values,
            digests: [
                format!("sha256:{:x}", digest.finalize()),
                text(artifact, "/digest").to_owned(),
            ],
        })
    }

    fn values(&self, release: &Value) -> Result<Vec<PathBuf>, String> {
        let mut files = Vec::new();
        let mut keep = |content: &str| {
            let file = self.folder.path().join(format!("{}.yaml", files.len()));
            std::fs::write(&file, content).expect("writes");
            files.push(file);
        };
        for from in release["spec"]["valuesFrom"]
            .as_array()
            .into_iter()
            .flatten()
        {
            assert_eq!(text(from, "/kind"), "ConfigMap", "not played: {from}");
            let name = text(from, "/name");
            let map = self.kubectl.get("configmap", "flux-system", name)?;
            let key = from["valuesKey"].as_str().unwrap_or("values.yaml");
            let value = map["data"][key].as_str();
            keep(value.ok_or_else(|| format!("no {key} in ConfigMap {name}"))?);
        }
        keep(&release["spec"]["values"].to_string());
        Ok(files)
    }

    /// Runs Helm; gives what the status says then.
    fn upgrades(&self, release: &Value, wanted: &Wanted) -> Value {
        let [action, reason, failures] = match self.history(release).is_empty() {
            true => ["install", "Install", "installFailures"],
            false => ["upgrade", "Upgrade", "upgradeFailures"],
        };
        let mut said = json!({
            "helmChart": format!("flux-system/{}", chart_of(release)),
            "storageNamespace": release["spec"]["storageNamespace"],
            "lastAttemptedGeneration": release["metadata"]["generation"],
            "lastAttemptedReleaseAction": action,
            "lastAttemptedRevision": wanted.version,
            "lastAttemptedConfigDigest": wanted.digests[0],
            "lastAttemptedRevisionDigest": wanted.digests[1],
        });
        let running = format!("Running '{action}' action with timeout of 15m0s");
        let mut during = said.clone();
        during["conditions"] = json!([
            condition(release, "Reconciling", "True", "Progressing", &running),
            condition(release, "Ready", "Unknown", "Progressing", &running),
        ]);
        self.writes(release, &during);

        let ended = self.runs_helm(release, wanted);
        let history = self.history(release);
        let (namespace, name) = place(release);
        let chart = format!("chart haptic@{}", wanted.version);
        said["conditions"] = match &ended {
            Ok(()) => {
                let revision = history.first().map_or(&Value::Null, |one| &one["version"]);
                let reason = format!("{reason}Succeeded");
                let message = format!(
                    "Helm {action} succeeded for release {namespace}/{name}.v{revision} with {chart}"
                );
                json!([
                    condition(release, "Ready", "True", &reason, &message),
                    condition(release, "Released", "True", &reason, &message),
                ])
            }
            Err(why) => {
                let reason = format!("{reason}Failed");
                let message = format!(
                    "Helm {action} failed for release {namespace}/{name} with {chart}: {why}"
                );
                json!([
                    condition(
                        release,
                        "Reconciling",
                        "True",
                        "ProgressingWithRetry",
                        "retrying after 5m0s"
                    ),
                    condition(release, "Ready", "False", &reason, &message),
                    condition(release, "Released", "False", &reason, &message),
                ])
            }
        };
        said["history"] = json!(history);
        said["failures"] = json!(i64::from(ended.is_err()));
        said[failures] = said["failures"].clone();
        said
    }

    /// The reason where it fails. A hook's Job that failed is told as Flux's Helm tells it, which is a newer one.
    fn runs_helm(&self, release: &Value, wanted: &Wanted) -> Result<(), String> {
        let (namespace, name) = place(release);
        let mut command = Command::new(&self.helm);
        command.args(["upgrade", "--install", name, "--namespace", namespace]);
        command.args(["--wait", "--timeout", "2m"]);
        command.arg(&wanted.chart);
        for file in &wanted.values {
            command.arg("--values").arg(file);
        }
        let Err(said) = self.output(&mut command) else {
            return Ok(());
        };
        let phase = [
            ("pre-install", "failed pre-install"),
            ("pre-upgrade", "pre-upgrade hooks failed"),
        ]
        .into_iter()
        .find(|(hook, _)| said.contains(hook));
        let job = said.split("* job ").nth(1);
        let job = job.and_then(|rest| rest.split(' ').next());
        Err(match (phase, job) {
            (Some((_, phase)), Some(job)) => format!(
                "{phase}: failed early due to stalled resources: [Job/{namespace}/{job} status: 'Failed']"
            ),
            _ => said,
        })
    }

    /// The releases that Helm remembers, the newest first, as the status has them.
    fn history(&self, release: &Value) -> Vec<Value> {
        let (namespace, name) = place(release);
        let mut command = Command::new(&self.helm);
        command.args([
            "list",
            "--all",
            "--output",
            "json",
            "--namespace",
            namespace,
        ]);
        let is_there = self.output(&mut command);
        if !is_there.is_ok_and(|list| list.contains(name)) {
            return Vec::new();
        }
        let mut command = Command::new(&self.helm);
        command.args([
            "history",
            name,
            "--output",
            "json",
            "--namespace",
            namespace,
        ]);
        let all: Vec<Value> = self
            .output(&mut command)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let first = all
            .first()
            .map_or("", |one| text(one, "/updated"))
            .to_owned();
        let entry = |one: &Value| {
            let (chart, version) = text(one, "/chart")
                .split_once('-')
                .expect("a chart's name and version");
            let digest = format!("sha256:{:x}", Sha256::digest(one.to_string()));
            json!({"name": name, "namespace": namespace, "version": one["revision"],
                "chartName": chart, "chartVersion": version, "appVersion": one["app_version"],
                "status": one["status"], "digest": digest, "configDigest": digest,
                "firstDeployed": first, "lastDeployed": one["updated"]})
        };
        all.iter().rev().take(5).map(entry).collect()
    }

    /// What Helm said; on standard error where it failed.
    fn output(&self, command: &mut Command) -> Result<String, String> {
        let home = self.folder.path().join("home");
        let ran = command
            .env("KUBECONFIG", self.kubectl.kubeconfig())
            .env("HELM_CACHE_HOME", &home)
            .env("HELM_CONFIG_HOME", &home)
            .env("HELM_DATA_HOME", &home)
            .output()
            .map_err(|why| why.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match ran.status.success() {
            true => Ok(said(&ran.stdout)),
            false => Err(said(&ran.stderr)),
        }
    }

    fn writes(&self, release: &Value, status: &Value) {
        let name = text(release, "/metadata/name");
        let patch = json!({"status": status}).to_string();
        let mut arguments = vec!["patch", "helmrelease", name, "--namespace=flux-system"];
        arguments.extend(["--subresource=status", "--type=merge", "--patch", &patch]);
        // The cluster may have ended.
        let _ = self.kubectl.kubectl(&arguments).is_err();
    }
}

/// Namespace and name of the Helm release, as the objects are in that namespace too.
fn place(release: &Value) -> (&str, &str) {
    let spec = &release["spec"];
    assert_eq!(
        spec["storageNamespace"], spec["targetNamespace"],
        "not played"
    );
    (text(spec, "/targetNamespace"), text(spec, "/releaseName"))
}

/// The name of the HelmChart that belongs to a HelmRelease.
fn chart_of(release: &Value) -> String {
    format!("flux-system-{}", text(release, "/metadata/name"))
}

/// The route of a key that has slashes in it.
fn pointer(key: &str) -> String {
    format!("/{}", key.replace('/', "~1"))
}

fn says(release: &Value, kind: &str, message: &str) -> bool {
    super::flux::condition(release, kind).ends_with(message)
}

fn succeeded(release: &Value) -> bool {
    super::flux::condition(release, "Ready").starts_with("True")
}

fn condition(release: &Value, kind: &str, status: &str, reason: &str, message: &str) -> Value {
    let now = OffsetDateTime::now_utc().replace_nanosecond(0);
    let now = now.expect("a second").format(&Rfc3339).expect("a time");
    json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": now, "observedGeneration": release["metadata"]["generation"]})
}
