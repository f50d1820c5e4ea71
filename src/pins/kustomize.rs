//! Places of kustomize: charts that it inflates, images, remote bases, and patches in files and strings.
//!
//! Source: the kustomization file's reference of kustomize 5 (`helmCharts`, `images`, `patches`, `patchesStrategicMerge`, `patchesJson6902`).

use super::facts::{Beside, KustomizationFact, PatchFact, Scope};
use super::file::{About, File};
use super::found::{Form, Kind, Pin, Source};
use super::layer::Layer;
use super::node::Reader;
use super::templates::{self, HOLE};
use super::texts::{unquoted, variables};
use super::values;
use crate::yaml::Node;

/// Whether a document is a kustomization file: by its name, or by what it says of itself.
pub(super) fn is_kustomization(name: &str, group: &str, kind: &str) -> bool {
    let is_named = matches!(
        name,
        "kustomization.yaml" | "kustomization.yml" | "Kustomization"
    );
    group == "kustomize.config.k8s.io" && matches!(kind, "Kustomization" | "Component")
        || is_named && (kind.is_empty() || kind == "Kustomization")
}

/// Looks at a kustomization file.
pub(super) fn file(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    remember(file, reader, node);
    for chart in reader.items(node, &["helmCharts"]) {
        self::chart(
            file,
            layer,
            reader,
            chart,
            "kustomization helmCharts version",
        );
    }
    for chart in reader.items(node, &["helmChartInflationGenerator"]) {
        inflated(file, layer, reader, chart);
    }
    for key in ["generators", "transformers"] {
        for text in reader.items(node, &[key]) {
            nested(file, layer, text);
        }
    }
    for generator in reader.items(node, &["configMapGenerator"]) {
        literals(file, layer, reader, generator);
    }
    let about = About::default();
    for key in ["images", "imageTags"] {
        let list = reader.at(node, &[key]);
        let place = format!("kustomization {key}");
        image_list(file, layer, reader, list, &place, &about);
    }
    for key in ["resources", "bases", "components"] {
        for resource in reader.items(node, &[key]) {
            remote(file, layer, resource);
        }
    }
    for key in ["patches", "patchesJson6902"] {
        patches(file, layer, reader, node, &[key], "kustomization patches");
    }
    for patch in reader.items(node, &["patchesStrategicMerge"]) {
        nested(file, layer, patch);
    }
}

fn remember(file: &mut File<'_>, reader: Reader<'_>, node: &Node) {
    let texts = |key: &str| {
        reader
            .items(node, &[key])
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let mut resources = texts("resources");
    for key in ["bases", "components", "patchesStrategicMerge"] {
        resources.extend(texts(key));
    }
    for key in ["patches", "patchesJson6902"] {
        for patch in reader.items(node, &[key]) {
            let Some(path) = reader.text(patch, &["path"]) else {
                continue;
            };
            resources.push(path.to_owned());
            if let Some((_, target)) = target(reader, patch) {
                file.found.facts.patches.push(PatchFact {
                    folder: file.path.parent(),
                    path: path.to_owned(),
                    target,
                });
            }
        }
    }
    file.found.facts.kustomizations.push(KustomizationFact {
        file: file.path.clone(),
        is_object: false,
        folder: file.path.parent(),
        namespace: reader.text(node, &["namespace"]).map(str::to_owned),
        resources,
    });
}

/// A chart that kustomize inflates.
pub(super) fn chart(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    place: &str,
) {
    let repo = reader.text(node, &["repo"]);
    let about = About {
        chart: reader.text(node, &["name"]).map(str::to_owned),
        source: repo.map_or(Source::Unknown, |repo| Source::Address(repo.to_owned())),
        ..About::default()
    };
    if let Some(version) = reader.at(node, &["version"]) {
        file.pin(layer, version, Kind::Chart, place, &about);
    }
}

/// A chart of the deprecated list, whose keys have other names.
fn inflated(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let text = |key: &str| reader.text(node, &[key]).map(str::to_owned);
    let about = About {
        chart: text("chartName"),
        source: text("chartRepoUrl").map_or(Source::Unknown, Source::Address),
        ..About::default()
    };
    if let Some(version) = reader.at(node, &["chartVersion"]) {
        let place = "kustomization helmChartInflationGenerator chartVersion";
        file.pin(layer, version, Kind::Chart, place, &about);
    }
}

/// Literals of a generated ConfigMap, `name=version`, may be variables of Flux.
fn literals(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let name = reader.text(node, &["name"]).unwrap_or_default();
    let object = match reader.text(node, &["namespace"]) {
        Some(namespace) => format!("ConfigMap/{namespace}/{name}"),
        None => format!("ConfigMap/{name}"),
    };
    let about = About {
        object: Some(object),
        ..About::default()
    };
    for literal in reader.items(node, &["literals"]) {
        let Some((name, version)) = literal.as_str().and_then(|text| text.split_once('=')) else {
            continue;
        };
        let version = unquoted(version);
        if !values::may_be_pinned(version) {
            continue;
        }
        let place = "kustomization configMapGenerator literals";
        let of = (literal, version);
        if let Some(pin) = part_of(file, layer, of, Kind::Chart, place, &about) {
            file.define(Scope::Flux, name, pin, &Beside::default());
        }
    }
}

/// The images of a kustomization.
pub(super) fn image_list(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    list: Option<&Node>,
    place: &str,
    about: &About,
) {
    for image in list.into_iter().flat_map(Node::items) {
        let name = reader
            .text(image, &["newName"])
            .or_else(|| reader.text(image, &["name"]));
        let about = About {
            chart: name.map(str::to_owned),
            ..about.clone()
        };
        let before = file.found.pins.len();
        for key in ["newTag", "digest"] {
            if let Some(value) = reader.at(image, &[key]) {
                file.pin(layer, value, Kind::Image, &format!("{place} {key}"), &about);
            }
        }
        // Written as `name:tag@digest`, an image is pulled by its digest.
        if let [tag, _] = &mut file.found.pins[before..] {
            tag.effective = false;
            tag.why = Some("the digest beside it wins".to_owned());
        }
    }
}

/// A remote base with its reference: `https://…//path?ref=v1.2.3`.
fn remote(file: &mut File<'_>, layer: &Layer<'_>, node: &Node) {
    let Some(text) = node.as_str().filter(|text| text.contains('/')) else {
        return;
    };
    let by_query = text.find("?ref=").or_else(|| text.find("&ref=")).map(|at| {
        let reference = text[at + 5..].split('&').next().unwrap_or_default();
        (&text[..at], reference, "kustomization resources ?ref=")
    });
    // A manifest of a release, fetched by its address.
    let by_path = || {
        let version = text
            .split('/')
            .find(|part| part.starts_with('v') && values::is_version(part))?;
        let (project, _) = text.split_once(&format!("/{version}/"))?;
        Some((project, version, "kustomization resources address"))
    };
    let found = by_query.or_else(|| text.starts_with("https://").then(by_path).flatten());
    // A branch moves by itself.
    let is_pin = |reference: &str| {
        let is_short = reference.len() >= 7 && reference.bytes().all(|b| b.is_ascii_hexdigit());
        is_short || values::may_be_pinned(reference) || reference.contains(['$', '{', HOLE])
    };
    let Some((url, reference, place)) = found.filter(|(_, reference, _)| is_pin(reference)) else {
        return;
    };
    let about = About {
        source: Source::Address(url.to_owned()),
        ..About::default()
    };
    part(file, layer, (node, reference), Kind::Git, place, &about);
}

/// Adds a pin that is a part of a scalar.
pub(super) fn part(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    of: (&Node, &str),
    kind: Kind,
    place: &str,
    about: &About,
) {
    for variable in variables(of.1) {
        let line = file
            .pin_of(layer, of.0, kind, place, about)
            .map_or(1, |pin| pin.line);
        file.uses(Scope::Flux, variable.name, about.of(kind), line);
    }
    if let Some(pin) = part_of(file, layer, of, kind, place, about) {
        file.found.pins.push(pin);
    }
}

fn part_of(
    file: &File<'_>,
    layer: &Layer<'_>,
    (node, value): (&Node, &str),
    kind: Kind,
    place: &str,
    about: &About,
) -> Option<Pin> {
    if value.contains([HOLE, '$', '{']) {
        return None;
    }
    let mut pin = file.pin_of(layer, node, kind, place, about)?;
    pin.value = value.to_owned();
    pin.form = Form::of(value, kind);
    let raw = &file.text[pin.span.clone()];
    if let Some(at) = raw.rfind(value) {
        pin.column += raw[..at].chars().count();
        pin.span = pin.span.start + at..pin.span.start + at + value.len();
    }
    Some(pin)
}

/// Patches in strings: a part of an object, or operations on one.
pub(super) fn patches(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    keys: &[&str],
    place: &str,
) {
    for patch in reader.items(node, keys) {
        let Some(text) = reader.at(patch, &["patch"]) else {
            continue;
        };
        nested_with(file, layer, text, target(reader, patch).as_ref(), place);
    }
}

/// The object that a patch is meant for, as kind and `Kind/namespace/name`.
fn target(reader: Reader<'_>, patch: &Node) -> Option<(String, String)> {
    let kind = reader.text(patch, &["target", "kind"])?;
    let name = reader.text(patch, &["target", "name"]).unwrap_or("*");
    let identity = match reader.text(patch, &["target", "namespace"]) {
        Some(namespace) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/{name}"),
    };
    Some((kind.to_owned(), identity))
}

/// Where the operations of a JSON patch set a version, by the kind of their target. `*` stands for any index.
const PATHS: [(&str, &str); 13] = [
    ("HelmRelease", "/spec/chart/spec/version"),
    ("HelmChart", "/spec/version"),
    ("OCIRepository", "/spec/ref/tag"),
    ("OCIRepository", "/spec/ref/semver"),
    ("OCIRepository", "/spec/ref/digest"),
    ("GitRepository", "/spec/ref/tag"),
    ("GitRepository", "/spec/ref/semver"),
    ("GitRepository", "/spec/ref/commit"),
    ("Application", "/spec/source/targetRevision"),
    ("Application", "/spec/sources/*/targetRevision"),
    (
        "Application",
        "/spec/sourceHydrator/drySource/targetRevision",
    ),
    (
        "ApplicationSet",
        "/spec/template/spec/source/targetRevision",
    ),
    (
        "ApplicationSet",
        "/spec/template/spec/sources/*/targetRevision",
    ),
];

/// The operations of a JSON patch (RFC 6902).
pub(super) fn operations(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    list: &Node,
    target: Option<&(String, String)>,
    place: &str,
) {
    for operation in list.items() {
        let path = reader.text(operation, &["path"]).unwrap_or_default();
        let Some(value) = reader.at(operation, &["value"]) else {
            continue;
        };
        // A Kustomization's patch may itself add patches to Kustomizations: a pin two strings deep.
        if path.starts_with("/spec/patches") {
            let list = if value.is_sequence() {
                value.items().collect()
            } else {
                vec![value]
            };
            for patch in list {
                if let Some(text) = reader.at(patch, &["patch"]) {
                    nested_with(
                        file,
                        layer,
                        text,
                        self::target(reader, patch).as_ref(),
                        place,
                    );
                }
            }
            continue;
        }
        let about = About {
            object: target.map(|(_, identity)| identity.clone()),
            ..About::default()
        };
        let is_test = reader.text(operation, &["op"]) == Some("test");
        let before = file.found.pins.len();
        for (kind, whole) in PATHS {
            if target.is_some_and(|(wanted, _)| wanted != kind) {
                continue;
            }
            let of = if kind == "GitRepository" {
                Kind::Git
            } else {
                Kind::Chart
            };
            let Some(rest) = below(path, whole) else {
                continue;
            };
            let keys: Vec<&str> = rest.split('/').filter(|key| !key.is_empty()).collect();
            let place = format!("{place} {path}{rest}");
            let about = About {
                is_tag: (kind, whole) == ("OCIRepository", "/spec/ref/tag"),
                ..about.clone()
            };
            for inner in leaves(reader, value, &keys) {
                file.pin(layer, inner, of, &place, &about);
            }
            if keys.is_empty() {
                break;
            }
        }
        for pin in file.found.pins[before..].iter_mut().filter(|_| is_test) {
            pin.effective = false;
            pin.why = Some(
                "a `test` of a patch: it sets nothing, and fails the build where the version is another"
                    .to_owned(),
            );
        }
    }
}

/// What of a whole path is below a JSON pointer; nothing where the pointer leads elsewhere.
fn below<'a>(path: &str, whole: &'a str) -> Option<&'a str> {
    let mut rest = whole;
    for part in path.strip_prefix('/')?.split('/') {
        rest = rest.strip_prefix('/')?;
        let end = rest.find('/').unwrap_or(rest.len());
        let is_index = part == "-" || part.parse::<usize>().is_ok();
        if rest[..end] != *part && !(&rest[..end] == "*" && is_index) {
            return None;
        }
        rest = &rest[end..];
    }
    Some(rest)
}

/// The values at the end of some keys; `*` is every item.
fn leaves<'a>(reader: Reader<'a>, node: &'a Node, keys: &[&str]) -> Vec<&'a Node> {
    match keys.split_first() {
        None => vec![node],
        Some((&"*", rest)) => node
            .items()
            .flat_map(|item| leaves(reader, item, rest))
            .collect(),
        Some((key, rest)) => reader
            .get(node, key)
            .map(|inner| leaves(reader, inner, rest))
            .unwrap_or_default(),
    }
}

/// A string that is YAML: objects, parts of them, or operations.
pub(super) fn nested(file: &mut File<'_>, layer: &Layer<'_>, node: &Node) {
    nested_with(file, layer, node, None, "patch");
}

fn nested_with(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    node: &Node,
    target: Option<&(String, String)>,
    place: &str,
) {
    let is_text = node.as_str().is_some_and(|text| text.contains(':'));
    let Some(inner) = is_text.then(|| layer.inner(node, file.text)).flatten() else {
        return;
    };
    let (inner, stream, _) = templates::read(inner);
    for root in stream.roots() {
        if root.is_sequence() {
            let reader = file.reader(root);
            operations(file, &inner, reader, root, target, place);
            continue;
        }
        let before = file.found.pins.len();
        file.document(&inner, root);
        // A patch with a target is for that, whatever it calls itself.
        if let Some((_, identity)) = target {
            for pin in &mut file.found.pins[before..] {
                pin.object = Some(identity.clone());
            }
        }
    }
}
