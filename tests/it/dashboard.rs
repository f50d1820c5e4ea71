//! The issue that lists all: written where the policy wants one, once, and never over somebody's.

use crate::env::TestEnv;

fn prepared() -> TestEnv {
    let env = TestEnv::new();
    let there = env.path("there.git").display().to_string();
    env.program("git", &["init", "-q", "--bare", "-b", "main", &there], "");
    env.program(
        "git",
        &[
            "clone",
            "-q",
            &there,
            &env.path("repo").display().to_string(),
        ],
        "",
    );
    for (name, version) in [("web", "1.0.0"), ("api", "2.0.0"), ("db", "3.0.0")] {
        env.write(
            &format!("repo/{name}.yaml"),
            &format!("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: apps}}\nspec:\n  chart:\n    spec:\n      chart: {name}\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: all}}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: all, namespace: apps}}\nspec: {{url: https://charts.example.org/all}}\n"),
        );
    }
    env.write("repo/.haptic-scaffold.yaml", "requests: {dashboard: true}\nupgrade: {charts: {api: {hold: ask @team first}}}\nrejected: [{chart: web, version: 1.2.0, reason: preflight}]\n");
    env.git("repo", &["add", "-A"]);
    env.git("repo", &["commit", "-qm", "First"]);
    env.git("repo", &["push", "-q", "origin", "HEAD:main"]);
    env.write(
        "versions.yaml",
        "web: [1.0.0, 1.1.0, 1.2.0]\napi: [2.0.0, 2.1.0]\n",
    );
    env
}

fn run(env: &TestEnv) {
    // Of `db` nobody says which versions there are.
    env.expect(
        4,
        &[
            "-C",
            "repo",
            "upgrade",
            "--open",
            "--versions",
            "versions.yaml",
        ],
    );
}

/// The issue's file, wherever it lies among the request files.
fn issue(env: &TestEnv) -> (std::path::PathBuf, String) {
    let folder = env.path("repo/.git/haptic-scaffold/requests");
    let files = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|file| file.expect("a file").path());
    let texts = files.filter_map(|path| Some((path.clone(), std::fs::read_to_string(path).ok()?)));
    let mut found = texts.filter(|(_, text)| text.contains("upgrades of this repository"));
    found.next().expect("an issue")
}

#[test]
fn it_lists_what_is_open_held_rejected_and_unknown_and_is_written_once() {
    let env = prepared();
    run(&env);
    let (path, text) = issue(&env);
    let (_, body) = text
        .split_once("<!-- haptic-scaffold dashboard -->\n")
        .unwrap();
    for part in [
        "### Open\n\n- Upgrade web to 1.1.0 (",
        "### Not moved\n\n- api.yaml:8: held: ask @\u{200b}team first\n",
        "### Rejected\n\n- web 1.2.0: ",
        "### Not known\n\n- https://charts.example.org/all#\u{200b}db",
    ] {
        assert!(body.contains(part), "{part}\n{body}");
    }
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    run(&env);
    assert_eq!(
        std::fs::metadata(&path).unwrap().modified().unwrap(),
        before
    );
}

#[test]
fn somebodys_issue_of_the_same_title_is_left_alone() {
    let env = prepared();
    run(&env);
    let (path, text) = issue(&env);
    let (start, _) = text
        .split_once("<!-- haptic-scaffold dashboard -->\n")
        .unwrap();
    let theirs = format!("{start}My own notes.\n");
    std::fs::write(&path, &theirs).unwrap();
    let run = env.expect(
        4,
        &[
            "-C",
            "repo",
            "upgrade",
            "--open",
            "--versions",
            "versions.yaml",
        ],
    );
    assert!(
        run.stderr.contains("isn't ours, so it is left alone"),
        "{}",
        run.stderr
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), theirs);
}
