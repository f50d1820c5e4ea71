//! The life of a release under Flux.

use serde_json::json;

use super::super::field::{Field, text, within};
use super::super::flux::{condition, ready};
use super::super::played_helm::{FORCED, PlayedHelm, REQUESTED};
use super::super::replace;
use super::super::secrets::TRIAL;
use super::shelf::{Place, Shelf};
use super::{Controller, Life};
use crate::env::TestEnv;
use crate::real_registries::distribution::LOGIN;

struct Flux;

impl Controller for Flux {
    fn is_live(&self, field: &Field, version: &str) {
        within(120, &format!("{version} is ready"), || {
            let release = field.get("helmrelease", "flux-system", "haptic")?;
            let said = condition(&release, "Ready");
            let pinned = text(&release, "/spec/chart/spec/version");
            let tried = text(&release, "/status/lastAttemptedRevision");
            let is_current =
                release["status"]["observedGeneration"] == release["metadata"]["generation"];
            if said.starts_with("True") && is_current && [pinned, tried] == [version; 2] {
                return ready(field, "haptic");
            }
            Err(format!("{pinned}, {tried}: {said}"))
        });
    }

    fn has_rejected(&self, field: &Field, version: &str) {
        within(120, &format!("{version} has failed"), || {
            let release = field.get("helmrelease", "flux-system", "haptic")?;
            let said = condition(&release, "Released");
            let tried = text(&release, "/status/lastAttemptedRevision");
            if said.starts_with("False UpgradeFailed") && tried == version {
                let job = "[Job/haptic/haptic-haptic-pre-rollout status: 'Failed']";
                assert!(said.contains(job), "another failure: {said}");
                return Ok(());
            }
            Err(format!("{tried}: {said}"))
        });
    }

    /// Git, and the index of a Helm repository, which is read every ten minutes else. A registry has none.
    fn looks(&self, field: &Field) {
        let source = field.get("helmrepository", "flux-system", "haptic");
        if text(&source.expect("asks"), "/spec/type") != "oci" {
            field.annotate("helmrepository", "flux-system", "haptic", &[REQUESTED]);
        }
        field.annotate("gitrepository", "flux-system", "haptic-sync", &[REQUESTED]);
    }

    /// Everything is asked to look again, which finds nothing, and the release is upgraded all the same.
    fn repeats(&self, field: &Field) {
        let look = |kind, name, annotations: &[&str]| {
            let asked = field.annotate(kind, "flux-system", name, annotations);
            within(90, &format!("{kind} {name} has looked again"), || {
                let object = field.get(kind, "flux-system", name)?;
                let handled = text(&object, "/status/lastHandledReconcileAt");
                let said = condition(&object, "Ready");
                if handled == asked && said.starts_with("True") {
                    return Ok(object);
                }
                Err(format!("{handled} of {asked}: {said}"))
            })
        };
        look("gitrepository", "haptic-sync", &[REQUESTED]);
        for name in ["haptic-sync", "haptic-secrets", "haptic"] {
            look("kustomization", name, &[REQUESTED]);
        }
        let before = look("helmrelease", "haptic", &[REQUESTED]);
        let after = look("helmrelease", "haptic", &[REQUESTED, FORCED]);
        let revision = |release: &serde_json::Value| {
            let revision = release.pointer("/status/history/0/version").cloned();
            revision
                .and_then(|revision| revision.as_i64())
                .expect("a revision")
        };
        assert_eq!(
            revision(&after),
            revision(&before) + 1,
            "no upgrade: {after}"
        );
    }
}

/// What the team writes into the chart's source for a registry of this machine, and the Secret that it names.
fn registry(env: &TestEnv, shelf: &Shelf<'_>) {
    if let Some((_, wants_login)) = shelf.registry() {
        let mut lines = "  type: oci\n  insecure: true\n".to_owned();
        if wants_login {
            lines.push_str("  secretRef:\n    name: charts\n");
        }
        let release = "out/apps/haptic/release/release.yaml";
        replace(env, release, "  type: oci\n", &lines);
    }
}

/// A life from its begin to its end, where all that it needs is there.
fn lives(groups: &[&str], place: Place, certificates: &[&str]) {
    let Some(field) = Field::up(groups, &[]) else {
        return;
    };
    let mut flags = vec!["--layout", "flux-cluster", "--sync", "own"];
    flags.extend(certificates);
    let Some(_player) = PlayedHelm::start(&field) else {
        return;
    };
    let Some(mut life) = Life::prepared(&field, &Flux, place, &flags, registry) else {
        return;
    };
    if let Some((_, true)) = life.shelf.registry() {
        let (user, password) = LOGIN;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "charts", "namespace": "flux-system"},
            "stringData": {"username": user, "password": password},
        });
        let apply = ["apply", "--filename=-"];
        field
            .kubectl_with(&apply, &secret.to_string())
            .expect("a Secret");
    }
    field.shell(&life.env.path("out"), &life.start());
    life.lived();
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_goes_forward_from_a_helm_repository() {
    lives(&["flux", "kwok"], Place::Http, &TRIAL);
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_goes_forward_from_a_registry_with_a_login() {
    lives(&["flux", "kwok"], Place::Login, &TRIAL);
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_goes_forward_from_a_registry() {
    let certificates = ["--certificates", "cert-manager"];
    lives(&["flux", "cert-manager", "kwok"], Place::Oci, &certificates);
}
