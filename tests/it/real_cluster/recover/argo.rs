//! The life of a release under Argo CD.

use serde_json::json;

use super::super::argo::{application, argo_cluster, begins, look_again, settled, state};
use super::super::field::{Field, text, within};
use super::shelf::{Place, Shelf};
use super::{C, Controller, D, E, Life, Live, REASON};
use crate::env::TestEnv;
use crate::real_registries::distribution::LOGIN;

const NAMES: [&str; 3] = ["haptic-root", "haptic-secrets", "haptic"];

/// What the check of the version finds that was to be the way out.
const REASON_AGAIN: &str = "preflight: unknown directive in the map of hosts";

struct ArgoCd;

impl Controller for ArgoCd {
    fn is_live(&self, field: &Field, version: &str) {
        settled(field, &NAMES, version);
    }

    fn has_rejected(&self, field: &Field, version: &str) {
        within(150, &format!("the sync of {version} fails"), || {
            let found = field.get("application", "argocd", "haptic")?;
            let operation = &found["status"]["operationState"];
            let revision = text(operation, "/syncResult/revisions/0");
            if operation["phase"] == "Failed" && revision == version {
                return Ok(());
            }
            Err(state(&found))
        });
    }

    fn looks(&self, field: &Field) {
        look_again(field, "haptic-root").expect("annotates");
    }

    /// A hard refresh, which finds nothing, and a sync all the same.
    fn repeats(&self, field: &Field) {
        let part = |pointer: &str| text(&application(field, "haptic"), pointer).to_owned();
        let before = part("/status/reconciledAt");
        let mut arguments = vec!["annotate", "--overwrite", "--namespace=argocd"];
        arguments.extend(["application/haptic", "argocd.argoproj.io/refresh=hard"]);
        field.kubectl(&arguments).expect("annotates");
        within(60, "the hard refresh is done", || {
            let now = part("/status/reconciledAt");
            let waits = field.get("application", "argocd", "haptic")?["metadata"]["annotations"]
                ["argocd.argoproj.io/refresh"]
                .is_string();
            match now == before || waits {
                true => Err(now),
                false => Ok(()),
            }
        });
        let found = application(field, "haptic");
        assert!(
            state(&found).contains(": Synced, Healthy,"),
            "{}",
            state(&found)
        );

        let before = part("/status/operationState/finishedAt");
        let sync = json!({"operation": {"initiatedBy": {"username": "test"},
            "sync": {"prune": true, "syncOptions": ["ServerSideApply=true"]}}});
        let sync = sync.to_string();
        let mut arguments = vec!["patch", "application/haptic", "--namespace=argocd"];
        arguments.extend(["--type=merge", "--patch", &sync]);
        // Argo CD counts a time in seconds.
        std::thread::sleep(std::time::Duration::from_secs(1));
        field.kubectl(&arguments).expect("patches");
        within(90, "the repeated sync has succeeded", || {
            let found = application(field, "haptic");
            let finished = text(&found, "/status/operationState/finishedAt");
            let done = !finished.is_empty() && finished != before;
            if done && state(&found).contains(": Synced, Healthy, Succeeded,") {
                return Ok(());
            }
            Err(state(&found))
        });
    }
}

/// The check is tried once, so that two rejections don't take too long.
fn once(env: &TestEnv, _: &Shelf<'_>) {
    let path = "out/apps/haptic/values.yaml";
    let values = env.read(path);
    assert!(!values.contains("preRolloutValidation:"), "{values}");
    env.write(
        path,
        &format!("{values}\npreRolloutValidation:\n  backoffLimit: 0\n"),
    );
}

/// What Argo CD has to know of a registry of this machine that wants a login.
fn repository(field: &Field, shelf: &Shelf<'_>) {
    let (host, _) = shelf.registry().expect("a registry");
    let (user, password) = LOGIN;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "charts", "namespace": "argocd",
            "labels": {"argocd.argoproj.io/secret-type": "repository"}},
        "stringData": {"type": "helm", "name": "charts", "url": format!("{host}/charts"),
            "enableOCI": "true", "insecureOCIForceHttp": "true",
            "username": user, "password": password},
    });
    let apply = ["apply", "--filename=-"];
    field
        .kubectl_with(&apply, &secret.to_string())
        .expect("a Secret");
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_goes_forward_again_when_the_way_out_is_rejected_too() {
    let Some(field) = Field::up(&["argocd", "cert-manager", "kwok"], &[]) else {
        return;
    };
    let flags = argo_cluster(&["--certificates", "cert-manager"]);
    let Some(mut life) = Life::prepared(&field, &ArgoCd, Place::Login, &flags, once) else {
        return;
    };
    repository(&field, &life.shelf);
    begins(&field, &life.env, &life.start());
    life.goes_wrong();
    let before = Live::of(&field);

    life.shelf.publish(D, Some(REASON_AGAIN));
    life.recovered(C, D, REASON);
    let said = life.watched(10);
    let all = format!("{}{}", said.stdout, said.stderr);
    assert!(all.contains(D) && all.contains(REASON_AGAIN), "{all}");
    life.controller.has_rejected(&field, D);
    Live::of(&field).is(&before, "a second rejection");

    life.shelf.publish(E, None);
    life.recovered(D, E, REASON_AGAIN);
    life.ended(E, &before, &[C, D]);
}
