//! The Secrets of a release in a cluster, whoever made them: which they are, that they are complete, and what `secrets list` says of them.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::Value;

use super::field::{Field, text};
use crate::env::TestEnv;
use crate::kit;

pub const CREDENTIALS: &str = "haptic-gitops-credentials";

/// The Secrets that a release with certificates of its own needs, as the chart reads them.
pub const NEEDED: [(&str, &str, &[&str]); 3] = [
    (
        CREDENTIALS,
        "Opaque",
        &["dataplane_password", "dataplane_username"],
    ),
    (
        "haptic-gitops-webhook",
        "kubernetes.io/tls",
        &["ca.crt", "tls.crt", "tls.key"],
    ),
    (
        "haptic-gitops-frontend",
        "kubernetes.io/tls",
        &["tls.crt", "tls.key"],
    ),
];

/// A world that talks to the cluster, with certificates for a trial in the folder `keys`.
pub fn world(field: &Field) -> TestEnv {
    let env = TestEnv::new().var("KUBECONFIG", field.fact("kubeconfig"));
    trial(&env, "keys");
    env
}

/// Makes a CA and certificates in a new folder, valid for so long that nothing is said of it.
pub fn trial(env: &TestEnv, folder: &str) {
    let host = ["--frontend-host", "www.example.org"];
    let mut arguments = vec!["secrets", "trial-certificates", folder, "--days", "90"];
    arguments.extend(host);
    env.expect(0, &arguments);
}

/// The answers of a team that brings these certificates.
pub const TRIAL: [&str; 4] = [
    "--certificates",
    "external",
    "--webhook-ca",
    "keys/webhook-ca.crt",
];

/// The name of the cluster's context, as its kubeconfig has it.
pub fn context(field: &Field) -> String {
    let name = field.kubectl(&["config", "current-context"]);
    name.expect("a context").trim().to_owned()
}

/// Lets the program find a program of the kit.
pub fn on_path(env: &TestEnv, name: &str) -> Option<()> {
    let program = kit::program(name)?;
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", program.display());
    env.program_on_path(name, &script);
    Some(())
}

/// What `secrets list` finds wrong, with a look into the cluster.
pub fn findings(env: &TestEnv, field: &Field) -> Vec<String> {
    let context = context(field);
    let mut arguments = vec!["-C", "out", "secrets", "list", "--output", "json"];
    arguments.extend(["--context", &context]);
    let found = env.expect(0, &arguments).json();
    let found = found["findings"].as_array().expect("findings");
    found
        .iter()
        .map(|one| format!("{}; {}", text(one, "/message"), text(one, "/hint")))
        .collect()
}

/// All Secrets are there with all their keys, the certificates are those of a folder, and `secrets list` finds nothing wrong.
pub fn complete(env: &TestEnv, field: &Field, folder: &str) {
    for (name, kind, keys) in NEEDED {
        let secret = secret(field, name, kind, keys);
        let file = name.trim_start_matches("haptic-gitops-");
        for (key, file) in [
            ("tls.crt", format!("{file}.crt")),
            ("tls.key", format!("{file}.key")),
            ("ca.crt", format!("{file}-ca.crt")),
        ] {
            if keys.contains(&key) {
                let wanted = env.read(&format!("{folder}/{file}"));
                assert_eq!(value(&secret, key).trim(), wanted.trim(), "{name}: {key}");
            }
        }
    }
    assert!(password(field).len() >= 32, "a short password");
    assert_eq!(findings(env, field), Vec::<String>::new());
}

/// A Secret of this type with these keys and no others, none of them empty.
pub fn secret(field: &Field, name: &str, kind: &str, keys: &[&str]) -> Value {
    let secret = field.get("secret", "haptic", name).expect("asks");
    assert_eq!(text(&secret, "/type"), kind, "{secret}");
    let data = secret["data"].as_object().expect("data");
    let found: BTreeSet<&str> = data.keys().map(String::as_str).collect();
    assert_eq!(found, keys.iter().copied().collect(), "{name}");
    assert!(data.values().all(|value| value != ""), "{secret}");
    secret
}

/// The password of the credentials, which are complete.
pub fn password(field: &Field) -> String {
    let (name, kind, keys) = NEEDED[0];
    let secret = secret(field, name, kind, keys);
    assert_eq!(value(&secret, "dataplane_username"), "admin");
    value(&secret, "dataplane_password")
}

pub fn value(secret: &Value, key: &str) -> String {
    let encoded = secret["data"][key].as_str().expect("a value");
    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
    String::from_utf8(decoded.expect("base64")).expect("text")
}
