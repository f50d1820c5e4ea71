//! `secrets apply` and `secrets script`: what is missing is made, and nothing is ever overwritten.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::env::{Run, TestEnv};
use crate::fake_cluster::{FakeCluster, Fault};
use crate::pki::{self, GOOD};
use crate::secret_repo::{self, EXTERNAL, SEALED, SOPS, arguments, flux, prepared, within};

const APPLY: [&str; 6] = [
    "secrets",
    "apply",
    "--context",
    "fake",
    "--secret-files",
    "keys",
];
const CREDENTIALS: &str = "haptic-gitops-credentials";
const WEBHOOK: &str = "haptic-gitops-webhook";
const FRONTEND: &str = "haptic-gitops-frontend";

/// A repository whose Secrets are made by hand, and a cluster.
fn by_hand(fake: &FakeCluster) -> TestEnv {
    let env = flux(&[&EXTERNAL]);
    fake.kubeconfig(&env);
    env
}

fn apply(env: &TestEnv, code: i32, more: &[&str]) -> Run {
    within(env, code, &[&APPLY, more].concat())
}

/// The value of a key of a Secret in the cluster.
fn value(fake: &FakeCluster, name: &str, key: &str) -> String {
    let all = fake.secrets();
    let secret = &all[&("haptic".to_owned(), name.to_owned())];
    let text = secret["data"][key].as_str().expect("a value");
    String::from_utf8(STANDARD.decode(text).expect("base64")).expect("text")
}

/// How often something was created, or tried to be.
fn creations(fake: &FakeCluster) -> usize {
    fake.requests()
        .iter()
        .filter(|r| r.verb == "create")
        .count()
}

#[test]
fn secrets_are_made_once_with_the_values_that_were_given() {
    let fake = FakeCluster::start();
    let env = by_hand(&fake);
    env.write("password", "correct horse\n")
        .mode("password", 0o600);
    let run = apply(
        &env,
        0,
        &["--password-file", "password", "--output", "json"],
    );
    let told = run.json();
    assert_eq!(told["schema"], "haptic-scaffold/secrets-apply/v1");
    assert_eq!(
        (&told["context"], &told["namespace"]),
        (&json!("fake"), &json!("haptic"))
    );
    let verdicts: Vec<&Value> = told["secrets"]
        .as_array()
        .expect("Secrets")
        .iter()
        .map(|s| &s["verdict"])
        .collect();
    assert_eq!(verdicts, ["created", "created", "created"]);

    assert!(fake.namespaces().contains("haptic"));
    let types = fake
        .secrets()
        .values()
        .map(|s| s["type"].to_string())
        .collect::<Vec<_>>();
    assert_eq!(
        types,
        [
            r#""Opaque""#,
            r#""kubernetes.io/tls""#,
            r#""kubernetes.io/tls""#
        ]
    );
    assert_eq!(value(&fake, CREDENTIALS, "dataplane_username"), "admin");
    assert_eq!(
        value(&fake, CREDENTIALS, "dataplane_password"),
        "correct horse"
    );
    for (name, key, file) in [
        (WEBHOOK, "tls.crt", "keys/webhook.crt"),
        (WEBHOOK, "tls.key", "keys/webhook.key"),
        (WEBHOOK, "ca.crt", "keys/webhook-ca.crt"),
        (FRONTEND, "tls.crt", "keys/frontend.crt"),
        (FRONTEND, "tls.key", "keys/frontend.key"),
    ] {
        let given = env.read(file).replace("\r\n", "\n");
        assert_eq!(value(&fake, name, key), given, "{file}");
    }

    let (before, made) = (fake.secrets(), creations(&fake));
    let again = apply(&env, 0, &[]);
    assert_eq!(
        again.stdout.matches("is there already").count(),
        3,
        "{}",
        again.stdout
    );
    assert_eq!((fake.secrets(), creations(&fake)), (before, made));
}

#[test]
fn what_is_there_stays_and_what_is_missing_is_made() {
    let theirs = json!({ "metadata": {}, "type": "Opaque",
        "data": { "dataplane_username": "eA==", "dataplane_password": "eQ==" } });
    let fake =
        FakeCluster::start()
            .with_namespace("haptic")
            .with_secret("haptic", CREDENTIALS, theirs);
    let env = by_hand(&fake);
    let run = apply(&env, 0, &[]);
    assert!(
        run.stdout
            .contains(&format!("haptic/{CREDENTIALS}: is there already\n")),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains(&format!("haptic/{WEBHOOK}: created\n")),
        "{}",
        run.stdout
    );
    assert_eq!(value(&fake, CREDENTIALS, "dataplane_password"), "y");
    assert!(!run.stderr.contains("namespace haptic was created"));
}

#[test]
fn an_incomplete_secret_is_refused_before_anything_is_made() {
    let half =
        json!({ "metadata": {}, "type": "kubernetes.io/tls", "data": { "tls.crt": "eA==" } });
    let fake = FakeCluster::start().with_secret("haptic", FRONTEND, half);
    let env = by_hand(&fake);
    let run = apply(&env, 3, &[]);
    let words = format!(
        "the Secret `{FRONTEND}` is there and lacks tls.key; it isn't overwritten, and nothing was created"
    );
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    assert!(run.stderr.contains(&format!(
        "kubectl delete secret {FRONTEND} --namespace haptic"
    )));
    assert_eq!(creations(&fake), 0);
}

#[test]
fn a_missing_right_is_named_and_nothing_else_is_made() {
    for (verb, resource, made) in [
        ("get", "secrets", 0),
        ("create", "namespaces", 0),
        ("create", "secrets", 0),
    ] {
        let fake = FakeCluster::start();
        fake.forbid(verb, resource);
        let env = by_hand(&fake);
        let run = apply(&env, 4, &[]);
        let words = format!("lacks the right `{verb}` on `{resource}`");
        assert!(run.stderr.contains(&words), "{}", run.stderr);
        assert!(
            run.stderr
                .contains(&format!("auth can-i {verb} {resource}")),
            "{}",
            run.stderr
        );
        assert_eq!(fake.secrets().len(), made);
    }
}

#[test]
fn a_dry_run_asks_and_makes_nothing() {
    let fake = FakeCluster::start();
    let env = by_hand(&fake);
    let run = apply(&env, 0, &["--dry-run"]);
    assert_eq!(
        run.stdout.matches("would be created").count(),
        3,
        "{}",
        run.stdout
    );
    assert_eq!(creations(&fake), 0);
}

#[test]
fn somebody_who_was_faster_keeps_theirs() {
    let fake = FakeCluster::start().with_namespace("haptic");
    fake.fail("create", "secrets", Fault::There);
    let env = by_hand(&fake);
    let told = apply(&env, 0, &["--output", "json"]).json();
    for secret in told["secrets"].as_array().expect("Secrets") {
        assert_eq!(secret["verdict"], "same", "{secret}");
    }
}

#[test]
fn a_bad_certificate_stops_everything() {
    let fake = FakeCluster::start();
    let env = by_hand(&fake);
    pki::ca("test CA").leaf(&GOOD).put(&env, "keys", "webhook");
    let run = apply(&env, 3, &[]);
    assert!(
        run.stderr.contains("its key did not sign it"),
        "{}",
        run.stderr
    );
    assert_eq!(creations(&fake), 0);
}

#[test]
fn with_cert_manager_only_the_credentials_are_needed() {
    let env = flux(&[]);
    let fake = FakeCluster::start();
    fake.kubeconfig(&env);
    within(&env, 0, &["secrets", "apply", "--context", "fake"]);
    let names: Vec<_> = fake.secrets().into_keys().collect();
    assert_eq!(names, [("haptic".to_owned(), CREDENTIALS.to_owned())]);
    assert_eq!(value(&fake, CREDENTIALS, "dataplane_password").len(), 44);
}

#[test]
fn what_something_else_makes_is_not_made_by_hand() {
    let external = [
        "--secrets",
        "external-secrets",
        "--secrets-operator",
        "external-secrets",
    ];
    for (flags, who) in [
        (&SOPS[..], "Flux makes them from Git"),
        (&SEALED, "the Sealed Secrets controller makes them from Git"),
        (&external, "External Secrets Operator makes them"),
    ] {
        let env = flux(&[flags]);
        let fake = FakeCluster::start();
        fake.kubeconfig(&env);
        let run = within(&env, 3, &["secrets", "apply", "--context", "fake"]);
        assert!(
            run.stderr.contains(who) && run.stderr.contains("secrets list"),
            "{}",
            run.stderr
        );
        assert!(fake.requests().is_empty());
        let script = within(&env, 0, &["secrets", "script"]).stdout;
        assert!(
            script.starts_with("# nothing to make by hand: "),
            "{script}"
        );
    }
}

#[test]
fn a_fleet_says_which_cluster() {
    let env = prepared();
    let fleet = ["--layout", "flux-fleet", "--clusters", "staging,production"];
    env.expect(0, &arguments(&fleet, &[]));
    let fake = FakeCluster::start();
    fake.kubeconfig(&env);
    let run = within(&env, 2, &["secrets", "apply", "--context", "fake"]);
    assert!(
        run.stderr.contains("doesn't say which cluster"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("write `--context staging=fake`"),
        "{}",
        run.stderr
    );
    let arguments = [
        "secrets",
        "apply",
        "--context",
        "production=fake",
        "--output",
        "json",
    ];
    assert_eq!(within(&env, 0, &arguments).json()["cluster"], "production");
}

#[test]
fn the_script_is_for_a_shell_and_has_no_value() {
    let env = flux(&[&EXTERNAL]);
    let script = within(&env, 0, &["secrets", "script"]).stdout;
    let run = env.program("sh", &["-n"], &script);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{script}");
    for name in ["create namespace haptic", CREDENTIALS, WEBHOOK, FRONTEND] {
        assert!(script.contains(name), "no {name} in {script}");
    }
    let key = env.read("keys/webhook.key");
    let secret = key.lines().nth(1).expect("a line of the key");
    assert!(
        !script.contains(secret) && !script.contains("BEGIN"),
        "{script}"
    );
    assert_eq!(secret_repo::state(&env).lines().count(), 1);
}
