//! A second `init` with Secrets in Git: what is sealed stays as it is, and another strategy leaves nothing of the one before.

use std::collections::BTreeMap;

use crate::env::{Run, TestEnv};
use crate::golden;
use crate::pki;
use crate::secret_repo::{EXTERNAL, SEALED, SOPS, arguments, flux, state};

const SECRETS: &str = "out/apps/haptic/secrets";

fn again(env: &TestEnv, code: i32, more: &[&[&str]]) -> Run {
    env.expect(code, &arguments(&["--provider", "flux"], more))
}

/// The files that have values in them.
fn sealed(env: &TestEnv) -> BTreeMap<String, String> {
    let mut files = golden::files(&env.path(SECRETS));
    files.retain(|path, _| path.ends_with(".sealed.yaml") || path.ends_with(".sops.yaml"));
    files
}

#[test]
fn a_second_run_seals_nothing_again() {
    for strategy in [&SEALED, &SOPS] {
        let env = flux(&[strategy, &EXTERNAL]);
        let (files, before) = (sealed(&env), state(&env));
        assert_eq!(files.len(), 3);
        // No value, certificate or program is needed for what is there.
        env.program_on_path("sops", "#!/bin/sh\nexit 9\n");
        env.expect(0, &["-C", "out", "init", "--yes"]);
        again(&env, 0, &[strategy, &EXTERNAL]);
        assert_eq!((sealed(&env), state(&env)), (files, before));
    }
}

#[test]
fn only_what_is_missing_is_sealed() {
    for (strategy, file) in [
        (&SEALED, "frontend.sealed.yaml"),
        (&SOPS, "frontend.sops.yaml"),
    ] {
        let env = flux(&[strategy, &EXTERNAL]);
        let before = sealed(&env);
        std::fs::remove_file(env.path(&format!("{SECRETS}/{file}"))).expect("is there");
        env.git("out", &["commit", "-qam", "Lose one"]);
        again(&env, 0, &[strategy, &EXTERNAL]);
        let mut after = sealed(&env);
        let made = after.insert(file.to_owned(), before[file].clone());
        assert!(made.is_some());
        assert_eq!(after, before);
        let commit = env.git("out", &["show", "--name-only", "--format=", "HEAD"]);
        assert_eq!(commit.trim(), format!("apps/haptic/secrets/{file}"));
    }
}

#[test]
fn another_certificate_is_for_rotate_to_put_there() {
    for strategy in [&SEALED, &SOPS] {
        let env = flux(&[strategy, &EXTERNAL]);
        let before = state(&env);
        let ca = pki::ca("test CA");
        pki::folder(&env, "other", &ca);
        for name in ["webhook", "webhook-ca"] {
            std::fs::copy(
                env.path(&format!("keys/{name}.crt")),
                env.path(&format!("other/{name}.crt")),
            )
            .expect("copies");
        }
        std::fs::copy(env.path("keys/webhook.key"), env.path("other/webhook.key")).expect("copies");
        let other = ["--certificates", "external", "--secret-files", "other"];
        let run = again(&env, 3, &[strategy, &other]);
        assert!(
            run.stderr.contains("frontend.s")
                && run
                    .stderr
                    .contains("has another certificate than the one that is given"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("haptic-scaffold secrets rotate frontend --secret-files DIR"),
            "{}",
            run.stderr
        );
        assert_eq!(state(&env), before);
    }
}

#[test]
fn a_password_for_what_is_sealed_already_is_said_to_be_unread() {
    let env = flux(&[&SEALED]);
    let before = state(&env);
    env.write("password", "another one\n")
        .mode("password", 0o600);
    let run = again(&env, 0, &[&SEALED, &["--password-file", "password"]]);
    assert!(
        run.stderr.contains("secrets rotate credentials"),
        "{}",
        run.stderr
    );
    assert_eq!(state(&env), before);
}

/// The kustomization lists the files beside it, and nothing else; what was sealed another way is gone.
fn assert_consistent(env: &TestEnv, strategy: &str) {
    let text = env.read(&format!("{SECRETS}/kustomization.yaml"));
    let mut listed: Vec<String> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "))
        .map(str::to_owned)
        .collect();
    listed.sort();
    let mut there: Vec<String> = golden::files(&env.path(SECRETS)).into_keys().collect();
    there.retain(|path| path != "kustomization.yaml");
    assert_eq!(listed, there, "{strategy}");
    let endings = match strategy {
        "sops" => [false, true],
        "sealed-secrets" => [true, false],
        _ => [false, false],
    };
    for (ending, wanted) in [".sealed.yaml", ".sops.yaml"].iter().zip(endings) {
        let count = there.iter().filter(|path| path.ends_with(ending)).count();
        assert_eq!(count > 0, wanted, "{strategy}: {there:?}");
    }
    assert_eq!(
        env.path("out/.sops.yaml").exists(),
        strategy == "sops",
        "{strategy}"
    );
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    let list = env.expect(0, &["-C", "out", "secrets", "list", "--exit-code"]);
    assert!(!list.stdout.contains("not there"), "{}", list.stdout);
}

#[test]
fn strategies_follow_each_other_without_leaving_anything() {
    let env = flux(&[]);
    assert_consistent(&env, "manual");
    let external = [
        "--secrets",
        "external-secrets",
        "--secrets-operator",
        "external-secrets",
    ];
    let manual = ["--secrets", "manual"];
    let order = [
        &SOPS[..],
        &SEALED,
        &external,
        &SEALED,
        &SOPS,
        &external,
        &SOPS,
        &manual,
        &SEALED,
        &manual,
    ];
    for flags in order {
        again(&env, 0, &[flags]);
        assert_consistent(&env, flags[1]);
    }
}

#[test]
fn strategies_change_with_certificates_too() {
    let env = flux(&[&EXTERNAL]);
    let store = [
        "--secrets",
        "external-secrets",
        "--secrets-operator",
        "external-secrets",
        "--secret-store",
        "ClusterSecretStore/vault",
    ];
    let manual = ["--secrets", "manual"];
    for flags in [&SOPS[..], &SEALED, &store, &SEALED, &manual] {
        again(&env, 0, &[flags, &EXTERNAL]);
        assert_consistent(&env, flags[1]);
    }
}

#[test]
fn certificates_of_cert_manager_take_the_sealed_ones_away() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let credentials = sealed(&env)["credentials.sealed.yaml"].clone();
    again(&env, 0, &[&SEALED, &["--certificates", "cert-manager"]]);
    let left = sealed(&env);
    assert_eq!(
        left.into_iter().collect::<Vec<_>>(),
        [("credentials.sealed.yaml".to_owned(), credentials)]
    );
    again(&env, 0, &[&SEALED, &EXTERNAL]);
    assert_consistent(&env, "sealed-secrets");
}
