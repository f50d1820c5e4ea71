//! Which namespace kustomizations give to the objects of a file: through bases of bases, the outermost one.
//!
//! Source: kustomize's `namespace:` rewrites the namespaces of all objects that it takes in, and Flux's `spec.targetNamespace` does so last.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::{KustomizationFact, PatchFact};
use crate::model::repo_path::{RepoPath, resolved};

/// The namespaces that files get; more than one where several overlays take a file in.
#[derive(Debug, Default)]
pub(super) struct Given {
    files: BTreeMap<String, BTreeSet<String>>,
}

impl Given {
    /// Follows all kustomizations, from those that no other takes in.
    pub(super) fn of(kustomizations: &[KustomizationFact]) -> Self {
        let mut walk = Walk::default();
        let mut taken = BTreeSet::new();
        // An object that applies a folder and gives no namespace changes none.
        let gives = |one: &&KustomizationFact| !one.is_object || one.namespace.is_some();
        let kustomizations: Vec<_> = kustomizations.iter().filter(gives).collect();
        for one in &kustomizations {
            let folder = one.folder.as_ref().map_or("", RepoPath::as_str);
            // Such an object stands for its folder from outside; it is in none.
            if !one.is_object {
                walk.by_folder
                    .entry(folder.to_owned())
                    .or_default()
                    .push(one);
            }
            let resources = one.resources.iter();
            taken.extend(resources.filter_map(|resource| resolved(one.folder.as_ref(), resource)));
        }
        for one in kustomizations {
            let folder = one.folder.as_ref().map_or("", RepoPath::as_str);
            if !taken.contains(folder) || one.folder.is_none() {
                walk.visit(one, None);
            }
        }
        Self { files: walk.files }
    }

    /// The namespaces of the objects in a file: given ones, else the one that the file says.
    pub(super) fn namespaces(&self, file: &RepoPath, own: Option<&str>) -> BTreeSet<String> {
        let mut path = file.as_str();
        loop {
            if let Some(given) = self.files.get(path) {
                return given.clone();
            }
            // A folder without a kustomization is taken in whole.
            match path.rsplit_once('/') {
                Some((folder, _)) => path = folder,
                None => return own.map(str::to_owned).into_iter().collect(),
            }
        }
    }
}

#[derive(Default)]
struct Walk<'a> {
    by_folder: BTreeMap<String, Vec<&'a KustomizationFact>>,
    files: BTreeMap<String, BTreeSet<String>>,
    seen: BTreeSet<(String, String)>,
}

impl Walk<'_> {
    fn visit(&mut self, one: &KustomizationFact, outer: Option<&str>) {
        let namespace = outer.or(one.namespace.as_deref());
        for resource in &one.resources {
            let Some(path) = resolved(one.folder.as_ref(), resource) else {
                continue;
            };
            let seen = (path.clone(), namespace.unwrap_or_default().to_owned());
            if !self.seen.insert(seen) {
                continue;
            }
            match self.by_folder.get(&path).cloned() {
                Some(inner) => inner.into_iter().for_each(|one| self.visit(one, namespace)),
                None => {
                    if let Some(namespace) = namespace {
                        let given = self.files.entry(path).or_default();
                        given.insert(namespace.to_owned());
                    }
                }
            }
        }
    }
}

/// The objects that patches in files of their own are for, by the file.
pub(super) fn targets(patches: &[PatchFact]) -> BTreeMap<String, BTreeSet<&str>> {
    let mut targets: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for patch in patches {
        if let Some(path) = resolved(patch.folder.as_ref(), &patch.path) {
            targets.entry(path).or_default().insert(&patch.target);
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(folder: &str, namespace: &str, resources: &[&str]) -> KustomizationFact {
        KustomizationFact {
            file: RepoPath::parse("kustomization.yaml").unwrap(),
            is_object: folder.is_empty(),
            folder: RepoPath::parse(folder).ok(),
            namespace: (!namespace.is_empty()).then(|| namespace.to_owned()),
            resources: resources.iter().map(|one| (*one).to_owned()).collect(),
        }
    }

    fn given(facts: &[KustomizationFact], file: &str) -> Vec<String> {
        let file = RepoPath::parse(file).unwrap();
        let given = Given::of(facts).namespaces(&file, Some("own"));
        given.into_iter().collect()
    }

    #[test]
    fn the_outermost_kustomization_gives_the_namespace() {
        let facts = [
            fact("base", "inner", &["web.yaml", "../loop"]),
            fact("loop", "", &["../base"]),
            fact("middle", "", &["../base/"]),
            fact("prod", "prod", &["../middle", "./own.yaml", "https://x/y"]),
        ];
        assert_eq!(given(&facts, "base/web.yaml"), ["prod"]);
        assert_eq!(given(&facts, "prod/own.yaml"), ["prod"]);
        assert_eq!(given(&facts, "other/own.yaml"), ["own"]);
        assert_eq!(given(&facts[..1], "base/web.yaml"), ["inner"]);
    }

    #[test]
    fn two_overlays_give_two_and_a_folder_without_a_file_is_taken_in_whole() {
        let facts = [
            fact("base", "", &["web.yaml"]),
            fact("a", "a", &["../base"]),
            fact("b", "b", &["../base"]),
            fact("", "flux", &["./plain"]),
        ];
        assert_eq!(given(&facts, "base/web.yaml"), ["a", "b"]);
        assert_eq!(given(&facts, "plain/deep/web.yaml"), ["flux"]);
        assert_eq!(given(&facts, "plainer/web.yaml"), ["own"]);
        let loops = [
            fact("x", "x", &["../y"]),
            fact("y", "", &["../x", "w.yaml"]),
        ];
        assert_eq!(given(&loops, "y/w.yaml"), ["own"]);
    }
}
