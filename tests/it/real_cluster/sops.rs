//! Secrets that SOPS has encrypted: Flux opens them once it has the age key, and a file that was renamed is found.

use super::field::{Field, stays, within};
use super::secrets::{self, TRIAL, on_path, password, trial};
use super::{first_steps, flux, replace, scaffold};
use crate::env::TestEnv;
use crate::golden::AGE_KEY;

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_decrypts_once_it_has_the_age_key() {
    let Some(field) = flux::raised(&["flux", "kwok"]) else {
        return;
    };
    let env = secrets::world(&field);
    let Some(()) = on_path(&env, "sops") else {
        return;
    };
    let said = env.expect(0, &["secrets", "age-key", "age.key"]).stdout;
    let recipient = said.lines().next().expect("the public key");
    let (_, rest) = said.split_once("in each cluster: ").expect("a command");
    let command = rest.lines().next().expect("a line");
    let mut flags = vec!["--layout", "flux-cluster", "--sync", "own"];
    flags.extend(["--secrets", "sops", "--age-recipients", recipient]);
    flags.extend(["--secret-files", "keys"]);
    flags.extend(TRIAL);
    scaffold(&env, &field, field.fact("charts"), &flags);
    field.publish(&env.path("out"));
    let [start] = first_steps(&env);
    field.shell(&env.path("out"), &start);

    let why = r#"False BuildFailed: secrets "sops-age" not found"#;
    within(60, "the key is missed", || says(&field, why));
    stays(5, "nothing happens without the key", || {
        says(&field, why)?;
        nothing_is_there(&field)
    });
    field.shell(&env.work(), command);
    within(90, "the key is found", || {
        flux::ready(&field, "haptic-secrets")
    });
    flux::comes_after_secrets(&field);
    secrets::complete(&env, &field, "keys");

    let before = password(&field);
    let mut rotate = vec!["-C", "out", "secrets", "rotate", "credentials"];
    rotate.extend(["--author", "A Team <team@example.org>"]);
    env.expect(0, &rotate);
    flux::publish(&field, &env);
    assert_ne!(password(&field), before, "the new password isn't there");
    secrets::complete(&env, &field, "keys");
}

/// What keeps the Secrets from being ready begins so.
fn says(field: &Field, wanted: &str) -> Result<(), String> {
    let secrets = field.get("kustomization", "flux-system", "haptic-secrets")?;
    let said = flux::condition(&secrets, "Ready");
    if said.starts_with(wanted) {
        return Ok(());
    }
    Err(said)
}

/// There are no Secrets and no release.
fn nothing_is_there(field: &Field) -> Result<(), String> {
    let release = field.get("helmrelease", "flux-system", "haptic")?;
    let secret = field.get("secret", "haptic", secrets::CREDENTIALS)?;
    if release.is_null() && secret.is_null() {
        return Ok(());
    }
    Err(format!("{release}\n{secret}"))
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn a_secret_that_was_renamed_after_its_encryption_is_found() {
    let env = TestEnv::new();
    let Some(()) = on_path(&env, "sops") else {
        return;
    };
    trial(&env, "keys");
    let mut init = vec!["init", "out", "--yes", "--provider", "flux"];
    init.extend(["--chart-version", "0.2.2", "--secrets", "sops"]);
    init.extend(["--age-recipients", AGE_KEY, "--secret-files", "keys"]);
    init.extend(TRIAL);
    env.expect(0, &init);
    let list = ["-C", "out", "secrets", "list", "--exit-code"];
    env.expect(0, &list);
    for (file, from, to) in [
        ("webhook", "name: haptic-gitops-webhook", "name: other"),
        ("frontend", "namespace: haptic", "namespace: other"),
        ("credentials", "type: Opaque", "type: other"),
    ] {
        let path = format!("out/apps/haptic/secrets/{file}.sops.yaml");
        let sealed = env.read(&path);
        replace(&env, &path, from, to);
        let found = env.expect(10, &list).stdout;
        let (field, wanted) = from.split_once(": ").expect("a field");
        let wanted =
            format!("{file}.sops.yaml:1: its {field} is `other`, and the release needs `{wanted}`");
        assert!(found.contains(&wanted), "{found}");
        env.write(&path, &sealed);
    }
    env.expect(0, &list);
}
