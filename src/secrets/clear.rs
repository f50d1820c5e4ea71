//! Manifests that have values of a Secret in clear.

use super::manifest::describe;
use crate::yaml::{self, Node};

/// The line of every object in a text that is a Secret with values and that nothing has encrypted.
pub fn lines(text: &str) -> Vec<usize> {
    // Most texts are none: they are told apart before they are parsed.
    if !text.contains("Secret") {
        return Vec::new();
    }
    let documents = yaml::parse(text).documents;
    let roots = documents.iter().flat_map(|document| &document.root);
    roots.flat_map(lines_of).collect()
}

/// Whether a text may not be shown: a Secret stands in it in clear, wholly or in part.
pub fn is_in(text: &str) -> bool {
    !lines(text).is_empty() || describe(text).is_some_and(|described| described.has_clear_value)
}

fn lines_of(root: &Node) -> Vec<usize> {
    let kind = root.get("kind").and_then(Node::as_str);
    if matches!(kind, Some("List" | "SecretList")) {
        let items = root.get("items").into_iter().flat_map(Node::items);
        return items.flat_map(lines_of).collect();
    }
    // Every value has to be encrypted: a key `sops` alone encrypts nothing.
    let is_clear = |value: &Node| !value.as_str().is_some_and(|text| text.starts_with("ENC["));
    let has_values = ["data", "stringData"]
        .iter()
        .filter_map(|key| root.get(key))
        .any(|data| data.entries().any(|(_, value)| is_clear(value)));
    if kind == Some("Secret") && has_values {
        vec![root.position.line]
    } else {
        Vec::new()
    }
}
