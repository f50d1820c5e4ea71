//! Places of K3s and of Rancher's Fleet: the HelmChart that K3s installs, and `fleet.yaml`.
//!
//! Source: K3s' documentation of its Helm controller (helm.cattle.io/v1), and Fleet's reference of `fleet.yaml`.

use super::file::{About, File};
use super::flux::identity;
use super::found::{Kind, Source};
use super::layer::Layer;
use super::node::Reader;
use super::{templates, values};
use crate::yaml::Node;

/// A HelmChart of K3s.
pub(super) fn chart(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let object = identity(reader, node, "HelmChart");
    let Some(spec) = reader.get(node, "spec") else {
        return;
    };
    let place = "HelmChart (K3s) spec.version";
    let about = release(file, layer, reader, spec, (place, Some(object)));
    if let Some(text) = reader.get(spec, "valuesContent")
        && let Some(inner) = layer.inner(text, file.text)
    {
        let (inner, stream, _) = templates::read(inner);
        let about = About {
            object: about.object,
            ..About::default()
        };
        for root in stream.roots() {
            let place = "HelmChart (K3s) spec.valuesContent";
            values::images(file, &inner, Reader { root }, root, place, &about);
        }
    }
}

/// A `fleet.yaml`, with what it changes for some clusters.
pub(super) fn fleet(file: &mut File<'_>, layer: &Layer<'_>, reader: Reader<'_>, node: &Node) {
    let whole = std::iter::once(node);
    for one in whole.chain(reader.items(node, &["targetCustomizations"])) {
        let Some(helm) = reader.get(one, "helm") else {
            continue;
        };
        release(file, layer, reader, helm, ("fleet.yaml helm.version", None));
        if let Some(tree) = reader.get(helm, "values") {
            let about = About::default();
            values::images(file, layer, reader, tree, "fleet.yaml helm.values", &about);
        }
    }
}

/// A chart by `chart`, `repo` and `version`; in a registry `chart` is its whole address.
fn release(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    (place, object): (&str, Option<String>),
) -> About {
    let text = |key: &str| reader.text(node, &[key]);
    let chart = text("chart").unwrap_or_default();
    let (repo, name) = match chart.rsplit_once('/') {
        Some((repo, name)) if repo.starts_with("oci://") => (Some(repo), name),
        _ => (text("repo"), chart),
    };
    let about = About {
        object,
        chart: (!name.is_empty()).then(|| name.to_owned()),
        source: repo.map_or(Source::Unknown, |repo| Source::Address(repo.to_owned())),
    };
    if let Some(version) = reader.get(node, "version") {
        file.pin(layer, version, Kind::Chart, place, &about);
    }
    about
}
