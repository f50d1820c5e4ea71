//! Corrected values in layers: where they go, what stays, and that the end is what the patch makes of the beginning.

use proptest::prelude::*;
use serde_json::json;

use super::super::release_values::describe;
use super::*;
use crate::error::Report;
use crate::model::tree::{Entry, MapTree};
use crate::pins::look;

const RELEASE: &str = "kind: HelmRelease\nmetadata: {name: web, namespace: flux-system}\nspec:\n  targetNamespace: shop\n  valuesFrom:\n  - {kind: ConfigMap, name: web-values}\n  - {kind: ConfigMap, name: web-values, valuesKey: own.yaml}\n";
const PIN: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec: {chart: {spec: {version: 1.0.0}}}\n";
const SHARED: &str = "shared.yaml";

/// A shared file of values, and one of the release's own over it.
fn tree(shared: &str, own: &str) -> MapTree {
    let files = [
        ("base/release.yaml", RELEASE),
        (
            "base/kustomization.yaml",
            "resources: [release.yaml]\nconfigMapGenerator:\n- {name: web-values, files: [values.yaml=../shared.yaml]}\n",
        ),
        (SHARED, shared),
        ("prod/pin.yaml", PIN),
        (
            "prod/kustomization.yaml",
            "resources: [../base]\npatches: [{path: pin.yaml}]\nconfigMapGenerator:\n- {name: web-values, behavior: merge, files: [own.yaml]}\n",
        ),
        ("prod/own.yaml", own),
    ];
    let path = |path: &str| RepoPath::parse(path).unwrap();
    let entry = |(name, text): (&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
    MapTree(files.map(entry).into_iter().collect())
}

fn described(tree: &dyn Tree) -> Described {
    let file = RepoPath::parse("prod/pin.yaml").unwrap();
    let pin = look(&file, PIN).pins.remove(0);
    describe(tree, &pin).unwrap().unwrap()
}

fn corrected(shared: &str, own: &str, patch: &Value) -> Result<Corrected> {
    let tree = tree(shared, own);
    correct(&tree, &described(&tree), patch)
}

fn file<'c>(corrected: &'c Corrected, name: &str) -> Option<&'c str> {
    let path = RepoPath::parse(name).unwrap();
    corrected.files.get(&path).map(String::as_str)
}

#[test]
fn a_value_goes_into_the_highest_layer() {
    let shared = "port: 80 # all\nreplicas: 1\n";
    let patch = json!({"replicas": 3, "tls": {"open": true}});
    let made = corrected(shared, "# own\nreplicas: 2 # two\n", &patch).unwrap();
    assert_eq!(file(&made, SHARED), None);
    assert_eq!(
        file(&made, "prod/own.yaml"),
        Some("# own\nreplicas: 3 # two\ntls:\n  open: true\n")
    );
    assert_eq!(
        made.values,
        Some(json!({"port": 80, "replicas": 3, "tls": {"open": true}}))
    );
    assert_eq!(made.keys, ["`replicas`", "`tls.open`"]);
    assert!(made.notes.is_empty());
}

#[test]
fn what_is_to_go_goes_wherever_it_stands() {
    let shared = "old: {a: 1, b: 2} # both\nkeep: x\n";
    let made = corrected(
        shared,
        "old: {b: 3}\nmore: z\n",
        &json!({"old": {"a": null, "b": null}}),
    )
    .unwrap();
    let values = made.values.unwrap();
    assert_eq!(
        (&values["keep"], &values["more"]),
        (&json!("x"), &json!("z"))
    );
    assert_eq!(values.pointer("/old/a"), None);
    assert_eq!(values.pointer("/old/b"), None);
    assert_eq!(made.keys, ["`old.a` goes", "`old.b` goes"]);
    assert!(made.notes[0].contains("`shared.yaml`"), "{:?}", made.notes);
}

#[test]
fn what_is_there_already_changes_nothing() {
    let made = corrected("a: 1\n", "b: 2\n", &json!({"b": 2, "gone": null})).unwrap();
    assert!(made.files.is_empty() && made.notes.is_empty(), "{made:?}");
}

#[test]
fn what_can_not_be_corrected_says_where() {
    let message = |shared: &str, own: &str, patch: &Value| {
        let problem = corrected(shared, own, patch).unwrap_err();
        let report = Report::of(&problem);
        assert!(!report.hints.is_empty(), "{report:?}");
        report.message
    };
    let aliased = message("{}\n", "a: &x {b: 1}\nc: *x\n", &json!({"a": {"b": 2}}));
    assert!(aliased.contains("`prod/own.yaml`:1"), "{aliased}");
    assert!(message("{}\n", "a: 1\n", &json!([1])).contains("a mapping"));
    // A list is replaced whole.
    let made = corrected("{}\n", "a: [1, 2]\n", &json!({"a": [3]})).unwrap();
    assert_eq!(made.values, Some(json!({"a": [3]})));
}

#[test]
fn a_merge_patch_is_applied_as_its_rfc_says() {
    for (old, patch, new) in [
        (json!({"a": 1}), json!({"a": {"b": null}}), json!({"a": {}})),
        (
            json!({"a": {"b": 1, "c": 2}}),
            json!({"a": {"b": null}}),
            json!({"a": {"c": 2}}),
        ),
        (json!([1]), json!({"a": 1}), json!({"a": 1})),
        (json!({"a": 1}), json!("x"), json!("x")),
        (json!({}), json!({"x": null}), json!({})),
    ] {
        assert_eq!(patched(old, &patch), new);
    }
}

/// Small maps of maps and numbers; a patch has nulls too.
fn some_values(is_patch: bool) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => (0..9i64).prop_map(|number| json!(number)),
        1 => Just(if is_patch { Value::Null } else { json!("x") }),
    ];
    let key = "[ab]";
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop::collection::btree_map(key, inner, 1..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
    .prop_filter("a map", Value::is_object)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_values_are_what_the_patch_makes_of_them(
        shared in some_values(false), own in some_values(false), patch in some_values(true),
    ) {
        let text = |value: &Value| serde_yaml::to_string(value).unwrap();
        let tree = tree(&text(&shared), &text(&own));
        let described = described(&tree);
        let before = described.values.clone().unwrap();
        // It may refuse; what it makes is right.
        if let Ok(made) = correct(&tree, &described, &patch) {
            let wanted = patched(before, &patch);
            prop_assert_eq!(without_empty(&made.values.unwrap()), without_empty(&wanted));
        }
    }
}
