//! The release that a HelmRelease describes, and its values, as far as they stand in the repository.
//!
//! Source: helm-controller puts `valuesFrom` in their order below `values`.

use anyhow::Result;
use serde_json::{Map, Value};

use super::chart_files::merged;
use super::kustomized::{Found, Object};
use super::release_values::{
    Controller, Described, Form, Layer, Owner, SourceRef, may_be_same, text, values_of,
};
use crate::model::tree::{Tree, read_text};
use crate::pins::Pin;
use crate::yaml::Route;

/// The HelmRelease that is meant: its base, and what overlays say over it.
///
/// # Errors
/// When the repository can't be read.
pub(super) fn describe(
    tree: &dyn Tree,
    pin: &Pin,
    found: &Found,
    is: &dyn Fn(&Value) -> bool,
) -> Result<Option<Described>> {
    let Some(parts) = parts(found, is) else {
        return Ok(None);
    };
    let all = parts.iter().map(|one| one.value.clone());
    let release = all.reduce(|base, over| merged(base, &over));
    let release = release.unwrap_or_default();
    let (values, layers) = values(tree, found, &parts, &release)?;
    let name = text(&release, "/metadata/name").to_owned();
    let target = text(&release, "/spec/targetNamespace");
    let namespace = match &found.namespace {
        Some(namespace) => namespace,
        None => text(&release, "/metadata/namespace"),
    };
    let (full, installed_in) = if target.is_empty() {
        (name.clone(), namespace)
    } else {
        (format!("{target}-{name}"), target)
    };
    let said = text(&release, "/spec/releaseName");
    let reference = |pointer: &str, kind: &str| {
        let found = release.pointer(pointer)?;
        (text(found, "/kind") == kind).then(|| SourceRef::of(found))
    };
    let helm = reference("/spec/chart/spec/sourceRef", "HelmRepository");
    let oci = || reference("/spec/chartRef", "OCIRepository");
    let source = helm
        .map(Form::HelmRepository)
        .or_else(|| oci().map(Form::OciRepository))
        .unwrap_or(Form::Other);
    let patched_in = found.patched_in(&name).cloned();
    Ok(Some(Described {
        release: if said.is_empty() {
            full
        } else {
            said.to_owned()
        },
        namespace: installed_in.to_owned(),
        owner: Owner {
            controller: Controller::Flux,
            namespace: namespace.to_owned(),
            name,
        },
        source,
        layers,
        overrides: Vec::new(),
        values: values.filter(|_| patched_in.is_none()),
        patched_in,
        pin: pin.clone(),
    }))
}

/// The objects that make up one HelmRelease; nothing where it isn't there.
fn parts<'f>(found: &'f Found, is: &dyn Fn(&Value) -> bool) -> Option<Vec<&'f Object>> {
    let id = |one: &Object| {
        let said = |pointer| text(&one.value, pointer).to_owned();
        (said("/metadata/name"), said("/metadata/namespace"))
    };
    let own = found.of_kind("HelmRelease");
    let mut own = own.filter(|one| is(&one.value)).map(id);
    let (name, first) = own.next()?;
    let mut named = own
        .filter(|(other, _)| *other == name)
        .map(|(_, namespace)| namespace);
    let namespace = match first.as_str() {
        "" => named
            .find(|namespace| !namespace.is_empty())
            .unwrap_or_default(),
        _ => first,
    };
    let is_part = |one: &&Object| {
        let (other, its) = id(one);
        other == name && may_be_same(&its, &namespace)
    };
    Some(found.of_kind("HelmRelease").filter(is_part).collect())
}

/// The values of a release, unless a part of them stands elsewhere, and where they can be edited.
fn values(
    tree: &dyn Tree,
    found: &Found,
    parts: &[&Object],
    release: &Value,
) -> Result<(Option<Value>, Vec<Layer>)> {
    let mut layers = Vec::new();
    let mut values = Some(Value::Object(Map::new()));
    // Whether something that isn't known wins over the last layer.
    let mut is_topped = false;
    let sources = release
        .pointer("/spec/valuesFrom")
        .and_then(Value::as_array);
    for source in sources.into_iter().flatten() {
        let key = match text(source, "/valuesKey") {
            "" => "values.yaml",
            key => key,
        };
        let part = config_map(tree, found, text(source, "/name"), key)?;
        let is_map = text(source, "/kind") == "ConfigMap" && source.get("targetPath").is_none();
        match part {
            Some((part, layer)) if is_map => {
                values = values.map(|values| merged(values, &part));
                is_topped = layer.is_none();
                layers.extend(layer);
            }
            _ => {
                values = None;
                is_topped = true;
            }
        }
    }
    if let Some(own) = release.pointer("/spec/values") {
        values = values.map(|values| merged(values, own));
    }
    let has_values = |one: &&Object| one.value.pointer("/spec/values").is_some();
    let mut own: Vec<&Object> = parts.iter().copied().filter(has_values).collect();
    // What lies nearest to the pin is this release's alone, a base may be that of others. Without any values there
    // is one place where they can be made.
    let nearest = parts.last().filter(|one| !has_values(one));
    if layers.is_empty() || is_topped || !own.is_empty() {
        own.extend(nearest);
    }
    layers.extend(own.into_iter().map(|one| Layer {
        file: one.file.clone(),
        document: one.document,
        route: Route::root().key("spec").key("values"),
    }));
    Ok((values, layers))
}

/// The values in a ConfigMap, and where they can be edited.
fn config_map(
    tree: &dyn Tree,
    found: &Found,
    name: &str,
    key: &str,
) -> Result<Option<(Value, Option<Layer>)>> {
    if let Some(path) = found.generated(name, key) {
        let values = read_text(tree, path)?.and_then(|text| values_of(&text));
        return Ok(values.map(|values| (values, Some(Layer::whole(path.clone())))));
    }
    let mut maps = found.of_kind("ConfigMap").rev();
    let map = maps.find(|one| text(&one.value, "/metadata/name") == name);
    let data = map.and_then(|map| map.value.get("data")?.get(key)?.as_str());
    Ok(data.and_then(values_of).map(|values| (values, None)))
}
