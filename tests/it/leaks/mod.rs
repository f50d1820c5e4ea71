//! No secret where anybody can read it: not in Git, not in what is printed, not in what another program gets besides its input.

use crate::env::TestEnv;
use crate::golden::{self, Case};

mod children;
mod search;

use search::Secrets;

const PASSWORD: &str = "tr0ub4dor & 3 correct horses";
const NEXT_PASSWORD: &str = "battery-staple-7f3e91c2";

fn password_files(env: &TestEnv) {
    for (file, password) in [("password", PASSWORD), ("next-password", NEXT_PASSWORD)] {
        env.write(file, &format!("{password}\n")).mode(file, 0o600);
    }
}

/// The script that the golden cases have for `sops`.
fn tests_sops(env: &TestEnv) -> String {
    let script = env.home().join("../bin/sops");
    std::fs::read_to_string(script).expect("the tests' sops")
}

/// The cases that have Secrets in Git.
fn sealing_cases() -> Vec<Case> {
    let strategies = ["sops", "sealed-secrets"];
    let seals = |case: &Case| {
        let mut flags = case.flags.windows(2);
        flags.any(|pair| pair[0] == "--secrets" && strategies.contains(&pair[1].as_str()))
    };
    golden::cases().into_iter().filter(seals).collect()
}

/// The flags of a case that say where secrets come from.
fn sources(case: &Case) -> Vec<&str> {
    let names = ["--secret-files", "--sealing-certificate"];
    let pairs = case.flags.windows(2);
    pairs
        .filter(|pair| names.contains(&pair[0].as_str()))
        .flat_map(|pair| [pair[0].as_str(), pair[1].as_str()])
        .collect()
}

#[test]
fn no_run_leaves_or_prints_a_secret() {
    for case in sealing_cases() {
        let env = TestEnv::new();
        golden::given(&env);
        // Every encryption differs, so that a rotation has something to write.
        env.program_on_path("sops", &tests_sops(&env).replace("not really", "'$$'"));
        password_files(&env);
        let secrets = Secrets::of(&env);
        let run = |arguments: &[&str]| {
            let run = env.expect(0, arguments);
            secrets.assert_none_printed(&format!("{}: {arguments:?}", case.name), &run);
            run
        };
        let with = |folder, flags: &[&'static str], more: &[&'static str]| {
            let mut all = vec!["init", folder, "--password-file", "password"];
            all.extend(flags);
            all.extend(more);
            let given = case.flags.iter().cloned();
            let all: Vec<String> = all.into_iter().map(str::to_owned).chain(given).collect();
            run(&all.iter().map(String::as_str).collect::<Vec<_>>())
        };
        for more in [&["-vv", "--diff"][..], &["--output", "json", "--diff"]] {
            let dry = with("out", &["--dry-run"], more);
            let says = dry.stderr.contains("would seal the Secret ");
            assert!(says || more.contains(&"json"), "{}", dry.stderr);
            assert!(!env.path("out").exists(), "{}", case.name);
        }
        with("json", &["--diff"], &["--output", "json"]);
        with("out", &["--diff"], &["-vv"]);
        // Again, with nothing to do but to compare.
        with("out", &["--diff"], &["-vv"]);
        for command in ["list", "script"] {
            run(&["-C", "out", "secrets", command, "-vv"]);
            run(&["-C", "out", "secrets", command, "--output", "json"]);
        }
        let rotate = ["-C", "out", "secrets", "rotate", "credentials"];
        for more in [
            &["--dry-run", "--diff", "-vv"][..],
            &["--dry-run", "--output", "json"],
            &["--diff", "-vv"],
            &["--output", "json"],
        ] {
            let password = ["--password-file", "next-password"];
            run(&[&rotate[..], &password, &sources(&case), more].concat());
        }
        assert_eq!(env.git("out", &["rev-list", "--count", "HEAD"]), "3\n");
        secrets.assert_none_in_git(&env, &case.name);
    }
}

#[test]
fn a_password_of_standard_input_is_printed_nowhere() {
    let env = TestEnv::new();
    golden::given(&env);
    let mut arguments = sops_flags("-vv");
    arguments.extend(["--password-file", "-"]);
    let program = env!("CARGO_BIN_EXE_haptic-scaffold");
    let run = env.program(program, &arguments, PASSWORD);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let secrets = Secrets::of(&env);
    secrets.assert_none_printed("init", &run);
    secrets.assert_none_in_git(&env, "init");
}

/// `init` with a password and keys, encrypted by whatever `sops` there is.
fn sops_flags(verbosity: &'static str) -> Vec<&'static str> {
    let mut flags = vec!["init", "out", "--yes", "--layout", "flux-cluster", "--diff"];
    flags.extend(["--chart-version", "0.2.2", "--repo-url", golden::REPO_URL]);
    flags.extend(["--secrets", "sops", "--age-recipients", golden::AGE_KEY]);
    flags.extend(["--certificates", "external", "--secret-files", "keys"]);
    flags.push(verbosity);
    flags
}

#[test]
fn what_is_wrong_with_a_secret_is_said_without_it() {
    let webhook = |env: &TestEnv, text: &str| {
        env.write("keys/webhook.key", text);
    };
    type Break<'a> = (&'a str, &'a dyn Fn(&TestEnv));
    let breaks: [Break; 6] = [
        ("a password of two lines", &|env| {
            env.write("password", &format!("{PASSWORD}\n{NEXT_PASSWORD}\n"));
        }),
        ("a readable password", &|env| {
            env.mode("password", 0o644);
        }),
        ("another key", &|env| {
            webhook(env, &env.read("keys/frontend.key"));
        }),
        ("half a key", &|env| {
            let key = env.read("keys/webhook.key");
            webhook(env, &key[..key.len() / 2]);
        }),
        ("a key without its frame", &|env| {
            let key = env.read("keys/webhook.key");
            webhook(env, &key.replace("-----", ""));
        }),
        ("a key in the certificate", &|env| {
            let both = env.read("keys/webhook.crt") + &env.read("keys/webhook.key");
            env.write("keys/webhook.crt", &both);
        }),
    ];
    for (what, break_it) in breaks {
        let env = TestEnv::new();
        golden::given(&env);
        password_files(&env);
        let secrets = Secrets::of(&env);
        break_it(&env);
        for verbosity in ["-vv", "--output=json"] {
            let mut arguments = sops_flags(verbosity);
            arguments.extend(["--password-file", "password"]);
            let run = env.expect(3, &arguments);
            secrets.assert_none_printed(what, &run);
            assert!(!env.path("out").exists(), "{what}");
        }
    }
}

#[test]
fn a_secret_that_stands_in_clear_is_told_by_its_place_and_shown_nowhere() {
    let env = TestEnv::new();
    golden::given(&env);
    env.expect(0, &sops_flags("-q"));
    let clear = format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: haptic-gitops-credentials\n  namespace: haptic\nstringData:\n  dataplane_password: {PASSWORD}\n"
    );
    let file = "apps/haptic/secrets/credentials.sops.yaml";
    for path in [file, "apps/other.yaml"] {
        env.write(&format!("out/{path}"), &clear);
    }
    env.git("out", &["add", "."]);
    env.git("out", &["commit", "-qm", "In clear"]);
    let secrets = Secrets::of(&env);
    let rotate = ["-C", "out", "secrets", "rotate", "credentials", "--diff"];
    for arguments in [
        &sops_flags("-vv")[..],
        &["-C", "out", "secrets", "list", "-vv"],
        &["-C", "out", "secrets", "list", "--output", "json"],
        &[&rotate[..], &["--dry-run", "-vv"]].concat(),
        &[&rotate[..], &["-vv"]].concat(),
    ] {
        // Our own file in clear stops `init`: it must not be committed.
        let code = if arguments[0] == "init" { 11 } else { 0 };
        let run = env.expect(code, arguments);
        secrets.assert_none_printed(&format!("{arguments:?}"), &run);
        let both = format!("{}{}", run.stdout, run.stderr);
        if arguments.contains(&"list") {
            assert!(
                both.contains(file) && both.contains("apps/other.yaml"),
                "{both}"
            );
        }
    }
    secrets.assert_none("the lock", &env.read("out/.haptic-scaffold.lock"));
}
