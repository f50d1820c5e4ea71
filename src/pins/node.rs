//! Reading nodes as GitOps tools do: through aliases and merge keys.

use crate::yaml::{Kind, Node};

/// A document, with its anchors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The top node.
    pub(super) root: &'a Node,
}

impl<'a> Reader<'a> {
    /// The node that an alias stands for; the node itself where it is none.
    pub(super) fn resolve(&self, node: &'a Node) -> Option<&'a Node> {
        match &node.kind {
            Kind::Alias(alias) => anchored(self.root, &alias.name, alias.target?.line),
            _ => Some(node),
        }
    }

    /// The value of a key, also where it comes by an alias or a merge key.
    pub(super) fn get(&self, node: &'a Node, key: &str) -> Option<&'a Node> {
        let node = self.resolve(node)?;
        if let Some(value) = node.get(key) {
            return self.resolve(value);
        }
        node.entries()
            .filter(|(name, _)| name.is_merge_key())
            .find_map(|(_, merged)| match &merged.kind {
                Kind::Sequence(all) => all.iter().find_map(|one| self.get(one, key)),
                _ => self.get(merged, key),
            })
    }

    /// The value at the end of some keys.
    pub(super) fn at(&self, node: &'a Node, keys: &[&str]) -> Option<&'a Node> {
        keys.iter().try_fold(node, |node, key| self.get(node, key))
    }

    /// The text at the end of some keys.
    pub(super) fn text(&self, node: &'a Node, keys: &[&str]) -> Option<&'a str> {
        self.at(node, keys)?.as_str()
    }

    /// The items at the end of some keys.
    pub(super) fn items(
        &self,
        node: &'a Node,
        keys: &[&str],
    ) -> impl Iterator<Item = &'a Node> + use<'a> {
        let reader = *self;
        self.at(node, keys)
            .into_iter()
            .flat_map(Node::items)
            .filter_map(move |item| reader.resolve(item))
    }
}

fn anchored<'a>(node: &'a Node, name: &str, line: usize) -> Option<&'a Node> {
    if node.anchor.as_deref() == Some(name) && node.position.line >= line {
        return Some(node);
    }
    let of_entries = node
        .entries()
        .find_map(|(key, value)| anchored(key, name, line).or_else(|| anchored(value, name, line)));
    of_entries.or_else(|| node.items().find_map(|item| anchored(item, name, line)))
}
