//! `--values FILE`: a merge patch for the values of a release.

use std::path::Path;

use anyhow::Result;
use serde_json::Value;
use serde_yaml::Value as Yaml;

use crate::command::files;
use crate::error::Problem;
use crate::plan::helm_values;

const HINT: &str =
    "write the keys as they stand in the release's values, and `null` for one that is to go";

/// Whether a file is standard input. It is said where it lies by then, so any file of this name counts.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "-")
}

/// Reads it; `-` is standard input.
///
/// # Errors
/// When it can't be read, isn't YAML, isn't a mapping that says something, or has a number that JSON doesn't know.
pub(super) fn read(path: &Path) -> Result<Value> {
    if is_stdin(path) {
        return Ok(parsed(&files::read_stdin()?, "standard input")?);
    }
    let text = files::read_text(path)?;
    Ok(parsed(&text, &format!("`{}`", path.display()))?)
}

fn parsed(text: &str, shown: &str) -> Result<Value, Problem> {
    let wrong = |why: &serde_yaml::Error| {
        let line = why.location().map(|at| format!(":{}", at.line()));
        Problem::invalid(format!(
            "{shown}{} isn't YAML: {why}",
            line.unwrap_or_default()
        ))
        .hint(HINT)
    };
    let value = helm_values::read(text).map_err(|why| wrong(&why))?;
    let is_encrypted = |one: &Yaml| {
        one.as_str()
            .is_some_and(|text| text.starts_with("ENC[AES256_GCM,"))
    };
    if helm_values::has(&value, &is_encrypted) {
        return Err(Problem::invalid(format!(
            "{shown} is encrypted by SOPS, and what it says would be written as it stands"
        ))
        .hint(
            "give the values in clear where they are no secrets; a secret belongs into a Secret",
        ));
    }
    let is_odd = |one: &Yaml| one.as_f64().is_some_and(|number| !number.is_finite());
    if helm_values::has(&value, &is_odd) {
        return Err(Problem::invalid(format!(
            "{shown} has `.inf` or `.nan`, which Helm's values can't carry"
        ))
        .hint("write a number, or the word in quotes"));
    }
    let value = serde_json::to_value(&value).map_err(|why| {
        Problem::invalid(format!("{shown} isn't a mapping of values: {why}")).hint(HINT)
    })?;
    match &value {
        Value::Object(map) if !map.is_empty() => Ok(value),
        Value::Object(_) | Value::Null => Err(Problem::invalid(format!(
            "{shown} says nothing: no value would be corrected"
        ))
        .hint(HINT)),
        _ => Err(Problem::invalid(format!("{shown} isn't a mapping of values")).hint(HINT)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_may_be_keys() {
        assert_eq!(
            parsed("1: {a: null}", "x").unwrap(),
            json!({"1": {"a": null}})
        );
    }

    #[test]
    fn what_would_become_something_else_is_refused() {
        for (text, word) in [
            ("a: {b: [.inf]}", ".inf"),
            ("a: -.inf", ".inf"),
            ("a: .nan", ".nan"),
            (
                "a: 'ENC[AES256_GCM,data:x,type:str]'\nsops: {version: 3.8}",
                "SOPS",
            ),
            ("<<: 1", "isn't YAML"),
            ("a: [", "x:2 isn't YAML"),
            ("- a", "isn't a mapping"),
            ("", "says nothing"),
            ("{}", "says nothing"),
        ] {
            let why = parsed(text, "x").unwrap_err();
            assert!(why.to_string().contains(word), "{why}");
        }
    }
}
