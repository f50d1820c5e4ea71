//! Secrets that External Secrets makes: the password of its generator under Flux, what lies in a store under Argo CD.

use serde_json::{Value, json};

use super::field::{Field, stays, text, within};
use super::secrets::{CREDENTIALS, NEEDED, password, secret, value};
use super::{EXTERNAL, argo, first_steps, flux, replace};
use crate::env::TestEnv;

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_has_a_password_made_that_stays() {
    let mut flags = vec!["--layout", "flux-cluster", "--sync", "own"];
    flags.extend(["--secrets", "external-secrets"]);
    let Some((field, env)) = flux::prepared(&["flux", "external-secrets", "kwok"], &flags) else {
        return;
    };
    field.publish(&env.path("out"));
    let [start] = first_steps(&env);
    field.shell(&env.path("out"), &start);
    flux::comes_after_secrets(&field);
    let made = password(&field);
    assert!(made.len() >= 32, "{} characters", made.len());

    field.annotate("externalsecret", "haptic", CREDENTIALS, &["force-sync"]);
    stays(4, "a forced refresh keeps the password", || {
        same(&field, &made)
    });
    let file = "out/apps/haptic/secrets/external-secrets.yaml";
    replace(&env, file, "  length: 44\n", "  length: 45\n");
    flux::publish(&field, &env);
    let generator = field.get("password", "haptic", CREDENTIALS);
    let length = generator.expect("asks")["spec"]["length"].clone();
    assert_eq!(length, 45, "the new commit isn't there");
    stays(4, "another commit keeps the password", || {
        same(&field, &made)
    });

    is_taken_over(&field, &env);
}

/// A Secret that is there before the ExternalSecret is: as the written file says, it is taken over and loses its other keys.
fn is_taken_over(field: &Field, env: &TestEnv) {
    let gone = [
        "delete",
        "externalsecret",
        CREDENTIALS,
        "--namespace=haptic",
    ];
    field.kubectl(&gone).expect("deletes");
    within(30, "the Secret goes with it", || {
        match field.get("secret", "haptic", CREDENTIALS)? {
            Value::Null => Ok(()),
            secret => Err(secret["metadata"].to_string()),
        }
    });
    let mut by_hand = vec!["create", "secret", "generic", CREDENTIALS];
    by_hand.extend([
        "--namespace=haptic",
        "--from-literal=dataplane_password=mine",
    ]);
    by_hand.push("--from-literal=other=mine");
    field.kubectl(&by_hand).expect("a Secret");
    env.write("out/another", "commit");
    flux::publish(field, env);
    within(30, "the Secret is taken over", || {
        let secret = field.get("secret", "haptic", CREDENTIALS)?;
        match text(&secret, "/metadata/ownerReferences/0/kind") {
            "ExternalSecret" => Ok(()),
            _ => Err(secret["metadata"].to_string()),
        }
    });
    assert_ne!(password(field), "mine");
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_holds_the_release_back_until_there_is_a_store() {
    let mut flags = argo::argo_cluster(&["--secrets", "external-secrets"]);
    flags.extend(["--secret-store", "ClusterSecretStore/vault"]);
    flags.extend(EXTERNAL);
    let Some((field, env)) = argo::prepared(&["argocd", "external-secrets", "kwok"], &flags) else {
        return;
    };
    let [start] = first_steps(&env);
    argo::begun(&field, &env, &start);
    within(60, "the Secrets are looked for", || {
        let secrets = argo::application(&field, "haptic-secrets");
        match text(&secrets, "/status/health/status") {
            "Degraded" => Ok(()),
            _ => Err(argo::state(&secrets)),
        }
    });
    stays(8, "nothing happens without a store", || {
        let secrets = argo::application(&field, "haptic-secrets");
        let release = field.get("application", "argocd", "haptic")?;
        if release.is_null() && text(&secrets, "/status/health/status") != "Healthy" {
            return Ok(());
        }
        Err(format!(
            "{}\n{}",
            argo::state(&secrets),
            argo::state(&release)
        ))
    });

    field
        .kubectl_with(&["apply", "--filename", "-"], &store(&env).to_string())
        .expect("a store");
    let names = ["haptic-root", "haptic-secrets", "haptic"];
    argo::synced(&field, &names, "0.2.2");
    let release = argo::application(&field, "haptic");
    let born = text(&release, "/metadata/creationTimestamp");
    for (name, kind, keys) in NEEDED {
        let secret = secret(&field, name, kind, keys);
        let made = text(&secret, "/metadata/creationTimestamp");
        assert!(!made.is_empty() && born >= made, "{born}: {secret}");
        for key in keys.iter().filter(|key| key.starts_with("tls.")) {
            let file = name.trim_start_matches("haptic-gitops-");
            let file = format!("{file}.{}", key.trim_start_matches("tls."));
            assert_eq!(value(&secret, key), env.read(&file), "{name}: {key}");
        }
    }
    assert_eq!(password(&field), "from the store");
}

/// A store that holds its own values, the entries that the README lists. To it a property with a dot would be a path.
fn store(env: &TestEnv) -> Value {
    let entry = |key: &str, value: &Value| json!({"key": format!("haptic/{key}"), "value": value.to_string()});
    let credentials =
        json!({"dataplane_username": "admin", "dataplane_password": "from the store"});
    let pair = |name: &str| {
        let [certificate, key] = ["crt", "key"].map(|end| env.read(&format!("{name}.{end}")));
        json!({"tls_crt": certificate, "tls_key": key})
    };
    let mut webhook = pair("webhook");
    webhook["ca_crt"] = json!(env.read("webhook-ca.crt"));
    json!({
        "apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore",
        "metadata": {"name": "vault"},
        "spec": {"provider": {"fake": {"data": [
            entry("credentials", &credentials),
            entry("webhook", &webhook),
            entry("frontend", &pair("frontend")),
        ]}}},
    })
}

fn same(field: &Field, made: &str) -> Result<(), String> {
    let now = password(field);
    if now == made {
        return Ok(());
    }
    Err(format!("{made} has become {now}"))
}
