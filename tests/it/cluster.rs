//! The library's `Cluster` against a fake API server: what it creates, what it leaves alone, and what it says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haptic_scaffold::cluster::{Cluster, Created, NewSecret};
use haptic_scaffold::error::{ExitStatus, Report};
use haptic_scaffold::model::env::Env;
use secrecy::{ExposeSecret as _, SecretSlice};
use serde_json::json;

use crate::env::TestEnv;
use crate::fake_cluster::{CONTEXT, FakeCluster, Fault, TOKEN, USER};

/// A value that must be seen nowhere.
const VALUE: &str = "hunter2-hunter2-hunter2";

fn home(env: &TestEnv) -> Env {
    Env::of(&[("HOME", &env.home().to_string_lossy())])
}

fn connect(fake: &FakeCluster, env: &TestEnv) -> Cluster {
    fake.kubeconfig(env);
    Cluster::connect(&home(env), None).expect("connects")
}

/// Connects by a kubeconfig that differs from the fake's own.
fn connect_with(
    fake: &FakeCluster,
    env: &TestEnv,
    change: impl FnOnce(&mut serde_json::Value),
) -> anyhow::Result<Cluster> {
    let mut config = serde_json::from_str(&fake.kubeconfig_text()).expect("JSON");
    change(&mut config);
    env.write("kubeconfig", &config.to_string());
    let file = env.path("kubeconfig").to_string_lossy().into_owned();
    Cluster::connect(&Env::of(&[("KUBECONFIG", &file)]), None)
}

fn create(cluster: &Cluster, namespace: &str, value: &str) -> anyhow::Result<Created> {
    let value = SecretSlice::from(value.as_bytes().to_vec());
    cluster.create_secret(&NewSecret {
        namespace,
        name: "credentials",
        kind: "Opaque",
        values: &[("password", &value)],
        labels: &[("app.kubernetes.io/managed-by", "haptic-scaffold")],
    })
}

/// All that a person or a log could see of an error; no value is in it.
fn told(error: &anyhow::Error) -> Report {
    let report = Report::of(error);
    let all = format!("{error:?} {error:#} {report:?}");
    for secret in [VALUE, &STANDARD.encode(VALUE), TOKEN] {
        assert!(!all.contains(secret), "{all}");
    }
    report
}

#[test]
fn a_secret_is_created_once_and_never_changed() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    assert!(
        cluster
            .secret("default", "credentials")
            .expect("answers")
            .is_none()
    );
    assert_eq!(
        create(&cluster, "default", VALUE).expect("creates"),
        Created::Made
    );
    let before = fake.secrets();
    assert_eq!(
        create(&cluster, "default", "another").expect("answers"),
        Created::WasThere
    );
    assert_eq!(fake.secrets(), before);

    let live = cluster
        .secret("default", "credentials")
        .expect("answers")
        .expect("is there");
    assert_eq!(live.values["password"].expose_secret(), VALUE.as_bytes());
    assert_eq!(live.kind, "Opaque");
    let shown = format!("{live:?} {cluster:?}");
    assert!(!shown.contains(VALUE) && !shown.contains(TOKEN), "{shown}");
    assert!(shown.contains(CONTEXT));

    let asked: Vec<String> = fake
        .requests()
        .iter()
        .map(|request| format!("{} {}", request.verb, request.path))
        .collect();
    let (list, one) = (
        "create /api/v1/namespaces/default/secrets",
        "get /api/v1/namespaces/default/secrets/credentials",
    );
    assert_eq!(asked, [one, list, list, one]);
}

#[test]
fn whom_a_secret_belongs_to_is_seen() {
    let secret = json!({
        "metadata": {
            "annotations": { "sealedsecrets.bitnami.com/managed": "true" },
            "ownerReferences": [{ "kind": "SealedSecret", "name": "x" }],
        },
        "type": "kubernetes.io/tls",
        "data": { "tls.crt": "YQ==", "tls.key": "Yg==" },
    });
    let fake = FakeCluster::start().with_secret("default", "tls", secret);
    let env = TestEnv::new();
    let live = connect(&fake, &env)
        .secret("default", "tls")
        .expect("answers")
        .expect("is there");
    assert_eq!(live.keys.iter().collect::<Vec<_>>(), ["tls.crt", "tls.key"]);
    assert_eq!(live.owner.as_deref(), Some("SealedSecret"));
    assert!(live.is_sealed_managed);
}

#[test]
fn a_namespace_has_to_be_there_and_can_be_made() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let report = told(&create(&cluster, "haptic", VALUE).expect_err("no namespace"));
    assert_eq!(report.status, ExitStatus::Remote);
    assert!(
        report.message.contains("there is no namespace `haptic`"),
        "{report:?}"
    );
    assert_eq!(
        report.hints,
        ["kubectl --context fake create namespace haptic"]
    );

    assert_eq!(
        cluster.create_namespace("haptic").expect("creates"),
        Created::Made
    );
    assert_eq!(
        cluster.create_namespace("haptic").expect("answers"),
        Created::WasThere
    );
    assert!(fake.namespaces().contains("haptic"));
    assert_eq!(
        create(&cluster, "haptic", VALUE).expect("creates"),
        Created::Made
    );
}

#[test]
fn a_missing_right_is_named_with_whose_it_is() {
    let fake = FakeCluster::start().with_namespace("haptic");
    let env = TestEnv::new();
    let cluster = connect(&fake, &env);
    fake.forbid("create", "secrets");
    fake.forbid("list", "validatingwebhookconfigurations");
    let report = told(&create(&cluster, "haptic", VALUE).expect_err("is forbidden"));
    assert_eq!(report.status, ExitStatus::Remote);
    let end = format!(
        "the user `{USER}` lacks the right `create` on `secrets` in the namespace `haptic`"
    );
    assert!(report.message.ends_with(&end), "{report:?}");
    assert_eq!(
        report.hints[0],
        "kubectl --context fake auth can-i create secrets --namespace haptic"
    );
    assert!(report.hints[1].contains("a Role with the verb `create`"));

    let report = told(
        &cluster
            .webhook_bundles("haptic", "webhook")
            .expect_err("is forbidden"),
    );
    assert!(
        report
            .message
            .contains("of the group `admissionregistration.k8s.io`")
    );
    assert!(
        report.hints[0].ends_with(
            "auth can-i list validatingwebhookconfigurations.admissionregistration.k8s.io"
        )
    );
    assert!(report.hints[1].contains("a ClusterRole"));
}

#[test]
fn no_failure_shows_a_value() {
    let cases = [
        (Fault::Unauthorized, "doesn't accept the login"),
        (Fault::Invalid, "invalid: `data` (FieldValueInvalid)"),
        (Fault::Broken, "unexpected status 500"),
        (Fault::HangUp, "no answer"),
    ];
    for (fault, words) in cases {
        let (fake, env) = (FakeCluster::start(), TestEnv::new());
        let cluster = connect(&fake, &env);
        fake.fail("create", "secrets", fault);
        let report = told(&create(&cluster, "default", VALUE).expect_err("fails"));
        assert!(report.message.contains(words), "{fault:?}: {report:?}");
        assert_eq!(report.status, ExitStatus::Remote);
        assert!(!report.hints.is_empty());
        let sent = fake.requests().pop().expect("one");
        assert!(sent.body.contains(&STANDARD.encode(VALUE)), "it was sent");
        assert_eq!(
            (fake.requests().len(), sent.resource.as_str()),
            (1, "secrets")
        );
    }
}

#[test]
fn webhooks_of_one_service_have_their_bundles_read() {
    let webhook = |service: &str, bundle: &str| {
        let service = json!({ "namespace": "haptic", "name": service });
        json!({ "clientConfig": { "service": service, "caBundle": STANDARD.encode(bundle) } })
    };
    let fake = FakeCluster::start()
        .with_webhooks(json!({ "webhooks": [webhook("ours", "one"), webhook("theirs", "two")] }))
        .with_webhooks(json!({ "webhooks": [
            { "clientConfig": { "url": "https://example.org" } },
            { "clientConfig": { "service": { "namespace": "haptic", "name": "ours" } } },
        ] }))
        .with_webhooks(json!({ "metadata": {} }));
    let env = TestEnv::new();
    let bundles = connect(&fake, &env)
        .webhook_bundles("haptic", "ours")
        .expect("answers");
    assert_eq!(bundles, [b"one".to_vec(), Vec::new()]);
}

#[test]
fn an_unknown_context_is_answered_with_the_known_ones() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let path = fake.kubeconfig(&env);
    let report = told(&Cluster::connect(&home(&env), Some("prod")).expect_err("not there"));
    assert_eq!(report.status, ExitStatus::Invalid);
    let words = format!("the kubeconfig `{}` has no context `prod`", path.display());
    assert_eq!(report.message, words);
    assert_eq!(report.hints, ["`--context` takes one of these: `fake`"]);
}

#[test]
fn kubeconfigs_are_merged_and_the_missing_passed_over() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let text = fake.kubeconfig_text();
    env.write("one", &text.replace(r#""name":"c""#, r#""name":"other""#))
        .write(
            "two",
            &text.replace(r#""name":"fake""#, r#""name":"second""#),
        );
    let paths = ["gone", "one", "two"].map(|name| env.path(name));
    let list = std::env::join_paths(paths).expect("paths");
    let variables = Env::of(&[("KUBECONFIG", &list.to_string_lossy())]);
    // The cluster that `fake` names stands in the other file.
    let cluster = Cluster::connect(&variables, None).expect("connects");
    assert_eq!(
        create(&cluster, "default", VALUE).expect("creates"),
        Created::Made
    );
    let second = Cluster::connect(&variables, Some("second")).expect("connects");
    assert_eq!(second.context(), "second");
    assert!(second.server().starts_with("http://127.0.0.1:"));
}

#[test]
fn no_kubeconfig_is_told_by_what_was_looked_for() {
    let env = TestEnv::new();
    let report = told(&Cluster::connect(&home(&env), None).expect_err("none"));
    assert_eq!(report.status, ExitStatus::Invalid);
    assert!(report.message.contains("/home/.kube/config`"), "{report:?}");
    assert!(report.hints[0].contains("KUBECONFIG") && report.hints[0].contains("--context"));

    env.write(
        "broken",
        &format!("users:\n- name: u\n  user:\n    exec: {TOKEN}\n"),
    );
    let file = env.path("broken").to_string_lossy().into_owned();
    let variables = Env::of(&[("KUBECONFIG", &file)]);
    let report = told(&Cluster::connect(&variables, None).expect_err("is broken"));
    assert!(report.message.contains("line 4"), "{report:?}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let cluster = connect_with(&fake, &env, |config| {
        config["clusters"][0]["cluster"]["server"] = json!(format!("http://{address}"));
    })
    .expect("asks nothing yet");
    let report = told(&create(&cluster, "default", VALUE).expect_err("no answer"));
    assert_eq!(report.status, ExitStatus::Remote);
    let words = format!("context `fake` (http://{address}): no answer, the connection was refused");
    assert!(report.message.contains(&words), "{report:?}");
}

#[test]
fn a_login_program_that_fails_is_told_without_what_it_printed() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let login = |command: &str, arguments: serde_json::Value| {
        connect_with(&fake, &env, |config| {
            config["users"][0]["user"] = json!({ "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": command, "args": arguments, "interactiveMode": "Never",
            } });
        })
    };
    let script = format!("echo {TOKEN}; exit 3");
    let report = told(&login("sh", json!(["-c", script])).expect_err("fails"));
    assert!(
        report.message.contains("the login program `sh` failed"),
        "{report:?}"
    );
    let report = told(&login("echo", json!([TOKEN])).expect_err("no login"));
    assert!(report.message.contains("printed no login"), "{report:?}");
    let report = told(&login("no-such-program", json!([])).expect_err("no program"));
    assert!(
        report.message.contains("`no-such-program` can't run"),
        "{report:?}"
    );

    let login_of = json!({ "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": { "token": TOKEN } });
    let cluster = login("echo", json!([login_of.to_string()])).expect("logs in");
    assert!(cluster.secret("default", "x").expect("answers").is_none());
}

#[test]
fn a_server_without_trusted_tls_is_named() {
    use std::io::{Read as _, Write as _};
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let _ = stream.read(&mut [0; 4096]).is_err();
        let _ = stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .is_err();
    });
    let cluster = connect_with(&fake, &env, |config| {
        config["clusters"][0]["cluster"]["server"] = json!(format!("https://{address}"));
    })
    .expect("asks nothing yet");
    let report = told(&cluster.create_namespace("haptic").expect_err("no TLS"));
    assert_eq!(report.status, ExitStatus::Remote);
    assert!(
        report.message.contains("no trusted connection"),
        "{report:?}"
    );
    assert!(report.hints[0].contains("certificate-authority"));
}
