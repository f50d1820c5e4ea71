//! What Flux makes of the written repositories: nothing of the release as long as a Secret lacks a key, then all of it.

use serde_json::Value;

use super::field::{Field, stays, text, within};
use super::{EXTERNAL, certificates, first_steps, paragraph, replace, scaffold};
use crate::env::TestEnv;

/// A key alone, and no keys at all. The check of a Secret that has no `data` is an error to Flux, which must not end the wait.
const INCOMPLETE: [(&str, &[&str]); 3] = [
    (
        "haptic-gitops-credentials",
        &["--from-literal=dataplane_username=admin"],
    ),
    ("haptic-gitops-webhook", &[]),
    ("haptic-gitops-frontend", &[]),
];

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_installs_the_release_once_every_secret_is_complete() {
    let mut flags = vec!["--layout", "flux-cluster", "--sync", "own"];
    flags.extend(EXTERNAL);
    let Some((field, env)) = prepared(&["flux", "kwok"], &flags) else {
        return;
    };
    field.publish(&env.path("out"));
    let [secrets, start] = first_steps(&env);
    field.shell(&env.path("out"), &start);
    let release = waits_for_complete_secrets(&field, &env, &secrets, "haptic-gitops-credentials");
    assert_eq!(text(&release, "/spec/chart/spec/version"), "0.2.2");
    is_as_written(&field, &release, &[""]);
    becomes_ready(&field);
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_installs_the_version_of_its_own_cluster() {
    let mut flags = vec!["--layout", "flux-fleet", "--sync", "own"];
    flags.extend(["--clusters", "staging,production"]);
    flags.extend(EXTERNAL);
    let Some((field, env)) = prepared(&["flux", "kwok"], &flags) else {
        return;
    };
    let pin = "out/apps/haptic/staging/release/pin.yaml";
    replace(&env, pin, "\"0.2.2\"", "\"0.2.1\"");
    field.publish(&env.path("out"));
    let [secrets, start] = first_steps(&env);
    let staging = start
        .lines()
        .find(|line| line.contains("clusters/staging/"))
        .expect("a command for staging");
    field.shell(&env.path("out"), staging);
    let release = waits_for_complete_secrets(&field, &env, &secrets, "haptic-gitops-frontend");
    assert_eq!(text(&release, "/spec/chart/spec/version"), "0.2.1");
    is_as_written(&field, &release, &["", "cluster.yaml"]);
    becomes_ready(&field);
}

/// A cluster with Flux and a filled Helm repository, and a written repository that is not published yet.
pub fn prepared(groups: &[&str], flags: &[&str]) -> Option<(Field, TestEnv)> {
    let env = TestEnv::new();
    certificates(&env)?;
    let field = raised(groups)?;
    scaffold(&env, &field, field.fact("charts"), flags);
    Some((field, env))
}

/// A cluster with Flux and a filled Helm repository.
pub fn raised(groups: &[&str]) -> Option<Field> {
    let field = Field::up(groups, &[])?;
    field.charts(&["--version", "0.2.1", "--version", "0.2.2"])?;
    Some(field)
}

/// Commits what has changed and waits until Flux has applied it.
pub fn publish(field: &Field, env: &TestEnv) {
    let applied = || {
        let secrets = field.get("kustomization", "flux-system", "haptic-secrets")?;
        Ok::<_, String>(text(&secrets, "/status/lastAppliedRevision").to_owned())
    };
    let before = applied().expect("asks");
    send(field, env);
    within(60, "the new commit is applied", || {
        let now = applied()?;
        if now == before {
            return Err(now);
        }
        ready(field, "haptic-secrets")
    });
}

/// Commits what has changed and has Flux look at it.
pub fn send(field: &Field, env: &TestEnv) {
    field.publish(&env.path("out"));
    let requested = "reconcile.fluxcd.io/requestedAt";
    field.annotate("gitrepository", "flux-system", "haptic-sync", &[requested]);
}

/// Makes the Secrets, incomplete ones first, the last one complete at the end. Returns the HelmRelease.
///
/// Flux reads them one after the other every five seconds and is content when each one's last reading was good. So one that is made
/// worse just when the last of the others is mended may be overlooked: here a Secret is only ever made better.
fn waits_for_complete_secrets(field: &Field, env: &TestEnv, commands: &str, last: &str) -> Value {
    let complete = |secret| {
        let arguments = ["delete", "secret", secret, "--namespace=haptic"];
        field.kubectl(&arguments).expect("deletes");
        field.shell(&env.work(), paragraph(commands, secret));
    };
    within(60, "the root Kustomization is ready", || {
        ready(field, "haptic-sync")
    });
    within(30, "the Secrets are looked for", || {
        let secrets = field.get("kustomization", "flux-system", "haptic-secrets")?;
        let said = condition(&secrets, "Reconciling");
        if said.contains("Running health checks") {
            return Ok(());
        }
        Err(said)
    });
    holds_back(field, 3, "nothing happens without Secrets");
    for (secret, more) in INCOMPLETE {
        let mut arguments = vec!["create", "secret", "generic", secret, "--namespace=haptic"];
        arguments.extend(more);
        field.kubectl(&arguments).expect("a Secret");
    }
    holds_back(field, 8, "nothing happens while no Secret is complete");
    for (secret, _) in INCOMPLETE.iter().filter(|(secret, _)| *secret != last) {
        complete(secret);
    }
    holds_back(field, 8, &format!("nothing happens without {last}"));
    complete(last);
    comes_after_secrets(field)
}

/// Waits for the Secrets and for what comes after them. Returns the HelmRelease, which is not older than any Secret.
pub fn comes_after_secrets(field: &Field) -> Value {
    within(60, "haptic-secrets is ready", || {
        ready(field, "haptic-secrets")
    });
    let release = within(30, "there is a HelmRelease", || {
        match field.get("helmrelease", "flux-system", "haptic")? {
            Value::Null => Err(ready(field, "haptic").err().unwrap_or_default()),
            release => Ok(release),
        }
    });
    let born = text(&release, "/metadata/creationTimestamp");
    for secret in field.list("secret", "haptic").expect("Secrets") {
        let made = text(&secret, "/metadata/creationTimestamp");
        assert!(
            !made.is_empty() && born >= made,
            "the release is of {born}: {secret}"
        );
    }
    release
}

/// For so long there is no release, and what waits for the Secrets is neither ready nor given up.
fn holds_back(field: &Field, seconds: u64, when: &str) {
    stays(seconds, when, || {
        let releases = field.list("helmrelease", "flux-system")?;
        let secrets = field.get("kustomization", "flux-system", "haptic-secrets")?;
        let (said, stalled) = (condition(&secrets, "Ready"), condition(&secrets, "Stalled"));
        if !releases.is_empty() || !said.starts_with("Unknown") || !stalled.is_empty() {
            return Err(format!("{} releases; {said}; {stalled}", releases.len()));
        }
        Ok(())
    });
}

/// The names in the cluster, and the values: ConfigMaps by their full names, with the keys that are asked of them in this order.
fn is_as_written(field: &Field, release: &Value, keys: &[&str]) {
    let spec = &release["spec"];
    for name in ["releaseName", "targetNamespace", "storageNamespace"] {
        assert_eq!(spec[name], "haptic", "{spec}");
    }
    assert_eq!(text(spec, "/chart/spec/sourceRef/kind"), "HelmRepository");
    for step in ["install", "upgrade"] {
        let strategy = spec[step]["strategy"]["name"].as_str();
        assert_eq!(strategy, Some("RetryOnFailure"), "{spec}");
    }
    let values = spec["valuesFrom"].as_array().expect("valuesFrom");
    assert_eq!(values.len(), keys.len(), "{spec}");
    for (from, key) in values.iter().zip(keys) {
        assert_eq!(text(from, "/valuesKey"), *key, "{spec}");
        let name = text(from, "/name");
        assert!(name.starts_with("haptic-values-"), "no hash: {name}");
        let map = field.get("configmap", "flux-system", name).expect("asks");
        let key = if key.is_empty() { "values.yaml" } else { key };
        assert!(map["data"][key].is_string(), "no {key} in {name}: {map}");
    }
    within(30, "the Helm repository is read", || {
        let source = field.get("helmrepository", "flux-system", "haptic")?;
        is_ready(&source)
    });
}

/// The release itself, where there is a controller for it.
fn becomes_ready(field: &Field) {
    if field.runs("helm-controller") {
        within(120, "the release is ready", || ready(field, "haptic"));
    }
}

pub fn ready(field: &Field, kustomization: &str) -> Result<(), String> {
    is_ready(&field.get("kustomization", "flux-system", kustomization)?)
}

fn is_ready(object: &Value) -> Result<(), String> {
    let said = condition(object, "Ready");
    if said.starts_with("True") {
        return Ok(());
    }
    Err(format!("Ready: {said}"))
}

/// A condition's status, reason and message; empty where the object or the condition isn't there.
pub fn condition(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|one| one["type"] == kind));
    found.map_or_else(String::new, |one| {
        let part = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", part("status"), part("reason"), part("message"))
    })
}
