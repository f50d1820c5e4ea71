//! `upgrade --push` and `--open`: the branch on a remote, and its one merge request, in files where no forge is known.

use serde_json::Value;

use crate::env::{Run, TestEnv};

const RELEASE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: flux-system}\nspec: {type: oci, url: oci://registry.example.org/charts}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: NAME, namespace: flux-system}\nspec:\n  chart:\n    spec:\n      chart: NAME\n      version: 1.0.0\n      sourceRef: {kind: HelmRepository, name: charts}\n";
pub(crate) const BRANCH: &str = "haptic-scaffold/upgrade-web";
const OPEN: &str = "state: \"open\"";

/// A bare repository `NAME.git` whose branch `main` has a release of each chart, and its clone `NAME`.
pub(crate) fn pair(env: &TestEnv, name: &str, charts: &[&str]) {
    std::fs::create_dir(env.path(name)).expect("a folder");
    env.git(name, &["init", "-q", "-b", "main"]);
    for chart in charts {
        env.write(
            &format!("{name}/apps/{chart}.yaml"),
            &RELEASE.replace("NAME", chart),
        );
    }
    commit(env, name, "Start");
    let bare = format!("../{name}.git");
    env.git(name, &["clone", "-q", "--bare", ".", &bare]);
    env.git(&format!("{name}.git"), &["remote", "remove", "origin"]);
    env.git(name, &["remote", "add", "origin", &bare]);
    env.git(name, &["fetch", "-q"]);
}

/// One with the chart `web`, of which 1.1.0 is newer.
pub(crate) fn scene() -> TestEnv {
    let env = TestEnv::new();
    pair(&env, "repo", &["web"]);
    env.write("versions.yaml", "web: ['1.1.0']\n");
    env
}

pub(crate) fn commit(env: &TestEnv, folder: &str, subject: &str) {
    env.git(folder, &["add", "."]);
    env.git(folder, &["commit", "-qm", subject, "--allow-empty"]);
}

/// Commits a file to a branch of the remote, as somebody else does.
pub(crate) fn elsewhere(env: &TestEnv, branch: &str, path: &str, text: &str) {
    if !env.path("other").exists() {
        env.git(".", &["clone", "-q", "repo.git", "other"]);
    }
    env.git("other", &["fetch", "-q"]);
    let start = format!("origin/{branch}");
    env.git("other", &["checkout", "-qB", branch, &start]);
    env.write(&format!("other/{path}"), text);
    commit(env, "other", "By hand");
    env.git("other", &["push", "-q", "origin", branch]);
}

pub(crate) fn run(env: &TestEnv, more: &[&str], code: i32) -> Run {
    let mut arguments = vec!["-C", "repo", "upgrade", "--versions", "versions.yaml"];
    arguments.extend(["--output", "json"]);
    arguments.extend(more);
    env.expect(code, &arguments)
}

/// The one change of a run.
pub(crate) fn one(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut json = run(env, more, code).json();
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(1), "{json}");
    json["changes"][0].take()
}

pub(crate) fn tip(env: &TestEnv, folder: &str, name: &str) -> String {
    let line = env.git(folder, &["rev-parse", "--verify", name]);
    line.trim().to_owned()
}

pub(crate) fn refs(env: &TestEnv, folder: &str) -> String {
    env.git(
        folder,
        &["for-each-ref", "--format=%(refname) %(objectname)"],
    )
}

pub(crate) fn request_file(number: u64) -> String {
    format!("repo/.git/haptic-scaffold/requests/{number}.md")
}

fn has_request(env: &TestEnv, number: u64) -> bool {
    env.path(&request_file(number)).exists()
}

/// Puts the request into another state, as people do on a forge.
pub(crate) fn put_state(env: &TestEnv, number: u64, state: &str) {
    let text = env.read(&request_file(number));
    assert!(text.contains(OPEN), "{text}");
    let text = text.replace(OPEN, &format!("state: \"{state}\""));
    env.write(&request_file(number), &text);
}

/// Has the remote note each push.
fn note_pushes(env: &TestEnv) {
    env.write(
        "repo.git/hooks/post-receive",
        "#!/bin/sh\ncat >> pushes\necho >> pushes\n",
    );
    env.mode("repo.git/hooks/post-receive", 0o755);
}

fn pushes(env: &TestEnv) -> usize {
    let text = std::fs::read_to_string(env.path("repo.git/pushes")).unwrap_or_default();
    text.lines().filter(|line| line.is_empty()).count()
}

fn said(run: &Run, parts: &[&str]) {
    for part in parts {
        let is_said = run.stdout.contains(part) || run.stderr.contains(part);
        assert!(is_said, "no {part}\n{}\n{}", run.stdout, run.stderr);
    }
}

#[test]
fn a_push_moves_the_branch_of_the_remote_and_nothing_that_is_worked_on() {
    let env = scene();
    env.write("repo/apps/web.yaml", "dirty\n");
    env.write("repo/staged", "x\n");
    env.git("repo", &["add", "staged"]);
    let index = std::fs::read(env.path("repo/.git/index")).expect("an index");
    let change = one(&env, &["--push"], 0);
    assert_eq!(change["request"], Value::Null);
    assert_eq!(change["branch_verdict"], "created");
    let commit = change["commit"].as_str().expect("a commit");
    for (folder, name) in [
        ("repo.git", format!("refs/heads/{BRANCH}")),
        ("repo", format!("refs/heads/{BRANCH}")),
        ("repo", format!("refs/remotes/origin/{BRANCH}")),
    ] {
        assert_eq!(tip(&env, folder, &name), commit, "{folder} {name}");
    }
    let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "repo.git", "main"));
    let still = std::fs::read(env.path("repo/.git/index")).expect("an index");
    assert!(index == still, "the index was touched");
    assert_eq!(env.read("repo/apps/web.yaml"), "dirty\n");
    assert_eq!(env.git("repo", &["branch", "--show-current"]), "main\n");
    assert!(!has_request(&env, 1));
    env.git("repo.git", &["fsck", "--strict"]);
}

#[test]
fn an_opened_request_is_told_as_scripts_rely_on_it_and_a_second_run_does_nothing() {
    let env = scene();
    note_pushes(&env);
    let change = one(&env, &["--open"], 0);
    let file = env.path(&request_file(1));
    assert_eq!(
        change["request"],
        serde_json::json!({
            "forge": "local", "number": 1, "url": change["request"]["url"], "verdict": "created", "why": null,
        })
    );
    let url = change["request"]["url"].as_str().expect("a place");
    assert_eq!(
        std::fs::canonicalize(url).expect("a file"),
        std::fs::canonicalize(&file).expect("a file")
    );
    let text = env.read(&request_file(1));
    for line in [
        OPEN,
        "title: \"Upgrade web to 1.1.0\"",
        "branch: \"haptic-scaffold/upgrade-web\"",
        "base: \"main\"",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{text}");
    }
    let (before, here) = (refs(&env, "repo.git"), refs(&env, "repo"));
    assert_eq!(pushes(&env), 1);
    for _ in 0..2 {
        let again = one(&env, &["--open"], 0);
        assert_eq!(again["request"]["verdict"], "same");
        assert_eq!(again["request"]["number"], 1);
        assert_eq!(again["branch_verdict"], "same");
        assert_eq!(again["commit"], change["commit"]);
    }
    assert_eq!(pushes(&env), 1);
    assert_eq!(refs(&env, "repo.git"), before);
    assert_eq!(refs(&env, "repo"), here);
    assert_eq!(env.read(&request_file(1)), text);
    let human = env.expect(
        0,
        &[
            "-C",
            "repo",
            "upgrade",
            "--versions",
            "versions.yaml",
            "--open",
        ],
    );
    said(&human, &["merge request same: ", "1.md"]);
}

#[test]
fn a_newer_version_comes_into_the_same_request_and_what_people_wrote_there_stays() {
    let env = scene();
    let first = one(&env, &["--open"], 0);
    let text = env.read(&request_file(1));
    let labels = text.replace("labels: [", "labels: [\"ours\",");
    assert_ne!(labels, text);
    env.write(&request_file(1), &labels);
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let newer = one(&env, &["--open"], 0);
    assert_eq!(newer["request"]["verdict"], "updated");
    assert_eq!(newer["request"]["number"], 1);
    assert_ne!(newer["commit"], first["commit"]);
    let text = env.read(&request_file(1));
    assert!(text.contains("title: \"Upgrade web to 1.2.0\""), "{text}");
    assert!(text.contains("\"ours\""), "{text}");
    let range = format!("main..{BRANCH}");
    assert_eq!(env.git("repo.git", &["rev-list", "--count", &range]), "1\n");
    let own = text.replace("Upgrade web to 1.2.0", "Our own words");
    env.write(&request_file(1), &own);
    env.write("versions.yaml", "web: ['1.3.0']\n");
    assert_eq!(one(&env, &["--open"], 0)["request"]["number"], 1);
    let text = env.read(&request_file(1));
    assert!(text.contains("title: \"Our own words\""), "{text}");
    assert!(!has_request(&env, 2));
}

#[test]
fn a_branch_with_somebodys_commit_is_left_alone() {
    let env = scene();
    one(&env, &["--open"], 0);
    elsewhere(&env, BRANCH, "mine", "x\n");
    let (tip_there, text) = (tip(&env, "repo.git", BRANCH), env.read(&request_file(1)));
    for versions in ["web: ['1.1.0']\n", "web: ['1.2.0']\n"] {
        env.write("versions.yaml", versions);
        let ran = run(&env, &["--open"], 0);
        said(&ran, &["warning", BRANCH, "has a commit that isn't ours"]);
        let change = &ran.json()["changes"][0];
        assert_eq!(change["branch_verdict"], "left-alone");
        assert_eq!(change["request"]["verdict"], "left-alone");
        assert_eq!(change["request"]["number"], 1);
        assert_eq!(tip(&env, "repo.git", BRANCH), tip_there);
        assert_eq!(env.read(&request_file(1)), text);
    }
}

#[test]
fn a_closed_request_means_not_this_version() {
    let env = scene();
    one(&env, &["--open"], 0);
    put_state(&env, 1, "closed");
    let text = env.read(&request_file(1));
    for _ in 0..2 {
        let closed = one(&env, &["--open"], 0);
        assert_eq!(closed["request"]["verdict"], "closed");
        assert_eq!(closed["request"]["number"], 1);
        assert_eq!(closed["commit"], Value::Null);
        assert_eq!(closed["branch_verdict"], "closed");
    }
    assert_eq!(env.read(&request_file(1)), text);
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let newer = one(&env, &["--open"], 0);
    assert_eq!(newer["request"]["verdict"], "created");
    assert_eq!(newer["request"]["number"], 2);
    assert_eq!(env.read(&request_file(1)), text);
    // Without what says what it was about, a closed request is nobody's "no" any more.
    put_state(&env, 2, "closed");
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "closed");
    let text = env.read(&request_file(2));
    let (own, _) = text
        .split_once("<!-- haptic-scaffold")
        .expect("the comment");
    env.write(&request_file(2), own);
    assert_eq!(one(&env, &["--open"], 0)["request"]["number"], 3);
}

#[test]
fn a_merged_branch_that_was_left_over_is_tidied() {
    for squash in [false, true] {
        let env = scene();
        one(&env, &["--open"], 0);
        env.git(".", &["clone", "-q", "repo.git", "other"]);
        let branch = format!("origin/{BRANCH}");
        if squash {
            env.git("other", &["merge", "-q", "--squash", &branch]);
            env.git("other", &["commit", "-qm", "Upgrade"]);
        } else {
            env.git("other", &["merge", "-q", "--no-ff", "--no-edit", &branch]);
        }
        env.git("other", &["push", "-q", "origin", "main"]);
        put_state(&env, 1, "merged");
        let dry = run(&env, &["--open", "--dry-run"], 0);
        said(&dry, &[BRANCH, "deleted"]);
        assert!(refs(&env, "repo.git").contains(BRANCH));
        let ran = run(&env, &["--open"], 0);
        assert_eq!(ran.json()["changes"], serde_json::json!([]));
        said(&ran, &[BRANCH, "deleted, its request has ended"]);
        assert!(!refs(&env, "repo.git").contains(BRANCH));
        assert!(!refs(&env, "repo").contains(&format!("refs/remotes/origin/{BRANCH}")));
        env.write("versions.yaml", "web: ['1.2.0']\n");
        let next = one(&env, &["--open"], 0);
        assert_eq!(next["request"]["number"], 2);
        let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
        assert_eq!(parent, tip(&env, "repo.git", "main"));
    }
}

#[test]
fn a_merged_branch_that_is_still_there_is_started_anew_by_a_newer_version() {
    let env = scene();
    one(&env, &["--open"], 0);
    env.git("repo.git", &["update-ref", "refs/heads/main", BRANCH]);
    put_state(&env, 1, "merged");
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let next = one(&env, &["--open"], 0);
    assert_eq!(next["request"]["verdict"], "created");
    assert_eq!(next["request"]["number"], 2);
    let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "repo.git", "main"));
}

#[test]
fn an_open_request_that_nothing_asks_for_any_more_is_closed_with_the_reason() {
    let env = scene();
    one(&env, &["--open"], 0);
    // By hand in the base, and by no merge.
    let text = RELEASE.replace("NAME", "web").replace("1.0.0", "1.1.0");
    elsewhere(&env, "main", "apps/web.yaml", &text);
    let ran = run(&env, &["--open"], 0);
    said(&ran, &["closed: `main` has this already."]);
    let text = env.read(&request_file(1));
    assert!(text.contains("state: \"closed\""), "{text}");
    assert!(text.contains("`main` has this already."), "{text}");
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    // We closed it: that is nobody's "no".
    env.git("other", &["revert", "--no-edit", "HEAD"]);
    env.git("other", &["push", "-q", "origin", "main"]);
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "created");
}

#[test]
fn a_base_that_moved_elsewhere_keeps_the_commit_and_one_that_conflicts_rebuilds_it() {
    let env = scene();
    note_pushes(&env);
    let first = one(&env, &["--open"], 0);
    elsewhere(&env, "main", "notes", "x\n");
    let pushed = pushes(&env);
    let same = one(&env, &["--open"], 0);
    assert_eq!(same["commit"], first["commit"]);
    assert_eq!(same["request"]["verdict"], "same");
    assert_eq!(pushes(&env), pushed);
    let text = RELEASE.replace("NAME", "web");
    elsewhere(
        &env,
        "main",
        "apps/web.yaml",
        &format!("# a team's note\n{text}"),
    );
    let rebuilt = one(&env, &["--open"], 0);
    assert_ne!(rebuilt["commit"], first["commit"]);
    assert_eq!(rebuilt["request"]["verdict"], "updated");
    assert_eq!(rebuilt["request"]["number"], 1);
    let is_on_main = || {
        let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
        assert_eq!(parent, tip(&env, "repo.git", "main"));
    };
    is_on_main();
    // The very line that the offer changes: its own text stays the same.
    let between = format!("# a team's note\n{text}").replace("1.0.0", "1.0.1");
    assert!(between.contains("1.0.1"), "{between}");
    elsewhere(&env, "main", "apps/web.yaml", &between);
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "updated");
    is_on_main();
    assert!(!has_request(&env, 2));
}

#[test]
fn a_base_beside_the_default_branch_is_built_on_and_aimed_at() {
    let env = scene();
    env.git("repo.git", &["branch", "test", "main"]);
    elsewhere(&env, "test", "only-here", "x\n");
    let change = one(&env, &["--open", "--base", "test"], 0);
    assert_eq!(change["base"], "test");
    let branch = format!("{BRANCH}@test");
    assert_eq!(change["branch"], branch.as_str());
    let parent = tip(&env, "repo.git", &format!("{branch}^"));
    assert_eq!(parent, tip(&env, "repo.git", "test"));
    let text = env.read(&request_file(1));
    assert!(text.contains("base: \"test\"\n"), "{text}");
    // The default branch has an offer of its own, and neither takes the other's place.
    let change = one(&env, &["--open", "--base", "main"], 0);
    assert_eq!(change["request"]["number"], 2);
    for (base, number) in [("test", 1), ("main", 2)] {
        let change = one(&env, &["--open", "--base", base], 0);
        let request = &change["request"];
        assert_eq!(
            (&request["number"], &request["verdict"]),
            (&number.into(), &"same".into())
        );
    }
    let missing = run(&env, &["--open", "--base", "nowhere"], 4);
    said(&missing, &["has no branch `nowhere` to build on"]);
    let hint = &missing.json()["error"]["hint"];
    let hint = hint.as_str().expect("a hint");
    assert!(hint.contains("`--base BRANCH`"), "{hint}");
    assert!(hint.contains("main, test"), "{hint}");
    assert!(!hint.contains("upgrade-web"), "{hint}");
}

#[test]
fn what_stands_in_the_way_of_a_push_is_said_with_the_next_step() {
    let env = scene();
    env.git(
        "repo",
        &["remote", "rename", "--no-progress", "origin", "one"],
    );
    // The only remote is the one.
    one(&env, &["--push", "--dry-run"], 0);
    env.git("repo", &["remote", "add", "two", "../repo.git"]);
    let ambiguous = run(&env, &["--push"], 2);
    said(&ambiguous, &["cannot push: ", "`--remote NAME`"]);
    env.git("repo", &["remote", "remove", "one"]);
    env.git("repo", &["remote", "remove", "two"]);
    said(
        &run(&env, &["--open"], 2),
        &["git remote add origin ADDRESS"],
    );
    std::fs::create_dir(env.path("empty.git")).expect("a folder");
    env.git("empty.git", &["init", "-q", "--bare", "-b", "main"]);
    env.git("repo", &["remote", "add", "origin", "../empty.git"]);
    let empty = run(&env, &["--open"], 4);
    said(&empty, &["it is empty: git push origin main"]);
    assert_eq!(refs(&env, "empty.git"), "");
    env.git("repo", &["remote", "set-url", "origin", "../gone.git"]);
    said(&run(&env, &["--open"], 4), &["gone.git", "git ls-remote"]);
    assert!(!refs(&env, "repo").contains(BRANCH));
    assert!(!has_request(&env, 1));
}

#[test]
fn a_named_remote_gets_the_branch_and_no_other_does() {
    let env = scene();
    env.git("repo", &["clone", "-q", "--bare", ".", "../fork.git"]);
    env.git("repo", &["remote", "add", "fork", "../fork.git"]);
    let change = one(&env, &["--push", "--remote", "fork"], 0);
    let commit = change["commit"].as_str().expect("a commit");
    assert_eq!(tip(&env, "fork.git", BRANCH), commit);
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    assert!(refs(&env, "repo").contains(&format!("refs/remotes/fork/{BRANCH}")));
    said(&run(&env, &["--push", "--remote", "none"], 3), &["`none`"]);
}

#[test]
fn without_a_branch_the_remotes_default_counts() {
    let env = scene();
    env.git("repo", &["checkout", "-q", "--detach"]);
    elsewhere(&env, "main", "later", "x\n");
    let change = one(&env, &["--open"], 0);
    assert_eq!(change["base"], "main");
    let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "repo.git", "main"));
    assert_eq!(env.git("repo", &["branch", "--show-current"]), "");
    // A checked out offer is nothing to build on, so the default counts there too.
    env.git("repo", &["checkout", "-q", "--detach", BRANCH]);
    let again = one(&env, &["--open"], 0);
    assert_eq!(again["request"]["verdict"], "same");
}

#[test]
fn a_clone_of_depth_1_pushes_and_rebuilds() {
    let env = scene();
    elsewhere(&env, "main", "second", "x\n");
    std::fs::remove_dir_all(env.path("repo")).expect("goes");
    let address = format!("file://{}", env.path("repo.git").display());
    env.git(".", &["clone", "-q", "--depth", "1", &address, "repo"]);
    assert_eq!(env.git("repo", &["rev-list", "--count", "HEAD"]), "1\n");
    let first = one(&env, &["--open"], 0);
    assert_eq!(first["request"]["verdict"], "created");
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "same");
    let text = RELEASE.replace("NAME", "web");
    elsewhere(&env, "main", "apps/web.yaml", &format!("# moved\n{text}"));
    let rebuilt = one(&env, &["--open"], 0);
    assert_eq!(rebuilt["request"]["verdict"], "updated");
    assert_eq!(rebuilt["request"]["number"], 1);
    let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "repo.git", "main"));
    let range = ["rev-list", "--count", BRANCH];
    assert_eq!(env.git("repo.git", &range), "4\n");
    env.git("repo.git", &["fsck", "--strict"]);
    env.git("repo", &["fsck"]);
    assert!(env.path("repo/.git/shallow").exists());
}

#[test]
fn a_dry_run_tells_all_and_writes_nothing() {
    let env = scene();
    let state = || (refs(&env, "repo.git"), refs(&env, "repo"));
    let before = state();
    let change = one(&env, &["--open", "--dry-run"], 0);
    assert_eq!(change["request"]["verdict"], "created");
    assert_eq!(change["request"]["number"], Value::Null);
    assert_eq!(change["commit"], Value::Null);
    assert_eq!(state(), before);
    assert!(!env.path("repo/.git/haptic-scaffold").exists());
    one(&env, &["--open"], 0);
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let (before, text) = (state(), env.read(&request_file(1)));
    let change = one(&env, &["--open", "--dry-run"], 0);
    assert_eq!(change["request"]["verdict"], "updated");
    assert_eq!(change["request"]["number"], 1);
    assert_eq!(state(), before);
    assert_eq!(env.read(&request_file(1)), text);
}

#[test]
fn an_address_that_git_rewrites_is_rewritten_here() {
    let env = scene();
    let address = "https://git.example.org/team/repo.git";
    env.git("repo", &["remote", "set-url", "origin", address]);
    let base = format!("url.{}/.insteadOf", env.work().display());
    env.git(
        "repo",
        &["config", "--global", &base, "https://git.example.org/team/"],
    );
    let change = one(&env, &["--open"], 0);
    assert_eq!(change["request"]["verdict"], "created");
    let commit = change["commit"].as_str().expect("a commit");
    assert_eq!(tip(&env, "repo.git", BRANCH), commit);
}

#[test]
fn a_refusal_has_the_servers_words_and_keeps_the_others_going() {
    let env = TestEnv::new();
    pair(&env, "repo", &["api", "web"]);
    env.write("versions.yaml", "api: ['1.1.0']\nweb: ['1.1.0']\n");
    let hook = "#!/bin/sh\ncase $1 in *web) echo 'needs ticket' >&2; exit 1;; esac\n";
    env.write("repo.git/hooks/update", hook);
    env.mode("repo.git/hooks/update", 0o755);
    let ran = run(&env, &["--open"], 4);
    said(&ran, &["needs ticket"]);
    let json = ran.json();
    assert_eq!(json["ok"], false);
    assert_eq!(json["error"]["code"], 4);
    assert_eq!(json["changes"][0]["request"]["verdict"], "created");
    assert_eq!(json["changes"][1]["request"]["verdict"], "refused");
    assert!(json["changes"][1]["request"]["why"].is_string());
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    assert!(!has_request(&env, 2));
    std::fs::remove_file(env.path("repo.git/hooks/update")).expect("goes");
    env.write(
        "repo.git/hooks/pre-receive",
        "#!/bin/sh\necho 'needs ticket' >&2\nexit 1\n",
    );
    env.mode("repo.git/hooks/pre-receive", 0o755);
    let ran = run(&env, &["--open"], 4);
    said(&ran, &["needs ticket"]);
    let json = ran.json();
    assert_eq!(json["changes"][0]["request"]["verdict"], "same");
    assert_eq!(json["changes"][1]["request"]["verdict"], "refused");
    // Once it is allowed, the next run does what was left.
    std::fs::remove_file(env.path("repo.git/hooks/pre-receive")).expect("goes");
    let json = run(&env, &["--open"], 0).json();
    assert_eq!(json["changes"][1]["request"]["verdict"], "created");
    assert_eq!(json["changes"][1]["request"]["number"], 2);
}

#[test]
fn a_forge_that_cannot_be_told_is_said() {
    let env = scene();
    let refused = run(&env, &["--open", "--forge", "gitlab"], 2);
    said(&refused, &["names no server", "`--forge local`"]);
    let address = "https://git.example.org/team/repo.git";
    env.git("repo", &["remote", "set-url", "origin", address]);
    let untold = run(
        &env,
        &["--open", "--forge-url", "https://git.example.org/"],
        2,
    );
    said(&untold, &["cannot tell which forge", "`--forge gitlab`"]);
    let unread = run(&env, &["--open", "--forge-url", "nonsense"], 2);
    said(&unread, &["cannot read `--forge-url`"]);
}

#[test]
fn a_token_file_that_holds_no_token_is_refused_without_a_word_of_it() {
    let env = scene();
    env.write("empty", "\n");
    env.write("two", "geheim-one geheim-two\n");
    for file in ["missing", "empty", "two"] {
        for forge in ["local", "gitlab"] {
            let address = match forge {
                "local" => "../repo.git",
                _ => "https://gitlab.example.org/team/repo.git",
            };
            env.git("repo", &["remote", "set-url", "origin", address]);
            let arguments = ["--open", "--forge", forge, "--token-file", file];
            let ran = run(&env, &arguments, 3);
            said(&ran, &[file, "cannot read a token"]);
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!all.contains("geheim"), "{all}");
        }
    }
    assert!(!refs(&env, "repo.git").contains(BRANCH));
}

/// Commits the policy of requests to the base.
fn put_policy(env: &TestEnv, requests: &str) {
    let text = format!("requests:\n{requests}");
    elsewhere(env, "main", ".haptic-scaffold.yaml", &text);
}

/// A day of the week, counted from today, as a schedule names it.
fn day(from_now: u64) -> &'static str {
    let now = std::time::SystemTime::now();
    let since = now.duration_since(std::time::UNIX_EPOCH).expect("a time");
    // 1 January 1970 was a Thursday.
    let days = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];
    let index = (since.as_secs() / 86_400 + from_now) % 7;
    days[usize::try_from(index).expect("small")]
}

#[test]
fn what_has_to_wait_for_its_time_waits_and_then_comes() {
    let env = scene();
    put_policy(&env, &format!("  schedule: ['{} 09:00-17:00']\n", day(3)));
    let ran = run(&env, &["--open"], 0);
    let json = ran.json();
    assert_eq!(json["changes"], serde_json::json!([]));
    said(&ran, &["it waits for its time", "09:00-17:00", BRANCH]);
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    put_policy(&env, "  schedule: ['mon-sun', '01:00-02:00 +02:00']\n");
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "created");
    // An open request isn't changed outside of its time, and isn't closed either.
    put_policy(&env, &format!("  schedule: ['{}']\n", day(3)));
    env.write("versions.yaml", "web: ['1.2.0']\n");
    let text = env.read(&request_file(1));
    said(&run(&env, &["--open"], 0), &["it waits for its time"]);
    assert_eq!(env.read(&request_file(1)), text);
    put_policy(&env, "  schedule: [workdays]\n");
    let wrong = run(&env, &["--open"], 3);
    said(&wrong, &["`requests.schedule` has `workdays`", "mon-fri"]);
}

#[test]
fn no_more_requests_are_open_than_the_policy_says() {
    let env = TestEnv::new();
    pair(&env, "repo", &["api", "db", "web"]);
    env.write("versions.yaml", "api: [1.1.0]\ndb: [1.1.0]\nweb: [1.1.0]\n");
    put_policy(&env, "  most_open: 2\n  labels: [bot, dependencies]\n");
    for _ in 0..2 {
        let ran = run(&env, &["--open"], 0);
        let json = ran.json();
        let changes = json["changes"].as_array().expect("changes");
        let numbers: Vec<&Value> = changes
            .iter()
            .map(|one| &one["request"]["number"])
            .collect();
        assert_eq!(numbers, [1, 2], "{json}");
        said(&ran, &["`requests.most_open` is 2", BRANCH]);
    }
    assert!(!refs(&env, "repo.git").contains(BRANCH));
    let text = env.read(&request_file(1));
    let line = text.lines().find(|line| line.starts_with("labels: "));
    let line = line.expect("labels");
    assert!(line.contains("\"bot\""), "{line}");
    assert_eq!(line.matches("\"dependencies\"").count(), 1, "{line}");
    // One that people closed makes room, and a copy of its text on a branch of theirs takes none.
    let copied = env
        .read(&request_file(2))
        .replace("\"haptic-scaffold/upgrade-db\"", "\"theirs\"");
    env.write(&request_file(7), &copied);
    put_state(&env, 2, "closed");
    let json = run(&env, &["--open"], 0).json();
    let third = &json["changes"].as_array().expect("changes").iter();
    let mut web = third.clone().filter(|one| one["branch"] == BRANCH);
    assert_eq!(web.next().expect("the third")["request"]["number"], 8);
    assert_eq!(env.read(&request_file(7)), copied);
}

#[test]
fn a_branch_is_always_rebuilt_where_the_policy_says_so() {
    let env = scene();
    put_policy(&env, "  always_rebuild: true\n");
    let first = one(&env, &["--open"], 0);
    assert_eq!(one(&env, &["--open"], 0)["request"]["verdict"], "same");
    elsewhere(&env, "main", "notes", "x\n");
    let rebuilt = one(&env, &["--open"], 0);
    assert_ne!(rebuilt["commit"], first["commit"]);
    assert_eq!(rebuilt["request"]["verdict"], "updated");
    assert_eq!(rebuilt["request"]["number"], 1);
    let parent = tip(&env, "repo.git", &format!("{BRANCH}^"));
    assert_eq!(parent, tip(&env, "repo.git", "main"));
}

/// Has the remote be one of GitLab's: reached over SSH, takes options of a push, says which request they opened.
fn as_gitlab(env: &TestEnv) {
    let ssh = format!(
        "#!/bin/sh\nfor last; do :; done\nexec sh -c \"$(echo \"$last\" | sed \"s#'/*team/#'{}/#\")\"\n",
        env.work().display()
    );
    env.write("ssh", &ssh);
    env.mode("ssh", 0o755);
    let program = env.path("ssh").display().to_string();
    env.git("repo", &["config", "core.sshCommand", &program]);
    let address = "git@gitlab.example.org:team/repo.git";
    env.git("repo", &["remote", "set-url", "origin", address]);
    env.git(
        "repo.git",
        &["config", "receive.advertisePushOptions", "true"],
    );
    let hook = "#!/bin/sh\ni=0\nwhile [ $i -lt \"${GIT_PUSH_OPTION_COUNT:-0}\" ]; do eval \"echo \\\"\\$GIT_PUSH_OPTION_$i\\\"\" >> options; i=$((i+1)); done\n\
        echo 'View merge request:' >&2\necho '  https://gitlab.example.org/team/repo/-/merge_requests/7' >&2\n";
    env.write("repo.git/hooks/post-receive", hook);
    env.mode("repo.git/hooks/post-receive", 0o755);
}

#[test]
fn without_a_token_gitlab_opens_the_request_by_the_push_itself() {
    let env = scene();
    as_gitlab(&env);
    put_policy(&env, "  labels: [bot]\n  reviewers: [somebody]\n");
    let ran = run(&env, &["--open"], 0);
    let mut json = ran.json();
    let change = json["changes"][0].take();
    assert_eq!(
        change["request"],
        serde_json::json!({
            "forge": "gitlab", "number": 7, "verdict": "created", "why": null,
            "url": "https://gitlab.example.org/team/repo/-/merge_requests/7",
        })
    );
    said(&ran, &["reviewer `somebody`"]);
    let options = env.read("repo.git/options");
    for line in [
        "merge_request.create",
        "merge_request.target=main",
        "merge_request.title=Upgrade web to 1.1.0",
        "merge_request.label=bot",
    ] {
        assert!(options.lines().any(|one| one == line), "{line}: {options}");
    }
    // Without a move of the branch nobody can ask for its request, and that is said.
    let ran = run(&env, &["--open"], 0);
    let again = ran.json()["changes"][0].take();
    assert_eq!(again["commit"], change["commit"]);
    assert_eq!(again["request"]["verdict"], "left-alone");
    assert_eq!(again["request"]["number"], Value::Null);
    assert!(again["request"]["why"].is_string());
    said(
        &ran,
        &[
            "nobody knows",
            "`GITLAB_TOKEN`",
            "--delete haptic-scaffold/",
        ],
    );
    assert_eq!(env.read("repo.git/options"), options);
    // A newer version asks again, and says nothing that people may have changed meanwhile.
    env.write("versions.yaml", "web: ['1.1.1']\n");
    let moved = one(&env, &["--open"], 0);
    assert_eq!(moved["request"]["verdict"], "updated");
    assert_eq!(moved["request"]["number"], 7);
    let more = env.read("repo.git/options");
    let more: Vec<&str> = more[options.len()..].lines().collect();
    assert_eq!(more, ["merge_request.create", "merge_request.target=main"]);
    let options = env.read("repo.git/options");
    // The schedule counts as where a forge is asked.
    put_policy(&env, &format!("  schedule: ['{}']\n", day(3)));
    env.write("versions.yaml", "web: ['1.2.0']\n");
    said(&run(&env, &["--open"], 0), &["it waits for its time"]);
    assert_eq!(env.read("repo.git/options"), options);
}

#[test]
fn a_push_after_which_gitlab_names_no_request_is_a_problem() {
    let env = scene();
    as_gitlab(&env);
    let hook = "#!/bin/sh\necho 'WARNINGS:' >&2\necho 'Error encountered with push options' >&2\n";
    env.write("repo.git/hooks/post-receive", hook);
    for version in ["1.1.0", "1.2.0"] {
        env.write("versions.yaml", &format!("web: ['{version}']\n"));
        let ran = run(&env, &["--open"], 4);
        let change = ran.json()["changes"][0].take();
        assert_eq!(change["request"]["verdict"], "refused", "{version}");
        assert_eq!(
            tip(&env, "repo.git", BRANCH),
            change["commit"].as_str().expect("a commit")
        );
        let words = ["Error encountered with push options", "`api`", "--delete"];
        said(&ran, &words);
    }
}
