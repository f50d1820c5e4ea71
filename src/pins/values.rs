//! Places in Helm's own files and in data that others read: Chart.yaml, values, helmfile, files of generators.

use super::file::{About, File, Scope};
use super::found::{Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use crate::model::range::lenient_version;
use crate::yaml::Node;

/// Keys of data files that mean a chart's version whoever reads them.
const VERSION_KEYS: [&str; 5] = [
    "chartVersion",
    "chart_version",
    "targetRevision",
    "helmChartVersion",
    "chartTag",
];

/// Whether a text reads as one version.
pub(super) fn is_version(text: &str) -> bool {
    text.contains('.') && lenient_version(text).is_some()
}

/// The dependencies of a chart.
pub(super) fn chart(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    for dependency in reader.items(node, &["dependencies"]) {
        let repository = reader.text(dependency, &["repository"]).unwrap_or_default();
        let about = About {
            object: None,
            chart: reader.text(dependency, &["name"]).map(str::to_owned),
            source: Source::Address(repository.to_owned()),
        };
        // A chart beside it in the same repository is released with it.
        if repository.is_empty() || repository.starts_with("file:") {
            continue;
        }
        if let Some(version) = reader.at(dependency, &["version"]) {
            file.pin(
                layer,
                version,
                Kind::Chart,
                "Chart.yaml dependencies version",
                &about,
            );
        }
    }
}

/// The releases of a helmfile.
pub(super) fn helmfile(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let repositories: Vec<(&str, &str, bool)> = reader
        .items(node, &["repositories"])
        .filter_map(|repository| {
            let is_oci = reader.text(repository, &["oci"]) == Some("true");
            Some((
                reader.text(repository, &["name"])?,
                reader.text(repository, &["url"])?,
                is_oci,
            ))
        })
        .collect();
    for release in reader.items(node, &["releases"]) {
        let chart = reader.text(release, &["chart"]).unwrap_or_default();
        let Some(version) = reader.at(release, &["version"]) else {
            continue;
        };
        let (alias, name) = chart.rsplit_once('/').unwrap_or(("", chart));
        let source = match repositories.iter().find(|(known, ..)| *known == alias) {
            Some((_, url, true)) => {
                let url = url.trim_start_matches("oci://");
                Source::Address(format!("oci://{url}"))
            }

            Some((_, url, false)) => Source::Address((*url).to_owned()),
            None if alias.starts_with("oci://") => Source::Address(alias.to_owned()),
            None => Source::Alias(alias.to_owned()),
        };
        let about = About {
            object: reader
                .text(release, &["name"])
                .map(|name| format!("release/{name}")),
            chart: Some(name.to_owned()),
            source,
        };
        file.pin(
            layer,
            version,
            Kind::Chart,
            "helmfile releases version",
            &about,
        );
    }
}

/// Images in values: a `tag` beside a `repository`.
pub(super) fn images(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    place: &str,
    about: &About,
) {
    if let (Some(repository), Some(tag)) = (
        reader
            .text(node, &["repository"])
            .or_else(|| reader.text(node, &["image"])),
        node.get("tag").and_then(|tag| reader.resolve(tag)),
    ) {
        let about = About {
            chart: Some(repository.to_owned()),
            ..about.clone()
        };
        file.pin(
            layer,
            tag,
            Kind::Image,
            &format!("{place} image tag"),
            &about,
        );
    }
    let children = node.entries().map(|(_, value)| value).chain(node.items());
    for child in children {
        if child.is_mapping() || child.is_sequence() {
            images(file, layer, reader, child, place, about);
        }
    }
}

/// A file without a kind: values of a chart, or data that a generator reads.
pub(super) fn data(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    images(file, layer, reader, node, "values", &About::default());
    // A patch for Argo CD's templates, or operations of a patch in a file of their own.
    if node.is_sequence() {
        super::kustomize::operations(file, layer, reader, node, None, "patch file");
    }
    let mut route = Vec::new();
    keys(file, layer, node, &mut route);
}

/// Keys that mean a version by their name, and others that a template may read.
fn keys<'a>(file: &mut File<'_>, layer: &Layer<'_>, node: &'a Node, route: &mut Vec<&'a str>) {
    for (key, value) in node.entries() {
        // What an alias stands for is looked at where its anchor is.
        let Some(name) = key.as_str() else {
            continue;
        };
        route.push(name);
        if value.is_mapping() {
            keys(file, layer, value, route);
        } else if value.as_str().is_some_and(is_version) {
            let about = About {
                chart: route.iter().rev().nth(1).map(|parent| (*parent).to_owned()),
                ..About::default()
            };
            if VERSION_KEYS.contains(&name) {
                let place = format!("data {name}");
                file.pin(layer, value, Kind::Chart, &place, &about);
            }
            // Only a chart's own values are read by its templates.
            let is_values = file.path.name().starts_with("values");
            if let Some(pin) = file
                .pin_of(layer, value, Kind::Chart, "values", &about)
                .filter(|_| is_values)
            {
                let scope = Scope::Chart(file.path.parent());
                file.define(scope, &route.join("."), pin);
            }
        }
        route.pop();
    }
}
