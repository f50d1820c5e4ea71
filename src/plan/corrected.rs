//! Corrected values of a release: a merge patch, put where the values stand, with every other byte as it was.
//!
//! Values stand in layers, each winning over those before it: a shared file, a cluster's own file, the manifest. A value goes into the highest layer, where it
//! counts whatever stands below. One that is taken away goes wherever it stands.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value};

use super::release_values::{Described, Layer};
use crate::error::Problem;
use crate::model::repo_path::RepoPath;
use crate::model::tree::{Overlay, Tree, read_text};
use crate::yaml::{self, Node};

/// Values that were corrected.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// Files with their new texts.
    pub files: BTreeMap<RepoPath, String>,
    /// The keys that were set or taken away, as routes.
    pub keys: Vec<String>,
    /// What else there is to know, a sentence each.
    pub notes: Vec<String>,
    /// All values of the release, as they are then; nothing where a part of them stands elsewhere.
    pub values: Option<Value>,
}

/// Merges a patch into the values of a release.
///
/// # Errors
/// When the values stand nowhere in the repository, can't be edited without touching something else, or aren't what was wanted afterwards.
pub fn correct(tree: &dyn Tree, described: &Described, patch: &Value) -> Result<Corrected> {
    let Value::Object(map) = patch else {
        return Err(
            Problem::invalid("corrected values are a mapping, as in a values file")
                .hint(
                    "write the keys as they stand in the values, and `null` for one that is to go",
                )
                .into(),
        );
    };
    check_overrides(described, map)?;
    if let Some(file) = &described.patched_in {
        return Err(Problem::invalid(format!(
            "`{file}` patches the values of the release `{}`, and isn't followed: a correction below it might change nothing",
            described.release
        ))
        .hint(format!("correct them in `{file}` by hand, and merge that before the version: nothing was written"))
        .into());
    }
    let Some((top, below)) = described.layers.split_last() else {
        return Err(Problem::invalid(format!(
            "it isn't known where the values of the release `{}` stand",
            described.release
        ))
        .hint("correct them by hand, and merge that before the version")
        .into());
    };
    let mut corrected = Corrected {
        files: BTreeMap::new(),
        keys: routes(map, ""),
        notes: Vec::new(),
        values: None,
    };
    apply(tree, top, patch, &mut corrected)?;
    let removed = removals(patch);
    for layer in below.iter().filter(|_| removed != Value::Null) {
        let has_any =
            read(tree, layer, &corrected)?.is_some_and(|values| reaches(&values, &removed));
        if has_any {
            apply(tree, layer, &removed, &mut corrected)?;
            corrected.notes.push(format!(
                "A key is taken out of `{}` too, which other clusters may read.",
                layer.file
            ));
        }
    }
    corrected.values = proven(tree, described, patch, &corrected)?;
    Ok(corrected)
}

/// The places in which a patch changes values of a release.
pub fn places<'d>(described: &'d Described, patch: &Value) -> Vec<&'d Layer> {
    // What is taken away goes wherever it stands.
    let count = match removals(patch) {
        Value::Null => 1,
        _ => described.layers.len(),
    };
    described.layers.iter().rev().take(count).collect()
}

/// Edits one layer.
fn apply(tree: &dyn Tree, layer: &Layer, patch: &Value, corrected: &mut Corrected) -> Result<()> {
    let known = corrected.files.get(&layer.file).cloned();
    let text = match known {
        Some(text) => text,
        None => read_text(tree, &layer.file)?.unwrap_or_default(),
    };
    let stream = yaml::parse(&text);
    let root = stream
        .document(layer.document)
        .and_then(|one| one.root.as_ref());
    if root.is_some_and(is_encrypted) {
        return Err(Problem::invalid(format!(
            "cannot correct the values in `{0}`: it is encrypted by SOPS, and a value in clear would make it unreadable",
            layer.file
        ))
        .hint(format!("correct them by `sops edit {}`, and merge that before the version: nothing was written", layer.file))
        .into());
    }
    let found = root.and_then(|root| root.find(&layer.route).ok());
    let is_text = found.is_some_and(|one| one.as_str().is_some_and(|text| !text.is_empty()));
    let merge = match is_text {
        true => yaml::patch::merge_within,
        false => yaml::patch::merge,
    };
    let merged = merge(&text, layer.document, &layer.route, patch).map_err(|why| {
        let line = why.position().map(|position| format!(":{}", position.line));
        let problem = Problem::invalid(format!(
            "cannot correct the values in `{}`{}: {why}",
            layer.file,
            line.unwrap_or_default()
        ));
        let hint = why.hint().unwrap_or_else(|| {
            "correct them by hand, and merge that before the version: nothing was written"
                .to_owned()
        });
        problem.hint(hint)
    })?;
    if merged != text {
        corrected.files.insert(layer.file.clone(), merged);
    }
    Ok(())
}

/// What a layer says.
fn read(tree: &dyn Tree, layer: &Layer, corrected: &Corrected) -> Result<Option<Value>> {
    let text = match corrected.files.get(&layer.file) {
        Some(text) => Some(text.clone()),
        None => read_text(tree, &layer.file)?,
    };
    let documents = text.map(|text| super::release_values::documents(&text));
    let value = documents.and_then(|all| all.into_iter().nth(layer.document));
    let pointer: String = layer
        .route
        .steps()
        .iter()
        .map(|step| format!("/{}", step.to_string().replace("\\.", ".")))
        .collect();
    let value = value.and_then(|value| value.pointer(&pointer).cloned());
    Ok(match value {
        Some(Value::String(text)) => super::release_values::values_of(&text),
        other => other,
    })
}

/// Whether SOPS has encrypted a document: its own entry stands in it, or a value that it wrote.
fn is_encrypted(root: &Node) -> bool {
    let has_entry = root.get("sops").is_some_and(Node::is_mapping);
    let leaves = root.leaves();
    let mut texts = leaves.iter().filter_map(|(_, one)| one.as_str());
    has_entry
        || texts
            .any(|text| text.trim_start().starts_with("ENC[") || text.contains("ENC[AES256_GCM,"))
}

/// A patch for what is set over all layers would change nothing there.
fn check_overrides(described: &Described, map: &Map<String, Value>) -> Result<(), Problem> {
    let Some((name, key)) = described.overrides.iter().find_map(|name| {
        let key = touched(map, &helm_keys(name))?;
        Some((name, key))
    }) else {
        return Ok(());
    };
    Err(Problem::invalid(format!(
        "the Application sets `{name}` by a parameter, which wins over all values: correcting `{key}` would not do what was asked for"
    ))
    .hint("correct the Application's `parameters` or `fileParameters` by hand, and merge that before the version: nothing was written"))
}

/// The keys of a name as Helm's `--set` takes it, up to the first index: `a.b\\.c[0].d`.
fn helm_keys(name: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut signs = name.chars();
    while let Some(sign) = signs.next() {
        let last = keys.len() - 1;
        match sign {
            '[' => break,
            '.' => keys.push(String::new()),
            '\\' => keys[last].extend(signs.next()),
            sign => keys[last].push(sign),
        }
    }
    keys
}

/// The route by which a patch reaches what stands at some keys, above or below it.
fn touched(map: &Map<String, Value>, keys: &[String]) -> Option<String> {
    let (first, rest) = keys.split_first()?;
    let value = map.get(first)?;
    match value {
        Value::Object(inner) if !inner.is_empty() && !rest.is_empty() => {
            Some(format!("{first}.{}", touched(inner, rest)?))
        }
        _ => Some(first.clone()),
    }
}

/// The values afterwards, compared with what was wanted.
fn proven(
    tree: &dyn Tree,
    described: &Described,
    patch: &Value,
    corrected: &Corrected,
) -> Result<Option<Value>> {
    let Some(before) = &described.values else {
        return Ok(None);
    };
    let files = corrected.files.iter();
    let after = Overlay {
        under: tree,
        files: files
            .map(|(path, text)| (path.clone(), text.clone().into_bytes()))
            .collect(),
    };
    let Some(after) = described.read_again(&after)? else {
        return Ok(None);
    };
    let wanted = patched(before.clone(), patch);
    if without_empty(&after) == without_empty(&wanted) {
        return Ok(Some(after));
    }
    Err(Problem::invalid(format!(
        "the values of the release `{}` would not be what was asked for: something else than the files in the repository has a say in them",
        described.release
    ))
    .hint("correct them by hand, and merge that before the version: nothing was written")
    .into())
}

/// A merge patch applied (RFC 7386).
pub fn patched(old: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut map = match old {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (key, value) in patch {
        if value.is_null() {
            map.remove(key);
        } else {
            let known = map.remove(key).unwrap_or(Value::Null);
            map.insert(key.clone(), patched(known, value));
        }
    }
    Value::Object(map)
}

/// A key that was emptied says as much as none.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().map(|(key, value)| (key, without_empty(value)));
            let kept = kept.filter(|(_, value)| {
                !value.is_null() && value.as_object().is_none_or(|map| !map.is_empty())
            });
            Value::Object(kept.map(|(key, value)| (key.clone(), value)).collect())
        }
        other => other.clone(),
    }
}

/// What of a patch takes something away; null where nothing does.
fn removals(patch: &Value) -> Value {
    let Value::Object(map) = patch else {
        return Value::Null;
    };
    let mut found = Map::new();
    for (key, value) in map {
        match value {
            Value::Null => {
                found.insert(key.clone(), Value::Null);
            }
            Value::Object(_) => {
                let inner = removals(value);
                if !inner.is_null() {
                    found.insert(key.clone(), inner);
                }
            }
            _ => {}
        }
    }
    match found.is_empty() {
        true => Value::Null,
        false => Value::Object(found),
    }
}

/// Whether values have any of what is to go.
fn reaches(values: &Value, removed: &Value) -> bool {
    let (Value::Object(values), Value::Object(removed)) = (values, removed) else {
        return false;
    };
    removed.iter().any(|(key, inner)| match values.get(key) {
        Some(_) if inner.is_null() => true,
        Some(value) => reaches(value, inner),
        None => false,
    })
}

/// The routes of a patch's ends.
fn routes(map: &Map<String, Value>, above: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (key, value) in map {
        let route = format!("{above}{key}");
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                all.extend(routes(inner, &format!("{route}.")));
            }
            Value::Null => all.push(format!("`{route}` goes")),
            _ => all.push(format!("`{route}`")),
        }
    }
    all
}

#[cfg(test)]
#[path = "tests_corrected.rs"]
mod tests;
