//! Places of Argo CD: Applications and ApplicationSets, and of Kargo's Warehouses.
//!
//! Source: Argo CD's CRDs (argoproj.io/v1alpha1) and the documentation of ApplicationSet's generators.

use super::facts::{Beside, GeneratorFact, KustomizationFact, Scope};
use super::file::{About, File};
use super::flux::identity;
use super::found::{Form, Kind, Source};
use super::kustomize;
use super::layer::Layer;
use super::node::Reader;
use super::templates::{self, HOLE, is_made};
use super::values::{self, texts_of};
use crate::model::range::lenient_version;
use crate::model::repo_path::RepoPath;
use crate::yaml::{self, Node};

/// Looks at an object of Argo CD.
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
        "Application" => spec(file, layer, reader, node, "Application spec", &about),
        "ApplicationSet" => {
            if let Some(template) = reader.at(node, &["spec", "template"]) {
                let place = "ApplicationSet spec.template.spec";
                spec(file, layer, reader, template, place, &about);
            }
            for generator in reader.items(node, &["spec", "generators"]) {
                self::generator(file, layer, reader, generator, &about);
            }
            if let Some(patch) = reader.at(node, &["spec", "templatePatch"]) {
                template_patch(file, layer, patch, &about);
            }
        }
        _ => {}
    }
}

/// The sources of an Application, wherever its `spec` is.
fn spec(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    place: &str,
    about: &About,
) {
    let before = file.found.pins.len();
    if let Some(one) = reader.at(node, &["spec", "source"]) {
        source(file, layer, reader, one, &format!("{place}.source"), about);
    }
    if reader.items(node, &["spec", "sources"]).next().is_some() {
        ignored(
            file,
            before,
            "Argo CD ignores `source` where `sources` is set",
        );
    }
    for (index, one) in reader.items(node, &["spec", "sources"]).enumerate() {
        source(
            file,
            layer,
            reader,
            one,
            &format!("{place}.sources[{index}]"),
            about,
        );
    }
    if let Some(dry) = reader.at(node, &["spec", "sourceHydrator", "drySource"]) {
        source(
            file,
            layer,
            reader,
            dry,
            &format!("{place}.sourceHydrator.drySource"),
            about,
        );
    }
}

/// Marks the pins from one on as read by nothing.
fn ignored(file: &mut File<'_>, from: usize, why: &str) {
    for pin in &mut file.found.pins[from..] {
        pin.effective = false;
        pin.why = Some(why.to_owned());
    }
}

/// One source: a chart where it names one or is an OCI artifact, else a revision of Git.
fn source(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    place: &str,
    about: &About,
) {
    let repo = reader.text(node, &["repoURL"]).unwrap_or_default();
    let chart = reader
        .text(node, &["chart"])
        .filter(|chart| !chart.is_empty());
    // An OCI artifact of its own has the chart's name in its address; a Helm source hasn't, and no scheme.
    let native = (chart.is_none() && repo.starts_with("oci://"))
        .then(|| repo.trim_end_matches('/').rsplit_once('/'))
        .flatten();
    let (address, chart, kind) = match (chart, native) {
        (Some(chart), _) if !repo.contains("://") => {
            (format!("oci://{repo}"), Some(chart), Kind::Chart)
        }
        (Some(chart), _) => (repo.to_owned(), Some(chart), Kind::Chart),
        (None, Some((address, name))) => (address.to_owned(), Some(name), Kind::Chart),
        (None, None) => (repo.to_owned(), None, Kind::Git),
    };
    let about = About {
        chart: chart.map(str::to_owned),
        source: if repo.is_empty() {
            Source::Unknown
        } else {
            Source::Address(address)
        },
        ..about.clone()
    };
    file.runs(&about);
    if let Some(revision) = reader.at(node, &["targetRevision"]) {
        let is_moving = kind == Kind::Git && revision.as_str().is_some_and(is_branch);
        let before = file.found.pins.len();
        if !is_moving {
            file.pin(
                layer,
                revision,
                kind,
                &format!("{place}.targetRevision"),
                &about,
            );
        }
        // A folder that has options of Helm is a chart of that repository.
        let folder = reader
            .text(node, &["path"])
            .filter(|_| reader.get(node, "helm").is_some());
        let folder = folder.and_then(|path| path.trim_end_matches('/').rsplit('/').next());
        // Argo CD takes whatever reads as a version for one, `1.2` too (`util/versions`).
        for pin in &mut file.found.pins[before..] {
            if pin.kind == Kind::Git {
                pin.chart = folder
                    .filter(|name| !name.contains(['{', HOLE]))
                    .map(str::to_owned);
            }
            if pin.form == Form::Range && lenient_version(&pin.value).is_some() {
                pin.form = Form::Exact;
            }
        }
    }
    value_files(file, reader, node);
    parts(file, layer, reader, node, place, &about);
}

/// Files of values of a chart that lies in a repository: a path that begins with `/` is seen from its top, any other from the chart
/// (Argo CD's documentation of Helm, "Values Files").
fn value_files(file: &mut File<'_>, reader: Reader<'_>, node: &Node) {
    let chart = reader.text(node, &["path"]).map(RepoPath::parse);
    let Some(Ok(chart)) = chart else {
        return;
    };
    for one in reader.items(node, &["helm", "valueFiles"]) {
        let Some(text) = one.as_str() else {
            continue;
        };
        let glob = match text.strip_prefix('/') {
            Some(absolute) => with_stars(absolute),
            None => with_stars(&format!("{chart}/{text}")),
        };
        file.found.facts.generators.push(GeneratorFact {
            reader: Scope::Chart(Some(chart.clone())),
            glob,
        });
    }
}

/// A path with `*` for each part that a generator fills in.
fn with_stars(path: &str) -> String {
    let mut glob = String::new();
    let mut rest = path;
    while let Some((before, inside)) = rest.split_once("{{") {
        glob.push_str(before);
        glob.push('*');
        rest = inside.split_once("}}").map_or("", |(_, after)| after);
    }
    glob.push_str(rest);
    glob.replace(HOLE, "*")
}

/// What moves by itself is no pin.
fn is_branch(revision: &str) -> bool {
    !values::may_be_pinned(revision) && !revision.contains(['{', '$', HOLE])
}

/// Images in a source's parameters, values and kustomize options.
fn parts(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    place: &str,
    about: &About,
) {
    let object = About {
        object: about.object.clone(),
        ..About::default()
    };
    for parameter in reader.items(node, &["helm", "parameters"]) {
        let name = reader.text(parameter, &["name"]).unwrap_or_default();
        if let Some(value) = reader.at(parameter, &["value"])
            && name.to_lowercase().ends_with("tag")
        {
            let place = format!("{place}.helm.parameters {name}");
            file.pin(layer, value, Kind::Image, &place, &object);
        }
    }
    if let Some(tree) = reader.at(node, &["helm", "valuesObject"]) {
        values::images(
            file,
            layer,
            reader,
            tree,
            &format!("{place}.helm.valuesObject"),
            &object,
        );
    }
    let before = file.found.pins.len();
    if let Some(text) = reader.at(node, &["helm", "values"])
        && let Some(inner) = layer.inner(text, file.text)
    {
        let stream = yaml::parse(&inner.text.clone());
        for root in stream.roots() {
            let reader = file.reader(root);
            values::images(
                file,
                &inner,
                reader,
                root,
                &format!("{place}.helm.values"),
                &object,
            );
        }
    }
    if reader.at(node, &["helm", "valuesObject"]).is_some() {
        ignored(file, before, "`valuesObject` beside it wins over `values`");
    }
    for image in reader.items(node, &["kustomize", "images"]) {
        let text = image.as_str().unwrap_or_default();
        let new = text.split_once('=').map_or(text, |(_, new)| new);
        let after = new.rsplit('/').next().unwrap_or_default();
        // `name:tag` or `name@sha256:…`
        if let Some((name, tag)) = after.split_once('@').or_else(|| after.split_once(':')) {
            let about = About {
                chart: Some(name.to_owned()),
                ..object.clone()
            };
            let place = format!("{place}.kustomize.images");
            kustomize::part(file, layer, (image, tag), Kind::Image, &place, &about);
        }
    }
    if let Some(path) = reader.text(node, &["path"]).filter(|path| !is_made(path)) {
        file.found.facts.kustomizations.push(KustomizationFact {
            file: file.path.clone(),
            is_object: true,
            folder: None,
            namespace: None,
            resources: vec![path.to_owned()],
        });
    }
    kustomize::patches(
        file,
        layer,
        reader,
        node,
        &["kustomize", "patches"],
        &format!("{place}.kustomize.patches"),
    );
}

/// Parameters of a generator may be versions; generators nest.
fn generator(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    about: &About,
) {
    for (key, value) in node.entries() {
        let (Some(kind), Some(value)) = (key.as_str(), reader.resolve(value)) else {
            continue;
        };
        for element in reader.items(value, &["elements"]) {
            let beside = texts_of("", element);
            let place = "ApplicationSet list elements";
            define(file, layer, element, (place, &beside), about);
        }
        if let Some(text) = reader.at(value, &["elementsYaml"])
            && let Some(inner) = layer.inner(text, file.text)
        {
            let stream = yaml::parse(&inner.text.clone());
            for root in stream.roots() {
                for element in root.items() {
                    let beside = texts_of("", element);
                    let place = "ApplicationSet elementsYaml";
                    define(file, &inner, element, (place, &beside), about);
                }
            }
        }
        for files in reader.items(value, &["files"]) {
            if let Some(glob) = reader.text(files, &["path"]) {
                file.found.facts.generators.push(GeneratorFact {
                    reader: file.scope(),
                    glob: glob.trim_start_matches("./").to_owned(),
                });
            }
        }
        if let Some(values) = reader.at(value, &["values"]) {
            let beside = texts_of("values", values);
            let place = format!("ApplicationSet {kind} values");
            define(file, layer, values, (&place, &beside), about);
        }
        if let Some(template) = reader.at(value, &["template"]) {
            let place = format!("ApplicationSet {kind} template.spec");
            spec(file, layer, reader, template, &place, about);
        }
        for inner in reader.items(value, &["generators"]) {
            generator(file, layer, reader, inner, about);
        }
    }
}

fn define(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    node: &Node,
    (place, beside): (&str, &Beside),
    about: &About,
) {
    for (key, value) in node.entries() {
        // What an alias stands for is looked at where its anchor is.
        let Some(name) = key.as_str() else {
            continue;
        };
        if value.is_mapping() {
            define(file, layer, value, (place, beside), about);
        }
        if !value.as_str().is_some_and(values::may_be_pinned) {
            continue;
        }
        if let Some(pin) = file.pin_of(layer, value, Kind::Chart, place, about) {
            file.define(file.scope(), name, pin, beside);
        }
    }
}

/// A patch of the template, in a string; Go templates in it may make it no YAML: then it is read without their braces.
fn template_patch(file: &mut File<'_>, layer: &Layer<'_>, node: &Node, about: &About) {
    let Some(inner) = layer.inner(node, file.text) else {
        return;
    };
    let (inner, stream, _) = templates::read(inner);
    for root in stream.roots() {
        let reader = file.reader(root);
        spec(
            file,
            &inner,
            reader,
            root,
            "ApplicationSet spec.templatePatch spec",
            about,
        );
    }
}

/// `.argocd-source.yaml` overrides what an Application says.
pub(super) fn overrides(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let about = About::default();
    if let Some(revision) = reader.at(node, &["targetRevision"]) {
        file.pin(
            layer,
            revision,
            Kind::Chart,
            ".argocd-source targetRevision",
            &about,
        );
    }
    parts(file, layer, reader, node, ".argocd-source", &about);
}

/// What a Warehouse of Kargo subscribes to.
pub(super) fn warehouse(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    for subscription in reader.items(node, &["spec", "subscriptions"]) {
        let Some(chart) = reader.at(subscription, &["chart"]) else {
            continue;
        };
        let repo = reader.text(chart, &["repoURL"]).unwrap_or_default();
        // Without a name the address is that of the chart, as in an OCIRepository.
        let (address, name) = match reader
            .text(chart, &["name"])
            .filter(|name| !name.is_empty())
        {
            Some(name) => (repo, Some(name)),
            None => match repo.trim_end_matches('/').rsplit_once('/') {
                Some((before, name)) if repo.starts_with("oci://") => (before, Some(name)),
                _ => (repo, None),
            },
        };
        let about = About {
            object: Some(identity(reader, node, "Warehouse")),
            chart: name.map(str::to_owned),
            source: Source::Address(address.to_owned()),
            ..About::default()
        };
        if let Some(range) = reader.at(chart, &["semverConstraint"]) {
            file.pin(
                layer,
                range,
                Kind::Chart,
                "Warehouse subscriptions chart semverConstraint",
                &about,
            );
        }
    }
}
