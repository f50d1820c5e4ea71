//! `recover --job-log`: what counts as evidence of a rejection, what doesn't, and what of it is shown.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::recover::{
    REASON, body, branch, by_hand, changed, flux, forward, recover, refused, scaffold,
};

/// A Job with its pods, as it was recorded.
pub fn recorded(name: &str) -> (Value, Vec<Value>) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cluster")
        .join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect("is there");
    let mut both: Value = serde_json::from_str(&text).expect("JSON");
    let pods = both["pods"].take().as_array().cloned().unwrap_or_default();
    (both["job"].take(), pods)
}

/// As `kubectl get job,pods -o json` prints them.
fn list(name: &str) -> String {
    let (mut job, mut items) = recorded(name);
    if name != "job-crd-failed" {
        job["metadata"]["labels"]["app.kubernetes.io/component"] = json!("pre-rollout-validation");
    }
    items.insert(0, job);
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

const ARGUMENTS: [&str; 4] = ["--versions", "versions.yaml", "--job-log", "log"];

pub fn guard(embedded: &str, installed: &str) -> String {
    format!(
        "starting\npreflight: chart version mismatch: this image embeds chart {embedded} but the release being installed is chart {installed}\n"
    )
}

#[test]
fn a_log_and_a_job_are_evidence() {
    let env = scaffold("flux-cluster", &[]);
    let log = format!("loading\n{REASON}\nexit status 1\n");
    env.write("log", &log);
    let done = recover(&env, &ARGUMENTS);
    let rejection = &done["rejection"];
    assert_eq!(rejection["version"], "0.2.1", "from Git: {rejection}");
    assert_eq!(rejection["from"], "job-log");
    assert_eq!(rejection["reason"], REASON);
    let digest = rejection["evidence"].as_str().expect("a digest").to_owned();
    assert!(
        digest.starts_with("sha256:") && digest.len() == 71,
        "{digest}"
    );
    assert!(body(&done).contains(REASON) && body(&done).contains(&digest));
    let lines = changed(&env, branch(&done));
    assert!(
        lines.contains(&format!("+    evidence: {digest}")),
        "{lines:?}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("+    reason:") && line.contains(REASON)),
        "{lines:?}"
    );
    // The same by standard input, but for the date of the file.
    let mut arguments = vec!["-C", "repo", "recover", "--versions", "versions.yaml"];
    arguments.extend(["--job-log", "-", "--dry-run", "--output", "json"]);
    let piped = env.program(env!("CARGO_BIN_EXE_haptic-scaffold"), &arguments, &log);
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    assert_eq!(piped.json()["rejection"]["evidence"], digest);
    assert_eq!(
        piped.json()["rejection"]["how"],
        "the log in standard input says that a release was rejected; it names no version, and this is the highest that the pin has had"
    );

    let (job, pods) = recorded("job-rejected");
    let yaml = serde_yaml::to_string(&job).expect("YAML");
    assert!(!pods.is_empty());
    // All Jobs of the namespace, that of the CRDs first.
    let mut all = pods.clone();
    all.splice(0..0, [recorded("job-crd-failed").0, job.clone()]);
    let all = json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string();
    for text in [yaml, list("job-rejected"), all] {
        env.write("log", &text);
        // An open recovery keeps the evidence that it was made with.
        env.git("repo", &["branch", "-qD", "haptic-scaffold/recover-haptic"]);
        let done = recover(&env, &ARGUMENTS);
        assert_eq!(done["rejection"]["version"], "0.2.1");
        assert_eq!(done["rejection"]["date"], "2026-11-30T21:31:04Z");
        assert!(
            body(&done).contains("haptic-haptic-pre-rollout"),
            "{}",
            body(&done)
        );
    }
}

#[test]
fn what_is_no_rejection_is_refused() {
    let env = scaffold("flux-cluster", &[]);
    let memory = {
        let (job, mut pods) = recorded("job-rejected");
        for pod in &mut pods {
            pod["status"]["containerStatuses"][0]["state"] =
                json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        }
        pods.insert(0, job);
        json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string()
    };
    let pods_only = {
        let (_, pods) = recorded("job-rejected");
        json!({"apiVersion": "v1", "kind": "List", "items": pods}).to_string()
    };
    let crds = list("job-crd-failed");
    let [running, done, late] = ["job-running", "job-succeeded", "job-deadline"].map(list);
    let table: [(&str, &[&str]); 8] = [
        ("", &["is empty", "kubectl logs"]),
        (" \n\n", &["is empty"]),
        (
            "loading\nall is well\n",
            &["no verdict of preflight", "--rejected"],
        ),
        (&running, &["still running", "ask again"]),
        (&done, &["has succeeded", "--rejected"]),
        (&late, &["time was up", "kubectl describe pod"]),
        (
            &memory,
            &[
                "out of memory",
                "preRolloutValidation.resources.limits.memory",
            ],
        ),
        (&pods_only, &["no Job", "kubectl get job"]),
    ];
    for (text, words) in table {
        env.write("log", text);
        let said = refused(&env, 3, &ARGUMENTS);
        for word in words {
            assert!(said.contains(word), "`{word}` in {said}");
        }
    }
    // The Job of the CRDs judges nothing.
    env.write("log", &crds);
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(
        said.contains("applies CRDs") && said.contains("NAME-pre-rollout"),
        "{said}"
    );
    // A log of another version than the one that is said.
    env.write("log", &guard("0.2.0", "0.2.1"));
    let mut arguments = ARGUMENTS.to_vec();
    arguments.extend(["--rejected", "0.2.0"]);
    let said = refused(&env, 3, &arguments);
    assert!(
        said.contains("0.2.1 was rejected, and `--rejected` says 0.2.0"),
        "{said}"
    );
    let nowhere = env.expect(3, &["-C", "repo", "recover", "--job-log", "nowhere.log"]);
    assert!(nowhere.stderr.contains("nowhere.log"), "{}", nowhere.stderr);
}

#[test]
fn the_form_of_a_source_is_no_bad_version() {
    let env = scaffold("flux-cluster", &["--chart-source", "oci-repository"]);
    env.write("log", &guard("0.2.1", "0.2.1+f936452fecaa"));
    let said = refused(&env, 3, &ARGUMENTS);
    for word in [
        "no other version helps",
        "init --chart-source helm-repository",
        "`--open`",
        "DisableChartDigestTracking",
    ] {
        assert!(said.contains(word), "`{word}` in {said}");
    }
    env.git("", &["init", "-q", "--bare", "-b", "main", "origin.git"]);
    env.git("repo", &["remote", "add", "origin", "../origin.git"]);
    env.git("repo", &["push", "-q", "origin", "main"]);
    let mut arguments = ARGUMENTS.to_vec();
    arguments.extend(["--open", "--forge", "local"]);
    let done = recover(&env, &arguments);
    let name = branch(&done);
    let diff = env.git("origin.git", &["diff", "main", name]);
    assert!(
        diff.contains("+kind: HelmRepository") && diff.contains("-kind: OCIRepository"),
        "{diff}"
    );
    assert!(diff.contains("+  chart_source: helm-repository"), "{diff}");
    assert!(!diff.contains("rejected"), "{diff}");
    // People's own repository is told where to change it.
    let text = flux("haptic", "haptic", "0.2.1", "");
    let env = by_hand(&[("haptic.yaml", &text)]);
    env.write("log", &guard("0.2.1", "0.2.1+f936452fecaa"));
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(said.contains("HelmRepository of `type: oci`"), "{said}");
}

#[test]
fn an_image_tag_that_was_left_behind_is_taken_away_and_the_version_stays() {
    let values = "  values:\n    controller:\n      image:\n        tag: 0.2.0-haproxy3.4 # mirrored\n        pullPolicy: Always # keep\n      replicas: 3\n";
    let text = flux("haptic", "haptic", "0.2.1", values);
    let env = by_hand(&[("haptic.yaml", &text)]);
    env.write("log", &guard("0.2.0", "0.2.1"));
    let done = recover(&env, &ARGUMENTS);
    assert_eq!(done["chosen"], Value::Null, "{done}");
    assert_eq!(
        changed(&env, branch(&done)),
        ["= haptic.yaml", "-        tag: 0.2.0-haproxy3.4 # mirrored"]
    );
    assert!(body(&done).contains("the version stays"), "{}", body(&done));
    // Where the tag stands nowhere, a person has to look.
    let env = by_hand(&[("haptic.yaml", &flux("haptic", "haptic", "0.2.1", ""))]);
    env.write("log", &guard("0.2.0", "0.2.1"));
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(
        said.contains("controller.image.tag") && said.contains("mirror"),
        "{said}"
    );
}

/// What a log must never show.
const SECRETS: [&str; 4] = [
    "hunter2hunter2",
    "glpat-AbCdEfGhIjKlMnOpQrSt",
    "c3VwZXItc2VjcmV0LWtleQ",
    "MIIEvQIBADANBgkqhkiG9w0BAQ",
];

#[test]
fn secrets_of_a_log_are_never_shown() {
    let [password, token, basic, key] = SECRETS;
    let log = format!(
        "starting with --password={password}\ndataplane_password: {password}\nurl https://robot:{password}@registry.example.org/x\nAuthorization: Basic {basic}\ntoken={token}\n-----BEGIN PRIVATE KEY-----\n{key}\n-----END PRIVATE KEY-----\n{REASON}: password={password} token: {token}\n"
    );
    for layout in ["flux-cluster", "argo-cluster"] {
        let env: TestEnv = scaffold(layout, &[]);
        env.write("log", &log);
        let done = forward(&env, &["--job-log", "log"]);
        let arguments = [
            "-C",
            "repo",
            "recover",
            "--versions",
            "versions.yaml",
            "--job-log",
            "log",
            "-v",
            "--diff",
        ];
        let people = env.expect(0, &arguments);
        let commit = env.git("repo", &["show", branch(&done)]);
        let all = [done.to_string(), people.stdout, people.stderr, commit].concat();
        assert!(all.contains("template does not compile"), "{all}");
        for secret in SECRETS {
            assert!(!all.contains(secret), "{secret}: {all}");
        }
    }
}
