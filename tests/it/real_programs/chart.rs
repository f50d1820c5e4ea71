//! Charts to render: the stand-in for the HAPTIC chart in all its versions, and helm.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use super::applied::{self, Release};
use super::{at, run, text};
use crate::env::TestEnv;
use crate::kit;

/// Versions that know none of the values that this product sets: it refuses them.
pub const REFUSED: [&str; 2] = ["0.1.0-alpha.11", "0.2.0-alpha.3"];

/// All versions of the stand-in, with helm.
pub struct Charts {
    pub env: TestEnv,
    helm: PathBuf,
    files: BTreeMap<String, String>,
}

impl Charts {
    pub fn new() -> Option<Self> {
        let helm = kit::program("helm")?;
        let python = kit::program("python3")?;
        let make = kit::file("double/make.py")?;
        let env = TestEnv::new();
        let made = env.program(&text(&python), &[&text(&make), "charts"], "");
        assert_eq!(made.code, 0, "{}", made.stderr);
        let files: BTreeMap<String, String> =
            serde_json::from_value(made.json()["charts"].clone()).expect("files by version");
        Some(Self { env, helm, files })
    }

    /// The versions that the product writes releases of.
    pub fn versions(&self) -> Vec<&str> {
        let all = self.files.keys().map(String::as_str);
        all.filter(|version| !REFUSED.contains(version)).collect()
    }

    /// `helm template` as a GitOps controller does it: offline, told what the cluster has.
    pub fn render(&self, version: &str, of: &Inputs, more: &[&str]) -> Result<String, String> {
        let chart = format!("charts/{}", self.files[version]);
        let mut arguments = vec![
            "template",
            &of.release,
            &chart,
            "--namespace",
            &of.namespace,
        ];
        if !more.contains(&"--kube-version") {
            arguments.extend(["--kube-version", "1.36.0"]);
        }
        if of.certificates == "cert-manager" {
            arguments.extend(["--api-versions", "cert-manager.io/v1"]);
        }
        let files: Vec<String> = (0..of.values.len())
            .map(|i| format!("values-{i}.yaml"))
            .collect();
        for (file, values) in files.iter().zip(&of.values) {
            self.env.write(file, values);
            arguments.extend(["-f", file]);
        }
        arguments.extend(more);
        run(&self.env, &self.helm, &arguments)
    }
}

/// What decides how a release is rendered, but for the version.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Inputs {
    pub release: String,
    pub namespace: String,
    pub certificates: String,
    /// Values files, the strongest last.
    pub values: Vec<String>,
}

/// The different inputs of all golden cases, each with the places that have it: (inputs, places).
///
/// Values files that differ only in lines of comment are rendered once.
pub fn inputs(env: &TestEnv) -> Option<Vec<(Inputs, String)>> {
    let mut found: BTreeMap<Inputs, BTreeSet<String>> = BTreeMap::new();
    for release in applied::releases(env)? {
        assert_eq!(release.version, "0.2.2", "{}", release.place);
        let place = release.place.clone();
        found.entry(inputs_of(release)).or_default().insert(place);
    }
    let joined = |places: BTreeSet<String>| places.into_iter().collect::<Vec<_>>().join(", ");
    Some(
        found
            .into_iter()
            .map(|(of, places)| (of, joined(places)))
            .collect(),
    )
}

fn inputs_of(release: Release) -> Inputs {
    let without_comments = |text: &String| {
        let lines = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        lines.collect::<Vec<_>>().join("\n")
    };
    Inputs {
        values: release.values.iter().map(without_comments).collect(),
        release: release.name,
        namespace: release.namespace,
        certificates: release.certificates,
    }
}

/// The names of all objects of a kind.
pub fn names_of<'a>(objects: &'a [Value], kind: &str) -> BTreeSet<&'a str> {
    let these = objects.iter().filter(|object| object["kind"] == kind);
    these.map(|object| at(object, "/metadata/name")).collect()
}
