//! Writing a value in the manner of a file: its indentation, its line breaks, its quotes.
//!
//! Owns the text of new entries and items. Where they go is decided in `block` and `flow`.

use serde_json::{Map, Value};

use super::value::number;
use crate::yaml::node::{Document, Kind, Node, Style};
use crate::yaml::scalar::{self, quote, quote_always, quote_single};

/// How a file is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// The line break.
    pub(super) newline: &'static str,
    /// Columns from a block map to one in it.
    pub(super) step: usize,
    /// Columns from a key to the dashes of its sequence.
    pub(super) dash: usize,
    /// Whether the text is JSON and has to stay so.
    pub(super) json: bool,
    /// Whether text of many lines may become a literal block.
    pub(super) blocks: bool,
}

/// What stands behind a key's colon, and the lines below it, each with its line break before it.
pub(super) struct Below {
    pub(super) head: String,
    pub(super) lines: String,
}

impl Manner {
    /// Looks how a document is written.
    pub(super) fn of(text: &str, document: Option<&Document>) -> Self {
        let mut manner = Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: 0,
            dash: usize::MAX,
            json: serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
            blocks: true,
        };
        if let Some(root) = document.and_then(|document| document.root.as_ref()) {
            manner.look(root);
        }
        manner.step = if manner.step == 0 { 2 } else { manner.step };
        if manner.dash == usize::MAX {
            manner.dash = manner.step;
        }
        manner
    }

    fn look(&mut self, node: &Node) {
        match &node.kind {
            Kind::Mapping(entries) if !node.flow => {
                for (_, value) in entries {
                    let further = value.position.column.checked_sub(node.position.column);
                    if value.flow || further.is_none() {
                        continue;
                    }
                    let further = further.unwrap_or_default();
                    if value.is_mapping() && self.step == 0 {
                        self.step = further;
                    }
                    if value.is_sequence() && self.dash == usize::MAX {
                        self.dash = further;
                    }
                    self.look(value);
                }
            }
            Kind::Sequence(items) if !node.flow => items.iter().for_each(|item| self.look(item)),
            Kind::Mapping(_) | Kind::Sequence(_) | Kind::Scalar(_) | Kind::Alias(_) => {}
        }
    }

    /// Whether a value takes lines of its own, below its key.
    pub(super) fn has_lines(&self, value: &Value) -> bool {
        match value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::String(text) => self.literal(text, 2).is_some(),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn literal(&self, text: &str, indent: usize) -> Option<String> {
        if !self.blocks || !text.contains('\n') {
            return None;
        }
        Some(scalar::block(text, indent)?.replace('\n', self.newline))
    }

    /// Writes the value of a key at this column.
    pub(super) fn below(&self, value: &Value, column: usize) -> Below {
        let mut below = Below {
            head: String::new(),
            lines: String::new(),
        };
        match value {
            Value::Object(map) if !map.is_empty() => {
                let column = column + self.step;
                below.lines = format!("{}{}", self.line(column), self.entries(map, column));
            }
            Value::Array(items) if !items.is_empty() => {
                let column = column + self.dash;
                below.lines = format!("{}{}", self.line(column), self.items(items, column));
            }
            Value::String(text) if self.has_lines(value) => {
                let written = self.literal(text, column + 2).unwrap_or_default();
                let at = written.find(self.newline).unwrap_or(written.len());
                below.head = format!(" {}", &written[..at]);
                written[at..].clone_into(&mut below.lines);
            }
            _ => below.head = format!(" {}", scalar_or_empty(value, None, self.json)),
        }
        below
    }

    /// Writes the entries of a block map at this column; the first begins at once.
    pub(super) fn entries(&self, map: &Map<String, Value>, column: usize) -> String {
        let entries: Vec<String> = map
            .iter()
            .map(|(key, value)| self.entry(key, value, column))
            .collect();
        entries.join(&self.line(column))
    }

    /// Writes one entry of a block map whose key stands at this column.
    pub(super) fn entry(&self, key: &str, value: &Value, column: usize) -> String {
        let Below { head, lines } = self.below(value, column);
        format!("{}:{head}{lines}", quote(key))
    }

    fn items(&self, items: &[Value], column: usize) -> String {
        let items: Vec<String> = items.iter().map(|item| self.item(item, column)).collect();
        items.join(&self.line(column))
    }

    /// Writes one item, its dash included, which stands at this column.
    pub(super) fn item(&self, value: &Value, column: usize) -> String {
        let written = match value {
            Value::Object(map) if !map.is_empty() => self.entries(map, column + 2),
            Value::Array(items) if !items.is_empty() => self.items(items, column + 2),
            Value::String(text) => match self.literal(text, column + 2) {
                Some(block) => block,
                None => scalar_or_empty(value, None, self.json),
            },
            _ => scalar_or_empty(value, None, self.json),
        };
        format!("- {written}")
    }

    /// A line break and the blanks up to a column.
    pub(super) fn line(&self, column: usize) -> String {
        format!("{}{}", self.newline, " ".repeat(column))
    }
}

/// Writes a scalar or an empty collection on one line, in the style of what stood there where that can carry it.
pub(super) fn scalar_or_empty(value: &Value, style: Option<Style>, quoted: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(is_true) => is_true.to_string(),
        Value::Number(value) => number(value),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        Value::String(text) => {
            let single = (style == Some(Style::SingleQuoted) && !quoted)
                .then(|| quote_single(text))
                .flatten();
            match single {
                Some(written) => written,
                None if quoted || style == Some(Style::DoubleQuoted) => quote_always(text),
                None => quote(text),
            }
        }
    }
}

/// How a flow collection is written.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    /// Whether all keys and texts have double quotes, as in JSON.
    pub(super) quoted: bool,
    /// For collections of many lines: the line break with the blanks of the line that a value's own closing bracket
    /// begins, and the blanks that each level adds.
    pub(super) lines: Option<(String, String)>,
}

impl Flow {
    /// Writes an entry.
    pub(super) fn entry(&self, key: &str, value: &Value) -> String {
        let key = if self.quoted {
            quote_always(key)
        } else {
            quote(key)
        };
        format!("{key}: {}", self.value(value, None))
    }

    /// Writes any value; a scalar in the style of what stood there.
    pub(super) fn value(&self, value: &Value, style: Option<Style>) -> String {
        let inner = Self {
            quoted: self.quoted,
            lines: self
                .lines
                .as_ref()
                .map(|(line, unit)| (format!("{line}{unit}"), unit.clone())),
        };
        let (open, close, parts): (_, _, Vec<String>) = match value {
            Value::Object(map) if !map.is_empty() => {
                let entries = map.iter().map(|(key, value)| inner.entry(key, value));
                ('{', '}', entries.collect())
            }
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().map(|item| inner.value(item, None));
                ('[', ']', items.collect())
            }
            _ => return scalar_or_empty(value, style, self.quoted),
        };
        match (&self.lines, &inner.lines) {
            (Some((outer, _)), Some((line, _))) => {
                let parts = parts.join(&format!(",{line}"));
                format!("{open}{line}{parts}{outer}{close}")
            }
            _ => format!("{open}{}{close}", parts.join(", ")),
        }
    }
}
