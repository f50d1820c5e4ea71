//! The values of the release that a pin belongs to, as far as they stand in the repository.

use anyhow::Result;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::chart_files::merged;
use crate::model::repo_path::{RepoPath, resolved};
use crate::model::tree::{Tree, read_text};
use crate::pins::Pin;

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

/// Finds the release of a pin. Nothing where it isn't in the pin's file or its kustomization, or where a part of its values stands elsewhere: half of them would be judged wrongly.
///
/// Source: helm-controller puts `valuesFrom` in their order below `values`; Argo CD `valueFiles` below `values` and `valuesObject`.
///
/// # Errors
/// When the repository can't be read.
pub fn of(tree: &dyn Tree, pin: &Pin) -> Result<Option<ReleaseValues>> {
    let object = pin.object.as_deref().unwrap_or_default();
    let Some((kind, name)) = object.split_once('/') else {
        return Ok(None);
    };
    let name = name.rsplit('/').next().unwrap_or_default();
    let mut found = Found::default();
    found.folder(tree, pin.file.parent().as_ref(), MOST_DEPTH)?;
    if !found.files.contains(&pin.file) {
        found.file(tree, &pin.file)?;
    }
    let release = match kind {
        "HelmRelease" => found.flux(tree, &|one| text(one, "/metadata/name") == name)?,
        "OCIRepository" => found.flux(tree, &|one| {
            text(one, "/spec/chartRef/name") == name
                && text(one, "/spec/chartRef/kind") == "OCIRepository"
        })?,
        "Application" => argo(tree, pin, &found, name)?,
        _ => None,
    };
    // What no cluster would take is none, and no other program is given it.
    Ok(release.filter(|one| is_name(&one.release) && is_name(&one.namespace)))
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

/// Objects and generated ConfigMaps, those of bases first.
#[derive(Default)]
struct Found {
    /// Folders whose kustomization was read: a circle ends, and a diamond is read once.
    folders: Vec<Option<RepoPath>>,
    files: Vec<RepoPath>,
    objects: Vec<Value>,
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
            self.objects.extend(documents(&text));
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

    /// The values of a HelmRelease: its base, and what overlays say over it.
    fn flux(&self, tree: &dyn Tree, is: &dyn Fn(&Value) -> bool) -> Result<Option<ReleaseValues>> {
        let releases = self
            .objects
            .iter()
            .filter(|one| text(one, "/kind") == "HelmRelease");
        let Some(release) = releases
            .filter(|one| is(one))
            .cloned()
            .reduce(|base, over| merged(base, &over))
        else {
            return Ok(None);
        };
        let mut values = Value::Object(Map::new());
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
            let (Some(part), true) = (found, is_map) else {
                return Ok(None);
            };
            values = merged(values, &part);
        }
        if let Some(own) = release.pointer("/spec/values") {
            values = merged(values, own);
        }
        let name = text(&release, "/metadata/name");
        let target = text(&release, "/spec/targetNamespace");
        let (full, namespace) = if target.is_empty() {
            (name.to_owned(), text(&release, "/metadata/namespace"))
        } else {
            (format!("{target}-{name}"), target)
        };
        let said = text(&release, "/spec/releaseName");
        Ok(Some(ReleaseValues {
            release: if said.is_empty() {
                full
            } else {
                said.to_owned()
            },
            namespace: namespace.to_owned(),
            values,
        }))
    }

    fn config_map(&self, tree: &dyn Tree, name: &str, key: &str) -> Result<Option<Value>> {
        let mut generated = self.generated.iter().rev();
        let file = generated.find(|(map, known, _)| map == name && known == key);
        if let Some((_, _, path)) = file {
            return Ok(read_text(tree, path)?.and_then(|text| values_of(&text)));
        }
        let map = self
            .objects
            .iter()
            .rfind(|one| text(one, "/kind") == "ConfigMap" && text(one, "/metadata/name") == name);
        let data = map.and_then(|map| map.get("data")?.get(key)?.as_str());
        Ok(data.and_then(values_of))
    }
}

fn argo(tree: &dyn Tree, pin: &Pin, found: &Found, name: &str) -> Result<Option<ReleaseValues>> {
    let application = found
        .objects
        .iter()
        .rfind(|one| text(one, "/kind") == "Application" && text(one, "/metadata/name") == name);
    let Some(spec) = application.and_then(|one| one.get("spec")) else {
        return Ok(None);
    };
    let sources = spec.get("sources").and_then(Value::as_array);
    let mut sources = sources.into_iter().flatten().chain(spec.get("source"));
    let chart = pin.chart.as_deref().unwrap_or_default();
    let Some(source) = sources.find(|source| text(source, "/chart") == chart) else {
        return Ok(None);
    };
    let nothing = Value::Object(Map::new());
    let helm = source.get("helm").unwrap_or(&nothing);
    let mut values = nothing.clone();
    for file in strings(helm, "valueFiles") {
        // `$ref/path` is a file of a repository, and here of this one; any other is the chart's own.
        let path = file.strip_prefix('$').and_then(|rest| rest.split_once('/'));
        let path = path.and_then(|(_, path)| RepoPath::parse(path).ok());
        let part = match path {
            Some(path) => read_text(tree, &path)?.and_then(|text| values_of(&text)),
            None => None,
        };
        let Some(part) = part else {
            return Ok(None);
        };
        values = merged(values, &part);
    }
    if helm.get("parameters").is_some() || helm.get("fileParameters").is_some() {
        return Ok(None);
    }
    if let Some(part) = helm
        .get("values")
        .and_then(Value::as_str)
        .and_then(values_of)
    {
        values = merged(values, &part);
    }
    if let Some(part) = helm.get("valuesObject") {
        values = merged(values, part);
    }
    let release = match text(helm, "/releaseName") {
        "" => name,
        said => said,
    };
    Ok(Some(ReleaseValues {
        release: release.to_owned(),
        namespace: text(spec, "/destination/namespace").to_owned(),
        values,
    }))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

fn strings(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// Values are a mapping; an empty file has none.
fn values_of(text: &str) -> Option<Value> {
    match serde_yaml::from_str(text).ok()? {
        Value::Null => Some(Value::Object(Map::new())),
        value @ Value::Object(_) => Some(value),
        _ => None,
    }
}

/// The documents that can be read.
fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .filter_map(|document| Value::deserialize(document).ok())
        .collect()
}

/// A path of a kustomization as a file or folder of the repository.
fn place(folder: Option<&RepoPath>, path: &str) -> Option<RepoPath> {
    RepoPath::parse(&resolved(folder, path)?).ok()
}

#[cfg(test)]
mod tests {
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
        let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  destination: {namespace: shop}\n  sources:\n  - repoURL: r.example.org/x\n    chart: web\n    targetRevision: 1.0.0\n    helm:\n      releaseName: front\n      valueFiles: [$values/apps/values.yaml]\n      values: 'a: 2'\n      valuesObject: {b: 3}\n  - {repoURL: https://git.example.org/x, ref: values, targetRevision: main}\n";
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
    fn a_circle_of_kustomizations_ends() {
        let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: a}\nspec: {chart: {spec: {chart: web, version: 1.0.0}}, values: {a: 1}}\n";
        let many = format!("resources: [{}web.yaml]\n", "., ../k, ".repeat(40));
        let found = values(&[("k/web.yaml", release), ("k/kustomization.yaml", &many)]);
        assert_eq!(found.unwrap().values, json!({"a": 1}));
    }
}
