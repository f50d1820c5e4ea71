//! Text of templates read as YAML: what stands between braces becomes a hole of as many bytes, so that every place stays where it is.

use std::ops::Range;

use super::layer::Layer;
use crate::yaml::{self, Node, Stream};

/// Stands for what a template makes. Nobody writes it: it is of Unicode's private area.
pub(super) const HOLE: char = '\u{e000}';

/// Whether a template or a variable makes a text, or a part of it.
pub(super) fn is_made(text: &str) -> bool {
    text.contains(HOLE) || ["${", "{{", "<<"].iter().any(|open| text.contains(open))
}

/// Reads a layer; where it is no YAML because of braces, without them. Says whether it was read so.
pub(super) fn read(layer: Layer<'_>) -> (Layer<'_>, Stream, bool) {
    let stream = yaml::parse(&layer.text);
    let has_braces = layer.text.contains("{{") || layer.text.contains("<<");
    if !has_braces || stream.errors.is_empty() && !stream.roots().any(has_bare_braces) {
        return (layer, stream, false);
    }
    match without_braces(&layer) {
        Some((masked, again)) if again.errors.len() <= stream.errors.len() => (masked, again, true),
        _ => (layer, stream, false),
    }
}

/// Reads a layer without its braces, where it has some.
pub(super) fn without_braces<'a>(layer: &Layer<'a>) -> Option<(Layer<'a>, Stream)> {
    let masked = masked(&layer.text)?;
    let stream = yaml::parse(&masked);
    Some((layer.clone().masked(masked), stream))
}

/// `{{ x }}` without quotes is a mapping whose key is a mapping, for a reader of YAML.
fn has_bare_braces(node: &Node) -> bool {
    node.entries()
        .any(|(key, value)| key.is_mapping() || has_bare_braces(value))
        || node.items().any(has_bare_braces)
}

/// The text with holes, byte for byte as long; nothing where it has no braces.
fn masked(text: &str) -> Option<String> {
    let actions = actions(text);
    let mut masked = String::with_capacity(text.len());
    // The line that was looked at last, and whether it has actions alone.
    let (mut line, mut is_alone) = (0..0, false);
    for (index, action) in actions.iter().enumerate() {
        masked.push_str(&text[masked.len()..action.start]);
        let is_long = text[action.clone()].contains('\n');
        if !is_long && action.start >= line.end {
            line = line_around(text, action);
            // One of several lines may end in this one.
            let before = index.checked_sub(1).map_or(0, |before| actions[before].end);
            let rest = line.start.max(before)..line.end;
            is_alone = has_actions_alone(text, &rest, &actions[index..]);
        }
        if is_long || is_alone && line.contains(&action.start) {
            let blank = |byte| {
                if matches!(byte, b'\n' | b'\r') {
                    byte
                } else {
                    b' '
                }
            };
            let blanks = text[action.clone()].bytes().map(blank);
            masked.extend(blanks.map(char::from));
        } else {
            masked.push_str(&HOLE.to_string().repeat(action.len() / HOLE.len_utf8()));
            masked.push_str(&"_".repeat(action.len() % HOLE.len_utf8()));
        }
    }
    masked.push_str(&text[masked.len()..]);
    (!actions.is_empty()).then_some(masked)
}

fn line_around(text: &str, action: &Range<usize>) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text.as_bytes()[..action.start]).map_or(0, |at| at + 1);
    let end = memchr::memchr(b'\n', &text.as_bytes()[action.end..]);
    start..end.map_or(text.len(), |at| action.end + at)
}

/// Whether a line has nothing else than actions, the first of these first: then it makes whole lines, or none.
fn has_actions_alone(text: &str, line: &Range<usize>, actions: &[Range<usize>]) -> bool {
    let mut at = line.start;
    for action in actions.iter().take_while(|action| action.start < line.end) {
        if !text[at..action.start].trim().is_empty() {
            return false;
        }
        at = action.end;
    }
    text[at.min(line.end)..line.end].trim().is_empty()
}

/// Where the actions of a text stand: `{{ … }}` of Go's templates, and `<< … >>` of a ResourceSet on one line.
pub(super) fn actions(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'{', b'<', &bytes[from..]) {
        let start = from + at;
        if bytes.get(start + 1) != Some(&bytes[start]) {
            from = start + 1;
        } else if bytes[start] == b'{' {
            // What isn't closed is no template, nor is anything behind it.
            let Some(end) = end_of_action(text, start) else {
                break;
            };
            found.push(start..end);
            from = end;
        } else {
            let line = memchr::memchr(b'\n', &bytes[start..]).map_or(text.len(), |at| start + at);
            // A merge key has no `>>`.
            let is_merge = bytes.get(start + 2) == Some(&b':');
            from = match text[start..line].find(">>") {
                Some(end) if !is_merge => {
                    found.push(start..start + end + 2);
                    start + end + 2
                }
                Some(_) => start + 2,
                None => line,
            };
        }
    }
    found
}

/// Behind the `}}` of an action. Braces in its strings and comments are none.
///
/// Source: the lexer of Go's text/template.
fn end_of_action(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 2;
    let body = text[at..].trim_start_matches('-').trim_start();
    if body.starts_with("/*") {
        at += text[at..].find("*/")? + 2;
    }
    while at < bytes.len() {
        match bytes[at] {
            b'`' => at += text[at + 1..].find('`')? + 2,
            quote @ (b'"' | b'\'') => {
                at += 1;
                while *bytes.get(at)? != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'}' if bytes.get(at + 1) == Some(&b'}') => return Some(at + 2),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let masked = masked(text).expect("has braces");
        assert_eq!(masked.len(), text.len());
        let holes = masked.replace('_', "").replace(HOLE, "?");
        holes
            .replace("????", "?")
            .replace("???", "?")
            .replace("??", "?")
    }

    #[test]
    fn braces_become_holes_of_as_many_bytes() {
        assert_eq!(shown("a: {{ .b }}\n"), "a: ?\n");
        assert_eq!(shown("a: {{.b}}-web\n"), "a: ?-web\n");
        assert_eq!(shown("{{- if x }}\r\na: 1\r\n"), "           \r\na: 1\r\n");
        assert_eq!(shown("{{/* a }} b\nc */}}\nd"), "           \n      \nd");
        assert_eq!(shown("a: {{`{{ \"}}`}}b"), "a: ?b");
        assert_eq!(shown("a: {{ \"}}\\\"\" }}b"), "a: ?b");
        assert_eq!(shown("<<- if a >>\n<<: *b\n"), "           \n<<: *b\n");
        assert_eq!(masked("a: b\n<<: *c"), None);
        assert_eq!(masked("a: {{ b"), None);
        assert_eq!(shown("{{ a\n}} {{ b }}\nc"), "    \n          \nc");
        assert_eq!(shown("a: {b: << c >>}"), "a: {b: ?}");
        assert_eq!(shown("<<: *a # {{ b }} >>"), "<<: *a # ? >>");
    }

    #[test]
    fn nothing_that_is_not_closed_takes_long() {
        for piece in ["{{", "<<", "<<:>>", "{{`", "{{}}", "{<", "${", "a-1.2.3-"] {
            let text = format!("a: {}", piece.repeat(200_000));
            drop(masked(&text));
            drop(super::super::texts::variables(&text));
            assert!(!super::super::values::may_be_pinned(&text));
        }
    }
}
