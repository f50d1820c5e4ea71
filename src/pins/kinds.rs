//! What a file or an object is, told by its path, its text or its kind.

use std::ops::Range;

use super::layer::Layer;
use super::templates::is_made;
use crate::model::repo_path::RepoPath;
use crate::yaml::Node;

/// Whether a file is a helmfile by its name.
pub(super) fn is_helmfile(path: &RepoPath) -> bool {
    path.name().starts_with("helmfile") || path.parts().any(|part| part == "helmfile.d")
}

/// Text of Helm or Go templates is no YAML, whatever it looks like. ApplicationSets have such braces in strings, which is YAML.
pub(super) fn is_template(path: &RepoPath, text: &str) -> bool {
    let in_chart = path.parts().any(|part| part == "templates");
    let is_named = path.name().ends_with(".gotmpl") || path.name().ends_with(".tpl");
    is_named
        || (in_chart && text.contains("{{"))
        || text.trim_start_matches('\u{feff}').starts_with("{{")
}

/// `Kind/namespace/name` as far as a template doesn't make it.
pub(super) fn known_parts(object: &str) -> Option<String> {
    let parts: Vec<&str> = object.split('/').collect();
    let is_named = parts.last().is_some_and(|name| !is_made(name));
    let known: Vec<&str> = parts.into_iter().filter(|part| !is_made(part)).collect();
    is_named.then(|| known.join("/"))
}

/// The group of kinds that no other group has.
pub(super) fn group_of(kind: &str) -> &'static str {
    match kind {
        "HelmRelease" => "helm.toolkit.fluxcd.io",
        "HelmRepository" | "OCIRepository" | "GitRepository" => "source.toolkit.fluxcd.io",
        "ResourceSet" | "FluxInstance" => "fluxcd.controlplane.io",
        "Application" | "ApplicationSet" => "argoproj.io",
        _ => "",
    }
}

/// Where strings stand that go over several lines.
pub(super) fn texts_of_lines(layer: &Layer<'_>, node: &Node, found: &mut Vec<Range<usize>>) {
    if node.as_scalar().is_some() && layer.text[node.span.clone()].contains('\n') {
        found.push(node.span.clone());
    }
    let children = node.entries().flat_map(|(key, value)| [key, value]);
    for child in children.chain(node.items()) {
        texts_of_lines(layer, child, found);
    }
}
