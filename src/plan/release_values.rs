//! The release that a pin belongs to: what deploys it, and its values, as far as they stand in the repository.

use anyhow::Result;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::argo_values::{self, Application};
use super::kustomized::Found;
use super::{fleet, flux_values, helm_values};
use crate::model::repo_path::RepoPath;
use crate::model::tree::Tree;
use crate::pins::Pin;
use crate::yaml::Route;

/// A release and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleaseValues {
    /// The release's name.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// Its values, without the chart's own.
    pub values: Value,
}

/// A release as the repository describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The object that deploys it.
    pub owner: Owner,
    /// The release's name.
    pub release: String,
    /// Its namespace.
    pub namespace: String,
    /// The chart, as the object names it.
    pub source: Form,
    /// Where its values stand, each winning over those before it.
    pub layers: Vec<Layer>,
    /// Names of values that are set over all layers, as Helm's `--set` takes them: `a.b[0].c`.
    pub overrides: Vec<String>,
    /// A file that changes the values over all layers in a way that isn't followed.
    pub patched_in: Option<RepoPath>,
    /// Its values; nothing where a part of them stands elsewhere.
    pub values: Option<Value>,
    /// The pin by which it was found.
    pub pin: Pin,
}

/// The object that deploys a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Whose object it is.
    pub controller: Controller,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A GitOps controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Flux: a HelmRelease.
    Flux,
    /// Argo CD: an Application.
    Argo,
}

/// How the controller gets the chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Flux: this OCIRepository, by `chartRef`. helm-controller adds a digest to the chart's version then.
    OciRepository(SourceRef),
    /// Flux: this HelmRepository, by `spec.chart`.
    HelmRepository(SourceRef),
    /// Anything else.
    Other,
}

/// A source of Flux, as a HelmRelease names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRef {
    name: String,
    /// Nothing where it is the release's own.
    namespace: Option<String>,
}

impl SourceRef {
    pub(super) fn of(reference: &Value) -> Self {
        let namespace = text(reference, "/namespace");
        Self {
            name: text(reference, "/name").to_owned(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
        }
    }

    /// As the program `flux` is told it, for a release of a namespace.
    pub(super) fn flags(&self, namespace: &str) -> String {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        format!("{} -n {namespace}", self.name)
    }
}

/// A place where values of a release stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The file.
    pub file: RepoPath,
    /// The document in it, from 0.
    pub document: usize,
    /// The way to the values; they may not be there yet. They may be a text of YAML there.
    pub route: Route,
}

impl Described {
    /// The values as another tree has them in the same places. What stands in no layer counts as it does here.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub fn read_again(&self, tree: &dyn Tree) -> Result<Option<Value>> {
        let again = describe(tree, &self.pin)?;
        Ok(again.and_then(|again| again.values))
    }
}

impl Layer {
    pub(super) fn whole(file: RepoPath) -> Self {
        Self {
            file,
            document: 0,
            route: Route::root(),
        }
    }
}

/// Finds the values of a pin's release. Nothing where it isn't in the pin's file or its kustomization, or where a part of its values stands elsewhere: half of them would be judged wrongly.
///
/// # Errors
/// When the repository can't be read.
pub fn of(tree: &dyn Tree, pin: &Pin) -> Result<Option<ReleaseValues>> {
    let described = describe(tree, pin)?;
    Ok(described.and_then(|one| {
        Some(ReleaseValues {
            values: one.values?,
            release: one.release,
            namespace: one.namespace,
        })
    }))
}

/// Finds the release of a pin, in the pin's file or its kustomization, or as the layout of the repository says.
///
/// Of Flux see `flux_values.rs`, of Argo CD `argo_values.rs`.
///
/// # Errors
/// When the repository can't be read.
pub fn describe(tree: &dyn Tree, pin: &Pin) -> Result<Option<Described>> {
    let object = pin.object.as_deref().unwrap_or_default();
    let Some((kind, name)) = object.split_once('/') else {
        return fleet::describe(tree, pin);
    };
    let (namespace, name) = name.rsplit_once('/').unwrap_or(("", name));
    let found = Found::around(tree, &pin.file)?;
    let release = match kind {
        "HelmRelease" => flux_values::describe(tree, pin, &found, &|one| {
            text(one, "/metadata/name") == name
                && may_be_same(text(one, "/metadata/namespace"), namespace)
        })?,
        "OCIRepository" => flux_values::describe(tree, pin, &found, &|one| {
            let source = match text(one, "/spec/chartRef/namespace") {
                "" => text(one, "/metadata/namespace"),
                source => source,
            };
            text(one, "/spec/chartRef/name") == name
                && text(one, "/spec/chartRef/kind") == "OCIRepository"
                && may_be_same(source, namespace)
        })?,
        "Application" => argo(tree, pin, &found, name)?,
        _ => None,
    };
    // What no cluster would take is none, and no other program is given it.
    Ok(release.filter(|one| is_name(&one.release) && is_name(&one.namespace)))
}

/// Whether two namespaces may be one: where a file leaves it out something else says it.
pub(super) fn may_be_same(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// Whether a text is a name of a release or a namespace (RFC 1123, as Helm and Kubernetes demand it).
fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.len() <= 63
        && text.chars().all(inner)
        && is_end(text.chars().next())
        && is_end(text.chars().last())
}

fn argo(tree: &dyn Tree, pin: &Pin, found: &Found, name: &str) -> Result<Option<Described>> {
    let mut applications = found.of_kind("Application").rev();
    match applications.find(|one| text(&one.value, "/metadata/name") == name) {
        Some(found) => {
            let application = Application {
                file: &found.file,
                document: found.document,
                value: &found.value,
            };
            argo_values::describe(tree, pin, &application, name)
        }
        None => Ok(None),
    }
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

pub(super) fn strings(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Values are a mapping; an empty file has none.
pub(super) fn values_of(text: &str) -> Option<Value> {
    match helm_values::read_as_it_is(text)? {
        Value::Null => Some(Value::Object(Map::new())),
        value @ Value::Object(_) => Some(value),
        _ => None,
    }
}

/// The documents that can be read.
pub(super) fn documents(text: &str) -> Vec<Value> {
    numbered(text).map(|(_, value)| value).collect()
}

/// The documents that can be read, by their place in the file.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, Value)> {
    // A template that isn't YAML is read with the same error for ever: there are never more documents than marks of them.
    let is_mark = |line: &&str| line.starts_with("---") || line.starts_with("...");
    let most = text.lines().filter(is_mark).count() + 1;
    let all = serde_yaml::Deserializer::from_str(text).take(most);
    all.enumerate()
        .filter_map(|(at, document)| Some((at, Value::deserialize(document).ok()?)))
}

#[cfg(test)]
#[path = "tests_release_values.rs"]
mod tests;
