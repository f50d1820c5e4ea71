//! `recover` in a fleet: what several environments have had, and stages of several clusters.

use serde_json::{Value, json};

use crate::env::TestEnv;
use crate::fake_cluster::FakeCluster;
use crate::observe::recorded;
use crate::recover::{branch, changed, forward, refused, scaffold};
use crate::recover_cluster::{ARGO, ARGUMENTS, only_reads, put_job};
use crate::recover_values::with_values;

const STAGES: [&str; 2] = ["--clusters", "a=dev,b=prod,c=prod"];
/// A fleet with 0.2.1, whose `prod` has had 0.2.3 for a while.
fn went_back(layout: &str) -> TestEnv {
    let env = scaffold(layout, &[]);
    let place = format!("repo/{}", places(layout, "prod")[0]);
    let text = env.read(&place);
    env.write(&place, &text.replace("0.2.1", "0.2.3"));
    env.git("repo", &["commit", "-qam", "Up"]);
    env.git("repo", &["revert", "--no-edit", "HEAD"]);
    assert_eq!(env.read(&place), text);
    env
}

/// Whether a cluster has a version on the branch of a change.
fn has(env: &TestEnv, layout: &str, change: &Value, (cluster, version): (&str, &str)) {
    let name = change["branch"].as_str().expect("a branch");
    let place = format!("{name}:{}", places(layout, cluster)[0]);
    let text = env.git("repo", &["show", &place]);
    let wanted = format!("ersion: \"{version}\"");
    assert!(text.contains(&wanted), "{layout}: {version} in {text}");
}

#[test]
fn nobody_of_those_that_move_together_goes_back() {
    let versions = |env: &TestEnv, text: &str| {
        env.write("versions.yaml", &format!("haptic: [{text}]\n"));
    };
    let arguments = ["--rejected", "0.2.1", "--versions", "versions.yaml"];
    for layout in ["flux-fleet", "argo-fleet"] {
        let env = went_back(layout);
        for list in ["0.2.1, 0.2.2", "0.2.1, 0.2.2, 0.3.0"] {
            versions(&env, list);
            let same = [&arguments[..], &["--others", "same"]].concat();
            let said = refused(&env, 4, &same);
            assert!(said.contains("0.2.3"), "{list}: {said}");
        }
        versions(&env, "0.2.1, 0.2.2, 0.2.3, 0.2.4");
        let named = [&arguments[..], &["--others", "same", "--to", "0.2.2"]].concat();
        refused(&env, 3, &named);
        // What was there before and wasn't rejected is no way back.
        let back = forward(&env, &["--others", "same", "--to", "0.2.3", "--dry-run"]);
        assert_eq!(back["chosen"]["version"], "0.2.3");
        let remarks = back["chosen"]["remarks"].to_string();
        assert!(
            remarks.contains("nothing says that it was rejected"),
            "{remarks}"
        );
        let done = forward(&env, &["--others", "same"]);
        assert_eq!(done["chosen"]["version"], "0.2.4");
        for cluster in ["staging", "prod"] {
            has(&env, layout, &done["changes"][0], (cluster, "0.2.4"));
        }
    }
}

#[test]
fn each_that_follows_goes_no_lower_than_it_was() {
    for layout in ["flux-fleet", "argo-fleet"] {
        // What is published, where to, and whether `prod` can go there.
        let table: [(&str, &[&str], Option<&str>); 3] = [
            ("0.2.1, 0.2.2", &[], None),
            ("0.2.1, 0.2.2, 0.2.4", &["--to", "0.2.2"], None),
            ("0.2.1, 0.2.2, 0.2.4", &[], Some("0.2.4")),
        ];
        for (list, more, prod) in table {
            let env = went_back(layout);
            env.write("versions.yaml", &format!("haptic: [{list}]\n"));
            let mut arguments = vec!["-C", "repo", "recover", "--output", "json"];
            arguments.extend(["--rejected", "0.2.1", "--versions", "versions.yaml"]);
            arguments.extend(["--others", "follow"]);
            arguments.extend(more);
            // What was asked for and didn't move is told by the exit code, and moves nothing back.
            let run = env.run(&arguments);
            assert_eq!(run.code == 0, prod.is_some(), "{}", run.stderr);
            let done = run.json();
            let all = done["changes"].as_array().expect("changes");
            let told = done["others"][0]["told"].to_string();
            has(&env, layout, &all[0], ("prod", "0.2.1"));
            match prod {
                Some(version) => has(&env, layout, &all[1], ("prod", version)),
                None => {
                    assert_eq!(all.len(), 1, "{done}");
                    has(&env, layout, &all[0], ("staging", "0.2.2"));
                    assert!(
                        told.contains("can't follow") && told.contains("0.2.3"),
                        "{told}"
                    );
                }
            }
        }
    }
}

/// The pin and the values of a cluster.
fn places(layout: &str, cluster: &str) -> [String; 2] {
    match layout {
        "flux-fleet" => {
            ["pin", "values"].map(|name| format!("apps/haptic/{cluster}/release/{name}.yaml"))
        }
        _ => ["haptic", "haptic-values"].map(|name| format!("clusters/{cluster}/{name}.yaml")),
    }
}

/// The files that a branch changes, but for the record.
fn files(env: &TestEnv, name: &str) -> Vec<String> {
    let lines = changed(env, name);
    let files = lines.iter().filter_map(|line| line.strip_prefix("= "));
    let files = files.filter(|file| *file != ".haptic-scaffold.yaml");
    files.map(str::to_owned).collect()
}

fn sorted(all: &[[String; 2]]) -> Vec<String> {
    let mut all = all.concat();
    all.sort();
    all
}

#[test]
fn a_stage_of_several_clusters_is_corrected_in_all_of_them() {
    let fix = "replicas: 3\n";
    for layout in ["flux-fleet", "argo-fleet"] {
        let of = |cluster: &str| places(layout, cluster);
        let env = scaffold(layout, &STAGES);
        let more = ["--cluster", "prod", "--to", "0.2.2"];
        let done = with_values(&env, fix, &more);
        assert_eq!(done["changes"].as_array().map(Vec::len), Some(1));
        let name = branch(&done);
        assert_eq!(files(&env, name), sorted(&[of("b"), of("c")]), "{layout}");
        for cluster in ["b", "c"] {
            let [pin, values] =
                of(cluster).map(|file| env.git("repo", &["show", &format!("{name}:{file}")]));
            assert!(pin.contains("0.2.2"), "{layout}: {pin}");
            assert!(values.contains("replicas: 3"), "{layout}: {values}");
        }
        // All environments in one change.
        let env = scaffold(layout, &STAGES);
        let done = with_values(&env, fix, &["--others", "same"]);
        let values = ["a", "b", "c"].map(|cluster| of(cluster)[1].clone());
        assert_eq!(files(&env, branch(&done)), values, "{layout}");
        let env = scaffold(layout, &STAGES);
        let done = with_values(&env, fix, &["--others", "same", "--to", "0.2.2"]);
        let all = sorted(&[of("a"), of("b"), of("c")]);
        assert_eq!(files(&env, branch(&done)), all, "{layout}");
        // Without that, the first in the order alone.
        let env = scaffold(layout, &STAGES);
        let done = with_values(&env, fix, &[]);
        assert_eq!(files(&env, branch(&done)), [of("a")[1].clone()], "{layout}");
    }
}

/// An Application as it was recorded, under the name and for the cluster that the layout gives it.
fn application(name: &str, version: &str, cluster: &str, is_far: bool) -> Value {
    let text = recorded(name).to_string().replace(version, "0.2.1");
    let mut object: Value = serde_json::from_str(&text).expect("JSON");
    object["metadata"]["name"] = json!(format!("haptic-{cluster}-release"));
    if is_far {
        object["spec"]["destination"] = json!({"namespace": "haptic", "name": cluster});
    }
    object
}

#[test]
fn the_cluster_of_a_stage_that_rejects_is_found_by_its_application() {
    for is_far in [true, false] {
        let env = scaffold("argo-fleet", &STAGES);
        let cluster = FakeCluster::start();
        cluster.kubeconfig(&env);
        cluster.serve_kind(ARGO);
        for name in ["a", "b"] {
            cluster.put(ARGO, [application("app-live", "0.2.0", name, is_far)]);
        }
        cluster.put(ARGO, [application("app-rejected", "0.2.1", "c", is_far)]);
        if !is_far {
            put_job(&cluster, "job-rejected", crate::recover::REASON);
        }
        let done = crate::recover::recover(&env, &ARGUMENTS);
        assert_eq!(done["rejection"]["version"], "0.2.1", "{done}");
        assert_eq!(done["rejection"]["from"], "cluster");
        let how = done["rejection"]["how"].to_string();
        assert!(how.contains("haptic-c-release"), "{how}");
        assert_eq!(
            files(&env, branch(&done)),
            ["clusters/b/haptic.yaml", "clusters/c/haptic.yaml"],
            "{is_far}"
        );
        only_reads(&cluster);
    }
}
