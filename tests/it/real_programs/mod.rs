//! The written repositories, judged by the programs that will read them.
//!
//! Every test goes over all golden folders. A [`Golden`] is one of them, read; what GitOps makes of it is in [`applied`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use serde_json::Value;

use crate::env::TestEnv;
use crate::golden;

mod applied;
mod builds;
mod certificates;
mod chart;
mod crds;
mod guide;
mod project;
mod request;
mod secrets;
mod values;

/// The CRD of External Secrets' generator, which comes with the programs of the kit.
pub const PASSWORD: &str = "crds/external-secrets/generators.external-secrets.io_passwords.yaml";

/// A golden folder, read.
struct Golden {
    name: String,
    flags: Vec<String>,
    root: PathBuf,
    files: BTreeMap<String, String>,
    /// The answers, as the repository keeps them.
    answers: Value,
}

impl Golden {
    fn all() -> Vec<Self> {
        golden::cases().into_iter().map(Self::read).collect()
    }

    fn read(case: golden::Case) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden")
            .join(&case.name);
        let files = golden::files(&root);
        let kept = files
            .iter()
            .find(|(path, _)| path.ends_with(".haptic-scaffold.yaml"))
            .unwrap_or_else(|| panic!("{}: no answers", case.name));
        let answers = documents(kept.1).remove(0)["answers"].clone();
        Self {
            name: case.name,
            flags: case.flags,
            root,
            files,
            answers,
        }
    }

    fn answer(&self, name: &str) -> &str {
        self.answers[name].as_str().unwrap_or_default()
    }

    fn is_haptic(&self) -> bool {
        self.answer("chart") == "haptic"
    }

    fn is_flux(&self) -> bool {
        self.answer("layout").starts_with("flux")
    }

    /// The version that was asked for.
    fn version(&self) -> &str {
        let at = self.flags.iter().position(|flag| flag == "--chart-version");
        &self.flags[at.expect("every case pins a version") + 1]
    }

    /// Every object of every file that holds nothing but Kubernetes objects: (path, object).
    fn objects(&self) -> Vec<(&str, Value)> {
        let yaml = self.files.iter().filter(|(path, _)| is_yaml(path));
        yaml.map(|(path, text)| (path.as_str(), documents(text)))
            .filter(|(_, documents)| documents.iter().all(is_object))
            .flat_map(|(path, documents)| documents.into_iter().map(move |object| (path, object)))
            .collect()
    }

    /// The folders that kustomize builds.
    fn kustomizations(&self) -> Vec<&str> {
        let paths = self.files.keys();
        paths
            .filter_map(|path| path.strip_suffix("/kustomization.yaml"))
            .collect()
    }

    fn path(&self, below: &str) -> String {
        let below = below.trim_start_matches("./").trim_start_matches('/');
        text(&self.root.join(below))
    }
}

/// Templates of the fleet's own chart are no YAML yet: helm makes them so.
fn is_yaml(path: &str) -> bool {
    path.ends_with(".yaml") && !path.contains("/templates/")
}

/// kustomize's own kind never reaches a cluster.
fn is_object(document: &Value) -> bool {
    document["kind"].is_string()
        && document["apiVersion"]
            .as_str()
            .is_some_and(|version| !version.starts_with("kustomize.config.k8s.io/"))
}

fn documents(yaml: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(yaml)
        .map(|document| Value::deserialize(document).unwrap_or_else(|why| panic!("{why}:\n{yaml}")))
        .filter(|document| !document.is_null())
        .collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The text at a route of keys, or nothing.
fn at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    let found = object.pointer(pointer).and_then(Value::as_array);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// The part of the apiVersion before the slash.
fn group(object: &Value) -> &str {
    let version = at(object, "/apiVersion");
    version.split_once('/').map_or("", |(group, _)| group)
}

/// `kind namespace/name`, for messages and for comparing.
fn identity(object: &Value) -> String {
    let names = (
        at(object, "/metadata/namespace"),
        at(object, "/metadata/name"),
    );
    format!(
        "{}.{} {}/{}",
        at(object, "/kind"),
        group(object),
        names.0,
        names.1
    )
}

/// Runs a program: what it printed, or its complaint.
fn run(env: &TestEnv, program: &Path, arguments: &[&str]) -> Result<String, String> {
    let run = env.program(&text(program), arguments, "");
    match run.code {
        0 => Ok(run.stdout),
        code => Err(format!("exit code {code}: {}", run.stderr.trim())),
    }
}

fn assert_none(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
