//! Values of an Application: which of them count, and where they are corrected.

use serde_json::{Value, json};

use crate::model::repo_path::RepoPath;
use crate::model::tree::{Entry, MapTree};
use crate::pins::look;
use crate::plan::corrected::{Corrected, correct};
use crate::plan::release_values::{Described, describe};

const FILE: &str = "apps/web.yaml";
const SHARED: &str = "apps/values.yaml";

/// An Application with these lines below `helm:`.
fn application(helm: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: web}}\nspec:\n  destination: {{namespace: shop}}\n  sources:\n  - repoURL: r.example.org/x\n    chart: web\n    targetRevision: 1.0.0\n    helm:\n{helm}\n  - {{repoURL: https://git.example.org/x, ref: values, targetRevision: main}}\n"
    )
}

fn tree(helm: &str, shared: &str) -> MapTree {
    let application = application(helm);
    let files = [(FILE, application.as_str()), (SHARED, shared)];
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let entry = |(name, text): (&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
    MapTree(files.map(entry).into_iter().collect())
}

fn described(tree: &MapTree, helm: &str) -> Described {
    let file = RepoPath::parse(FILE).unwrap();
    let pin = look(&file, &application(helm)).pins.remove(0);
    describe(tree, &pin).unwrap().unwrap()
}

fn corrected(helm: &str, shared: &str, patch: &Value) -> Result<Corrected, String> {
    let tree = tree(helm, shared);
    let made = correct(&tree, &described(&tree, helm), patch);
    made.map_err(|why| format!("{why:#}"))
}

const FILES: &str = "      valueFiles: [$values/apps/values.yaml]\n";
const TEXT: &str = "      values: |\n        # ours\n        replicas: 2 # two\n        port: 80";

#[test]
fn an_object_of_values_counts_instead_of_a_text_of_them() {
    for (helm, wanted) in [
        (
            "      valuesObject: {b: 3}\n      values: 'a: 2'".to_owned(),
            json!({"b": 3}),
        ),
        (
            "      valuesObject: {}\n      values: 'a: 2'".to_owned(),
            json!({}),
        ),
        (
            "      valuesObject:\n      values: 'a: 2'".to_owned(),
            json!({"a": 2}),
        ),
        (
            format!("{FILES}      values: 'a: 2'"),
            json!({"a": 2, "shared": 1}),
        ),
        (format!("{FILES}      values: ''"), json!({"shared": 1})),
    ] {
        let tree = tree(&helm, "shared: 1\n");
        assert_eq!(described(&tree, &helm).values, Some(wanted), "{helm}");
    }
    for helm in [
        "      values: '[1]'".to_owned(),
        format!("{FILES}      parameters: [{{name: a, value: b}}]"),
    ] {
        assert_eq!(
            described(&tree(&helm, "a: 1\n"), &helm).values,
            None,
            "{helm}"
        );
    }
}

#[test]
fn a_text_of_values_is_corrected_in_its_own_lines() {
    let helm = format!("{FILES}{TEXT}");
    let patch = json!({"replicas": 3, "tls": {"open": true}, "port": null});
    let made = corrected(&helm, "shared: 1\nport: 8080\n", &patch).unwrap();
    let file = |name: &str| made.files.get(&RepoPath::parse(name).unwrap());
    let lines = "      values: |\n        # ours\n        replicas: 3 # two\n        tls:\n          open: true";
    assert_eq!(file(FILE), Some(&application(&format!("{FILES}{lines}"))));
    // What goes has to go from below too.
    assert_eq!(file(SHARED).map(String::as_str), Some("shared: 1\n"));
    let wanted = json!({"replicas": 3, "tls": {"open": true}, "shared": 1});
    assert_eq!(made.values, Some(wanted));
}

#[test]
fn a_text_that_can_not_be_corrected_is_refused_and_an_object_beside_it_is_taken() {
    let patch = json!({"replicas": 3});
    let why = corrected("      values: 'replicas: 2'", "", &patch).unwrap_err();
    assert!(why.contains("values") && why.contains(FILE), "{why}");
    let both = "      valuesObject:\n        replicas: 2\n      values: 'a: 2'";
    let made = corrected(both, "", &patch).unwrap();
    assert_eq!(made.values, Some(json!({"replicas": 3})));
}

#[test]
fn what_a_parameter_sets_is_not_corrected_elsewhere() {
    let set = |name: &str| format!("{TEXT}\n      parameters: [{{name: '{name}', value: x}}]");
    for (name, patch) in [
        ("replicas", json!({"replicas": 3})),
        ("tls.open", json!({"tls": null})),
        ("tls", json!({"tls": {"open": true}})),
        ("tls.hosts[0].name", json!({"tls": {"hosts": []}})),
        ("a\\.b.c", json!({"a.b": {"c": 1}})),
    ] {
        let why = corrected(&set(name), "", &patch).unwrap_err();
        assert!(why.contains(&format!("`{name}`")), "{why}");
    }
    let made = corrected(
        &set("tls.open"),
        "",
        &json!({"replicas": 3, "tls": {"port": 1}}),
    );
    assert_eq!(made.unwrap().values, None);
    let file = format!("{TEXT}\n      fileParameters: [{{name: replicas, path: x}}]");
    assert!(corrected(&file, "", &json!({"replicas": 3})).is_err());
}

#[test]
fn a_file_of_sops_gets_no_value_in_clear() {
    for shared in [
        "a: 1\nsops:\n  version: 3.9.0\n",
        "a: ENC[AES256_GCM,data:x,iv:y,tag:z,type:str]\n",
    ] {
        let why = corrected(FILES.trim_end(), shared, &json!({"a": 2})).unwrap_err();
        assert!(why.contains("SOPS") && why.contains(SHARED), "{why}");
    }
    let made = corrected(FILES.trim_end(), "a: 1\nsops: no\n", &json!({"a": 2}));
    assert!(made.is_ok());
}
