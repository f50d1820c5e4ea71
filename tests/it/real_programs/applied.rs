//! What GitOps makes of a repository: the Applications of a fleet, and the Helm releases with their values.
//!
//! Paths and values files are followed from the objects, as Argo CD and Flux do, so that a wrong one is found here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Golden, at, documents, group, list, run};
use crate::env::TestEnv;
use crate::kit;

/// A Helm release that a repository asks for.
pub struct Release {
    /// The case and the folder or file that asks.
    pub place: String,
    pub certificates: String,
    pub version: Value,
    pub name: String,
    pub namespace: String,
    /// Values files, the strongest last.
    pub values: Vec<String>,
}

/// Every release of chart haptic in every golden folder.
pub fn releases(env: &TestEnv) -> Option<Vec<Release>> {
    kit::program("helm")?;
    kit::program("kustomize")?;
    let mut all = Vec::new();
    for golden in Golden::all().iter().filter(|golden| golden.is_haptic()) {
        let found = if golden.is_flux() {
            of_flux(env, golden)
        } else {
            of_argo(env, golden)
        };
        let clusters = golden.answers["clusters"].as_array().map_or(0, Vec::len);
        assert_eq!(found.len(), clusters, "{}: releases", golden.name);
        all.extend(found);
    }
    Some(all)
}

fn of_flux(env: &TestEnv, golden: &Golden) -> Vec<Release> {
    let mut found = Vec::new();
    for (file, kustomization) in golden.objects() {
        let path = at(&kustomization, "/spec/path");
        let folder = path.trim_start_matches("./");
        // The root of a cluster has plain files only, and no release among them.
        if group(&kustomization) != "kustomize.toolkit.fluxcd.io"
            || !golden.kustomizations().contains(&folder)
        {
            continue;
        }
        let built = super::builds::kustomize(env, golden, folder)
            .expect("kustomize is there")
            .unwrap_or_else(|why| panic!("{}/{folder}: {why}", golden.name));
        let releases = built
            .iter()
            .filter(|object| object["kind"] == "HelmRelease");
        for release in releases {
            let place = format!("{}/{file} -> {folder}", golden.name);
            found.push(of_helm_release(golden, place, release, &built));
        }
    }
    found
}

fn of_helm_release(golden: &Golden, place: String, release: &Value, built: &[Value]) -> Release {
    let mut values: Vec<String> = list(release, "/spec/valuesFrom")
        .iter()
        .map(|from| {
            let key = from["valuesKey"].as_str().unwrap_or("values.yaml");
            let map = built
                .iter()
                .find(|object| {
                    object["kind"] == from["kind"] && object["metadata"]["name"] == from["name"]
                })
                .unwrap_or_else(|| panic!("{place}: no {from}"));
            let values = map["data"][key].as_str();
            values
                .unwrap_or_else(|| panic!("{place}: no {key}"))
                .to_owned()
        })
        .collect();
    values.extend(release.pointer("/spec/values").map(Value::to_string));
    Release {
        place,
        certificates: golden.answer("certificates").to_owned(),
        version: pin_of_flux(release, built),
        name: at(release, "/spec/releaseName").to_owned(),
        namespace: at(release, "/spec/targetNamespace").to_owned(),
        values,
    }
}

/// The version of a HelmRelease: its own, or the tag of its OCIRepository.
pub fn pin_of_flux(release: &Value, built: &[Value]) -> Value {
    if let Some(version) = release.pointer("/spec/chart/spec/version") {
        return version.clone();
    }
    let source = built.iter().find(|object| {
        object["kind"] == "OCIRepository"
            && object["metadata"]["name"] == release["spec"]["chartRef"]["name"]
    });
    source.map_or(Value::Null, |source| source["spec"]["ref"]["tag"].clone())
}

fn of_argo(env: &TestEnv, golden: &Golden) -> Vec<Release> {
    let mut found = Vec::new();
    for (place, application) in applications(env, golden) {
        for source in sources(&application) {
            if source["chart"].is_null() {
                continue;
            }
            let mut values: Vec<String> = list(source, "/helm/valueFiles")
                .iter()
                .map(|file| values_file(golden, &application, file))
                .collect();
            values.extend(source.pointer("/helm/valuesObject").map(Value::to_string));
            found.push(Release {
                place: format!("{}/{place}", golden.name),
                certificates: golden.answer("certificates").to_owned(),
                version: source["targetRevision"].clone(),
                name: at(source, "/helm/releaseName").to_owned(),
                namespace: at(&application, "/spec/destination/namespace").to_owned(),
                values,
            });
        }
    }
    found
}

/// The sources of an Application, in either form.
pub fn sources(application: &Value) -> Vec<&Value> {
    let one = application.pointer("/spec/source");
    one.into_iter()
        .chain(list(application, "/spec/sources"))
        .collect()
}

/// `$values/...`, from the root of the source that is called values.
fn values_file(golden: &Golden, application: &Value, file: &Value) -> String {
    let file = file.as_str().unwrap_or_default();
    let referred = sources(application)
        .iter()
        .any(|source| source["ref"] == "values" && source["repoURL"] == golden.answers["repo_url"]);
    let path = file.strip_prefix("$values/").filter(|_| referred);
    let found = path.and_then(|path| golden.files.get(path));
    found
        .unwrap_or_else(|| panic!("{}: no values file {file}", golden.name))
        .clone()
}

/// The Applications that a repository has or makes: (where, object).
pub fn applications(env: &TestEnv, golden: &Golden) -> Vec<(String, Value)> {
    let objects = golden.objects();
    let mut all: Vec<(String, Value)> = objects
        .iter()
        .filter(|(_, object)| object["kind"] == "Application")
        .map(|(path, object)| ((*path).to_owned(), object.clone()))
        .collect();
    let sets = objects
        .iter()
        .filter(|(_, o)| o["kind"] == "ApplicationSet");
    for (_, set) in sets {
        for (file, parent) in expand(golden, set) {
            all.extend(
                rendered(env, golden, &parent)
                    .into_iter()
                    .map(|child| (file.clone(), child)),
            );
            all.push((file, parent));
        }
    }
    all
}

/// What the ApplicationSet controller does with a git generator over files: one Application for each file.
fn expand(golden: &Golden, set: &Value) -> Vec<(String, Value)> {
    let pattern = at(set, "/spec/generators/0/git/files/0/path");
    let (before, after) = pattern.split_once('*').expect("one star");
    let matches = |path: &str| {
        let rest = path
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after));
        rest.is_some_and(|rest| !rest.contains('/'))
    };
    let files = golden.files.iter().filter(|(path, _)| matches(path));
    files
        .map(|(path, yaml)| {
            let mut template = set["spec"]["template"].to_string();
            let keys: BTreeMap<String, Value> =
                serde_json::from_value(documents(yaml).remove(0)).expect("a map");
            for (key, value) in &keys {
                let value = value.as_str().unwrap_or_default();
                template = template.replace(&format!("{{{{ .{key} }}}}"), value);
            }
            assert!(
                !template.contains("{{"),
                "{}/{path}: {template}",
                golden.name
            );
            let made: Value = serde_json::from_str(&template).expect("JSON");
            let mut metadata = made["metadata"].clone();
            metadata["namespace"] = set["metadata"]["namespace"].clone();
            let object = json!({
                "apiVersion": set["apiVersion"], "kind": "Application",
                "metadata": metadata, "spec": made["spec"],
            });
            (path.clone(), object)
        })
        .collect()
}

/// The Applications of one cluster: what Argo CD renders of the repository's own chart.
pub fn rendered(env: &TestEnv, golden: &Golden, parent: &Value) -> Vec<Value> {
    let helm = kit::program("helm").expect("looked for before");
    let source = &parent["spec"]["source"];
    let chart = golden.path(at(source, "/path"));
    let mut arguments = vec![
        "template".to_owned(),
        at(source, "/helm/releaseName").to_owned(),
        chart,
    ];
    for file in list(source, "/helm/valueFiles") {
        // With a slash in front it is a path from the repository's root.
        let file = file.as_str().filter(|file| file.starts_with('/'));
        arguments.extend(["-f".to_owned(), golden.path(file.expect("from the root"))]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let rendered = run(env, &helm, &arguments);
    documents(&rendered.unwrap_or_else(|why| panic!("{}: {why}", golden.name)))
}
