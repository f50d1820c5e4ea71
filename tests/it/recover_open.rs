//! Recoveries that are open, merged by squashing, closed, or worked on by others: what they say counts as long as it has to, and no longer.

use serde_json::json;

use crate::delivery::put_state;
use crate::env::TestEnv;
use crate::observe::{FAILED_HOOK, after, failed, release};
use crate::recover::{branch, by_hand, changed, commit, flux, forward, recover, refused};
use crate::recover_again::with_remote;
use crate::recover_cluster::{ARGUMENTS, FLUX, live_in, worlds};

const VERSIONS: [&str; 4] = ["upgrade", "--versions", "versions.yaml", "--output"];

fn upgrade(env: &TestEnv, folder: &str, more: &[&str]) -> serde_json::Value {
    let all = [&["-C", folder][..], &VERSIONS, &["json"], more].concat();
    env.expect(0, &all).json()
}

#[test]
fn a_recovery_of_values_that_was_squashed_holds_nothing_up() {
    let values = |count: u8| format!("  values:\n    replicas: {count}\n");
    let text = flux("haptic", "haptic", "0.2.1", &values(2));
    let env = by_hand(&[("haptic.yaml", &text)]);
    env.write("fix.yaml", "replicas: 3\n");
    let arguments = ["--rejected", "0.2.1", "--values", "fix.yaml", "--offline"];
    let done = recover(&env, &arguments);
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
    let waits = upgrade(&env, "repo", &[]);
    assert_eq!(waits["changes"], json!([]), "{waits}");
    env.git("repo", &["merge", "-q", "--squash", branch(&done)]);
    env.git("repo", &["commit", "-qm", "Squashed"]);
    // What comes after it changes the same file, so that the leftover branch looks like one that is still to come.
    let later = flux("haptic", "haptic", "0.2.1", &values(4));
    commit(&env, &[("haptic.yaml", &later)]);
    let goes_on = upgrade(&env, "repo", &[]);
    assert_eq!(goes_on["changes"][0]["title"], "Upgrade haptic to 0.2.2");
    // And takes nothing back from a recovery that comes later.
    env.write("fix.yaml", "replicas: 5\n");
    recover(&env, &arguments);
}

#[test]
fn a_clone_without_history_sees_a_recovery_that_others_work_on() {
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))]);
    with_remote(&env);
    let done = forward(&env, &["--to", "0.2.2", "--push"]);
    env.git("repo", &["checkout", "-q", branch(&done)]);
    for note in ["one", "two"] {
        commit(&env, &[("notes.md", note)]);
    }
    env.git("repo", &["push", "-q", "origin", branch(&done)]);
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.3]\n");
    let address = format!("file://{}", env.path("origin.git").display());
    env.git(".", &["clone", "-q", "--depth", "1", &address, "shallow"]);
    let round = upgrade(&env, "shallow", &["--push"]);
    assert_eq!(round["changes"], json!([]), "{round}");
    let kept = round["not_moved"].to_string();
    assert!(kept.contains("waits for its recovery"), "{round}");
}

#[test]
fn moving_the_others_alone_is_no_recovery() {
    let held = flux("haptic", "haptic", "0.2.1", "").replace("# keep this", "# hold: an audit");
    let policy = "upgrade:\n  environments:\n    - {name: staging, paths: [staging]}\n    - {name: prod, paths: [prod]}\n";
    let env = by_hand(&[
        ("staging/haptic.yaml", &held),
        ("prod/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        (".haptic-scaffold.yaml", policy),
    ]);
    let arguments = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
    let said = refused(&env, 3, &[&arguments[..], &["--others", "same"]].concat());
    assert!(said.contains("staging/haptic.yaml"), "{said}");
    assert!(said.contains("can't be moved"), "{said}");
}

#[test]
fn releases_of_one_name_are_told_apart_by_their_namespaces() {
    let of = |namespace: &str| {
        let text = flux("haptic", "haptic", "0.2.1", "  values:\n    replicas: 2\n");
        let text = text.replace(
            "namespace: flux-system}\nspec:\n  releaseName",
            &format!("namespace: {namespace}}}\nspec:\n  releaseName"),
        );
        let text = text.replace(
            "HelmRepository, name: charts",
            "HelmRepository, name: charts, namespace: flux-system",
        );
        text.replace(
            "targetNamespace: haptic",
            &format!("targetNamespace: {namespace}"),
        )
    };
    let both = format!("{}---\n{}", of("team-a"), of("team-b"));
    for files in [
        vec![("haptic.yaml", both)],
        vec![
            ("a/haptic.yaml", of("team-a")),
            ("b/haptic.yaml", of("team-b")),
        ],
    ] {
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let env = by_hand(&files);
        let arguments = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
        let said = refused(&env, 2, &arguments);
        assert!(
            said.contains("`team-a/haptic`") && said.contains("`team-b/haptic`"),
            "{said}"
        );
        env.write("fix.yaml", "replicas: 3\n");
        let fixed = ["team-b/haptic", "--values", "fix.yaml", "--to", "0.2.2"];
        let done = forward(&env, &fixed);
        assert!(branch(&done).contains("team-b"), "{done}");
        let lines = changed(&env, branch(&done));
        let added = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
        assert_eq!(
            (added("+    replicas: 3"), added("+      version: '0.2.2'")),
            (1, 1),
            "{lines:?}"
        );
        let made = env.git(
            "repo",
            &[
                "show",
                &format!("{}:{}", branch(&done), files.last().expect("a file").0),
            ],
        );
        let (before, after) = made.split_once("namespace: team-b").expect("is there");
        assert!(
            !before.contains("replicas: 3") && after.contains("replicas: 3"),
            "{made}"
        );
        // The other one has a recovery of its own beside it.
        if files.len() > 1 {
            let other = forward(&env, &["team-a/haptic"]);
            assert!(branch(&other).contains("team-a"), "{other}");
        }
    }
}

#[test]
fn a_log_without_a_version_condemns_none_that_it_may_not_be_of() {
    let policy = "upgrade:\n  environments:\n    - {name: staging, paths: [staging]}\n    - {name: prod, paths: [prod]}\n";
    let env = by_hand(&[
        (
            "staging/haptic.yaml",
            &flux("haptic", "haptic", "0.2.2", ""),
        ),
        ("prod/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        (".haptic-scaffold.yaml", policy),
    ]);
    env.write("job.log", "preflight: validation failed: no backend\n");
    let arguments = ["--job-log", "job.log", "--versions", "versions.yaml"];
    let said = refused(&env, 2, &arguments);
    assert!(said.contains("--rejected 0.2.2"), "{said}");
    let done = recover(&env, &[&arguments[..], &["--rejected", "0.2.1"]].concat());
    assert_eq!(done["rejection"]["version"], "0.2.1");
    assert!(branch(&done).contains("prod"), "{done}");
}

#[test]
fn what_is_pinned_and_not_tried_yet_is_told_although_something_was_rejected_before() {
    let policy = "rejected:\n  - {chart: haptic, version: 0.2.0}\n";
    let (env, cluster) = worlds(&flux("haptic", "haptic", "0.2.2", ""));
    commit(&env, &[(".haptic-scaffold.yaml", policy)]);
    cluster.serve_kind(FLUX);
    cluster.put(FLUX, [live_in("0.2.1")]);
    for more in [&[][..], &["--to", "0.2.x"]] {
        let said = refused(&env, 3, &[&ARGUMENTS[..], more].concat());
        assert!(
            said.contains("0.2.2, which stands in Git, hasn't been tried there yet"),
            "{said}"
        );
    }
    cluster.put(
        FLUX,
        [release(
            Some("0.2.2"),
            &failed(FAILED_HOOK),
            &after("0.2.2"),
        )],
    );
    assert_eq!(
        recover(&env, &[&ARGUMENTS[..], &["--to", ">0.2.2"]].concat())["rejection"]["version"],
        "0.2.2"
    );
}

#[test]
fn each_pin_goes_by_its_own_history() {
    let env = by_hand(&[
        ("one/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        ("two/haptic.yaml", &flux("haptic", "haptic", "0.2.0", "")),
    ]);
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1, 0.2.2]\n");
    let all = [
        "-C",
        "repo",
        "recover",
        "--rejected",
        "0.2.1",
        "--versions",
        "versions.yaml",
    ];
    let run = env.expect(0, &all);
    assert!(!run.stderr.contains("never goes back"), "{}", run.stderr);
}

#[test]
fn a_closed_recovery_is_a_no_to_just_that() {
    let text = flux("haptic", "haptic", "0.2.1", "  values:\n    replicas: 2\n");
    let env = by_hand(&[("haptic.yaml", &text)]);
    with_remote(&env);
    let open = ["--to", "0.2.2", "--open", "--forge", "local"];
    let done = forward(&env, &open);
    assert_eq!(
        done["changes"][0]["request"]["verdict"], "created",
        "{done}"
    );
    put_state(&env, 1, "closed");
    let again = [
        &["--rejected", "0.2.1", "--versions", "versions.yaml"],
        &open[..],
    ]
    .concat();
    let said = refused(&env, 3, &again);
    assert!(
        said.contains("people closed the request for just this"),
        "{said}"
    );
    env.write("fix.yaml", "replicas: 3\n");
    let done = forward(&env, &[&open[..], &["--values", "fix.yaml"]].concat());
    assert_eq!(
        done["changes"][0]["request"]["verdict"], "created",
        "{done}"
    );
    assert_eq!(done["changes"][0]["request"]["number"], 2, "{done}");
}

#[test]
fn what_people_closed_comes_with_nothing_else_again() {
    let text = flux("haptic", "haptic", "0.2.1", "  values:\n    replicas: 2\n");
    let env = by_hand(&[("haptic.yaml", &text)]);
    with_remote(&env);
    let open = ["--open", "--forge", "local"];
    forward(&env, &[&["--to", "0.2.2"], &open[..]].concat());
    put_state(&env, 1, "closed");
    env.write("fix.yaml", "replicas: 3\n");
    let values = [
        "--rejected",
        "0.2.1",
        "--values",
        "fix.yaml",
        "--versions",
        "versions.yaml",
    ];
    let done = recover(&env, &[&values[..], &open].concat());
    assert_eq!(done["chosen"]["version"], json!(null), "{done}");
    let made = changed(&env, branch(&done));
    assert!(
        !made
            .iter()
            .any(|line| line.contains("+") && line.contains("0.2.2")),
        "{made:?}"
    );
}

#[test]
fn whatever_people_put_on_a_recovery_stops_nothing() {
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))]);
    env.git(".", &["init", "-q", "--bare", "up.git"]);
    env.git("repo", &["remote", "add", "up", "../up.git"]);
    let done = forward(&env, &["--to", "0.2.2"]);
    env.git("repo", &["checkout", "-q", branch(&done)]);
    std::fs::create_dir_all(env.path("repo/other")).expect("a folder");
    let policy = env.path("repo/other/.haptic-scaffold.yaml");
    std::fs::write(policy, b"rejected: \xff\n").expect("writes");
    commit(&env, &[("docs/why?.md", "Why?\n")]);
    env.git("repo", &["push", "-q", "up", branch(&done)]);
    env.git("repo", &["checkout", "-q", "main"]);
    let waits = upgrade(&env, "repo", &[]);
    let kept = waits["not_moved"].to_string();
    // What takes it away is said for where it is.
    assert!(kept.contains("git branch -D haptic-scaffold/recover-haptic and git push up --delete haptic-scaffold/recover-haptic,"), "{waits}");
    env.git("repo", &["branch", "-qD", branch(&done)]);
    let kept = upgrade(&env, "repo", &[])["not_moved"].to_string();
    assert!(
        kept.contains("any more: git push up --delete haptic-scaffold/recover-haptic,"),
        "{kept}"
    );
    recover(
        &env,
        &[
            "--rejected",
            "0.2.1",
            "--versions",
            "versions.yaml",
            "--to",
            "0.2.2",
        ],
    );
}

#[test]
fn one_of_several_clusters_with_the_rejected_version_is_enough() {
    let policy = "upgrade:\n  environments:\n    - {name: staging, paths: [staging]}\n    - {name: prod, paths: [eu, us]}\n";
    let env = by_hand(&[
        (
            "staging/haptic.yaml",
            &flux("haptic", "haptic", "0.2.0", ""),
        ),
        ("eu/haptic.yaml", &flux("haptic", "haptic", "0.2.0", "")),
        ("us/haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        (".haptic-scaffold.yaml", policy),
    ]);
    let done = forward(&env, &[]);
    assert!(branch(&done).ends_with("--prod"), "{done}");
    let made = changed(&env, branch(&done));
    assert!(made.contains(&"= us/haptic.yaml".to_owned()), "{made:?}");
}

#[test]
fn what_only_remembers_something_holds_nothing_up() {
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))]);
    commit(
        &env,
        &[("haptic.yaml", &flux("haptic", "haptic", "0.2.2", ""))],
    );
    let done = forward(&env, &[]);
    assert!(
        done["changes"][0]["title"].to_string().contains("Remember"),
        "{done}"
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2, 0.2.3]\n");
    let goes_on = upgrade(&env, "repo", &[]);
    assert_eq!(goes_on["changes"][0]["title"], "Upgrade haptic to 0.2.3");
}

#[test]
fn what_the_base_brought_into_a_branch_is_not_the_recoverys() {
    let env = by_hand(&[
        ("haptic.yaml", &flux("haptic", "haptic", "0.2.1", "")),
        ("web.yaml", &flux("web", "web", "1.0.0", "")),
    ]);
    let done = forward(&env, &["--to", "0.2.2"]);
    commit(&env, &[("web.yaml", &flux("web", "web", "1.0.1", ""))]);
    env.git("repo", &["checkout", "-q", branch(&done)]);
    env.git("repo", &["merge", "-q", "--no-edit", "main"]);
    env.git("repo", &["checkout", "-q", "main"]);
    let paths = |name: &str| {
        let repository = git2::Repository::open(env.path("repo")).expect("opens");
        let base = repository.revparse_single("main").expect("is there").id();
        let all = haptic_scaffold::git::recoveries::recoveries(&repository, base).expect("reads");
        let one = all.into_iter().find(|one| one.branch == name);
        one.expect("is open").paths
    };
    assert_eq!(
        paths(branch(&done)),
        [".haptic-scaffold.yaml", "haptic.yaml"]
    );
}

#[test]
fn what_went_on_waits_for_those_that_are_to_move_with_it() {
    let policy = "upgrade:\n  environments:\n    - {name: staging, paths: [staging]}\n    - {name: prod, paths: [prod]}\n";
    let (env, cluster) = worlds(&flux("other", "other", "1.0.0", ""));
    let prod = flux("haptic", "haptic", "0.2.1", "");
    commit(
        &env,
        &[
            ("staging/haptic.yaml", &prod),
            ("prod/haptic.yaml", &prod),
            (".haptic-scaffold.yaml", policy),
        ],
    );
    let staging = flux("haptic", "haptic", "0.2.2", "");
    commit(&env, &[("staging/haptic.yaml", &staging)]);
    cluster.serve_kind(FLUX);
    cluster.put(
        FLUX,
        [release(
            Some("0.2.1"),
            &failed(FAILED_HOOK),
            &after("0.2.1"),
        )],
    );
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2]\n");
    let same = [
        &ARGUMENTS[..],
        &["--cluster", "staging", "--others", "same"],
    ]
    .concat();
    let done = recover(&env, &same);
    assert_eq!(done["chosen"]["version"], "0.2.2", "{done}");
    let made = changed(&env, branch(&done));
    assert!(made.contains(&"= prod/haptic.yaml".to_owned()), "{made:?}");
    assert!(
        !made.contains(&"= staging/haptic.yaml".to_owned()),
        "{made:?}"
    );
}
