//! What a node says, and what a merge patch makes of a value (RFC 7386).
//!
//! Owns the reading of types. It is careful: where readers of YAML 1.1 and 1.2
//! disagree about a scalar, it says nothing at all.

use serde_json::{Map, Number, Value};

use crate::yaml::node::{Kind, Node, Scalar, Style};
use crate::yaml::scalar;

/// Returns what every reader takes the node for; `None` where they disagree, or where an alias, a merge key, a tag or a
/// key twice is in it.
pub(super) fn read(node: &Node) -> Option<Value> {
    match &node.kind {
        Kind::Alias(_) => None,
        Kind::Scalar(scalar) => match node.tag.as_deref() {
            None => read_scalar(scalar),
            Some("!!str" | "!") => Some(Value::String(scalar.value.clone())),
            Some(_) => None,
        },
        Kind::Sequence(_) | Kind::Mapping(_) if node.tag.is_some() => None,
        Kind::Sequence(items) => items.iter().map(read).collect(),
        Kind::Mapping(entries) => {
            let mut map = Map::new();
            for (key, value) in entries {
                let name = key.as_str().filter(|_| !key.is_merge_key())?;
                if map.insert(name.to_owned(), read(value)?).is_some() {
                    return None;
                }
            }
            Some(Value::Object(map))
        }
    }
}

fn read_scalar(scalar: &Scalar) -> Option<Value> {
    let text = scalar.value.as_str();
    if scalar.style != Style::Plain || scalar::is_only_text(text) {
        return Some(Value::String(text.to_owned()));
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Value::Null),
        "true" | "True" | "TRUE" => return Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Value::Bool(false)),
        _ => {}
    }
    // YAML 1.1 wants a dot and a sign where there is an exponent.
    let is_for_all = match text.split_once(['e', 'E']) {
        None => true,
        Some((mantissa, exponent)) => mantissa.contains('.') && exponent.starts_with(['-', '+']),
    };
    let number = serde_json::from_str::<Number>(text).ok();
    number.filter(|_| is_for_all).map(Value::Number)
}

/// Writes a number so that readers of YAML 1.1, of 1.2 and of JSON take it for one.
pub(super) fn number(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let dot = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) {
        ""
    } else {
        "+"
    };
    format!("{mantissa}{dot}e{sign}{exponent}")
}

/// What a patch makes of nothing: its maps without the keys that are null.
pub(super) fn fresh(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(key, value)| (key.clone(), fresh(value)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

/// Merges a patch into a value of JSON.
pub(super) fn merged(value: Option<Value>, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut map = match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    for (key, wanted) in patch {
        if wanted.is_null() {
            map.shift_remove(key);
        } else {
            let new = merged(map.get(key).cloned(), wanted);
            map.insert(key.clone(), new);
        }
    }
    Value::Object(map)
}

/// Merges a patch into a value of the second reader, whose keys may be numbers.
pub(super) fn merged_yaml(
    value: Option<serde_yaml::Value>,
    patch: &Value,
) -> Option<serde_yaml::Value> {
    let Value::Object(patch) = patch else {
        return serde_yaml::to_value(patch).ok();
    };
    let mut map = match value {
        Some(serde_yaml::Value::Mapping(map)) => map,
        _ => serde_yaml::Mapping::new(),
    };
    for (name, wanted) in patch {
        let known = map.keys().find(|key| key_text(key).as_ref() == Some(name));
        let key = known.cloned();
        let key = key.unwrap_or_else(|| serde_yaml::Value::String(name.clone()));
        if wanted.is_null() {
            map.remove(&key);
        } else {
            let new = merged_yaml(map.get(&key).cloned(), wanted)?;
            map.insert(key, new);
        }
    }
    Some(serde_yaml::Value::Mapping(map))
}

/// The text of a key, as readers of manifests take it: always a string.
pub(super) fn key_text(key: &serde_yaml::Value) -> Option<String> {
    match key {
        serde_yaml::Value::String(text) => Some(text.clone()),
        serde_yaml::Value::Number(number) => Some(number.to_string()),
        serde_yaml::Value::Bool(is_true) => Some(is_true.to_string()),
        _ => None,
    }
}
