//! A `sops` that fails, lies or looks around.

use super::search::Secrets;
use super::{password_files, sops_flags, tests_sops};
use crate::env::TestEnv;
use crate::golden;

/// Runs `init` with a `sops` that fails: nothing is written, no secret is printed, and the message says what happened.
fn refused(env: &TestEnv, what: &str, says: &str) {
    golden::keys(env);
    password_files(env);
    let secrets = Secrets::of(env);
    let flags = |more| [&sops_flags(more)[..], &["--password-file", "password"]].concat();
    let run = env.expect(1, &flags("-vv"));
    secrets.assert_none_printed(what, &run);
    assert!(run.stderr.contains(says), "{what}: {}", run.stderr);
    assert!(run.stderr.contains("\nhint: "), "{what}: {}", run.stderr);
    let run = env.expect(1, &flags("--output=json"));
    secrets.assert_none_printed(what, &run);
    let error = &run.json()["error"];
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains(says), "{what}: {message}");
    assert!(error["hint"].is_string(), "{what}: {error}");
    assert!(!env.path("out").exists(), "{what}: something was written");
}

/// The same for a script, first given a password, then given a key after it has worked for the password.
fn script_refused(script: &str, what: &str, says: &str) {
    for name in ["dataplane_password", "tls.key"] {
        let env = TestEnv::new();
        golden::fake_sops(&env);
        let home = env.home();
        std::fs::write(home.join("works"), tests_sops(&env)).expect("writes");
        let choice = format!("grep -q {name} $HOME/input || exec sh $HOME/works \"$@\"");
        let script =
            format!("#!/bin/sh\ncat > $HOME/input\nexec < $HOME/input\n{choice}\n{script}\n");
        env.program_on_path("sops", &script);
        refused(&env, &format!("{what}, {name}"), says);
    }
}

#[test]
fn a_failing_sops_that_says_what_it_was_given_gives_nothing_away() {
    let scripts = [
        ("as it is", "cat >&2"),
        ("in base64", "base64 >&2"),
        ("in base64 on one line", "base64 -w 0 >&2"),
        ("line by line", "sed 's/^/sops: line: /' >&2"),
        (
            "with line numbers and quotes",
            "sed = | sed \"s/.*/'&'/\" >&2",
        ),
        ("in short lines", "fold -w 5 >&2"),
        ("in short lines of base64", "base64 -w 7 >&2"),
        (
            "decoded",
            "sed -n 's/^  [a-z_.]*: //p' | while read -r v; do echo \"$v\" | base64 -d; done >&2",
        ),
        ("on standard output", "cat"),
        ("in hexadecimal", "od -An -tx1 >&2"),
    ];
    for (what, script) in scripts {
        let script = format!("{script}\nexit 1");
        script_refused(&script, what, "`sops` ended with exit code 1");
    }
}

#[test]
fn what_a_failing_sops_says_is_shown_where_no_secret_is_in_it() {
    let script = "echo no such recipient >&2\nexit 128";
    script_refused(
        script,
        "a plain message",
        "exit code 128: no such recipient",
    );
}

#[test]
fn a_sops_that_encrypts_nothing_or_not_all_is_not_believed() {
    let scripts = [
        ("in clear", "cat"),
        (
            "in clear with its own part",
            "cat; echo 'sops: {version: 1}'",
        ),
        (
            "one value in clear",
            "sed '/^  tls.crt:\\|_username:/s/: .*/: ENC[x]/'; echo 'sops: {version: 1}'",
        ),
        (
            "in clear in a comment",
            "tee copy | sed '/^data:/,$ s/: .*/: ENC[x]/'; echo 'sops: {version: 1}'; sed 's/^/# /' copy; rm copy",
        ),
        ("nothing", "true"),
    ];
    for (what, script) in scripts {
        script_refused(script, what, "not every value in it is encrypted");
    }
}

#[test]
fn a_sops_that_is_killed_or_not_there_is_named() {
    let script = "cat >&2\nkill -9 $$";
    script_refused(script, "killed", "`sops` ended with a signal");
    let env = TestEnv::new().var("PATH", "/nowhere");
    refused(&env, "not there", "the program `sops` can't be run");
}

#[test]
fn a_rotation_with_a_failing_sops_changes_nothing() {
    let env = TestEnv::new();
    golden::given(&env);
    password_files(&env);
    env.expect(0, &sops_flags("-q"));
    let head = env.git("out", &["rev-parse", "HEAD"]);
    env.program_on_path("sops", "#!/bin/sh\ntee /dev/stderr\nexit 1\n");
    let secrets = Secrets::of(&env);
    env.expect(0, &["secrets", "trial-certificates", "next"]);
    for (what, values) in [
        ("credentials", ["--password-file", "next-password"]),
        ("frontend", ["--secret-files", "next"]),
    ] {
        let rotate = ["-C", "out", "secrets", "rotate", what, "-vv", "--diff"];
        let run = env.expect(1, &[&rotate[..], &values].concat());
        secrets.assert_none_printed(what, &run);
    }
    assert_eq!(env.git("out", &["rev-parse", "HEAD"]), head);
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    secrets.assert_none_in_git(&env, "a failed rotation");
}

#[test]
fn a_sops_that_prints_while_it_reads_is_not_waited_for() {
    let env = TestEnv::new();
    env.program_on_path("sops", "#!/bin/sh\ncat >&2\nexit 1\n");
    golden::keys(&env);
    env.write("password", &"long ".repeat(100_000))
        .mode("password", 0o600);
    let mut arguments = sops_flags("-vv");
    arguments.extend(["--password-file", "password"]);
    let run = env.expect(1, &arguments);
    assert!(!run.stderr.contains("long long"), "{}", run.stderr);
}

#[test]
fn a_sops_gets_no_secret_but_by_its_input() {
    let env = TestEnv::new();
    let temporary = env.home().join("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    let env = env
        .var("TMPDIR", &temporary.to_string_lossy())
        .var("SOPS_AGE_RECIPIENTS", "age1someoneelse")
        .var("SOPS_PGP_FP", "0123456789")
        .var("SOMETHING_ELSE", "x");
    golden::given(&env);
    password_files(&env);
    let asking = "{ echo \"$@\"; env; } >> $HOME/given\nfind . $TMPDIR -newer $HOME/begin -type f -exec cat {} + >> $HOME/files\n";
    let fake = tests_sops(&env).replacen('\n', &format!("\n{asking}"), 1);
    env.program_on_path("sops", &fake);
    std::fs::write(env.home().join("begin"), "").expect("writes");
    let mut arguments = sops_flags("-vv");
    arguments.extend(["--password-file", "password"]);
    env.expect(0, &arguments);
    let secrets = Secrets::of(&env);
    let kept = |name: &str| std::fs::read_to_string(env.home().join(name)).expect("was asked");
    let given = kept("given");
    secrets.assert_none("arguments or environment", &given);
    assert_eq!(given.matches("--encrypt ").count(), 3, "{given}");
    for foreign in ["SOPS_", "someoneelse", "SOMETHING_ELSE", "GIT_"] {
        assert!(!given.contains(foreign), "{foreign}: {given}");
    }
    secrets.assert_none("a temporary file", &kept("files"));
    let left = std::fs::read_dir(&temporary).expect("a folder").count();
    assert_eq!(left, 0, "temporary files are left");
}
