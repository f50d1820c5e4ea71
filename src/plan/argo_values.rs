//! A release that an Application of Argo CD deploys, and where its values stand.

use anyhow::Result;
use serde_json::{Map, Value};

use super::chart_files::merged;
use super::release_values::{Controller, Described, Form, Layer, Owner, strings, text, values_of};
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Tree, read_text};
use crate::pins::Pin;
use crate::yaml::Route;

/// An Application and where it stands.
pub(super) struct Application<'a> {
    pub(super) file: &'a RepoPath,
    pub(super) document: usize,
    pub(super) value: &'a Value,
}

/// Describes the release of an Application's source with the pin's chart.
///
/// Source: Argo CD puts `valueFiles` in their order below the values of the source, which are `valuesObject`, or `values` where that isn't there: the
/// two are never merged (`ApplicationSourceHelm.ValuesYAML`). `parameters` and `fileParameters` win over both, as Helm's `--set` does.
///
/// # Errors
/// When the repository can't be read.
pub(super) fn describe(
    tree: &dyn Tree,
    pin: &Pin,
    application: &Application<'_>,
    name: &str,
) -> Result<Option<Described>> {
    let Some(spec) = application.value.get("spec") else {
        return Ok(None);
    };
    let route = Route::root().key("spec");
    let many = spec.get("sources").and_then(Value::as_array);
    let many = many.into_iter().flatten().enumerate();
    let many = many.map(|(index, source)| (route.key("sources").index(index), source));
    let one = spec
        .get("source")
        .map(|source| (route.key("source"), source));
    let chart = pin.chart.as_deref().unwrap_or_default();
    let mut sources = many.chain(one);
    let Some((route, source)) = sources.find(|(_, source)| text(source, "/chart") == chart) else {
        return Ok(None);
    };
    let nothing = Value::Object(Map::new());
    let helm = source.get("helm").unwrap_or(&nothing);
    let mut values = Some(nothing.clone());
    let mut layers = Vec::new();
    // Whether something that isn't known wins over the last layer.
    let mut is_topped = false;
    for file in strings(helm, "valueFiles") {
        // `$ref/path` is a file of a repository, and here of this one; any other is the chart's own.
        let path = file.strip_prefix('$').and_then(|rest| rest.split_once('/'));
        let path = path.and_then(|(_, path)| RepoPath::parse(path).ok());
        let part = match &path {
            Some(path) => read_text(tree, path)?.and_then(|text| values_of(&text)),
            None => None,
        };
        match part {
            Some(part) => {
                values = values.map(|values| merged(values, &part));
                layers.extend(path.map(Layer::whole));
                is_topped = false;
            }
            None => {
                values = None;
                is_topped = true;
            }
        }
    }
    let object = helm.get("valuesObject").filter(|object| !object.is_null());
    let written = helm.get("values").and_then(Value::as_str);
    let written = written.filter(|text| object.is_none() && !text.trim().is_empty());
    let own = match (object, written) {
        (Some(object), _) => Some(object.clone()),
        (None, Some(written)) => values_of(written),
        (None, None) => Some(nothing.clone()),
    };
    values = values.zip(own).map(|(values, own)| merged(values, &own));
    if object.is_some() || written.is_some() || layers.is_empty() || is_topped {
        let key = match written {
            Some(_) => "values",
            None => "valuesObject",
        };
        layers.push(Layer {
            file: application.file.clone(),
            document: application.document,
            route: route.key("helm").key(key),
        });
    }
    let overrides = overrides(helm);
    if !overrides.is_empty() {
        values = None;
    }
    let release = match text(helm, "/releaseName") {
        "" => name,
        said => said,
    };
    Ok(Some(Described {
        owner: Owner {
            controller: Controller::Argo,
            namespace: text(application.value, "/metadata/namespace").to_owned(),
            name: name.to_owned(),
        },
        release: release.to_owned(),
        namespace: text(spec, "/destination/namespace").to_owned(),
        source: Form::Other,
        layers,
        overrides,
        patched_in: None,
        values,
        pin: pin.clone(),
    }))
}

/// The names of values that are set over all others.
fn overrides(helm: &Value) -> Vec<String> {
    let lists = ["parameters", "fileParameters"].map(|key| helm.get(key));
    let all = lists.into_iter().flatten().filter_map(Value::as_array);
    all.flatten()
        .map(|one| text(one, "/name").to_owned())
        .collect()
}

#[cfg(test)]
#[path = "tests_argo_values.rs"]
mod tests;
