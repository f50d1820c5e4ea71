//! The template engine as layouts use it: its own delimiters, strict, and safe for YAML.
//!
//! `{{ }}`, `${{ }}`, `${VAR}` and `<< >>` belong to Helm, CI systems, Flux and ResourceSets and pass through untouched.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};

use crate::yaml::scalar;

/// Marks templates whose output is YAML, for the formatter.
const YAML: &str = "yaml";

/// Makes the engine over a set of templates by name.
pub(super) fn engine(templates: BTreeMap<String, String>) -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_syntax(syntax());
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_auto_escape_callback(|name| {
        if is_yaml(name) {
            AutoEscape::Custom(YAML.into())
        } else {
            AutoEscape::None
        }
    });
    engine.set_formatter(format_value);
    engine.add_filter("yaml", |text: String| {
        Value::from_safe_string(scalar::quote(&text))
    });
    engine.add_filter("quoted", |text: String| {
        Value::from_safe_string(scalar::quote_always(&text))
    });
    engine.add_filter("part", |text: String| part(&text));
    engine.add_filter("nested", |text: String, indent: usize| {
        Value::from_safe_string(nested(&text, indent))
    });
    engine.set_recursion_limit(64);
    engine.set_loader(move |name| Ok(templates.get(name).cloned()));
    engine
}

fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder()
        .block_delimiters("[%", "%]")
        .variable_delimiters("[=", "=]")
        .comment_delimiters("[##", "##]")
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .expect("the delimiters differ from each other")
}

/// Whether a file of this name holds YAML.
pub(super) fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

/// Refuses to print what could turn into something else when YAML is read: a version `1.10`, the word `on`, a text with `: `.
fn format_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let strict = matches!(state.auto_escape(), AutoEscape::Custom(name) if name == YAML);
    if strict && !value.is_safe() {
        let refuse = |why: String| Err(Error::new(ErrorKind::InvalidOperation, why));
        match value.kind() {
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                if !text.is_empty() && !scalar::is_plain_safe(text) {
                    return refuse(format!(
                        "`{text}` is not safe in YAML as it stands: print it with the filter `yaml`, `quoted` or `nested`, in a comment or between quotes with `part`"
                    ));
                }
            }
            ValueKind::Map | ValueKind::Seq | ValueKind::Iterable => {
                return refuse("a list or a map can't be printed: print its parts".to_owned());
            }
            _ => {}
        }
    }
    match value.kind() {
        // The engine refuses undefined variables before this; what arrives is a condition without `else`.
        ValueKind::Undefined | ValueKind::None => Ok(()),
        _ => out
            .write_str(&value.to_string())
            .map_err(|_| Error::new(ErrorKind::WriteFailure, "cannot write")),
    }
}

/// A text inside a comment or between quotes: it must not be able to end either.
fn part(text: &str) -> Result<Value, Error> {
    if text
        .chars()
        .any(|c| c.is_control() || matches!(c, '"' | '\'' | '\\'))
    {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("`{text}` has a character that ends a comment or a quoted text"),
        ));
    }
    Ok(Value::from_safe_string(text.to_owned()))
}

/// Indents every line that isn't empty; the last newline goes, since the template has its own.
fn nested(text: &str, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let lines = text.trim_end_matches('\n').split('\n').map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!("{pad}{line}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use minijinja::context;

    fn render(name: &str, text: &str) -> Result<String, Error> {
        engine(BTreeMap::from([(name.to_owned(), text.to_owned())]))
            .get_template(name)?
            .render(context! { version => "1.10", word => "on", text => "a: b", plain => "haptic", list => ["a"], empty => "" })
    }

    #[test]
    fn text_of_other_template_languages_passes_untouched() {
        let text = "a: \"{{ .Values.x }}\" # ${{ y }} ${Z} << inputs.v >> {% raw %}\n";
        assert_eq!(render("a.yaml", text).expect("renders"), text);
    }

    #[test]
    fn unsafe_strings_need_a_filter_in_yaml_and_nowhere_else() {
        for expression in ["version", "word", "text"] {
            assert!(
                render("a.yaml", &format!("a: [= {expression} =]\n")).is_err(),
                "{expression}"
            );
            assert!(
                render("a.md", &format!("[= {expression} =]\n")).is_ok(),
                "{expression}"
            );
        }
        assert_eq!(
            render("a.yaml", "a: [= version | yaml =]\nb: [= plain =]-x\n").expect("renders"),
            "a: \"1.10\"\nb: haptic-x\n"
        );
        assert!(render("a.yaml", "a: [= list =]\n").is_err());
    }

    #[test]
    fn an_undefined_variable_is_an_error_in_output_and_condition() {
        assert!(render("a.yaml", "a: [= nothing =]\n").is_err());
        assert!(render("a.yaml", "[% if nothing %]\na: 1\n[% endif %]\n").is_err());
    }
}
