//! Places of Flux: HelmRelease, HelmChart, sources, Kustomizations, and what the Flux Operator adds.
//!
//! Source of the places: Flux's API references (helm.toolkit v2, source.toolkit v1, kustomize.toolkit v1, fluxcd.controlplane.io v1).

use super::facts::{ArtifactFact, KustomizationFact, Scope, SourceFact, Substitution};
use super::file::{About, File};
use super::found::{Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use super::{kustomize, templates, values};
use crate::yaml::Node;

/// Looks at an object of Flux.
pub(super) fn object(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    kind: &str,
) {
    let about = About {
        object: Some(identity(reader, node, kind)),
        ..About::default()
    };
    match kind {
        "HelmRelease" => release(file, layer, reader, node, &about),
        "HelmChart" => {
            let about = from_source(reader, node, &["spec"], about);
            file.runs(&about);
            pin(
                file,
                layer,
                reader.at(node, &["spec", "version"]),
                "HelmChart spec.version",
                &about,
            );
        }
        "OCIRepository" => oci(file, layer, reader, node, about),
        "HelmRepository" => source(file, reader, node, kind),
        "GitRepository" => {
            source(file, reader, node, kind);
            git(file, layer, reader, node, &about);
        }
        "Kustomization" => kustomization(file, layer, reader, node, &about),
        "ResourceSet" => resource_set(file, layer, reader, node, &about),
        "FluxInstance" => {
            let keys = ["spec", "distribution", "version"];
            if let Some(version) = reader.at(node, &keys) {
                let place = "FluxInstance spec.distribution.version";
                file.pin(layer, version, Kind::Other, place, &about);
            }
        }
        _ => {}
    }
}

/// `Kind/namespace/name`, as far as the object says them.
pub(super) fn identity(reader: Reader<'_>, node: &Node, kind: &str) -> String {
    let name = reader.text(node, &["metadata", "name"]).unwrap_or_default();
    match reader.text(node, &["metadata", "namespace"]) {
        Some(namespace) => format!("{kind}/{namespace}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn pin(file: &mut File<'_>, layer: &Layer<'_>, version: Option<&Node>, place: &str, about: &About) {
    if let Some(version) = version {
        file.pin(layer, version, Kind::Chart, place, about);
    }
}

/// The chart and the source that `spec.chart` and `spec.sourceRef` name.
fn from_source(reader: Reader<'_>, node: &Node, keys: &[&str], about: About) -> About {
    let at = |more: &[&'static str]| {
        let keys: Vec<&str> = keys.iter().copied().chain(more.iter().copied()).collect();
        reader.text(node, &keys).map(str::to_owned)
    };
    let own = reader
        .text(node, &["metadata", "namespace"])
        .map(str::to_owned);
    let source = match (at(&["sourceRef", "kind"]), at(&["sourceRef", "name"])) {
        (Some(kind), Some(name)) => Source::Reference {
            kind,
            namespace: at(&["sourceRef", "namespace"]),
            own,
            name,
        },
        _ => Source::Unknown,
    };
    About {
        chart: at(&["chart"]),
        source,
        ..about
    }
}

fn release(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node, about: &About) {
    let spec = ["spec", "chart", "spec"];
    if reader.text(node, &["spec", "chartRef", "kind"]) == Some("OCIRepository") {
        let of = artifact(file, reader, node, &["spec", "chartRef"]);
        file.found.facts.charts.extend(of);
    }
    let chart = from_source(reader, node, &spec, about.clone());
    file.runs(&chart);
    let keys = ["spec", "chart", "spec", "version"];
    pin(
        file,
        layer,
        reader.at(node, &keys),
        "HelmRelease spec.chart.spec.version",
        &chart,
    );
    if let Some(tree) = reader.at(node, &["spec", "values"]) {
        values::images(file, layer, reader, tree, "HelmRelease spec.values", about);
    }
}

/// The OCIRepository that a reference at some keys names.
fn artifact(
    file: &File<'_>,
    reader: Reader<'_>,
    node: &Node,
    keys: &[&str],
) -> Option<ArtifactFact> {
    let reference = reader.at(node, keys)?;
    Some(ArtifactFact {
        file: file.path.clone(),
        namespace: reader.text(reference, &["namespace"]).map(str::to_owned),
        own: reader
            .text(node, &["metadata", "namespace"])
            .map(str::to_owned),
        name: reader.text(reference, &["name"])?.to_owned(),
    })
}

fn oci(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node, about: About) {
    source(file, reader, node, "OCIRepository");
    let url = reader.text(node, &["spec", "url"]);
    let split = url.and_then(|url| url.trim_end_matches('/').rsplit_once('/'));
    let about = About {
        chart: split.map(|(_, name)| name.to_owned()),
        source: split.map_or(Source::Unknown, |(repo, _)| {
            Source::Address(repo.to_owned())
        }),
        ..about
    };
    file.runs(&about);
    let before = file.found.pins.len();
    for (key, place) in [
        ("tag", "OCIRepository spec.ref.tag"),
        ("semver", "OCIRepository spec.ref.semver"),
        ("digest", "OCIRepository spec.ref.digest"),
    ] {
        let about = About {
            is_tag: key == "tag",
            ..about.clone()
        };
        let version = reader.at(node, &["spec", "ref", key]);
        pin(file, layer, version, place, &about);
    }
    // Source: source-controller.
    winner(file, reader, node, before, &["digest", "semver", "tag"]);
    for pin in &mut file.found.pins[before..] {
        if pin.place.ends_with(".tag") && pin.value.contains('@') {
            pin.editable = false;
            pin.why =
                Some("Flux refuses a digest in `tag`: `digest` beside it is for that".to_owned());
        }
    }
}

/// Of several keys of `spec.ref` the first one counts.
fn winner(file: &mut File<'_>, reader: Reader<'_>, node: &Node, before: usize, order: &[&str]) {
    let is_there = |key: &&&str| {
        let text = reader.text(node, &["spec", "ref", key]);
        text.is_some_and(|text| !text.is_empty())
    };
    let Some(winner) = order.iter().find(is_there) else {
        return;
    };
    for pin in &mut file.found.pins[before..] {
        let own = pin.place.rsplit('.').next().unwrap_or_default();
        if own != *winner {
            pin.effective = false;
            pin.why = Some(format!("`spec.ref.{winner}` beside it wins"));
        }
    }
}

fn git(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node, about: &About) {
    let url = reader.text(node, &["spec", "url"]);
    let about = About {
        source: url.map_or(Source::Unknown, |url| Source::Address(url.to_owned())),
        ..about.clone()
    };
    let before = file.found.pins.len();
    for key in ["tag", "semver", "commit"] {
        if let Some(value) = reader.at(node, &["spec", "ref", key]) {
            let place = format!("GitRepository spec.ref.{key}");
            file.pin(layer, value, Kind::Git, &place, &about);
        }
    }
    if let Some(name) = reader.at(node, &["spec", "ref", "name"])
        && let Some(tag) = name
            .as_str()
            .and_then(|name| name.strip_prefix("refs/tags/"))
    {
        let place = "GitRepository spec.ref.name";
        kustomize::part(file, layer, (name, tag), Kind::Git, place, &about);
    }
    // Source: source-controller; a branch is the weakest, and no pin.
    winner(
        file,
        reader,
        node,
        before,
        &["commit", "name", "semver", "tag"],
    );
}

/// Remembers where a source points.
fn source(file: &mut File<'_>, reader: Reader<'_>, node: &Node, kind: &str) {
    let text = |keys: &[&str]| reader.text(node, keys).map(str::to_owned);
    file.found.facts.sources.push(SourceFact {
        file: file.path.clone(),
        kind: kind.to_owned(),
        namespace: text(&["metadata", "namespace"]),
        name: text(&["metadata", "name"]).unwrap_or_default(),
        address: text(&["spec", "url"]).unwrap_or_default(),
    });
}

/// Remembers where variables come from, and which namespace the folder gets.
fn remember(file: &mut File<'_>, reader: Reader<'_>, node: &Node, object: &str) {
    let inline = reader.at(node, &["spec", "postBuild", "substitute"]);
    let inline = inline.into_iter().flat_map(Node::entries);
    let from = reader.items(node, &["spec", "postBuild", "substituteFrom"]);
    let substitution = Substitution {
        file: file.path.clone(),
        object: object.to_owned(),
        inline: inline
            .filter_map(|(key, _)| key.as_str().map(str::to_owned))
            .collect(),
        from: from
            .filter_map(|from| {
                let text = |key: &str| reader.text(from, &[key]).map(str::to_owned);
                Some((text("kind")?, text("name")?))
            })
            .collect(),
    };
    if !substitution.inline.is_empty() || !substitution.from.is_empty() {
        file.found.facts.substitutions.push(substitution);
    }
    let namespace = reader.text(node, &["spec", "targetNamespace"]);
    if let Some(path) = reader.text(node, &["spec", "path"]) {
        file.found.facts.kustomizations.push(KustomizationFact {
            file: file.path.clone(),
            is_object: true,
            folder: None,
            namespace: namespace.map(str::to_owned),
            resources: vec![path.to_owned()],
        });
    }
}

fn kustomization(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    about: &About,
) {
    remember(
        file,
        reader,
        node,
        about.object.as_deref().unwrap_or_default(),
    );
    if reader.text(node, &["spec", "sourceRef", "kind"]) == Some("OCIRepository") {
        let of = artifact(file, reader, node, &["spec", "sourceRef"]);
        file.found.facts.manifests.extend(of);
    }
    kustomize::patches(
        file,
        layer,
        reader,
        node,
        &["spec", "patches"],
        "Kustomization spec.patches",
    );
    kustomize::image_list(
        file,
        layer,
        reader,
        reader.at(node, &["spec", "images"]),
        "Kustomization spec.images",
        about,
    );
    if let Some(variables) = reader.at(node, &["spec", "postBuild", "substitute"]) {
        define(
            file,
            layer,
            reader,
            variables,
            "Kustomization spec.postBuild.substitute",
            about,
        );
    }
}

/// A ConfigMap or a Secret may define variables; whether one is used for a version is known when all files are.
pub(super) fn variables(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    (kind, key): (&str, &str),
) {
    let about = About {
        object: Some(identity(reader, node, kind)),
        ..About::default()
    };
    let Some(data) = reader.at(node, &[key]) else {
        return;
    };
    define(file, layer, reader, data, &format!("{kind} {key}"), &about);
    // Values of a chart, which a release takes by `valuesFrom`.
    for (name, text) in data.entries() {
        let is_values = name.as_str().is_some_and(|name| name.ends_with(".yaml"));
        let has_tag = text.as_str().is_some_and(|text| text.contains("tag:"));
        if let Some(inner) = layer
            .inner(text, file.text)
            .filter(|_| is_values && has_tag)
        {
            let (inner, stream, _) = templates::read(inner);
            for root in stream.roots() {
                let place = format!("{kind} {key} values");
                let reader = file.reader(root);
                values::images(file, &inner, reader, root, &place, &about);
            }
        }
    }
}

fn define(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    variables: &Node,
    place: &str,
    about: &About,
) {
    let beside = values::texts_of("", variables);
    for (key, value) in variables.entries() {
        let (Some(name), Some(node)) = (key.as_str(), reader.resolve(value)) else {
            continue;
        };
        if node.is_mapping() && place.starts_with("ResourceSet") {
            define(file, layer, reader, node, place, about);
        }
        if !node.as_str().is_some_and(values::may_be_pinned) {
            continue;
        }
        if let Some(pin) = file.pin_of(layer, node, Kind::Chart, place, about) {
            let scope = if place.starts_with("ResourceSet") {
                file.scope()
            } else {
                Scope::Flux
            };
            file.define(scope, name, pin, &beside);
        }
    }
}

/// Inputs are variables of `<< inputs.name >>`; resources are objects.
fn resource_set(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    about: &About,
) {
    for input in reader.items(node, &["spec", "inputs"]) {
        define(file, layer, reader, input, "ResourceSet spec.inputs", about);
    }
    for resource in reader.items(node, &["spec", "resources"]) {
        file.object(layer, reader, resource);
    }
    if let Some(template) = reader.at(node, &["spec", "resourcesTemplate"]) {
        kustomize::nested(file, layer, template);
    }
}
