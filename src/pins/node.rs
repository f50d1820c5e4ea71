//! Reading nodes as GitOps tools do: through aliases and merge keys.

use std::cell::Cell;

use crate::yaml::{Kind, Node};

/// Merge keys in merge keys are followed so far: deeper ones are made to take time, not to be read.
const MERGES: usize = 3;

/// Nodes that are visited to find anchors, and merge keys that are followed, in one file. What people write takes a few thousand; a file of 4 KB can be made to
/// take billions.
pub(super) const MOST_VISITS: usize = 10_000_000;

/// A document, with its anchors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    /// The top node.
    pub(super) root: &'a Node,
    /// How many visits are left. Without any, aliases and merge keys lead nowhere.
    pub(super) visits: &'a Cell<usize>,
}

impl<'a> Reader<'a> {
    /// The node that an alias stands for; the node itself where it is none.
    pub(super) fn resolve(&self, node: &'a Node) -> Option<&'a Node> {
        match &node.kind {
            Kind::Alias(alias) => {
                let target = self.anchored(self.root, &alias.name, alias.target?.line)?;
                // An alias inside of its own anchor would never end.
                let is_inside =
                    target.span.start <= node.span.start && node.span.end <= target.span.end;
                (!is_inside).then_some(target)
            }
            _ => Some(node),
        }
    }

    /// The value of a key, also where it comes by an alias or a merge key.
    pub(super) fn get(&self, node: &'a Node, key: &str) -> Option<&'a Node> {
        self.get_within(node, key, MERGES)
    }

    fn get_within(&self, node: &'a Node, key: &str, merges: usize) -> Option<&'a Node> {
        self.visit()?;
        let node = self.resolve(node)?;
        if let Some(value) = node.get(key) {
            return self.resolve(value);
        }
        node.entries()
            .filter(|(name, _)| merges > 0 && name.is_merge_key())
            .find_map(|(_, merged)| match &merged.kind {
                Kind::Sequence(all) => all
                    .iter()
                    .find_map(|one| self.get_within(one, key, merges - 1)),
                _ => self.get_within(merged, key, merges - 1),
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

    /// Counts a visit; nothing where none is left.
    fn visit(&self) -> Option<()> {
        let left = self.visits.get().checked_sub(1)?;
        self.visits.set(left);
        Some(())
    }

    fn anchored(&self, node: &'a Node, name: &str, line: usize) -> Option<&'a Node> {
        self.visit()?;
        if node.anchor.as_deref() == Some(name) && node.position.line >= line {
            return Some(node);
        }
        let of_entries = node.entries().find_map(|(key, value)| {
            let of_key = self.anchored(key, name, line);
            of_key.or_else(|| self.anchored(value, name, line))
        });
        of_entries.or_else(|| {
            let mut items = node.items();
            items.find_map(|item| self.anchored(item, name, line))
        })
    }
}
