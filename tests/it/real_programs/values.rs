//! The values that the product writes, rendered with every version of the stand-in for the HAPTIC chart.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haptic_scaffold::haptic::names::Names;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::chart::{Charts, Inputs, REFUSED, inputs, names_of};
use super::{Golden, assert_none, at, documents};
use crate::env::TestEnv;
use crate::golden;

/// The Secret that the guide has for the credentials of release haptic.
const CREDENTIALS: &str = "haptic-gitops-credentials";

/// The CA of the cases that take certificates from the folder `keys`.
const KEYS_CA: &str = include_str!("../../golden/keys/webhook-ca.crt");

/// 0.4 and 0.5 carry the schema of the real chart, so that rendering those is the check against it.
///
/// No object may differ from one rendering to the next, none excepted: that is what the values are for.
#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn all_values_render_with_every_version_and_twice_the_same() {
    let Some(charts) = Charts::new() else { return };
    let Some(inputs) = inputs(&charts.env) else {
        return;
    };
    let mut wrong = Vec::new();
    for (of, places) in &inputs {
        for version in charts.versions() {
            let first = charts.render(version, of, &[]);
            let faults = match &first {
                Err(why) => vec![why.clone()],
                Ok(yaml) => faults_of(of, &documents(yaml)),
            };
            wrong.extend(
                faults
                    .iter()
                    .map(|why| format!("{version}: {why}: {places}")),
            );
            if charts.render(version, of, &[]) != first {
                wrong.push(format!(
                    "{version} differs from rendering to rendering: {places}"
                ));
            }
        }
    }
    assert!(
        inputs.len() >= 4,
        "both certificate sources, with and without a cluster's own"
    );
    assert_none(&wrong);
}

fn faults_of(of: &Inputs, objects: &[Value]) -> Vec<String> {
    let mut wrong = faults_of_names(of, objects);
    wrong.extend(faults_of_credentials(of, objects));
    let webhooks = objects
        .iter()
        .filter(|o| o["kind"] == "ValidatingWebhookConfiguration");
    for webhook in webhooks {
        let bundle = at(webhook, "/webhooks/0/clientConfig/caBundle");
        let annotations = &webhook["metadata"]["annotations"];
        let injected = annotations["cert-manager.io/inject-ca-from"].is_string();
        let right = match of.certificates.as_str() {
            "external" => {
                [golden::CA, KEYS_CA]
                    .iter()
                    .any(|ca| bundle == STANDARD.encode(ca))
                    && !injected
            }
            _ => bundle.is_empty() && injected,
        };
        if !right {
            wrong.push(format!("the CA of the webhook: {webhook}"));
        }
    }
    wrong
}

fn faults_of_names(of: &Inputs, objects: &[Value]) -> Vec<String> {
    let names = Names::of(&of.release, &of.namespace);
    let jobs = [
        &names.pre_rollout_job,
        &names.crd_upgrade_job,
        &names.agent_bootstrap_job,
    ];
    let deployments = [&names.controller_deployment, &names.haproxy_deployment];
    let wanted = [
        ("Job", BTreeSet::from(jobs.map(String::as_str))),
        (
            "Deployment",
            BTreeSet::from(deployments.map(String::as_str)),
        ),
        (
            "CronJob",
            BTreeSet::from([names.agent_renewal_cronjob.as_str()]),
        ),
        (
            "ValidatingWebhookConfiguration",
            BTreeSet::from([names.scoped.as_str()]),
        ),
    ];
    let mut wrong = Vec::new();
    for (kind, wanted) in wanted {
        let got = names_of(objects, kind);
        if got != wanted {
            wrong.push(format!("{kind} is called {got:?}, not {wanted:?}"));
        }
    }
    let webhook = objects
        .iter()
        .find(|o| o["kind"] == "ValidatingWebhookConfiguration");
    let client = webhook.map(|webhook| &webhook["webhooks"][0]["clientConfig"]["service"]);
    let named = client.map(|client| (at(client, "/name"), at(client, "/namespace")));
    let served = names_of(objects, "Service").contains(names.webhook_service.as_str());
    if named != Some((&names.webhook_service, &names.namespace)) || !served {
        wrong.push(format!(
            "the webhook calls {named:?}, not {}",
            names.webhook_host
        ));
    }
    wrong
}

fn faults_of_credentials(of: &Inputs, objects: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    // The only Secret: it holds the values, and no password among them.
    let values = Names::of(&of.release, &of.namespace).pre_rollout_values_secret;
    let secrets = names_of(objects, "Secret");
    if secrets != BTreeSet::from([values.as_str()]) {
        wrong.push(format!("Secrets are rendered: {secrets:?}"));
    }
    for secret in objects.iter().filter(|object| object["kind"] == "Secret") {
        let data = STANDARD
            .decode(at(secret, "/data/values.yaml"))
            .unwrap_or_default();
        let values = documents(&String::from_utf8_lossy(&data))
            .pop()
            .unwrap_or_default();
        if values.pointer("/credentials/dataplane/password") != Some(&Value::from("")) {
            wrong.push(format!("a password: {}", values["credentials"]));
        }
    }
    let digest: String = Sha256::digest(CREDENTIALS)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    for object in objects {
        let wanted = match at(object, "/kind") {
            // The pods are replaced when the Secret's name changes, not its content.
            "Deployment" => (
                "/spec/template/metadata/annotations/checksum~1credentials",
                &*digest,
            ),
            "HAProxyTemplateConfig" => ("/spec/credentialsSecretRef/name", CREDENTIALS),
            _ => continue,
        };
        if at(object, wanted.0) != wanted.1 {
            wrong.push(format!(
                "{} takes other credentials",
                super::identity(object)
            ));
        }
    }
    wrong
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn an_unknown_key_is_refused_by_the_versions_with_a_schema() {
    let Some(charts) = Charts::new() else { return };
    let Some(inputs) = inputs(&charts.env) else {
        return;
    };
    for (of, places) in &inputs {
        for version in ["0.4.1", "0.5.0"] {
            let invented = ["--set", "controller.webhook.inventedField=x"];
            let why = charts.render(version, of, &invented).err();
            let refused = why.is_some_and(|why| why.contains("'inventedField' not allowed"));
            assert!(refused, "{version}: {places}");
        }
    }
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn charts_refuse_a_kubernetes_that_is_too_old_for_them() {
    let Some(charts) = Charts::new() else { return };
    let Some(inputs) = inputs(&charts.env) else {
        return;
    };
    let mut wrong = Vec::new();
    for (of, places) in &inputs {
        for version in charts.versions() {
            // 1.33 for native sidecars; 0.6.0 and later ask for 1.35.
            let asks_for_more = ["0.6.0", "0.10.0"].contains(&version);
            for (kube, refused) in [("1.32.0", true), ("1.34.0", asks_for_more)] {
                let said = charts.render(version, of, &["--kube-version", kube]);
                let by_version = said
                    .as_ref()
                    .is_err_and(|why| why.contains("requires kubeVersion"));
                if by_version != refused || said.is_err() != refused {
                    wrong.push(format!("{version} on {kube}: {said:?}: {places}"));
                }
            }
        }
    }
    assert_none(&wrong);
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn names_are_the_charts_for_other_releases_too() {
    let Some(charts) = Charts::new() else { return };
    let Some(inputs) = inputs(&charts.env) else {
        return;
    };
    let releases = [
        ("edge", "ingress"),
        ("haptic-team-b", "haptic-team-b"),
        ("my-haptic", "default"),
        // 51 characters of fullname and namespace, the most that the product takes.
        ("haptic-production-eu-central", "ingress-production-euc"),
    ];
    let mut wrong = Vec::new();
    for (release, namespace) in releases {
        assert_eq!(Names::of(release, namespace).too_long(), None, "{release}");
        for (given, _) in &inputs {
            let of = Inputs {
                release: release.to_owned(),
                namespace: namespace.to_owned(),
                certificates: given.certificates.clone(),
                values: given.values.clone(),
            };
            match charts.render("0.2.2", &of, &[]) {
                Ok(yaml) => wrong.extend(faults_of_names(&of, &documents(&yaml))),
                Err(why) => wrong.push(format!("{release} in {namespace}: {why}")),
            }
        }
    }
    assert_none(&wrong);
}

/// They would ignore the Secret's name and make up a password.
#[test]
fn init_refuses_the_versions_that_ignore_the_values() {
    for golden in Golden::all().iter().filter(|golden| golden.is_haptic()) {
        for version in REFUSED {
            let env = TestEnv::new();
            golden::given(&env);
            let mut arguments = vec!["init", "out"];
            let flags = golden.flags.iter().map(String::as_str);
            arguments.extend(flags.map(|flag| {
                if flag == golden.version() {
                    version
                } else {
                    flag
                }
            }));
            let refused = env.expect(3, &arguments);
            assert!(
                refused.stderr.contains(version),
                "{}: {}",
                golden.name,
                refused.stderr
            );
            assert!(
                !env.path("out").exists(),
                "{}: something is written",
                golden.name
            );
        }
    }
}
