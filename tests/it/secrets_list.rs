//! `secrets list`: what the release needs, and each thing that doesn't agree, with its place and the next step.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::golden;
use crate::pki::{self, GOOD, Shape};
use crate::secret_repo::{EXTERNAL, SEALED, SOPS, arguments, flux, prepared, within};

const SECRETS: &str = "out/apps/haptic/secrets";

/// The findings, and that the exit code says whether there are any.
pub fn findings(env: &TestEnv, more: &[&str]) -> Vec<Value> {
    let all = [&["secrets", "list", "--output", "json"], more].concat();
    let findings = within(env, 0, &all).json()["findings"]
        .as_array()
        .expect("findings")
        .clone();
    let coded = [&all[..], &["--exit-code"]].concat();
    within(env, if findings.is_empty() { 0 } else { 10 }, &coded);
    for finding in &findings {
        assert!(
            finding["hint"]
                .as_str()
                .is_some_and(|hint| !hint.is_empty()),
            "{finding}"
        );
    }
    findings
}

/// The one finding, as people read it: place, message.
fn one(env: &TestEnv, more: &[&str]) -> String {
    let findings = findings(env, more);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let text = |key: &str| findings[0][key].as_str().unwrap_or_default().to_owned();
    let place = match &findings[0]["line"] {
        Value::Null => text("cluster"),
        line => format!("{}:{line}", text("file")),
    };
    let told = format!("{place}: {}", text("message"));
    let shown = within(env, 0, &[&["secrets", "list"], more].concat()).stdout;
    assert!(
        shown.contains(&format!("\n{told}\n  {}\n", text("hint"))),
        "{shown}"
    );
    told
}

fn edit(env: &TestEnv, path: &str, old: &str, new: &str) {
    let text = env.read(path);
    let edited = text.replacen(old, new, 1);
    assert_ne!(edited, text, "no {old} in {text}");
    env.write(path, &edited);
}

#[test]
fn each_secret_is_told_with_all_that_the_release_needs_of_it() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let run = within(&env, 0, &["secrets", "list", "--output", "json"]);
    let told = run.json();
    assert_eq!(
        (&told["schema"], &told["ok"]),
        (&json!("haptic-scaffold/secrets-list/v1"), &json!(true))
    );
    assert_eq!(told["findings"], json!([]));
    let webhook = &told["secrets"][1];
    let end = webhook["not_after"].as_str().expect("an end").to_owned();
    assert_eq!(
        webhook,
        &json!({
            "cluster": "production", "name": "haptic-gitops-webhook", "namespace": "haptic",
            "type": "kubernetes.io/tls", "keys": ["tls.crt", "tls.key", "ca.crt"],
            "from": "sealed-secrets", "file": "apps/haptic/secrets/webhook.sealed.yaml",
            "says": "sealed in Git", "not_after": end, "in_cluster": null,
        })
    );
    let shown = within(&env, 0, &["secrets", "list"]).stdout;
    let words = format!(
        "haptic/haptic-gitops-webhook in production: sealed in Git\n  kubernetes.io/tls: tls.crt, tls.key, ca.crt\n  apps/haptic/secrets/webhook.sealed.yaml\n  its certificate ends on {end}\n"
    );
    assert!(shown.contains(&words), "{shown}");
}

#[test]
fn where_each_secret_comes_from_is_told() {
    let external = [
        "--secrets",
        "external-secrets",
        "--secrets-operator",
        "external-secrets",
    ];
    let store = [
        "--secret-store",
        "ClusterSecretStore/vault",
        "--secret-path",
        "team/haptic",
    ];
    for (flags, from, says) in [
        (&[][..], "manual", "made by hand"),
        (&[&SOPS[..]], "sops", "encrypted in Git"),
        (
            &[&external[..]],
            "external-secrets",
            "External Secrets, made in the cluster",
        ),
        (
            &[&external[..], &store],
            "external-secrets",
            "External Secrets, from ClusterSecretStore/vault, team/haptic/credentials",
        ),
    ] {
        let told = within(&flux(flags), 0, &["secrets", "list", "--output", "json"]).json();
        let secret = &told["secrets"][0];
        assert_eq!(
            (&secret["from"], &secret["says"]),
            (&json!(from), &json!(says))
        );
        assert_eq!(told["findings"], json!([]));
    }
}

#[test]
fn a_sealed_file_that_was_edited_is_found() {
    let sealed = |edits: &dyn Fn(&TestEnv, &str), words: &str| {
        for (strategy, ending) in [(&SEALED, "sealed"), (&SOPS, "sops")] {
            let env = flux(&[strategy]);
            let file = format!("{SECRETS}/credentials.{ending}.yaml");
            edits(&env, &file);
            let told = one(&env, &[]);
            assert_eq!(
                told,
                format!("apps/haptic/secrets/credentials.{ending}.yaml:1: {words}")
            );
        }
    };
    let renamed = ": it was renamed after it was sealed, or for another release";
    sealed(
        &|env, file| {
            edit(
                env,
                file,
                "  name: haptic-gitops-credentials",
                "  name: mine",
            );
        },
        &format!("its name is `mine`, and the release needs `haptic-gitops-credentials`{renamed}"),
    );
    sealed(
        &|env, file| edit(env, file, "  namespace: haptic", "  namespace: other"),
        &format!("its namespace is `other`, and the release needs `haptic`{renamed}"),
    );
    sealed(
        &|env, file| edit(env, file, "type: Opaque", "type: kubernetes.io/tls"),
        &format!("its type is `kubernetes.io/tls`, and the release needs `Opaque`{renamed}"),
    );
    sealed(
        &|env, file| edit(env, file, "dataplane_password:", "password:"),
        "it lacks dataplane_password",
    );
    sealed(
        &|env, file| std::fs::remove_file(env.path(file)).expect("is there"),
        "the Secret `haptic-gitops-credentials` is neither sealed nor encrypted here, or not there",
    );
}

#[test]
fn a_value_in_clear_in_an_encrypted_file_is_found_and_not_shown() {
    let env = flux(&[&SOPS]);
    edit(
        &env,
        &format!("{SECRETS}/credentials.sops.yaml"),
        "ENC[not really]",
        "Z2VoZWlt",
    );
    let told = one(&env, &[]);
    assert_eq!(
        told,
        "apps/haptic/secrets/credentials.sops.yaml:1: a value in it is not encrypted"
    );
    assert!(
        !within(&env, 0, &["secrets", "list", "-vv"])
            .stdout
            .contains("Z2VoZWlt")
    );
}

#[test]
fn the_end_of_a_certificate_is_found() {
    let env = prepared();
    let ca = pki::ca("test CA");
    pki::folder(&env, "keys", &ca);
    ca.leaf(&Shape { to_day: 9, ..GOOD })
        .put(&env, "keys", "webhook");
    env.expect(
        0,
        &arguments(&["--provider", "flux"], &[&SEALED, &EXTERNAL]),
    );
    let file = "apps/haptic/secrets/webhook.sealed.yaml";
    let told = one(&env, &[]);
    assert!(
        told.starts_with(&format!(
            "{file}:1: the certificate of `haptic-gitops-webhook` ends on 20"
        )),
        "{told}"
    );
    let text = env.read(&format!("out/{file}"));
    let end = text
        .split("not-after: \"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("an end");
    edit(&env, &format!("out/{file}"), end, "2020-02-02T00:00:00Z");
    let told = one(&env, &[]);
    assert_eq!(
        told,
        format!(
            "{file}:1: the certificate of `haptic-gitops-webhook` ended on 2020-02-02T00:00:00Z"
        )
    );
}

#[test]
fn another_ca_than_the_recorded_one_is_found() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let file = "apps/haptic/secrets/webhook.sealed.yaml";
    let text = env.read(&format!("out/{file}"));
    let line = text
        .lines()
        .find(|line| line.contains("haptic-scaffold/ca:"))
        .expect("a CA");
    edit(
        &env,
        &format!("out/{file}"),
        line,
        "    haptic-scaffold/ca: \"sha256:00\"",
    );
    let told = one(&env, &[]);
    assert_eq!(
        told,
        format!(
            "{file}:1: the certificate in it was signed by another CA than the one in the answers (`webhook_ca`)"
        )
    );
}

#[test]
fn a_ca_bundle_that_was_edited_is_found_with_its_line() {
    let inline = ["--inline-values"];
    for provider in ["flux", "argo"] {
        for more in [&[][..], &inline] {
            let env = prepared();
            env.expect(0, &arguments(&["--provider", provider], &[&EXTERNAL, more]));
            let wanted = STANDARD.encode(env.read("keys/webhook-ca.crt"));
            let other = STANDARD.encode(pki::ca("a stranger").pem());
            let mut places = Vec::new();
            for (path, text) in golden::files(&env.path("out")) {
                let lines = text.lines().enumerate();
                places.extend(
                    lines
                        .filter(|(_, line)| line.contains("caBundle: "))
                        .map(|(at, _)| format!("{path}:{}", at + 1)),
                );
                if text.contains(&format!("caBundle: {wanted}")) {
                    edit(&env, &format!("out/{path}"), &wanted, &other);
                }
            }
            assert_eq!(places.len(), 1, "{places:?}");
            let told = one(&env, &[]);
            assert!(
                told.starts_with(&format!(
                    "{}: this caBundle lacks a CA of the answers",
                    places[0]
                )),
                "{provider} {more:?}: {told}"
            );
        }
    }
}

#[test]
fn a_secret_in_clear_is_found_wherever_it_stands() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\nstringData:\n  password: geheim-und-lang\n";
    let indented = secret.replace('\n', "\n    ");
    let cases = [
        ("other/secret.yaml", secret.to_owned(), 1),
        ("other/second.yml", format!("kind: ConfigMap\ndata:\n  a: b\n---\n{secret}"), 5),
        ("other/list.yaml", format!("kind: List\nitems:\n  - kind: ConfigMap\n    data: {{}}\n  - {indented}\n"), 5),
        ("other/secret.json", "{\n \"items\": [\n  {\"kind\": \"Secret\", \"data\": {\"a\": \"geheim-und-lang\"}}\n ],\n \"kind\": \"List\"\n}\n".to_owned(), 3),
    ];
    let env = flux(&[]);
    for (path, text, line) in cases {
        env.write(&format!("out/{path}"), &text);
        assert_eq!(
            one(&env, &[]),
            format!("{path}:{line}: a Secret stands here in clear")
        );
        let said = within(&env, 0, &["secrets", "list", "-vv"]);
        assert!(
            !(said.stdout + &said.stderr).contains("geheim"),
            "a value is shown"
        );
        std::fs::remove_file(env.path(&format!("out/{path}"))).expect("is there");
    }
}

#[test]
fn what_is_sealed_encrypted_or_empty_is_no_secret_in_clear() {
    let env = flux(&[]);
    let harmless = [
        "kind: Secret\nmetadata:\n  name: x\ndata:\n  a: ENC[AES256_GCM,data:x]\nsops:\n  version: 3.9.0\n",
        "kind: SealedSecret\nspec:\n  encryptedData:\n    a: AgB\n  template:\n    data:\n      b: c\n",
        "kind: Secret\nmetadata:\n  name: x\ntype: kubernetes.io/service-account-token\n",
        "kind: ConfigMap\ndata:\n  kind: Secret\n",
        "kind: [Secret\ndata: {\n",
    ];
    for (at, text) in harmless.iter().enumerate() {
        env.write(&format!("out/other/{at}.yaml"), text);
    }
    env.write("out/README.txt", "kind: Secret\ndata:\n  a: b\n");
    assert_eq!(findings(&env, &[]), Vec::<Value>::new());
}

#[test]
fn a_scaffold_below_a_folder_is_named_by_its_path() {
    let env = flux(&[&SEALED, &["--path", "platform/ingress"]]);
    let run = within(&env, 3, &["secrets", "list"]);
    assert!(
        run.stderr
            .contains("hint: there is one in platform/ingress: add `--path platform/ingress`"),
        "{}",
        run.stderr
    );
    let told = within(
        &env,
        0,
        &[
            "secrets",
            "list",
            "--path",
            "platform/ingress",
            "--output",
            "json",
        ],
    )
    .json();
    assert_eq!(
        told["secrets"][0]["file"],
        "platform/ingress/apps/haptic/secrets/credentials.sealed.yaml"
    );
    assert_eq!(told["findings"], json!([]));
}

#[test]
fn without_a_scaffold_there_is_nothing_to_list() {
    let env = TestEnv::new();
    std::fs::create_dir(env.path("out")).expect("a folder");
    env.git("out", &["init", "-q"]);
    for what in [
        &["list"][..],
        &["script"],
        &["apply", "--context", "x"],
        &["rotate", "credentials"],
    ] {
        let run = within(&env, 3, &[&["secrets"], what].concat());
        assert!(
            run.stderr
                .contains("has no scaffold whose Secrets are known"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("hint: `-C DIR` names a repository"),
            "{}",
            run.stderr
        );
    }
}
