//! `init` and `secrets rotate` with `--push` and `--open`: to remotes in folders.

use serde_json::Value;

use crate::env::TestEnv;
use crate::secret_repo::{EXTERNAL, SEALED, prepared};

const INIT: [&str; 6] = [
    "--yes",
    "--provider",
    "flux",
    "--chart-version",
    "0.2.2",
    "--repo-url=https://git.example.org/team/gitops.git",
];

/// A world with an empty bare repository.
fn with_remote(env: &TestEnv) {
    let there = env.path("there.git").display().to_string();
    env.program("git", &["init", "-q", "--bare", "-b", "main", &there], "");
}

/// A clone of it with one commit, which is pushed.
fn clone(env: &TestEnv) {
    with_remote(env);
    let (there, here) = (env.path("there.git"), env.path("here"));
    let (there, here) = (there.display().to_string(), here.display().to_string());
    env.program("git", &["clone", "-q", &there, &here], "");
    env.write("here/README.md", "# Ours\n");
    env.git("here", &["add", "-A"]);
    env.git("here", &["commit", "-qm", "First"]);
    env.git("here", &["push", "-q", "-u", "origin", "HEAD:main"]);
}

fn init(env: &TestEnv, code: i32, more: &[&str]) -> Value {
    let all = ["init", "here", "--output", "json"]
        .iter()
        .chain(&INIT)
        .chain(more);
    env.expect(code, &all.copied().collect::<Vec<_>>()).json()
}

fn refs(env: &TestEnv) -> String {
    env.git(
        "there.git",
        &["for-each-ref", "--format=%(refname) %(objectname)"],
    )
}

/// All that a clone has: its files, its branches, what isn't committed.
fn state(env: &TestEnv) -> String {
    env.git("here", &["for-each-ref", "refs/heads"])
        + &env.git("here", &["status", "--porcelain"])
        + &env.git("here", &["stash", "list"])
}

#[test]
fn a_new_repository_is_pushed_to_an_empty_remote() {
    let env = TestEnv::new();
    with_remote(&env);
    let url = env.path("there.git").display().to_string();
    // The controllers read it elsewhere; git knows what is meant.
    let rewrite = format!("url.{url}.insteadOf");
    env.program(
        "git",
        &[
            "config",
            "--global",
            &rewrite,
            "https://git.example.org/team/gitops.git",
        ],
        "",
    );
    let arguments = ["init", "here", "--push"].iter().chain(&INIT);
    let run = env.expect(0, &arguments.copied().collect::<Vec<_>>());
    assert!(
        run.stdout.contains("pushed main to origin"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("push -u"), "{}", run.stdout);
    let head = env.git("here", &["rev-parse", "HEAD"]);
    assert_eq!(refs(&env), format!("refs/heads/main {head}"));
    assert_eq!(
        env.git("here", &["rev-parse", "--abbrev-ref", "@{u}"])
            .trim(),
        "origin/main"
    );
    let again = ["-C", "here", "init", "--push", "--yes"];
    let run = env.expect(0, &again);
    assert!(
        run.stdout.contains("origin has `main` already"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_is_on_the_remote_is_never_overwritten() {
    let env = TestEnv::new();
    clone(&env);
    let (there, colleague) = (env.path("there.git"), env.path("colleague"));
    let all = [there.display().to_string(), colleague.display().to_string()];
    env.program("git", &["clone", "-q", &all[0], &all[1]], "");
    env.write("colleague/new.md", "x\n");
    env.git("colleague", &["add", "-A"]);
    env.git("colleague", &["commit", "-qm", "Theirs"]);
    env.git("colleague", &["push", "-q"]);
    let (before, here) = (refs(&env), state(&env));
    let told = init(&env, 4, &["--push"]);
    let message = told["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("has commits that aren't here, so nothing was written"),
        "{message}"
    );
    assert_eq!((refs(&env), state(&env)), (before, here));
    env.git("here", &["pull", "-q", "--rebase"]);
    init(&env, 0, &["--push"]);
    let head = env.git("here", &["rev-parse", "HEAD"]);
    assert!(refs(&env).contains(head.trim()));
}

#[test]
fn a_refused_push_keeps_the_commit_and_shows_the_reason() {
    let env = TestEnv::new();
    clone(&env);
    env.write(
        "there.git/hooks/pre-receive",
        "#!/bin/sh\necho needs ticket >&2\nexit 1\n",
    );
    env.mode("there.git/hooks/pre-receive", 0o755);
    let told = init(&env, 4, &["--push"]);
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("needs ticket"), "{message}");
    let commit = told["changes"][0]["commit"].as_str().unwrap();
    assert_eq!(env.git("here", &["rev-parse", "HEAD"]).trim(), commit);
}

#[test]
fn without_a_remote_nothing_is_written() {
    let env = TestEnv::new();
    for flag in ["--push", "--open"] {
        let arguments = [
            "init",
            "here",
            flag,
            "--yes",
            "--provider",
            "flux",
            "--chart-version",
            "0.2.2",
        ];
        let run = env.expect(2, &arguments);
        assert!(run.stderr.contains("cannot push"), "{}", run.stderr);
        assert!(!env.path("here").exists());
    }
    let run = env.expect(2, &["init", "here", "--push", "--no-commit"]);
    assert!(run.stderr.contains("cannot be used with"), "{}", run.stderr);
}

#[test]
fn a_change_behind_a_request_leaves_the_clone_alone_and_is_made_once() {
    let env = prepared();
    clone(&env);
    env.write("here/notes.txt", "not committed\n");
    let before = state(&env);
    let more = [&["--open"][..], &SEALED, &EXTERNAL].concat();
    let dry = init(&env, 0, &[&more[..], &["--dry-run"]].concat());
    assert_eq!(dry["changes"][0]["request"]["verdict"], "created");
    let refs_before = refs(&env);
    assert!(!refs_before.contains("haptic-scaffold"), "{refs_before}");

    let first = init(&env, 0, &more);
    let request = &first["changes"][0]["request"];
    assert_eq!(
        (&request["forge"], &request["verdict"], &request["number"]),
        (&"local".into(), &"created".into(), &1.into())
    );
    assert_eq!(first["changes"][0]["branch"], "haptic-scaffold/init-haptic");
    assert_eq!(first["changes"][0]["base"], "main");
    assert_eq!(state(&env), before);
    let there = refs(&env);
    let commit = first["changes"][0]["commit"].as_str().unwrap();
    assert!(
        there.contains(&format!("refs/heads/haptic-scaffold/init-haptic {commit}")),
        "{there}"
    );
    let files = env.git("there.git", &["ls-tree", "-r", "--name-only", commit]);
    assert!(
        files.contains("secrets/credentials.sealed.yaml") && !files.contains("notes.txt"),
        "{files}"
    );

    let second = init(&env, 0, &more);
    assert_eq!(second["changes"][0]["request"]["verdict"], "same");
    assert_eq!(
        refs(&env),
        there,
        "sealed Secrets are random, and made once"
    );

    // Another answer comes into the same request.
    let third = init(&env, 0, &[&more[..], &["--inline-values"]].concat());
    let request = &third["changes"][0]["request"];
    assert_eq!(
        (&request["verdict"], &request["number"]),
        (&"updated".into(), &1.into())
    );
    assert_ne!(refs(&env), there);

    // Merged, it is nothing to do.
    env.git(
        "there.git",
        &[
            "update-ref",
            "refs/heads/main",
            "refs/heads/haptic-scaffold/init-haptic",
        ],
    );
    let last = init(&env, 0, &[&more[..], &["--inline-values"]].concat());
    assert_eq!(last["changes"][0]["request"], Value::Null);
    assert_eq!(state(&env), before);
}

#[test]
fn somebodys_commit_on_the_branch_is_left_alone() {
    let env = TestEnv::new();
    clone(&env);
    init(&env, 0, &["--open"]);
    env.git("here", &["fetch", "-q"]);
    env.git("here", &["switch", "-q", "haptic-scaffold/init-haptic"]);
    env.write("here/README.md", "# More\n");
    env.git("here", &["commit", "-qam", "By hand"]);
    env.git("here", &["push", "-q"]);
    env.git("here", &["switch", "-q", "main"]);
    let before = refs(&env);
    let told = init(&env, 0, &["--open", "--namespace", "edge"]);
    let request = &told["changes"][0]["request"];
    assert_eq!(
        (&request["verdict"], &request["number"]),
        (&"left-alone".into(), &1.into())
    );
    assert_eq!(refs(&env), before);
    let arguments = ["init", "here", "--open", "--namespace", "edge"];
    let arguments = arguments.iter().chain(&INIT).copied();
    let run = env.expect(0, &arguments.collect::<Vec<_>>());
    assert!(!run.stdout.contains("written"), "{}", run.stdout);
}

#[test]
fn a_rotation_goes_behind_a_request_too() {
    let env = prepared();
    clone(&env);
    let more = [&["--push"][..], &SEALED, &EXTERNAL].concat();
    init(&env, 0, &more);
    let rotate = |code, flag: &str| {
        let seal = ["--sealing-certificate", "sealing.pem", "--output", "json"];
        let arguments = [
            &["-C", "here", "secrets", "rotate", "credentials", flag][..],
            &seal,
        ]
        .concat();
        env.expect(code, &arguments).json()
    };
    let before = state(&env);
    let told = rotate(0, "--open");
    let change = &told["changes"][0];
    assert_eq!(change["request"]["verdict"], "created");
    assert_eq!(
        change["branch"],
        "haptic-scaffold/rotate-credentials-haptic"
    );
    let commit = change["commit"].as_str().unwrap();
    let files = env.git("there.git", &["diff", "--name-only", "main", commit]);
    assert!(files.contains("credentials.sealed.yaml"), "{files}");
    assert_eq!(state(&env), before);

    rotate(0, "--push");
    let head = env.git("here", &["rev-parse", "HEAD"]);
    assert!(refs(&env).contains(&format!("refs/heads/main {head}")));
    env.write("here/README.md", "# More\n");
    env.git("here", &["commit", "-qam", "Not pushed"]);
    let told = rotate(2, "--open");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(message.contains("isn't where `origin` has it"), "{message}");
}
