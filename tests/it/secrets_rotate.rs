//! `secrets rotate`: what is refused, and that a rotation changes what it says and nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::env::{Run, TestEnv};
use crate::fake_cluster::FakeCluster;
use crate::pki::{self, GOOD};
use crate::secret_repo::{EXTERNAL, SEALED, SOPS, arguments, flux, prepared, state, within};

const SEAL: [&str; 2] = ["--sealing-certificate", "sealing.pem"];
const NEXT: [&str; 2] = ["--webhook-ca", "next/webhook-ca.crt"];
const NEXT_FILES: [&str; 4] = [
    "--secret-files",
    "next",
    "--sealing-certificate",
    "sealing.pem",
];

/// A repository with sealed certificates, and the files of the next CA.
fn sealed() -> (TestEnv, pki::Authority) {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let next = pki::ca("next CA");
    pki::folder(&env, "next", &next);
    (env, next)
}

fn rotate(env: &TestEnv, code: i32, more: &[&[&str]]) -> Run {
    let mut all = vec!["secrets", "rotate"];
    all.extend(more.iter().copied().flatten());
    within(env, code, &all)
}

/// The rotation is refused with these words, and nothing is changed.
fn refused(env: &TestEnv, code: i32, more: &[&[&str]], words: &[&str]) {
    let before = state(env);
    let run = rotate(env, code, more);
    assert_eq!(state(env), before, "something was changed");
    for words in words.iter().chain(&["\nhint: "]) {
        assert!(run.stderr.contains(words), "no «{words}» in {}", run.stderr);
    }
}

/// The files that the newest commit changed.
fn changed(env: &TestEnv) -> Vec<String> {
    let names = env.git("out", &["show", "--name-only", "--format=", "HEAD"]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn the_steps_have_an_order() {
    let (env, _) = sealed();
    let ca = ["webhook-ca"];
    refused(
        &env,
        2,
        &[&ca],
        &["nothing says which CA comes next", "--webhook-ca FILE"],
    );
    refused(
        &env,
        3,
        &[&ca, &NEXT, &["--step", "3"]],
        &["the next step is 1, not 3", "let each step arrive"],
    );
    let same = ["--webhook-ca", "keys/webhook-ca.crt"];
    refused(
        &env,
        3,
        &[&ca, &same],
        &[
            "is the one that is in use already",
            "secrets rotate webhook",
        ],
    );
    refused(
        &env,
        2,
        &[&ca, &NEXT, &["--cluster", "production"]],
        &["leave out `--cluster`"],
    );
    refused(
        &env,
        3,
        &[&ca, &["--webhook-ca", "next/webhook.crt"]],
        &["next/webhook.crt` as a CA", "is no CA"],
    );

    rotate(&env, 0, &[&ca, &NEXT]);
    refused(
        &env,
        3,
        &[&ca, &["--step", "1"]],
        &["the next step is 2, not 1"],
    );
    env.write("third.crt", &pki::ca("third CA").pem());
    refused(
        &env,
        3,
        &[&ca, &["--webhook-ca", "third.crt"]],
        &[
            "to another CA than the one that is given",
            "finish it first",
        ],
    );
    rotate(&env, 0, &[&ca, &NEXT, &NEXT_FILES, &["--step", "2"]]);
    refused(
        &env,
        3,
        &[&ca, &["--step", "2"]],
        &["the next step is 3, not 2"],
    );
}

#[test]
fn the_second_step_takes_no_certificate_of_the_old_ca() {
    let (env, _) = sealed();
    rotate(&env, 0, &[&["webhook-ca"], &NEXT]);
    let old = ["--secret-files", "keys"];
    refused(
        &env,
        3,
        &[&["webhook-ca"], &old, &SEAL],
        &[
            "keys/webhook.crt`",
            "it is of the old CA, and this step needs one of the new CA",
            "have the new CA sign one",
        ],
    );
    // One of nobody's is no old one.
    pki::ca("a stranger")
        .leaf(&GOOD)
        .put(&env, "keys", "webhook");
    refused(
        &env,
        3,
        &[&["webhook-ca"], &old, &SEAL],
        &["signed by `CN=a stranger`"],
    );
}

#[test]
fn a_file_with_both_cas_publishes_the_new_one_and_drops_the_old_one() {
    let (env, next) = sealed();
    let old = env.read("keys/webhook-ca.crt");
    env.write("both.crt", &(old.clone() + &next.pem()));
    let both = ["--webhook-ca", "both.crt"];
    rotate(&env, 0, &[&["webhook-ca"], &both]);
    refused(
        &env,
        3,
        &[&["webhook-ca"], &["--secret-files", "keys"], &SEAL],
        &["it is of the old CA"],
    );
    rotate(&env, 0, &[&["webhook-ca"], &both, &NEXT_FILES]);
    rotate(&env, 0, &[&["webhook-ca"]]);
    let values = env.read("out/apps/haptic/release/values.yaml");
    let alone = STANDARD.encode(next.pem().replace("\r\n", "\n"));
    assert!(values.contains(&format!("caBundle: {alone}\n")), "{values}");
}

#[test]
fn each_step_changes_its_own_files_alone() {
    let (env, _) = sealed();
    let published = [
        ".haptic-scaffold.lock",
        ".haptic-scaffold.yaml",
        "apps/haptic/release/values.yaml",
    ];
    rotate(&env, 0, &[&["webhook-ca"], &NEXT]);
    assert_eq!(changed(&env), published);
    rotate(&env, 0, &[&["webhook-ca"], &NEXT_FILES]);
    assert_eq!(changed(&env), ["apps/haptic/secrets/webhook.sealed.yaml"]);
    rotate(&env, 0, &[&["webhook-ca"]]);
    assert_eq!(changed(&env), published);
    rotate(&env, 0, &[&["credentials"], &SEAL]);
    assert_eq!(
        changed(&env),
        ["apps/haptic/secrets/credentials.sealed.yaml"]
    );
    rotate(&env, 0, &[&["frontend"], &NEXT_FILES]);
    assert_eq!(changed(&env), ["apps/haptic/secrets/frontend.sealed.yaml"]);
}

#[test]
fn a_rotation_is_told_as_every_change_is() {
    let (env, _) = sealed();
    let told = rotate(&env, 0, &[&["webhook-ca"], &NEXT, &["--output", "json"]]).json();
    assert_eq!(told["schema"], "haptic-scaffold/secrets-rotate/v1");
    let change = &told["changes"][0];
    assert_eq!(change["key"], "rotate webhook-ca 1 haptic");
    assert_eq!(
        (&change["branch"], &change["base"]),
        (&json!("main"), &json!("main"))
    );
    assert_eq!(
        change["commit"],
        env.git("out", &["rev-parse", "HEAD"]).trim()
    );
    assert_eq!(
        change["title"],
        "Publish the webhook's next CA beside the old one"
    );
    assert_eq!(change["request"], Value::Null);
    let values = change["files"]
        .as_array()
        .expect("files")
        .iter()
        .find(|file| file["path"] == "apps/haptic/release/values.yaml");
    assert_eq!(values.expect("the values")["verdict"], "update");
    assert!(
        told["next_steps"][1]
            .as_str()
            .is_some_and(|step| step.contains("--step 2"))
    );
}

#[test]
fn a_dry_run_shows_and_seals_nothing() {
    let (env, _) = sealed();
    env.program_on_path("sops", "#!/bin/sh\ntouch ran; exit 1\n");
    let before = state(&env);
    let run = rotate(&env, 0, &[&["webhook-ca"], &NEXT, &["--dry-run"]]);
    assert!(
        run.stdout.contains("apps/haptic/release/values.yaml")
            && run.stdout.contains("nothing was written (dry run)"),
        "{}",
        run.stdout
    );
    let run = rotate(
        &env,
        0,
        &[&["credentials"], &SEAL, &["--dry-run", "--diff", "-v"]],
    );
    assert!(
        run.stdout.contains("credentials.sealed.yaml") && run.stderr.contains("would seal"),
        "{}\n{}",
        run.stdout,
        run.stderr
    );
    assert!(
        run.stdout.contains("would be sealed by the run itself"),
        "{}",
        run.stdout
    );
    assert_eq!(state(&env), before);

    let env = flux(&[&SOPS]);
    env.program_on_path("sops", "#!/bin/sh\ntouch ran; exit 1\n");
    rotate(&env, 0, &[&["credentials"], &["--dry-run"]]);
    assert!(!env.path("ran").exists());
}

#[test]
fn what_does_not_stand_in_git_is_not_rotated_there() {
    let env = flux(&[&EXTERNAL]);
    refused(
        &env,
        3,
        &[&["credentials"]],
        &[
            "`haptic-gitops-credentials` doesn't stand in Git",
            "kubectl delete secret haptic-gitops-credentials --namespace haptic",
            "kubectl create secret generic haptic-gitops-credentials",
        ],
    );
    let env = flux(&[&SEALED]);
    refused(
        &env,
        3,
        &[&["webhook"], &SEAL],
        &["cert-manager makes its certificates"],
    );
    refused(
        &env,
        3,
        &[&["webhook-ca"], &["--webhook-ca", "keys/webhook-ca.crt"]],
        &["looks after its CA"],
    );
    refused(
        &env,
        2,
        &[&["credentials"], &SEAL, &["--cluster", "moon"]],
        &["there is no cluster `moon`", "the clusters are production"],
    );
}

#[test]
fn a_repository_that_is_not_as_its_answers_say_is_not_rotated() {
    let (env, _) = sealed();
    let answers = "out/.haptic-scaffold.yaml";
    let text = env.read(answers);
    env.write(
        answers,
        &text.replace("example.org/team", "example.org/other"),
    );
    refused(
        &env,
        3,
        &[&["credentials"], &SEAL],
        &[
            "` and maybe others aren't as the answers say",
            "haptic-scaffold init",
        ],
    );
    env.write(answers, &text);
    let sealed = "out/apps/haptic/secrets/webhook.sealed.yaml";
    let text = env.read(sealed);
    std::fs::remove_file(env.path(sealed)).expect("is there");
    refused(
        &env,
        3,
        &[&["credentials"], &["--secret-files", "keys"], &SEAL],
        &["webhook.sealed.yaml` and maybe others aren't as the answers say"],
    );
    env.write(sealed, &text);
    env.git("out", &["switch", "-q", "--detach"]);
    refused(
        &env,
        3,
        &[&["credentials"], &SEAL],
        &["HEAD is detached", "git switch main"],
    );
}

/// The live Secret of the webhook.
fn live(pair: &pki::Leaf) -> Value {
    let text = |text: &str| STANDARD.encode(text);
    json!({ "metadata": {}, "type": "kubernetes.io/tls", "data": {
        "tls.crt": text(&pair.pem), "tls.key": text(&pair.key_pem()), "ca.crt": text("x"),
    } })
}

fn bundle(pem: &str) -> Value {
    let service = json!({ "namespace": "haptic", "name": "haptic-webhook" });
    json!({ "webhooks": [{ "clientConfig": { "service": service, "caBundle": STANDARD.encode(pem) } }] })
}

#[test]
fn by_hand_the_third_step_wants_to_see_the_new_certificate_in_the_cluster() {
    let env = flux(&[&EXTERNAL]);
    let next = pki::ca("next CA");
    env.write("next/webhook-ca.crt", &next.pem());
    let old = pki::ca("test CA");
    let ca: &[&str] = &["webhook-ca"];
    let seen = ["--context", "fake"];
    rotate(&env, 0, &[ca, &NEXT]);
    refused(
        &env,
        3,
        &[ca],
        &[
            "step 2 replaces the certificate, which doesn't stand in Git here",
            "kubectl delete secret haptic-gitops-webhook --namespace haptic",
            "kubectl create secret",
            "--context CONTEXT",
        ],
    );
    refused(
        &env,
        3,
        &[ca, &["--step", "3"]],
        &["the next step is 2, not 3"],
    );

    let both = env.read("keys/webhook-ca.crt") + &next.pem();
    let before = FakeCluster::start()
        .with_webhooks(bundle(&env.read("keys/webhook-ca.crt")))
        .with_secret("haptic", "haptic-gitops-webhook", live(&old.leaf(&GOOD)));
    before.kubeconfig(&env);
    refused(
        &env,
        3,
        &[ca, &seen],
        &[
            "the caBundle with the new CA has not arrived in `production`",
            "wait until",
        ],
    );
    let published = FakeCluster::start()
        .with_webhooks(bundle(&both))
        .with_secret("haptic", "haptic-gitops-webhook", live(&old.leaf(&GOOD)));
    published.kubeconfig(&env);
    refused(
        &env,
        3,
        &[ca, &seen, &["--step", "3"]],
        &["the next step is 2, not 3"],
    );
    let replaced = FakeCluster::start()
        .with_webhooks(bundle(&both))
        .with_secret("haptic", "haptic-gitops-webhook", live(&next.leaf(&GOOD)));
    replaced.kubeconfig(&env);
    rotate(&env, 0, &[ca, &seen, &["--step", "3"]]);
    let values = env.read("out/apps/haptic/release/values.yaml");
    assert!(
        values.contains(&STANDARD.encode(next.pem().replace("\r\n", "\n"))),
        "{values}"
    );
    assert!(!values.contains(&STANDARD.encode(&both)), "{values}");
}

#[test]
fn in_git_a_context_shows_whether_the_step_before_has_arrived() {
    let (env, next) = sealed();
    let old = pki::ca("test CA");
    let (ca, seen): (&[&str], _) = (&["webhook-ca"], ["--context", "fake"]);
    rotate(&env, 0, &[ca, &NEXT]);
    let none = FakeCluster::start();
    none.kubeconfig(&env);
    refused(
        &env,
        3,
        &[ca, &NEXT_FILES, &seen],
        &["the caBundle with the new CA has not arrived"],
    );
    let both = env.read("keys/webhook-ca.crt") + &next.pem();
    let published = FakeCluster::start()
        .with_webhooks(bundle(&both))
        .with_secret("haptic", "haptic-gitops-webhook", live(&old.leaf(&GOOD)));
    published.kubeconfig(&env);
    rotate(&env, 0, &[ca, &NEXT_FILES, &seen]);
    refused(
        &env,
        3,
        &[ca, &seen],
        &["the Secret with the new certificate has not arrived in `production`"],
    );
    let arrived = FakeCluster::start()
        .with_webhooks(bundle(&both))
        .with_secret("haptic", "haptic-gitops-webhook", live(&next.leaf(&GOOD)));
    arrived.kubeconfig(&env);
    rotate(&env, 0, &[ca, &seen, &["--step", "3"]]);
}

#[test]
fn a_fleet_rotates_its_certificates_together() {
    let env = prepared();
    let fleet = ["--layout", "argo-fleet", "--clusters", "staging,production"];
    env.expect(0, &arguments(&fleet, &[&SEALED, &EXTERNAL]));
    pki::folder(&env, "next", &pki::ca("next CA"));
    rotate(&env, 0, &[&["webhook-ca"], &NEXT]);
    rotate(&env, 0, &[&["webhook-ca"], &NEXT_FILES]);
    let files = changed(&env);
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(
        files
            .iter()
            .all(|file| file.ends_with("/webhook.sealed.yaml")),
        "{files:?}"
    );
    rotate(&env, 0, &[&["webhook-ca"], &["--step", "3"]]);
}
