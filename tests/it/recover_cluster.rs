//! `recover --context`: what a cluster says of a release, and which of it is a rejection. Nothing is ever written there.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::fake_cluster::{CONTEXT, FakeCluster, Fault};
use crate::observe::{FAILED_CRDS, FAILED_HOOK, after, failed, recorded, release};
use crate::recover::{REASON, argo, body, branch, by_hand, changed, flux, recover, refused};
use crate::recover_log::recorded as recorded_job;

pub const ARGUMENTS: [&str; 4] = ["--versions", "versions.yaml", "--context", CONTEXT];
pub const FLUX: &str = "helm.toolkit.fluxcd.io/v2/helmreleases";
pub const ARGO: &str = "argoproj.io/v1alpha1/applications";
pub const JOB: &str = "haptic-haptic-pre-rollout";

/// A repository with 0.2.1, and a cluster that knows nothing yet.
pub fn worlds(text: &str) -> (TestEnv, FakeCluster) {
    let env = by_hand(&[("haptic.yaml", text)]);
    let cluster = FakeCluster::start();
    cluster.kubeconfig(&env);
    (env, cluster)
}

pub fn flux_worlds() -> (TestEnv, FakeCluster) {
    let worlds = worlds(&flux("haptic", "haptic", "0.2.1", ""));
    worlds.1.serve_kind(FLUX);
    worlds
}

pub fn argo_worlds() -> (TestEnv, FakeCluster) {
    let worlds = worlds(&argo("haptic", "haptic", "0.2.1", ""));
    worlds.1.serve_kind(ARGO);
    worlds
}

/// Puts a recorded Job with its pods and a log into a cluster.
pub fn put_job(cluster: &FakeCluster, name: &str, log: &str) {
    let (job, pods) = recorded_job(name);
    put(cluster, job, pods, log);
}

pub fn put(cluster: &FakeCluster, job: Value, pods: Vec<Value>, log: &str) {
    cluster.put("batch/v1/jobs", [job]);
    for pod in pods {
        let name = pod["metadata"]["name"].as_str().expect("a name").to_owned();
        cluster.put("v1/pods", [pod]);
        cluster.put_log("haptic", &name, "preflight", &[log]);
    }
}

/// A HelmRelease that runs a version.
pub fn live_in(version: &str) -> Value {
    let said = ("True", "UpgradeSucceeded", "Helm upgrade succeeded");
    let up = ["Ready", "Released"].map(|kind| (kind, said.0, said.1, said.2));
    let history = json!([{"chartVersion": version, "status": "deployed"}]);
    let status = json!({"lastAttemptedRevision": version, "history": history});
    release(Some(version), &up, &status)
}

/// Nobody ever writes into the cluster.
pub fn only_reads(cluster: &FakeCluster) {
    for request in cluster.requests() {
        assert!(
            matches!(request.verb.as_str(), "get" | "list" | "watch"),
            "{request:?}"
        );
    }
}

#[test]
fn a_rejected_release_is_recovered_by_the_clusters_word() {
    for is_flux in [true, false] {
        let (env, cluster) = if is_flux {
            flux_worlds()
        } else {
            argo_worlds()
        };
        if is_flux {
            cluster.put(
                FLUX,
                [release(
                    Some("0.2.1"),
                    &failed(FAILED_HOOK),
                    &after("0.2.1"),
                )],
            );
        } else {
            cluster.put(ARGO, [recorded("app-rejected")]);
        }
        let secret = "hunter2hunter2";
        let log = format!("loading\npassword={secret}\n{REASON}\n");
        put_job(&cluster, "job-rejected", &log);
        let done = recover(&env, &ARGUMENTS);
        let rejection = &done["rejection"];
        assert_eq!(rejection["version"], "0.2.1");
        assert_eq!(rejection["from"], "cluster");
        assert_eq!(rejection["reason"], REASON);
        assert_eq!(rejection["date"], "2026-11-30T21:31:04Z");
        assert_eq!(done["chosen"]["version"], "0.2.2");
        let lines = changed(&env, branch(&done));
        assert!(
            lines.contains(&"+    date: \"2026-11-30T21:31:04Z\"".to_owned()),
            "{lines:?}"
        );
        assert!(body(&done).contains(JOB), "{}", body(&done));
        assert!(!done.to_string().contains(secret));
        // Evidence and what somebody says have to agree.
        let mut both = ARGUMENTS.to_vec();
        both.extend(["--rejected", "0.2.1"]);
        recover(&env, &both);
        *both.last_mut().expect("a version") = "0.2.0";
        let said = refused(&env, 3, &both);
        assert!(
            said.contains("the cluster says that 0.2.1 was rejected"),
            "{said}"
        );
        only_reads(&cluster);
    }
}

/// Conditions of a HelmRelease that failed without a hook.
pub fn upgrade_failed(message: &str) -> Value {
    release(Some("0.2.1"), &failed(message), &after("0.2.1"))
}

#[test]
fn what_flux_tells_otherwise_is_no_rejection() {
    let pull = [(
        "Ready",
        "False",
        "SourceNotReady",
        "HelmChart 'flux-system/flux-system-haptic' is not ready: no 'haptic' chart with version matching '0.2.1' found",
    )];
    let running = [
        (
            "Reconciling",
            "True",
            "Progressing",
            "Running 'upgrade' action",
        ),
        (
            "Ready",
            "Unknown",
            "Progressing",
            "Running 'upgrade' action",
        ),
    ];
    let mut suspended = release(Some("0.2.1"), &running, &after("0.2.0"));
    suspended["spec"]["suspend"] = json!(true);
    let table: [(Value, &[&str]); 11] = [
        (
            live_in("0.2.1"),
            &["`haptic` 0.2.1 is live", "haptic-scaffold upgrade haptic"],
        ),
        (
            release(Some("0.2.1"), &pull, &after("0.2.0")),
            &[
                "couldn't be had, which is no rejection",
                "no 'haptic' chart",
                "kubectl describe helmrelease haptic",
            ],
        ),
        (
            upgrade_failed(
                "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: chart requires kubeVersion: >=1.35.0-0 which is incompatible with Kubernetes v1.34.0",
            ),
            &["didn't render", "kubeVersion"],
        ),
        (
            upgrade_failed(
                "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"x\": no matches for kind \"Issuer\" in version \"cert-manager.io/v1\" ensure CRDs are installed first",
            ),
            &["lacks a kind"],
        ),
        (
            upgrade_failed(
                "Helm upgrade failed for release haptic/haptic with chart haptic@0.2.1: timeout waiting for: [Deployment/haptic/haptic status: 'InProgress']",
            ),
            &["didn't get ready in time"],
        ),
        (
            upgrade_failed(&FAILED_HOOK.replace("pre-upgrade", "post-upgrade")),
            &["not by a hook"],
        ),
        (
            upgrade_failed("the user admin insecure-password hunter2x is refused"),
            &["insecure-password (hidden)"],
        ),
        (
            upgrade_failed("provided port is already allocated"),
            &["not by a hook", "--rejected VERSION"],
        ),
        (
            upgrade_failed(FAILED_CRDS),
            &[
                "haptic-haptic-crd-upgrade",
                "isn't the one that judges",
                "kubectl logs job/haptic-haptic-crd-upgrade",
            ],
        ),
        (
            release(Some("0.2.1"), &running, &after("0.2.0")),
            &["still being worked on", "recover --watch"],
        ),
        (suspended, &["suspended", "flux resume"]),
    ];
    let (env, cluster) = flux_worlds();
    for (object, words) in table {
        cluster.put(FLUX, [object]);
        let said = refused(&env, 3, &ARGUMENTS);
        for word in words {
            assert!(said.contains(word), "`{word}` in {said}");
        }
    }
    only_reads(&cluster);
}

#[test]
fn a_job_that_came_to_no_verdict_is_no_rejection() {
    let (env, cluster) = flux_worlds();
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    let end = |reason: &str, code: u64| json!({"terminated": {"exitCode": code, "reason": reason}});
    let with = |end: &Value| {
        let (job, mut pods) = recorded_job("job-rejected");
        for pod in &mut pods {
            pod["status"]["containerStatuses"][0]["state"] = end.clone();
        }
        (job, pods)
    };
    let (late, late_pods) = recorded_job("job-deadline");
    let late = late.to_string().replace("0.2.33", "0.2.1");
    let late: Value = serde_json::from_str(&late).expect("JSON");
    let (mut active, _) = recorded_job("job-rejected");
    active["status"] = json!({"active": 1});
    let mut waiting = recorded_job("job-rejected").1;
    for pod in &mut waiting {
        pod["status"]["phase"] = json!("Pending");
        pod["status"]["containerStatuses"][0]["state"] =
            json!({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}});
    }
    let (memory, memory_pods) = with(&end("OOMKilled", 137));
    let (killed, killed_pods) = with(&end("Error", 137));
    let table: [(Value, Vec<Value>, &[&str]); 5] = [
        (late, late_pods, &["time was up", "kubectl describe pod"]),
        (
            memory,
            memory_pods,
            &[
                "out of memory",
                "preRolloutValidation.resources.limits.memory",
            ],
        ),
        (killed, killed_pods, &["from outside (exit code 137)"]),
        (active.clone(), Vec::new(), &["still running", "ask again"]),
        (
            active,
            waiting,
            &["never run: ImagePullBackOff: Back-off pulling image"],
        ),
    ];
    for (mut job, pods, words) in table {
        job["metadata"]["name"] = json!(JOB);
        for pod in recorded_job("job-rejected").1 {
            cluster.remove(
                "v1/pods",
                "haptic",
                pod["metadata"]["name"].as_str().expect("a name"),
            );
        }
        put(&cluster, job, pods, REASON);
        let said = refused(&env, 3, &ARGUMENTS);
        for word in words {
            assert!(said.contains(word), "`{word}` in {said}");
        }
    }
}

#[test]
fn a_log_that_says_what_kept_the_job_from_judging_is_no_rejection() {
    let (env, cluster) = flux_worlds();
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    for log in [
        "preflight: failed to list CRDs: Get \"https://h:6443/\": dial tcp 10.0.0.1:6443: connect: connection refused\n",
        "preflight: error: customresourcedefinitions is forbidden: User \"x\" cannot list\n",
    ] {
        put_job(&cluster, "job-rejected", log);
        let said = refused(&env, 3, &ARGUMENTS);
        for words in [
            "came to no verdict",
            log.trim(),
            "kubectl logs job/haptic-haptic-pre-rollout",
            "--rejected VERSION",
        ] {
            assert!(said.contains(words), "`{words}` in {said}");
        }
    }
    // HAProxy's own refusal is one, in whatever words.
    let alert = "[ALERT] (8) : config : unable to stat SSL certificate from file '/x.pem' : No such file or directory.";
    let log = format!("{alert}\n[ALERT] (8) : config : Fatal errors found in configuration.\n");
    put_job(&cluster, "job-rejected", &log);
    assert_eq!(recover(&env, &ARGUMENTS)["rejection"]["reason"], alert);
}

#[test]
fn a_secret_of_several_lines_is_in_nothing_that_is_written() {
    let (env, cluster) = flux_worlds();
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    put_job(
        &cluster,
        "job-rejected",
        "loading\ndataplane_password: |\n  hunter2x rejected\n",
    );
    let done = recover(&env, &ARGUMENTS);
    assert!(!done.to_string().contains("hunter2x"), "{done}");
    let made = env.git("repo", &["log", "-p", "--all"]);
    assert!(!made.contains("hunter2x"), "{made}");
}

#[test]
fn what_runs_is_live_though_its_source_can_not_be_had_now() {
    let (env, cluster) = flux_worlds();
    let mut live = live_in("0.2.1");
    live["status"]["helmChart"] = json!("haptic/haptic-haptic");
    cluster.put(FLUX, [live]);
    let source = |wanted: &str| {
        json!({
            "kind": "HelmChart", "apiVersion": "source.toolkit.fluxcd.io/v1",
            "metadata": {"namespace": "haptic", "name": "haptic-haptic", "generation": 2},
            "spec": {"chart": "haptic", "version": wanted},
            "status": {"observedGeneration": 2, "artifact": {"revision": "0.2.1"}, "conditions": [
                {"type": "Ready", "status": "False", "reason": "FetchFailed", "message": "503 Service Unavailable", "observedGeneration": 2},
            ]},
        })
    };
    let charts = "source.toolkit.fluxcd.io/v1/helmcharts";
    cluster.put(charts, [source("0.2.1")]);
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(said.contains("`haptic` 0.2.1 is live"), "{said}");
    cluster.put(charts, [source("0.2.9")]);
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(said.contains("couldn't be had"), "{said}");
}

#[test]
fn what_argo_tells_otherwise_is_no_rejection() {
    let table: [(&str, Option<&str>, &[&str]); 8] = [
        ("app-live", None, &["`haptic` 0.2.0 is live"]),
        ("app-no-such-version", None, &["couldn't be had"]),
        ("app-kube-version", None, &["didn't render"]),
        ("app-schema", None, &["didn't render", "--values FILE"]),
        ("app-crd-missing", None, &["lacks a kind"]),
        (
            "app-running",
            Some("job-running"),
            &["still being worked on"],
        ),
        ("app-deadline", Some("job-deadline"), &["time was up"]),
        (
            "app-crd-job",
            Some("job-crd-failed"),
            &["isn't the one that judges"],
        ),
    ];
    for (name, job, words) in table {
        let (env, cluster) = argo_worlds();
        cluster.put(ARGO, [recorded(name)]);
        if let Some(job) = job {
            put_job(&cluster, job, "nothing\n");
        }
        let said = refused(&env, 3, &ARGUMENTS);
        for word in words {
            assert!(said.contains(word), "{name}: `{word}` in {said}");
        }
        only_reads(&cluster);
    }
    // A hook that runs behind the sync: the new version runs already.
    let (env, cluster) = argo_worlds();
    let mut object = recorded("app-rejected");
    let results = &mut object["status"]["operationState"]["syncResult"]["resources"];
    for result in results.as_array_mut().expect("results") {
        if result["hookPhase"] == "Failed" {
            result["hookType"] = json!("PostSync");
        }
    }
    cluster.put(ARGO, [object]);
    put_job(&cluster, "job-rejected", REASON);
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(said.contains("it failed, and not by a hook"), "{said}");
    // Not applied by itself: nothing goes on before somebody says so.
    let (env, cluster) = argo_worlds();
    let mut object = recorded("app-running");
    object["spec"]["syncPolicy"] = json!({});
    cluster.put(ARGO, [object]);
    let said = refused(&env, 3, &ARGUMENTS);
    assert!(
        said.contains("suspended") || said.contains("still being worked on"),
        "{said}"
    );
}

#[test]
fn a_cluster_that_can_not_be_asked_is_told_with_the_right_that_lacks() {
    let (env, cluster) = flux_worlds();
    let said = refused(&env, 3, &ARGUMENTS);
    for word in [
        "has none of the HelmRelease flux-system/haptic",
        "kubectl config get-contexts",
    ] {
        assert!(said.contains(word), "{said}");
    }
    let said = refused(&env, 4, &["--context", "nowhere"]);
    assert!(said.contains("nowhere") && said.contains(CONTEXT), "{said}");
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    put_job(&cluster, "job-rejected", REASON);
    for (verb, resource) in [
        ("get", "helmreleases"),
        ("get", "jobs"),
        ("list", "pods"),
        ("get", "pods/log"),
    ] {
        let (env, cluster) = flux_worlds();
        cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
        put_job(&cluster, "job-rejected", REASON);
        cluster.forbid(verb, resource);
        let said = refused(&env, 4, &ARGUMENTS);
        assert!(said.contains(resource), "{said}");
    }
    cluster.fail("get", "helmreleases", Fault::Unauthorized);
    let said = refused(&env, 4, &ARGUMENTS);
    assert!(said.contains("kubectl") || said.contains("login"), "{said}");
}

/// A HelmRelease of another name, with what is said of its own Job.
fn named(name: &str, mut object: Value) -> Value {
    let text = object.to_string();
    object = serde_json::from_str(&text.replace("haptic-haptic-", &format!("{name}-haptic-")))
        .expect("JSON");
    object["metadata"]["name"] = json!(name);
    object
}

#[test]
fn of_two_releases_the_cluster_says_which() {
    let env = by_hand(&[
        ("one.yaml", &flux("one", "haptic", "0.2.1", "")),
        ("two.yaml", &flux("two", "haptic", "0.2.1", "")),
    ]);
    let cluster = FakeCluster::start();
    cluster.kubeconfig(&env);
    let live = live_in("0.2.1");
    cluster.put(FLUX, [named("one", live)]);
    let message = FAILED_HOOK.replace(
        "Job/haptic/haptic-haptic-pre-rollout",
        "Job/two/two-haptic-pre-rollout",
    );
    cluster.put(FLUX, [named("two", upgrade_failed(&message))]);
    let judge =
        haptic_scaffold::haptic::rejection::names("two", "two", &Value::Null).pre_rollout_job;
    let message = FAILED_HOOK.replace("haptic/haptic-haptic-pre-rollout", &format!("two/{judge}"));
    let mut two = upgrade_failed(&message);
    two["metadata"]["name"] = json!("two");
    cluster.put(FLUX, [two.clone()]);
    let done = recover(&env, &ARGUMENTS);
    let lines = changed(&env, branch(&done));
    assert!(lines.contains(&"= two.yaml".to_owned()), "{lines:?}");
    assert!(!lines.contains(&"= one.yaml".to_owned()), "{lines:?}");
    assert_eq!(done["others"][0]["name"], "the release `one`");
    // Its name given, it is the same change.
    let mut by_name = ARGUMENTS.to_vec();
    by_name.push("two");
    let named = recover(&env, &by_name);
    assert_eq!(
        named["changes"][0]["key"], "recover haptic release:two",
        "{named}"
    );
    assert_eq!(branch(&named), branch(&done));
    // Both rejected: a name says which.
    let judge =
        haptic_scaffold::haptic::rejection::names("one", "one", &Value::Null).pre_rollout_job;
    let message = FAILED_HOOK.replace("haptic/haptic-haptic-pre-rollout", &format!("one/{judge}"));
    let mut one = upgrade_failed(&message);
    one["metadata"]["name"] = json!("one");
    cluster.put(FLUX, [one]);
    let said = refused(&env, 2, &ARGUMENTS);
    assert!(
        said.contains("`one`") && said.contains("haptic-scaffold recover RELEASE"),
        "{said}"
    );
    let mut by_name = ARGUMENTS.to_vec();
    by_name.push("one");
    recover(&env, &by_name);
}

#[test]
fn the_end_is_followed_and_told_by_the_exit_code() {
    let watch = |env: &TestEnv, code: i32, more: &[&str]| -> Value {
        let mut arguments = vec!["-C", "repo", "recover", "--output", "json", "--watch"];
        arguments.extend(["--timeout", "1s"]);
        arguments.extend(ARGUMENTS);
        arguments.extend(more);
        env.expect(code, &arguments).json()
    };
    let (env, cluster) = flux_worlds();
    cluster.put(FLUX, [live_in("0.2.1")]);
    let done = watch(&env, 0, &[]);
    assert_eq!(done["watch"]["outcome"], "live", "{done}");
    // It is what is wanted, and it was rejected.
    cluster.put(FLUX, [upgrade_failed(FAILED_HOOK)]);
    put_job(&cluster, "job-rejected", REASON);
    let done = watch(&env, 10, &[]);
    assert_eq!(done["watch"]["outcome"], "rejected", "{done}");
    assert_eq!(done["watch"]["why"], REASON);
    assert_eq!(done["error"]["code"], 10);
    // With a version to go to the change is made first, and then waited for.
    let done = watch(&env, 1, &["--to", "0.2.2"]);
    assert_eq!(done["watch"]["outcome"], "gave-up", "{done}");
    assert_eq!(done["watch"]["version"], "0.2.2");
    assert!(done["changes"][0]["commit"].is_string(), "{done}");
    // The branch isn't merged yet, and its version is what is waited for.
    let done = watch(&env, 1, &[]);
    assert_eq!(done["watch"]["version"], "0.2.2", "{done}");
    only_reads(&cluster);
}
