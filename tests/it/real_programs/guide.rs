//! The guide's own objects, "Install and operate HAPTIC with GitOps", and where the product departs from them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::documents;
use crate::env::TestEnv;
use crate::golden;

const CERTIFICATES: [&str; 2] = ["external", "cert-manager"];

/// The objects of one file that `init` writes for the guide's inputs.
fn written(layout: &str, certificates: &str, form: &[&str], file: &str) -> Vec<Value> {
    let env = TestEnv::new();
    env.write("webhook-ca.pem", golden::CA);
    let mut arguments = vec!["init", "out", "--yes", "--layout", layout];
    arguments.extend(["--repo-url", golden::REPO_URL, "--chart-version", "0.2.2"]);
    arguments.extend(["--certificates", certificates]);
    if certificates == "external" {
        arguments.extend(["--webhook-ca", "webhook-ca.pem"]);
    }
    arguments.extend(form);
    env.expect(0, &arguments);
    documents(&env.read(&format!("out/{file}")))
}

fn flux(certificates: &str, form: &[&str]) -> Vec<Value> {
    let file = "apps/haptic/release/release.yaml";
    written("flux-cluster", certificates, form, file)
}

fn argo(certificates: &str, form: &[&str]) -> Vec<Value> {
    written(
        "argo-cluster",
        certificates,
        form,
        "argocd/apps/haptic.yaml",
    )
}

/// The guide's two profiles.
fn values(certificates: &str) -> Value {
    match certificates {
        "external" => json!({
            "credentials": {"existingSecret": "haptic-gitops-credentials"},
            "controller": {"webhook": {
                "secretName": "haptic-gitops-webhook",
                "caBundle": STANDARD.encode(golden::CA),
                "certManager": {"enabled": false},
            }},
            "defaultSSLCertificate": {
                "secretName": "haptic-gitops-frontend",
                "certManager": {"enabled": false},
            },
        }),
        _ => json!({
            "credentials": {"existingSecret": "haptic-gitops-credentials"},
            "controller": {"webhook": {"certManager": {"enabled": true}}},
        }),
    }
}

fn guide_flux(certificates: &str) -> Vec<Value> {
    let strategy = json!({"strategy": {"name": "RetryOnFailure", "retryInterval": "5m"}});
    vec![
        json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "OCIRepository",
            "metadata": {"name": "haptic", "namespace": "flux-system"},
            "spec": {
                "interval": "10m",
                "url": "oci://registry.gitlab.com/haproxy-haptic/haptic/charts/haptic",
                "layerSelector": {
                    "mediaType": "application/vnd.cncf.helm.chart.content.v1.tar+gzip",
                    "operation": "copy",
                },
                "ref": {"tag": "0.2.2"},
            },
        }),
        json!({
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "haptic", "namespace": "flux-system"},
            "spec": {
                "interval": "10m",
                "timeout": "15m",
                "releaseName": "haptic",
                "targetNamespace": "haptic",
                "chartRef": {"kind": "OCIRepository", "name": "haptic"},
                "install": strategy,
                "upgrade": strategy,
                "values": values(certificates),
            },
        }),
    ]
}

fn guide_argo(certificates: &str) -> Vec<Value> {
    vec![json!({
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "haptic", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "destination": {"server": "https://kubernetes.default.svc", "namespace": "haptic"},
            "source": {
                "repoURL": "registry.gitlab.com/haproxy-haptic/haptic/charts",
                "chart": "haptic",
                "targetRevision": "0.2.2",
                "helm": {"releaseName": "haptic", "valuesObject": values(certificates)},
            },
            "syncPolicy": {
                "automated": {"enabled": true, "prune": true, "selfHeal": true},
                "retry": {"limit": 1},
                "syncOptions": ["ServerSideApply=true", "DisableClientSideApplyMigration=true"],
            },
        },
    })]
}

#[test]
fn style_guide_writes_the_guides_objects_field_by_field() {
    for certificates in CERTIFICATES {
        let style = ["--style", "guide"];
        assert_eq!(
            flux(certificates, &style),
            guide_flux(certificates),
            "{certificates}"
        );
        assert_eq!(
            argo(certificates, &style),
            guide_argo(certificates),
            "{certificates}"
        );
    }
}

/// Where the default's Flux objects are others than the guide's, and why.
const FLUX: [(&str, &str); 9] = [
    (
        "0.kind",
        "Flux puts the digest of an OCIRepository into the chart's version, and HAPTIC's preflight rejects that",
    ),
    (
        "0.spec.interval",
        "a HelmRepository of type oci is only an address: it is not polled",
    ),
    (
        "0.spec.layerSelector",
        "only an OCIRepository has to be told which layer is the chart",
    ),
    ("0.spec.ref", "the version stands in the HelmRelease"),
    (
        "0.spec.type",
        "a HelmRepository has to be told that it is a registry",
    ),
    (
        "0.spec.url",
        "the folder of charts; the chart's name stands in the HelmRelease",
    ),
    (
        "1.spec.chart",
        "the chart of a HelmRepository is named here, with its version",
    ),
    ("1.spec.chartRef", "only for an OCIRepository"),
    (
        "1.spec.storageNamespace",
        "Helm's record lies with the release, where helm list looks for it",
    ),
];

/// Where the default's Application is another than the guide's, and why.
const ARGO: [(&str, &str); 3] = [
    (
        "0.spec.project",
        "a project that permits what the chart renders and no more; Argo CD Core has no project default",
    ),
    (
        "0.spec.syncPolicy.retry.refresh",
        "a forward fix is not kept waiting by the version that fails",
    ),
    (
        "0.spec.syncPolicy.syncOptions.1",
        "Argo CD knows no option DisableClientSideApplyMigration",
    ),
];

#[test]
fn the_default_departs_from_the_guide_in_these_fields_only() {
    for certificates in CERTIFICATES {
        let form = ["--inline-values"];
        let departures = differences(&flux(certificates, &form), &guide_flux(certificates));
        assert_eq!(departures, routes(&FLUX), "{certificates}");
        let departures = differences(&argo(certificates, &form), &guide_argo(certificates));
        assert_eq!(departures, routes(&ARGO), "{certificates}");
    }
}

fn routes(table: &[(&str, &str)]) -> Vec<String> {
    table.iter().map(|(route, _)| (*route).to_owned()).collect()
}

/// The shortest routes at which two lists of objects differ, sorted.
fn differences(one: &[Value], other: &[Value]) -> Vec<String> {
    let mut routes = Vec::new();
    compare("", &json!(one), &json!(other), &mut routes);
    routes.sort();
    routes
}

fn compare(route: &str, one: &Value, other: &Value, routes: &mut Vec<String>) {
    let (Some(one_parts), Some(other_parts)) = (parts(one), parts(other)) else {
        if one != other {
            routes.push(route.to_owned());
        }
        return;
    };
    let keys: std::collections::BTreeSet<&String> =
        one_parts.keys().chain(other_parts.keys()).collect();
    for key in keys {
        let below = format!("{route}.{key}");
        let below = below.trim_start_matches('.');
        match (one_parts.get(key), other_parts.get(key)) {
            (Some(one), Some(other)) => compare(below, one, other, routes),
            _ => routes.push(below.to_owned()),
        }
    }
}

/// The parts of a map or a list by name.
fn parts(value: &Value) -> Option<BTreeMap<String, &Value>> {
    match value {
        Value::Object(map) => Some(map.iter().map(|(key, part)| (key.clone(), part)).collect()),
        Value::Array(list) => Some(
            list.iter()
                .enumerate()
                .map(|(i, part)| (i.to_string(), part))
                .collect(),
        ),
        _ => None,
    }
}
