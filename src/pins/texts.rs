//! What a string at a version's place may hold instead of a version: variables of Flux, parameters of templates.

use std::collections::BTreeMap;
use std::ops::Range;

use super::templates::is_made;

/// A variable of Flux in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The bytes of its default, where it has one that isn't empty.
    pub(super) default: Option<Range<usize>>,
}

/// Every `${name}`, `${name:=default}`, `${name:-default}` and `${name=default}` of a text. `$${name}` is an escape.
///
/// Source: fluxcd/pkg envsubst, as kustomize-controller calls it.
pub(super) fn variables(text: &str) -> Vec<Variable<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("${") {
        let start = from + at;
        let Some(end) = text[start..].find('}').map(|end| start + end) else {
            break;
        };
        from = end + 1;
        if text[..start].ends_with('$') {
            continue;
        }
        let inner = &text[start + 2..end];
        let length = inner
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(inner.len());
        let default = [":=", ":-", "="]
            .into_iter()
            .find(|operator| inner[length..].starts_with(operator))
            .map(|operator| start + 2 + length + operator.len()..end)
            .filter(|default| !default.is_empty());
        found.push(Variable {
            name: &inner[..length],
            default,
        });
    }
    found
}

/// The way to the parameter that `{{ .a.version }}`, `{{version}}` or `<< inputs.version | quote >>` reads, with whatever stands around it.
pub(super) fn parameter(text: &str) -> Option<&str> {
    let between = |open: &str, close: &str| {
        let start = text.find(open)? + open.len();
        let end = start + text[start..].find(close)?;
        Some(&text[start..end])
    };
    let inner = between("{{", "}}").or_else(|| between("<<", ">>"))?;
    let path = inner.trim_matches(|c: char| c == '-' || c.is_whitespace());
    let path = path.split(['|', ' ']).next().unwrap_or_default();
    let path = path.trim_start_matches(['.', '$']);
    Some(path.strip_prefix("inputs.").unwrap_or(path))
}

/// A text with parameters in it, as the values of one element make it. Nothing where one of them has no plain value there, or is changed by a function.
pub(super) fn filled(text: &str, values: &BTreeMap<String, String>) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{").or_else(|| rest.find("<<")) {
        let close = if rest[start..].starts_with('{') {
            "}}"
        } else {
            ">>"
        };
        let end = start + rest[start..].find(close)? + 2;
        let inner = rest[start + 2..end - 2].trim_matches(|c: char| c == '-' || c.is_whitespace());
        if inner.contains([' ', '|', '(']) {
            return None;
        }
        whole.push_str(&rest[..start]);
        whole.push_str(values.get(parameter(&rest[start..end])?)?);
        rest = &rest[end..];
    }
    whole.push_str(rest);
    (!is_made(&whole)).then_some(whole)
}

/// What a Helm template makes of escaped braces: `{{ "{{" }}.version{{ "}}" }}` and ``{{`{{ .version }}`}}`` are for an ApplicationSet.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let inner = text
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .map(|inner| inner.trim_matches(['-', ' ']));
    if let Some(raw) = inner.and_then(|inner| inner.strip_prefix('`')?.strip_suffix('`')) {
        return raw.contains("{{").then(|| raw.to_owned());
    }
    let open = ["{{ \"{{\" }}", "{{\"{{\"}}", "{{ '{{' }}"];
    let open = open.into_iter().find(|open| text.starts_with(open))?;
    let rest = &text[open.len()..];
    let end = rest.find("{{")?;
    Some(format!("{{{{{}}}}}", &rest[..end]))
}

/// Line and column of a byte, both from 1, the column in characters. A byte order mark is none that people count.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let body = text[start..at].trim_start_matches('\u{feff}');
    (line, body.chars().count() + 1)
}

/// A text without the quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_with_their_defaults() {
        let names = |text: &str| -> Vec<(String, Option<String>)> {
            variables(text)
                .into_iter()
                .map(|one| {
                    let default = one.default.map(|range| text[range].to_owned());
                    (one.name.to_owned(), default)
                })
                .collect()
        };
        let one =
            |name: &str, default: Option<&str>| vec![(name.to_owned(), default.map(str::to_owned))];
        assert_eq!(names("${a}"), one("a", None));
        assert_eq!(names("v${a}-x"), one("a", None));
        assert_eq!(names("${a:=a}"), one("a", Some("a")));
        assert_eq!(names("${a:-1.0}"), one("a", Some("1.0")));
        assert_eq!(names("${a=1.0}"), one("a", Some("1.0")));
        assert_eq!(names("${a:=}"), one("a", None));
        assert_eq!(names("${a"), []);
        assert_eq!(names("$${a}$a"), []);
        assert_eq!(names("${a}.${b}").len(), 2);
    }

    #[test]
    fn a_parameter_is_the_way_to_it() {
        assert_eq!(parameter("{{ .a.version }}"), Some("a.version"));
        for text in [
            "{{version}}",
            "v{{- .version | quote }}",
            "{{ $.version }}",
            "<< inputs.version >>",
        ] {
            assert_eq!(parameter(text), Some("version"), "{text}");
        }
        assert_eq!(parameter("1.0.0"), None);
    }

    #[test]
    fn escaped_braces_are_for_another_reader() {
        for text in [
            "{{ \"{{\" }}.version{{ \"}}\" }}",
            "{{`{{ .version }}`}}",
            "{{- ` {{.version}} ` -}}",
        ] {
            let inner = unescaped(text).unwrap_or_default();
            assert_eq!(parameter(&inner), Some("version"), "{text}");
        }
        assert_eq!(unescaped("{{ .Values.version }}"), None);
        assert_eq!(unescaped("{{`text`}}"), None);
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        assert_eq!(position("\u{feff}a: 1\nb: 2", 6), (1, 4));
        assert_eq!(position("é: 1\nbü: 2", 11), (2, 5));
    }
}
