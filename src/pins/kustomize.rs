//! Places of kustomize: charts that it inflates, images, remote bases, and patches in files and strings.
//!
//! Source: the kustomization file's reference of kustomize 5 (`helmCharts`, `images`, `patches`, `patchesStrategicMerge`, `patchesJson6902`).

use super::facts::{KustomizationFact, PatchFact};
use super::file::{About, File};
use super::found::{Form, Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use super::templates;
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
    let about = About::default();
    image_list(
        file,
        layer,
        reader,
        reader.at(node, &["images"]),
        "kustomization images",
        &about,
    );
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
        object: None,
        chart: reader.text(node, &["name"]).map(str::to_owned),
        source: repo.map_or(Source::Unknown, |repo| Source::Address(repo.to_owned())),
    };
    if let Some(version) = reader.at(node, &["version"]) {
        file.pin(layer, version, Kind::Chart, place, &about);
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
        for key in ["newTag", "digest"] {
            if let Some(value) = reader.at(image, &[key]) {
                file.pin(layer, value, Kind::Image, &format!("{place} {key}"), &about);
            }
        }
    }
}

/// A remote base with its reference: `https://…//path?ref=v1.2.3`.
fn remote(file: &mut File<'_>, layer: &Layer<'_>, node: &Node) {
    let Some((url, reference)) = node.as_str().and_then(|text| {
        let at = text.find("?ref=").or_else(|| text.find("&ref="))?;
        let reference = text[at + 5..].split('&').next()?;
        (!reference.is_empty()).then_some((&text[..at], reference))
    }) else {
        return;
    };
    let about = About {
        source: Source::Address(url.to_owned()),
        ..About::default()
    };
    part(
        file,
        layer,
        (node, reference),
        Kind::Git,
        "kustomization resources ?ref=",
        &about,
    );
}

/// A pin that is a part of a scalar.
pub(super) fn part(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    (node, value): (&Node, &str),
    kind: Kind,
    place: &str,
    about: &About,
) {
    let Some(mut pin) = file.pin_of(layer, node, kind, place, about) else {
        return;
    };
    pin.value = value.to_owned();
    pin.form = Form::of(value, kind);
    let raw = &file.text[pin.span.clone()];
    let Some(at) = raw.rfind(value) else {
        return;
    };
    pin.column += raw[..at].chars().count();
    pin.span = pin.span.start + at..pin.span.start + at + value.len();
    file.found.pins.push(pin);
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

/// Where the operations of a JSON patch set a version, by the kind of their target.
const PATHS: [(&str, &str, &str); 12] = [
    ("HelmRelease", "/spec/chart/spec", "version"),
    ("HelmChart", "/spec", "version"),
    ("OCIRepository", "/spec/ref", "tag"),
    ("OCIRepository", "/spec/ref", "semver"),
    ("OCIRepository", "/spec/ref", "digest"),
    ("GitRepository", "/spec/ref", "tag"),
    ("GitRepository", "/spec/ref", "semver"),
    ("GitRepository", "/spec/ref", "commit"),
    ("Application", "/spec/source", "targetRevision"),
    ("Application", "/spec/sources/*", "targetRevision"),
    (
        "ApplicationSet",
        "/spec/template/spec/source",
        "targetRevision",
    ),
    (
        "ApplicationSet",
        "/spec/template/spec/sources/*",
        "targetRevision",
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
        for (kind, parent, key) in PATHS {
            if target.is_some_and(|(wanted, _)| wanted != kind) {
                continue;
            }
            let git = if kind == "GitRepository" {
                Kind::Git
            } else {
                Kind::Chart
            };
            let place = format!("{place} {path}");
            if is_at(path, parent, Some(key)) {
                file.pin(layer, value, git, &place, &about);
                break;
            }
            if is_at(path, parent, None)
                && let Some(inner) = reader.at(value, &[key])
            {
                file.pin(layer, inner, git, &format!("{place}/{key}"), &about);
            }
        }
    }
}

/// Whether a JSON pointer is that of a parent, and of a key in it; `*` stands for any index.
fn is_at(path: &str, parent: &str, key: Option<&str>) -> bool {
    let wanted = parent.split('/').chain(key);
    let mut parts = path.split('/');
    let all_fit = wanted.into_iter().all(|wanted| {
        parts.next().is_some_and(|part| {
            wanted == part || wanted == "*" && (part == "-" || part.parse::<usize>().is_ok())
        })
    });
    all_fit && parts.next().is_none()
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
            operations(file, &inner, Reader { root }, root, target, place);
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
