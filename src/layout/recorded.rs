//! [`Recorded`]: the file `.haptic-scaffold.yaml`, its schema, and errors that name the line.

use std::collections::BTreeMap;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::model::policy::{Rejected, RequestPolicy, UpgradePolicy};
use crate::yaml;

/// The name of the file, at the top of what was scaffolded.
pub const FILE_NAME: &str = ".haptic-scaffold.yaml";

/// What a team decided about its config repository. People edit this file; every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = ".haptic-scaffold.yaml")]
pub struct Recorded {
    /// A folder of this repository with layouts and templates of the team's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<String>,
    /// The answers that the files were rendered from. The same answers give the same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<RecordedAnswers>,
    /// How `pins` and `upgrade` choose versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradePolicy>,
    /// How merge requests are opened and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestPolicy>,
    /// Versions that a cluster refused. They are never offered again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<Rejected>,
}

/// The answers. A chart's version is none of them: it stands in the pin alone. A layout's own questions stand here too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedAnswers {
    /// The layout that the repository follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Name of the Helm chart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// Address of the chart's repository, without the chart's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart_repo: Option<String>,
    /// Name of the Helm release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// Namespace of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whether HAPTIC's guide is followed to the letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub style: Option<Style>,
    /// Clusters in the order in which versions are promoted; `name` or `name=stage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Vec<String>>,
    /// Address at which the controller reads this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_url: Option<String>,
    /// Branch that the controller follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What the Kustomizations take as their source (Flux).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<Sync>,
    /// Secret with the credentials for reading this repository (Flux, `sync: own`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_secret: Option<String>,
    /// Namespace of Argo CD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argocd_namespace: Option<String>,
    /// Kind of Flux source that the chart comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart_source: Option<ChartSource>,
    /// Where the webhook's certificate comes from (HAPTIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificates: Option<Certificates>,
    /// The CA of the webhook's certificate, PEM (HAPTIC, `certificates: external`). It is public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_ca: Option<String>,
    /// The CA that comes after it, PEM, while `secrets rotate webhook-ca` is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_ca_next: Option<String>,
    /// How Secrets reach the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretsBy>,
    /// Public age keys that Secrets are encrypted for (`secrets: sops`): `age1…` for every cluster, `cluster=age1…` for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_recipients: Option<Vec<String>>,
    /// Secret in flux-system with the age key that opens them (`secrets: sops`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sops_secret: Option<String>,
    /// Store that the Secrets come from (`secrets: external-secrets`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_store: Option<String>,
    /// Path in the store that the Secrets lie below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_path: Option<String>,
    /// Kustomization that brings the operator of the Secrets (Flux).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets_operator: Option<String>,
    /// Whether values stand in a file of their own or in the manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_as: Option<ValuesAs>,
    /// The page that says what is where and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readme: Option<String>,
    /// The team's values that were given by file and stand in the manifest (`values_as: inline`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<String>,
    /// Answers to a layout's own questions.
    #[serde(flatten)]
    pub own: BTreeMap<String, OwnAnswer>,
}

/// An answer to a question of a layout's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OwnAnswer {
    /// Yes or no.
    Bool(bool),
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+
        }

        impl $name {
            /// The word in answers, flags and templates.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

choice! {
    /// How closely HAPTIC's guide is followed.
    Style {
        /// As the guide, except where that is known to serve worse.
        Default = "default",
        /// To the letter.
        Guide = "guide",
    }
}
choice! {
    /// What Flux's Kustomizations take as their source.
    Sync {
        /// The GitRepository `flux-system` of `flux bootstrap`.
        Bootstrap = "bootstrap",
        /// A GitRepository that the layout writes.
        Own = "own",
    }
}
choice! {
    /// The kind of Flux source that a chart comes from.
    ChartSource {
        /// HelmRepository and `spec.chart`.
        HelmRepository = "helm-repository",
        /// OCIRepository and `spec.chartRef`.
        OciRepository = "oci-repository",
    }
}
choice! {
    /// Where the webhook's certificate comes from.
    Certificates {
        /// Secrets that the team makes.
        External = "external",
        /// cert-manager in the cluster.
        CertManager = "cert-manager",
    }
}
choice! {
    /// How Secrets reach the cluster.
    SecretsBy {
        /// By hand; none stands in Git.
        Manual = "manual",
        /// Encrypted in Git by SOPS; Flux decrypts them.
        Sops = "sops",
        /// Sealed in Git for a controller in the cluster.
        SealedSecrets = "sealed-secrets",
        /// By External Secrets Operator; none stands in Git.
        ExternalSecrets = "external-secrets",
    }
}
choice! {
    /// Where a chart's values stand.
    ValuesAs {
        /// In a file of their own.
        File = "file",
        /// In the release's manifest.
        Inline = "inline",
    }
}

/// The JSON Schema of the file, derived from the types.
pub fn schema() -> Value {
    schemars::schema_for!(Recorded).to_value()
}

/// Reads the file. `place` names it in errors. Keys under `answers` that no type has are left to the layout, see [`line_of_answer`].
///
/// # Errors
/// When it isn't YAML, has an unknown key (with line and the nearest known name), a key twice, or a value of the wrong type.
pub fn parse(text: &str, place: &str) -> Result<Recorded> {
    parse_as(text, place, &schema())
}

/// Reads an answers file: the keys under `answers`, or a whole `.haptic-scaffold.yaml`.
///
/// # Errors
/// As [`parse`].
pub fn parse_answers(text: &str, place: &str) -> Result<RecordedAnswers> {
    let documents = yaml::parse_strict(text).map_err(|why| syntax_problem(place, &why))?;
    let root = documents.first().and_then(|d| d.root.as_ref());
    if root.is_some_and(|root| root.get("answers").is_some()) {
        return Ok(parse(text, place)?.answers.unwrap_or_default());
    }
    let schema = schema();
    parse_as(text, place, &part(&schema, "RecordedAnswers"))
}

fn part(schema: &Value, name: &str) -> Value {
    let mut part = schema["$defs"][name].clone();
    part["$defs"] = schema["$defs"].clone();
    part
}

fn parse_as<T: serde::de::DeserializeOwned + Default>(
    text: &str,
    place: &str,
    schema: &Value,
) -> Result<T> {
    let documents = yaml::parse_strict(text).map_err(|why| syntax_problem(place, &why))?;
    let Some(root) = documents.first().and_then(|d| d.root.as_ref()) else {
        return Ok(T::default());
    };
    if documents.len() > 1 {
        return Err(Problem::invalid(format!(
            "cannot read `{place}`: it has more than one document"
        ))
        .into());
    }
    check_keys(root, schema, schema, place)?;
    serde_yaml::from_str(text)
        .map_err(|why| Problem::invalid(format!("cannot read `{place}`: {why}")).into())
}

fn syntax_problem(place: &str, why: &yaml::SyntaxError) -> anyhow::Error {
    Problem::invalid(format!("cannot read `{place}`: {}", syntax_text(why))).into()
}

/// The line of an answer's key in the text of either kind of file.
pub fn line_of_answer(text: &str, name: &str) -> usize {
    let stream = yaml::parse(text);
    let root = stream.documents.first().and_then(|d| d.root.as_ref());
    let answers = root.map(|root| root.get("answers").unwrap_or(root));
    answers
        .into_iter()
        .flat_map(yaml::Node::entries)
        .find(|(key, _)| key.as_str() == Some(name))
        .map_or(1, |(key, _)| key.position.line)
}

/// Says where and why a text isn't YAML.
pub fn syntax_text(why: &yaml::SyntaxError) -> String {
    format!(
        "line {}, column {}: {}",
        why.position.line, why.position.column, why.message
    )
}

/// Walks a mapping beside its schema: a key that the schema does not have is an error at its line.
fn check_keys(node: &yaml::Node, schema: &Value, root: &Value, place: &str) -> Result<()> {
    let schema = deref(schema, root);
    if let Some(items) = schema.get("items") {
        return node
            .items()
            .try_for_each(|item| check_keys(item, items, root, place));
    }
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let named = schema.get("additionalProperties").filter(|v| v.is_object());
        return node
            .entries()
            .filter_map(|(_, value)| Some((value, named?)))
            .try_for_each(|(value, schema)| check_keys(value, schema, root, place));
    };
    let open = schema
        .get("additionalProperties")
        .is_none_or(|v| v != &Value::Bool(false));
    for (key, value) in node.entries() {
        let name = key.as_str().unwrap_or_default();
        if let Some(inner) = properties.get(name) {
            check_keys(value, inner, root, place)?;
        } else if !open {
            return Err(unknown_key(
                name,
                place,
                key.position.line,
                properties.keys().map(String::as_str),
            ));
        }
    }
    Ok(())
}

/// The error for a key that nothing knows.
pub fn unknown_key<'a>(
    name: &str,
    place: &str,
    line: usize,
    known: impl Iterator<Item = &'a str> + Clone,
) -> anyhow::Error {
    let problem = Problem::invalid(format!("{place}:{line}: unknown key `{name}`"));
    match nearest(name, known.clone()) {
        Some(nearest) => problem.hint(format!("did you mean `{nearest}`?")),
        None => problem.hint(format!(
            "known keys: {}",
            known.collect::<Vec<_>>().join(", ")
        )),
    }
    .into()
}

fn deref<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema.get("$ref").or_else(|| {
        schema
            .get("anyOf")
            .and_then(|any| any.get(0))
            .and_then(|first| first.get("$ref"))
    });
    match target
        .and_then(Value::as_str)
        .and_then(|r| r.strip_prefix('#'))
    {
        Some(pointer) => root.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

/// The known name that a person most likely meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| {
            (
                distance(&name.replace('-', "_"), &candidate.replace('-', "_")),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= candidate.len().max(name.len()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut last = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = last + usize::from(x != *y);
            last = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(last + 1);
        }
    }
    row[b.len()]
}

impl RecordedAnswers {
    /// The answers by name, as the resolver takes them.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Report;

    #[test]
    fn an_unknown_key_is_named_with_line_and_nearest_name() {
        let error = parse("layouts: a\nanswer:\n  layout: x\n", "f.yaml").expect_err("unknown");
        let report = Report::of(&error);
        assert_eq!(report.message, "f.yaml:2: unknown key `answer`");
        assert_eq!(report.hints, ["did you mean `answers`?"]);
    }

    #[test]
    fn a_key_twice_and_a_wrong_type_are_errors() {
        assert!(parse("layouts: a\nlayouts: b\n", "f").is_err());
        let error = parse("answers:\n  sync: sometimes\n", "f").expect_err("wrong");
        assert!(error.to_string().contains("sometimes"), "{error}");
    }

    #[test]
    fn answers_stand_alone_or_under_their_key() {
        for text in ["release: edge\n", "answers:\n  release: edge\n"] {
            assert_eq!(
                parse_answers(text, "f").expect("good").release.as_deref(),
                Some("edge")
            );
        }
    }

    #[test]
    fn an_empty_file_is_no_answers() {
        assert_eq!(parse("", "f").expect("good"), Recorded::default());
        assert_eq!(
            parse("# only a comment\n", "f").expect("good"),
            Recorded::default()
        );
    }
}
