//! The objects that a kustomization has, as far as they can be read without building it.

use anyhow::Result;
use serde_json::Value;

use super::release_values::{documents, numbered, strings, text};
use crate::model::repo_path::{RepoPath, resolved};
use crate::model::tree::{Tree, read_text};

/// Kustomizations in kustomizations are followed so far.
const MOST_DEPTH: usize = 5;

/// An object and where it stands.
pub(super) struct Object {
    pub(super) file: RepoPath,
    pub(super) document: usize,
    pub(super) value: Value,
}

/// Objects and generated ConfigMaps, those of bases first.
#[derive(Default)]
pub(super) struct Found {
    /// Folders whose kustomization was read: a circle ends, and a diamond is read once.
    folders: Vec<Option<RepoPath>>,
    files: Vec<RepoPath>,
    objects: Vec<Object>,
    /// Name and key of a generated ConfigMap, and its file.
    generated: Vec<(String, String, RepoPath)>,
    /// The namespace that the outermost kustomization gives to all of them.
    pub(super) namespace: Option<String>,
    /// Kustomizations that patch values of a HelmRelease in a way that isn't followed; of that with this name, else of any.
    patched_in: Vec<(String, RepoPath)>,
}

impl Found {
    /// What the kustomization of a file's folder has, and the file itself, which may be no part of it.
    ///
    /// # Errors
    /// When the repository can't be read.
    pub(super) fn around(tree: &dyn Tree, file: &RepoPath) -> Result<Self> {
        let mut found = Self::default();
        found.folder(tree, file.parent().as_ref(), MOST_DEPTH)?;
        found.file(tree, file)?;
        Ok(found)
    }

    fn folder(&mut self, tree: &dyn Tree, folder: Option<&RepoPath>, depth: usize) -> Result<()> {
        if self.folders.contains(&folder.cloned()) {
            return Ok(());
        }
        self.folders.push(folder.cloned());
        let prefix = RepoPath::prefix(folder);
        for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
            let path = RepoPath::parse(&format!("{prefix}{name}"))?;
            let Some(content) = read_text(tree, &path)? else {
                continue;
            };
            for kustomization in documents(&content) {
                let resources = ["resources", "components"].map(|key| strings(&kustomization, key));
                for resource in resources.iter().flatten() {
                    if let (Some(path), true) = (place(folder, resource), depth > 0) {
                        match read_text(tree, &path) {
                            Ok(Some(_)) => self.file(tree, &path)?,
                            _ => self.folder(tree, Some(&path), depth - 1)?,
                        }
                    }
                }
                self.patches(tree, (folder, &path), &kustomization)?;
                self.generators(folder, &kustomization);
                let namespace = text(&kustomization, "/namespace");
                if depth == MOST_DEPTH && !namespace.is_empty() {
                    self.namespace = Some(namespace.to_owned());
                }
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

    /// Patches of a HelmRelease. A file that names its release is laid over it, as Flux's own kind has no other rule for lists; what else changes values isn't
    /// followed.
    fn patches(
        &mut self,
        tree: &dyn Tree,
        (folder, own): (Option<&RepoPath>, &RepoPath),
        kustomization: &Value,
    ) -> Result<()> {
        let lists = ["patches", "patchesJson6902", "patchesStrategicMerge"];
        let all = lists.map(|key| kustomization.get(key).and_then(Value::as_array));
        for patch in all.into_iter().flatten().flatten() {
            let file = match patch {
                // A short text is a file, and another the patch itself.
                Value::String(text) => place(folder, text).filter(|_| !text.contains('\n')),
                patch => {
                    place(folder, text(patch, "/path")).filter(|_| patch.get("path").is_some())
                }
            };
            let written = match (&file, patch) {
                (Some(file), _) => read_text(tree, file).ok().flatten().unwrap_or_default(),
                (None, Value::String(text)) => text.clone(),
                (None, patch) => text(patch, "/patch").to_owned(),
            };
            let parts = documents(&written);
            let is_other = !matches!(text(patch, "/target/kind"), "" | "HelmRelease");
            if is_other || !parts.iter().any(changes_values) {
                continue;
            }
            let is_named = patch.get("target").is_none() && parts.iter().all(Value::is_object);
            match file.filter(|_| is_named) {
                Some(file) => self.file(tree, &file)?,
                None => {
                    let name = release_of(patch, &parts).to_owned();
                    self.patched_in.push((name, own.clone()));
                }
            }
        }
        Ok(())
    }

    /// The kustomization that patches the values of a HelmRelease in a way that isn't followed.
    pub(super) fn patched_in(&self, release: &str) -> Option<&RepoPath> {
        // The name of a target is a regular expression.
        let is_it = |name: &str| {
            name.is_empty()
                || name == release
                || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        let mut all = self.patched_in.iter();
        all.find(|(name, _)| is_it(name)).map(|(_, file)| file)
    }

    /// The file of a generated ConfigMap's key.
    pub(super) fn generated(&self, name: &str, key: &str) -> Option<&RepoPath> {
        let mut all = self.generated.iter().rev();
        let (_, _, path) = all.find(|(map, known, _)| map == name && known == key)?;
        Some(path)
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
    pub(super) fn of_kind<'f>(
        &'f self,
        kind: &'f str,
    ) -> impl DoubleEndedIterator<Item = &'f Object> {
        let is = move |one: &&Object| text(&one.value, "/kind") == kind;
        self.objects.iter().filter(is)
    }
}

/// The name of the release that a patch is for; empty where it may be for any.
fn release_of<'p>(patch: &'p Value, parts: &'p [Value]) -> &'p str {
    if let Some(target) = patch.get("target") {
        return text(target, "/name");
    }
    let mut names = parts.iter().map(|part| text(part, "/metadata/name"));
    names.find(|name| !name.is_empty()).unwrap_or_default()
}

/// Whether a patch, strategic or by JSON's operations, changes values of a HelmRelease.
fn changes_values(patch: &Value) -> bool {
    let is_of_values = |path: &str| path.starts_with("/spec/values") || path == "/spec";
    match patch.as_array() {
        Some(operations) => operations
            .iter()
            .any(|one| is_of_values(text(one, "/path"))),
        None => {
            let has = |key: &str| patch.pointer(key).is_some();
            text(patch, "/kind") == "HelmRelease"
                && (has("/spec/values") || has("/spec/valuesFrom"))
        }
    }
}

/// A path of a kustomization as a file or folder of the repository.
fn place(folder: Option<&RepoPath>, path: &str) -> Option<RepoPath> {
    RepoPath::parse(&resolved(folder, path)?).ok()
}
