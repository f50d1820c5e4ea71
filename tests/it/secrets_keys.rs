//! `secrets age-key` and `secrets trial-certificates`: keys in new files that their owner alone can read, outside of every repository.

use std::os::unix::fs::PermissionsExt as _;

use crate::env::TestEnv;

const AGE_KEY: [&str; 2] = ["secrets", "age-key"];
const TRIAL: [&str; 2] = ["secrets", "trial-certificates"];

fn mode(env: &TestEnv, path: &str) -> u32 {
    let meta = std::fs::metadata(env.path(path)).expect("is there");
    meta.permissions().mode() & 0o777
}

/// Runs the program with a mask that would let everybody read everything.
fn unmasked(env: &TestEnv, arguments: &str) -> i32 {
    let program = env!("CARGO_BIN_EXE_haptic-scaffold");
    let line = format!("umask 000; exec {program} {arguments}");
    env.program("sh", &["-c", &line], "").code
}

#[test]
fn an_age_key_is_for_its_owner_alone_and_never_overwritten() {
    let env = TestEnv::new();
    assert_eq!(unmasked(&env, "secrets age-key age.txt"), 0);
    assert_eq!(mode(&env, "age.txt"), 0o600);
    let text = env.read("age.txt");
    assert!(text.contains("\nAGE-SECRET-KEY-1"), "no key");
    let run = env.expect(3, &[&AGE_KEY[..], &["age.txt"]].concat());
    assert!(
        run.stderr.contains("`")
            && run
                .stderr
                .contains("age.txt` is there already, and a key is never overwritten"),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("hint: name another file"),
        "{}",
        run.stderr
    );
    assert_eq!(env.read("age.txt"), text);
    std::os::unix::fs::symlink(env.path("elsewhere"), env.path("link")).expect("a link");
    env.expect(3, &[&AGE_KEY[..], &["link"]].concat());
    assert!(!env.path("elsewhere").exists());
}

#[test]
fn an_age_key_is_told_by_its_public_part_alone() {
    let env = TestEnv::new();
    let run = env.expect(
        0,
        &[&AGE_KEY[..], &["age.txt", "-vv", "--output", "json"]].concat(),
    );
    let told = run.json();
    let recipient = told["recipient"].as_str().expect("a public key");
    assert!(recipient.starts_with("age1"));
    assert!(
        env.read("age.txt")
            .contains(&format!("# public key: {recipient}\n"))
    );
    assert!(
        told["command"]
            .as_str()
            .is_some_and(|c| c.contains("--from-file=age.agekey=age.txt"))
    );
    assert!(!(run.stdout + &run.stderr).contains("AGE-SECRET-KEY"));
}

#[test]
fn keys_are_not_made_in_a_repository() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("other/deep")).expect("folders");
    env.git("other", &["init", "-q"]);
    std::os::unix::fs::symlink(env.path("other/deep"), env.path("link")).expect("a link");
    for place in ["other/deep/age.txt", "other/age.txt", "link/age.txt"] {
        let run = env.expect(3, &[&AGE_KEY[..], &[place]].concat());
        assert!(
            run.stderr.contains("lies in the repository"),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr
                .contains("hint: name a file outside of every repository"),
            "{}",
            run.stderr
        );
    }
    for place in ["other", "other/deep/new", "link", "other/a/b/c"] {
        let run = env.expect(3, &[&TRIAL[..], &[place]].concat());
        assert!(
            run.stderr.contains("lies in the repository"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(env.git("other", &["status", "--porcelain", "-uall"]), "");
    assert!(
        !env.path("other/a").exists() && !env.path("other/deep/new").exists(),
        "a folder was left"
    );
}

#[test]
fn a_dry_run_makes_no_key() {
    let env = TestEnv::new();
    env.expect(0, &[&AGE_KEY[..], &["age.txt", "--dry-run"]].concat());
    env.expect(0, &[&TRIAL[..], &["trial", "--dry-run"]].concat());
    assert!(!env.path("age.txt").exists() && !env.path("trial").exists());
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let env = TestEnv::new();
    let run = env.expect(3, &[&AGE_KEY[..], &["gone/age.txt"]].concat());
    assert!(
        run.stderr.contains("gone/age.txt`") && run.stderr.contains("in a folder that is there"),
        "{}",
        run.stderr
    );
}

#[test]
fn trial_certificates_are_for_their_owner_and_marked() {
    let env = TestEnv::new();
    assert_eq!(unmasked(&env, "secrets trial-certificates deep/trial"), 0);
    for name in ["webhook-ca", "webhook", "frontend"] {
        assert_eq!(mode(&env, &format!("deep/trial/{name}.key")), 0o600);
        let pem = env.read(&format!("deep/trial/{name}.crt"));
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).expect("PEM");
        let certificate = pem.parse_x509().expect("X.509");
        let subject = certificate.subject().to_string();
        assert!(subject.contains("trial, not for production"), "{subject}");
    }
    let before = crate::golden::files(&env.path("deep"));
    let run = env.expect(3, &[&TRIAL[..], &["deep/trial"]].concat());
    assert!(
        run.stderr
            .contains("is there already, and a key is never overwritten"),
        "{}",
        run.stderr
    );
    // One file is enough: a CA and a leaf that don't fit would be left.
    std::fs::remove_file(env.path("deep/trial/webhook.key")).expect("is there");
    env.expect(3, &[&TRIAL[..], &["deep/trial"]].concat());
    assert!(!env.path("deep/trial/webhook.key").exists());
    assert_eq!(
        crate::golden::files(&env.path("deep")).len(),
        before.len() - 1
    );
}

#[test]
fn trial_certificates_are_good_for_a_scaffold() {
    let env = crate::secret_repo::prepared();
    env.expect(0, &[&TRIAL[..], &["trial"]].concat());
    let flags = ["--certificates", "external", "--secret-files", "trial"];
    let all = crate::secret_repo::arguments(
        &["--provider", "flux"],
        &[&crate::secret_repo::SEALED, &flags],
    );
    env.expect(0, &all);
}
