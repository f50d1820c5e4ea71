//! What kustomize and kustomize-controller build of the folders.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Golden, applied, assert_none, at, documents, group, identity, list, run, text};
use crate::env::TestEnv;
use crate::kit;

/// Builds a folder with kustomize, which may not look outside of it except for whole folders: Argo CD's setting.
/// Nothing where there is no kustomize.
pub fn kustomize(
    env: &TestEnv,
    golden: &Golden,
    folder: &str,
) -> Option<Result<Vec<Value>, String>> {
    let program = kit::program("kustomize")?;
    let built = run(env, &program, &["build", &golden.path(folder)]);
    Some(built.map(|yaml| documents(&yaml)))
}

/// Objects by what they are, so that their order doesn't matter.
fn sorted(objects: &[Value]) -> BTreeMap<String, &Value> {
    let map: BTreeMap<_, _> = objects
        .iter()
        .map(|object| (identity(object), object))
        .collect();
    assert_eq!(map.len(), objects.len(), "an object twice");
    map
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn kustomize_and_kubectl_build_every_folder_alike() {
    let (Some(program), Some(kubectl)) = (kit::program("kustomize"), kit::program("kubectl"))
    else {
        return;
    };
    let env = TestEnv::new();
    // From 5.8 on nameReference together with namespace works differently (kubernetes-sigs/kustomize#6150).
    let version = run(&env, &program, &["version"]).expect("a version");
    assert!(version.starts_with("v5.8."), "{version}");
    let mut wrong = Vec::new();
    for golden in Golden::all() {
        for folder in golden.kustomizations() {
            let place = format!("{}/{folder}", golden.name);
            let built = kustomize(&env, &golden, folder).expect("looked for before");
            let other = run(&env, &kubectl, &["kustomize", &golden.path(folder)]);
            match (built, other.map(|yaml| documents(&yaml))) {
                (Ok(one), Ok(other)) if sorted(&one) == sorted(&other) && !one.is_empty() => {
                    wrong.extend(faults_of_release(&golden, folder, &one));
                }
                (one, other) => wrong.push(format!("{place}: {one:?}\nkubectl: {other:?}")),
            }
        }
    }
    assert_none(&wrong);
}

/// What is wrong with the releases that a folder builds.
fn faults_of_release(golden: &Golden, folder: &str, built: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    // A fleet's base has no version and no values of a cluster: each cluster has its own.
    let base = folder.contains("/base/");
    let pin = if base {
        Value::Null
    } else {
        json!(golden.version())
    };
    let maps: Vec<&Value> = built
        .iter()
        .filter(|object| object["kind"] == "ConfigMap")
        .collect();
    let releases: Vec<&Value> = built
        .iter()
        .filter(|o| o["kind"] == "HelmRelease")
        .collect();
    if releases.len() != usize::from(folder.ends_with("/release")) {
        wrong.push(format!("{} releases", releases.len()));
    }
    for release in releases {
        if applied::pin_of_flux(release, built) != pin {
            wrong.push(format!("the pin isn't {pin}: {release}"));
        }
        let from = list(release, "/spec/valuesFrom");
        let wanted = usize::from(golden.answer("values_as") == "file");
        if maps.len() != wanted || from.is_empty() != maps.is_empty() {
            wrong.push(format!("{} ConfigMaps, valuesFrom {from:?}", maps.len()));
        }
        for map in &maps {
            wrong.extend(
                from.iter()
                    .filter_map(|from| fault_of_values(base, release, from, map)),
            );
        }
    }
    let place = format!("{}/{folder}", golden.name);
    wrong.iter().map(|why| format!("{place}: {why}")).collect()
}

fn fault_of_values(base: bool, release: &Value, from: &Value, map: &Value) -> Option<String> {
    let plain = format!("{}-values-", at(release, "/metadata/name"));
    let hash = at(map, "/metadata/name")
        .strip_prefix(&plain)
        .unwrap_or_default();
    let key = from["valuesKey"].as_str().unwrap_or("values.yaml");
    let known = map["data"][key].is_string() || base && key == "cluster.yaml";
    let right = hash.len() == 10
        && from["name"] == map["metadata"]["name"]
        && map["metadata"]["namespace"] == release["metadata"]["namespace"]
        && map["metadata"]["namespace"] == "flux-system"
        && known;
    (!right).then(|| format!("{from} is not {}: {:?}", identity(map), map["data"]))
}

/// The Flux Kustomizations by the folder of the cluster that they are for: (file, object).
fn by_cluster(golden: &Golden) -> BTreeMap<String, Vec<(String, Value)>> {
    let mut clusters: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
    for (path, object) in golden.objects() {
        if group(&object) == "kustomize.toolkit.fluxcd.io" {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let all = clusters.entry(folder.to_owned()).or_default();
            all.push((path.to_owned(), object));
        }
    }
    for (folder, all) in &mut clusters {
        if golden.answer("sync") == "bootstrap" {
            let path = format!("./{folder}");
            all.push(("(made by flux bootstrap)".to_owned(), bootstrapped(&path)));
        }
    }
    clusters
}

/// The root that `flux bootstrap` makes, where the repository leaves that to it.
fn bootstrapped(path: &str) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "flux-system", "namespace": "flux-system"},
        "spec": {
            "interval": "10m", "path": path, "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        },
    })
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn flux_builds_every_kustomization_and_every_object_once() {
    let Some(fluxbuild) = kit::program("fluxbuild") else {
        return;
    };
    let env = TestEnv::new();
    let mut wrong = Vec::new();
    for golden in Golden::all().iter().filter(|golden| golden.is_flux()) {
        let clusters = by_cluster(golden);
        let wanted = golden.answers["clusters"].as_array().map_or(0, Vec::len);
        assert_eq!(clusters.len(), wanted, "{}: clusters", golden.name);
        for (cluster, kustomizations) in clusters {
            let mut built = Vec::new();
            for (file, kustomization) in &kustomizations {
                env.write("kustomization.yaml", &kustomization.to_string());
                let root = text(&golden.root);
                match run(&env, &fluxbuild, &["-root", &root, "kustomization.yaml"]) {
                    Ok(yaml) => built.extend(documents(&yaml)),
                    Err(why) => wrong.push(format!("{}/{file}: {why}", golden.name)),
                }
            }
            let wanted: Vec<&Value> = kustomizations.iter().map(|(_, object)| object).collect();
            let faults = faults_of_cluster(golden, &wanted, &built);
            wrong.extend(
                faults
                    .iter()
                    .map(|why| format!("{}/{cluster}: {why}", golden.name)),
            );
        }
    }
    assert_none(&wrong);
}

/// All that a cluster gets: each Kustomization by another one, one namespace, one release, nothing twice.
fn faults_of_cluster(golden: &Golden, kustomizations: &[&Value], built: &[Value]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for object in built {
        if !seen.insert(identity(object)) {
            wrong.push(format!("{} is applied twice", identity(object)));
        }
    }
    for kustomization in kustomizations {
        let name = identity(kustomization);
        if !seen.contains(&name) && !name.ends_with("/flux-system") {
            wrong.push(format!("nothing applies {name}"));
        }
    }
    for kind in ["HelmRelease", "Namespace"] {
        let count = built.iter().filter(|object| object["kind"] == kind).count();
        if count != 1 {
            wrong.push(format!("{count} objects of kind {kind}"));
        }
    }
    let namespace = built.iter().find(|object| object["kind"] == "Namespace");
    if namespace.is_some_and(|object| at(object, "/metadata/name") != golden.answer("namespace")) {
        wrong.push(format!("not the namespace: {namespace:?}"));
    }
    wrong
}
