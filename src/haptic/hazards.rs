//! Values that no chart version should be given from a Git repository.
//!
//! Owns the rules about plaintext secrets, hook annotations and the chart's safety gate. What
//! depends on the version is in [`super::keys`].

use serde_json::Value;

use super::keys::{KeyFinding, is_set, lookup, refusal, warning};

/// The annotations that Argo CD takes for its own hooks begin with this.
const ARGO_HOOK: &str = "argocd.argoproj.io/hook";

/// The maps whose annotations end up on whole objects (chart `values.yaml`).
const ANNOTATIONS: &[&str] = &[
    "preRolloutValidation.annotations",
    "crds.upgradeJob.annotations",
    "controller.deploymentAnnotations",
    "commonAnnotations",
];

/// Returns everything in the values that is a hazard whatever the version.
pub(super) fn hazards(values: &Value) -> Vec<KeyFinding> {
    let mut findings = credentials(values);
    findings.extend(inline_certificates(values));
    findings.extend(issuers(values));
    findings.extend(argo_hooks(values));
    findings.extend(safety_gate(values));
    findings.extend(image_tag(values));
    findings.extend(haproxy_version(values));
    findings
}

/// Returns what is wrong under `credentials` (chart template `_credentials.tpl`).
fn credentials(values: &Value) -> Vec<KeyFinding> {
    let password = "credentials.dataplane.password";
    if !is_set(values, password) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if is_set(values, "credentials.existingSecret") {
        let message =
            "credentials.existingSecret and credentials.dataplane.password cannot both be set.";
        let hint = "remove `credentials.dataplane.password`";
        findings.push(refusal("credentials", message.to_owned(), hint));
    }
    findings.push(refusal(
        password,
        "a plaintext password in Git".to_owned(),
        "put it into a Secret and name that in `credentials.existingSecret`",
    ));
    findings
}

/// Returns the inline certificates and keys; the chart has them for testing only.
fn inline_certificates(values: &Value) -> Vec<KeyFinding> {
    let tables = ["defaultSSLCertificate", "controller.defaultSSLCertificate"];
    let kinds = [
        ("key", "a private key in Git"),
        ("cert", "an inline certificate needs its private key in Git"),
    ];
    let routes = tables
        .iter()
        .flat_map(|table| kinds.map(|(key, message)| (format!("{table}.{key}"), message)));
    routes
        .filter(|(route, _)| is_set(values, route))
        .map(|(route, message)| {
            let hint = "put both into a Secret and name that in `defaultSSLCertificate.secretName`";
            refusal(&route, message.to_owned(), hint)
        })
        .collect()
}

/// Returns the certificates that no Issuer would make: the Certificate says only `DoesNotExist` then, and the release waits for it in vain.
fn issuers(values: &Value) -> Vec<KeyFinding> {
    let tables = [
        "controller.webhook.certManager",
        "defaultSSLCertificate.certManager",
    ];
    tables
        .iter()
        .filter(|table| {
            let is = |key: &str, wanted: bool| {
                lookup(values, &format!("{table}.{key}")) == Some(&Value::Bool(wanted))
            };
            let names_one = is_set(values, &format!("{table}.issuerRef.name"));
            !is("enabled", false) && is("createIssuer", false) && !names_one
        })
        .map(|table| {
            refusal(
                &format!("{table}.createIssuer"),
                "no Issuer is made, and `issuerRef.name` names none: the certificate is never made".to_owned(),
                &format!("name one that is there in `{table}.issuerRef.name`, or leave out `createIssuer: false`"),
            )
        })
        .collect()
}

/// Returns the Argo CD hook annotations: one makes Argo CD ignore every Helm hook (the guide).
fn argo_hooks(values: &Value) -> Vec<KeyFinding> {
    let mut findings = Vec::new();
    for map in ANNOTATIONS {
        let annotations = lookup(values, map).and_then(Value::as_object);
        for key in annotations
            .into_iter()
            .flat_map(|annotations| annotations.keys())
        {
            if key.starts_with(ARGO_HOOK) {
                let message = "makes Argo CD ignore every Helm hook, and so the chart's gate";
                let route = format!("{map}[\"{key}\"]");
                findings.push(refusal(&route, message.to_owned(), "remove the annotation"));
            }
        }
    }
    findings
}

/// Returns a finding when the validation before the rollout is off.
fn safety_gate(values: &Value) -> Option<KeyFinding> {
    let route = "preRolloutValidation.enabled";
    let off = lookup(values, route) == Some(&Value::Bool(false));
    off.then(|| {
        let message = "switches off the gate that stops a broken release before it is applied";
        warning(route, message.to_owned(), "remove the key")
    })
}

/// Returns a finding when the controller image may be of another build than the chart.
fn image_tag(values: &Value) -> Option<KeyFinding> {
    let route = "controller.image.tag";
    is_set(values, route).then(|| {
        let message = "the version guard rejects an image of another build than the chart";
        let hint = "leave it out: the chart picks the image of its own build";
        warning(route, message.to_owned(), hint)
    })
}

/// Returns a finding when YAML took the HAProxy series for a number, where 3.10 is 3.1.
fn haproxy_version(values: &Value) -> Option<KeyFinding> {
    let route = "haproxyVersion";
    let value = lookup(values, route)?;
    (!value.is_string()).then(|| {
        refusal(
            route,
            "must be a string".to_owned(),
            "quote it: `haproxyVersion: \"3.4\"`",
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns route and severity of each finding.
    fn check(values: &Value) -> Vec<(String, bool)> {
        let findings = hazards(values).into_iter();
        findings
            .map(|finding| (finding.route, finding.refuse))
            .collect()
    }

    fn one(route: &str, refuse: bool) -> Vec<(String, bool)> {
        vec![(route.to_owned(), refuse)]
    }

    /// Returns a document with a value at the route.
    fn nested(route: &str, value: Value) -> Value {
        route
            .rsplit('.')
            .fold(value, |inner, key| json!({ key: inner }))
    }

    #[test]
    fn a_certificate_without_an_issuer_is_refused() {
        let route = "controller.webhook.certManager";
        let no_issuer = json!({"enabled": true, "createIssuer": false});
        assert_eq!(
            check(&nested(route, no_issuer)),
            one("controller.webhook.certManager.createIssuer", true)
        );
        for good in [
            json!({"enabled": true, "createIssuer": false, "issuerRef": {"name": "ours"}}),
            json!({"enabled": false, "createIssuer": false}),
            json!({"enabled": true}),
        ] {
            assert_eq!(check(&nested(route, good)), []);
        }
    }

    #[test]
    fn password_in_git_is_refused() {
        let values = nested("credentials.dataplane.password", json!("hunter2"));
        assert_eq!(check(&values), one("credentials.dataplane.password", true));
        let empty = nested("credentials.dataplane.password", json!(""));
        assert!(check(&empty).is_empty());
    }

    #[test]
    fn secret_and_password_exclude_each_other() {
        let values = json!({
            "credentials": {"existingSecret": "x", "dataplane": {"password": "hunter2"}},
        });
        let findings = hazards(&values);
        assert_eq!(
            findings[0].message,
            "credentials.existingSecret and credentials.dataplane.password cannot both be set."
        );
        assert!(findings.iter().all(|finding| finding.refuse));
        assert!(
            findings
                .iter()
                .all(|finding| !format!("{finding:?}").contains("hunter2"))
        );
    }

    #[test]
    fn inline_certificate_is_refused() {
        for key in ["key", "cert"] {
            let route = format!("defaultSSLCertificate.{key}");
            assert_eq!(check(&nested(&route, json!("PEM"))), one(&route, true));
            assert!(check(&nested(&route, json!(""))).is_empty());
        }
        let old = "controller.defaultSSLCertificate.key";
        assert_eq!(check(&nested(old, json!("PEM"))), one(old, true));
    }

    #[test]
    fn argo_hook_annotations_are_refused() {
        for map in ANNOTATIONS {
            let values = nested(map, json!({"argocd.argoproj.io/hook-delete-policy": "x"}));
            let route = format!("{map}[\"argocd.argoproj.io/hook-delete-policy\"]");
            assert_eq!(check(&values), one(&route, true));
            let other = nested(map, json!({"argocd.argoproj.io/sync-wave": "1"}));
            assert!(check(&other).is_empty());
        }
    }

    #[test]
    fn switched_off_gate_is_a_warning() {
        let route = "preRolloutValidation.enabled";
        assert_eq!(check(&nested(route, json!(false))), one(route, false));
        assert!(check(&nested(route, json!(true))).is_empty());
    }

    #[test]
    fn image_tag_is_a_warning() {
        let route = "controller.image.tag";
        assert_eq!(check(&nested(route, json!("0.5.0"))), one(route, false));
        assert!(check(&nested(route, json!(""))).is_empty());
    }

    #[test]
    fn unquoted_haproxy_version_is_refused() {
        assert_eq!(
            check(&json!({"haproxyVersion": 3.4})),
            one("haproxyVersion", true)
        );
        assert!(check(&json!({"haproxyVersion": "3.4"})).is_empty());
    }
}
