//! Releases of helmfiles, the templates that they inherit, and the repositories that they name.
//!
//! Source: helmfile's documentation of `releases[].inherit`, `templates`, `repositories` and `helmfiles`.

use super::facts::AliasFact;
use super::file::{About, File};
use super::found::{Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use super::templates::is_made;
use crate::yaml::Node;

/// Whether a document is a helmfile by what it has: releases that name a chart, or inherit one.
pub(super) fn is_one(reader: Reader<'_>, node: &Node) -> bool {
    let is_release = |release: &Node| {
        let has = |key: &str| reader.get(release, key).is_some();
        has("name") && (has("chart") || has("inherit"))
    };
    node.get("releases").is_some() && reader.items(node, &["releases"]).any(is_release)
}

/// The releases of a helmfile, and the repositories that they may name in any document.
pub(super) fn releases(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    for repository in reader.items(node, &["repositories"]) {
        let text = |key: &str| reader.text(repository, &[key]);
        if let (Some(name), Some(url)) = (text("name"), text("url")) {
            let address = if text("oci") == Some("true") {
                format!("oci://{}", url.trim_start_matches("oci://"))
            } else {
                url.to_owned()
            };
            file.found.facts.aliases.push(AliasFact {
                file: file.path.clone(),
                name: name.to_owned(),
                address,
            });
        }
    }
    for release in reader.items(node, &["releases"]) {
        self::release(file, layer, reader, node, release);
    }
    elsewhere(file, layer, reader, node);
}

fn release(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    release: &Node,
) {
    // Of several templates a later one wins, and the release wins over all.
    let mut ways = vec![release];
    let mut lost = None;
    let inherited: Vec<&Node> = reader.items(release, &["inherit"]).collect();
    for one in inherited.into_iter().rev() {
        let Some(name) = reader.text(one, &["template"]) else {
            continue;
        };
        match reader.at(node, &["templates", name]) {
            Some(template) => ways.push(template),
            None => lost = Some((one, name)),
        }
    }
    let find = |key: &str| ways.iter().find_map(|way| reader.get(way, key));
    let name = reader.text(release, &["name"]);
    let Some(version) = find("version") else {
        if let Some((at, template)) = lost {
            let of = name.unwrap_or_default();
            let why =
                format!("the release `{of}` inherits `{template}`, which is not in this file");
            file.unread(line_of(file, layer, at), why);
        }
        return;
    };
    let chart = find("chart").and_then(Node::as_str).unwrap_or_default();
    let (alias, chart) = chart.rsplit_once('/').unwrap_or(("", chart));
    let source = if alias.starts_with("oci://") {
        Source::Address(alias.to_owned())
    } else {
        Source::Alias(alias.to_owned())
    };
    let is_own = reader.get(release, "version").is_some();
    let about = About {
        object: name.map(|name| format!("release/{name}")),
        chart: (!chart.is_empty()).then(|| chart.to_owned()),
        source,
        ..About::default()
    };
    let place = if is_own {
        "helmfile releases version"
    } else {
        "helmfile templates version"
    };
    file.pin(layer, version, Kind::Chart, place, &about);
}

/// Tells which helmfiles lie elsewhere. Those of this repository are found by themselves.
fn elsewhere(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    for key in ["helmfiles", "bases"] {
        for one in reader.items(node, &[key]) {
            let Some(path) = one.as_str().or_else(|| reader.text(one, &["path"])) else {
                continue;
            };
            if path.contains("://") || path.contains("git::") {
                let why = format!("the helmfile `{path}` lies elsewhere and is not looked at");
                file.unread(line_of(file, layer, one), why);
            } else if is_made(path) {
                let why = format!("which helmfile `{path}` is depends on a template");
                file.unread(line_of(file, layer, one), why);
            }
        }
    }
}

fn line_of(file: &File<'_>, layer: &Layer<'_>, node: &Node) -> usize {
    let at = layer.offset(node.span.start).unwrap_or(layer.start());
    super::texts::position(file.text, at).0
}
