//! What a layout may say: the types of `layout.yaml`.
//!
//! A layout is data. It has no code and no hooks, and nothing in it reaches the network or leaves the repository.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::question::Question;
use crate::error::Problem;
use crate::yaml;

/// The GitOps controller that owns a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Argo CD.
    Argo,
    /// Flux.
    Flux,
}

impl Provider {
    /// Its name as flags and templates have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Argo => "argo",
            Self::Flux => "flux",
        }
    }
}

/// How many clusters a layout is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClusterCount {
    /// Exactly one.
    One,
    /// One or more.
    Many,
}

/// Who owns a file after it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owner {
    /// The layout: later runs change it where nobody else has.
    Scaffold,
    /// The team: written once.
    User,
}

/// What a file is, for the checks before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// YAML: has to parse, without duplicate keys.
    Yaml,
    /// Any text.
    Text,
}

/// What a rule or a step is repeated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    /// Once for each cluster.
    Cluster,
    /// Once for each environment, which is a cluster here.
    Environment,
    /// Once for each Secret that the chart needs.
    Secret,
    /// Once for each Secret in each cluster.
    #[serde(rename = "cluster-secret")]
    ClusterSecret,
}

impl Each {
    /// Whether it is repeated for each cluster.
    pub fn is_of_cluster(self) -> bool {
        self != Self::Secret
    }

    /// Whether it is repeated for each Secret.
    pub fn is_of_secret(self) -> bool {
        matches!(self, Self::Secret | Self::ClusterSecret)
    }
}

/// A layout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The folder's name.
    #[serde(skip_deserializing)]
    pub name: String,
    /// One line.
    pub title: String,
    /// One or two sentences.
    pub about: String,
    /// Which controller it is for.
    pub provider: Provider,
    /// How many clusters it is for.
    pub clusters: ClusterCount,
    /// What is asked, in this order.
    pub questions: Vec<Question>,
    /// What is written, in this order.
    pub files: Vec<FileRule>,
    /// The order in which things come up that the layout promises.
    #[serde(default)]
    pub order: Vec<OrderRule>,
}

/// One file, or one for each cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRule {
    /// Where it goes, a template.
    pub path: String,
    /// What it is, for people.
    pub what: String,
    /// Which template makes it; none where it is sealed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub template: String,
    /// Repeated for each of these.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// An expression: written only where it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Who owns it.
    #[serde(default = "scaffold")]
    pub owner: Owner,
    /// Whether it holds the chart's values, as `values_as: file` has them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub values: bool,
    /// How it is checked; by its name's ending where it isn't said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntax: Option<Syntax>,
    /// The kinds of its objects in their order.
    #[serde(default, skip_serializing_if = "Kinds::is_empty")]
    pub objects: Kinds,
    /// Where the version pin stands in it; the first that fits counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<PinRoute>,
    /// Whether it is a Secret, sealed or encrypted as the answers say. It is written once: every sealing of the same value differs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sealed: bool,
    /// Routes to scalars that follow the answers also where the rest of the file is the team's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
}

fn scaffold() -> Owner {
    Owner::Scaffold
}

/// Kinds of objects: a list, or a template that gives them with commas between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Kinds {
    /// A list.
    List(Vec<String>),
    /// A template.
    Template(String),
}

impl Default for Kinds {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Kinds {
    fn is_empty(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }
}

/// Where a version stands in a rendered file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinRoute {
    /// The kind of the object; any document where it isn't said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The route to the scalar.
    pub route: String,
}

/// One step of the promised order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderRule {
    /// `Kind/name`, a template.
    pub object: String,
    /// What is there when the step is done.
    pub says: String,
    /// The step before, a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// What makes it wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Repeated for each of these.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub each: Option<Each>,
    /// An expression: a step only where it is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The object is made in the cluster, so it can't be checked against the rendered files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
}

impl Layout {
    /// Reads the text of a `layout.yaml`. `place` names the file in errors.
    ///
    /// # Errors
    /// When it isn't YAML, has unknown or missing keys, or a key twice; with file and line.
    pub fn parse(name: &str, text: &str, place: &str, standard: &[Question]) -> Result<Self> {
        yaml::parse_strict(text).map_err(|why| {
            Problem::invalid(format!(
                "cannot read the layout `{place}`: {}",
                crate::layout::recorded::syntax_text(&why)
            ))
        })?;
        let mut layout: Self = serde_yaml::from_str(text)
            .map_err(|why| Problem::invalid(why.to_string()))
            .with_context(|| format!("cannot read the layout `{place}`"))?;
        layout.name = name.to_owned();
        if let Some(file) = layout
            .files
            .iter()
            .find(|f| f.sealed && !f.each.is_some_and(Each::is_of_secret))
        {
            return Err(Problem::invalid(format!(
                "`{}` is sealed, and nothing says for which Secret",
                file.path
            ))
            .hint("add `for: secret`, or `for: cluster-secret`"))
            .with_context(|| format!("cannot read the layout `{place}`"));
        }
        for question in &mut layout.questions {
            question
                .complete(standard)
                .with_context(|| format!("cannot read the layout `{place}`"))?;
        }
        Ok(layout)
    }
}
