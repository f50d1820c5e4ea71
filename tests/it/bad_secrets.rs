//! Bad input for Secrets: each fault is told with its file, its reason and the next step, and nothing is written.

use rcgen::KeyPair;

use crate::env::{Run, TestEnv};
use crate::golden;
use crate::pki::{self, GOOD, Shape};
use crate::secret_repo::{self, EXTERNAL, SEALED, SOPS, arguments, prepared};

/// Runs `init` under Flux; where it fails, nothing is there, and a hint is.
pub fn ending(env: &TestEnv, code: i32, more: &[&[&str]]) -> Run {
    let run = env.expect(code, &arguments(&["--provider", "flux"], more));
    if code != 0 {
        assert!(!env.path("out").exists(), "something was written");
        assert!(run.stderr.contains("\nhint: "), "no hint: {}", run.stderr);
    }
    run
}

pub fn assert_told(run: &Run, words: &[&str]) {
    for words in words {
        assert!(run.stderr.contains(words), "no «{words}» in {}", run.stderr);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let env = prepared();
    let ends = |words: &[&str]| assert_told(&ending(&env, 3, &[&SEALED, &EXTERNAL]), words);
    std::fs::remove_file(env.path("keys/frontend.crt")).expect("is there");
    ends(&[
        "there is no `frontend.crt` in `keys`",
        "put it there as `frontend.crt`, PEM",
    ]);
    std::fs::remove_file(env.path("keys/webhook.key")).expect("is there");
    ends(&[
        "there is no `webhook.key` in `keys`",
        "`haptic-gitops-webhook",
        "trial-certificates",
    ]);
    let gone = [
        "--certificates",
        "external",
        "--webhook-ca",
        "keys/webhook-ca.crt",
    ];
    let run = ending(&env, 3, &[&SEALED, &gone, &["--secret-files", "gone"]]);
    assert_told(
        &run,
        &[
            "there is no folder `",
            "/gone`",
            "names a folder that is there",
        ],
    );
    let run = ending(&env, 3, &[&SEALED, &gone]);
    assert_told(
        &run,
        &[
            "nothing says where the certificate of the webhook",
            "--secret-files DIR",
        ],
    );
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let env = prepared();
    env.mode("keys/webhook.key", 0o644);
    let run = ending(&env, 3, &[&SEALED, &EXTERNAL]);
    assert_told(
        &run,
        &[
            "keys/webhook.key`",
            "its mode 0644 lets others read it",
            "chmod 600 ",
        ],
    );
    env.write("password", "geheim und lang\n")
        .mode("password", 0o640);
    let run = ending(&env, 3, &[&SEALED, &["--password-file", "password"]]);
    assert_told(&run, &["password`", "its mode 0640", "chmod 600 "]);
    assert!(!run.stderr.contains("geheim"), "{}", run.stderr);
}

#[test]
fn secret_files_in_the_repository_are_refused() {
    let env = prepared();
    std::fs::create_dir(env.path("out")).expect("a folder");
    env.git("out", &["init", "-q"]);
    pki::folder(&env, "out/keys", &pki::ca("test CA"));
    let files = ["--certificates", "external", "--secret-files", "out/keys"];
    let password = ["--password-file", "out/password"];
    env.write("out/password", "lang genug\n")
        .mode("out/password", 0o600);
    for more in [&files[..], &password] {
        let run = env.expect(3, &arguments(&["--provider", "flux"], &[&SEALED, more]));
        assert_told(&run, &["lies in a repository", "git add", "hint: move it"]);
        assert!(!env.path("out/apps").exists());
    }
}

#[test]
fn a_sops_that_is_missing_or_fails_is_told() {
    let env = prepared().var("PATH", "/nowhere");
    let run = ending(&env, 1, &[&SOPS]);
    assert_told(
        &run,
        &[
            "cannot encrypt the Secret `haptic-gitops-credentials`",
            "the program `sops` can't be run",
            "install SOPS 3.8",
            "--secrets sealed-secrets",
        ],
    );

    let cases = [
        (
            "echo 'no such flag' >&2; exit 7",
            "`sops` ended with exit code 7: no such flag",
        ),
        ("kill -9 $$", "`sops` ended with a signal"),
        (
            "echo 'fine: thanks'",
            "not every value in it is encrypted, so nothing was written",
        ),
        (
            "cat; echo 'sops: {}'",
            "not every value in it is encrypted, so nothing was written",
        ),
    ];
    for (script, words) in cases {
        let env = prepared();
        env.program_on_path("sops", &format!("#!/bin/sh\n{script}\n"));
        let run = ending(&env, 1, &[&SOPS]);
        assert_told(&run, &["the Secret `haptic-gitops-credentials`", words]);
    }
}

/// `init` with another sealing certificate.
fn unsealable(certificate: &str, code: i32, words: &[&str]) {
    let env = prepared();
    env.write("bad.pem", certificate);
    let flags = [
        "--secrets",
        "sealed-secrets",
        "--sealing-certificate",
        "bad.pem",
    ];
    assert_told(&ending(&env, code, &[&flags]), words);
}

#[test]
fn a_sealing_certificate_that_is_no_good_is_refused() {
    let rsa = || KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).expect("a key");
    let over = Shape {
        from_day: -9,
        to_day: -2,
        ..GOOD
    };
    let expired = pki::self_signed_with(&over, rsa());
    unsealable(
        &expired.pem,
        3,
        &[
            "cannot seal for `bad.pem`: it expired on 20",
            "kubeseal --fetch-cert",
        ],
    );
    let elliptic = pki::self_signed(&GOOD);
    unsealable(
        &elliptic.pem,
        3,
        &[
            "cannot seal for `bad.pem`: its key is no RSA key of 2048 bits",
            "kubeseal --fetch-cert",
        ],
    );
    let whole = golden::SEALING.to_owned() + &elliptic.key_pem();
    unsealable(
        &whole,
        3,
        &[
            "cannot seal for `bad.pem`: there is a private key in it",
            "give the certificate alone",
        ],
    );
    unsealable(
        "nothing\n",
        3,
        &[
            "cannot seal for `bad.pem`: there is no certificate in it",
            "kubeseal --fetch-cert",
        ],
    );

    let env = prepared();
    std::fs::write(env.path("bad.pem"), &elliptic.der).expect("writes");
    let flags = [
        "--secrets",
        "sealed-secrets",
        "--sealing-certificate",
        "bad.pem",
    ];
    let run = ending(&env, 3, &[&flags]);
    assert_told(
        &run,
        &[
            "cannot seal for `bad.pem`: it is DER",
            "openssl x509 -inform der -in bad.pem",
        ],
    );
}

#[test]
fn a_sealing_certificate_that_cannot_be_had_is_told() {
    let env = prepared();
    let none = ["--secrets", "sealed-secrets"];
    let run = ending(&env, 2, &[&none]);
    assert_told(
        &run,
        &[
            "nothing says what to seal for in",
            "kubeseal --fetch-cert > sealing.pem",
            "/v1/cert.pem",
        ],
    );
    let run = ending(&env, 3, &[&none, &["--sealing-certificate", "gone.pem"]]);
    assert_told(&run, &["gone.pem`", "cannot read"]);

    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let cases = [
        (format!("http://127.0.0.1:{port}/v1/cert.pem"), "refused"),
        (format!("https://127.0.0.1:{port}/v1/cert.pem"), "refused"),
        (
            "http://sealed.example.org/v1/cert.pem".to_owned(),
            "it is not encrypted",
        ),
    ];
    for (address, why) in cases {
        let run = ending(&env, 4, &[&none, &["--sealing-certificate", &address]]);
        assert_told(
            &run,
            &[
                "cannot fetch the sealing certificate at",
                &address,
                why,
                "kubeseal --fetch-cert",
            ],
        );
    }
}

#[test]
fn an_address_is_told_without_what_is_secret_in_it() {
    let env = prepared();
    for address in [
        "https://ada:geheim@example.org/cert.pem",
        "http://example.org/cert.pem?token=geheim",
    ] {
        let flags = [
            "--secrets",
            "sealed-secrets",
            "--sealing-certificate",
            address,
        ];
        let run = ending(&env, 4, &[&flags, &["-vv"]]);
        assert_told(&run, &["://example.org/cert.pem`", "kubeseal --fetch-cert"]);
        assert!(!(run.stdout + &run.stderr).contains("geheim"));
    }
}

#[test]
fn age_recipients_are_checked_before_anything_is_made() {
    let private = "AGE-SECRET-KEY-1QQPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQS5ZFHX";
    let key = golden::AGE_KEY;
    let cases = [
        (
            "age1nonsense".to_owned(),
            "`age1nonsense` is no public age key",
            "secrets age-key FILE",
        ),
        (
            private.to_owned(),
            "has a private key, which must never stand in Git",
            "age-keygen -y FILE",
        ),
        (
            private.to_lowercase(),
            "has a private key, which must never stand in Git",
            "age-keygen -y FILE",
        ),
        (
            format!("prod={private}"),
            "has a private key, which must never stand in Git",
            "age-keygen -y FILE",
        ),
        (
            format!("moon={key},{key}"),
            "has a key for `moon`, and `clusters` has no such cluster",
            "its clusters are staging, production",
        ),
        (
            format!("production={key}"),
            "has no key for the cluster `staging`",
            "is for all of them",
        ),
    ];
    for (recipients, why, next) in cases {
        let env = prepared();
        let fleet = ["--layout", "flux-fleet", "--clusters", "staging,production"];
        let sops = ["--secrets", "sops", "--age-recipients", &recipients];
        let run = env.expect(3, &arguments(&fleet, &[&sops]));
        assert!(!env.path("out").exists());
        assert_told(&run, &["age_recipients", why, next, "\nhint: "]);
        let said = (run.stdout + &run.stderr).to_uppercase();
        assert!(!said.contains("QPQYQSZQGP"), "{said}");
    }
}

#[test]
fn sops_is_refused_under_argo_wherever_it_is_asked_for() {
    let words = [
        "`secrets: sops` under Argo CD",
        "it decrypts nothing",
        "--secrets sealed-secrets",
    ];
    let argo = ["--provider", "argo"];
    let env = prepared();
    assert_told(&env.expect(3, &arguments(&argo, &[&SOPS])), &words);

    let answers = format!("secrets: sops\nage_recipients: [{}]\n", golden::AGE_KEY);
    env.write("answers.yaml", &answers);
    assert_told(
        &env.expect(3, &arguments(&argo, &[&["--answers", "answers.yaml"]])),
        &words,
    );
    assert!(!env.path("out").exists());

    env.expect(0, &arguments(&argo, &[]));
    let recorded = env.read("out/.haptic-scaffold.yaml");
    let edited = recorded.replace("secrets: manual", "secrets: sops");
    assert_ne!(edited, recorded);
    env.write("out/.haptic-scaffold.yaml", &edited);
    env.git("out", &["commit", "-qam", "Edit"]);
    let before = secret_repo::state(&env);
    assert_told(&env.expect(3, &["-C", "out", "init", "--yes"]), &words);
    assert_eq!(secret_repo::state(&env), before);
}

#[test]
fn a_password_is_one_line_with_something_on_it() {
    for (text, why) in [
        ("\n", "it is empty"),
        ("", "it is empty"),
        ("ab\ncd\n", "a password is one line"),
    ] {
        let env = prepared();
        env.write("password", text).mode("password", 0o600);
        let run = ending(&env, 3, &[&SEALED, &["--password-file", "password"]]);
        assert_told(&run, &["password", why, "or leave it out"]);
    }
}
