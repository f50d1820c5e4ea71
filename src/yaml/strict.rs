//! What the parser lets pass but no reader of manifests should.
//!
//! Owns three checks: keys that stand twice, collections used as keys (an
//! unquoted `{{ x }}` is such a one), and tabs in the indentation. It judges
//! a document that could be read; it changes nothing.

use std::collections::HashMap;

use super::node::{Document, Kind, Node};
use super::parse::SyntaxError;
use super::position::Position;

/// Lists what is wrong with a document that could be read, in the order of the text.
pub fn complaints(text: &str, document: &Document) -> Vec<SyntaxError> {
    let mut check = Check {
        text,
        document: document.index,
        found: Vec::new(),
    };
    if let Some(root) = &document.root {
        check.node(root, false);
    }
    check.found.sort_by_key(|complaint| complaint.position);
    check
        .found
        .dedup_by(|next, kept| next.position == kept.position && next.message == kept.message);
    check.found
}

struct Check<'a> {
    text: &'a str,
    document: usize,
    found: Vec<SyntaxError>,
}

impl Check<'_> {
    /// Recurses as deep as the tree, whose depth the parser limits.
    fn node(&mut self, node: &Node, in_flow: bool) {
        if !in_flow {
            self.indentation(node);
        }
        let flow = in_flow || node.flow;
        match &node.kind {
            Kind::Scalar(_) | Kind::Alias(_) => {}
            Kind::Sequence(items) => items.iter().for_each(|item| self.node(item, flow)),
            Kind::Mapping(entries) => {
                self.keys(entries);
                for (key, value) in entries {
                    self.node(key, flow);
                    self.node(value, flow);
                }
            }
        }
    }

    fn keys(&mut self, entries: &[(Node, Node)]) {
        let mut seen: HashMap<&str, Position> = HashMap::new();
        for (key, _) in entries {
            let Some(name) = key.as_str() else {
                if !matches!(key.kind, Kind::Alias(_)) {
                    self.complain(
                        key.position,
                        format!(
                            "{} is used as a key; a template such as `{{{{ x }}}}` needs quotes",
                            key.kind.name()
                        ),
                    );
                }
                continue;
            };
            if let Some(first) = seen.get(name) {
                let message = format!("key `{name}` stands already in line {}", first.line);
                self.complain(key.position, message);
            } else {
                seen.insert(name, key.position);
            }
        }
    }

    /// Tabs before a node of a block, or between a dash and the block behind it.
    fn indentation(&mut self, node: &Node) {
        let before = &self.text[..node.span.start];
        let line = &before[before.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
        let blanks = |text: &str| text.chars().any(|char| char == '\t');
        let margin = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let head = line.trim_end_matches([' ', '\t']);
        let is_block = !node.flow && (node.is_mapping() || node.is_sequence());
        let after_dash = is_block && head.ends_with(['-', '?', ':']) && blanks(&line[head.len()..]);
        if blanks(margin) || after_dash {
            let message = "a tab is used for indentation; YAML takes spaces only".to_owned();
            self.complain(node.position, message);
        }
    }

    fn complain(&mut self, position: Position, message: String) {
        self.found.push(SyntaxError {
            position,
            message,
            document: self.document,
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::yaml::parse_strict;

    fn error(text: &str) -> String {
        parse_strict(text).unwrap_err().to_string()
    }

    #[test]
    fn a_duplicate_key_names_the_first_line() {
        assert_eq!(
            error("a: 1\nb: 2\n'a': 3\n"),
            "line 3, column 1: key `a` stands already in line 1"
        );
        assert!(error("x: {a: 1, \"a\": 2}\n").contains("key `a`"));
        assert!(error("x:\n- <<: {}\n  <<: {}\n").contains("line 3"));
        assert!(parse_strict("a: {b: 1}\nc: {b: 1}\n").is_ok());
    }

    #[test]
    fn an_unquoted_template_is_refused() {
        for text in [
            "a: {{ .Values.x }}\n",
            "a: {{ x }}-web\n",
            "{{ x }}: 1\n",
            "releases:\n  - name: {{ .Environment.Name }}\n",
            "[a]: 1\n",
            "? {a: 1}\n: b\n",
        ] {
            assert!(parse_strict(text).is_err(), "{text}");
        }
        assert!(error("a: {{ x }}\n").contains("needs quotes"));
        assert!(parse_strict("a: '{{ x }}'\nb: x-{{ y }}\n").is_ok());
    }

    #[test]
    fn a_tab_as_indentation_is_refused() {
        for text in ["\ta: 1\n", "a:\n  \tb: 1\n", "a:\n\tb: 1\n", "-\ta: 1\n"] {
            assert!(error(text).contains("tab"), "{text:?} {}", error(text));
        }
        for text in [
            "a:\t1\n",
            "a: 1\t# c\n",
            "a: |\n  x\n  \ty\n",
            "a: {\n  \tb: 1\n  }\n",
        ] {
            assert!(parse_strict(text).is_ok(), "{text:?} {}", error(text));
        }
    }

    #[test]
    fn the_first_broken_document_wins() {
        let error = parse_strict("a: 1\n---\na: 1\na: 2\n---\n[\n").unwrap_err();
        assert_eq!((error.document, error.position.line), (1, 4));
        let error = parse_strict("[\n---\na: 1\na: 2\n").unwrap_err();
        assert_eq!((error.document, error.position.line), (0, 1));
    }
}
