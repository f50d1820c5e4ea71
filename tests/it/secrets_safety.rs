//! What a colleague may have done in between, and what must not follow from it: a Secret in Git in clear, a lost edit, a CA that nothing vouches for.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::env::TestEnv;
use crate::pki::{self, GOOD};
use crate::secret_repo::{EXTERNAL, SEALED, SOPS, arguments, flux, prepared, state, within};

const VALUES: &str = "out/apps/haptic/release/values.yaml";
const CREDENTIALS: &str = "out/apps/haptic/secrets/credentials.sops.yaml";
const CLEAR: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: haptic-gitops-credentials, namespace: haptic}\ndata: {dataplane_password: Z2VoZWlt}\n";

/// The step to another CA, whose files lie in `new`.
fn next_ca(env: &TestEnv) {
    pki::folder(env, "new", &pki::ca("the next CA"));
}

fn step(env: &TestEnv, code: i32, more: &[&str]) -> String {
    let rotate = ["secrets", "rotate", "webhook-ca"];
    within(env, code, &[&rotate[..], more].concat()).stderr
}

#[test]
fn what_was_decrypted_is_never_committed() {
    let env = prepared();
    let init = arguments(&["--provider", "flux"], &[&SOPS]);
    env.expect(0, &[&init[..], &["--no-commit"]].concat());
    env.write(CREDENTIALS, CLEAR);
    let refused = env.expect(11, &init);
    assert!(
        refused.stdout.contains("must not be committed"),
        "{}",
        refused.stdout
    );
    within(&env, 11, &["secrets", "rotate", "credentials"]);
    env.expect(0, &[&init[..], &["--on-conflict", "replace"]].concat());
    assert!(env.read(CREDENTIALS).contains("ENC["));
    env.git("out", &["grep", "-q", "ENC", "HEAD"]);
    env.write(CREDENTIALS, CLEAR);
    let kept = env.expect(0, &[&init[..], &["--on-conflict", "keep"]].concat());
    assert!(
        kept.stdout.contains("neither sealed nor encrypted"),
        "{}",
        kept.stdout
    );
    let committed = env.git(
        "out",
        &["show", "HEAD:apps/haptic/secrets/credentials.sops.yaml"],
    );
    assert!(committed.contains("ENC["), "{committed}");
}

#[test]
fn a_rotation_touches_nothing_that_is_not_committed() {
    let sealed = ["--sealing-certificate", "sealing.pem"];
    let credentials = ["secrets", "rotate", "credentials"];
    for (path, staged) in [
        ("credentials.sealed.yaml", false),
        ("credentials.sealed.yaml", true),
    ] {
        let env = flux(&[&SEALED]);
        let path = format!("out/apps/haptic/secrets/{path}");
        env.write(&path, &format!("{}# mine\n", env.read(&path)));
        if staged {
            env.git("out", &["add", "."]);
        }
        let before = state(&env);
        let refused = within(&env, 11, &[&credentials[..], &sealed].concat());
        assert!(
            refused.stderr.contains("isn't committed"),
            "{}",
            refused.stderr
        );
        assert_eq!(state(&env), before);
        assert!(env.read(&path).ends_with("# mine\n"));
    }
    let env = flux(&[&SEALED, &EXTERNAL]);
    next_ca(&env);
    env.write(VALUES, &format!("{}# half done\n", env.read(VALUES)));
    step(&env, 11, &["--webhook-ca", "new/webhook-ca.crt"]);
    assert_eq!(env.git("out", &["rev-list", "--count", "HEAD"]), "1\n");

    let env = prepared();
    let init = arguments(&["--provider", "flux"], &[&SEALED, &["--no-commit"]]);
    env.expect(0, &init);
    let pending = within(&env, 11, &[&credentials[..], &sealed].concat());
    assert!(
        pending.stderr.contains("a commit of its own"),
        "{}",
        pending.stderr
    );
}

#[test]
fn a_bundle_that_was_taken_back_stops_the_next_step() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    next_ca(&env);
    let before = env.read(VALUES);
    step(&env, 0, &["--webhook-ca", "new/webhook-ca.crt"]);
    env.write(VALUES, &before);
    env.git("out", &["commit", "-qam", "Back"]);
    let files = [
        "--secret-files",
        "new",
        "--sealing-certificate",
        "sealing.pem",
    ];
    let said = step(&env, 3, &files);
    assert!(
        said.contains("values.yaml:") && said.contains("lacks a CA"),
        "{said}"
    );
}

#[test]
fn a_values_file_of_another_form_is_followed_by_hand() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    next_ca(&env);
    let old = STANDARD.encode(env.read("keys/webhook-ca.crt"));
    let folded = env.read(VALUES).replace(&old, &format!(">-\n      {old}"));
    env.write(VALUES, &folded);
    env.git("out", &["commit", "-qam", "Folded"]);
    let ca = ["--webhook-ca", "new/webhook-ca.crt"];
    let said = step(&env, 11, &ca);
    assert!(
        said.contains("by hand as controller.webhook.caBundle"),
        "{said}"
    );
    let both = [
        env.read("keys/webhook-ca.crt"),
        env.read("new/webhook-ca.crt"),
    ]
    .concat();
    env.write(VALUES, &folded.replace(&old, &STANDARD.encode(both)));
    env.git("out", &["commit", "-qam", "Both by hand"]);
    step(&env, 0, &ca);
    let files = [
        "--secret-files",
        "new",
        "--sealing-certificate",
        "sealing.pem",
    ];
    step(&env, 0, &files);
    // The last step can't follow either; it may be kept, and is then for a person.
    step(&env, 11, &["--step", "3"]);
    step(&env, 0, &["--step", "3", "--on-conflict", "keep"]);
}

#[test]
fn another_ca_at_once_is_refused_where_nothing_sealed_says_who_signed() {
    let env = flux(&[&EXTERNAL]);
    next_ca(&env);
    let sudden = ["init", "out", "--yes", "--webhook-ca", "new/webhook-ca.crt"];
    let refused = env.expect(3, &sudden);
    assert!(
        refused.stderr.contains("rotate webhook-ca"),
        "{}",
        refused.stderr
    );
    env.expect(0, &[&sudden[..], &["--on-conflict", "replace"]].concat());
}

#[test]
fn a_bundle_with_more_than_it_needs_is_good_and_none_is_found() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    next_ca(&env);
    let mine = env.read("keys/webhook-ca.crt");
    let both = STANDARD.encode([mine.clone(), env.read("new/webhook-ca.crt")].concat());
    let text = env.read(VALUES);
    env.write(VALUES, &text.replace(&STANDARD.encode(&mine), &both));
    within(&env, 0, &["secrets", "list", "--exit-code"]);
    let without: String = text
        .lines()
        .filter(|line| !line.contains("caBundle"))
        .map(|line| format!("{line}\n"))
        .collect();
    env.write(VALUES, &without);
    let told = within(&env, 10, &["secrets", "list", "--exit-code"]).stdout;
    assert!(
        told.contains("controller.webhook.caBundle` is not there"),
        "{told}"
    );
    env.write(VALUES, "{}\na: b\n");
    let told = within(&env, 10, &["secrets", "list", "--exit-code"]).stdout;
    assert!(told.contains("it is no YAML"), "{told}");
}

#[test]
fn names_that_yaml_reads_as_something_else_are_quoted() {
    for namespace in ["123", "yes", "1e5"] {
        let env = flux(&[&SEALED, &["--namespace", namespace]]);
        let text = env.read("out/apps/haptic/secrets/credentials.sealed.yaml");
        assert_eq!(
            text.matches(&format!("namespace: \"{namespace}\"\n"))
                .count(),
            2,
            "{text}"
        );
    }
}

#[test]
fn a_password_of_standard_input_is_for_every_cluster() {
    let env = prepared();
    let fleet = ["--layout", "flux-fleet", "--clusters", "staging,production"];
    let arguments = arguments(&fleet, &[&SEALED, &["--password-file", "-"]]);
    let program = env!("CARGO_BIN_EXE_haptic-scaffold");
    let run = env.program(program, &arguments, "correct horse battery\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn what_is_given_and_not_used_is_refused() {
    let env = prepared();
    for (how, flag) in [
        (&[][..], ["--password-file", "nowhere"]),
        (&[], ["--secret-files", "keys"]),
        (&SOPS, ["--sealing-certificate", "sealing.pem"]),
    ] {
        let refused = env.expect(2, &arguments(&["--provider", "flux"], &[how, &flag]));
        assert!(
            refused.stderr.contains("has no meaning here"),
            "{}",
            refused.stderr
        );
    }
    let env = flux(&[&SEALED]);
    for flag in [["--step", "2"], ["--context", "x"], ["--webhook-ca", "x"]] {
        let rotate = ["secrets", "rotate", "credentials"];
        within(&env, 2, &[&rotate[..], &flag].concat());
    }
}

#[test]
fn a_chain_is_checked_by_its_signatures() {
    let env = prepared();
    let ca = pki::ca("test CA");
    let leaf = ca.leaf(&GOOD);
    let namesake = pki::ca("test CA");
    pki::put(
        &env,
        "keys/frontend",
        &leaf.chain(&[&namesake]),
        &leaf.key_pem(),
    );
    let run = env.expect(
        3,
        &arguments(&["--provider", "flux"], &[&SEALED, &EXTERNAL]),
    );
    assert!(run.stderr.contains("did not sign it"), "{}", run.stderr);
}

#[test]
fn the_same_certificate_again_is_nothing_to_do() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let before = state(&env);
    let rotate = ["secrets", "rotate", "webhook", "--secret-files", "keys"];
    let run = within(
        &env,
        0,
        &[&rotate[..], &["--sealing-certificate", "sealing.pem"]].concat(),
    );
    assert!(
        run.stderr.contains("has this certificate already"),
        "{}",
        run.stderr
    );
    assert_eq!(state(&env), before);
}

#[test]
fn keys_lie_outside_of_bare_repositories_and_links_don_t_help() {
    let env = prepared();
    env.git(".", &["init", "-q", "--bare", "bare.git"]);
    let refused = env.expect(3, &["secrets", "age-key", "bare.git/key"]);
    assert!(
        refused.stderr.contains("lies in the repository"),
        "{}",
        refused.stderr
    );
    env.git(".", &["init", "-q", "other"]);
    std::fs::rename(env.path("keys/webhook.key"), env.path("other/webhook.key")).expect("moves");
    std::os::unix::fs::symlink("../other/webhook.key", env.path("keys/webhook.key"))
        .expect("links");
    let run = env.expect(
        3,
        &arguments(&["--provider", "flux"], &[&SEALED, &EXTERNAL]),
    );
    assert!(
        run.stderr.contains("lies in a repository"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_value() {
    let env = prepared();
    for name in ["webhook.crt", "webhook.key", "webhook-ca.crt"] {
        let path = format!("keys/{name}");
        env.write(&path, &format!("\u{feff}{}", env.read(&path)));
    }
    env.expect(
        0,
        &arguments(&["--provider", "flux"], &[&SEALED, &EXTERNAL]),
    );
}

#[test]
fn the_end_of_the_ca_is_told_too() {
    let env = flux(&[&SEALED, &EXTERNAL]);
    let listed = within(&env, 0, &["secrets", "list", "--output", "json"]).json();
    let rows = listed["secrets"].as_array().expect("rows");
    let webhook = rows
        .iter()
        .find(|row| row["name"] == "haptic-gitops-webhook")
        .expect("a row");
    assert!(webhook["not_after"].is_string(), "{webhook}");
}
