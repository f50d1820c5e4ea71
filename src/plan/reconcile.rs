//! The commands with which people have a release looked at at once, with the names that it has in this repository.

use std::sync::Mutex;

use anyhow::Result;
use serde_json::Value;

use super::release_values::{Controller, Described, Form, documents};
use crate::model::repo_path::{RepoPath, resolved};
use crate::model::tree::Tree;
use crate::pins::{Pin, Source};

/// Flux's namespace, where an object leaves its own out.
const FLUX: &str = "flux-system";
/// What every Kustomization of Flux has in its file.
const MARK: &[u8] = b"kustomize.toolkit.fluxcd.io/";

/// How a release is followed and pushed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Follow {
    /// Has the controllers look now, from the source to the release.
    pub force: Vec<String>,
    /// Waits until the release is live.
    pub watch: Vec<String>,
    /// What to know beside the commands, a sentence each.
    pub notes: Vec<String>,
}

impl Follow {
    /// Takes in the commands of another cluster, each once.
    pub fn add(&mut self, other: Self) {
        let all = [
            (&mut self.force, other.force),
            (&mut self.watch, other.watch),
            (&mut self.notes, other.notes),
        ];
        for (known, new) in all {
            let new: Vec<String> = new.into_iter().filter(|one| !known.contains(one)).collect();
            known.extend(new);
        }
    }
}

/// A Kustomization of Flux.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kustomization {
    file: RepoPath,
    namespace: String,
    name: String,
    /// The folder that it applies; nothing for the top.
    folder: Option<RepoPath>,
    /// How long it waits for what it applies, where it does.
    waits: Option<String>,
}

/// Finds the commands for the release of a pin.
///
/// # Errors
/// When the repository can't be read.
pub fn follow(tree: &dyn Tree, pin: &Pin, described: &Described) -> Result<Follow> {
    match described.owner.controller {
        Controller::Argo => argo(tree, pin, described),
        Controller::Flux => flux(tree, pin, described),
    }
}

/// An Application as the program `argocd` names it.
pub fn application(namespace: &str, name: &str) -> String {
    match namespace {
        "" | "argocd" => name.to_owned(),
        namespace => format!("{namespace}/{name}"),
    }
}

fn argo(tree: &dyn Tree, pin: &Pin, described: &Described) -> Result<Follow> {
    let owner = &described.owner;
    let name = application(&owner.namespace, &owner.name);
    // What makes the Application out of a manifest has to see the new one first.
    let mut parents = Vec::new();
    each_object(
        tree,
        b"argoproj.io/",
        &|value| is_kind(value, "Application"),
        &mut |_, value| {
            let many = value.pointer("/spec/sources").and_then(Value::as_array);
            let one = value.pointer("/spec/source");
            let is_above = |source: &Value| {
                let folder = resolved(None, text(source, "/path"));
                let folder = folder.filter(|folder| !folder.is_empty());
                let prefix = folder.map(|folder| format!("{folder}/"));
                prefix.is_some_and(|prefix| pin.file.as_str().starts_with(&prefix))
            };
            if many.into_iter().flatten().chain(one).any(is_above) {
                let said = |key: &str| text(value, key).to_owned();
                parents.push((said("/metadata/namespace"), said("/metadata/name")));
            }
        },
    )?;
    // In a fleet each cluster has a parent of its own, which no manifest names.
    if pin.object.is_none() {
        let name = owner.name.strip_suffix("-release");
        parents.extend(name.map(|name| (owner.namespace.clone(), name.to_owned())));
    }
    parents.sort();
    parents.dedup();
    parents.retain(|(_, name)| *name != owner.name);
    let mut force: Vec<String> = parents
        .iter()
        .map(|(namespace, name)| format!("argocd app sync {}", application(namespace, name)))
        .collect();
    force.push(format!("argocd app sync {name}"));
    Ok(Follow {
        force,
        watch: vec![format!(
            "argocd app wait {name} --sync --health --timeout 900"
        )],
        notes: Vec::new(),
    })
}

fn flux(tree: &dyn Tree, pin: &Pin, described: &Described) -> Result<Follow> {
    let owner = &described.owner;
    let namespace = match owner.namespace.as_str() {
        "" => FLUX,
        namespace => namespace,
    };
    let mut all = Vec::new();
    each_object(
        tree,
        MARK,
        &|value| is_kind(value, "Kustomization"),
        &mut |file, value| {
            all.extend(kustomization(file, value));
        },
    )?;
    let chain = chain(&all, pin.file.parent());
    let mut force = Vec::new();
    for (at, one) in chain.iter().rev().enumerate() {
        let source = if at == 0 { " --with-source" } else { "" };
        force.push(format!(
            "flux reconcile kustomization {} -n {}{source}",
            one.name, one.namespace
        ));
    }
    let is_http = matches!(&pin.source, Source::Address(address) if !address.starts_with("oci://"));
    match &described.source {
        Form::OciRepository(source) => {
            force.push(format!(
                "flux reconcile source oci {}",
                source.flags(namespace)
            ));
        }
        // A registry has no index that could be old.
        Form::HelmRepository(source) if is_http => {
            force.push(format!(
                "flux reconcile source helm {}",
                source.flags(namespace)
            ));
        }
        Form::HelmRepository(_) | Form::Other => {}
    }
    force.push(format!(
        "flux reconcile helmrelease {} -n {namespace}",
        owner.name
    ));
    let mut notes = Vec::new();
    if let Some((one, timeout)) = chain
        .first()
        .and_then(|one| Some((one, one.waits.as_ref()?)))
    {
        notes.push(format!(
            "The Kustomization {0} waits for the release, and while it waits for the rejected one it doesn't look at a new commit: for {timeout} at most. To end the wait now: flux suspend kustomization {0} -n {1} && flux resume kustomization {0} -n {1}",
            one.name, one.namespace
        ));
    }
    Ok(Follow {
        force,
        watch: vec![format!(
            "kubectl -n {namespace} wait helmrelease/{} --for=condition=Ready --timeout=15m",
            owner.name
        )],
        notes,
    })
}

/// The Kustomizations that bring what lies in a folder, the nearest first.
fn chain(all: &[Kustomization], folder: Option<RepoPath>) -> Vec<&Kustomization> {
    let mut chain: Vec<&Kustomization> = Vec::new();
    let mut folder = folder;
    loop {
        let covers = |one: &&Kustomization| {
            let prefix = RepoPath::prefix(one.folder.as_ref());
            let own = RepoPath::prefix(folder.as_ref());
            own.starts_with(&prefix) && !chain.contains(one)
        };
        let length = |one: &&Kustomization| one.folder.as_ref().map_or(0, |f| f.as_str().len());
        let Some(next) = all.iter().filter(covers).max_by_key(length) else {
            return chain;
        };
        chain.push(next);
        folder = next.file.parent();
    }
}

fn kustomization(file: &RepoPath, value: &Value) -> Option<Kustomization> {
    if !text(value, "/apiVersion").starts_with("kustomize.toolkit.fluxcd.io/") {
        return None;
    }
    let path = resolved(None, text(value, "/spec/path").trim_start_matches('/'));
    let folder = match path.as_deref() {
        Some("" | ".") => None,
        Some(path) => Some(RepoPath::parse(path).ok()?),
        None => return None,
    };
    let namespace = text(value, "/metadata/namespace");
    let is_waiting = value.pointer("/spec/wait") == Some(&Value::Bool(true));
    // What says how a failed release looks doesn't wait for one.
    let checks = value.pointer("/spec/healthCheckExprs");
    let mut checks = checks.and_then(Value::as_array).into_iter().flatten();
    let is_quick = checks.any(|one| is_kind(one, "HelmRelease") && one.get("failed").is_some());
    let waits = text(value, "/spec/timeout");
    Some(Kustomization {
        file: file.clone(),
        namespace: if namespace.is_empty() {
            FLUX
        } else {
            namespace
        }
        .to_owned(),
        name: text(value, "/metadata/name").to_owned(),
        folder,
        waits: (is_waiting && !is_quick && !waits.is_empty()).then(|| waits.to_owned()),
    })
}

/// Hands over each object of a kind, by file, of files that have some bytes.
fn each_object(
    tree: &dyn Tree,
    mark: &[u8],
    is: &dyn Fn(&Value) -> bool,
    take: &mut dyn FnMut(&RepoPath, &Value),
) -> Result<()> {
    let found: Mutex<Vec<(RepoPath, String)>> = Mutex::default();
    let is_yaml = |path: &RepoPath| path.name().ends_with(".yaml") || path.name().ends_with(".yml");
    tree.read_each(&is_yaml, &|path, bytes| {
        let has_mark = |bytes: &&[u8]| bytes.windows(mark.len()).any(|at| at == mark);
        if let Some(bytes) = bytes.ok().filter(has_mark) {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let mut found = found.lock().expect("nobody panics with the lock");
            found.push((path, text));
        }
    })?;
    let mut found = found.into_inner().expect("nobody panics with the lock");
    found.sort();
    for (path, text) in &found {
        for value in documents(text) {
            if is(&value) {
                take(path, &value);
            }
        }
    }
    Ok(())
}

fn is_kind(value: &Value, kind: &str) -> bool {
    text(value, "/kind") == kind
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tree::{Entry, MapTree};
    use crate::pins::look;
    use crate::plan::release_values::describe;

    fn followed(files: &[(&str, &str)]) -> Follow {
        let path = |path: &str| RepoPath::parse(path).unwrap();
        let entry =
            |(name, text): &(&str, &str)| (path(name), Entry::File(text.as_bytes().to_vec()));
        let tree = MapTree(files.iter().map(entry).collect());
        let (file, content) = files[0];
        let mut pin = look(&path(file), content).pins.remove(0);
        pin.chart = Some("web".to_owned());
        pin.source = Source::Address("https://charts.example.org".to_owned());
        let described = describe(&tree, &pin).unwrap().unwrap();
        follow(&tree, &pin, &described).unwrap()
    }

    fn kustomization(name: &str, path: &str, more: &str) -> String {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}}}\nspec: {{path: {path}{more}}}\n"
        )
    }

    const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: {chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts}}}}\n";

    #[test]
    fn flux_looks_from_the_source_to_the_release() {
        let top = kustomization("top", "./clusters/prod", "");
        let apps = kustomization("apps", "./apps", ", wait: true, timeout: 20m");
        let found = followed(&[
            ("apps/web/web.yaml", RELEASE),
            ("clusters/prod/top.yaml", &top),
            ("clusters/prod/apps.yaml", &apps),
            ("other/z.yaml", &kustomization("other", "./other", "")),
            // Broken files say nothing, and stop nobody.
            (
                "chart/templates/x.yaml",
                "kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1\nname: {{ .x | quote }}\n",
            ),
        ]);
        assert_eq!(
            found.force,
            [
                "flux reconcile kustomization top -n flux-system --with-source",
                "flux reconcile kustomization apps -n flux-system",
                "flux reconcile source helm charts -n apps",
                "flux reconcile helmrelease web -n apps",
            ]
        );
        assert!(found.notes[0].contains("20m at most"), "{:?}", found.notes);
        assert!(found.watch[0].contains("kubectl -n apps wait helmrelease/web"));
    }

    #[test]
    fn a_source_may_lie_in_another_namespace_than_the_release() {
        let release = RELEASE.replace("name: charts", "name: charts, namespace: shared");
        let found = followed(&[("apps/web/web.yaml", &release)]);
        assert_eq!(
            found.force[0],
            "flux reconcile source helm charts -n shared"
        );
    }

    #[test]
    fn who_knows_a_failed_release_waits_for_none() {
        for (check, is_quick) in [
            ("{kind: HelmRelease, failed: x}", true),
            ("{kind: HelmRelease, current: x}", false),
            ("{kind: SealedSecret, failed: x}", false),
        ] {
            let more = format!(", wait: true, timeout: 20m, healthCheckExprs: [{check}]");
            let apps = kustomization("apps", "./", &more);
            let found = followed(&[("web.yaml", RELEASE), ("flux.yaml", &apps)]);
            assert_eq!(found.notes.is_empty(), is_quick, "{check}: {found:?}");
        }
    }

    #[test]
    fn argo_syncs_what_makes_the_application_first() {
        let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: cd}\nspec: {destination: {namespace: shop}, source: {repoURL: https://charts.example.org, chart: web, targetRevision: 1.0.0}}\n";
        let root = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: cd}\nspec: {source: {repoURL: https://git.example.org/x, path: apps}}\n";
        let found = followed(&[("apps/web.yaml", app), ("root.yaml", root)]);
        assert_eq!(
            found.force,
            ["argocd app sync cd/root", "argocd app sync cd/web"]
        );
        assert_eq!(
            found.watch,
            ["argocd app wait cd/web --sync --health --timeout 900"]
        );
        // Applications may lie in any namespace, each in its own.
        let root = root.replace("namespace: cd", "namespace: argocd").replace(
            "source: {repoURL: https://git.example.org/x, path: apps}",
            "sources: [{repoURL: https://git.example.org/x, path: other}, {repoURL: https://git.example.org/x, path: apps}]",
        );
        let found = followed(&[("apps/web.yaml", app), ("root.yaml", &root)]);
        assert_eq!(
            found.force,
            ["argocd app sync root", "argocd app sync cd/web"]
        );
    }
}
