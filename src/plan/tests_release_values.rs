//! Where values of a release stand, and what they are.

use super::*;
use crate::model::tree::{Entry, MapTree};
use crate::pins::look;
use serde_json::json;

fn values(files: &[(&str, &str)]) -> Option<ReleaseValues> {
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let tree = MapTree(
        files
            .iter()
            .map(|(name, text)| (path(name), Entry::File(text.as_bytes().to_vec())))
            .collect(),
    );
    let (file, content) = files[0];
    let mut pin = look(&path(file), content).pins.remove(0);
    pin.chart = Some("web".to_owned());
    of(&tree, &pin).unwrap()
}

#[test]
fn values_of_an_overlay_are_those_of_its_base_and_its_own() {
    let found = values(&[
        ("prod/pin.yaml", "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {chart: {spec: {version: 1.0.0}}}\n"),
        ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: pin.yaml}]\nconfigMapGenerator:\n- {name: web-values, behavior: merge, files: [cluster.yaml=values.yaml]}\n"),
        ("prod/values.yaml", "replicas: 3\n"),
        ("base/kustomization.yaml", "resources: [release.yaml]\nconfigMapGenerator:\n- {name: web-values, files: [values.yaml]}\n"),
        ("base/values.yaml", "replicas: 1\nport: 80\n"),
        ("base/release.yaml", "kind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  targetNamespace: shop\n  valuesFrom:\n  - {kind: ConfigMap, name: web-values}\n  - {kind: ConfigMap, name: web-values, valuesKey: cluster.yaml}\n  values: {debug: true}\n"),
    ])
    .unwrap();
    assert_eq!(
        found.values,
        json!({"replicas": 3, "port": 80, "debug": true})
    );
    assert_eq!(
        (found.release.as_str(), found.namespace.as_str()),
        ("shop-web", "shop")
    );
}

#[test]
fn values_of_an_application_stand_in_files_and_in_itself() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n  sources:\n  - repoURL: r.example.org/x\n    chart: web\n    targetRevision: 1.0.0\n    helm:\n      releaseName: front\n      valueFiles: [$values/apps/values.yaml]\n      valuesObject: {a: 2, b: 3}\n  - {repoURL: https://git.example.org/x, ref: values, targetRevision: main}\n";
    let found = values(&[
        ("web.yaml", application),
        ("apps/values.yaml", "a: 1\nc: 1\n"),
    ])
    .unwrap();
    assert_eq!(found.values, json!({"a": 2, "b": 3, "c": 1}));
    assert_eq!(found.release, "front");
    assert_eq!(values(&[("web.yaml", application)]), None);
}

#[test]
fn half_of_the_values_is_nothing() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  chart: {spec: {chart: web, version: 1.0.0}}\n  valuesFrom: [{kind: Secret, name: more}]\n";
    assert_eq!(values(&[("web.yaml", release)]), None);
    let odd = release.replace(
        "valuesFrom: [{kind: Secret, name: more}]",
        "releaseName: --post-renderer=sh",
    );
    assert_eq!(values(&[("web.yaml", &odd)]), None);
}

#[test]
fn a_circle_of_kustomizations_ends() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: a}\nspec: {chart: {spec: {chart: web, version: 1.0.0}}, values: {a: 1}}\n";
    let many = format!("resources: [{}web.yaml]\n", "., ../k, ".repeat(40));
    let found = values(&[("k/web.yaml", release), ("k/kustomization.yaml", &many)]);
    assert_eq!(found.unwrap().values, json!({"a": 1}));
}

#[test]
fn what_is_no_yaml_comes_to_an_end() {
    let template = "kind: A\n---\nkind: Application\nname: {{ .Values.name | quote }}\nvalues: {{- toYaml . }}\n---\nkind: B\n";
    assert_eq!(documents(template)[0], json!({"kind": "A"}));
    assert!(documents("a: {{- x | y }}\nb: ]\n").is_empty());
    assert_eq!(documents("a: 1\n---\nb: 2\n").len(), 2);
}

#[test]
fn an_overlay_takes_what_is_its_own_and_a_base_stays() {
    let base = "kind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  targetNamespace: shop\n  values: {debug: true}\n";
    let pin = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {chart: {spec: {version: 1.0.0}}}\n";
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let file = |name: &str, text: &str| (path(name), Entry::File(text.as_bytes().to_vec()));
    let tree = MapTree(
        [
            file("prod/pin.yaml", pin),
            file(
                "prod/kustomization.yaml",
                "resources: [../base]\npatches: [{path: pin.yaml}]\n",
            ),
            file("base/kustomization.yaml", "resources: [release.yaml]\n"),
            file("base/release.yaml", base),
        ]
        .into_iter()
        .collect(),
    );
    let pin = look(&path("prod/pin.yaml"), pin).pins.remove(0);
    let described = describe(&tree, &pin).unwrap().unwrap();
    let layers: Vec<String> = described
        .layers
        .iter()
        .map(|layer| format!("{} {}", layer.file, layer.route))
        .collect();
    assert_eq!(
        layers,
        ["base/release.yaml spec.values", "prod/pin.yaml spec.values"]
    );
}
