//! Places of other controllers that install charts: K3s, Rancher's Fleet, Crossplane, Cluster API, Sveltos.
//!
//! Source: the documentation of K3s' Helm controller (helm.cattle.io/v1) and of `fleet.yaml`, and the CRDs of provider-helm (helm.crossplane.io),
//! the add-on provider for Helm (addons.cluster.x-k8s.io) and Sveltos (config.projectsveltos.io).

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
    let about = release(file, layer, reader, spec, KEYS, (place, Some(object)));
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
            let reader = file.reader(root);
            values::images(file, &inner, reader, root, place, &about);
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
        let place = "fleet.yaml helm.version";
        release(file, layer, reader, helm, KEYS, (place, None));
        if let Some(tree) = reader.get(helm, "values") {
            let about = About::default();
            values::images(file, layer, reader, tree, "fleet.yaml helm.values", &about);
        }
    }
}

/// Keys of a chart's name, its address and its version.
type Keys = [&'static str; 3];

const KEYS: Keys = ["chart", "repo", "version"];

/// An object of a controller whose places are one mapping, or a list of them.
pub(super) fn other(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    kind: &str,
) {
    let (way, keys, place): (&[&str], Keys, &str) = match kind {
        "Release" => (
            &["spec", "forProvider", "chart"],
            ["name", "repository", "version"],
            "Release spec.forProvider.chart.version",
        ),
        "HelmChartProxy" => (
            &["spec"],
            ["chartName", "repoURL", "version"],
            "HelmChartProxy spec.version",
        ),
        "ClusterProfile" | "Profile" => (
            &["spec", "helmCharts"],
            ["chartName", "repositoryURL", "chartVersion"],
            "ClusterProfile spec.helmCharts chartVersion",
        ),
        _ => return,
    };
    let Some(found) = reader.at(node, way) else {
        return;
    };
    let object = identity(reader, node, kind);
    let one = (!found.is_sequence()).then_some(found);
    for chart in one.into_iter().chain(reader.items(node, way)) {
        let object = Some(object.clone());
        release(file, layer, reader, chart, keys, (place, object));
    }
}

/// One chart; in a registry its name may be its whole address, and behind a repository's name it is `repository/chart`.
fn release(
    file: &mut File<'_>,
    layer: &Layer<'_>,
    reader: Reader<'_>,
    node: &Node,
    [chart, repo, version]: Keys,
    (place, object): (&str, Option<String>),
) -> About {
    let text = |key: &str| reader.text(node, &[key]);
    let chart = text(chart).unwrap_or_default();
    let (repo, name) = match chart.rsplit_once('/') {
        Some((repo, name)) if repo.starts_with("oci://") => (Some(repo), name),
        Some((_, name)) => (text(repo), name),
        None => (text(repo), chart),
    };
    let about = About {
        object,
        chart: (!name.is_empty()).then(|| name.to_owned()),
        source: repo.map_or(Source::Unknown, |repo| Source::Address(repo.to_owned())),
        ..About::default()
    };
    file.runs(&about);
    if let Some(version) = reader.get(node, version) {
        file.pin(layer, version, Kind::Chart, place, &about);
    }
    about
}
