//! Secrets: sealed once, replaced on request, and never in clear.

use crate::env::TestEnv;
use crate::golden;

/// A repository with Secrets in Git, in the folder `out`.
fn scaffolded(flags: &[&str]) -> TestEnv {
    let env = prepared();
    let mut arguments = vec!["init", "out", "--yes", "--chart-version", "0.2.2"];
    arguments.extend(["--repo-url", golden::REPO_URL]);
    arguments.extend(flags);
    env.expect(0, &arguments);
    env
}

/// Keys, a sealing certificate and a `sops`.
fn prepared() -> TestEnv {
    let env = TestEnv::new();
    golden::given(&env);
    env
}

const SEALED: [&str; 4] = [
    "--secrets",
    "sealed-secrets",
    "--sealing-certificate",
    "sealing.pem",
];
const EXTERNAL: [&str; 4] = ["--certificates", "external", "--secret-files", "keys"];

fn sealed(more: &[&str]) -> TestEnv {
    let mut flags = vec!["--provider", "flux"];
    flags.extend(SEALED);
    flags.extend(more);
    scaffolded(&flags)
}

#[test]
fn sops_has_its_keys_and_the_name_of_its_secret() {
    let env = scaffolded(&[
        "--layout",
        "flux-fleet",
        "--clusters",
        "staging,production",
        "--secrets",
        "sops",
        "--age-recipients",
        &format!("staging={0},production={0}", golden::AGE_KEY),
        "--sops-secret",
        "age",
    ]);
    assert!(
        env.read("out/clusters/staging/haptic.yaml")
            .contains("name: age\n")
    );
    assert!(
        env.read("out/README.md")
            .contains("kubectl create secret generic age ")
    );
}

#[test]
fn a_password_comes_from_a_file_or_standard_input_and_is_one_line() {
    for place in ["password", "-"] {
        let env = prepared();
        env.write("password", "correct horse battery\n")
            .mode("password", 0o600);
        let arguments = [
            &[
                "init",
                "out",
                "--yes",
                "--provider",
                "flux",
                "--chart-version",
                "0.2.2",
            ][..],
            &SEALED,
            &["--password-file", place],
        ]
        .concat();
        let program = env!("CARGO_BIN_EXE_haptic-scaffold");
        let run = env.program(program, &arguments, "correct horse battery\n");
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    let env = prepared();
    env.write("password", "a\nb\n").mode("password", 0o600);
    let mut arguments = vec!["init", "out", "--yes", "--provider", "flux"];
    arguments.extend(["--chart-version", "0.2.2", "--password-file", "password"]);
    arguments.extend(SEALED);
    let run = env.expect(3, &arguments);
    assert!(run.stderr.contains("line break"), "{}", run.stderr);
    assert!(!env.path("out").exists());
}

#[test]
fn another_ca_comes_in_three_steps_and_none_is_skipped() {
    let env = sealed(&EXTERNAL);
    let trial = ["secrets", "trial-certificates", "new", "--days", "9"];
    env.expect(
        0,
        &[
            &trial[..],
            &[
                "--release",
                "haptic",
                "--namespace",
                "haptic",
                "--frontend-host",
                "www.example.org",
            ],
        ]
        .concat(),
    );
    let rotate = |more: &[&str], code: i32| {
        let mut arguments = vec!["-C", "out", "secrets", "rotate", "webhook-ca"];
        arguments.extend(more);
        env.expect(code, &arguments)
    };
    let values = "out/apps/haptic/release/values.yaml";
    let edited = env
        .read(values)
        .replace("controller:", "controller: # ours");
    env.write(values, &edited);
    env.git("out", &["commit", "-qam", "Edit"]);
    rotate(&["--step", "2", "--webhook-ca", "new/webhook-ca.crt"], 3);
    rotate(&["--step", "1", "--webhook-ca", "new/webhook-ca.crt"], 0);
    let both = env.read(values);
    assert!(both.contains("controller: # ours"), "{both}");
    assert_ne!(both, edited);
    rotate(&["--step", "3"], 3);
    let files = [
        "--secret-files",
        "new",
        "--sealing-certificate",
        "sealing.pem",
    ];
    rotate(&files, 0);
    rotate(&["--step", "3", "--author", "A Team <team@example.org>"], 0);
    assert_eq!(env.read(values).lines().count(), edited.lines().count());
    let subjects = env.git("out", &["log", "--format=%s", "-4"]);
    assert_eq!(
        subjects,
        "Drop the webhook's old CA\nReplace the webhook's certificate by one of the next CA\nPublish the webhook's next CA beside the old one\nEdit\n"
    );
    let list = env
        .expect(0, &["-C", "out", "secrets", "list", "--output", "json"])
        .json();
    // The trial's certificate and CA end soon; nothing else is wrong.
    let findings = list["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 2, "{findings:?}");
    env.expect(10, &["-C", "out", "secrets", "list", "--exit-code"]);
}

#[test]
fn one_cluster_gets_another_password() {
    let flags = [
        &["--layout", "argo-fleet", "--clusters", "staging,production"][..],
        &SEALED,
    ]
    .concat();
    let env = scaffolded(&flags);
    let file = |cluster: &str| {
        env.read(&format!(
            "out/clusters/{cluster}/haptic-secrets/credentials.sealed.yaml"
        ))
    };
    let before = [file("staging"), file("production")];
    let mut arguments = vec![
        "-C",
        "out",
        "secrets",
        "rotate",
        "credentials",
        "--cluster",
        "staging",
    ];
    arguments.extend(["--sealing-certificate", "sealing.pem"]);
    env.expect(0, &arguments);
    assert_ne!(file("staging"), before[0]);
    assert_eq!(file("production"), before[1]);
}

#[test]
fn answers_that_would_break_what_is_sealed_are_refused_or_seal_anew() {
    let env = sealed(&EXTERNAL);
    let other = env.expect(
        3,
        &["init", "out", "--yes", "--webhook-ca", "webhook-ca.pem"],
    );
    assert!(
        other.stderr.contains("rotate webhook-ca"),
        "{}",
        other.stderr
    );

    let env = sealed(&[]);
    let file = "out/apps/haptic/secrets/credentials.sealed.yaml";
    let moved = ["init", "out", "--yes", "--namespace", "edge"];
    let dry = env.expect(2, &[&moved[..], &["--dry-run"]].concat());
    assert!(
        dry.stderr.contains("kubeseal --fetch-cert"),
        "{}",
        dry.stderr
    );
    let dry = env.expect(0, &[&moved[..], &SEALED, &["--dry-run", "--diff"]].concat());
    assert!(
        dry.stdout.contains("would be sealed anew"),
        "{}",
        dry.stdout
    );
    env.expect(0, &[&moved[..], &SEALED].concat());
    assert!(env.read(file).contains("namespace: edge\n"));
}

#[test]
fn other_age_keys_in_the_answers_are_told_apart_from_those_in_the_files() {
    let sops = [
        "--provider",
        "flux",
        "--secrets",
        "sops",
        "--age-recipients",
    ];
    let env = scaffolded(&[&sops[..], &[golden::AGE_KEY]].concat());
    let key = env
        .expect(0, &["secrets", "age-key", "age.key", "--output", "json"])
        .json();
    let key = key["recipient"].as_str().expect("a key");
    let run = env.expect(0, &["init", "out", "--yes", "--age-recipients", key]);
    assert!(run.stderr.contains("sops updatekeys"), "{}", run.stderr);
    let list = env.expect(10, &["-C", "out", "secrets", "list", "--exit-code"]);
    assert!(list.stdout.contains("for other keys"), "{}", list.stdout);
}
