//! The library's `Cluster` against a fake API server: what it creates, what it leaves alone, and what it says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haptic_scaffold::cluster::{Cluster, Created, NewSecret, Resource};
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

const RELEASES: &str = "helm.toolkit.fluxcd.io/v2/helmreleases";

fn object(kind: &str, name: &str, say: &str) -> serde_json::Value {
    json!({
        "apiVersion": "any/v1", "kind": kind, "status": { "say": say },
        "metadata": { "name": name, "namespace": "haptic", "labels": { "app.kubernetes.io/instance": name } },
    })
}

fn paths(fake: &FakeCluster) -> Vec<String> {
    let requests = fake.requests();
    requests.iter().map(|asked| asked.path.clone()).collect()
}

#[test]
fn an_object_is_read_anew_each_time() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let states = ["one", "two"].map(|say| object("HelmRelease", "haptic", say));
    fake.put(RELEASES, states);
    let say = || {
        let found = cluster.object(&Resource::HELM_RELEASE, "haptic", "haptic");
        found
            .expect("answers")
            .map(|found| found["status"]["say"].clone())
    };
    assert_eq!(
        [say(), say(), say()],
        ["one", "two", "two"].map(|say| Some(json!(say)))
    );
    fake.remove(RELEASES, "haptic", "haptic");
    assert_eq!(say(), None);
    assert!(
        cluster
            .object(&Resource::JOB, "haptic", "x")
            .expect("answers")
            .is_none()
    );
}

#[test]
fn a_kind_that_the_cluster_lacks_is_told_from_a_missing_right() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let gone = || {
        assert!(
            cluster
                .object(&Resource::APPLICATION, "argocd", "haptic")
                .expect("answers")
                .is_none()
        );
        assert!(
            cluster
                .objects(&Resource::APPLICATION, None, None)
                .expect("answers")
                .is_none()
        );
    };
    gone();
    // Real servers look at rights first, and so refuse what they don't know.
    fake.forbid("get", "applications");
    fake.forbid("list", "applications");
    gone();
    // The group alone is not the kind.
    fake.serve_kind("argoproj.io/v1alpha1/appprojects");
    gone();
    fake.serve_kind("argoproj.io/v1alpha1/applications");
    let report = told(
        &cluster
            .object(&Resource::APPLICATION, "argocd", "haptic")
            .expect_err("is forbidden"),
    );
    assert_eq!(report.status, ExitStatus::Remote);
    assert_eq!(
        report.message,
        format!(
            "cannot read the Application `argocd/haptic` in the cluster of context `fake` ({}): the user `{USER}` lacks the right \
         `get` on `applications` of the group `argoproj.io` in the namespace `argocd`",
            cluster.server()
        )
    );
    assert_eq!(
        report.hints,
        [
            "kubectl --context fake auth can-i get applications.argoproj.io --namespace argocd",
            "a Role with the verb `get` on `applications` of the group `argoproj.io`, bound to that user, gives the right",
        ]
    );
    let report = told(
        &cluster
            .objects(&Resource::APPLICATION, None, None)
            .expect_err("is forbidden"),
    );
    assert!(
        report
            .message
            .ends_with("`list` on `applications` of the group `argoproj.io` in the whole cluster"),
        "{report:?}"
    );
    // What every cluster has isn't looked for.
    fake.forbid("get", "jobs");
    let before = fake.requests().len();
    assert!(cluster.object(&Resource::JOB, "haptic", "x").is_err());
    assert_eq!(fake.requests().len(), before + 1);
}

#[test]
fn another_version_of_an_api_is_found() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let old = "helm.toolkit.fluxcd.io/v2beta2/helmreleases";
    fake.put(old, [object("HelmRelease", "haptic", "old")]);
    // Preferred, and without the kind.
    fake.serve_kind("helm.toolkit.fluxcd.io/v3/others");
    let found = cluster
        .object(&Resource::HELM_RELEASE, "haptic", "haptic")
        .expect("answers");
    assert_eq!(found.expect("is there")["status"]["say"], "old");
    assert_eq!(
        paths(&fake),
        [
            "/apis/helm.toolkit.fluxcd.io/v2/namespaces/haptic/helmreleases/haptic",
            "/apis",
            "/apis/helm.toolkit.fluxcd.io/v3",
            "/apis/helm.toolkit.fluxcd.io/v2beta2",
            "/apis/helm.toolkit.fluxcd.io/v2beta2/namespaces/haptic/helmreleases/haptic",
        ]
    );
    fake.put(
        "haproxy-haptic.org/v1/haproxycfgs",
        [object("HAProxyCfg", "haptic-config-haproxycfg", "new")],
    );
    let found = cluster
        .objects(&Resource::HAPROXY_CFG, Some("haptic"), None)
        .expect("answers");
    assert_eq!(found.expect("is served").len(), 1);
    assert!(
        cluster
            .objects(&Resource::TEMPLATE_CONFIG, Some("haptic"), None)
            .expect("answers")
            .is_none()
    );
}

#[test]
fn what_answers_every_path_with_404_is_no_cluster_without_the_kind() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    fake.answer_path("/apis", &[(404, "<html>not here</html>")]);
    let report = told(
        &cluster
            .objects(&Resource::APPLICATION, None, None)
            .expect_err("is none"),
    );
    assert!(
        report
            .message
            .contains("what answers there is no Kubernetes API server"),
        "{report:?}"
    );
    let report = told(
        &cluster
            .object(&Resource::APPLICATION, "argocd", "x")
            .expect_err("is none"),
    );
    assert!(
        report
            .message
            .contains("what answers there is no Kubernetes API server"),
        "{report:?}"
    );
    // Something else that answers with success.
    fake.answer_path("/apis", &[(200, "<html>welcome</html>")]);
    let report = told(
        &cluster
            .objects(&Resource::APPLICATION, None, None)
            .expect_err("is none"),
    );
    assert!(
        report
            .message
            .contains("what answers there is no Kubernetes API server"),
        "{report:?}"
    );
    fake.answer_path(
        "/apis/batch/v1/namespaces/haptic/jobs/x",
        &[(200, "{\"kind\":\"Secret\"}")],
    );
    let report = told(
        &cluster
            .object(&Resource::JOB, "haptic", "x")
            .expect_err("is none"),
    );
    assert!(
        report.message.ends_with("the answer is not a Job"),
        "{report:?}"
    );
}

#[test]
fn a_list_is_read_to_its_end() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let list = |namespace, selector| {
        let found = cluster.objects(&Resource::POD, namespace, selector);
        found.expect("answers").expect("is served")
    };
    assert!(list(Some("haptic"), None).is_empty());
    for number in 0..600 {
        fake.put("v1/pods", [object("Pod", &format!("pod-{number}"), "")]);
    }
    fake.expire_continuations(1);
    assert_eq!(list(Some("haptic"), None).len(), 600);
    let queries: Vec<String> = fake
        .requests()
        .iter()
        .map(|asked| asked.query.clone())
        .collect();
    let wanted = [
        "",
        "",
        "&continue=250",
        "",
        "&continue=250",
        "&continue=500",
    ];
    assert_eq!(queries.len(), wanted.len());
    for (query, rest) in queries.iter().zip(wanted) {
        assert!(
            query.contains("limit=250") && query.ends_with(rest),
            "{query}"
        );
        assert_eq!(query.contains("continue"), !rest.is_empty(), "{query}");
    }
    assert_eq!(list(None, None).len(), 600);
    assert!(list(Some("other"), None).is_empty());
    assert_eq!(
        list(Some("haptic"), Some("app.kubernetes.io/instance=pod-7")).len(),
        1
    );
    // A cluster that never gets to the end of its list is left.
    fake.expire_continuations(100);
    let report = told(
        &cluster
            .objects(&Resource::POD, None, None)
            .expect_err("gives up"),
    );
    assert!(
        report.message.ends_with("unexpected status 410 (Expired)"),
        "{report:?}"
    );
}

#[test]
fn the_end_of_a_log_is_read() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    let log = |lines| {
        let log = cluster.log("haptic", "pod-1", Some("preflight"), lines);
        log.expect("answers")
    };
    assert_eq!(log(10), None);
    fake.put_log("haptic", "pod-1", "preflight", &["one\ntwo\nthree\n"]);
    assert_eq!(log(2).as_deref(), Some("two\nthree\n"));
    assert_eq!(
        cluster
            .log("haptic", "pod-1", None, 1)
            .expect("answers")
            .as_deref(),
        Some("three\n")
    );
    let asked = fake.requests().pop().expect("one");
    assert_eq!(asked.path, "/api/v1/namespaces/haptic/pods/pod-1/log");
    assert!(!asked.query.contains("container"), "{}", asked.query);

    // 256 KiB of the end, from the beginning of a line.
    let long: String = (0..100_000)
        .map(|number| format!("line {number}\n"))
        .collect();
    fake.put_log("haptic", "pod-1", "preflight", &[&long]);
    let end = log(1_000_000).expect("is there");
    assert!(long.ends_with(&end) && end.starts_with("line "));
    assert!(
        end.len() <= 256 * 1024 && end.len() > 256 * 1024 - 20,
        "{}",
        end.len()
    );
    let exact = "x".repeat(256 * 1024);
    fake.put_log("haptic", "pod-1", "preflight", &[&exact]);
    assert_eq!(log(1).as_deref(), Some(exact.as_str()));

    // Its program hasn't begun; the node doesn't know it any more.
    let path = "/api/v1/namespaces/haptic/pods/pod-1/log";
    let waits = json!({ "kind": "Status", "status": "Failure", "reason": "BadRequest", "code": 400,
        "message": "container \"preflight\" in pod \"pod-1\" is waiting to start: ContainerCreating" });
    let gone = json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "details": {}, "code": 404,
        "message": "the server could not find the requested resource" });
    fake.answer_path(
        path,
        &[
            (400, &waits.to_string()),
            (404, &gone.to_string()),
            (404, "404 page not found\n"),
        ],
    );
    assert_eq!((log(1), log(1)), (None, None));
    let report = told(
        &cluster
            .log("haptic", "pod-1", None, 1)
            .expect_err("is no API server"),
    );
    assert!(
        report.message.contains("no Kubernetes API server"),
        "{report:?}"
    );
}

#[test]
fn the_right_to_read_logs_is_named() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    fake.forbid("get", "pods/log");
    let report = told(
        &cluster
            .log("haptic", "pod-1", None, 1)
            .expect_err("is forbidden"),
    );
    let end =
        format!("the user `{USER}` lacks the right `get` on `pods/log` in the namespace `haptic`");
    assert!(report.message.ends_with(&end), "{report:?}");
    assert_eq!(
        report.hints,
        [
            "kubectl --context fake auth can-i get pods --subresource=log --namespace haptic",
            "a Role with the verb `get` on `pods/log`, bound to that user, gives the right",
        ]
    );
}

#[test]
fn no_name_leads_a_read_elsewhere() {
    let (fake, env) = (FakeCluster::start(), TestEnv::new());
    let cluster = connect(&fake, &env);
    for name in ["../secrets/x", "x?y", "", "a/b"] {
        let errors = [
            cluster.object(&Resource::POD, "haptic", name).map(drop),
            cluster.object(&Resource::POD, name, "x").map(drop),
            cluster.objects(&Resource::POD, Some(name), None).map(drop),
            cluster.log("haptic", name, None, 1).map(drop),
            cluster.log(name, "x", None, 1).map(drop),
            cluster.log("haptic", "x", Some(name), 1).map(drop),
        ];
        for error in errors {
            assert_eq!(
                told(&error.expect_err("is no name")).status,
                ExitStatus::Invalid
            );
        }
    }
    // A selector can't add a parameter.
    let selector = Some("a=b&limit=1");
    assert!(cluster.objects(&Resource::POD, None, selector).is_ok());
    let query = fake.requests().pop().expect("one").query;
    assert!(
        fake.requests().len() == 1 && !query.contains("&limit=1&") && !query.ends_with("limit=1"),
        "{query}"
    );
}
