//! The pages' lines for a rejected release, run one by one, as a maintainer would at night: against an API server that has recorded objects, and a remote.

use std::path::Path;

use serde_json::Value;

use crate::env::TestEnv;
use crate::fake_cluster::{CONTEXT, FakeCluster};

const APPLICATIONS: &str = "argoproj.io/v1alpha1/applications";
/// What the pages call the context.
const PRODUCTION: &str = "production";
/// What somebody else does between two lines.
const MERGE: &str = "# merge it";
const BRANCH: &str = "haptic-scaffold/recover-haptic";
const LOG: &str = "rendering\npreflight: validation failed: LoadGateFailed: template \"haproxyConfig\" does not compile\n";

fn recorded(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cluster/{name}.json"));
    let text = std::fs::read_to_string(&path).expect("is there");
    serde_json::from_str(&text).expect("JSON")
}

/// An Application as it was recorded, under the layout's name.
fn application(name: &str) -> Value {
    let mut object = recorded(name);
    object["metadata"]["name"] = "haptic".into();
    object
}

/// The lines of the blocks that a maintainer types.
fn lines(page: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).expect("is there");
    let blocks = text.split("```shell\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("\n```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// A cluster in which 0.2.1 was rejected.
fn cluster(env: &TestEnv) -> FakeCluster {
    let cluster = FakeCluster::start().with_namespace("haptic");
    let quoted = |name: &str| format!("\"{name}\"");
    let config = cluster.kubeconfig_text();
    let config = config.replace(&quoted(CONTEXT), &quoted(PRODUCTION));
    env.write("kubeconfig", &config);
    cluster.put(APPLICATIONS, [application("app-sources-rejected")]);
    let rejected = recorded("job-rejected");
    cluster.put("batch/v1/jobs", [rejected["job"].clone()]);
    for pod in rejected["pods"].as_array().expect("pods") {
        cluster.put("v1/pods", [pod.clone()]);
        let name = pod["metadata"]["name"].as_str().expect("a name");
        cluster.put_log("haptic", name, "preflight", &[LOG]);
    }
    cluster.serve_kind("haproxy-haptic.org/v1alpha1/haproxytemplateconfigs");
    cluster.serve_kind("haproxy-haptic.org/v1alpha1/haproxycfgs");
    cluster
}

/// A repository whose release is at a version, and its remote.
fn repository(env: &TestEnv, name: &str, version: &str) {
    env.expect(
        0,
        &[
            "init",
            name,
            "--layout",
            "argo-cluster",
            "--chart-version",
            version,
            "--repo-url",
            "https://git.example.org/team/gitops.git",
            "--branch",
            "main",
            "--yes",
        ],
    );
    let bare = format!("{name}.git");
    env.git(".", &["clone", "-q", "--bare", name, &bare]);
    env.git(&bare, &["remote", "remove", "origin"]);
    env.git(name, &["remote", "add", "origin", &format!("../{bare}")]);
    env.git(name, &["fetch", "-q"]);
}

/// What the forge's people and the controller do.
fn merge(env: &TestEnv, cluster: &FakeCluster, name: &str) {
    env.git(name, &["fetch", "-q"]);
    let tip = format!("origin/{BRANCH}");
    env.git(name, &["merge", "-q", "--no-edit", &tip]);
    env.git(name, &["push", "-q", "origin", "main"]);
    cluster.put(
        APPLICATIONS,
        ["app-sources-rejected", "app-running", "app-next-live"].map(application),
    );
}

#[test]
fn the_lines_for_a_rejected_release_work_one_by_one() {
    let mut count = 0;
    for page in ["README.md", "docs/recovery.md"] {
        let env = TestEnv::new();
        let cluster = cluster(&env);
        env.write(
            "versions.yaml",
            "haptic: [0.1.0, 0.2.0, 0.2.1, 0.2.2, 0.3.0]\n",
        );
        env.write("job.log", LOG);
        env.write("fix.yaml", "haproxy:\n  replicaCount: 3\n");
        for name in ["night", "night2", "night3", "night4"] {
            repository(&env, name, "0.2.1");
        }
        let kubeconfig = env.path("kubeconfig").to_string_lossy().into_owned();
        let versions = env.path("versions.yaml").to_string_lossy().into_owned();
        let env = env
            .var("KUBECONFIG", &kubeconfig)
            .var("HAPTIC_SCAFFOLD_VERSIONS", &versions);
        for line in lines(page) {
            if line == MERGE {
                merge(&env, &cluster, "night");
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words[0], "haptic-scaffold", "{line}");
            let run = env.expect(0, &words[1..]);
            count += 1;
            if line.contains("--watch") {
                assert!(run.stdout.contains("live: haptic 0.2.2"), "{}", run.stdout);
            } else if line.contains("--context") {
                assert!(run.stdout.contains("on to 0.2.2"), "{}", run.stdout);
                assert!(run.stdout.contains("does not compile"), "{}", run.stdout);
            }
        }
        // What the lines have left: one request that goes forward and remembers, and a change of values that does neither.
        let file = |name: &str, path: &str| env.git(name, &["show", &format!("{BRANCH}:{path}")]);
        let pin = "argocd/apps/haptic.yaml";
        let night = file("night", pin);
        assert!(night.contains("targetRevision: \"0.2.2\""), "{night}");
        let remembered = env.git("night", &["show", "main:.haptic-scaffold.yaml"]);
        assert!(remembered.contains("version: 0.2.1"), "{remembered}");
        assert!(remembered.contains("does not compile"), "{remembered}");
        if page == "README.md" {
            for name in ["night2", "night3"] {
                assert!(file(name, pin).contains("\"0.2.2\""), "{name}");
            }
            assert!(file("night4", pin).contains("\"0.2.1\""));
            let values = file("night4", "apps/haptic/values.yaml");
            assert!(values.contains("replicaCount: 3"), "{values}");
            assert!(!file("night4", ".haptic-scaffold.yaml").contains("rejected"));
        }
        // Nothing but reads has reached the cluster.
        let reads = ["get", "list"];
        let verbs = cluster.requests().into_iter().map(|one| one.verb);
        assert!(verbs.into_iter().all(|verb| reads.contains(&verb.as_str())));
    }
    assert!(count >= 8, "{count}");
}
