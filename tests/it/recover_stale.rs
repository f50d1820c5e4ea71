//! `recover --context` where a Job is left over, comes again, or isn't there; and a cluster that goes away while it is followed.

use serde_json::{Value, json};

use crate::delivery::request_file;
use crate::env::{Run, TestEnv};
use crate::fake_cluster::FakeCluster;
use crate::observe::{FAILED_CRDS, FAILED_HOOK, after, failed, recorded, release};
use crate::recover::{REASON, argo, branch, changed, commit, flux, recover, refused};
use crate::recover_again::with_remote;
use crate::recover_cluster::{
    ARGO, ARGUMENTS, FLUX, JOB, argo_worlds, flux_worlds, only_reads, put, put_job, upgrade_failed,
    worlds,
};
use crate::recover_log::recorded as recorded_job;

const SCHEMA: &str = "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.2: values don't meet the specifications of the schema(s) in the following chart(s):\nhaptic:\n- at '/replicas': got string, want integer\n";
/// When the corrected values are merged (2026-12-01): after the recorded Job.
const MERGED: &str = "1796083200 +0000";

/// The recorded Job with its pods, as it ended at another time.
fn put_job_of(cluster: &FakeCluster, date: &str, log: &str) {
    let (job, pods) = recorded_job("job-rejected");
    let again = |one: Value| -> Value {
        let text = one.to_string().replace("2026-11-30T21:31:04Z", date);
        serde_json::from_str(&text).expect("JSON")
    };
    put(
        cluster,
        again(job),
        pods.into_iter().map(again).collect(),
        log,
    );
}

#[test]
fn a_job_that_was_left_over_speaks_for_no_other_failure() {
    let old = SCHEMA.replace("0.2.2", "0.2.1");
    let crds = FAILED_CRDS.replace("0.2.1", "0.2.2");
    // What Git and the controller have, what the controller says, and words of the refusal.
    let table: [(&str, &str, &[&str]); 4] = [
        ("0.2.2", SCHEMA, &["didn't render", "want integer"]),
        (
            "0.2.2",
            &crds,
            &["haptic-haptic-crd-upgrade", "isn't the one that judges"],
        ),
        ("0.2.1", &old, &["didn't render", "want integer"]),
        // Tried again with corrected values, and an earlier hook failed.
        (
            "0.2.1",
            FAILED_CRDS,
            &["haptic-haptic-crd-upgrade", "isn't the one that judges"],
        ),
    ];
    for (version, message, words) in table {
        let (env, cluster) = worlds(&flux("haptic", "haptic", version, ""));
        cluster.serve_kind(FLUX);
        let object = release(Some(version), &failed(message), &after(version));
        cluster.put(FLUX, [object]);
        put_job(&cluster, "job-rejected", REASON);
        let said = refused(&env, 3, &ARGUMENTS);
        for word in words {
            assert!(said.contains(word), "{version}: `{word}` in {said}");
        }
        assert!(!said.contains("0.2.1 was rejected"), "{said}");
    }
    for name in ["app-schema", "app-kube-version"] {
        let (env, cluster) = argo_worlds();
        cluster.put(ARGO, [recorded(name)]);
        put_job(&cluster, "job-rejected", REASON);
        let said = refused(&env, 3, &ARGUMENTS);
        assert!(said.contains("didn't render"), "{name}: {said}");
    }
}

#[test]
fn a_hook_whose_time_was_up_is_no_rejection_without_its_job_either() {
    for words in [
        "Job has reached DeadlineExceeded",
        "Job was active longer than specified deadline",
    ] {
        let (env, cluster) = flux_worlds();
        let message = format!("{FAILED_HOOK}: {words}");
        cluster.put(FLUX, [upgrade_failed(&message)]);
        cluster.serve_kind("batch/v1/jobs");
        let said = refused(&env, 3, &ARGUMENTS);
        assert!(said.contains("wasn't done in its time"), "{said}");

        let (env, cluster) = argo_worlds();
        let mut object = recorded("app-rejected");
        let resources = &mut object["status"]["operationState"]["syncResult"]["resources"];
        let all = resources.as_array_mut().expect("resources").iter_mut();
        let mut failed = all.filter(|one| one["hookPhase"] == "Failed");
        failed.next().expect("a hook that failed")["message"] = json!(words);
        cluster.put(ARGO, [object]);
        cluster.serve_kind("batch/v1/jobs");
        let said = refused(&env, 3, &ARGUMENTS);
        assert!(
            said.contains("wasn't done in its time") && said.contains(words),
            "{said}"
        );
    }
}

/// Follows for a moment.
fn watch(env: &TestEnv, code: i32, more: &[&str]) -> Run {
    let mut arguments = vec!["-C", "repo", "recover", "--output", "json", "--watch"];
    arguments.extend(ARGUMENTS);
    arguments.extend(more);
    env.expect(code, &arguments)
}

/// A release with 0.2.1 that its cluster has rejected.
fn rejecting_argo() -> (TestEnv, FakeCluster) {
    let text = argo(
        "haptic",
        "haptic",
        "0.2.1",
        "      valuesObject: {replicas: 2}\n",
    );
    let (env, cluster) = worlds(&text);
    cluster.put(ARGO, [recorded("app-rejected")]);
    put_job(&cluster, "job-rejected", REASON);
    env.write("fix.yaml", "replicas: 3\n");
    (env, cluster)
}

/// The same by Flux.
fn rejecting() -> (TestEnv, FakeCluster) {
    let text = flux("haptic", "haptic", "0.2.1", "  values: {replicas: 2}\n");
    let (env, cluster) = worlds(&text);
    cluster.serve_kind(FLUX);
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    put_job(&cluster, "job-rejected", REASON);
    env.write("fix.yaml", "replicas: 3\n");
    (env, cluster)
}

fn with_values() -> Vec<&'static str> {
    [&ARGUMENTS[..], &["--values", "fix.yaml"]].concat()
}

#[test]
fn corrected_values_wait_for_a_verdict_of_their_own() {
    let squash = ["merge", "--squash"];
    for (merge, (env, cluster)) in [
        (["merge", "--no-ff"], rejecting()),
        (squash, rejecting()),
        (squash, rejecting_argo()),
    ] {
        let done = recover(&env, &with_values());
        let repo = env.path("repo");
        let git = |arguments: &[&str]| {
            let mut git = env.command("git");
            git.arg("-C").arg(&repo).args(arguments);
            git.env("GIT_COMMITTER_DATE", MERGED);
            let output = git.output().expect("git");
            assert!(output.status.success(), "{output:?}");
        };
        git(&[&merge[..], &["-q", "--no-edit", branch(&done)]].concat());
        if merge.contains(&"--squash") {
            git(&["commit", "-qm", "Correct the values"]);
        }
        git(&["branch", "-qD", branch(&done)]);
        let seen = watch(&env, 1, &["--timeout", "3s"]).json();
        assert_eq!(seen["watch"]["outcome"], "gave-up", "{seen}");
        assert_eq!(seen["watch"]["version"], "0.2.1");
        let why = seen["watch"]["why"].to_string();
        assert!(why.contains("hasn't been tried again yet"), "{why}");
        // The same where the Job is gone, and the condition is all that is left.
        cluster.remove("batch/v1/jobs", "haptic", JOB);
        let seen = watch(&env, 1, &["--timeout", "1s"]).json();
        let why = seen["watch"]["why"].to_string();
        assert!(why.contains("hasn't been tried again yet"), "{why}");
        // The Job comes again, and says the same of the new values.
        put_job_of(&cluster, "2026-12-02T00:00:00Z", REASON);
        let seen = watch(&env, 10, &["--timeout", "3s"]).json();
        assert_eq!(seen["watch"]["outcome"], "rejected", "{seen}");
        assert_eq!(seen["watch"]["why"], REASON);
    }
}

#[test]
fn what_was_written_is_told_although_the_cluster_goes_away() {
    let (env, _cluster) = rejecting();
    with_remote(&env);
    // Once the change is pushed, nothing listens any more where the cluster was.
    let config = env.home().join(".kube/config");
    let config = config.to_string_lossy();
    env.write(
        "origin.git/hooks/post-receive",
        &format!("#!/bin/sh\nsed -i 's#http://127.0.0.1:[0-9]*#http://127.0.0.1:1#' '{config}'\n"),
    );
    env.mode("origin.git/hooks/post-receive", 0o755);
    let mut more = vec!["--rejected", "0.2.1", "--values", "fix.yaml"];
    more.extend(["--timeout", "2s", "--open", "--forge", "local"]);
    let done = watch(&env, 4, &more).json();
    assert_eq!(done["error"]["code"], 4, "{done}");
    assert_eq!(done["rejection"]["version"], "0.2.1");
    assert_eq!(done["watch"]["outcome"], "gave-up");
    assert_eq!(done["changes"][0]["request"]["number"], 1);
    let commit = done["changes"][0]["commit"].as_str().expect("a commit");
    let pushed = env.git("origin.git", &["rev-parse", branch(&done)]);
    assert_eq!(pushed.trim(), commit);
}

#[test]
fn what_was_written_is_followed_and_the_old_job_says_nothing_of_it() {
    let (env, cluster) = rejecting();
    let mut release = upgrade_failed(FAILED_HOOK);
    release["status"]["lastAttemptedConfigDigest"] = json!("sha256:of-the-old-values");
    cluster.put(FLUX, [release]);
    // The commit is made after the Job has failed.
    let env = env.var("GIT_COMMITTER_DATE", MERGED);
    let more = ["--rejected", "0.2.1", "--values", "fix.yaml"];
    let done = watch(&env, 1, &[&more[..], &["--timeout", "1s"]].concat()).json();
    assert!(done["changes"][0]["commit"].is_string(), "{done}");
    assert_eq!(done["rejection"]["reason"], REASON);
    assert_eq!(done["watch"]["outcome"], "gave-up", "{done}");
    // Until it is merged the controller goes on to try what stands there: a later Job says nothing of the corrected values either.
    put_job_of(&cluster, "2026-12-02T00:00:00Z", REASON);
    let seen = watch(&env, 1, &["--timeout", "1s"]).json();
    let why = seen["watch"]["why"].to_string();
    assert!(
        why.contains("the corrected values haven't come yet"),
        "{why}"
    );
    only_reads(&cluster);
}

#[test]
fn the_same_rejection_seen_again_changes_nothing() {
    let (env, cluster) = rejecting();
    with_remote(&env);
    let open = ["--open", "--forge", "local"];
    let first = recover(&env, &[&ARGUMENTS[..], &open].concat());
    let name = branch(&first).to_owned();
    let commit = first["changes"][0]["commit"].clone();
    let request = env.read(&request_file(1));
    let record = changed(&env, &name);
    for word in ["+    reason:", "+    evidence: sha256:"] {
        assert!(
            record.iter().any(|line| line.starts_with(word)),
            "{record:?}"
        );
    }
    put_job_of(
        &cluster,
        "2026-11-30T23:00:00Z",
        &format!("another time\n{REASON}\n"),
    );
    let by_hand = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
    for arguments in [&ARGUMENTS, &by_hand] {
        for more in [open.as_slice(), &[]] {
            let again = recover(&env, &[&arguments[..], more].concat());
            let change = &again["changes"][0];
            assert_eq!(change["branch"], name.as_str(), "{arguments:?}");
            assert_eq!(change["branch_verdict"], "same", "{arguments:?} {again}");
            assert_eq!(changed(&env, &name), record, "{arguments:?}");
            let tip = env.git("repo", &["rev-parse", &name]);
            assert_eq!(Some(tip.trim()), commit.as_str(), "{arguments:?}");
            assert_eq!(
                env.read(&request_file(1)),
                request,
                "{arguments:?} {more:?}"
            );
            assert!(!env.path(&request_file(2)).exists());
        }
    }
}

#[test]
fn argo_cd_tells_corrected_values_by_what_it_has_synced() {
    let (env, cluster) = rejecting_argo();
    let env = env.var("GIT_COMMITTER_DATE", MERGED);
    recover(&env, &with_values());
    put_job_of(&cluster, "2026-12-02T00:00:00Z", REASON);
    let seen = watch(&env, 1, &["--timeout", "1s"]).json();
    let why = seen["watch"]["why"].to_string();
    assert!(
        why.contains("the corrected values haven't come yet"),
        "{why}"
    );
}

#[test]
fn where_somebody_works_on_the_branch_what_stands_there_is_followed() {
    let (env, _cluster) = rejecting();
    let done = recover(&env, &[&ARGUMENTS[..], &["--to", "0.2.2"]].concat());
    env.git("repo", &["checkout", "-q", branch(&done)]);
    commit(&env, &[("notes.md", "A colleague's.\n")]);
    env.git("repo", &["checkout", "-q", "main"]);
    let run = watch(
        &env,
        1,
        &["--rejected", "0.2.1", "--to", "0.3.x", "--timeout", "1s"],
    );
    assert!(
        run.stderr.contains("has a commit that isn't ours"),
        "{}",
        run.stderr
    );
    assert_eq!(run.json()["chosen"]["version"], "0.3.0");
    assert_eq!(run.json()["watch"]["version"], "0.2.2");
}
