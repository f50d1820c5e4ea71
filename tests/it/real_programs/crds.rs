//! Every object against the schemas of the real CRDs, with unknown fields refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    Golden, PASSWORD, applied, assert_none, at, builds, documents, is_object, is_yaml, text,
};
use crate::env::TestEnv;
use crate::kit;

/// Files that hold no objects of a cluster, by the end of their path.
const NO_OBJECTS: [&str; 6] = [
    "/kustomization.yaml",
    "/kustomizeconfig.yaml",
    "values.yaml",
    ".haptic-scaffold.yaml",
    "argocd/release/Chart.yaml",
    // A patch: half an object, whole only in what kustomize builds.
    "/pin.yaml",
];

/// A judge: kubeconform with our schemas.
struct Judge {
    env: TestEnv,
    kubeconform: String,
    schemas: String,
}

impl Judge {
    fn new() -> Option<Self> {
        let kubeconform = text(&kit::program("kubeconform")?);
        let env = TestEnv::new();
        let (crds, password) = (kit::file("crds")?, kit::program(PASSWORD)?);
        let crds = walkdir::WalkDir::new(crds);
        for entry in crds
            .into_iter()
            .chain(walkdir::WalkDir::new(password))
            .flatten()
        {
            if entry.path().extension().is_some_and(|ext| ext == "yaml") {
                let yaml = std::fs::read_to_string(entry.path()).expect("text");
                documents(&yaml)
                    .iter()
                    .for_each(|crd| write_schemas(&env, crd));
            }
        }
        for (name, schema) in core_schemas() {
            env.write(&format!("schemas/{name}.json"), &schema.to_string());
        }
        let schemas = "schemas/{{ .ResourceKind }}_{{ .Group }}_{{ .ResourceAPIVersion }}.json";
        let schemas = text(&env.path(schemas));
        Some(Self {
            env,
            kubeconform,
            schemas,
        })
    }

    /// The verdicts on all objects of these files.
    fn verdicts(&self, files: &[String]) -> Vec<Value> {
        let mut arguments = vec!["-strict", "-verbose", "-summary", "-output", "json"];
        arguments.extend(["-schema-location", &self.schemas]);
        arguments.extend(files.iter().map(String::as_str));
        let run = self.env.program(&self.kubeconform, &arguments, "");
        list_of(&run.json()["resources"])
    }

    fn write(&self, name: &str, objects: &[Value]) -> String {
        let name = name.replace(['/', ' ', '>'], "_");
        let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
        let path = format!("objects/{name}.yaml");
        self.env.write(&path, &texts.join("\n---\n"));
        text(&self.env.path(&path))
    }
}

fn list_of(value: &Value) -> Vec<Value> {
    value.as_array().expect("a list").clone()
}

fn write_schemas(env: &TestEnv, crd: &Value) {
    let kind = at(crd, "/spec/names/kind").to_lowercase();
    let versions = list_of(&crd["spec"]["versions"]);
    for version in versions.iter().filter(|version| version["served"] == true) {
        let mut schema = version["schema"]["openAPIV3Schema"].clone();
        refuse_unknown(&mut schema);
        schema["properties"]["metadata"] = metadata();
        let name = format!("{kind}_{}_{}", at(crd, "/spec/group"), at(version, "/name"));
        env.write(&format!("schemas/{name}.json"), &schema.to_string());
    }
}

/// Makes a schema of OpenAPI one of JSON Schema that allows no more than it names.
///
/// `anyOf` and the like are left alone: their parts name only some of the fields.
fn refuse_unknown(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    let open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
    if map.contains_key("properties") && !open && !map.contains_key("additionalProperties") {
        map.insert("additionalProperties".to_owned(), json!(false));
    }
    if map.get("nullable") == Some(&json!(true)) && map.contains_key("type") {
        let one = map["type"].clone();
        map.insert("type".to_owned(), json!([one, "null"]));
    }
    if map.get("x-kubernetes-int-or-string") == Some(&json!(true)) {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        map.insert("anyOf".to_owned(), either);
    }
    for below in ["items", "additionalProperties"] {
        map.get_mut(below).into_iter().for_each(refuse_unknown);
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(serde_json::Map::values_mut)
        .for_each(refuse_unknown);
}

/// The CRDs leave metadata to the API server, which refuses unknown fields there too.
fn metadata() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let name = json!({"type": "string", "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"});
    json!({
        "type": "object", "additionalProperties": false, "required": ["name"],
        "properties": {"name": name, "namespace": name, "labels": texts, "annotations": texts},
    })
}

/// The kinds of Kubernetes itself that are written, strictly. A Secret is one that SOPS has encrypted.
fn core_schemas() -> [(&'static str, Value); 3] {
    let schema = |more: (&str, Value)| {
        let mut properties = json!({
            "apiVersion": {"const": "v1"}, "kind": {"type": "string"}, "metadata": metadata(),
        });
        properties[more.0] = more.1;
        json!({"type": "object", "additionalProperties": false, "properties": properties})
    };
    let encrypted = json!({"type": "string", "pattern": r"^ENC\["});
    let mut secret = schema((
        "data",
        json!({"type": "object", "minProperties": 2, "additionalProperties": encrypted}),
    ));
    secret["properties"]["type"] = json!({"enum": ["Opaque", "kubernetes.io/tls"]});
    secret["properties"]["sops"] = json!({"type": "object", "required": ["age"]});
    secret["required"] = json!(["type", "data", "sops"]);
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    [
        (
            "namespace_v1_v1",
            schema(("spec", json!({"type": "object", "maxProperties": 0}))),
        ),
        ("configmap_v1_v1", schema(("data", texts))),
        ("secret_v1_v1", secret),
    ]
}

/// What there is to judge: files with the number of their objects, and what could not be made a file.
#[derive(Default)]
struct Objects {
    files: Vec<(String, usize)>,
    wrong: Vec<String>,
}

/// Every file of objects, every build and every rendered Application.
fn everything(judge: &Judge) -> Option<Objects> {
    kit::program("helm")?;
    let mut all = Objects::default();
    for golden in Golden::all() {
        for (path, yaml) in golden.files.iter().filter(|(path, _)| is_yaml(path)) {
            let documents = documents(yaml);
            let is_none = NO_OBJECTS.iter().any(|end| path.ends_with(end));
            if is_none || path == ".sops.yaml" || is_cluster_file(&golden, path) {
                continue;
            }
            if !documents.iter().all(is_object) {
                all.wrong
                    .push(format!("{}/{path}: what is this file?", golden.name));
            }
            all.files.push((golden.path(path), documents.len()));
        }
        for folder in golden.kustomizations() {
            let place = format!("{}/{folder}", golden.name);
            match builds::kustomize(&judge.env, &golden, folder)? {
                Ok(built) => all.files.push((judge.write(&place, &built), built.len())),
                Err(why) => all.wrong.push(format!("{place}: {why}")),
            }
        }
        for (i, (path, application)) in applied::applications(&judge.env, &golden)
            .iter()
            .enumerate()
        {
            let place = format!("{}/{path}.{i}", golden.name);
            all.files
                .push((judge.write(&place, std::slice::from_ref(application)), 1));
        }
    }
    Some(all)
}

/// A cluster's file of an Argo CD fleet: values of the repository's own chart.
fn is_cluster_file(golden: &Golden, path: &str) -> bool {
    golden.answer("layout") == "argo-fleet" && path.contains("clusters/")
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn every_object_is_valid_for_the_real_crds_with_unknown_fields_refused() {
    let Some(judge) = Judge::new() else { return };
    let Some(Objects { files, mut wrong }) = everything(&judge) else {
        return;
    };
    let names: Vec<String> = files.iter().map(|(file, _)| file.clone()).collect();
    let verdicts = judge.verdicts(&names);
    for verdict in &verdicts {
        if verdict["status"] != "statusValid" {
            wrong.push(verdict.to_string());
        }
    }
    let mut judged: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in &verdicts {
        *judged.entry(at(verdict, "/filename")).or_default() += 1;
    }
    for (file, wanted) in &files {
        let got = judged.get(file.as_str()).copied().unwrap_or_default();
        if got != *wanted {
            wrong.push(format!("{file}: {got} of {wanted} objects were judged"));
        }
    }
    let kinds: BTreeSet<&str> = verdicts
        .iter()
        .map(|verdict| at(verdict, "/kind"))
        .collect();
    let wanted = [
        "AppProject",
        "Application",
        "ApplicationSet",
        "ConfigMap",
        "ExternalSecret",
        "GitRepository",
        "HelmRelease",
        "HelmRepository",
        "Kustomization",
        "Namespace",
        "OCIRepository",
        "Password",
        "SealedSecret",
        "Secret",
    ];
    assert_eq!(kinds, BTreeSet::from(wanted), "the kinds that were judged");
    assert_none(&wrong);
}

#[test]
#[ignore = "needs real programs: cargo test -- --ignored"]
fn an_invented_field_is_refused_in_every_kind() {
    let Some(judge) = Judge::new() else { return };
    let mut kinds: BTreeMap<String, Value> = BTreeMap::new();
    for golden in Golden::all() {
        for (_, object) in golden.objects() {
            // A patch has not all that its schema requires, and would be refused for that.
            if object.pointer("/spec/interval").is_some() || object["kind"] != "HelmRelease" {
                kinds
                    .entry(at(&object, "/kind").to_owned())
                    .or_insert(object);
            }
        }
    }
    let mut files = Vec::new();
    for (kind, object) in &kinds {
        for part in ["", "/metadata", "/spec"] {
            let mut object = object.clone();
            let Some(place) = object.pointer_mut(part) else {
                continue;
            };
            place["inventedField"] = json!("x");
            files.push(judge.write(&format!("{kind}{part}"), &[object]));
        }
    }
    let verdicts = judge.verdicts(&files);
    assert_eq!(verdicts.len(), files.len());
    let accepted = verdicts.iter().filter(|verdict| {
        verdict["status"] != "statusInvalid" || !at(verdict, "/msg").contains("inventedField")
    });
    let accepted: Vec<String> = accepted.map(Value::to_string).collect();
    assert!(kinds.len() >= 14, "{:?}", kinds.keys());
    assert_none(&accepted);
}
