//! The release that a pin belongs to: what deploys it, and its values, as far as they stand in the repository.

use anyhow::Result;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::argo_values::{self, Application};
use super::chart_files::merged;
use super::fleet;
use super::helm_values;
use crate::model::repo_path::{RepoPath, resolved};
use crate::model::tree::{Tree, read_text};
use crate::pins::Pin;
use crate::yaml::Route;

/// Kustomizations in kustomizations are followed so far.
const MOST_DEPTH: usize = 5;

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
    fn of(reference: &Value) -> Self {
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
/// Source: helm-controller puts `valuesFrom` in their order below `values`. Of Argo CD see `argo_values.rs`.
///
/// # Errors
/// When the repository can't be read.
pub fn describe(tree: &dyn Tree, pin: &Pin) -> Result<Option<Described>> {
    let object = pin.object.as_deref().unwrap_or_default();
    let Some((kind, name)) = object.split_once('/') else {
        return fleet::describe(tree, pin);
    };
    let (namespace, name) = name.rsplit_once('/').unwrap_or(("", name));
    let mut found = Found::default();
    found.folder(tree, pin.file.parent().as_ref(), MOST_DEPTH)?;
    if !found.files.contains(&pin.file) {
        found.file(tree, &pin.file)?;
    }
    let release = match kind {
        "HelmRelease" => found.flux(tree, pin, &|one| {
            text(one, "/metadata/name") == name
                && may_be_same(text(one, "/metadata/namespace"), namespace)
        })?,
        "OCIRepository" => found.flux(tree, pin, &|one| {
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
fn may_be_same(one: &str, other: &str) -> bool {
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

/// An object and where it stands.
struct Object {
    file: RepoPath,
    document: usize,
    value: Value,
}

/// Objects and generated ConfigMaps, those of bases first.
#[derive(Default)]
struct Found {
    /// Folders whose kustomization was read: a circle ends, and a diamond is read once.
    folders: Vec<Option<RepoPath>>,
    files: Vec<RepoPath>,
    objects: Vec<Object>,
    /// Name and key of a generated ConfigMap, and its file.
    generated: Vec<(String, String, RepoPath)>,
}

impl Found {
    fn folder(&mut self, tree: &dyn Tree, folder: Option<&RepoPath>, depth: usize) -> Result<()> {
        if self.folders.contains(&folder.cloned()) {
            return Ok(());
        }
        self.folders.push(folder.cloned());
        let prefix = RepoPath::prefix(folder);
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            let Some(text) = read_text(tree, &RepoPath::parse(&format!("{prefix}{name}"))?)? else {
                continue;
            };
            for kustomization in documents(&text) {
                for resource in strings(&kustomization, "resources") {
                    if let (Some(path), true) = (place(folder, &resource), depth > 0) {
                        match read_text(tree, &path) {
                            Ok(Some(_)) => self.file(tree, &path)?,
                            _ => self.folder(tree, Some(&path), depth - 1)?,
                        }
                    }
                }
                self.generators(folder, &kustomization);
            }
            return Ok(());
        }
        Ok(())
    }

    fn file(&mut self, tree: &dyn Tree, path: &RepoPath) -> Result<()> {
        if self.files.contains(path) {
            return Ok(());
        }
        if let Some(text) = read_text(tree, path)? {
            self.files.push(path.clone());
            let objects = numbered(&text).map(|(document, value)| Object {
                file: path.clone(),
                document,
                value,
            });
            self.objects.extend(objects);
        }
        Ok(())
    }

    fn generators(&mut self, folder: Option<&RepoPath>, kustomization: &Value) {
        let generators = kustomization.get("configMapGenerator");
        for one in generators.and_then(Value::as_array).into_iter().flatten() {
            for file in strings(one, "files") {
                let (key, path) = file.split_once('=').unwrap_or_else(|| {
                    (file.rsplit('/').next().unwrap_or_default(), file.as_str())
                });
                if let Some(path) = place(folder, path) {
                    let name = text(one, "/name").to_owned();
                    self.generated.push((name, key.to_owned(), path));
                }
            }
        }
    }

    /// The objects of a kind, those of bases first.
    fn of_kind<'f>(&'f self, kind: &'f str) -> impl DoubleEndedIterator<Item = &'f Object> {
        let is = move |one: &&Object| text(&one.value, "/kind") == kind;
        self.objects.iter().filter(is)
    }

    /// A HelmRelease: its base, and what overlays say over it.
    fn flux(
        &self,
        tree: &dyn Tree,
        pin: &Pin,
        is: &dyn Fn(&Value) -> bool,
    ) -> Result<Option<Described>> {
        let id = |one: &Object| {
            let said = |pointer| text(&one.value, pointer).to_owned();
            (said("/metadata/name"), said("/metadata/namespace"))
        };
        let mut own = self
            .of_kind("HelmRelease")
            .filter(|one| is(&one.value))
            .map(id);
        let Some((name, first)) = own.next() else {
            return Ok(None);
        };
        let mut named = own
            .filter(|(other, _)| *other == name)
            .map(|(_, namespace)| namespace);
        let namespace = match first.as_str() {
            "" => named
                .find(|namespace| !namespace.is_empty())
                .unwrap_or_default(),
            _ => first,
        };
        let is_part = |one: &&Object| {
            let (other, its) = id(one);
            other == name && may_be_same(&its, &namespace)
        };
        let parts: Vec<&Object> = self.of_kind("HelmRelease").filter(is_part).collect();
        let values = parts.iter().map(|one| one.value.clone());
        let release = values.reduce(|base, over| merged(base, &over));
        let release = release.unwrap_or_default();
        let mut layers = Vec::new();
        let mut values = Some(Value::Object(Map::new()));
        let sources = release
            .pointer("/spec/valuesFrom")
            .and_then(Value::as_array);
        for source in sources.into_iter().flatten() {
            let key = match text(source, "/valuesKey") {
                "" => "values.yaml",
                key => key,
            };
            let found = self.config_map(tree, text(source, "/name"), key)?;
            let is_map = text(source, "/kind") == "ConfigMap" && source.get("targetPath").is_none();
            match found {
                Some((part, layer)) if is_map => {
                    values = values.map(|values| merged(values, &part));
                    layers.extend(layer);
                }
                _ => values = None,
            }
        }
        if let Some(own) = release.pointer("/spec/values") {
            values = values.map(|values| merged(values, own));
        }
        let has_values = |one: &&Object| one.value.pointer("/spec/values").is_some();
        let mut own: Vec<&Object> = parts.iter().copied().filter(has_values).collect();
        // What lies nearest to the pin is this release's alone, a base may be that of others. Without any values there
        // is one place where they can be made.
        let nearest = parts.last().filter(|one| !has_values(one));
        if layers.is_empty() || !own.is_empty() {
            own.extend(nearest);
        }
        layers.extend(own.into_iter().map(|one| Layer {
            file: one.file.clone(),
            document: one.document,
            route: Route::root().key("spec").key("values"),
        }));
        let target = text(&release, "/spec/targetNamespace");
        let namespace = text(&release, "/metadata/namespace");
        let (full, installed_in) = if target.is_empty() {
            (name.clone(), namespace)
        } else {
            (format!("{target}-{name}"), target)
        };
        let said = text(&release, "/spec/releaseName");
        let reference = |pointer: &str, kind: &str| {
            let found = release.pointer(pointer)?;
            (text(found, "/kind") == kind).then(|| SourceRef::of(found))
        };
        let helm = reference("/spec/chart/spec/sourceRef", "HelmRepository");
        let oci = || reference("/spec/chartRef", "OCIRepository");
        let source = helm
            .map(Form::HelmRepository)
            .or_else(|| oci().map(Form::OciRepository))
            .unwrap_or(Form::Other);
        Ok(Some(Described {
            release: if said.is_empty() {
                full
            } else {
                said.to_owned()
            },
            namespace: installed_in.to_owned(),
            owner: Owner {
                controller: Controller::Flux,
                namespace: namespace.to_owned(),
                name,
            },
            source,
            layers,
            overrides: Vec::new(),
            values,
            pin: pin.clone(),
        }))
    }

    /// The values in a ConfigMap, and where they can be edited.
    fn config_map(
        &self,
        tree: &dyn Tree,
        name: &str,
        key: &str,
    ) -> Result<Option<(Value, Option<Layer>)>> {
        let mut generated = self.generated.iter().rev();
        let file = generated.find(|(map, known, _)| map == name && known == key);
        if let Some((_, _, path)) = file {
            let values = read_text(tree, path)?.and_then(|text| values_of(&text));
            return Ok(values.map(|values| (values, Some(Layer::whole(path.clone())))));
        }
        let mut maps = self.of_kind("ConfigMap").rev();
        let map = maps.find(|one| text(&one.value, "/metadata/name") == name);
        let data = map.and_then(|map| map.value.get("data")?.get(key)?.as_str());
        Ok(data.and_then(values_of).map(|values| (values, None)))
    }
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
    match serde_json::to_value(helm_values::read(text).ok()?).ok()? {
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
fn numbered(text: &str) -> impl Iterator<Item = (usize, Value)> {
    // A template that isn't YAML is read with the same error for ever: there are never more documents than marks of them.
    let is_mark = |line: &&str| line.starts_with("---") || line.starts_with("...");
    let most = text.lines().filter(is_mark).count() + 1;
    let all = serde_yaml::Deserializer::from_str(text).take(most);
    all.enumerate()
        .filter_map(|(at, document)| Some((at, Value::deserialize(document).ok()?)))
}

/// A path of a kustomization as a file or folder of the repository.
fn place(folder: Option<&RepoPath>, path: &str) -> Option<RepoPath> {
    RepoPath::parse(&resolved(folder, path)?).ok()
}

#[cfg(test)]
#[path = "tests_release_values.rs"]
mod tests;
