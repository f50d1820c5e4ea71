//! `recover`: what comes by `--job-log` and `--values`, from files and from standard input.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::recover::{REASON, argo, body, branch, by_hand, changed, recover, refused, scaffold};
use crate::recover_log::recorded;

const LOG: [&str; 4] = ["--versions", "versions.yaml", "--job-log", "log"];

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

#[test]
fn what_is_certainly_no_verdict_is_refused_whatever_somebody_says() {
    let env = scaffold("flux-cluster", &[]);
    for (log, word) in [
        (
            "Error from server (BadRequest): container \"preflight\" in pod \"x\" is waiting to start: trying and failing to pull image\n",
            "kubectl's own error",
        ),
        ("844 validation tests passed, 0 failed\n", "nothing failed"),
        ("done\nrendered with no error\n", "nothing failed"),
        ("Warning Failed pod/x Error: ImagePullBackOff\n", "image"),
    ] {
        env.write("log", log);
        for more in [&[][..], &["--rejected", "0.2.1"]] {
            let said = refused(&env, 3, &[&LOG[..], more].concat());
            assert!(said.contains(word), "{said}");
        }
    }
    // What nobody knows counts where somebody says so.
    env.write("log", "cannot go on\n9 checks, 0 failed\n");
    let said = refused(&env, 3, &LOG);
    assert!(said.contains("--rejected"), "{said}");
    let done = recover(&env, &[&LOG[..], &["--rejected", "0.2.1"]].concat());
    assert_eq!(done["rejection"]["reason"], "cannot go on");
}

#[test]
fn of_several_jobs_the_one_that_judges_counts() {
    let env = scaffold("flux-cluster", &[]);
    let (mut other, _) = recorded("job-rejected");
    other["metadata"]["name"] = json!("backup");
    let variables = &mut other["spec"]["template"]["spec"]["containers"];
    for container in variables.as_array_mut().expect("containers") {
        container["env"] = json!([]);
    }
    other["metadata"]["labels"] = json!({});
    other["metadata"]["uid"] = json!("1");
    env.write("log", &list(std::slice::from_ref(&other)));
    let said = refused(&env, 3, &LOG);
    assert!(
        said.contains("`backup`") && said.contains("isn't the one that judges"),
        "{said}"
    );
    let (job, pods) = recorded("job-rejected");
    env.write("log", &list(&[&[other, job.clone()][..], &pods].concat()));
    let done = recover(&env, &LOG);
    assert!(body(&done).contains("pre-rollout"), "{}", body(&done));
    // Of another release: nothing says which is meant.
    let mut another = job.clone();
    another["metadata"]["namespace"] = json!("edge");
    another["metadata"]["uid"] = job["metadata"]["uid"].clone();
    env.write("log", &list(&[&[another, job][..], &pods].concat()));
    let said = refused(&env, 3, &LOG);
    assert!(said.contains("edge/haptic-haptic-pre-rollout"), "{said}");
}

#[test]
fn the_guards_sentence_is_read_however_it_is_written() {
    let guard = "chart version mismatch: this image embeds chart 0.2.1 but the release being installed is chart 0.2.1+f936452fecaa.";
    let colours = guard.replace("0.2.1", "\u{1b}[1m0.2.1\u{1b}[0m");
    let (job, mut pods) = recorded("job-rejected");
    for pod in &mut pods {
        let ended = &mut pod["status"]["containerStatuses"][0]["state"]["terminated"];
        ended["message"] = json!(guard);
    }
    let texts = [
        guard.to_owned(),
        format!("level=ERROR err=\"{guard}\\nSee docs\"\n"),
        json!({"level": "ERROR", "err": format!("{guard}\nSee docs")}).to_string(),
        colours,
        list(&[&[job][..], &pods].concat()),
    ];
    for text in texts {
        let env = scaffold("flux-cluster", &["--chart-source", "oci-repository"]);
        env.write("log", &text);
        let recover = ["-C", "repo", "recover", "--dry-run"];
        let run = env.run(&[&recover[..], &LOG].concat());
        let said = run.stdout + &run.stderr;
        assert!(said.contains("f936452fecaa"), "{text}: {said}");
        assert!(
            !said.contains("an image tag in the values was left behind"),
            "{text}: {said}"
        );
        assert!(!said.contains('\u{1b}'), "{text}: {said}");
    }
}

#[test]
fn where_the_form_of_the_source_may_be_the_reason_that_is_said() {
    let rejected = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
    for (source, is_said) in [("oci-repository", true), ("helm-repository", false)] {
        let env = scaffold("flux-cluster", &["--chart-source", source]);
        let done = recover(&env, &rejected);
        assert_eq!(
            body(&done).contains("DisableChartDigestTracking"),
            is_said,
            "{source}"
        );
    }
}

#[test]
fn secrets_of_a_log_in_utf_16_are_hidden_too() {
    let env = scaffold("flux-cluster", &[]);
    let log = format!("\u{feff}{REASON}\ndataplane_password: hunter2\n");
    let bytes: Vec<u8> = log.encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(env.path("log"), bytes).expect("writes");
    let done = recover(&env, &LOG);
    assert_eq!(done["rejection"]["reason"], REASON);
    assert!(
        body(&done).contains("dataplane_password: (hidden)"),
        "{}",
        body(&done)
    );
}

#[test]
fn a_log_may_be_long_and_have_any_bytes() {
    let env = scaffold("flux-cluster", &[]);
    let mut log = b"a line that says nothing\n".repeat(200_000);
    log.extend_from_slice(b"\xff\xfe\n");
    log.extend_from_slice(REASON.as_bytes());
    assert!(log.len() > 4 << 20);
    std::fs::write(env.path("log"), &log).expect("writes");
    let done = recover(&env, &LOG);
    assert_eq!(done["rejection"]["reason"], REASON);
    // Brackets without end are no objects.
    let brackets = format!("{}\n{REASON}\n", "[".repeat(3_000_000));
    for text in [brackets.clone(), format!("---\nkind: x\n{brackets}")] {
        env.write("log", &text);
        assert_eq!(recover(&env, &LOG)["rejection"]["reason"], REASON);
    }
}

fn piped(env: &TestEnv, more: &[&str], input: &str) -> crate::env::Run {
    let mut arguments = vec!["-C", "repo", "recover", "--output", "json"];
    arguments.extend(["--versions", "versions.yaml"]);
    arguments.extend(more);
    env.program(env!("CARGO_BIN_EXE_haptic-scaffold"), &arguments, input)
}

#[test]
fn values_come_by_standard_input_and_with_what_they_merge_in() {
    let helm =
        "      values: |\n        # ours\n        haproxy:\n          replicaCount: 2 # two\n";
    let env = by_hand(&[("apps/haptic.yaml", &argo("haptic", "haptic", "0.2.1", helm))]);
    let rejected = ["--rejected", "0.2.1", "--values", "-"];
    let patch = "haproxy: {<<: &a {replicaCount: 3}, logLevel: x}\n";
    let run = piped(&env, &rejected, patch);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = changed(&env, branch(&run.json()));
    let wanted = [
        "= apps/haptic.yaml",
        "-          replicaCount: 2 # two",
        "+          replicaCount: 3 # two",
        "+          logLevel: x",
    ];
    for line in wanted {
        assert!(lines.iter().any(|one| one == line), "{line}: {lines:?}");
    }
    assert_eq!(lines.len(), wanted.len(), "{lines:?}");
    for (more, input, code, word) in [
        (&rejected[..], "a: .inf\n", 3, ".inf"),
        (
            &["--job-log", "-", "--values", "-"][..],
            REASON,
            2,
            "at once",
        ),
    ] {
        let run = piped(&env, more, input);
        assert_eq!(run.code, code, "{}", run.stderr);
        let said = run.json()["error"].to_string();
        assert!(said.contains(word), "{said}");
    }
}

#[test]
fn the_same_log_is_evidence_once() {
    let env = scaffold("flux-cluster", &[]);
    env.write("log", REASON);
    let arguments = ["-C", "repo", "recover", "--versions", "versions.yaml"];
    let with_log = [&arguments[..], &["--job-log", "log"]].concat();
    env.expect(0, &with_log);
    env.git(
        "repo",
        &["merge", "-q", "--no-edit", "haptic-scaffold/recover-haptic"],
    );
    // The pin is at 0.2.2 now, and the log still tells of 0.2.1.
    let again = env.expect(0, &with_log);
    assert!(again.stdout.contains("nothing to do"), "{}", again.stdout);
    assert!(
        again.stderr.contains("the same text of 0.2.1"),
        "{}",
        again.stderr
    );
    // What came after it may be refused in the same words.
    let asked = env.expect(2, &[&with_log[..], &["--to", "0.3.x"]].concat());
    assert!(
        asked.stderr.contains("Git proposes 0.2.2"),
        "{}",
        asked.stderr
    );
    let named = ["--rejected", "0.2.2", "--to", "0.3.x"];
    env.expect(0, &[&with_log[..], &named].concat());
}

#[test]
fn a_version_that_was_never_pinned_is_not_remembered_for_a_slip_of_the_pen() {
    let env = scaffold("flux-cluster", &[]);
    let arguments = ["-C", "repo", "recover", "--versions", "versions.yaml"];
    let run = env.expect(3, &[&arguments[..], &["--rejected", "0.2.0"]].concat());
    assert!(
        run.stderr.contains("what is pinned is above it"),
        "{}",
        run.stderr
    );
    // One that is above may have been rejected before it was merged.
    env.expect(
        0,
        &[&arguments[..], &["--rejected", "0.2.2", "--to", "0.3.x"]].concat(),
    );
}

#[test]
fn who_asks_for_a_verdict_and_gets_none_is_told() {
    let env = scaffold("flux-cluster", &[]);
    let arguments = [
        "-C",
        "repo",
        "recover",
        "--versions",
        "versions.yaml",
        "--rejected",
        "0.2.1",
    ];
    std::fs::create_dir(env.path("schemas")).expect("a folder");
    for (folder, says) in [
        ("nowhere", "there is no folder"),
        ("schemas", "can't be had here"),
    ] {
        let folder = env.path(folder).to_string_lossy().into_owned();
        let run = env.expect(3, &[&arguments[..], &["--schema-dir", &folder]].concat());
        assert!(run.stderr.contains(says), "{}", run.stderr);
    }
}
