//! `recover` after `recover`, and beside `upgrade`: what one has written stays, and what one remembers counts for the other.

use serde_json::{Value, json};

use crate::delivery::{put_state, request_file};
use crate::env::TestEnv;
use crate::recover::{
    argo, body, branch, by_hand, changed, flux, forward, recover, refused, scaffold, scaffold_in,
    state,
};
use crate::recover_log::guard;
use crate::recover_values::{FIX, with_values, without_record};

const REJECTED: [&str; 4] = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
const OPEN: [&str; 3] = ["--open", "--forge", "local"];

fn and<'a>(some: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [some, more].concat()
}

/// Gives a repository a remote that has its branches.
pub fn with_remote(env: &TestEnv) {
    env.git("", &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    env.git("repo", &["remote", "add", "origin", "../origin.git"]);
    env.git("repo", &["push", "-q", "origin", "--all"]);
    env.git("repo", &["fetch", "-q"]);
}

fn upgrade(env: &TestEnv, more: &[&str], code: i32) -> Value {
    let mut arguments = vec!["-C", "repo", "upgrade", "--output", "json"];
    arguments.extend(["--versions", "versions.yaml"]);
    arguments.extend(more);
    env.expect(code, &arguments).json()
}

fn count(done: &Value) -> usize {
    done["changes"].as_array().map_or(0, Vec::len)
}

fn tip(env: &TestEnv, name: &str) -> String {
    env.git("repo", &["rev-parse", "--verify", name])
}

/// The files that a branch changes.
fn files(env: &TestEnv, name: &str) -> Vec<String> {
    let lines = changed(env, name);
    let files = lines.iter().filter_map(|line| line.strip_prefix("= "));
    files.map(str::to_owned).collect()
}

#[test]
fn each_of_two_releases_has_a_recovery_of_its_own() {
    let monorepo = TestEnv::new();
    for (path, name) in [("one", "hap-one"), ("two", "hap-two")] {
        scaffold_in(
            &monorepo,
            "flux-cluster",
            &["--path", path, "--release", name],
        );
    }
    let plain = by_hand(&[
        ("one.yaml", &argo("hap-one", "haptic", "0.2.1", "")),
        ("two.yaml", &argo("hap-two", "haptic", "0.2.1", "")),
    ]);
    // The repository, and the files of each release's change.
    let in_folder = |folder: &str| {
        vec![
            format!("{folder}/.haptic-scaffold.yaml"),
            format!("{folder}/apps/hap-{folder}/release/release.yaml"),
        ]
    };
    let at_top = |file: &str| vec![".haptic-scaffold.yaml".to_owned(), file.to_owned()];
    let table = [
        (&monorepo, [in_folder("one"), in_folder("two")]),
        (&plain, [at_top("one.yaml"), at_top("two.yaml")]),
    ];
    for (env, wanted) in table {
        let one = forward(env, &["hap-one"]);
        let before = tip(env, branch(&one));
        let told = one["others"][0]["told"].as_str().unwrap_or_default();
        assert!(told.contains("`hap-two` has 0.2.1 too and stays"), "{one}");
        // The other isn't held up by it.
        let offered = upgrade(env, &["--dry-run"], 0);
        let offered = offered["changes"][0]["files"].to_string();
        let is_of = |release: &[String; 2]| offered.contains(&format!("\"{}\"", release[1]));
        let [first, second] = wanted
            .clone()
            .map(|all: Vec<String>| <[String; 2]>::try_from(all).expect("two files"));
        assert!(is_of(&second) && !is_of(&first), "{offered}");
        let two = forward(env, &["hap-two"]);
        assert_ne!(branch(&one), branch(&two));
        assert_eq!(tip(env, branch(&one)), before);
        for (done, (name, wanted)) in [&one, &two]
            .into_iter()
            .zip(["hap-one", "hap-two"].into_iter().zip(&wanted))
        {
            let message = env.git("repo", &["log", "-1", "--format=%B", branch(done)]);
            let key = format!("recover haptic release:{name}\n");
            assert!(message.contains(&key), "{message}");
            assert_eq!(&files(env, branch(done)), wanted);
            let lines = changed(env, branch(done));
            assert!(lines.contains(&"+rejected:".to_owned()), "{lines:?}");
        }
    }
}

#[test]
fn values_come_to_a_recovery_that_goes_to_a_version_and_not_the_other_way_round() {
    // With values in files of their own, and in the file of the pin.
    for (layout, inline) in [
        ("flux-cluster", [].as_slice()),
        ("argo-cluster", &[]),
        ("flux-cluster", &["--inline-values"]),
        ("argo-cluster", &["--inline-values"]),
    ] {
        let env = scaffold(layout, inline);
        forward(&env, &["--to", "0.2.x"]);
        let done = with_values(&env, FIX, &[]);
        let has_all = |done: &Value| {
            let lines = changed(&env, branch(done));
            for word in ["0.2.2", "replicas: 3"] {
                let mut lines = lines.iter();
                assert!(
                    lines.any(|line| line.starts_with('+') && line.contains(word)),
                    "{layout}: {word} in {lines:?}"
                );
            }
            assert!(lines.contains(&"+rejected:".to_owned()), "{lines:?}");
            assert!(
                lines.contains(&"+    version: 0.2.1".to_owned()),
                "{lines:?}"
            );
        };
        has_all(&done);
        assert_eq!(done["chosen"]["version"], "0.2.2");
        assert_eq!(count(&done), 1);

        let env = scaffold(layout, inline);
        let first = with_values(&env, FIX, &[]);
        // It moves no pin, and yet `upgrade` lets it have its turn.
        let offered = upgrade(&env, &[], 0);
        assert_eq!(offered["changes"], json!([]), "{layout}: {offered}");
        let said = refused(&env, 3, &and(&REJECTED, &["--to", "0.2.x"]));
        for word in [branch(&first), "--values", "would take its place"] {
            assert!(said.contains(word), "{layout}: `{word}` in {said}");
        }
        let both = with_values(&env, FIX, &["--to", "0.2.x"]);
        assert_eq!(branch(&both), branch(&first));
        let lines = changed(&env, branch(&both));
        let has = |word: &str| {
            let mut lines = lines.iter();
            lines.any(|line| line.starts_with('+') && line.contains(word))
        };
        assert!(has("0.2.2") && has("replicas: 3"), "{layout}: {lines:?}");
        assert!(has("rejected:"), "{layout}: {lines:?}");
    }
}

#[test]
fn a_key_that_came_beside_the_pin_is_no_more_lost_than_one_that_changed() {
    for fix in ["replicas: 3\n", "extra: 1\n", "replicas: null\n"] {
        let values = "  values:\n    replicas: 2\n    debug: false\n";
        let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", values))]);
        with_values(&env, fix, &[]);
        let said = refused(&env, 3, &and(&REJECTED, &["--to", "0.2.2"]));
        assert!(said.contains("would take its place"), "{fix}: {said}");
        with_values(&env, fix, &["--to", "0.2.2"]);
        // What is given anew may be something else.
        with_values(&env, "debug: true\n", &["--to", "0.3.0"]);
    }
}

/// A release at 0.2.0, whose 0.2.1 is published, with a remote.
fn below() -> TestEnv {
    let text = flux("haptic", "haptic", "0.2.0", "  values:\n    replicas: 2\n");
    let env = by_hand(&[("haptic.yaml", &text)]);
    with_remote(&env);
    env
}

#[test]
fn a_recovery_that_people_closed_is_remembered_all_the_same() {
    let env = below();
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1]\n");
    assert_eq!(count(&upgrade(&env, &["--dry-run"], 0)), 1);
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1, 0.2.2]\n");
    let done = recover(&env, &and(&REJECTED, &OPEN));
    assert_eq!(done["changes"][0]["request"]["number"], 1, "{done}");
    put_state(&env, 1, "closed");
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1]\n");
    for turn in ["first", "second", "third"] {
        let offered = upgrade(&env, &OPEN, 0);
        assert!(
            !offered["changes"].to_string().contains("0.2.1"),
            "{turn}: {offered}"
        );
        upgrade(&env, &and(&OPEN, &["haptic", "--to", "0.2.1"]), 3);
        assert!(!env.path(&request_file(2)).exists(), "{turn}");
    }
}

#[test]
fn a_policy_of_ones_own_makes_no_rejection_forgotten() {
    let pin = flux("haptic", "haptic", "0.2.0", "");
    let remembers = "rejected:\n  - {chart: haptic, version: 0.2.1, reason: timeouts}\n";
    let merged = by_hand(&[("haptic.yaml", &pin), (".haptic-scaffold.yaml", remembers)]);
    let unmerged = by_hand(&[("haptic.yaml", &pin)]);
    forward(&unmerged, &["--to", "0.2.2"]);
    for env in [&merged, &unmerged] {
        env.write("versions.yaml", "haptic: [0.2.0, 0.2.1]\n");
        env.write("mine.yaml", "{}\n");
        for config in [["--config", "mine.yaml"].as_slice(), &[]] {
            let offered = upgrade(env, config, 0);
            assert_eq!(offered["changes"], json!([]), "{config:?} {offered}");
            let named = upgrade(env, &and(config, &["haptic", "--to", "0.2.1"]), 3);
            let message = named["error"]["message"].to_string();
            assert!(message.contains("0.2.1"), "{named}");
            let back = ["--rejected", "0.2.0", "--versions", "versions.yaml"];
            let back = and(&back, &["--to", "0.2.1"]);
            let said = refused(env, 3, &and(&back, config));
            assert!(said.contains("0.2.1"), "{said}");
        }
    }
}

#[test]
fn corrected_values_close_nobodys_request() {
    let env = below();
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1]\n");
    let offered = upgrade(&env, &OPEN, 0);
    assert_eq!(offered["changes"][0]["request"]["number"], 1, "{offered}");
    let before = env.read(&request_file(1));
    with_values(&env, "replicas: 3\n", &OPEN);
    assert_eq!(env.read(&request_file(1)), before);
    assert!(before.contains("state: \"open\""), "{before}");
    // The version's own rejection does.
    env.write("versions.yaml", "haptic: [0.2.0, 0.2.1, 0.2.2]\n");
    with_values(&env, "replicas: 3\n", &and(&OPEN, &["--to", "0.2.2"]));
    let after = env.read(&request_file(1));
    assert!(after.contains("state: \"closed\""), "{after}");
}

#[test]
fn a_recovery_of_another_branch_holds_nothing_up() {
    for how in [OPEN.as_slice(), &["--push"]] {
        let env = scaffold("flux-cluster", &[]);
        env.git("repo", &["branch", "-q", "rel"]);
        with_remote(&env);
        let arguments = and(&REJECTED, &["--base", "rel"]);
        let done = recover(&env, &and(&arguments, how));
        assert!(branch(&done).ends_with("@rel"), "{done}");
        let offered = upgrade(&env, &OPEN, 0);
        assert_eq!(count(&offered), 1, "{how:?}: {offered}");
        // One for the branch itself does.
        recover(&env, &and(&REJECTED, how));
        let offered = upgrade(&env, &OPEN, 0);
        assert_eq!(offered["changes"], json!([]), "{how:?}: {offered}");
    }
    let env = scaffold("flux-cluster", &[]);
    env.git("repo", &["branch", "-q", "rel"]);
    let said = refused(&env, 2, &and(&REJECTED, &["--base", "rel"]));
    assert!(said.contains("`--open` or `--push`"), "{said}");
}

#[test]
fn values_that_stand_there_already_are_told_as_such() {
    for text in [
        flux("haptic", "haptic", "0.2.1", "  values: {replicas: 3}\n"),
        argo(
            "haptic",
            "haptic",
            "0.2.1",
            "      valuesObject: {replicas: 3}\n",
        ),
    ] {
        let env = by_hand(&[("haptic.yaml", &text)]);
        env.write("fix.yaml", "replicas: 3\noldKey: null\n");
        let before = state(&env);
        let mut arguments = vec!["-C", "repo", "recover", "--values", "fix.yaml"];
        arguments.extend(REJECTED);
        let run = env.expect(0, &arguments);
        assert!(
            run.stdout.contains("the values are so already"),
            "{}",
            run.stdout
        );
        assert!(!run.stdout.contains("remembered"), "{}", run.stdout);
        assert_eq!(state(&env), before);
    }
}

#[test]
fn an_image_tag_that_was_left_behind_goes_with_what_else_is_asked() {
    let values = "  values:\n    controller:\n      image: {tag: 0.2.0-x, pullPolicy: Always}\n      replicas: 2\n";
    let log = ["--versions", "versions.yaml", "--job-log", "log"];
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", values))]);
    env.write("log", &guard("0.2.0", "0.2.1"));
    env.write("fix.yaml", "controller: {replicas: 3}\n");
    let done = recover(&env, &and(&log, &["--values", "fix.yaml"]));
    let after = env.git("repo", &["show", &format!("{}:haptic.yaml", branch(&done))]);
    assert!(
        after.contains("replicas: 3") && after.contains("pullPolicy: Always"),
        "{after}"
    );
    assert!(!after.contains("tag:"), "{after}");
    let lines = changed(&env, branch(&done));
    assert_eq!(without_record(&lines), lines, "nothing is remembered");
    // Where nobody knows of a tag, what is asked for goes on, and nothing else does.
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))]);
    env.write("log", &guard("0.2.0", "0.2.1"));
    let said = refused(&env, 3, &log);
    assert!(said.contains("controller.image.tag"), "{said}");
    let done = recover(&env, &and(&log, &["--to", "0.2.2"]));
    assert_eq!(done["chosen"]["version"], "0.2.2");
    assert!(
        body(&done).contains("embeds chart 0.2.0"),
        "{}",
        body(&done)
    );
}

#[test]
fn the_form_of_a_source_is_mended_in_the_folder_of_its_scaffold() {
    let path = ["--path", "platform/web"];
    let env = scaffold(
        "flux-cluster",
        &and(&["--chart-source", "oci-repository"], &path),
    );
    env.write("log", &guard("0.2.1", "0.2.1+f936452fecaa"));
    let log = ["--versions", "versions.yaml", "--job-log", "log"];
    let said = refused(&env, 3, &log);
    let hint = "init --path platform/web --chart-source helm-repository";
    assert!(said.contains(hint), "{said}");
    with_remote(&env);
    let done = recover(&env, &and(&log, &OPEN));
    assert_eq!(done["rejection"]["version"], "0.2.1", "{done}");
    assert_eq!(done["rejection"]["from"], "job-log");
    let name = branch(&done);
    let files = env.git("origin.git", &["diff", "--name-only", "main", name]);
    assert!(files.contains("platform/web/"), "{files}");
    assert!(
        files.lines().all(|file| file.starts_with("platform/web/")),
        "{files}"
    );
    let diff = env.git("origin.git", &["diff", "main", name]);
    assert!(
        diff.contains("+kind: HelmRepository") && !diff.contains("+rejected"),
        "{diff}"
    );
    assert!(env.path(&request_file(1)).exists());
}

#[test]
fn the_only_cluster_may_be_named() {
    for layout in ["flux-cluster", "argo-cluster"] {
        let env = scaffold(layout, &["--clusters", "production"]);
        let plain = forward(&env, &["--to", "0.2.2"]);
        let named = forward(&env, &["--to", "0.2.2", "--cluster", "production"]);
        assert_eq!(branch(&plain), branch(&named), "{layout}");
        assert_eq!(
            plain["changes"][0]["commit"], named["changes"][0]["commit"],
            "{layout}"
        );
        refused(&env, 2, &and(&REJECTED, &["--cluster", "staging"]));
    }
}

#[test]
fn a_second_rejection_before_the_first_is_merged_remembers_both() {
    let env = scaffold("flux-cluster", &[]);
    let record = || {
        let branch = "haptic-scaffold/recover-haptic:.haptic-scaffold.yaml";
        env.git("repo", &["show", branch])
    };
    env.write("versions.yaml", "haptic: [0.2.1, 0.2.2, 0.2.3]\n");
    let of = |rejected: &str, to: &str| {
        let arguments = ["-C", "repo", "recover", "--versions", "versions.yaml"];
        let more = ["--rejected", rejected, "--to", to];
        env.expect(0, &[&arguments[..], &more].concat())
    };
    of("0.2.1", "0.2.2");
    // Its own pipeline has rejected the way out.
    of("0.2.2", "0.2.3");
    let record = record();
    assert!(record.contains("version: 0.2.1"), "{record}");
    assert!(record.contains("version: 0.2.2"), "{record}");
}

#[test]
fn a_recovery_for_another_branch_says_nothing_of_this_one() {
    let env = scaffold("flux-cluster", &[]);
    with_remote(&env);
    env.git("repo", &["push", "-q", "origin", "main:rel"]);
    let arguments = ["-C", "repo", "recover", "--versions", "versions.yaml"];
    let of = |more: &[&str]| env.expect(0, &[&arguments[..], more].concat());
    of(&[
        "--rejected",
        "0.2.1",
        "--to",
        "0.2.x",
        "--base",
        "rel",
        "--push",
    ]);
    env.write("fix.yaml", "haproxy: {replicaCount: 3}\n");
    of(&["--rejected", "0.2.1", "--values", "fix.yaml", "--push"]);
    // The version goes to the one branch, and the values alone to the other.
    let branches = [
        ("haptic-scaffold/recover-haptic", "0.2.1"),
        ("haptic-scaffold/recover-haptic@rel", "0.2.2"),
    ];
    for (name, version) in branches {
        let place = format!("{name}:apps/haptic/release/release.yaml");
        let text = env.git("repo", &["show", &place]);
        assert!(
            text.contains(&format!("version: \"{version}\"")),
            "{name}: {text}"
        );
    }
}
