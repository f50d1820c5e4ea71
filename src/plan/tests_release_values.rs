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
fn what_a_kustomization_patches_is_a_part_of_the_release() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec: {chart: {spec: {chart: web, version: 1.0.0}}, values: {a: 1, b: 1}}\n";
    let patch = "kind: HelmRelease\nmetadata: {name: web}\nspec: {values: {a: 2}}\n";
    let with = |kustomization: &str, patch: &str| {
        let files = [
            ("k/web.yaml", release),
            ("k/kustomization.yaml", kustomization),
            ("k/patch.yaml", patch),
        ];
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let entry =
            |(name, text): (&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
        let tree = MapTree(files.into_iter().map(entry).collect());
        let pin = look(&path("k/web.yaml"), release).pins.remove(0);
        describe(&tree, &pin).unwrap().unwrap()
    };
    for list in [
        "patches: [{path: patch.yaml}]",
        "patchesStrategicMerge: [patch.yaml]",
        "components: [.]\npatches: [{path: patch.yaml}]",
    ] {
        let found = with(&format!("resources: [web.yaml]\n{list}\n"), patch);
        assert_eq!(found.values, Some(json!({"a": 2, "b": 1})), "{list}");
        assert_eq!(found.layers.last().unwrap().file.as_str(), "k/patch.yaml");
        assert_eq!(found.patched_in, None);
    }
    let operations = "- {op: replace, path: /spec/values/a, value: 2}\n";
    for (list, patch) in [
        (
            "patches: [{path: patch.yaml, target: {kind: HelmRelease}}]",
            patch,
        ),
        (
            "patches: [{path: patch.yaml, target: {kind: HelmRelease}}]",
            operations,
        ),
        (
            "patchesJson6902: [{path: patch.yaml, target: {kind: HelmRelease, name: web}}]",
            operations,
        ),
        (
            "patches:\n- patch: |\n    kind: HelmRelease\n    metadata: {name: web}\n    spec: {values: {a: 2}}\n",
            "",
        ),
        (
            "patches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: add, path: /spec/values/a, value: 2}\n",
            "",
        ),
        (
            "patchesStrategicMerge:\n- |\n  kind: HelmRelease\n  metadata: {name: web}\n  spec: {values: {a: 2}}\n",
            "",
        ),
    ] {
        let found = with(&format!("resources: [web.yaml]\n{list}\n"), patch);
        assert_eq!(found.values, None, "{list}");
        assert_eq!(found.patched_in.unwrap().as_str(), "k/kustomization.yaml");
    }
    // What changes no values, or those of another, is no matter.
    for (list, patch) in [
        (
            "patches: [{path: patch.yaml, target: {kind: HelmRelease, name: other}}]",
            operations,
        ),
        (
            "patches:\n- patch: |\n    kind: HelmRelease\n    metadata: {name: other}\n    spec: {values: {a: 2}}\n",
            "",
        ),
        (
            "patches: [{path: patch.yaml, target: {kind: Deployment}}]",
            operations,
        ),
        (
            "patches: [{path: patch.yaml}]",
            "kind: HelmRelease\nmetadata: {name: web}\nspec: {interval: 1h}\n",
        ),
        (
            "patches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: replace, path: /spec/chart/spec/version, value: 1.0.0}\n",
            "",
        ),
    ] {
        let found = with(
            &format!("resources: [web.yaml]\nnamespace: lb\n{list}\n"),
            patch,
        );
        assert_eq!(found.values, Some(json!({"a": 1, "b": 1})), "{list}");
        assert_eq!(
            (found.owner.namespace.as_str(), found.namespace.as_str()),
            ("lb", "lb")
        );
    }
}

#[test]
fn a_correction_goes_above_what_is_not_known() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  chart: {spec: {chart: web, version: 1.0.0}}\n  valuesFrom: [{kind: ConfigMap, name: v}, {kind: Secret, name: more}]\n";
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let kustomization =
        "resources: [web.yaml]\nconfigMapGenerator: [{name: v, files: [values.yaml]}]\n";
    let top = |release: &str| {
        let files = [
            ("web.yaml", release),
            ("kustomization.yaml", kustomization),
            ("values.yaml", "a: 1\n"),
        ];
        let entry =
            |(name, text): (&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
        let tree = MapTree(files.into_iter().map(entry).collect());
        let pin = look(&path("web.yaml"), release).pins.remove(0);
        let found = describe(&tree, &pin).unwrap().unwrap();
        found.layers.last().unwrap().file.to_string()
    };
    assert_eq!(top(release), "web.yaml");
    let other = release.replace(
        "{kind: ConfigMap, name: v}, {kind: Secret, name: more}",
        "{kind: Secret, name: more}, {kind: ConfigMap, name: v}",
    );
    assert_eq!(top(&other), "values.yaml");
    let files = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n  sources:\n  - {repoURL: r.example.org/x, chart: web, targetRevision: 1.0.0, helm: {valueFiles: [$v/values.yaml, more.yaml]}}\n  - {repoURL: https://git.example.org/x, ref: v, targetRevision: main}\n";
    assert_eq!(top(files), "web.yaml");
    assert_eq!(top(&files.replace(", more.yaml", "")), "values.yaml");
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
