//! `layouts check`: renders a user's layouts with many answers and collects what is wrong.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answers::Answers;
use super::catalog::Catalog;
use super::definition::{ClusterCount, Layout};
use super::given::{GivenAnswers, Origin};
use super::profile;
use super::question::QuestionKind;
use super::render::render;
use super::resolve::{Found, NobodyToAsk, resolve};
use crate::error::Report;
use crate::model::repo_path::RepoPath;

/// Something wrong with a layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The layout.
    pub layout: String,
    /// What is wrong.
    pub message: String,
    /// The answers under which it shows, apart from the defaults.
    pub answers: String,
}

/// A folder that samples go below.
const SAMPLE_PATH: &str = "below/here/";

/// A CA that nobody has the key of, for samples.
const SAMPLE_CA: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

/// A public age key that nobody has the private one of, for samples.
const SAMPLE_AGE_KEY: &str = "age1sample";

/// Checks the layouts of these names.
pub fn check<'a>(catalog: &Catalog, names: impl Iterator<Item = &'a str>) -> Vec<Fault> {
    let mut faults: Vec<Fault> = Vec::new();
    for name in names {
        let found = match catalog.layout(name) {
            Ok(layout) => faults_of(catalog, &layout),
            Err(why) => vec![fault(name, &why, String::new())],
        };
        for fault in found {
            if !faults.iter().any(|known| {
                known.layout == fault.layout
                    && known.message == fault.message.replace(SAMPLE_PATH, "")
            }) {
                faults.push(fault);
            }
        }
    }
    faults
}

fn fault(layout: &str, why: &anyhow::Error, answers: String) -> Fault {
    let report = Report::of(why);
    let message = std::iter::once(report.message)
        .chain(report.causes)
        .collect::<Vec<_>>()
        .join(": ");
    Fault {
        layout: layout.to_owned(),
        message,
        answers,
    }
}

fn faults_of(catalog: &Catalog, layout: &Layout) -> Vec<Fault> {
    let mut faults = Vec::new();
    for sample in samples(layout) {
        if let Err(why) = try_sample(catalog, layout, &sample) {
            let is_asked = |name: &str| {
                name == "path"
                    || layout
                        .questions
                        .iter()
                        .any(|question| question.name == name)
            };
            let told = sample
                .iter()
                .filter(|(name, _)| is_asked(name))
                .map(|(name, value)| format!("{name}={}", short(value)));
            faults.push(fault(
                &layout.name,
                &why,
                told.collect::<Vec<_>>().join(" "),
            ));
        }
    }
    faults
}

/// An answer on one line.
fn short(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    match text.lines().next() {
        Some(line) if line.len() < text.trim_end().len() => format!("{line}…"),
        _ => text,
    }
}

fn try_sample(catalog: &Catalog, layout: &Layout, sample: &Map<String, Value>) -> Result<()> {
    let mut given = GivenAnswers::default();
    for (name, value) in sample.iter().filter(|(name, _)| *name != "path") {
        given.add(
            name,
            value.clone(),
            Origin::File {
                place: "sample".into(),
                line: 1,
                recorded: true,
            },
        );
    }
    let path = sample
        .get("path")
        .and_then(Value::as_str)
        .map(RepoPath::parse)
        .transpose()?;
    let resolved = resolve(
        layout,
        &given,
        &Found::default(),
        &profile::defaults,
        &mut NobodyToAsk,
    )?;
    let answers = Answers::of(layout, &resolved, path)?;
    let versions = answers
        .clusters
        .iter()
        .map(|cluster| (cluster.name.clone(), "1.10".to_owned()))
        .collect();
    render(catalog, layout, &answers, &versions, None).map(|_| ())
}

/// Every choice and switch once, one and three clusters, HAPTIC and another chart, with and without a path.
fn samples(layout: &Layout) -> Vec<Map<String, Value>> {
    let mut base = Map::new();
    base.insert(
        "repo_url".into(),
        json!("https://git.example.org/team/gitops.git"),
    );
    base.insert("webhook_ca".into(), json!(SAMPLE_CA));
    base.insert("age_recipients".into(), json!([SAMPLE_AGE_KEY]));
    for question in layout
        .questions
        .iter()
        .filter(|q| !q.standard && q.default.is_none() && q.default_from.is_none())
    {
        let value = match question.kind() {
            QuestionKind::Bool => json!(true),
            QuestionKind::List => json!(["sample"]),
            QuestionKind::Choice => json!(question.choices[0]),
            QuestionKind::Text | QuestionKind::File => json!("sample"),
        };
        base.insert(question.name.clone(), value);
    }
    let mut samples = vec![base.clone()];
    let mut vary = |name: &str, value: Value| {
        let mut sample = base.clone();
        sample.insert(name.to_owned(), value);
        samples.push(sample);
    };
    for question in &layout.questions {
        match question.kind() {
            QuestionKind::Choice => question
                .choices
                .iter()
                .for_each(|choice| vary(&question.name, json!(choice))),
            QuestionKind::Bool => [true, false]
                .into_iter()
                .for_each(|on| vary(&question.name, json!(on))),
            _ => {}
        }
    }
    vary("path", json!(SAMPLE_PATH.trim_end_matches('/')));
    vary("release", json!("on"));
    if layout.clusters == ClusterCount::Many {
        vary("clusters", json!(["one"]));
        vary("clusters", json!(["test", "a=production", "b=production"]));
    }
    let mut other = base;
    other.insert("chart".into(), json!("podinfo"));
    other.insert(
        "chart_repo".into(),
        json!("oci://registry.example.org/charts"),
    );
    samples.push(other);
    samples.retain(|sample| {
        sample.keys().all(|name| {
            layout.questions.iter().any(|q| &q.name == name)
                || matches!(
                    name.as_str(),
                    "repo_url" | "webhook_ca" | "age_recipients" | "path"
                )
        })
    });
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_layouts_have_no_fault() {
        let catalog = Catalog::embedded();
        assert_eq!(check(&catalog, catalog.names()), []);
    }
}
