//! What Argo CD makes of the written repositories: Secrets first, hooks, a version that is rejected, and the way forward.

use std::collections::BTreeSet;

use haptic_scaffold::observe::{Phase, argo};
use serde_json::{Value, json};

use super::field::{Field, text, within};
use super::{EXTERNAL, certificates, first_steps, replace, scaffold};
use crate::env::TestEnv;

/// What the chart of version 0.2.3 finds wrong.
const REASON: &str = "timeout is no duration";

/// Makes an Application of the Secrets take its time, as one does that waits for a store of Secrets.
const SLOW: &str = "
apiVersion: batch/v1
kind: Job
metadata:
  name: slow
  namespace: haptic
spec:
  template:
    metadata:
      annotations:
        field.test/delay: 4s
    spec:
      restartPolicy: Never
      containers:
        - name: slow
          image: example.org/slow:1
";

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_goes_forward_after_a_version_that_is_rejected() {
    let Some((field, env)) = prepared(&["argocd", "kwok"], &argo_cluster(&EXTERNAL)) else {
        return;
    };
    let slow = "out/apps/haptic/secrets/kustomization.yaml";
    replace(
        &env,
        slow,
        "  - namespace.yaml",
        "  - namespace.yaml\n  - slow.yaml",
    );
    env.write("out/apps/haptic/secrets/slow.yaml", SLOW);
    started(&field, &env);
    synced(
        &field,
        &["haptic-root", "haptic-secrets", "haptic"],
        "0.2.2",
    );
    let secrets = application(&field, "haptic-secrets");
    let release = application(&field, "haptic");
    comes_after(&release, &secrets);
    let slow = field.get("job", "haptic", "slow").expect("asks");
    let (born, done) = (
        text(&release, "/metadata/creationTimestamp"),
        text(&slow, "/status/completionTime"),
    );
    assert!(
        !done.is_empty() && born >= done,
        "the release of {born} didn't wait for the Secrets of {done}"
    );

    let before = deployments(&field);
    pin(&field, &env, "0.2.2", "0.2.3");
    let rejected = within(150, "the sync of the rejected version fails", || {
        let found = field.get("application", "argocd", "haptic")?;
        let operation = &found["status"]["operationState"];
        let failed = operation["phase"] == "Failed";
        if failed && text(operation, "/syncResult/revisions/0") == "0.2.3" {
            return Ok(found);
        }
        Err(state(&found))
    });
    let told = argo::application(&rejected, "haptic");
    assert_eq!(
        (told.phase, told.is_current),
        (Phase::HookFailed, true),
        "{rejected}"
    );
    assert_eq!(told.attempted.as_deref(), Some("0.2.3"));
    assert_eq!(told.live.as_deref(), Some("0.2.2"));
    let hooks = jobs(&rejected, "Failed");
    assert_eq!(hooks, ["haptic-haptic-pre-rollout".to_owned()].into());
    assert_eq!(deployments(&field), before, "live objects were touched");
    // As the README has it.
    let job = "job/haptic-haptic-pre-rollout";
    let logs = field.kubectl(&["logs", job, "--namespace", "haptic"]);
    assert!(
        logs.as_ref().is_ok_and(|logs| logs.contains(REASON)),
        "{logs:?}"
    );
    let root = application(&field, "haptic-root");
    assert_ne!(
        text(&root, "/status/health/status"),
        "Healthy",
        "{}",
        state(&root)
    );

    pin(&field, &env, "0.2.3", "0.2.4");
    synced(
        &field,
        &["haptic-root", "haptic-secrets", "haptic"],
        "0.2.4",
    );
    assert!(
        deployments(&field).iter().all(|one| one.contains(":0.2.4")),
        "{:?}",
        deployments(&field)
    );
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_takes_the_certificates_from_cert_manager() {
    let flags = argo_cluster(&["--certificates", "cert-manager"]);
    let Some((field, env)) = prepared(&["argocd", "cert-manager", "kwok"], &flags) else {
        return;
    };
    started(&field, &env);
    synced(
        &field,
        &["haptic-root", "haptic-secrets", "haptic"],
        "0.2.2",
    );
    let secrets = application(&field, "haptic-secrets");
    comes_after(&application(&field, "haptic"), &secrets);
    let made = field
        .get("secret", "haptic", "haptic-webhook-tls")
        .expect("asks");
    assert!(made["data"]["ca.crt"].is_string(), "no certificate: {made}");
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_brings_up_a_cluster_of_a_fleet() {
    let mut flags = vec!["--layout", "argo-fleet", "--clusters", "in-cluster"];
    flags.extend(EXTERNAL);
    let Some((field, env)) = prepared(&["argocd", "kwok"], &flags) else {
        return;
    };
    started(&field, &env);
    let names = [
        "haptic-root",
        "haptic-in-cluster",
        "haptic-in-cluster-secrets",
        "haptic-in-cluster-release",
    ];
    synced(&field, &names, "0.2.2");
    let [_, parent, secrets, release] = names.map(|name| application(&field, name));
    assert_eq!(
        text(&parent, "/metadata/ownerReferences/0/kind"),
        "ApplicationSet"
    );
    assert_eq!(text(&parent, "/metadata/ownerReferences/0/name"), "haptic");
    comes_after(&release, &secrets);
    let objects = field.list("deployment", "haptic").expect("Deployments");
    assert!(!objects.is_empty(), "no Deployment");
    for object in objects {
        let instance = &object["metadata"]["labels"]["app.kubernetes.io/instance"];
        assert_eq!(instance, "haptic", "{object}");
    }
}

pub fn argo_cluster(more: &[&'static str]) -> Vec<&'static str> {
    let mut flags = vec!["--layout", "argo-cluster"];
    flags.extend(more);
    flags
}

/// A cluster with Argo CD and the chart in its registry, and a written repository that is not published yet.
pub fn prepared(groups: &[&str], flags: &[&str]) -> Option<(Field, TestEnv)> {
    let env = TestEnv::new();
    certificates(&env)?;
    let (field, registry) = raised(groups)?;
    scaffold(&env, &field, &registry, flags);
    Some((field, env))
}

/// A cluster with Argo CD and the chart in its registry, whose address is the second.
pub fn raised(groups: &[&str]) -> Option<(Field, String)> {
    let field = Field::up(groups, &[])?;
    let registry = format!("oci://{}/charts", field.fact("registry"));
    let mut charts = vec!["--push", registry.as_str()];
    for version in ["0.2.1", "0.2.2", "0.2.3", "0.2.4"] {
        charts.extend(["--version", version]);
    }
    let rejected = format!("0.2.3={REASON}");
    charts.extend(["--reject", rejected.as_str()]);
    field.charts(&charts)?;
    Some((field, registry))
}

/// Publishes the repository and does what its README says.
fn started(field: &Field, env: &TestEnv) {
    let [secrets, start] = first_steps(env);
    field.shell(&env.work(), &secrets);
    begun(field, env, &start);
}

/// Publishes the repository and starts it.
pub fn begun(field: &Field, env: &TestEnv, start: &str) {
    field.publish(&env.path("out"));
    begins(field, env, start);
}

/// Starts what is published, on an Argo CD without any health check of Applications.
pub fn begins(field: &Field, env: &TestEnv, start: &str) {
    let check = "resource.customizations.health.argoproj.io_Application";
    let mut settings = vec!["patch", "configmap", "argocd-cm", "--namespace=argocd"];
    let patch = json!({"data": {check: null, "test.kept": "yes"}}).to_string();
    settings.extend(["--type=merge", "--patch", &patch]);
    field.kubectl(&settings).expect("patches");
    field.shell(&env.path("out"), start);
    let settings = field.get("configmap", "argocd", "argocd-cm").expect("asks");
    let ours = text(&settings["data"], &format!("/{check}"));
    assert!(ours.starts_with("local health = "), "not ours: {ours}");
    assert_eq!(settings["data"]["test.kept"], "yes", "other keys are gone");
}

/// Waits until Applications are all synced and healthy, the last of them at this version of the chart, and all its hooks were run.
pub fn synced(field: &Field, names: &[&str], version: &str) {
    let done = settled(field, names, version);
    // The last one may end just before the next operation, which forgets it: its end is in an event, too.
    for hook in ["haptic-haptic-crd-upgrade", "haptic-haptic-pre-rollout"] {
        assert!(done.contains(hook), "{hook} has not succeeded: {done:?}");
    }
    let events = field.list("event", "haptic").expect("events");
    assert!(
        events.iter().any(|event| {
            event["reason"] == "Completed"
                && text(event, "/involvedObject/name") == "haptic-agent-renewal-bootstrap"
        }),
        "no bootstrap Job has completed"
    );
}

/// Waits like [`synced`]. Returns the hooks of that version that were seen to succeed.
pub fn settled(field: &Field, names: &[&str], version: &str) -> BTreeSet<String> {
    let mut done = BTreeSet::new();
    within(180, &format!("{version} is synced and healthy"), || {
        let mut waiting = Vec::new();
        for name in names {
            let found = field.get("application", "argocd", name)?;
            if name == names.last().expect("a name")
                && text(&found, "/status/operationState/syncResult/revisions/0") == version
            {
                done.append(&mut jobs(&found, "Succeeded"));
            }
            let state = state(&found);
            if !state.contains(": Synced, Healthy, Succeeded,") {
                waiting.push(state);
            }
            if found["status"]["sync"]["status"] == "Synced" {
                look_again(field, name)?;
            }
        }
        let release = application(field, names.last().expect("a name"));
        if waiting.is_empty() && text(&release, "/status/sync/revisions/0") == version {
            return Ok(());
        }
        Err(format!("{}\n{}", waiting.join("\n"), state(&release)))
    });
    done
}

/// An Application was made after everything of another one had been applied.
fn comes_after(later: &Value, earlier: &Value) {
    let made = text(later, "/metadata/creationTimestamp");
    let applied = text(earlier, "/status/history/0/deployedAt");
    assert!(
        !applied.is_empty() && made >= applied,
        "made at {made}, the one before was applied at {applied}"
    );
}

/// Changes the version of the release in Git and has Argo CD look at it.
fn pin(field: &Field, env: &TestEnv, from: &str, to: &str) {
    let (from, to) = (format!("\"{from}\""), format!("\"{to}\""));
    replace(env, "out/argocd/apps/haptic.yaml", &from, &to);
    field.publish(&env.path("out"));
    look_again(field, "haptic-root").expect("annotates");
}

pub fn look_again(field: &Field, name: &str) -> Result<(), String> {
    let mut arguments = vec!["annotate", "--overwrite", "--namespace=argocd"];
    arguments.extend(["application", name, "argocd.argoproj.io/refresh=normal"]);
    field.kubectl(&arguments).map(drop)
}

pub fn application(field: &Field, name: &str) -> Value {
    field.get("application", "argocd", name).expect("asks")
}

/// The Jobs that an Application's last operation ran as hooks and that ended so.
fn jobs(application: &Value, phase: &str) -> BTreeSet<String> {
    let resources = application.pointer("/status/operationState/syncResult/resources");
    let resources = resources.and_then(Value::as_array);
    let ended = resources.into_iter().flatten().filter(|resource| {
        resource["kind"] == "Job"
            && resource["hookType"].is_string()
            && resource["hookPhase"] == phase
    });
    ended.map(|job| text(job, "/name").to_owned()).collect()
}

/// The Deployments of the release: what would change if anybody touched them.
fn deployments(field: &Field) -> Vec<String> {
    let objects = field.list("deployment", "haptic").expect("Deployments");
    let shown: Vec<String> = objects
        .iter()
        .map(|object| {
            let (metadata, spec) = (&object["metadata"], &object["spec"]["template"]["spec"]);
            let images: Vec<&str> = spec["containers"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|one| text(one, "/image"))
                .collect();
            format!(
                "{} {} {} {images:?}",
                metadata["name"], metadata["generation"], metadata["resourceVersion"]
            )
        })
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    shown
}

/// Where an Application stands, in one line.
pub fn state(application: &Value) -> String {
    let status = &application["status"];
    let conditions: Vec<&str> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| text(one, "/message"))
        .collect();
    format!(
        "{}: {}, {}, {}, {}: {} {conditions:?}",
        text(application, "/metadata/name"),
        text(status, "/sync/status"),
        text(status, "/health/status"),
        text(status, "/operationState/phase"),
        text(status, "/operationState/syncResult/revisions/0"),
        text(status, "/operationState/message"),
    )
}
