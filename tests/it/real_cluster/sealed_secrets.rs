//! Sealed Secrets that can't be opened hold the release back, and what heals them; and another CA for a webhook that is in use.

use base64::Engine as _;
use serde_json::Value;

use super::field::{Field, stays, text, within};
use super::secrets::{self, CREDENTIALS, TRIAL, context, value};
use super::{argo, first_steps, flux, scaffold};
use crate::env::TestEnv;
use crate::golden;

const WEBHOOK: &str = "haptic-gitops-webhook";

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn flux_waits_for_sealed_secrets_that_can_be_opened() {
    let Some(field) = flux::raised(&["flux", "sealed-secrets", "kwok"]) else {
        return;
    };
    let env = secrets::world(&field);
    let layout = ["--layout", "flux-cluster", "--sync", "own"];
    sealed(&env, &field, field.fact("charts"), &layout);
    reseal(&env, "wrong.pem");
    by_hand(&field);
    field.publish(&env.path("out"));
    let [start] = first_steps(&env);
    field.shell(&env.path("out"), &start);

    let wrong = format!("SealedSecret/haptic/{CREDENTIALS} status: 'Failed'");
    within(60, "the wrong key is told", || fails(&field, &wrong));
    holds_back(&field);
    let found = secrets::findings(&env, &field);
    assert_eq!(found.len(), 3, "{found:?}");

    reseal(&env, field.fact("sealed_secrets_certificate"));
    flux::send(&field, &env);
    let taken = format!("SealedSecret/haptic/{WEBHOOK} status: 'Failed'");
    within(90, "the Secret by hand is in the way", || {
        fails(&field, &taken)?;
        let secret = field.get("secret", "haptic", CREDENTIALS)?;
        if secret.is_null() {
            return Err("no credentials".to_owned());
        }
        Ok(())
    });
    holds_back(&field);

    hand_over(&field, &env);
    within(90, "the Secrets are ready", || {
        flux::ready(&field, "haptic-secrets")
    });
    flux::comes_after_secrets(&field);
    secrets::complete(&env, &field, "keys");
}

/// Writes a repository whose Secrets are sealed for the cluster.
fn sealed(env: &TestEnv, field: &Field, chart_repo: &str, layout: &[&str]) {
    env.write("wrong.pem", golden::SEALING);
    let mut flags = layout.to_vec();
    let certificate = field.fact("sealed_secrets_certificate");
    flags.extend(["--secrets", "sealed-secrets"]);
    flags.extend(["--sealing-certificate", certificate]);
    flags.extend(["--secret-files", "keys"]);
    flags.extend(TRIAL);
    scaffold(env, field, chart_repo, &flags);
}

/// Seals other credentials for a controller.
fn reseal(env: &TestEnv, certificate: &str) {
    let mut rotate = vec!["-C", "out", "secrets", "rotate", "credentials"];
    rotate.extend(["--sealing-certificate", certificate]);
    env.expect(0, &rotate);
}

/// Makes a Secret that a SealedSecret is about to make.
fn by_hand(field: &Field) {
    let namespace = ["create", "namespace", "haptic"];
    field.kubectl(&namespace).expect("a namespace");
    let mut create = vec!["create", "secret", "generic", WEBHOOK];
    create.extend(["--namespace=haptic", "--type=kubernetes.io/tls"]);
    create.extend(["--from-literal=tls.crt=old", "--from-literal=tls.key=old"]);
    create.push("--from-literal=ca.crt=old");
    field.kubectl(&create).expect("a Secret");
}

/// Does what the README says about a Secret that was made by hand. The controller has given up, so the first of it is not enough.
fn hand_over(field: &Field, env: &TestEnv) {
    let readme = env.read("out/README.md");
    let (_, rest) = readme.split_once("To hand it over:").expect("says how");
    let commands = rest.split("```").nth(1).expect("commands");
    let is_about = |line: &&str| line.starts_with("kubectl ") && line.contains(WEBHOOK);
    let annotate = commands.lines().find(is_about).expect("a command");
    field.shell(&env.work(), annotate);
    stays(5, "the controller doesn't try again", || {
        let wanted = "has not taken it over; kubectl delete sealedsecret ";
        let found = secrets::findings(env, field);
        if found.iter().any(|one| one.contains(wanted)) {
            return Ok(());
        }
        Err(format!("{found:?}"))
    });
    let delete = rest.split('`').find(|part| part.contains("kubectl delete"));
    let delete = delete.expect("a command").replace("NAME", WEBHOOK);
    field.shell(&env.work(), &delete);
}

/// The Secrets have failed their health check, and this is among the reasons.
fn fails(field: &Field, why: &str) -> Result<(), String> {
    let secrets = field.get("kustomization", "flux-system", "haptic-secrets")?;
    let said = flux::condition(&secrets, "Ready");
    if said.starts_with("False HealthCheckFailed: ") && said.contains(why) {
        return Ok(());
    }
    Err(said)
}

fn holds_back(field: &Field) {
    stays(5, "no release while a Secret fails", || {
        let release = field.get("helmrelease", "flux-system", "haptic")?;
        let ready = flux::ready(field, "haptic-secrets");
        if release.is_null() && ready.is_err() {
            return Ok(());
        }
        Err(format!("{ready:?}: {release}"))
    });
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn argo_cd_waits_for_sealed_secrets_and_takes_another_ca() {
    let Some((field, registry)) = argo::raised(&["argocd", "sealed-secrets", "kwok"]) else {
        return;
    };
    let env = secrets::world(&field);
    sealed(&env, &field, &registry, &["--layout", "argo-cluster"]);
    reseal(&env, "wrong.pem");
    by_hand(&field);
    let [start] = first_steps(&env);
    argo::begun(&field, &env, &start);
    within(60, "the wrong key is told", || is_degraded(&field));
    stays(8, "no release while a Secret fails", || no_release(&field));

    reseal(&env, field.fact("sealed_secrets_certificate"));
    publish(&field, &env);
    within(60, "the right key opens", || {
        match field.get("secret", "haptic", CREDENTIALS)? {
            Value::Null => Err("no credentials".to_owned()),
            _ => Ok(()),
        }
    });
    stays(8, "the Secret by hand is in the way", || {
        is_degraded(&field)?;
        no_release(&field)
    });
    hand_over(&field, &env);
    converges(&field);
    let release = argo::application(&field, "haptic");
    let born = text(&release, "/metadata/creationTimestamp");
    for secret in field.list("secret", "haptic").expect("Secrets") {
        let made = text(&secret, "/metadata/creationTimestamp");
        let is_ours = text(&secret, "/metadata/name").starts_with("haptic-gitops-");
        assert!(!is_ours || born >= made, "{born}: {secret}");
    }
    secrets::complete(&env, &field, "keys");
    takes_another_ca(&field, &env);
}

fn is_degraded(field: &Field) -> Result<(), String> {
    let secrets = argo::application(field, "haptic-secrets");
    match text(&secrets, "/status/health/status") {
        "Degraded" => Ok(()),
        _ => Err(argo::state(&secrets)),
    }
}

fn no_release(field: &Field) -> Result<(), String> {
    match field.get("application", "argocd", "haptic")? {
        Value::Null => Ok(()),
        release => Err(argo::state(&release)),
    }
}

/// Takes the three steps to another CA; each is refused until the one before has arrived.
fn takes_another_ca(field: &Field, env: &TestEnv) {
    secrets::trial(env, "new");
    let [old, new] = ["keys", "new"].map(|folder| env.read(&format!("{folder}/webhook-ca.crt")));
    let context = context(field);
    let rotate = |code: i32, more: &[&str]| {
        let mut arguments = vec!["-C", "out", "secrets", "rotate", "webhook-ca"];
        arguments.extend(more);
        env.expect(code, &arguments).stderr
    };
    let certificate = field.fact("sealed_secrets_certificate");
    let mut second = vec!["--step", "2", "--context", &context];
    second.extend([
        "--secret-files",
        "new",
        "--sealing-certificate",
        certificate,
    ]);
    let third = ["--step", "3", "--context", &context];

    rotate(0, &["--step", "1", "--webhook-ca", "new/webhook-ca.crt"]);
    let said = rotate(3, &second);
    assert!(
        said.contains("the caBundle with the new CA has not arrived"),
        "{said}"
    );
    publish(field, env);
    within(90, "both CAs arrive", || trusts(field, &[&old, &new]));
    rotate(0, &second);

    let said = rotate(3, &third);
    assert!(
        said.contains("the Secret with the new certificate has not arrived"),
        "{said}"
    );
    publish(field, env);
    within(90, "the certificate arrives", || {
        let secret = field.get("secret", "haptic", WEBHOOK)?;
        let here = value(&secret, "tls.crt");
        if here.trim() == env.read("new/webhook.crt").trim() {
            return Ok(());
        }
        Err(here)
    });
    rotate(0, &third);
    publish(field, env);
    within(90, "the new CA is alone", || trusts(field, &[&new]));
    converges(field);
}

/// The API server trusts these CAs for the webhook, and no others.
fn trusts(field: &Field, wanted: &[&str]) -> Result<(), String> {
    let hooks = field.get("validatingwebhookconfiguration", "haptic", "haptic-haptic")?;
    let bundle = text(&hooks, "/webhooks/0/clientConfig/caBundle");
    let decoded = base64::engine::general_purpose::STANDARD.decode(bundle);
    let found = String::from_utf8(decoded.map_err(|why| why.to_string())?).expect("PEM");
    let count = found.matches("BEGIN CERTIFICATE").count();
    if count == wanted.len() && wanted.iter().all(|ca| found.contains(ca.trim())) {
        return Ok(());
    }
    Err(format!("{count} CAs: {hooks}"))
}

fn publish(field: &Field, env: &TestEnv) {
    field.publish(&env.path("out"));
    for name in ["haptic-root", "haptic-secrets", "haptic"] {
        let is_there = field.get("application", "argocd", name);
        if !is_there.expect("asks").is_null() {
            argo::look_again(field, name).expect("annotates");
        }
    }
}

fn converges(field: &Field) {
    argo::synced(field, &["haptic-root", "haptic-secrets", "haptic"], "0.2.2");
}
