//! Into what: new folders, existing repositories of every kind, commits that touch nothing else, signatures, links, line ends.

use crate::env::TestEnv;

const INIT: [&str; 5] = ["init", "out", "--provider", "flux", "--yes"];

fn init_repository(env: &TestEnv, name: &str, branch: &str) {
    std::fs::create_dir_all(env.path(name)).expect("a folder");
    env.git(name, &["init", "-q", "-b", branch]);
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut all = INIT.to_vec();
    all.extend(more);
    all
}

#[test]
fn whatever_else_is_staged_or_dirty_stays_as_it_was() {
    let env = TestEnv::new();
    init_repository(&env, "out", "main");
    env.write("out/a", "1\n").write("out/b", "1\n");
    env.git("out", &["add", "."]);
    env.git("out", &["commit", "-qm", "first"]);
    env.write("out/a", "2\n")
        .write("out/b", "2\n")
        .write("out/c", "new\n");
    env.git("out", &["add", "a"]);
    let before = env.git("out", &["status", "--porcelain"]);
    env.expect(0, &INIT);
    assert_eq!(env.git("out", &["status", "--porcelain"]), before);
    let committed = env.git("out", &["show", "--name-only", "--format=", "HEAD"]);
    assert!(
        committed.lines().all(|path| path.starts_with('.')
            || path.starts_with("apps/")
            || path.starts_with("clusters/")
            || path == "README.md"),
        "{committed}"
    );
    env.git("out", &["fsck", "--strict"]);
}

#[test]
fn the_empty_folder_that_a_shell_stands_in_becomes_the_repository() {
    use std::os::unix::fs::MetadataExt as _;
    let env = TestEnv::new();
    let before = std::fs::metadata(env.work()).expect("there").ino();
    env.expect(0, &["init", "--provider", "flux", "--yes"]);
    assert_eq!(std::fs::metadata(env.work()).expect("there").ino(), before);
    assert_eq!(env.git(".", &["status", "--porcelain"]), "");
    env.expect(0, &["init", ".", "--yes"]);
    assert_eq!(env.git(".", &["rev-list", "--count", "HEAD"]).trim(), "1");
}

#[test]
fn the_message_has_trailers_and_the_author_of_the_flag() {
    let env = TestEnv::new();
    env.expect(
        0,
        &with(&[
            "--author",
            "Some One <one@example.org>",
            "--chart-version",
            "0.2.2",
        ]),
    );
    let commit = env.git("out", &["log", "--format=%an <%ae>|%cn|%at|%(trailers:key=Haptic-Scaffold-Change,valueonly)%(trailers:key=Haptic-Scaffold-Version,valueonly)"]);
    assert_eq!(
        commit,
        "Some One <one@example.org>|A Team|1700000000|init haptic\n0.2.2\n\n"
    );
}

#[test]
fn without_any_name_the_tool_commits_itself_and_says_so() {
    let names = [
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ];
    let env = names
        .iter()
        .fold(TestEnv::new(), |env, name| env.without(name));
    let run = env.expect(0, &INIT);
    assert!(
        run.stderr
            .contains("committed as haptic-scaffold <haptic-scaffold@localhost>"),
        "{}",
        run.stderr
    );
    std::fs::write(
        env.home().join(".gitconfig"),
        "[user]\n\tname = Conf\n\temail = conf@example.org\n",
    )
    .expect("writes");
    env.expect(0, &["init", "other", "--provider", "flux", "--yes"]);
    assert_eq!(
        env.git("other", &["log", "--format=%an %ce"]).trim(),
        "Conf conf@example.org"
    );
}

/// Public report O45: bootstrapping an empty clone made a second branch.
#[test]
fn an_empty_clone_gets_one_root_commit_on_the_branch_of_the_remote() {
    let env = TestEnv::new();
    env.git(".", &["init", "-q", "--bare", "-b", "master", "remote.git"]);
    let remote = env.path("remote.git").to_string_lossy().into_owned();
    env.git(".", &["clone", "-q", &remote, "out"]);
    env.expect(0, &INIT);
    env.git("out", &["push", "-q", "origin", "HEAD"]);
    assert_eq!(
        env.git("remote.git", &["for-each-ref", "--format=%(refname)"])
            .trim(),
        "refs/heads/master"
    );
    assert_eq!(
        env.git("remote.git", &["rev-list", "--count", "master"])
            .trim(),
        "1"
    );
    assert!(
        env.read("out/.haptic-scaffold.yaml")
            .contains("branch: master")
    );
}

#[test]
fn a_bare_repository_gets_the_commit_without_a_work_tree() {
    let env = TestEnv::new();
    env.git(".", &["init", "-q", "--bare", "-b", "main", "out"]);
    env.expect(0, &INIT);
    assert!(
        env.git("out", &["ls-tree", "-r", "--name-only", "main"])
            .contains("clusters/production/haptic.yaml")
    );
    assert!(!env.path("out/clusters").exists());
    assert!(env.expect(0, &INIT).stdout.contains("nothing to do"));
    let run = env.expect(2, &with(&["--no-commit", "--release", "other"]));
    assert!(run.stderr.contains("bare"), "{}", run.stderr);
    env.git("out", &["fsck", "--strict"]);
}

/// Public report O49: `.git` is a file in linked worktrees and submodules.
#[test]
fn linked_worktrees_and_submodules_are_repositories_of_their_own() {
    let env = TestEnv::new();
    init_repository(&env, "one", "main");
    env.git("one", &["commit", "-q", "--allow-empty", "-m", "first"]);
    env.git("one", &["worktree", "add", "-q", "-b", "side", "../out"]);
    env.expect(0, &INIT);
    assert_eq!(env.git("one", &["rev-list", "--count", "main"]).trim(), "1");
    assert_eq!(env.git("one", &["rev-list", "--count", "side"]).trim(), "2");
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");

    let one = env.path("one").to_string_lossy().into_owned();
    init_repository(&env, "outer", "main");
    env.git(
        "outer",
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            &one,
            "sub",
        ],
    );
    env.git("outer", &["commit", "-qm", "with a submodule"]);
    env.expect(0, &["init", "outer/sub", "--provider", "flux", "--yes"]);
    assert_eq!(
        env.git("outer/sub", &["rev-list", "--count", "HEAD"])
            .trim(),
        "2"
    );
    assert_eq!(env.git("outer", &["status", "--porcelain"]), " M sub\n");
    let run = env.expect(
        3,
        &[
            "-C",
            "outer",
            "init",
            "--path",
            "sub",
            "--provider",
            "flux",
            "--yes",
        ],
    );
    assert!(run.stderr.contains("submodule"), "{}", run.stderr);
}

#[test]
fn a_folder_inside_of_a_repository_becomes_one_of_its_own_and_path_goes_into_the_outer_one() {
    let env = TestEnv::new();
    init_repository(&env, "outer", "main");
    let run = env.expect(0, &["init", "outer/inner", "--provider", "flux", "--yes"]);
    assert!(run.stderr.contains("--path SUB"), "{}", run.stderr);
    assert!(env.path("outer/inner/.git").exists());
    env.expect(
        0,
        &[
            "-C",
            "outer",
            "init",
            "--path",
            "gitops/haptic",
            "--provider",
            "flux",
            "--yes",
        ],
    );
    assert!(
        env.read("outer/gitops/haptic/clusters/production/haptic.yaml")
            .contains("path: ./gitops/haptic/apps/haptic/release")
    );
    assert!(
        env.path("outer/gitops/haptic/.haptic-scaffold.yaml")
            .exists()
    );
    let run = env.expect(0, &["-C", "outer/gitops/haptic/apps", "init", "--yes"]);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
}

/// Public report O54: CI checks out a commit.
#[test]
fn a_detached_head_may_be_looked_at_and_is_not_committed_to() {
    let env = TestEnv::new();
    env.expect(0, &INIT);
    env.git("out", &["checkout", "-q", "--detach"]);
    env.expect(0, &with(&["--namespace", "edge", "--dry-run"]));
    let run = env.expect(3, &with(&["--namespace", "edge"]));
    assert!(run.stderr.contains("git switch"), "{}", run.stderr);
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    env.expect(0, &with(&["--namespace", "edge", "--no-commit"]));
    assert!(
        env.git("out", &["status", "--porcelain"])
            .contains(" M apps/haptic/secrets/namespace.yaml")
    );
}

#[test]
fn a_merge_that_is_going_on_is_not_committed_into() {
    let env = TestEnv::new();
    env.expect(0, &INIT);
    env.git("out", &["switch", "-qc", "side"]);
    env.git("out", &["commit", "-q", "--allow-empty", "-m", "side"]);
    env.git("out", &["switch", "-q", "main"]);
    env.git("out", &["merge", "-q", "--no-ff", "--no-commit", "side"]);
    let run = env.expect(3, &with(&["--namespace", "edge"]));
    assert!(run.stderr.contains("in the middle of"), "{}", run.stderr);
}

/// Public report O51, and its opposite: a link that leaves.
#[test]
fn links_inside_are_written_through_and_links_outside_never() {
    let env = TestEnv::new();
    init_repository(&env, "out", "main");
    env.write("out/real/apps/keep", "x\n")
        .write("elsewhere/keep", "x\n");
    std::os::unix::fs::symlink("real/apps", env.path("out/apps")).expect("links");
    env.git("out", &["add", "."]);
    env.git("out", &["commit", "-qm", "with a link"]);
    env.expect(0, &INIT);
    assert!(
        env.path("out/real/apps/haptic/secrets/namespace.yaml")
            .exists()
    );
    assert!(
        env.path("out/apps")
            .symlink_metadata()
            .expect("there")
            .is_symlink()
    );
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    assert!(env.expect(0, &INIT).stdout.contains("nothing to do"));

    init_repository(&env, "bad", "main");
    std::os::unix::fs::symlink("../elsewhere", env.path("bad/apps")).expect("links");
    let run = env.expect(3, &["init", "bad", "--provider", "flux", "--yes"]);
    assert!(
        run.stderr.contains("leaves the repository"),
        "{}",
        run.stderr
    );
    assert!(!env.path("elsewhere/haptic").exists() && !env.path("bad/clusters").exists());
}

/// Public reports O08 and O56: blobs have LF whatever the settings, and a checkout with CRLF is not taken for an edit.
#[test]
fn blobs_have_unix_lines_under_every_setting() {
    let settings: [(&[&str], Option<&str>); 4] = [
        (&["config", "core.autocrlf", "true"], None),
        (&["config", "core.autocrlf", "input"], None),
        (
            &["config", "core.eol", "crlf"],
            Some("* text=auto eol=crlf\n"),
        ),
        (&["config", "core.autocrlf", "false"], Some("*.yaml text\n")),
    ];
    for (setting, attributes) in settings {
        let env = TestEnv::new();
        init_repository(&env, "out", "main");
        env.git("out", setting);
        if let Some(attributes) = attributes {
            env.write("out/.gitattributes", attributes);
            env.git("out", &["add", "."]);
            env.git("out", &["commit", "-qm", "attributes"]);
        }
        env.expect(0, &INIT);
        assert_eq!(
            env.git("out", &["status", "--porcelain"]),
            "",
            "{setting:?}"
        );
        for path in env
            .git("out", &["ls-files", "apps", "clusters", "README.md"])
            .lines()
        {
            assert!(
                !env.git("out", &["show", &format!("HEAD:{path}")])
                    .contains('\r'),
                "{setting:?} {path}"
            );
        }
        std::fs::remove_dir_all(env.path("out/apps")).expect("removes");
        env.git("out", &["checkout", "-q", "--", "."]);
        assert!(
            env.expect(0, &INIT).stdout.contains("nothing to do"),
            "{setting:?}"
        );
        env.expect(0, &with(&["--namespace", "edge"]));
        assert_eq!(
            env.git("out", &["status", "--porcelain"]),
            "",
            "{setting:?}"
        );
        let namespace = env.git("out", &["show", "HEAD:apps/haptic/secrets/namespace.yaml"]);
        assert!(
            namespace.contains("name: edge") && !namespace.contains('\r'),
            "{setting:?}"
        );
    }
}

fn ssh_key(env: &TestEnv) -> String {
    let key = env.home().join("key").to_string_lossy().into_owned();
    let run = env.program(
        "ssh-keygen",
        &[
            "-q",
            "-t",
            "ed25519",
            "-N",
            "",
            "-C",
            "team@example.org",
            "-f",
            &key,
        ],
        "",
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    key
}

/// Public report O55: signing was wanted, and an unsigned commit was made.
#[test]
fn commits_are_signed_by_ssh_where_git_is_configured_to() {
    let env = TestEnv::new();
    if env.command("ssh-keygen").arg("-?").output().is_err() {
        return eprintln!("skipped: no ssh-keygen");
    }
    let key = ssh_key(&env);
    let public = std::fs::read_to_string(format!("{key}.pub")).expect("a public key");
    std::fs::write(
        env.home().join("allowed"),
        format!("team@example.org {public}"),
    )
    .expect("writes");
    let allowed = env.home().join("allowed").to_string_lossy().into_owned();
    let config = format!(
        "[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = {allowed}\n[user]\n\tsigningkey = {key}\n"
    );
    std::fs::write(env.home().join(".gitconfig"), &config).expect("writes");
    env.expect(0, &INIT);
    env.git("out", &["verify-commit", "HEAD"]);
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    std::fs::write(
        env.home().join(".gitconfig"),
        config.replace(&key, "/absent/key"),
    )
    .expect("writes");
    let run = env.expect(1, &with(&["--namespace", "edge"]));
    assert!(
        run.stderr.contains("cannot sign the commit"),
        "{}",
        run.stderr
    );
    assert_eq!(env.git("out", &["rev-list", "--count", "HEAD"]).trim(), "1");
    assert_eq!(env.git("out", &["status", "--porcelain"]), "");
    let run = env.expect(1, &["init", "new", "--provider", "flux", "--yes"]);
    assert!(!env.path("new").exists(), "{}", run.stderr);
}

#[test]
fn commits_are_signed_by_gpg_where_git_is_configured_to() {
    let env = TestEnv::new();
    if env.command("gpg").arg("--version").output().is_err() {
        return eprintln!("skipped: no gpg");
    }
    let make = env.program(
        "gpg",
        &[
            "--batch",
            "--quiet",
            "--passphrase",
            "",
            "--quick-generate-key",
            "A Team <team@example.org>",
            "ed25519",
            "sign",
        ],
        "",
    );
    assert_eq!(make.code, 0, "{}", make.stderr);
    std::fs::write(
        env.home().join(".gitconfig"),
        "[commit]\n\tgpgsign = true\n",
    )
    .expect("writes");
    env.expect(0, &INIT);
    env.git("out", &["verify-commit", "HEAD"]);
    let _ = env.program("gpgconf", &["--kill", "all"], "");
}

#[test]
fn flux_bootstrap_is_found_and_built_upon() {
    let env = TestEnv::new();
    init_repository(&env, "out", "main");
    env.write(
        "out/kubernetes/clusters/berlin/flux-system/gotk-sync.yaml",
        "# as flux bootstrap makes it\n",
    );
    env.git(
        "out",
        &[
            "remote",
            "add",
            "origin",
            "git@git.example.org:team/gitops.git",
        ],
    );
    env.expect(0, &INIT);
    let kustomizations = env.read("out/kubernetes/clusters/berlin/haptic.yaml");
    assert!(
        kustomizations.contains("name: flux-system")
            && kustomizations.contains("path: ./kubernetes/apps/haptic/release")
    );
    init_repository(&env, "odd", "main");
    env.write(
        "odd/fleet/flux-system/gotk-sync.yaml",
        "# as flux bootstrap makes it\n",
    );
    let run = env.expect(3, &["init", "odd", "--provider", "flux", "--yes"]);
    assert!(run.stderr.contains("--sync own"), "{}", run.stderr);
}

#[test]
fn the_remote_gives_the_address_and_a_later_one_changes_nothing() {
    let env = TestEnv::new();
    init_repository(&env, "out", "main");
    env.git(
        "out",
        &[
            "remote",
            "add",
            "origin",
            "git@git.example.org:team/gitops.git",
        ],
    );
    env.expect(0, &INIT);
    let sync = env.read("out/clusters/production/sync.yaml");
    assert!(
        sync.contains("url: ssh://git@git.example.org/team/gitops.git")
            && sync.contains("name: haptic-git"),
        "{sync}"
    );
    env.expect(0, &["init", "later", "--provider", "flux", "--yes"]);
    env.git(
        "later",
        &[
            "remote",
            "add",
            "origin",
            "https://git.example.org/team/gitops.git",
        ],
    );
    assert!(
        env.expect(0, &["init", "later", "--yes"])
            .stdout
            .contains("nothing to do")
    );
}
