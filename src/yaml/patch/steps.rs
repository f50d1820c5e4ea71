//! From a patch to single changes, and what forbids them.
//!
//! Owns the refusals that have a place: aliases, merge keys, anchors that are used elsewhere, tags, odd keys, blocks of
//! text. It writes nothing.

use std::ops::Range;

use serde_json::{Map, Value};

use super::error::PatchError;
use super::value::{fresh, read};
use crate::yaml::node::{Kind, Node};
use crate::yaml::{FindError, Position, Route, Step};

/// One change of one collection.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// The key of the map at the route gets a value, whether it is there or not.
    Set {
        at: Route,
        key: String,
        value: Value,
    },
    /// The key of the map at the route goes away.
    Remove { at: Route, key: String },
    /// The sequence at the route gets an item at its end.
    Push { at: Route, item: Value },
}

/// A node and the ones above it, each with its route.
pub(super) type Way<'a> = Vec<(Route, &'a Node)>;

/// Walks a route as far as nodes are there: aliases and merge keys are errors, a null ends the walk. Returns the way and
/// the steps that are left.
pub(super) fn walk<'a>(root: &'a Node, route: &Route) -> Result<(Way<'a>, Vec<Step>), PatchError> {
    let mut way = vec![(Route::root(), root)];
    let mut node = root;
    for at in 0..route.steps().len() {
        let done = Route::from(route.steps()[..=at].to_vec());
        // From the top, so that errors name the whole route.
        node = match root.find(&done) {
            Ok(next) if next.is_null() => return Ok((way, route.steps()[at..].to_vec())),
            Ok(next) => next,
            Err(FindError::NoSuchKey { .. }) if node.is_mapping() => {
                return Ok((way, route.steps()[at..].to_vec()));
            }
            Err(FindError::NotAMapping { .. }) => {
                let (route, node) = &way[way.len() - 1];
                return Err(wrong_kind(route, node, "a mapping"));
            }
            Err(why) => return Err(why.into()),
        };
        way.push((done, node));
    }
    if let Kind::Alias(_) = &node.kind {
        // The walk's own words for an alias at the end of a route.
        root.find_scalar(route)?;
    }
    Ok((way, Vec::new()))
}

/// Says that something else stands where a map or a sequence is needed.
pub(super) fn wrong_kind(route: &Route, node: &Node, wanted: &'static str) -> PatchError {
    let (route, position) = (route.clone(), node.position);
    if node
        .as_scalar()
        .is_some_and(|scalar| scalar.style.is_block())
    {
        return PatchError::BlockText { route, position };
    }
    PatchError::WrongKind {
        route,
        wanted,
        found: node.kind.name(),
        position,
    }
}

/// Plans changes in one document.
pub(super) struct Planner<'a> {
    text: &'a str,
    aliases: Vec<(&'a str, Range<usize>, Position)>,
    sets: Vec<Change>,
    removals: Vec<Change>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(text: &'a str, root: &'a Node) -> Self {
        let mut aliases = Vec::new();
        collect_aliases(root, &mut aliases);
        Self {
            text,
            aliases,
            sets: Vec::new(),
            removals: Vec::new(),
        }
    }

    /// The changes, those that add first: a map is never empty while something is to come into it.
    pub(super) fn changes(self) -> Vec<Change> {
        let mut changes = self.sets;
        changes.extend(self.removals);
        changes
    }

    /// Plans the merge of a patch into the map at the end of the way.
    pub(super) fn merge(
        &mut self,
        way: &Way<'a>,
        patch: &Map<String, Value>,
    ) -> Result<(), PatchError> {
        let Some((at, map)) = way.last() else {
            return Ok(());
        };
        for (key, wanted) in patch {
            let found = match map.find(&Route::root().key(key)) {
                Ok(found) => Some(found),
                Err(FindError::NoSuchKey { .. }) => None,
                // Said once more for its whole route.
                Err(_) => {
                    way[0].1.find(&at.key(key))?;
                    None
                }
            };
            match (found, wanted) {
                (None, Value::Null) => {}
                (Some(node), Value::Object(inner)) if node.is_mapping() => {
                    let mut way = way.clone();
                    way.push((at.key(key), node));
                    self.merge(&way, inner)?;
                }
                (Some(node), Value::Object(_)) if matches!(node.kind, Kind::Alias(_)) => {
                    way[0].1.find_scalar(&at.key(key))?;
                }
                (Some(node), Value::Object(_))
                    if node.as_scalar().is_some_and(|s| s.style.is_block()) =>
                {
                    return Err(wrong_kind(&at.key(key), node, "a mapping"));
                }
                (Some(node), wanted) if !wanted.is_null() && read(node) == Some(fresh(wanted)) => {}
                (found, _) => {
                    self.check(way)?;
                    if let Some(node) = found {
                        self.check_loss(&at.key(key), node)?;
                    }
                    let (at, key) = (at.clone(), key.clone());
                    if wanted.is_null() {
                        // Without its own key, the map would show that of the merged one.
                        let merge_key = map.entries().find(|(key, _)| key.is_merge_key());
                        if let Some((merge_key, _)) = merge_key {
                            let position = merge_key.position;
                            return Err(FindError::ThroughMerge { key, at, position }.into());
                        }
                        self.removals.push(Change::Remove { at, key });
                    } else {
                        let value = fresh(wanted);
                        self.sets.push(Change::Set { at, key, value });
                    }
                }
            }
        }
        Ok(())
    }

    /// Plans an item at the end of the sequence that the way ends at.
    pub(super) fn push(&mut self, way: &Way<'a>, item: &Value) -> Result<(), PatchError> {
        self.check(way)?;
        if let Some((at, _)) = way.last() {
            let (at, item) = (at.clone(), item.clone());
            self.sets.push(Change::Push { at, item });
        }
        Ok(())
    }

    /// Whether the collection at the end of the way may change at all.
    fn check(&self, way: &Way<'a>) -> Result<(), PatchError> {
        for (route, node) in way {
            let (route, position) = (route.clone(), node.position);
            if node.tag.is_some() {
                return Err(PatchError::Tagged { route, position });
            }
            if let Some(anchor) = node.anchor.as_deref()
                && let Some((_, _, alias)) = self.aliases.iter().find(|(name, ..)| *name == anchor)
            {
                return Err(PatchError::Shared {
                    anchor: anchor.to_owned(),
                    route,
                    position,
                    alias: *alias,
                });
            }
        }
        let Some((route, map)) = way.last() else {
            return Ok(());
        };
        let odd = |position| PatchError::OddKey {
            route: route.clone(),
            position,
        };
        if map.flow && !self.text[map.span.start..].starts_with(['{', '[']) {
            return Err(odd(map.position));
        }
        for (key, _) in map.entries() {
            let before = self.text[..key.span.start].trim_end_matches([' ', '\t']);
            let is_plain = key
                .as_scalar()
                .is_some_and(|scalar| !scalar.style.is_block());
            let is_own = key.tag.is_none() && key.anchor.is_none() && !key.span.is_empty();
            if !is_plain || !is_own || before.ends_with('?') {
                return Err(odd(key.position));
            }
        }
        Ok(())
    }

    /// Whether a node may go away: no anchor in it is used outside of it.
    fn check_loss(&self, route: &Route, node: &Node) -> Result<(), PatchError> {
        let mut open = vec![node];
        while let Some(next) = open.pop() {
            if let Some(anchor) = next.anchor.as_deref() {
                let outside = self.aliases.iter().find(|(name, span, _)| {
                    *name == anchor && !(node.span.start <= span.start && span.end <= node.span.end)
                });
                if let Some((_, _, alias)) = outside {
                    return Err(PatchError::Shared {
                        anchor: anchor.to_owned(),
                        route: route.clone(),
                        position: next.position,
                        alias: *alias,
                    });
                }
            }
            open.extend(next.items());
            open.extend(next.entries().flat_map(|(key, value)| [key, value]));
        }
        Ok(())
    }
}

/// Recurses as deep as the tree, whose depth the parser limits.
fn collect_aliases<'a>(node: &'a Node, found: &mut Vec<(&'a str, Range<usize>, Position)>) {
    match &node.kind {
        Kind::Alias(alias) => found.push((&alias.name, node.span.clone(), node.position)),
        Kind::Scalar(_) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| collect_aliases(item, found)),
        Kind::Mapping(entries) => {
            for (key, value) in entries {
                collect_aliases(key, found);
                collect_aliases(value, found);
            }
        }
    }
}
