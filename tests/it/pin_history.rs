//! The highest version that a pin has had: behind a move of its file, and in a clone that is cut off.

use crate::env::TestEnv;

const PATH: &str = "apps/haptic/release.yaml";

fn release(version: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: haptic, namespace: haptic}}
spec: {{url: 'https://charts.example.test'}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: edge, namespace: haptic}}
spec:
  chart:
    spec:
      chart: haptic
      version: {version}
      sourceRef: {{kind: HelmRepository, name: haptic}}
"
    )
}

/// A repository whose pin went to 0.2.2 and back.
fn reverted() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "versions.json",
        r#"{"haptic": ["0.2.0", "0.2.1", "0.2.2", "0.2.3"]}"#,
    );
    env.write("repo/README.md", "A repository.\n");
    env.git("repo", &["init", "-q", "-b", "main"]);
    for version in ["0.2.0", "0.2.1", "0.2.2", "0.2.1"] {
        env.write(&format!("repo/{PATH}"), &release(version));
        commit(&env, version);
    }
    env
}

fn commit(env: &TestEnv, message: &str) {
    env.git("repo", &["add", "-A"]);
    env.git("repo", &["commit", "-q", "-m", message]);
}

/// Above which version recovery goes from 0.2.1, and what is warned of.
fn recovered(env: &TestEnv, repo: &str) -> (String, String) {
    let run = env.expect(
        0,
        &[
            "-C",
            repo,
            "recover",
            "--rejected",
            "0.2.1",
            "--versions",
            "versions.json",
            "--dry-run",
            "--output",
            "json",
        ],
    );
    let why = &run.json()["chosen"]["why"];
    (why.as_str().expect("a reason").to_owned(), run.stderr)
}

const ABOVE_0_2_1: &str = "the newest in `0.2.x` that is above 0.2.1";
const ABOVE_0_2_2: &str = "the newest in `0.2.x` that is above 0.2.2";
const BEHIND: &str = "it had 0.2.2 until";

#[test]
fn a_file_that_was_moved_keeps_its_past() {
    let env = reverted();
    assert_eq!(recovered(&env, "repo").0, ABOVE_0_2_2);
    std::fs::create_dir_all(env.path("repo/apps/lb")).expect("a folder");
    env.git("repo", &["mv", "apps/haptic", "apps/lb/haptic"]);
    commit(&env, "move");
    let (why, warned) = recovered(&env, "repo");
    assert_eq!(why, ABOVE_0_2_2);
    assert!(warned.contains(BEHIND), "{warned}");
    // Moved once more, and changed with the same commit.
    env.git("repo", &["mv", "apps/lb/haptic/release.yaml", "lb.yaml"]);
    let text = env.read("repo/lb.yaml");
    env.write("repo/lb.yaml", &format!("# The load balancer.\n{text}"));
    commit(&env, "move and change");
    let (why, warned) = recovered(&env, "repo");
    assert_eq!(why, ABOVE_0_2_2);
    assert!(warned.contains(BEHIND), "{warned}");
    let pins = env.expect(0, &["-C", "repo", "pins", "--offline"]);
    assert!(pins.stderr.contains(BEHIND), "{}", pins.stderr);
}

#[test]
fn a_shallow_clone_says_that_more_may_have_been() {
    let env = reverted();
    env.write("repo/README.md", "Another text.\n");
    commit(&env, "another text");
    let from = format!("file://{}", env.path("repo").display());
    for (depth, folder) in [("2", "short"), ("5", "long")] {
        env.git(".", &["clone", "-q", "--depth", depth, &from, folder]);
    }
    let cut = "git fetch --unshallow";
    let (why, warned) = recovered(&env, "short");
    assert_eq!(why, ABOVE_0_2_1);
    assert_eq!(warned.matches(cut).count(), 1, "{warned}");
    let (why, warned) = recovered(&env, "long");
    assert_eq!(why, ABOVE_0_2_2);
    assert!(warned.contains(BEHIND), "{warned}");
    let recover = ["recover", "--versions", "versions.json", "--yes"];
    let proposed = |folder: &str| {
        env.expect(2, &[&["-C", folder], &recover[..]].concat())
            .stderr
    };
    let short = proposed("short");
    assert!(
        short.contains("Git proposes 0.2.1") && short.contains("as far as this shallow clone goes"),
        "{short}"
    );
    assert!(!proposed("repo").contains("shallow"));
    let pins = env.expect(0, &["-C", "short", "pins", "--offline"]);
    assert!(!pins.stderr.contains("shallow"), "{}", pins.stderr);
    // With the rest it is as in the whole repository.
    env.git("short", &["fetch", "-q", "--unshallow"]);
    let (why, warned) = recovered(&env, "short");
    assert_eq!(why, ABOVE_0_2_2);
    assert!(!warned.contains(cut), "{warned}");
}
