//! The library's own client and a real API server: what a fake can only claim about it.

use haptic_scaffold::cluster::{Cluster, Created, NewSecret, Resource};
use haptic_scaffold::error::Report;
use haptic_scaffold::model::env::Env;
use haptic_scaffold::observe::job::{JobPhase, job};
use secrecy::{ExposeSecret as _, SecretSlice};
use serde_json::{Value, json};

use super::field::{Field, within};

/// A value that no message may have, as it is or in base64.
const VALUE: &str = "hunter2-hunter2-hunter2";
const ENCODED: &str = "aHVudGVyMi1odW50ZXIyLWh1bnRlcjI=";

/// Connects with the cluster's kubeconfig after a change to it.
fn connect(field: &Field, change: impl FnOnce(&mut Value)) -> Cluster {
    let view = ["config", "view", "--raw", "--output", "json"];
    let text = field.kubectl(&view).expect("a kubeconfig");
    let mut config: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut config);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), config.to_string()).expect("writes");
    let variables = Env::of(&[("KUBECONFIG", &file.path().to_string_lossy())]);
    Cluster::connect(&variables, None).expect("connects")
}

fn create(cluster: &Cluster, namespace: &str, kind: &str, key: &str) -> Result<Created, Report> {
    let value = SecretSlice::from(VALUE.as_bytes().to_vec());
    let new = NewSecret {
        namespace,
        name: "credentials",
        kind,
        values: &[(key, &value)],
        labels: &[("app.kubernetes.io/managed-by", "haptic-scaffold")],
    };
    cluster.create_secret(&new).map_err(|why| {
        let report = Report::of(&why);
        let all = format!("{why:?} {report:?}");
        assert!(!all.contains(VALUE) && !all.contains(ENCODED), "{all}");
        report
    })
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn a_real_api_server_is_understood() {
    let Some(field) = Field::up(&[], &[]) else {
        return;
    };
    let cluster = connect(&field, |_| {});
    let report = create(&cluster, "haptic", "Opaque", "password").expect_err("no namespace");
    assert!(
        report.message.contains("there is no namespace `haptic`"),
        "{report:?}"
    );
    assert_eq!(
        cluster.create_namespace("haptic").expect("creates"),
        Created::Made
    );
    assert_eq!(
        cluster.create_namespace("haptic").expect("answers"),
        Created::WasThere
    );
    assert!(
        cluster
            .secret("haptic", "credentials")
            .expect("answers")
            .is_none()
    );

    let report = create(&cluster, "haptic", "kubernetes.io/tls", "tls.crt").expect_err("no key");
    assert!(
        report.message.contains("`data[tls.key]` (FieldValue"),
        "{report:?}"
    );
    let report = create(&cluster, "haptic", "Opaque", "a b").expect_err("no such key");
    assert!(
        report.message.contains("finds the object invalid"),
        "{report:?}"
    );

    assert_eq!(
        create(&cluster, "haptic", "Opaque", "password"),
        Ok(Created::Made)
    );
    assert_eq!(
        create(&cluster, "haptic", "Opaque", "other"),
        Ok(Created::WasThere)
    );
    let live = cluster
        .secret("haptic", "credentials")
        .expect("answers")
        .expect("is there");
    assert_eq!(live.keys.iter().collect::<Vec<_>>(), ["password"]);
    assert_eq!(live.values["password"].expose_secret(), VALUE.as_bytes());
    let seen = field
        .get("secret", "haptic", "credentials")
        .expect("answers");
    assert_eq!(seen["data"]["password"], ENCODED);
    assert!(
        cluster
            .webhook_bundles("haptic", "webhook")
            .expect("answers")
            .is_empty()
    );
}

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn a_real_api_servers_refusals_are_understood() {
    let Some(field) = Field::up(&[], &[]) else {
        return;
    };
    let somebody = connect(&field, |config| {
        config["users"][0]["user"]["as"] = json!("ada@example.org");
    });
    let report = create(&somebody, "default", "Opaque", "password").expect_err("no right");
    assert!(
        report.message.ends_with(
            "the user `ada@example.org` lacks the right `create` on `secrets` in the namespace `default`"
        ),
        "{report:?}"
    );
    let report = Report::of(&somebody.webhook_bundles("a", "b").expect_err("no right"));
    assert!(
        report
            .message
            .contains("`ada@example.org` lacks the right `list`"),
        "{report:?}"
    );

    let nobody = connect(&field, |config| {
        config["users"][0]["user"] = json!({ "token": "no-such-token" });
    });
    let report = create(&nobody, "default", "Opaque", "password").expect_err("no login");
    assert!(
        report.message.contains("doesn't accept the login"),
        "{report:?}"
    );

    let untrusted = connect(&field, |config| {
        let cluster = &mut config["clusters"][0]["cluster"];
        cluster["tls-server-name"] = json!("elsewhere.example.org");
    });
    let report = create(&untrusted, "default", "Opaque", "password").expect_err("no trust");
    assert!(
        report.message.contains("no trusted connection"),
        "{report:?}"
    );
}

/// A Job whose program fails, as a rejecting preflight does.
const FAILING: &str = "
apiVersion: batch/v1
kind: Job
metadata:
  name: check
  namespace: default
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations:
        field.test/fail: timeout is no duration
    spec:
      restartPolicy: Never
      containers:
        - name: preflight
          image: example.org/preflight:1
          env:
            - name: HAPTIC_EXPECT_CHART_VERSION
              value: 0.2.1
";

#[test]
#[ignore = "needs real controllers: cargo test -- --ignored"]
fn a_real_cluster_is_read() {
    let Some(field) = Field::up(&["kwok"], &[]) else {
        return;
    };
    let cluster = connect(&field, |_| {});
    let none = cluster.object(&Resource::JOB, "default", "check");
    assert!(none.expect("answers").is_none());
    let none = cluster.log("default", "check", None, 10);
    assert!(none.expect("answers").is_none());
    field
        .kubectl_with(&["apply", "--filename", "-"], FAILING)
        .expect("applies");
    let state = within(60, "the Job fails", || {
        let found = cluster.object(&Resource::JOB, "default", "check");
        let object = found.expect("answers").expect("is there");
        let pods = cluster.objects(&Resource::POD, Some("default"), Some("job-name=check"));
        let state = job(&object, &pods.expect("answers").expect("is served"));
        if state.state == JobPhase::Rejected {
            return Ok(state);
        }
        Err(format!("{state:?}"))
    });
    assert_eq!(state.expected_version.as_deref(), Some("0.2.1"));
    let pod = state.pod.expect("a pod");
    let log = cluster
        .log("default", &pod, state.container.as_deref(), 10)
        .expect("answers")
        .expect("a log");
    assert!(log.contains("timeout is no duration"), "{log}");

    // Neither Flux nor Argo CD is there, and somebody without rights learns that too.
    let somebody = connect(&field, |config| {
        config["users"][0]["user"]["as"] = json!("ada@example.org");
        config["users"][0]["user"]["as-groups"] = json!(["system:authenticated"]);
    });
    for cluster in [&cluster, &somebody] {
        for what in [Resource::HELM_RELEASE, Resource::APPLICATION] {
            let none = cluster.object(&what, "default", "haptic");
            assert!(none.expect("answers").is_none(), "{what:?}");
            let none = cluster.objects(&what, None, None);
            assert!(none.expect("answers").is_none(), "{what:?}");
        }
    }
    let report = Report::of(
        &somebody
            .log("default", &pod, None, 1)
            .expect_err("no right"),
    );
    assert!(
        report.message.ends_with(
            "the user `ada@example.org` lacks the right `get` on `pods/log` in the namespace `default`"
        ),
        "{report:?}"
    );
    // The hint is a command that works.
    let (_, question) = report.hints[0].split_once(" auth ").expect("a command");
    let mut words = vec!["auth"];
    words.extend(question.split(' '));
    assert_eq!(field.kubectl(&words).expect("answers").trim(), "yes");
}
