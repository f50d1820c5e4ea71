//! `secrets list --context`: whether a cluster agrees with Git and the answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::fake_cluster::FakeCluster;
use crate::pki::{self, GOOD, Shape};
use crate::secret_repo::{EXTERNAL, SEALED, SOPS, arguments, flux, prepared, within};
use crate::secrets_list::findings;

/// A live Secret with a certificate.
fn live(pair: &pki::Leaf) -> Value {
    json!({ "metadata": {}, "type": "kubernetes.io/tls", "data": {
        "tls.crt": STANDARD.encode(&pair.pem), "tls.key": "eA==", "ca.crt": "eA==",
    } })
}

fn credentials() -> Value {
    json!({ "metadata": { "ownerReferences": [{ "kind": "SealedSecret", "name": "x" }] }, "type": "Opaque",
        "data": { "dataplane_username": "eA==", "dataplane_password": "eA==" } })
}

/// What is found in a cluster, each message alone.
fn messages(env: &TestEnv, fake: &FakeCluster) -> Vec<String> {
    fake.kubeconfig(env);
    let found = findings(env, &["--context", "fake"]);
    found
        .iter()
        .inspect(|finding| assert_eq!(finding["cluster"], "production"))
        .map(|finding| finding["message"].as_str().expect("text").to_owned())
        .collect()
}

#[test]
fn what_is_wrong_in_a_cluster_is_found() {
    let env = flux(&[&SEALED]);
    let with = |secret: Value| {
        FakeCluster::start().with_secret("haptic", "haptic-gitops-credentials", secret)
    };
    let the = "the Secret `haptic-gitops-credentials`";
    assert_eq!(messages(&env, &with(credentials())), Vec::<String>::new());
    assert_eq!(
        messages(&env, &FakeCluster::start()),
        [format!("{the} is missing in the cluster")]
    );

    let mut half = credentials();
    half["data"] = json!({ "dataplane_username": "eA==" });
    assert_eq!(
        messages(&env, &with(half)),
        [format!("{the} is incomplete in the cluster")]
    );
    let mut typed = credentials();
    typed["type"] = json!("kubernetes.io/basic-auth");
    assert_eq!(
        messages(&env, &with(typed)),
        [format!(
            "{the} has the type `kubernetes.io/basic-auth`, and the release needs `Opaque`"
        )]
    );
    let mut foreign = credentials();
    foreign["metadata"] = json!({});
    assert_eq!(
        messages(&env, &with(foreign)),
        [format!(
            "{the} was made by somebody else, so the Sealed Secrets controller will not touch it"
        )]
    );
    let mut taken = credentials();
    taken["metadata"] = json!({ "annotations": { "sealedsecrets.bitnami.com/managed": "true" } });
    assert_eq!(
        messages(&env, &with(taken)),
        [format!(
            "{the} was handed over to the Sealed Secrets controller, which has not taken it over"
        )]
    );
}

#[test]
fn another_certificate_in_the_cluster_than_in_git_is_found() {
    let env = prepared();
    let ca = pki::ca("test CA");
    pki::folder(&env, "keys", &ca);
    env.expect(0, &arguments(&["--provider", "flux"], &[&SOPS, &EXTERNAL]));
    let in_git = |name: &str| {
        json!({ "metadata": {}, "type": "kubernetes.io/tls", "data": {
            "tls.crt": STANDARD.encode(env.read(&format!("keys/{name}.crt"))), "tls.key": "eA==", "ca.crt": "eA==",
        } })
    };
    let with = |webhook: Value| {
        FakeCluster::start()
            .with_secret("haptic", "haptic-gitops-credentials", credentials())
            .with_secret("haptic", "haptic-gitops-frontend", in_git("frontend"))
            .with_secret("haptic", "haptic-gitops-webhook", webhook)
    };
    assert_eq!(
        messages(&env, &with(in_git("webhook"))),
        Vec::<String>::new()
    );
    let other =
        "the certificate of `haptic-gitops-webhook` in the cluster is another one than in Git";
    assert_eq!(messages(&env, &with(live(&ca.leaf(&GOOD)))), [other]);
    let found = messages(&env, &with(live(&pki::ca("a stranger").leaf(&GOOD))));
    assert_eq!((found.len(), found[0].as_str()), (2, other));
    assert!(found[1].contains("signed by `CN=a stranger`"), "{found:?}");
}

#[test]
fn certificates_made_by_hand_are_read_from_the_cluster() {
    let env = prepared();
    let ca = pki::ca("test CA");
    pki::folder(&env, "keys", &ca);
    env.expect(0, &arguments(&["--provider", "flux"], &[&EXTERNAL]));
    let soon = ca.leaf(&Shape { to_day: 9, ..GOOD });
    let fake = FakeCluster::start()
        .with_secret("haptic", "haptic-gitops-credentials", credentials())
        .with_secret("haptic", "haptic-gitops-frontend", live(&ca.leaf(&GOOD)))
        .with_secret("haptic", "haptic-gitops-webhook", live(&soon));
    let found = messages(&env, &fake);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("the certificate of `haptic-gitops-webhook` ends on 20"),
        "{found:?}"
    );
    let told = within(
        &env,
        0,
        &["secrets", "list", "--context", "fake", "--output", "json"],
    )
    .json();
    assert_eq!(told["secrets"][1]["in_cluster"], "there");
    assert!(told["secrets"][1]["not_after"].is_string());
}

#[test]
fn a_fleet_says_which_cluster_a_context_is() {
    let env = prepared();
    let fleet = ["--layout", "argo-fleet", "--clusters", "staging,production"];
    env.expect(0, &arguments(&fleet, &[&SEALED]));
    let fake =
        FakeCluster::start().with_secret("haptic", "haptic-gitops-credentials", credentials());
    fake.kubeconfig(&env);
    let run = within(&env, 2, &["secrets", "list", "--context", "fake"]);
    assert!(
        run.stderr.contains("doesn't say which cluster")
            && run.stderr.contains("write `--context staging=fake`"),
        "{}",
        run.stderr
    );
    let both = [
        "secrets",
        "list",
        "--output",
        "json",
        "--context",
        "production=fake",
    ];
    let told = within(&env, 0, &both).json();
    assert_eq!(
        (
            &told["secrets"][0]["cluster"],
            &told["secrets"][0]["in_cluster"]
        ),
        (&json!("staging"), &Value::Null)
    );
    assert_eq!(
        (
            &told["secrets"][1]["cluster"],
            &told["secrets"][1]["in_cluster"]
        ),
        (&json!("production"), &json!("there"))
    );
}
