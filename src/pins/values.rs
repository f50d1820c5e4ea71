//! Places in Helm's own files and in data that others read: Chart.yaml, values, files of generators.

use std::collections::BTreeMap;

use super::facts::{Beside, Scope};
use super::file::{About, File};
use super::found::{Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use crate::model::range::{Range, lenient_version};
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

/// Whether a text may be what a name at a version's place stands for: a version, a range, a tag with a version in it, or a commit.
pub(super) fn may_be_pinned(text: &str) -> bool {
    // Longer ones are texts.
    text.len() <= 256
        && (is_version(text) || is_range(text) || is_named_version(text) || is_commit(text))
}

/// Whether a text is a range by its signs: `1.x`, `^1.2`, `>=1 <2`.
pub(super) fn is_range(text: &str) -> bool {
    let has_signs = text.contains(['>', '<', '~', '^', '*', '=']) || text.ends_with(".x");
    has_signs && Range::parse(text).is_ok_and(|range| range.exact().is_none())
}

/// Whether a text is a tag that names what the version is of: `haptic-0.2.0`, `charts/haptic/v0.2.0`. `release-1.2` is a branch.
pub(super) fn is_named_version(text: &str) -> bool {
    tag_prefix(text).is_some_and(|prefix| !prefix.is_empty())
}

/// What stands before the version in a tag of Git: nothing in `v1.2.3`, `haptic-` in `haptic-0.2.0`. None where the tag has no whole version.
pub fn tag_prefix(text: &str) -> Option<&str> {
    let is_whole = |rest: &str| {
        let core = rest.strip_prefix('v').unwrap_or(rest);
        let core = core.split(['-', '+']).next().unwrap_or_default();
        core.split('.').count() == 3 && is_version(rest)
    };
    let mut starts = text.match_indices(['-', '/', '@']).map(|(at, _)| at + 1);
    let start = if is_whole(text) {
        Some(0)
    } else {
        starts.find(|start| is_whole(&text[*start..]))
    };
    start.map(|start| &text[..start])
}

/// Whether a text is the whole name of a commit.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The dependencies of a chart.
pub(super) fn chart(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    for dependency in reader.items(node, &["dependencies"]) {
        let repository = reader.text(dependency, &["repository"]).unwrap_or_default();
        let about = About {
            chart: reader.text(dependency, &["name"]).map(str::to_owned),
            source: Source::Address(repository.to_owned()),
            ..About::default()
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
        reader.text(node, &["repository"]).or_else(|| {
            reader
                .text(node, &["image"])
                .filter(|image| !has_tag(image))
        }),
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

/// Whether an image has its tag or digest with it.
fn has_tag(image: &str) -> bool {
    image
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .contains([':', '@'])
}

/// A file without a kind: values of a chart, or data that a generator reads.
pub(super) fn data(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    images(file, layer, reader, node, "values", &About::default());
    // A patch for Argo CD's templates, or operations of a patch in a file of their own.
    if node.is_sequence() {
        super::kustomize::operations(file, layer, reader, node, None, "patch file");
    }
    let mut route = Vec::new();
    let is_values = file.path.name().starts_with("values");
    let beside = if is_values {
        Beside::default()
    } else {
        texts_of("", node)
    };
    keys(file, layer, node, &mut route, &beside);
}

/// The short texts of a mapping and of those in it, by their whole ways below a name.
pub(super) fn texts_of(below: &str, node: &Node) -> Beside {
    fn add(all: &mut BTreeMap<String, String>, below: &str, node: &Node) {
        for (key, value) in node.entries() {
            let Some(key) = key.as_str() else {
                continue;
            };
            let way = if below.is_empty() {
                key.to_owned()
            } else {
                format!("{below}.{key}")
            };
            match value.as_str() {
                Some(text) if text.len() <= 256 => {
                    all.insert(way, text.to_owned());
                }
                _ => add(all, &way, value),
            }
        }
    }
    let mut all = BTreeMap::new();
    add(&mut all, below, node);
    Beside::new(all)
}

/// Keys that mean a version by their name, and others that a template may read.
fn keys<'a>(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    node: &'a Node,
    route: &mut Vec<&'a str>,
    beside: &Beside,
) {
    for (key, value) in node.entries() {
        // What an alias stands for is looked at where its anchor is.
        let Some(name) = key.as_str() else {
            continue;
        };
        route.push(name);
        if value.is_mapping() {
            keys(file, layer, value, route, beside);
        } else if value.is_sequence() {
            route.push("*");
            value
                .items()
                .for_each(|item| keys(file, layer, item, route, beside));
            route.pop();
        } else if value.as_str().is_some_and(may_be_pinned) {
            let parent = route.iter().rev().nth(1).filter(|parent| **parent != "*");
            let named = node.get("chart").and_then(Node::as_str);
            let about = About {
                chart: named.or(parent.copied()).map(str::to_owned),
                ..About::default()
            };
            if VERSION_KEYS.contains(&name) && value.as_str().is_some_and(is_version) {
                let place = format!("data {name}");
                file.pin(layer, value, Kind::Chart, &place, &about);
            }
            if let Some(pin) = file.pin_of(layer, value, Kind::Chart, "values", &about) {
                // A chart's own values are read by its templates, other files by generators.
                let scope = if file.path.name().starts_with("values") {
                    Scope::Chart(file.path.parent())
                } else {
                    Scope::File(file.path.clone(), 0)
                };
                file.define(scope, &route.join("."), pin, beside);
            }
        }
        route.pop();
    }
}
